package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"hone/internal/eval"
)

// track is an estimate with its interval as a line of a plot: places are in percent of the plot's width.
type track struct {
	Name            string
	Class           string // colour: of a system, or of a verdict
	From, Low, High string // where a bar begins, and the interval
	Mid             string
	Width           string // of a bar from From to Mid
	Text, Interval  string
	Verdict         string // of a difference
	Empty           bool   // nothing was measured
	Says            string // all of it in words
}

// rate lays out a share of 1.
func rate(name, class string, mean, low, high float64, n int) track {
	t := track{Name: name, Class: class, From: "0", Width: place(mean), Mid: place(mean), Low: place(low), High: place(high),
		Text: percent(mean), Interval: fmt.Sprintf("%.1f to %.1f", 100*low, 100*high), Empty: n == 0}
	t.Says = fmt.Sprintf("%s: %s, interval %s", name, t.Text, t.Interval)
	if t.Empty {
		t.Text, t.Interval, t.Says = "-", "", name+": nothing was measured"
	}
	return t
}

func place(x float64) string { return fmt.Sprintf("%.2f", 100*x) }

// difference lays out a difference of rates on an axis from -reach to reach.
func difference(name string, d eval.Interval, reach float64) track {
	at := func(x float64) string { return place((x/reach + 1) / 2) }
	t := track{Name: name, Class: classOf(d), Mid: at(d.Mean), Low: at(d.Low), High: at(d.High), Verdict: verdict(d), Empty: d.N == 0}
	if t.Empty {
		t.Text, t.Says = "-", name+": "+t.Verdict
		return t
	}
	t.Text, t.Interval = points(d.Mean), points(d.Low)+" to "+points(d.High)
	t.Says = fmt.Sprintf("%s: %s points, interval %s, %s", name, t.Text, t.Interval, t.Verdict)
	return t
}

// reach is how far an axis around 0 must go for all intervals, on a round number.
func reach(deltas []eval.Delta) float64 {
	far := 0.01
	for _, d := range deltas {
		for _, i := range []eval.Interval{d.First, d.Episode} {
			far = max(far, math.Abs(i.Low), math.Abs(i.High))
		}
	}
	return min(1, roundUp(far))
}

// verdict says in words what an interval of a difference shows.
func verdict(d eval.Interval) string {
	switch {
	case d.N == 0:
		return "no scenario in common"
	case d.Low > 0:
		return "better"
	case d.High < 0:
		return "worse"
	}
	return "no clear difference"
}

func classOf(d eval.Interval) string {
	switch {
	case d.N > 0 && d.Low > 0:
		return "better"
	case d.N > 0 && d.High < 0:
		return "worse"
	}
	return "same"
}

// colour is the class of a system by its place; a page has six, then they come again.
func colour(i int) string { return fmt.Sprintf("s%d", i%6) }

func percent(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*x), ".0") + "%" }

// points is a difference of rates in percentage points, with the minus sign that is as wide as a plus.
func points(x float64) string {
	return strings.Replace(fmt.Sprintf("%+.1f", 100*x), "-", "\u2212", 1)
}

func number(x float64) string {
	if a := math.Abs(x); a > 0 && (a < 1e-3 || a >= 1e6) {
		return short(x)
	}
	return fmt.Sprintf("%.4g", x)
}

func duration(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f ms", 1000*s)
}
