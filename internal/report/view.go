package report

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/data/overlap"
	"hone/internal/eval"
	"hone/internal/fault"
)

// view is what the template sees.
type view struct {
	Title, Verb   string
	Facts         []Fact
	Notes         []string
	Policy        string
	Style, Script template.HTML
	Level         string

	Systems     []drawnSystem
	Headline    []headline
	NumTasks    int
	Excluded    []string
	Pairs       []pairRows
	Reach       string // of the axis of differences, in points
	NumShared   int
	TrainedOn   []string
	NearTrained []string
	Breakdowns  []drawnBreakdown
	Costs       []costRow
	Terms       []termRow
	Stages      []drawnStage
	Worst, Best []drawnGroup
	NumGroups   int
	Parts       []drawnPart
	Share       string // of orchestration

	Worse, Better, Others []drawnCase
	Episodes              []drawnEpisode
	NumFolded             int
	System                text // message that most episodes begin with
}

// drawnSystem is one system's rates.
type drawnSystem struct {
	Name, Class  string
	Whole, First track
	N, Excluded  int
}

// headline is one difference of the system that the page is about.
type headline struct {
	Old, New, Text, Interval, Verdict, Class string
	Whole                                    track
	Better, Worse                            int
	N                                        int
}

// pairRows is one pair of systems in the plot of differences.
type pairRows struct {
	Old, New     string
	Whole, First track
	Better       int
	Worse        int
	N            int
}

type drawnBreakdown struct {
	Name string
	Rows []breakdownRow
}

type breakdownRow struct {
	Value  string
	N      int
	Height int
	Whole  []track // by system
	First  []track
}

type costRow struct {
	Name  string
	Cells []string
}

type termRow struct {
	Name   string
	Weight string
	Cells  []string
}

type drawnPart struct {
	Name, Class, Text, Share string
	From, Width              string
	Orchestration            bool
}

func (p Page) view() view {
	results := p.Results()
	r := &room{left: mostOfAll, show: p.Show, system: p.systemMessage()}
	v := view{Title: p.Title, Verb: p.Verb, Facts: p.Facts, Notes: p.Notes, Policy: policy(), Style: style(), Script: script(), Level: percent(p.Confidence()),
		TrainedOn: p.TrainedOn, NearTrained: nearTrained(p.NearTrained), Excluded: outcomes(p.Systems), NumGroups: len(p.Groups), Costs: p.costs(results), Terms: p.terms()}
	if r.system != "" {
		v.System = (&room{}).take(r.system)
	}
	for i, s := range p.Systems {
		x := results.Systems[s.Name]
		d := drawnSystem{Name: s.Name, Class: colour(i), N: x.N, Excluded: x.NumExcluded,
			Whole: rate("whole episode", colour(i), x.EpisodeSuccess, x.EpisodeLow, x.EpisodeHigh, x.N), First: track{Name: "first call", Empty: true, Text: "-"}}
		if x.Success != nil {
			d.First = rate("first call", colour(i), *x.Success, *x.Low, *x.High, x.NumWithGold)
		}
		v.Systems, v.NumTasks = append(v.Systems, d), max(v.NumTasks, x.N)
	}
	v.pairs(p, results.Deltas)
	v.Breakdowns = p.breakdowns()
	for _, s := range p.Stages {
		v.Stages = append(v.Stages, drawStage(s))
	}
	v.parts(results)
	// What got worse takes its room first.
	worse, better, others := p.scenarios(results.Deltas)
	v.Worse = drawAll(worse, r)
	v.groups(p, r)
	v.Better, v.Others = drawAll(better, r), drawAll(others, r)
	for _, e := range p.Episodes {
		v.Episodes = append(v.Episodes, r.draw("", "", e))
	}
	v.NumFolded = r.folded
	return v
}

func drawAll(list []pending, r *room) (out []drawnCase) {
	for _, x := range list {
		out = append(out, x.draw(r))
	}
	return out
}

// mostOpen is how many regressions stand open to the eye; the others are folded.
const mostOpen = 20

// WorseFirst are the regressions that stand first.
func (v view) WorseFirst() []drawnCase { return v.Worse[:min(mostOpen, len(v.Worse))] }

// WorseRest are the regressions after them.
func (v view) WorseRest() []drawnCase { return v.Worse[min(mostOpen, len(v.Worse)):] }

// Last is the system that the page is about: the last.
func (v view) Last() drawnSystem { return v.Systems[len(v.Systems)-1] }

