package report

import (
	"fmt"

	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// powerTable is the table of it.
type powerTable struct {
	Says    string
	Assumes string
	Repeats []string
	Rows    []powerRow
}

type powerRow struct {
	Difference string
	Scenarios  []string // by repeats
}

func drawPower(n Numbers) *powerTable {
	p := n.Power
	if p == nil {
		return nil
	}
	repeats := fault.Count(p.Repeats, "repeat")
	d := &powerTable{
		Says: fmt.Sprintf("%s with %s find a gain of %s points or more over %s, in %s of evaluations like this one.",
			fault.Count(p.Scenarios, "scenario"), repeats, tickText(100*p.Detectable, 0.1), p.Old,
			percent(stats.PagePower)),
	}
	if !p.Found {
		d.Says = fmt.Sprintf("%s with %s are too few to find any gain over %s for certain.",
			fault.Count(p.Scenarios, "scenario"), repeats, p.Old)
	}
	d.Assumes = fmt.Sprintf("By what was seen of %s and %s: %s does %s, attempts of one system at a scenario "+
		"correlate by %.2f, those of both by %.2f.", p.Old, p.New, p.Old, percent(p.Rate), p.Within, p.Across)
	if !p.Repeated {
		d.Assumes += " Without repeats the one is taken to be the other."
	}
	if p.FamilySize > 1 {
		d.Assumes += fmt.Sprintf(" A family of scenarios has %.3g of them, whose differences correlate by %.2f.",
			p.FamilySize, p.Family)
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
