//go:build !race

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hone/internal/console/sanitize"
	"hone/internal/episode/policy"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/recipe"
)

// sampling is a hone serve of the toy, and what it was asked on the way.
type sampling struct {
	url string

	mu     sync.Mutex
	asked  []string // method, path and body
	now    int      // completions under way
	most   int
	seeds  []float64                      // of completions, in the order in which each was first asked for
	refuse func(completion, try int) bool // by its place among the seeds, and which attempt it is; nil: none is
	tries  map[float64]int
	alter  func(completion int, answer []byte) []byte // nil: none is
	// begin of the paths in which adapters are handed over; the rest is as here
	through string
	here    string
}

// sampler starts a server on a base model, to which requests come through a proxy that notes them.
func sampler(t *testing.T, base string) *sampling {
	t.Helper()
	// its backend is pure Go, which has nothing to compile; a test that writes one says so too
	if !exists("hone.yaml") {
		write(t, "hone.yaml", "engine: {backend: go}\n")
	}
	read, write := io.Pipe()
	var said bytes.Buffer
	a := toyApp(&said, map[string]string{"SERVE_KEY": "sesame"})
	a.Data = sanitize.New(write)
	ctx, stop := context.WithCancel(context.Background())
	code := make(chan int, 1)
	go func() {
		code <- a.main(ctx, []string{"serve", "--model", "base", "--base-model", base, "--listen", "127.0.0.1:0",
			"--slots", "2", "--context", "613", "--max-adapters", "2", "--key-env", "SERVE_KEY", "--json"})
		write.Close()
	}()
	var announced struct{ URL string }
	if err := json.NewDecoder(read).Decode(&announced); err != nil {
		t.Fatalf("no announcement: %v, exit code %d, %s", err, <-code, &said)
	}
	copied := make(chan struct{})
	go func() { defer close(copied); _, _ = io.Copy(io.Discard, read) }()
	s := &sampling{tries: map[float64]int{}}
	target, err := url.Parse(strings.TrimSuffix(announced.URL, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.pass(proxy, w, r) }))
	t.Cleanup(func() {
		front.Close()
		stop()
		if c := <-code; c != 0 {
			t.Errorf("serve: exit code %d, %s", c, &said)
		}
		<-copied
	})
	s.url = front.URL + "/v1"
	return s
}

