package folders

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// counted is an entry that says how many there are of a thing: "3 x rye loaf".
type counted struct {
	n     int
	thing string
}

var countedItem = regexp.MustCompile(`^(\d{1,3}) ?[x×] ?(\pL[\pL\pN '&+-]{1,30})$`)

// counts are the entries of a list of so many of each thing; nil where it is none.
func (d *Doc) counts() (list []counted) {
	for _, item := range d.Items {
		m := countedItem.FindStringSubmatch(item.Text)
		if m == nil {
			return nil
		}
		n, _ := strconv.Atoi(m[1]) // of digits
		list = append(list, counted{n, m[2]})
	}
	return list
}

// mostTallied bounds the rows of which each is multiplied.
const mostTallied = 8

// tallies are the entries of a list of so many of each thing, or the rows of a table that has how many there are.
func (d *Doc) tallies() (list []counted) {
	if list = d.counts(); list != nil || !d.hasTable() || len(d.Table.Rows) > mostTallied {
		return list
	}
	at := d.column("count", "stock", "quantity", "qty", "left")
	for _, row := range d.Table.Rows {
		if at < 0 || at == d.Table.Label {
			return nil
		}
		n, ok := row[at].(int64)
		if !ok {
			return nil
		}
		list = append(list, counted{int(n), d.Table.NameOf(row)})
	}
	return list
}

// column is the first column of a file's table whose name has one of some words; -1 where none has.
func (d *Doc) column(words ...string) int {
	return slices.IndexFunc(d.Table.Columns, func(c programs.Column) bool {
		return slices.ContainsFunc(strings.Fields(programs.Words(c.Name)),
			func(w string) bool { return slices.Contains(words, w) })
	})
}

