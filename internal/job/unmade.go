package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/llm"
	"hone/internal/text/toolcall"
)

// Forms counts the answers of episodes, completions that call nothing, and those of them that hold a call in all but form: a
// model that writes another form than it is read in does not fail at the task, and is to be told from one that does.
type Forms struct {
	Answers, Held int
	by            map[llm.Markup]int
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
		if form, ok := llm.Almost(turn.Content, names...); ok && turn.ParseError == "" { // one of its own form that is broken is counted as such
			if f.by == nil {
				f.by = map[llm.Markup]int{}
			}
			f.Held++
			f.by[form]++
		}
	}
}

// Most is the form that most of them have.
func (f Forms) Most() llm.Markup {
	all := slices.SortedFunc(maps.Keys(f.by), func(a, b llm.Markup) int { return cmp.Or(cmp.Compare(f.by[b], f.by[a]), cmp.Compare(a.Form, b.Form)) })
	if len(all) == 0 {
		return llm.Markup{}
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

// sayUnread says that the endpoint left a call or reasoning in a text, and why: the call is broken, or the endpoint does not
// read its form. own tells that hone's own server answers, which reads what its model was taught.
func (j *Job) sayUnread(t *trajectory.Trajectory, own bool) bool {
	base := j.Config.Model.Base
	for _, turn := range t.Turns {
		if form, unread := llm.UnreadCall(turn.Content); unread {
			why, next := base+" would learn it as words", form.Mend()
			if is := j.toolFormat(); is == form.Name {
				why = base + " writes calls so too, but this one was not made"
			} else if is != "" {
				why = base + " writes calls in the form " + is + ", and would learn these as words"
			}
			if broken := brokenCall(form.Name, turn.Content); broken != "" {
				why, next = broken+", so no server reads it", "raise rollout.max_tokens where it breaks off, else hone sft on demonstrations teaches whole calls"
			} else if own {
				next = "hone serve reads the form that the model's template writes: name its form with model.tool_format, or train the model with hone sft"
			}
			j.Say("warning: the endpoint left a call in the text, in the form of %s (%s); %s; %s", form.Form, form.Name, why, next)
			return true
		}
		if form, unread := llm.UnsplitReasoning(turn.Content); unread {
			j.Say("warning: the endpoint left reasoning in the text, in the form of %s, and %s would learn it as words; %s", form.Form, base, form.Mend())
			return true
		}
	}
	return false
}

// brokenCall says what is wrong with a call in a text of a form, "" where nothing is, or where the form is not known.
func brokenCall(form, text string) string {
	f, err := toolcall.ByName(form)
	if err != nil {
		return ""
	}
	return f.Parse(text, toolcall.Options{}).Err
}
