package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A tool that takes nothing but a span of days is asked for all that there is.
func TestSpans(t *testing.T) {
	for _, tc := range []struct{ schema, bare string }{
		{`{"properties":{"start_date":{"title":"Start Date"},"end_date":{"title":"End Date"},"category":{"default":null}},
			"required":["start_date","end_date"]}`, `{"start_date":"2000-01-01","end_date":"2099-12-31"}`},
		{`{"properties":{"to":{"type":"string","format":"date-time"},"from":{"type":"string","format":"date-time"}},
			"required":["from","to"]}`, `{"from":"2000-01-01T00:00:00Z","to":"2099-12-31T00:00:00Z"}`},
		{`{"properties":{"start_date":{"type":"string"},"end_date":{"type":"string"}}}`, `{}`},
		{`{"properties":{"from_unit":{"type":"string"},"to_unit":{"type":"string"}},"required":["from_unit"]}`, `{}`},
		{`{"properties":{"start_line":{"type":"integer"},"end_line":{"type":"integer"}},"required":["start_line"]}`,
			`{}`},
	} {
		s := &subject{Tool: toolOf("list_expenses", "", tc.schema), schema: readParam(json.RawMessage(tc.schema))}
		if got := string(s.bare().Arguments); got != tc.bare || s.asksMore() != (tc.bare == "{}" && s.needs()) {
			t.Errorf("%s: %s, asks more: %t", tc.schema, got, s.asksMore())
		}
	}
}

