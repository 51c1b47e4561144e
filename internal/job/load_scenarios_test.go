package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/toolset"
)

// A row that cannot be read, and checks that can never pass or never fail, are told by file and line before a run begins; --skip-bad leaves these rows out
// and keeps the others.
func TestVettedRows(t *testing.T) {
	const good = `{"id": "good", "task": "Add 1 and 2.", "split": "train", "checks": [{"type": "answer", "number": 3}], "gold_answer": "It is 3."}` + "\n"
	for name, c := range map[string]struct{ row, why string }{
		"no JSON":             {`{"id": "x", "task": `, "bad.jsonl:2"},
		"no task":             {`{"id": "x", "checks": []}`, "bad.jsonl:2"},
		"an unknown key":      {`{"id": "x", "taks": "Add."}`, "taks"},
		"an id twice":         {`{"id": "good", "task": "Again."}`, `id "good" is taken`},
		"can never pass":      {`{"id": "x", "task": "Say a.", "checks": [{"type": "answer", "equals": "a"}], "gold_answer": "b"}`, "x: checks[0] (answer) cannot pass"},
		"can never fail":      {`{"id": "x", "task": "Say a.", "checks": [{"type": "answer", "regex": ".*"}]}`, "x: checks[0] (answer) cannot fail"},
		"silence passes them": {`{"id": "x", "task": "Write it.", "checks": [{"type": "max_calls", "max": 3}]}`, "an episode without calls and answer passes the checks"},
	} {
		path := filepath.Join(t.TempDir(), "bad.jsonl")
		if err := os.WriteFile(path, []byte(good+c.row+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		h := &host.Host{Talk: sanitize.New(&said)}
		_, err := Vetted(h, path, false, false)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.CodeUsage || !strings.Contains(f.Error(), c.why) || !strings.Contains(f.Error(), "bad.jsonl:2") || !strings.Contains(f.Next, "--skip-bad") {
			t.Errorf("%s: %v", name, err)
		}
		list, err := Vetted(h, path, true, false)
		if err != nil || len(list) != 1 || list[0].ID != "good" || !strings.Contains(said.String(), "bad.jsonl:2") || !strings.Contains(said.String(), c.why) {
			t.Errorf("%s, skipped: %v, %v, said %q", name, err, list, said.String())
		}
		if err := os.WriteFile(path, []byte(c.row+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "an id twice" {
			continue
		}
		if _, err := Vetted(h, path, true, false); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%s alone: %v", name, err)
		}
	}
}

// Checks that the task's own words pass are weak, and no reason to refuse: a note says how many there are.
func TestVettedWeakChecks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weak.jsonl")
	row := `{"id": "x", "task": "Say abc.", "checks": [{"type": "answer", "contains": "abc"}]}`
	if err := os.WriteFile(path, []byte("\n"+row+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	list, err := Vetted(&host.Host{Talk: sanitize.New(&said)}, path, false, false)
	if err != nil || len(list) != 1 || !strings.Contains(said.String(), "repeating the task passes the checks of 1 scenario, the first at "+path+":2") {
		t.Errorf("%v, %v, said %q", err, list, said.String())
	}
}

// A row that is left out leaves the splits of the others as they are: it may join two sets by the calls that it shares with both, and what hone eval
// holds out of the file is not trained on.
func TestVettedSplits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "joined.jsonl")
	var rows strings.Builder
	for _, split := range []string{"train", "validation", "test"} { // so that none is empty
		fmt.Fprintf(&rows, `{"id": %q, "task": "Say %s.", "split": %q, "checks": [{"type": "answer", "equals": "a"}], "gold_answer": "a"}`+"\n", split, split, split)
	}
	for i := range 30 {
		x, y := fmt.Sprintf(`{"name": "x", "arguments": {"n": %d}}`, i), fmt.Sprintf(`{"name": "y", "arguments": {"n": %d}}`, i)
		for _, r := range [][3]string{{"A", x, "a"}, {"B", x + ", " + y, "b"}, {"C", y, "a"}} { // the checks of B cannot pass
			fmt.Fprintf(&rows, `{"id": "%s%d", "task": "%s %d", "gold": [%s], "gold_answer": %q, "checks": [{"type": "answer", "equals": "a"}]}`+"\n", r[0], i, r[0], i, r[1], r[2])
		}
	}
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := scenario.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	splits := map[string]string{}
	for _, s := range all {
		splits[s.ID] = s.Split
	}
	list, err := Vetted(&host.Host{Talk: sanitize.New(&bytes.Buffer{})}, path, true, false)
	if err != nil || len(list) != len(all)-30 {
		t.Fatalf("%d of %d rows, %v", len(list), len(all), err)
	}
	for _, s := range list {
		if s.Split != splits[s.ID] {
			t.Errorf("%s: trained as %s, evaluated as %s", s.ID, s.Split, splits[s.ID])
		}
	}
}

// What train says to evaluate on can be read: the run's own rows, which have their splits and none that was left out; or the file, where rows name
// files beside it.
func TestMeasuredOn(t *testing.T) {
	dir := t.TempDir()
	j := &Job{Path: filepath.Join(dir, "out"), Config: config.Config{Scenarios: config.Scenarios{File: filepath.Join(dir, "tasks.jsonl")}}}
	if err := os.MkdirAll(filepath.Join(dir, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	const shop = `{"id": "x", "task": "Say a.", "template": "shop", "checks": [{"type": "answer", "equals": "a"}]}`
	for row, want := range map[string]string{
		`{"id": "x", "task": "Say a.", "checks": [{"type": "answer", "equals": "a"}]}`: filepath.Join(j.Path, ScenariosFile),
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
			err = errors.Join(os.MkdirAll(j.Path, 0o700), os.WriteFile(filepath.Join(j.Path, ScenariosFile), text, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := j.measuredOn(); got != want {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
		file, skip := strings.CutSuffix(j.measuredOn(), " --skip-bad")
		if _, err := Scenarios(&host.Host{Talk: sanitize.New(&bytes.Buffer{})}, file, "", skip); err != nil {
			t.Error(err)
		}
	}
}

// Checks that only bound an episode are no reason to refuse where a judge, a program or an expression scores it too; without, they are.
func TestVettedWhereOthersScore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bounds.jsonl")
	if err := os.WriteFile(path, []byte(`{"id": "x", "task": "Say abc.", "checks": [{"type": "no_call", "name": "delete"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		change func(*config.Config)
		kept   bool
	}{
		"checks alone": {func(*config.Config) {}, false},
		"a program":    {func(c *config.Config) { c.Rewards.Program.Command = []string{"./score"} }, true},
		"an expression": {func(c *config.Config) {
			c.Rewards.Expressions = map[string]config.Expression{"mine": {Formula: "turns", Weight: -1}}
		}, true},
		"a judge of all":             {func(c *config.Config) { c.Judge.Model, c.Judge.Scenarios = "openai/x", "all" }, true},
		"a judge of others":          {func(c *config.Config) { c.Judge.Model = "openai/x" }, false},
		"a judge of all of no model": {func(c *config.Config) { c.Judge.Scenarios = "all" }, false},
	} {
		c := config.Default()
		x.change(&c)
		var said bytes.Buffer
		list, err := Vetted(&host.Host{Talk: sanitize.New(&said)}, path, false, otherwiseScored(c))
		if x.kept && (err != nil || len(list) != 1 || !strings.Contains(said.String(), "note: an episode without calls and answer passes the checks of 1 scenario, the first at "+path+":1")) ||
			!x.kept && fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%s: %d, %v, said %q", name, len(list), err, said.String())
		}
	}
}

// What hone would never send is refused before training, or left out; what the schema fills in, a search of tools and complete_task are no reason.
func TestSendable(t *testing.T) {
	tool := mcp.Tool{Name: "add", ModelName: "add", InputSchema: json.RawMessage(`{"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number", "default": 3}}, "required": ["a", "b"]}`)}
	catalog := &mcp.Catalog{Servers: []mcp.ServerTools{{Name: "s", Tools: []mcp.Tool{tool}}}}
	l := &Episodes{Set: &toolset.Set{Catalog: catalog, Selection: toolset.Selection{List: []chat.Tool{{Name: "search_tools"}}}}, Scorer: reward.Scorer{Defaults: catalog.Defaults()}}
	row := func(id, split, name, arguments string) scenario.Scenario {
		return scenario.Scenario{ID: id, Split: split, Checks: []scenario.Check{{Type: scenario.CallCheck, Name: name, Arguments: json.RawMessage(arguments)}}}
	}
	c := config.Default()
	c.Rollout.CompleteTask = true
	fine := []scenario.Scenario{row("filled", scenario.Train, "add", `{"a": 1}`), row("ends", scenario.Train, "complete_task", `{"answer": "x"}`), row("searches", scenario.Train, "search_tools", `{}`),
		row("rests", scenario.Test, "gone", `{}`)} // which is not run
	bad := []scenario.Scenario{row("wrong", scenario.Train, "add", `{"a": "1"}`), row("held", scenario.Validation, "gone", `{}`)}
	for range 20 {
		bad = append(bad, row("more", scenario.Train, "gone", `{}`))
	}
	var said bytes.Buffer
	j := &Job{Env: Env{Host: &host.Host{Talk: sanitize.New(&said)}}, Config: c}
	if good, err := l.sendable(j, fine); err != nil || len(good) != len(fine) {
		t.Errorf("%v, %d of %d are kept", err, len(good), len(fine))
	}
	all := slices.Concat(fine, bad)
	f, _ := errors.AsType[*fault.Error](func() error { _, err := l.sendable(j, all); return err }())
	if f == nil || f.Code != fault.CodeUsage || !strings.Contains(f.What, "22 scenarios") || strings.Count(f.Why, "more: ") != 8 || !strings.HasSuffix(f.Why, "and 12 more") || !strings.Contains(f.Next, "--skip-bad") {
		t.Errorf("%v", f)
	}
	j.Config.Eval.Every = 0 // then nothing of validation is run
	if _, err := l.sendable(j, append(slices.Clone(fine), bad[1])); err != nil {
		t.Error(err)
	}
	j.Config.Eval.Every, j.SkipBad = 1, true
	if good, err := l.sendable(j, all); err != nil || len(good) != len(fine) || strings.Count(said.String(), "left out: ") != len(bad) {
		t.Errorf("%v, %d of %d are kept, said %q", err, len(good), len(all), said.String())
	}
	if _, err := l.sendable(j, slices.Concat(fine[3:], bad)); fault.CodeOf(err) != fault.CodeUsage || strings.Contains(err.Error(), "--skip-bad") { // nothing is left to train on
		t.Errorf("%v", err)
	}
	j.Dir = &run.Dir{} // a run that goes on
	if good, err := l.sendable(j, bad); err != nil || len(good) != len(bad) {
		t.Errorf("%v, %d of %d are kept", err, len(good), len(bad))
	}
}
