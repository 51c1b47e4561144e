package folders

import (
	"path"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// journal is a log with the newest entry on top: a heading with the day, the place and those who were there, and below
// it the same keys in each entry.
type journal struct {
	doc            *Doc
	level          string // what begins a heading
	mark, and      string // between the parts of a heading, and between names
	form           string
	first          int // line of the newest entry
	days           []time.Time
	places, people []string
	keys           []string
	values         map[string][]string
}

// journal reads a file as one; nil: it is none.
func (d *Doc) journal() *journal {
	if len(d.Text) > mostText {
		return nil
	}
	for _, mark := range []string{", ", " | ", " - ", "; "} {
		if j := d.journalBy(mark); j != nil {
			return j
		}
	}
	return nil
}

func (d *Doc) journalBy(mark string) *journal {
	j := &journal{doc: d, mark: mark, first: -1, values: map[string][]string{}}
	var days []string
	var keys []string
	complete := func() bool { // an entry has the keys of the others
		ok := len(days) == 0 || len(keys) > 0 && (j.keys == nil || slices.Equal(keys, j.keys))
		if len(days) > 0 {
			j.keys = keys
		}
		keys = nil
		return ok
	}
	for i, line := range d.lines() {
		level, head, _ := strings.Cut(line, " ")
		parts := strings.Split(head, mark)
		switch key, value, isPair := strings.Cut(strings.TrimPrefix(line, "- "), ": "); {
		case (level == "##" || level == "###") && len(parts) == 3:
			if !complete() {
				return nil
			}
			if j.first < 0 {
				j.first, j.level = i, level
			}
			days, j.places, j.people = append(days, parts[0]), append(j.places, parts[1]), append(j.people, parts[2])
		case strings.HasPrefix(line, "- ") && isPair && len(days) > 0:
			keys = append(keys, key)
			j.values[key] = append(j.values[key], value)
		case strings.TrimSpace(line) != "" && len(days) > 0:
			return nil
		}
	}
	if !complete() || len(days) < 3 {
		return nil
	}
	j.days, j.form = daysOf(days)
	for _, and := range []string{" + ", " & ", " and ", "/"} {
		if strings.Contains(j.people[0], and) {
			j.and = and
		}
	}
	if j.form == "" || j.and == "" || !slices.IsSortedFunc(j.days, func(a, b time.Time) int { return b.Compare(a) }) {
		return nil
	}
	return j
}

// entryTop writes an event that is told into a log with the newest on top, in the form of the other entries.
func (d *drawer) entryTop() *programs.Program {
	if len(d.f.journals) != 1 {
		return nil
	}
	j := d.f.journals[0]
	var names []string
	for _, all := range j.people {
		for name := range strings.SplitSeq(all, j.and) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) < 2 {
		return nil
	}
	d.r.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
	names = names[:2+d.r.IntN(min(2, len(names)-1))]
	day, place := j.days[0].AddDate(0, 0, 1+d.r.IntN(20)), pick(d.r, j.places)
	lines := []string{j.level + " " + strings.Join([]string{day.Format(j.form), place, strings.Join(names, j.and)},
		j.mark)}
	var given []string
	for _, key := range j.keys {
		value := pick(d.r, j.values[key])
		lines = append(lines, "- "+key+": "+value)
		given = append(given, pick(d.r, []string{key + " ", key + ": "})+value)
	}
	s := slots("time", wholeDay(d.r, day), "x", place, "y", programs.Enumerate(names), "given", strings.Join(given,
		", "))
	if d.r.IntN(3) == 0 {
		d.r.Shuffle(len(given), func(a, b int) { given[a], given[b] = given[b], given[a] })
		s["given"] = strings.Join(given, "; ")
	}
	d.hunt(j.doc, place, "log journal diary", path.Base(j.doc.Path)+" may be the log.")
	was, first := j.doc.lines(), len(d.ops)
	d.rewrite(j.doc, was, slices.Insert(slices.Clone(was), j.first, append(lines, "")...))
	d.ops[first].Why = "The newest stands on top: " + j.doc.quote(j.first) + "\nThe new entry has that form:\n" +
		strings.Join(lines, "\n")
	return act(programs.Insert, "entry_top", s).Did("the entry of " + day.Format("2 January") +
		" stands on top of the log")
}
