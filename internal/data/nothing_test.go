package data

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/data/curate"
	"hone/internal/data/dataset"
	"hone/internal/host"
)

// Where nothing is left to write, the error says why, whether a person left it out, the split, or what came of it.
func TestNothingToWriteSaysWhy(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "traces.jsonl")
	row := `{"id":"%s","split":"%s","outcome":"ok","terms":[{"name":"checks","score":%d}],"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}` + "\n"
	if err := os.WriteFile(data, fmt.Appendf(fmt.Appendf(fmt.Appendf(nil, row, "good", "train", 1), row, "bad",
		"train", 0), row, "measured", "test", 1), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Curating{Data: data, Author: "ann"}.Open(&host.Host{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	refused := func(form string, accepted bool, want ...string) {
		t.Helper()
		written, err := d.Export(form, filepath.Join(dir, "out"), accepted, false)
		for _, why := range want {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: no %q in %v", form, why, err)
			}
		}
		if len(written.LeftOut) != len(want) {
			t.Errorf("%s: left out %v", form, written.LeftOut)
		}
	}
	refused("hone", true, "3 rows: not accepted")
	if _, _, err := d.Do(curate.Op{Do: curate.Reject, Trace: "good", Author: "ann"}); err != nil {
		t.Fatal(err)
	}
	refused("hone", true, "1 row: rejected", "2 rows: not accepted")
	refused("trl", false, "1 row: rejected", "1 row: traces that failed", "1 row: of the split test")
	if written, err := d.Export("hone", filepath.Join(dir, "some"), false, false); err != nil || written.Rows != 2 ||
		written.LeftOut["rejected"] != 1 {
		t.Errorf("%+v, %v", written, err)
	}
	data = filepath.Join(dir, "others.jsonl")
	if err := os.WriteFile(data, fmt.Appendf(nil, row, "bad", "train", 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Conversion{From: []string{data}, To: "trl",
		Out: filepath.Join(dir, "converted"), Unroll: dataset.Whole}).Convert(t.Context(), &host.Host{}); err == nil ||
		!strings.Contains(err.Error(), "1 row: traces that failed") {
		t.Error(err)
	}
}
