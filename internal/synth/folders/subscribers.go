package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// subscribers is a table of persons with what each has to pay and the day on which it was paid, which is empty where it
// was not, or says that nothing is due.
type subscribers struct {
	doc                   *Doc
	who, mail, due, paid  int
	form                  string   // of days
	names, mails, is, fee []string // of each row
}

var (
	exempt    = regexp.MustCompile(`(?i)^(?:n/?a|free|exempt|waived|none|-|–)$`)
	dayOfYear = regexp.MustCompile(`^\d{1,2} [A-Z][a-z]{2,8}$`)
)

// readSubscribers reads a table as one of subscribers; nil where it is none.
func readSubscribers(doc *Doc) *subscribers {
	s := &subscribers{doc: doc, who: -1, mail: -1, due: -1, paid: -1}
	if !doc.hasBody() {
		return nil
	}
	for k, name := range doc.header {
		words, all := strings.Fields(programs.Words(name)), doc.texts(k)
		days, form := 0, ""
		for _, v := range all {
			if _, f := lastDay([]string{v}); f != "" {
				form, days = f, days+1
			}
		}
		switch {
		case s.who < 0 && doc.isOfPeople(k) && distinct(all):
			s.who = k
		case s.mail < 0 && doc.all(k, func(v string) bool { return strings.Count(v, "@") == 1 }):
			s.mail = k
		case s.due < 0 && sharesNoun(words, strings.Fields("fee due sub subscription amount rate")) &&
			doc.all(k, plainNumber.MatchString):
			s.due = k
		case s.paid < 0 && slices.Contains(words, "paid") && days > 0 && slices.Contains(all, "") &&
			doc.all(k, func(v string) bool {
				_, f := lastDay([]string{v})
				return v == "" || f != "" || exempt.MatchString(v) || dayOfYear.MatchString(v)
			}):
			s.paid, s.form = k, form
		}
	}
	if s.who < 0 || s.mail < 0 || s.due < 0 || s.paid < 0 {
		return nil
	}
	s.names, s.mails, s.is, s.fee = doc.texts(s.who), doc.texts(s.mail), doc.texts(s.paid), doc.texts(s.due)
	return s
}

