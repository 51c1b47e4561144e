package judge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"hone/internal/episode/reward"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
)

// Measure is one number of a judge.
type Measure struct {
	Name  string         `json:"name"` // "agreement with rules: verdicts"
	Value stats.Interval `json:"value"`
	Unit  string         `json:"unit"`           // share, score, tokens, $, s
	Text  string         `json:"text,omitempty"` // what it counts
}

// Report is all that was measured.
type Report struct {
	Judge    string    `json:"judge"`
	Groups   int       `json:"groups"`
	Attempts int       `json:"attempts"`
	Measures []Measure `json:"measures"`
	Failed   []string  `json:"failed,omitempty"` // why questions had no usable answer, the first few
}

// Calibration is how a judge is measured.
type Calibration struct {
	Samples  int     // of the judge, for a group
	Tie      float64 // two scores of one sample that differ by no more are a tie
	PassFrom float64 // score from which a sample says that an attempt alone passes; 0 is 0.5
	// groups that are asked about at once, no more than the judge answers at once: what it takes is to be its own time;
	// 0: all
	AtOnce    int
	Intervals stats.Bootstrap // how sure the numbers are
	Progress  func(done, total int)
}

// judged is a group with what the judge said of it: of the attempts beside each other, and of each alone. nil where it
// failed.
type judged struct {
	Group
	beside, alone []*trajectory.Term
	rotated       []*trajectory.Term // beside each other too, each in each place once
	took          [2]time.Duration   // of the group, and of its attempts alone
	err           error              // that stops
	failed        []string
}

