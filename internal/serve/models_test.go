package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/policy"
	"hone/internal/fault"
	"hone/internal/text/grammar"
)

// loader makes adapters of one sampler, and notes which are unloaded.
type loader struct {
	sampler policy.Sampler
	slow    chan struct{} // until this is closed, the folder slow loads
	freeing chan struct{} // not nil: unloading waits for it,
	began   chan struct{} // and says that it has begun
	mu      sync.Mutex
	next    int
	gone    []int
}

func (l *loader) Load(_ context.Context, name, dir string) (Model, error) {
	if dir == "slow" {
		<-l.slow
	}
	if dir == "missing" {
		return Model{}, &fault.Error{Code: fault.CodeUsage, What: "no adapter", Where: dir}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := model(nil)
	m.Sampler, m.ID, m.Adapter, m.Root, m.Parent = l.sampler, name, l.next, dir, "m"
	l.next++
	return m, nil
}

func (l *loader) Unload(m Model) {
	if l.freeing != nil {
		l.began <- struct{}{}
		<-l.freeing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = append(l.gone, m.Adapter)
}

func (l *loader) unloaded() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.gone)
}

func post(t *testing.T, h *httptest.Server, path, body string) (int, string) {
	t.Helper()
	return send(t, "POST", h.URL+path, body)
}

// An adapter that is unloaded while another is loaded in its place is freed once: its place may be another's by then.
func TestAdapterIsFreedOnce(t *testing.T) {
	s := &sampler{says: "x", numSlots: 4}
	l := &loader{sampler: s, slow: make(chan struct{})}
	h := start(t, s, func(o *Options) { o.Adapters = l })
	if status, body := post(t, h, "/v1/load_lora_adapter", `{"lora_name":"a","lora_path":"out"}`); status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	loaded := make(chan int)
	go func() {
		status, _ := post(t, h, "/v1/load_lora_adapter", `{"lora_name":"a","lora_path":"slow","load_inplace":true}`)
		loaded <- status
	}()
	for { // once this is refused, the other load is under way
		if status, _ := post(t, h, "/v1/load_lora_adapter",
			`{"lora_name":"a","lora_path":"missing","load_inplace":true}`); status == 409 {
			break
		}
	}
	if status, body := post(t, h, "/v1/unload_lora_adapter", `{"lora_name":"a"}`); status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	close(l.slow)
	if status := <-loaded; status != 200 || l.unloaded() != "[0]" {
		t.Errorf("status %d, unloaded %s", status, l.unloaded())
	}
	if status, body := post(t, h, "/v1/chat/completions", strings.Replace(hi, `"m"`, `"a"`, 1)+"}"); status != 200 {
		t.Errorf("status %d: %s", status, body)
	}
}

// A name whose adapter is replaced has a model at every moment, also while the old one is being freed.
func TestReplacedNameIsAlwaysServed(t *testing.T) {
	s := &sampler{says: "x", numSlots: 4}
	l := &loader{sampler: s, freeing: make(chan struct{}), began: make(chan struct{})}
	h := start(t, s, func(o *Options) { o.Adapters = l })
	load := func(more string) (int, string) {
		return post(t, h, "/v1/load_lora_adapter", `{"lora_name":"a","lora_path":"out"`+more+`}`)
	}
	if status, body := load(""); status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	loaded := make(chan int)
	go func() { status, _ := load(`,"load_inplace":true`); loaded <- status }()
	<-l.began
	if status, body := post(t, h, "/v1/chat/completions", strings.Replace(hi, `"m"`, `"a"`, 1)+"}"); status != 200 {
		t.Errorf("status %d: %s", status, body)
	}
	s.mu.Lock()
	if last := s.asked[len(s.asked)-1].Adapter; last != 1 {
		t.Errorf("adapter %d answers", last)
	}
	s.mu.Unlock()
	close(l.freeing)
	if status := <-loaded; status != 200 {
		t.Errorf("status %d", status)
	}
}

