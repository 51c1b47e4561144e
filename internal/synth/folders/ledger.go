package folders

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// ledger is a table of what came in and went out of several purses.
type ledger struct {
	doc                          *Doc
	ref, day, what, purse        int // columns; ref is -1 where rows have no number
	in, out                      int // the same where one column has amounts of both signs
	layout                       string
	purses                       []string
	rows                         [][]string
	amounts                      []int  // of each row, below nothing where it went out
	fromWhat, toWhat, from, into string // of a transfer that is there, and between which purses that was
}

const (
	purseWords = "account purse pot fund box kitty wallet jar till"
	inWords    = "in income received credit paid_in plus"
	outWords   = "out expense spent debit paid_out minus costs"
)

// ledger reads a file as one; nil where it is none.
func (d *Doc) ledger() *ledger {
	if !slices.ContainsFunc(d.header, func(h string) bool { return isCalled(h, purseWords) }) || len(d.body()) < 5 {
		return nil
	}
	l := &ledger{doc: d, ref: -1, day: -1, what: -1, purse: -1, in: -1, out: -1}
	for k, name := range d.header {
		all := d.texts(k)
		_, layout := lastDay(all)
		refs := nextRef(all, 1)
		switch {
		case l.day < 0 && layout != "":
			l.day, l.layout = k, layout
		case k == 0 && refs != "":
			l.ref = k
		case l.in < 0 && isCalled(name, inWords) && areAmounts(all):
			l.in = k
		case l.out < 0 && isCalled(name, outWords) && areAmounts(all):
			l.out = k
		case l.in < 0 && isCalled(name, "amount sum euros pounds") && areAmounts(all):
			l.in, l.out = k, k
		case l.purse < 0 && isCalled(name, purseWords):
			l.purse = k
		case l.what < 0:
			l.what = k
		default:
			return nil
		}
	}
	if l.day < 0 || l.what < 0 || l.purse < 0 || l.in < 0 || l.out < 0 || !l.read() {
		return nil
	}
	return l
}

func areAmounts(all []string) bool {
	return !slices.ContainsFunc(all, func(v string) bool { _, ok := amountIn(v); return !ok })
}

// read reads the rows: each is of one purse, and says what came in or what went out.
func (l *ledger) read() bool {
	for _, at := range l.doc.body() {
		row := cells(l.doc.lines()[at], l.doc.between())
		in, _ := amountIn(row[l.in]) // all are amounts
		out, _ := amountIn(row[l.out])
		if l.in == l.out {
			out = 0
		}
		if (in == 0) == (out == 0) || out < 0 || row[l.purse] == "" {
			return false
		}
		if n := len(l.rows); n > 0 {
			if was := l.rows[n-1]; row[l.day] == was[l.day] && row[l.purse] != was[l.purse] && l.from == "" {
				switch is := in - out; {
				case is == -l.amounts[n-1] && is > 0:
					l.from, l.into, l.fromWhat, l.toWhat = was[l.purse], row[l.purse], was[l.what], row[l.what]
				case is == -l.amounts[n-1]:
					l.from, l.into, l.fromWhat, l.toWhat = row[l.purse], was[l.purse], row[l.what], was[l.what]
				}
			}
		}
		l.rows, l.amounts = append(l.rows, row), append(l.amounts, in-out)
		if !slices.Contains(l.purses, row[l.purse]) {
			l.purses = append(l.purses, row[l.purse])
		}
	}
	both := l.in != l.out || slices.ContainsFunc(l.amounts, func(n int) bool { return n < 0 })
	return len(l.purses) > 1 && len(l.purses) < 4 && both
}

// holds is what is in a purse, and how that follows.
func (l *ledger) holds(purse string) (sum int, work string) {
	var list []int
	for i, row := range l.rows {
		if row[l.purse] == purse {
			list = append(list, l.amounts[i])
			sum += l.amounts[i]
		}
	}
	return sum, purse + ": " + signed(list)
}

