package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/episode/reward"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// titles are the headings of the metrics; one without has its name in words.
var titles = map[string]string{
	"completion": "Whole episode", "first_call": "First call", "validity": "Valid calls",
	"tool_efficiency": "Tool efficiency", "turn_efficiency": "Turn efficiency", "recovery": "Recovery",
	"abstention": "Abstention", "extra_calls": "Extra calls", "turns": "Turns", "calls": "Calls",
	"tool_errors": "Tool errors", "invalid_calls": "Invalid calls", "prompt_tokens": "Tokens read",
	"completion_tokens": "Tokens written", "reward": "Reward", "seconds": "Time",
	"model_seconds": "Waiting for the model", "tool_seconds": "Time of tool calls", "cost": "Cost",
}

func title(metric string) string {
	if t := titles[metric]; t != "" {
		return t
	}
	return strings.ToUpper(metric[:1]) + strings.ReplaceAll(metric[1:], "_", " ")
}

// metricPanels are the rates, and what an episode takes in the mean; none names what no episode had.
func metricPanels(n Numbers) (rates, amounts []panel, none []string) {
	for _, m := range stats.Metrics() {
		of := func(s stats.Summary) stats.Interval { return s.Metrics[m.Name] }
		if !isMeasured(n, of) || m.Name == "reward" { // its terms stand beside it
			continue
		}
		if m.Scale != stats.Amount {
			axis := shares()
			p := axis.panel(title(m.Name), m.Text)
			for i, name := range n.Order {
				p.Rows = append(p.Rows, axis.rate(name, colour(i), of(n.Systems[name])))
			}
			rates = append(rates, p)
			continue
		}
		if !slices.ContainsFunc(n.Order, func(name string) bool { return of(n.Systems[name]).Mean != 0 }) {
			none = append(none, strings.ToLower(title(m.Name)))
			continue
		}
		amounts = append(amounts, amountPanel(n, title(m.Name), amountMeans(m), unitOf(m.Unit), of))
		if m.Name == "seconds" {
			amounts = append(amounts, amountPanel(n, "Time, median", "half of the episodes take no longer", seconds,
				func(s stats.Summary) stats.Interval { return s.SecondsP50 }),
				amountPanel(n, "Time, 95th percentile", "19 of 20 episodes take no longer", seconds,
					func(s stats.Summary) stats.Interval { return s.SecondsP95 }))
		}
	}
	return rates, amounts, none
}

// amountMeans is what a metric's title does not say.
func amountMeans(m stats.Metric) string {
	var parts []string
	if !strings.EqualFold(m.Text, title(m.Name)) {
		parts = append(parts, m.Text)
	}
	if m.Good < 0 {
		parts = append(parts, "less is better")
	}
	return strings.Join(parts, "; ")
}

func unitOf(unit string) form {
	switch unit {
	case "s":
		return seconds
	case "$":
		return dollars
	}
	return free
}

func isMeasured(n Numbers, of func(stats.Summary) stats.Interval) bool {
	return slices.ContainsFunc(n.Order, func(name string) bool { return of(n.Systems[name]).N > 0 })
}

// amountPanel has a row for each system, on an axis from 0, or from the least number where that is below 0.
func amountPanel(n Numbers, title, means string, form form, of func(stats.Summary) stats.Interval) panel {
	var all []stats.Interval
	for _, name := range n.Order {
		all = append(all, of(n.Systems[name]))
	}
	return intervalPanel(n.Order, all, title, means, form)
}

func intervalPanel(systems []string, all []stats.Interval, title, means string, form form) panel {
	low, high := 0.0, 0.0
	for i := range all {
		if all[i].Low > all[i].Mean || all[i].High < all[i].Mean { // no interval
			all[i].Low, all[i].High = all[i].Mean, all[i].Mean
		}
		low, high = min(low, all[i].Low), max(high, all[i].High)
	}
	axis := spanOf(low, high, form.tick)
	axis.marks = unitLast(axis.marks)
	p := axis.panel(title, means)
	for i, name := range systems {
		p.Rows = append(p.Rows, axis.track(name, colour(i), all[i], form.text, form.text))
	}
	return p
}

