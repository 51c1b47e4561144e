package revise

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hone/internal/proxy"
)

// The clock of patterns in schemas ends by itself, a little after their last use.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))
}

func callJSON(name, arguments string) string {
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"u1","type":"function","function":{"name":%q,"arguments":%q}}]}`, name, arguments)
}

func completion(message, finish string, logprob float64) string {
	return fmt.Sprintf(`{"id":"x","choices":[{"index":0,"message":%s,"finish_reason":%q,"logprobs":{"content":[{"logprob":%g}]}}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`, message, finish, logprob)
}

const request = `{"model":"big","messages":[{"role":"user","content":"Hash it."}],"tools":[{"type":"function","function":{"name":"hash",` +
	`"parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}]`

// through sends a request through a proxy in the mode before an upstream that answers in turn.
func through(t *testing.T, m *Mode, body string, says ...string) (*http.Response, string, []string) {
	t.Helper()
	var got []string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got = append(got, string(text))
		if strings.Contains(string(text), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = io.WriteString(w, says[min(len(got), len(says))-1])
	}))
	defer up.Close()
	transport := &http.Transport{DisableKeepAlives: true}
	p, err := proxy.New(proxy.Options{Upstream: proxy.Upstream{URL: up.URL, Transport: transport}, Mode: m})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(p.Handler())
	defer h.Close()
	r, err := (&http.Client{Transport: transport}).Post(h.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(text), got
}

// small is a sidecar's model behind a server.
func small(t *testing.T, answer http.HandlerFunc) Reviser {
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return Served{Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, URL: s.URL, Model: "small",
		MaxTokens: 9}
}

func completes(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestDecides(t *testing.T) {
	right, wrong := callJSON("hash", `{"text":"it"}`), callJSON("hash", `{"words":1}`)
	sure := completes(completion(right, "tool_calls", -0.001))
	for name, c := range map[string]struct {
		model    http.HandlerFunc
		upstream string
		body     string
		same     bool // the upstream's bytes
		header   string
	}{
		"right": {sure, completion(right, "tool_calls", 0), request + "}", true, "sidecar=untouched; the sidecar says the same"},
		"the fixer mends": {nil, completion(callJSON("Hash", `{'text': 'it'}`), "tool_calls", 0), request + "}",
			false, "sidecar=mended; tool_name hash, single_quotes hash"},
		"in the text": {
			nil, completion(`{"role":"assistant","content":"{\"name\": \"hash\", \"arguments\": {\"text\": \"it\"}}"}`,
				"stop", 0), request + "}", false, "sidecar=mended; rescued",
		},
		"the sidecar revises": {sure, completion(wrong, "tool_calls", 0), request + "}", false, "sidecar=revised; the sidecar's call, with probability 0.999"},
		"no sidecar": {nil, completion(wrong, "tool_calls", 0), request + "}", true,
			"sidecar=original; there is no sidecar; the draft: missing property 'text'"},
		"the sidecar is wrong": {completes(completion(wrong, "tool_calls", -0.001)), completion(wrong, "tool_calls", 0),
			request + "}", true, "sidecar=original; the revision is not valid"},
		"the sidecar is cut": {completes(completion(right, "length", -0.001)), completion(wrong, "tool_calls", 0),
			request + "}", true, "sidecar=original; the revision is cut off"},
		"the sidecar fails": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
			completion(wrong, "tool_calls", 0), request + "}", true, "sidecar=original; the sidecar failed"},
		"the sidecar is late": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body) // a server that has not read the request does not see that the client has gone
			<-r.Context().Done()
		}, completion(wrong, "tool_calls", 0), request + "}", true, "sidecar=original; the sidecar took longer"},
		"plain words": {sure, completion(`{"role":"assistant","content":"Done."}`, "stop", 0), request + "}", true, "sidecar=untouched; a plain answer"},
		"a call for words": {sure, completion(`{"role":"assistant","content":"Done."}`, "stop", 0), request + "}",
			false, "sidecar=revised; the sidecar's call, with probability 0.999"},
		"no tools":        {sure, completion(right, "tool_calls", 0), `{"messages":[{"role":"user","content":"hi"}]}`, true, "sidecar=passed; no tool"},
		"tools forbidden": {sure, completion(wrong, "tool_calls", 0), request + `,"tool_choice":"none"}`, true, "sidecar=passed"},
		"two choices":     {sure, completion(wrong, "tool_calls", 0), request + `,"n":2}`, true, "sidecar=passed"},
		"cut":             {sure, completion(wrong, "length", 0), request + "}", true, "sidecar=passed"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Mode{Sidecar: Sidecar{Rule: Rule{Confidence: 0.9, NoCall: 1, Deadline: 20 * time.Second}}}
			if name == "a call for words" {
				m.Sidecar.NoCall = 0.9
			}
			if name == "the sidecar is late" {
				m.Sidecar.Rule.Deadline = 300 * time.Millisecond
			}
			if c.model != nil {
				m.Sidecar.Reviser = small(t, c.model)
			}
			r, text, got := through(t, m, c.body, c.upstream)
			if h := r.Header.Get(proxy.DecisionHeader); !strings.HasPrefix(h, c.header) {
				t.Errorf("header %q, want %q", h, c.header)
			}
			if (text == c.upstream) != c.same || len(got) != 1 || got[0] != c.body {
				t.Errorf("the client was told %s; the upstream was asked %q", text, got)
			}
			if !c.same && (!strings.Contains(text, `"name":"hash"`) || !strings.Contains(text, `\"it\"`) ||
				!strings.Contains(text, `"finish_reason":"tool_calls"`) || !json.Valid([]byte(text))) {
				t.Errorf("the client was told %s", text)
			}
		})
	}
}

// The upstream is told once of what could not be mended; where its second answer is no better, the first goes on.
func TestHint(t *testing.T) {
	right, wrong := completion(callJSON("hash", `{"text":"it"}`), "tool_calls", 0),
		completion(callJSON("hash", `{"words":1}`), "tool_calls", 0)
	r, text, got := through(t, &Mode{Hint: true}, request+"}", wrong, right)
	if len(got) != 2 || !strings.Contains(got[1], "missing property 'text'") || !strings.Contains(text, `\"it\"`) ||
		!strings.HasPrefix(r.Header.Get(proxy.DecisionHeader), "sidecar=hinted") {
		t.Errorf("asked %q, told %s %s", got, text, r.Header.Get(proxy.DecisionHeader))
	}
	if r, text, got := through(t, &Mode{Hint: true}, request+"}", wrong, wrong); len(got) != 2 || text != wrong ||
		!strings.HasPrefix(r.Header.Get(proxy.DecisionHeader), "sidecar=original") {
		t.Errorf("asked %q, told %s", got, text)
	}
}

// Words of a stream go on as they come; a call is held until it is decided.
func TestStream(t *testing.T) {
	chunk := func(delta, finish string) string {
		return fmt.Sprintf("data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n",
			delta, finish)
	}
	words := chunk(`{"role":"assistant","content":"Let me see."}`, "null") + chunk(`{}`, `"stop"`) + "data: [DONE]\n\n"
	sure := small(t, completes(completion(callJSON("hash", `{"text":"it"}`), "tool_calls", -0.001)))
	// told already
	_, text, _ := through(t, &Mode{Sidecar: Sidecar{Rule: Rule{NoCall: 0.5}, Reviser: sure}},
		request+`,"stream":true}`, words)
	if !strings.Contains(text, "Let me see.") || !strings.Contains(text, "[DONE]") ||
		strings.Contains(text, "tool_calls") {
		t.Errorf("words: %s", text)
	}
	bad := chunk(`{"role":"assistant","tool_calls":[{"index":0,"id":"u1","type":"function","function":{"name":"Hash","arguments":""}}]}`, "null") +
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{'text': 'it'}"}}]}`,
			"null") + chunk(`{}`, `"tool_calls"`) + "data: [DONE]\n\n"
	_, text, _ = through(t, &Mode{}, request+`,"stream":true}`, bad)
	if !strings.Contains(text, `"name":"hash"`) || strings.Contains(text, `Hash"`) ||
		strings.Contains(text, `{'text'`) || !strings.Contains(text, "[DONE]") {
		t.Errorf("a call: %s", text)
	}
}
