package folders

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// dealings are a table of what was had from whom, what each costs and how it stands. What is still to be paid has a
// word of its own, and so has what is paid.
type dealings struct {
	doc                   *Doc
	day, who, cost, state int // columns
	days                  []time.Time
	open, paid            string
}

const (
	costWords  = "cost price amount fee sum charge hire rent"
	openStates = "booked ordered given done open due unpaid confirmed delivered"
	paidStates = "paid settled"
)

// dealings reads a file as such; nil where it is none.
func (d *Doc) dealings() *dealings {
	if !slices.ContainsFunc(d.header, func(h string) bool { return isCalled(h, stateWords) }) || len(d.body()) < 6 {
		return nil
	}
	o := &dealings{doc: d, day: -1, who: -1, cost: -1, state: -1}
	for k, name := range d.header {
		all := d.texts(k)
		_, layout := lastDay(all)
		switch {
		case o.day < 0 && layout != "":
			o.day = k
			for _, text := range all {
				at, _ := time.Parse(layout, text) // all have that form
				o.days = append(o.days, at)
			}
		case o.cost < 0 && isCalled(name, costWords) && areAmounts(all) && !slices.Contains(all, ""):
			o.cost = k
		case o.state < 0 && isCalled(name, stateWords):
			for _, v := range all {
				if slices.Contains(strings.Fields(openStates), v) {
					o.open = v
				}
				if slices.Contains(strings.Fields(paidStates), v) {
					o.paid = v
				}
			}
			o.state = k
		case o.who < 0 && !distinct(all) && !slices.Contains(all, "") && !hasDigit.MatchString(all[0]):
			o.who = k
		}
	}
	if o.day < 0 || o.who < 0 || o.cost < 0 || o.open == "" || o.paid == "" {
		return nil
	}
	return o
}

// book is a table with a line for each payment: its day, what it was for, and how much.
type book struct {
	doc                    *Doc
	ref, day, what, amount int // columns; ref is -1 where rows have no number
	layout                 string
}

func (d *Doc) book() *book {
	if !d.hasBody() || !isCalled(programs.Words(d.stem()), "account cash book ledger expense spending cost payment "+
		"outgoing") || d.dealings() != nil {
		return nil
	}
	b := &book{doc: d, ref: -1, day: -1, what: -1, amount: -1}
	for k, name := range d.header {
		all := d.texts(k)
		_, layout := lastDay(all)
		switch {
		case k == 0 && nextRef(all, 1) != "" && layout == "":
			b.ref = k
		case b.day < 0 && layout != "":
			b.day, b.layout = k, layout
		case b.amount < 0 && isCalled(name, costWords+" out paid spent") && areAmounts(all) &&
			!slices.Contains(all, ""):
			b.amount = k
		case b.what < 0 && !hasDigit.MatchString(all[0]):
			b.what = k
		default:
			return nil
		}
	}
	if b.day < 0 || b.what < 0 || b.amount < 0 {
		return nil
	}
	return b
}

// enter puts a row behind the last of a book.
func (b *book) enter(d *drawer, day time.Time, who, what string, amount int) (line string) {
	row := make([]string, len(b.doc.header))
	if b.ref >= 0 {
		row[b.ref] = nextRef(b.doc.texts(b.ref), 1)
	}
	row[b.day], row[b.what] = day.Format(b.layout), what
	row[b.amount] = asAmount(amount, b.doc.texts(b.amount)[0])
	var forms []string
	for k, cell := range row {
		switch k {
		case b.what:
			forms = append(forms, `[^,|\t\n]*(?i:`+regexp.QuoteMeta(who)+`)[^,|\t\n]*`)
		case b.amount:
			forms = append(forms, anyDigits(cell))
		default:
			forms = append(forms, regexp.QuoteMeta(cell))
		}
	}
	body := b.doc.body()
	d.addLine(b.doc, body[len(body)-1], b.doc.lineOf(row))
	d.form(b.doc.Path, inserted(b.doc.lines(), body[len(body)-1], body[len(body)-1], b.doc.rowForm(forms))...)
	return b.doc.lineOf(row)
}

// putOnList puts an entry on a list of things to do, where more may be said in its line.
func (d *drawer) putOnList(doc *Doc, text string) bool {
	last := doc.Items[len(doc.Items)-1]
	line, ok := doc.entry(last, text)
	if !ok {
		return false
	}
	d.addLine(doc, last.line, line)
	mark := strings.TrimSuffix(line, text)
	d.form(doc.Path, inserted(doc.lines(), max(0, doc.Items[0].line-1), last.line, regexp.QuoteMeta(mark)+`(?i:`+
		regexp.QuoteMeta(text)+`)[^\n]*`)...)
	return true
}

// billed is what a list has from somebody in one month or two.
type billed struct {
	from          string
	begin, end    time.Time // days in the first and the last month
	rows, amounts []int     // of what is still to be paid
	others        int       // rows of these months that do not count
	work          []string
}

