package job

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/screen"
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
		h := &host.Host{Talk: screen.New(&said)}
		_, err := Vetted(h, path, false)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.CodeUsage || !strings.Contains(f.Error(), c.why) || !strings.Contains(f.Error(), "bad.jsonl:2") || !strings.Contains(f.Next, "--skip-bad") {
			t.Errorf("%s: %v", name, err)
		}
		list, err := Vetted(h, path, true)
		if err != nil || len(list) != 1 || list[0].ID != "good" || !strings.Contains(said.String(), "bad.jsonl:2") || !strings.Contains(said.String(), c.why) {
			t.Errorf("%s, skipped: %v, %v, said %q", name, err, list, said.String())
		}
		if err := os.WriteFile(path, []byte(c.row+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "an id twice" {
			continue
		}
		if _, err := Vetted(h, path, true); fault.CodeOf(err) != fault.CodeUsage {
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
	list, err := Vetted(&host.Host{Talk: screen.New(&said)}, path, false)
	if err != nil || len(list) != 1 || !strings.Contains(said.String(), "repeating the task passes the checks of 1 scenario, the first at "+path+":2") {
		t.Errorf("%v, %v, said %q", err, list, said.String())
	}
}
