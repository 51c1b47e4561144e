package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// rota is a table of days with who has a duty on each.
type rota struct {
	doc  *Doc
	day  int // columns
	who  int
	days []time.Time
	all  []string // who, by row
}

// dutyWords are words of columns that say who has a duty.
const dutyWords = "opens duty bar walks crew reader guard sells helper host cleans driver steward cook carer guide " +
	"watch turn bakes waters locks"

// Columns of tables that are no rota: ledgers have amounts, and lists of persons have phones or mails.
var (
	withDecimals = regexp.MustCompile(`^[^\pL\d]{0,3}\d+[.,]\d+(?: ?(?:\pL{1,4}|\p{Sc}))?$`)
	phoneOrMail  = regexp.MustCompile(`^\+?[\d ()/-]{6,}$|@`)
)

const noRotaWords = "amount amounts price prices cost costs paid fee fees phone telephone tel mobile mail email"

var someName = regexp.MustCompile(`^\p{Lu}\p{Ll}[\pL'-]*(?: \p{Lu}[\pL'-]*)?$`)

// rota reads a file as one; nil: it is none, or its days are of several years.
func (d *Doc) rota() *rota {
	if !d.hasBody() || len(d.body()) < 6 {
		return nil
	}
	columns := d.dayColumns(false)
	if len(columns) != 1 {
		return nil
	}
	o := &rota{doc: d, day: columns[0], who: -1}
	o.days, _ = daysOf(d.texts(o.day))
	for k, h := range d.header {
		if k != o.day && d.isOfLedger(k) {
			return nil
		}
		if k == o.day || o.who >= 0 || !isCalled(h, dutyWords) && !d.isPlainWho(o.day, k) {
			continue
		}
		names := slices.DeleteFunc(d.texts(k), func(v string) bool { return !someName.MatchString(v) })
		if 2*len(names) >= len(d.body()) && !distinct(names) {
			o.who, o.all = k, d.texts(k)
		}
	}
	if o.who < 0 || !sameYear(o.days) || !distinct(d.texts(o.day)) {
		return nil
	}
	return o
}

// isOfLedger reports whether a column has amounts, phones or mails.
func (d *Doc) isOfLedger(column int) bool {
	if isCalled(d.header[column], noRotaWords) {
		return true
	}
	all := d.filledTexts(column)
	if _, form := daysOf(all); form != "" {
		return false
	}
	return slices.ContainsFunc(all, func(v string) bool {
		return withDecimals.MatchString(v) || phoneOrMail.MatchString(v)
	})
}

// isPlainWho reports whether a column only says "who", in a table that else has but a day and one text.
func (d *Doc) isPlainWho(day, column int) bool {
	if !strings.EqualFold(d.header[column], "who") || len(d.header) != 3 {
		return false
	}
	return d.all(3-day-column, func(v string) bool { return startsWithLetter.MatchString(v) })
}

var startsWithLetter = regexp.MustCompile(`^\pL`)

// names are those who have duties, each once.
func (o *rota) names() []string {
	list := slices.DeleteFunc(slices.Clone(o.all), func(v string) bool { return !someName.MatchString(v) })
	slices.Sort(list)
	return slices.Compact(list)
}

// drawRota draws one; nil: the folder has none, or two that nobody could tell apart.
func (d *drawer) drawRota() *rota {
	if len(d.f.rotas) == 0 {
		return nil
	}
	o := pick(d.r, d.f.rotas)
	mixed := slices.ContainsFunc(d.f.rotas, func(other *rota) bool {
		return o != other && slices.ContainsFunc(other.all, func(v string) bool { return slices.Contains(o.all, v) })
	})
	elsewhere := slices.ContainsFunc(o.names(), func(x string) bool { // in another column of it
		return wordIn(x).Count(strings.Join(o.doc.rowsText(), "\n")) != o.count(x)
	})
	if mixed || elsewhere || len(o.names()) < 3 {
		return nil
	}
	return o
}

// rowsText are the lines of the rows of a table.
func (d *Doc) rowsText() (list []string) {
	for _, at := range d.body() {
		list = append(list, d.lines()[at])
	}
	return list
}

