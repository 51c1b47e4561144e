package report

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/data/overlap"
	"hone/internal/eval/stats"
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
	System        text // message that most episodes begin with

	Lead        string
	Systems     []named
	Full        []string // names of systems that are too long for a page
	Cards       []card
	Lost        []lostRow
	Outcomes    []string // columns of Lost
	NotRun      []notRun
	NeverDone   []reference
	AlwaysDone  int
	Unmeasured  []reference
	TrainedOn   []reference
	NearTrained []reference
	Example     *example
	Next        []step

	Rates     []panel
	Repeats   []chart
	Forest    []panel // of the last system against the others
	OtherDiff []panel // of the other pairs
	Parts     []panel // parts of the scenarios that a system does less often
	Breaks    []drawnBreakdown
	Amounts   []panel
	None      []string // metrics that are 0 for all
	Terms     []panel
	Table     []tableRow
	Detect    *powerTable

	Stages              []drawnStage
	WorstGroups, Best   []drawnGroup
	NumGroups           int
	Time                []drawnPart
	Share               string // of orchestration
	OfEpisodes          bool   // the time is that of an evaluation's episodes, and not of training
	Worse               []drawnCase
	Lower               []string // "grpo does 3 of 60 less often than sft"
	Better, Others      []drawnCase
	Episodes            []drawnEpisode
	NumFolded, NumTasks int
}

// named is a system with its colour.
type named struct{ Name, Class string }

