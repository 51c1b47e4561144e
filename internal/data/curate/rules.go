package curate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/data/overlap"
	"hone/internal/fault"
)

// Rules reject traces. The zero value rejects none. A trace that a person accepted, or that is rejected already, is
// left alone.
type Rules struct {
	ChecksPassed bool    // its scenario's checks hold, and it ended by itself
	SchemaValid  bool    // each call fits its tool's schema
	NoToolError  bool    // each call was answered without an error, or with one that Wanted names
	MaxTurns     int     // assistant messages to be learnt; 0 has no bound
	MinJudge     float64 // what the judge gave; 0 asks for none
	MinRating    int     // what a person gave; 0 asks for none
	Near         float64 // from this similarity on two traces are near copies, of which the better stays; 0 keeps both
	PerTool      int     // most traces for each tool: one stays while any of its tools has fewer; 0 has no bound
	// most traces of each length, a measure of difficulty: no call, one, 2 to 3, 4 to 7, ...; 0 has no bound
	PerLength int

	Author string // of the operations
	// Wanted are the tools of which a trace's scenario wants a call to be refused; nil where no scenario is known.
	Wanted func(*dataset.Row) []string
}

// names are the rules that are asked for.
func (r Rules) names() (names []string) {
	for name, asked := range map[string]bool{
		"checks passed": r.ChecksPassed, "schema valid": r.SchemaValid, noToolError: r.NoToolError,
		"most turns": r.MaxTurns > 0, "judge": r.MinJudge > 0, "rating": r.MinRating > 0, "near copy": r.Near > 0,
		"balance by tool":   r.PerTool > 0,
		"balance by length": r.PerLength > 0,
	} {
		if asked {
			names = append(names, name)
		}
	}
	return names
}

const noToolError = "no tool error"

// Ruled is what rules did: how many traces they looked at, and rejected by reason.
type Ruled struct {
	Looked   int            `json:"looked"`
	Rejected map[string]int `json:"rejected"` // of each rule that was asked for
	Spared   int            `json:"spared"`   // that a call failed in as their scenarios want
	Left     int            `json:"left"`     // that are not rejected now
	// of those, how many say nothing of how their calls went, where a rule asks for it
	Unknown int `json:"unknown"`
}

// Apply rejects what the rules refuse, each with its reason, as operations that can be undone.
func (c *Curation) Apply(r Rules) (Ruled, error) {
	out := Ruled{Rejected: map[string]int{}}
	if r.Near < 0 || r.Near > 1 {
		return out, &fault.Error{Code: fault.CodeUsage, What: "a similarity is above 0 and at most 1",
			Where: fmt.Sprint(r.Near)}
	}
	for _, name := range r.names() {
		out.Rejected[name] = 0
	}
	checker := NewChecker()
	var left []*Trace
	var rejects []Op // written down at once: each by itself waits for the disk
	reject := func(t *Trace, rule, why string) {
		out.Rejected[rule]++
		rejects = append(rejects, Op{Do: Reject, Trace: t.ID, Author: r.Author, Why: rule + ": " + why})
	}
	for _, t := range c.Traces() {
		if t.Status == Rejected {
			continue
		}
		out.Looked++
		rule, why := "", ""
		if t.Status == Undecided {
			rule, why = r.refuses(t, checker)
		}
		if rule == "" {
			left = append(left, t)
			continue
		}
		reject(t, rule, why)
	}
	for _, step := range []func([]*Trace) map[*Trace][2]string{r.copies, r.tooMany} {
		refused := step(left)
		for _, t := range left {
			if why, there := refused[t]; there {
				reject(t, why[0], why[1])
			}
		}
		left = slices.DeleteFunc(left, func(t *Trace) bool { _, there := refused[t]; return there })
	}
	if _, err := c.DoAll(rejects); err != nil {
		return Ruled{}, err
	}
	out.Left = len(left)
	for _, t := range left {
		failed, known := toolErrors(&t.Row)
		if r.NoToolError && !known && numCalls(&t.Row) > 0 {
			out.Unknown++
		}
		if r.NoToolError && t.Status == Undecided && len(failed) > 0 {
			out.Spared++
		}
	}
	return out, nil
}

// Text tells a person what was looked at and what is left.
func (r Ruled) Text() string {
	text := fmt.Sprintf("%s looked at, %d left", fault.Count(r.Looked, "trace"), r.Left)
	if r.Spared > 0 {
		text += fmt.Sprintf("; in %d of them a call failed as their scenarios want", r.Spared)
	}
	if r.Unknown > 0 {
		text += fmt.Sprintf("; %d of them do not record whether their calls succeeded", r.Unknown)
	}
	return text
}

