package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// chores are a list of what is to be done, which shows what is done by a section or by ticks, a log by day of what was
// done, and mostly a table of what it cost.
type chores struct {
	list, log, costs *Doc   // costs is nil where there are none
	done             []Item // of list
	moves            bool   // what is done stands in a section of its own

	day, what, amount, to, payer int // columns of costs; -1: it has none
}

const dayText = `\d{4}-\d{2}-\d{2}|\d{2}\.\d{2}\.\d{4}|\d{1,2} [A-Z][a-z]{2,8} \d{4}`

var (
	doneHead = regexp.MustCompile(`(?i)^(?:done|finished|completed|is done|all done)$`)
	dayFront = regexp.MustCompile(`^(` + dayText + `)([:,]? +(?:- )?)(\S.*)$`)
	dayBack  = regexp.MustCompile(`^(\S.*?)(,? \(?(?:done |on )?)(` + dayText + `)(\)?)$`)
	logLine  = regexp.MustCompile(`^((?:[-*] )?)(` + dayText + `)([:,]? +(?:- )?)(\pL.*)$`)
	toBuy    = regexp.MustCompile(`(?i)shop|buy|pack|wish|order|errand|party|guest|weekend|camping`)
	inside   = regexp.MustCompile(` \([^)]*\)$`)
)

// isLog reports whether each line of a text that says something, but headings, begins with a day.
func (d *Doc) isLog() bool { return len(d.logged()) > 2 }

// logged are the lines of a log, by their numbers; nil where it is none.
func (d *Doc) logged() (at []int) {
	for i, line := range d.lines() {
		switch {
		case len(d.Text) > mostText || d.Table != nil || len(d.header) > 0:
			return nil
		case strings.TrimSpace(line) == "" || headLine.MatchString(line):
		case logLine.MatchString(line) && !gap.MatchString(line):
			at = append(at, i)
		default:
			return nil
		}
	}
	return at
}

// readChores reads a file as a list of what is to be done; nil where it is none.
func readChores(doc *Doc) *chores {
	c := &chores{list: doc}
	for _, item := range doc.Items {
		if item.row || itemNumber.MatchString(doc.lines()[item.line]) {
			return nil
		}
		if doneHead.MatchString(item.Head) {
			c.moves = true
		}
	}
	for _, item := range doc.Items {
		if c.moves && doneHead.MatchString(item.Head) || !c.moves && item.Box == 'x' {
			c.done = append(c.done, item)
		}
	}
	if len(c.done) == 0 || len(c.open()) == 0 || doc.isLog() {
		return nil
	}
	for _, item := range c.done { // all in one form
		if dayFront.MatchString(item.Text) != dayFront.MatchString(c.done[0].Text) ||
			dayBack.MatchString(item.Text) != dayBack.MatchString(c.done[0].Text) || item.Box != c.done[0].Box {
			return nil
		}
	}
	return c
}

// open are what is still to be done.
func (c *chores) open() (list []Item) {
	for _, item := range c.list.Items {
		if !slices.ContainsFunc(c.done, func(o Item) bool { return o.line == item.line }) && item.Box != 'x' &&
			(c.moves || item.Box == ' ') {
			list = append(list, item)
		}
	}
	return list
}

// findChores are the lists of what is to be done, with the log and the costs that belong to them.
func (f *Folder) findChores() (list []*chores) {
	var logs []*Doc
	for _, o := range f.Docs {
		if o.isLog() {
			logs = append(logs, o)
		}
	}
	for _, doc := range f.Docs {
		c := readChores(doc)
		near := logs
		if len(logs) > 1 {
			near = slices.DeleteFunc(slices.Clone(logs), func(o *Doc) bool {
				return path.Dir(o.Path) != path.Dir(doc.Path)
			})
		}
		if c == nil || len(near) != 1 {
			continue
		}
		c.log = near[0]
		for _, o := range f.Docs {
			c.takeCosts(o)
		}
		list = append(list, c)
	}
	return list
}