// draw makes the view: each number of it from n, each text of an episode from p.
func (p Page) draw(n Numbers) view {
	p, n, full := p.shortenNames(n)
	r := &room{left: mostOfAll, show: p.Show, system: p.systemMessage()}
	v := view{Title: n.Title, Verb: n.Verb, Facts: n.Facts, Notes: n.Notes, Policy: policy(), Style: style(),
		Script: script(), Level: percent(n.Confidence), AlwaysDone: len(n.AlwaysDone),
		NumGroups: n.NumGroups, Full: full}
	if r.system != "" {
		v.System = (&room{}).take(r.system)
	}
	for i, name := range n.Order {
		v.Systems = append(v.Systems, named{name, colour(i)})
		v.NumTasks = max(v.NumTasks, n.Systems[name].N)
	}
	worse, better, others := p.scenarios(n)
	known := tasks{}
	for _, cases := range [][]pending{worse, better, others} {
		known.add(cases)
	}
	v.NeverDone, v.Unmeasured, v.TrainedOn, v.NearTrained = known.references(n.NeverDone),
		known.references(n.Unmeasured), known.references(n.TrainedOn), nearTraining(known, n.NearTrained)
	if len(v.Systems) > 0 {
		v.headline(n)
		v.addLosses(n, known)
		v.Rates, v.Amounts, v.None = metricPanels(n)
		v.Table = metricTable(n)
		v.Repeats = repeatCharts(n)
		v.differences(n)
		v.Breaks = breakdowns(n)
		v.Terms = termPanels(n)
		v.Detect = drawPower(n)
	}
	for _, s := range n.Stages {
		v.Stages = append(v.Stages, drawStage(s))
	}
	v.parts(n)
	// The example takes its room first, then what got worse.
	if len(n.Order) > 1 {
		v.Example = exampleOf(known, n.Order[0], n.Order[len(n.Order)-1], slices.Concat(better, worse, others), r)
	}
	v.Worse = drawAll(worse, r)
	v.groups(p, n, r)
	v.Better, v.Others = drawAll(better, r), drawAll(others, r)
	for _, e := range p.Episodes {
		v.Episodes = append(v.Episodes, r.draw("", "", e))
	}
	v.NumFolded = r.folded
	v.Next = p.next(v, n)
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

type drawnPart struct {
	Name, Class, Text, Share string
	From, Width              string
}

// parts lays out the time of each part of the run, one behind the other.
func (v *view) parts(n Numbers) {
	all := 0.0
	for _, part := range n.Parts {
		all += part.Seconds
	}
	if all == 0 {
		return
	}
	from := 0.0
	for i, part := range n.Parts {
		v.OfEpisodes = v.OfEpisodes || part.Name == stats.ModelsPart
		v.Time = append(v.Time, drawnPart{
			Name:  part.Name,
			Class: colour(i + 1),
			Text:  duration(part.Seconds),
			Share: percent(part.Seconds / all),
			From:  place(from / all),
			Width: place(part.Seconds / all),
		})
		from += part.Seconds
	}
	v.Share = percent(n.OrchestrationShare)
}

func (v *view) groups(p Page, n Numbers, r *room) {
	both := slices.Concat(n.Worst, n.Best)
	if len(both) == 0 {
		return
	}
	low, high := 0.0, 0.0
	for _, g := range both {
		low, high = min(low, slices.Min(g.Rewards)), max(high, slices.Max(g.Rewards))
	}
	v.WorstGroups, v.Best = p.drawGroups(n.Worst, low, high, r), p.drawGroups(n.Best, low, high, r)
}

// systemMessage is the system message that most episodes begin with, "" where no two share one.
func (p Page) systemMessage() string {
	seen := map[string]int{}
	count := func(list []stats.Example) {
		for _, e := range list {
			if m := e.Trajectory.Messages; len(m) > 0 && m[0].Role == chat.System {
				seen[m[0].Content]++
			}
		}
	}
	for _, s := range p.Systems {
		count(s.Episodes)
	}
	for _, g := range p.Groups {
		count(g.Episodes)
	}
	count(p.Episodes)
	most, n := "", 1
	for _, text := range slices.Sorted(maps.Keys(seen)) {
		if seen[text] > n {
			most, n = text, seen[text]
		}
	}
	return most
}

// card is one number of the headline.
type card struct {
	Title, Text, Unit, Class string
	Interval, Verdict        string
	Lane                     lane
	Counts                   string
	Main                     bool
}

// mostCards is how many differences stand in the headline; the plot of differences has all.
const mostCards = 3

// headline is the last system's rate, and its differences from the others: the system before it and the first come
// first. Where it is compared with none, as among arms that begin at one start, all differences are the headline.
func (v *view) headline(n Numbers) {
	last := v.Systems[len(v.Systems)-1]
	whole := n.Systems[last.Name].Metrics[stats.Completion().Name]
	axis := shares()
	main := axis.rate(last.Name, last.Class, whole)
	v.Cards = []card{
		{Title: "whole episode, " + last.Name, Text: main.Text, Interval: main.Interval,
			Lane: lane{main, axis.grid(), ""}, Main: true, Counts: fault.Count(whole.N, "scenario")},
	}
	if n.Systems[last.Name].NumEpisodes > whole.N {
		v.Cards[0].Counts += ", " + fault.Count(n.Systems[last.Name].NumEpisodes, "episode")
	}
	deltas := headlines(n)
	var all []stats.Interval
	for _, d := range deltas {
		all = append(all, d.Episode)
	}
	around := around(all)
	for _, d := range deltas[:min(mostCards, len(deltas))] {
		t := around.difference(d.New+" against "+d.Old, d.Episode)
		unit := "points"
		if t.Empty {
			unit = ""
		}
		v.Cards = append(v.Cards, card{
			Title:    t.Name,
			Text:     t.Text,
			Unit:     unit,
			Class:    t.Class,
			Interval: t.Interval,
			Verdict:  t.Verdict,
			Lane:     lane{t, around.grid(), around.zero},
			Counts:   fmt.Sprintf("%d better · %d worse · of %d", len(d.Gains), len(d.Regressions), d.Episode.N),
		})
	}
	v.Lead = lead(last.Name, main, whole.N, deltas)
}

// headlines are the differences that a page begins with.
func headlines(n Numbers) []stats.Delta {
	last := n.Order[len(n.Order)-1]
	var mine []stats.Delta
	for _, d := range n.Deltas {
		if d.New == last {
			mine = append(mine, d)
		}
	}
	if len(mine) == 0 || len(n.Pairs) > 0 && len(mine) < len(n.Order)-1 {
		return n.Deltas
	}
	// behind the nearest
	if i := slices.IndexFunc(mine, func(d stats.Delta) bool { return d.Old == n.Order[0] }); i > 1 {
		first := mine[i]
		mine = slices.Insert(slices.Delete(mine, i, i+1), 1, first)
	}
	return mine
}

// lead is the page in one sentence.
func lead(name string, whole track, numTasks int, deltas []stats.Delta) string {
	if whole.Empty {
		return fmt.Sprintf("No episode of %s says anything about the model.", name)
	}
	text := fmt.Sprintf("%s does %s of %s", name, whole.Text, fault.Count(numTasks, "scenario"))
	sep := ": "
	for _, d := range deltas[:min(mostCards, len(deltas))] {
		if d.New != name {
			continue
		}
		if v := verdict(d.Episode); classOf(d.Episode) == "same" {
			text += fmt.Sprintf("%s%s from %s", sep, v, d.Old)
		} else {
			text += fmt.Sprintf("%s%s points %s than %s",
				sep, strings.TrimLeft(points(d.Episode.Mean), "+\u2212"), v, d.Old)
		}
		sep = ", "
	}
	return text + "."
}

// nearTraining says of each scenario near to what was learnt from what that is; of many only the first.
func nearTraining(known tasks, near []overlap.Near) (out []reference) {
	const most = 20
	for i, n := range near {
		if i == most {
			return append(out, reference{Note: fmt.Sprintf("%d more", len(near)-most)})
		}
		values := "but for values, such as numbers"
		if n.SameValues {
			values = "a near copy"
		}
		one := known.reference(n.ScenarioID)
		one.Note = fmt.Sprintf(", of %s (%s, similarity %.2f)", n.Source.Name, values, n.Similarity)
		out = append(out, one)
	}
	return out
}
