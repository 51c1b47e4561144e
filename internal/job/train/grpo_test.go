package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/testing/fakes"
	"hone/internal/toolset"
)

func TestNothingLearnt(t *testing.T) {
	for name, x := range map[string]struct {
		spread []string
		want   bool
	}{
		"no spread":           {[]string{`{"reward_spread":0}`, `{}`}, true},
		"a success of before": {[]string{`{"reward_spread":0}`, `{"reward_spread":0,"imitation/episodes":1}`}, false},
		"demonstrations":      {[]string{`{"reward_spread":0,"demonstrations":2}`}, false},
		"spread in one step":  {[]string{`{"reward_spread":0}`, `{"reward_spread":0.1}`, `{}`}, false},
	} {
		t.Chdir(t.TempDir())
		r := &job.Job{Env: job.Env{Host: fakes.QuietHost(t)}, Verb: "train", Path: "out", Config: config.Default()}
		if err := r.Begin(); err != nil {
			t.Fatal(err)
		}
		for step, row := range x.spread {
			if err := r.Dir.PutMetric("grpo", step, []byte(row)); err != nil {
				t.Fatal(err)
			}
		}
		if err := unlearnt(r, "grpo", "out/final"); (err != nil) != x.want ||
			err != nil && !strings.Contains(err.Error(), "nothing was learnt") {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
	}
}

// What train says to evaluate on can be read: the run's own rows, which have their splits and none that was left out;
// or the file, where rows name files beside it.
func TestMeasuredOn(t *testing.T) {
	dir := t.TempDir()
	j := &job.Job{Path: filepath.Join(dir, "out"),
		Config: config.Config{Scenarios: config.Scenarios{File: filepath.Join(dir, "tasks.jsonl")}}}
	if err := os.MkdirAll(filepath.Join(dir, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	const shop = `{"id": "x", "task": "Say a.", "template": "shop", "checks": [{"type": "answer", "equals": "a"}]}`
	for row, want := range map[string]string{
		`{"id": "x", "task": "Say a.", "checks": [{"type": "answer", "equals": "a"}]}`: filepath.Join(j.Path, job.ScenariosFile),
		shop:                               j.Config.Scenarios.File,
		shop + "\n" + `{"taks": "Say b."}`: j.Config.Scenarios.File + " --skip-bad",
	} {
		if err := os.WriteFile(j.Config.Scenarios.File, []byte(row+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		list, _, _, err := scenario.LoadGood(j.Config.Scenarios.File)
		if err != nil {
			t.Fatal(err)
		}
		text, err := scenario.Encode(list, false)
		if err == nil {
			err = errors.Join(os.MkdirAll(j.Path, 0o700),
				os.WriteFile(filepath.Join(j.Path, job.ScenariosFile), text, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := evalFile(j); got != want {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
		file, skip := strings.CutSuffix(evalFile(j), " --skip-bad")
		if _, err := job.Scenarios(&host.Host{Talk: sanitize.New(&bytes.Buffer{})}, file, "", skip); err != nil {
			t.Error(err)
		}
	}
}

// What hone would never send is refused before training, or left out; what the schema fills in, a search of tools and
// complete_task are no reason.
func TestSendable(t *testing.T) {
	tool := mcp.Tool{Name: "add", ModelName: "add", InputSchema: json.RawMessage(`{"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number", "default": 3}}, "required": ["a", "b"]}`)}
	catalog := &mcp.Catalog{Servers: []mcp.ServerTools{{Name: "s", Tools: []mcp.Tool{tool}}}}
	l := &episodes.Episodes{
		Set:    &toolset.Set{Catalog: catalog, Selection: toolset.Selection{List: []chat.Tool{{Name: "search_tools"}}}},
		Scorer: reward.Scorer{Defaults: catalog.Defaults()},
	}
	row := func(id, split, name, arguments string) scenario.Scenario {
		return scenario.Scenario{ID: id, Split: split,
			Checks: []scenario.Check{{Type: scenario.CallCheck, Name: name, Arguments: json.RawMessage(arguments)}}}
	}
	c := config.Default()
	c.Rollout.CompleteTask = true
	fine := []scenario.Scenario{
		row("filled", scenario.Train, "add", `{"a": 1}`), row("ends", scenario.Train, "complete_task",
			`{"answer": "x"}`), row("searches", scenario.Train, "search_tools", `{}`),
		row("rests", scenario.Test, "gone", `{}`),
	} // which is not run
	bad := []scenario.Scenario{row("wrong", scenario.Train, "add", `{"a": "1"}`),
		row("held", scenario.Validation, "gone", `{}`)}
	for range 20 {
		bad = append(bad, row("more", scenario.Train, "gone", `{}`))
	}
	var said bytes.Buffer
	j := &job.Job{Env: job.Env{Host: &host.Host{Talk: sanitize.New(&said)}}, Config: c}
	if good, err := sendable(l, j, fine); err != nil || len(good) != len(fine) {
		t.Errorf("%v, %d of %d are kept", err, len(good), len(fine))
	}
	all := slices.Concat(fine, bad)
	f, _ := errors.AsType[*fault.Error](func() error { _, err := sendable(l, j, all); return err }())
	if f == nil || f.Code != fault.CodeUsage || !strings.Contains(f.What, "22 scenarios") ||
		strings.Count(f.Why, "more: ") != 8 || !strings.HasSuffix(f.Why, "and 12 more") ||
		!strings.Contains(f.Next, "--skip-bad") {
		t.Errorf("%v", f)
	}
	j.Config.Eval.Every = 0 // then nothing of validation is run
	if _, err := sendable(l, j, append(slices.Clone(fine), bad[1])); err != nil {
		t.Error(err)
	}
	j.Config.Eval.Every, j.SkipBad = 1, true
	if good, err := sendable(l, j, all); err != nil || len(good) != len(fine) ||
		strings.Count(said.String(), "left out: ") != len(bad) {
		t.Errorf("%v, %d of %d are kept, said %q", err, len(good), len(all), said.String())
	}
	// nothing is left to train on
	if _, err := sendable(l, j, slices.Concat(fine[3:], bad)); fault.CodeOf(err) != fault.CodeUsage ||
		strings.Contains(err.Error(), "--skip-bad") {
		t.Errorf("%v", err)
	}
	j.Dir = &run.Dir{} // a run that goes on
	if good, err := sendable(l, j, bad); err != nil || len(good) != len(bad) {
		t.Errorf("%v, %d of %d are kept", err, len(good), len(bad))
	}
}

// The evaluation that follows a training is of a split that has scenarios.
func TestTheNextEvaluationHasScenarios(t *testing.T) {
	for splits, want := range map[string]string{
		"train validation test": "validation",
		"train test":            "test",
		"train validation":      "validation",
		"train":                 "train",
	} {
		j := &job.Job{Env: job.Env{Host: &host.Host{}}, Path: t.TempDir(), Config: config.Default()}
		var said bytes.Buffer
		j.Host.Talk = sanitize.New(&said)
		var rows []string
		for _, split := range strings.Fields(splits) {
			rows = append(rows, `{"id": "`+split+`", "task": "Go.", "split": "`+split+
				`", "checks": [{"type": "answer", "equals": "x"}]}`)
		}
		if err := os.WriteFile(filepath.Join(j.Path, job.ScenariosFile), []byte("["+strings.Join(rows, ",")+"]"),
			0o600); err != nil {
			t.Fatal(err)
		}
		if flag := heldOutSplit(j); flag != " --split "+want {
			t.Errorf("of %s: %q", splits, flag)
		}
		list, err := scenario.Load(evalFile(j))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.OfSplit(list, strings.TrimPrefix(heldOutSplit(j), " --split "), evalFile(j)); err != nil {
			t.Errorf("of %s: %v", splits, err)
		}
	}
}
