package folders

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// loans is a table of things with who has each, since when and until when, the line that says for how long things are
// lent, and the list of those who wait for one.
type loans struct {
	doc                       *Doc
	thing, with, since, until int // columns
	in                        string
	form                      string // of days
	ends                      []time.Time
	rule                      *Doc
	ruleLine, days            int
	wait                      *Doc
	waiting                   []int // lines, in order
}

// withWords are words of columns that say who has a thing.
const withWords = "with who has borrower user holder lent to whose"

var (
	howLong  = regexp.MustCompile(`(?i)\b(one|two|three|four|five|six|\d{1,2}) (week|day)s?\b`)
	ofLoans  = regexp.MustCompile(`(?i)\b(?:lend|lent|loan|loans|borrow|borrowed|lending|out for)\b`)
	waitHead = regexp.MustCompile(`(?i)\b(?:wait|waiting|queue|wanted|next in line)\b`)
)

// loanTable reads a file as a table of what is lent; nil: it is none.
func (d *Doc) loanTable() *loans {
	if !d.hasBody() {
		return nil
	}
	days := d.dayColumns(true)
	with := slices.IndexFunc(d.header, func(h string) bool { return isCalled(h, withWords) })
	if len(days) != 2 || with < 1 || days[1] != days[0]+1 || slices.Contains(days, with) ||
		!distinct(d.texts(0)) || days[0] == 0 {
		return nil
	}
	l := &loans{doc: d, with: with, since: days[0], until: days[1]}
	begins, form := daysOf(d.texts(l.since))
	ends, other := daysOf(d.texts(l.until))
	in, out := map[string]bool{}, 0
	for i, who := range d.texts(with) {
		if begins[i].IsZero() != ends[i].IsZero() || ends[i].Before(begins[i]) {
			return nil
		}
		if begins[i].IsZero() {
			in[who], l.in = true, who
		} else {
			out++
		}
	}
	if form != other || len(in) != 1 || out == 0 || slices.Index(d.texts(with), l.in) < 0 {
		return nil
	}
	l.form, l.ends = form, ends
	return l
}

// findLoans finds the tables of what is lent, with their rule and those who wait.
func (f *Folder) findLoans() (list []*loans) {
	for _, d := range f.Docs {
		l := d.loanTable()
		if l == nil || !l.findRule(f) || !l.findWaiting(f) {
			continue
		}
		list = append(list, l)
	}
	return list
}

// findRule finds the one line that says how long things are lent: beside the table, or elsewhere.
func (l *loans) findRule(f *Folder) bool {
	n := 0
	for _, d := range f.Docs {
		for i, line := range d.lines() {
			m := howLong.FindStringSubmatch(line)
			if m == nil || strings.HasPrefix(strings.TrimSpace(line), "|") || len(d.Text) > mostText ||
				d != l.doc && (!ofLoans.MatchString(line) || len(d.header) > 0) {
				continue
			}
			n++
			l.rule, l.ruleLine, l.days = d, i, countOf(m[1])
			if strings.EqualFold(m[2], "week") {
				l.days *= 7
			}
		}
	}
	return n == 1
}

// countOf is a number up to six in words, or in digits.
func countOf(text string) int {
	if n := slices.Index(strings.Fields("zero one two three four five six"), strings.ToLower(text)); n > 0 {
		return n
	}
	n, _ := strconv.Atoi(text) // of digits
	return n
}

// findWaiting finds the entries about things of the table below a heading, or in a file, for those who wait.
func (l *loans) findWaiting(f *Folder) bool {
	for _, d := range f.Docs {
		for i, line := range d.lines() {
			if l.waits(line) != "" && (waitHead.MatchString(headAbove(d.lines(), i)) ||
				d != l.doc && waitHead.MatchString(d.title())) {
				if l.wait != nil && l.wait != d {
					return false
				}
				l.wait, l.waiting = d, append(l.waiting, i)
			}
		}
	}
	return l.wait != nil
}

// waits is the thing that an entry is about; "" where it is about none.
func (l *loans) waits(line string) string {
	text, is := strings.CutPrefix(line, "- ")
	for _, thing := range l.doc.texts(l.thing) {
		if is && thing != "" && (strings.HasPrefix(text, thing+": ") || strings.HasSuffix(text, ": "+thing) ||
			strings.HasSuffix(text, " ("+thing+")")) {
			return thing
		}
	}
	return ""
}

// entry is a new line for somebody who waits, in the form of the last one.
func (l *loans) entry(x, y string) string {
	line := l.wait.lines()[l.waiting[len(l.waiting)-1]]
	thing := l.waits(line)
	switch {
	case strings.HasPrefix(line, "- "+thing+": "):
		return "- " + x + ": " + y
	case strings.HasSuffix(line, " ("+thing+")"):
		return "- " + y + " (" + x + ")"
	}
	return "- " + y + ": " + x
}

// waitsFor is the first line about a thing; "" where nobody waits for it.
func (l *loans) waitsFor(x string) string {
	for _, i := range l.waiting {
		if line := l.wait.lines()[i]; l.waits(line) == x {
			return strings.TrimPrefix(line, "- ")
		}
	}
	return ""
}

