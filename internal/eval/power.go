package eval

import (
	"fmt"
	"math"

	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/job/records"
)

// Power is a question about an evaluation that is to come. Rate and Correlation may be nil: a run says them, or they
// are 0.5.
type Power struct {
	Rate        *float64 // of the old system, in (0, 1)
	Correlation *float64 // of two attempts at one scenario, in [0, 1], of one system and of two
	FamilySize  *float64 // scenarios of a family, at least 1; nil: those of the run, or 1
	// correlation of the differences of two scenarios of one family, in [0, 1]; nil: that of the run, or 0.5
	Family      *float64
	Differences []float64
	Repeats     []int
	Scenarios   []int // whose smallest gain that is found is to be told
	Powers      []float64
}

// PowerTold is the answer.
type PowerTold struct {
	Design     stats.Design     `json:"design"`
	Rows       []stats.PowerRow `json:"rows"`
	Detectable []Detectable     `json:"detectable,omitempty"`
	Note       string           `json:"note,omitempty"` // what was assumed, for the run cannot say it
}

// Detectable is the smallest gain that some scenarios find; nil where they find none.
type Detectable struct {
	Scenarios  int      `json:"scenarios"`
	Repeats    int      `json:"repeats"`
	Power      float64  `json:"power"`
	Difference *float64 `json:"difference"`
}

// assumed is the rate, and the correlation, where nothing says them.
const assumed = 0.5

// Tell answers. path is the folder of an evaluation whose rate and spread are taken, "" for none; level is the coverage
// of intervals.
func (p Power) Tell(path string, level float64) (PowerTold, error) {
	if err := p.check(); err != nil {
		return PowerTold{}, err
	}
	out := PowerTold{Design: stats.Design{Rate: assumed, Within: assumed, Across: assumed, Level: level}}
	if path != "" {
		var err error
		if out.Design, out.Note, err = designOfRun(path); err != nil {
			return out, err
		}
	}
	if p.Rate != nil {
		out.Design.Rate = *p.Rate
	}
	if p.Correlation != nil {
		out.Design.Within, out.Design.Across, out.Note = *p.Correlation, *p.Correlation, ""
	}
	p.families(&out.Design)
	if r := out.Design.Rate; r <= 0 || r >= 1 {
		return out, &fault.Error{
			Code:  fault.CodeUsage,
			What:  fmt.Sprintf("the first system does %g of its episodes, from which no spread can be told", r),
			Where: path,
			Next:  "give --rate and --correlation",
		}
	}
	out.Rows = stats.PowerTable(out.Design, p.Differences, p.Repeats, p.Powers)
	for _, n := range p.Scenarios {
		for _, k := range p.Repeats {
			for _, power := range p.Powers {
				row := Detectable{Scenarios: n, Repeats: k, Power: power}
				if x, found := out.Design.Detectable(n, power, k); found {
					row.Difference = &x
				}
				out.Detectable = append(out.Detectable, row)
			}
		}
	}
	return out, nil
}

// families sets what the user says of families. Whose sizes are given, and were not seen, are taken to be as alike as
// attempts are.
func (p Power) families(d *stats.Design) {
	seen := d.FamilySize > 1
	if p.FamilySize != nil {
		d.FamilySize = *p.FamilySize
	}
	switch {
	case p.Family != nil:
		d.Family = *p.Family
	case !seen && d.FamilySize > 1:
		d.Family = assumed
	}
}

// String is what the numbers are based on.
func (p PowerTold) String() string {
	text := fmt.Sprintf("the old system does %.3g of the episodes\nhow alike two attempts at one scenario end (0: "+
		"as by chance, 1: always the same): %.2g by one system twice, %.2g by the old and the new system",
		p.Design.Rate, p.Design.Within, p.Design.Across)
	if p.Design.FamilySize > 1 {
		text += fmt.Sprintf("\na family has %.3g scenarios; how alike their gains are, on the same scale: %.2g",
			p.Design.FamilySize, p.Design.Family)
	}
	if p.Note != "" {
		text += "\nnote: " + p.Note
	}
	return text
}

