package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
)

// longestCode bounds a key that people say: a UUID is none.
const longestCode = 16

// naming draws how a person names a row, and the conditions that find it: mostly by its whole name, at times by a part
// of it that no other row's name has ("Gus"), or where the name is a code by another property that only this row has
// ("the fuel pump"), or by what it belongs to ("the shift of Ana on 4 July").
func (d *drawer) naming(t *Table, row []any) (said string, where []Cond) {
	if d.plain {
		return d.nameInRequest(t, row), []Cond{t.label(row)}
	}
	if d.w.Listed && len(d.links()) > 0 && d.r.IntN(5) == 0 {
		if said, ok := d.byRelation(t, row); ok {
			return said, []Cond{t.label(row)}
		}
	}
	if d.w.Listed && t.Key == t.Label && d.picked == nil && d.r.IntN(2) == 0 {
		if said, ok := d.byCondition(t, row); ok {
			return said, []Cond{t.label(row)}
		}
	}
	if t.Key >= 0 && t.Key != t.Label && t.Columns[t.Key].Kind == Text && isCodeName(Show(row[t.Key])) &&
		len(Show(row[t.Key])) <= longestCode && d.r.IntN(4) == 0 {
		return Show(row[t.Key]), []Cond{{t.Key, -1, Is, row[t.Key]}}
	}
	if isCodeName(t.rowLabel(row)) && (d.r.IntN(2) == 0 || t.isNumbered() && d.r.IntN(2) == 0) {
		if said, where, ok := d.describe(t, row); ok {
			return said, where
		}
	}
	if i := t.maker(row); i >= 0 && !d.w.Listed && d.r.IntN(3) == 0 {
		return Show(row[i]) + " " + t.rowLabel(row), []Cond{t.label(row)}
	}
	if d.r.IntN(3) == 0 {
		if said, where, ok := d.otherName(t, row); ok {
			return said, []Cond{where}
		}
	}
	return d.nameInRequest(t, row), []Cond{t.label(row)}
}

// maker is the column of who makes a thing, which people say before its name: "Volvo V60"; -1: none.
func (t *Table) maker(row []any) int {
	name := t.rowLabel(row)
	return slices.IndexFunc(t.Columns, func(c Column) bool {
		made := Show(row[t.at(c)])
		return slices.Contains([]string{"brand", "make", "maker", "manufacturer"}, Words(c.Name)) && c.Kind == Text &&
			c.Ref == nil && made != "" && !isCodeName(name) && !t.describes() && sayable(made) && !mentions(made)(name)
	})
}

// byCondition names a row of what is read as a whole by what is noted of it alone: "the hotel that has a pool". Whoever
// reads the request finds which it is by going through all of the kind.
func (d *drawer) byCondition(t *Table, row []any) (said string, ok bool) {
	other := &drawer{r: d.r, w: d.w}
	said, where, ok := other.describe(t, row)
	if !ok || slices.ContainsFunc(where, func(c Cond) bool {
		return c.Of >= 0 || c.Column == t.Label || t.Columns[c.Column].Ref != nil
	}) {
		return "", false
	}
	if d.means == nil {
		d.means = map[string]string{}
	}
	d.means[strings.TrimPrefix(said, "the ")] = t.rowLabel(row)
	q := d.those(t, where)
	d.picked = &q
	return said, true
}

// Describe names a row by what it alone is, for those that have mere numbers: "the task of Ana Berg that is open".
func Describe(r *rand.Rand, w *World, t *Table, row []any) (said string, ok bool) {
	said, _, ok = (&drawer{r: r, w: w}).describe(t, row)
	return said, ok
}

// describe names a row that has a mere code by one or two conditions that it alone meets.
func (d *drawer) describe(t *Table, row []any) (said string, where []Cond, ok bool) {
	for range tries {
		other := &drawer{r: d.r, w: d.w}
		c, phrase, ok := other.condition(t)
		if !ok || phrase == "" || c.Op == Not || c.Op.isBound() || !c.holds(t, row) ||
			len(where) > 0 && (c.Column == where[0].Column || where[0].Of >= 0) { // else it is said of the room
			continue
		}
		if phrase = ofOne(phrase); said != "" && c.Of < 0 {
			phrase = together(said, phrase)
		} else if said != "" { // what stands behind "a person in Oslo" is said of that person
			phrase = said + " and " + phrase
		}
		said, where = phrase, append(where, c)
		d.looked = append(d.looked, other.looked...)
		switch {
		case len(t.rows(where)) == 1:
			return "the " + t.One + " " + said, where, true
		case len(where) == 2:
			d.looked = nil
			return "", nil, false
		}
	}
	d.looked = nil
	return "", nil, false
}

