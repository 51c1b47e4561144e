package generate

import (
	"encoding/json"
	"testing"
)

// A call is worded as a person asks for it, or it is found that nobody would.
func TestRequestOf(t *testing.T) {
	of := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`
	}
	const text, number = `{"type":"string"}`, `{"type":"number"}`
	for _, tc := range []struct {
		name, description, schema, arguments string
		want                                 string // "" where nobody would ask so
	}{
		{"convert_length", "Convert length between units", of(`"value":`+number+`,"from_unit":`+text+
			`,"to_unit":`+text,
			`"value","from_unit","to_unit"`), `{"value":12,"from_unit":"km","to_unit":"miles"}`,
			"convert 12 km to miles"},
		{"base", "Convert numbers between bases", of(`"value":`+number+`,"from":{"type":"integer"},"to":{"type":"integer"}`,
			`"value","from","to"`), `{"value":12,"from":8,"to":2}`, "convert 12 from base 8 to base 2"},
		{"convert_length", "Convert length between units", of(`"value":`+number+`,"from_unit":`+text+
			`,"to_unit":`+text,
			`"value","from_unit","to_unit"`), `{"value":12,"from_unit":"km","to_unit":"km"}`, ""},
		{"base64", "Encode or decode Base64 strings", of(`"input":`+text+`,"action":{"enum":["encode","decode"]}`,
			`"input","action"`), `{"input":"two keys","action":"encode"}`, `encode "two keys" (base64)`},
		{"base64", "Encode or decode Base64 strings", of(`"input":`+text+`,"action":{"enum":["encode","decode"]}`,
			`"input","action"`), `{"input":"two keys","action":"decode"}`, ""}, // words are the code of nothing
		{"url_parse", "Parse a URL into its components", of(`"url":`+text, `"url"`), `{"url":"https://example.com/a"}`,
			"parse the URL https://example.com/a into its components"},
		{"count", "Count characters and words in text", of(`"text":`+text, `"text"`), `{"text":"one two"}`,
			`count characters and words in "one two"`},
		{"diff", "Compare two texts", of(`"text1":`+text+`,"text2":`+text, `"text1","text2"`),
			`{"text1":"a b","text2":"c d"}`, `compare the two texts "a b" and "c d"`},
		{"random_int", "Return a random integer in [min, max].", of(`"min_value":`+number+`,"max_value":`+number,
			`"min_value","max_value"`), `{"min_value":3,"max_value":9}`, "get a random integer between 3 and 9"},
		{"random", "Generate random values", of(`"type":{"enum":["uuid","ulid"]}`, `"type"`), `{"type":"ulid"}`,
			"generate a ulid"},
		{"get_contact", "Get one contact by ID.", of(`"contact_id":`+text, `"contact_id"`), `{"contact_id":"C-7"}`,
			"get contact C-7"},
		{"list_tasks", "List tasks with filters.", of(`"status":{"enum":["in_progress","done"]},"assignee":`+text, ``),
			`{"status":"in_progress","assignee":"Ali"}`, "list in progress tasks for Ali"},
		{"list_tasks", "List the tasks.", of(`"status":{"enum":["all","open"]}`, ``), `{"status":"all"}`, "list all tasks"},
		{"search_contacts", "Search contacts.", of(`"query":`+text, `"query"`), `{"query":"lena"}`,
			"search contacts for lena"},
		{"find_contacts", "Find contacts by name, phone or city.", of(`"query":`+text, `"query"`), `{"query":"lena"}`,
			"find contacts for lena"},
		{"check_stock", "Check the stock.", of(`"low_only":{"type":"boolean"}`, ``), `{"low_only":true}`,
			"check the stock, low only"},
		{"check_stock", "Check the stock.", of(`"low_only":{"type":"boolean"}`, ``), `{"low_only":false}`, ""},
		{"now", "Current moment as an object.", of(``, ``), `{}`, ""}, // neither says what it does
		{"add_expense", "Add an expense", of(
			`"amount":`+number+`,"api_key":`+text+`,"date":{"type":"string","format":"date"}`,
			`"amount"`), `{"amount":12.5,"date":"2026-05-03"}`, "add an expense for 12.5 on 3 May 2026"},
		{"shorten", "Format text", of(`"text":`+text+`,"dry_run_mode":`+text, `"text"`),
			`{"text":"a b","dry_run_mode":"full"}`, ""}, // nobody says an option by its name
	} {
		m := newMaker(nil, []Tool{toolOf(tc.name, tc.description, tc.schema)}, nil, Options{})
		c := Call{Tool: tc.name, Arguments: json.RawMessage(tc.arguments)}
		got := m.requestOf(c, false)
		if got.natural != (tc.want != "") || got.natural && got.do != tc.want {
			t.Errorf("%s %s: %q, natural %v; want %q", tc.name, tc.arguments, got.do, got.natural, tc.want)
		}
	}
	m := newMaker(nil, []Tool{toolOf("list_tasks", "List tasks", none)}, nil, Options{})
	if got := m.requestOf(Call{Tool: "list_tasks", Arguments: json.RawMessage("{}")}, true).do; got != "show me tasks" {
		t.Errorf("held-out words: %q", got)
	}
}
