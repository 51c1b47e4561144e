package generate

import (
	"encoding/json"
	"testing"
)

// A search without a hit, and a conversion to a unit in which nobody counts, are no tasks.
func TestCallsOfNoUse(t *testing.T) {
	tools := []Tool{
		toolOf("search_notes", "Search notes", `{"type":"object","properties":{"query":{"type":"string"}}}`),
		toolOf("convert_mass", "Convert mass", `{"type":"object","properties":{"value":{"type":"number"},
			"from_unit":{"type":"string"},"to_unit":{"type":"string"}}}`),
	}
	for _, tc := range []struct {
		tool, arguments, answer string
		nothing, pointless      bool
	}{
		{"search_notes", `{"query":"lena"}`, `{"count":0,"query":"lena","notes":[]}`, true, false},
		{"search_notes", `{"query":"lena"}`, `{"count":1,"notes":[{"title":"Lunch"}]}`, false, false},
		{"convert_mass", `{"value":3,"from_unit":"ng","to_unit":"kt"}`, `{"result":3e-18}`, false, true},
		{"convert_mass", `{"value":3,"from_unit":"lb","to_unit":"kg"}`, `{"result":1.36}`, false, false},
	} {
		m := newMaker(nil, tools, nil, Options{})
		c := &Candidate{Kind: single, Calls: []Call{{Tool: tc.tool, Arguments: json.RawMessage(tc.arguments)}}}
		p := &Played{Results: []Answered{{"ok", tc.answer}}}
		if got := m.findsNothing(c, p); got != tc.nothing {
			t.Errorf("%s: finds nothing: %v", tc.answer, got)
		}
		if got := m.pointless(c, p); got != tc.pointless {
			t.Errorf("%s: pointless: %v", tc.answer, got)
		}
	}
}

// A tracker's tool that looks into one thing is left to calls where no program makes it; one that changes is not.
func TestToolsLeftToCalls(t *testing.T) {
	const keyed = `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`
	m := newMaker(nil, []Tool{toolOf("list_tasks", "List tasks", none), toolOf("get_contact", "Get a contact", keyed),
		toolOf("close_task", "Close a task", keyed)}, nil, Options{})
	server := m.tools[0].Server
	m.asks[server] = map[string]bool{"list_tasks": true, "get_contact": true, "close_task": true}
	m.boarded[server] = []*boarding{{}}
	var d draftOf
	d.Gold = append(d.Gold, Call{Tool: "list_tasks", Arguments: json.RawMessage("{}")}.gold())
	if m.giveUp([]draftOf{d}); m.asks[server]["get_contact"] || !m.asks[server]["close_task"] {
		t.Errorf("%v", m.asks[server])
	}
}
