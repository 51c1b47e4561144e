package programs

import (
	"slices"
	"strings"
)

// unknown asks for a property that no table has: whoever looks finds that it is not recorded.
func (d *drawer) unknown() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	row := d.sole(t)
	attr := pick(
		d.r,
		[]string{
			"nickname",
			"birthplace",
			"shoe size",
			"blood type",
			"favourite colour",
			"insurance number",
			"website",
			"weight",
			"middle name",
			"serial number",
			"opening hours",
			"postcode",
			"supplier",
			"height",
		},
	)
	if row == nil || slices.ContainsFunc(d.w.Tables, func(o *Table) bool {
		return slices.ContainsFunc(o.Columns, func(c Column) bool {
			words := Words(c.Name) + " " + c.said()
			return strings.Contains(words, strings.Fields(attr)[0]) || strings.Contains(attr, Words(c.Name))
		})
	}) {
		return nil
	}
	slots := d.about(t)
	slots["x"], slots["attr"] = t.called(row), attr
	return &Program{
		pattern: "lookup",
		slots:   slots,
		Tables:  []*Table{t},
		Answer:  Answer{Form: "unknown", Values: []string{"The " + attr + " of " + slots["x"] + " is not recorded."}},
	}
}

// nobody asks for, or changes, a thing that is not there: whoever searches for it finds that.
func (d *drawer) nobody() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil || t.Columns[t.Label].Kind != Text || d.w.Cased || d.w.Listed {
		return nil
	}
	props := t.properties(func(c Column) bool { return c.Ref == nil && !c.Several })
	name, ok := d.fresh(t).(string)
	if !ok || len(props) == 0 || len(t.Columns[t.Label].Parts) > 0 || t.describes() || strings.ContainsAny(name, `%_'\\`) {
		return nil
	}
	last := name[strings.LastIndexByte(name, ' ')+1:]
	search := []Cond{{t.Label, -1, Has, name}}
	slots := d.about(t)
	i := pick(d.r, props)
	slots["x"], slots["attr"] = name, t.Columns[i].said()
	p := &Program{
		pattern: "lookup",
		slots:   slots,
		Tables:  []*Table{t},
		Steps:   []Step{{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, search)}},
		Answer:  Answer{Form: "unknown", Values: []string{"There is no " + t.One + " called " + name + " on record."}},
	}
	if last != name && len(t.rows([]Cond{{t.Label, -1, Has, last}})) == 0 { // nor one by a part of the name
		p.Steps = append(p.Steps, Step{SQL: "SELECT * FROM " + Ident(t.Name) + filter(t, []Cond{{t.Label, -1, Has, last}})})
	}
	if v := d.another(t, i, nil); v != nil && d.r.IntN(2) == 0 {
		if _, said, _ := d.written(t.Columns[i], v, t.Rows[0]); said != "" {
			p.pattern, slots["v"] = "set", said
		}
	}
	return p
}

// askBack is a change whose value the person forgot to say.
func (d *drawer) askBack() *Program {
	p := d.set(false)
	if p == nil {
		return nil
	}
	p.pattern, p.Steps, p.Tables = "set_nothing", nil, nil
	p.Answer = Answer{
		Form:   "question",
		Values: []string{"What should the " + p.slots["attr"] + " of " + p.slots["x"] + " be?"},
	}
	return p
}

// cannot asks of a thing that is there what no database does.
func (d *drawer) cannot() *Program {
	t := d.table()
	if t == nil {
		return nil
	}
	row := d.sole(t)
	if row == nil {
		return nil
	}
	slots := d.about(t)
	deed := pick(
		d.r,
		[][2]string{
			{"send {x} a text message", "send messages"},
			{"email {x} a summary", "send emails"},
			{"call {x} on the phone", "make phone calls"},
			{"print a label for {x}", "print"},
			{
				"put {x} into my calendar",
				"reach a calendar",
			},
			{"translate the entry of {x} into French and mail it", "send mail"},
			{"order flowers for {x}", "place orders"},
			{"set an alarm for {x}", "set alarms"},
			{"draw a chart for {x}", "draw charts"},
		},
	)
	slots["x"] = t.called(row)
	slots["verb"] = strings.ReplaceAll(deed[0], "{x}", slots["x"])
	return &Program{
		pattern: "cannot",
		slots:   slots,
		Answer:  Answer{Form: "cannot", Values: []string{"I can't do that: none of my tools can " + deed[1] + "."}},
	}
}
