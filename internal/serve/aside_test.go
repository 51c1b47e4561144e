package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/policy"
)

// answered is the answer to one request to a server of the sampler, whose model's calls can be held.
func answered(t *testing.T, s *sampler, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	o := Options{Models: []Model{model(s)}}
	shaped(&o)
	server, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Host = "localhost"
	server.Handler().ServeHTTP(w, r)
	return w
}

// Tools of a provider's and what was said of them are left out and named; functions are kept.
func TestToolsOfOthersAreLeftOut(t *testing.T) {
	const f = `{"type":"function","name":"f","parameters":{}}`
	const chatF = `{"type":"function","function":{"name":"f","parameters":{}}}`
	codex := responsesHi + `,"client_metadata":{"x-codex":"1"},"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"medium","summary":"auto"},"text":{"verbosity":"low"},` +
		`"prompt_cache_key":"k","parallel_tool_calls":false,"tool_choice":"auto","tools":[` + f + `,{"type":"custom","name":"apply_patch","format":{"type":"grammar"}},` +
		`{"type":"namespace","name":"mcp__time__","tools":[` + f + `]},{"type":"web_search","external_web_access":true}]`
	for _, x := range []struct{ name, path, body, out, prompt string }{
		{"Codex", "/v1/responses", codex, "custom apply_patch, namespace mcp__time__, web_search", "[f]user:hi\n"},
		{"all of them", "/v1/responses", responsesHi + `,"tools":[{"type":"local_shell"},{"type":"image_generation"},{"type":"mcp","server_label":"x"}]`, "local_shell, image_generation, mcp", "user:hi\n"},
		{"none", "/v1/responses", responsesHi + `,"tools":[` + f + `]`, "", "[f]user:hi\n"},
		{"chat completions", "/v1/chat/completions", hi + `,"tools":[` + chatF + `,{"type":"custom","custom":{"name":"x"}},{"type":"web_search_preview"}]`, "custom, web_search_preview", "[f]user:hi\n"},
		{"messages", "/v1/messages", anthropicHi + `,"tools":[{"name":"f","input_schema":{}},{"type":"web_search_20250305","name":"web_search"},{"type":"bash_20250124","name":"bash"}]`,
			"web_search_20250305 web_search, bash_20250124 bash", "[f]user:hi\n"},
		{"a name of other letters", "/v1/responses", responsesHi + `,"tools":[{"type":"custom","name":"été\n"}]`, "custom ?t?", "user:hi\n"},
		{"their calls", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"web_search_call","id":"w","status":"completed"},{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"x"},` +
			`{"type":"custom_tool_call_output","call_id":"c","output":"done"},{"type":"local_shell_call","call_id":"l"},{"type":"local_shell_call_output","call_id":"l","output":""},{"role":"user","content":"so"}]`,
			"input[1] web_search_call, input[2] custom_tool_call, input[3] custom_tool_call_output, input[4] local_shell_call, input[5] local_shell_call_output", "user:hi\nuser:so\n"},
	} {
		s := &sampler{says: "x"}
		got := answered(t, s, x.path, x.body+"}")
		if got.Code != 200 || got.Header().Get(LeftOut) != x.out {
			t.Errorf("%s: status %d, left out %q: %s", x.name, got.Code, got.Header().Get(LeftOut), got.Body)
			continue
		}
		if prompt := text(s.asked[0].Prompt); prompt != x.prompt {
			t.Errorf("%s: the prompt is %q, want %q", x.name, prompt, x.prompt)
		}
	}
	if got := answered(t, &sampler{says: "x"}, "/v1/responses", responsesHi+`,"tools":[`+f+`,{"type":"function"}]}`); got.Code != 400 || !strings.Contains(got.Body.String(), "tools[1]: a tool has no function name") {
		t.Errorf("a nameless function: %d %s", got.Code, got.Body)
	}
}

// A call that max_tokens cut off is sent back and shown, whatever is there of its arguments.
func TestACutCallIsSentBack(t *testing.T) {
	const call = `CALL hash {"n": "one \"two\"", "m": [1, {"a": tr`
	s := &sampler{says: call[:], finish: policy.FinishLength}
	asked := strings.Replace(hi+twoTools, "STRICT", "false", 1)
	first := answered(t, s, "/v1/chat/completions", asked+`,"tool_choice":"required","max_tokens":25}`)
	var answer struct {
		Choices []struct{ Message json.RawMessage }
	}
	if json.Unmarshal(first.Body.Bytes(), &answer) != nil || len(answer.Choices) != 1 || !strings.Contains(string(answer.Choices[0].Message), `tr"`) {
		t.Fatalf("%d %s", first.Code, first.Body)
	}
	var m chat.Message
	if err := json.Unmarshal(answer.Choices[0].Message, &m); err != nil || len(m.ToolCalls) != 1 {
		t.Fatal(err, first.Body)
	}
	for name, arguments := range map[string]string{"as it was told": m.ToolCalls[0].Arguments, "its name alone": "", "a brace": "{", "in a key": `{"n`, "in a text": `{"n": "a\`,
		"whole": `{"n": 1}`, "a text in a text": `"{\"n\": 1}"`, "null": "null"} {
		quoted, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"hash","arguments":ARGS}}]},` +
			`{"role":"tool","tool_call_id":"c","content":"error"},{"role":"user","content":"go on"}]}`
		for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
			if path == "/v1/responses" {
				body = `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"hash","arguments":ARGS,"status":"incomplete"},{"type":"function_call_output","call_id":"c","output":"error"}]}`
			}
			o := Options{Models: []Model{model(&sampler{says: "x"})}}
			shown := &shows{}
			o.Models[0].Renderer = shown
			server, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			w := serveOnce(server.Handler(), path, strings.Replace(body, "ARGS", string(quoted), 1))
			if w.Code != 200 || !json.Valid([]byte(shown.arguments)) || shown.arguments[0] != '{' {
				t.Errorf("%s, %s: %d %s; shown %q", name, path, w.Code, w.Body, shown.arguments)
			}
		}
	}
	for _, arguments := range []string{`"[1]"`, `"n=1"`, `[1]`, `7`, `"{'n': 1}"`} {
		body := `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"b","function":{"name":"f","arguments":{"a":1}}},{"id":"c","function":{"name":"hash","arguments":` +
			arguments + `}}]}]}`
		if got := answered(t, s, "/v1/chat/completions", body); got.Code != 400 || !strings.Contains(got.Body.String(), "messages[2].tool_calls[1]") {
			t.Errorf("%s: %d %s", arguments, got.Code, got.Body)
		}
	}
	if got := answered(t, s, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":[{"type":"image_url"}]}]}`); got.Code != 400 || !strings.Contains(got.Body.String(), "messages[1]: ") {
		t.Errorf("an image: %d %s", got.Code, got.Body)
	}
}

