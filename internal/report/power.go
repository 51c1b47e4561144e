package report

import (
	"fmt"
	"slices"

	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// power is the probability with which a difference is to be found, in what a page says of it.
const power = 0.8

// Power is how small a difference the evaluation can find, and how many scenarios smaller ones take, by what was seen of two
// systems: the first and the last.
type Power struct {
	Old        string           `json:"old"`
	New        string           `json:"new"`
	Rate       float64          `json:"rate"`                  // of Old, see eval.Design
	Within     float64          `json:"within"`                // correlation of two attempts of one system at a scenario
	Across     float64          `json:"across"`                // and of two systems
	FamilySize float64          `json:"family_size,omitempty"` // scenarios of a family, see eval.Design; 0 without families
	Family     float64          `json:"family,omitempty"`      // correlation of the differences of two of them
	Repeated   bool             `json:"repeated"`
	Scenarios  int              `json:"scenarios"`  // that both have
	Repeats    int              `json:"repeats"`    // of each
	Detectable float64          `json:"detectable"` // the smallest gain that is found with a probability of 0.8
	Found      bool             `json:"found"`      // false: not even the largest gain there can be is
	Rows       []stats.PowerRow `json:"rows"`
}

// power is nil without two systems, and where the old one does all scenarios or none: how scenarios differ is not known then.
func (p Page) power() *Power {
	if len(p.Systems) < 2 {
		return nil
	}
	old, new := p.Systems[0], p.Systems[len(p.Systems)-1]
	d, repeated := stats.Observe(old.Rows, new.Rows, p.Bootstrap)
	n := stats.Compare(old.Rows, new.Rows, stats.Completion(), stats.Bootstrap{NumResamples: 1}).N
	if d.Rate <= 0 || d.Rate >= 1 || n == 0 {
		return nil
	}
	out := Power{Old: old.Name, New: new.Name, Rate: d.Rate, Within: d.Within, Across: d.Across, FamilySize: d.FamilySize, Family: d.Family, Repeated: repeated, Scenarios: n, Repeats: max(1, new.NumRepeats())}
	out.Detectable, out.Found = d.Detectable(n, power, out.Repeats)
	repeats := []int{1, 2, 4, out.Repeats}
	slices.Sort(repeats)
	out.Rows = stats.PowerTable(d, []float64{0.01, 0.02, 0.05, 0.1, 0.2}, slices.Compact(repeats), []float64{power})
	return &out
}

// drawnPower is the table of it.
type drawnPower struct {
	Says    string
	Assumes string
	Repeats []string
	Rows    []powerRow
}

type powerRow struct {
	Difference string
	Scenarios  []string // by repeats
}

func drawPower(n Numbers) *drawnPower {
	p := n.Power
	if p == nil {
		return nil
	}
	repeats := fault.Count(p.Repeats, "repeat")
	d := &drawnPower{Says: fmt.Sprintf("%s with %s find a gain of %s points or more over %s, in %s of evaluations like this one.", fault.Count(p.Scenarios, "scenario"), repeats,
		tickText(100*p.Detectable, 0.1), p.Old, percent(power))}
	if !p.Found {
		d.Says = fmt.Sprintf("%s with %s are too few to find any gain over %s for certain.", fault.Count(p.Scenarios, "scenario"), repeats, p.Old)
	}
	d.Assumes = fmt.Sprintf("By what was seen of %s and %s: %s does %s, attempts of one system at a scenario correlate by %.2f, those of both by %.2f.", p.Old, p.New, p.Old, percent(p.Rate), p.Within, p.Across)
	if !p.Repeated {
		d.Assumes += " Without repeats the one is taken to be the other."
	}
	if p.FamilySize > 1 {
		d.Assumes += fmt.Sprintf(" A family of scenarios has %.3g of them, whose differences correlate by %.2f.", p.FamilySize, p.Family)
	}
	for _, r := range p.Rows {
		if text := points(r.Difference); len(d.Rows) == 0 || d.Rows[len(d.Rows)-1].Difference != text {
			d.Rows = append(d.Rows, powerRow{Difference: text})
		}
		if len(d.Rows) == 1 {
			d.Repeats = append(d.Repeats, fault.Count(r.Repeats, "repeat"))
		}
		cell := fmt.Sprint(r.Scenarios)
		if r.Scenarios == 0 {
			cell = "-" // above 100%
		}
		last := &d.Rows[len(d.Rows)-1]
		last.Scenarios = append(last.Scenarios, cell)
	}
	return d
}
