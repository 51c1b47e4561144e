package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// Limits of a page, in bytes of HTML. A text of an episode is cut where it is longer; episodes that have no room left
// are named, and counted.
const (
	mostOfText = 4_000
	mostOfAll  = 15 << 20
	overhead   = 1_500 // about, of an episode without its texts
	ofMessage  = 200
)

// room is what is left of a page.
type room struct {
	left   int
	system string // the system message that most episodes begin with: shown once
	show   string
	folded int // episodes that found no room
}

// drawnEpisode is an episode as the template shows it.
type drawnEpisode struct {
	Label   string // "sft", "rollout 2"
	Class   string
	Name    string
	Mark    mark
	Facts   []string
	Error   text
	Lines   []message
	Checks  []stats.Verdict
	Terms   []trajectory.Term
	Seen    []seen
	Stderr  []message
	Folded  bool // there is no room for it
	Command string
}

// mark is an episode's end in one sign, with its word.
type mark struct{ Sign, Word, Class string }

func markOf(e stats.Example) mark {
	switch {
	case !e.Trajectory.Outcome.Trainable():
		return mark{"!", "lost: " + string(e.Trajectory.Outcome), "lost"}
	case e.Fails():
		return mark{"✗", "failed", "failed"}
	}
	return mark{"✓", "passed", "passed"}
}

// message is one line of the conversation.
type message struct {
	Role, Name string
	Status     string // of a tool's result
	Seconds    string
	Think      text
	Text       text
	Calls      []call
	Notes      []note
	AsAbove    bool // the system message that is shown once
}

type call struct {
	Name string
	Args text
}

type note struct {
	Name string
	Text text
}

type seen struct {
	Look, Status string
	Text         text
}

// text is what others wrote, without characters that a screen would hide, cut where it is long.
type text struct {
	Shown string
	Left  int // bytes that are left out
}

// take cuts a text to its limit and takes its room.
func (r *room) take(s string) text {
	t := text{Shown: s}
	if len(s) > mostOfText {
		cut := mostOfText
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		t = text{s[:cut], len(s) - cut}
	}
	t.Shown = sanitize.Text(t.Shown)
	r.left -= len(template.HTMLEscapeString(t.Shown))
	return t
}

// draw lays out an episode, or only its name where there is no room.
func (r *room) draw(label, class string, e stats.Example) drawnEpisode {
	t := e.Trajectory
	d := drawnEpisode{Label: label, Class: class, Name: sanitize.Line(e.Name()), Mark: markOf(e)}
	if r.show != "" {
		d.Command = r.show + " " + d.Name
	}
	d.Facts = []string{fmt.Sprintf("%s (%s)", t.Outcome, t.StopReason), "reward " + number(t.Reward),
		duration(t.Seconds)}
	if n := t.NumSampled(); n > 0 {
		d.Facts = append(d.Facts, fault.Count(n, "token"))
	}
	if t.Rating != nil {
		d.Facts = append(d.Facts, "rated "+number(t.Rating.Score))
		if note := r.take(t.Rating.Note).Shown; note != "" {
			d.Facts = append(d.Facts, note)
		}
	}
	r.left -= overhead
	if r.left < 0 {
		d.Folded = true
		r.folded++
		return d
	}
	d.Error = r.take(t.Error)
	results := t.Calls()
	for i, m := range t.Messages {
		of := &results
		if i < t.Opening {
			of = &[]trajectory.ToolResult{} // its results were given
		}
		d.Lines = append(d.Lines, r.message(m, of))
	}
	d.Checks = e.Verdicts()
	for i := range d.Checks {
		d.Checks[i].Check, d.Checks[i].Why = r.take(d.Checks[i].Check).Shown, r.take(d.Checks[i].Why).Shown
	}
	for _, term := range t.Terms {
		if term.Name == stats.ChecksTerm {
			term.Why = "" // the checks say it
		}
		term.Why = r.take(term.Why).Shown
		d.Terms = append(d.Terms, term)
	}
	for _, o := range t.Seen {
		d.Seen = append(d.Seen, seen{r.take(o.Look).Shown, string(o.Status), r.take(o.Text)})
	}
	for _, server := range e.Servers() {
		d.Stderr = append(d.Stderr, message{Name: sanitize.Line(server), Text: r.take(t.Stderr[server])})
	}
	return d
}

// message lays out a message. A tool's has its result's status, taken from the front of results.
func (r *room) message(m chat.Message, results *[]trajectory.ToolResult) message {
	r.left -= ofMessage
	out := message{Role: m.Role, Name: sanitize.Line(m.Name)}
	if m.Role == chat.System && m.Content == r.system && r.system != "" {
		out.AsAbove = true
		return out
	}
	var of trajectory.ToolResult
	if m.Role == chat.ToolRole && len(*results) > 0 {
		of, *results = (*results)[0], (*results)[1:]
		out.Status, out.Seconds = string(of.Status), duration(of.Seconds)
	}
	out.Think, out.Text = r.take(m.ReasoningContent), r.take(m.Content)
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, call{sanitize.Line(c.Name), r.take(pretty(c.Arguments))})
	}
	for _, n := range []struct{ name, text string }{
		{"error", of.Error},
		{"warning", of.Warning},
		{"approval", of.Approval},
	} {
		if n.text != "" && n.text != m.Content {
			out.Notes = append(out.Notes, note{n.name, r.take(n.text)})
		}
	}
	return out
}

// pretty is JSON on several lines where one would be long, and other text as it is.
func pretty(text string) string {
	const short = 60
	if len(text) <= short || !json.Valid([]byte(text)) {
		return text
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(json.RawMessage(text)) != nil {
		return text
	}
	return strings.TrimSuffix(b.String(), "\n")
}