// takeCosts takes a table as that of costs, where it has a day, what it was for, and an amount, and all else it has is
// to whom and by whom.
func (c *chores) takeCosts(doc *Doc) {
	if !doc.hasBody() {
		return
	}
	o := *c
	o.costs, o.day, o.what, o.amount, o.to, o.payer = doc, -1, -1, -1, -1, -1
	for k, name := range doc.header {
		_, form := lastDay(doc.texts(k))
		switch has := func(list string) bool {
			return sharesNoun(strings.Fields(programs.Words(name)), strings.Fields(list))
		}; {
		case o.day < 0 && form != "":
			o.day = k
		case o.amount < 0 && has("amount sum cost price euros") && doc.all(k, plainNumber.MatchString):
			o.amount = k
		case o.what < 0 && has("what item job thing work for") && doc.all(k, func(v string) bool { return v != "" }):
			o.what = k
		case o.to < 0 && has("to who whom firm payee worker") && doc.all(k, nameForm.MatchString):
			o.to = k
		case o.payer < 0 && has("payer paid purse by") && doc.all(k, nameForm.MatchString) && !distinct(doc.texts(k)):
			o.payer = k
		default:
			return
		}
	}
	if o.day >= 0 && o.what >= 0 && o.amount >= 0 && o.to >= 0 {
		*c = o
	}
}

// doneText is what a thing is called once it is done on a day, in the form of what is done.
func (c *chores) doneText(text string, at time.Time) string {
	last := c.done[len(c.done)-1].Text
	if m := dayFront.FindStringSubmatch(last); m != nil {
		_, form := lastDay(m[1:2])
		return at.Format(form) + m[2] + text
	}
	if m := dayBack.FindStringSubmatch(last); m != nil {
		_, form := lastDay(m[3:4])
		return text + m[2] + at.Format(form) + m[4]
	}
	return text
}

// freely is an expression for a line that has some texts, whatever else it says behind what it begins with.
func freely(begins string, texts ...string) string {
	var words []string
	for _, text := range texts {
		words = append(words, `[^\n]*(?i:`+wholeWord(text)+`)`)
	}
	if len(words) == 2 {
		return regexp.QuoteMeta(begins) + `(?:` + words[0] + words[1] + `|` + words[1] + words[0] + `)[^\n]*`
	}
	return regexp.QuoteMeta(begins) + strings.Join(words, "") + `[^\n]*`
}

// wholeWord is an expression for a text that is no part of a longer word or number.
func wholeWord(text string) string {
	is := regexp.QuoteMeta(text)
	if wordAtStart.MatchString(text) {
		is = `\b` + is
	}
	if wordAtEnd.MatchString(text) {
		is += `\b`
	}
	return is
}

var wordAtStart, wordAtEnd = regexp.MustCompile(`^\w`), regexp.MustCompile(`\w$`)

// longest is the longest word of a text.
func longest(text string) string {
	return slices.MaxFunc(strings.Fields(text), func(a, b string) int { return len(a) - len(b) })
}

// finished is what somebody told of a thing that is done.
type finished struct {
	c        *chores
	cost     string
	row      []string
	costLine string
	logLine  string
	begins   string // of the line of the log, with the day
	thing    string
}

// logIs is an expression for the line of the log, whatever else it says, with what the thing cost.
func (e *finished) logIs(cost string) string {
	wanted := []string{longest(e.thing)}
	if cost != "" {
		wanted = append(wanted, cost)
	}
	return freely(e.begins, wanted...)
}

// costIs is an expression for a row of the costs, in which the thing may be called otherwise.
func (e *finished) costIs(line string) string {
	return strings.Replace(regexp.QuoteMeta(line), regexp.QuoteMeta(e.thing),
		`[^,|\n]*(?i:`+regexp.QuoteMeta(longest(e.thing))+`)[^,|\n]*`, 1)
}

