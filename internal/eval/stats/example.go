package stats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Example is one episode as a person reads it: what was said, called and answered, and how it was judged.
type Example struct {
	Title      string // the trajectory's ID where it is empty
	Trajectory *trajectory.Trajectory
	Scenario   *scenario.Scenario // nil where it is not known any more
}

// Verdict is one check of an episode, or one that it failed.
type Verdict struct {
	Check  string `json:"check"` // "checks[0] (answer)", or "checks[0] " and the check itself, where it is known
	Passed bool   `json:"passed"`
	Why    string `json:"why,omitempty"` // it failed
}

// ChecksTerm is the name of the reward term that is 1 where all checks pass, and whose reason names those that do not.
const ChecksTerm = "checks"

// failedCheck is how reward.FailedChecks names one.
var failedCheck = regexp.MustCompile(`checks\[(\d+)\] \(\w+\)`)

// Verdicts are the checks in order. Of an episode whose scenario is not known they are those that failed; nil where it
// was not judged.
func (e Example) Verdicts() []Verdict {
	i := slices.IndexFunc(e.Trajectory.Terms, func(t trajectory.Term) bool { return t.Name == ChecksTerm })
	if i < 0 {
		return nil
	}
	why := e.Trajectory.Terms[i].Why
	var named []Verdict
	failed := map[int]int{} // check -> place in named
	places := failedCheck.FindAllStringSubmatchIndex(why, -1)
	for k, place := range places {
		end := len(why)
		if k+1 < len(places) {
			end = places[k+1][0]
		}
		index, _ := strconv.Atoi(why[place[2]:place[3]]) // the expression takes digits
		failed[index] = len(named)
		named = append(named, Verdict{Check: why[place[0]:place[1]], Why: strings.Trim(why[place[1]:end], ":; ")})
	}
	if e.Scenario == nil {
		return named
	}
	var out []Verdict
	for i, c := range e.Scenario.Checks {
		v := Verdict{Check: fmt.Sprintf("checks[%d] %s", i, compact(c)), Passed: true}
		if k, is := failed[i]; is {
			v.Passed, v.Why = false, named[k].Why
		}
		out = append(out, v)
	}
	return out
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // arguments that are no JSON
		return fmt.Sprint(v)
	}
	return string(text)
}

// Fails reports whether an episode did not do what it was asked: it did not pass its checks, as rates count it; of one
// that was not judged, that it did not end by itself.
func (e Example) Fails() bool {
	for _, term := range e.Trajectory.Terms {
		switch {
		case term.Name == ChecksTerm:
			return term.Score < 1
		case term.Judgement != nil && term.Judgement.Passed != nil:
			return !*term.Judgement.Passed
		}
	}
	return e.Trajectory.Outcome != trajectory.OK
}

// Name is the episode's title, or its ID.
func (e Example) Name() string { return cmp.Or(e.Title, e.Trajectory.ID) }

// Facts is what there is to know of it in one line.
func (e Example) Facts() string {
	t := e.Trajectory
	parts := []string{fmt.Sprintf("outcome %s (%s)", t.Outcome, t.StopReason), fmt.Sprintf("reward %.4g", t.Reward),
		fmt.Sprintf("%.1f s", t.Seconds)}
	for _, x := range []struct{ name, value string }{
		{"scenario", t.ScenarioID},
		{"split", t.Split},
		{"adapter", t.Adapter[:min(12, len(t.Adapter))]},
	} {
		if x.value != "" {
			parts = append(parts, x.name+" "+x.value)
		}
	}
	if u := t.User; u != nil {
		parts = append(parts,
			fmt.Sprintf("user played by %s, ended by %s", cmp.Or(u.Played, "nobody"), cmp.Or(u.Ended, "no one")))
	}
	if t.Attempt > 0 {
		parts = append(parts, fmt.Sprintf("attempt %d", t.Attempt))
	}
	return strings.Join(parts, ", ")
}

