// Package programs makes tasks backwards: it draws a program (a question or a change) over tables of things that are
// there, computes what it comes to, and words a request that names things by what they are. It calls no server: whoever
// plays a program does, and compares.
//
// Drawing programs over the live state and wording them afterwards is the way of PROVE (arXiv 2606.03892) and of
// Spider's template questions (Yu et al. 2018); the kinds are those that people ask of a store of records.
package programs

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// Kind says how the values of a column are spoken of.
type Kind string

// The kinds.
const (
	Text   Kind = "text"
	Number Kind = "number"
	Date   Kind = "date" // a text, YYYY-MM-DD, or with HH:MM behind it
	Time   Kind = "time" // a text, HH:MM
)

// Column is one property of a table's things. The phrases stand behind the plural of the things, with {v} for a value:
// "patients" + "older than {v}". Those that are empty are made from the name.
type Column struct {
	// of a name that stands in several columns, as first_name and last_name: these; it is not stored itself
	Parts   []int
	Bool    bool   // 1 and 0 are yes and no
	Cents   bool   // stored in hundredths of what is said
	Label   bool   // a number that names and measures nothing, as a room
	Needed  bool   // the store refuses a row without a value
	Note    bool   // a note that is there or not, as 1 and 0: nobody sets it to a value
	Later   bool   // a new row is not given a value
	Noun    bool   // the values are nouns for the things: rows of the section "cello" are cellos
	Says    string // what people call it, where that is not its name
	Yes, No string // phrases for yes and no, or for a value and for none, as "not returned yet"
	Name    string
	Kind    Kind
	Several bool   // a value is several texts, with ListMark between them
	Ref     *Table // whose things the values name by their key; nil: none
	With    string // for equality
	More    string // for a greater value
	Less    string // for a smaller one
	Most    string // superlative for the greatest, as "oldest"
	Least   string // for the smallest
	Asks    string // the question for what Ref names, with {x} for the thing, as "Who treats {x}?"
	// quote is what a row says of it, word by word, for workings; nil: its value
	quote func(row []any) string
}

// Table is things of one kind. A row holds a value for each column: nil, a string, an int64 or a float64.
type Table struct {
	Name      string
	One, Many string // nouns
	Columns   []Column
	Rows      [][]any
	Key       int // the column by which other tables refer to a row; -1: none does
	Label     int // the column by which people name a row; -1: none
	// Link says what a row states of the two things that its first two references name, as "plays"; "": it states more.
	Link string
}

// World is a state: tables that may refer to each other.
type World struct {
	Name   string
	Tables []*Table
	// NoKeys says that the store gives a new row no key of its own, so that whoever adds one takes the next.
	NoKeys bool
	// Cased says that LIKE tells small letters from capitals, so that nobody's name is typed in small ones.
	Cased bool
	// Strict says that the store checks each reference while a row comes, and keeps a REAL with few digits, as DuckDB.
	Strict bool
	// OwnKeys says that the store gives a new row its key, also where that is a text.
	OwnKeys bool
	// Listed says that the tables are read as a whole, and not asked with conditions.
	Listed bool
	// Noted says that the rows are things of a graph: whoever looks for one that is not there looks at all of its kind.
	Noted bool
}

// Words is a name as it is said: "doctor_id" is "doctor", "unitPrice" is "unit price".
func Words(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case r == '_' || r == '-' || r == '.' || r == ' ':
			b.WriteByte(' ')
		case r >= 'A' && r <= 'Z' && lower:
			b.WriteByte(' ')
			b.WriteRune(r + 'a' - 'A')
		case r >= 'A' && r <= 'Z':
			b.WriteRune(r + 'a' - 'A')
		default:
			b.WriteRune(r)
		}
		lower = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	if cut := strings.TrimSuffix(text, " id"); cut != "" {
		text = cut
	}
	return text
}

