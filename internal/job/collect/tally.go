package collect

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/llm"
	"hone/internal/recipe"
	"hone/internal/text/toolcall"
)

// Tally counts how episodes ended.
type Tally struct {
	odd oddResults
	// what the first episode that a server or the way to it spoilt says, its last words included
	lost                      string
	Outcomes                  map[trajectory.Outcome]int
	unscored                  string                        // why the first episode that could not be scored was not
	scored, passed, notScored int                           // by the scenario's checks
	cut                       map[trajectory.StopReason]int // that a limit ended; some of them may have passed
	shown                     int                           // that hone sft learns from
	// gold solutions that a server refused, which are among those that it spoilt
	refused  int
	mend     string                 // what to do about all of these
	unknown  int                    // gold answers that nothing shown says, which are left out
	forms    llm.Forms              // of answers that hold a call which was not read
	invented *trajectory.Trajectory // the first of the unknown
	unmade   int                    // gold solutions that call a tool which is not there
	calling  *trajectory.Trajectory // the first of them
}

// nothing is an error where none of n episodes came to anything.
func (t *Tally) nothing(n int, where string) error {
	switch n {
	case t.refused:
		return allRefusedError(where, t.lost, t.mend)
	case t.unmade:
		return allUnmadeError(where, t.calling)
	case t.unknown:
		return &fault.Error{Code: fault.CodeFailures, What: "every gold answer says what nothing shown says",
			Where: where, Why: t.invented.ScenarioID + ": " + t.invented.Error, Next: mendUnknown(where, t.invented)}
	case t.Outcomes[trajectory.EnvironmentError] + t.Outcomes[trajectory.InfrastructureError]:
		return &fault.Error{Code: fault.CodeUnavailable, What: "no call was answered by its MCP server", Where: where,
			Why: t.lost, Next: trajectory.Mending(t.lost, "hone doctor") +
				"; then the same command tries these scenarios again"}
	case t.Outcomes[trajectory.JudgeError]:
		return &fault.Error{Code: fault.CodeFailures, What: "no episode could be scored", Where: where, Why: t.unscored,
			Next: "remove the reason; then the same command scores them, and runs none again"}
	}
	return nil
}

// say tells how the episodes went, and what the same command will try again.
func (t *Tally) say(j *job.Job) {
	if t.lost != "" {
		mend := ""
		if t.mend != "" {
			mend = "; " + t.mend
		}
		j.Say("note: episodes that a server or the way to it spoilt, the first by: %s%s; "+
			"the same command tries them again", t.lost, mend)
	}
	if t.unscored != "" {
		j.Say("note: %s could not be scored, the first by: %s; the same command scores them again",
			fault.Count(t.Outcomes[trajectory.JudgeError], "episode"), t.unscored)
	}
	if t.forms.Held > 0 {
		j.Say("%s", t.forms)
	}
	if t.unknown > 0 {
		j.Say("left out: %s that could not be known, the first: %s: %s; next: %s",
			fault.Count(t.unknown, "gold answer"), t.invented.ScenarioID, t.invented.Error,
			mendUnknown(j.Path, t.invented))
	}
	if t.unmade > 0 {
		j.Say("left out: %s of tools that are not there, the first: %s: %s; next: %s",
			fault.Count(t.unmade, "gold solution"), t.calling.ScenarioID, t.calling.Error, mendUnmade)
	}
	for _, line := range t.odd.lines() {
		j.Say("%s", line)
	}
	j.Say("%s", t.passRate())
	if len(t.cut) > 0 {
		j.Say("%s", t.cutOff())
	}
}

// total counts the episodes that are kept.
func (t *Tally) total() int {
	n := 0
	for _, of := range t.Outcomes {
		n += of
	}
	return n
}

func (t *Tally) add(x *trajectory.Trajectory) {
	t.forms.Add(x)
	if t.odd == nil {
		t.odd = oddResults{}
	}
	t.odd.add(x)
	t.Outcomes[x.Outcome]++
	if broken := x.Outcome == trajectory.EnvironmentError || x.Outcome == trajectory.InfrastructureError; broken &&
		t.lost == "" {
		t.lost = x.Error
	}
	if x.Outcome == trajectory.PolicyError && strings.HasPrefix(x.Error, unknownAnswer) {
		t.unknown++
		t.invented = cmp.Or(t.invented, x)
	}
	if x.Outcome == trajectory.PolicyError && strings.HasPrefix(x.Error, unmadeCall) {
		t.unmade++
		t.calling = cmp.Or(t.calling, x)
	}
	if x.Outcome == trajectory.JudgeError && t.unscored == "" {
		t.unscored = x.Error
	}
	if x.Outcome == trajectory.Limit {
		t.cut[x.StopReason]++
	}
	i := slices.IndexFunc(x.Terms, func(term trajectory.Term) bool { return term.Name == "checks" })
	passed := i >= 0 && x.Terms[i].Score == 1
	if x.Outcome == trajectory.OK && (i < 0 || passed) {
		t.shown++
	}
	switch {
	case i < 0:
		t.notScored++
	case passed:
		t.scored, t.passed = t.scored+1, t.passed+1
	default:
		t.scored++
	}
}