// Servers are those that wrote to stderr, in alphabetic order.
func (e Example) Servers() []string { return slices.Sorted(maps.Keys(e.Trajectory.Stderr)) }

// WriteText writes the episode for a terminal. What servers and models wrote is in it as it came.
func (e Example) WriteText(w io.Writer) error {
	var b strings.Builder
	t := e.Trajectory
	fmt.Fprintf(&b, "episode %s\n%s\n", e.Name(), e.Facts())
	if t.Error != "" {
		b.WriteString("error: " + indent(t.Error) + "\n")
	}
	if t.Rating != nil {
		fmt.Fprintf(&b, "rated %.4g  %s\n", t.Rating.Score, indent(t.Rating.Note))
	}
	results := t.Calls()
	for i, m := range t.Messages {
		if i < t.Opening {
			writeMessage(&b, m, &[]trajectory.ToolResult{}) // its results were given
			continue
		}
		writeMessage(&b, m, &results)
	}
	if verdicts := e.Verdicts(); verdicts != nil {
		b.WriteString("\nchecks\n")
		for _, v := range verdicts {
			fmt.Fprintf(&b, "  %s\n", v)
		}
		if len(verdicts) == 0 {
			b.WriteString("  all passed\n")
		}
	}
	if len(t.Terms) > 0 {
		fmt.Fprintf(&b, "\nreward %.4g\n", t.Reward)
		for _, term := range t.Terms {
			why := ""
			if term.Why != "" && term.Name != ChecksTerm {
				why = ": " + indent(term.Why)
			}
			if term.Name == reward.ExtraTerm {
				why += "  (the weight is minus what checks and end earned; rewards.extra is in the score)"
			}
			fmt.Fprintf(&b, "  %-8s %6.3g x %.3g%s\n", term.Name, term.Score, term.Weight, why)
		}
	}
	if len(t.Seen) > 0 {
		b.WriteString("\nseen by checks\n")
	}
	for _, o := range t.Seen {
		fmt.Fprintf(&b, "  %s: %s\n", indent(o.Look), o.Status)
		if o.Text != "" {
			b.WriteString("    " + strings.ReplaceAll(indent(o.Text), "\n", "\n  ") + "\n")
		}
	}
	for _, server := range e.Servers() {
		fmt.Fprintf(&b, "\nstderr of %s\n  %s\n", server, indent(t.Stderr[server]))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (v Verdict) String() string {
	switch {
	case v.Passed:
		return "passed  " + v.Check
	case v.Why == "":
		return "failed  " + v.Check
	}
	return "failed  " + v.Check + ": " + indent(v.Why)
}

// writeMessage writes one message. A tool's has its result's status before it, taken from the front of results.
func writeMessage(b *strings.Builder, m chat.Message, results *[]trajectory.ToolResult) {
	head := string(m.Role)
	var r trajectory.ToolResult
	if m.Role == chat.ToolRole {
		head += " " + m.Name
		if len(*results) > 0 {
			r, *results = (*results)[0], (*results)[1:]
			head += fmt.Sprintf(": %s, %.2f s", r.Status, r.Seconds)
		}
	}
	b.WriteString("\n" + head + "\n")
	if m.ReasoningContent != "" {
		b.WriteString("  (thinks) " + indent(m.ReasoningContent) + "\n")
	}
	if m.Content != "" {
		b.WriteString("  " + indent(m.Content) + "\n")
	}
	for _, c := range m.ToolCalls {
		b.WriteString("  calls " + c.Name + " " + indent(c.Arguments) + "\n")
	}
	for _, note := range []struct{ name, text string }{
		{"error", r.Error},
		{"warning", r.Warning},
		{"approval", r.Approval},
	} {
		if note.text != "" && note.text != m.Content {
			b.WriteString("  (" + note.name + ") " + indent(note.text) + "\n")
		}
	}
}

// indent keeps a text of several lines under its head: what a server wrote must not look like hone's own lines.
func indent(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