// Adapters come and go by vLLM's routes, and each request is of the one that had the name when it came.
func TestAdaptersComeAndGo(t *testing.T) {
	s := &sampler{says: "x", numSlots: 4}
	l := &loader{sampler: s}
	h := start(t, s, func(o *Options) { o.Adapters = l })
	for _, tc := range []struct {
		path, body string
		status     int
		gone       string
	}{
		{"load", `{"lora_name":"a","lora_path":"out"}`, 200, "[]"},
		{"load", `{"lora_name":"a","lora_path":"out"}`, 400, "[]"},
		// what was served from the beginning stays
		{"load", `{"lora_name":"m","lora_path":"out","load_inplace":true}`, 400, "[]"},
		{"load", `{"lora_name":"b","lora_path":"missing"}`, 400, "[]"},
		{"load", `{"lora_name":"b"}`, 400, "[]"},
		{"load", `{"lora_name":"a","lora_path":"new","load_inplace":true}`, 200, "[0]"},
		{"unload", `{"lora_name":"m"}`, 400, "[0]"},
		{"unload", `{"lora_name":"c"}`, 404, "[0]"},
		{"unload", `{"lora_name":"a"}`, 200, "[0 1]"},
		{"unload", `{"lora_name":"a"}`, 404, "[0 1]"},
	} {
		status, body := post(t, h, "/v1/"+tc.path+"_lora_adapter", tc.body)
		if status != tc.status || l.unloaded() != tc.gone {
			t.Errorf("%s %s: status %d, want %d: %s; unloaded %s",
				tc.path, tc.body, status, tc.status, body, l.unloaded())
		}
	}
	closed := start(t, s, nil)
	if status, body := post(t, closed, "/v1/load_lora_adapter", `{"lora_name":"a","lora_path":"out"}`); status != 403 ||
		!strings.Contains(body, "--max-adapters") {
		t.Errorf("loaded though it is not enabled: status %d: %s", status, body)
	}
}

// A request that began under an adapter ends under it, whatever comes under its name meanwhile; only then its place is
// free.
func TestAdapterStaysUntilItsRequestsEnd(t *testing.T) {
	s := &sampler{says: "x", numSlots: 4, gate: make(chan struct{}), started: make(chan struct{}, 4)}
	l := &loader{sampler: s}
	h := start(t, s, func(o *Options) { o.Adapters = l })
	load := func(more string) {
		if status, body := post(t, h, "/v1/load_lora_adapter",
			`{"lora_name":"a","lora_path":"out"`+more+`}`); status != 200 {
			t.Fatalf("status %d: %s", status, body)
		}
	}
	load("")
	body := strings.Replace(hi, `"m"`, `"a"`, 1) + "}"
	answered := make(chan int, 2)
	ask := func() {
		go func() { status, _ := post(t, h, "/v1/chat/completions", body); answered <- status }()
		<-s.started
	}
	ask()
	load(`,"load_inplace":true`)
	ask()
	if got := l.unloaded(); got != "[]" {
		t.Errorf("unloaded %s while a request of it is under way", got)
	}
	close(s.gate)
	for range 2 {
		if status := <-answered; status != 200 {
			t.Errorf("status %d", status)
		}
	}
	h.Close() // waits for the handlers' ends
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := []int{s.asked[0].Adapter, s.asked[1].Adapter}; !slices.Equal(got, []int{0, 1}) || l.unloaded() != "[0]" {
		t.Errorf("adapters %v were asked, unloaded %s", got, l.unloaded())
	}
}

// shaped is a model whose calls have a frame of bytes.
func shaped(o *Options) {
	words := grammar.NewVocabulary(256, func(id int32) grammar.Token {
		return grammar.Token{Text: string([]byte{byte(id)})}
	})
	o.Models[0].Shape = &Shape{Words: words, Frame: &grammar.Frame{Open: "CALL ", Middle: " ", Between: "\n"}}
}

const twoTools = `,"tools":[{"type":"function","function":{"name":"hash","parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}},
	{"type":"function","function":{"name":"now","strict":STRICT,"parameters":{"const":{}}}}]`

// heldTo runs the constraint of the last request over a text; it returns how much of it may be written, and whether it
// may end there.
func heldTo(s *sampler, text string) (n int, ends bool) {
	s.mu.Lock()
	c := s.asked[len(s.asked)-1].Constraint
	s.mu.Unlock()
	if c == nil {
		return -1, true
	}
	allowed := policy.NewIDSet(256)
	for n = 0; ; n++ {
		allowed.Fill()
		c.Narrow(ids(text)[:n], allowed)
		if n == len(text) || !allowed.Has(int32(text[n])) {
			return n, allowed.Has(stopID)
		}
	}
}

