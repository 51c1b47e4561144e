package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// questions is a list of what is still open, and below another heading of what was decided, with the day.
type questions struct {
	doc  *Doc
	open []Item
	last int    // line of the last that was decided
	form string // of its day
}

var (
	openHead    = regexp.MustCompile(`(?i)\b(?:open|undecided|to (?:be )?decided?|to clear up)\b`)
	decidedHead = regexp.MustCompile(`(?i)^(?:decided|settled|agreed|answered|cleared up)\b`)
	decidedItem = regexp.MustCompile(`^- \[x\] (.+) \(([^()]+)\)$`)
	putOff      = regexp.MustCompile(`(?i)\b(?:put off|postponed|next time|no decision|not decided|left open|later|` +
		`still open|we think about|asks? for|wants? to)\b`)
	isoDay = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)
)

// questions reads a file as such a list; nil: it is none.
func (d *Doc) questions() *questions {
	q := &questions{doc: d, last: -1}
	for _, item := range d.Items {
		if item.Box == ' ' && openHead.MatchString(item.Head) && strings.HasPrefix(d.lines()[item.line], "- [ ] ") {
			q.open = append(q.open, item)
		}
	}
	for i, line := range d.lines() {
		if m := decidedItem.FindStringSubmatch(line); m != nil && decidedHead.MatchString(headAbove(d.lines(), i)) {
			if _, form := daysOf([]string{m[2]}); form != "" {
				q.last, q.form = i, form
			}
		}
	}
	if len(q.open) < 2 || q.last < 0 {
		return nil
	}
	return q
}

// said is the line of minutes about a question, and whether it was decided there; -1: they do not speak of it.
func (q *questions) said(minutes *Doc, item Item) (line int, decided bool) {
	what := strings.TrimRight(item.Text, "?")
	for i, line := range minutes.lines() {
		if wordIn(what).MatchString(line) {
			return i, !putOff.MatchString(line)
		}
	}
	return -1, false
}

// decided has the questions that minutes decide be moved to those that are decided, as they are worded, with the day;
// it is asked which are left.
func (d *drawer) decided() *programs.Program {
	minutes := d.one(func(o *Doc) bool { return isoDay.MatchString(o.stem()) && len(o.Text) <= mostText })
	if len(d.f.questions) != 1 || minutes == nil {
		return nil
	}
	q := d.f.questions[0]
	day, err := time.Parse(time.DateOnly, isoDay.FindString(minutes.stem()))
	if err != nil || minutes == q.doc {
		return nil
	}
	var gone, lines, left, work []string
	for _, item := range q.open {
		at, is := q.said(minutes, item)
		switch {
		case is:
			gone = append(gone, q.doc.lines()[item.line])
			lines = append(lines, "- [x] "+item.Text+" ("+day.Format(q.form)+")")
			work = append(work, minutes.quote(at)+" So that is decided: "+item.Text+".")
		case at >= 0:
			work = append(work, minutes.quote(at)+" That is not decided: "+item.Text+".")
		default:
			work = append(work, "Nothing is said of: "+item.Text+".")
		}
		if !is {
			left = append(left, item.Text)
		}
	}
	again := d.docs(func(o *Doc) bool { return strings.Contains(o.stem(), day.Format(time.DateOnly)) })
	if len(gone) == 0 || len(left) == 0 || len(again) > 1 {
		return nil
	}
	s := slots("file", d.name(q.doc), "time", wholeDay(d.r, day))
	d.read(q.doc)
	d.hunt(minutes, "", "", path.Base(minutes.Path)+" is of that day.")
	was := q.doc.lines()
	now := slices.DeleteFunc(slices.Clone(was), func(line string) bool { return slices.Contains(gone, line) })
	first, more := len(d.ops), slices.Insert(slices.Clone(was), q.last+1, lines...)
	if d.can[Edit] {
		d.rewrite(q.doc, was, now)
		d.rewrite(q.doc, was, more)
	} else {
		d.rewrite(q.doc, was, slices.DeleteFunc(more, func(line string) bool { return slices.Contains(gone, line) }))
	}
	if after, ok := d.f.State().Apply(d.ops); !ok || strings.Count(after[q.doc.Path], lines[0]) != 1 {
		return nil
	}
	d.ops[first].Why = strings.Join(work, "\n") + "\n" + d.ops[first].Why
	return question(programs.List, "decided_move", s, "told", left...).Work("Left: " + strings.Join(left, ", "))
}

// correction is what begins the line by which minutes are put right.
const correction = "Correction ("

// notChanged finds the line that says that minutes stay and get a correction at their end.
func (f *Folder) notChanged() (of *Doc, line int) {
	for _, d := range f.Docs {
		for i, text := range d.lines() {
			if lower := strings.ToLower(text); strings.Contains(lower, "minutes") &&
				strings.Contains(text, correction) && strings.Contains(lower, "end") {
				return d, i
			}
		}
	}
	return nil, 0
}

// minutesWrong has something in minutes be wrong: the text stays, and a line at its end says what is right.
func (d *drawer) minutesWrong() *programs.Program {
	rule, line := d.f.notChanged()
	minutes := d.one(func(o *Doc) bool {
		return isoDay.MatchString(o.stem()) && len(o.Pairs) > 0 && strings.Contains(strings.ToLower(o.Path+o.Text),
			"minute")
	})
	if rule == nil || minutes == nil || strings.Contains(minutes.Text, correction) {
		return nil
	}
	day, err := time.Parse(time.DateOnly, isoDay.FindString(minutes.stem()))
	p := pick(d.r, minutes.Pairs)
	again := d.docs(func(o *Doc) bool { return strings.Contains(o.stem(), isoDay.FindString(minutes.stem())) })
	v, one := "", ""
	if one, _ = programs.Nouns(p.Key); one != p.Key { // nobody says that the guests was 9
		return nil
	}
	switch {
	case someName.MatchString(p.Value):
		v = callNames(d.r, 1)[0]
		if p.Key == "place" {
			v = pick(d.r, split("Bakery|School|Chapel|Boathouse"))
		}
	case plainNumber.MatchString(p.Value), clockTime.MatchString(p.Value):
		v = otherValue(d.r, p.Key, p.Value)
	}
	if err != nil || v == "" || v == p.Value || len(again) > 1 || strings.Contains(minutes.Text, v) {
		return nil
	}
	today := day.AddDate(0, 0, 3+d.r.IntN(40))
	_, form := daysOf([]string{strings.TrimSpace(strings.SplitN(strings.SplitN(rule.lines()[line], correction, 2)[1],
		")", 2)[0])})
	if form == "" {
		form = time.DateOnly
	}
	s := slots("b", wholeDay(d.r, day), "attr", p.Key, "old", p.Value, "v", v, "time", wholeDay(d.r, today))
	d.hunt(minutes, "", "", path.Base(minutes.Path)+" has the minutes of that day.")
	d.hunt(rule, "", "", path.Base(rule.Path)+" may say how minutes are put right.")
	text := correction + today.Format(form) + "): " + p.Key + ": " + v + ", not " + p.Value + "."
	first := len(d.ops)
	d.addLine(minutes, minutes.lastLine(), "\n"+text)
	d.ops[first].Why = minutes.quote(p.line) + "\n" + rule.quote(line) +
		"\nSo that line stays, and the end gets: " + text
	return act(programs.Insert, "minutes_wrong", s).Did("the minutes stay as they were, with a correction at the " +
		"end: " +
		p.Key + " " + v)
}
