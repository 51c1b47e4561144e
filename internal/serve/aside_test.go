package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/fault"
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

// What of a request is not taken is counted and named; tools of a provider's among it, whose functions are kept.
func TestWhatIsLeftAsideOfARequest(t *testing.T) {
	const f = `{"type":"function","name":"f","parameters":{}}`
	const chatF = `{"type":"function","function":{"name":"f","parameters":{}}}`
	for _, x := range []struct {
		name, path, body, prompt string
		aside                    []string
	}{
		{"Codex", "/v1/responses", responsesHi + `,"client_metadata":{"x-codex":"1"},"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"medium","summary":"auto"},"text":{"verbosity":"low"},` +
			`"prompt_cache_key":"k","parallel_tool_calls":false,"tool_choice":"auto","tools":[` + f +
			`,{"type":"custom","name":"apply_patch","format":{"type":"grammar"}},` +
			`{"type":"namespace","name":"mcp__time__","tools":[` + f +
			`]},{"type":"web_search","external_web_access":true}]`, "[f]user:hi\n",
			[]string{
				"the field verbosity, in 1 place, the first at text",
				"the include reasoning.encrypted_content, in 1 place, the first at include",
				"the parameter client_metadata, in 1 place, the first at the top",
				"the parameter prompt_cache_key, in 1 place, the first at the top",
				"the parameter reasoning, in 1 place, the first at the top",
				"the tool apply_patch of type custom, in 1 place, the first at tools[1]",
				"the tool mcp__time__ of type namespace, in 1 place, the first at tools[2]",
				"the tool of type web_search, in 1 place, the first at tools[3]",
			}},
		{
			"other tools alone", "/v1/responses",
			responsesHi + `,"tools":[{"type":"local_shell"},{"type":"mcp","server_label":"x"},{"type":"local_shell"}]`,
			"user:hi\n",
			[]string{"the tool of type local_shell, in 2 places, the first at tools[0]",
				"the tool of type mcp, in 1 place, the first at tools[1]"},
		},
		{
			"nothing", "/v1/responses", responsesHi +
				`,"tools":[` + f + `],"store":false,"include":["message.output_text.logprobs"],"truncation":"disabled"`,
			"[f]user:hi\n", nil,
		},
		{
			"nothing of a chat", "/v1/chat/completions", hi + `,"tools":[` + chatF + `],"repetition_penalty":1,"user":null,"stream_options":{"include_usage":true,"include_obfuscation":false}`, "[f]user:hi\n", nil,
		},
		{
			"chat completions", "/v1/chat/completions", hi + `,"tools":[` + chatF +
				`,{"type":"custom","custom":{"name":"x"}}],"reasoning_effort":"low","user":"u"`, "[f]user:hi\n",
			[]string{
				"the parameter reasoning_effort, in 1 place, the first at the top", "the parameter user, in 1 place, " +
					"the first at the top", "the tool of type custom, in 1 place, the first at tools[1]",
			},
		},
		{"messages", "/v1/messages", anthropicHi + `,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"},"tools":[{"name":"f","input_schema":{},"cache_control":{"type":"ephemeral"}},{"type":"web_search_20250305","name":"web_search"},{"type":"custom","name":"g","input_schema":{}}]`,
			"[f][g]user:hi\n", []string{
				"the field cache_control, in 1 place, the first at tools[0]",
				"the field effort, in 1 place, the first at output_config",
				"the parameter thinking, in 1 place, the first at the top",
				"the tool web_search of type web_search_20250305, in 1 place, the first at tools[1]",
			}},
		{"a name of other letters", "/v1/responses", responsesHi + `,"tools":[{"type":"custom","name":"été\n"}]`,
			"user:hi\n", []string{"the tool ?t?? of type custom, in 1 place, the first at tools[0]"}},
		{"their calls", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"web_search_call","id":"w","status":"completed"},{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"x"},` +
			`{"type":"custom_tool_call_output","call_id":"c","output":"done"},{"type":"local_shell_call","call_id":"l"},{"type":"local_shell_call","call_id":"l"},{"role":"user","content":"so"}]`, "user:hi\nuser:so\n",
			[]string{
				"the item of type local_shell_call, in 2 places, the first at input[4]",
				"the item apply_patch of type custom_tool_call, in 1 place, the first at input[2]",
				"the item of type custom_tool_call_output, in 1 place, the first at input[3]",
				"the item of type web_search_call, in 1 place, the first at input[1]",
			}},
		{"thoughts that are kept elsewhere", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"r","summary":[],"encrypted_content":"gAAA"},{"role":"user","content":[{"type":"input_text","text":"so","annotations":[]}]}]`,
			"user:hi\nuser:so\n", []string{"the field encrypted_content, in 1 place, the first at input[1]"}},
		{"fields of messages", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}},{"type":"text","text":"!"}],"mood":"calm","audio":null},` +
			`{"role":"assistant","content":"yes","reasoning":{"effort":1},"annotations":[],"refusal":null,"function_call":null,"thinking_blocks":[1]},{"role":"user","content":"so"}]`, "user:hi!\nassistant:yes\nuser:so\n",
			[]string{
				"the field cache_control, in 1 place, the first at messages[0].content[0]",
				"the field mood, in 1 place, the first at messages[0]",
				"the field reasoning, in 1 place, the first at messages[1]",
				"the field thinking_blocks, in 1 place, the first at messages[1]",
			}},
		{"parts", "/v1/messages", `{"model":"m","max_tokens":5,"system":[{"type":"text","text":"x-anthropic-billing-header: 1"}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},{"type":"thinking","thinking":"","signature":"s"},` +
			`{"type":"tool_use","id":"t","name":"f","input":{"mood":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64"}},{"type":"text","text":"seen"}]}]}]`, "*",
			[]string{
				"a header for Anthropic's bills, in 1 place, the first at system",
				"the field signature, in 1 place, the first at messages[1].content[1]",
				"the part of type image, in 1 place, the first at messages[2].content[0].content[0]",
				"the part of type redacted_thinking, in 1 place, the first at messages[1].content[0]",
			}},
	} {
		s := &sampler{says: "x"}
		got := answered(t, s, x.path, x.body+"}")
		if aside := got.Header().Get(LeftAside); got.Code != 200 || aside != strings.Join(x.aside, "; ") {
			t.Errorf("%s: status %d, left aside:\n%s\nwant\n%s\n%s",
				x.name, got.Code, strings.ReplaceAll(aside, "; ", "\n"), strings.Join(x.aside, "\n"), got.Body)
			continue
		}
		if prompt := text(s.asked[0].Prompt); prompt != x.prompt && x.prompt != "*" {
			t.Errorf("%s: the prompt is %q, want %q", x.name, prompt, x.prompt)
		}
	}
	if got := answered(t, &sampler{says: "x"},
		"/v1/responses", responsesHi+`,"tools":[`+f+`,{"type":"function"}]}`); got.Code != 400 ||
		!strings.Contains(got.Body.String(), "tools[1]: a tool has no function name") {
		t.Errorf("a nameless function: %d %s", got.Code, got.Body)
	}
}

