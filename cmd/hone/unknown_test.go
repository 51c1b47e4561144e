package main

import (
	"io"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/job"
	"hone/internal/testing/fakes"
)

// shortly answers with a summary that says nothing of what was asked, or with a record.
const shortly = `
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    answer = {"error": {"code": -32601, "message": "unknown method"}}
    if m["method"] == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}}
    if m["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": n, "description": n, "inputSchema": {"type": "object"}} for n in ("summary", "record")]}}
    if m["method"] == "tools/call":
        said = "completed." if m["params"]["name"] == "summary" else json.dumps({"owner": "Ines"})
        answer = {"result": {"content": [{"type": "text", "text": said}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **answer}), flush=True)
`

// Gold whose answer no prompt and no result says is named and not learnt from, unless it is asked for; rows of data are
// told of.
func TestUnknownAnswers(t *testing.T) {
	task := func(id, tool, task, answer string) string {
		return `{"id": "` + id + `", "task": "` + task + `", "split": "train", "gold": [{"name": "` + tool +
			`", "arguments": {}}], "checks": [{"type": "answer", "equals": "` + answer + `"}]}` + "\n"
	}
	workFolder(t, map[string]string{
		"server.py": shortly, "mcp.json": `{"mcpServers": {"shop": {"command": "python3", "args": ["server.py"]}}}`,
		"some.jsonl": task("guess", "summary", "Who owns alder?", "Ines") +
			task("read", "record", "Who owns alder?", "Ines") + task("asked", "summary", "Say Olu.", "Olu"),
		"gone.jsonl": task("gone", "recrd", "Say Olu.", "Olu") + task("read", "record", "Who owns alder?", "Ines"),
		"lost.jsonl": task("gone", "recrd", "Who owns alder?", "Ines"),
		"none.jsonl": task("guess", "summary", "Who owns alder?", "Ines"),
		"rows.jsonl": `{"messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "completed."}, {"role": "assistant", "content": "Ines"}]}` + "\n",
	})
	gold := func(tasks, out string, more ...string) (int, string) {
		t.Helper()
		args := append([]string{"collect", "--gold", "--yes", "--sandbox", "off", "--mcp-config", "mcp.json",
			"--dataset", tasks, "--output-dir", out}, more...)
		code, _, said := hone(t, "", args...)
		return code, said
	}
	learns := func(out string) int {
		t.Helper()
		d, err := job.ReadConversations(fakes.QuietHost(t), out+"/trajectories.jsonl", "", false)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := d.Demonstrations(toyApp(io.Discard, nil).Host, config.Default())
		if err != nil {
			return 0
		}
		return len(rows)
	}
	for range 2 { // the same command says it again, and runs nothing again
		code, said := gold("some.jsonl", "shown")
		if code != 0 || !strings.Contains(said,
			`left out: 1 gold answer that could not be known, the first: guess: its answer says "Ines"`) ||
			learns("shown") != 2 {
			t.Errorf("exit code %d, %d are learnt from, %s", code, learns("shown"), said)
		}
	}
	if code, said := gold("none.jsonl",
		"nothing"); code != 3 || !strings.Contains(said, "every gold answer says what nothing shown says") ||
		!strings.Contains(said, "--keep-unknown") {
		t.Errorf("exit code %d, %s", code, said)
	}
	// a tool that is not there is said to be what it is for, before and behind the run
	if code, said := gold("gone.jsonl", "gone"); code != 0 || !strings.Contains(said, "1 scenario cannot be done") ||
		!strings.Contains(said, `left out: 1 gold solution of tools that are not there, the first: gone: its gold `+
			`call "recrd" cannot be made`) || !strings.Contains(said, "1 of 2 episodes passed all checks") ||
		learns("gone") != 1 || strings.Contains(said, "could not be known") {
		t.Errorf("exit code %d, %d are learnt from, %s", code, learns("gone"), said)
	}
	if code, said := gold("lost.jsonl", "lost"); code != 3 || strings.Contains(said, "nothing shown says") ||
		!strings.Contains(said, "every gold solution calls a tool that is not there") ||
		!strings.Contains(said, `gone: its gold call "recrd" cannot be made: there is no such tool`) {
		t.Errorf("exit code %d, %s", code, said)
	}
	if code, said := gold("some.jsonl", "kept", "--keep-unknown"); code != 0 ||
		strings.Contains(said, "could not be known") || learns("kept") != 3 {
		t.Errorf("exit code %d, %s", code, said)
	}
	for _, data := range []string{"rows.jsonl", "kept/trajectories.jsonl"} {
		if _, _, said := hone(t, "", "data", "validate", data); !strings.Contains(said,
			`warning: 1 row teaches an answer that no prompt and no result says, the first, "Ines", at `+data+":1") {
			t.Errorf("%s: %s", data, said)
		}
	}
	if code, _, said := hone(t, "", "collect", "--keep-unknown", "--endpoint", "http://127.0.0.1:1/v1", "--model", "m",
		"--mcp-config", "mcp.json", "--output-dir", "x"); code != 2 || !strings.Contains(said, "only gold answers") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