// finish has somebody have done a thing: it is done in the list, and stands in the log, and what it cost in the costs.
func (d *drawer) finish() (*programs.Program, *finished) {
	if len(d.f.chores) == 0 {
		return nil, nil
	}
	c := pick(d.r, d.f.chores)
	item := pick(d.r, c.open())
	thing := inside.ReplaceAllString(item.Text, "")
	logged := c.log.logged()
	m := logLine.FindStringSubmatch(c.log.lines()[logged[len(logged)-1]])
	var days []string
	for _, i := range logged {
		days = append(days, logLine.FindStringSubmatch(c.log.lines()[i])[2])
	}
	last, form := lastDay(days)
	first, _ := lastDay(days[:1])
	end, _ := lastDay(days[len(days)-1:])
	if form == "" || len(thing) > 45 || len(strings.Fields(thing)) < 2 || strings.Contains(thing, ",") ||
		strings.Contains(thing, ": ") || strings.Count(c.list.Text, thing) != 1 || dayFront.MatchString(item.Text) {
		return nil, nil
	}
	who := pick(d.r, split("Pat|Hugo|Nadia|Ines|Olga|Ravi|Kurt|Wanda"))
	if c.costs != nil {
		who = pick(d.r, c.costs.texts(c.to))
	}
	at := last.AddDate(0, 0, 1+d.r.IntN(4))
	day, why := d.sayDay(at, form)
	e := &finished{c: c, thing: thing}
	s := slots("item", thing, "time", day, "y", who)
	pattern, docs := "done_free", []*Doc{c.list, c.log}
	if c.costs != nil && d.r.IntN(3) > 0 {
		pattern, docs = "done_cost", append(docs, c.costs)
		d.costRow(e, at, who, s)
	}
	var words [][]string
	for _, doc := range docs {
		words = append(words, []string{doc.stem()})
	}
	rule := d.findRule(words...)
	if rule == nil {
		if path.Dir(c.list.Path) != path.Dir(c.log.Path) || toBuy.MatchString(c.list.stem()) {
			return nil, nil
		}
		pattern += "_where"
		for i, slot := range []string{"file", "file2", "file3"}[:len(docs)] {
			s[slot] = d.name(docs[i])
		}
	}
	d.study(rule, docs...)
	begin := len(d.ops)
	d.setDone(c, item, thing, at)
	d.because(begin, c.list.quote(item.line), why)
	second := len(d.ops)
	text := thing + ", " + who
	if e.cost != "" {
		text += ", " + e.cost
	}
	if strings.HasSuffix(m[4], ".") {
		text += "."
	}
	e.logLine = m[1] + at.Format(form) + m[3] + text
	e.begins = m[1] + at.Format(form)
	d.loosen(c.log, e.logLine, e.logIs(e.cost))
	if first.After(end) {
		d.rewrite(c.log, c.log.lines(), slices.Insert(c.log.lines(), logged[0], e.logLine))
		d.because(second, "The newest stands on top in "+path.Base(c.log.Path)+".")
	} else {
		d.addLine(c.log, logged[len(logged)-1], e.logLine)
	}
	did := thing + " is done in " + path.Base(c.list.Path) + " and stands in " + path.Base(c.log.Path)
	return act(programs.Several, pattern, s).Did(did + d.enterCost(e, second)), e
}

// enterCost puts what something cost behind the other costs, and tells of that; if it cost nothing, the line of the log
// says that these stay.
func (d *drawer) enterCost(e *finished, logged int) (did string) {
	c := e.c
	if e.costLine != "" {
		at, behind := len(d.ops), c.costs.body()
		d.addLine(c.costs, behind[len(behind)-1], e.costLine)
		d.because(at, path.Base(c.costs.Path)+" has the columns "+strings.Join(c.costs.header, ", ")+
			", so the row is "+shown(e.row)+".")
		return ", and " + path.Base(c.costs.Path) + " has the " + e.cost
	}
	if c.costs != nil {
		d.because(logged, "It cost nothing, so "+path.Base(c.costs.Path)+" stays.")
	}
	return ""
}

