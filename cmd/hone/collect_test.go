package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/data/dataset"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/testing/fakes"
)

// Collected episodes are those of the configuration: set up, bounded in tokens and in the tools' working time, each
// with its outcome.
func TestCollectKeepsTheConfiguration(t *testing.T) {
	server := everything(t, "t")
	asked := map[string]int{} // task -> max_tokens
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages  []struct{ Role, Content string }
			MaxTokens int `json:"max_tokens"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		task := q.Messages[len(q.Messages)-1].Content
		asked[task] = q.MaxTokens // the endpoint is asked one at a time
		message := map[string]any{"role": "assistant", "content": "5"}
		if task == "Work." { // longer than tools may
			message["tool_calls"] = []any{map[string]any{"id": "c", "type": "function",
				"function": map[string]string{"name": "trigger-long-running-operation",
					"arguments": `{"duration": 1.5, "steps": 1}`}}}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": message, "finish_reason": "stop"}},
			"usage":   map[string]int{"prompt_tokens": 41, "completion_tokens": 1},
		})
	}))
	t.Cleanup(endpoint.Close)
	workFolder(t, map[string]string{"hone.yaml": "rollout: {max_tokens: 17, timeout: 1s}\n", "scenarios.jsonl": `
{"id": "good", "task": "Add.", "setup": [{"name": "get-sum", "arguments": {"a": 1, "b": 2}}]}
{"id": "bad", "task": "Fail.", "setup": [{"name": "get-sum", "arguments": {"a": "x"}}]}
{"id": "slow", "task": "Work."}
`})
	var stdout, stderr bytes.Buffer
	a := &app{Host: &host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(&stdout), Talk: sanitize.New(&stderr),
		LookupEnv: os.LookupEnv, Environ: os.Environ()}}
	a.withEnv(map[string]string{"MCP_URL": server.url, "MCP_BEARER_TOKEN": "t"})
	if code := a.main(t.Context(), []string{"collect", "--endpoint", endpoint.URL + "/v1", "--model", "m", "--dataset",
		"scenarios.jsonl", "--split", "all", "--output-dir", "traces", "--yes", "--json"}); code != 0 {
		t.Fatalf("exit code %d, %s", code, &stderr)
	}
	var outcomes map[string]int
	if err := json.Unmarshal(stdout.Bytes(), &outcomes); err != nil || len(outcomes) != 3 || outcomes["ok"] != 1 ||
		outcomes["environment_error"] != 1 || outcomes["limit"] != 1 {
		t.Errorf("outcomes %s, %v", &stdout, err)
	}
	if !strings.Contains(stderr.String(), "82 tokens sent and 2 tokens received were paid for") {
		t.Errorf("what was spent is not told: %s", &stderr)
	}
	if _, set := asked["Fail."]; set || asked["Add."] != 17 || asked["Work."] != 17 {
		t.Errorf("asked for tokens: %v", asked)
	}
}

// How many of the episodes passed is told, those of an earlier attempt among them. What has no checks is in no rate.
func TestCollectTellsThePassRate(t *testing.T) {
	url, _ := shop(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name": "hat"}`})
	const hat = `{"id": "hat", "task": "Buy a hat.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}` + "\n"
	const none = `{"id": "none", "task": "What is a hat?"}` + "\n"
	workFolder(t, map[string]string{"none.jsonl": none, "two.jsonl": hat + none,
		"four.jsonl": hat + none + strings.ReplaceAll(hat, "hat", "cap") + strings.ReplaceAll(hat, "hat", "tie")})
	for _, c := range []struct{ file, want string }{
		{"none.jsonl", "no episode was scored by checks; not scored, for want of checks or because a server failed: 1\n"},
		{"two.jsonl", "1 of 1 episode passed all checks (100.0%); not scored, for want of checks or because a server " +
			"failed: 1\n"}, {"four.jsonl", "1 of 3 episodes passed all checks (33.3%); not scored"},
	} {
		if code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset",
			c.file, "--split", "all", "--output-dir", "out", "--yes"); code != 0 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, no %q in %s", c.file, code, c.want, said)
		}
	}
}

// crashing lists one tool twice, with two descriptions, and crashes when it is called.
const crashing = `
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    answer = {"error": {"code": -32601, "message": "unknown method"}}
    if m["method"] == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}}
    if m["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "poll", "description": d, "inputSchema": {"type": "object"}} for d in ("one", "two")]}}
    if m["method"] == "tools/call":
        print("the disk is on fire", file=sys.stderr, flush=True)
        sys.exit(3)
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **answer}), flush=True)
`

