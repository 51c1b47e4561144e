package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// offer is a line of a text that people choose from: who, for how much, and at times what speaks against it.
type offer struct {
	name  string
	price int
	but   string
}

// offersOf draws offers, of which one or two have a drawback, and how a request excludes it: "nothing used".
func offersOf(r *rand.Rand) (list []offer, but string) {
	flaw := pick(r, [][2]string{{"used", "nothing second-hand"}, {"without warranty", "it must have a warranty"},
		{"delivery takes ten weeks", "we cannot wait that long for a delivery"},
		{"wants all of it in advance", "nothing is paid in advance"},
		{"not before the summer", "it is needed in spring"},
		{"only for members", "we are no members"}, {"comes without fitting", "fitting must be included"}})
	names := []string{"Halden", "Brook & Sons", "Nordlicht", "Casa Verde", "Tillman", "Arbor", "Westgate", "Pico",
		"Rialto", "Van Dam", "Kestrel", "Moser"}
	used := map[int]bool{}
	for _, at := range r.Perm(len(names))[:3+r.IntN(3)] {
		price := 10 * (8 + r.IntN(240))
		if used[price] {
			continue
		}
		used[price], list = true, append(list, offer{name: names[at], price: price})
	}
	for _, at := range r.Perm(len(list))[:1+r.IntN(2)] {
		list[at].but = flaw[0]
	}
	return list, flaw[1]
}

// best is the offer of the least price, or of the greatest; without those that have a drawback where one is excluded.
func best(list []offer, dearest, strict bool) (one offer, ok bool) {
	for _, o := range list {
		if strict && o.but != "" {
			continue
		}
		if !ok || dearest == (o.price > one.price) {
			one, ok = o, true
		}
	}
	return one, ok
}

// takeOffer chooses from the offers that a thing's text lists: the answer says who it is, or they are written down.
func (b *boarding) takeOffer(r *rand.Rand) *boardTask {
	p, ok := b.textPart(r, func(p section) bool { return p.set != nil && !p.listed })
	to, able := b.textPart(r, func(p section) bool { return p.add != nil && !p.listed })
	row, slots := b.named(r)
	list, but := offersOf(r)
	dearest, strict := r.IntN(4) == 0, r.IntN(3) > 0
	one, found := best(list, dearest, strict)
	if !ok || row == nil || !found || len(list) < 3 {
		return nil
	}
	lines, names := []string{"Offers:"}, []string{}
	var seen []string
	for _, o := range list {
		line := fmt.Sprintf("- %s, %d", o.name, o.price)
		if o.but != "" {
			line += ", " + o.but
		}
		lines, names = append(lines, line), append(names, o.name)
		if strict {
			line += map[bool]string{true: " - out", false: " - fits"}[o.but != ""]
		}
		seen = append(seen, strings.TrimPrefix(line, "- "))
	}
	seen = append(seen, fmt.Sprintf("so %s, %d", one.name, one.price))
	slots["end"], slots["given"] = map[bool]string{true: "highest", false: "lowest"}[dearest], ""
	if strict {
		slots["given"] = ", but " + but
	}
	answer := programs.Answer{Form: "text", Values: []string{one.name}, Among: names}
	pattern := "offer_ask"
	if r.IntN(3) == 0 {
		pattern, answer = "offer_price", programs.Answer{Form: "pair", How: "%s, %s",
			Values: []string{one.name, strconv.Itoa(one.price)}}
	}
	setup := b.changeOf(b.key(row), member{p.set.name, p.set.texts(strings.Join(lines, "\n"))})
	if !able || to.title == p.title || r.IntN(2) == 0 {
		q := programs.NewQuestion(programs.Best, pattern, slots, answer, b.table).Work(seen...)
		t := b.act(r, q, row, true)
		t.setup = setup
		t.says = func(text string) bool { return strings.Contains(text, lines[1]) }
		return t
	}
	word := pick(r, []string{"Chosen", "Choice", "Supplier", "Taken", "Decision"})
	slots["attr"], slots["v"] = b.called(r, to), word
	text := word + ": " + one.name
	t := b.act(r, programs.NewAct(copyFound, "offer_take", slots).Work(seen...), row, true,
		member{to.add.name, to.add.texts(text)})
	t.setup, t.free = setup, []string{text}
	t.says = func(text string) bool { return strings.Contains(text, lines[1]) }
	return b.has(t, row, to, text)
}

// tally is how many things that meet a condition have each value of a column, found by a list for each.
type tally struct {
	column int
	values []string
	names  [][]string
	lists  []Call
	slots  map[string]string
}

