package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/job"
	"hone/internal/testing/fakes"
)

// politely has a tool that does what it is told, and one that refuses without the protocol's mark.
const politely = `
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    answer = {"error": {"code": -32601, "message": "unknown method"}}
    if m["method"] == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}}
    if m["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": n, "description": n, "inputSchema": {"type": "object"}} for n in ("look", "pay")]}}
    if m["method"] == "tools/call":
        said = {"status": "error", "message": "no such card"} if m["params"]["name"] == "pay" else {"status": "done"}
        answer = {"result": {"content": [{"type": "text", "text": json.dumps(said)}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **answer}), flush=True)
`

// A server that refuses without isError is told of, with what to write into its configuration, ready to paste. Gold
// that it refused is not learnt from; once the configuration says what a refusal is, or that there is none, the same
// command runs it again.
func TestUnmarkedRefusals(t *testing.T) {
	const look = `{"id": "look", "task": "Look.", "split": "train", "gold": [{"name": "look", "arguments": {}}], "checks": [{"type": "answer", "contains": "done"}]}` + "\n"
	const pay = `{"id": "pay", "task": "Pay.", "split": "train", "gold": [{"name": "pay", "arguments": {}}], "checks": [{"type": "answer", "contains": "card"}]}` + "\n"
	servers := func(refusal string) string {
		return `{"mcpServers": {"shop": {"command": "python3", "args": ["server.py"]` + refusal + `}}}`
	}
	workFolder(t, map[string]string{"server.py": politely, "mcp.json": servers(""), "both.jsonl": look + pay,
		"pay.jsonl": pay})
	gold := func(tasks, out string) (int, string) {
		t.Helper()
		code, _, said := hone(t, "", "collect", "--gold", "--yes", "--sandbox", "off", "--mcp-config", "mcp.json",
			"--dataset", tasks, "--split", "all", "--output-dir", out)
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
	code, said := gold("pay.jsonl", "paid")
	if code == 0 || !strings.Contains(said, "every gold solution was refused by its MCP server") ||
		learns("paid") != 0 {
		t.Errorf("exit code %d, %s", code, said)
	}
	code, said = gold("both.jsonl", "shown")
	mend := regexp.MustCompile(`the entry of server shop in .*, beside "command" .* are ("refusal": \[.*?\]), or`).
		FindStringSubmatch(said)
	if code != 0 || mend == nil || !strings.Contains(said, "no such card") ||
		!strings.Contains(said, "1 of 1 episode passed") || learns("shown") != 1 {
		t.Fatalf("exit code %d, %q, %s", code, mend, said)
	}
	if err := os.WriteFile("mcp.json", []byte(servers(", "+mend[1])), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, said = gold("both.jsonl", "shown"); code != 0 || strings.Contains(said, "without isError") ||
		!strings.Contains(contents(t, "shown/trajectories.jsonl"), `"status":"tool_error"`) {
		t.Errorf("as it was told: exit code %d, %s", code, said)
	}
	if err := os.WriteFile("mcp.json", []byte(servers(`, "refusal": []`)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, said = gold("both.jsonl", "trusted"); code != 0 || strings.Contains(said, "without isError") ||
		learns("trusted") != 2 {
		t.Errorf("taken at its word: exit code %d, %s", code, said)
	}
	if err := os.WriteFile("mcp.json", []byte(servers("")), 0o644); err != nil {
		t.Fatal(err)
	}
	endpoint := buyer(t, chat.ToolCall{Name: "pay", Arguments: "{}"})
	for verb, args := range map[string][]string{
		"collect": {"--yes", "--endpoint", endpoint, "--model", "m"},
		"eval":    {"--model", endpoint + "/m"},
	} {
		args = append([]string{verb, "--sandbox", "off", "--mcp-config", "mcp.json", "--dataset", "pay.jsonl",
			"--split", "train", "--output-dir", verb}, args...)
		if code, _, said := hone(t,
			"", args...); code != 0 || strings.Count(said, "warning: server shop says no without isError") != 1 ||
			!strings.Contains(said, mend[1]) {
			t.Errorf("%s of an endpoint: exit code %d, %s", verb, code, said)
		}
	}
}