// What a client asks of the form of an answer reaches the sampler.
func TestWhatCompletionsAreHeldTo(t *testing.T) {
	s := &sampler{says: "x", numSlots: 2}
	h := start(t, s, shaped)
	const call = `CALL hash {"n":1}`
	format := `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"const":[1]}}}`
	for name, tc := range map[string]struct {
		more, text string
		n          int
		ends       bool
	}{
		"auto":            {twoTools, call, -1, true},
		"required":        {twoTools + `,"tool_choice":"required"`, call, len(call), true},
		"not required":    {twoTools + `,"tool_choice":"required"`, "no", 0, false},
		"two":             {twoTools + `,"tool_choice":"required"`, call + "\n" + call, 2*len(call) + 1, true},
		"only one":        {twoTools + `,"tool_choice":"required","parallel_tool_calls":false`, call + "\n", len(call), true},
		"wrong arguments": {twoTools + `,"tool_choice":"required"`, `CALL hash {"n":"`, len(`CALL hash {"n":`), false},
		"named":           {twoTools + `,"tool_choice":{"type":"function","function":{"name":"now"}}`, call, len("CALL "), false},
		"one of free":     {twoTools + `,"parallel_tool_calls":false`, "so " + call + "\n", len("so " + call), true},
		"schema":          {format, "[1]", 3, true},
		"not the schema":  {format, "[2]", 1, false},
		"schema or call":  {twoTools + format, call, len(call), true},
		"an object":       {`,"response_format":{"type":"json_object"}`, `{"a":[]}`, 8, true},
		"no text":         {`,"response_format":{"type":"json_object"}`, `hello`, 0, false},
		"banned too":      {`,"response_format":{"type":"json_object"},"logit_bias":{"97":-100}`, `{"a"`, 2, false},
		"strict":          {strings.Replace(twoTools, "STRICT", "true", 1), `CALL now {"`, len("CALL now {"), false},
		"strict of other": {strings.Replace(twoTools, "STRICT", "true", 1), `x CALL hash {"m":`, len(`x CALL hash {"m":`), false},
	} {
		ask(t, h, strings.Replace(tc.more, "STRICT", "false", 1))
		if n, ends := heldTo(s, tc.text); n != tc.n || ends != tc.ends {
			t.Errorf("%s: %d of %q may be written, want %d; may end there: %v", name, n, tc.text, tc.n, ends)
		}
	}
	for more, want := range map[string]string{
		strings.Replace(twoTools, `{"const":{}}`, `{"type":"text"}`, 1) +
			`,"tool_choice":"required"`: `tool \"now\"`,
		`,"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"string","pattern":"x"},"strict":true}}`: "pattern at #",
		`,"response_format":{"type":"json_schema"}`: "no schema",
		`,"response_format":{"type":"grammar"}`:     "grammar",
	} {
		if status, body := post(t, h, "/v1/chat/completions",
			hi+strings.Replace(more, "STRICT", "false", 1)+"}"); status != 400 || !strings.Contains(body, want) {
			t.Errorf("%s: status %d: %s", more, status, body)
		}
	}
	plain := start(t, s, nil)
	if status, body := post(t, plain, "/v1/chat/completions",
		hi+`,"response_format":{"type":"json_object"}}`); status != 400 || !strings.Contains(body, "response_format") {
		t.Errorf("without a vocabulary: status %d: %s", status, body)
	}
}

