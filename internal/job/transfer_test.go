package job

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/hub"
	"hone/internal/testing/fakes"
)

// The ledger of a curation holds what was redacted: no push sends one, whatever its name, a mirror takes away one that
// was sent, and --dry-run lists what goes.
func TestPushSendsNoLedger(t *testing.T) {
	s := fakes.NewHub(t.TempDir())
	t.Cleanup(s.Close)
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ledger := `{"curation":1,"sha256":"0"}` + "\n" + `{"seq":1,"do":"redact","values":[{"text":"hunter2!"}]}` + "\n"
	put("run/version.json", "{}")
	put("run/trajectories.jsonl", "{}\n")
	if _, err := kindOf(PushAsked{Folder: filepath.Join(dir, "run")}); err == nil ||
		!strings.Contains(fault.Whole(err), "hone curate export") {
		t.Errorf("a run of traces is taken for a data set: %v", err)
	}
	if kind, err := kindOf(PushAsked{Folder: filepath.Join(dir, "run"), Kind: "dataset"}); err != nil ||
		kind != hub.Dataset {
		t.Errorf("%v %v", kind, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}
	put("README.md", "# card\n")
	put("ledgers/mine.jsonl", ledger)
	put("train.jsonl.curation.jsonl", ledger)
	put("train.jsonl.curation.jsonl.bak", ledger)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(ledger)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	put("train.jsonl.curation.jsonl.gz", packed.String())
	put("old.gz", packed.String())
	put("blank.jsonl", "\ufeff\n"+ledger)
	put("ops.jsonl", ledger[strings.Index(ledger, "\n")+1:])
	if _, err := kindOf(PushAsked{Folder: dir}); err == nil {
		t.Error("ledgers alone are no data set")
	}
	put("train.jsonl", "{}\n")
	put("train.curation.txt", `{"curation`)
	s.Put("dataset", "ann/d", map[string]string{"old.jsonl.curation.jsonl": ledger, "README.md": "# old\n"})

	var out, said bytes.Buffer
	cache := t.TempDir()
	h := &host.Host{
		Data:   sanitize.New(&out),
		Talk:   sanitize.New(&said),
		DryRun: true,
		JSON:   true,
		LookupEnv: func(name string) (string, bool) {
			v, is := map[string]string{"HF_ENDPOINT": s.URL, "HF_TOKEN": "secret", "HF_HOME": cache}[name]
			return v, is
		},
	}
	a := PushAsked{Folder: dir, To: "ann/d", Mirror: true}
	if _, err := Push(t.Context(), h, a); err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Files []struct {
			Path  string
			Bytes int64
		}
		Removed []string
	}
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil || len(plan.Files) != 3 ||
		plan.Files[0].Path != "README.md" || plan.Files[0].Bytes != 7 || plan.Files[2].Path != "train.jsonl" ||
		!slices.Equal(plan.Removed, []string{"old.jsonl.curation.jsonl"}) {
		t.Errorf("%+v, %v: %s", plan, err, out.String())
	}
	for _, name := range []string{
		"ledgers/mine.jsonl", "train.jsonl.curation.jsonl", "train.jsonl.curation.jsonl.bak",
		"train.jsonl.curation.jsonl.gz", "old.gz", "blank.jsonl", "ops.jsonl",
	} {
		if !strings.Contains(said.String(), "left out "+name+":") {
			t.Errorf("%s is not said to be left out: %s", name, said.String())
		}
	}
	if files, _ := s.Files("dataset", "ann/d", "main"); files["train.jsonl"] != "" {
		t.Error("a rehearsal pushed")
	}
	a.To = "ann/new" // a mirror of what is not there yet
	if _, err := Push(t.Context(), h, a); err != nil {
		t.Error(err)
	}

	h.DryRun, a.To = false, "ann/d"
	if _, err := Push(t.Context(), h, a); err != nil {
		t.Fatal(err)
	}
	files, _ := s.Files("dataset", "ann/d", "main")
	for name, text := range files {
		if strings.Contains(text, "hunter2!") || strings.HasPrefix(text, "\x1f\x8b") {
			t.Errorf("%s was pushed", name)
		}
	}
	if files["train.jsonl"] != "{}\n" || files["train.curation.txt"] != `{"curation` {
		t.Errorf("%v", files)
	}
}
