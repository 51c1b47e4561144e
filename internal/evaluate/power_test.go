package evaluate

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/fault"
)

func TestPowerIsTold(t *testing.T) {
	rate, correlation := 0.6, 0.2
	p := Power{Rate: &rate, Correlation: &correlation, Differences: []float64{0.1, 0.5}, Repeats: []int{2}, Powers: []float64{0.8}, Scenarios: []int{3, 100}}
	got, err := p.Tell("", 0.9)
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Design; d.Rate != 0.6 || d.Within != 0.2 || d.Across != 0.2 || d.Level != 0.9 {
		t.Errorf("%+v", d)
	}
	text, err := json.Marshal(got)
	if len(got.Rows) != 2 || got.Rows[0].Scenarios < 30 || got.Rows[0].Repeats != 2 || got.Rows[1].Scenarios != 0 || len(got.Detectable) != 2 || got.Detectable[0].Difference != nil ||
		!(*got.Detectable[1].Difference < 0.11) || err != nil {
		t.Errorf("%s", text)
	}
	var rows []string
	for _, r := range got.Table() {
		rows = append(rows, strings.Join(r, " "))
	}
	if len(rows) != 5 || rows[2] != "+0.5 2 80% -" || rows[3] != "none 2 80% 3" || !strings.Contains(got.String(), "0.6 of the episodes") {
		t.Errorf("%q", rows)
	}
	if half, err := (Power{Differences: []float64{0.1}, Repeats: []int{1}, Powers: []float64{0.8}}).Tell("", 0.95); err != nil || half.Design.Rate != 0.5 || half.Design.Within != 0.5 {
		t.Errorf("%+v, %v", half, err)
	}
	nought, two := 0.0, 2.0
	for where, p := range map[string]Power{"--rate": {Rate: &nought}, "--correlation": {Correlation: &two}, "--differences": {Differences: []float64{0}},
		"--power": {Powers: []float64{1}}, "--repeats": {Repeats: []int{0}}, "--scenarios": {Scenarios: []int{-1}}} {
		if _, err := p.Tell("", 0); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: %v", where, err)
		}
	}
	if _, err := (Power{}).Tell(t.TempDir(), 0); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), "no run there") {
		t.Errorf("%v", err)
	}
}
