package programs

import (
	"slices"
	"strings"
	"sync"

	"hone/internal/synth/written"
)

// pattern is what the requests of one pattern are for, and how a wording of them is told from one of another.
type pattern struct {
	Wants string   `json:"wants"` // in dry words, behind "I would like"
	Act   bool     `json:"act"`   // something is to be done; else something is asked
	Says  string   `json:"says"`  // slots whose values a wording says as they are
	Of    string   `json:"of"`    // slots whose words it says, in any form
	Marks []string `json:"marks"` // of the words of each one must be said; @NAME are those of a family
	Never []string `json:"never"` // words that would mean something else
	Order string   `json:"order"` // slots whose values it says one after the other
}

// dictionary is the file of meanings.
type dictionary struct {
	Families map[string]string  `json:"families"` // words of one sense, with | between them
	Patterns map[string]pattern `json:"patterns"`
	Alike    []string           `json:"alike"` // words that may stand for each other
}

var meanings = sync.OnceValue(func() (d dictionary) {
	written.Words("meanings", &d)
	return d
})

// Meaning is one request of a program in dry words, for whoever words it anew: what is wanted, what a wording must say
// and what it must not. It has no call, no key of a row that has a name, and no answer.
type Meaning struct {
	Wants  string
	Act    bool     // something is to be done; else something is asked
	Values []string // that must be said as they stand here
	Things []string // whose words must be said, in any form: properties, conditions, nouns
	Marks  [][]string
	Never  []string
	Hidden []string // answers and keys
	Others []string // names of things that are not meant
	Order  []string
}

// Meanings are the requests of a program, in the order in which they are made; nil where all are bound to their words,
// as a report that states its form, or a question that points back. One that is bound wants nothing. Some words go with
// the split.
func (p *Program) Meanings(w *World, split string) (list []Meaning) {
	free := false
	for q := p; q != nil; q = q.then {
		m, ok := q.meaning(w, split)
		list, free = append(list, m), free || ok
	}
	if !free {
		return nil
	}
	return list
}

func (p *Program) meaning(w *World, split string) (m Meaning, ok bool) {
	d := meanings()
	pat, ok := d.Patterns[p.pattern]
	if !ok || p.slots["given"] != "" && p.given == nil || p.slots["in"]+p.slots["to"] != "" {
		return Meaning{}, false
	}
	m = Meaning{Wants: fill(pat.Wants, p.slots), Act: pat.Act}
	for _, slot := range strings.Fields(pat.Says) {
		value := p.slots[slot]
		switch {
		case strings.HasPrefix(value, "the ") || strings.HasPrefix(value, p.slots["one"]+" "):
			// "the pump of 12 kg", "repair 9"
			m.Things = append(m.Things, value)
		default:
			m.Values = append(m.Values, value)
		}
	}
	for _, slot := range strings.Fields(pat.Of) {
		if p.slots[slot] != "" {
			m.Things = append(m.Things, p.slots[slot])
		}
	}
	for _, g := range p.given {
		switch g[1] {
		case "yes":
			m.Things = append(m.Things, g[0])
		case "no":
			m.Things = append(m.Things, "not "+g[0])
		default:
			m.Values = append(m.Values, g[1])
		}
	}
	for _, slot := range strings.Fields(pat.Order) {
		m.Order = append(m.Order, p.slots[slot])
	}
	for _, mark := range pat.Marks {
		m.Marks = append(m.Marks, d.words(fill(mark, p.slots)))
	}
	for _, never := range pat.Never {
		m.Never = append(m.Never, d.words(fill(never, p.slots))...)
	}
	m.hide(p, w)
	return m, true
}

// words are those of a mark, with those of the families that it names.
func (d dictionary) words(mark string) (list []string) {
	for word := range strings.SplitSeq(mark, "|") {
		if family, ok := strings.CutPrefix(word, "@"); ok {
			list = append(list, strings.Split(d.Families[family], "|")...)
		} else {
			list = append(list, word)
		}
	}
	return list
}

// hide notes what a wording must not say: the answer, keys, and the names of other things.
func (m *Meaning) hide(p *Program, w *World) {
	if slices.Contains([]string{"number", "text", "list", "pair", "told"}, p.Answer.Form) {
		said := tokens(m.Wants)
		for _, v := range p.Answer.Values {
			if t := tokens(v); len(t) > 0 && !said.has(t) {
				m.Hidden = append(m.Hidden, v)
			}
		}
	}
	seen := map[string]bool{} // a server's own tables may have thousands of rows
	for _, t := range w.Tables {
		for _, row := range t.Rows {
			if key := t.Key; key >= 0 && key != t.Label {
				if text, ok := row[key].(string); ok && !seen[text] && !strings.Contains(m.Wants, text) {
					m.Hidden = append(m.Hidden, text)
					seen[text] = true
				}
			}
			if name := t.rowLabel(row); len(name) > 2 && !seen[name] && strings.ToLower(name) != name &&
				!strings.Contains(m.Wants, name) {
				m.Others = append(m.Others, name)
				seen[name] = true
			}
		}
	}
}

// About says in a few words what a world holds: its things, and what is noted of each.
func (w *World) About() string {
	var parts []string
	for _, t := range w.Tables {
		var noted []string
		for i, c := range t.Columns {
			if i != t.Key && (t.Label < 0 || !slices.Contains(t.Columns[t.Label].Parts, i)) {
				noted = append(noted, c.caption())
			}
		}
		parts = append(parts, t.Many+" ("+strings.Join(noted, ", ")+")")
	}
	return strings.Join(parts, "; ")
}

// Ends are the answers that a program comes to, one after the other.
func (p *Program) Ends() (values []string) {
	for q := p; q != nil; q = q.then {
		values = append(values, q.Answer.Form)
		values = append(values, q.Answer.Values...)
	}
	return values
}
