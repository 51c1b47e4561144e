package folders

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// mostWork bounds the lines by which a report is worked out, in bytes: longer ones are not shown.
const mostWork = 850

// debts is who has which things, what was paid for them by their keys, and what each costs.
type debts struct {
	things, paid         *Doc
	key, who, at, amount int  // columns of things, then of paid
	rates                *Doc // nil where it is not known what each costs
	kind                 int  // the column of things by which rates say it
	names                []string
}

// findDebts draws one that the folder has; nil: it has none.
func (d *drawer) findDebts() *debts {
	var list []*debts
	books := d.docs(func(o *Doc) bool { return o.hasBody() && o.amounts() >= 0 })
	said := map[*Doc][][]string{} // the texts of each column of a book, read once
	for _, o := range books {
		for k := range o.header {
			said[o] = append(said[o], o.texts(k))
		}
	}
	for _, things := range d.docs((*Doc).hasBody) {
		who := slices.IndexFunc(things.header, func(h string) bool { return things.isOfPeople(things.inHeader(h)) })
		if who < 0 {
			continue
		}
		for key, name := range things.header {
			keys := things.texts(key)
			if !distinct(keys) {
				continue
			}
			some := slices.DeleteFunc(slices.Clone(books), func(o *Doc) bool {
				at := o.inHeader(name)
				return o == things || at < 0 ||
					slices.ContainsFunc(said[o][at], func(v string) bool { return !slices.Contains(keys, v) })
			})
			if len(some) > 0 {
				paid := pick(d.r, some)
				list = append(list, &debts{things: things, paid: paid, key: key, who: who, at: paid.inHeader(name),
					amount: paid.amounts()})
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	one := pick(d.r, list)
	one.findRates(d)
	for _, name := range one.things.texts(one.who) {
		if name != "" && !slices.Contains(one.names, name) {
			one.names = append(one.names, name)
		}
	}
	slices.Sort(one.names)
	return one
}

func (b *debts) findRates(d *drawer) {
	for k := range b.things.header {
		rates := d.one(func(o *Doc) bool {
			return !slices.ContainsFunc(b.things.texts(k), func(v string) bool {
				return o.pair(v) == nil || !plainNumber.MatchString(o.pair(v).Value)
			})
		})
		if rates != nil {
			b.rates, b.kind = rates, k
		}
	}
}

// texts are the cells of a column of a table.
func (d *Doc) texts(column int) (list []string) {
	for _, i := range d.body() {
		list = append(list, cells(d.lines()[i], d.between())[column])
	}
	return list
}

// isOfPeople reports whether all that a column has are names of persons.
func (d *Doc) isOfPeople(column int) bool {
	n := 0
	for _, v := range d.texts(column) {
		if v != "" && !fullName.MatchString(v) {
			return false
		}
		if v != "" {
			n++
		}
	}
	return n > 2
}

// amounts is the column of a table that has amounts of money; -1: none has.
func (d *Doc) amounts() int {
	return slices.IndexFunc(d.header, func(name string) bool {
		return sharesNoun(strings.Fields(programs.Words(name)), []string{"amount", "sum", "paid", "euros"}) &&
			!slices.ContainsFunc(d.texts(d.inHeader(name)), func(v string) bool { return !plainNumber.MatchString(v) })
	})
}

// cents are a text of digits in hundredths.
func cents(text string) int {
	x, _ := strconv.ParseFloat(text, 64) // of digits
	return int(x*100 + 0.5)
}

// of is what a person has to pay, has paid, and how that follows.
func (b *debts) of(name string) (costs, paid int, lines []string) {
	keys, whose := b.things.texts(b.key), b.things.texts(b.who)
	one := programs.Words(b.things.header[b.key])
	for i, key := range keys {
		if whose[i] != name {
			continue
		}
		line := name + " has " + one + " " + key
		if b.rates != nil {
			p := b.rates.pair(b.things.texts(b.kind)[i])
			costs += cents(p.Value)
			line += ", " + p.Key + ": " + p.Value
		}
		var rows []int
		for k, of := range b.paid.texts(b.at) {
			if of == key {
				rows = append(rows, cents(b.paid.texts(b.amount)[k]))
				paid += rows[len(rows)-1]
			}
		}
		switch says := one + " " + key + " in " + path.Base(b.paid.Path) + ": "; len(rows) {
		case 0:
			line += ", " + says + "no row"
		case 1:
			line += ", " + says + money(rows[0])
		default:
			line += ", " + says + inSteps(rows, money)
		}
		lines = append(lines, line)
	}
	return costs, paid, lines
}

// called is how a request calls a person of a row: mostly by the whole name, else in small letters, or by the first
// name where nobody else has that. why says then which row it is.
func (d *drawer) called(doc *Doc, line int, x string) (said, why string) {
	first := strings.Fields(x)[0]
	shared := slices.ContainsFunc(d.f.Docs, func(o *Doc) bool {
		return wordIn(first).Count(o.Text) != strings.Count(o.Text, x)
	})
	switch d.r.IntN(4) {
	case 0:
		said = strings.ToLower(x)
	case 1:
		said = first
	}
	if said == "" || said == x || said == first && shared {
		return x, ""
	}
	return said, said + " is " + x + ", " + doc.quote(line) + "\n"
}

// rowOf is the line of the first row of a person.
func (b *debts) rowOf(x string) int { return b.things.body()[slices.Index(b.things.texts(b.who), x)] }

// gather reads the files of debts.
func (b *debts) gather(d *drawer, x string) {
	d.hunt(b.things, x, "", path.Base(b.things.Path)+" may say who has what.")
	d.hunt(b.paid, "", "", "What was paid may stand in "+path.Base(b.paid.Path)+".")
	if b.rates != nil {
		d.hunt(b.rates, "", "", "What each costs may stand in "+path.Base(b.rates.Path)+".")
	}
}

// dueOf asks what somebody still has to pay: the rate of one file less what another one has of it.
func (d *drawer) dueOf() *programs.Program {
	b := d.findDebts()
	if b == nil || b.rates == nil {
		return nil
	}
	x := pick(d.r, b.names)
	costs, paid, lines := b.of(x)
	if costs <= paid {
		return nil
	}
	said, who := d.called(b.things, b.rowOf(x), x)
	b.gather(d, said)
	lines[0] = who + lines[0]
	return question(programs.Total, "due_of", slots("x", said), "number", money(costs-paid)).
		Work(append(lines, money(costs)+" - "+money(paid)+" = "+money(costs-paid))...)
}

// dueAll asks for everybody who still has to pay something, and how much.
func (d *drawer) dueAll() *programs.Program {
	b := d.findDebts()
	if b == nil || b.rates == nil {
		return nil
	}
	var report, work []string
	for _, name := range b.names {
		costs, paid, lines := b.of(name)
		work = append(work, strings.Join(lines, ", ")+": "+money(costs)+" - "+money(paid)+" = "+money(costs-paid)+
			map[bool]string{true: " - yes", false: " - no"}[costs > paid])
		if costs < paid {
			return nil
		}
		if costs > paid {
			report = append(report, name+" = "+money(costs-paid))
		}
	}
	if len(report) == 0 || len(report) > 6 || len(strings.Join(work, "\n")) > mostWork {
		return nil
	}
	b.gather(d, "")
	return question(programs.List, "due_all", slots("given", "NAME = 0.00"), "lines", report...).Work(work...)
}

// paidNothing asks who has paid nothing.
func (d *drawer) paidNothing() *programs.Program {
	b := d.findDebts()
	if b == nil {
		return nil
	}
	b.rates = nil // not needed
	var none, work []string
	for _, name := range b.names {
		_, paid, lines := b.of(name)
		work = append(work, strings.Join(lines, ", "))
		if paid == 0 {
			none = append(none, name)
		}
	}
	if len(none) == 0 || len(none) > 6 || len(strings.Join(work, "\n")) > mostWork {
		return nil
	}
	work = through(work, func(i int) bool { return slices.Contains(none, b.names[i]) })
	b.gather(d, "")
	one := programs.Words(b.things.header[b.key])
	return question(programs.Missing, "paid_none", slots("one", one), "list", none...).Work(work...)
}

// paidTold enters what somebody paid, who is known by a name where the book has a number.
func (d *drawer) paidTold() *programs.Program {
	b := d.findDebts()
	if b == nil || len(b.paid.header) < 3 || len(b.paid.header) > 4 {
		return nil
	}
	i := d.r.IntN(len(b.things.body()))
	x, key := b.things.texts(b.who)[i], b.things.texts(b.key)[i]
	s := slots("x", x, "v", number(20+5*d.r.IntN(20))+".00")
	var row []string
	for k := range b.paid.header {
		all := b.paid.texts(k)
		switch {
		case k == b.at:
			row = append(row, key)
		case k == b.amount:
			row = append(row, s["v"])
		case isDay(all[0]):
			s["time"] = d.cellLike(b.paid, k, all[0])
			row = append(row, s["time"])
		default:
			s["v2"] = pick(d.r, all)
			row = append(row, s["v2"])
		}
	}
	if x == "" || s["time"] == "" || len(b.paid.header) == 4 && (s["v2"] == "" || hasDigit.MatchString(s["v2"])) ||
		strings.Count(b.things.Text, x) != 1 {
		return nil
	}
	said, who := d.called(b.things, b.things.body()[i], x)
	s["x"], b.rates = said, nil
	b.gather(d, said)
	at := len(d.ops)
	g := b.paid.grid()
	if g == nil {
		return nil
	}
	d.addLine(b.paid, g.at[len(g.at)-1], g.like(len(g.rows)-1, row))
	d.ops[at].Why = cmp.Or(who, b.things.quote(b.things.body()[i])+"\n") + path.Base(b.paid.Path) +
		" has the columns " + strings.Join(b.paid.header, ", ") +
		", so the row is " + strings.Join(row, ", ") + ".\n" + d.ops[at].Why
	if s["v2"] == "" {
		return act(programs.Insert, "paid_told_plain", s)
	}
	return act(programs.Insert, "paid_told", s)
}

func isDay(text string) bool { return len(text) == 10 && contents()[0].form.MatchString(text) }
