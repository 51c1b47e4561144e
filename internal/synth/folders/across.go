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
	if b == nil || len(only) > 4 || !b.hasEntries() || len(b.heads()) > 1 || b.counts() != nil {
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
	for _, things := range d.docs((*Doc).hasBody) {
		for key, name := range things.header {
			if !distinct(things.texts(key)) {
				continue
			}
			who := slices.IndexFunc(things.header, func(h string) bool { return things.isOfPeople(things.inHeader(h)) })
			paid := d.one(func(o *Doc) bool {
				return o != things && o.hasBody() && o.inHeader(name) >= 0 && o.amounts() >= 0 &&
					!slices.ContainsFunc(o.texts(o.inHeader(name)), func(v string) bool {
						return !slices.Contains(things.texts(key), v)
					})
			})
			if who < 0 || paid == nil {
				continue
			}
			one := &debts{things: things, paid: paid, key: key, who: who, at: paid.inHeader(name),
				amount: paid.amounts()}
			one.findRates(d)
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		return nil
	}
	one := pick(d.r, list)
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
	var rows []string
	for i, key := range keys {
		if whose[i] != name {
			continue
		}
		line := name + " has " + programs.Words(b.things.header[b.key]) + " " + key
		if b.rates != nil {
			p := b.rates.pair(b.things.texts(b.kind)[i])
			costs += cents(p.Value)
			line += ", " + p.Key + ": " + p.Value
		}
		lines = append(lines, line)
		for k, of := range b.paid.texts(b.at) {
			if of == key {
				amount := b.paid.texts(b.amount)[k]
				paid += cents(amount)
				rows = append(rows, amount)
			}
		}
	}
	switch len(rows) {
	case 0:
		return costs, paid, append(lines, "paid: nothing")
	case 1:
		return costs, paid, append(lines, "paid: "+money(paid))
	}
	return costs, paid, append(lines, "paid: "+strings.Join(rows, " + ")+" = "+money(paid))
}

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
	b.gather(d, x)
	return question(programs.Total, "due_of", slots("x", x), "number", money(costs-paid)).
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
		work = append(work, strings.Join(lines, ", ")+": "+money(costs)+" - "+money(paid)+" = "+money(costs-paid))
		if costs < paid {
			return nil
		}
		if costs > paid {
			report = append(report, name+" = "+money(costs-paid))
		}
	}
	if len(report) == 0 || len(report) > 6 {
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
	var none, work []string
	for _, name := range b.names {
		_, paid, lines := b.of(name)
		if work = append(work, strings.Join(lines, ", ")); paid == 0 {
			none = append(none, name)
		}
	}
	if len(none) == 0 || len(none) > 6 {
		return nil
	}
	b.rates = nil // not needed
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
	b.rates = nil
	b.gather(d, x)
	at := len(d.ops)
	g := b.paid.grid()
	if g == nil {
		return nil
	}
	d.addLine(b.paid, g.at[len(g.at)-1], g.like(len(g.rows)-1, row))
	d.ops[at].Why = b.things.quote(b.things.body()[i]) + "\n" + path.Base(b.paid.Path) + " has the columns " +
		strings.Join(b.paid.header, ", ") + ", so the row is " + strings.Join(row, ", ") + ".\n" + d.ops[at].Why
	if s["v2"] == "" {
		return act(programs.Insert, "paid_told_plain", s)
	}
	return act(programs.Insert, "paid_told", s)
}