func TestDiscoverTellsOfASecondToolOfAName(t *testing.T) {
	workFolder(t, map[string]string{"server.py": crashing})
	code, _, said := hone(t, "", "discover", "--sandbox", "off", "--mcp", "python3 server.py")
	if code != 0 || !strings.Contains(said,
		`the tool "poll" is listed more than once, with other texts; the first counts`) {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// What a server that crashed said last is in the error that is printed.
func TestCollectTellsOfACrash(t *testing.T) {
	workFolder(t, map[string]string{"tasks.jsonl": `{"id": "a", "task": "Poll."}` + "\n", "server.py": crashing})
	code, _, said := hone(t, "", "collect", "--yes", "--sandbox", "off", "--mcp", "python3 server.py", "--dataset",
		"tasks.jsonl", "--split", "all", "--endpoint", buyer(t, chat.ToolCall{Name: "poll", Arguments: "{}"}),
		"--model", "m", "--output-dir", "out")
	if code != 5 || !strings.Contains(said, "exit status 3") || !strings.Contains(said, "the disk is on fire") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// Gold calls are made on the server as an episode of any policy, scored, and learnt from where they pass; a scenario
// that has nothing to show is left out.
func TestCollectGold(t *testing.T) {
	url, sold := shop(t)
	workFolder(t, map[string]string{
		"hone.yaml": strings.Replace(toyConfig, "max_turns: 2", "max_turns: 3", 1) + "scenarios: {file: tasks.jsonl}\n",
		"tasks.jsonl": `{"id": "hat", "task": "Buy a hat.", "split": "train", "gold": [{"name": "look", "arguments": {"name": "hat"}}, {"name": "buy", "arguments": {"name": "hat"}}], "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}, {"type": "answer", "regex": "^sold$"}]}
{"id": "cap", "task": "Buy a cap.", "split": "train", "gold": [{"name": "buy", "arguments": {"name": "cap"}}], "gold_answer": "A cap.", "checks": [{"type": "answer", "contains": "cap"}]}
{"id": "bad", "task": "Buy a bow.", "split": "train", "gold": [{"name": "buy", "arguments": {"name": "bow"}}], "checks": [{"type": "answer", "regex": "^lent$"}]}
{"id": "none", "task": "Buy a fez.", "split": "train", "checks": [{"type": "answer", "regex": "^sold$"}]}
`,
	})
	toyModel(t, "base/toy.gguf")
	code, _, said := hone(t, "", "collect", "--gold", "--yes", "--mcp", url, "--split", "all", "--output-dir", "shown")
	if code != 0 || !strings.Contains(said, "1 scenario with neither gold calls nor an answer") ||
		!strings.Contains(said, "2 of 3 episodes passed all checks") || strings.Contains(said, "paid for") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if got := sold(); !slices.Equal(got, []string{"hat", "cap", "bow"}) {
		t.Errorf("sold %q", got)
	}
	d, err := job.ReadConversations(fakes.QuietHost(t), "shown/trajectories.jsonl", "", false)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Demonstrations(toyApp(io.Discard, nil).Host, config.Default())
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, want := range []string{"sold", "A cap."} {
		m := rows[i].Messages
		if last := m[len(m)-1]; last.Role != chat.Assistant || last.Content != want || len(m) != []int{6, 4}[i] {
			t.Errorf("%d messages, the last %+v, want %q", len(m), last, want)
		}
	}
	if code, _, said := hone(t, "", "sft", "--dry-run", "--data", "shown/trajectories.jsonl", "--base-model", "base",
		"--output-dir", "tuned"); code != 0 {
		t.Errorf("sft: exit code %d, %s", code, said)
	}
	// What is exported of a run holds the tools that its episodes were shown, and can be read where the run's catalog
	// is not.
	for args, want := range map[string]string{
		"data convert shown/trajectories.jsonl --to trl --out trl.jsonl":       "left out 1 row: traces that failed",
		"curate export shown/trajectories.jsonl --out away/curated.jsonl":      "3 traces written",
		"data convert shown/trajectories.jsonl --failed --to hf --out dataset": "3 rows written",
	} {
		if err := os.MkdirAll("away", 0o755); err != nil {
			t.Fatal(err)
		}
		if code, _, said := hone(t, "", strings.Fields(args)...); code != 0 || !strings.Contains(said, want) {
			t.Errorf("%s: exit code %d, %s", args, code, said)
		}
	}
	if text := contents(t, "trl.jsonl"); strings.Count(text, "\n") != 2 ||
		strings.Count(text, `\"name\":\"look\"`) != 2 {
		t.Errorf("%s", text)
	}
	for path, n := range map[string]int{"away/curated.jsonl": 3, "dataset": 3} {
		rows, _, err := dataset.Load([]string{path}, dataset.Options{})
		if err != nil || len(rows) != n || len(rows[0].Tools) != len(rows[n-1].Tools) || len(rows[0].Tools) == 0 ||
			rows[0].Shown != nil {
			t.Errorf("%s: %+v, %v", path, rows, err)
		}
	}
	if code, _, said := hone(t, "", "collect", "--gold", "--model", "m", "--mcp", url, "--output-dir",
		"other"); code != 2 || !strings.Contains(said, "ask no endpoint") {
		t.Errorf("with a model: exit code %d, %s", code, said)
	}
}
