//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"hone/internal/chat"
	"hone/internal/fault"
	"hone/internal/job/records"
)

// arbiter is an endpoint that judges: it gives the ids of a question falling scores, so that places decide, and passes
// an attempt alone whose text has "new hat". fails is what it answers in place of that, where it is not "".
type arbiter struct {
	*httptest.Server
	mu        sync.Mutex
	fails     string
	questions []arbiterQuestion
}

type arbiterQuestion struct {
	Model       string
	Temperature float64
	MaxTokens   int `json:"max_tokens"`
	Messages    []struct{ Role, Content string }
}

var askedIDs = regexp.MustCompile(`Give each of these ids once, and no other: ([0-9, ]+)\.`)

func newArbiter(t *testing.T) *arbiter {
	a := &arbiter{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var q arbiterQuestion
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) != 2 {
			t.Errorf("%v: %+v", err, q)
			return
		}
		a.mu.Lock()
		a.questions = append(a.questions, q)
		text := a.fails
		a.mu.Unlock()
		if ids := askedIDs.FindStringSubmatch(q.Messages[0].Content); text == "" && ids != nil {
			var scores []string
			for i, id := range strings.Split(ids[1], ", ") {
				scores = append(scores,
					fmt.Sprintf(`{"trajectory_id": %q, "explanation": "by its place", "score": %.2f}`,
						id, 0.9-0.1*float64(i)))
			}
			text = `{"scores": [` + strings.Join(scores, ", ") + `]}`
		} else if text == "" {
			text = fmt.Sprintf(`{"reason": "it is so", "passed": %v}`,
				strings.Contains(q.Messages[1].Content, "new hat"))
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{
			"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": text}, "finish_reason": "stop"}},
			"usage":   map[string]int{"prompt_tokens": 1000, "completion_tokens": 100},
		})
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *arbiter) provider() string {
	return fmt.Sprintf("providers: {court: {url: %q, prices: {m: {prompt: 3, completion: 5}}}}\n", a.URL+"/v1")
}

// uncapped lets the toy's episodes pass, of whose calls none succeeds.
const uncapped = "judge: {cap: 0}\n"

func (a *arbiter) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.questions)
}

// The form of the write-ups: scenarios that are tasks alone, and a judge. Groups are scored against each other,
// validation passes or fails, what it costs is in the metrics, and doing it again costs nothing.
func TestTrainWithAJudge(t *testing.T) {
	url, _ := shop(t)
	court := newArbiter(t)
	workFolder(t, map[string]string{"hone.yaml": toyConfig + fewTools + court.provider() + uncapped,
		"tasks.json": `[{"task": "Buy a hat.", "split": "train"}, {"task": "Buy a new hat.", "split": "validation"}]`})
	toyModel(t, "base/toy.gguf")
	train := func(out string) (int, string) {
		code, _, said := hone(t, "", "train", "--cache", "cache", "--mcp", url, "--dataset", "tasks.json",
			"--output-dir", out, "--base-model", "base", "--judge-model", "court/m", "--budget-usd", "1")
		return code, said
	}
	code, said := train("out")
	if code != 0 || !strings.Contains(said, "judge: ") || !strings.Contains(said, "dollars") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	cost, judged, validated := 0.0, 0, 0
	for _, x := range trajectoriesOf(t, "out") {
		last := x.Terms[len(x.Terms)-1]
		j := last.Judgement
		if last.Name != "judge" || last.Weight != 1 || j == nil || j.Model != "court/m" || j.Fallback {
			t.Fatalf("%s: %+v", x.ID, x.Terms)
		}
		cost += *j.Cost
		if j.Passed != nil {
			if validated++; !*j.Passed || last.Score != 1 || last.Why != "it is so" {
				t.Errorf("%s: %+v %+v", x.ID, last, j)
			}
			continue
		}
		if judged++; len(j.Samples) != 2 {
			t.Errorf("%s: %+v", x.ID, j)
		}
	}
	paid := float64(court.asked()) * (1000*3e-6 + 100*5e-6)
	// two evaluations of one policy are asked about once
	if judged == 0 || validated == 0 || cost < paid-1e-9 || cost > 1.5*paid {
		t.Errorf("%d judged, %d validated; %v dollars in the records, %v paid", judged, validated, cost, paid)
	}
	if m := readText(t, "out/metrics.jsonl"); !strings.Contains(m, `"judge/cost"`) ||
		!strings.Contains(m, `"rewards/judge/mean"`) || !strings.Contains(m, `"success":1`) {
		t.Errorf("%s", m)
	}
	if c := readText(t, "out/config.resolved.yaml"); !strings.Contains(c, "model: court/m") ||
		!strings.Contains(c, "budget_usd: 1") {
		t.Errorf("the judge is not remembered: %s", c)
	}
	before := court.asked()
	if code, said := train("again"); code != 0 || court.asked() != before {
		t.Errorf("the same run asks %d questions more: exit code %d, %s", court.asked()-before, code, said)
	}
	if code, _, said := hone(t, "", "runs", "rescore", "out", "--cache", "cache", "--judge-model", "court/m",
		"--json"); code != 0 || court.asked() != before {
		t.Errorf("rescored: exit code %d, %d questions more, %s", code, court.asked()-before, said)
	}
	if code, out, said := hone(t, "", "runs", "rescore", "out", "--cache", "cache", "--judge-model",
		"court/other"); code != 0 || court.asked() == before || !strings.Contains(out, "grpo") ||
		!strings.Contains(readText(t, "out/rescored-2.jsonl"), `"model":"court/other"`) {
		t.Errorf("rescored by another: exit code %d, %s%s", code, out, said)
	}
	for _, q := range court.questions {
		if !strings.Contains(q.Messages[1].Content, `"name":"buy"`) {
			t.Fatalf("the judge is not shown the tools: %s", q.Messages[1].Content)
		}
	}
}