func isDay(text string) bool { return len(text) == 10 && contents()[0].form.MatchString(text) }

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
	if i == 0 || k == 0 || is == "" || old == "" || was == "" || v == "" || hasDigit.MatchString(v) || v == was || attr == attr2 ||
		distinct(b.doc.texts(k)) || a.doc.inHeader(b.doc.header[k]) >= 0 || b.doc.inHeader(a.doc.header[i]) >= 0 {
		return nil
	}
	s := slots("x", x, "attr", attr, "old", old, "attr2", attr2, "v", v)
	d.hunt(a.doc, x, attr, path.Base(a.doc.Path)+" may have the "+attr+".")
	line := a.doc.body()[a.row]
	if old != is {
		return question(programs.ActIf, "set_across", s, "left",
			"The "+attr+" is "+is+", so nothing was changed.").Work(a.doc.quote(line))
	}
	d.hunt(b.doc, "", "", "It is "+is+", so the "+attr2+" is to be set. "+path.Base(b.doc.Path)+" may have it.")
	now := b.doc.withText(b.doc.lines()[b.doc.body()[b.row]], k, v)
	d.putLine(b.doc, b.doc.body()[b.row], &now)
	return act(programs.ActIf, "set_across", s)
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
		case doc.isOfPeople(k) && !distinct(all):
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
			return o != doc && !slices.ContainsFunc(doc.texts(b.thing), func(t string) bool { _, ok := o.price(t); return !ok })
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
	var parts, sums []string
	for i, who := range b.doc.texts(b.who) {
		if who == name {
			n, _ := strconv.Atoi(b.doc.texts(b.n)[i]) // of digits
			total += n * b.each[i]
			parts = append(parts, fmt.Sprintf("%s %d x %s = %s", b.doc.texts(b.thing)[i], n, money(b.each[i]),
				money(n*b.each[i])))
			sums = append(sums, money(n*b.each[i]))
		}
	}
	line = name + ": " + strings.Join(parts, ", ")
	if len(sums) > 1 {
		line += ", " + strings.Join(sums, " + ") + " = " + money(total)
	}
	return total, line
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
	b.gather(d, x)
	return question(programs.Total, "bill_of", slots("x", x, "file", d.name(b.doc)), "number", money(total)).Work(line)
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
	s := slots("file", d.name(b.doc), "given", "NAME = 0.00")
	d.read(b.doc)
	d.hunt(b.prices, "", "", "What each costs may stand in "+path.Base(b.prices.Path)+".")
	return question(programs.Top, "bills", s, "lines", report...).Work(work...)
}

// soldMore enters on the list of what was sold a thing that is not on it yet, and takes it off the stock.
func (d *drawer) soldMore() *programs.Program {
	sold := d.one(func(o *Doc) bool {
		return len(o.counts()) > 1 && strings.Contains(o.stem(), "sold") && o.hasEntries()
	})
	stock := d.one(func(o *Doc) bool {
		return o.hasRows() && o.mark != "" && o.column("count", "stock", "quantity", "qty", "left") > 0
	})
	if sold == nil || stock == nil || sold == stock {
		return nil
	}
	at, i := stock.column("count", "stock", "quantity", "qty", "left"), d.r.IntN(len(stock.Table.Rows))
	row := stock.Table.Rows[i]
	x := stock.Table.NameOf(row)
	n := 2 + d.r.IntN(5)
	has, ok := row[at].(int64)
	if !ok || x == "" || sold.mentions(x) || int(has) < n || strings.Count(stock.Text, x) != 1 {
		return nil
	}
	last := sold.Items[len(sold.Items)-1]
	line, fits := sold.entry(last, fmt.Sprintf("%d x %s", n, x))
	now, same := stock.withCell(stock.lines()[stock.rows[i]], at, has, has-int64(n))
	if !fits || !same {
		return nil
	}
	d.hunt(stock, x, "stock", path.Base(stock.Path)+" may have the stock.")
	d.hunt(sold, "", "", "By its name, "+path.Base(sold.Path)+" has what was sold.")
	first := len(d.ops)
	d.addLine(sold, last.line, line)
	d.putLine(stock, stock.rows[i], &now)
	d.ops[first].Why = fmt.Sprintf("Two changes: a line in %s, in the form of its last one, and %d - %d = %d in %s.\n",
		path.Base(sold.Path), has, n, int(has)-n, path.Base(stock.Path)) + d.ops[first].Why
	return act(programs.Several, "sold_more", slots("n", number(n), "x", x))
}

// lends is a table of things with who has each, and a log of what went out and came back, by their codes.
type lends struct {
	things, log *Doc
	g           *grid
	key, holder int
	out, back   int // rows of the log to be followed
	code, verb  int // columns of the log
}

