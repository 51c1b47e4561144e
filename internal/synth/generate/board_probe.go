package generate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// section is a part of the things' views, with the parameters of which trials showed what they do to it. A parameter is
// nil where none does that.
type section struct {
	title  string // as the view says it
	points bool   // its entries can be ticked
	links  bool   // its entries are other things
	listed bool   // it is a list that stands in one line
	set    *param // puts a text in the place of what is there
	add    *param // puts a text below what is there
	remove *param // takes entries away, by their number in the list or by their text
	tick   *param // by the number
	untick *param
	clear  *param // takes all away
	create *param // of the tool that makes a thing
}

// Texts that trials write, which nothing says by itself.
const (
	firstTrial  = "Quartz lantern"
	secondTrial = "Velvet anchor"
)

// bench is a board on which parameters are tried: each on a copy, which is put back.
type bench struct {
	*boarding
	ctx   context.Context
	parts []section
	err   error
}

// learn finds out what the parameters of the tools that change and make things do to a view, of which no property is
// known.
func (b *boarding) learn(ctx context.Context) ([]section, error) {
	if b.edit == nil || len(b.table.Rows) < 3 {
		return nil, nil
	}
	x := &bench{boarding: b, ctx: ctx}
	for i := range b.edit.schema.fields {
		if p := &b.edit.schema.fields[i]; x.isOpen(p) && p.isText() {
			x.tryText(p)
		}
	}
	for i := range b.edit.schema.fields {
		if p := &b.edit.schema.fields[i]; x.isOpen(p) && !x.isKnown(p) {
			x.tryNumber(p)
			x.tryRemoval(p)
			x.tryClear(p)
		}
	}
	if b.create != nil {
		for i := range b.create.schema.fields {
			x.tryCreate(&b.create.schema.fields[i])
		}
	}
	return x.parts, x.err
}

// tryEditors finds the properties that other tools set than the one that changes most: each gets the value that another
// thing has, on a copy. Tools that set none are forgotten.
func (b *boarding) tryEditors(ctx context.Context) error {
	x := &bench{boarding: b, ctx: ctx}
	var used []*subject
	for i := range b.columns {
		c := &b.columns[i]
		for _, s := range b.editors {
			p := paramFor(s, c.name)
			if s == b.edit || c.edit != nil || p == nil || i == b.table.Key || b.table.Columns[i].Several {
				continue
			}
			for _, row := range b.table.Rows[1:] {
				first, v := b.table.Rows[0], programs.Show(row[i])
				call := b.changeBy(s, b.key(first), member{p.name, p.value(v)})
				if v == "" || programs.Equal(row[i], first[i]) || !s.takes(string(call.Arguments)) {
					continue
				}
				if sameSaid(b.saidOf(x.after(b.key(first), call), i), v) {
					c.edit, used = p, append(used, s)
				}
				break
			}
		}
	}
	b.editors = slices.DeleteFunc(b.editors, func(s *subject) bool { return s != b.edit && !slices.Contains(used, s) })
	if b.edit == nil && len(b.editors) > 0 {
		b.edit = b.editors[0]
	}
	return x.err
}

// isOpen reports whether nothing is known of a parameter of the tool that changes things.
func (x *bench) isOpen(p *param) bool {
	return p.name != x.keyed && len(p.choices) == 0 &&
		!slices.ContainsFunc(x.columns, func(c boardColumn) bool { return c.edit == p })
}

func (x *bench) isKnown(p *param) bool {
	return slices.ContainsFunc(x.parts, func(o section) bool { return o.set == p || o.add == p })
}

// isText reports whether a parameter takes a text, or a list of texts.
func (p *param) isText() bool {
	return p.kind == "string" || p.kind == "array" && p.items != nil && p.items.kind == "string"
}

// isNumbers reports whether a parameter takes a number, or a list of numbers.
func (p *param) isNumbers() bool {
	isNumber := func(q *param) bool { return q != nil && (q.kind == "number" || q.kind == "integer") }
	return isNumber(p) || p.kind == "array" && isNumber(p.items)
}

// texts are texts as a parameter takes them: a list of them, or one.
func (p *param) texts(list ...string) json.RawMessage {
	if p.kind == "array" {
		raw, _ := json.Marshal(append([]string{}, list...)) // of texts
		return raw
	}
	return quote(strings.Join(list, "\n"))
}

