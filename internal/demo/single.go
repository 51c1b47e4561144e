package demo

import "hone/internal/chat"

// one is the only step of a single call.
func one(read func(string) (string, error), call func(v values, _ string) chat.ToolCall) []step {
	return []step{{call, read}}
}

func crc32(v values, _ string) chat.ToolCall {
	return call("hash", text("input", v["a"]), text("algorithm", "crc32"))
}

func base64Call(action string) func(values, string) chat.ToolCall {
	return func(v values, _ string) chat.ToolCall {
		return call("base64", text("input", v["a"]), text("action", action))
	}
}

func urlCall(action string) func(values, string) chat.ToolCall {
	return func(v values, _ string) chat.ToolCall {
		return call("encode", text("input", v["a"]), text("action", action), text("type", "url"))
	}
}

func countCall(v values, _ string) chat.ToolCall { return call("count", text("text", v["a"])) }

func mathCall(v values, _ string) chat.ToolCall { return call("math", text("expression", v["a"])) }

func dateDiff(v values, _ string) chat.ToolCall {
	return call("date", text("action", "diff"), text("date", v["a"]), text("date2", v["b"]))
}

func dateAdd(v values, _ string) chat.ToolCall {
	return call("date", text("action", "add"), text("date", v["a"]), argument{"amount", v["b"]}, text("unit", "days"))
}

func weekday(v values, _ string) chat.ToolCall {
	return call("date", text("action", "weekday"), text("date", v["a"]))
}

func baseCall(from, to string) func(values, string) chat.ToolCall {
	return func(v values, _ string) chat.ToolCall {
		return call("base", text("value", v["a"]), argument{"from", from}, argument{"to", to})
	}
}

func toRGB(v values, _ string) chat.ToolCall {
	return call("color", text("color", v["a"]), text("to", "rgb"))
}

func singleKinds() []kind {
	return append(textKinds(), numberKinds()...)
}

func textKinds() []kind {
	return []kind{
		{"crc32", drawPhrase, one(field("hash"), crc32),
			[]string{`What is the CRC32 hash of "{a}"?`, `Compute the crc32 of "{a}".`, `Hash the text "{a}" with CRC32.`, `Give me the CRC32 checksum for "{a}".`},
			[]string{`I need a crc32 digest of "{a}".`, `"{a}": which CRC32 does it have?`, `Run CRC32 over the string "{a}".`, `Please work out the crc32 value of "{a}".`}},
		{"base64 encode", drawPhrase, one(plain, base64Call("encode")),
			[]string{`Encode "{a}" in Base64.`, `What is "{a}" in base64?`, `Convert the text "{a}" to Base64.`, `Base64-encode "{a}".`},
			[]string{`Turn "{a}" into a Base64 string.`, `How does "{a}" look as base64?`, `I want the Base64 form of "{a}".`, `Please write "{a}" as Base64.`}},
		{"base64 decode", drawBase64, one(plain, base64Call("decode")),
			[]string{`Decode the Base64 string {a}.`, `What does the base64 text {a} say?`, `Base64-decode {a}.`, `Convert {a} from Base64 to text.`},
			[]string{`Which text is behind the Base64 {a}?`, `Someone sent me {a} in base64. What is it?`, `Undo the Base64 encoding of {a}.`, `Read this Base64 for me: {a}`}},
		{"url encode", drawAwkward, one(plain, urlCall("encode")),
			[]string{`URL-encode "{a}".`, `Encode "{a}" for use in a URL.`, `What is "{a}" URL encoded?`, `Apply URL encoding to "{a}".`},
			[]string{`Make "{a}" safe for a URL.`, `I need the percent-encoded form of "{a}".`, `Write "{a}" with URL escapes.`, `How do I put "{a}" in a URL?`}},
		{"url decode", drawEscaped, one(plain, urlCall("decode")),
			[]string{`URL-decode {a}.`, `Decode the URL text {a}.`, `What is {a} after URL decoding?`, `Undo the URL encoding of {a}.`},
			[]string{`Which text does the URL part {a} stand for?`, `Remove the percent escapes from {a}.`, `Read this URL-encoded text: {a}`, `Please turn {a} from URL form to text.`}},
		{"count characters", drawLongPhrase, one(field("characters"), countCall),
			[]string{`How many characters are in "{a}"?`, `Count the characters of "{a}".`, `Give the character count of "{a}".`, `What is the number of characters in "{a}"?`},
			[]string{`How long is "{a}" in characters?`, `Tell me the length of the text "{a}".`, `"{a}": how many characters?`, `Please measure how many characters "{a}" has.`}},
		{"count words", drawLongPhrase, one(field("words"), countCall),
			[]string{`How many words are in "{a}"?`, `Count the words of "{a}".`, `Give the word count of "{a}".`, `What is the number of words in "{a}"?`},
			[]string{`Of how many words does "{a}" consist?`, `Tell me the word total of "{a}".`, `"{a}": how many words?`, `Please find out how many words "{a}" has.`}},
	}
}

func numberKinds() []kind {
	return []kind{
		{"math", drawMath, one(plain, mathCall),
			[]string{`What is {a}?`, `Calculate {a}.`, `Compute {a}.`, `Evaluate {a}.`},
			[]string{`Work out {a} for me.`, `How much is {a}?`, `I need the value of {a}.`, `Please solve {a}.`}},
		{"days between", drawDates, one(field("days"), dateDiff),
			[]string{`How many days are between {a} and {b}?`, `Count the days from {a} to {b}.`, `What is the difference in days between {a} and {b}?`, `Give the number of days from {a} until {b}.`},
			[]string{`How many days pass from {a} to {b}?`, `Starting on {a}, how many days is it to {b}?`, `Tell me how far apart {a} and {b} are in days.`, `I leave on {a} and return on {b}. How many days is that?`}},
		{"add days", drawDateAmount, one(day, dateAdd),
			[]string{`What date is {b} days after {a}?`, `Add {b} days to {a}.`, `Which date comes {b} days after {a}?`, `Give the date {b} days after {a}.`},
			[]string{`It is {a}. What is the date in {b} days?`, `Move {a} forward by {b} days.`, `Starting at {a}, where do {b} days take me?`, `A parcel sent on {a} takes {b} days. When does it arrive?`}},
		{"weekday", drawDate, one(field("weekday"), weekday),
			[]string{`What day of the week is {a}?`, `Which weekday is {a}?`, `Give the weekday of {a}.`, `On which day of the week does {a} fall?`},
			[]string{`{a}: which day of the week?`, `Tell me the day name for {a}.`, `I was born on {a}. Which weekday was it?`, `Please look up the weekday for {a}.`}},
		{"decimal to hex", drawDecimal, one(field("result"), baseCall("10", "16")),
			[]string{`Convert {a} from decimal to hexadecimal.`, `What is {a} in hexadecimal?`, `Write the number {a} in base 16.`, `Give the hex form of {a}.`},
			[]string{`How is decimal {a} written in hex?`, `Turn the number {a} into hexadecimal.`, `Express {a} with base sixteen digits.`, `I need {a} as a hex number.`}},
		{"hex to rgb", drawColor, one(plain, toRGB),
			[]string{`Convert the color {a} to RGB.`, `What is {a} in RGB?`, `Give the RGB value of the color {a}.`, `Change {a} to RGB format.`},
			[]string{`Which RGB color is {a}?`, `I need {a} as rgb.`, `Express the hex color {a} as RGB.`, `Please turn color {a} into its RGB form.`}},
	}
}
