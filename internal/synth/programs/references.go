package programs

import (
	"slices"
	"strings"
)

// Relate finds the columns of tables that name rows of others, by their names and values: patient_id, patient, or
// head_id where its values are keys of one other table.
func Relate(tables []*Table) {
	for _, t := range tables {
		for i := range t.Columns {
			if i != t.Key && i != t.Label && len(t.Columns[i].Parts) == 0 {
				t.Columns[i].Ref = t.reference(i, tables)
			}
		}
	}
}

// reference is the table whose rows a column's values name; nil where they name none.
func (t *Table) reference(i int, tables []*Table) *Table {
	words := strings.Fields(Words(t.Columns[i].Name))
	coded := isCode(words, t.Columns[i].Name)
	for len(words) > 1 && slices.Contains(marks(), words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	said := strings.Join(words, " ")
	counted := t.Columns[i].Kind == Number && !coded && endsIn(said, "s") // 3 rooms are no room 3
	var fits []*Table                                                     // all of whose keys the values are
	for _, o := range tables {
		column := o.Key
		alike := strings.HasSuffix(" "+said, " "+strings.ToLower(o.One)) || said == Words(o.Name) && !counted ||
			o.Key >= 0 && o != t && strings.EqualFold(t.Columns[i].Name, o.Columns[o.Key].Name)
		if o.Label < 0 || o == t && !coded {
			continue
		}
		if alike && !t.within(i, o, column) { // by a code that is no key: mechanic 'SIN'
			column = slices.IndexFunc(o.Columns, func(c Column) bool {
				return isCode(strings.Fields(Words(c.Name)), c.Name)
			})
		}
		if !t.within(i, o, column) || column != o.Key && slices.ContainsFunc(tables, func(x *Table) bool {
			return len(x.references(o)) > 0 // by its key
		}) {
			continue
		}
		if alike {
			o.Key = column
			return o
		}
		fits = append(fits, o)
	}
	if !coded && t.Columns[i].Kind == Text {
		if called := t.calledBy(i, fits); len(called) == 1 {
			return called[0]
		}
	}
	// Table 3 is no row 3 of another table.
	if coded && len(fits) == 1 && len(t.distinct(i)) > 2 &&
		(t.Columns[i].Kind == Text || endsIn(strings.ToLower(t.Columns[i].Name), "id", "by")) {
		return fits[0]
	}
	return nil
}

// calledBy are the tables whose things a column calls by their whole names: persons, mostly.
func (t *Table) calledBy(i int, fits []*Table) []*Table {
	return slices.DeleteFunc(slices.Clone(fits), func(o *Table) bool {
		return o.Key != o.Label || len(t.distinct(i)) < 3 || slices.ContainsFunc(t.Rows, func(row []any) bool {
			return row[i] != nil && !strings.Contains(Show(row[i]), " ")
		})
	})
}

// marks are the words that stand behind what a column of keys names.
func marks() []string { return []string{"id", "no", "nr", "num", "code", "number", "key"} }

// within reports whether all values of a column are values of a column of another table that tells its rows apart.
func (t *Table) within(i int, o *Table, column int) bool {
	if column < 0 || !o.unique(column) {
		return false
	}
	keys := o.distinct(column)
	values := t.distinct(i)
	for v := range values {
		if !keys[v] {
			return false
		}
	}
	return len(values) > 0
}

// distinct are the values of a column.
func (t *Table) distinct(i int) map[any]bool {
	seen := map[any]bool{}
	for _, row := range t.Rows {
		if row[i] != nil {
			seen[row[i]] = true
		}
	}
	return seen
}

// Names reports whether the values of a column are keys of another table's things.
func (t *Table) Names(column int, o *Table) bool { return o != t && t.within(column, o, o.Key) }

// Without is a table without some of its columns, which are neither its key nor its label.
func (t *Table) Without(drop func(column int) bool) *Table {
	o := *t
	o.Columns, o.Rows = nil, make([][]any, len(t.Rows))
	for i, c := range t.Columns {
		if drop(i) {
			continue
		}
		switch i {
		case t.Key:
			o.Key = len(o.Columns)
		case t.Label:
			o.Label = len(o.Columns)
		}
		o.Columns = append(o.Columns, c)
		for k, row := range t.Rows {
			o.Rows[k] = append(o.Rows[k], row[i])
		}
	}
	return &o
}
