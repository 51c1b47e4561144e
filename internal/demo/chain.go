package demo

import "hone/internal/chat"

// chainKinds are tasks of two calls, the second built from the result of the first.
func chainKinds() []kind {
	hashBefore := func(_ values, before string) chat.ToolCall { return crc32(values{"a": before}, "") }
	timesC := func(v values, before string) chat.ToolCall {
		return mathCall(values{"a": before + " * " + v["c"]}, "")
	}
	plusB := func(v values, before string) chat.ToolCall {
		return mathCall(values{"a": before + " + " + v["b"]}, "")
	}
	return []kind{
		{"decode then hash", drawBase64, []step{{base64Call("decode"), plain}, {hashBefore, field("hash")}},
			[]string{`Decode the Base64 {a} and give the CRC32 of the text.`, `What is the CRC32 of the text in base64 {a}?`, `Base64-decode {a}, then hash it with CRC32.`, `Take {a}, decode it from Base64 and compute its crc32.`},
			[]string{`I need the CRC32 of what the Base64 {a} says.`, `First undo the base64 of {a}, next take the CRC32.`, `Which crc32 has the text behind Base64 {a}?`, `Please read the Base64 {a} and run CRC32 over the text.`}},
		{"days then multiply", drawDatesAmount, []step{{dateDiff, field("days")}, {timesC, plain}},
			[]string{`Count the days from {a} to {b}, then multiply by {c}.`, `How many days are between {a} and {b}, times {c}?`, `Multiply the number of days from {a} to {b} by {c}.`, `Take the days between {a} and {b} and multiply them by {c}.`},
			[]string{`A room costs {c} a day. What does it cost from {a} to {b}?`, `From {a} until {b} I save {c} per day. How much is it?`, `Find the days from {a} to {b}, and give {c} times that.`, `What is {c} times the days that pass from {a} to {b}?`}},
		{"hex then add", drawHexAmount, []step{{baseCall("16", "10"), field("result")}, {plusB, plain}},
			[]string{`Convert hex {a} to decimal, then add {b}.`, `What is hexadecimal {a} in decimal plus {b}?`, `Take the hex number {a} as decimal and add {b}.`, `Add {b} to the decimal value of hex {a}.`},
			[]string{`Hex {a} and decimal {b}: what is the sum in decimal?`, `I have hex {a}. Make it decimal and count {b} on top.`, `Increase the hexadecimal value {a} by {b} and answer in decimal.`, `Please sum decimal {b} and hex {a} in decimal.`}},
	}
}
