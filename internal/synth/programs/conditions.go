package programs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// condition draws a condition that some rows meet and others do not, with the phrase for it; "" where it made a noun.
func (d *drawer) condition(t *Table, not ...int) (Cond, string, bool) {
	c, phrase, ok := d.comparison(t, not)
	return c, phrase, ok && d.isClear(t, c, phrase)
}

func (d *drawer) comparison(t *Table, not []int) (Cond, string, bool) {
	columns := t.properties(nil)
	columns = slices.DeleteFunc(columns, func(i int) bool { return slices.Contains(not, i) })
	if d.w.Listed && len(d.links()) > 0 && (d.r.IntN(4) == 0 || len(columns) == 0) {
		if c, phrase, ok := d.linked(t); ok {
			return c, phrase, d.divides(t, c)
		}
	}
	if len(columns) == 0 {
		return Cond{}, "", false
	}
	if d.r.IntN(12) == 0 {
		if c, phrase, ok := d.surname(t, not); ok {
			return c, phrase, d.divides(t, c)
		}
	}
	i := pick(d.r, columns)
	if at := t.StageColumn(); slices.Contains(columns, at) && d.w.Listed && d.r.IntN(4) == 0 {
		i = at // what is open is asked for more than all else
	}
	if c, phrase, ok := d.staged(t, i); ok {
		return c, phrase, d.divides(t, c)
	}
	return d.comparisonOf(t, i)
}

// comparisonOf compares one column with the value of a row.
func (d *drawer) comparisonOf(t *Table, i int) (Cond, string, bool) {
	c := t.Columns[i]
	if c.Ref != nil { // said by what it names
		c.Kind = Text
	}
	row := pick(d.r, t.Rows)
	v := t.value(row, i, -1)
	if cond, phrase, ok := d.presence(t, i, v); ok {
		return cond, phrase, d.divides(t, cond)
	}
	if v == nil || Show(v) == "" || c.isReach() { // nobody looks for those with an address by that
		return Cond{}, "", false
	}
	if c.Several {
		v = pick(d.r, strings.Split(Show(v), ListMark))
	}
	cond, phrase := Cond{i, -1, Is, v}, put(c.withPhrase(), c.show(v))
	switch {
	case c.Note && c.flagPhrase(v) == "":
		return Cond{}, "", false
	case c.flags(v) && c.Yes != "":
		phrase = c.flagPhrase(v)
	case c.Bool:
		phrase = map[bool]string{true: "that are ", false: "that are not "}[equal(v, int64(1))] + c.caption()
	case c.isStock() && d.r.IntN(2) == 0:
		cond.Value, phrase =
			int64(0), pick(d.r, []string{"that are sold out", "that are out of stock", "of which none is left"})
		if d.r.IntN(2) == 0 {
			cond.Op, phrase =
				Above, pick(d.r, []string{"that are in stock", "that we have in stock", "of which some are left"})
		}
	case c.Ref == nil && c.isClass() && strings.HasPrefix(c.withPhrase(), "that are {v}") && isWord(Show(v)) &&
		d.r.IntN(4) == 0:
		cond.Op, phrase = Not, strings.Replace(phrase, "that are ", "that are not ", 1)
		d.look(t, i)
	case c.Ref == nil && c.isClass() && d.many == "" && isWord(c.noun(v)) && d.r.IntN(5) > 0:
		// "nurses", "electric bikes"
		d.one, d.many = c.nouns(t, c.noun(v))
		d.look(t, i)
		phrase = ""
	case c.Ref == nil && c.isClass() && d.r.IntN(2) == 0: // said as it may not be stored
		d.look(t, i)
	case c.Ref == nil && c.Kind == Text && !c.Several && d.r.IntN(6) == 0: // one of two
		other := t.value(pick(d.r, t.Rows), i, -1)
		if other == nil || equal(other, v) {
			return Cond{}, "", false
		}
		cond.Op, cond.Value = Among, []any{v, other}
		phrase = put(c.withPhrase(), Show(v)+" or "+Show(other))
	case c.Kind == Date && len(Show(v)) > 10: // a moment is said by its day, month or year
		cond, phrase = d.within(c, i, Show(v)[:pick(d.r, []int{4, 7, 10})])
	case c.Kind == Date && strings.Contains(c.morePhrase(), "after {v}") && d.r.IntN(2) == 0: // in a month, or a year
		cond, phrase = d.within(c, i, Show(v)[:pick(d.r, []int{4, 7})])
	case c.Ref != nil && d.r.IntN(2) == 0: // what is referred to is named by a property of it
		return d.byProperty(t, i, row)
	case isOrdered(c) && (c.With == "" || d.r.IntN(2) == 0):
		if d.r.IntN(2) == 0 {
			if cond, phrase, ok := d.bounded(t, i, v); ok {
				return cond, phrase, d.divides(t, cond)
			}
		}
		said := c.show(v)
		if c.Kind == Date {
			said = d.dateText(said)
		}
		cond.Op, phrase = Above, strings.ReplaceAll(c.morePhrase(), "{v}", said)
		if d.r.IntN(2) == 0 {
			cond.Op, phrase = Below, strings.ReplaceAll(c.lessPhrase(), "{v}", said)
		}
	case c.Kind == Text && strings.EqualFold(Show(v), "yes") || strings.EqualFold(Show(v), "no"):
		phrase = fmt.Sprintf("where %s is %s", c.caption(), strings.ToLower(Show(v)))
	}
	if cond.Op == Is && t.hasKinds(i) && !slices.ContainsFunc(t.Rows[:min(len(t.Rows), rowsSeen)],
		func(row []any) bool { return equal(row[i], cond.Value) }) {
		d.look(t, i)
	}
	return cond, phrase, d.divides(t, cond)
}

