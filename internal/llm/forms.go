package llm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Forms counts the answers of episodes, completions that call nothing, and those of them that hold a call in all but form: a
// model that writes another form than it is read in does not fail at the task, and is to be told from one that does.
type Forms struct {
	Answers, Held int
	by            map[Markup]int
}

// Add takes an episode in.
func (f *Forms) Add(t *trajectory.Trajectory) {
	var names []string
	for _, tool := range t.Tools {
		names = append(names, tool.Name)
	}
	if t.Shown != nil {
		names = append(names, t.Shown.Names...)
	}
	for _, c := range t.Calls() {
		if !slices.Contains(names, c.Call.Name) {
			names = append(names, c.Call.Name)
		}
	}
	for _, turn := range t.Turns {
		if len(turn.Calls) > 0 {
			continue
		}
		f.Answers++
		if form, ok := Almost(turn.Content, names...); ok && turn.ParseError == "" { // one of its own form that is broken is counted as such
			if f.by == nil {
				f.by = map[Markup]int{}
			}
			f.Held++
			f.by[form]++
		}
	}
}

// Most is the form that most of them have.
func (f Forms) Most() Markup {
	all := slices.SortedFunc(maps.Keys(f.by), func(a, b Markup) int { return cmp.Or(cmp.Compare(f.by[b], f.by[a]), cmp.Compare(a.Form, b.Form)) })
	if len(all) == 0 {
		return Markup{}
	}
	return all[0]
}

// String says how many there are, as "31 of 63 answers hold a call in another form", and which form.
func (f Forms) String() string {
	verb := "hold"
	if f.Held == 1 {
		verb = "holds"
	}
	text := fmt.Sprintf("%d of %s %s a call in another form", f.Held, fault.Count(f.Answers, "answer"), verb)
	if len(f.by) > 1 {
		return fmt.Sprintf("%s, most as %s (%d)", text, f.Most().Form, f.by[f.Most()])
	}
	return text + ", as " + f.Most().Form
}
