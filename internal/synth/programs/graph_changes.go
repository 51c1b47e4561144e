package programs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	noteDay  = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	noteTime = regexp.MustCompile(`\b([01]\d|2[0-3]):[0-5]\d\b`)
)

// shift moves a day or a time that a note says: "The deadline of Atlas is a week later."
func (gt *GraphTables) shift(d *drawer) *GraphProgram {
	thing := &gt.Graph.Things[d.r.IntN(len(gt.Graph.Things))]
	if len(thing.Notes) == 0 || !sayable(thing.Name) {
		return nil
	}
	old := pick(d.r, thing.Notes)
	days, times := noteDay.FindAllString(old, -1), noteTime.FindAllString(old, -1)
	if len(days)+len(times) != 1 {
		return nil
	}
	next, said, working := movedDay(d, days)
	was := append(days, times...)[0]
	if len(times) == 1 {
		next, said, working = movedTime(d, was)
	}
	attr := strings.TrimRight(strings.TrimSpace(old[:strings.Index(old, was)]), ":")
	if next == "" || attr == "" || firstWord(attr) == "born" ||
		!strings.HasSuffix(old, was) || len(strings.Fields(attr)) > 3 {
		return nil
	}
	slots := map[string]string{"x": thing.Name, "v": said, "attr": theProperty(attr)}
	now := strings.Replace(old, was, next, 1)
	g := &GraphProgram{Program: &Program{Kind: Adjust, pattern: "date_shift", slots: slots},
		Named: []string{thing.Name},
		Edits: []Edit{note(RemoveNote, thing.Name, old), note(AddNote, thing.Name, now)}}
	g.Work(working)
	return g
}

// theProperty is a property with its article, or quoted where it is no noun: "the deadline", but "contract ends".
func theProperty(attr string) string {
	words := strings.Fields(attr)
	if slices.ContainsFunc(words, func(w string) bool {
		w = strings.ToLower(w)
		return isVerbAlone(w) || isPast(w) || slices.Contains(strings.Fields("until from on at by in since to"), w)
	}) {
		return `"` + attr + `"`
	}
	return "the " + lowerFirst(attr)
}

// movedDay is another day, in words and in numbers; next is "" where there is none.
func movedDay(d *drawer, days []string) (next, said, working string) {
	if len(days) != 1 {
		return "", "", ""
	}
	from, err := time.Parse(time.DateOnly, days[0])
	if err != nil {
		return "", "", ""
	}
	moves := []struct {
		days int
		said string
	}{{1, "a day"}, {2, "two days"}, {3, "three days"}, {5, "five days"}, {7, "a week"}, {7, "one week"},
		{10, "ten days"}, {14, "two weeks"}, {21, "three weeks"}, {14, "a fortnight"}}
	move := pick(d.r, moves)
	n, sign, word := move.days, "+", pick(d.r, []string{"later", "later", "further on"})
	if d.r.IntN(3) == 0 {
		n, sign, word = -n, "-", pick(d.r, []string{"earlier", "sooner"})
	}
	to := from.AddDate(0, 0, n)
	if !strings.Contains(move.said, "day") {
		working = fmt.Sprintf("%s %s is %s %d days. ", move.said, word, sign, move.days)
	}
	if sum := from.Day() + n; to.Month() == from.Month() {
		working += fmt.Sprintf("%d %s %d = %d", from.Day(), sign, move.days, sum)
	} else if n > 0 {
		long := from.AddDate(0, 1, -from.Day()).Day()
		working += fmt.Sprintf("%s has %d days: %d + %d - %d = %d", from.Month(), long, from.Day(), n, long, to.Day())
	} else {
		long := to.AddDate(0, 1, -to.Day()).Day()
		working += fmt.Sprintf("%s has %d days: %d + %d - %d = %d",
			to.Month(), long, from.Day(), long, move.days, to.Day())
	}
	return to.Format(time.DateOnly), move.said + " " + word, working + ", so " + to.Format(time.DateOnly)
}

// movedTime is another time of the same day, in words and in numbers; next is "" where there is none.
func movedTime(d *drawer, was string) (next, said, working string) {
	from, err := time.Parse("15:04", was)
	if err != nil {
		return "", "", ""
	}
	moves := []struct {
		minutes int
		said    string
	}{{15, "a quarter of an hour"}, {30, "half an hour"}, {60, "an hour"}, {45, "45 minutes"}, {20, "20 minutes"},
		{90, "an hour and a half"}, {120, "two hours"}}
	move := pick(d.r, moves)
	n, sign, word := move.minutes, "+", "later"
	if d.r.IntN(3) == 0 {
		n, sign, word = -n, "-", pick(d.r, []string{"earlier", "sooner"})
	}
	to := from.Add(time.Duration(n) * time.Minute)
	if to.Day() != from.Day() {
		return "", "", ""
	}
	next = to.Format("15:04")
	working = fmt.Sprintf("%s %s %d:%02d = %s", was, sign, move.minutes/60, move.minutes%60, next)
	return next, move.said + " " + word, working
}