// Singular and plural of an English noun, as far as a rule has them.
func singular(noun string) string {
	switch {
	case noun == "people" || noun == "persons":
		return "person"
	case slices.Contains(uncountedNouns, noun):
		return noun
	case strings.HasSuffix(noun, "ies") && len(noun) > 4:
		return noun[:len(noun)-3] + "y"
	case endsIn(noun, "shelves", "loaves", "scarves", "wolves"):
		return noun[:len(noun)-3] + "f"
	case endsIn(noun, "sses", "xes", "ches", "shes"):
		return noun[:len(noun)-2]
	case len(noun) > 1 && endsIn(noun, "s") && !endsIn(noun, "ss", "us", "is"):
		return noun[:len(noun)-1]
	}
	return noun
}

func endsIn(word string, endings ...string) bool {
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(word, e) })
}

// uncountedNouns are nouns with one form.
var uncountedNouns = strings.Fields(
	"aircraft staff stock equipment furniture luggage sheep fish series species crew personnel")

func plural(noun string) string {
	switch {
	case noun == "person":
		return "people"
	case strings.HasSuffix(noun, "child"):
		return noun + "ren"
	case strings.HasSuffix(noun, "y") && len(noun) > 1 && !strings.ContainsRune("aeiou", rune(noun[len(noun)-2])):
		return noun[:len(noun)-1] + "ies"
	case endsIn(noun, "shelf", "loaf", "scarf", "wolf"):
		return noun[:len(noun)-1] + "ves"
	case endsIn(noun, "s", "x", "ch", "sh"):
		return noun + "es"
	case slices.Contains(uncountedNouns, noun):
		return noun
	}
	return noun + "s"
}

// Nouns are the singular and plural of what a table's name says there is in it.
func Nouns(table string) (one, many string) {
	words := strings.Fields(Words(table))
	if len(words) == 0 {
		return "entry", "entries"
	}
	for len(words) > 1 && slices.Contains([]string{"tbl", "table", "t", "list", "data", "records"}, words[0]) {
		words = words[1:]
	}
	for len(words) > 1 && slices.Contains([]string{"tbl", "table", "list", "data", "records"}, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	last := len(words) - 1
	one = singular(words[last])
	many = plural(one)
	if one == "inventory" || one == "stock" { // what is in it
		many, one = one+" items", one+" item"
	}
	if one == "staff" || one == "crew" || one == "personnel" {
		one += " member"
	}
	before := strings.Join(words[:last], " ")
	return strings.TrimSpace(before + " " + one), strings.TrimSpace(before + " " + many)
}

// rowLabel is how people call a row: its label, or where that refers to another table, that one's.
func (t *Table) rowLabel(row []any) string {
	if t.Label < 0 {
		return ""
	}
	return t.show(t.Label, row)
}

// nameInRequest is how people call a row in a request: by its name, or where that is a number, by the noun and the
// number.
func (t *Table) nameInRequest(row []any) string {
	name := t.rowLabel(row)
	switch {
	case name != "" && strings.Trim(name, "0123456789") == "":
		return t.One + " " + name
	case t.describes(): // a fuel pump
		return "the " + name
	}
	return name
}

// describes reports whether the names say what the things are, in small letters, beside a code of their own.
func (t *Table) describes() bool {
	return t.Label >= 0 && t.Key >= 0 && t.Label != t.Key && t.Columns[t.Key].Kind == Text &&
		t.Columns[t.Label].Kind == Text && !slices.ContainsFunc(t.Rows,
		func(row []any) bool { return Show(row[t.Label]) != strings.ToLower(Show(row[t.Label])) })
}

// show is a value as people say it: of a reference the label of what it names.
func (t *Table) show(column int, row []any) string {
	c := t.Columns[column]
	if c.Ref == nil {
		return c.show(row[column])
	}
	if to := c.Ref.byKey(row[column]); to != nil {
		return c.Ref.rowLabel(to)
	}
	return ""
}

// show is a value of the column as people say it.
func (c Column) show(v any) string {
	switch {
	case c.Bool && v != nil:
		return map[bool]string{true: "yes", false: "no"}[equal(v, int64(1))]
	case c.Yes != "" && (v == "Y" || v == "true"):
		return "yes"
	case c.Yes != "" && (v == "N" || v == "false"):
		return "no"
	}
	return Show(c.units(v))
}

// units is a number of the column in the units that people say: 1250 cents are 12.5.
func (c Column) units(v any) any {
	if x, ok := asFloat(v); ok && c.Cents {
		return x / 100
	}
	return v
}

// caption is what people call the column.
func (c Column) caption() string {
	if c.Says != "" {
		return c.Says
	}
	return Words(c.Name)
}

func (t *Table) byKey(key any) []any {
	if t.Key < 0 || key == nil {
		return nil
	}
	for _, row := range t.Rows {
		if row[t.Key] == key {
			return row
		}
	}
	return nil
}

// Show is a value in digits or letters; "" for none.
func Show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return fmt.Sprint(v)
	case float64:
		return trimFloat(v)
	}
	return fmt.Sprint(v)
}

