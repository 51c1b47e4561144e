package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hone/internal/mcp"
)

// revisions is a folder of drafts to revise, as hone sidecar make-data leaves it: all call a tool that there is not.
func revisions(t *testing.T) {
	t.Helper()
	var rows strings.Builder
	for i, split := range []string{"train", "train", "train", "validation"} {
		fmt.Fprintf(&rows, `{"id":"s%[1]d#0","scenario":"s%[1]d","split":%[2]q,"server":"odd","messages":[{"role":"user","content":"Count %[1]d."}],"tools":["count"],"gold":[{"name":"count","arguments":{}}],`+
			`"answered":"ok","row":"s%[1]d#0/x@0","source":"x","draft":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"sing","arguments":"{}"}}]},"kinds":["no_tool"]}`+"\n", i, split)
	}
	if err := os.Mkdir("revisions", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, "revisions/rows.jsonl", rows.String())
	catalog, err := mcp.Discover(t.Context(), mcp.Config{Servers: map[string]mcp.Server{"odd": {URL: flatterer(t)}}})
	if err == nil {
		err = catalog.Save("revisions/catalog.json")
	}
	if err != nil {
		t.Fatal(err)
	}
}
