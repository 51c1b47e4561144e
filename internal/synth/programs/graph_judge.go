package programs

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// asksWhich reports whether a question back is which of the things of a table is meant: "Which person do you mean?".
func (p *Program) asksWhich(t *Table) bool {
	return p.Answer.Form == "question" && len(p.Answer.Values) == 1 &&
		strings.HasSuffix(p.Answer.Values[0], " "+t.One+" do you mean?")
}

// judge says what was looked at before a question back, before a change that hangs on a condition, and before a verdict
// of two values: each fact as it is noted, and what follows from it.
func (gt *GraphTables) judge(g *GraphProgram) {
	p := g.Program
	switch {
	case p.Answer.Form == "question" && p.working == "":
		gt.judgeQuestion(g)
	case p.Answer.Form == "yes_no":
		p.conclude(g.subject())
	case p.then != nil:
	case p.pattern == "add_unless":
		there := "is not there yet"
		if gt.Graph.Thing(p.slots["x"]) != nil {
			there = "is there"
		}
		p.query = nil
		p.Work(p.slots["x"] + " " + there)
	case p.pattern == "set_if":
		gt.judgeOne(g, p.slots["attr"], "is below "+p.slots["bound"], len(g.Edits) > 0)
	case p.pattern == "set_when":
		gt.judgeOne(g, p.slots["attr2"], p.slots["rel"], len(g.Edits) > 0)
	case p.pattern == "set_either":
		first := slices.ContainsFunc(g.Edits, func(e Edit) bool {
			return e.Do == AddRelation && mentions(p.slots["v"])(e.Relation.To) ||
				e.Do == AddNote && mentions(p.slots["v"])(e.Thing.Notes[0])
		})
		gt.judgeOne(g, p.slots["attr2"], p.slots["rel"], first)
	case p.pattern == "compare":
		p.judgeTwo()
	}
}

// conclude says at the end of a working what is so or not, and yes or no.
func (p *Program) conclude(name string) {
	if p.verdict == "" && p.pattern == "yes_no" {
		p.verdict = "one at least"
	} else if q := p.query; p.verdict == "" && q != nil && q.Agg == "" && q.Table.Columns[q.Column].Note && name != "" {
		p.verdict = name + `: "` + q.Table.Columns[q.Column].Says + `"`
	}
	if p.verdict != "" {
		p.verdict += ": " + strings.ToLower(p.Answer.Values[0])
	}
}

// subject is the name of the thing that a question asks about; "" where it names none.
func (g *GraphProgram) subject() string {
	if meant := g.means[strings.TrimPrefix(g.slots["x"], "the ")]; meant != "" || len(g.Named) == 0 {
		return meant
	}
	return g.Named[len(g.Named)-1]
}

// judgeQuestion names the things among which a request does not choose, or quotes what it gives no new value for.
func (gt *GraphTables) judgeQuestion(g *GraphProgram) {
	for _, t := range gt.World.Tables {
		if gt.types[t] != "" && g.asksWhich(t) {
			names := "as many as " + fmt.Sprint(len(t.Rows))
			if len(t.Rows) <= mostGone {
				names = enumerate(labels(t, t.Rows))
			}
			g.Work(fmt.Sprintf("%s: %s. The request names none of them, and nothing noted here tells which is meant.",
				first(t.Many, unicode.ToUpper), names))
			return
		}
	}
	if t, row := gt.rowOf(g); row != nil {
		if said := gt.quoteOf(t, row, g.slots["attr"]); said != "" {
			g.Work(Show(row[0]) + ": " + said + ". What it is to be, neither the request nor a note says.")
		}
	}
}

// judgeOne quotes what a condition asks of the thing that a request names, and says whether it holds.
func (gt *GraphTables) judgeOne(g *GraphProgram, attr, cond string, holds bool) {
	t, row := gt.rowOf(g)
	if row == nil {
		return
	}
	said := gt.quoteOf(t, row, attr)
	if said == "" {
		return
	}
	g.query = nil
	g.Work(Show(row[0]) + ": " + said + " - " + cond + ": " + map[bool]string{true: "yes", false: "no"}[holds])
}

