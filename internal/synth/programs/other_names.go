package programs

import (
	"slices"
	"strings"
	"sync"

	"hone/internal/synth/written"
)

// otherNames is the file of words that people may take a column or a table for. A group begins with the word that the
// others stand for.
type otherNames struct {
	Alike         []string
	Kinds, Tables map[string][]string
}

var otherWords = sync.OnceValue(func() (n otherNames) {
	written.Words("other_names", &n)
	return n
})

// OtherNames are other words for a column: none has three letters in a row that the column's own name has.
func (t *Table) OtherNames(i int) []string {
	c, kind := t.Columns[i], "text"
	switch {
	case i == t.Key:
		kind = "key"
	case c.Ref != nil && c.Ref.OfPeople():
		kind = "person"
	case c.Ref != nil:
		kind = "thing"
	case c.Bool || t.hasFlags(i):
		kind = "flag"
	case c.Kind == Date:
		kind = "date"
	case c.Kind == Number:
		kind = "number"
	case t.hasKinds(i):
		kind = "class"
	}
	var words []string
	for _, group := range otherWords().Alike {
		if own := strings.Fields(group); slices.Contains(strings.Fields(Words(c.Name)), own[0]) {
			words = append(words, own[1:]...)
		}
	}
	if len(words) == 0 {
		words = slices.Clone(otherWords().Kinds[kind])
	}
	return slices.DeleteFunc(words, func(w string) bool { return sharesLetters(w, c.Name) || Ident(w) != w })
}

// OtherTables are other words for a table, as OtherNames are for a column.
func (t *Table) OtherTables() []string {
	kind := "thing"
	switch {
	case t.OfPeople():
		kind = "person"
	case t.isNumbered() || slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Kind == Date }):
		kind = "event"
	}
	return slices.DeleteFunc(slices.Clone(otherWords().Tables[kind]),
		func(w string) bool { return sharesLetters(w, t.Name) })
}

// sharesLetters reports whether two names have three letters in a row in common, or one is all in the other.
func sharesLetters(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	for i := 0; i+3 <= len(a); i++ {
		if strings.Contains(b, a[i:i+3]) {
			return true
		}
	}
	return strings.Contains(b, a)
}

// Shown are the columns of a table as its rows show them: "id, name and price".
func (t *Table) Shown() string {
	var list []string
	for _, c := range t.Columns {
		if len(c.Parts) == 0 {
			list = append(list, c.Name)
		}
	}
	return enumerate(list)
}
