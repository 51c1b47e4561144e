package data

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"hone/internal/console/sanitize"
	"hone/internal/data/curate"
)

const (
	bold    = "\x1b[1m"
	dim     = "\x1b[2m"
	reverse = "\x1b[7m"
	plain   = "\x1b[0m"
)

// body is how many lines there are between the header and the foot.
func (p *page) body() int { return max(1, p.height-4) }

// render is the whole page: a header, the body, what was said, and the keys.
func (p *page) render() string {
	var head, foot string
	var body []string
	switch p.view {
	case inList:
		head = fmt.Sprintf("%d of %d traces   status: %s", len(p.shown), len(p.rows), p.status)
		if p.query != "" {
			head += "   /" + clean(p.query)
		}
		body, foot = p.listBody(),
			"q leave  ? keys  enter open  / find  tab status  a accept  x reject  1-5 rate  u undo  p preview"
	case inTrace:
		head = fmt.Sprintf("%s   %s", clean(p.trace.ID), stateOf(p.trace))
		body, foot = p.traceBody(),
			"esc back  ? keys  e edit  d step  D turn  m merge  S split  a accept  x reject  u undo  p preview"
	default:
		head = "esc back   up, down, pgup, pgdn, g, G: move   n: what is trained next"
		body = p.text[min(p.top, len(p.text)):min(p.top+p.body(), len(p.text))]
	}
	said := p.said
	if p.typing != nil {
		said = p.typing.prompt + clean(p.typing.text) + "█"
	}
	var b strings.Builder
	b.WriteString(bold + cut(head, p.width) + plain + "\n")
	for i := range p.body() {
		if i < len(body) {
			b.WriteString(body[i])
		}
		b.WriteString("\n")
	}
	b.WriteString(cut(clean(p.warnings()), p.width) + "\n" + cut(clean(said), p.width) + "\n" +
		dim + cut(foot, p.width) + plain)
	return b.String()
}

// warnings is what of the open trace does not hold.
func (p *page) warnings() string {
	if p.view != inTrace || len(p.findings) == 0 {
		return ""
	}
	out := "does not hold: " + p.findings[0]
	if n := len(p.findings) - 1; n > 0 {
		out += fmt.Sprintf(" (and %d more)", n)
	}
	return out
}

func stateOf(t *curate.Trace) string {
	state := t.Status
	if state == curate.Undecided {
		state = "undecided"
	}
	if t.Why != "" {
		state += " (" + clean(t.Why) + ")"
	}
	if t.Rating > 0 {
		state += fmt.Sprintf(", rated %d", t.Rating)
	}
	if t.Edited {
		state += ", edited"
	}
	return state
}

func (p *page) listBody() []string {
	if len(p.shown) == 0 {
		return []string{"no trace; esc leaves, / and tab change what is looked for"}
	}
	first := max(0, min(p.at-p.body()/2, len(p.shown)-p.body()))
	var out []string
	for i := first; i < min(first+p.body(), len(p.shown)); i++ {
		t := p.rows[p.shown[i]].t
		calls := 0
		for _, m := range t.Row.Messages {
			calls += len(m.ToolCalls)
		}
		mark := map[string]string{curate.Undecided: " ", curate.Accepted: "+", curate.Rejected: "-"}[t.Status]
		edited := map[bool]string{true: "*"}[t.Edited]
		holds := map[bool]string{true: "!"}[len(p.desk.Findings(t)) > 0]
		plural := map[bool]string{true: "call", false: "calls"}
		stars := ""
		if t.Rating > 0 {
			stars = fmt.Sprint(t.Rating)
		}
		text := cut(fmt.Sprintf("%s%1s%1s %1s %3d messages %2d %-5s  %-16s %s", mark, edited, holds, stars,
			len(t.Row.Messages), calls, plural[calls == 1], cut(clean(t.ID), 16), clean(t.Row.Task())), p.width)
		if i == p.at {
			text = reverse + text + plain
		}
		out = append(out, text)
	}
	return out
}

func (p *page) traceBody() []string {
	var out []string
	for _, l := range p.lines[min(p.top, len(p.lines)):min(p.top+p.body(), len(p.lines))] {
		switch {
		case l.head && l.part == p.part:
			out = append(out, reverse+cut(l.text, p.width)+plain)
		case l.head:
			out = append(out, bold+cut(l.text, p.width)+plain)
		default:
			out = append(out, "    "+l.text)
		}
	}
	return out
}

// describe is an operation in a few words.
func describe(op curate.Op) string {
	out := fmt.Sprintf("operation %d: %s %s", op.Seq, strings.ReplaceAll(op.Do, "_", " "), op.Trace)
	if op.Do != curate.Undo {
		out += "; u takes it back"
	}
	return out
}

// keys are all that a person can type.
func keys() string {
	return `up down pgup pgdn g G   move               enter, esc   open a trace, and back
/ WORDS                 find: id, task, tools   tab    any, undecided, accepted, rejected, edited
a                       accept             x            reject, with a reason
1 to 5                  rate               u            undo the last operation on this trace
p                       preview: the text that sft reads; it learns what is between « and »
q, ctrl+c               leave; all that was done is in the ledger

In a trace, of what is under the cursor:
e                       edit the text, the reasoning or the arguments in $EDITOR
r                       edit or begin the message's reasoning
d                       delete the step: the assistant message and the results of its calls
D, m, S                 delete the turn, merge it with the next, split the trace before it
s                       drop the system message
n, N                    the next trace of the list, and the one before

In the list: + accepted, - rejected, * edited, ! a call does not fit its tool's schema`
}

func clean(text string) string { return sanitize.Line(strings.ReplaceAll(text, "\n", " ")) }

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

// cut is as much of a text as fits.
func cut(text string, columns int) string { return ansi.Truncate(text, columns, "") }

// wrap breaks a text into lines that fit, at its own line breaks and else anywhere. Control characters are shown, not
// sent.
func wrap(text string, most int) (out []string) {
	for one := range strings.SplitSeq(text, "\n") {
		line := sanitize.Line(strings.ReplaceAll(one, "\t", "    "))
		out = append(out, strings.Split(ansi.Hardwrap(line, max(most, 2), true), "\n")...)
	}
	return out
}