// The log names each thing once, in the sentence that readers of other things have too; the metrics count all, under a
// bounded number of names.
func TestLeftAsideIsLoggedOnceAndCounted(t *testing.T) {
	var log bytes.Buffer
	server, err := New(Options{Models: []Model{model(&sampler{says: "x"})},
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	h := server.Handler()
	for range 3 {
		through(h, "/v1/chat/completions", hi+`,"user":"u"}`)
	}
	through(h, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"a","mood":1},`+
		`{"role":"assistant","content":"b","mood":1},{"role":"user","content":[{"type":"text","text":"c","mood":1}]}]}`)
	for i := range 2 * mostAside {
		through(h, "/v1/chat/completions",
			fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"hi","f%d":1}]}`, i))
	}
	if n := strings.Count(log.String(),
		`"left aside: the parameter user, in requests to /v1/chat/completions`); n != 1 {
		t.Errorf("told %d times: %s", n, log.String())
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	for _, want := range []string{
		`hone:left_aside_total{what="the parameter user"} 3`, `hone:left_aside_total{what="the field mood"} 3`,
		fmt.Sprintf(`hone:left_aside_total{what="the rest"} %d`, mostAside+2),
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
}

// What tokens are counted of tells of what it leaves aside as an answer does, in the header, the log and the metrics.
func TestCountsTellWhatTheyLeaveAside(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/messages/count_tokens": `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`,
		"/tokenize":                 `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`,
	} {
		var log bytes.Buffer
		server, err := New(Options{Models: []Model{model(&sampler{says: "x"})},
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		got := through(server.Handler(), path, body)
		var counted bytes.Buffer
		server.metrics.Write(&counted)
		const field, tool = "the field cache_control", "the tool web_search of type web_search_20250305"
		if aside := got.Header().Get(LeftAside); got.Code != 200 || aside != field+
			", in 1 place, the first at messages[0].content[0]; "+tool+", in 1 place, the first at tools[0]" ||
			!strings.Contains(log.String(), "left aside: "+field+", in requests to "+path) ||
			!strings.Contains(counted.String(), `hone:left_aside_total{what="`+tool+`"} 1`) {
			t.Errorf("%s: %d, %q, %s, %s, %s", path, got.Code, aside, got.body.String(), log.String(), counted.String())
		}
	}
}

// How deep a request is looked into has a bound: each level is read anew.
func TestDeepRequestsAreLookedIntoSoFar(t *testing.T) {
	for deep, want := range map[int]int{1: 1, 3: 1, 40: 0} {
		body := `{"messages":[{"role":"user","content":` + strings.Repeat(`[{"type":"tool_result","content":`, deep) +
			`[{"type":"text","text":"x","odd":1}]` + strings.Repeat(`}]`, deep) + `}]}`
		if aside, refused := checkFields([]byte(body), reflect.TypeFor[messagesRequest](), nil); refused != nil ||
			len(aside) != want {
			t.Errorf("%d deep: %v, %v", deep, aside, refused)
		}
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
	if json.Unmarshal(first.Body.Bytes(), &answer) != nil || len(answer.Choices) != 1 ||
		!strings.Contains(string(answer.Choices[0].Message), `tr"`) {
		t.Fatalf("%d %s", first.Code, first.Body)
	}
	var m chat.Message
	if err := json.Unmarshal(answer.Choices[0].Message, &m); err != nil || len(m.ToolCalls) != 1 {
		t.Fatal(err, first.Body)
	}
	for name, arguments := range map[string]string{
		"as it was told": m.ToolCalls[0].Arguments, "its name alone": "", "a brace": "{", "in a key": `{"n`,
		"in a text": `{"n": "a\`, "whole": `{"n": 1}`, "a text in a text": `"{\"n\": 1}"`, "null": "null",
	} {
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
		if got := answered(t, s, "/v1/chat/completions", body); got.Code != 400 ||
			!strings.Contains(got.Body.String(), "messages[2].tool_calls[1]") {
			t.Errorf("%s: %d %s", arguments, got.Code, got.Body)
		}
	}
	if got := answered(
		t, s, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":[{"type":"image_url"}]}]}`,
	); got.Code != 400 || !strings.Contains(got.Body.String(), "messages[1]: ") {
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
	for _, more := range []string{
		`"temperature":"0.5"`, `"temperature":" 0.5 "`, `"top_p":"0.9"`, `"max_tokens":"25"`, `"max_tokens":25.0`,
		`"max_tokens":2.5e1`, `"seed":"7"`, `"stream":"false"`, `"stream":"False"`, `"n":"1"`,
		`"logprobs":"true","top_logprobs":"2"`, `"repetition_penalty":1`, `"repetition_penalty":1.0`,
		`"repetition_penalty":"1.0"`, `"length_penalty":1`, `"min_tokens":0`, `"best_of":1`, `"use_beam_search":false`,
		`"skip_special_tokens":true`, `"ignore_eos":false`, `"presence_penalty":"0"`, `"frequency_penalty":0.0`,
		`"chat_template_kwargs":{}`, `"functions":[]`, `"function_call":"auto"`, `"modalities":["text"]`,
		`"client_metadata":{"a":1}`, `"Temperature":"0.5"`, `"echo":false`, `"suffix":""`,
	} {
		if got := answered(t, &sampler{says: "x"}, "/v1/chat/completions", hi+","+more+"}"); got.Code != 200 {
			t.Errorf("%s: %d %s", more, got.Code, got.Body)
		}
	}
	for more, want := range map[string]string{
		`"temperature":"warm"`: "temperature", `"temperature":"0x1p3"`: "temperature",
		`"temperature":true`: "temperature", `"max_tokens":2.5`: "max_tokens", `"max_tokens":"many"`: "max_tokens",
		`"stream":"maybe"`: "stream", `"repetition_penalty":1.1`: "repetition_penalty",
		`"repetition_penalty":"1.1"`: "repetition_penalty", `"best_of":2`: "best_of", `"min_tokens":5`: "min_tokens",
		`"ignore_eos":true`: "ignore_eos", `"temperature":NaN`: "not such a request", `"functions":[{}]`: "functions",
		`"model":7`: "model",
	} {
		if got := answered(t, &sampler{says: "x"}, "/v1/chat/completions", hi+","+more+"}"); got.Code != 400 ||
			!strings.Contains(got.Body.String(), want) || strings.Contains(got.Body.String(), "Go ") ||
			strings.Contains(got.Body.String(), "knobs") {
			t.Errorf("%s: %d %s", more, got.Code, got.Body)
		}
	}
}

// tool_choice in all its forms: what may be called, and whether something must.
func TestToolChoices(t *testing.T) {
	chatTools := strings.Replace(twoTools, "STRICT", "false", 1)
	const responseTools = `,"tools":[{"type":"function","name":"hash","parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},{"type":"function","name":"now","parameters":{"type":"object"}},{"type":"web_search"}]`
	allowed := func(mode string, tools ...string) string {
		return `{"type":"allowed_tools","allowed_tools":{"mode":"` + mode + `","tools":[` +
			strings.Join(tools, ",") + `]}}`
	}
	const hash, now = `{"type":"function","function":{"name":"hash"}}`, `{"type":"function","function":{"name":"now"}}`
	for _, x := range []struct {
		path, choice, prompt string
		must                 bool
	}{
		{"/v1/chat/completions", `"auto"`, "[hash][now]", false}, {"/v1/chat/completions", `"none"`, "", false},
		{"/v1/chat/completions", `"required"`, "[hash][now]", true},
		{"/v1/chat/completions", `"any"`, "[hash][now]", true}, {"/v1/chat/completions", `{"type":"auto"}`,
			"[hash][now]", false}, {"/v1/chat/completions", hash, "[hash][now]", true},
		{"/v1/chat/completions", allowed("auto", now), "[now]", false}, {"/v1/chat/completions", allowed("required",
			hash), "[hash]", true}, {"/v1/chat/completions", allowed("auto", hash, now), "[hash][now]", false},
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
		if prompt := text(s.asked[0].Prompt); prompt != x.prompt+"user:hi\n" ||
			(s.asked[0].Constraint != nil) != x.must {
			t.Errorf("%s: the prompt is %q, held %v", x.choice, prompt, s.asked[0].Constraint != nil)
		}
	}
	for choice, want := range map[string]string{
		`"often"`: `\"often\"; known are`, `7`: "neither a word", `{"type":"function"}`: "names no function",
		`{"type":"custom","name":"x"}`: "known are", allowed("auto"): "names no function",
		allowed("often",
			hash): "mode", allowed("auto", `{"type":"function","function":{"name":"x"}}`): "not among the tools",
		`{"type":"allowed_tools"}`: "names no function",
	} {
		if got := answered(t, &sampler{says: "x"}, "/v1/chat/completions",
			hi+chatTools+`,"tool_choice":`+choice+"}"); got.Code != 400 || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s", choice, got.Code, got.Body)
		}
	}
}

// A header has room for some thousand bytes, however long the names are.
func TestHeaderOfManyThings(t *testing.T) {
	aside := fault.Asides{}
	for i := range 200 {
		aside.Add(fmt.Sprintf("the tool %d of the kind %s", i, strings.Repeat("x", 150)), "at tools")
	}
	header := headerOf(aside)
	if len(header) > longestHeader || len(header) < longestHeader/2 ||
		!strings.Contains(header, " more, which are not named") {
		t.Errorf("%d bytes: %s", len(header), header)
	}
	few := fault.Asides{}
	few.Add("the parameter é", "at x")
	if got := headerOf(few); got != "the parameter ?, in 1 place, the first at x" {
		t.Error(got)
	}
}
