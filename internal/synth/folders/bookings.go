package folders

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// bookings is a table of what people booked, ordered or signed up for, each with a code, a state and whether it is
// paid, and a table of what came in by these codes. A plan may have a line for each.
type bookings struct {
	list                   *Doc
	code, who, state, flag int    // columns of list
	off                    string // the state of those that are off

	money           *Doc // nil: there is none
	by, amount, day int  // columns of money
	how, whose      int  // -1: it has none
	plan            *Doc // nil: there is none
	planned, turn   int  // columns of plan: who, and what is set where that is off
	none            string
}

var (
	codeForm = regexp.MustCompile(`^[A-Z]{0,4}\d*-?\d+$`)
	nameForm = regexp.MustCompile(`^\pL[\pL'. -]+$`)
	offState = regexp.MustCompile(`(?i)^(?:cancell?ed|called off|withdrawn|off|dropped|void)$`)
	amountOf = strings.Fields("amount sum paid euros money")
)

// all reports whether all cells of a column, at least one, meet a condition.
func (d *Doc) all(column int, is func(string) bool) bool {
	texts := d.texts(column)
	return len(texts) > 0 && !slices.ContainsFunc(texts, func(v string) bool { return !is(v) })
}

func isYesNo(v string) bool { return v == "yes" || v == "no" }

// paidWords are words of columns that say whether something is paid.
const paidWords = "paid prepaid payment payments deposit deposits fee fees dues received"

// readBookings reads a table as one of bookings; nil where it is none.
func readBookings(doc *Doc) *bookings {
	b := &bookings{list: doc, code: -1, who: -1, state: -1, flag: -1}
	if !doc.hasBody() {
		return nil
	}
	for k := range doc.header {
		all := doc.texts(k)
		off := slices.IndexFunc(all, offState.MatchString)
		switch {
		case b.code < 0 && distinct(all) && doc.all(k, codeForm.MatchString):
			b.code = k
		case b.flag < 0 && isCalled(doc.header[k], paidWords) && doc.all(k, isYesNo) &&
			slices.Contains(all, "no") && slices.Contains(all, "yes"):
			b.flag = k
		case b.state < 0 && off >= 0 && doc.all(k, nameForm.MatchString):
			b.state, b.off = k, all[off]
		case b.who < 0 && doc.all(k, nameForm.MatchString) && distinct(all):
			b.who = k
		}
	}
	if b.code < 0 || b.who < 0 || b.state < 0 || b.flag < 0 {
		return nil
	}
	return b
}

// findBookings are the tables of bookings of a folder, each with what belongs to it.
func (f *Folder) findBookings() (list []*bookings) {
	for _, doc := range f.Docs {
		b := readBookings(doc)
		if b == nil {
			continue
		}
		for _, o := range f.Docs {
			if o != doc && o.hasBody() {
				b.takeMoney(o)
				b.takePlan(o)
			}
		}
		list = append(list, b)
	}
	return list
}

// takeMoney takes a table as that of what came in, where it is one: it has codes of the list, amounts and days.
func (b *bookings) takeMoney(doc *Doc) {
	codes, whose := b.list.texts(b.code), b.list.texts(b.who)
	by := doc.inHeader(b.list.header[b.code])
	if by < 0 || !doc.all(by, func(v string) bool { return slices.Contains(codes, v) }) {
		return
	}
	m := *b
	m.money, m.by, m.amount, m.day, m.how, m.whose = doc, by, -1, -1, -1, -1
	for k, name := range doc.header {
		all, names := doc.texts(k), []string(nil)
		for _, code := range doc.texts(by) {
			names = append(names, whose[slices.Index(codes, code)])
		}
		_, form := lastDay(all)
		switch {
		case k == by:
		case m.amount < 0 && doc.all(k, plainNumber.MatchString) &&
			sharesNoun(strings.Fields(programs.Words(name)), amountOf):
			m.amount = k
		case m.day < 0 && form != "":
			m.day = k
		case m.whose < 0 && slices.Equal(all, names):
			m.whose = k
		case m.how < 0 && doc.all(k, nameForm.MatchString) && !distinct(all):
			m.how = k
		case len(doc.filledTexts(k)) == len(all): // nobody could tell what a new row has there
			return
		}
	}
	if m.amount >= 0 && m.day >= 0 {
		*b = m
	}
}

// takePlan takes a table as a plan, where all that is off has the same in a column that nothing else has.
func (b *bookings) takePlan(doc *Doc) {
	states, names := b.list.texts(b.state), b.list.texts(b.who)
	for k := range doc.header {
		whose := doc.texts(k)
		if !distinct(whose) || !doc.all(k, func(v string) bool { return slices.Contains(names, v) }) {
			continue
		}
		for turn := range doc.header {
			if turn == k || !doc.all(turn, nameForm.MatchString) {
				continue
			}
			said := map[bool][]string{}
			for i, v := range doc.texts(turn) {
				off := states[slices.Index(names, whose[i])] == b.off
				said[off] = append(said[off], v)
			}
			if slices.Sort(said[true]); len(slices.Compact(said[true])) == 1 &&
				!slices.Contains(said[false], said[true][0]) {
				b.plan, b.planned, b.turn, b.none = doc, k, turn, said[true][0]
				return
			}
		}
	}
}

