package generate

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
)

func toolOf(name, description, schema string) Tool {
	return Tool{Tool: chat.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)},
		Server: "s"}
}

// What is answered without a call depends on tools that it does not call.
func TestStillAbstains(t *testing.T) {
	add := toolOf("add_item", "Add an item.", `{"type":"object","properties":{"name":{"type":"string"},"unit_price":{"type":"number"}},"required":["name","unit_price"]}`)
	free := toolOf("add_item", "Add an item.",
		`{"type":"object","properties":{"name":{"type":"string"},"unit_price":{"type":"number"}},"required":["name"]}`)
	of := func(kind, task, answer string) scenario.Scenario {
		return scenario.Scenario{Task: task, GoldAnswer: answer,
			Provenance: &scenario.Provenance{By: byHone, Kind: kind}}
	}
	jazz, asks := of(missingTool, "Please play some jazz in the living room.", "None of my tools can do that."),
		of(askBack, "Add an iron kettle.", "Which unit price should I use?")
	asks.Provenance.Tools = map[string]string{"add_item": "1"}
	says := of(noTool, "Do not do it yet, but do you have a tool to add an item?", "Yes, add_item can do that.")
	byHand := jazz
	byHand.Provenance = nil
	for _, tc := range []struct {
		name  string
		s     scenario.Scenario
		tools []Tool
		still bool
	}{
		{"no player", jazz, []Tool{add}, true},
		{"a player", jazz, []Tool{add, toolOf("play_song", "Play a song.", `{}`)}, false},
		{"a shell", jazz, []Tool{add, toolOf("run", "Run it.", `{"type":"object","properties":{"command":{"type":"string"}}}`)}, false},
		{"by hand", byHand, []Tool{toolOf("play_song", "Play a song.", `{}`)}, true},
		{"required", asks, []Tool{add}, true},
		{"no longer required", asks, []Tool{free}, false},
		{"no longer there", asks, nil, false},
		{"a tool that is named", says, []Tool{add}, true},
		{"a tool that is named and gone", says, []Tool{toolOf("put_item", "Put.", `{}`)}, false},
		{"small talk", of(noTool, "Good morning!", "Good morning!"), nil, true},
	} {
		if why := StillAbstains(tc.s, tc.tools); (why == "") != tc.still {
			t.Errorf("%s: %q", tc.name, why)
		}
	}
}

// Of a server that can do nearly anything nobody can say what it cannot do.
func TestGeneralServersMissNothing(t *testing.T) {
	const code = `{"type":"object","properties":{"code":{"type":"string"}}}`
	for _, tc := range []struct {
		tool    Tool
		general bool
	}{
		{toolOf("execute_command", "Run it.", `{}`), true},
		{toolOf("fetch", "Get a page.", `{"type":"object","properties":{"url":{"type":"string"}}}`), true},
		{toolOf("browser_click", "Click.", `{}`), true},
		{toolOf("run_python_code", "Run.", code), true},
		{toolOf("get_currency", "A currency's name.", code), false},
		{toolOf("execute_sql", "Query.", `{"type":"object","properties":{"query":{"type":"string"}}}`), false},
	} {
		m := &maker{Options: Options{}.withDefaults()}
		m.tools = []*subject{{Tool: tc.tool, schema: readParam(tc.tool.InputSchema)}}
		if n := len(m.missing(3)); (n == 0) != tc.general {
			t.Errorf("%s: %d tasks whose tool is missing", tc.tool.Name, n)
		}
	}
}

// What a teacher fills in and the task does not say is no part of the gold call.
func TestOnlySaid(t *testing.T) {
	tool := toolOf("search", "Search.", `{"type":"object","properties":{"query":{"type":"string"},"unit":{"type":"string","enum":["metric","imperial"]},"limit":{"type":"integer"},
		"recursive":{"type":"boolean"},"options":{"type":"object","properties":{"deep":{"type":"boolean"}}}},"required":["query"]}`)
	s := &subject{Tool: tool, schema: readParam(tool.InputSchema)}
	for _, tc := range []struct{ task, in, want string }{
		{"Search for kettles", `{"query":"kettles","unit":"metric","limit":10,"recursive":true}`, `{"query":"kettles"}`},
		{"Search for kettles, 10 at most, in metric units", `{"query":"kettles","unit":"metric","limit":10}`, `{"query":"kettles","unit":"metric","limit":10}`},
		{"Search for kettles, recursively, I mean recursive", `{"query":"kettles","recursive":true}`, `{"query":"kettles","recursive":true}`},
		{"Search for kettles", `{"query":"other","options":{"deep":true}}`, `{"query":"other"}`},
	} {
		if got := string(s.dropUnsaid(json.RawMessage(tc.in), tc.task)); got != tc.want {
			t.Errorf("%s: %s", tc.task, got)
		}
	}
}

// A play that a server's death cut off is tried anew by the next command.
func TestLostPlaysAreNotKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.jsonl")
	shop := newShop(t)
	shop.gone = true
	l, err := OpenLedger(path, "shop")
	if err != nil {
		t.Fatal(err)
	}
	p := &player{from: shop, ledger: l, workers: 1}
	x := play{Calls: []Call{{Tool: "list_items", Arguments: json.RawMessage("{}")}}}
	if got, err := p.play(t.Context(), x); err != nil || got.Lost == "" {
		t.Fatalf("%+v %v", got, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	shop.gone = false
	if l, err = OpenLedger(path, "shop"); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p = &player{from: shop, ledger: l, workers: 1}
	if got, err := p.play(t.Context(), x); err != nil || got.Lost != "" || len(got.Results) != 1 {
		t.Errorf("%+v %v", got, err)
	}
}
