package programs

import (
	"database/sql"
	"fmt"
	"strings"

	_ "modernc.org/sqlite" // computes what statements come to
)

// NumberedRows are the rows of a table behind their numbers, from 1: those that were there have theirs.
type NumberedRows map[int64][]any

// After makes the steps of a program on the tables of a world, and returns what they then hold.
func (w *World) After(p *Program) (after []NumberedRows, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close() // nothing is kept
	db.SetMaxOpenConns(1)
	create := w.Create()
	for i, t := range w.Tables { // without types and keys, so that values and rows stay as they are
		var columns []string
		for _, c := range t.Columns {
			if len(c.Parts) == 0 {
				columns = append(columns, Ident(c.Name))
			}
		}
		create[i] = fmt.Sprintf("CREATE TABLE %s (%s)", Ident(t.Name), strings.Join(columns, ", "))
	}
	for _, statement := range create {
		if _, err := db.Exec(statement); err != nil {
			return nil, err
		}
	}
	for _, s := range p.Steps {
		if s.Writes {
			if _, err := db.Exec(s.SQL); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range w.Tables {
		rows, err := readRows(db, t)
		if err != nil {
			return nil, err
		}
		after = append(after, rows)
	}
	return after, nil
}

func readRows(db *sql.DB, t *Table) (NumberedRows, error) {
	rows, err := db.Query("SELECT rowid, * FROM " + Ident(t.Name))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	list := NumberedRows{}
	for rows.Next() {
		values := make([]any, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		list[values[0].(int64)] = values[1:] // as SQLite numbers rows
	}
	return list, rows.Err()
}
