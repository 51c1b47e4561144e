package folders

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// hunt reads a file that a request does not name, where its words lead.
func (d *drawer) hunt(doc *Doc, thing, about, why string) {
	if d.about = append(d.about, doc); !d.wasRead(doc) && (thing == "" || !d.seek(doc, thing, about)) {
		d.everywhere()
		d.look(Op{Do: Show, Path: doc.Path, Why: why})
	}
}

// addOnly puts on a list what another one has and it has not, in its form.
func (d *drawer) addOnly() *programs.Program {
	a, b, _, only := d.compared()
	if b == nil || a.hasPairs() || b.hasPairs() || len(only) > 4 || !b.hasEntries() ||
		len(b.heads()) > 1 || b.counts() != nil {
		return nil
	}
	last := b.Items[len(b.Items)-1]
	var lines []string
	for _, name := range only {
		line, ok := b.entry(last, name)
		if !ok {
			return nil
		}
		lines = append(lines, line)
	}
	s := slots("file", d.name(a), "file2", d.name(b))
	d.read(a)
	d.read(b)
	at := len(d.ops)
	d.addLine(b, last.line, strings.Join(lines, "\n"))
	d.ops[at].Why = path.Base(b.Path) + " has " + strings.Join(b.listed(), ", ") + "\nNot there yet:\n" +
		strings.Join(through(a.listed(), func(i int) bool { return slices.Contains(only, a.listed()[i]) }), "\n") +
		"\n" + d.ops[at].Why
	return act(programs.Insert, "only_add", s)
}

// enterMissing enters the rows that one file has and another one lacks, in the form of the other.
func (d *drawer) enterMissing() *programs.Program {
	if len(d.f.twins) == 0 {
		return nil
	}
	t := pick(d.r, d.f.twins)
	from, to := t.from.doc, t.to.doc
	if !t.follows() { // at the end, or where their days belong?
		return nil
	}
	s := slots("file", d.name(from), "file2", d.name(to))
	d.both(from, to, path.Base(from.Path)+" has what there was, "+path.Base(to.Path)+" what is entered.")
	was := to.lines()
	now, why := slices.Clone(was), []string(nil)
	for i, row := range t.from.rows {
		if !slices.Contains(t.missing, i) {
			why = append(why, strings.Join(row, " ")+" - entered")
			continue
		}
		why = append(why, strings.Join(row, " ")+" - missing")
		var list []string
		for k, of := range t.of {
			cell := row[of]
			if t.word[k] {
				cell = strings.Fields(cell)[0]
			}
			list = append(list, cell)
		}
		at := t.to.at[len(t.to.at)-1] + 1 + len(now) - len(was)
		now = slices.Insert(now, at, t.to.like(len(t.to.rows)-1, list))
	}
	at := len(d.ops)
	d.rewrite(to, was, now)
	d.ops[at].Why = strings.Join(why, "\n") + "\n" + d.ops[at].Why
	return act(programs.Insert, "missing_rows", s)
}

