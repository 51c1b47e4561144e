package policy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/policy"
	"hone/internal/fault"
)

var (
	record = flag.String("record", "",
		"base URL of a vLLM whose answers are recorded in place of replayed, as testdata/record.sh starts it")
	adapter = flag.String("adapter", "", "adapter folder that is loaded while recording")
)

// contractFile has what hone's sampler asks vLLM, in order, and what vLLM answered.
const contractFile = "testdata/vllm-0.32.0.json"

// exchange is one of them.
type exchange struct {
	Method, Path string
	Request      json.RawMessage `json:",omitempty"`
	Status       int
	Answer       json.RawMessage // JSON, or a text
}

// there is the folder of adapters in the file, wherever it was.
const there = "/adapters"

// wire is a server that records another's answers, or replays them: it answers the next request only if it is the
// recorded one.
type wire struct {
	t  *testing.T
	mu sync.Mutex
	at int

	exchanges []exchange
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	if *record != "" {
		w.forward(rw, r, body)
		return
	}
	if w.at == len(w.exchanges) {
		w.t.Errorf("%s %s was not recorded: %s", r.Method, r.URL.Path, body)
		http.Error(rw, "unknown", http.StatusNotImplemented)
		return
	}
	x := w.exchanges[w.at]
	if w.at++; r.Method != x.Method || r.URL.Path != x.Path || !sameJSON(body, x.Request) {
		w.t.Errorf("request %d is %s %s %s\nrecorded is %s %s %s",
			w.at, r.Method, r.URL.Path, body, x.Method, x.Path, x.Request)
	}
	rw.WriteHeader(x.Status)
	var text string
	if json.Unmarshal(x.Answer, &text) == nil {
		_, _ = io.WriteString(rw, text)
		return
	}
	_, _ = rw.Write(x.Answer)
}