// pairs lays out the differences. Those of the last system are the headline; of a comparison with pairs of its own, all are.
func (v *view) pairs(p Page, deltas []eval.Delta) {
	far := reach(deltas)
	v.Reach = tickText(100*far, 100*far)
	for _, d := range deltas {
		whole, first := difference("whole episode", d.Episode, far), difference("first call", d.First, far)
		row := pairRows{Old: d.Old, New: d.New, Whole: whole, First: first, Better: len(d.Gains), Worse: len(d.Regressions), N: d.Episode.N}
		v.Pairs, v.NumShared = append(v.Pairs, row), max(v.NumShared, d.Episode.N)
		if d.New == p.Systems[len(p.Systems)-1].Name || !reachesLast(deltas, p) {
			v.Headline = append(v.Headline, headline{Old: d.Old, New: d.New, Text: whole.Text, Interval: whole.Interval, Verdict: whole.Verdict,
				Class: whole.Class, Whole: whole, Better: row.Better, Worse: row.Worse, N: row.N})
		}
	}
}

// reachesLast reports whether every system before the last is compared with a later one, so that the last tells the whole story.
func reachesLast(deltas []eval.Delta, p Page) bool {
	for _, s := range p.Systems[:len(p.Systems)-1] {
		if !slices.ContainsFunc(deltas, func(d eval.Delta) bool { return d.Old == s.Name }) {
			return false
		}
	}
	return true
}

// breakdowns are of success by properties: kind, difficulty and other tags of the form name:value, and tools.
func (p Page) breakdowns() []drawnBreakdown {
	names := map[string]bool{}
	for _, s := range p.Systems {
		for _, r := range s.Rows {
			for _, tag := range r.Tags {
				if name, _, ok := strings.Cut(tag, ":"); ok && name != "kind" {
					names[name] = true
				}
			}
		}
	}
	all := []eval.Breakdown{eval.Break("kind", p.Systems, func(r eval.Row) []string {
		if r.Kind == "" {
			return nil
		}
		return []string{r.Kind}
	}, p.Bootstrap), eval.Break("tool", p.Systems, func(r eval.Row) []string { return r.Tools }, p.Bootstrap)}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, eval.Break(name, p.Systems, func(r eval.Row) (values []string) {
			for _, tag := range r.Tags {
				if value, ok := strings.CutPrefix(tag, name+":"); ok {
					values = append(values, value)
				}
			}
			return values
		}, p.Bootstrap))
	}
	var out []drawnBreakdown
	for _, b := range all {
		if len(b.Values) < 2 { // it tells nothing that the whole does not
			continue
		}
		d := drawnBreakdown{Name: b.Name}
		for _, x := range b.Values {
			row := breakdownRow{Value: x.Value, Height: 8*len(x.Whole) + 4}
			for i := range x.Whole {
				row.N = max(row.N, x.Whole[i].N)
				row.Whole = append(row.Whole, rate(p.Systems[i].Name, colour(i), x.Whole[i].Mean, x.Whole[i].Low, x.Whole[i].High, x.Whole[i].N))
				row.First = append(row.First, rate(p.Systems[i].Name, colour(i), x.First[i].Mean, x.First[i].Low, x.First[i].High, x.First[i].N))
			}
			d.Rows = append(d.Rows, row)
		}
		out = append(out, d)
	}
	return out
}

// Y is where the i-th system's line lies in a breakdown's row.
func (breakdownRow) Y(i int) int { return 8*i + 6 }

// costs is what an episode costs in the mean, by system.
func (p Page) costs(results eval.Results) []costRow {
	var out []costRow
	row := func(name string, of func(eval.Summary) string) {
		r := costRow{Name: name}
		for _, s := range p.Systems {
			r.Cells = append(r.Cells, of(results.Systems[s.Name]))
		}
		out = append(out, r)
	}
	row("turns", func(s eval.Summary) string { return number(s.Turns) })
	row("tool errors", func(s eval.Summary) string { return number(s.ToolErrors) })
	row("invalid calls", func(s eval.Summary) string { return number(s.InvalidCalls) })
	row("calls beyond the gold calls", eval.Summary.ExtraCallsText)
	row("tokens written", func(s eval.Summary) string { return number(s.CompletionTokens) })
	row("reward", func(s eval.Summary) string { return number(s.Reward) })
	row("time", func(s eval.Summary) string { return duration(s.Seconds) })
	row("of it, the model", func(s eval.Summary) string { return duration(s.ModelSeconds) })
	row("of it, tools", func(s eval.Summary) string { return duration(s.ToolSeconds) })
	return out
}

