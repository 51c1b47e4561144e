package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hone/internal/eval/stats"
)

// panel is estimates with intervals below each other on one axis: a system in each row, or a pair of systems.
type panel struct {
	Title, Means string
	Rows         []track
	Ticks        []string // at equal distances, from one end of the axis to the other
	Grid         string   // path of the lines at the ticks
	Zero         string   // where 0 lies on an axis of differences, else ""
}

// lane is one row of a panel, as it is drawn.
type lane struct {
	Row  track
	Grid string
	Zero string
}

// Lanes are the rows.
func (p panel) Lanes() (out []lane) {
	for _, r := range p.Rows {
		out = append(out, lane{r, p.Grid, p.Zero})
	}
	return out
}

// span is an axis from Low to High with ticks at equal distances.
type span struct {
	low, high float64
	marks     []string
	zero      string // of an axis of differences
}

// shares is the axis of rates.
func shares() span { return span{low: 0, high: 1, marks: []string{"0", "25", "50", "75", "100%"}} }

// around is the axis of differences of rates in percentage points: 0 and all of the intervals lie on it.
func around(intervals []stats.Interval) span {
	low, high := -0.01, 0.01
	for _, i := range intervals {
		if i.N > 0 {
			low, high = min(low, i.Low, i.Mean), max(high, i.High, i.Mean)
		}
	}
	s := spanOf(low, high, func(x, step float64) string {
		text := tickText(100*math.Abs(x), 100*step)
		switch {
		case x < -step/2:
			return "\u2212" + text
		case x > step/2:
			return "+" + text
		}
		return "0"
	})
	s.zero = s.at(0)
	return s
}

// spanOf is the axis of any numbers from low to high, which text writes.
func spanOf(low, high float64, text func(x, step float64) string) span {
	if low == high {
		high = low + 1
	}
	at := ticks(low, high, 3)
	s := span{low: at[0], high: at[len(at)-1]}
	for _, v := range at {
		s.marks = append(s.marks, text(v, at[1]-at[0]))
	}
	return s
}

// at is where x lies on the axis, in percent of its length; what lies outside lies at its end.
func (s span) at(x float64) string { return place(min(1, max(0, fraction(x, s.low, s.high)))) }

// panel is an empty panel with the axis.
func (s span) panel(title, means string) panel {
	return panel{Title: title, Means: means, Ticks: s.marks, Grid: s.grid(), Zero: s.zero}
}

func (s span) grid() (path string) {
	for i := range s.marks {
		path += "M" + strings.TrimSuffix(place(float64(i)/float64(len(s.marks)-1)), ".00") + " 0V18"
	}
	return path
}

// track is an estimate with its interval as a line of a plot: places are in percent of the plot's width.
type track struct {
	Name           string
	Class          string // colour: of a system, or of a verdict
	Low, High, Mid string
	Text, Interval string
	Note           string
	Verdict        string // of a difference
	Empty          bool   // nothing was measured
	Says           string // all of it in words
}

// rate lays out a share of 1.
func (s span) rate(name, class string, i stats.Interval) track {
	return s.track(name, class, i, percent, func(x float64) string { return fmt.Sprintf("%.1f", 100*x) })
}

// track lays out an estimate whose numbers are written by text, and those of its interval by end.
func (s span) track(name, class string, i stats.Interval, text, end func(float64) string) track {
	if i.N == 0 {
		return track{Name: name, Class: class, Empty: true, Text: "-", Says: name + ": nothing was measured"}
	}
	if i.Low > i.Mean || i.High < i.Mean { // no interval
		i.Method, i.Low, i.High = "", i.Mean, i.Mean
	}
	t := track{Name: name, Class: class, Low: s.at(i.Low), High: s.at(i.High), Mid: s.at(i.Mean), Text: text(i.Mean)}
	t.Says = fmt.Sprintf("%s: %s", name, t.Text)
	if i.Method != "" && i.Low < i.High { // all are alike: nothing to show
		t.Interval = end(i.Low) + " to " + end(i.High)
		if i.TooFew {
			t.Interval += ", too few"
		}
		t.Says += ", interval " + t.Interval
	}
	return t
}

// difference lays out a difference of rates.
func (s span) difference(name string, i stats.Interval) track {
	if i.N == 0 {
		return track{Name: name, Class: classOf(i), Empty: true, Text: "-", Verdict: verdict(i),
			Says: name + ": " + verdict(i)}
	}
	t := s.track(name, classOf(i), i, points, points)
	t.Verdict = verdict(i)
	t.Says = fmt.Sprintf("%s: %s points, interval %s, %s", name, t.Text, t.Interval, t.Verdict)
	return t
}

// unitLast leaves the unit " s" with the last mark alone, where all have it: in a narrow panel they would run into each
// other.
func unitLast(marks []string) []string {
	const unit = " s"
	if slices.ContainsFunc(marks, func(m string) bool { return !strings.HasSuffix(m, unit) }) {
		return marks
	}
	out := slices.Clone(marks)
	for i := range out[:len(out)-1] {
		out[i] = strings.TrimSuffix(out[i], unit)
	}
	return out
}