// bySense takes out a note, or puts another one in its place, that is told by what it is about and not by its text.
func (gt *GraphTables) bySense(d *drawer) *GraphProgram {
	thing := &gt.Graph.Things[d.r.IntN(len(gt.Graph.Things))]
	if len(thing.Notes) < 2 || !sayable(thing.Name) {
		return nil
	}
	old := pick(d.r, thing.Notes)
	about := gt.sense(thing, old)
	t := gt.tableOf(thing.Type)
	if about == "" || t == nil {
		return nil
	}
	slots := map[string]string{"x": thing.Name, "attr": about}
	g := &GraphProgram{Program: &Program{Kind: Remove, pattern: "sense_drop", slots: slots},
		Named: []string{thing.Name},
		Edits: []Edit{note(RemoveNote, thing.Name, old)}}
	if d.r.IntN(2) == 0 {
		next, ok := renewed(d.r, old)
		if !ok {
			next = gt.sibling(d, thing, old)
		}
		if next == "" {
			next = gt.remark(d, t)
		}
		g.Kind, g.pattern, slots["v"] = Set, "sense_swap", next
		g.Edits = append(g.Edits, note(AddNote, thing.Name, next))
	}
	g.Work(fmt.Sprintf("Of what is noted of %s, that is about %s: %q", thing.Name, about, old))
	return g
}

// sense is what a note of a thing is about, by a word of it that no other note of the thing has: "the printer".
// "" where no word tells.
func (gt *GraphTables) sense(thing *Thing, text string) string {
	if t := gt.tableOf(thing.Type); t != nil {
		for i, s := range gt.sources[t] {
			if _, ok := s.in(text); ok && s.before+s.after != "" && !isPast(firstWord(text)) {
				return theProperty(t.Columns[i].caption())
			}
		}
	}
	if f, _, ok := formOf(text); ok && f.before != "" && f.after == "" {
		if said := theProperty(f.name()); f.name() != "" && !strings.HasPrefix(said, `"`) {
			return said
		}
		return "" // "contract ends"
	}
	var run []string
	for w := range strings.FieldsSeq(text) {
		w, end := strings.CutSuffix(w, ",")
		if gt.tellsOf(thing, text, w) && len(run) < 2 {
			run = append(run, w)
		} else if len(run) > 0 {
			break
		}
		if end && len(run) > 0 {
			break
		}
	}
	said := strings.Join(run, " ")
	title := gt.areOfPeople(thing.Type) && endsIn(said, "er", "or", "ist", "ian", "ern") // what somebody is
	if said == "" || said == text || title {
		return ""
	}
	return "the " + said
}

// tellsOf reports whether a word of a note may be a noun that no other note of the thing has.
func (gt *GraphTables) tellsOf(thing *Thing, text, w string) bool {
	no := strings.Fields("from with until since still only some more very much many every good third first second " +
		"under over four five days week weeks month months year years hours minutes waiting needs recently keep " +
		"their there this that within without between before after during near behind again later back gone own one " +
		"two three once new old big small long short warm cold dark light blue green white black broken lost")
	return len(w) > 2 && !slices.ContainsFunc([]rune(w), func(r rune) bool { return r < 'a' || r > 'z' }) &&
		!slices.Contains(no, w) && !slices.Contains(grammar(), w) && !slices.Contains(states(), w) && !isVerbAlone(w) &&
		!isPast(w) && !endsIn(w, "ly", "ing", "able", "ful", "ive") && !mentions(w)(thing.Name) &&
		!slices.ContainsFunc(thing.Notes, func(n string) bool { return n != text && mentions(w)(n) })
}