// rowsSeen is how many rows of a table are looked at first: whoever has not seen a value there looks at which there
// are.
const rowsSeen = 3

// isStock reports whether a number says how many of a thing are there.
func (c Column) isStock() bool {
	return c.Kind == Number &&
		slices.Contains([]string{"stock", "hand", "inventory", "available", "copies", "left"}, lastWord(Words(c.Name)))
}

// within is the condition that a day is in a year, in a month or on a day, of which prefix is the beginning.
func (d *drawer) within(c Column, column int, prefix string) (Cond, string) {
	said := "in " + monthText(prefix)
	if len(prefix) == 10 {
		said = "on " + d.dateText(prefix)
	}
	return Cond{column, -1, Within, prefix}, strings.ReplaceAll(c.morePhrase(), "after {v}", said)
}

// surname is the condition that people have a last name, of names that stand in one column.
func (d *drawer) surname(t *Table, not []int) (Cond, string, bool) {
	if t.Label < 0 || d.w.Cased || d.w.Listed || slices.Contains(not, t.Label) || !t.OfPeople() {
		return Cond{}, "", false
	}
	if label := t.Columns[t.Label]; label.Ref != nil || label.Kind != Text || len(label.Parts) > 0 {
		return Cond{}, "", false
	}
	words := strings.Fields(t.rowLabel(pick(d.r, t.Rows)))
	if len(words) != 2 || len(words[1]) < 4 || !isASCII(words[1]) || strings.ContainsAny(words[1], `%_'`) {
		return Cond{}, "", false
	}
	c := Cond{t.Label, -1, Has, words[1]}
	if slices.ContainsFunc(t.rows([]Cond{c}),
		func(row []any) bool { return !strings.HasSuffix(t.rowLabel(row), " "+words[1]) }) {
		return Cond{}, "", false
	}
	return c, pick(d.r, []string{"called ", "surnamed ", "whose last name is ", "with the surname ",
		"by the name of "}) + words[1], true
}