func trimFloat(v float64) string {
	text := fmt.Sprintf("%.2f", v)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// less orders two values of one kind; nil is before all.
func less(a, b any) bool {
	x, isX := asFloat(a)
	y, isY := asFloat(b)
	if isX && isY {
		return x < y
	}
	return Show(a) < Show(b)
}

func equal(a, b any) bool {
	x, isX := asFloat(a)
	y, isY := asFloat(b)
	if isX && isY {
		return x == y
	}
	return isX == isY && Show(a) == Show(b) && (a == nil) == (b == nil)
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// withPhrase is what stands behind the plural where a column has a value.
func (c Column) withPhrase() string {
	if c.With != "" {
		return c.With
	}
	words := c.caption()
	if c.Several {
		return `for which "{v}" is noted`
	}
	has := func(list ...string) bool {
		return slices.ContainsFunc(strings.Fields(words), func(w string) bool { return slices.Contains(list, w) })
	}
	switch {
	case c.Ref != nil:
		return "of {v}"
	case has("city", "town", "location", "place", "room", "country", "building", "region",
		"warehouse", "department", "section"):
		return "in {v}"
	case has("status", "state", "condition", "color", "colour"):
		return "that are {v}"
	case has("author", "artist", "maker", "brand", "manufacturer", "publisher"):
		return "by {v}"
	case has("supplier", "source", "origin", "sender"):
		return "from {v}"
	case has("type", "kind", "category", "genre", "species", "breed"):
		return "of the " + words + " {v}"
	case has("owner", "customer", "client", "assignee", "member"):
		return "of {v}"
	}
	return whose(words, "{v}")
}

// whose says what things have where no words of a column do: "whose floor is {v}", "whose allergies are {v}".
func whose(caption, value string) string {
	return "whose " + caption + map[bool]string{true: " are ", false: " is "}[isPlural(caption)] + value
}

// isPlural reports whether a caption speaks of several: "allergies", "hours per week", "hours flown".
func isPlural(caption string) bool {
	for _, behind := range []string{" per ", " of ", " in ", " flown", " worked", " driven"} {
		caption, _, _ = strings.Cut(caption, behind)
	}
	return endsIn(caption, "s") && !endsIn(caption, "ss", "us", "is", "series")
}

// together are two phrases that stand behind a plural: "in Oslo whose floor is 2", "that are late and whose day is 3".
func together(first, second string) string {
	if startsRelative(first) && !startsRelative(second) {
		first, second = second, first
	}
	if startsRelative(second) && !relatives.MatchString(first) {
		return first + " " + second
	}
	return first + " and " + second
}

var relatives = regexp.MustCompile(`\b(?:that|who|whose|which|with)\b`)

func (c Column) morePhrase() string {
	switch {
	case c.More != "":
		return c.More
	case c.Kind == Date:
		return whose(c.caption(), "after {v}")
	}
	return whose(c.caption(), "above {v}")
}

func (c Column) lessPhrase() string {
	switch {
	case c.Less != "":
		return c.Less
	case c.Kind == Date:
		return whose(c.caption(), "before {v}")
	}
	return whose(c.caption(), "below {v}")
}