// shows keeps the arguments that it is to render.
type shows struct {
	runes
	arguments string
}

func (s *shows) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			s.arguments = c.Arguments
		}
	}
	return s.runes.Prompt(messages, tools)
}

// Numbers in quotes, whole numbers with a point, and parameters of other servers that change nothing are taken.
func TestHarmlessValues(t *testing.T) {
	for _, more := range []string{`"temperature":"0.5"`, `"temperature":" 0.5 "`, `"top_p":"0.9"`, `"max_tokens":"25"`, `"max_tokens":25.0`, `"max_tokens":2.5e1`, `"seed":"7"`, `"stream":"false"`, `"stream":"False"`,
		`"n":"1"`, `"logprobs":"true","top_logprobs":"2"`, `"repetition_penalty":1`, `"repetition_penalty":1.0`, `"repetition_penalty":"1.0"`, `"length_penalty":1`, `"min_tokens":0`, `"best_of":1`, `"use_beam_search":false`,
		`"skip_special_tokens":true`, `"ignore_eos":false`, `"presence_penalty":"0"`, `"frequency_penalty":0.0`, `"chat_template_kwargs":{}`, `"functions":[]`, `"function_call":"auto"`, `"modalities":["text"]`, `"client_metadata":{"a":1}`,
		`"Temperature":"0.5"`, `"echo":false`, `"suffix":""`} {
		if got := answered(t, &sampler{says: "x"}, "/v1/chat/completions", hi+","+more+"}"); got.Code != 200 {
			t.Errorf("%s: %d %s", more, got.Code, got.Body)
		}
	}
	for more, want := range map[string]string{`"temperature":"warm"`: "temperature", `"temperature":"0x1p3"`: "temperature", `"temperature":true`: "temperature", `"max_tokens":2.5`: "max_tokens", `"max_tokens":"many"`: "max_tokens",
		`"stream":"maybe"`: "stream", `"repetition_penalty":1.1`: "repetition_penalty", `"repetition_penalty":"1.1"`: "repetition_penalty", `"best_of":2`: "best_of", `"min_tokens":5`: "min_tokens", `"ignore_eos":true`: "ignore_eos",
		`"temperature":NaN`: "not such a request", `"functions":[{}]`: "functions", `"model":7`: "model"} {
		if got := answered(t, &sampler{says: "x"}, "/v1/chat/completions", hi+","+more+"}"); got.Code != 400 || !strings.Contains(got.Body.String(), want) || strings.Contains(got.Body.String(), "Go ") {
			t.Errorf("%s: %d %s", more, got.Code, got.Body)
		}
	}
}