// A judge that fails masks its groups, and nothing of the episodes is lost; with on_failure: stop, a spent budget or a
// wrong key the run stops and can be resumed, with the episodes that it has.
func TestJudgeThatFails(t *testing.T) {
	url, _ := shop(t)
	court, other := newArbiter(t), newArbiter(t)
	court.fails = "I like the first."
	workFolder(t, map[string]string{"tasks.json": `[{"task": "Buy a hat.", "split": "train"}]`})
	toyModel(t, "base/toy.gguf")
	config := func(judge string) {
		write(t, "hone.yaml", strings.Replace(toyConfig, "eval: {every: 3}", "eval: {every: 0}", 1)+fewTools+
			court.provider()+"judge: {model: court/m, "+judge+"}\n")
	}
	train := func(out string, more ...string) (int, string) {
		code, _, said := hone(t, "", append([]string{"train", "--cache", out + "cache", "--mcp", url, "--dataset",
			"tasks.json", "--output-dir", out, "--base-model", "base"}, more...)...)
		return code, said
	}
	config("samples: 1")
	if code, said := train("masked"); code != 1 || court.asked() != 3 || !strings.Contains(said,
		"no episode could be scored") || !strings.Contains(said, "in 3 tries no reply could be used") {
		t.Errorf("masked: exit code %d, %s", code, said)
	}
	lost := trajectoriesOf(t, "masked")
	for _, x := range lost {
		if len(lost) != 2 || x.Outcome != "judge_error" ||
			!strings.Contains(x.Error, "in 3 tries no reply could be used") || len(x.Turns) == 0 {
			t.Errorf("%s: %s %s", x.ID, x.Outcome, x.Error)
		}
	}
	config("samples: 1, on_failure: stop")
	code, said := train("stopped")
	if code != int(fault.CodeStopped) || !strings.Contains(said, "judge.on_failure is stop") {
		t.Errorf("stopped: exit code %d, %s", code, said)
	}
	kept, err := records.Pick{}.Episodes("stopped")
	if err != nil || len(kept) != 2 {
		t.Errorf("%d episodes are kept: %v", len(kept), err)
	}
	court.mu.Lock()
	court.fails = ""
	court.mu.Unlock()
	if code, _, said := hone(t, "", "runs", "resume", "stopped", "--cache", "stoppedcache", "--mcp", url); code != 0 {
		t.Errorf("resumed: exit code %d, %s", code, said)
	}
	config("samples: 1, budget_usd: 0.000001")
	if code, said := train("poor"); code != int(fault.CodeBudget) || !strings.Contains(said, "the budget is spent") {
		t.Errorf("without money: exit code %d, %s", code, said)
	}
	config("samples: 1")
	write(t, "hone.yaml", strings.Replace(readText(t, "hone.yaml"), "prices:", "key_env: OUR_MISSING_KEY, prices:", 1))
	if code, said := train("keyless"); code != 2 || !strings.Contains(said, "OUR_MISSING_KEY") {
		t.Errorf("without a key: exit code %d, %s", code, said)
	}
	config("samples: 1")
	if code, said := train("unknown", "--judge-model", "nobody/m"); code != 2 ||
		!strings.Contains(said, "there is no such judge") {
		t.Errorf("an unknown judge: exit code %d, %s", code, said)
	}
	court.fails = "I like the first."
	config(fmt.Sprintf("samples: 1, fallback: %q", other.URL+"/v1/second"))
	if code, said := train("fallen"); code != 0 || other.asked() == 0 {
		t.Errorf("with a fallback: exit code %d, %s", code, said)
	}
	for _, x := range trajectoriesOf(t, "fallen") {
		if j := x.Terms[len(x.Terms)-1].Judgement; !j.Fallback || j.Model != other.URL+"/v1/second" ||
			!strings.Contains(j.Failed, "no reply could be used") {
			t.Errorf("%s: %+v", x.ID, j)
		}
	}
	if m := readText(t, "fallen/metrics.jsonl"); !strings.Contains(m, `"judge/fallback_ratio":1`) {
		t.Errorf("%s", m)
	}
}