func (d *drawer) otherName(t *Table, row []any) (said string, where Cond, ok bool) {
	label := t.Columns[t.Label]
	name := t.rowLabel(row)
	switch parts := strings.Fields(name); {
	case label.Ref != nil || name == "":
		return "", Cond{}, false
	case len(label.Parts) == 2:
		i := pick(d.r, label.Parts)
		where = Cond{i, -1, Is, row[i]}
		said = Show(row[i])
	case isCodeName(name):
		texts := t.properties(func(c Column) bool {
			return c.Kind == Text && c.Ref == nil && !c.Several && slices.Contains(whats(), lastWord(c.caption()))
		})
		if len(texts) == 0 {
			return "", Cond{}, false
		}
		i := pick(d.r, texts)
		where, said = Cond{i, -1, Is, row[i]}, Show(row[i])
		if strings.ToLower(said) == said {
			said = "the " + said
		}
	case len(parts) > 1:
		said = pick(d.r, []string{parts[0], parts[len(parts)-1]})
		if d.w.OwnKeys { // of a piece of work the first word says what is done
			said = parts[len(parts)-1]
		}
		where = Cond{t.Label, -1, Has, said}
	default:
		return "", Cond{}, false
	}
	plain := strings.TrimPrefix(said, "the ")
	if len(plain) < 3 || len(plain) > 30 || strings.ContainsAny(plain, `%_'\\`) || !isASCII(plain) || !sayable(plain) ||
		slices.Contains([]string{"the", "and", "for", "from", "with", "von", "van"}, strings.ToLower(plain)) ||
		len(t.rows([]Cond{{where.Column, -1, Has, plain}})) != 1 || d.isElsewhere(t, mentions(plain)) ||
		slices.ContainsFunc(t.Rows, func(o []any) bool { return &o[0] != &row[0] && mentions(plain)(t.rowLabel(o)) }) {
		return "", Cond{}, false
	}
	return said, where, true
}

// whats are what columns are called that say what a thing with a code is.
func whats() []string {
	return []string{"description", "name", "title", "model", "item", "product", "article", "label", "subject"}
}

// mentions matches names that a text is a part of, whatever its capitals.
func mentions(text string) func(name string) bool {
	return func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(text)) }
}

// isCodeName reports whether a name is a number or a code, as KD-800.
func isCodeName(name string) bool {
	return strings.ContainsAny(name, "0123456789") && !strings.Contains(name, " ")
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// before shows the rows that a change is about before it is made. A row that is named is looked for by a part of its
// name, whatever its capitals, and then changed by its key. What a thing with a code is called may stand in any text of
// it.
func (d *drawer) before(t *Table, where []Cond, named bool) (look Step, change []Cond) {
	change = where
	search := filter(t, where)
	if named {
		if c := where[0]; len(where) == 1 && d.inPart(t, c) {
			where = []Cond{{c.Column, -1, Has, c.Value}}
			search = filter(t, where)
			if texts := t.texts(); c.Column != t.Label && len(texts) > 1 && d.once(t, texts, Show(c.Value)) {
				var any []string
				for _, i := range texts {
					any = append(any, t.test(i, "", Has, c.Value))
				}
				search = " WHERE " + strings.Join(any, " OR ")
			}
		}
		if rows := t.rows(where); len(rows) == 1 && t.Key >= 0 {
			change = []Cond{{t.Key, -1, Is, rows[0][t.Key]}}
		}
	}
	return Step{SQL: "SELECT * FROM " + Ident(t.Name) + search}, change
}

// inPart reports whether what a condition names can be looked for by a part of a text, and is then found alone.
func (d *drawer) inPart(t *Table, c Cond) bool {
	text, ok := c.Value.(string)
	return ok && c.Op == Is && !d.w.Cased && len(t.Columns[c.Column].Parts) == 0 && t.Columns[c.Column].Ref == nil &&
		isASCII(text) && !strings.ContainsAny(text, `%_\\`) && len(t.rows([]Cond{{c.Column, -1, Has, text}})) == 1
}

// texts are the columns of texts in which a thing may be described.
func (t *Table) texts() (list []int) {
	for i, c := range t.Columns {
		if c.Kind == Text && c.Ref == nil && !c.Several && len(c.Parts) == 0 {
			list = append(list, i)
		}
	}
	return list
}

// once reports whether one row alone has a text in some columns.
func (d *drawer) once(t *Table, columns []int, text string) bool {
	n := 0
	for _, row := range t.Rows {
		if slices.ContainsFunc(columns, func(i int) bool { return Cond{i, -1, Has, text}.holds(t, row) }) {
			n++
		}
	}
	return n == 1
}

// class narrows a table to the things of a sort that people have a noun for, as nurses of the staff.
func (d *drawer) class(t *Table) (Cond, bool) {
	if d.many != "" {
		return Cond{}, false
	}
	var classes []int
	for i, c := range t.Columns {
		if c.Ref == nil && c.isClass() && !c.Several && slices.ContainsFunc(t.Rows, func(row []any) bool {
			return isWord(c.noun(row[i]))
		}) {
			classes = append(classes, i)
		}
	}
	if len(classes) == 0 {
		return Cond{}, false
	}
	i := pick(d.r, classes)
	v := pick(d.r, t.Rows)[i]
	c := Cond{i, -1, Is, v}
	if v == nil || !isWord(t.Columns[i].noun(v)) || !d.divides(t, c) || !d.isClear(t, c, "") {
		return Cond{}, false
	}
	d.one, d.many = t.Columns[i].nouns(t, t.Columns[i].noun(v))
	d.look(t, i)
	return c, true
}
