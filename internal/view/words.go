package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hone/internal/fault"
)

// Number is one of an overview's numbers in words.
type Number struct{ Name, Value, Note string }

// Numbers are those of the cards, for where there is text alone; the page lays out the same.
func (o Overview) Numbers() (out []Number) {
	c := o.Cards
	if m := c.HeldOut; m != nil {
		out = append(out, Number{"held-out success", m.text(percent),
			fmt.Sprintf("%s after %s", fault.Count(m.N, "scenario"), fault.Count(m.Step, "step"))})
	}
	if m := c.Reward; m != nil {
		out = append(out, Number{"reward", m.text(ShortNumber),
			fmt.Sprintf("%s of step %d", fault.Count(m.Episodes, "episode"), m.Step)})
	}
	if m := c.Trainable; m != nil {
		out = append(out, Number{"groups that teach", percent(m.Mean),
			fmt.Sprintf("of those of the last %s: in these, rewards differ", fault.Count(m.N, "step"))})
	}
	if c.MainStage != "" {
		n := Number{"steps", strconv.Itoa(c.Done), Duration(c.Seconds) + " of work"}
		if c.Steps > 0 {
			n.Value = fmt.Sprintf("%d of %d", c.Done, c.Steps)
		}
		if c.Left != nil && o.Live {
			n.Note = "about " + Duration(*c.Left) + " left, by the last steps"
		}
		out = append(out, n)
	}
	if c.Cost != nil {
		n := Number{"cost of the judge", dollars(*c.Cost), "no budget is set"}
		if c.Budget > 0 {
			n.Note = "of a budget of " + dollars(c.Budget)
		}
		out = append(out, n)
	}
	return out
}

// text is the mean and the interval.
func (m Measured) text(of func(float64) string) string {
	out := fmt.Sprintf("%s [%s, %s]", of(m.Mean), of(m.Low), of(m.High))
	if m.TooFew {
		out += " too few to tell"
	}
	return out
}

// Value is a value of a curve in words.
func (c Curve) Value(x float64) string {
	if c.Share {
		return percent(x)
	}
	return ShortNumber(x)
}

// ShortNumber is a number in three digits.
func ShortNumber(x float64) string {
	if size := math.Abs(x); x == 0 || size >= 1e-3 && size < 1e5 {
		text := strconv.FormatFloat(x, 'g', 3, 64)
		if strings.Contains(text, "e") { // 1234 in three digits
			text = strconv.FormatFloat(x, 'f', 0, 64)
		}
		return text
	}
	return strconv.FormatFloat(x, 'e', 1, 64)
}

func dollars(x float64) string {
	if x > 0 && x < 0.1 {
		return fmt.Sprintf("$%.2g", x)
	}
	return fmt.Sprintf("$%.2f", x)
}

// Duration is a time in seconds in words.
func Duration(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case seconds < 1:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case seconds < 60:
		return ShortNumber(seconds) + " s"
	case math.Round(d.Minutes()) < 60:
		return fmt.Sprintf("%.0f min", d.Minutes())
	default:
		minutes := int(math.Round(d.Minutes()))
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
}