// countOf draws a column whose values a list is asked for by, and counts.
func (b *boarding) countOf(r *rand.Rand, able func(i int) bool) (c tally, ok bool) {
	var columns []int
	for i, o := range b.columns {
		if o.filter != nil && i != b.table.Key && i != b.table.Label && b.table.Columns[i].Ref == nil &&
			b.table.Columns[i].Kind != programs.Date && able(i) {
			columns = append(columns, i)
		}
	}
	if len(columns) == 0 {
		return c, false
	}
	c.column = pick(r, columns)
	c.values = b.valuesOf(c.column)
	r.Shuffle(len(c.values), func(i, k int) { c.values[i], c.values[k] = c.values[k], c.values[i] })
	c.values = c.values[:min(len(c.values), 2+r.IntN(3))]
	c.slots = b.table.Slots(nil)
	rows, also := b.table.Rows, []member{}
	if f := b.finish; f != nil && f.column != c.column && r.IntN(2) == 0 { // those that are open
		value := pick(r, b.valuesOf(f.column))
		if p := b.columns[f.column].filter; p != nil {
			rows = b.table.Matching([]programs.Cond{{Column: f.column, Of: -1, Op: programs.Is, Value: value}})
			also = []member{{p.name, p.value(value)}}
			c.slots["filter"] = strings.ReplaceAll(b.table.Columns[f.column].With, "{v}", value)
		}
	}
	p := b.columns[c.column].filter
	for _, v := range c.values {
		var names []string
		for _, row := range rows {
			if slices.Contains(parted(row[c.column]), v) {
				names = append(names, programs.Show(row[b.table.Label]))
			}
		}
		c.names = append(c.names, names)
		c.lists = append(c.lists, b.list.filtered(append([]member{{p.name, p.value(v)}}, also...)...))
	}
	return c, len(c.values) > 1 && (len(also) == 0 || c.slots["filter"] != "")
}

// said are the counts as a working has them.
func (c tally) said() (lines []string) {
	for k, v := range c.values {
		names := strings.Join(c.names[k], "; ")
		if names == "" {
			names = "none"
		}
		lines = append(lines, fmt.Sprintf("%s: %s = %d", v, names, len(c.names[k])))
	}
	return lines
}

// reads has a task read the lists of the counts.
func (c tally) reads(t *boardTask) {
	for k, call := range c.lists {
		t.look(call)
		t.shown = append(t.shown, c.names[k]...)
	}
}

// countEach asks how many things there are of each of some values.
func (b *boarding) countEach(r *rand.Rand) *boardTask {
	c, ok := b.countOf(r, func(int) bool { return true })
	if !ok {
		return nil
	}
	var said []string
	for k, v := range c.values {
		said = append(said, v+": "+strconv.Itoa(len(c.names[k])))
	}
	attr := strings.ToLower(b.table.Columns[c.column].Caption())
	if !strings.HasSuffix(attr, "us") && !strings.HasSuffix(attr, "ss") { // "per label"
		attr = strings.TrimSuffix(attr, "s")
	}
	c.slots["given"], c.slots["attr"] = programs.Enumerate(c.values), attr
	answer := programs.Answer{Form: "each", Values: said}
	q := programs.NewQuestion(programs.Count, "offer_count", c.slots, answer, b.table)
	t := &boardTask{Program: q.Work(c.said()...)}
	c.reads(t)
	return t
}

// fewest is the value that fewest things have; of several the first in the alphabet.
func (c tally) fewest() string {
	least := 0
	for k := range c.values {
		switch n := len(c.names[k]) - len(c.names[least]); {
		case n < 0, n == 0 && c.values[k] < c.values[least]:
			least = k
		}
	}
	return c.values[least]
}

// giveLeast gives a thing to the one of some people who has the fewest.
func (b *boarding) giveLeast(r *rand.Rand) *boardTask {
	c, ok := b.countOf(r, func(i int) bool { return b.columns[i].isFor() && b.columns[i].edit != nil })
	row, slots := b.named(r)
	if !ok || row == nil || len(parted(row[c.column])) > 0 {
		return nil
	}
	c.slots["x"], c.slots["given"] = slots["x"], programs.Enumerate(c.values)
	v := c.fewest()
	act := programs.NewAct(programs.ActIf, "give_least", c.slots).Work(append(c.said(), "so "+v)...)
	t := &boardTask{Program: act, after: map[string]map[string]string{}}
	b.seek(r, t, row, slots["x"], false)
	c.reads(t)
	edit := b.columns[c.column].edit
	t.changes = b.changeOf(b.key(row), member{edit.name, edit.value(v)})
	t.after[b.key(row)] = map[string]string{b.columns[c.column].name: v}
	return t
}

// askBestPair asks for the first or the last of those that meet a condition, with the value that makes it that.
func (b *boarding) askBestPair(r *rand.Rand) *boardTask {
	t := b.askBest(r)
	if t == nil {
		return nil
	}
	return t.with(programs.PairOfBest(t.Program))
}

// with is a task of another program.
func (t *boardTask) with(p *programs.Program) *boardTask {
	if p == nil {
		return nil
	}
	t.Program = p
	return t
}