// isAll reports whether no other table than those of the bookings has a name as a cell, so that nothing else hangs on
// it.
func (b *bookings) isAll(d *drawer, x string) bool {
	return !slices.ContainsFunc(d.f.Docs, func(o *Doc) bool {
		return o != b.list && o != b.money && o != b.plan && o.hasBody() && strings.Contains(o.Text, x)
	})
}

// entry is what somebody told of money that came in, and the row that it became.
type entry struct {
	b         *bookings
	x         string
	row       []string
	line      string
	at        time.Time
	form      string
	firstEdit int
}

// enterMoney has money of somebody come in: what is booked is paid, and the other table gets a row.
func (d *drawer) enterMoney() (*programs.Program, *entry) {
	if len(d.f.booked) == 0 {
		return nil, nil
	}
	b := pick(d.r, d.f.booked)
	if b.money == nil {
		return nil, nil
	}
	i := d.r.IntN(len(b.list.body()))
	x, code := b.list.texts(b.who)[i], b.list.texts(b.code)[i]
	if b.list.texts(b.flag)[i] != "no" || b.list.texts(b.state)[i] == b.off ||
		slices.Contains(b.money.texts(b.by), code) {
		return nil, nil
	}
	last, form := lastDay(b.money.texts(b.day))
	e := &entry{b: b, x: x, at: last.AddDate(0, 0, 1+d.r.IntN(6)), form: form}
	day, isDay := d.sayDay(e.at, form)
	v := pick(d.r, b.money.texts(b.amount))
	row := make([]string, len(b.money.header))
	row[b.by], row[b.amount], row[b.day] = code, v, e.at.Format(form)
	given := []string{saidAmount(v) + " on " + day, day + ": " + saidAmount(v), saidAmount(v) + ", " + day}
	if b.how >= 0 {
		row[b.how] = pick(d.r, b.money.texts(b.how))
		how := row[b.how]
		given = []string{saidAmount(v) + ", " + how + ", " + day, saidAmount(v) + " (" + how + ") on " + day,
			saidAmount(v) + ", " + day + ", " + how, day + ", " + saidAmount(v) + ", " + how}
	}
	if b.whose >= 0 {
		row[b.whose] = x
	}
	at, line := b.money.newRowLike(row)
	e.row, e.line = row, line
	flag := b.list.header[b.flag]
	s := slots("x", d.loud(x), "given", pick(d.r, given), "item", moneyNoun(flag))
	rule := d.findRule(ways(flag), []string{b.money.stem()})
	pattern := "money_in"
	if rule == nil {
		pattern, s["attr"] = "money_in_where", programs.Words(flag)
		s["file"], s["file2"] = d.name(b.list), d.name(b.money)
	}
	d.study(rule, b.list, b.money)
	e.firstEdit = len(d.ops)
	was := b.list.body()[i]
	now := b.list.setText(b.list.lines()[was], b.flag, "yes")
	d.putLine(b.list, was, &now)
	second := len(d.ops)
	d.addLine(b.money, at, line)
	d.because(second, path.Base(b.money.Path)+" has the columns "+strings.Join(b.money.header, ", ")+
		", so the row is "+shown(row)+".")
	d.because(e.firstEdit, strings.TrimSpace(x+" is "+code+". "+isDay))
	return act(programs.Several, pattern, s).Did(programs.Words(flag) + " is yes for " + x + " now, and the " +
		saidAmount(v) + " are entered in " + path.Base(b.money.Path)), e
}

// moneyNoun is what a column says that is paid: of deposit_paid the deposit.
func moneyNoun(column string) string {
	words := slices.DeleteFunc(strings.Fields(programs.Words(column)), func(w string) bool {
		return slices.Contains(strings.Fields("paid in received prepaid here is"), w)
	})
	if len(words) == 0 {
		return "money"
	}
	return strings.Join(words, " ")
}

func (d *drawer) moneyIn() *programs.Program {
	p, _ := d.enterMoney()
	return p
}

