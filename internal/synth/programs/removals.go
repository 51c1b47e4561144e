package programs

import "slices"

func (d *drawer) remove() *Program {
	t := d.table()
	if t == nil || t.Columns[t.Label].Ref != nil {
		return nil
	}
	row := d.sole(t)
	if row == nil || d.w.refers(t, row) {
		return nil
	}
	slots := d.about(t)
	said, where := d.naming(t, row)
	slots["x"] = said
	p := &Program{
		pattern: "remove",
		slots:   slots,
		Steps: d.changing(t, where, true, func(where []Cond) Step {
			return Step{SQL: "DELETE FROM " + Ident(t.Name) + filter(t, where), Writes: true}
		}),
		Tables: tablesOf(t, where),
	}
	return d.reportOn(p, t, [][]any{row})
}

// refers reports whether any row refers to that row of a table.
func (w *World) refers(t *Table, row []any) bool {
	for _, from := range w.Tables {
		for _, i := range from.references(t) {
			if slices.ContainsFunc(from.Rows, func(o []any) bool { return o[i] != nil && equal(o[i], row[t.Key]) }) {
				return true
			}
		}
	}
	return false
}

func (d *drawer) removeAll() *Program {
	t, where, phrase := d.overFilter()
	if t == nil {
		return nil
	}
	rows := t.rows(where)
	referred := slices.ContainsFunc(d.w.Tables, func(o *Table) bool { return len(o.references(t)) > 0 })
	if referred || len(rows) == 0 || len(rows) > mostChanged {
		return nil
	}
	slots := d.about(t)
	slots["filter"] = phrase
	p := &Program{
		pattern: "remove_all",
		slots:   slots,
		Steps: d.changing(t, where, false, func(where []Cond) Step {
			return Step{SQL: "DELETE FROM " + Ident(t.Name) + filter(t, where), Writes: true}
		}),
		Tables: (Query{Table: t, Where: where, Agg: "COUNT"}).tables(),
	}
	return d.reportOn(p, t, rows)
}
