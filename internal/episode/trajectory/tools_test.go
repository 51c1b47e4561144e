package trajectory_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

func tool(name, description string) chat.Tool {
	return chat.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

// What was shown comes back as it was, through JSON too, and a catalog's tools are not written again.
func TestShownRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var catalog []chat.Tool
		for i := range rapid.IntRange(0, 6).Draw(r, "tools") {
			catalog = append(catalog, tool(fmt.Sprint("t", i), "does it"))
		}
		var tools []chat.Tool
		for i := range rapid.IntRange(0, 2).Draw(r, "own") {
			tools = append(tools, tool(fmt.Sprint("own", i), "searches"))
		}
		numOwn := len(tools)
		for _, c := range catalog {
			if rapid.Bool().Draw(r, "shown") {
				tools = append(tools, c)
			}
		}
		ordered := rapid.Bool().Draw(r, "in order")
		if !ordered {
			tools = rapid.Permutation(tools).Draw(r, "order")
		}
		s := trajectory.DescribeTools(tools, catalog, "h")
		text, err := json.Marshal(s)
		if err != nil {
			r.Fatal(err)
		}
		var back trajectory.Shown
		if err := json.Unmarshal(text, &back); err != nil {
			r.Fatal(err)
		}
		got, err := back.Tools(catalog)
		if err != nil || back.Catalog != "h" ||
			!slices.EqualFunc(got, tools, func(a, b chat.Tool) bool { return reflect.DeepEqual(a, b) }) {
			r.Fatalf("%s gives %v, want %v, %v", text, got, tools, err)
		}
		if ordered && len(s.Own) != numOwn {
			r.Fatalf("%s writes the tools of the catalog again", text)
		}
		if all := len(tools)-numOwn == len(catalog); ordered && all != s.All || s.All && s.Names != nil {
			r.Fatalf("%s: all %v", text, all)
		}
	})
}

// A tool that changed since is not the one that was shown, and one that is gone is named.
func TestShownOfAnotherCatalog(t *testing.T) {
	shown := []chat.Tool{tool("a", "old")}
	if s := trajectory.DescribeTools(shown, []chat.Tool{tool("a", "new"), tool("b", "")}, "h"); len(s.Own) != 1 {
		t.Errorf("%+v", s)
	}
	s := trajectory.DescribeTools(shown, []chat.Tool{tool("a", "old"), tool("b", "")}, "h")
	if _, err := s.Tools([]chat.Tool{tool("b", "")}); err == nil {
		t.Error("a tool that the catalog lacks was found in it")
	}
}
