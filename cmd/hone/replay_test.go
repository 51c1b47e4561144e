package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"hone/internal/job/collect"
)

// A trace is sent without its last assistant message and what follows it, with its tools, and the answer is compared by
// what it calls.
func TestReplay(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		message := `{"role":"assistant","tool_calls":[{"id":"9","type":"function","function":{"name":"f","arguments":"{\"b\":2,\"a\":1}"}}]}`
		if strings.Contains(string(body), "words") {
			message = `{"role":"assistant","content":"yes"}`
		}
		_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":`+message+
			`}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	t.Cleanup(s.Close)
	call := func(id, arguments string) string {
		text, _ := json.Marshal(arguments)
		return `{"id":"` + id +
			`","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":` +
			string(text) +
			`}}]},{"role":"tool","tool_call_id":"1","content":"LATER"}],"tools":[{"type":"function","function":{"name":"f"}}]}` + "\n"
	}
	workFolder(t, map[string]string{"traces.jsonl": call("same", `{"a": 1, "b": 2}`) + call("other", `{"a": 2}`) +
		`{"id":"kind","messages":[{"role":"user","content":"words"},{"role":"assistant","content":"no"}]}` + "\n" +
		`{"id":"word","messages":[{"role":"user","content":"words"},{"role":"assistant","content":"yes"}]}` + "\n" +
		`{"id":"nothing","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"yes"}]}` + "\n" +
		`{"id":"none","messages":[{"role":"user","content":"q"}]}` + "\n"})
	code, out, said := hone(t, "", "replay", "traces.jsonl", "--endpoint", s.URL+"/v1", "--model", "m", "--json")
	var list []collect.Replayed
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, said)
	}
	got := map[string]string{}
	for _, x := range list {
		got[x.Trace] = x.Same
	}
	for trace, want := range map[string]string{
		"same": "all", "other": "tools", "kind": "kind", "word": "all", "nothing": "nothing",
	} {
		if got[trace] != want {
			t.Errorf("%s: %q, want %q", trace, got[trace], want)
		}
	}
	if len(got) != 5 || !strings.Contains(said, "left out 1 trace") ||
		strings.Contains(strings.Join(asked, ""), "LATER") || !strings.Contains(asked[0], `"name":"f"`) {
		t.Errorf("%v %s %s", got, said, asked[0])
	}
	if code, out, _ := hone(t, "", "replay", "traces.jsonl", "--endpoint", s.URL+"/v1", "--model", "m", "--trace",
		"same", "--plain"); code != 0 || !strings.Contains(out, "all\t1\n") {
		t.Errorf("%d %s", code, out)
	}
	if code, _, said := hone(t, "", "replay", "traces.jsonl", "--model", "m"); code != 2 {
		t.Errorf("%d %s", code, said)
	}
	if code, _, said := hone(t, "", "replay", "traces.jsonl", "--endpoint", s.URL+"/v1", "--model", "m", "--trace",
		"absent"); code != 2 {
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
	workFolder(t, map[string]string{
		"tasks.jsonl": `{"id": "a", "task": "Is a hat there?"}` + "\n" + `{"id": "b", "task": "Any?"}` + "\n",
	})
	code, out, said := hone(t, "", "doctor", "--endpoint", s.URL+"/v1", "--model", "m", "--plain")
	if code != 1 || !strings.Contains(out, "ok\tendpoint") || !strings.Contains(out, "fail\ttool calls") ||
		!strings.Contains(out, "--tool-call-parser hermes") || strings.Contains(out, "memory") {
		t.Errorf("%d %s %s", code, out, said)
	}
	toyModel(t, "base/toy.gguf")
	const coder = `{% if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>
<function={{ c.function.name }}>
{% for k, v in c.function.arguments | items %}<parameter={{ k }}>
{{ v }}
</parameter>
{% endfor %}</function>
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
	if err := os.WriteFile("coder.jinja", []byte(coder), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ model, want string }{
		{"absent", "absent would learn it as words"}, {"base", "base writes calls so too, but this one was not made"},
		{"base, chat_template: coder.jinja",
			"base writes calls in the form qwen3_coder, and would learn these as words"},
	} {
		if err := os.WriteFile("hone.yaml", []byte("model: {base: "+c.model+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, said = hone(t, "", "collect", "--yes", "--mcp", url, "--dataset", "tasks.jsonl", "--split", "all",
			"--output-dir", fmt.Sprint("out", i), "--endpoint", s.URL+"/v1", "--model", "m")
		if code != 0 || strings.Count(said, "left a call in the text") != 1 ||
			!strings.Contains(said, "--tool-call-parser hermes") || !strings.Contains(said, "(hermes); "+c.want) {
			t.Errorf("%d %s, want %q", code, said, c.want)
		}
	}
}
