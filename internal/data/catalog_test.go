package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/data/curate"
	"hone/internal/data/dataset"
	"hone/internal/job"
	"hone/internal/testing/fakes"
)

// Of a folder with the files of several runs, each row has the tools of the catalog beside its own file, whether its
// episode was shown them or it names none; a catalog that is named counts for all. What does not fit those tools is
// found, and exported are those tools.
func TestToolsAreOfARowsOwnCatalog(t *testing.T) {
	data := t.TempDir()
	const row = `{"id":%q,%s"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":%q,"arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"},{"role":"assistant","content":"a"}]}` + "\n"
	for _, name := range []string{"rain", "snow"} {
		dir := filepath.Join(data, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		hash := saveCatalog(t, filepath.Join(dir, job.CatalogFile), name)
		rows := fmt.Sprintf(row, name+" shown", fmt.Sprintf(`"shown":{"catalog":%q,"all":true},`, hash), name) +
			fmt.Sprintf(row, name+" unnamed", "", name)
		if err := os.WriteFile(filepath.Join(dir, "traces.jsonl"), []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	d, err := Curating{Data: data, Ledger: ledger, Author: "a"}.Open(fakes.QuietHost(t))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if len(d.Traces()) != 4 {
		t.Fatalf("%d traces", len(d.Traces()))
	}
	for _, x := range d.Traces() {
		own := filepath.Base(filepath.Dir(x.Row.File))
		if len(x.Row.Tools) != 1 || x.Row.Tools[0].Name != own || len(d.checker.Findings(x)) > 0 {
			t.Errorf("%s: %+v, %q", x.ID, x.Row.Tools, d.checker.Findings(x))
		}
	}
	if _, _, err := d.Do(curate.Op{Do: curate.Accept, Trace: "snow shown"}); err != nil {
		t.Error(err)
	}
	other := filepath.Join(t.TempDir(), "hail.json")
	saveCatalog(t, other, "hail")
	alone := filepath.Join(filepath.Dir(other), "traces.jsonl")
	if err := os.WriteFile(alone, fmt.Appendf(nil, row, "alone", "", "snow"), 0o600); err != nil {
		t.Fatal(err)
	}
	named, err := Curating{Data: alone, Catalog: other}.Open(fakes.QuietHost(t))
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	if x := named.Traces()[0]; x.Row.Tools[0].Name != "hail" || !slices.ContainsFunc(named.checker.Findings(x),
		func(s string) bool { return strings.HasPrefix(s, `message 1, call 0: there is no tool "snow"`) }) {
		t.Errorf("%+v, %q", x.Row.Tools, named.checker.Findings(x))
	}
}

// Conversations that become no row, since nothing of them may be learnt, are counted: what was read is what was written
// and left out.
func TestUnrolledToNothingIsCounted(t *testing.T) {
	data := filepath.Join(t.TempDir(), "traces.jsonl")
	const rows = `{"id":"two","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},{"role":"user","content":"q"},{"role":"assistant","content":"b"}]}
{"id":"masked","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","weight":0}]}
{"id":"asked","messages":[{"role":"user","content":"q"}]}
`
	if err := os.WriteFile(data, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		form, unroll  string
		written, left int
	}{
		{"hone", dataset.Whole, 3, 0},
		{"hone", dataset.Turns, 2, 2},
		{"hone", dataset.Prefixes, 2, 2},
		{"hf-jsonl", dataset.Turns, 2, 2},
		{"trl", dataset.Turns, 2, 2},
	} {
		got, err := Conversion{From: []string{data}, To: c.form, Unroll: c.unroll,
			Out: filepath.Join(t.TempDir(), fmt.Sprint(i))}.Convert(t.Context(), fakes.QuietHost(t))
		if err != nil || got.Read != 3 || got.Written.Rows != c.written || got.LeftOut[noAssistant] != c.left {
			t.Errorf("%s by %s: read %d, wrote %d, left out %v, %v",
				c.form, c.unroll, got.Read, got.Written.Rows, got.LeftOut, err)
		}
	}
}
