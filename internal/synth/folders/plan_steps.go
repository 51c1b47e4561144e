package folders

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// steps is a table of what is done one after the other, with the first and the last day of each.
type steps struct {
	doc              *Doc
	step, begin, end int // columns
	form             string
	begins, ends     []time.Time
}

// leastSteps is how many rows a plan has, so that some can stay.
const leastSteps = 4

// stepWords are words of columns that say what is done.
const stepWords = "step task stage phase job part work"

// steps reads a file as a plan; nil: it is none.
func (d *Doc) steps() *steps {
	if !d.hasBody() || len(d.body()) < leastSteps {
		return nil
	}
	p := &steps{doc: d, step: slices.IndexFunc(d.header, func(h string) bool { return isCalled(h, stepWords) })}
	days := d.dayColumns(false)
	if p.step < 0 || len(days) != 2 || !distinct(d.texts(p.step)) {
		return nil
	}
	p.begin, p.end = days[0], days[1]
	p.begins, p.form = daysOf(d.texts(p.begin))
	ends, form := daysOf(d.texts(p.end))
	for i, day := range p.begins {
		if form != p.form || ends[i].Before(day) || i > 0 && day.Before(p.begins[i-1]) {
			return nil
		}
	}
	p.ends = ends
	return p
}

// delay is how much later something begins.
type delay struct {
	days int
	said string
}

func delays() []delay {
	return []delay{{7, "a week"}, {7, "one week"}, {14, "two weeks"}, {1, "a day"}, {2, "two days"}, {3, "three days"},
		{4, "4 days"}, {5, "five days"}, {10, "ten days"}, {21, "three weeks"}}
}

// later is a plan from whose i-th step on all is some days later.
type later struct {
	*steps
	i, days int
	now     []string // lines
	work    []string // how that follows
}

// delayed are the lines of a plan from whose i-th step on all is some days later, and how that follows.
func (p *steps) delayed(i, days int) later {
	l := later{p, i, days, p.doc.lines(), nil}
	names, body := p.doc.texts(p.step), p.doc.body()
	l.work = append(l.work, "These stay: "+strings.Join(names[:i], ", ")+".",
		fmt.Sprintf("From %s on each day is %d later:", names[i], days))
	for k := i; k < len(body); k++ {
		from, to := p.begins[k].AddDate(0, 0, days).Format(p.form), l.endOf(k).Format(p.form)
		line := p.doc.withText(l.now[body[k]], p.end, to)
		l.now[body[k]] = p.doc.withText(line, p.begin, from)
		l.work = append(l.work, fmt.Sprintf("%s: %s to %s becomes %s to %s", names[k], p.begins[k].Format(p.form),
			p.ends[k].Format(p.form), from, to))
	}
	return l
}

// endOf is the last day of a step that comes later.
func (l later) endOf(k int) time.Time { return l.ends[k].AddDate(0, 0, l.days) }

// last is the last day of all: that of a step before may be behind those that come later.
func (l later) last() time.Time {
	last := slices.MaxFunc(l.ends[:l.i], time.Time.Compare)
	for k := l.i; k < len(l.ends); k++ {
		if end := l.endOf(k); end.After(last) {
			last = end
		}
	}
	return last
}

// lastWork is how the last day of a plan that is later follows.
func (l later) lastWork() string {
	was, is := slices.MaxFunc(l.ends, time.Time.Compare), l.last()
	work, end := "The last day of the plan is "+was.Format(l.form)+". ", is.Format("2 January 2006")
	switch {
	case is.Equal(was):
		return work + "It stays " + end + "."
	case is.Equal(was.AddDate(0, 0, l.days)):
		return work + fmt.Sprintf("%d days later that is %s.", l.days, end)
	}
	behind := slices.MaxFunc(l.ends[l.i:], time.Time.Compare).Format(l.form)
	return work + fmt.Sprintf("What comes later ends on %s, and %d days later that is %s.", behind, l.days, end)
}

// drawLater draws a plan of the folder with a step from which on it is later; ok is false where it has none, or two
// plans have that step.
func (d *drawer) drawLater() (l later, n delay, ok bool) {
	if len(d.f.plans) == 0 {
		return later{}, delay{}, false
	}
	p, n := pick(d.r, d.f.plans), pick(d.r, delays())
	i := 1 + d.r.IntN(len(p.begins)-1)
	x := p.doc.texts(p.step)[i]
	again := slices.ContainsFunc(d.f.plans, func(o *steps) bool { return o != p && o.doc.mentions(x) })
	if len(x) < 3 || again || !p.begins[i].After(p.begins[i-1]) {
		return later{}, delay{}, false
	}
	return p.delayed(i, n.days), n, true
}

// enter writes a plan that is later.
func (l later) enter(d *drawer, work ...string) {
	at := len(d.ops)
	d.rewrite(l.doc, l.doc.lines(), l.now)
	d.ops[at].Why = strings.Join(append(append(work, l.work...), d.ops[at].Why), "\n")
}

