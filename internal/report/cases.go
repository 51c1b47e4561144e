package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/screen"
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
	Episodes []drawnEpisode
}

// tell is what there is to know of a case in a few words: "grpo below sft".
type tell struct{ Text, Class string }

// drawnMark is how often one system did the scenario.
type drawnMark struct {
	Label string
	Mark  mark
}

// scenarios puts the systems' episodes side by side: those that got worse, the largest fall first; those that got better; and
// the others, those that the last system fails first.
func (p Page) scenarios(deltas []eval.Delta) (worse, better, others []pending) {
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
		for _, r := range s.Rows {
			if x := byID[r.ScenarioID]; x != nil {
				x.kind = r.Kind
			}
		}
	}
	for _, d := range deltas {
		for _, c := range d.Regressions {
			if x := byID[c.ScenarioID]; x != nil {
				x.tells = append(x.tells, tell{fmt.Sprintf("%s below %s", d.New, d.Old), "worse"})
				x.fall += c.Old - c.New
			}
		}
		for _, c := range d.Gains {
			if x := byID[c.ScenarioID]; x != nil {
				x.tells = append(x.tells, tell{fmt.Sprintf("%s above %s", d.New, d.Old), "better"})
				x.rise += c.New - c.Old
			}
		}
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
	slices.SortStableFunc(worse, func(a, b pending) int { return cmp.Compare(b.fall, a.fall) })
	slices.SortStableFunc(better, func(a, b pending) int { return cmp.Compare(b.rise, a.rise) })
	slices.SortStableFunc(others, func(a, b pending) int { return cmp.Compare(a.passes(), b.passes()) })
	return worse, better, others
}

// pending is a case before its episodes take room.
type pending struct {
	id, kind   string
	fall, rise float64 // sums over the pairs of systems
	tells      []tell
	episodes   []labelled
}

type labelled struct {
	label, class string
	example      eval.Example
}

func (x *pending) add(label, class string, e eval.Example) {
	x.episodes = append(x.episodes, labelled{label, class, e})
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
	c := drawnCase{ID: screen.Line(x.id), Kind: screen.Line(x.kind), Tells: x.tells}
	switch {
	case x.fall > 0:
		c.Class = "worse"
	case x.rise > 0:
		c.Class = "better"
	}
	for _, e := range x.episodes {
		if c.Task == "" {
			c.Task = task(e.example.Trajectory)
		}
		c.Marks = append(c.Marks, drawnMark{e.label, markOf(e.example)})
		c.Episodes = append(c.Episodes, r.draw(e.label, e.class, e.example))
	}
	find := []string{c.ID, c.Kind, c.Task}
	for _, t := range c.Tells {
		find = append(find, t.Text)
	}
	c.Find = strings.ToLower(strings.Join(find, " "))
	return c
}

// task is the beginning of what the user asked, on one line.
func task(t *trajectory.Trajectory) string {
	for i, m := range slices.Backward(t.Messages) {
		if m.Role == chat.User && (i < t.Opening || t.Opening == 0) {
			line := []rune(screen.Line(m.Content))
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

// Extremes are the groups with the least mean reward and those with the greatest, no group in both. Of equal ones, those whose
// rewards differ come first, then the later.
func Extremes(groups []Group) (worst, best []Group) {
	sorted := slices.Clone(groups)
	sorted = slices.DeleteFunc(sorted, func(g Group) bool { return len(g.Rewards) == 0 })
	by := func(sign float64) func(a, b Group) int {
		return func(a, b Group) int {
			return cmp.Or(cmp.Compare(sign*a.Mean(), sign*b.Mean()), cmp.Compare(spread(b), spread(a)), cmp.Compare(b.Step, a.Step),
				cmp.Compare(a.ScenarioID, b.ScenarioID))
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

// drawGroups lays out groups whose rewards lie between low and high.
func drawGroups(groups []Group, low, high float64, r *room) []drawnGroup {
	var out []drawnGroup
	for _, g := range groups {
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