// row are the cells of a new row, the n-th behind the last.
func (l *ledger) row(n int, day, what, purse string, amount int) []string {
	row := make([]string, len(l.doc.header))
	if l.ref >= 0 {
		row[l.ref] = nextRef(l.doc.texts(l.ref), n)
	}
	like := ""
	for i, was := range l.rows {
		if v := was[l.in] + was[l.out]; strings.Contains(v, ".") {
			like = v
		}
		if l.in != l.out && l.amounts[i] > 0 && amount > 0 { // as empty cells are written
			row[l.out] = was[l.out]
		}
		if l.in != l.out && l.amounts[i] < 0 && amount < 0 {
			row[l.in] = was[l.in]
		}
	}
	row[l.day], row[l.what], row[l.purse] = day, what, purse
	switch {
	case amount > 0:
		row[l.in] = asAmount(amount, like)
	case l.in == l.out:
		row[l.in] = asAmount(amount, like)
	default:
		row[l.out] = asAmount(-amount, like)
	}
	return row
}

// forms are expressions for the cells of a row whose words are free.
func (l *ledger) forms(row []string) (list []string) {
	for k, cell := range row {
		switch {
		case k == l.what:
			list = append(list, anyWords)
		case (k == l.in || k == l.out) && cell != "":
			list = append(list, anyDigits(cell))
		default:
			list = append(list, regexp.QuoteMeta(cell))
		}
	}
	return list
}

// transfer is what the two rows of a transfer say, as those that are there do.
func (l *ledger) transfer(x, y string) (from, to string) {
	if l.from == "" {
		return "transfer to " + y, "transfer from " + x
	}
	names := strings.NewReplacer(l.from, x, l.into, y)
	return names.Replace(l.fromWhat), names.Replace(l.toWhat)
}

// moveIfAbove has some of what a purse holds be moved to another one if it holds more than so much: two rows of one
// day. Else it stays, and who asks is told what it holds.
func (d *drawer) moveIfAbove() *programs.Program {
	doc := d.one(func(o *Doc) bool { return o.ledger() != nil })
	if doc == nil {
		return nil
	}
	l := doc.ledger()
	x, y := pick(d.r, l.purses), pick(d.r, l.purses)
	sum, work := l.holds(x)
	step := pick(d.r, []int{1000, 5000, 10000})
	least := sum/step*step - step*d.r.IntN(3)
	holds := d.r.IntN(5) > 1
	if !holds {
		least = (sum/step + 1 + d.r.IntN(3)) * step
	}
	amount := step * (1 + d.r.IntN(4))
	if x == y || sum <= 0 || least <= 0 || amount > least || sum == least || len(work) > mostWork {
		return nil
	}
	latest, _ := lastDay(doc.texts(l.day))
	day := latest.AddDate(0, 0, d.r.IntN(6))
	s := slots("x", x, "y", y, "v", short(least), "v2", short(amount), "time", d.tellDay(day, l.layout))
	d.hunt(doc, x, "balance money amount", path.Base(doc.Path)+" may have what came in and went out.")
	work = "Of " + path.Base(doc.Path) + ", what came in less what went out. " + work + "\nCondition: more than " +
		short(least) + ". It holds " + money(sum) + ": " + map[bool]string{true: "holds", false: "fails"}[holds]
	if !holds {
		p := question(programs.ActIf, "purse_move", s, "left", "The "+x+" holds "+money(sum)+
			", which is not more than "+short(least)+", so nothing was moved and all is unchanged.")
		p.Answer.Among = []string{money(sum)}
		return p.Work(work)
	}
	from, to := l.transfer(x, y)
	date := day.Format(l.layout)
	rows := [][]string{l.row(1, date, from, x, -amount), l.row(2, date, to, y, amount)}
	other := [][]string{l.row(1, date, to, y, amount), l.row(2, date, from, x, -amount)}
	last := doc.body()[len(doc.body())-1]
	at := len(d.ops)
	d.addLine(doc, last, doc.lineOf(rows[0])+"\n"+doc.lineOf(rows[1]))
	d.ops[at].Why = work + "\n" + path.Base(doc.Path) + " has the columns " + strings.Join(doc.header, ", ") +
		". Two rows behind the last, of the same day:\n" + doc.lineOf(rows[0]) + "\n" + doc.lineOf(rows[1])
	one, two := doc.rowForm(l.forms(rows[0]))+`\n`+doc.rowForm(l.forms(rows[1])),
		doc.rowForm(l.forms(other[0]))+`\n`+doc.rowForm(l.forms(other[1]))
	d.form(doc.Path, inserted(doc.lines(), last, last, "(?:"+one+"|"+two+")")...)
	return act(programs.ActIf, "purse_move", s).Did(fmt.Sprintf("the %s held %s, so %s is moved to the %s in two rows",
		x, money(sum), short(amount), y))
}