// judgeTwo sets the two numbers side by side that a comparison is about.
func (p *Program) judgeTwo() {
	q := p.query
	if q == nil || q.Order < 0 {
		return
	}
	rows := q.Table.rows(q.Where)
	if len(rows) != 2 {
		return
	}
	a, ok := asFloat(rows[0][q.Order])
	b, also := asFloat(rows[1][q.Order])
	if !ok || !also || a == b {
		return
	}
	text, sign := q.Working(), " > "
	if a < b {
		sign = " < "
	}
	p.query = nil
	p.Work(text, q.Table.Columns[q.Order].show(rows[0][q.Order])+sign+q.Table.Columns[q.Order].show(rows[1][q.Order]))
}

// rowOf is the row of the one thing that a program is about; nil where it is about others.
func (gt *GraphTables) rowOf(g *GraphProgram) (*Table, []any) {
	said := strings.TrimPrefix(g.slots["x"], "the ")
	for _, t := range gt.World.Tables {
		if gt.types[t] == "" {
			continue
		}
		for _, name := range []string{g.means[said], gt.name(said, []*Table{t})} {
			if row := t.byKey(name); name != "" && row != nil {
				return t, row
			}
		}
	}
	return nil, nil
}

// quoteOf is what is noted of a property, by the words that a request has for it; "" where no column has them.
func (gt *GraphTables) quoteOf(t *Table, row []any, attr string) string {
	for i, c := range t.Columns {
		if i > 0 && c.caption() == attr {
			return c.says(t, i, row)
		}
	}
	return ""
}

// asked are the types of the things of which a question back asks which one is meant.
func (gt *GraphTables) asked(p *Program) (kinds []string) {
	for _, t := range gt.World.Tables {
		if kind := gt.types[t]; kind != "" && (p.asksWhich(t) || len(p.Answer.Among) > 0 &&
			p.Answer.Form == "question" && slices.Contains(p.Tables, t)) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// unnoted takes out, moves or replaces a note of a thing that is not there, or a note that is not there.
func (gt *GraphTables) unnoted(d *drawer) *GraphProgram {
	if d.r.IntN(3) == 0 {
		return gt.noSuchNote(d)
	}
	g := pick(d.r, []func(*drawer) *GraphProgram{gt.noteOne, gt.twoNotes, gt.shift, gt.bySense})(d)
	if g == nil || g.then != nil || g.pattern == "append" || len(g.Named) != 1 { // who adds a note may make the thing
		return nil
	}
	for _, t := range gt.World.Tables {
		if gt.types[t] == "" || t.byKey(g.Named[0]) == nil {
			continue
		}
		name, ok := d.fresh(t).(string)
		if !ok || gt.Graph.Thing(name) != nil || d.mayBeMeant(name) {
			return nil
		}
		g.slots["x"] = name
		return &GraphProgram{Types: []string{gt.types[t]}, Program: &Program{Kind: Unknown, pattern: g.pattern,
			slots: g.slots, Tables: []*Table{t}, Answer: Answer{Form: "unknown",
				Values: []string{"There is no " + t.One + " called " + name + " on record."}}}}
	}
	return nil
}

// noSuchNote takes out or replaces what is not noted of a thing.
func (gt *GraphTables) noSuchNote(d *drawer) *GraphProgram {
	t, row := gt.thing(d)
	if row == nil {
		return nil
	}
	name, note, now := Show(row[0]), gt.remark(d, t), gt.remark(d, t)
	if note == now || slices.Contains(gt.Graph.Thing(name).Notes, note) || len(gt.near(name, note)) > 0 {
		return nil
	}
	slots, pattern := gt.said(d, t, row), "unappend"
	if slots["v"] = note; d.r.IntN(2) == 0 {
		slots["old"], slots["v"], pattern = note, now, "note_replace"
	}
	return &GraphProgram{Named: []string{name}, Program: &Program{Kind: Unknown, pattern: pattern, slots: slots,
		Tables: []*Table{t}, Answer: Answer{Form: "unknown",
			Values: []string{"That is not noted of " + name + ", so nothing was changed."}}}}
}
