package synth

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hone/internal/data/kinds"
	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/synth/generate"
)

// A kind that calls a tool which no server has is refused with its name, before anything is called.
func TestKindsCallTools(t *testing.T) {
	catalog := &mcp.Catalog{Servers: []mcp.ServerTools{
		{Name: "shop", Tools: []mcp.Tool{{Name: "get_item", ModelName: "get_item"}}},
	}}
	for text, want := range map[string]string{
		`kinds: [{name: k, calls: [{tool: get_item}], wordings: [x]}]`:                    "",
		`kinds: [{name: k, calls: [{tool: get_item}, {tool: sell_item}], wordings: [x]}]`: `"k" calls sell_item`,
	} {
		set, err := kinds.Parse("shop.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var f *fault.Error
		if err = callsTools(set, catalog); (err == nil) != (want == "") || err != nil && (!errors.As(err, &f) ||
			f.Code != fault.CodeUsage || !strings.Contains(f.What, want) || f.Where != "shop.yaml") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := callsTools(nil, catalog); err != nil {
		t.Error(err)
	}
}

// A server that wants to write into the folder that it is installed in is named once.
func TestReadOnlyPlaces(t *testing.T) {
	rows := []generate.ToolRow{
		{Server: "graph", Why: "Error: EROFS: read-only file system, open 'memory.jsonl'"},
		{Server: "graph", Why: "[Errno 30] Read-only file system: 'x'"},
		{Server: "calc", Why: "Error: no digit"},
		{Server: "time"},
	}
	if got := readOnlyPlaces(rows); !slices.Equal(got, []string{"graph"}) {
		t.Error(got)
	}
}