// setAcross changes a row of one file if another file says something of the same thing.
func (d *drawer) setAcross() *programs.Program {
	type place struct {
		doc *Doc
		row int
	}
	at := map[string][]place{}
	for _, doc := range d.docs((*Doc).hasBody) {
		for i, v := range doc.texts(0) {
			if len(v) > 3 && !hasDigit.MatchString(v) && strings.Count(doc.Text, v) == 1 {
				at[v] = append(at[v], place{doc, i})
			}
		}
	}
	var names []string
	for name, places := range at {
		if len(places) == 2 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	x := pick(d.r, names)
	a, b := at[x][0], at[x][1]
	if d.r.IntN(2) == 0 {
		a, b = b, a
	}
	i, k := d.r.IntN(len(a.doc.header)), d.r.IntN(len(b.doc.header))
	is, was := a.doc.texts(i)[a.row], b.doc.texts(k)[b.row]
	old, v := is, pick(d.r, b.doc.texts(k))
	if holds := d.r.IntN(3) > 0; !holds {
		old = pick(d.r, a.doc.texts(i))
	}
	attr, attr2 := programs.Words(a.doc.header[i]), programs.Words(b.doc.header[k])
	if i == 0 || k == 0 || is == "" || old == "" || was == "" || v == "" || hasDigit.MatchString(v) ||
		v == was || attr == attr2 ||
		distinct(b.doc.texts(k)) || a.doc.inHeader(b.doc.header[k]) >= 0 || b.doc.inHeader(a.doc.header[i]) >= 0 {
		return nil
	}
	s := slots("x", x, "attr", attr, "old", old, "attr2", attr2, "v", v)
	d.hunt(a.doc, x, attr, path.Base(a.doc.Path)+" may have the "+attr+".")
	work := a.doc.quote(a.doc.body()[a.row]) + "\n" + condition(attr, old, is)
	if old != is {
		return question(programs.ActIf, "set_across", s, "left",
			"The "+attr+" is "+is+", so nothing was changed.").Work(work)
	}
	d.hunt(b.doc, "", "", "It is "+is+", so the "+attr2+" is to be set. "+path.Base(b.doc.Path)+" may have it.")
	now, first := b.doc.withText(b.doc.lines()[b.doc.body()[b.row]], k, v), len(d.ops)
	d.putLine(b.doc, b.doc.body()[b.row], &now)
	d.ops[first].Why = work + "\n" + d.ops[first].Why
	return act(programs.ActIf, "set_across", s)
}

// condition says whether something is as a request has it.
func condition(attr, wanted, is string) string {
	return "Condition: " + attr + " is " + wanted + ". It is " + is + ": " +
		map[bool]string{true: "holds", false: "fails"}[wanted == is]
}

// bill is who has how many of what, and what one of each costs.
type bill struct {
	doc, prices   *Doc // the same where each row has its price
	who, thing, n int
	each          []int // of each row, in hundredths
	names         []string
}

// findBill draws a table of orders whose prices are known; nil: there is none.
func (d *drawer) findBill() *bill {
	doc := d.one(func(o *Doc) bool { return o.hasBody() && o.counted() >= 0 })
	if doc == nil {
		return nil
	}
	b := &bill{doc: doc, who: -1, thing: -1, n: doc.counted()}
	price := slices.IndexFunc(doc.header, func(name string) bool {
		return slices.Contains([]string{"price", "cost", "fee", "rate"}, name)
	})
	for k := range doc.header {
		switch all := doc.texts(k); {
		case b.who < 0 && doc.isOfPeople(k) && !distinct(all): // goods of two words look like names
			b.who = k
		case k != b.n && k != price && !plainNumber.MatchString(all[0]) && !isDay(all[0]) && b.thing < 0:
			b.thing = k
		}
	}
	if b.who < 0 || b.thing < 0 || b.who == b.thing {
		return nil
	}
	if b.prices = doc; price < 0 {
		b.prices = d.one(func(o *Doc) bool {
			return o != doc && !slices.ContainsFunc(doc.texts(b.thing), func(thing string) bool {
				_, ok := o.price(thing)
				return !ok
			})
		})
		if b.prices == nil {
			return nil
		}
	}
	for i, thing := range doc.texts(b.thing) {
		each, ok := 0, plainNumber.MatchString(doc.texts(b.n)[i])
		if price >= 0 {
			each, ok = cents(doc.texts(price)[i]), ok && plainNumber.MatchString(doc.texts(price)[i])
		} else {
			each, _ = b.prices.price(thing) // all are there
		}
		who := doc.texts(b.who)[i]
		if !ok || strings.Contains(doc.texts(b.n)[i], ".") || who == "" {
			return nil
		}
		if b.each = append(b.each, each); !slices.Contains(b.names, who) {
			b.names = append(b.names, who)
		}
	}
	slices.Sort(b.names)
	return b
}

// counted is the column of a table that says how many of a thing somebody has; -1: none does.
func (d *Doc) counted() int {
	return slices.IndexFunc(d.header, func(name string) bool {
		return slices.Contains(strings.Fields("count number quantity qty pieces packets packs boxes copies bottles"),
			strings.ToLower(name))
	})
}

// of is what somebody's things come to, and how.
func (b *bill) of(name string) (total int, line string) {
	var parts []string
	for i, who := range b.doc.texts(b.who) {
		if who == name {
			n, _ := strconv.Atoi(b.doc.texts(b.n)[i]) // of digits
			parts = append(parts, fmt.Sprintf("%s %d x %s = %s", b.doc.texts(b.thing)[i], n, money(b.each[i]),
				money(n*b.each[i])))
			if total += n * b.each[i]; len(parts) > 1 {
				parts = append(parts, inSteps([]int{total - n*b.each[i], n * b.each[i]}, money))
			}
		}
	}
	return total, name + ": " + strings.Join(parts, ", ")
}

func (b *bill) gather(d *drawer, x string) {
	d.hunt(b.doc, x, "", path.Base(b.doc.Path)+" may say who wants what.")
	d.hunt(b.prices, "", "", "What each costs may stand in "+path.Base(b.prices.Path)+".")
}

// billOf asks what somebody has to pay for all that a list has of him.
func (d *drawer) billOf() *programs.Program {
	b := d.findBill()
	if b == nil {
		return nil
	}
	x := pick(d.r, b.names)
	total, line := b.of(x)
	said, who := d.called(b.doc, b.doc.body()[slices.Index(b.doc.texts(b.who), x)], x)
	b.gather(d, said)
	return question(programs.Total, "bill_of", slots("x", said, "file", d.name(b.doc)), "number", money(total)).
		Work(who + line)
}

// bills asks the same of everybody, as lines in a form that is shown.
func (d *drawer) bills() *programs.Program {
	b := d.findBill()
	if b == nil || len(b.names) > 8 {
		return nil
	}
	var report, work []string
	for _, name := range b.names {
		total, line := b.of(name)
		report, work = append(report, name+" = "+money(total)), append(work, line)
	}
	work = append(work, "In order: "+strings.Join(b.names, ", "))
	s := slots("file", d.name(b.doc), "given", "NAME = 0.00")
	d.read(b.doc)
	d.hunt(b.prices, "", "", "What each costs may stand in "+path.Base(b.prices.Path)+".")
	return question(programs.Top, "bills", s, "lines", report...).Work(work...)
}