// An evaluation of scenarios without checks has a rate by the judge, each episode alone, with its reason; without a
// judge it is refused, and an adapter whose run had one needs it not named again.
func TestEvalByAJudge(t *testing.T) {
	url, _ := shop(t)
	court := newArbiter(t)
	workFolder(t, map[string]string{
		"hone.yaml": strings.Replace(toyConfig, "eval: {every: 3}", "eval: {every: 0}", 1) + fewTools + court.provider() + uncapped,
		"tasks.json": `[{"task": "Buy a hat.", "split": "train"}, {"task": "Buy a new hat.", "split": "validation"}, {"task": "Buy a coat.", "split": "validation"},
			{"task": "Buy one.", "split": "validation", "checks": [{"type": "call", "name": "buy", "arguments": {}}]}]`,
	})
	toyModel(t, "base/toy.gguf")
	eval := []string{"eval", "--cache", "cache", "--mcp", url, "--dataset", "tasks.json", "--split", "validation",
		"--json", "--show", "all"}
	if code, _, said := hone(t, "", append(eval, "--base-model", "base")...); code != 2 ||
		!strings.Contains(said, "--judge-model") {
		t.Errorf("without a judge: exit code %d, %s", code, said)
	}
	rate := func(args ...string) {
		t.Helper()
		before := court.asked()
		code, out, said := hone(t, "", append(eval, args...)...)
		var printed struct {
			Systems map[string]struct {
				EpisodeSuccess float64 `json:"episode_success"`
				N              int     `json:"n"`
			}
		}
		if err := json.Unmarshal([]byte(out), &printed); code != 0 || err != nil {
			t.Fatalf("exit code %d, %v: %s%s", code, err, said, out)
		}
		for name, s := range printed.Systems {
			// of the two without checks one is of a new hat; the toy passes no check
			if s.N != 3 || s.EpisodeSuccess < 0.333 || s.EpisodeSuccess > 0.334 {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if !strings.Contains(said, "court/m passes it") || !strings.Contains(out, "it is so") ||
			court.asked()-before > 4 {
			t.Errorf("%d questions: %s", court.asked()-before, said)
		}
	}
	rate("--base-model", "base", "--judge-model", "court/m", "--output-dir", "rated")
	for _, x := range trajectoriesOf(t, "rated") {
		judged := false
		for _, term := range x.Terms {
			judged = judged || term.Name == "judge" && term.Judgement.Passed != nil
		}
		if checked := x.Terms[0].Name == "checks"; judged == checked {
			t.Errorf("%s: %+v", x.ID, x.Terms)
		}
	}
	if code, _, said := hone(t, "", "train", "--cache", "cache", "--mcp", url, "--dataset", "tasks.json",
		"--output-dir", "out", "--base-model", "base", "--judge-model", "court/m"); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	rate("--model", "out/final")
}

// The base model, or an adapter, judges on this machine. Held to the schema of a reply, even the toy, which knows no
// word, gives a score that can be read.
func TestJudgeOnThisMachine(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{
		"hone.yaml": toyConfig + fewTools + "model: {base: base/toy.gguf}\n" +
			"judge: {max_tokens: 750, context: 3000, samples: 1, concurrency: 1, rubric: rubric.yaml}\n",
		"rubric.yaml": "criteria: [be good]\n", "tasks.json": `[{"task": "Buy a hat.", "split": "train"}]`,
	})
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base/toy.gguf", "tuned")
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`})
	if code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset",
		"tasks.json", "--split", "all", "--yes", "--output-dir", "out"); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	code, _, said := hone(t, "", "runs", "rescore", "out", "--judge-model", "tuned")
	text := readText(t, "out/rescored-1.jsonl")
	if code != 0 || !strings.Contains(said, "the judge tuned on ") ||
		!strings.Contains(text, `"judgement":{"model":"tuned"`) || !strings.Contains(text, `"cost":0`) {
		t.Errorf("exit code %d, %s%s", code, said, text)
	}
	code, _, said = hone(t, "", "train", "--dry-run", "--mcp", url, "--dataset", "tasks.json", "--output-dir", "other",
		"--judge-model", "base")
	if code != 0 || strings.Contains(said, "the judge base on ") {
		t.Errorf("a rehearsal: exit code %d, %s", code, said)
	}
}

// A judge is measured on the built-in set, and on the episodes of a run, by its checks and by labels; asked again,
// nothing is paid for.
func TestJudgeCalibrate(t *testing.T) {
	url, _ := shop(t)
	court := newArbiter(t)
	endpoint := buyer(t, chat.ToolCall{Name: "buy", Arguments: `{"name":"hat"}`})
	workFolder(t, map[string]string{"hone.yaml": court.provider(), "tasks.jsonl": `{"id": "hat", "task": "Buy a new hat.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "hat"}}]}` + "\n" +
		`{"id": "cap", "task": "Buy a cap.", "checks": [{"type": "call", "name": "buy", "arguments": {"name": "cap"}}]}` + "\n" + `{"id": "tie", "task": "Buy a tie."}` + "\n",
		"labels.jsonl": `{"episode": "tie", "passed": true}` + "\n"})
	calibrate := func(args ...string) (map[string]float64, string) {
		t.Helper()
		code, out, said := hone(t, "", append([]string{"judge", "calibrate", "--cache", "cache", "--judge-model",
			"court/m", "--json"}, args...)...)
		var report struct {
			Judge    string
			Measures []struct {
				Name  string
				Value struct{ Mean, Low, High float64 }
			}
		}
		if err := json.Unmarshal([]byte(out), &report); code != 0 || err != nil || report.Judge != "court/m" {
			t.Fatalf("exit code %d, %v, %s%s", code, err, out, said)
		}
		all := map[string]float64{}
		for _, m := range report.Measures {
			if all[m.Name] = m.Value.Mean; m.Value.Low > m.Value.Mean || m.Value.High < m.Value.Mean {
				t.Errorf("%+v", m)
			}
		}
		return all, said
	}
	all, said := calibrate() // by places alone, and no hat is new
	if all["position bias: first minus last"] < 0.3 || all["agreement with labels: failed though it should not"] != 1 ||
		all["agreement with labels: passed though it should not"] != 0 ||
		all["cost of a group"] != 2*(1000*3e-6+100*5e-6) || !strings.Contains(said, "dollars") {
		t.Errorf("%v %s", all, said)
	}
	before := court.asked()
	if _, said := calibrate(); court.asked() != before || strings.Contains(said, "paid for") {
		t.Errorf("asked %d times again: %s", court.asked()-before, said)
	}
	if code, _, said := hone(t, "", "collect", "--mcp", url, "--endpoint", endpoint, "--model", "m", "--dataset",
		"tasks.jsonl", "--split", "all", "--yes", "--output-dir", "out"); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	all, _ = calibrate("out", "--labels", "labels.jsonl")
	if all["agreement with rules: verdicts"] != 1 || all["agreement with labels: verdicts"] != 0 ||
		all["agreement with labels: failed though it should not"] != 1 {
		t.Errorf("%v", all)
	}
	before = court.asked()
	code, out, said := hone(t, "", "judge", "calibrate", "--judge-model", "court/m", "--dry-run")
	if code != 0 || out != "" || !strings.Contains(said, "would have court/m judge 8 groups") ||
		court.asked() != before {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
	write(t, "bad.jsonl", `{"episode": "tie"}`+"\n")
	for want, args := range map[string][]string{
		"no judge is named": nil, "bad.jsonl:1": {"out", "--labels", "bad.jsonl", "--judge-model", "court/m"},
		"of the episodes of a run": {"--labels", "labels.jsonl", "--judge-model", "court/m"},
		"the set cannot be used":   {"--set", "labels.jsonl", "--judge-model", "court/m"},
	} {
		if code, _, said := hone(t, "", append([]string{"judge", "calibrate"}, args...)...); code != 2 ||
			!strings.Contains(said, want) {
			t.Errorf("%v: exit code %d, %s", args, code, said)
		}
	}
}
