package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/console/sanitize"
	"hone/internal/host"
)

// Scenarios that ask for what the servers cannot give, or what nobody has allowed, are refused before anything begins,
// by every verb that would run them.
func TestScenariosThatCannotRun(t *testing.T) {
	for _, test := range []struct{ name, row, rules, says string }{
		{"a file", `"checks": [{"type": "file", "path": "x", "exists": true}]`, "", "checks[0] (file)"},
		{"a folder", `"checks": [{"type": "no_call"}, {"type": "unchanged"}]`, "", "checks[1] (unchanged)"},
		{"a template", `"template": "box", "checks": [{"type": "no_call"}]`, "", "no server can have one"},
		{"another tool", `"checks": [{"type": "state", "name": "lok", "equals": "x"}]`, "", `there is no tool "lok"`},
		{"a denied state", `"checks": [{"type": "state", "name": "look", "arguments": {"name": "x"}, "equals": "x"}]`,
			`{deny: ["*/look"]}`, `denied by the rule "*/look"`},
		{"a program", `"checks": [{"type": "command", "command": ["./box/score.sh"]}]`, "", "they name "},
	} {
		for _, verb := range [][]string{
			{"collect", "--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--output-dir", "out", "--yes"},
			{"train", "--output-dir", "out", "--num-gpus", "0"}, {"eval", "--split", "train"},
			{"scenarios", "validate", "tasks.jsonl"},
		} {
			url, _ := shop(t)
			workFolder(t, map[string]string{
				"tasks.jsonl":  `{"task": "t", "split": "train", ` + test.row + `}`,
				"box/score.sh": "#!/bin/sh\ntouch ran\necho 1\n",
				"hone.yaml":    "engine: {plugin: no/plugin.so}\nmcp: {approval: " + rulesOf(test.rules) + "}\n",
			})
			if err := os.Chmod("box/score.sh", 0o700); err != nil {
				t.Fatal(err)
			}
			args := append(verb, "--mcp", url)
			if verb[0] != "scenarios" {
				args = append(args, "--dataset", "tasks.jsonl")
			}
			if verb[0] == "train" || verb[0] == "eval" {
				args = append(args, "--base-model", "base")
				toyModel(t, "base/toy.gguf")
			}
			var said bytes.Buffer
			a := &app{Host: &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(&said),
				Talk: sanitize.New(&said), LookupEnv: os.LookupEnv, Environ: os.Environ()}}
			if code := a.main(t.Context(), args); code != 2 || !strings.Contains(said.String(), test.says) ||
				!strings.Contains(said.String(), "next:") {
				t.Errorf("%s, %s: exit code %d, %s", test.name, verb[0], code, &said)
			}
			if _, err := os.Stat("box/ran"); err == nil {
				t.Errorf("%s, %s: the program ran", test.name, verb[0])
			}
			if _, err := os.Stat("out/version.json"); err == nil {
				t.Errorf("%s, %s: a run has begun", test.name, verb[0])
			}
		}
	}
}

// Collected episodes begin as their rows say and are checked by files, programs and what did not change, as trained
// ones are.
func TestCollectChecksTheWorld(t *testing.T) {
	const rows = `{"id": "write", "task": "Write hi into notes.txt.", "split": "train",
 "checks": [{"type": "file", "path": "notes.txt", "equals": "hi"}, {"type": "unchanged", "ignore": ["notes.txt"]}, {"type": "command", "command": ["./score.sh"]}]}
{"id": "read", "task": "What does notes.txt say?", "split": "train", "template": "other", "checks": [{"type": "answer", "contains": "4712"}, {"type": "unchanged"}]}`
	workFolder(t, map[string]string{
		"template/notes.txt": "4711", "other/notes.txt": "4712", "mcp.json": files(t),
		"tasks.json": "[" + strings.Replace(rows, "}]}\n", "}]},\n", 1) + "]",
		"score.sh": "#!/bin/sh\ngrep -q notes.txt && test \"$(cat \"$HONE_EPISODE_DIR/notes.txt\")\" = hi && echo 1 " +
			"|| echo 0\n", "hone.yaml": "scenarios: {programs: true}\n",
	})
	if err := os.Chmod("score.sh", 0o700); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := hone(t, "", "collect", "--endpoint", clerk(t), "--model", "m", "--mcp-config", "mcp.json",
		"--dataset", "tasks.json", "--output-dir", "out", "--yes")
	if code != 0 || !strings.Contains(stderr, "2 of 2 episodes passed all checks") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, x := range trajectoriesOf(t, "out") {
		if len(x.Terms) == 0 || x.Terms[0].Name != "checks" || x.Terms[0].Score != 1 {
			t.Errorf("%+v saw %+v", x.Terms, x.Seen)
		}
	}
}

// doctor asks a tool that reads for what is not there, and says how its server says no; a tool that writes is not
// asked.
func TestDoctorFindsRefusals(t *testing.T) {
	type thing struct {
		Name string `json:"name"`
	}
	var asked []string
	s := mcp.NewServer(&mcp.Implementation{Name: "sly", Version: "1"}, nil)
	for name, says := range map[string]string{
		"erase": "", "find": `{"status": "error", "message": "not found"}`, "look": `{"ok": false}`,
		"seek": `{"status": "error"}`, "structured": "",
	} {
		tool := &mcp.Tool{Name: name, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name != "erase"}}
		mcp.AddTool(s, tool, func(context.Context, *mcp.CallToolRequest, thing) (*mcp.CallToolResult, any, error) {
			asked = append(asked, name)
			out := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: says}}}
			if name == "structured" {
				out.StructuredContent = map[string]any{"success": false}
			}
			return out, nil, nil
		})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(server.Close)
	const all = `{"status": "error"}, {"ok": false}, {"success": false}`
	for refusal, want := range map[string]string{
		"":                                      `the tools find, look, seek, structured say no without isError, so a call that did nothing counts as answered: {"status": "error", "message": "not found"}|beside "command" or "url", how such an answer begins, as "refusal": ["^Error"], or what|"refusal": [` + all + `], or`,
		`, "refusal": ["^No"]`:                  `the tools find, look, seek, structured say no|"refusal": ["^No", ` + all + `], or`,
		`, "refusal": [{"status": "error"}]`:    `the tools look, structured say no|"refusal": [{"status":"error"}, {"ok": false}, {"success": false}], or`,
		`, "refusal": [{"ok": false}, "error"]`: `the tool structured says no|"refusal": [{"ok":false}, "error", {"success": false}], or`,
		`, "refusal": [` + all + `]`:            "",
		`, "refusal": []`:                       "",
	} {
		workFolder(t, map[string]string{
			"mcp.json": `{"mcpServers": {"sly": {"url": "` + server.URL + `"` + refusal + `}}}`,
		})
		_, stdout, stderr := hone(t, "", "doctor", "--mcp-config", "mcp.json")
		for part := range strings.SplitSeq(want, "|") {
			if !strings.Contains(stdout, part) || want == "" && strings.Contains(stdout, "without isError") {
				t.Errorf("%s: %s%s", refusal, stdout, stderr)
			}
		}
	}
	if slices.Contains(asked, "erase") {
		t.Errorf("asked %q", asked)
	}
	asked = nil
	workFolder(t, map[string]string{"mcp.json": `{"mcpServers": {"sly": {"url": "` + server.URL + `"}}}`,
		"hone.yaml": "mcp: {approval: {deny: [\"sly/find\"]}}\n"})
	if hone(t, "", "doctor", "--mcp-config", "mcp.json"); slices.Contains(asked, "find") {
		t.Errorf("a denied tool was asked: %q", asked)
	}
}
