package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"hone/internal/eval/stats"
)

func place(x float64) string { return fmt.Sprintf("%.2f", 100*x) }

// verdict says in words what an interval of a difference shows.
func verdict(d stats.Interval) string {
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

func classOf(d stats.Interval) string {
	switch {
	case d.N > 0 && d.Low > 0:
		return "better"
	case d.N > 0 && d.High < 0:
		return "worse"
	}
	return "same"
}

// colour is the class of a system by its place; a page has twelve, then they come again.
func colour(i int) string { return fmt.Sprintf("s%d", i%12) }

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
