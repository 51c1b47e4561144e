package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ticks returns round numbers that span [low, high], about n of them: 1, 2, 2.5 or 5 times a power of ten apart. The
// first is at most low and the last at least high, so they are an axis's ends too. Where low is high there is room
// around it.
func ticks(low, high float64, n int) []float64 {
	if low == high {
		pad := math.Abs(low) / 2
		if pad == 0 {
			pad = 0.5
		}
		low, high = low-pad, high+pad
	}
	r := roundUp((high - low) / float64(n))
	step := r.times(1)
	first, last := math.Floor(low/step+1e-9), math.Ceil(high/step-1e-9)
	for ; r.times(first) > low+step/1e6; first-- { // where low has few digits below the step
	}
	for ; r.times(last) < high-step/1e6; last++ {
	}
	var out []float64
	for i := first; i <= last; i++ {
		out = append(out, r.times(i))
	}
	return out
}

// wholeTicks are ticks of steps: whole numbers within [low, high].
func wholeTicks(low, high, n int) []float64 {
	if low == high {
		return []float64{float64(low)}
	}
	step := roundUp(max(1, float64(high-low)/float64(n))).times(1)
	if step != math.Round(step) { // 2.5
		step *= 2
	}
	var out []float64
	for x := math.Ceil(float64(low)/step) * step; x <= float64(high); x += step {
		out = append(out, x)
	}
	return out
}

// round is a round number: 1, 2, 2.5 or 5 times a power of ten.
type round struct {
	mantissa float64
	exponent int
}

// times is i times r. A negative power of ten is no float64: dividing by the positive one rounds once, and whole
// numbers stay whole.
func (r round) times(i float64) float64 {
	if r.exponent < 0 {
		return i * r.mantissa / math.Pow10(-r.exponent)
	}
	return i * r.mantissa * math.Pow10(r.exponent)
}

// roundUp is the smallest round number that is not below x, which is above 0.
func roundUp(x float64) round {
	exponent := int(math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if r := (round{m, exponent}); x <= r.times(1)*(1+1e-9) {
			return r
		}
	}
	return round{1, exponent + 1}
}

// tickText writes a tick as short as it can be told from its neighbours, step apart.
func tickText(x, step float64) string {
	if x == 0 || math.Abs(x) < step/1e6 {
		return "0"
	}
	if a := math.Abs(x); a >= 1e5 || step < 1e-3 {
		return short(x)
	}
	decimals := 0
	for s := step; decimals < 6 && math.Abs(s-math.Round(s)) > 1e-6; s *= 10 {
		decimals++
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// short writes a number with an exponent of as few digits as it takes: 1.5e-4.
func short(x float64) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', 2, 64), "e")
	mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	n, _ := strconv.Atoi(exponent) // FormatFloat wrote it
	return fmt.Sprintf("%se%d", mantissa, n)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// fraction is where x lies between low and high; the middle where they are one.
func fraction(x, low, high float64) float64 {
	if high == low {
		return 0.5
	}
	return (x - low) / (high - low)
}