// moneyThenOtherwise has money come in, and then says that something of it was otherwise.
func (d *drawer) moneyThenOtherwise() *programs.Program {
	p, e := d.enterMoney()
	if p == nil {
		return nil
	}
	b, row := e.b, slices.Clone(e.row)
	column, old, v := b.amount, saidAmount(row[b.amount]), ""
	switch n := d.r.IntN(4); {
	case n == 0 && b.how >= 0:
		if column, old, v = b.how, row[b.how], pick(d.r, b.money.texts(b.how)); v == old {
			return nil
		}
		row[column] = v
	case n == 1:
		at := e.at.AddDate(0, 0, -1)
		column, old, v = b.day, e.row[b.day], at.Format(e.form)
		row[column] = v
	default:
		units, _ := strconv.Atoi(strings.Split(row[column], ".")[0]) // of digits
		v = number(max(1, units+pick(d.r, []int{-30, -20, -10, -5, 5, 10, 20, 30})))
		row[column] = digitsLike(units, row[column])
		n, _ := strconv.Atoi(v)
		row[column] = digitsLike(n, e.row[column])
	}
	doc := d.asLeft(b.money)
	at := slices.Index(doc.lines(), e.line)
	if at < 0 || v == old {
		return nil
	}
	_, line := doc.newRowLike(row)
	first := len(d.ops)
	d.putLine(doc, at, &line)
	d.because(first, "Of the row that was just entered, the "+programs.Words(doc.header[column])+" is "+v+
		". All else holds.")
	then := act(programs.Set, "told_otherwise", slots("old", old, "v", v)).
		Did("it says " + v + " now, not " + old)
	return p.Before(then, len(d.ops)-first)
}

// off is what was done where something is off: the lines as they were.
type off struct {
	b         *bookings
	x         string
	row, line int // in the list, in the plan; -1: it has none
}

// callOff has somebody cancel: the row stays, with the state of those that are off, and so does the line of the plan.
func (d *drawer) callOff() (*programs.Program, *off) {
	if len(d.f.booked) == 0 {
		return nil, nil
	}
	b := pick(d.r, d.f.booked)
	i := d.r.IntN(len(b.list.body()))
	o := &off{b: b, x: b.list.texts(b.who)[i], row: b.list.body()[i], line: -1}
	if b.list.texts(b.state)[i] == b.off || !b.isAll(d, o.x) || strings.Count(b.list.Text, o.x) != 1 {
		return nil, nil
	}
	docs := []*Doc{b.list}
	if b.plan != nil {
		if at := slices.Index(b.plan.texts(b.planned), o.x); at >= 0 {
			o.line = b.plan.body()[at]
			docs = append(docs, b.plan)
		}
	}
	s, pattern := slots("x", d.loud(o.x)), "call_off"
	words := [][]string{{b.off}}
	if o.line >= 0 {
		words = append(words, []string{b.plan.stem()})
	}
	rule := d.findRule(words...)
	if rule == nil {
		s["file"], pattern = d.name(b.list), "call_off_where"
		if o.line >= 0 {
			s["file2"], pattern = d.name(b.plan), "call_off_both"
		}
	}
	d.study(rule, docs...)
	first := len(d.ops)
	did := "the " + programs.Words(b.list.header[b.state]) + " of " + o.x + " is " + b.off + " now, the line stays"
	d.setIn(b.list, o.row, b.state, b.off)
	d.because(first, "Who is off has "+b.off+" there and stays in the list.")
	if o.line >= 0 {
		second := len(d.ops)
		d.setIn(b.plan, o.line, b.turn, b.none)
		d.because(second, "Where that is off, "+path.Base(b.plan.Path)+" has "+b.none+".")
		did += ", and " + path.Base(b.plan.Path) + " says " + b.none
	}
	return act(programs.Several, pattern, s).Did(did), o
}

// setIn gives a cell of a table another text.
func (d *drawer) setIn(doc *Doc, line, column int, text string) {
	now := doc.setText(doc.lines()[line], column, text)
	d.putLine(doc, line, &now)
}

func (d *drawer) calledOff() *programs.Program {
	p, _ := d.callOff()
	return p
}

// callOffOther has somebody cancel, and then says that it was somebody else.
func (d *drawer) callOffOther() *programs.Program {
	p, o := d.callOff()
	if p == nil {
		return nil
	}
	b := o.b
	i := d.r.IntN(len(b.list.body()))
	y := b.list.texts(b.who)[i]
	if y == o.x || b.list.texts(b.state)[i] == b.off || !b.isAll(d, y) || strings.Count(b.list.Text, y) != 1 {
		return nil
	}
	line := -1
	if b.plan != nil {
		if at := slices.Index(b.plan.texts(b.planned), y); at >= 0 {
			line = b.plan.body()[at]
		}
	}
	if (line < 0) != (o.line < 0) {
		return nil
	}
	first := len(d.ops)
	list := d.asLeft(b.list)
	was, now := list.lines(), list.lines()
	now[o.row] = b.list.lines()[o.row]
	now[b.list.body()[i]] = b.list.setText(now[b.list.body()[i]], b.state, b.off)
	d.rewrite(list, was, now)
	d.because(first, "What was set for "+o.x+" becomes again what it was, and "+y+" is off.")
	if line >= 0 {
		plan := d.asLeft(b.plan)
		was, now := plan.lines(), plan.lines()
		now[o.line] = b.plan.lines()[o.line]
		now[line] = b.plan.setText(now[line], b.turn, b.none)
		d.rewrite(plan, was, now)
	}
	then := act(programs.Set, "told_other", slots("x", p.Slot("x"), "y", y)).
		Did(o.x + " is as before, and the " + programs.Words(b.list.header[b.state]) + " of " + y + " is " + b.off)
	return p.Before(then, len(d.ops)-first)
}
