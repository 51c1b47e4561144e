package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hone/internal/fault"
	"hone/internal/learn/modelfile"
)

// small is a small model that says one thing.
func small(says string, logprobs ...float64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var content []map[string]any
		for _, l := range logprobs {
			content = append(content, map[string]any{"logprob": l})
		}
		finish := "stop"
		if strings.Contains(says, "tool_calls") {
			finish = "tool_calls"
		}
		if strings.Contains(says, "CUT") {
			finish = "length"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"usage": Usage{PromptTokens: 40, CompletionTokens: len(logprobs)},
			"choices": []any{
				map[string]any{"message": json.RawMessage(says), "finish_reason": finish,
					"logprobs": map[string]any{"content": content}},
			},
		})
	}
}

func call(name, arguments string) string {
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":%q,"arguments":%q}}]}`, name, arguments)
}

const tools = `"tools":[{"type":"function","function":{"name":"hash","parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}]`
const ask = `{"model":"big","messages":[{"role":"user","content":"Hash it."}],` + tools

const upstreamSays = `{"id":"u","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":70,"completion_tokens":3}}`

// before runs a proxy with a small model before an upstream that says one thing, and returns the requests that the
// upstream gets.
func before(
	t *testing.T, model http.HandlerFunc, deadline time.Duration, says string,
) (url string, upstream *[]string) {
	t.Helper()
	var got []string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body))
		_, _ = io.WriteString(w, says)
	}))
	t.Cleanup(up.Close)
	m := httptest.NewServer(model)
	t.Cleanup(m.Close)
	transport := &http.Transport{DisableKeepAlives: true}
	agent := &Agent{Client: &http.Client{Transport: transport}, URL: m.URL, Model: "small",
		Calibration: Calibration{Bias: 3, Min: 1, Threshold: 0.9}}
	p, err := New(Options{
		Upstream: Upstream{URL: up.URL, Transport: transport},
		Mode:     &InitialCall{Agent: agent, Deadline: deadline},
		Cost:     func(prompt, completion int) float64 { return float64(prompt+completion) / 100 },
	})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(p.Handler())
	t.Cleanup(h.Close)
	return h.URL, &got
}

func send(t *testing.T, method, url, body string) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(text)
}

