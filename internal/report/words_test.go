package report_test

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/report"
)

// The page says what its numbers are: what orchestration and tools are of, what the weight of extra is, and where
// nothing got worse.
func TestPageSaysWhatItCounts(t *testing.T) {
	text := func(p report.Page) string {
		_, text, err := elements(html(t, p))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	p := sample(12)
	if said := text(p); !strings.Contains(said, "the time in which neither trainer nor sampler worked") ||
		strings.Contains(said, "no model, tool or user") || strings.Contains(said, "Nothing got worse") {
		t.Error("of training, orchestration is no time of episodes; and the sample has regressions")
	}
	p.Parts = []stats.Part{
		{Name: stats.ModelsPart, Seconds: 40},
		{Name: "tools", Seconds: 4.2},
		{Name: "orchestration", Seconds: 1, Orchestration: true},
	}
	p.Systems = p.Systems[:1]
	better := p.Systems[0]
	better.Name, better.Rows = "better", slices.Clone(better.Rows)
	for i := range better.Rows {
		better.Rows[i].Episode = true
	}
	p.Systems = append(p.Systems, better)
	for i := range p.Systems {
		for k := range p.Systems[i].Episodes {
			e := &p.Systems[i].Episodes[k]
			t := *e.Trajectory
			t.Terms = append(slices.Clone(t.Terms), trajectory.Term{Name: "extra", Score: 0.5})
			e.Trajectory = &t
		}
	}
	said := text(p)
	for _, want := range []string{
		"the part of the episodes' time in which no model, tool or user worked",
		"Tools are the calls, and the start and the end of servers", "Time of tool calls", "Waiting for the model",
		"compiling at its first use", "weight: minus what checks and end earned", "Nothing got worse",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(said, "neither trainer nor sampler") {
		t.Error("an evaluation has no trainer")
	}
}

// Only the last mark of an axis of seconds has the unit: in a narrow panel they would run into each other.
func TestSecondsOnce(t *testing.T) {
	for _, x := range []struct{ marks, want []string }{
		{[]string{"0 s", "50 s", "100 s", "150 s"}, []string{"0", "50", "100", "150 s"}},
		{[]string{"0", "25", "100%"}, []string{"0", "25", "100%"}},
	} {
		if got := report.UnitLast(x.marks); !slices.Equal(got, x.want) {
			t.Errorf("%q", got)
		}
	}
	if page := html(t, sample(12)); strings.Contains(page, "<i>0 s</i>") || !strings.Contains(page, " s</i></span>") {
		t.Error("an axis has a unit at its 0, or none")
	}
}
