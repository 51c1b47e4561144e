package data

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hone/internal/data/curate"
)

// row is a trace in the list, with what is looked for in it.
type row struct {
	t     *curate.Trace
	words string
}

// Filters by status, in the order of the key.
const anyStatus = "any"

func statuses() []string {
	return []string{anyStatus, "undecided", curate.Accepted, curate.Rejected, "edited"}
}

// mostSearched is how many bytes of a task are looked through.
const mostSearched = 2000

// reread takes the traces as they are now. A trace that is the same as before is not looked at again.
func (p *page) reread() {
	traces := p.desk.Traces()
	old := p.rows
	p.rows = make([]row, len(traces))
	for i, t := range traces {
		if i < len(old) && old[i].t == t {
			p.rows[i] = old[i]
			continue
		}
		p.rows[i] = row{t, wordsOf(t)}
	}
	if p.trace != nil {
		i := slices.IndexFunc(p.rows, func(r row) bool { return r.t.ID == p.trace.ID })
		if i < 0 { // it was split off by what is undone
			p.view, p.trace = inList, nil
		} else if p.rows[i].t != p.trace {
			p.show(p.rows[i].t)
		}
	}
	p.filter()
}

// wordsOf are what a trace is found by: its id, what the user asks first, its tools.
func wordsOf(t *curate.Trace) string {
	task := t.Row.Task()
	words := t.ID + " " + task[:min(len(task), mostSearched)]
	for _, m := range t.Row.Messages {
		for _, c := range m.ToolCalls {
			words += " " + c.Name
		}
	}
	return strings.ToLower(words)
}

// filter takes the rows that the filters let through; the cursor stays on its trace where it is still there.
func (p *page) filter() {
	var under *curate.Trace
	if p.at < len(p.shown) && p.shown[p.at] < len(p.rows) {
		under = p.rows[p.shown[p.at]].t
	}
	words := strings.Fields(strings.ToLower(p.query))
	p.shown = p.shown[:0]
	for i := range p.rows {
		r := &p.rows[i]
		if p.lets(r.t) && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(r.words, w) }) {
			p.shown = append(p.shown, i)
		}
	}
	if i := slices.IndexFunc(p.shown, func(i int) bool { return under != nil && p.rows[i].t.ID == under.ID }); i >= 0 {
		p.at = i
	}
	p.at = max(0, min(p.at, len(p.shown)-1))
}

func (p *page) lets(t *curate.Trace) bool {
	switch p.status {
	case anyStatus:
		return true
	case "undecided":
		return t.Status == curate.Undecided
	case "edited":
		return t.Edited
	}
	return t.Status == p.status
}

func (p *page) listKey(key string) tea.Cmd {
	if p.move(key) {
		return nil
	}
	switch key {
	case "q", "esc":
		return tea.Quit
	case "/":
		p.typing = &typing{
			prompt: "/",
			text:   p.query,
			done:   func(*page, string) tea.Cmd { return nil },
			each: func(p *page, text string) {
				p.query = text
				p.filter()
			},
		}
	case "tab":
		p.status = statuses()[(slices.Index(statuses(), p.status)+1)%len(statuses())]
		p.filter()
	case "enter", "right", "l":
		if len(p.shown) > 0 {
			p.view, p.part = inTrace, 0
			p.show(p.rows[p.shown[p.at]].t)
		}
	default:
		if len(p.shown) > 0 {
			p.decide(key, p.rows[p.shown[p.at]].t.ID)
		}
	}
	return nil
}

// move moves the cursor of the list.
func (p *page) move(key string) bool {
	switch key {
	case "down", "j", "n":
		p.at++
	case "up", "k", "N":
		p.at--
	case "pgdown", "space":
		p.at += p.body()
	case "pgup":
		p.at -= p.body()
	case "home", "g":
		p.at = 0
	case "end", "G":
		p.at = len(p.shown)
	default:
		return false
	}
	p.at = max(0, min(p.at, len(p.shown)-1))
	return true
}
