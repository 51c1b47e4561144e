package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// decided is something that was decided on several times, and the files that say what it is.
type decided struct {
	key     string
	minutes []*Doc   // in the order of their days
	lines   []int    // of each, which says it
	values  []string // of each
	says    []*Doc   // other files that note it
}

var (
	dayStem   = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)
	someValue = regexp.MustCompile(`\d+(?:\.\d+)?`)
)

// decisions are all that the minutes of a folder say twice or more.
func (f *Folder) decisions() (list []decided) {
	var dated, others []*Doc
	for _, o := range f.Docs {
		switch {
		case dayStem.MatchString(o.stem()) && len(o.Text) <= mostText && len(o.header) == 0:
			dated = append(dated, o)
		case o.hasPairs():
			others = append(others, o)
		}
	}
	slices.SortStableFunc(dated, func(a, b *Doc) int {
		return strings.Compare(dayStem.FindString(a.stem()), dayStem.FindString(b.stem()))
	})
	seen := map[string]bool{}
	for _, o := range others {
		for _, p := range o.Pairs {
			if seen[p.Key] || !plainNumber.MatchString(p.Value) || len(p.Key) < 4 {
				continue
			}
			seen[p.Key] = true
			if one, ok := decidedOn(p, dated, others); ok {
				list = append(list, one)
			}
		}
	}
	return list
}

// decidedOn is what minutes decided on something that a file notes; ok is false where they did not decide twice, or put
// it off in the end.
func decidedOn(p Pair, dated, others []*Doc) (one decided, ok bool) {
	one.key = p.Key
	dated = slices.DeleteFunc(slices.Clone(dated), func(o *Doc) bool {
		return !strings.Contains(strings.ToLower(o.Text), strings.ToLower(p.Key))
	})
	if len(dated) < 2 {
		return one, false
	}
	word, open := wordIn(p.Key), false // whether it was put off since
	for _, o := range dated {
		found := 0
		for i, line := range o.lines() {
			if !word.MatchString(line) {
				continue
			}
			if putOff.MatchString(line) { // what is only proposed there does not hold
				open = true
				continue
			}
			values := someValue.FindAllString(line, -1)
			if len(values) == 1 && strings.Contains(values[0], ".") == strings.Contains(p.Value, ".") {
				one.minutes, one.lines = append(one.minutes, o), append(one.lines, i)
				one.values = append(one.values, values[0])
				found, open = found+1, false
			} else if len(values) > 0 {
				return one, false
			}
		}
		if found > 1 {
			return one, false
		}
	}
	for _, o := range others {
		if of := o.pair(p.Key); of != nil {
			one.says = append(one.says, o)
		}
	}
	n := len(one.values)
	return one, !open && n > 1 && one.values[n-1] != one.values[n-2] &&
		path.Dir(one.minutes[0].Path) == path.Dir(one.minutes[n-1].Path)
}

// now is what holds, and why.
func (o decided) now() (v, why string) {
	var lines []string
	for i, doc := range o.minutes {
		lines = append(lines, doc.quote(o.lines[i]))
	}
	n := len(o.values) - 1
	return o.values[n], strings.Join(lines, "\n") + "\nThe later one counts, " + path.Base(o.minutes[n].Path) + ": " +
		o.values[n]
}

// decide draws something that was decided on twice, and reads the minutes.
func (d *drawer) decide() (one decided, ok bool) {
	if len(d.f.decided) == 0 {
		return one, false
	}
	one = pick(d.r, d.f.decided)
	d.about = append(d.about, one.minutes...)
	dir := path.Dir(one.minutes[0].Path)
	d.around(dir)
	var docs []*Doc
	for _, o := range d.f.in(dir) {
		if dayStem.MatchString(o.stem()) {
			docs = append(docs, o)
		}
	}
	if len(docs) > mostTogetherMinutes {
		return one, false
	}
	d.readAll(docs)
	return one, true
}

// mostTogetherMinutes bounds the minutes that are read for one decision.
const mostTogetherMinutes = 6

// decidedLast asks what was decided last.
func (d *drawer) decidedLast() *programs.Program {
	one, ok := d.decide()
	if !ok {
		return nil
	}
	v, why := one.now()
	return question(programs.Lookup, "decided_last", slots("attr", one.key), "text", v).Work(why)
}

// followDecision has the files that still say what was decided before say what holds now.
func (d *drawer) followDecision() *programs.Program {
	one, ok := d.decide()
	if !ok {
		return nil
	}
	v, why := one.now()
	old := slices.DeleteFunc(slices.Clone(one.says), func(o *Doc) bool { return o.pair(one.key).Value == v })
	if len(old) == 0 || len(old) > 4 || slices.ContainsFunc(d.f.Docs, func(o *Doc) bool { // that say it in other words
		return o.mentions(one.key) && o.pair(one.key) == nil && !dayStem.MatchString(o.stem())
	}) {
		return nil
	}
	d.about = append(d.about, one.says...)
	if d.can[Search] {
		d.look(Op{Do: Search, Path: ".", Old: strings.Fields(one.key)[len(strings.Fields(one.key))-1],
			Why: "Which files say it? I search."})
	} else {
		d.everywhere()
	}
	d.readAll(one.says)
	at := len(d.ops)
	for _, o := range old {
		d.setLine(o, *o.pair(one.key), v)
	}
	d.ops[at].Why = why + "\n" + d.ops[at].Why
	return act(programs.SetAll, "decided_follow", slots("attr", one.key)).Did("the " + one.key + " is " + v +
		" now in " + strings.Join(names(old), ", "))
}