func (s *sampling) pass(to http.Handler, w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a body that broke off is the server's to refuse
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+string(body))
	place, try := s.completion(r.URL.Path, body)
	refused := s.refuse != nil && s.refuse(place, try)
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.now--; s.mu.Unlock() }()
	if refused {
		http.Error(w, `{"error": {"message": "a wire is loose"}}`, http.StatusInternalServerError)
		return
	}
	if s.through != "" {
		body = bytes.ReplaceAll(body, []byte(s.through), []byte(s.here))
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Host = "" // the server answers its own names alone
	if s.alter == nil || try == 0 {
		to.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	to.ServeHTTP(answer, r)
	w.WriteHeader(answer.Code)
	_, _ = w.Write(s.alter(place, answer.Body.Bytes()))
}

// completion is the place of the one that is asked for, from 1, and which attempt it is; of another request the last
// one's, and 0.
func (s *sampling) completion(path string, body []byte) (place, try int) {
	var q struct{ Seed float64 }
	if !strings.HasSuffix(path, "/completions") || json.Unmarshal(body, &q) != nil {
		return len(s.seeds), 0
	}
	if s.tries[q.Seed]++; s.tries[q.Seed] == 1 {
		s.seeds = append(s.seeds, q.Seed)
	}
	return slices.Index(s.seeds, q.Seed) + 1, s.tries[q.Seed]
}

// to are the requests whose path ends so, in order.
func (s *sampling) to(path string) (found []map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.asked {
		parts := strings.SplitN(x, " ", 3)
		var body map[string]any
		if strings.HasSuffix(parts[1], path) && json.Unmarshal([]byte(parts[2]), &body) == nil {
			found = append(found, body)
		}
	}
	return found
}

// trained is hone train of the toy through a sampler, with more configuration; what rooms were handed is in handed.
func trained(t *testing.T, s *sampling, conf string, args ...string) (code int, said string, handed []any) {
	t.Helper()
	var out bytes.Buffer
	a := toyApp(&out, map[string]string{"SERVE_KEY": "sesame"})
	a.Opening = func(x any) { handed = append(handed, x) }
	write(t, "hone.yaml", strings.Replace(toyConfig, "steps: 4", "steps: 2", 1)+
		"rewards: {program: {command: [./judge.sh]}}\nsampler: {url: \""+s.url+"\", key_env: SERVE_KEY"+conf+"}\n")
	code = a.main(t.Context(), append([]string{"train", "--dataset", "tasks.jsonl", "--output-dir", "out",
		"--base-model", "toy.gguf"}, args...))
	return code, out.String(), handed
}

// scoresSh gives the episodes of a group 0 and 1; there may be one.
const scoresSh = `#!/bin/sh
case $(grep -o '"scenario_hash"' | wc -l) in 1) echo '[0]' ;; *) echo '[0, 1]' ;; esac
`

// differing is the configuration of rewards that differ within each group, whatever a toy says: there is something to
// learn.
func differing(t *testing.T) string {
	t.Helper()
	if err := os.WriteFile("judge.sh", []byte(scoresSh), 0o700); err != nil {
		t.Fatal(err)
	}
	return "rewards: {program: {command: [./judge.sh]}}\n"
}

// awayFolder is a folder to train in, by a program that gives each episode of a group another reward.
func awayFolder(t *testing.T) (mcp string) {
	t.Helper()
	mcp, _ = shop(t)
	workFolder(t, map[string]string{"tasks.jsonl": `{"task": "Buy a hat.", "split": "train"}` + "\n"})
	toyModel(t, "toy.gguf")
	if err := os.WriteFile("judge.sh", []byte(scoresSh), 0o700); err != nil {
		t.Fatal(err)
	}
	return mcp
}

// hone train learns from what hone serve samples: each version of the policy is loaded under a name of its own, the one
// before unloaded, and ids with their logprobs come back so that the trainer sees the policy that was sampled from, to
// rounding.
func TestTrainByARemoteSampler(t *testing.T) {
	mcp := awayFolder(t)
	write(t, "hone.yaml", "") // the plug-in samples, and pure Go trains
	s := sampler(t, "toy.gguf")
	s.through, s.here = "/mnt/adapters", filepath.Join(must(os.Getwd()), "handed")
	code, said, handed := trained(t, s, ", model: toy.gguf, slots: 3, adapters: handed, adapters_there: "+
		"/mnt/adapters, retries: 2, timeout: 97s, max_mismatch: 1.0e-6", "--mcp", mcp)
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	var o policy.RemoteOptions
	var g recipe.GRPO
	for _, x := range handed {
		switch x := x.(type) {
		case policy.RemoteOptions:
			o = x
		case recipe.GRPO:
			g = x
		}
	}
	if o.Slots != 3 || o.Retries != 2 || o.Timeout != 97*time.Second || o.Model != "toy.gguf" || g.MaxMismatch != 1e-6 {
		t.Errorf("handed %+v, a bound of %g", o, g.MaxMismatch)
	}
	loads, unloads := s.to("/load_lora_adapter"), s.to("/unload_lora_adapter")
	var names, forgotten []string
	for i, x := range loads {
		name, path := x["lora_name"].(string), x["lora_path"].(string)
		if path != "/mnt/adapters/"+name || !strings.Contains(name, fmt.Sprintf("-%d-", i)) ||
			slices.Contains(names, name) {
			t.Errorf("load %d: %v", i, x)
		}
		names = append(names, name)
	}
	for _, x := range unloads {
		forgotten = append(forgotten, x["lora_name"].(string))
	}
	if len(names) != g.Steps+1 || !slices.Equal(names, forgotten) {
		t.Errorf("loaded %q, unloaded %q after %d steps", names, forgotten, g.Steps)
	}
	if left, err := os.ReadDir("handed"); err != nil || len(left) > 0 {
		t.Errorf("adapters are left: %v, %v", left, err)
	}
	versions := map[int]bool{}
	n := 0
	for _, x := range trajectoriesOf(t, "out") {
		for _, turn := range x.Turns {
			versions[turn.PolicyVersion] = true
			if n++; len(turn.CompletionIDs) == 0 || len(turn.SamplerLogprobs) != len(turn.CompletionIDs) {
				t.Errorf("%s: %d ids with %d logprobs", x.ID, len(turn.CompletionIDs), len(turn.SamplerLogprobs))
			}
		}
	}
	if len(versions) != g.Steps || n == 0 || s.most > 3 {
		t.Errorf("%d turns of the versions %v, %d requests at once", n, versions, s.most)
	}
	for _, q := range s.to("/completions")[1:] { // after the one that looks what the server can do
		if !slices.Contains(names, q["model"].(string)) {
			t.Fatalf("asked of %v", q["model"])
		}
	}
}

// firstOfEpisodes is the place of their first completion: before it are the probe's four, and what Open asks for has
// the seed of one of these.
const firstOfEpisodes = 5

// A task that does not fit is no reason to end a run: the probe of a step leaves it out, as training does its episodes.
func TestATaskThatDoesNotFitIsNotProbed(t *testing.T) {
	mcp := awayFolder(t)
	long := strings.Repeat("Buy a hat. ", 90) // each letter is a token, and there are 613
	row := `{"task": %q, "split": "train"}` + "\n"
	write(t, "tasks.jsonl", fmt.Sprintf(row+row, long, "Buy a hat."))
	code, said, _ := trained(t, sampler(t, "toy.gguf"), "", "--mcp", mcp)
	if code != 0 && code != int(fault.CodeFailures) ||
		!strings.Contains(contents(t, "out/metrics.jsonl"), `"sampling/probe_kl"`) {
		t.Errorf("beside another: exit code %d, %s", code, said)
	}
	if err := os.RemoveAll("out"); err != nil {
		t.Fatal(err)
	}
	write(t, "tasks.jsonl", fmt.Sprintf(row, long))
	if code, said, _ := trained(t, sampler(t, "toy.gguf"), "", "--mcp", mcp); code == 0 ||
		!strings.Contains(said, "no episode could be run") {
		t.Errorf("alone: exit code %d, %s", code, said)
	}
}

// A completion that does not come is tried again; where all attempts fail its episode is not trained on, and no reward
// of 0.
func TestAFailingSamplerIsNoReward(t *testing.T) {
	mcp := awayFolder(t)
	s := sampler(t, "toy.gguf")
	// one of the probe's at first, and the first of the first episode for good
	s.refuse = func(completion, try int) bool {
		return completion == 3 && try == 1 || completion == firstOfEpisodes && try > 0
	}
	code, said, _ := trained(t, s, ", slots: 1, retries: 1, max_mismatch: 1.0e-6", "--mcp", mcp)
	lost := 0
	for _, x := range trajectoriesOf(t, "out") {
		if x.Outcome == "infrastructure_error" {
			if lost++; x.Reward != 0 || len(x.Terms) > 0 || !strings.Contains(x.Error, "a wire is loose") {
				t.Errorf("%s: %v %v %s", x.ID, x.Reward, x.Terms, x.Error)
			}
		}
	}
	if code != 0 && code != int(fault.CodeFailures) || lost != 1 {
		t.Errorf("exit code %d, %d lost, %s", code, lost, said)
	}
}

// An episode whose logprobs are not the policy's is left out, and named with its farthest token; where all are so, the
// run ends.
func TestAnEpisodeOfAnotherPolicyIsLeftOut(t *testing.T) {
	mcp := awayFolder(t)
	for name, all := range map[string]bool{"one completion": false, "each of an episode": true} {
		if err := os.RemoveAll("out"); err != nil {
			t.Fatal(err)
		}
		s := sampler(t, "toy.gguf")
		s.alter = func(completion int, answer []byte) []byte {
			if completion != firstOfEpisodes && (!all || completion < firstOfEpisodes) {
				return answer
			}
			return firstLogprob.ReplaceAllFunc(answer, func(b []byte) []byte {
				return append(b[:bytes.IndexByte(b, '[')+1:len(b)], "-9.5"...)
			})
		}
		code, said, _ := trained(t, s, ", slots: 1, max_mismatch: 1.0e-6", "--mcp", mcp)
		left := strings.Count(contents(t, "out/metrics.jsonl"), `"sampling/episodes_apart":1,`)
		told := strings.Contains(said, "its logprob is -9.5000 to the sampler") &&
			slices.ContainsFunc(trajectoriesOf(t, "out"), func(x trajectory.Trajectory) bool {
				return x.Turns[0].SamplerLogprobs[0] == -9.5 &&
					strings.Contains(said, "farthest is sampled token 0 of episode "+x.ID+", \"")
			})
		if !told || all && (code != int(fault.CodeError) || left != 0) ||
			!all && (code != 0 || left != 1 || !strings.Contains(said, "step 0 learns nothing from 1 episode")) {
			t.Errorf("%s: exit code %d, %d steps leave one out, %s", name, code, left, said)
		}
	}
}

// firstLogprob is the first of a completion's logprobs, and what is before it.
var firstLogprob = regexp.MustCompile(`"token_logprobs": ?\[[^,\]]+`)

// A server that is gone stops the run, which goes on when it is back.
func TestASamplerThatIsGoneStopsTheRun(t *testing.T) {
	mcp := awayFolder(t)
	s := sampler(t, "toy.gguf")
	s.refuse = func(completion, _ int) bool { return completion > firstOfEpisodes }
	code, said, _ := trained(t, s, ", slots: 1, retries: 0", "--mcp", mcp)
	if code != int(fault.CodeUnavailable) || !strings.Contains(said, "the sampler is gone") ||
		!strings.Contains(said, "hone runs resume") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	s.mu.Lock()
	s.refuse = nil
	s.mu.Unlock()
	var out bytes.Buffer
	a := toyApp(&out, map[string]string{"SERVE_KEY": "sesame"})
	if code := a.main(t.Context(), []string{"runs", "resume", "out", "--mcp", mcp}); code != 0 {
		t.Errorf("exit code %d, %s", code, &out)
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