// A call that is forced has an object as its arguments, whatever the tool says of them, and an empty one where it says
// nothing.
func TestArgumentsOfAForcedCall(t *testing.T) {
	s := &sampler{says: "x", numSlots: 2}
	h := start(t, s, shaped)
	const open, n = "CALL f ", len("CALL f ")
	for _, tc := range []struct{ parameters, good, bad string }{
		{`,"parameters":{}`, `{}`, `"`},
		{`,"parameters":{}`, `{}`, `{"a`},
		{`,"parameters":{}`, `{}`, `1`},
		{`,"parameters":{}`, `{}`, `null`},
		{``, `{}`, `[`},
		{``, `{}`, `{"a`},
		{`,"parameters":null`, `{}`, `"`},
		{`,"parameters":{"title":"F","description":"d","$schema":"https://json-schema.org/draft/2020-12/schema"}`, `{}`, `{"a`},
		{`,"parameters":{"type":"object"}`, `{"a":1}`, `[`},
		{`,"parameters":{"type":"object","properties":{}}`, `{}`, `{"a`},
		{`,"parameters":{"type":["object","null"],"properties":{"a":{"type":"integer"}}}`, `{"a":1}`, `null`},
		{`,"parameters":{"properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1}`, `{}`},
		{`,"parameters":{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"null"}}}]}`, `{"a":null}`, `"x"`},
		{`,"parameters":{"$ref":"#/$defs/p","$defs":{"p":{"properties":{"a":{"$ref":"#/$defs/n"}}},"n":{"type":"integer"}}}`, `{"a":1}`, `{"a":"`},
		{`,"parameters":{"minProperties":1}`, `{"a":"b"}`, `7`},
	} {
		for _, choice := range []string{`"required"`, `{"type":"function","function":{"name":"f"}}`} {
			ask(t, h, `,"tools":[{"type":"function","function":{"name":"f"`+tc.parameters+`}}],"tool_choice":`+choice)
			if held, ends := heldTo(s, open+tc.good); held != n+len(tc.good) || !ends {
				t.Errorf("%s: %d of %s may be written, may end: %v", tc.parameters, held-n, tc.good, ends)
			}
			if held, _ := heldTo(s, open+tc.bad); held == n+len(tc.bad) {
				t.Errorf("%s: %s may be written", tc.parameters, tc.bad)
			}
		}
	}
	status, body := post(t, h, "/v1/chat/completions",
		hi+`,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"string"}}}],`+
			`"tool_choice":"required"}`)
	if status != 400 || !strings.Contains(body, "arguments are an object") {
		t.Errorf("parameters that are no object: status %d: %s", status, body)
	}
}

// A thousand tools are many, and one of them can still be required.
func TestAThousandTools(t *testing.T) {
	s := &sampler{says: "x"}
	h := start(t, s, shaped)
	var tools []string
	for i := range 1000 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"tool%d","parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}`, i))
	}
	ask(t, h, `,"tools":[`+strings.Join(tools, ",")+`],"tool_choice":"required"`)
	if n, ends := heldTo(s, `CALL tool999 {"n":1}`); n != 20 || !ends {
		t.Errorf("%d may be written, may end: %v", n, ends)
	}
}

// Several completions of one request are told apart, in streams too, and have streams of numbers of their own.
func TestSeveralCompletions(t *testing.T) {
	s := &sampler{says: "héy", numSlots: 3}
	h := start(t, s, nil)
	c := ask(t, h, `,"n":3,"seed":7`)
	if len(c.Choices) != 3 || c.Choices[2].Index != 2 || c.Choices[2].Message.Content != "héy" ||
		*c.Usage != (usage{8, 12, 20}) {
		t.Errorf("%+v %+v", c, c.Usage)
	}
	keys := map[policy.Key]bool{}
	for _, r := range s.asked {
		keys[r.Key] = true
	}
	if len(keys) != 3 || !keys[policy.Key{Seed: 7}] {
		t.Errorf("keys %v", keys)
	}
	_, body := post(t, h, "/v1/chat/completions", hi+`,"n":2,"stream":true}`)
	texts := map[int]string{}
	for _, line := range strings.Split(body, "\n") {
		var c completion
		if data, ok := strings.CutPrefix(line, "data: {"); ok && json.Unmarshal([]byte("{"+data), &c) == nil {
			for _, x := range c.Choices {
				if x.Delta.Content != nil {
					texts[x.Index] += *x.Delta.Content
				}
			}
		}
	}
	if len(texts) != 2 || texts[0] != "héy" || texts[1] != "héy" {
		t.Errorf("streamed %v", texts)
	}
	for _, n := range []string{"5", "9223372036854775807"} { // twice the last one overflows
		if status, body := post(t, h, "/v1/completions", `{"model":"m","prompt":["a","b"],"n":`+n+`}`); status != 400 ||
			!strings.Contains(body, "2 prompts") {
			t.Errorf("n %s: status %d: %s", n, status, body)
		}
	}
}