// A sure call of a tool there is becomes the answer; all else goes to the upstream, untouched, and the header says why.
func TestProposesOrPassesOn(t *testing.T) {
	sure := small(call("hash", `{"text":"it"}`), -0.01, -0.02)
	for name, tc := range map[string]struct {
		model    http.HandlerFunc
		body     string
		proposed bool
		header   string
	}{
		"sure":               {sure, ask + "}", true, "proposed; hash, confidence 0.95"},
		"sure, required":     {sure, ask + `,"tool_choice":"required"}`, true, "proposed"},
		"unsure":             {small(call("hash", `{"text":"it"}`), -0.01, -2), ask + "}", false, "asked-upstream; unsure"},
		"calls nothing":      {small(`{"role":"assistant","content":"hi"}`, -0.01), ask + "}", false, "asked-upstream; no_call"},
		"no such tool":       {small(call("hush", `{"text":"it"}`), -0.01), ask + "}", false, "asked-upstream; invalid"},
		"against the schema": {small(call("hash", `{"text":1}`), -0.01), ask + "}", false, "asked-upstream; invalid"},
		"arguments no JSON":  {small(call("hash", `{"text"`), -0.01), ask + "}", false, "asked-upstream; invalid"},
		"cut":                {small(`{"role":"assistant","content":"CUT"}`, -0.01), ask + "}", false, "asked-upstream; failed"},
		"no logprobs":        {small(call("hash", `{"text":"it"}`)), ask + "}", false, "asked-upstream; failed"},
		"fails":              {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, ask + "}", false, "asked-upstream; failed"},
		"takes too long": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body) // a server that has not read the request does not see that the client has gone
			<-r.Context().Done()
		}, ask + "}", false, "asked-upstream; late: no answer within --deadline 300ms"},
		"no tools":           {sure, `{"messages":[{"role":"user","content":"hi"}]}`, false, "asked-upstream; no-tools"},
		"tool_choice none":   {sure, ask + `,"tool_choice":"none"}`, false, "asked-upstream; tool-choice"},
		"two choices":        {sure, ask + `,"n":2}`, false, "asked-upstream; more-asked-for"},
		"logprobs asked for": {sure, ask + `,"logprobs":true}`, false, "asked-upstream; more-asked-for"},
		"an image": {
			sure, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}],` +
				tools + "}", false, "asked-upstream; not-text",
		},
		"not the user's turn": {sure, strings.Replace(ask, "}],", `},{"role":"assistant","content":"x"}],`, 1) + "}", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			deadline := 20 * time.Second
			if name == "takes too long" {
				deadline = 300 * time.Millisecond
			}
			url, upstream := before(t, tc.model, deadline, upstreamSays)
			r, text := send(t, "POST", url+"/v1/chat/completions", tc.body)
			header := strings.TrimPrefix(r.Header.Get(DecisionHeader), "initial-call=")
			if r.StatusCode != 200 || !strings.HasPrefix(header, tc.header) || tc.header == "" && header != "" {
				t.Errorf("status %d, header %q, want %q: %s", r.StatusCode, header, tc.header, text)
			}
			if tc.proposed {
				if len(*upstream) != 0 || !strings.Contains(text, `"name":"hash"`) || !strings.Contains(text,
					`"id":"call_initial`) || !strings.Contains(text, `"finish_reason":"tool_calls"`) {
					t.Errorf("the upstream got %q, the client %s", *upstream, text)
				}
			} else if text != upstreamSays || len(*upstream) != 1 || (*upstream)[0] != tc.body {
				t.Errorf("the upstream got %q, the client %s", *upstream, text)
			}
		})
	}
}

// What a user turn took of the upstream is counted apart with an initial call and without, and calls that the upstream
// made again.
func TestCountsWithAndWithout(t *testing.T) {
	again := strings.Replace(upstreamSays, `"content":"hello"`,
		`"content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"hash","arguments":"{}"}}]`, 1)
	url, _ := before(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		logprob := -0.01
		if strings.Contains(string(body), "hard") {
			logprob = -3
		}
		small(call("hash", `{"text":"it"}`), logprob)(w, r)
	}, 20*time.Second, again)
	chat := url + "/v1/chat/completions"
	_, text := send(t, "POST", chat, ask+"}")
	var said struct {
		Choices []struct{ Message json.RawMessage }
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatal(err)
	}
	id := text[strings.Index(text, mark):][:len(mark)+18]
	goesOn := strings.Replace(ask, "}],",
		"},"+string(said.Choices[0].Message)+`,{"role":"tool","tool_call_id":"`+id+`","content":"49f6"}],`, 1) + "}"
	if r, _ := send(t, "POST", chat, goesOn); r.Header.Get(DecisionHeader) != "initial-call=went-on" {
		t.Errorf("header %q", r.Header.Get(DecisionHeader))
	}
	send(t, "POST", chat, strings.Replace(ask, "Hash it", "hard", 1)+"}")
	_, metrics := send(t, "GET", url+"/metrics", "")
	for _, want := range []string{
		`hone:user_turns_total{initial_call="with"} 1`, `hone:user_turns_total{initial_call="without"} 1`,
		`hone:user_turn_upstream_requests_total{initial_call="with"} 1`,
		`hone:user_turn_upstream_requests_total{initial_call="without"} 1`,
		`hone:user_turn_upstream_prompt_tokens_total{initial_call="with"} 70`,
		`hone:user_turn_upstream_usd_total{initial_call="without"} 0.73`, `hone:initial_call_repeated_total{} 1`,
		`hone:initial_call_total{outcome="proposed"} 1`, `hone:initial_call_total{outcome="unsure"} 1`,
		`hone:initial_call_tokens_total{kind="prompt"} 80`,
		"# HELP hone:initial_call_repeated_total Proposed",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("lacks %s in %s", want, metrics)
		}
	}
}

