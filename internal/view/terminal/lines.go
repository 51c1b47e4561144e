package terminal

import (
	"fmt"
	"strings"
	"time"

	"hone/internal/console/sanitize"
	"hone/internal/view"
)

// State is a run as it was last read. Err is why it could not be.
type State struct {
	Overview view.Overview
	Curves   []view.Curve
	Err      error
	took     time.Duration // to read it
}

// kind is what a line is, by which it is drawn.
type kind int

const (
	text kind = iota
	heading
	alarm
	note
)

type line struct {
	kind kind
	text string
}

// lines are the whole state, as wide as a terminal is. What others wrote is shown as text.
func (s State) lines(width int) (out []line) {
	add := func(k kind, format string, args ...any) {
		for i, part := range wrap(sanitize.Line(fmt.Sprintf(format, args...)), width) {
			if i > 0 {
				part = "    " + part
			}
			out = append(out, line{k, part})
		}
	}
	o := s.Overview
	add(heading, "%s", o.Name)
	add(note, "%s", head(o))
	if s.Err != nil {
		add(alarm, "! %s", strings.Join(strings.Fields(s.Err.Error()), " "))
	}
	if o.Trouble != "" {
		add(alarm, "! %s", strings.Join(strings.Fields(o.Trouble), " "))
	}
	for _, a := range o.Alerts {
		add(alarm, "! %s: %s", a.Name, a.Says)
		add(note, "  %s", a.Next)
	}
	numbers := o.Numbers()
	if len(numbers) > 0 {
		add(text, "")
	}
	for _, n := range numbers {
		add(text, "%-18s %-26s %s", n.Name, n.Value, n.Note)
	}
	for _, w := range o.Words {
		add(text, "%s", w)
	}
	if len(s.Curves) > 0 {
		add(text, "")
	}
	for _, c := range s.Curves {
		if last := c.Last(); last != nil {
			add(text, "%-22s %10s  %s", c.Name, c.Value(*last), spark(c.Values, width-36))
		}
	}
	add(text, "")
	for _, x := range o.Stages {
		add(text, "%-22s %-10s %6d steps %8d episodes", x.Name, orDash(x.Status), x.Steps, x.Trajectories)
	}
	return out
}

// wrap breaks a text at blanks into lines that fit, with room for a margin from the second on. Columns of a table stay
// apart where they fit, and a word that is too long is left to be cut.
func wrap(text string, width int) (out []string) {
	for len([]rune(text)) > width {
		most := string([]rune(text)[:width+1])
		at := strings.LastIndexByte(most, ' ')
		if at <= 0 || strings.TrimSpace(text[:at]) == "" {
			break
		}
		out = append(out, strings.TrimRight(text[:at], " "))
		text = strings.TrimLeft(text[at:], " ")
		if len(out) == 1 {
			width -= 4
		}
	}
	return append(out, text)
}

func head(o view.Overview) string {
	verb := o.Verb
	if verb == "" {
		verb = "a run"
	}
	out := fmt.Sprintf("%s, %s, begun %s", verb, o.State, o.Created.Format(time.DateTime))
	if o.Attempts > 1 {
		out += fmt.Sprintf(", %d attempts", o.Attempts)
	}
	return out
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// levels are the heights of a curve that is drawn in letters.
var levels = []rune("▁▂▃▄▅▆▇█")

// spark draws values as letters, from the least to the most: each is the mean of as many steps as fit into it.
func spark(values []*float64, width int) string {
	width = min(max(width, 8), 60, len(values))
	cells := make([]*float64, width)
	for i := range cells {
		sum, n := 0.0, 0
		for _, x := range values[i*len(values)/width : (i+1)*len(values)/width] {
			if x != nil {
				sum, n = sum+*x, n+1
			}
		}
		if n > 0 {
			mean := sum / float64(n)
			cells[i] = &mean
		}
	}
	low, high, any := 0.0, 0.0, false
	for _, x := range cells {
		if x != nil && (!any || *x < low) {
			low = *x
		}
		if x != nil && (!any || *x > high) {
			high = *x
		}
		any = any || x != nil
	}
	var b strings.Builder
	for _, x := range cells {
		switch {
		case x == nil:
			b.WriteRune(' ')
		case high == low:
			b.WriteRune(levels[0])
		default:
			b.WriteRune(levels[int((*x-low)/(high-low)*float64(len(levels)-1)+0.5)])
		}
	}
	return b.String()
}

// step is what is new, on one line: for where nothing is drawn anew.
func (s State) step() string {
	if s.Err != nil {
		return sanitize.Line(strings.Join(strings.Fields(s.Err.Error()), " "))
	}
	parts := []string{}
	for _, n := range s.Overview.Numbers() {
		if n.Name == "steps" {
			parts = append(parts, n.Name+" "+n.Value+", "+n.Note)
		} else {
			parts = append(parts, n.Name+" "+n.Value)
		}
	}
	return sanitize.Line(strings.Join(append([]string{s.Overview.State}, parts...), "  "))
}
