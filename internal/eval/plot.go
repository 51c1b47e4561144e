package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Size of a plot's area in SVG units; the template leaves room around it for labels.
const (
	plotWidth  = 420.0
	plotHeight = 160.0
)

// plot is a curve laid out for SVG.
type plot struct {
	Name          string
	Path          string // "M x y L x y ..."; the pen is lifted over values that are not finite
	Width, Height float64
	Low, High     string // labels of the value axis
	First, Last   int    // steps
	Latest        string // the last finite value
	Skipped       int    // values that are not finite
}

func newPlot(c Curve) plot {
	p := plot{Name: c.Name, Width: plotWidth, Height: plotHeight}
	points := slices.Clone(c.Points)
	slices.SortStableFunc(points, func(a, b Point) int { return a.Step - b.Step })
	low, high := math.Inf(1), math.Inf(-1)
	for _, q := range points {
		if finite(q.Value) {
			low, high = min(low, q.Value), max(high, q.Value)
			p.Latest = number(q.Value)
		}
	}
	if math.IsInf(low, 1) { // nothing to draw
		p.Skipped = len(points)
		return p
	}
	p.Low, p.High = number(low), number(high)
	p.First, p.Last = points[0].Step, points[len(points)-1].Step
	var path strings.Builder
	pen := "M"
	for _, q := range points {
		if !finite(q.Value) {
			p.Skipped++
			pen = "M"
			continue
		}
		x := plotWidth * fraction(float64(q.Step), float64(p.First), float64(p.Last))
		y := plotHeight * (1 - fraction(q.Value, low, high))
		fmt.Fprintf(&path, "%s%.1f %.1f ", pen, x, y)
		pen = "L"
	}
	p.Path = strings.TrimSpace(path.String())
	return p
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// fraction is where x lies between low and high; the middle where they are one.
func fraction(x, low, high float64) float64 {
	if high == low {
		return 0.5
	}
	return (x - low) / (high - low)
}
