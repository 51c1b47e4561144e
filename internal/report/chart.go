package report

import (
	"fmt"
	"slices"
)

// chart is several lines in one plot, each with its name beside its end.
type chart struct {
	Title, Means string
	Lines        []seriesLine
	X, Y         []tick
	XName        string
}

// seriesLine is one system's line.
type seriesLine struct {
	Name, Class string
	Path, Band  string // Band is the area of its intervals, "" without
	Dots        []dot
	LabelY      string
	EndX, EndY  string
}

// Short is the name in the room that there is beside a line.
func (l seriesLine) Short() string {
	name := []rune(l.Name)
	if len(name) > mostOfName {
		return string(name[:mostOfName-1]) + "…"
	}
	return l.Name
}

// value is one place of a series, with its interval.
type value struct{ x, y, low, high float64 }

// series are a system's values, by x.
type series struct {
	name, class string
	values      []value
}

// Room for the names at the right of a chart's lines, and between two of them in SVG units.
const (
	mostOfName = 18 // characters
	between    = 12.5
)

// lines lays out shares of 1 by a whole number, such as pass^k by k.
func lines(title, means, xName string, list []series) chart {
	c := chart{Title: title, Means: means, XName: xName}
	first, last := 1, 1
	for _, s := range list {
		for _, v := range s.values {
			last = max(last, int(v.x))
		}
	}
	across := func(x float64) float64 { return plotWidth * fraction(x, float64(first), float64(last)) }
	up := func(y float64) float64 { return plotHeight * (1 - y) }
	for _, y := range []float64{0, 0.25, 0.5, 0.75, 1} {
		c.Y = append(c.Y, tick{coordinate(up(y)), percent(y)})
	}
	for _, x := range wholeTicks(first, last, 8) {
		c.X = append(c.X, tick{coordinate(across(x)), fmt.Sprint(x)})
	}
	var ends []float64
	for _, s := range list {
		if len(s.values) == 0 {
			continue
		}
		l := seriesLine{Name: s.name, Class: s.class}
		back := ""
		for i, v := range s.values {
			pen := "L"
			if i == 0 {
				pen = "M"
			}
			x := coordinate(across(v.x))
			l.Path += pen + x + " " + coordinate(up(v.y))
			l.Band += pen + x + " " + coordinate(up(v.high))
			back = "L" + x + " " + coordinate(up(v.low)) + back
			l.Dots = append(l.Dots, dot{
				x, coordinate(up(v.y)), fmt.Sprintf("%s, %s %g: %s, interval %.1f to %.1f",
					s.name, xName, v.x, percent(v.y), 100*v.low, 100*v.high),
			})
		}
		l.Band += back + "Z"
		end := s.values[len(s.values)-1]
		l.EndX, l.EndY = coordinate(across(end.x)), coordinate(up(end.y))
		ends = append(ends, up(end.y))
		c.Lines = append(c.Lines, l)
	}
	for i, y := range apart(ends, between, 0, plotHeight) {
		c.Lines[i].LabelY = coordinate(y)
	}
	return c
}

// apart moves places as little as it takes for no two to be nearer than gap, within low and high where there is room.
func apart(places []float64, gap, low, high float64) []float64 {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case places[a] < places[b]:
			return -1
		case places[a] > places[b]:
			return 1
		}
		return 0
	})
	out := slices.Clone(places)
	for k, i := range order { // down
		if k > 0 {
			out[i] = max(out[i], out[order[k-1]]+gap)
		}
	}
	next := high
	for _, i := range slices.Backward(order) { // and up again, from the end
		out[i] = min(out[i], next)
		next = out[i] - gap
	}
	return out
}