// drawLoan draws a thing that is lent.
func (d *drawer) drawLoan() (l *loans, i int, x string) {
	if len(d.f.loans) != 1 {
		return nil, 0, ""
	}
	l = d.f.loans[0]
	i = d.r.IntN(len(l.ends))
	if x = l.doc.texts(l.thing)[i]; len(x) < 3 {
		return nil, 0, ""
	}
	return l, i, x
}

// look finds the table.
func (l *loans) look(d *drawer, x string) {
	d.hunt(l.doc, x, "lent loan lending list borrowed", path.Base(l.doc.Path)+" may say who has what.")
}

// put gives a row other cells behind the thing, and says why.
func (l *loans) put(d *drawer, i int, who, since, until, why string) {
	at, first := l.doc.body()[i], len(d.ops)
	line := l.doc.withTexts(l.doc.lines()[at], map[int]string{l.with: who, l.since: since, l.until: until})
	if was := l.doc.lines()[at]; d.can[Edit] && strings.Count(l.doc.Text, was) == 1 { // empty cells tell no place
		d.change(Op{Do: Edit, Path: l.doc.Path, Old: was, New: line, Why: "It becomes: " + line})
	} else {
		d.putLine(l.doc, at, &line)
	}
	d.ops[first].Why = why + "\n" + d.ops[first].Why
}

// withTexts is a line of a table with other texts in some columns, which may be empty before or then.
func (d *Doc) withTexts(line string, with map[int]string) string {
	mark := d.between()
	parts := strings.Split(line, mark)
	for k, text := range with {
		if mark == "|" && strings.HasPrefix(strings.TrimSpace(line), "|") {
			k++
		}
		if mark == "|" {
			text = " " + text + " "
		}
		parts[k] = text
	}
	return strings.Join(parts, mark)
}

// loanHome has a thing come back that is lent. Who waits for it is named, and it is lent to nobody yet.
func (d *drawer) loanHome() *programs.Program {
	l, i, x := d.drawLoan()
	if l == nil || l.ends[i].IsZero() {
		return nil
	}
	l.look(d, x)
	in := l.in
	if in == "" {
		in = "nothing"
	}
	l.put(d, i, l.in, "", "", l.doc.quote(l.doc.body()[i])+"\nOf what nobody has, the column "+l.doc.header[l.with]+
		" says "+in+", and both days are empty.")
	did := "the " + x + " is noted as back"
	if next := l.waitsFor(x); next != "" && l.wait == l.doc {
		did += ", and there is somebody who waits: " + next
	}
	return act(programs.Set, "loan_home", slots("x", x)).Did(did)
}

// loanWant lends a thing if it is in, for as long as things are lent; else the person waits for it.
func (d *drawer) loanWant() *programs.Program {
	l, i, x := d.drawLoan()
	if l == nil {
		return nil
	}
	who := l.doc.texts(l.with)[i]
	y := persons(d.r, nil, 1)[0]
	if others := l.doc.texts(l.with); d.r.IntN(3) == 0 {
		y = pick(d.r, others)
	}
	last := slices.MaxFunc(l.ends, time.Time.Compare)
	day := last.AddDate(0, 0, -d.r.IntN(20))
	if y == l.in || y == who || y == "" || l.waitsFor(x) != "" && l.ends[i].IsZero() ||
		strings.Contains(l.waitsFor(x), y) {
		return nil
	}
	s := slots("x", x, "y", y, "time", wholeDay(d.r, day))
	l.look(d, x)
	if !l.ends[i].IsZero() {
		if l.wait != l.doc {
			d.hunt(l.wait, "", "", "Who waits may stand in "+path.Base(l.wait.Path)+".")
		}
		first, behind := len(d.ops), l.waiting[len(l.waiting)-1]
		d.addLine(l.wait, behind, l.entry(x, y))
		d.ops[first].Why = l.doc.quote(l.doc.body()[i]) + "\nIt is not in, " + who + " has it: so " + y +
			" goes on the waiting list.\n" + d.ops[first].Why
		return act(programs.ActIf, "loan_want", s).Did("the " + x + " is with " + who + " until " +
			l.ends[i].Format("2 January 2006") + ", so " + y + " is on the waiting list")
	}
	if l.rule != l.doc {
		d.hunt(l.rule, "", "", "How long things are lent may stand in "+path.Base(l.rule.Path)+".")
	}
	back := day.AddDate(0, 0, l.days)
	l.put(d, i, y, day.Format(l.form), back.Format(l.form), fmt.Sprintf("%s\nIt is in, so %s gets it.\n%s\n"+
		"%s and %d days is %s.", l.doc.quote(l.doc.body()[i]), y, l.rule.quote(l.ruleLine), day.Format(l.form), l.days,
		back.Format(l.form)))
	return act(programs.ActIf, "loan_want", s).Did("the " + x + " is with " + y + " until " +
		back.Format("2 January 2006"))
}

// loanBoth has one thing come back, and lends another one if it is in.
func (d *drawer) loanBoth() *programs.Program {
	home := d.loanHome()
	if home == nil {
		return nil
	}
	want := d.loanWant()
	if _, ok := d.f.State().Apply(d.ops); want == nil || !ok || !d.can[Edit] || want.Slot("x") == home.Slot("x") {
		return nil
	}
	return home.Behind(want)
}
