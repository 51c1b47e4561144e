package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hone/internal/job"
)

// A trace is sent without its last assistant message and what follows it, with its tools, and the answer is compared by what it calls.
func TestReplay(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		message := `{"role":"assistant","tool_calls":[{"id":"9","type":"function","function":{"name":"f","arguments":"{\"b\":2,\"a\":1}"}}]}`
		if strings.Contains(string(body), "words") {
			message = `{"role":"assistant","content":"yes"}`
		}
		_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":`+message+`}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	t.Cleanup(s.Close)
	call := func(id, arguments string) string {
		text, _ := json.Marshal(arguments)
		return `{"id":"` + id + `","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":` + string(text) + `}}]},{"role":"tool","tool_call_id":"1","content":"LATER"}],"tools":[{"type":"function","function":{"name":"f"}}]}` + "\n"
	}
	workFolder(t, map[string]string{"traces.jsonl": call("same", `{"a": 1, "b": 2}`) + call("other", `{"a": 2}`) +
		`{"id":"kind","messages":[{"role":"user","content":"words"},{"role":"assistant","content":"no"}]}` + "\n" + `{"id":"word","messages":[{"role":"user","content":"words"},{"role":"assistant","content":"yes"}]}` + "\n" +
		`{"id":"nothing","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"yes"}]}` + "\n" + `{"id":"none","messages":[{"role":"user","content":"q"}]}` + "\n"})
	code, out, said := hone(t, "", "replay", "traces.jsonl", "--endpoint", s.URL+"/v1", "--model", "m", "--json")
	var list []job.Replayed
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, said)
	}
	got := map[string]string{}
	for _, x := range list {
		got[x.Trace] = x.Same
	}
	for trace, want := range map[string]string{"same": "all", "other": "tools", "kind": "kind", "word": "all", "nothing": "nothing"} {
		if got[trace] != want {
			t.Errorf("%s: %q, want %q", trace, got[trace], want)
		}
	}
	if len(got) != 5 || !strings.Contains(said, "left out 1 trace") || strings.Contains(strings.Join(asked, ""), "LATER") || !strings.Contains(asked[0], `"name":"f"`) {
		t.Errorf("%v %s %s", got, said, asked[0])
	}
	if code, out, _ := hone(t, "", "replay", "traces.jsonl", "--endpoint", s.URL+"/v1", "--model", "m", "--trace", "same", "--plain"); code != 0 || !strings.Contains(out, "all\t1\n") {
		t.Errorf("%d %s", code, out)
	}
	if code, _, said := hone(t, "", "replay", "traces.jsonl", "--model", "m"); code != 2 {
		t.Errorf("%d %s", code, said)
	}
	if code, _, said := hone(t, "", "replay", "traces.jsonl", "--endpoint", s.URL+"/v1", "--model", "m", "--trace", "absent"); code != 2 {
		t.Errorf("%d %s", code, said)
	}
}

// doctor --endpoint tells what an endpoint leaves in the text; collect says so once, while it runs.
func TestUnreadCallsAreTold(t *testing.T) {
	url, _ := shop(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"<tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	t.Cleanup(s.Close)
	workFolder(t, map[string]string{"tasks.jsonl": `{"id": "a", "task": "Is a hat there?"}` + "\n" + `{"id": "b", "task": "Any?"}` + "\n"})
	code, out, said := hone(t, "", "doctor", "--endpoint", s.URL+"/v1", "--model", "m", "--plain")
	if code != 1 || !strings.Contains(out, "ok\tendpoint") || !strings.Contains(out, "fail\ttool calls") || !strings.Contains(out, "--tool-call-parser hermes") || strings.Contains(out, "memory") {
		t.Errorf("%d %s %s", code, out, said)
	}
	code, _, said = hone(t, "", "collect", "--yes", "--mcp", url, "--dataset", "tasks.jsonl", "--split", "all", "--output-dir", "out", "--endpoint", s.URL+"/v1", "--model", "m")
	if code != 0 || strings.Count(said, "left a call in the text") != 1 || !strings.Contains(said, "--tool-call-parser hermes") {
		t.Errorf("%d %s", code, said)
	}
}