// Of two days that bound a span the earlier one comes first, and what is an amount by its name is a number though the
// schema says no type.
func TestUntypedValues(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"start_date":{},"end_date":{},"amount":{"title":"Amount"}},
		"required":["start_date","end_date","amount"]}`)
	s := &subject{Tool: toolOf("add_budget", "", string(schema)), schema: readParam(schema)}
	known := &values{}
	known.gave(Call{Tool: "add_budget"}, `{"status":"success","id":4}`, 0)
	known.gave(Call{Tool: "add_budget"}, `{"output":"Error: no such budget"}`, 0)
	if len(known.list) != 1 {
		t.Errorf("how a call went is known: %v", known.list)
	}
	for i := range uint64(40) {
		raw, ok := filler{rand.New(rand.NewPCG(1, i)), s, known}.arguments(false)
		if from, to := textOf(find(raw, "start_date")), textOf(find(raw, "end_date")); !ok || from == "" || from > to {
			t.Errorf("from %q to %q", from, to)
		}
		if amount := find(raw, "amount"); amount[0] == '"' {
			t.Errorf("amount %s", amount)
		}
	}
}

// A server that notes each call in a file changes nothing by being asked.
func TestLogsOfCalls(t *testing.T) {
	for _, tc := range []struct {
		file  string
		again func(old []byte) []byte // what a call makes of a file
		log   bool
	}{
		{"audit.jsonl", func(old []byte) []byte { return append(old, "{\"tool\":\"list_stock\"}\n"...) }, true},
		{"turn.txt", func(old []byte) []byte { return []byte{1 ^ (string(old) + "\x00")[0]} }, false},
	} {
		shop := newShop(t)
		shop.tools["list_stock"] = func(s *stock, _ map[string]any) (string, error) {
			old, _ := os.ReadFile(filepath.Join(s.dir, tc.file)) // none is there at first
			text, _ := json.Marshal(map[string]any{"stock": s.items})
			return string(text), os.WriteFile(filepath.Join(s.dir, tc.file), tc.again(old), 0o600)
		}
		tools := []Tool{toolOf("list_stock", "List the stock.", none)}
		tools[0].Safe, tools[0].Server = true, "shop"
		m := newMaker(shop, tools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), optionsOf(shop))
		if err := m.learnLogs(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := m.play(t.Context(), play{Calls: []Call{m.byName["list_stock"].bare()}})
		if err != nil || got.Lost != "" || len(got.Changed) == 0 != tc.log {
			t.Errorf("%s: changes %v, %v, %v", tc.file, got.Changed, got.Lost, err)
		}
	}
}

// A file that was listed is what the other tools are asked about, and a new one is of the kind that is there.
func TestFilesThatAreThere(t *testing.T) {
	known := &values{}
	known.gave(Call{Tool: "list_workbooks"}, dirMark+"/staff.xlsx\n"+dirMark+"/stock.xlsx", 0)
	for _, tc := range []struct {
		tool  string
		there bool
	}{{"read_sheet", true}, {"delete_rows", true}, {"create_workbook", false}} {
		schema := `{"type":"object","properties":{"file":{"type":"string"}},"required":["file"]}`
		s := &subject{Tool: toolOf(tc.tool, "", schema), schema: readParam(json.RawMessage(schema))}
		there := 0
		for i := range uint64(40) {
			raw, _ := filler{rand.New(rand.NewPCG(2, i)), s, known}.arguments(false)
			file := textOf(find(raw, "file"))
			if file == "staff.xlsx" || file == "stock.xlsx" {
				there++
			}
			if !strings.HasSuffix(file, ".xlsx") {
				t.Errorf("%s of %q", tc.tool, file)
			}
		}
		if there > 20 != tc.there {
			t.Errorf("%s: %d of 40 files are there", tc.tool, there)
		}
	}
}

// What a server says of a thing that it has not is no answer; what it says of one that it has is.
func TestNotThere(t *testing.T) {
	for text, want := range map[string]string{
		"Project not found": "not found", "Todo with ID 4 not found": "not found", "No such note was found": "",
		"Todo was not found.": "not found", "Lost keys were found": "", "Note 'Lease' does not exist": "not found",
		"Found 3 notes: one not found": "", `{"title":"Parcel not found"}`: "",
	} {
		if got := senseless(text, Call{Tool: "get_project", Arguments: json.RawMessage(`{"id":"4"}`)}); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// Tables are made of what a tool lists by itself: not of one thing's, nor of some that a summary picks.
func TestTablesOfWhole(t *testing.T) {
	id := `{"type":"object","properties":{"contact_id":{"type":"string"}},"required":["contact_id"]}`
	m := newMaker(newShop(t), []Tool{toolOf("get_contact", "", id), toolOf("list_deals", "", none),
		toolOf("pipeline_summary", "", none)}, nil, Options{})
	for _, tc := range []struct {
		call Call
		text string
		want string
	}{
		{Call{Tool: "get_contact", Arguments: json.RawMessage(`{"contact_id":"C-3"}`)}, `{"deals":[%]}`, ""},
		{Call{Tool: "list_deals", Arguments: json.RawMessage(`{}`)}, `{"deals":[%]}`, "deals"},
		{Call{Tool: "pipeline_summary", Arguments: json.RawMessage(`{}`)}, `{"closing_this_month":[%]}`, ""},
	} {
		text := strings.ReplaceAll(tc.text, "%", `{"id":"D-1","title":"Roof"},{"id":"D-2","title":"Pumps"}`)
		got := ""
		if s := m.shelf(&realm{looks: []Call{tc.call}, before: []stable{{text: text}}}); s != nil {
			got = s.Tables[0].Name
		}
		if got != tc.want {
			t.Errorf("%s: table %q", tc.call.Tool, got)
		}
	}
}

// Of tags and guests nobody would say that they are all that is noted.
func TestNoted(t *testing.T) {
	for name, want := range map[string]bool{"observations": true, "notes": true, "tags": false, "attendees": false} {
		if isNoted(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// A tool after which a list shows a thing no more takes it away by its name, or does to it what its name says; and a
// count alone does not tell what is gone.
func TestWhatIsNoLongerListed(t *testing.T) {
	list := `{"todos":[{"id":"1","text":"Water the tomatoes"},{"id":"2","text":"Fix the door"},{"id":"3","text":"Buy paint"}]}`
	rest := `{"todos":[{"id":"1","text":"Water the tomatoes"},{"id":"3","text":"Buy paint"}]}`
	id := `{"type":"object","properties":{"todo_id":{"type":"string"}},"required":["todo_id"]}`
	m := newMaker(newShop(t), []Tool{toolOf("list_todos", "", none), toolOf("complete_todo", "", id),
		toolOf("delete_todo", "", id)}, nil, Options{})
	shelf := func(text string) *shelf {
		return m.shelf(&realm{looks: []Call{m.byName["list_todos"].bare()}, before: []stable{{text: text}}})
	}
	for tool, want := range map[string]string{"complete_todo": actVerb, "delete_todo": actRemove} {
		before := shelf(list)
		a, ok := m.learnAct(before, shelf(rest), Call{Tool: tool, Arguments: json.RawMessage(`{"todo_id":"2"}`)})
		if !ok || a.does != want || before.Tables[0].NameOf(before.Tables[0].Rows[1]) != "Fix the door" {
			t.Errorf("%s: %t, %q", tool, ok, a.does)
		}
	}
	for line, want := range map[string]bool{`"count": 29,`: true, `"title": "Room 29",`: false} {
		if countLine.MatchString(line) != want {
			t.Errorf("%s is a count: %t", line, !want)
		}
	}
}

// Of a tracker's server that lists other things besides, these are found, and left to others.
func TestListedElsewhere(t *testing.T) {
	shop := newShop(t)
	lists := func(of string, n int) func(*stock, map[string]any) (string, error) {
		return func(*stock, map[string]any) (string, error) {
			var all []map[string]any
			for i := range n {
				all = append(all, map[string]any{"id": fmt.Sprint(of, "-", i), "title": fmt.Sprint(of, " of day ", i)})
			}
			text, err := json.Marshal(all)
			return string(text), err
		}
	}
	var tools []Tool
	for name, n := range map[string]int{"list_projects": 6, "list_todos": 6, "list_labels": 2} {
		shop.tools[name] = lists(name[5:], n)
		tools = append(tools, toolOf(name, "", none))
		tools[len(tools)-1].Safe = true
	}
	m := newMaker(shop, tools, nil, optionsOf(shop))
	session, err := shop.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	shown := m.shownTables(t.Context(), session, tools[0].Server)
	at := slices.IndexFunc(shown, func(o shownTable) bool { return o.list.Name == "list_projects" })
	shown[at].of = &boardState{board: &board{server: tools[0].Server, list: m.byName["list_projects"]}}
	if got := elsewhere(shown); strings.Join(got, " ") != "todo" {
		t.Errorf("listed besides projects: %v", got)
	}
}
