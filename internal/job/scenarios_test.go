package job

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
)

// A row that cannot be read, and checks that can never pass or never fail, are told by file and line before a run
// begins; --skip-bad leaves these rows out and keeps the others.
func TestVettedRows(t *testing.T) {
	const good = `{"id": "good", "task": "Add 1 and 2.", "split": "train", "checks": [{"type": "answer", "number": 3}], "gold_answer": "It is 3."}` + "\n"
	for name, c := range map[string]struct{ row, why string }{
		"no JSON":        {`{"id": "x", "task": `, "bad.jsonl:2"},
		"no task":        {`{"id": "x", "checks": []}`, "bad.jsonl:2"},
		"an unknown key": {`{"id": "x", "taks": "Add."}`, "taks"},
		"an id twice":    {`{"id": "good", "task": "Again."}`, `id "good" is taken`},
		"can never pass": {
			`{"id": "x", "task": "Say a.", "checks": [{"type": "answer", "equals": "a"}], "gold_answer": "b"}`,
			"x: checks[0] (answer) cannot pass",
		},
		"can never fail": {`{"id": "x", "task": "Say a.", "checks": [{"type": "answer", "regex": ".*"}]}`, "x: checks[0] (answer) cannot fail"},
		"silence passes them": {`{"id": "x", "task": "Write it.", "checks": [{"type": "max_calls", "max": 3}]}`,
			"an episode without calls and answer passes the checks"},
	} {
		path := filepath.Join(t.TempDir(), "bad.jsonl")
		if err := os.WriteFile(path, []byte(good+c.row+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		h := &host.Host{Talk: sanitize.New(&said)}
		_, err := LoadForTraining(h, path, false, false)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.CodeUsage || !strings.Contains(f.Error(), c.why) ||
			!strings.Contains(f.Error(), "bad.jsonl:2") || !strings.Contains(f.Next, "--skip-bad") {
			t.Errorf("%s: %v", name, err)
		}
		list, err := LoadForTraining(h, path, true, false)
		if err != nil || len(list) != 1 || list[0].ID != "good" || !strings.Contains(said.String(), "bad.jsonl:2") ||
			!strings.Contains(said.String(), c.why) {
			t.Errorf("%s, skipped: %v, %v, said %q", name, err, list, said.String())
		}
		if err := os.WriteFile(path, []byte(c.row+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "an id twice" {
			continue
		}
		if _, err := LoadForTraining(h, path, true, false); fault.CodeOf(err) != fault.CodeUsage {
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
	list, err := LoadForTraining(&host.Host{Talk: sanitize.New(&said)}, path, false, false)
	if err != nil || len(list) != 1 || !strings.Contains(said.String(),
		"repeating the task passes the checks of 1 scenario, the first at "+path+":2") {
		t.Errorf("%v, %v, said %q", err, list, said.String())
	}
}

// A row that is left out leaves the splits of the others as they are: it may join two sets by the calls that it shares
// with both, and what hone eval holds out of the file is not trained on.
func TestVettedSplits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "joined.jsonl")
	var rows strings.Builder
	for _, split := range []string{"train", "validation", "test"} { // so that none is empty
		fmt.Fprintf(&rows, `{"id": %q, "task": "Say %s.", "split": %q, "checks": [{"type": "answer", "equals": "a"}], "gold_answer": "a"}`+"\n", split, split, split)
	}
	for i := range 30 {
		x, y := fmt.Sprintf(`{"name": "x", "arguments": {"n": %d}}`, i),
			fmt.Sprintf(`{"name": "y", "arguments": {"n": %d}}`, i)
		// the checks of B cannot pass
		for _, r := range [][3]string{{"A", x, "a"}, {"B", x + ", " + y, "b"}, {"C", y, "a"}} {
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
	list, err := LoadForTraining(&host.Host{Talk: sanitize.New(&bytes.Buffer{})}, path, true, false)
	if err != nil || len(list) != len(all)-30 {
		t.Fatalf("%d of %d rows, %v", len(list), len(all), err)
	}
	for _, s := range list {
		if s.Split != splits[s.ID] {
			t.Errorf("%s: trained as %s, evaluated as %s", s.ID, s.Split, splits[s.ID])
		}
	}
}

// Checks that only bound an episode are no reason to refuse where a judge, a program or an expression scores it too;
// without, they are.
func TestVettedWhereOthersScore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bounds.jsonl")
	if err := os.WriteFile(path,
		[]byte(`{"id": "x", "task": "Say abc.", "checks": [{"type": "no_call", "name": "delete"}]}`),
		0o600); err != nil {
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
		list, err := LoadForTraining(&host.Host{Talk: sanitize.New(&said)}, path, false, HasOtherScores(c))
		if x.kept && (err != nil || len(list) != 1 || !strings.Contains(said.String(),
			"note: an episode without calls and answer passes the checks of 1 scenario, the first at "+path+":1")) ||
			!x.kept && fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%s: %d, %v, said %q", name, len(list), err, said.String())
		}
	}
}

// Without --dataset the configuration's file is read; where there is none, the error names the flag. A file that was
// named is another matter.
func TestNoDataset(t *testing.T) {
	t.Chdir(t.TempDir())
	c := config.Default()
	_, err := Dataset("", c)
	if text := err.Error(); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(text, "--dataset FILE") ||
		!strings.Contains(text, c.Scenarios.File) {
		t.Errorf("%v", err)
	}
	if got, err := Dataset("none.json", c); got != "none.json" || err != nil { // whoever reads it says so
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(c.Scenarios.File, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Dataset("", c); got != c.Scenarios.File || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// Where a split has no scenario, the error says first what the file has, and which split to try.
func TestEmptySplit(t *testing.T) {
	rows := func(splits ...string) (out []scenario.Scenario) {
		for _, s := range splits {
			out = append(out, scenario.Scenario{Split: s})
		}
		return out
	}
	for _, x := range []struct {
		list        []scenario.Scenario
		split, want string
		tries       bool
	}{
		{rows("test", "test", "test", "test"), "validation", "why:   all 4 rows are test", true},
		{rows("test", "train", "test"), "validation", "why:   the rows are 1 train and 2 test", false},
		{rows("test", "test"), "train", "why:   all 2 rows are test", false},
	} {
		_, err := OfSplit(x.list, x.split, "small.jsonl")
		if err == nil || !strings.Contains(err.Error(), x.want) ||
			strings.Contains(err.Error(), "next:  try --split test") != x.tries {
			t.Errorf("%+v: %v", x, err)
		}
	}
	if kept, err := OfSplit(rows("test", "train"), "test", "x"); err != nil || len(kept) != 1 {
		t.Errorf("%v, %v", kept, err)
	}
}