// numbers are numbers as a parameter takes them.
func (p *param) numbers(list ...int) json.RawMessage {
	raw, _ := json.Marshal(list) // of numbers
	if p.kind != "array" {
		raw, _ = json.Marshal(list[0])
	}
	return raw
}

// changeOf are the calls that change a thing: one, where some tool takes all that changes, else one for each tool.
func (b *boarding) changeOf(key string, arguments ...member) (calls []Call) {
	for len(arguments) > 0 {
		var some []member
		tool := b.editors[0]
		for _, s := range b.editors {
			takes := slices.DeleteFunc(slices.Clone(arguments), func(a member) bool { return s.field(a.name) == nil })
			if call := b.changeBy(s, key, takes...); len(takes) > len(some) && s.takes(string(call.Arguments)) {
				tool, some = s, takes
			}
		}
		if len(some) == 0 { // a play will say so
			some = arguments
		}
		calls = append(calls, b.changeBy(tool, key, some...))
		arguments = slices.DeleteFunc(slices.Clone(arguments), func(a member) bool {
			return slices.ContainsFunc(some, func(o member) bool { return o.name == a.name })
		})
	}
	return calls
}

// changeBy is the call of a tool that changes a thing.
func (b *boarding) changeBy(s *subject, key string, arguments ...member) Call {
	all := append([]member{{b.keyed, b.keyOf(s).ofKey(key)}}, arguments...)
	return Call{Tool: s.Name, Arguments: objectOf(all...)}
}

// after is what the view of a thing says after calls; "" where one is refused.
func (x *bench) after(key string, calls ...Call) string {
	if x.err != nil || slices.ContainsFunc(calls, func(c Call) bool {
		return !x.m.byName[c.Tool].takes(string(c.Arguments))
	}) {
		return ""
	}
	p := play{Calls: calls, Looks: []Call{x.show(key)}}
	got, err := x.played(x.ctx, p, true)
	if x.err = err; err != nil || got.Lost != "" || anyFailed(calls, got) || len(got.Seen) == 0 {
		return ""
	}
	return x.shown(key, got.Seen[0].Text)
}

// part is the part with a title, which is made where there is none.
func (x *bench) section(title string) *section {
	i := slices.IndexFunc(x.parts, func(p section) bool { return p.title == title })
	if i < 0 {
		i, x.parts = len(x.parts), append(x.parts, section{title: title})
	}
	return &x.parts[i]
}

// tryText writes a text, and then another one: where the view has both, the parameter adds; where it has the second
// alone, it sets. Where it shows no text, keys of other things may be taken.
func (x *bench) tryText(p *param) {
	rows := x.table.Rows
	key := x.key(rows[0])
	write := func(text string) []Call { return x.changeOf(key, member{p.name, p.texts(text)}) }
	title := saying(x.after(key, write(firstTrial)...), firstTrial)
	if title != "" {
		now := x.after(key, slices.Concat(write(firstTrial), write(secondTrial))...)
		q := x.section(title)
		q.points = q.points || len(partOf(now, title).points()) > 0
		q.listed = q.listed || p.kind == "array" && strings.Contains(now, title+": "+secondTrial) ||
			strings.Contains(now, title+": "+firstTrial)
		x.took(q, p, strings.Contains(now, firstTrial), strings.Contains(now, secondTrial))
		return
	}
	for i, row := range rows[1:] { // the last will be one that it is no link to yet
		name := programs.Show(row[x.table.Label])
		if i+2 >= len(rows) || strings.Contains(x.looks[key], name) {
			continue
		}
		other := programs.Show(rows[i+2][x.table.Label])
		title = saying(x.after(key, write(x.key(row))...), name)
		if title != "" && !strings.Contains(x.looks[key], other) {
			now := x.after(key, slices.Concat(write(x.key(row)), write(x.key(rows[i+2])))...)
			q := x.section(title)
			q.links = true
			x.took(q, p, strings.Contains(now, name), strings.Contains(now, other))
		}
		return
	}
}

// took notes what a parameter did: with both texts there it adds, with the second alone it sets.
func (x *bench) took(q *section, p *param, first, second bool) {
	switch {
	case first && second && q.add == nil:
		q.add = p
	case !first && second && (q.set == nil || slices.Contains(words(p.name), "set")):
		q.set = p
	}
}