// put puts a value into a phrase, behind "an" where that is said before it.
func put(phrase, value string) string {
	if before, unit, ok := strings.Cut(phrase, "with {v} "); ok && value == "1" { // "with 1 slot"
		noun, rest, _ := strings.Cut(unit, " ")
		phrase = strings.TrimSpace(before + "with {v} " + singular(noun) + " " + rest)
	}
	if value != "" && strings.ContainsRune("aeiou", rune(value[0])) {
		phrase = strings.ReplaceAll(phrase, " a {v}", " an {v}")
	}
	return strings.ReplaceAll(phrase, "{v}", value)
}

// relative matches the verb of a relative clause about several things.
var relative = regexp.MustCompile(`\b(who|that) ([a-z]+)`)

// ofOne is a phrase for several things as it is said of one: "who work here" is "who works here".
func ofOne(phrase string) string {
	return relative.ReplaceAllStringFunc(phrase, func(clause string) string {
		word, verb, _ := strings.Cut(clause, " ")
		irregular := map[string]string{"are": "is", "have": "has", "do": "does", "were": "was"}
		switch {
		case irregular[verb] != "":
			verb = irregular[verb]
		case !strings.HasSuffix(verb, "ed") &&
			!slices.Contains(strings.Fields("left began went can cannot may must should would"), verb):
			verb = plural(verb)
		}
		return word + " " + verb
	})
}

// flags reports whether a value of the column is yes or no.
func (c Column) flags(v any) bool {
	return c.Bool || v == "yes" || v == "no" || c.Yes != "" && (v == "Y" || v == "N" || v == "true" || v == "false")
}

// flagPhrase is the phrase for yes or for no.
func (c Column) flagPhrase(v any) string {
	if c.show(v) == "yes" {
		return c.Yes
	}
	return c.No
}

// presence is the condition that a column has a value, or has none, where that is said in a phrase of its own: "not
// returned yet". Of a flag the phrases are those of yes and no.
func (d *drawer) presence(t *Table, column int, v any) (cond Cond, phrase string, ok bool) {
	c := t.Columns[column]
	switch {
	case c.No == "" || t.hasFlags(column) || v != nil && d.r.IntN(3) > 0:
		return Cond{}, "", false
	case v != nil && c.Yes != "" && d.r.IntN(2) == 0:
		return Cond{column, -1, Valued, nil}, c.Yes, true
	}
	return Cond{column, -1, Null, nil}, c.No, true
}

// divides reports whether some rows meet a condition and others do not.
func (d *drawer) divides(t *Table, c Cond) bool {
	n := len(t.rows([]Cond{c}))
	return n > 0 && n < len(t.Rows)
}

// byProperty is a condition on what a row refers to, by a property of it: "treated by a doctor in Oslo".
func (d *drawer) byProperty(t *Table, i int, row []any) (Cond, string, bool) {
	c := t.Columns[i]
	ref := c.Ref
	props := ref.properties(func(o Column) bool {
		return o.Ref == nil && !o.isReach() && (o.Kind == Text || o.Label || o.More != "")
	})
	to := ref.byKey(row[i])
	if len(props) == 0 || to == nil {
		return Cond{}, "", false
	}
	k := pick(d.r, props)
	if to[k] == nil {
		return Cond{}, "", false
	}
	cond, said := Cond{i, k, Is, to[k]}, ref.Columns[k].withPhrase()
	if isOrdered(ref.Columns[k]) || ref.Columns[k].Bool {
		cond.Op, said = Above, ref.Columns[k].morePhrase()
	}
	base := strings.Replace(c.withPhrase(), ref.One+" {v}", "{v}", 1) // "in room {v}" is "in {v}" before "a room"
	base = strings.Replace(base, "the {v}", "{v}", 1)
	if ref.Columns[k].flags(to[k]) && ref.Columns[k].Yes != "" {
		cond.Op, said = Is, ref.Columns[k].flagPhrase(to[k])
	}
	if class := ref.Columns[k]; class.isClass() && !class.Several && isWord(class.noun(to[k])) &&
		!ref.isNounOfTwo(k, to[k]) { // "whose head is a nurse"
		one, _ := class.nouns(ref, class.noun(to[k]))
		phrase := strings.ReplaceAll(base, "{v}", article(one))
		return cond, phrase, d.divides(t, cond)
	}
	said = put(said, ref.Columns[k].show(to[k]))
	if who, of := strings.CutSuffix(base, " is {v}"); of && // "whose head is in Cardiology"
		slices.Contains([]string{"in", "from", "aged", "older", "younger"}, firstWord(said)) {
		return cond, who + " is " + said, d.divides(t, cond)
	}
	phrase := strings.ReplaceAll(base, "{v}", article(ref.One)+" "+ofOne(said))
	return cond, phrase, d.divides(t, cond)
}

