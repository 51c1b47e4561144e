package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// drawnCase is episodes side by side: what each system did with one scenario, or the rollouts of one group.
type drawnCase struct {
	ID       string // of the scenario
	Task     string // its beginning
	Kind     string
	Tells    []tell
	Class    string // worse, better, ""
	Marks    []drawnMark
	Find     string // what a filter looks in
	Pick     string // of more than two episodes, the places of the two that are looked at first
	Episodes []drawnEpisode
}

// tell is what there is to know of a case in a few words: "grpo below sft".
type tell struct {
	Text, Class string
	old, new    string  // the systems
	by          float64 // the difference of their rates
}

// drawnMark is how often one system did the scenario.
type drawnMark struct {
	Label, Class string
	Mark         mark
}

// scenarios puts the systems' episodes side by side: those that got worse, the largest fall first; those that got
// better; and the others, those that the last system fails first.
func (p Page) scenarios(n Numbers) (worse, better, others []pending) {
	byID := map[string]*pending{}
	var order []string
	for i, s := range p.Systems {
		for _, e := range s.Episodes {
			id := e.Trajectory.ScenarioID
			if byID[id] == nil {
				byID[id] = &pending{id: id}
				order = append(order, id)
			}
			byID[id].add(s.Name, colour(i), e)
		}
		for _, x := range byID { // a ledger has them as they ended
			mine := x.episodes[len(x.episodes)-x.of(s.Name):]
			slices.SortStableFunc(mine, func(a, b labelled) int {
				return cmp.Compare(a.example.Trajectory.Rollout, b.example.Trajectory.Rollout)
			})
		}
		for _, r := range s.Rows {
			if x := byID[r.ScenarioID]; x != nil {
				x.kind = r.Kind
			}
		}
	}
	deltas := n.Deltas
	if len(deltas) > 0 { // those of the headline are told of first
		deltas = slices.Concat(headlines(n), deltas)
	}
	for i, d := range deltas {
		if slices.ContainsFunc(deltas[:i], func(e stats.Delta) bool { return e.Old == d.Old && e.New == d.New }) {
			continue
		}
		for _, c := range slices.Concat(d.Regressions, d.Gains) {
			if x := byID[c.ScenarioID]; x != nil {
				x.tell(d, c)
			}
		}
	}
	// The regressions stand in the order that the numbers have.
	place := map[string]int{}
	for i, r := range slices.Backward(n.Regressions) {
		place[r.ScenarioID] = i
	}
	slices.Sort(order)
	for _, id := range order {
		x := byID[id]
		switch {
		case x.fall > 0:
			worse = append(worse, *x)
		case x.rise > 0:
			better = append(better, *x)
		default:
			others = append(others, *x)
		}
	}
	slices.SortStableFunc(worse, func(a, b pending) int { return cmp.Compare(place[a.id], place[b.id]) })
	slices.SortStableFunc(better, func(a, b pending) int { return cmp.Compare(b.rise, a.rise) })
	slices.SortStableFunc(others, func(a, b pending) int { return cmp.Compare(a.passes(), b.passes()) })
	return worse, better, others
}

// pending is a case before its episodes take room.
type pending struct {
	id, kind   string
	fall, rise float64 // the largest between two systems
	tells      []tell
	episodes   []labelled
}

// tell notes that a scenario is done more or less often by one system than by another.
func (x *pending) tell(d stats.Delta, c stats.Change) {
	t := tell{fmt.Sprintf("%s above %s", d.New, d.Old), "better", d.Old, d.New, c.New - c.Old}
	if c.New < c.Old {
		t = tell{fmt.Sprintf("%s below %s", d.New, d.Old), "worse", d.Old, d.New, c.Old - c.New}
		x.fall = max(x.fall, t.by)
	} else {
		x.rise = max(x.rise, t.by)
	}
	x.tells = append(x.tells, t)
}

type labelled struct {
	label, class string
	example      stats.Example
}

func (x *pending) add(label, class string, e stats.Example) {
	x.episodes = append(x.episodes, labelled{label, class, e})
}

// of is how many episodes are a system's.
func (x pending) of(system string) (n int) {
	for _, e := range x.episodes {
		if e.label == system {
			n++
		}
	}
	return n
}

// passes is 1 where the last system's last episode passed.
func (x pending) passes() int {
	if n := len(x.episodes); n > 0 && markOf(x.episodes[n-1].example).Class == "passed" {
		return 1
	}
	return 0
}

// draw lays out a case.
func (x pending) draw(r *room) drawnCase {
	c := drawnCase{ID: sanitize.Line(x.id), Kind: sanitize.Line(x.kind)}
	switch {
	case x.fall > 0:
		c.Class = "worse"
	case x.rise > 0:
		c.Class = "better"
	}
	slices.SortStableFunc(x.tells, func(a, b tell) int { return cmp.Compare(b.by, a.by) })
	passed, all := map[string]int{}, map[string]int{}
	for _, e := range x.episodes {
		if all[e.label]++; markOf(e.example).Class == "passed" {
			passed[e.label]++
		}
	}
	for _, e := range x.episodes {
		if c.Task == "" {
			c.Task = task(e.example.Trajectory)
		}
		label := e.label
		if all[e.label] > 1 {
			label = fmt.Sprintf("%s, repeat %d", e.label, e.example.Trajectory.Rollout+1)
		}
		c.Episodes = append(c.Episodes, r.draw(label, e.class, e.example))
		if len(c.Marks) == 0 || c.Marks[len(c.Marks)-1].Label != e.label {
			c.Marks = append(c.Marks, drawnMark{e.label, e.class, marksOf(e.example, passed[e.label], all[e.label])})
		}
	}
	if len(x.episodes) > 2 {
		c.Pick = x.pick(c.Class)
	}
	find := []string{c.ID, c.Kind, c.Task}
	for _, t := range x.tells {
		find = append(find, t.Text)
	}
	c.Tells = c.most(x.tells)
	c.Find = strings.ToLower(strings.Join(find, " "))
	return c
}

