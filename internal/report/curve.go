package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A plot's area in SVG units, and the room around it for labels.
const (
	plotWidth, plotHeight = 300.0, 130.0
	roomLeft, roomTop     = 46.0, 10.0
	roomRight, roomBelow  = 14.0, 22.0
)

// metric is how one of the metrics that recipes keep is shown.
type metric struct {
	name  string // in the ledger
	title string
	means string // in a few words
	form  form
}

// form says what a metric's axis is.
type form int

const (
	free     form = iota // any numbers
	fromZero             // numbers from 0 up
	share                // of 1, as percent
	seconds
	dollars
)

// shown are the metrics that a page shows at once, in order. Others are folded away under the names they have.
var shown = []metric{
	{"reward", "Reward", "mean of the episodes", free},
	{"success", "Success", "share of scenarios that pass all checks", share},
	{"rewards/checks/mean", "Checks passed", "share of sampled episodes", share},
	{"loss", "Loss", "of the step's batch", free},
	{"sampling/mismatch_kl", "Mismatch", "sampler against trainer, nats a token", fromZero},
	{"completions/clipped_ratio", "Clipped", "share of episodes that a limit cut", share},
	{"frac_reward_zero_std", "No spread", "share of groups that teach nothing", share},
	{"completions/mean_length", "Length", "sampled tokens of an episode", fromZero},
	{"turns/mean", "Turns", "of an episode", fromZero},
	{"grad_norm", "Gradient", "norm before it is bounded", fromZero},
	{"masked_ratio", "Masked", "share of episodes lost to servers or machine", share},
	{"step_time", "Time", "of a step", seconds},
}

// plot is one metric laid out for SVG.
type plot struct {
	Title, Means, Name string
	Latest             string // the last finite value, "" without one
	Path, Mean         string // each step's values; the mean of the last few, "" where there are few
	Dots               []dot
	X, Y               []tick
	Skipped            int // values that are not finite
	Window             int // steps in Mean
}

type dot struct {
	X, Y string
	Says string
}

type tick struct {
	At   string // along the axis, in SVG units
	Text string
}

// drawnStage is a stage's plots: those shown at once, and those folded away.
type drawnStage struct {
	Name  string
	Steps int
	Plots []plot
	More  []plot
}

func drawStage(s Stage) drawnStage {
	out := drawnStage{Name: s.Name, Steps: len(s.Steps)}
	steps := slices.Clone(s.Steps)
	slices.SortStableFunc(steps, func(a, b Step) int { return a.Number - b.Number })
	left := map[string]bool{}
	for _, step := range steps {
		for name := range step.Values {
			left[name] = true
		}
	}
	for _, m := range shown {
		if left[m.name] && !(m.name == "masked_ratio" && allZero(steps, m.name)) {
			out.Plots = append(out.Plots, draw(m, steps))
			delete(left, m.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		out.More = append(out.More, draw(metric{name: name, title: name}, steps))
	}
	return out
}

func allZero(steps []Step, name string) bool {
	return !slices.ContainsFunc(steps, func(s Step) bool { return s.Values[name] != 0 })
}

// draw lays out one metric of steps, which are in order.
func draw(m metric, steps []Step) plot {
	p := plot{Title: m.title, Means: m.means, Name: m.name}
	var at []int
	var values []float64
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range steps {
		y, ok := s.Values[m.name]
		if !ok {
			continue
		}
		at, values = append(at, s.Number), append(values, y)
		if finite(y) {
			low, high = min(low, y), max(high, y)
			p.Latest = m.form.text(y)
		} else {
			p.Skipped++
		}
	}
	if p.Latest == "" {
		return p
	}
	if m.form != free {
		low = min(low, 0)
	}
	if m.form == share && high > 0.5 {
		high = 1
	}
	if low == high && m.form != free {
		high = 1
	}
	y := ticks(low, high, 4)
	low, high = y[0], y[len(y)-1]
	first, last := at[0], at[len(at)-1]
	across := func(step int) float64 { return plotWidth * fraction(float64(step), float64(first), float64(last)) }
	up := func(v float64) float64 { return plotHeight * (1 - fraction(v, low, high)) }
	for _, v := range y {
		p.Y = append(p.Y, tick{coordinate(up(v)), m.form.tick(v, y[1]-y[0])})
	}
	for _, v := range wholeTicks(first, last, 5) {
		p.X = append(p.X, tick{coordinate(across(int(v))), fmt.Sprint(int(v))})
	}
	p.Path = line(at, values, across, up)
	const few, most = 20, 60
	if len(values) <= most {
		for i, v := range values {
			if finite(v) {
				p.Dots = append(p.Dots, dot{coordinate(across(at[i])), coordinate(up(v)),
					fmt.Sprintf("step %d: %s", at[i], m.form.text(v))})
			}
		}
	}
	if len(values) >= few && p.Skipped == 0 {
		p.Window = len(values) / 10
		p.Window = max(3, min(p.Window, 20))
		p.Mean = line(at, trailing(values, p.Window), across, up)
		p.Dots = nil
	}
	return p
}

// line is a path; the pen is lifted over values that are not finite.
func line(at []int, values []float64, across func(int) float64, up func(float64) float64) string {
	var path strings.Builder
	pen := "M"
	for i, v := range values {
		if !finite(v) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%s %s", pen, coordinate(across(at[i])), coordinate(up(v)))
		pen = "L"
	}
	return path.String()
}

// trailing is the mean of the last n values at each place, of fewer at the beginning.
func trailing(values []float64, n int) []float64 {
	out := make([]float64, len(values))
	for i := range values {
		from := max(0, i-n+1)
		for _, v := range values[from : i+1] {
			out[i] += v / float64(i+1-from)
		}
	}
	return out
}

// coordinate writes a place of an SVG in tenths.
func coordinate(x float64) string {
	text := fmt.Sprintf("%.1f", x)
	if text == "-0.0" {
		return "0.0"
	}
	return text
}

func (f form) text(x float64) string {
	switch f {
	case share:
		return percent(x)
	case seconds:
		return duration(x)
	case dollars:
		return "$" + number(x)
	}
	return number(x)
}

func (f form) tick(x, step float64) string {
	switch f {
	case share:
		return tickText(100*x, 100*step) + "%"
	case seconds:
		return tickText(x, step) + " s"
	case dollars:
		return "$" + tickText(x, step)
	}
	return tickText(x, step)
}