// billed draws what a bill is of; nil where too few or too many rows of the list count.
func (d *drawer) billed(o *dealings) *billed {
	doc := o.doc
	who, cost, state := doc.texts(o.who), doc.texts(o.cost), doc.texts(o.state)
	b := &billed{from: pick(d.r, who), begin: pick(d.r, o.days)}
	b.end = b.begin.AddDate(0, d.r.IntN(2), 0)
	for i, at := range o.days {
		if at.Year() != b.begin.Year() || at.Month() < b.begin.Month() || at.Month() > b.end.Month() {
			continue
		}
		if who[i] != b.from {
			b.others++
			continue
		}
		line := doc.quote(doc.body()[i])
		if state[i] != o.open {
			b.others++
			b.work = append(b.work, line+" - "+state[i]+", does not count")
			continue
		}
		amount, _ := amountIn(cost[i]) // all are amounts
		b.rows, b.amounts, b.work = append(b.rows, i), append(b.amounts, amount), append(b.work, line+" - counts")
	}
	if len(b.rows) < 2 || len(b.rows) > 6 || b.others == 0 || b.end.Year() != b.begin.Year() ||
		len(strings.Join(b.work, "")) > mostWork {
		return nil
	}
	return b
}

// sum is what all that counts comes to.
func (b *billed) sum() (sum int) {
	for _, n := range b.amounts {
		sum += n
	}
	return sum
}

// months are the names of the months.
func (b *billed) months() string {
	if b.end.Month() == b.begin.Month() {
		return b.begin.Month().String()
	}
	return b.begin.Month().String() + " and " + b.end.Month().String()
}

// checkBill has a bill compared with what a list says of some months: if it agrees, all of that is marked as paid and
// entered in a book. If it does not, something is to be done, or only said.
func (d *drawer) checkBill() *programs.Program {
	doc := d.one(func(o *Doc) bool { return o.dealings() != nil })
	in := d.one(func(o *Doc) bool { return o.book() != nil })
	if doc == nil || in == nil || doc == in {
		return nil
	}
	o, b := doc.dealings(), in.book()
	bill := d.billed(o)
	if bill == nil {
		return nil
	}
	x, sum := bill.from, bill.sum()
	agrees := d.r.IntN(2) == 0
	v := sum
	if !agrees {
		v += pick(d.r, bill.amounts)
	}
	months := bill.months()
	ends := time.Date(bill.end.Year(), bill.end.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(b.layout)
	last, _ := lastDay(append(in.texts(b.day), ends))
	day := last.AddDate(0, 0, 1+d.r.IntN(8))
	s := slots("x", x, "ref", months, "v", short(v), "time", d.tellDay(day, b.layout), "file2", d.name(in))
	todo := d.one(func(o *Doc) bool {
		return o != doc && o != in && o.hasEntries() && o.Items[0].Box != 0 && len(o.heads()) < 2 &&
			isCalled(programs.Words(o.stem()), "do todo action job errand chore task")
	})
	pattern := "bill_or_say"
	if todo != nil && d.r.IntN(3) > 0 {
		pattern = "bill_or_do"
		s["file"], s["item"] = d.name(todo), pick(d.r, split("ring * about the bill|ask * about the bill|"+
			"query the bill of *|write to * about the bill"))
		s["item"] = strings.ReplaceAll(s["item"], "*", x)
	}
	d.hunt(doc, x, "bookings", path.Base(doc.Path)+" may have what we had from "+x+".")
	work := append(bill.work, signed(bill.amounts), "Condition: that is "+short(v)+". It is "+short(sum)+": "+
		map[bool]string{true: "holds", false: "fails"}[agrees])
	why := strings.Join(work, "\n")
	switch {
	case agrees:
		d.read(in)
		was, at := doc.lines(), len(d.ops)
		now := slices.Clone(was)
		for _, i := range bill.rows {
			now[doc.body()[i]] = doc.withText(was[doc.body()[i]], o.state, o.paid)
		}
		d.rewrite(doc, was, now)
		line := b.enter(d, day, x, x+" "+months, sum)
		d.ops[at].Why = why + "\nSo all of them become " + o.paid + ", and " + path.Base(in.Path) + " gets the row " +
			line + "\n" + d.ops[at].Why
		return act(programs.ActIf, pattern, s).Did(fmt.Sprintf("the bill agrees with ours, so %d rows are marked as "+
			"%s and %s is entered", len(bill.rows), o.paid, short(sum)))
	case pattern == "bill_or_do":
		d.read(todo)
		at := len(d.ops)
		if !d.putOnList(todo, s["item"]) {
			return nil
		}
		d.ops[at].Why = why + "\nSo nothing is marked. " + path.Base(todo.Path) + " gets an entry.\n" + d.ops[at].Why
		return act(programs.ActIf, pattern, s).Did(fmt.Sprintf("the bill does not agree, ours come to %s and not %s, "+
			"so nothing is marked and it is on the list", short(sum), short(v)))
	}
	p := question(programs.ActIf, pattern, s, "left", "The bill does not agree: ours come to "+short(sum)+", not "+
		short(v)+". So nothing was changed.").Work(why)
	p.Answer.Among = []string{short(sum)}
	return p
}