// Table lays it out for a person.
func (p PowerTold) Table() [][]string {
	rows := [][]string{{"DIFFERENCE", "REPEATS", "POWER", "SCENARIOS"}}
	add := func(first string, repeats int, power float64, last string) {
		rows = append(rows, []string{first, fmt.Sprint(repeats), fmt.Sprintf("%.0f%%", 100*power), last})
	}
	for _, r := range p.Rows {
		n := fmt.Sprint(r.Scenarios)
		if r.Scenarios == 0 {
			n = noRate(p.Design.Rate, r.Difference)
		}
		add(fmt.Sprintf("%+.3g", r.Difference), r.Repeats, r.Power, n)
	}
	if len(p.Detectable) > 0 {
		rows = append(rows, []string{}, []string{"SCENARIOS", "REPEATS", "POWER", "SMALLEST GAIN"})
	}
	for _, d := range p.Detectable {
		text := "none"
		if d.Difference != nil {
			text = fmt.Sprintf("%+.3g", *d.Difference)
		}
		add(fmt.Sprint(d.Scenarios), d.Repeats, d.Power, text)
	}
	return rows
}

// noRate says why there is no number of scenarios: the new system's rate would be none.
func noRate(rate, difference float64) string {
	sign, side := "+", "above 1"
	if difference < 0 {
		sign, side = "-", "below 0"
	}
	return fmt.Sprintf("none: %.3g %s %.3g is %s", rate, sign, math.Abs(difference), side)
}

// check refuses numbers that no evaluation has.
func (p Power) check() error {
	wrong := func(flag, why string) error {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot tell the power of that", Where: flag, Why: why,
			Next: "hone eval power --help"}
	}
	if p.Rate != nil && !(*p.Rate > 0 && *p.Rate < 1) {
		return wrong("--rate", "it must be above 0 and below 1")
	}
	if p.Correlation != nil && !(*p.Correlation >= 0 && *p.Correlation <= 1) {
		return wrong("--correlation", "it must be 0 to 1")
	}
	if p.FamilySize != nil && !(*p.FamilySize >= 1 && *p.FamilySize <= 1e6) {
		return wrong("--family-size", "it must be 1 to 1000000")
	}
	if p.Family != nil && !(*p.Family >= 0 && *p.Family <= 1) {
		return wrong("--family-correlation", "it must be 0 to 1")
	}
	for _, x := range p.Differences {
		if !(math.Abs(x) <= 1 && math.Abs(x) >= stats.MinDifference) {
			return wrong(
				fmt.Sprintf("--differences %g", x), fmt.Sprintf("each must be -1 to 1, and %g or more away from 0: "+
					"a smaller one takes hundreds of millions of scenarios", stats.MinDifference),
			)
		}
	}
	for _, x := range p.Powers {
		if !(x >= 0.5 && x < 1) {
			return wrong("--power", "each must be at least 0.5 and below 1")
		}
	}
	for _, k := range append(append([]int{}, p.Repeats...), p.Scenarios...) {
		if k < 1 {
			return wrong("--repeats, --scenarios", "each must be at least 1")
		}
	}
	return nil
}

// designOfRun is what the evaluation in a run's folder says about the power of the next one: the rate of its first
// system, and how alike attempts at one scenario are. It comes with a note where the run cannot say all of that.
func designOfRun(path string) (d stats.Design, note string, err error) {
	p, err := records.PageOf(path)
	if err != nil {
		return d, "", err
	}
	if len(p.Systems) == 0 {
		return d, "", &fault.Error{Code: fault.CodeUsage, What: "the run holds no evaluation", Where: path,
			Next: "name a run of hone eval, or leave the run out and give --rate and --correlation"}
	}
	d, note = designOf(p.Comparison)
	return d, note, nil
}

// designOf is designOfRun of an evaluation that has a system.
func designOf(c stats.Comparison) (d stats.Design, note string) {
	d, repeated := stats.Observe(c.Systems[0].Rows, c.Systems[len(c.Systems)-1].Rows, c.Bootstrap)
	switch {
	case d.Rate <= 0 || d.Rate >= 1:
		d.Within, d.Across = assumed, assumed
		note = fmt.Sprintf("%s has a rate of %g in the run, and from a rate of 0 or 1 no spread can be told: "+
			"a correlation of %g is assumed", c.Systems[0].Name, d.Rate, assumed)
	case len(c.Systems) == 1 && !repeated:
		d.Within, d.Across = assumed, assumed
		note = fmt.Sprintf("the run has one system and one episode of each scenario: a correlation of %g is assumed",
			assumed)
	case len(c.Systems) == 1:
		d.Across = d.Within
		note = "the run has one system: another is taken to find the same scenarios hard"
	case !repeated:
		note = "the run has one episode of each scenario: two of one system are taken to be as alike as those of " +
			"two systems"
	}
	return d, note
}