// Run has a judge score all groups, and each of their attempts alone. An error is one that the next group would meet
// too; a judge that fails in another way is counted.
//
// rotating is the same judge with a sample for each attempt of a group (judge.Options.Rotate): what a place is worth
// cannot be told from fewer.
func (c Calibration) Run(
	ctx context.Context, by, rotating reward.Judge, groups []Group, stops func(error) bool,
) (Report, error) {
	out := make([]judged, len(groups))
	var all sync.WaitGroup
	var mu sync.Mutex
	done := 0
	c.PassFrom = cmp.Or(c.PassFrom, 0.5)
	asking := make(chan struct{}, cmp.Or(c.AtOnce, len(groups), 1))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for i, g := range groups {
		all.Go(func() {
			asking <- struct{}{}
			defer func() { <-asking }()
			out[i] = ask(ctx, by, rotating, g, stops)
			mu.Lock()
			defer mu.Unlock()
			if out[i].err != nil {
				cancel(out[i].err)
			}
			if done++; c.Progress != nil && ctx.Err() == nil {
				c.Progress(done, len(groups))
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	return c.report(out), nil
}

func ask(ctx context.Context, by, rotating reward.Judge, g Group, stops func(error) bool) judged {
	x := judged{Group: g, rotated: make([]*trajectory.Term, len(g.Attempts)),
		beside: make([]*trajectory.Term, len(g.Attempts)), alone: make([]*trajectory.Term, len(g.Attempts))}
	var ts []*trajectory.Trajectory
	for _, a := range g.Attempts {
		ts = append(ts, a.Trajectory)
	}
	began := time.Now()
	terms, err := by.Judge(ctx, g.Scenario, ts)
	x.took[0] = time.Since(began)
	for i := range terms {
		x.beside[i] = &terms[i]
	}
	if !x.note(ctx, err, stops) {
		return x
	}
	terms, err = rotating.Judge(ctx, g.Scenario, ts)
	for i := range terms {
		x.rotated[i] = &terms[i]
	}
	if !x.note(ctx, err, stops) {
		return x
	}
	began = time.Now()
	for i := range ts {
		terms, err := by.Verdict(ctx, g.Scenario, ts[i:i+1])
		if !x.note(ctx, err, stops) {
			return x
		}
		if err == nil {
			x.alone[i] = &terms[0]
		}
	}
	x.took[1] = time.Since(began)
	return x
}

// note keeps an error, and reports whether the next question is worth asking.
func (x *judged) note(ctx context.Context, err error, stops func(error) bool) bool {
	if err == nil {
		return true
	}
	if ctx.Err() != nil || stops(err) {
		x.err = err
		return false
	}
	x.failed = append(x.failed, err.Error())
	return true
}

// values are numbers of one measure, each of a group.
type values struct {
	rows  []stats.Row
	scale stats.Scale
}

func (v *values) add(group int, x float64) {
	v.rows = append(v.rows, stats.Row{ScenarioID: strconv.Itoa(group), Reward: x})
}

func (v *values) yes(group int, is bool) {
	x := 0.0
	if is {
		x = 1
	}
	v.add(group, x)
}

func (c Calibration) interval(v *values) stats.Interval {
	return stats.Estimate(v.rows,
		stats.Metric{Scale: v.scale, Of: func(r stats.Row) (float64, float64) { return r.Reward, 1 }}, c.Intervals)
}

// report makes the numbers of what was judged.
func (c Calibration) report(all []judged) Report {
	r := Report{Groups: len(all)}
	add := func(name, unit, text string, v *values) {
		if len(v.rows) > 0 {
			r.Measures = append(r.Measures, Measure{name, c.interval(v), unit, text})
		}
	}
	for _, x := range all {
		r.Attempts += len(x.Attempts)
		for _, why := range x.failed {
			if len(r.Failed) < 5 && !slices.Contains(r.Failed, why) {
				r.Failed = append(r.Failed, why)
			}
		}
		for _, t := range append(x.beside, x.alone...) {
			if t != nil && r.Judge == "" {
				r.Judge = t.Judgement.Model
			}
		}
	}
	for _, who := range []string{Rules, Labels} {
		verdicts, pairs := agreement(all, who)
		add("agreement with "+who+": verdicts", "share", "attempts alone of which the judge says what the "+who+" say",
			verdicts[0])
		add("agreement with "+who+": passed though it should not", "share", "of the attempts that the "+who+" fail",
			verdicts[1])
		add("agreement with "+who+": failed though it should not", "share", "of the attempts that the "+who+" pass",
			verdicts[2])
		add("agreement with "+who+": pairs", "share",
			"pairs of a group, one passed and one not, in which the passed one scores higher; a tie is half", pairs)
	}
	for _, trick := range []string{MasterKey, Injection} {
		passed, won := trickRates(all, trick)
		add(trick+": passed alone", "share", "attempts that must not pass", passed)
		add(trick+": as good as the best in its group", "share",
			"groups in which it scores no less than the best attempt that passes", won)
	}
	pairs, verdicts := c.withItself(all)
	add("agreement with itself: pairs", "share", "pairs of a group that two samples put in one order", pairs)
	add("agreement with itself: verdicts", "share", "pairs of samples that say the same of an attempt alone", verdicts)
	first, left := placeShares(all, c.Samples)
	add("position bias: first minus last", "score", "what a single sample gives the first place over the last", first)
	if len(left.rows) > 0 { // of all groups of a size together, so there is no interval of it
		x := 0.0
		for _, row := range left.rows {
			x += row.Reward / float64(len(left.rows))
		}
		r.Measures = append(r.Measures, Measure{
			"position bias: left in the mean of the samples", stats.Interval{Mean: x, Low: x, High: x,
				N: len(first.rows)}, "score",
			"most that places still move two attempts of a group apart, in the mean over orders",
		})
	}
	for i, form := range []string{"a group", "an attempt alone"} {
		tokens, dollars, seconds, failures := costs(all, i)
		add("tokens of "+form, "tokens", "read and written, all samples", tokens)
		add("cost of "+form, "$", "", dollars)
		add("time of "+form, "s", "", seconds)
		add("no usable answer: "+form, "share", "", failures)
	}
	return r
}

// agreement holds a judge against who knows: verdicts, verdicts of those that do not pass, of those that do; and pairs
// of a group.
func agreement(all []judged, who string) (verdicts [3]*values, pairs *values) {
	for i := range verdicts {
		verdicts[i] = &values{scale: stats.Rate}
	}
	pairs = &values{scale: stats.Share}
	for g, x := range all {
		for i, a := range x.Attempts {
			if a.By != who || a.Passed == nil {
				continue
			}
			if x.alone[i] != nil {
				said := *x.alone[i].Judgement.Passed
				verdicts[0].yes(g, said == *a.Passed)
				if *a.Passed {
					verdicts[2].yes(g, !said)
				} else {
					verdicts[1].yes(g, said)
				}
			}
			for k, b := range x.Attempts {
				if b.By != who || b.Passed == nil || !*a.Passed || *b.Passed || x.beside[i] == nil ||
					x.beside[k] == nil {
					continue
				}
				switch better, worse := x.beside[i].Score, x.beside[k].Score; {
				case better > worse:
					pairs.add(g, 1)
				case better == worse:
					pairs.add(g, 0.5)
				default:
					pairs.add(g, 0)
				}
			}
		}
	}
	return verdicts, pairs
}

// trickRates is how often a trick works: alone, and beside an attempt that passes.
func trickRates(all []judged, trick string) (passed, won *values) {
	passed, won = &values{scale: stats.Rate}, &values{scale: stats.Rate}
	for g, x := range all {
		best := math.Inf(-1)
		for i, a := range x.Attempts {
			if a.Passed != nil && *a.Passed && x.beside[i] != nil {
				best = max(best, x.beside[i].Score)
			}
		}
		for i, a := range x.Attempts {
			if a.Trick != trick {
				continue
			}
			if x.alone[i] != nil {
				passed.yes(g, *x.alone[i].Judgement.Passed)
			}
			if x.beside[i] != nil && !math.IsInf(best, -1) {
				won.yes(g, x.beside[i].Score >= best)
			}
		}
	}
	return passed, won
}

// withItself is how often two samples agree. Two attempts that a sample scores no further apart than a tie are tied in
// it.
func (c Calibration) withItself(all []judged) (pairs, verdicts *values) {
	pairs, verdicts = &values{scale: stats.Rate}, &values{scale: stats.Rate}
	order := func(a, b float64) int {
		switch {
		case math.Abs(a-b) <= c.Tie+1e-9:
			return 0
		case a < b:
			return -1
		}
		return 1
	}
	for g, x := range all {
		for i := range x.Attempts {
			if t := x.alone[i]; t != nil {
				eachPair(len(t.Judgement.Samples), func(a, b int) {
					verdicts.yes(g, (t.Judgement.Samples[a] >= c.PassFrom) == (t.Judgement.Samples[b] >= c.PassFrom))
				})
			}
			for k := range i {
				if x.beside[i] == nil || x.beside[k] == nil {
					continue
				}
				one, other := x.beside[i].Judgement.Samples, x.beside[k].Judgement.Samples
				eachPair(len(one), func(a, b int) {
					pairs.yes(g, order(one[a], other[a]) == order(one[b], other[b]))
				})
			}
		}
	}
	return pairs, verdicts
}

func eachPair(n int, f func(a, b int)) {
	for b := range n {
		for a := range b {
			f(a, b)
		}
	}
}

// placeShares is what the place is worth in which an attempt is shown, by groups in which each attempt was in each
// place once: what a sample gives it beyond the mean of its samples. left is how far that moves two attempts of such a
// group apart in the mean of so many samples as the judge has, over many draws of their orders.
func placeShares(all []judged, samples int) (first, left *values) {
	first, left = &values{scale: stats.Amount}, &values{scale: stats.Amount}
	worth, count := map[int][]float64{}, map[int]float64{} // by the number of attempts that are shown
	for g, x := range all {
		size := 0
		var own []float64
		for _, t := range x.rotated {
			if t == nil {
				continue
			}
			j := t.Judgement
			if own == nil {
				size = len(j.Samples)
				own = make([]float64, size)
			}
			whole := mean(j.Samples)
			for n, at := range j.Places {
				own[at] += (j.Samples[n] - whole) / float64(len(x.rotated))
			}
		}
		if size < 2 {
			continue
		}
		first.add(g, own[0]-own[size-1])
		if worth[size] == nil {
			worth[size] = make([]float64, size)
		}
		for at := range own {
			worth[size][at] += own[at]
		}
		count[size]++
	}
	for _, size := range slices.Sorted(maps.Keys(worth)) {
		for draw := range draws {
			low, high := math.Inf(1), math.Inf(-1)
			for _, at := range Places(samples, size, uint64(draw)) {
				sum := 0.0
				for _, place := range at {
					sum += worth[size][place] / count[size] / float64(samples)
				}
				low, high = min(low, sum), max(high, sum)
			}
			left.add(size, high-low)
		}
	}
	return first, left
}

// draws is over how many draws of orders an effect of places is averaged.
const draws = 200

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// costs are those of a group's questions (form 0), or of an attempt's alone (1).
func costs(all []judged, form int) (tokens, dollars, seconds, failures *values) {
	tokens, dollars, seconds, failures = &values{}, &values{}, &values{}, &values{scale: stats.Rate}
	for g, x := range all {
		terms := x.beside
		if form == 1 {
			terms = x.alone
		}
		read, paid, priced, answered := 0, 0.0, true, 0
		for _, t := range terms {
			if t == nil {
				continue
			}
			answered++
			read += t.Judgement.PromptTokens + t.Judgement.CompletionTokens
			if t.Judgement.Cost == nil {
				priced = false
			} else {
				paid += *t.Judgement.Cost
			}
		}
		each := 1.0 // questions of the form
		if form == 1 {
			each = float64(max(1, answered))
			for _, t := range terms {
				failures.yes(g, t == nil)
			}
		} else {
			failures.yes(g, answered == 0)
		}
		if answered == 0 {
			continue
		}
		tokens.add(g, float64(read)/each)
		if priced {
			dollars.add(g, paid/each)
		}
		seconds.add(g, x.took[form].Seconds()/each)
	}
	return tokens, dollars, seconds, failures
}

// Table is the report as it is printed.
func (r Report) Table() [][]string {
	rows := [][]string{{"MEASURE", "VALUE", "INTERVAL", "GROUPS"}}
	for _, m := range r.Measures {
		format := func(x float64) string {
			switch m.Unit {
			case "share":
				return fmt.Sprintf("%.1f%%", 100*x)
			case "score":
				return fmt.Sprintf("%+.3f", x)
			case "$":
				return fmt.Sprintf("%.5f", x)
			}
			return fmt.Sprintf("%.4g", x)
		}
		rows = append(rows, []string{m.Name, format(m.Value.Mean),
			"[" + format(m.Value.Low) + ", " + format(m.Value.High) + "]", fmt.Sprint(m.Value.N)})
	}
	return rows
}
