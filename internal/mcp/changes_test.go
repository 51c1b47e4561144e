package mcp

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

func chatCall(tool string) chat.ToolCall { return chat.ToolCall{ID: "1", Name: tool, Arguments: "{}"} }

func TestChangedToolsAreReadBetweenEpisodes(t *testing.T) {
	for _, transport := range []string{viaStdio, viaHTTP} {
		for _, era := range []Era{Legacy, Modern} {
			t.Run(fmt.Sprint(transport, era), func(t *testing.T) {
				var mu sync.Mutex
				var told []Change
				p, _ := chaosPool(t, "tools-change", era, transport, Shared, Options{
					Changed: func(_ string, changes []Change) {
						mu.Lock()
						defer mu.Unlock()
						told = append(told, changes...)
					},
				})
				first := open(t, p, "1")
				for range 2 { // the tools change at the first call; this episode is left as it is
					if r := ask(first, "target", "{}"); r.Status != trajectory.CallOK {
						t.Errorf("the first episode: %+v", r)
					}
				}
				second := open(t, p, "2")
				if r := ask(second, "target", "{}"); r.Status != trajectory.CallInvalid ||
					!strings.Contains(r.Error, "no longer has") {
					t.Errorf("a tool that is gone: %+v", r)
				}
				if r := ask(second, "add", "{}"); r.Text != "3" {
					t.Errorf("a tool that is left: %+v", r)
				}
				if want := []Change{{"s", "target", ToolRemoved, nil},
					{"s", "new", ToolAdded, nil}}; !reflect.DeepEqual(told, want) {
					t.Errorf("told %v, want %v", told, want)
				}
				if n := p.Stats()[0].ListsChanged; n == 0 {
					t.Error("not counted")
				}
			})
		}
	}
}

func TestDiff(t *testing.T) {
	tool := func(name, description, schema string) Tool {
		return Tool{Name: name, ModelName: name, Description: description, InputSchema: []byte(schema)}
	}
	old := &Catalog{Servers: []ServerTools{
		{Name: "a", Tools: []Tool{tool("same", "x", "{}"), tool("gone", "x", "{}"), tool("other", "x", "{}")}},
		{Name: "left"},
	}}
	new := &Catalog{Servers: []ServerTools{
		{Name: "a", Tools: []Tool{tool("same", "x", "{}"), tool("other", "y", `{"a":1}`), tool("fresh", "x", "{}")}},
		{Name: "b", Tools: []Tool{tool("t", "x", "{}")}},
	}}
	var got []string
	for _, c := range Diff(old, new) {
		got = append(got, c.String())
	}
	if want := "[a: added fresh a: removed gone a: changed other (description, " +
		"inputSchema) b: added t]"; fmt.Sprint(got) != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
	if same := Diff(old, old); len(same) != 0 {
		t.Errorf("a catalog differs from itself: %v", same)
	}
	if all := Diff(nil, new); len(all) != 4 {
		t.Errorf("against nothing: %v", all)
	}
}

// What a server says has changed is looked at again where the first look failed, and that failure was ours.
func TestChangeIsNotForgotten(t *testing.T) {
	s := self(t, "tools")
	s.Isolation = Shared
	p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{})
	open(t, p, "1")
	m := p.servers[0].opener.meter
	m.noteListChange()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Open(ctx, "2"); err == nil || OutcomeOf(err) != trajectory.InfrastructureError {
		t.Errorf("got %v, blamed on %s", err, OutcomeOf(err))
	}
	if !m.takeChange() {
		t.Error("nobody will look again")
	}
}