// terms is the mean score of each term of the reward over the episodes that have it, by system.
func (p Page) terms() []termRow {
	type sums struct{ total, n float64 }
	scores := map[string][]sums{}
	weights := map[string]float64{}
	var order []string
	for i, s := range p.Systems {
		for _, e := range s.Episodes {
			for _, t := range e.Trajectory.Terms {
				if scores[t.Name] == nil {
					scores[t.Name] = make([]sums, len(p.Systems))
					order = append(order, t.Name)
				}
				weights[t.Name] = t.Weight
				scores[t.Name][i].total += t.Score
				scores[t.Name][i].n++
			}
		}
	}
	var out []termRow
	for _, name := range order {
		row := termRow{Name: name, Weight: number(weights[name])}
		for _, s := range scores[name] {
			cell := "-"
			if s.n > 0 {
				cell = fmt.Sprintf("%.3f", s.total/s.n)
			}
			row.Cells = append(row.Cells, cell)
		}
		out = append(out, row)
	}
	return out
}

func (v *view) parts(results eval.Results) {
	all := 0.0
	for _, part := range results.Parts {
		all += part.Seconds
	}
	if all == 0 {
		return
	}
	from := 0.0
	for i, part := range results.Parts {
		d := drawnPart{Name: part.Name, Class: colour(i + 1), Text: duration(part.Seconds), Share: percent(part.Seconds / all),
			From: place(from / all), Width: place(part.Seconds / all), Orchestration: part.Orchestration}
		from += part.Seconds
		v.Parts = append(v.Parts, d)
	}
	v.Share = percent(results.OrchestrationShare)
}

func (v *view) groups(p Page, r *room) {
	worst, best := Extremes(p.Groups)
	both := append(slices.Clone(worst), best...)
	if len(both) == 0 {
		return
	}
	low, high := 0.0, 0.0
	for _, g := range both {
		low, high = min(low, slices.Min(g.Rewards)), max(high, slices.Max(g.Rewards))
	}
	v.Worst, v.Best = drawGroups(worst, low, high, r), drawGroups(best, low, high, r)
}

// systemMessage is the system message that most episodes begin with, "" where no two share one.
func (p Page) systemMessage() string {
	seen := map[string]int{}
	count := func(e eval.Example) {
		if m := e.Trajectory.Messages; len(m) > 0 && m[0].Role == chat.System {
			seen[m[0].Content]++
		}
	}
	for _, s := range p.Systems {
		for _, e := range s.Episodes {
			count(e)
		}
	}
	for _, g := range p.Groups {
		for _, e := range g.Episodes {
			count(e)
		}
	}
	for _, e := range p.Episodes {
		count(e)
	}
	most, n := "", 1
	for _, text := range slices.Sorted(maps.Keys(seen)) {
		if seen[text] > n {
			most, n = text, seen[text]
		}
	}
	return most
}

// Lead is the page in one sentence.
func (v view) Lead() string {
	if len(v.Systems) == 0 {
		return ""
	}
	s := v.Last()
	if s.Whole.Empty {
		return fmt.Sprintf("No episode of %s says anything about the model.", s.Name)
	}
	text := fmt.Sprintf("%s does %s of %s", s.Name, s.Whole.Text, fault.Count(s.N, "scenario"))
	sep := ": "
	for _, h := range v.Headline {
		switch {
		case h.New != s.Name:
			continue
		case h.Class == "same":
			text += fmt.Sprintf("%s%s from %s", sep, h.Verdict, h.Old)
		default:
			text += fmt.Sprintf("%s%s points %s than %s", sep, strings.TrimLeft(h.Text, "+\u2212"), h.Verdict, h.Old)
		}
		sep = ", "
	}
	return text + "."
}

// nearTrained says of each scenario near to what was learnt from what that is; of many only the first.
func nearTrained(near []overlap.Near) (out []string) {
	const most = 20
	for i, n := range near {
		if i == most {
			return append(out, fmt.Sprintf("%d more", len(near)-most))
		}
		values := "but for values, such as numbers"
		if n.SameValues {
			values = "a near copy"
		}
		out = append(out, fmt.Sprintf("%s, of %s (%s, similarity %.2f)", n.ScenarioID, n.Source.Name, values, n.Similarity))
	}
	return out
}