// findLends finds one; nil: the folder has none.
func (d *drawer) findLends() *lends {
	things := d.one(func(o *Doc) bool { return o.hasRows() && o.column("holder", "lent", "borrower", "user", "with") > 0 })
	log := d.one(func(o *Doc) bool { g := o.grid(); return g != nil && o != things && isDay(g.rows[0][0]) })
	if things == nil || log == nil {
		return nil
	}
	l := &lends{things: things, log: log, g: log.grid(), out: -1, back: -1, key: -1,
		holder: things.column("holder", "lent", "borrower", "user", "with")}
	for k := range things.Table.Columns {
		codes := map[string]bool{}
		for _, row := range things.Table.Rows {
			codes[programs.Show(row[k])] = true
		}
		at := slices.IndexFunc(l.g.rows[0], func(cell string) bool { return codes[cell] })
		if at > 0 && len(codes) == len(things.Table.Rows) && k != things.Table.Label {
			l.key, l.code = k, at
		}
	}
	for i, row := range l.g.rows {
		for k, cell := range row {
			switch strings.ToLower(cell) {
			case "out", "taken", "lent":
				l.out, l.verb = i, k
			case "back", "in", "returned":
				l.back = i
			}
		}
	}
	if l.key < 0 || l.code > 2 || l.code == l.verb || l.out < 0 || l.back < 0 || len(l.g.rows[l.out]) != 4 || !fullName.MatchString(l.g.rows[l.out][3]) ||
		len(l.g.rows[l.back]) < 3 {
		return nil
	}
	return l
}

// lent has somebody take a thing, or it comes back: a line in the log, in the form of its lines, and who has it.
func (d *drawer) lent() *programs.Program {
	l := d.findLends()
	if l == nil {
		return nil
	}
	i := d.r.IntN(len(l.things.Table.Rows))
	row := l.things.Table.Rows[i]
	x, code := l.things.Table.NameOf(row), programs.Show(row[l.key])
	day := d.dayAfter(l.g)
	s, pattern, follow := slots("x", x, "time", day), "lent_out", l.out
	who := pick(d.r, l.g.rows)
	y := who[len(who)-1]
	var holder any = y
	if row[l.holder] != nil {
		pattern, follow, y, holder = "lent_back", l.back, programs.Show(row[l.holder]), nil
	} else {
		s["y"] = y
	}
	if x == "" || day == "" || !fullName.MatchString(y) || strings.Count(l.things.Text, x) != 1 {
		return nil
	}
	list := slices.Clone(l.g.rows[follow])
	list[0], list[l.code] = day, code
	if len(list) == 4 {
		list[3] = y
	}
	line, now := l.g.like(follow, list), ""
	ok := false
	if now, ok = l.things.withCell(l.things.lines()[l.things.rows[i]], l.holder, row[l.holder], holder); !ok {
		return nil
	}
	d.hunt(l.things, x, "", path.Base(l.things.Path)+" may have it.")
	d.hunt(l.log, code, "", "Who had what is written up in "+path.Base(l.log.Path)+", by the code "+code+".")
	first := len(d.ops)
	d.addLine(l.log, l.log.lastLine(), line)
	d.putLine(l.things, l.things.rows[i], &now)
	d.ops[first].Why = x + " is " + code + ". Two changes: a line in " + path.Base(l.log.Path) + ", in the form of " +
		strings.Join(strings.Fields(l.log.lines()[l.g.at[follow]]), " ") + ", and who has it in " +
		path.Base(l.things.Path) + ".\n" + d.ops[first].Why
	return act(programs.Several, pattern, s)
}

// dayAfter is a day behind the last of a log.
func (d *drawer) dayAfter(g *grid) string {
	var days []string
	for _, row := range g.rows {
		if !isDay(row[0]) {
			return ""
		}
		days = append(days, row[0])
	}
	return laterDay(slices.Max(days), 1+d.r.IntN(5))
}