// stock are calls that put two entries into each list of points.
func (x *bench) stock(key string) (calls []Call) {
	for _, q := range x.parts {
		if q.points && q.add != nil {
			calls = append(calls, x.changeOf(key, member{q.add.name, q.add.texts(firstTrial, secondTrial)})...)
		}
	}
	return calls
}

// tryNumber gives the number of an entry: where it is then ticked, no longer ticked or gone, the parameter does that.
func (x *bench) tryNumber(p *param) {
	key := x.key(x.table.Rows[0])
	stock := x.stock(key)
	if !p.isNumbers() || len(stock) == 0 {
		return
	}
	act := x.changeOf(key, member{p.name, p.numbers(1)})
	before, after := x.after(key, stock...), x.after(key, slices.Concat(stock, act)...)
	if after == "" {
		return
	}
	for i := range x.parts {
		q := &x.parts[i]
		was, is := partOf(before, q.title).points(), partOf(after, q.title).points()
		switch {
		case !q.points || len(was) == 0:
		case len(is) == len(was)-1:
			q.remove = p
		case len(is) == len(was) && is[0].done && !was[0].done:
			q.tick = p
		case q.tick != nil && q.untick == nil:
			tick := x.changeOf(key, member{q.tick.name, q.tick.numbers(1)})
			ticked := partOf(x.after(key, slices.Concat(stock, tick)...), q.title).points()
			back := partOf(x.after(key, slices.Concat(stock, tick, act)...), q.title).points()
			if len(ticked) > 0 && len(back) > 0 && ticked[0].done && !back[0].done {
				q.untick = p
			}
		}
	}
}

// tryRemoval gives the text of an entry that was added before.
func (x *bench) tryRemoval(p *param) {
	if !p.isText() {
		return
	}
	key := x.key(x.table.Rows[0])
	for i := range x.parts {
		q := &x.parts[i]
		if q.add == nil || q.remove != nil {
			continue
		}
		now := x.after(key, slices.Concat(x.changeOf(key, member{q.add.name, q.add.texts(firstTrial)}),
			x.changeOf(key, member{p.name, p.texts(firstTrial)}))...)
		if now != "" && !strings.Contains(now, firstTrial) {
			q.remove = p
			return
		}
	}
}

// tryClear says yes to a question, where a text was written before.
func (x *bench) tryClear(p *param) {
	if p.kind != "boolean" {
		return
	}
	key := x.key(x.table.Rows[0])
	for i := range x.parts {
		q := &x.parts[i]
		if q.set == nil || q.clear != nil || q.points || q.links {
			continue
		}
		now := x.after(key, slices.Concat(x.changeOf(key, member{q.set.name, q.set.texts(firstTrial)}),
			x.changeOf(key, member{p.name, json.RawMessage("true")}))...)
		if now != "" && !strings.Contains(now, firstTrial) {
			q.clear = p
			return
		}
	}
}

// tryCreate makes a thing with a text, or with the key of another thing, and looks which part of its view has that.
func (x *bench) tryCreate(p *param) {
	name := x.columns[x.table.Label].create
	if name == nil || !p.isText() || len(p.choices) > 0 ||
		slices.ContainsFunc(x.columns, func(c boardColumn) bool { return c.create == p }) {
		return
	}
	row := x.table.Rows[1]
	other := programs.Show(row[x.table.Label])
	for _, value := range []string{firstTrial, x.key(row)} {
		call := Call{Tool: x.create.Name, Arguments: objectOf(member{name.name, quote(secondTrial)},
			member{p.name, p.texts(value)})}
		if x.err != nil || !x.create.takes(string(call.Arguments)) {
			return
		}
		p1 := play{Calls: []Call{call}, Looks: []Call{x.list.bare()}}
		got, err := x.played(x.ctx, p1, true)
		if x.err = err; err != nil || got.Lost != "" || anyFailed(p1.Calls, got) {
			continue
		}
		key := x.newKey(secondTrial, got)
		if key == "" {
			continue
		}
		text := x.after(key, call)
		title := saying(text, firstTrial)
		if value != firstTrial {
			if title = saying(text, other); title == "" {
				title = saying(text, value)
			}
		}
		if title != "" {
			q := x.section(title)
			q.create, q.links = p, q.links || value != firstTrial
			q.points = q.points || len(partOf(text, title).points()) > 0
			return
		}
	}
}
