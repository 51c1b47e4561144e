package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// task is something that one person of several is to do.
type task struct {
	who, what string
	line      int
	open      bool
}

var (
	boxLine   = regexp.MustCompile(`^\s*[-*+] \[([ xX])\] +(\S.*?)\s*$`)
	whoBehind = regexp.MustCompile(`^(\S.*\S) \((\p{Lu}\p{Ll}+)\)$`)
	oneName   = regexp.MustCompile(`^\p{Lu}\p{Ll}+$`)
)

// tasks are what several persons are to do by a file, each of whom stands above their boxes, in front of them or behind
// them, or in a column; nil where some box is nobody's.
func (d *Doc) tasks() (list []task) {
	if len(d.header) > 2 {
		return d.rowTasks()
	}
	head := ""
	for i, line := range d.lines() {
		for _, form := range []*regexp.Regexp{headLine, overLine} {
			if m := form.FindStringSubmatch(line); m != nil {
				head = m[1]
			}
		}
		m := boxLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		one := task{who: head, what: m[2], line: i, open: m[1] == " "}
		if of := whoseItem.FindStringSubmatch(m[2]); of != nil {
			one.who, one.what = of[1], of[2]
		} else if of := whoBehind.FindStringSubmatch(m[2]); of != nil {
			one.who, one.what = of[2], of[1]
		}
		list = append(list, one)
	}
	return theirTasks(list)
}

// rowTasks are those of a table with who does what, and whether it is done.
func (d *Doc) rowTasks() (list []task) {
	who, what, done := -1, -1, -1
	if !slices.ContainsFunc(d.header, func(name string) bool { return isCalled(name, "done finished ready") }) {
		return nil
	}
	for k, name := range d.header {
		all := d.texts(k)
		is := func(want func(string) bool) bool {
			return len(all) > 0 && !slices.ContainsFunc(all, func(v string) bool { return !want(v) })
		}
		switch {
		case isCalled(name, "done finished ready") && is(func(v string) bool { return v == "yes" || v == "no" }):
			done = k
		case who < 0 && is(oneName.MatchString):
			who = k
		case what < 0:
			what = k
		}
	}
	if who < 0 || what < 0 || done < 0 {
		return nil
	}
	for _, at := range d.body() {
		row := cells(d.lines()[at], d.between())
		list = append(list, task{row[who], row[what], at, row[done] == "no"})
	}
	return theirTasks(list)
}

func theirTasks(list []task) []task {
	seen, who := map[string]bool{}, map[string]bool{}
	for _, one := range list {
		if !oneName.MatchString(one.who) || seen[one.who+": "+one.what] || strings.Contains(one.what, ",") {
			return nil
		}
		seen[one.who+": "+one.what], who[one.who] = true, true
	}
	if len(who) < 2 || len(list) < 5 {
		return nil
	}
	return list
}

// ticked is the line of a task that is done.
func (d *Doc) ticked(one task) string {
	line := d.lines()[one.line]
	if len(d.header) > 2 {
		at := slices.IndexFunc(d.header, func(name string) bool { return isCalled(name, "done finished ready") })
		return d.withText(line, at, "yes")
	}
	return strings.Replace(line, "[ ]", "[x]", 1)
}

// isSomebody reports whether a word is a first name: one that is known, or that stands before a surname somewhere.
func (f *Folder) isSomebody(name string) bool {
	full := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + ` \p{Lu}\p{Ll}+`)
	return programs.IsFirstName(name) || slices.ContainsFunc(f.Docs, func(o *Doc) bool {
		return full.MatchString(o.Text)
	})
}

// shared draws a list of what several persons are to do, and one of them, who writes the request.
func (d *drawer) shared() (doc *Doc, me string, open []task) {
	doc = d.one(func(o *Doc) bool {
		list := o.tasks()
		return list != nil && d.f.isSomebody(list[0].who) && len(o.Text) <= mostText
	})
	if doc == nil {
		return nil, "", nil
	}
	list := doc.tasks()
	me = pick(d.r, list).who
	for _, one := range list {
		if one.who == me && one.open {
			open = append(open, one)
		}
	}
	return doc, me, open
}