// termPanels are the terms of the reward, before their weights, and the reward itself.
func termPanels(n Numbers) []panel {
	if len(n.Terms) == 0 {
		return nil
	}
	out := []panel{amountPanel(n, title("reward"), "mean of the episodes", free, func(s stats.Summary) stats.Interval {
		return s.Metrics["reward"]
	})}
	for _, t := range n.Terms {
		var all []stats.Interval
		for _, name := range n.Order {
			all = append(all, t.Scores[name])
		}
		weight := "weight " + number(t.Weight)
		if t.Name == reward.ExtraTerm { // which has no weight of its own
			weight = "weight: minus what checks and end earned in the episode; rewards.extra is in the score"
		}
		out = append(out, intervalPanel(n.Order, all, t.Name, weight, free))
	}
	return out
}

// repeatCharts are pass^k and pass@k by k, of systems with more than one episode of a scenario.
func repeatCharts(n Numbers) []chart {
	of := func(interval func(stats.Pass) stats.Interval) (out []series, most int) {
		for i, name := range n.Order {
			s := series{name: name, class: colour(i)}
			for _, p := range n.Systems[name].Passes {
				if x := interval(p); x.N > 0 {
					s.values = append(s.values, value{float64(p.K), x.Mean, x.Low, x.High})
				}
			}
			out, most = append(out, s), max(most, len(s.values))
		}
		return out, most
	}
	all, most := of(func(p stats.Pass) stats.Interval { return p.All })
	if most < 2 {
		return nil
	}
	any, _ := of(func(p stats.Pass) stats.Interval { return p.Any })
	return []chart{lines("pass^k", "each of k attempts does the task", "k", all),
		lines("pass@k", "at least one of k attempts does it", "k", any)}
}

// mostPairs is how many pairs of systems stand open to the eye.
const mostPairs = 12

// differences lays out the differences of all pairs of systems, those of the last system first.
func (v *view) differences(n Numbers) {
	if len(n.Deltas) == 0 {
		return
	}
	first := headlines(n)
	rest := slices.DeleteFunc(slices.Clone(n.Deltas), func(d stats.Delta) bool {
		return slices.ContainsFunc(first, func(f stats.Delta) bool { return f.Old == d.Old && f.New == d.New })
	})
	var all []stats.Interval
	for _, d := range n.Deltas {
		all = append(all, d.Episode, d.First)
	}
	open := first
	if len(n.Deltas) <= mostPairs {
		open, rest = slices.Concat(first, rest), nil
	}
	v.Forest, v.OtherDiff = forest(open, around(all)), forest(rest, around(all))
	for _, d := range first[:min(mostCards, len(first))] {
		if len(d.Regressions) == 0 {
			continue
		}
		v.Lower = append(v.Lower,
			fmt.Sprintf("%s does %d of %d less often than %s", d.New, len(d.Regressions), d.Episode.N, d.Old))
	}
	if len(n.PartRegressions) > 0 {
		var all []stats.Interval
		for _, r := range n.PartRegressions {
			all = append(all, r.Delta)
		}
		axis := around(all)
		p := axis.panel("", "")
		for _, r := range n.PartRegressions {
			p.Rows = append(p.Rows,
				axis.difference(fmt.Sprintf("%s %s: %s − %s", r.Property, r.Value, r.New, r.Old), r.Delta))
		}
		v.Parts = []panel{p}
		if len(p.Rows) > mostPairs {
			v.Parts = []panel{p, p}
			v.Parts[0].Rows, v.Parts[1].Rows = p.Rows[:mostPairs], p.Rows[mostPairs:]
		}
	}
}

// forest is the differences of pairs of systems: of the whole episode, and of the first call where it was measured.
func forest(deltas []stats.Delta, axis span) (out []panel) {
	whole, first := axis.panel("Whole episode", "and scenarios that are done more and less often"),
		axis.panel("First call", "")
	any := false
	for _, d := range deltas {
		name := d.New + " − " + d.Old
		w := axis.difference(name, d.Episode)
		w.Note = fmt.Sprintf("%d better, %d worse", len(d.Gains), len(d.Regressions))
		whole.Rows, first.Rows = append(whole.Rows, w), append(first.Rows, axis.difference(name, d.First))
		any = any || d.First.N > 0
	}
	if len(deltas) > 0 {
		out = append(out, whole)
	}
	if any {
		out = append(out, first)
	}
	return out
}

// drawnBreakdown is small multiples: a panel for each value of a property.
type drawnBreakdown struct {
	Name   string
	Panels []panel
	Rest   []panel // of the values with the fewest scenarios, where there are many
	Rows   []breakdownRow
	Says   string // what is left out
}

type breakdownRow struct {
	Value string
	N     int
	Cells []string // by system the whole episode, then the first call
}

// mostValues is how many values of a property stand open to the eye.
const mostValues = 12

