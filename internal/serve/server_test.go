package serve

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/policy"
	"hone/internal/fault"
)

func model(s *sampler) Model {
	return Model{ID: "m", Sampler: s, Renderer: runes{}, Decode: text, VocabSize: 0x110000,
		NewDecoder: func() Decoder { return decoder{} }, Read: func([]int32, []chat.Tool) Reader { return &reader{} },
		Encode: ids}
}

func start(t *testing.T, s *sampler, change func(*Options)) *httptest.Server {
	t.Helper()
	o := Options{Models: []Model{model(s)}}
	if change != nil {
		change(&o)
	}
	server, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.Handler())
	t.Cleanup(h.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return h
}

func send(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, regexp.MustCompile(`"call_([0-9]+)_[0-9a-f]{24}"`).ReplaceAllString(string(b), `"call_$1"`)
}

const hi = `{"model":"m","messages":[{"role":"user","content":"hi"}]`

func ask(t *testing.T, h *httptest.Server, more string) completion {
	t.Helper()
	status, body := send(t, "POST", h.URL+"/v1/chat/completions", hi+more+"}")
	var c completion
	if err := json.Unmarshal([]byte(body), &c); err != nil || status != 200 {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	return c
}

func TestCompletion(t *testing.T) {
	s := &sampler{says: "héllo"}
	h := start(t, s, nil)
	c := ask(t, h,
		`,"temperature":0.5,"max_tokens":9,"seed":-3,"stop_token_ids":[42],"logprobs":true,"return_token_ids":true`)
	got := c.Choices[0]
	if got.Message.Content != "héllo" || *got.FinishReason != "stop" || c.Object != "chat.completion" ||
		c.SystemFingerprint != "policy-4" {
		t.Errorf("%+v %+v", c, got.Message)
	}
	prompt := ids("user:hi\n")
	if *c.Usage != (usage{len(prompt), 6, len(prompt) + 6}) || !reflect.DeepEqual(c.PromptTokenIDs, prompt) ||
		!reflect.DeepEqual(got.TokenIDs, ids("héllo\x00")) {
		t.Errorf("usage %+v, ids %v %v", c.Usage, c.PromptTokenIDs, got.TokenIDs)
	}
	second := got.Logprobs.Content[1]
	if len(got.Logprobs.Content) != 6 || second.Token != "é" || second.Logprob != -0.125 ||
		!reflect.DeepEqual(second.Bytes, []int{0xc3, 0xa9}) {
		t.Errorf("logprobs = %+v", got.Logprobs)
	}
	r := s.asked[0]
	negative := int64(-3)
	want := policy.Sampling{Temperature: 0.5, MaxTokens: 9, StopIDs: []int32{stopID, 42}}
	if !reflect.DeepEqual(r.Sampling, want) || r.Key != (policy.Key{Seed: uint64(negative)}) {
		t.Errorf("asked %+v", r)
	}

	plain := ask(t, h, "")
	if plain.Choices[0].Logprobs != nil || plain.PromptTokenIDs != nil || plain.Choices[0].TokenIDs != nil {
		t.Errorf("unasked extras: %+v", plain)
	}
	ask(t, h, `,"max_completion_tokens":5`)
	if s.asked[1].Temperature != 1 || s.asked[1].MaxTokens != 1024 || s.asked[2].MaxTokens != 5 {
		t.Errorf("defaults: %+v", s.asked[1:])
	}
	if s.asked[1].Key == s.asked[2].Key {
		t.Error("two requests without a seed draw the same numbers")
	}
}

func TestToolCalls(t *testing.T) {
	s := &sampler{says: `let me CALL hash {"b": 1, "a": 2}CALL now {}`}
	h := start(t, s, nil)
	tools := `,"tools":[{"type":"function","function":{"name":"hash"}}]`
	c := ask(t, h, tools)
	m := c.Choices[0].Message
	if m.Content != "let me " || len(m.ToolCalls) != 2 || m.ToolCalls[0].Arguments != `{"b": 1, "a": 2}` ||
		m.ToolCalls[1].Name != "now" {
		t.Errorf("message = %+v", m)
	}
	if *c.Choices[0].FinishReason != "tool_calls" || m.ToolCalls[0].ID == "" || m.ToolCalls[0].ID == m.ToolCalls[1].ID {
		t.Errorf("finish %s, ids %+v", *c.Choices[0].FinishReason, m.ToolCalls)
	}
	// A conversation holds many completions, and a result names its call by id.
	if m.ToolCalls[0].ID != "call_0" || m.ToolCalls[1].ID != "call_1" { // as training numbers them
		t.Errorf("ids %+v", m.ToolCalls)
	}
	before := `,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[
		{"id":"call_0","type":"function","function":{"name":"hash","arguments":"{}"}},{"id":"call_1","type":"function","function":{"name":"now","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_0","content":"x"},{"role":"tool","tool_call_id":"call_1","content":"y"}]`
	if next := ask(t, h, tools+before).Choices[0].Message.ToolCalls; next[0].ID != "call_2" {
		t.Errorf("the conversation's third call is %s", next[0].ID)
	}
	if got := text(s.asked[0].Prompt); got != "[hash]user:hi\n" {
		t.Errorf("prompt = %q", got)
	}
	ask(t, h, tools+`,"tool_choice":"none"`)
	if got := text(s.asked[2].Prompt); got != "user:hi\n" {
		t.Errorf(`prompt with tool_choice "none" = %q`, got)
	}
	s.finish = policy.FinishLength
	if c := ask(t, h, tools); *c.Choices[0].FinishReason != "length" {
		t.Errorf("finish = %s", *c.Choices[0].FinishReason)
	}
}

// Reasoning is told apart in the answer, and where a client sends it back it stands in the next prompt.
func TestReasoning(t *testing.T) {
	s := &sampler{says: "THINK hard SO 4"}
	h := start(t, s, nil)
	status, body := send(t, "POST", h.URL+"/v1/chat/completions", hi+"}")
	if status != 200 ||
		!strings.Contains(body, `"message":{"role":"assistant","content":"4","reasoning_content":"hard"}`) {
		t.Errorf("status %d: %s", status, body)
	}
	_, body = send(t, "POST", h.URL+"/v1/chat/completions", hi+`,"stream":true}`)
	if !strings.Contains(body, `"delta":{"reasoning_content":"hard"}`) ||
		!strings.Contains(body, `"delta":{"content":"4"}`) {
		t.Error(body)
	}
	for _, key := range []string{"reasoning_content", "reasoning"} {
		send(t, "POST", h.URL+"/v1/chat/completions",
			`{"messages":[{"role":"assistant","content":"4","`+key+`":"hard"},{"role":"user","content":"?"}]}`)
		if got := text(s.asked[len(s.asked)-1].Prompt); got != "assistant:THINK hard SO 4\nuser:?\n" {
			t.Errorf("%s: prompt = %q", key, got)
		}
	}
}

// developer is OpenAI's newer name of system: prompts are the same.
func TestDeveloperIsSystem(t *testing.T) {
	s := &sampler{says: "x"}
	h := start(t, s, nil)
	for _, role := range []string{"system", "developer"} {
		status, body := send(t, "POST", h.URL+"/v1/chat/completions",
			`{"messages":[{"role":"`+role+`","content":"be brief"},{"role":"user","content":"hi"}]}`)
		if status != 200 {
			t.Fatalf("%s: status %d: %s", role, status, body)
		}
		if got := text(s.asked[len(s.asked)-1].Prompt); got != "system:be brief\nuser:hi\n" {
			t.Errorf("%s: prompt = %q", role, got)
		}
	}
}

// Tools' results are shown as in training; who called them is looked up in the conversation.
func TestLongResultsAreShortened(t *testing.T) {
	s := &sampler{says: "x"}
	short := func(_ context.Context, call chat.ToolCall, text string) (string, error) {
		if text == "no" {
			return "", errors.New("no model at 10.0.0.7")
		}
		return call.Name + " said " + text[:1], nil
	}
	h := start(t, s, func(o *Options) { o.Shorten = short })
	ask := func(result string) (int, string) {
		return send(t, "POST", h.URL+"/v1/chat/completions", `{"messages":[{"role":"user","content":"long user text"},
			{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"`+result+`"}]}`)
	}
	if status, body := ask("long"); status != 200 ||
		!strings.HasSuffix(text(s.asked[0].Prompt), "user:long user text\nassistant:\ntool:read said l\n") {
		t.Errorf("status %d %s, prompt %q", status, body, text(s.asked[0].Prompt))
	}
	if status, body := ask("no"); status != 500 || strings.Contains(body, "10.0.0.7") {
		t.Errorf("no summary: status %d: %s", status, body)
	}
}

// Who asks for a model that is not there is told those that are.
func TestUnknownModelListsThose(t *testing.T) {
	h := start(t, &sampler{says: "x"}, func(o *Options) {
		other := model(&sampler{says: "y"})
		other.ID = "out/final"
		o.Models = append(o.Models, other)
	})
	for _, name := range []string{"gpt-4", ""} {
		status, body := send(t, "POST", h.URL+"/v1/chat/completions",
			`{"model":"`+name+`","messages":[{"role":"user","content":"hi"}]}`)
		if want := fmt.Sprintf(`no model \"%s\" here; there are \"m\", \"out/final\"`,
			name); status != 404 || !strings.Contains(body, want) {
			t.Errorf("status %d, no %s in %s", status, want, body)
		}
	}
}

// A stream, put together again, is the answer that is not streamed.
func TestStreamEqualsWhole(t *testing.T) {
	for _, says := range []string{
		"", "héllo, wörld 世界", `think CALL hash {"b": 1, "a": 2}CALL now {}`, "CALL x {\"s\":\"a b\"}",
		"THINK of it,  twice SO héllo", `THINK why SO CALL now {}`, "THINK and then",
	} {
		t.Run(says, func(t *testing.T) {
			h := start(t, &sampler{says: says}, nil)
			more := `,"seed":1,"logprobs":true,"top_logprobs":2,"return_token_ids":true`
			whole := ask(t, h, more)
			status, body := send(t, "POST", h.URL+"/v1/chat/completions",
				hi+more+`,"stream":true,"stream_options":{"include_usage":true}}`)
			if status != 200 || !strings.HasSuffix(body, "data: [DONE]\n\n") {
				t.Fatalf("status %d: %s", status, body)
			}
			joined, numContent := join(t, body)
			a, b := whole.Choices[0], joined.Choices[0]
			for _, calls := range [][]chat.ToolCall{a.Message.ToolCalls, b.Message.ToolCalls} {
				for i := range calls {
					calls[i].ID = "" // each completion's own
				}
			}
			if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(whole.Usage, joined.Usage) ||
				!reflect.DeepEqual(whole.PromptTokenIDs, joined.PromptTokenIDs) {
				t.Errorf("joined\n%+v %+v\nwhole\n%+v %+v", b.Message, b, a.Message, a)
			}
			if says == "héllo, wörld 世界" && numContent != 15 {
				t.Errorf("%d chunks of content, want one a token", numContent)
			}
		})
	}
}

// The first token is sent while the others are still to be sampled.
func TestStreamComesAsItIsSampled(t *testing.T) {
	s := &sampler{says: "héllo", seen: make(chan struct{})}
	h := start(t, s, nil)
	lines := openStream(t, h)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"content":"h"`) {
			break
		}
	}
	close(s.seen) // not before: sampling waits for it
	var rest strings.Builder
	for lines.Scan() {
		rest.WriteString(lines.Text())
	}
	if !strings.Contains(rest.String(), `"content":"é"`) || !strings.HasSuffix(rest.String(), "data: [DONE]") {
		t.Errorf("behind the first token: %s", rest.String())
	}
}

// An error behind the first token is told in the stream.
func TestStreamThatFails(t *testing.T) {
	s := &sampler{says: "héllo", seen: make(chan struct{}), late: errors.New("the device is gone")}
	h := start(t, s, nil)
	close(s.seen)
	last := ""
	for lines := openStream(t, h); lines.Scan(); {
		last = cmp.Or(lines.Text(), last)
	}
	if !strings.HasPrefix(last, `data: {"error":{`) || strings.Contains(last, "device") {
		t.Errorf("the stream ends with %s", last)
	}
}

// A client that leaves in the middle of a stream frees its slot.
func TestStreamIsCancelled(t *testing.T) {
	s := &sampler{says: "héllo", seen: make(chan struct{})}
	h := start(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", h.URL+"/v1/chat/completions",
		strings.NewReader(hi+`,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	cancel()
	ask(t, h, "") // answered only once the one slot is free again
}

// openStream begins a stream and returns its lines.
func openStream(t *testing.T, h *httptest.Server) *bufio.Scanner {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", h.URL+"/v1/chat/completions",
		strings.NewReader(hi+`,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return bufio.NewScanner(res.Body)
}

func join(t *testing.T, body string) (out completion, numContent int) {
	t.Helper()
	m := &chat.Message{}
	out.Choices = []choice{{Message: m}}
	for scan := bufio.NewScanner(strings.NewReader(body)); scan.Scan(); {
		data, ok := strings.CutPrefix(scan.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c completion
		if err := json.Unmarshal([]byte(data), &c); err != nil || c.Object != "chat.completion.chunk" {
			t.Fatalf("%v: %s", err, data)
		}
		if c.Usage != nil {
			out.Usage = c.Usage
		}
		if c.PromptTokenIDs != nil {
			out.PromptTokenIDs = c.PromptTokenIDs
		}
		for _, ch := range c.Choices {
			if ch.FinishReason != nil {
				out.Choices[0].FinishReason = ch.FinishReason
			}
			if ch.Logprobs != nil {
				if out.Choices[0].Logprobs == nil {
					out.Choices[0].Logprobs = &logprobs{}
				}
				out.Choices[0].Logprobs.Content = append(out.Choices[0].Logprobs.Content, ch.Logprobs.Content...)
			}
			out.Choices[0].TokenIDs = append(out.Choices[0].TokenIDs, ch.TokenIDs...)
			m.Role += ch.Delta.Role
			if ch.Delta.Reasoning != "" && (m.Content != "" || len(m.ToolCalls) > 0) {
				t.Error("reasoning comes behind what it led to")
			}
			m.ReasoningContent += ch.Delta.Reasoning
			if ch.Delta.Content != nil {
				m.Content += *ch.Delta.Content
				numContent++
			}
			for _, call := range ch.Delta.ToolCalls {
				if call.Index == len(m.ToolCalls) {
					m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: call.ID, Name: call.Function.Name})
				}
				m.ToolCalls[call.Index].Arguments += call.Function.Arguments
			}
		}
	}
	return out, numContent
}

func TestRefusals(t *testing.T) {
	h := start(t, &sampler{says: "x"}, nil)
	for name, tc := range map[string]struct {
		body, param, code string
		status            int
	}{
		"n":               {hi + `,"n":2}`, "n", "invalid_value", 400},
		"n of none":       {hi + `,"n":0}`, "n", "invalid_value", 400},
		"response format": {hi + `,"response_format":{"type":"json_object"}}`, "response_format", "unsupported_value", 400},
		"template":        {hi + `,"chat_template_kwargs":{"enable_thinking":false}}`, "chat_template_kwargs", "unsupported_value", 400},
		"forced tool":     {hi + `,"tool_choice":"required"}`, "tool_choice", "invalid_value", 400},
		"unknown tool":    {hi + `,"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":{"type":"function","function":{"name":"b"}}}`, "tool_choice", "invalid_value", 400},
		"other choice":    {hi + `,"tool_choice":"any"}`, "tool_choice", "invalid_value", 400},
		"two tools": {
			hi + `,"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]}`,
			"tools", "invalid_value", 400,
		},
		"a nameless tool": {hi + `,"tools":[{"type":"function","function":{}}]}`, "tools", "invalid_value", 400},
		"a result alone":  {`{"model":"m","messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"call_0","content":"y"}]}`, "messages", "invalid_value", 400},
		"a user's call":   {`{"model":"m","messages":[{"role":"user","content":"x","tool_calls":[{"id":"c","type":"function","function":{"name":"a","arguments":"{}"}}]}]}`, "messages", "invalid_value", 400},
		"deep":            {`{"model":"m","messages":` + strings.Repeat("[", 200000) + strings.Repeat("]", 200000) + `}`, "", "invalid_value", 400},
		"temperature":     {hi + `,"temperature":-1}`, "temperature", "invalid_value", 400},
		"max_tokens":      {hi + `,"max_tokens":0}`, "max_tokens", "invalid_value", 400},
		"role":            {`{"model":"m","messages":[{"role":"wizard"}]}`, "messages", "invalid_value", 400},
		"no messages":     {`{"model":"m"}`, "messages", "invalid_value", 400},
		"not JSON":        {`hello`, "", "invalid_value", 400},
		"a number":        {`{"messages":[{"role":1}]}`, "messages", "invalid_value", 400},
		"an image":        {`{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "messages", "invalid_value", 400},
		"model":           {`{"model":"gpt-4","messages":[{"role":"user","content":"x"}]}`, "model", "model_not_found", 404},
		"a huge body":     {`{"model":"` + strings.Repeat("x", maxBody) + `"}`, "", "request_too_large", 413},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := send(t, "POST", h.URL+"/v1/chat/completions", tc.body)
			var e struct {
				Error struct {
					Message, Type, Code string
					Param               *string
				}
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			param := ""
			if e.Error.Param != nil {
				param = *e.Error.Param
			}
			if status != tc.status || param != tc.param || e.Error.Code != tc.code || e.Error.Message == "" ||
				e.Error.Type == "" || strings.Contains(e.Error.Message, "Go ") {
				t.Errorf("status %d: %s", status, body)
			}
		})
	}
	ask(t, h, `,"n":1,"top_p":1,"stop":null,"tool_choice":"auto","user":"me","chat_template_kwargs":{},"response_format":{"type":"text"}`)
}

func TestSamplerErrors(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		code   string
	}{
		{&policy.ContextError{NumPrompt: 9, MaxContext: 8}, 400, "context_length_exceeded"},
		{errors.New("device at /secret/path lost"), 500, "server_error"},
	} {
		h := start(t, &sampler{err: tc.err}, nil)
		status, body := send(t, "POST", h.URL+"/v1/chat/completions", hi+"}")
		if status != tc.status || !strings.Contains(body, `"code":"`+tc.code+`"`) || strings.Contains(body, "secret") {
			t.Errorf("%v: status %d: %s", tc.err, status, body)
		}
	}
}

func TestRoutesAndKeys(t *testing.T) {
	open := start(t, &sampler{says: "x"}, nil)
	locked := start(t, &sampler{says: "x"}, func(o *Options) { o.Keys = []string{"sk-other", "sk-right"} })
	for _, tc := range []struct {
		server       *httptest.Server
		method, path string
		header       []string
		status       int
	}{
		{open, "GET", "/health", nil, 200},
		{open, "GET", "/v1/models", nil, 200},
		{open, "GET", "/v1/chat/completions", nil, 404},
		{open, "POST", "/v1/fine_tuning/jobs", nil, 404},
		{open, "GET", "/", nil, 404},
		{open, "GET", "/v1/models", []string{"Host", "rebound.test"}, 403},
		{open, "GET", "/v1/models", []string{"Origin", "https://elsewhere.test"}, 403},
		{open, "GET", "/v1/models", []string{"Origin", "http://localhost:3000"}, 200},
		{locked, "GET", "/health", nil, 200},
		{locked, "GET", "/v1/models", nil, 401},
		{locked, "GET", "/nowhere", nil, 401},
		{locked, "GET", "/v1/models", []string{"Authorization", "Bearer sk-wrong"}, 401},
		{locked, "GET", "/v1/models", []string{"Authorization", "sk-right"}, 401},
		{locked, "GET", "/v1/models", []string{"Authorization", "Bearer "}, 401},
		{locked, "GET", "/v1/models", []string{"Authorization", "Bearer sk-right", "Host", "any.test"}, 200},
		{locked, "GET", "/v1/models", []string{"X-Api-Key", "sk-other"}, 200},
		{locked, "GET", "/v1/models", []string{"X-Api-Key", "sk-wrong"}, 401},
	} {
		status, body := send(t, tc.method, tc.server.URL+tc.path, "", tc.header...)
		if status != tc.status || (status >= 400 && !strings.Contains(body, `{"error":{`)) {
			t.Errorf("%s %s %v: status %d, want %d: %s", tc.method, tc.path, tc.header, status, tc.status, body)
		}
	}
	if _, body := send(t, "GET", open.URL+"/v1/models", ""); !strings.Contains(body, `"id":"m"`) {
		t.Errorf("models = %s", body)
	}
}

// Whatever is routed, it is closed to who has no key, and to web pages elsewhere, unless it is known to be open to all.
func TestEveryRouteIsGuarded(t *testing.T) {
	server, err := New(Options{Models: []Model{model(&sampler{})}, Keys: []string{"sk-right"}})
	if err != nil {
		t.Fatal(err)
	}
	locked := start(t, &sampler{}, func(o *Options) { o.Keys = []string{"sk-right"} })
	open := start(t, &sampler{}, nil)
	for _, r := range server.routes() {
		if r.Open {
			if r.Path != "/health" {
				t.Errorf("%s is open to all", r.Path)
			}
			continue
		}
		path := strings.NewReplacer("{id}", "x").Replace(r.Path)
		if status, body := send(t, r.Method, locked.URL+path, "{}"); status != 401 {
			t.Errorf("%s %s without a key: status %d: %s", r.Method, path, status, body)
		}
		if status, body := send(t, r.Method, open.URL+path, "{}", "Origin", "https://elsewhere.test"); status != 403 {
			t.Errorf("%s %s from a web page: status %d: %s", r.Method, path, status, body)
		}
		if status, body := send(t, r.Method, open.URL+path, "{}", "Host", "rebound.test"); status != 403 {
			t.Errorf("%s %s by another name: status %d: %s", r.Method, path, status, body)
		}
	}
}

func TestClientDisconnectCancelsSampling(t *testing.T) {
	s := &sampler{says: "x", gate: make(chan struct{}), started: make(chan struct{}, 4),
		cancelled: make(chan struct{}, 1)}
	h := start(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-s.started; cancel() }()
	req, err := http.NewRequestWithContext(ctx, "POST", h.URL+"/v1/chat/completions", strings.NewReader(hi+"}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.DefaultClient.Do(req); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	<-s.cancelled
	close(s.gate)
	ask(t, h, "") // answered only once the one slot is free again
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) != 2 {
		t.Errorf("%d requests reached the sampler", len(s.asked))
	}
}

func TestQueueIsBounded(t *testing.T) {
	s := &sampler{says: "x", gate: make(chan struct{}), started: make(chan struct{}, 4)}
	h := start(t, s, func(o *Options) { o.MaxQueue = -1 })
	answered := make(chan int)
	go func() {
		status, _ := send(t, "POST", h.URL+"/v1/chat/completions", hi+"}")
		answered <- status
	}()
	<-s.started
	if status, body := send(t, "POST", h.URL+"/v1/chat/completions", hi+"}"); status != 429 ||
		!strings.Contains(body, "queue_full") {
		t.Errorf("status %d: %s", status, body)
	}
	close(s.gate)
	if status := <-answered; status != 200 {
		t.Errorf("the request in the slot: status %d", status)
	}
}

// open serves on a free port of 127.0.0.1 until stop is called; ended gives what Serve returned.
func open(t *testing.T, s *sampler, grace time.Duration) (url string, stop func(), ended chan error) {
	t.Helper()
	server, err := New(Options{Models: []Model{model(s)}, Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return "http://" + l.Addr().String() + "/v1/chat/completions", stop, ended
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	s := &sampler{says: "x", gate: make(chan struct{}), started: make(chan struct{}, 1)}
	url, stop, ended := open(t, s, time.Hour)
	answered := make(chan int)
	go func() {
		status, _ := send(t, "POST", url, hi+"}")
		answered <- status
	}()
	<-s.started
	stop()
	close(s.gate)
	if status := <-answered; status != 200 {
		t.Errorf("status %d", status)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Post(url, "application/json", strings.NewReader(hi+"}")); err == nil {
		t.Error("the server still listens")
	}
}

// What takes too long is cut off, and its client told so in its own protocol: as an answer where none has begun, else
// by the last event of its stream, for half an answer would read as a whole one. It is counted as what it was told.
func TestShutdownCutsOffWhatTakesTooLong(t *testing.T) {
	http.DefaultClient.Timeout = time.Minute // else a client that nobody tells waits as long as the test may
	defer func() { http.DefaultClient.Timeout = 0 }()
	const chatBody, code = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]`,
		`"code":"shutting_down"`
	for _, tc := range []struct{ path, body, told string }{
		{"/v1/chat/completions", chatBody, code},
		{"/v1/completions", `{"model":"m","prompt":"hi"`, code},
		{"/v1/messages", chatBody, `"type":"overloaded_error"`},
		{"/v1/responses", `{"model":"m","input":"hi"`, `the server has shut down before the answer was whole`},
	} {
		for _, streams := range []bool{false, true} {
			s := &sampler{says: "héllo", seen: make(chan struct{}), started: make(chan struct{}, 1)}
			server, err := New(Options{Models: []Model{model(s)}, Grace: time.Nanosecond})
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			t.Cleanup(stop)
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(ctx, l) }()
			if !streams {
				go func() {
					<-s.started
					stop()
				}()
			}
			res, err := http.Post("http://"+l.Addr().String()+tc.path, "application/json",
				strings.NewReader(fmt.Sprintf(`%s,"stream":%t}`, tc.body, streams)))
			if err != nil {
				t.Fatal(err)
			}
			last := ""
			for lines := bufio.NewScanner(res.Body); lines.Scan(); {
				if last = cmp.Or(lines.Text(), last); strings.Contains(last, `"h"`) {
					stop()
				}
			}
			res.Body.Close()
			if streams == (res.StatusCode == 503) || !strings.Contains(last, tc.told) {
				t.Errorf("%s, stream %t: status %d, at last %s", tc.path, streams, res.StatusCode, last)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if counts := counted(server); !strings.Contains(counts, `requests_refused_total{code="shutting_down"} 1`) ||
				strings.Contains(counts, "request_success_total{") {
				t.Errorf("%s, stream %t: %s", tc.path, streams, counts)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// counted are a server's metrics.
func counted(s *Server) string {
	w := httptest.NewRecorder()
	s.showMetrics(w, nil)
	return w.Body.String()
}

// A client that hangs up, in a stream or before its answer, is told nothing, and is no request that was refused.
func TestHangingUpIsCountedAsAbort(t *testing.T) {
	for _, streams := range []bool{false, true} {
		s := &sampler{says: "héllo", seen: make(chan struct{}), started: make(chan struct{}, 1)}
		server, err := New(Options{Models: []Model{model(s)}})
		if err != nil {
			t.Fatal(err)
		}
		h := httptest.NewServer(server.Handler())
		ctx, leave := context.WithCancel(t.Context())
		t.Cleanup(leave)
		go func() {
			<-s.started
			leave()
		}()
		req, err := http.NewRequestWithContext(ctx, "POST", h.URL+"/v1/chat/completions",
			strings.NewReader(fmt.Sprintf(`%s,"stream":%t}`, hi, streams)))
		if err != nil {
			t.Fatal(err)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.ReadAll(res.Body)
			res.Body.Close()
		}
		h.Close() // waits for the handler's end
		if counts := counted(server); !strings.Contains(counts, `finished_reason="abort"} 1`) ||
			strings.Contains(counts, "requests_refused_total{") {
			t.Errorf("stream %t: %s", streams, counts)
		}
	}
}

// A request that tells nothing within the last words either does not keep the server: its connection is closed.
func TestShutdownWaitsForNobody(t *testing.T) {
	stuck := make(chan struct{})
	defer close(stuck)
	f := Front{Grace: time.Nanosecond, Logger: slog.New(slog.DiscardHandler)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- f.Serve(ctx, l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			stop()
			<-stuck
		}))
	}()
	if _, err := http.Get("http://" + l.Addr().String()); err == nil {
		t.Error("it was answered")
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := (Front{Keys: []string{"k", ""}, Logger: f.Logger}).Serve(t.Context(), l, nil); err == nil {
		t.Error("it serves with an empty key")
	}
}

func TestServeWantsAKeyBeyondLoopback(t *testing.T) {
	server, err := New(Options{Models: []Model{model(&sampler{})}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Serve(t.Context(), l); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("served everyone: %v", err)
	}
	for _, o := range []Options{{}, {Models: []Model{{ID: "m"}}}, {Models: []Model{
		model(&sampler{}), model(&sampler{})}}} {
		if _, err := New(o); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
