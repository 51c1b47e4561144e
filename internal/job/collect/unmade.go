package collect

import (
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/llm"
	"hone/internal/text/toolcall"
)

// sayUnread says that the endpoint left a call or reasoning in a text, and why: the call is broken, or the endpoint does not
// read its form. own tells that hone's own server answers, which reads what its model was taught.
func sayUnread(j *job.Job, t *trajectory.Trajectory, own bool) bool {
	base := j.Config.Model.Base
	for _, turn := range t.Turns {
		if form, unread := llm.UnreadCall(turn.Content); unread {
			why, next := base+" would learn it as words", form.Mend()
			if is := toolFormat(j); is == form.Name {
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
