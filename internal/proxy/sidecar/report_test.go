package sidecar

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/eval/stats"
	"hone/internal/host"
)

// The tables of a report have widths of their own, and each fits a terminal of 120 columns.
func TestReportFitsATerminal(t *testing.T) {
	sure := stats.Interval{Mean: 1, Low: 0.9, High: 1, N: 40}
	few := stats.Interval{Mean: 1, Low: -0.9, High: 1, N: 4, TooFew: true}
	p := &Report{Parts: map[string][]PartRates{}}
	for _, name := range []string{"nothing", "reviser_alone"} {
		p.Systems = append(p.Systems, Measured{
			System:   name,
			Rows:     3120,
			Success:  few,
			Fixed:    few,
			Harmed:   few,
			Net:      few,
			Asked:    1,
			Prompt:   424,
			Written:  39,
			Executed: &few,
		})
		p.Pairs = append(p.Pairs, Gain{New: name, Old: "fixer", Interval: sure})
		p.Parts["kind"] = append(p.Parts["kind"],
			PartRates{System: name, Part: strings.Repeat("k", 30), Right: 1, Wrong: 2, Net: few})
	}
	var out bytes.Buffer
	h := &host.Host{Data: sanitize.New(&out)}
	if err := h.Print(nil, p.Tables()); err != nil {
		t.Fatal(err)
	}
	tables := strings.Split(out.String(), "\n\n")
	if len(tables) != 5 || !strings.HasPrefix(tables[2], "NEW            OLD    GAIN IN POINTS\n") {
		t.Errorf("%d tables, or widths that are another one's:\n%s", len(tables), &out)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 121 || strings.HasSuffix(line, " \n") {
			t.Errorf("%d columns: %q", len(line)-1, line)
		}
	}
	if p.Doubt() == "" || !strings.Contains(tables[0], "+100.0 [-90.0, +100.0]*") {
		t.Errorf("too little evidence is not told of: %q, %s", p.Doubt(), tables[0])
	}
	for i := range p.Systems {
		p.Systems[i].Success, p.Systems[i].Fixed, p.Systems[i].Harmed, p.Systems[i].Net, p.Parts["kind"][i].Net =
			sure, sure, sure, sure, sure
		p.Systems[i].Executed = &sure
	}
	if doubt := p.Doubt(); doubt != "" || strings.Contains(fmt.Sprint(p.Tables()), "*") {
		t.Errorf("it doubts %q", doubt)
	}
}
