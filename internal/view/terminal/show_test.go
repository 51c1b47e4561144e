package terminal

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/eval/stats"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/run/report"
)

// Of a run that holds a finished evaluation, the rates are shown as eval prints them; of one that holds none, nothing.
func TestShowsRates(t *testing.T) {
	var out bytes.Buffer
	e := job.Env{Host: &host.Host{Data: sanitize.New(&out)}}
	if err := rates(e, t.TempDir()); err != nil || out.Len() > 0 {
		t.Fatalf("%v, %s", err, &out)
	}
	var c stats.Comparison
	for _, s := range []stats.System{{Name: "base"}, {Name: "model"}} {
		for i := range 8 {
			s.Rows = append(s.Rows,
				stats.Row{ScenarioID: string(rune('a' + i)), Episode: s.Name == "model" && i > 3, NumGold: 1})
		}
		c.Systems = append(c.Systems, s)
	}
	text, err := json.Marshal(report.Page{Comparison: c}.Numbers())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, report.ResultsFile), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := rates(e, dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SYSTEM", "\nbase ", "\nmodel ", "50.0% [", "\nmodel - base  "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, &out)
		}
	}
}