// whose says which tasks of a list are those of the one who writes.
func (d *Doc) whose(me string) (lines []string) {
	for _, one := range d.tasks() {
		if one.who == me {
			lines = append(lines, one.what+map[bool]string{true: " - open", false: " - done"}[one.open])
		}
	}
	return lines
}

// tickMine ticks what the one who writes has done, and leaves the same things of others.
func (d *drawer) tickMine() *programs.Program {
	doc, me, open := d.shared()
	if len(open) == 0 {
		return nil
	}
	d.r.Shuffle(len(open), func(i, k int) { open[i], open[k] = open[k], open[i] })
	s, pattern := slots("item", open[0].what), "mine_tick"
	done := open[:1]
	switch n := d.r.IntN(4); {
	case n < 2 && len(open) > 2:
		pattern, done = "mine_but", open[1:]
	case n < 3 && len(open) > 1:
		pattern, s["item2"], done = "mine_tick_two", open[1].what, open[:2]
	}
	if slices.ContainsFunc(open, func(one task) bool { return !d.tellsButFor(doc, one.what) }) {
		return nil
	}
	d.hunt(doc, s["item"], "task action job to do", path.Base(doc.Path)+" may say who does what.")
	was, at := doc.lines(), len(d.ops)
	now, names := slices.Clone(was), []string(nil)
	for _, one := range done {
		now[one.line], names = doc.ticked(one), append(names, one.what)
	}
	d.rewrite(doc, was, now)
	d.ops[at].Why = me + " writes, so it is about what " + me + " does:\n" + strings.Join(doc.whose(me), "\n") + "\n" +
		d.ops[at].Why
	are := map[bool]string{true: " is", false: " are"}[len(names) == 1]
	return act(programs.Set, pattern, s).Sign(me).Did(strings.Join(names, " and ") + are + " ticked for " + me)
}

// tellsButFor reports whether something stands in one file alone.
func (d *drawer) tellsButFor(doc *Doc, thing string) bool {
	return len(d.docs(func(o *Doc) bool { return o != doc && o.mentions(thing) })) == 0
}

// leftForMe asks what the one who writes has still to do.
func (d *drawer) leftForMe() *programs.Program {
	doc, me, open := d.shared()
	if len(open) == 0 || len(open) > 6 {
		return nil
	}
	var list []string
	for _, one := range open {
		list = append(list, one.what)
	}
	s := slots("file", d.name(doc))
	d.read(doc)
	return question(programs.List, "mine_left", s, "list", list...).Sign(me).
		Work(append([]string{me + " writes, so it is about what " + me + " does:"}, doc.whose(me)...)...)
}

// tickThenLeft ticks something, and asks in the same message what is left.
func (d *drawer) tickThenLeft() *programs.Program {
	doc, me, open := d.shared()
	if len(open) < 2 || len(open) > 6 {
		return nil
	}
	done := pick(d.r, open)
	var list, work []string
	for _, one := range open {
		if one.what != done.what {
			list = append(list, one.what)
		}
		work = append(work, one.what+map[bool]string{true: " - done now", false: " - open"}[one.what == done.what])
	}
	s := slots("item", done.what)
	d.read(doc)
	line, at := doc.ticked(done), len(d.ops)
	d.putLine(doc, done.line, &line)
	d.ops[at].Why = me + " writes, so it is about what " + me + " does.\n" + d.ops[at].Why
	then := question(programs.List, "mine_left", slots("file", d.name(doc)), "list", list...).Work(work...)
	return act(programs.Set, "mine_tick", s).Sign(me).Behind(then)
}

// leftThenTick asks what is left, and in a second message one of these is done.
func (d *drawer) leftThenTick() *programs.Program {
	p := d.leftForMe()
	if p == nil || len(p.Answer.Values) < 2 {
		return nil
	}
	doc, what, me := d.about[len(d.about)-1], pick(d.r, p.Answer.Values), p.Slot("sign")
	list := doc.tasks()
	one := list[slices.IndexFunc(list, func(o task) bool { return o.what == what && o.who == me })]
	line, at := doc.ticked(one), len(d.ops)
	d.putLine(doc, one.line, &line)
	d.ops[at].Why = "Still " + me + "'s.\n" + d.ops[at].Why
	then := act(programs.Set, "mine_done_now", slots("item", what)).Did(what + " is ticked for " + me)
	return p.Before(then, len(d.ops)-at)
}
