package data

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hone/internal/chat"
	"hone/internal/data/curate"
)

// part is what a key acts on in a trace: the text of a message, its reasoning, or one of its calls.
type part struct {
	message, call, turn int
	do                  string // the operation that edits it
	title, text         string
	first               int // of its lines
}

// line is a line of a trace, of the part of that number.
type line struct {
	part int
	text string
	head bool
}

// show opens a trace.
func (p *page) show(t *curate.Trace) {
	p.trace, p.findings, p.parts = t, p.desk.Findings(t), nil
	turn := 0
	for i, m := range t.Row.Messages {
		if m.Role == chat.User && (i == 0 || t.Row.Messages[i-1].Role != chat.User) {
			turn++
		}
		add := func(do, what, text string, call int) {
			title := fmt.Sprintf("%d %s%s", i, m.Role, what)
			if m.Role == chat.User && what == "" {
				title += fmt.Sprintf(", turn %d", turn)
			}
			if i < t.Row.Opening {
				title += ", given"
			} else if m.NoLoss {
				title += ", not learnt"
			}
			p.parts = append(p.parts, part{i, call, turn, do, title, text, 0})
		}
		if m.ReasoningContent != "" {
			add(curate.EditReasoning, " reasoning", m.ReasoningContent, 0)
		}
		if m.Content != "" || len(m.ToolCalls) == 0 {
			add(curate.EditText, "", m.Content, 0)
		}
		for j, c := range m.ToolCalls {
			add(curate.EditArguments, " calls "+c.Name, c.Arguments, j)
		}
	}
	p.part = max(0, min(p.part, len(p.parts)-1))
	p.layout()
}

// layout breaks the open trace into lines.
func (p *page) layout() {
	p.lines = p.lines[:0]
	for i := range p.parts {
		p.parts[i].first = len(p.lines)
		p.lines = append(p.lines, line{i, clean(p.parts[i].title), true})
		for _, text := range wrap(p.parts[i].text, p.width-4) {
			p.lines = append(p.lines, line{i, text, false})
		}
	}
	p.reveal()
}

// reveal moves the page so that the part under the cursor is on it, or its beginning where it is longer than the page.
func (p *page) reveal() {
	if len(p.parts) == 0 {
		p.top = 0
		return
	}
	first, end := p.parts[p.part].first, len(p.lines)
	if p.part+1 < len(p.parts) {
		end = p.parts[p.part+1].first
	}
	if end > p.top+p.body() {
		p.top = end - p.body()
	}
	p.top = max(0, min(p.top, first))
}

// turnPage moves by whole pages; the cursor goes to what is then on top.
func (p *page) turnPage(by int) {
	if len(p.lines) > 0 {
		p.top = max(0, min(p.top+by, len(p.lines)-1))
		p.part = p.lines[p.top].part
	}
}

func (p *page) traceKey(key string) tea.Cmd {
	id := p.trace.ID
	now := part{message: -1} // of a trace without messages, which no operation takes
	if len(p.parts) > 0 {
		now = p.parts[p.part]
	}
	switch key {
	case "esc", "q", "left", "h":
		p.view, p.trace = inList, nil
	case "down", "j":
		p.part = max(0, min(p.part+1, len(p.parts)-1))
		p.reveal()
	case "up", "k":
		p.part = max(p.part-1, 0)
		p.reveal()
	case "pgdown", "space":
		p.turnPage(p.body())
	case "pgup":
		p.turnPage(-p.body())
	case "n", "N":
		if p.move(key); len(p.shown) > 0 {
			p.part, p.top = 0, 0
			p.show(p.rows[p.shown[p.at]].t)
		}
	case "e":
		return p.edit(now)
	case "r":
		if now.message < 0 {
			return nil
		}
		now.do, now.text = curate.EditReasoning, p.trace.Row.Messages[now.message].ReasoningContent
		return p.edit(now)
	case "d":
		p.do(curate.Op{Do: curate.DeleteStep, Trace: id, Message: now.message})
	case "D":
		p.do(curate.Op{Do: curate.DeleteTurn, Trace: id, Turn: now.turn})
	case "m":
		p.do(curate.Op{Do: curate.MergeTurns, Trace: id, Turn: now.turn})
	case "s":
		p.do(curate.Op{Do: curate.DropSystem, Trace: id})
	case "S":
		p.do(curate.Op{Do: curate.Split, Trace: id, Turn: now.turn})
	default:
		p.decide(key, id)
	}
	return nil
}

// open shows a text until esc.
func (p *page) open(text string) {
	if p.view != inText {
		p.back = p.view
	}
	p.view, p.top, p.text = inText, 0, nil
	for one := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		p.text = append(p.text, wrap(one, p.width)...)
	}
}

func (p *page) textKey(key string) {
	switch key {
	case "esc", "q", "p", "left", "h":
		if p.view, p.top = p.back, 0; p.view == inTrace {
			p.reveal()
		}
	case "down", "j":
		p.top++
	case "up", "k":
		p.top--
	case "pgdown", "space":
		p.top += p.body()
	case "pgup":
		p.top -= p.body()
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.top = len(p.text)
	case "n": // to the next line in which something trained begins
		if i := slices.IndexFunc(p.text[min(p.top+1, len(p.text)):],
			func(one string) bool { return strings.Contains(one, "«") }); i >= 0 {
			p.top += 1 + i
		} else {
			p.said = "nothing that is trained begins below"
		}
	}
	if p.view == inText {
		p.top = max(0, min(p.top, len(p.text)-p.body()))
	}
}
