package mcp

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

// What an entry says of its tools under any host's name for it is what is listed, called and told of when the list
// changes.
func TestToolsThatAreUsed(t *testing.T) {
	every := modelNames(discover(t, map[string]Server{"s": self(t, "tools")}))
	but := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(every), func(name string) bool { return slices.Contains(names, name) })
	}
	if len(every) < 4 || !slices.Contains(every, "add") {
		t.Fatal(every)
	}
	for keys, want := range map[string][]string{
		`"tools": ["*"]`:                            every,
		`"tools": []`:                               every,
		`"tools": ["add"]`:                          {"add"},
		`"includeTools": ["a*d"]`:                   {"add"},
		`"enabledTools": ["add"]`:                   {"add"},
		`"excludeTools": ["add"]`:                   but("add"),
		`"disabledTools": ["add"]`:                  but("add"),
		`"tools": ["*"], "excludeTools": ["a*"]`:    slices.DeleteFunc(slices.Clone(every), func(name string) bool { return strings.HasPrefix(name, "a") }),
		`"tools": ["add"], "excludeTools": ["ad"]`:  nil,
		`"tools": ["add"], "disabledTools": ["*"]`:  nil,
		`"tools": ["ad"]`:                           nil,
		`"tools": ["add"], "enabledTools": ["sub"]`: nil,
	} {
		c, err := load(t, `{"mcpServers": {"s": {"command": "x", `+keys+`}}}`)
		if err != nil {
			t.Fatalf("%s: %v", keys, err)
		}
		s := self(t, "tools")
		s.Tools, s.ExcludeTools = c.Servers["s"].Tools, c.Servers["s"].ExcludeTools
		catalog, err := Discover(t.Context(), configOf(t, map[string]Server{"s": s}))
		switch f, _ := err.(*fault.Error); {
		case want == nil && (f == nil || f.Where != "s" || !strings.Contains(f.Next, "excludeTools")):
			t.Errorf("%s: %v", keys, err)
		case want != nil && (err != nil || !slices.Equal(modelNames(catalog), want)):
			t.Errorf("%s: %v, want %v", keys, catalog, want)
		}
	}
	if _, err := load(t, `{"mcpServers": {"s": {"command": "x", "tools": ["[a"]}}}`); err == nil ||
		!strings.Contains(err.Error(), "no pattern") {
		t.Errorf("a broken pattern: %v", err)
	}
	if c, err := load(t,
		`{"mcpServers": {"s": {"command": "x", "enabled": true}, "off": {"command": "y", "enabled": false}}}`); err !=
		nil || len(c.Servers) != 1 {
		t.Errorf("a server that is not enabled: %+v, %v", c.Servers, err)
	}
}

// A name may be gone from a list that changes, and what is not used is no news in it.
func TestToolsThatAreUsedChange(t *testing.T) {
	var told []Change
	s := self(t, "chaos", "tools-change", string(Legacy), t.TempDir())
	s.Isolation, s.Tools = Shared, []string{"target", "add"}
	p := newPool(t, configOf(t, map[string]Server{"s": s}),
		Options{Changed: func(_ string, changes []Change) { told = append(told, changes...) }})
	if r := ask(open(t, p, "1"), "target", "{}"); r.Status != "ok" {
		t.Errorf("%+v", r)
	}
	second := open(t, p, "2")
	if r := ask(second, "add", "{}"); r.Text != "3" {
		t.Errorf("%+v", r)
	}
	if len(told) != 1 || told[0].Tool != "target" || told[0].Kind != ToolRemoved {
		t.Errorf("told %v", told)
	}
}