// nouns are what things of a class are called: staff whose role is nurse are nurses, bikes of the kind electric are
// electric bikes.
func (c Column) nouns(t *Table, value string) (one, many string) {
	last := lastWord(c.Name)
	if c.Noun || slices.Contains([]string{"role", "species", "profession", "job", "position", "occupation"}, last) ||
		last == "kind" && t.One != "item" {
		return value, plural(value)
	}
	return value + " " + t.One, value + " " + t.Many
}

// isClass reports whether a column's values say of what sort a thing is.
func (c Column) isClass() bool {
	return c.Kind == Text && c.Noun || c.Kind == Text &&
		slices.Contains(
			[]string{
				"role",
				"slot",
				"shift",
				"size",
				"grade",
				"style",
				"kind",
				"type",
				"category",
				"species",
				"level",
				"plan",
				"genre",
				"color",
				"colour",
				"status",
				"class",
				"position",
				"job",
				"profession",
				"state",
			},
			lastWord(c.Name),
		)
}

// noun is a value as it is said for the things themselves: "Cellist" is in small letters then.
func (c Column) noun(v any) string {
	if c.Noun {
		return strings.ToLower(Show(v))
	}
	return Show(v)
}

func lastWord(name string) string {
	words := strings.Fields(Words(name))
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// isWord reports whether a value can be said as an adjective or noun.
func isWord(text string) bool {
	return text == strings.ToLower(text) && len(text) > 2 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz- ") == ""
}

// look adds a step that shows the values of a column, once.
func (d *drawer) look(t *Table, column int) {
	if len(d.looked) == 0 {
		d.looked = []Step{{SQL: "SELECT DISTINCT " + Ident(t.Columns[column].Name) + " FROM " + Ident(t.Name)}}
	}
}

func months() []string {
	return []string{
		"January",
		"February",
		"March",
		"April",
		"May",
		"June",
		"July",
		"August",
		"September",
		"October",
		"November",
		"December",
	}
}

// monthText is 2024-05 as "May 2024", and 2024 as it is.
func monthText(prefix string) string {
	if len(prefix) < 7 {
		return prefix
	}
	var n int
	_, _ = fmt.Sscan(strings.TrimPrefix(prefix[5:7], "0"), &n) // two digits
	return months()[(n+11)%12] + " " + prefix[:4]
}

// dateText is a date as people write one, mostly not as it is stored.
func (d *drawer) dateText(date string) string {
	if len(date) != 10 {
		return date
	}
	day := strings.TrimPrefix(date[8:], "0")
	month, year, _ := strings.Cut(monthText(date[:7]), " ")
	switch d.r.IntN(4) {
	case 0:
		return day + " " + month + " " + year
	case 1:
		return month + " " + day + ", " + year
	case 2:
		return "the " + day + ordinal(day) + " of " + month + " " + year
	}
	return date
}

// ordinal is what stands behind a day: 1st, 2nd, 3rd, 11th.
func ordinal(day string) string {
	if len(day) == 2 && day[0] == '1' {
		return "th"
	}
	switch day[len(day)-1] {
	case '1':
		return "st"
	case '2':
		return "nd"
	case '3':
		return "rd"
	}
	return "th"
}

func article(noun string) string {
	you := []string{"uni", "us", "eu", "one"} // as they are spoken
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0])) &&
		!slices.ContainsFunc(you, func(sound string) bool { return strings.HasPrefix(noun, sound) }) {
		return "an " + noun
	}
	return "a " + noun
}