// price is what a file says that a thing costs, in hundredths.
func (d *Doc) price(thing string) (cents int, ok bool) {
	text := ""
	if p := d.pair(thing); p != nil && strings.Contains(d.stem(), "price") {
		text = p.Value
	} else if d.hasTable() {
		at := d.column("price", "cost", "fee")
		for _, row := range d.Table.Rows {
			if at >= 0 && d.Table.NameOf(row) == thing {
				text = programs.Show(row[at])
			}
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	return int(x*100 + 0.5), err == nil
}

func money(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// priced asks what a list of so many of each thing comes to, at the prices that another file has.
func (d *drawer) priced() *programs.Program {
	doc := d.one(func(o *Doc) bool { return len(o.tallies()) > 1 })
	if doc == nil {
		return nil
	}
	list := doc.tallies()
	prices := d.one(func(o *Doc) bool {
		return o != doc && !slices.ContainsFunc(list, func(c counted) bool { _, ok := o.price(c.thing); return !ok })
	})
	if prices == nil {
		return nil
	}
	var lines []string
	total := 0
	for i, c := range list {
		each, _ := prices.price(c.thing) // all are there
		lines = append(lines, fmt.Sprintf("%s: %d x %s = %s", c.thing, c.n, money(each), money(c.n*each)))
		if total += c.n * each; i > 0 {
			lines[i] += fmt.Sprintf(", %s + %s = %s", money(total-c.n*each), money(c.n*each), money(total))
		}
	}
	d.both(doc, prices, path.Base(doc.Path)+" says how many, "+path.Base(prices.Path)+" what each costs.")
	return question(programs.Total, "priced_total", slots("file", d.name(doc)), "number", money(total)).Work(lines...)
}

// both reads two files that belong together, at once or one after the other.
func (d *drawer) both(a, b *Doc, why string) {
	d.about = append(d.about, a, b)
	d.everywhere()
	d.locate(a, b)
	if d.can[ShowAll] && d.r.IntN(2) == 0 {
		d.look(Op{Do: ShowAll, Paths: []string{a.Path, b.Path}, Why: why})
		return
	}
	d.look(Op{Do: Show, Path: a.Path, Why: why})
	d.look(Op{Do: Show, Path: b.Path})
}

// takeFromStock has what a list says be taken off the numbers of another file.
func (d *drawer) takeFromStock() *programs.Program {
	doc := d.one(func(o *Doc) bool { return len(o.counts()) > 1 })
	if doc == nil {
		return nil
	}
	stock := d.one(func(o *Doc) bool {
		return o != doc && o.hasRows() && o.column("count", "stock", "quantity", "qty", "left") > 0
	})
	if stock == nil {
		return nil
	}
	at, was := stock.column("count", "stock", "quantity", "qty", "left"), stock.lines()
	now, why := slices.Clone(was), []string(nil)
	for _, c := range doc.counts() {
		i := slices.IndexFunc(stock.Table.Rows, func(row []any) bool { return stock.Table.NameOf(row) == c.thing })
		if i < 0 {
			return nil
		}
		old, ok := stock.Table.Rows[i][at].(int64)
		if !ok || int(old) < c.n {
			return nil
		}
		line, ok := stock.withCell(was[stock.rows[i]], at, old, old-int64(c.n))
		if !ok {
			return nil
		}
		now[stock.rows[i]] = line
		why = append(why, fmt.Sprintf("%s: %d - %d = %d", c.thing, old, c.n, int(old)-c.n))
	}
	d.both(doc, stock, path.Base(doc.Path)+" says how many, "+path.Base(stock.Path)+" what there was.")
	first := len(d.ops)
	d.rewrite(stock, was, now)
	d.ops[first].Why = strings.Join(why, "\n")
	return act(programs.Adjust, "stock_take", slots("file", d.name(doc)))
}

var clockTime = regexp.MustCompile(`^\d{1,2}:[0-5]\d$`)

// clocked is the column of a table that has lengths in minutes and seconds; -1 where none has.
func (d *Doc) clocked() int {
	at := d.column("length", "duration", "runtime")
	if at < 0 || slices.ContainsFunc(d.Table.Rows, func(row []any) bool {
		return !clockTime.MatchString(programs.Show(row[at]))
	}) {
		return -1
	}
	return at
}

func seconds(clock string) int {
	m, s, _ := strings.Cut(clock, ":")
	minutes, _ := strconv.Atoi(m) // both are digits
	rest, _ := strconv.Atoi(s)
	return 60*minutes + rest
}

func clock(seconds int) string { return fmt.Sprintf("%d:%02d", seconds/60, seconds%60) }

// addClocks adds lengths up one after the other.
func addClocks(names, list []string) (total string, lines []string) {
	sum := 0
	for i, one := range list {
		before := sum
		sum += seconds(one)
		line := names[i] + ": " + one
		if i > 0 {
			line += fmt.Sprintf(", %s + %s = %s", clock(before), one, clock(sum))
		}
		lines = append(lines, line)
	}
	return clock(sum), lines
}

// lengths asks how long all things of a table are together, or those that meet a condition.
func (d *drawer) lengths() *programs.Program {
	doc := d.one(func(o *Doc) bool { return o.hasTable() && o.clocked() >= 0 })
	if doc == nil {
		return nil
	}
	at, t := doc.clocked(), doc.Table
	rows, s := t.Rows, t.Slots(nil)
	if d.r.IntN(2) == 0 {
		q, with, ok := d.filter(doc)
		if !ok {
			return nil
		}
		rows, s = q.Rows(), with
	}
	var names, list []string
	for _, row := range rows {
		names, list = append(names, t.NameOf(row)), append(list, programs.Show(row[at]))
	}
	if len(list) < 2 || len(list) > 10 {
		return nil
	}
	total, lines := addClocks(names, list)
	s["attr"], s["like"] = nounOf(t.Columns[at]), "12:34"
	d.read(doc)
	p := question(programs.Total, "sum", s, "text", total).Work(lines...)
	p.In(d.name(doc))
	return p
}

// overList asks for a sum over the things of a list, each of which another file has with a number or a length.
func (d *drawer) overList() *programs.Program {
	doc := d.one(func(o *Doc) bool { return o.hasBrief() && len(o.Items) < 10 && len(o.heads()) < 2 })
	if doc == nil {
		return nil
	}
	of := d.one(func(o *Doc) bool {
		return o != doc && o.hasTable() && !slices.ContainsFunc(doc.Items, func(item Item) bool {
			return o.rowOf(item.Text) == nil
		})
	})
	if of == nil {
		return nil
	}
	at := of.clocked()
	if at < 0 {
		at = of.measure()
	}
	if at < 0 {
		return nil
	}
	var list []string
	for _, item := range doc.Items {
		if v := of.rowOf(item.Text)[at]; v != nil {
			list = append(list, programs.Show(v))
		}
	}
	s := slots("file", d.name(doc), "attr", nounOf(of.Table.Columns[at]))
	if len(list) != len(doc.Items) {
		return nil
	}
	d.both(doc, of, path.Base(doc.Path)+" says which, "+path.Base(of.Path)+" has the "+s["attr"]+" of each.")
	if of.clocked() == at {
		total, lines := addClocks(texts(doc.Items), list)
		s["like"] = "12:34"
		return question(programs.Total, "entries_sum", s, "text", total).Work(lines...)
	}
	total, lines := addCents(texts(doc.Items), list)
	return question(programs.Total, "entries_sum", s, "number", total).Work(lines...)
}

// isMeasure reports whether a column has numbers that people add up.
func isMeasure(c programs.Column) bool {
	words := strings.Fields(programs.Words(c.Name))
	never := strings.Fields("year since born built founded joined planted established published hired age id no")
	return c.Kind == programs.Number && c.Ref == nil && !c.Label && !c.Bool && len(words) > 0 &&
		!slices.ContainsFunc(words, func(w string) bool { return slices.Contains(never, w) })
}

// measure is the first column of a file's table with numbers that people add up; -1: none has.
func (d *Doc) measure() int {
	for i, c := range d.Table.Columns {
		if i != d.Table.Key && i != d.Table.Label && isMeasure(c) {
			return i
		}
	}
	return -1
}

// inSteps adds amounts up one after the other: "3.00 + 8.00 = 11.00, 11.00 + 2.50 = 13.50"; "" where one is all.
func inSteps(list []int, show func(int) string) string {
	var steps []string
	sum := 0
	for i, one := range list {
		if sum += one; i > 0 {
			steps = append(steps, show(sum-one)+" + "+show(one)+" = "+show(sum))
		}
	}
	return strings.Join(steps, ", ")
}

// short is an amount without the cents that it has not.
func short(cents int) string { return strings.TrimSuffix(money(cents), ".00") }

// addCents adds numbers up that have two digits behind the point at most.
func addCents(names, list []string) (total string, lines []string) {
	sum := 0
	for i, one := range list {
		x, _ := strconv.ParseFloat(one, 64) // of a column of numbers
		cents := int(x*100 + 0.5)
		line := names[i] + ": " + short(cents)
		if sum += cents; i > 0 {
			line += fmt.Sprintf(", %s + %s = %s", short(sum-cents), short(cents), short(sum))
		}
		lines = append(lines, line)
	}
	return short(sum), lines
}

// rowOf is the row of a table that has a name; nil: there is none.
func (d *Doc) rowOf(name string) []any {
	for _, row := range d.Table.Rows {
		if d.Table.NameOf(row) == name {
			return row
		}
	}
	return nil
}

// sums asks for the sum of a number by a property that things share, as a report in a form that is shown.
func (d *drawer) sums() *programs.Program {
	doc := d.one((*Doc).hasTable)
	if doc == nil {
		return nil
	}
	t := doc.Table
	by, at := d.r.IntN(len(t.Columns)), doc.measure()
	groups, order := map[string][]string{}, []string(nil)
	for _, row := range t.Rows {
		name := programs.Show(row[by])
		if name == "" || at < 0 || at == by || row[at] == nil || t.Columns[by].Kind != programs.Text ||
			slices.Contains([]string{"yes", "no", "true", "false"}, name) {
			return nil
		}
		if groups[name] == nil {
			order = append(order, name)
		}
		groups[name] = append(groups[name], programs.Show(row[at]))
	}
	if len(order) < 2 || len(order) > 6 || len(order) == len(t.Rows) {
		return nil
	}
	total, lines := map[string]string{}, []string(nil)
	for _, name := range order {
		var list []int
		for _, one := range groups[name] {
			list = append(list, cents(one))
		}
		total[name], _ = addCents(groups[name], groups[name])
		lines = append(lines, name+": "+cmp.Or(inSteps(list, short), total[name]))
	}
	size := func(name string) float64 { x, _ := strconv.ParseFloat(total[name], 64); return x }
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(size(b), size(a)) })
	var report []string
	for i, name := range order {
		if i > 0 && size(name) == size(order[i-1]) {
			return nil
		}
		report = append(report, name+": "+total[name])
	}
	ref := nounOf(t.Columns[by])
	s := slots("ref", ref, "attr", nounOf(t.Columns[at]))
	pattern := d.find(doc, "grouped_sums", ref, s)
	if d.r.IntN(2) == 0 {
		slices.Sort(order)
		report = nil
		for _, name := range order {
			report = append(report, name+" = "+total[name])
		}
		lines = append(lines, "In order: "+strings.Join(order, ", "))
		p := question(programs.Top, "sums_by_name", s, "lines", report...).Work(lines...)
		if pattern == "grouped_sums" {
			p.In(s["file"])
		}
		return p
	}
	if pattern == "found_grouped_sums" {
		pattern = "found_sums"
	}
	lines = append(lines, "In order: "+strings.Join(report, ", "))
	return question(programs.Top, pattern, s, "lines", report...).Work(lines...)
}

// setAndTick changes a property of a thing and ticks off the entry of a list that is about it.
func (d *drawer) setAndTick() *programs.Program {
	list := d.one(func(o *Doc) bool { return o.hasItems() && o.Items[0].Box != 0 })
	of := d.one((*Doc).hasRows)
	if list == nil || of == nil || of == list {
		return nil
	}
	t := of.Table
	for i, row := range t.Rows {
		name := t.NameOf(row)
		word := wordIn(name)
		found := slices.DeleteFunc(slices.Clone(list.Items), func(item Item) bool {
			return !word.MatchString(item.Text)
		})
		at := slices.IndexFunc(t.Columns, isState)
		if len(name) < 3 || len(found) != 1 || found[0].Box != ' ' || at < 0 || at == t.Label {
			continue
		}
		v := pick(d.r, t.Rows)[at]
		line, ok := of.withCell(of.lines()[of.rows[i]], at, row[at], v)
		if !ok || v == nil || programs.Equal(v, row[at]) {
			return nil
		}
		s := slots("x", name, "attr", nounOf(t.Columns[at]), "v", programs.Show(v), "file", d.name(list))
		d.both(of, list, path.Base(of.Path)+" has "+name+", "+path.Base(list.Path)+" what is to be done.")
		first := len(d.ops)
		d.putLine(of, of.rows[i], &line)
		d.ops[first].Why = "Two changes: the " + s["attr"] + " in " + path.Base(of.Path) + ", and a tick in " +
			path.Base(list.Path) + ". All else stays.\n" + d.ops[first].Why
		done := strings.Replace(list.lines()[found[0].line], "[ ]", "[x]", 1)
		d.putLine(list, found[0].line, &done)
		d.note("Both changes are made.")
		return act(programs.Several, "set_and_tick", s)
	}
	return nil
}

// isState reports whether a column says how things stand.
func isState(c programs.Column) bool {
	words := strings.Fields(programs.Words(c.Name))
	return c.Kind == programs.Text && c.Ref == nil && len(words) > 0 &&
		slices.Contains([]string{"status", "state", "paid", "booked", "confirmed", "done", "stage", "level", "type",
			"kind"}, words[len(words)-1])
}