func TestTextCompletions(t *testing.T) {
	s := &sampler{says: "THINK CALL x", numSlots: 4}
	h := start(t, s, nil)
	for body, want := range map[string]string{
		`{"prompt":"ab"}`:                         `"text":"THINK CALL x"`, // nothing is read but text
		`{"prompt":[97,98],"echo":true}`:          `"text":"abTHINK CALL x"`,
		`{"prompt":["ab","c"],"n":2}`:             `"index":3`,
		`{"prompt":[[97],[98]],"logprobs":1}`:     `"text_offset":[0,1,2`,
		`{"prompt":"ab","stop":"CALL"}`:           `"text":"THINK "`,
		`{"prompt":"ab","return_token_ids":true}`: `"prompt_token_ids":[97,98]`,
		`{"prompt":"ab","stream":true}`:           `"text":"T"`,
		`{"prompt":""}`:                           "no tokens",
		`{"prompt":[]}`:                           "no prompt",
		`{}`:                                      "no prompt",
		`{"prompt":"a","suffix":"b"}`:             "suffix",
		`{"prompt":"a","best_of":2}`:              "best_of",
		`{"prompt":{"a":1}}`:                      "not such a request",
		`{"prompt":"a","echo":true,"logprobs":1}`: "hone inspect logprobs",
		`{"prompt":["a","b","c","d","e"]}`:        "samples 4",
	} {
		if _, got := post(t, h, "/v1/completions", body); !strings.Contains(got, want) {
			t.Errorf("%s: no %s in %s", body, want, got)
		}
	}
	post(t, h, "/v1/completions", `{"prompt":[97,98]}`)
	if got := s.asked[len(s.asked)-1]; text(got.Prompt) != "ab" || got.MaxTokens != 16 {
		t.Errorf("asked %+v", got)
	}
}

func TestTokenize(t *testing.T) {
	h := start(t, &sampler{says: "x"}, nil)
	for _, tc := range [][3]string{
		{"/tokenize", `{"prompt":"ab"}`, `"tokens":[97,98]`},
		{"/tokenize", `{"prompt":""}`, `"tokens":[]`},
		{"/tokenize", `{"messages":[{"role":"user","content":"é"}]}`, `"count":7`},
		{"/tokenize", `{"messages":[{"role":"user","content":"é"}],"tools":[{"type":"function","function":{"name":"f"}}]}`, `"count":10`},
		{"/tokenize", `{}`, "either prompt or messages"},
		{"/tokenize", `{"messages":[{"role":"tool"}]}`, "no message before it makes"},
		{"/detokenize", `{"tokens":[97,233]}`, `"prompt":"aé"`},
		{"/detokenize", `{"ids":[97]}`, "ids is not supported"},
	} {
		if _, got := post(t, h, tc[0], tc[1]); !strings.Contains(got, tc[2]) {
			t.Errorf("%s %s: no %s in %s", tc[0], tc[1], tc[2], got)
		}
	}
}

// What happened is counted under vLLM's names.
func TestMetrics(t *testing.T) {
	s := &sampler{says: "abc"}
	h := start(t, s, nil)
	ask(t, h, "")
	post(t, h, "/v1/chat/completions", hi+`,"n":0}`)
	s.finish = policy.FinishLength
	post(t, h, "/v1/chat/completions", hi+`,"stream":true}`)
	_, got := send(t, "GET", h.URL+"/metrics", "")
	for _, want := range []string{
		`vllm:prompt_tokens_total{model_name="m"} 16`, `vllm:generation_tokens_total{model_name="m"} 7`,
		`vllm:request_success_total{model_name="m",finished_reason="stop"} 1`,
		`vllm:request_success_total{model_name="m",finished_reason="length"} 1`,
		`hone:requests_refused_total{code="invalid_value"} 1`,
		`vllm:time_to_first_token_seconds_count{model_name="m"} 2`,
		`vllm:e2e_request_latency_seconds_bucket{model_name="m",le="+Inf"} 2`,
		`vllm:num_requests_running{model_name="m"} 0`, "# TYPE vllm:time_to_first_token_seconds histogram",
		"# TYPE vllm:prompt_tokens_total counter",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// A request has the client's name where it sends one, and else a new one.
func TestRequestIDs(t *testing.T) {
	h := start(t, &sampler{says: "x"}, nil)
	for given, kept := range map[string]bool{"abc-1": true, "": false, "a b": false, strings.Repeat("x", 200): false} {
		req := httptest.NewRequest("GET", "/v1/models", nil)
		req.Host = "localhost"
		if given != "" {
			req.Header.Set("X-Request-Id", given)
		}
		w := httptest.NewRecorder()
		h.Config.Handler.ServeHTTP(w, req)
		if got := w.Header().Get("X-Request-Id"); (got == given) != kept || got == "" {
			t.Errorf("%q became %q", given, got)
		}
	}
}

func serveOnce(h http.Handler, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest("POST", path, strings.NewReader(body))
	req.Host = "localhost"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}
