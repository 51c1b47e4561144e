package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/trajectory"
)

// teacher is an endpoint that speaks either API and calls look once; requests are what it was sent, paths where.
func teacher(t *testing.T) (url string, requests, paths func() []string) {
	t.Helper()
	var mu sync.Mutex
	var bodies, asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies, asked = append(bodies, string(body)), append(asked,
			r.URL.Path+" "+r.Header.Get("x-api-key")+r.Header.Get("Authorization"))
		mu.Unlock()
		over := strings.Contains(string(body), "in stock") || strings.Contains(string(body), "tool_result")
		if strings.HasSuffix(r.URL.Path, "/messages") {
			content, stop := `[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"1","name":"look","input":{"name":"hat"}}]`, "tool_use"
			if over {
				content, stop = `[{"type":"text","text":"It is there."}]`, "end_turn"
			}
			_, _ = io.WriteString(w, `{"type":"message","role":"assistant","content":`+content+`,"stop_reason":"`+stop+
				`","usage":{"input_tokens":1000,"output_tokens":100}}`)
			return
		}
		message := `{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"look","arguments":"{\"name\": \"hat\"}"}}]}`
		if over {
			message = `{"role":"assistant","content":"It is there."}`
		}
		_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":`+message+
			`}],"usage":{"prompt_tokens":1000,"completion_tokens":100}}`)
	}))
	t.Cleanup(s.Close)
	get := func(list *[]string) func() []string {
		return func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(*list)
		}
	}
	return s.URL + "/v1", get(&bodies), get(&asked)
}

// Several samples of each scenario run at once, guided by a message that no trajectory has; the same command runs only
// what is not there yet.
func TestCollectSamples(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{"tasks.jsonl": `{"id": "a", "task": "Is a hat there?", "checks": [{"type": "call", "name": "look", "arguments": {"name": "hat"}}]}` + "\n" + `{"id": "b", "task": "Any hat?"}` + "\n",
		"hone.yaml": "providers: {claude: {url: \"URL\", key_env: CLAUDE_KEY, api: anthropic, prices: {m: {prompt: " +
			"3, completion: 15}}}}\n"})
	for _, api := range []string{"openai", "anthropic"} {
		endpoint, requests, paths := teacher(t)
		config, err := os.ReadFile("hone.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(api+".yaml", []byte(strings.ReplaceAll(string(config), "URL", endpoint)),
			0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("CLAUDE_KEY", "secret-key")
		args := []string{
			"--config", api + ".yaml", "collect", "--yes", "--mcp", url, "--dataset", "tasks.jsonl", "--split",
			"all", "--output-dir", api, "--samples", "3", "--parallel", "4", "--hidden-system-prompt",
			"Look before you answer.", "--truncate", "16",
		}
		if api == "openai" {
			args = append(args, "--endpoint", endpoint, "--model", "m")
		} else {
			args = append(args, "--model", "claude/m")
		}
		code, _, said := hone(t, "", args...)
		if code != 0 || !strings.Contains(said, "3 of 3 episodes passed all checks") {
			t.Fatalf("%s: exit code %d: %s", api, code, said)
		}
		if cost := strings.Contains(said,
			"12000 tokens sent and 1200 tokens received were paid for: $0.0540"); cost != (api == "anthropic") {
			t.Errorf("%s: %s", api, said)
		}
		sent := requests()
		if len(sent) != 12 ||
			slices.ContainsFunc(sent, func(s string) bool { return strings.Count(s, "Look before you answer.") != 1 }) {
			t.Errorf("%s: %d requests: %s", api, len(sent), sent[0])
		}
		if first := paths()[0]; api == "anthropic" && first != "/v1/messages secret-key" {
			t.Errorf("%s", first)
		}
		text, err := os.ReadFile(api + "/trajectories.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for line := range strings.Lines(string(text)) {
			var x trajectory.Trajectory
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, x.ID)
			if x.Turns[0].ReasoningContent != "hm" || (x.Turns[0].Usage.Cost != nil) != (api == "anthropic") {
				t.Errorf("%s: %+v", api, x.Turns[0])
			}
		}
		if slices.Sort(ids); !slices.Equal(ids, []string{"a", "a#2", "a#3", "b", "b#2", "b#3"}) {
			t.Errorf("%s: %q", api, ids)
		}
		if strings.Contains(string(text), "Look before") {
			t.Errorf("%s: the guide is in the data", api)
		}
		if resolved, _ := os.ReadFile(api + "/config.resolved.yaml"); !strings.Contains(string(resolved),
			"max_result: 16\n") {
			t.Errorf("%s: --truncate is nowhere", api)
		}
		for i, arg := range args {
			if arg == "3" {
				args[i] = "4"
			}
		}
		if code, _, said := hone(t, "", args...); code != 0 || len(requests()) != 16 {
			t.Errorf("%s: exit code %d, %d requests: %s", api, code, len(requests()), said)
		}
	}
	for _, bad := range [][]string{
		{"--gold", "--samples", "2"},
		{"--gold", "--hidden-system-prompt", "x"},
		{"--endpoint", "http://x/v1", "--model", "m", "--parallel", "-1"},
		{"--endpoint", "http://x/v1", "--model", "m", "--truncate", "3"},
		{"--model", "m"},
	} {
		if code, _, said := hone(t, "", append([]string{"collect", "--yes", "--mcp", url, "--dataset", "tasks.jsonl",
			"--output-dir", "out"}, bad...)...); code != 2 {
			t.Errorf("%q: exit code %d: %s", bad, code, said)
		}
	}
}