// costRow is the row of what something cost.
func (d *drawer) costRow(e *finished, at time.Time, who string, s map[string]string) {
	c := e.c
	_, form := lastDay(c.costs.texts(c.day))
	like := c.costs.texts(c.amount)[0]
	e.cost = number(5 + 5*d.r.IntN(30))
	s["v"] = e.cost
	e.row = make([]string, len(c.costs.header))
	units := strings.Count(like, ".")
	e.row[c.day], e.row[c.what], e.row[c.to], e.row[c.amount] = at.Format(form), e.thing, who, e.cost
	if units > 0 {
		e.row[c.amount] += ".00"
	}
	if c.payer >= 0 {
		payer := pick(d.r, c.costs.texts(c.payer))
		e.row[c.payer] = payer
		s["v"] = pick(d.r, []string{e.cost + ", paid by " + payer, e.cost + " (" + payer + " paid)",
			e.cost + ", " + payer + " paid"})
	}
	_, e.costLine = c.costs.newRowLike(e.row)
	d.loosen(c.costs, e.costLine, e.costIs(e.costLine))
}

// setDone has a thing of a list be done: its line goes to what is done, or is ticked.
func (d *drawer) setDone(c *chores, item Item, thing string, at time.Time) {
	last := c.done[len(c.done)-1]
	mark := bullet.FindString(c.list.lines()[last.line])
	line := mark + c.doneText(thing, at)
	if !c.moves {
		line = mark + c.doneText(item.Text, at)
		d.putLine(c.list, item.line, &line)
		return
	}
	begins, _, _ := strings.Cut(line, thing)
	d.loosen(c.list, line, freely(begins, longest(thing)))
	first := c.done[0]
	n := len(d.ops)
	d.putLine(c.list, item.line, nil)
	d.because(n, "Done is: "+strings.TrimSpace(c.list.lines()[last.line])+" So this one becomes: "+line)
	now := d.asLeft(c.list)
	newest := func(i Item) time.Time {
		for _, m := range [][]string{dayFront.FindStringSubmatch(i.Text), dayBack.FindStringSubmatch(i.Text)} {
			for _, part := range m {
				if at, form := lastDay([]string{part}); form != "" {
					return at
				}
			}
		}
		return time.Time{}
	}
	lines := now.lines()
	if newest(first).After(newest(last)) {
		d.rewrite(now, lines, slices.Insert(slices.Clone(lines), slices.Index(lines, c.list.lines()[first.line]), line))
		return
	}
	d.addLine(now, slices.Index(lines, c.list.lines()[last.line]), line)
}

func (d *drawer) finishedTold() *programs.Program {
	p, _ := d.finish()
	return p
}

// finishThenOtherwise has a thing done, and then says that it cost something else.
func (d *drawer) finishThenOtherwise() *programs.Program {
	p, e := d.finish()
	if p == nil || e.costLine == "" {
		return nil
	}
	v := number(5 + 5*d.r.IntN(30))
	row := slices.Clone(e.row)
	row[e.c.amount] = strings.Replace(row[e.c.amount], e.cost, v, 1)
	if v == e.cost || strings.Count(e.logLine, e.cost) != 1 {
		return nil
	}
	begin := len(d.ops)
	_, line := e.c.costs.newRowLike(row)
	logLine := strings.Replace(e.logLine, e.cost, v, 1)
	for _, change := range []struct {
		doc          *Doc
		was, now, is string
	}{{e.c.log, e.logLine, logLine, e.logIs(v)}, {e.c.costs, e.costLine, line, e.costIs(line)}} {
		doc := d.asLeft(change.doc)
		at := slices.Index(doc.lines(), change.was)
		if at < 0 {
			return nil
		}
		d.putLine(doc, at, &change.now)
		for i, l := range d.loose {
			if l.Path == doc.Path && l.Line == change.was {
				d.loose[i].Line, d.loose[i].Is = change.now, change.is
			}
		}
	}
	d.because(begin, "The amount stands in two files: it is "+v+" in both.")
	then := act(programs.Set, "told_otherwise", slots("old", e.cost, "v", v)).
		Did("it says " + v + " now, not " + e.cost + ", in both files")
	return p.Before(then, len(d.ops)-begin)
}