// likeOthers makes a thing as its peers are: with notes of their form, from values that the request says in its words,
// and with the relations that all of them have. Where these lead to one thing, the request does not speak of them.
func (gt *GraphTables) likeOthers(d *drawer) *GraphProgram {
	t := d.table()
	if t == nil {
		return nil
	}
	name, ok := d.fresh(t).(string)
	peer := d.sole(t)
	if !ok || gt.Graph.Thing(name) != nil || peer == nil {
		return nil
	}
	made := Thing{Name: name, Type: gt.types[t]}
	said := gt.newNotes(d, t, peer, &made)
	slots := about(t)
	slots["x"], slots["given"], slots["y"] = name, enumerate(said), Show(peer[0])
	g := &GraphProgram{Program: &Program{Kind: Insert, pattern: "like_one", slots: slots}, Named: []string{slots["y"]},
		Edits: []Edit{{Do: AddThing, Thing: made}}}
	if d.r.IntN(2) == 0 {
		delete(slots, "y")
		g.pattern, g.Named, g.Types = "like_peers", nil, []string{gt.types[t]}
	}
	line := "Each " + t.One + " has notes of the form " + quoted(gt.formsOfNotes(t, made.Notes))
	told := false
	for _, tie := range gt.common(d, t) {
		if !tie.shared && told { // one is enough to be told
			continue
		}
		now, other, end, side := tie.Relation, tie.From, "another thing", " from "
		if now.To = name; tie.From == "" {
			now, other, side = Relation{name, tie.To, tie.Type}, tie.To, " to "
		}
		if tie.shared {
			end = other
		} else {
			told, g.Named = true, append(g.Named, other)
			slots["given"] += "; " + gt.tells(t, now, name)
		}
		line += ", and a relation " + now.Type + side + end
		g.Edits = append(g.Edits, relate(AddRelation, now.From, now.To, now.Type))
		g.relations = append(g.relations, now.Type)
	}
	g.Work(line)
	if len(said) == 0 || len(g.Edits) == 1 {
		return nil
	}
	return g
}

// newNotes gives a new thing notes of the forms that most things of its table have, and says their values.
func (gt *GraphTables) newNotes(d *drawer, t *Table, peer []any, made *Thing) (said []string) {
	for _, i := range d.r.Perm(len(t.Columns)) {
		s, v := gt.sources[t][i], peer[i]
		if i == 0 || s.note != "" || s.relation != "" || v == nil || len(said) == 3 || t.missing(i) > len(t.Rows)/3 {
			continue
		}
		value := Show(pick(d.r, t.Rows)[i])
		if t.Columns[i].Kind != Text {
			value = likeValue(d.r, Show(v))
		}
		if value != "" && sayable(value) {
			said = append(said, t.Columns[i].caption()+" "+value)
			made.Notes = append(made.Notes, s.before+value+s.after)
		}
	}
	return said
}

// tells says a relation of a new thing, which is "it" where it is no person.
func (gt *GraphTables) tells(t *Table, r Relation, name string) string {
	v, it := verbalOf(r.Type), "it"
	if t.OfPeople() {
		it = name
	}
	switch owned := v.owned(); {
	case r.From == name:
		return it + " " + v.said() + " " + r.To
	case owned != "":
		return r.From + " has " + it + " as the " + owned
	}
	return r.From + " " + v.said() + " " + it
}

func quoted(list []string) string { return `"` + strings.Join(list, `", "`) + `"` }

// formsOfNotes are notes with dots in the place of their values.
func (gt *GraphTables) formsOfNotes(t *Table, notes []string) (forms []string) {
	for _, text := range notes {
		for _, s := range gt.sources[t] {
			if _, ok := s.in(text); ok && s.before+s.after != "" {
				forms = append(forms, s.before+"..."+s.after)
				break
			}
		}
	}
	return forms
}

// missing is how many rows have no value in a column.
func (t *Table) missing(column int) (n int) {
	for _, row := range t.Rows {
		if row[column] == nil {
			n++
		}
	}
	return n
}

// tie is a relation that all things of a table have, without the end that is the thing's. shared says that the other
// end is the same for all; else it is one of those that they have.
type tie struct {
	Relation
	shared bool
}

// common are the relations that every thing of a table has, each type in one direction, in some order.
func (gt *GraphTables) common(d *drawer, t *Table) (list []tie) {
	relations, seen := gt.Graph.Relations, map[string]bool{}
	for _, at := range d.r.Perm(len(relations)) {
		one := relations[at]
		leads := t.byKey(one.From) != nil
		if seen[one.Type] || !leads && t.byKey(one.To) == nil || !verbalOf(one.Type).sayable() {
			continue
		}
		seen[one.Type] = true
		ends, has := map[string]bool{}, map[string]bool{}
		for _, o := range relations {
			switch {
			case o.Type != one.Type:
			case leads && t.byKey(o.From) != nil:
				has[o.From], ends[o.To] = true, true
			case !leads && t.byKey(o.To) != nil:
				has[o.To], ends[o.From] = true, true
			}
		}
		if len(has) < len(t.Rows) {
			continue
		}
		open := tie{Relation{From: one.From, Type: one.Type}, len(ends) == 1}
		if leads {
			open.Relation = Relation{To: one.To, Type: one.Type}
		}
		list = append(list, open)
	}
	return list
}
