package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hone/internal/mcp"
)

// revisions is a folder of drafts to revise, as hone sidecar make-data leaves it: they call a tool that there is not,
// but for two at the end of a scenario, which are words and right.
func revisions(t *testing.T) {
	t.Helper()
	var rows strings.Builder
	for i, split := range []string{"train", "train", "train", "validation"} {
		fmt.Fprintf(&rows, `{"id":"s%[1]d#0","scenario":"s%[1]d","split":%[2]q,"server":"odd","messages":[{"role":"user","content":"Count %[1]d."}],"tools":["count"],"gold":[{"name":"count","arguments":{}}],`+
			`"answered":"ok","row":"s%[1]d#0/x@0","source":"x","draft":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"sing","arguments":"{}"}}]},"kinds":["no_tool"]}`+"\n", i, split)
	}
	for _, split := range []string{"train", "validation"} {
		fmt.Fprintf(&rows, `{"id":"%[1]s#end","scenario":"%[1]s","split":%[1]q,"server":"odd","messages":[{"role":"user","content":"Count."},{"role":"assistant","tool_calls":[{"id":"c","type":"function",`+
			`"function":{"name":"count","arguments":"{}"}}]},{"role":"tool","content":"5","tool_call_id":"c","name":"count"}],"tools":["count"],"gold":[],"answered":"ok","row":"%[1]s#end/x@0","source":"x",`+
			`"draft":{"role":"assistant","content":"It is 5."},"right":true}`+"\n", split)
	}
	if err := os.Mkdir("revisions", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, "revisions/rows.jsonl", rows.String())
	catalog, err := mcp.Discover(t.Context(),
		mcp.Config{Servers: map[string]mcp.Server{"odd": {URL: counter(t, false)}}})
	if err == nil {
		err = catalog.Save("revisions/catalog.json")
	}
	if err != nil {
		t.Fatal(err)
	}
}
