package known

import (
	"testing"

	"hone/internal/chat"
)

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
		{"a date of nothing", "When?", "ok", "29 November 2026", "29"},
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
		{"an error", "Open it.", "permission denied", "I am unable to do that.", ""},
		{"nothing found", "Find it.", "[]", "Nothing found", ""},
		{"what was asked for is done", "Create a note Groceries with milk.", "ok", "I created Groceries with milk.", ""},
		{"words of a sentence", "Close it.", "ok", "The window has been closed as you wanted.", ""},
		{"a long text without spaces", "写一首诗", "好", "春天来了花儿开放鸟儿歌唱真美丽", ""},
		{"Chinese that is shown", "谁?", "所有者是伊内斯和托马斯", "伊内斯", ""},
		{"no answer", owns, "ok", "", ""},
	} {
		if got := Missing(x.asked, x.shown, x.answer); got != x.want {
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
		{"in a tool's description", []chat.Message{user("Who?"), call, result("ok"), said("Boss")}, all, ""},
	} {
		got, found := Unknown(x.messages, []chat.Tool{{Name: "get_project", Description: "The boss knows."}}, x.judged)
		if got != x.want || found != (x.want != "") {
			t.Errorf("%s: %q %v, want %q", x.name, got, found, x.want)
		}
	}
}