// tool_choice in all its forms: what may be called, and whether something must.
func TestToolChoices(t *testing.T) {
	chatTools := strings.Replace(twoTools, "STRICT", "false", 1)
	const responseTools = `,"tools":[{"type":"function","name":"hash","parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},{"type":"function","name":"now","parameters":{"type":"object"}},{"type":"web_search"}]`
	allowed := func(mode string, tools ...string) string {
		return `{"type":"allowed_tools","allowed_tools":{"mode":"` + mode + `","tools":[` + strings.Join(tools, ",") + `]}}`
	}
	const hash, now = `{"type":"function","function":{"name":"hash"}}`, `{"type":"function","function":{"name":"now"}}`
	for _, x := range []struct {
		path, choice, prompt string
		must                 bool
	}{
		{"/v1/chat/completions", `"auto"`, "[hash][now]", false}, {"/v1/chat/completions", `"none"`, "", false}, {"/v1/chat/completions", `"required"`, "[hash][now]", true},
		{"/v1/chat/completions", `"any"`, "[hash][now]", true}, {"/v1/chat/completions", `{"type":"auto"}`, "[hash][now]", false}, {"/v1/chat/completions", hash, "[hash][now]", true},
		{"/v1/chat/completions", allowed("auto", now), "[now]", false}, {"/v1/chat/completions", allowed("required", hash), "[hash]", true}, {"/v1/chat/completions", allowed("auto", hash, now), "[hash][now]", false},
		{"/v1/chat/completions", allowed("auto", now, `{"type":"custom","custom":{"name":"x"}}`), "[now]", false},
		{"/v1/responses", `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"now"}]}`, "[now]", false},
		{"/v1/responses", `{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"hash"},{"type":"web_search"}]}`, "[hash]", true},
		{"/v1/responses", `{"type":"function","name":"now"}`, "[hash][now]", true},
	} {
		body := hi + chatTools
		if x.path == "/v1/responses" {
			body = responsesHi + responseTools
		}
		s := &sampler{says: `CALL hash {"n": 1}`}
		got := answered(t, s, x.path, body+`,"tool_choice":`+x.choice+"}")
		if got.Code != 200 {
			t.Errorf("%s: %d %s", x.choice, got.Code, got.Body)
			continue
		}
		if prompt := text(s.asked[0].Prompt); prompt != x.prompt+"user:hi\n" || (s.asked[0].Constraint != nil) != x.must {
			t.Errorf("%s: the prompt is %q, held %v", x.choice, prompt, s.asked[0].Constraint != nil)
		}
	}
	for choice, want := range map[string]string{`"often"`: `\"often\"; known are`, `7`: "neither a word", `{"type":"function"}`: "names no function", `{"type":"custom","name":"x"}`: "known are", allowed("auto"): "names no function",
		allowed("often", hash): "mode", allowed("auto", `{"type":"function","function":{"name":"x"}}`): "not among the tools", `{"type":"allowed_tools"}`: "names no function"} {
		if got := answered(t, &sampler{says: "x"}, "/v1/chat/completions", hi+chatTools+`,"tool_choice":`+choice+"}"); got.Code != 400 || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s", choice, got.Code, got.Body)
		}
	}
}