// A client that leaves while the small model thinks ends that, and the upstream is not asked.
func TestDisconnectEndsTheProposal(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	url, upstream := before(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(begun)
		<-r.Context().Done()
		close(ended)
	}, 20*time.Second, upstreamSays)
	ctx, leave := context.WithCancel(t.Context())
	q, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat/completions", strings.NewReader(ask+"}"))
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q); err == nil {
			r.Body.Close()
		}
	}()
	<-begun
	leave()
	<-gone
	<-ended
	if len(*upstream) != 0 {
		t.Errorf("the upstream got %q", *upstream)
	}
}

// observed draws calls that are right with a probability that the evidence tells.
func observed(seed uint64, n int) (out []Observed) {
	r := rand.New(rand.NewPCG(seed, 3))
	for range n {
		e := Evidence{Mean: -r.ExpFloat64() * 0.2}
		e.Min = e.Mean - r.ExpFloat64()*2
		out = append(out, Observed{e, r.Float64() < 1/(1+math.Exp(-(3+2*e.Mean+1.5*e.Min)))})
	}
	return out
}

// A fit finds the weights that calls were drawn by, its confidences are calibrated on calls that it has not seen, and
// so is the precision at its threshold.
func TestCalibration(t *testing.T) {
	c, err := FitCalibration(observed(1, 4000), 0.85)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.Bias-3) > 0.4 || math.Abs(c.Mean-2) > 1.2 || math.Abs(c.Min-1.5) > 0.3 {
		t.Errorf("%+v", c)
	}
	var accepted, right, total, expected float64
	for _, o := range observed(2, 4000) {
		p := c.Confidence(o.Evidence)
		expected += p
		if o.Right {
			total++
		}
		if c.Enough(p) {
			accepted++
			if o.Right {
				right++
			}
		}
	}
	if math.Abs(expected-total)/4000 > 0.03 {
		t.Errorf("%.0f calls are right, and %.0f were to be", total, expected)
	}
	if precision := right / accepted; math.Abs(precision-0.85) > 0.03 || accepted < 1000 {
		t.Errorf("at the threshold %.2f %.0f calls, %.3f of them right", c.Threshold, accepted, precision)
	}
}

func TestCalibrationOfFewOrHopeless(t *testing.T) {
	if _, err := FitCalibration(observed(1, Fewest-1), 0.9); fault.CodeOf(err) != fault.CodeFailures {
		t.Errorf("%v", err)
	}
	for name, right := range map[string]bool{"all wrong": false, "all right": true} {
		seen := observed(1, 50)
		for i := range seen {
			seen[i].Right = right
		}
		c, err := FitCalibration(seen, 0.9)
		if err != nil || math.IsNaN(c.Bias+c.Mean+c.Min) || c.Enough(1) != right || right && c.Accepted != 50 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// A calibration is of the weights that it was made of, and says how to make one where there is none.
func TestCalibrationIsOfItsWeights(t *testing.T) {
	dir := t.TempDir()
	weights := filepath.Join(dir, modelfile.WeightsFile)
	if err := os.WriteFile(weights, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCalibration(dir); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(err.Error(), "--calibrate") {
		t.Errorf("%v", err)
	}
	c, err := FitCalibration(observed(1, 100), 0.8)
	if err == nil {
		err = c.SaveBeside(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	if back, err := LoadCalibration(dir); err != nil || back != c {
		t.Errorf("%+v, %v", back, err)
	}
	if err := os.WriteFile(weights, []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadCalibration(dir); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(err.Error(), "other weights") {
		t.Errorf("%v", err)
	}
}