// cutOff says how many episodes a limit ended, and the keys to raise. They are told apart from those that failed: what
// they did may be right, and passes checks that are true by then.
func (t *Tally) cutOff() string {
	n, by := 0, []string{}
	for _, stop := range slices.Sorted(maps.Keys(t.cut)) {
		n += t.cut[stop]
		by = append(by, fmt.Sprintf("%s (%d)", cmp.Or(recipe.Raises(stop), string(stop)), t.cut[stop]))
	}
	return fmt.Sprintf("episodes that a limit cut, which hone sft leaves out, passed or not: %d; "+
		"raise %s for another --output-dir", n, strings.Join(by, ", "))
}

// passRate says how many episodes passed their checks. One without checks, or without an outcome that is the model's,
// is in no rate.
func (t *Tally) passRate() string {
	text := "no episode was scored by checks"
	if t.scored > 0 {
		text = fmt.Sprintf("%d of %s passed all checks (%.1f%%)",
			t.passed, fault.Count(t.scored, "episode"), 100*float64(t.passed)/float64(t.scored))
	}
	if t.notScored > 0 {
		text += fmt.Sprintf("; not scored, for want of checks or because a server failed: %d", t.notScored)
	}
	return text
}

// sayUnread says that the endpoint left a call or reasoning in a text, once for a conversation.
func sayUnread(j *job.Job, t *trajectory.Trajectory, own bool) bool {
	for _, turn := range t.Turns {
		if what, next := Unread(j, turn, own); what != "" {
			j.Say("warning: %s; %s", what, next)
			return true
		}
	}
	return false
}

// Unread is what an endpoint left in the text of a turn, a call or reasoning, and why: the call is broken, or the
// endpoint does not read its form. next is what helps. Both are "" where it left nothing. own tells that hone's own
// server answers, which reads what its model was taught.
func Unread(j *job.Job, turn trajectory.Turn, own bool) (what, next string) {
	base := j.Config.Model.Base
	if form, unread := llm.UnreadCall(turn.Content); unread {
		why, next := base+" would learn it as words", form.Mend()
		if is := toolFormat(j); is == form.Name {
			why = base + " writes calls so too, but this one was not made"
		} else if is != "" {
			why = base + " writes calls in the form " + is + ", and would learn these as words"
		}
		if broken := brokenCall(form.Name, turn.Content); broken != "" {
			why, next = broken+", so no server reads it",
				"raise rollout.max_tokens where it breaks off, else hone sft on demonstrations teaches whole calls"
		} else if own {
			next = "hone serve reads the form that the model's template writes: " +
				"name its form with model.tool_format, or train the model with hone sft"
		}
		return fmt.Sprintf("the endpoint left a call in the text, in the form of %s (%s); %s",
			form.Form, form.Name, why), next
	}
	if form, unread := llm.UnsplitReasoning(turn.Content); unread {
		return fmt.Sprintf("the endpoint left reasoning in the text, in the form of %s, and %s would learn it as words",
			form.Form, base), form.Mend()
	}
	return "", ""
}

// brokenCall says what is wrong with a call in a text of a form, "" where nothing is, or where the form is not known.
func brokenCall(form, text string) string {
	f, err := toolcall.ByName(form)
	if err != nil {
		return ""
	}
	return f.Parse(text, toolcall.Options{}).Err
}

// oddResults count what of tools' results was not read as it came, by the warning that stands on them.
type oddResults fault.Asides

func (o oddResults) add(x *trajectory.Trajectory) {
	for _, turn := range x.Turns {
		for _, r := range turn.Results {
			where := fmt.Sprintf("of %s in %s", r.Call.Name, x.ID)
			for text := range strings.SplitSeq(strings.TrimPrefix(r.Warning, oddResult), "; ") {
				place := ""
				if m := oddPart.FindStringSubmatch(text); m != nil { // the same of another part is the same
					place, text = m[1]+" ", "a part"+m[2]+" that "+m[3]
				}
				if text != "" {
					fault.Asides(o).Add(strings.TrimPrefix(text, oddResult), place+where)
				}
			}
		}
	}
}

// What a warning says of a result that is not as MCP has it.
const oddResult = "the result does not follow the protocol: "

var oddPart = regexp.MustCompile(`^(?:` + oddResult + `)?(content\[\d+\])((?:, [^,]+,)?) (.*)$`)

// lines tell of the most frequent.
func (o oddResults) lines() []string {
	const shown = 8
	return fault.Asides(o).Lines(shown, "place", "which the records hold")
}
