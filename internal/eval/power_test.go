package eval

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/eval/stats"
	"hone/internal/fault"
)

func TestPowerIsTold(t *testing.T) {
	rate, correlation := 0.6, 0.2
	p := Power{Rate: &rate, Correlation: &correlation, Differences: []float64{0.1, 0.5}, Repeats: []int{2},
		Powers: []float64{0.8}, Scenarios: []int{3, 100}}
	got, err := p.Tell("", 0.9)
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Design; d.Rate != 0.6 || d.Within != 0.2 || d.Across != 0.2 || d.Level != 0.9 {
		t.Errorf("%+v", d)
	}
	text, err := json.Marshal(got)
	if len(got.Rows) != 2 || got.Rows[0].Scenarios < 30 || got.Rows[0].Repeats != 2 || got.Rows[1].Scenarios != 0 ||
		len(got.Detectable) != 2 || got.Detectable[0].Difference != nil || !(*got.Detectable[1].Difference < 0.11) ||
		err != nil {
		t.Errorf("%s", text)
	}
	var rows []string
	for _, r := range got.Table() {
		rows = append(rows, strings.Join(r, " "))
	}
	if len(rows) != 7 || rows[2] != "+0.5 2 80% none: 0.6 + 0.5 is above 1" ||
		rows[3] != "" || rows[4] != "SCENARIOS REPEATS POWER SMALLEST GAIN" || rows[5] != "3 2 80% none" ||
		!strings.HasPrefix(rows[6], "100 2 80% +0.") || !strings.Contains(got.String(), "0.6 of the episodes") {
		t.Errorf("%q", rows)
	}
	if half, err := (Power{Differences: []float64{0.1}, Repeats: []int{1}, Powers: []float64{0.8}}).Tell("",
		0.95); err != nil || half.Design.Rate != 0.5 || half.Design.Within != 0.5 {
		t.Errorf("%+v, %v", half, err)
	}
	// Scenarios of families take more; how alike they are is said, or assumed.
	most := 0
	for _, x := range []struct {
		size, family *float64
		want         float64
	}{{new(1.0), nil, 0}, {new(5.0), new(0.1), 0.1}, {new(5.0), nil, 0.5}} {
		p := Power{FamilySize: x.size, Family: x.family, Differences: []float64{0.1}, Repeats: []int{1},
			Powers: []float64{0.8}, Scenarios: []int{200}}
		got, err := p.Tell("", 0.95)
		if err != nil || got.Design.Family != x.want || got.Rows[0].Scenarios <= most ||
			strings.Contains(got.String(), "a family has 5 scenarios") != (*x.size > 1) {
			t.Errorf("%+v: %+v, %v", x, got, err)
		}
		most = got.Rows[0].Scenarios
	}
	nought, two := 0.0, 2.0
	for where, p := range map[string]Power{
		"--rate": {Rate: &nought}, "--correlation": {Correlation: &two},
		"--differences 0\n": {Differences: []float64{0}}, "--differences 1e-12": {Differences: []float64{0.1, 1e-12}},
		"--differences -1e-05": {Differences: []float64{-1e-5}}, "--differences 1.5": {Differences: []float64{1.5}},
		"--family-size": {FamilySize: &nought}, "--family-correlation": {Family: &two},
		"--power": {Powers: []float64{1}}, "--repeats": {Repeats: []int{0}},
		"--scenarios": {Scenarios: []int{-1}},
	} {
		if _, err := p.Tell("", 0); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: %v", where, err)
		}
	}
	if _, err := (Power{}).Tell(t.TempDir(), 0); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(err.Error(), "no run there") {
		t.Errorf("%v", err)
	}
}

// The note says why a correlation is assumed: the run's rate may be the reason, not the number of its episodes.
func TestPowerSaysWhatItAssumes(t *testing.T) {
	system := func(repeats int, done ...bool) (s stats.System) {
		s.Name = "base"
		for i, d := range done {
			for k := range repeats {
				s.Rows = append(s.Rows, stats.Row{ScenarioID: string(rune('a' + i)), Repeat: k, Episode: d})
			}
		}
		return s
	}
	for _, x := range []struct {
		system stats.System
		within float64
		want   string
	}{
		{
			system(2, false, false, false), 0.5, "base has a rate of 0 in the run, and from a rate of 0 or 1 no " +
				"spread can be told: a correlation of 0.5 is assumed",
		},
		{system(2, true, true), 0.5, "a rate of 1 in the run"},
		{system(1, true, false), 0.5, "one system and one episode of each scenario"},
		{system(2, true, false), 1, "another is taken to find the same scenarios hard"},
	} {
		if d, note := designOf(stats.Comparison{Systems: []stats.System{x.system}}); d.Within != x.within ||
			!strings.Contains(note, x.want) {
			t.Errorf("%q of %+v, want %q", note, d, x.want)
		}
	}
}

// A run without families has no word of them, and one that may stop early says whether it did.
func TestNotesOfFamiliesAndStops(t *testing.T) {
	rows := func(family string) []stats.Row {
		return []stats.Row{{ScenarioID: "a", Family: family, Episode: true}, {ScenarioID: "b", Family: family}}
	}
	for _, x := range []struct {
		m         Evaluated
		has, lack []string
	}{
		{
			Evaluated{
				Comparison: stats.Comparison{Systems: []stats.System{
					{Name: "base", Rows: rows("")},
					{Name: "model", Rows: rows("")},
				}},
				mayStop: true,
				Known:   make([]Known, 1),
			},
			[]string{"each scenario counts as one piece of evidence\n", "did not stop early"}, []string{"family",
				"stopped early:"},
		},
		{
			Evaluated{
				Comparison: stats.Comparison{Systems: []stats.System{
					{Name: "base", Rows: rows("f")},
					{Name: "model", Rows: rows("f")},
				}},
				mayStop: true,
				NotRun:  3,
				Known:   make([]Known, 1),
			},
			[]string{"a family of scenarios counts once in a confidence sequence",
				"each family of scenarios, or scenario without one, counts as one piece of evidence",
				"stopped early: 3 scenarios were not run"}, []string{"did not stop"},
		},
		{
			Evaluated{Comparison: stats.Comparison{Systems: []stats.System{{Name: "base", Rows: rows("")}}}},
			[]string{"each scenario counts as one piece of evidence\n"},
			[]string{"family", "early"},
		},
	} {
		if told := strings.Contains(strings.Join(x.m.remarks(), "\n"),
			"and did not."); told != (x.m.mayStop && x.m.NotRun == 0) {
			t.Errorf("the page: %q", x.m.remarks())
		}
		said := strings.Join(x.m.Notes(x.m.Comparison.Results()), "\n") + "\n"
		for _, text := range x.has {
			if !strings.Contains(said, text) {
				t.Errorf("no %q in %s", text, said)
			}
		}
		for _, text := range x.lack {
			if strings.Contains(said, text) {
				t.Errorf("%q in %s", text, said)
			}
		}
	}
}