// findSubscribers are the tables of subscribers of a folder.
func (f *Folder) findSubscribers() (list []*subscribers) {
	for _, doc := range f.Docs {
		if s := readSubscribers(doc); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// owing are the rows of those who have not paid what is due.
func (s *subscribers) owing() (rows []int) {
	for i, v := range s.is {
		if v == "" {
			rows = append(rows, i)
		}
	}
	return rows
}

// anySubscribers draws a table of them; nil: the folder has none.
func (d *drawer) anySubscribers() *subscribers {
	if len(d.f.subscribers) == 0 {
		return nil
	}
	return pick(d.r, d.f.subscribers)
}

// whoOwes asks who has not paid, with their mail, and what that comes to.
func (d *drawer) whoOwes() *programs.Program {
	s := d.anySubscribers()
	if s == nil || len(s.owing()) > 6 || len(s.names) > 14 {
		return nil
	}
	var report, told, work []string
	var due []int
	column := s.doc.header[s.paid]
	for i, name := range s.names {
		switch v := s.is[i]; {
		case v == "":
			work = append(work, name+": "+column+" is empty, "+s.fee[i]+" are due")
			report, told = append(report, name+": "+s.mails[i]), append(told, name, s.mails[i])
			due = append(due, cents(s.fee[i]))
		case exempt.MatchString(v):
			work = append(work, name+": "+v+" - owes nothing")
		default:
			work = append(work, name+": "+v+" - has paid")
		}
	}
	total := 0
	for _, n := range due {
		total += n
	}
	work = append(work, inSteps(due, short))
	slots := slots("file", d.name(s.doc), "attr", programs.Words(column))
	d.read(s.doc)
	if d.r.IntN(2) == 0 {
		return question(programs.List, "owing_told", slots, "told", append(told, short(total))...).Work(work...)
	}
	report = append(report, "Total: "+short(total))
	return question(programs.List, "owing_lines", slots, "each", report...).Work(work...)
}

// dayOfPaying is a day behind the last one on which somebody paid.
func (s *subscribers) dayOfPaying(d *drawer) time.Time {
	last, _ := lastDay(slices.DeleteFunc(slices.Clone(s.is), func(v string) bool {
		_, err := time.Parse(s.form, v)
		return err != nil
	}))
	return last.AddDate(0, 0, 1+d.r.IntN(9))
}

// enterPaid has the i-th have paid on a day.
func (s *subscribers) enterPaid(d *drawer, i int, at time.Time, why ...string) {
	n := len(d.ops)
	d.setIn(s.doc, s.doc.body()[i], s.paid, at.Format(s.form))
	d.because(n, why...)
}

// paidOn enters the day on which somebody paid.
func (d *drawer) paidOn() *programs.Program {
	s := d.anySubscribers()
	if s == nil {
		return nil
	}
	i := pick(d.r, s.owing())
	x, at := s.names[i], s.dayOfPaying(d)
	day, why := d.sayDay(at, s.form)
	said, who := d.called(s.doc, s.doc.body()[i], x)
	slots, pattern := slots("x", said, "time", day, "attr", programs.Words(s.doc.header[s.paid])), "paid_on"
	if d.tells(s.doc, x) && d.r.IntN(3) > 0 {
		d.hunt(s.doc, said, slots["attr"], path.Base(s.doc.Path)+" may have it.")
	} else {
		slots["file"], pattern = d.name(s.doc), "paid_on_in"
		d.read(s.doc)
	}
	s.enterPaid(d, i, at, strings.TrimSpace(who), why)
	return act(programs.Set, pattern, slots).Did("it says that " + x + " has paid on " + at.Format(s.form))
}

// namesakes are the rows of two who owe and have the same first name; false where nobody has.
func (s *subscribers) namesakes() (first string, rows []int) {
	for _, i := range s.owing() {
		first, rows = strings.Fields(s.names[i])[0], nil
		for k, name := range s.names {
			if strings.Fields(name)[0] == first {
				rows = append(rows, k)
			}
		}
		if len(rows) == 2 && s.is[rows[0]] == "" && s.is[rows[1]] == "" {
			return first, rows
		}
	}
	return "", nil
}

// askWhoPaid says that somebody has paid by a first name of two who owe: one asks which of them it was, and when.
func (d *drawer) askWhoPaid() (*programs.Program, *subscribers, []int) {
	s := d.anySubscribers()
	if s == nil {
		return nil, nil, nil
	}
	first, rows := s.namesakes()
	if len(rows) == 0 || len(d.docs(func(o *Doc) bool { return o != s.doc && o.mentions(first) })) > 0 {
		return nil, nil, nil
	}
	all := []string{s.names[rows[0]], s.names[rows[1]]}
	slots := slots("x", d.loud(first), "attr", programs.Words(s.doc.header[s.paid]), "file", d.name(s.doc))
	d.read(s.doc)
	p := asksBack("paid_which", slots, "There are two who have not paid yet: "+all[0]+" and "+all[1]+
		". Which one do you mean, and on which day was it?", anyOrder(all))
	return p.Work(s.doc.quote(s.doc.body()[rows[0]]), s.doc.quote(s.doc.body()[rows[1]]),
		"Both are called "+first+", neither has paid, and nobody said which one, or when."), s, rows
}

func (d *drawer) whoPaid() *programs.Program {
	p, _, _ := d.askWhoPaid()
	return p
}

// whoPaidThenWhich is the same with the answer to that question, by which it is then done.
func (d *drawer) whoPaidThenWhich() *programs.Program {
	p, s, rows := d.askWhoPaid()
	if p == nil {
		return nil
	}
	i, at := pick(d.r, rows), s.dayOfPaying(d)
	day, why := d.sayDay(at, s.form)
	x := s.names[i]
	if last := strings.TrimPrefix(x, strings.Fields(x)[0]+" "); d.r.IntN(3) > 0 &&
		strings.Count(s.doc.Text, last) == strings.Count(s.doc.Text, x) {
		x = last
	}
	begin := len(d.ops)
	s.enterPaid(d, i, at, why)
	then := act(programs.Set, "this_one", slots("x", x, "time", day)).
		Did("it says that " + s.names[i] + " has paid on " + at.Format(s.form))
	return p.Before(then, len(d.ops)-begin)
}