// mostTells is how many changes of a scenario are named; those of its class, which the marks beside it show too.
const mostTells = 2

func (c drawnCase) most(tells []tell) (out []tell) {
	mine := slices.DeleteFunc(slices.Clone(tells), func(t tell) bool { return c.Class != "" && t.Class != c.Class })
	if len(mine) <= mostTells {
		return mine
	}
	return append(mine[:mostTells:mostTells],
		tell{Text: fmt.Sprintf("and %d more", len(mine)-mostTells), Class: c.Class})
}

// marksOf is the mark of a system's only episode, or how many of them passed.
func marksOf(e stats.Example, passed, all int) mark {
	if all == 1 {
		return markOf(e)
	}
	m := mark{fmt.Sprintf("%d/%d", passed, all), "passed", "mixed"}
	switch passed {
	case 0:
		m.Class = "failed"
	case all:
		m.Class = "passed"
	}
	return m
}

// pick is the places of the two episodes that show the change best: one of the old system that the change is told of,
// and one of the new, which of a fall passed and failed, of a rise the other way round. Where nothing changed they are
// of the first and the last system.
func (x pending) pick(class string) string {
	systems := [2]string{x.episodes[0].label, x.episodes[len(x.episodes)-1].label}
	if i := slices.IndexFunc(x.tells, func(t tell) bool { return t.Class == class }); i >= 0 {
		systems = [2]string{x.tells[i].old, x.tells[i].new}
	}
	wanted := [2]string{"passed", "failed"}
	if class == "better" {
		wanted = [2]string{"failed", "passed"}
	}
	places := [2]int{0, len(x.episodes) - 1}
	for side := range places {
		of := func(e labelled) bool { return e.label == systems[side] }
		if i := slices.IndexFunc(x.episodes, of); i >= 0 {
			places[side] = i
		}
		if i := slices.IndexFunc(x.episodes,
			func(e labelled) bool { return of(e) && markOf(e.example).Class == wanted[side] }); i >= 0 && class != "" {
			places[side] = i
		}
	}
	return fmt.Sprintf("%d %d", places[0], places[1])
}

// task is the beginning of what the user asked, on one line.
func task(t *trajectory.Trajectory) string {
	for i, m := range slices.Backward(t.Messages) {
		if m.Role == chat.User && (i < t.Opening || t.Opening == 0) {
			line := []rune(sanitize.Line(m.Content))
			if len(line) > 110 {
				return string(line[:110]) + "…"
			}
			return string(line)
		}
	}
	return ""
}

// drawnGroup is one group of training.
type drawnGroup struct {
	drawnCase
	Title   string
	Mean    string
	Rewards []dot // from the least to the greatest reward of all groups shown
}

// mostGroups is how many of the worst groups a page shows, and of the best.
const mostGroups = 5

// Extremes are the groups with the least mean reward and those with the greatest, no group in both. Of equal ones,
// those whose rewards differ come first, then the later.
func Extremes(groups []Group) (worst, best []Group) {
	sorted := slices.Clone(groups)
	sorted = slices.DeleteFunc(sorted, func(g Group) bool { return len(g.Rewards) == 0 })
	by := func(sign float64) func(a, b Group) int {
		return func(a, b Group) int {
			return cmp.Or(cmp.Compare(sign*a.Mean(), sign*b.Mean()), cmp.Compare(spread(b), spread(a)),
				cmp.Compare(b.Step, a.Step), cmp.Compare(a.ScenarioID, b.ScenarioID))
		}
	}
	n := min(mostGroups, (len(sorted)+1)/2)
	slices.SortStableFunc(sorted, by(1))
	worst = slices.Clone(sorted[:n])
	rest := sorted[n:]
	slices.SortStableFunc(rest, by(-1))
	return worst, rest[:min(n, len(rest))]
}

func spread(g Group) float64 { return slices.Max(g.Rewards) - slices.Min(g.Rewards) }

// drawGroups lays out groups whose rewards lie between low and high. Their episodes are the page's.
func (p Page) drawGroups(groups []Group, low, high float64, r *room) []drawnGroup {
	var out []drawnGroup
	for _, g := range groups {
		g.Episodes = p.episodesOf(g)
		x := pending{id: g.ScenarioID, tells: []tell{{Text: fmt.Sprintf("%s, step %d", g.Stage, g.Step)}}}
		for _, e := range g.Episodes {
			x.add(fmt.Sprintf("rollout %d", e.Trajectory.Rollout), "", e)
		}
		d := drawnGroup{drawnCase: x.draw(r), Mean: number(g.Mean()), Title: fault.Count(len(g.Rewards), "episode")}
		for i, reward := range g.Rewards { // one below the other: equal rewards stay apart
			y := 2 + 14*fraction(float64(i), 0, float64(len(g.Rewards)-1))
			d.Rewards = append(d.Rewards, dot{place(fraction(reward, low, high)), coordinate(y), number(reward)})
		}
		out = append(out, d)
	}
	return out
}

func (p Page) episodesOf(g Group) []stats.Example {
	i := slices.IndexFunc(p.Groups, func(x Group) bool {
		return x.Stage == g.Stage && x.Step == g.Step && x.ScenarioID == g.ScenarioID
	})
	if i < 0 {
		return nil
	}
	return p.Groups[i].Episodes
}
