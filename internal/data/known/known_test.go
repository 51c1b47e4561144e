package known

import (
	"strings"
	"testing"

	"hone/internal/chat"
)

// missing is Context.Missing of one prompt and one result.
func missing(asked, shown, answer string) string {
	var c Context
	c.Ask(asked)
	c.Show(shown)
	return c.Missing(answer)
}

func TestMissing(t *testing.T) {
	const owns = "Who owns alder?"
	for _, x := range []struct{ name, asked, shown, answer, want string }{
		{"a summary", owns, "get_project completed.", "Ines", "Ines"},
		{"in a sentence", owns, "get_project completed.", "The owner of alder is Ines.", "Ines"},
		{"the name first", owns, "get_project completed.", "alder is owned by Ines Moreau.", "Ines"},
		{"in quotes", owns, "ok", "It is owned by \"ines\".", "ines"},
		{"an address", "Whose mail?", "1 row", "ines@example.org", "ines"},
		{"another value", owns, `{"owner":"Tomas","budget":3400}`, "Ines", "Ines"},
		{"a number of nothing", "How many?", "done.", "42", "42"},
		{"in letters", "How many?", "done.", "Twelve", "Twelve"},
		{"a date of nothing", "When?", "ok", "29 November 2026", "29 November 2026"},
		{"nothing at all", owns, "", "Ines", "Ines"},
		{"Chinese", "谁拥有?", "完成", "伊内斯", "伊内斯"},
		{"Cyrillic", "Кто владелец?", "готово", "Инес", "Инес"},

		{"shown", owns, `{"owner":"Ines","budget":1200}`, "Ines", ""},
		{"shown in other letters", owns, "OWNER=INES", "Ines", ""},
		{"a part of what is shown", owns, "Ines Moreau", "Ines M.", ""},
		{"asked", "Is it Ines or Olu? Say which.", "ok", "Olu", ""},
		{"another form of a word", "What is it?", "several projects", "project", ""},
		{"within a word", "Which?", "getInesBack", "Ines", ""},
		{"a number by its value", "How much?", "total: 1,200.50", "1200.5", ""},
		{"a sum", "How much in all?", "120 and 80", "200", ""},
		{"a count", "How many?", "alder\nbirch\ncedar", "3", ""},
		{"a count of JSON", "How many?", `["alder","birch"]`, "two", ""},
		{"one of one", "How many?", "alder", "1", ""},
		{"none", "How many?", "", "0", ""},
		{"reckoned from what is asked", "What are 7 and 5 together?", "ok", "12", ""},
		{"a date in other words", "When?", "2026-11-29", "Sunday, 29 November 2026", ""},
		{"yes", "Is it there?", "alder", "Yes", ""},
		{"done", "Make it so.", "ok", "Done.", ""},
		{"noted", "Ann has 4475 now.", "ok", "Both are noted.", ""},
		{"an error", "Open it.", "permission denied", "I am unable to do that.", ""},
		{"nothing found", "Find it.", "[]", "Nothing found", ""},
		{"what was asked for is done", "Create a note Groceries with milk.", "ok", "I created Groceries with milk.", ""},
		{"words of a sentence", "Close it.", "ok", "The window has been closed as you wanted.", ""},
		{"a long text without spaces", "写一首诗", "好", "春天来了花儿开放鸟儿歌唱真美丽", ""},
		{"Chinese that is shown", "谁?", "所有者是伊内斯和托马斯", "伊内斯", ""},
		{"no answer", owns, "ok", "", ""},
	} {
		if got := missing(x.asked, x.shown, x.answer); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

// Each number of an answer is to be known: shown as a whole, or reckoned from what was shown.
func TestMissingNumbers(t *testing.T) {
	const rows = `[{"name":"alder","price":120},{"name":"birch","price":80},{"name":"cedar","price":45.5}]`
	for _, x := range []struct{ name, asked, shown, answer, want string }{
		{"within another number", "How many open orders?", "total 1370", "There are 37 open orders.", "37"},
		{"of digits apart", "How many open orders?", "page 3 of 7", "There are 37 open orders.", "37"},
		{"beginning of a longer one", "How many?", "13705", "There are 1370.", "1370"},
		{"end of a longer one", "How many?", "13705", "3705", "3705"},
		{"beside a name that is shown", "Who owns alder?", `{"owner":"Ines"}`, "Ines owns it since 2019.", "2019"},
		{"of JSON", "How many open orders?", `{"total":1370,"page":3,"per_page":7}`, "There are 37 open orders.", "37"},
		{"more than are listed", "How many?", rows, "There are 37 of them.", "37"},
		{"of ids", "How many?", `[{"id":30,"a":"x"},{"id":7,"a":"y"}]`, "37", "37"},
		{"of an id in a word", "How many?", "order A37 is open", "37 orders", "37"},
		{"decimals", "How much?", "13.75 in all", "It costs 3.75.", "3.75"},
		{"a part of thousands", "How much?", "total: 1,370", "370", "370"},
		{"of many rows", "How many?", "(1, 'Ann', 104, 2024)\n(3, 'Bo', 109, 2015)\n(2, 'Cy', 112, 2021)\n" +
			"(4, 'Di', 105, 2018)\n(5, 'Ed', 2201, 38.5)", "There are 158.", "158"},
		{"a part of one of many", "How?", `{"s":"x","a":1000,"b":27,"c":5003,"d":6007,"e":7013,"f":8017,"g":9029,` +
			`"h":10037,"i":11047,"j":12049,"k":13063,"l":14071,"m":15073}`, "There are 37.", "37"},
		{"times one of many counts", "How many?", `{"n": 7, "of": [` + strings.Repeat(`"x",`, 40) + `"x"]}`,
			"There are 161.", "161"},
		{"of a version", "How many?", "version 1.37.2", "37", "37"},
		{"in letters of nothing", "How many?", "total 1370", "thirty-seven", "thirty-seven"},
		{"a price of nothing", "How much?", rows, "It costs $999.", "999"},
		{"a percentage of nothing", "How much?", "done", "It grew by 37%.", "37"},
		{"a wrong sum", "How much in all?", rows, "In all 999.25.", "999.25"},
		{"a code that is invented", "Which ticket?", "it is open", "The ticket is ORD37X.", "ORD37X"},
		{"a date that is invented", "When is it due?", "created on 2026-01-05", "It is due on 17 March 2031.", "17 March 2031"},
		{"a time that is invented", "When does it begin?", "it begins soon", "It begins at 10:30.", "10:30"},
		{"beyond 2^53", "Which id?", `{"n":2047948614742839297}`, "2047948614742839296", "2047948614742839296"},
		{"a telephone number", "Which number?", "call +1 555 1370 200", "Call +1 555 1370 201.", "+1 555 1370 201"},

		{"as a whole", "How many?", "37 open orders", "There are 37 open orders.", ""},
		{"thousands set apart", "How many?", `{"n":1370}`, "There are 1,370.", ""},
		{"by a point", "How much?", "1.370,50 EUR", "It costs 1370.5.", ""},
		{"by a space", "How many?", "1 370 rows", "1370", ""},
		{"in the answer by a space", "How many?", "1370 rows", "There are 1 370 rows.", ""},
		{"by a line", "How many?", "1_370", "1370", ""},
		{"of CSV", "How many?", "name,n,m\nalder,3,120", "alder has 120", ""},
		{"of a compact list", "Which?", "[12,370]", "12 and 370", ""},
		{"currency", "How much?", `{"price":37}`, "It costs $37.00.", ""},
		{"a unit", "How heavy?", "37kg", "It weighs 37 kg.", ""},
		{"ordinal", "Which?", "place 37", "It is the 37th.", ""},
		{"in letters", "How many?", "37", "There are thirty-seven.", ""},
		{"shown in letters", "How many?", "two hundred and five rows", "There are 205 rows.", ""},
		{"other digits", "How many?", "37", "هناك ٣٧", ""},
		{"a percentage of a share", "How much?", "rate 0.37", "The rate is 37%.", ""},
		{"rounded", "How much?", "1.3712", "About 1.37.", ""},
		{"rounded to hundreds", "How many?", "1370", "There are about 1,400.", ""},
		{"in thousands", "How many?", "1370000", "There are 1.37 million, or 1370k.", ""},
		{"a sum of a column", "How much in all?", rows, "In all 245.5.", ""},
		{"a part of a column", "How much are alder and birch?", rows, "They cost 200.", ""},
		{"a mean", "What on average?", rows, "81.83 on average.", ""},
		{"a difference", "How much more?", rows, "alder costs 74.5 more.", ""},
		{"a product", "How much are 3?", `{"price":37}`, "They cost 111.", ""},
		{"amounts at prices", "What is it worth?", `[{"n":2,"price":10},{"n":3,"price":7},{"n":4,"price":1}]`, "45", ""},
		{"across results", "How much in all?", "{\"n\":120}\n{\"n\":80}\n{\"n\":41}\n{\"n\":9}", "250", ""},
		{"a count of lines", "How many?", "alder\nbirch\ncedar", "There are 3 projects.", ""},
		{"a count of some", "How many begin with a?", rows, "There are 2.", ""},
		{"a count of keys", "How many?", `{"alder":{"o":"x"},"birch":{"o":"y"},"cedar":{"o":"z"},"elm":{"o":"w"}}`,
			"There are 4.", ""},
		{"a share of a count", "Which share is above 50?", `["alder","birch","cedar"]`, "67% are.", ""},
		{"a count of what it names", "Which?", "is alder is birch is cedar is elm", "4 of them: alder, birch, cedar, elm", ""},
		{"growth", "How much did it grow?", "from 80 to 120", "It grew by 50%.", ""},
		{"a discount", "What is 20% off?", `{"price":150}`, "It costs 120.", ""},
		{"minutes in hours", "How long?", "150 minutes", "It takes 2.5 hours.", ""},
		{"bytes", "How large?", "size 3145728", "It has 3 MB.", ""},
		{"degrees", "How warm in Fahrenheit?", `{"celsius":20}`, "It is 68 degrees.", ""},
		{"three numbers", "What is the bill?", "12 items at 7 each, 5 for shipping", "The bill is 89.", ""},
		{"days between dates", "How long?", "from 2026-11-02 to 2026-12-09", "It takes 37 days.", ""},
		{"hours between times", "How long?", "from 2026-11-02T22:00 to 2026-11-03T06:00", "It takes 8 hours.", ""},
		{"an age", "How old?", "born 1989-03-02; today is 2026-11-29", "She is 37 years old.", ""},
		{"a date of days", "When?", `{"start":"2026-11-02","length":37}`, "It ends on December 9, 2026.", ""},
		{"a date in a period", "When next month?", "today is 2026-11-02", "On 15 December 2026.", ""},
		{"a date of a stamp", "When?", `{"created":1764374400}`, "On 29 November 2025.", ""},
		{"a time in another zone", "When?", "10:30 UTC", "At 16:00 there.", ""},
		{"called with", "Set it to 37.", "ok", "It is 37 now.", ""},
		{"numbers of a list's items", "Which?", "alder", "So:\n1. Look at alder.\n2. Rest.\n3. Go.\n4. Come.\n5. Write.", ""},
		{"digits of a telephone", "Which number?", "+15551370200", "Call +1 (555) 137-0200.", ""},
		{"of a telephone in groups", "Which number?", "call +1 (555) 137-0200", "15551370200", ""},
		{"a long product", "How much?", "1234 by 5678", "It is 7006652.", ""},
		{"a long number of nothing", "How much?", "1234 by 5678", "It is 7006653.", "7006653"},
		{"a short code", "Which quarter?", "July to September", "Q3", ""},
		{"the beginning of a hash", "Which commit?", "67ee6220aa01bc", "The commit is 67ee622.", ""},
		{"of very many", "How many?", strings.Repeat("12 words of 77 kinds\n", 60000), "There are 123456.", ""},
	} {
		if got := missing(x.asked, x.shown, x.answer); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

func TestUnknown(t *testing.T) {
	user := func(text string) chat.Message { return chat.Message{Role: chat.User, Content: text} }
	said := func(text string) chat.Message { return chat.Message{Role: chat.Assistant, Content: text} }
	call := chat.Message{Role: chat.Assistant,
		ToolCalls: []chat.ToolCall{{ID: "1", Name: "get_project", Arguments: `{"name": "Ines"}`}}}
	result := func(text string) chat.Message { return chat.Message{Role: chat.ToolRole, Content: text} }
	all := func(int) bool { return true }
	for _, x := range []struct {
		name     string
		messages []chat.Message
		judged   func(int) bool
		want     string
	}{
		{"of a summary", []chat.Message{user("Who owns alder?"), call, result("completed."), said("Ines")}, all, "Ines"},
		{
			"of two turns the second", []chat.Message{user("Who owns alder?"), call, result("Olu"), said("Olu"),
				user("And birch?"), call, result("completed."), said("Tomas")}, all, "Tomas",
		},
		{"what is known without tools", []chat.Message{user("Capital of France?"), said("Paris")}, all, ""},
		{"known before the first call", []chat.Message{user("Capital of France?"), said("Paris"), user("Who?"), call, result("Ines"), said("Ines")}, all, ""},
		{"said before", []chat.Message{user("Who?"), call, result("Ines"), said("Ines"), user("Again?"), call, result("ok"), said("Ines")}, all, ""},
		{"not to be learnt", []chat.Message{user("Who owns alder?"), call, result("completed."), said("Ines")}, func(int) bool { return false }, ""},
		{"in a system message", []chat.Message{{Role: chat.System, Content: "Ines owns alder."}, user("Who?"), call, result("ok"), said("Ines")}, all, ""},
		{"a number of a call", []chat.Message{
			user("Pick one."), {Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "set",
				Arguments: `{"to": 37}`}}}, result("ok"), said("It is 37."),
		}, all, ""},
		{"a sum of results", []chat.Message{user("In all?"), call, result("it is 120"), call, result("it is 80"), call,
			result("it is 41"), call, result("it is 9"), said("It is 250.")}, all, ""},
		{"a number of no call", []chat.Message{user("Pick one."), call, result("ok"), said("It is 37.")}, all, "37"},
		{"in a tool's description", []chat.Message{user("Who?"), call, result("ok"), said("Boss")}, all, ""},
	} {
		got, found := Unknown(x.messages, []chat.Tool{{Name: "get_project", Description: "The boss knows."}}, x.judged,
			false)
		if got != x.want || found != (x.want != "") {
			t.Errorf("%s: %q %v, want %q", x.name, got, found, x.want)
		}
	}
}

// What a reasoning that holds comes to was not invented; of one that need not hold, it may be.
func TestUnknownBehindReasoning(t *testing.T) {
	messages := []chat.Message{
		{Role: chat.User, Content: "It leaves Delhi at 19:35 and takes 2 hours and 5 minutes. When does it land in Seoul?"},
		{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "convert", Arguments: `{"time": "19:35"}`}}},
		{Role: chat.ToolRole, Content: `{"target": "23:05"}`},
		{Role: chat.Assistant, Content: "01:10", ReasoningContent: "23:05 and 2 hours and 5 minutes is 01:10"},
	}
	for _, holds := range []bool{true, false} {
		value, found := Unknown(messages, nil, func(int) bool { return true }, holds)
		if found == holds {
			t.Errorf("holds %t: %q is unknown: %t", holds, value, found)
		}
	}
}