// tell says what was changed.
func (l later) tell() string {
	return l.doc.texts(l.step)[l.i] + " now begins on " + l.begins[l.i].AddDate(0, 0, l.days).Format("2 January") +
		", and the last day is " + l.last().Format("2 January 2006")
}

// planLater has a step of a plan begin later, and with it all that comes after it. It is told how much later, or on
// which day it begins.
func (d *drawer) planLater() *programs.Program {
	l, n, ok := d.drawLater()
	if !ok {
		return nil
	}
	x := l.doc.texts(l.step)[l.i]
	d.hunt(l.doc, x, "plan schedule steps timetable", path.Base(l.doc.Path)+" may have the days of "+x+".")
	day := l.begins[l.i].AddDate(0, 0, n.days)
	if d.r.IntN(2) == 0 {
		l.enter(d, l.doc.quote(l.doc.body()[l.i]))
		return act(programs.Several, "plan_later", slots("x", x, "n", n.said)).Did(l.tell())
	}
	said := shortDay(d.r, day)
	if !sameYear(l.begins) || day.Year() != l.begins[0].Year() {
		said = wholeDay(d.r, day)
	}
	l.enter(d, l.doc.quote(l.doc.body()[l.i]), fmt.Sprintf("%s is %d days after %s.", day.Format(l.form), n.days,
		l.begins[l.i].Format(l.form)))
	return act(programs.Several, "plan_from", slots("x", x, "time", said)).Did(l.tell())
}

// dated is something that a file puts on a day.
type dated struct {
	doc  *Doc
	line int
	name string
	day  time.Time
}

// dates are what a file puts on a day: what it notes, and the rows of a table with one column of days.
func (doc *Doc) dates() (list []dated) {
	for _, p := range doc.Pairs {
		if days, form := daysOf([]string{p.Value}); form != "" {
			list = append(list, dated{doc, p.line, p.Key, days[0]})
		}
	}
	columns := doc.dayColumns(false)
	if !doc.hasBody() || len(columns) != 1 {
		return list
	}
	days, _ := daysOf(doc.texts(columns[0]))
	label := slices.IndexFunc(doc.header, func(h string) bool {
		return isCalled(h, "what event occasion name") && distinct(doc.texts(doc.inHeader(h)))
	})
	for i, at := range doc.body() {
		if label >= 0 {
			list = append(list, dated{doc, at, doc.texts(label)[i], days[i]})
		}
	}
	return list
}

// fixed are the things that one file alone puts on a day, with a name that people say. The plan may name them too.
func (d *drawer) fixed(plan *Doc) []dated {
	return slices.DeleteFunc(slices.Clone(d.f.dates), func(o dated) bool {
		return o.doc == plan || len(o.name) < 4 || hasDigit.MatchString(o.name) || len(o.name) > 40 ||
			len(d.docs(func(doc *Doc) bool { return doc != plan && doc != o.doc && doc.mentions(o.name) })) > 0
	})
}

// planIf has a step of a plan begin later, and all after it, if the last one then ends before a day of another file.
func (d *drawer) planIf() *programs.Program {
	l, n, ok := d.drawLater()
	if !ok {
		return nil
	}
	things := slices.DeleteFunc(d.fixed(l.doc), func(o dated) bool {
		return !o.day.After(slices.MaxFunc(l.ends, time.Time.Compare)) || o.day.Equal(l.last()) ||
			o.day.Sub(l.last()).Abs() > 60*24*time.Hour
	})
	if len(things) == 0 {
		return nil
	}
	to, x := pick(d.r, things), l.doc.texts(l.step)[l.i]
	y := to.name
	if strings.ToLower(y[:1]) == y[:1] && !strings.HasPrefix(y, "the ") {
		y = "the " + y
	}
	s := slots("x", x, "n", n.said, "y", y)
	d.hunt(l.doc, x, "plan schedule steps timetable", path.Base(l.doc.Path)+" may have the days of "+x+".")
	d.hunt(to.doc, to.name, "date calendar days", "When "+y+" is may stand in "+path.Base(to.doc.Path)+".")
	end := l.last().Format("2 January 2006")
	work := []string{l.doc.quote(l.doc.body()[l.i]), to.doc.quote(to.line), l.lastWork()}
	day := to.day.Format("2 January 2006")
	if !l.last().Before(to.day) {
		return question(programs.ActIf, "plan_if", s, "left", "It would end on "+end+", and "+y+" is on "+day+
			", so nothing was changed.").Work(append(work, end+" is not before "+day+": it stays.")...)
	}
	l.enter(d, append(work, end+" is before "+day+": it is changed.")...)
	return act(programs.ActIf, "plan_if", s).Did(l.tell() + ", before " + y + " on " + to.day.Format("2 January"))
}