// forward asks the real server, and notes it.
func (w *wire) forward(rw http.ResponseWriter, r *http.Request, body []byte) {
	q, err := http.NewRequestWithContext(r.Context(), r.Method, strings.TrimSuffix(*record, "/v1")+r.URL.Path,
		bytes.NewReader(bytes.ReplaceAll(body, []byte(there+"/"), []byte(path.Dir(*adapter)+"/"))))
	if err != nil {
		w.t.Fatal(err)
	}
	q.Header = r.Header
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(a.Body)
	if err != nil {
		w.t.Error(err)
	}
	answer = bytes.ReplaceAll(answer, []byte(path.Dir(*adapter)), []byte(there))
	x := exchange{r.Method, r.URL.Path, body, a.StatusCode, answer}
	if !json.Valid(answer) {
		x.Answer, _ = json.Marshal(string(answer)) // a text is always JSON
	}
	w.exchanges = append(w.exchanges, x)
	rw.WriteHeader(a.StatusCode)
	_, _ = rw.Write(answer)
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if len(a)+len(b) == 0 {
		return true
	}
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// What hone's sampler asks is what vLLM 0.32.0 was asked when this was recorded, and its answers are read for what they
// are: ids with their logprobs, the stop id among them; adapters that come, change what is sampled, and go; refusals.
func TestContract(t *testing.T) {
	w := &wire{t: t}
	if *record == "" {
		text, err := os.ReadFile(contractFile)
		if err == nil {
			err = json.Unmarshal(text, &w.exchanges)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(w)
	defer server.Close()
	sampleByContract(t, server.URL+"/v1", path.Base(*adapter))
	if *record == "" {
		if w.at != len(w.exchanges) {
			t.Errorf("%d of %d recorded requests were made", w.at, len(w.exchanges))
		}
		return
	}
	var out bytes.Buffer
	for i, x := range w.exchanges {
		line, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s%s", map[bool]string{true: "[\n", false: ",\n"}[i == 0], line)
	}
	out.WriteString("\n]\n")
	if err := os.WriteFile(contractFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// prompt asks SmolLM2 to count to five, in ChatML.
var prompt = []int32{1, 4093, 198, 9825, 288, 2531, 28, 965, 2853, 30, 2, 198, 1, 520, 9531, 198}

// imEnd and newline end completions here.
const imEnd, newline = 2, 198

func sampleByContract(t *testing.T, url, folder string) {
	t.Helper()
	if folder == "." {
		folder = "final"
	}
	ask := func(o policy.RemoteOptions) (*policy.Remote, error) {
		o.URL, o.Retries = url, -1
		return policy.OpenRemote(t.Context(), o)
	}
	_, err := ask(policy.RemoteOptions{Temperature: 0.7})
	if fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(fmt.Sprint(err), "--logprobs-mode processed_logprobs") {
		t.Errorf("logprobs of another temperature: %v", err)
	}
	s, err := ask(policy.RemoteOptions{Temperature: 1, VocabSize: 49152})
	if err != nil {
		t.Fatal(err)
	}
	if s.Base() != "smol" || s.MaxContext() != 2048 {
		t.Errorf("%s with %d ids", s.Base(), s.MaxContext())
	}
	sample := func(temperature float64, n int) (policy.Completion, error) {
		return s.Sample(t.Context(), policy.Request{Prompt: prompt, Key: policy.Key{Seed: 7, Stream: 9},
			Sampling: policy.Sampling{Temperature: temperature, MaxTokens: n, StopIDs: []int32{imEnd, newline}}})
	}
	must := func(c policy.Completion, err error) policy.Completion {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range c.SamplerLogprobs {
			if p > 0 || math.IsNaN(float64(p)) {
				t.Errorf("token %d has the logprob %g", i, p)
			}
		}
		if len(c.IDs) == 0 || len(c.IDs) != len(c.SamplerLogprobs) {
			t.Errorf("%d ids, %d logprobs", len(c.IDs), len(c.SamplerLogprobs))
		}
		return c
	}
	whole, cut, drawn := must(sample(0, 64)), must(sample(0, 4)), must(sample(1, 12))
	if whole.FinishReason != policy.FinishStop || whole.IDs[len(whole.IDs)-1] != newline || whole.PolicyVersion != 0 {
		t.Errorf("a completion that ends: %+v", whole)
	}
	if cut.FinishReason != policy.FinishLength || !slices.Equal(cut.IDs, whole.IDs[:4]) {
		t.Errorf("one that is cut: %+v", cut)
	}
	if again := must(sample(1, 12)); !slices.Equal(again.IDs, drawn.IDs) {
		t.Errorf("one key drew %v and %v", drawn.IDs, again.IDs)
	}
	if err := s.SetFolder("hone-contract-1", there+"/"+folder, 1); err != nil {
		t.Fatal(err)
	}
	tuned := must(sample(0, 4))
	if slices.Equal(tuned.SamplerLogprobs, cut.SamplerLogprobs) || tuned.PolicyVersion != 1 {
		t.Errorf("the adapter changes nothing: %+v, %+v", tuned, cut)
	}
	if err := s.SetFolder("hone-contract-2", there+"/"+folder, 2); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"hone-contract-2": true} {
		if is, err := s.Serves(name); err != nil || is != want {
			t.Errorf("%s is served: %v, %v", name, is, err)
		}
	}
	if is, err := s.Serves("hone-contract-1"); err != nil || is {
		t.Errorf("the version before is still served: %v", err)
	}
	if again := must(sample(0, 4)); again.PolicyVersion != 2 || !slices.Equal(again.IDs, tuned.IDs) {
		t.Errorf("the same adapter under another name: %+v, %+v", again, tuned)
	}
	if err := s.SetFolder("hone-contract-3", there+"/nowhere", 3); fault.CodeOf(err) != fault.CodeError ||
		!strings.Contains(err.Error(), "sampler.adapters_there") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := s.Unload("hone-contract-2"); err != nil {
		t.Error(err)
	}
	if _, err := sample(0, 4); fault.CodeOf(err) != fault.CodeError || !strings.Contains(err.Error(), "404") {
		t.Errorf("an adapter that is gone: %v", err)
	}
	if err := s.SetFolder("", "", 0); err != nil { // unloads what is not there
		t.Error(err)
	}
	if base := must(sample(0, 4)); !slices.Equal(base.SamplerLogprobs, cut.SamplerLogprobs) {
		t.Errorf("the base model again: %+v, %+v", base, cut)
	}
	long := policy.Request{Prompt: make([]int32, 2048), Sampling: policy.Sampling{MaxTokens: 1}}
	if _, err := s.Sample(t.Context(), long); !errors.As(err, new(*policy.ContextError)) {
		t.Errorf("a prompt that is too long: %v", err)
	}
}