func (o *rota) count(x string) (n int) {
	for _, v := range o.all {
		if v == x {
			n++
		}
	}
	return n
}

// put gives rows of a rota other names, and says why.
func (o *rota) put(d *drawer, with map[int]string, why string) {
	body, was := o.doc.body(), o.doc.lines()
	now := slices.Clone(was)
	for i, y := range with {
		now[body[i]] = o.doc.withText(was[body[i]], o.who, y)
	}
	at := len(d.ops)
	d.rewrite(o.doc, was, now)
	d.ops[at].Why = why + "\n" + d.ops[at].Why
}

// look finds the rota.
func (o *rota) look(d *drawer, x string) {
	d.hunt(o.doc, x, "rota duty turns plan list", path.Base(o.doc.Path)+" may say whose turn it is.")
}

// rotaOut has somebody be unable in a month: what is told of each day is entered, and the other days stay.
func (d *drawer) rotaOut() *programs.Program {
	o := d.drawRota()
	if o == nil {
		return nil
	}
	x, day := pick(d.r, o.names()), pick(d.r, o.days)
	var rows []int
	for i, v := range o.all {
		if v == x && o.days[i].Month() == day.Month() {
			rows = append(rows, i)
		}
	}
	others := slices.DeleteFunc(o.names(), func(v string) bool { return v == x })
	if len(rows) == 0 || len(rows) > 3 || len(rows) == o.count(x) {
		return nil
	}
	with, said, told := map[int]string{}, []string(nil), []string(nil)
	work := []string{x + " has these days of " + day.Month().String() + ":"}
	for k, i := range rows {
		y := others[(d.r.IntN(len(others))+k)%len(others)]
		with[i] = y
		takes := " takes the "
		if k > 0 {
			takes = " the "
		}
		if k > 0 && y == with[rows[k-1]] {
			said = append(said, "the "+nth(o.days[i].Day()))
		} else {
			said = append(said, y+takes+nth(o.days[i].Day()))
		}
		told = append(told, y+" has "+o.days[i].Format("2 January"))
		work = append(work, o.doc.quote(o.doc.body()[i])+", now "+y)
	}
	o.look(d, x)
	o.put(d, with, strings.Join(append(work, "All other days of "+x+" stay."), "\n"))
	s := slots("x", x, "time", day.Month().String(), "given", programs.Enumerate(said))
	return act(programs.Several, "rota_out", s).Did(programs.Enumerate(told) + " now, the rest is as it was")
}

// rotaSwap has two persons change places on two days.
func (d *drawer) rotaSwap() *programs.Program {
	o := d.drawRota()
	if o == nil {
		return nil
	}
	i, j := d.r.IntN(len(o.all)), d.r.IntN(len(o.all))
	x, y := o.all[i], o.all[j]
	if x == y || !someName.MatchString(x) || !someName.MatchString(y) {
		return nil
	}
	a, b := o.days[i], o.days[j]
	o.look(d, x)
	o.put(d, map[int]string{i: y, j: x}, o.doc.quote(o.doc.body()[i])+"\n"+o.doc.quote(o.doc.body()[j])+
		"\nOnly the names change places, in the column "+o.doc.header[o.who]+".")
	return act(Organize, "rota_swap", slots("x", x, "y", y, "a", shortDay(d.r, a), "b", shortDay(d.r, b))).
		Did(x + " has " + b.Format("2 January") + " now and " + y + " " + a.Format("2 January"))
}

// rotaTake has somebody take the day of somebody else.
func (d *drawer) rotaTake() *programs.Program {
	o := d.drawRota()
	if o == nil {
		return nil
	}
	i := d.r.IntN(len(o.all))
	x, y := o.all[i], pick(d.r, o.names())
	if x == y || !someName.MatchString(x) || o.count(x) < 2 {
		return nil
	}
	o.look(d, x)
	o.put(d, map[int]string{i: y}, o.doc.quote(o.doc.body()[i])+"\nThere "+y+" takes the place of "+x+
		". The other days of "+x+" stay.")
	return act(programs.Set, "rota_take", slots("x", x, "y", y, "a", shortDay(d.r, o.days[i]))).
		Did(y + " has " + o.days[i].Format("2 January") + " in the place of " + x)
}