// refuses says which rule refuses a trace by itself, and why.
func (r Rules) refuses(t *Trace, checker *Checker) (rule, why string) {
	if why := t.Row.WhyNoDemonstration(); r.ChecksPassed && why != "" {
		return "checks passed", why
	}
	if r.ChecksPassed && t.Edited {
		return "checks passed", "it was edited since its checks were made"
	}
	if r.ChecksPassed && !hasTerm(&t.Row, "checks") {
		return "checks passed", "it was not scored by checks"
	}
	if r.SchemaValid {
		if found := checker.Findings(t); len(found) > 0 {
			return "schema valid", found[0]
		}
	}
	if r.NoToolError {
		if why := r.unwantedFailure(&t.Row); why != "" {
			return noToolError, why
		}
	}
	if n := numSteps(&t.Row); r.MaxTurns > 0 && n > r.MaxTurns {
		return "most turns", fmt.Sprintf("%d, more than %d", n, r.MaxTurns)
	}
	if r.MinJudge > 0 {
		score, there := termOf(&t.Row, "judge")
		if !there {
			return "judge", "no judge has scored it"
		} else if score < r.MinJudge {
			return "judge", fmt.Sprintf("%g, below %g", score, r.MinJudge)
		}
	}
	if r.MinRating > 0 && t.Rating < r.MinRating {
		return "rating", fmt.Sprintf("%d, below %d", t.Rating, r.MinRating)
	}
	return "", ""
}

// unwantedFailure is the first call that failed and that the scenario does not want to fail, "" where there is none.
func (r Rules) unwantedFailure(row *dataset.Row) string {
	failed, _ := toolErrors(row)
	if len(failed) == 0 {
		return ""
	}
	var wanted []string
	if r.Wanted != nil {
		wanted = r.Wanted(row)
	}
	for _, f := range failed {
		i := slices.Index(wanted, f.tool)
		if i < 0 {
			return f.String()
		}
		wanted = slices.Delete(wanted, i, i+1) // each is wanted once
	}
	return ""
}

func termOf(r *dataset.Row, name string) (float64, bool) {
	for _, t := range r.Terms {
		if t.Name == name {
			return t.Score, true
		}
	}
	return 0, false
}

func hasTerm(r *dataset.Row, name string) bool {
	_, there := termOf(r, name)
	return there
}

// numSteps is how many assistant messages are to be learnt.
func numSteps(r *dataset.Row) int {
	n := 0
	for i := range r.Messages {
		if r.Trains(i) {
			n++
		}
	}
	return n
}

func numCalls(r *dataset.Row) int {
	n := 0
	for _, m := range r.Messages[r.Opening:] {
		n += len(m.ToolCalls)
	}
	return n
}

// byWorth orders traces so that the better stand first: accepted, then by rating, by judge, by fewer steps, and as they
// were read.
func byWorth(list []*Trace) []*Trace {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b *Trace) int {
		judgeA, _ := termOf(&a.Row, "judge")
		judgeB, _ := termOf(&b.Row, "judge")
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.Rating, a.Rating), cmp.Compare(judgeB, judgeA),
			cmp.Compare(numSteps(&a.Row), numSteps(&b.Row)))
	})
	return out
}

// rank puts what a person accepted first.
func rank(t *Trace) int {
	if t.Status == Accepted {
		return 1
	}
	return 0
}

// copies are the traces that a better one nearly says, by what the user says and what is called.
func (r Rules) copies(list []*Trace) map[*Trace][2]string {
	out := map[*Trace][2]string{}
	if r.Near == 0 {
		return out
	}
	index, kept := overlap.NewCopies(r.Near), []*Trace{}
	for some := range slices.Chunk(byWorth(list), 1024) { // so that no more of them are held as they were read
		var texts []string
		for _, t := range some {
			texts = append(texts, gist(&t.Row))
		}
		for i, text := range overlap.Read(texts...) {
			if found, there := index.Of(text); there && some[i].Status != Accepted {
				out[some[i]] = [2]string{"near copy", fmt.Sprintf("of %s (%.2f)", kept[found.ID].ID, found.Similarity)}
				continue
			}
			index.Add(text)
			kept = append(kept, some[i])
		}
	}
	return out
}

// gist is what traces are compared by.
func gist(r *dataset.Row) string {
	var b strings.Builder
	for _, m := range r.Messages {
		if m.Role == chat.User {
			b.WriteString(m.Content + "\n")
		}
		for _, c := range m.ToolCalls {
			b.WriteString(c.Name + " " + c.Arguments + "\n")
		}
	}
	return b.String()
}

// tooMany are the traces beyond what each tool and each length may have, the worse first.
func (r Rules) tooMany(list []*Trace) map[*Trace][2]string {
	out := map[*Trace][2]string{}
	tools, lengths := map[string]int{}, map[int]int{}
	for _, t := range byWorth(list) {
		called, length := calledTools(&t.Row), lengthOf(&t.Row)
		full := r.PerTool > 0 && len(called) > 0 &&
			!slices.ContainsFunc(called, func(name string) bool { return tools[name] < r.PerTool })
		if t.Status != Accepted {
			if full {
				out[t] = [2]string{"balance by tool", fmt.Sprintf("%s has %d", strings.Join(called, ", "), r.PerTool)}
				continue
			}
			if r.PerLength > 0 && lengths[length] >= r.PerLength {
				out[t] = [2]string{"balance by length", fmt.Sprintf("%d traces have as many calls", r.PerLength)}
				continue
			}
		}
		for _, name := range called {
			tools[name]++
		}
		lengths[length]++
	}
	return out
}

func calledTools(r *dataset.Row) []string {
	names := map[string]bool{}
	for _, m := range r.Messages[r.Opening:] {
		for _, c := range m.ToolCalls {
			names[c.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// lengthOf is the class of a trace's number of calls: 0, 1, 2 to 3, 4 to 7, and so on.
func lengthOf(r *dataset.Row) int {
	class := 0
	for n := numCalls(r); n > 0; n /= 2 {
		class++
	}
	return class
}