func breakdowns(n Numbers) (out []drawnBreakdown) {
	axis := shares()
	for _, b := range n.Breakdowns {
		d := drawnBreakdown{Name: b.Name}
		if b.LeftOut > 0 {
			d.Says = fmt.Sprintf("The %d values of the most scenarios are shown. Left out: %d.",
				len(b.Values), b.LeftOut)
		}
		for _, x := range b.Values {
			row := breakdownRow{Value: x.Value}
			p := axis.panel(x.Value, "")
			for i, name := range n.Order {
				whole, first := axis.rate(name, colour(i), x.Whole[i]), axis.rate(name, colour(i), x.First[i])
				p.Rows = append(p.Rows, whole)
				row.N = max(row.N, x.Whole[i].N)
				row.Cells = append(row.Cells, strings.TrimSpace(whole.Text+" "+bracket(whole.Interval)),
					strings.TrimSpace(first.Text+" "+bracket(first.Interval)))
			}
			p.Means = fault.Count(row.N, "scenario")
			d.Rows, d.Panels = append(d.Rows, row), append(d.Panels, p)
		}
		if len(d.Panels) > mostValues {
			d.Panels, d.Rest = d.Panels[:mostValues], d.Panels[mostValues:]
		}
		out = append(out, d)
	}
	return out
}

func bracket(interval string) string {
	if interval == "" {
		return ""
	}
	return "(" + interval + ")"
}

// tableRow is one metric of all systems.
type tableRow struct {
	Name, Means string
	Cells       []string
}

// metricTable is every metric as numbers.
func metricTable(n Numbers) (out []tableRow) {
	row := func(name, means string, form form, of func(stats.Summary) stats.Interval) {
		r := tableRow{Name: name, Means: means}
		for _, system := range n.Order {
			x := of(n.Systems[system])
			cell := "-"
			if x.N > 0 {
				if cell = form.text(x.Mean); x.Method != "" {
					cell += " (" + form.text(x.Low) + " to " + form.text(x.High) + ")"
				}
			}
			r.Cells = append(r.Cells, cell)
		}
		out = append(out, r)
	}
	for _, m := range stats.Metrics() {
		form := unitOf(m.Unit)
		if m.Scale != stats.Amount {
			form = share
		}
		if of := func(s stats.Summary) stats.Interval { return s.Metrics[m.Name] }; isMeasured(n, of) {
			row(title(m.Name), m.Text, form, of)
		}
	}
	row("Time, median", "half of the episodes take no longer", seconds, func(s stats.Summary) stats.Interval {
		return s.SecondsP50
	})
	row("Time, 95th percentile", "19 of 20 episodes take no longer", seconds, func(s stats.Summary) stats.Interval {
		return s.SecondsP95
	})
	row("Worst case", "whole episode, were all lost episodes failures", share, func(s stats.Summary) stats.Interval {
		return s.WorstCase
	})
	return out
}

// lostRow is what of one system is in no rate.
type lostRow struct {
	named
	Counts     []string // by outcome
	Share      string
	WorstCase  string
	Unreliable bool
}

// notRun is a check that gave no verdict.
type notRun struct {
	Scenario                reference
	System, Check, Episodes string
}

// addLosses lays out what is in no rate, and why.
func (v *view) addLosses(n Numbers, known tasks) {
	outcomes := map[trajectory.Outcome]bool{}
	for _, name := range n.Order {
		for o := range n.Systems[name].Excluded {
			outcomes[o] = true
		}
	}
	names := slices.Sorted(maps.Keys(outcomes))
	for _, o := range names {
		v.Outcomes = append(v.Outcomes, strings.ReplaceAll(string(o), "_", " "))
	}
	for i, name := range n.Order {
		s := n.Systems[name]
		for _, x := range s.NotRun {
			v.NotRun = append(v.NotRun,
				notRun{known.reference(x.ScenarioID), name, x.Check, fault.Count(x.Num, "episode")})
		}
		if s.NumExcluded == 0 {
			continue
		}
		row := lostRow{
			named: named{name, colour(i)},
			Share: fmt.Sprintf("%d of %d, %s",
				s.NumExcluded, s.NumExcluded+s.NumEpisodes, percent(s.ExcludedShare)),
			Unreliable: s.Unreliable,
		}
		for _, o := range names {
			row.Counts = append(row.Counts, fmt.Sprint(s.Excluded[o]))
		}
		if w := s.WorstCase; w.N > 0 {
			row.WorstCase = percent(w.Mean)
		}
		v.Lost = append(v.Lost, row)
	}
}
