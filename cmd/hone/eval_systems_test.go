//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/eval/stats"
	"hone/internal/learn/sample"
)

// adder is an endpoint with two models, solver and fool. The solver adds by the tool, and is wrong where the seed says
// so; the fool says 0.
type adder struct {
	url   string
	mu    sync.Mutex
	asked []asked
	fail  func(model, task string) int // a status in place of an answer; 0 for none
	on    func(n int)                  // told of each request, by its number
}

type asked struct {
	model, key, task string
	seed             uint64
	topP             float64
	answering        bool // a tool's result
}

func (a *adder) requests() []asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

var addition = regexp.MustCompile(`Add (\d+) and (\d+)\.`)

func newAdder(t *testing.T) *adder {
	a := &adder{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model    string
			Messages []chat.Message
			Seed     uint64
			TopP     float64 `json:"top_p"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		last := q.Messages[len(q.Messages)-1]
		task := q.Messages[slices.IndexFunc(q.Messages,
			func(m chat.Message) bool { return m.Role == chat.User })].Content
		a.mu.Lock()
		a.asked = append(a.asked,
			asked{q.Model, r.Header.Get("Authorization"), task, q.Seed, q.TopP, last.Role == chat.ToolRole})
		if a.on != nil {
			a.on(len(a.asked))
		}
		status := 0
		if a.fail != nil {
			status = a.fail(q.Model, task)
		}
		a.mu.Unlock()
		if status != 0 {
			http.Error(w, "no", status)
			return
		}
		terms := addition.FindStringSubmatch(task)
		reply := chat.Message{Role: chat.Assistant, Content: "0"}
		switch {
		case q.Model != "solver":
		case last.Role != chat.ToolRole:
			reply = chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{
				{ID: "1", Name: "get-sum", Arguments: fmt.Sprintf(`{"a": %s, "b": %s}`, terms[1], terms[2])},
			}}
		case q.Seed%4 > 0:
			reply.Content = last.Content
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": reply, "finish_reason": "stop"}},
			"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": 10},
		})
	}))
	t.Cleanup(s.Close)
	a.url = s.URL + "/v1"
	return a
}

// sumsOf are n tasks of the split test.
func sumsOf(n int) string {
	var tasks []string
	for i := range n {
		tasks = append(tasks, fmt.Sprintf(`{"id": "t%02d", "task": "Add %d and %d.", "split": "test", "gold": [{"name": "get-sum", "arguments": {"a": %d, "b": %d}}], "checks": [{"type": "answer", "number": %d}]}`,
			i, i, i+1, i, i+1, 2*i+1))
	}
	return "[" + strings.Join(tasks, ",\n") + "]"
}

// evalCommand are those that all evaluations here share. It is a list that is full, so that appending makes another.
var evalCommand = slices.Clip([]string{"eval", "--base-model", "base", "--dataset", "tasks.json", "--split",
	"test", "--json"})

// evaluating is a folder with a toy base model, two adapters, tasks and providers, and the server they are of.
func evaluating(
	t *testing.T, tasks int, eval string,
) (a *adder, env map[string]string, run func(args ...string) (code int, out evaluated, stdout, said string)) {
	t.Helper()
	server := calculator(t, "t")
	a = newAdder(t)
	conf := strings.Replace(toyConfig+fewTools, "eval: {every: 3}", "eval: {"+eval+"}", 1) +
		fmt.Sprintf("providers:\n  local: {url: %q, key_env: ADDER_KEY, prices: {solver: {prompt: 2, "+
			"completion: 8}}}\n", a.url)
	workFolder(t, map[string]string{"hone.yaml": conf, "tasks.json": sumsOf(tasks)})
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base", "adapter")
	env = map[string]string{"MCP_URL": server.url, "MCP_BEARER_TOKEN": "t", "ADDER_KEY": "sesame"}
	return a, env, func(args ...string) (int, evaluated, string, string) {
		t.Helper()
		var out, said strings.Builder
		app := toyApp(&said, env)
		app.Data = sanitize.New(&out)
		if args[0] != "runs" {
			args = append(evalCommand, args...)
		}
		code := app.main(t.Context(), args)
		var e evaluated
		if out.Len() > 0 {
			if err := json.Unmarshal([]byte(out.String()), &e); err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
		}
		return code, e, out.String(), said.String()
	}
}

// evaluated is what hone eval --json prints.
type evaluated struct {
	stats.Results
	Reused    map[string]int
	NotRun    int `json:"not_run"`
	Sequences []struct {
		Old, New        string
		Mean, Low, High float64
		N               int
	}
	Failed []string
}

// episodesIn is what each episode of a run said, by its place in the run; clocks and attempts are left out.
func episodesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	of := map[string]string{}
	for line := range strings.Lines(contents(t, filepath.Join(dir, "trajectories.jsonl"))) {
		var row struct {
			Stage, ID, Outcome string
			Messages           json.RawMessage
			Reward             float64
			Turns              []struct {
				CompletionIDs   json.RawMessage `json:"completion_ids"`
				SamplerLogprobs json.RawMessage `json:"sampler_logprobs"`
			}
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		of[row.Stage+"/"+row.ID] = fmt.Sprintf("%s %g %s %s", row.Outcome, row.Reward, row.Messages, row.Turns)
	}
	return of
}

var secondsIn = regexp.MustCompile(
	`"[a-z_]*seconds[a-z0-9_]*": *(\{[^}]*\}|[-+.0-9e]+)|"orchestration_share": *[-+.0-9e]+`,
)

// Any number of systems do the same scenarios from the same seeds: the base model, an adapter, a model behind an
// endpoint, and one of hone's own server. Each repeat draws from a stream of its own, and what is known of tokens and
// costs is told.
func TestEvalSystems(t *testing.T) {
	a, env, run := evaluating(t, 4, "temperature: 1, top_p: 0.9, repeats: 2")
	url := served(t, "base")
	code, e, _, said := run("--model", "adapter", "--compare", "base,local/solver,local/fool,"+url+"/base",
		"--output-dir", "out")
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if want := []string{"base", "solver", "fool", "127.0.0.1-base", "model"}; !equalNames(e.Order, want) {
		t.Errorf("systems %q, want %q", e.Order, want)
	}
	for name, s := range e.Systems {
		if s.NumEpisodes != 8 || s.NumRepeats != 2 || s.N != 4 {
			t.Errorf("%s: %d episodes of %d scenarios, %d times", name, s.NumEpisodes, s.N, s.NumRepeats)
		}
		if (s.TotalCost != nil) != (name == "solver") {
			t.Errorf("%s: cost %v", name, s.TotalCost)
		}
	}
	// 16 requests of 100 * 2 + 10 * 8 millionths
	if cost := e.Systems["solver"].TotalCost; cost == nil || *cost < 0.00447 || *cost > 0.00449 {
		t.Errorf("the solver cost %v", cost)
	}
	if s := e.Systems["solver"]; s.EpisodeSuccess < 0.4 || s.EpisodeSuccess == 1 ||
		e.Systems["fool"].EpisodeSuccess != 0 || s.ToolErrors > 0 || s.CompletionTokens != 20 {
		t.Errorf("solver %+v", s)
	}
	if n := len(e.Deltas); n != 10 {
		t.Errorf("%d of 10 pairs are compared", n)
	}
	seeds := map[string]map[uint64]bool{"solver": {}, "fool": {}}
	for _, q := range a.requests() {
		if q.key != "Bearer sesame" || q.topP != 0.9 {
			t.Errorf("asked with %+v", q)
		}
		if !q.answering {
			seeds[q.model][q.seed] = true
		}
	}
	if len(seeds["solver"]) != 8 || !maps.Equal(seeds["solver"], seeds["fool"]) {
		t.Errorf("8 episodes began with %d seeds, and those of another system with %v",
			len(seeds["solver"]), seeds["fool"])
	}
	if want := "solver at " + a.url; !strings.Contains(contents(t, "out/results.json"), want) {
		t.Errorf("the report lacks %q", want)
	}
	episodes := episodesIn(t, "out")
	if len(episodes) != 40 || episodes["eval_base/t00/0/0"] == episodes["eval_base/t00/0/1"] ||
		episodes["eval_base/t00/0/0"] == episodes["eval_model/t00/0/0"] {
		t.Errorf("%d episodes; repeats alike: %v",
			len(episodes), episodes["eval_base/t00/0/0"] == episodes["eval_base/t00/0/1"])
	}
	delete(env, "ADDER_KEY")
	if code, _, _, said := run("--compare", "local/solver"); code != 2 ||
		!strings.Contains(said, "ADDER_KEY is not set") {
		t.Errorf("without a key: exit code %d, %s", code, said)
	}
	if code, _, _, said := run("--compare", "base", "--repeats", "3", "--dry-run"); code != 0 ||
		!strings.Contains(said, "would run 4 scenarios of the split test, 3 times each") {
		t.Errorf("a dry run: exit code %d, %s", code, said)
	}
}

func equalNames(got, want []string) bool {
	return slices.EqualFunc(got, want, func(g, w string) bool {
		return g == w || strings.HasPrefix(w, "127.0.0.1-") && strings.HasSuffix(g, "base")
	})
}

// served is the URL of hone serve with the toy.
func served(t *testing.T, model string) string {
	t.Helper()
	read, write := io.Pipe()
	var said strings.Builder
	a := toyApp(&said, nil)
	a.Data = sanitize.New(write)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.main(ctx, []string{"serve", "--model", "base", "--base-model", model, "--listen", "127.0.0.1:0", "--slots",
			"2", "--json"})
		write.Close()
	}()
	t.Cleanup(func() { stop(); <-ended })
	var s struct{ URL string }
	if err := json.NewDecoder(read).Decode(&s); err != nil {
		<-ended
		t.Fatalf("no announcement: %v, %s", err, said.String())
	}
	return s.URL
}

// An evaluation of several systems that is stopped, or killed, anywhere goes on to the numbers of an unbroken one; what
// an endpoint answered is not asked for again.
func TestResumeEvaluationOfSystems(t *testing.T) {
	a, env, run := evaluating(t, 2, "temperature: 1, repeats: 2")
	flags := []string{"--model", "adapter", "--compare", "base,local/solver", "--output-dir"}
	code, _, want, said := run(append(flags, "whole")...)
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	numAsked := len(a.requests())
	for i, at := range []any{"eval base       1/4", 3, "eval solver     4/4", "eval model      1/4"} {
		dir, before := fmt.Sprint("broken", i), len(a.requests())
		ctx, stop := context.WithCancel(t.Context())
		broken := &once{line: fmt.Sprint(at), do: stop}
		if n, ok := at.(int); ok {
			broken.line = "no such line"
			a.on = func(k int) {
				if k == before+n {
					stop()
				}
			}
		}
		code := toyApp(broken, env).main(ctx, append(evalCommand, append(flags, dir)...))
		if code != 7 || !strings.Contains(broken.String(), "hone runs resume ./"+dir) {
			t.Fatalf("stopped at %v: exit code %d, %s", at, code, broken)
		}
		a.on = nil
		code, _, got, said := run("runs", "resume", "./"+dir, "--json")
		if got, want := secondsIn.ReplaceAllString(got, ""), secondsIn.ReplaceAllString(want, ""); code != 0 ||
			got != want {
			t.Fatalf("resumed from %v: exit code %d, %s\n%s\nwant\n%s", at, code, said, got, want)
		}
		if got, want := episodesIn(t, dir), episodesIn(t, "whole"); !maps.Equal(got, want) || len(want) != 12 {
			t.Errorf("stopped at %v: other episodes", at)
		}
		if n := len(a.requests()) - before; n > numAsked+8 { // those that the stop cut off
			t.Errorf("stopped at %v: %d requests in place of %d", at, n, numAsked)
		}
	}
	if code, state, _ := hone(t, "", "runs", "show", "./broken0"); code != 0 || !strings.Contains(state, "finished") {
		t.Errorf("in the end: %s", state)
	}
}

// Episodes of an earlier evaluation are taken where nothing differs that they depend on, and run again where something
// does.
func TestReuseEpisodes(t *testing.T) {
	a, _, run := evaluating(t, 2, "temperature: 1, repeats: 2")
	code, first, _, said := run("--model", "adapter", "--compare", "base,local/solver", "--output-dir", "first")
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	before := len(a.requests())
	code, again, _, said := run("--model", "adapter", "--compare", "base,local/solver", "--reuse", "first",
		"--output-dir", "again")
	if code != 0 || len(a.requests()) != before ||
		!maps.Equal(again.Reused, map[string]int{"base": 4, "solver": 4, "model": 4}) ||
		!strings.Contains(said, "solver: 4 of 4 episodes are taken from earlier evaluations") {
		t.Fatalf("exit code %d, reused %v, %d requests, %s", code, again.Reused, len(a.requests())-before, said)
	}
	if !maps.Equal(episodesIn(t, "again"), episodesIn(t, "first")) {
		t.Error("other episodes than before")
	}
	for name, s := range first.Systems {
		if got := again.Systems[name]; got.EpisodeSuccess != s.EpisodeSuccess || got.EpisodeLow != s.EpisodeLow ||
			got.Reward != s.Reward || got.Seconds != s.Seconds {
			t.Errorf("%s: %+v, before %+v", name, got, s)
		}
	}
	edit := func(old, new string) func() {
		text := contents(t, "hone.yaml")
		if !strings.Contains(text, old) {
			t.Fatalf("no %q", old)
		}
		write(t, "hone.yaml", strings.Replace(text, old, new, 1))
		return func() { write(t, "hone.yaml", text) }
	}
	for _, row := range []struct {
		what string
		do   func() (undo func())
		args []string
		want map[string]int
	}{
		{"from a copy, and unkept", nil, []string{"--reuse", "again"}, map[string]int{"base": 4, "solver": 4, "model": 4}},
		{"one repeat more", nil, []string{"--repeats", "3"}, map[string]int{"base": 4, "solver": 4, "model": 4}},
		{"another seed", nil, []string{"--seed", "9"}, map[string]int{}},
		{"other rewards", func() func() { return edit("eval:", "rewards: {checks: 3}\neval:") }, nil, map[string]int{"base": 4, "solver": 4, "model": 4}},
		{"another adapter", func() func() {
			toyAdapter(t, "base", "adapter")
			path := "adapter/adapter_config.json"
			text := contents(t, path)
			write(t, path, strings.Replace(text, `"lora_alpha": 3`, `"lora_alpha": 4`, 1))
			if contents(t, path) == text {
				t.Fatal(text)
			}
			return func() { write(t, path, text) }
		}, nil, map[string]int{"solver": 4}},
		{"another base", func() func() {
			text := contents(t, "base/toy.gguf")
			write(t, "base/toy.gguf", text) // of now
			return func() {}
		}, nil, map[string]int{"solver": 4}},
		{"a task", func() func() {
			text := contents(t, "tasks.json")
			write(t, "tasks.json", strings.Replace(text, "Add 1 and 2.", "Please Add 1 and 2.", 1))
			return func() { write(t, "tasks.json", text) }
		}, nil, map[string]int{"solver": 2}}, // the base was written again
	} {
		undo := func() {}
		if row.do != nil {
			undo = row.do()
		}
		args := append([]string{"--model", "adapter", "--compare", "base,local/solver"}, row.args...)
		if !slices.Contains(args, "--reuse") {
			args = append(args, "--reuse", "first")
		}
		code, e, _, said := run(args...)
		if code != 0 || !maps.Equal(e.Reused, row.want) {
			t.Errorf("%s: exit code %d, reused %v, want %v: %s", row.what, code, e.Reused, row.want, said)
		}
		// How many are reused is told before the first episode, and what is known of why none is.
		told := strings.Index(said, fmt.Sprintf("model: %d of ", row.want["model"]))
		if first := strings.Index(said, "eval model"); told < 0 || first >= 0 && told > first {
			t.Errorf("%s: the count is not told at the start: %s", row.what, said)
		}
		if want := "model: 0 of 4 episodes are taken from earlier evaluations: " +
			"seed differs from first\n"; strings.Contains(said, want) != (row.what == "another seed") {
			t.Errorf("%s: %s", row.what, said)
		}
		undo()
	}
	toyAdapter(t, "base", "prompted/final") // the second on this machine, under a prompting of its own
	write(t, "prompted/final/hone.json", `{"prompt": {"system": "Be a clerk.", "tool_list": "compact"}}`)
	if code, _, _, said := run("--model", "prompted/final", "--compare", "adapter", "--output-dir", "two"); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if code, e, _, said := run("--model", "prompted/final", "--reuse", "two"); code != 0 ||
		!maps.Equal(e.Reused, map[string]int{"model": 4}) {
		t.Errorf("of a second system: exit code %d, reused %v: %s", code, e.Reused, said)
	}
	if code, _, _, said := run("--reuse", "adapter"); code != 2 {
		t.Errorf("of no run: exit code %d, %s", code, said)
	}
}

// eval.fail_on_error says when a system is given up. It is named, the others are measured, and it goes on once the
// reason is gone.
func TestFailOnError(t *testing.T) {
	a, _, run := evaluating(t, 8, "every: 3")
	a.fail = func(model, task string) int {
		if model == "solver" && (strings.HasPrefix(task, "Add 2 ") || strings.HasPrefix(task, "Add 5 ") ||
			strings.HasPrefix(task, "Add 6 ")) {
			return http.StatusTeapot
		}
		return 0
	}
	for _, row := range []struct {
		flag     string
		code     int
		excluded int // at most
		named    string
	}{
		{"", 0, 3, ""}, {"false", 0, 3, ""}, {"4", 0, 3, ""}, {"0.5", 0, 3, ""},
		{"true", 3, 3, "were not run (eval.fail_on_error: true)"}, {"0.3", 3, 3, "3 of "}, {"1", 3, 3, "eval solver"},
		{"3", 3, 3, "3 of "},
	} {
		args := []string{"--compare", "local/fool,local/solver"}
		if row.flag != "" {
			args = append(args, "--fail-on-error", row.flag)
		}
		code, e, _, said := run(args...)
		if code != row.code || !strings.Contains(said, row.named) ||
			row.named != "" && !strings.Contains(said, "episodes failed for reasons that are not the policy's") {
			t.Errorf("--fail-on-error %q: exit code %d, %s", row.flag, code, said)
		}
		if n := e.Systems["solver"].NumExcluded; e.Systems["fool"].NumEpisodes != 8 || n == 0 || n > row.excluded ||
			(len(e.Failed) == 1) != (code == 3) {
			t.Errorf("--fail-on-error %q: %d excluded, failed %q, fool %+v", row.flag, n, e.Failed, e.Systems["fool"])
		}
	}
	for _, wrong := range []string{"0", "-1", "often", "inf"} {
		if code, _, _, said := run("--fail-on-error", wrong); code != 2 ||
			!strings.Contains(said, "neither true, false") {
			t.Errorf("--fail-on-error %s: exit code %d, %s", wrong, code, said)
		}
	}
	code, _, _, said := run("--compare", "local/fool,local/solver", "--fail-on-error", "true", "--output-dir", "out")
	if code != 3 || !strings.Contains(said, "hone runs resume ./out with the same MCP_URL or --mcp runs what is left") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	a.fail = nil
	if code, e, _, said := run("runs", "resume", "./out", "--json"); code != 0 ||
		e.Systems["solver"].NumEpisodes != 8 || e.Systems["solver"].NumExcluded != 0 {
		t.Errorf("resumed: exit code %d, %s", code, said)
	}
	if code, e, _, said := run("--model", "local/solver", "--compare", "local/fool"); code != 0 ||
		!slices.Equal(e.Order, []string{"fool", "model"}) || e.Systems["model"].EpisodeSuccess == 0 {
		t.Errorf("an endpoint as the model: exit code %d, %q, %s", code, e.Order, said)
	}
	a.fail = func(string, string) int { return http.StatusUnauthorized }
	before := len(a.requests())
	if code, _, _, said := run("--compare", "local/fool,local/solver"); code != 2 ||
		!strings.Contains(said, "check the API key") || len(a.requests())-before > 8 {
		t.Errorf("a wrong key: exit code %d after %d requests, %s", code, len(a.requests())-before, said)
	}
	a.fail = nil
	if code, _, _, said := run("--compare", "local/solver", "--token-budget", "300"); code != 4 {
		t.Errorf("a spent budget: exit code %d, %s", code, said)
	}
}

// An evaluation that may stop early does so where its confidence sequence is clear, says what it did not run, and is
// the same when it was stopped on the way.
func TestStopEarly(t *testing.T) {
	a, env, run := evaluating(t, 60, "stop_early: 20")
	flags := []string{"--compare", "local/fool,local/solver", "--output-dir"}
	code, e, want, said := run(append(flags, "whole")...)
	if code != 0 || len(e.Sequences) != 1 || e.NotRun == 0 || e.NotRun > 55 ||
		!strings.Contains(said, fmt.Sprintf("stopped early: %d scenarios were not run", e.NotRun)) {
		t.Fatalf("exit code %d, %+v, %s", code, e.Sequences, said)
	}
	if s := e.Sequences[0]; s.Old != "fool" || s.New != "solver" || s.Low <= 0 || s.N != 60-e.NotRun ||
		e.Systems["fool"].NumEpisodes != s.N || e.Systems["solver"].NumEpisodes != s.N {
		t.Errorf("%+v of %d and %d episodes", s, e.Systems["fool"].NumEpisodes, e.Systems["solver"].NumEpisodes)
	}
	if code, state, _ := hone(t, "", "runs", "show", "./whole"); code != 0 || !strings.Contains(state, "finished") {
		t.Errorf("in the end: %s", state)
	}
	note := fmt.Sprintf("Stopped early: %d scenarios were not run.", e.NotRun)
	for _, again := range []bool{false, true} {
		if page := contents(t, "whole/results.json"); !strings.Contains(page, note) ||
			!strings.Contains(page, "by a confidence sequence") {
			t.Errorf("made again %v: the page does not say that it was stopped", again)
		}
		if code, _, said := hone(t, "", "runs", "report", "./whole"); code != 0 {
			t.Fatalf("exit code %d, %s", code, said)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	before := len(a.requests())
	a.on = func(n int) {
		if n == before+10 {
			stop()
		}
	}
	var broken strings.Builder
	if code := toyApp(&broken, env).main(ctx, append(evalCommand, append(flags, "broken")...)); code != 7 {
		t.Fatalf("stopped: exit code %d, %s", code, broken.String())
	}
	a.on = nil
	code, _, got, said := run("runs", "resume", "./broken", "--json")
	if got, want := secondsIn.ReplaceAllString(got, ""), secondsIn.ReplaceAllString(want, ""); code != 0 ||
		got != want {
		t.Errorf("resumed: exit code %d, %s\n%s\nwant\n%s", code, said, got, want)
	}
	failed := map[string]bool{} // the solver's first scenarios, which are all of its first part
	a.fail = func(model, task string) int {
		if model == "solver" && (failed[task] || len(failed) < 3) {
			failed[task] = true
			return http.StatusTeapot
		}
		return 0
	}
	code, e, _, said = run("--compare", "local/fool,local/solver", "--fail-on-error", "false", "--output-dir", "bad")
	if s := e.Systems["solver"]; code != 0 || len(e.Failed) > 0 || s.NumExcluded != 3 || s.NumEpisodes < 9 ||
		len(e.Sequences) != 1 || e.Sequences[0].N != s.NumEpisodes {
		t.Errorf("a part that fails whole: exit code %d, %+v, %+v, %s", code, s, e.Sequences, said)
	}
	if code, state, _ := hone(t, "", "runs", "show", "./bad"); code != 0 || !strings.Contains(state, "finished") {
		t.Errorf("a part that fails whole: %s", state)
	}
	a.fail = nil
	write(t, "hone.yaml", strings.Replace(contents(t, "hone.yaml"), "stop_early: 20", "stop_early: 0", 1))
	if code, e, _, said := run("--compare", "local/fool,local/solver"); code != 0 || e.NotRun != 0 ||
		e.Sequences != nil || e.Systems["fool"].NumEpisodes != 60 {
		t.Errorf("to the end: exit code %d, %d not run, %s", code, e.NotRun, said)
	}
	if code, _, _, said := run("--compare", "local/fool", "--stop-early", "3"); code != 2 ||
		!strings.Contains(said, "needs at least two systems") {
		t.Errorf("of one system: exit code %d, %s", code, said)
	}
}

// An evaluation in parts opens the model once for each part where two of its adapters are prompted in two ways, and not
// for each of them.
func TestPartsOpenTheModelOnce(t *testing.T) {
	_, env, _ := evaluating(t, 4, "stop_early: 1")
	toyAdapter(t, "base", "prompted/final")
	write(t, "prompted/final/hone.json", `{"prompt": {"system": "Be a clerk.", "tool_list": "compact"}}`)
	opened := 0
	var said strings.Builder
	a := toyApp(&said, env)
	a.Opening = func(options any) {
		if _, ok := options.(sample.Options); ok {
			opened++
		}
	}
	if code := a.main(t.Context(),
		append(evalCommand, "--model", "adapter", "--compare", "prompted/final")); code != 0 {
		t.Fatalf("exit code %d, %s", code, said.String())
	}
	if opened != 5 { // twice for the first of four parts, once for each other
		t.Errorf("the model was opened %d times for 4 parts of 2 systems", opened)
	}
}

// Each adapter of an evaluation says what it says alone, be it published to a sampler that is open or, with another
// prompting, to one of its own; the base model is prompted as the adapter it is compared with.
func TestAdaptersOfAnEvaluation(t *testing.T) {
	_, _, run := evaluating(t, 2, "temperature: 1")
	const weights = "adapter_model.safetensors"
	for _, dir := range []string{"twisted/final", "prompted/final"} {
		toyAdapter(t, "base", dir)
	}
	text := []byte(contents(t, "adapter/"+weights))
	for i := range 200 {
		text[len(text)-1-4*i] ^= 0x80 // the sign of a number
	}
	write(t, "twisted/final/"+weights, string(text))
	write(t, "prompted/final/hone.json", `{"prompt": {"system": "Be a clerk.", "tool_list": "compact"}}`)
	code, e, _, said := run("--model", "adapter", "--compare", "prompted/final,base,twisted/final",
		"--output-dir", "together")
	if code != 0 || !slices.Equal(e.Order, []string{"prompted", "base", "twisted", "model"}) {
		t.Fatalf("exit code %d, %q, %s", code, e.Order, said)
	}
	together := episodesIn(t, "together")
	for name, folder := range map[string]string{
		"twisted":  "twisted/final",
		"prompted": "prompted/final",
		"model":    "adapter",
	} {
		if code, _, _, said := run("--model", folder, "--output-dir", name+"-alone"); code != 0 {
			t.Fatalf("%s alone: exit code %d, %s", name, code, said)
		}
		for id, alone := range episodesIn(t, name+"-alone") {
			if got := together[strings.Replace(id, "eval_model", "eval_"+name, 1)]; got != alone ||
				got == together[strings.Replace(id, "eval_model", "eval_base", 1)] ||
				name != "model" && got == together[id] {
				t.Errorf("%s of %s among others:\n%s\nalone\n%s\nof the model\n%s", id, name, got, alone, together[id])
			}
		}
	}
	for id, episode := range together {
		if strings.Contains(episode, "Be a clerk.") != strings.HasPrefix(id, "eval_prompted/") {
			t.Errorf("%s: %s", id, episode)
		}
	}
}
