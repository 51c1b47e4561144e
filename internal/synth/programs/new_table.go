package programs

import (
	"fmt"
	"slices"
	"strings"
)

// idea is something that a person might begin to keep track of: what its rows are called, and the columns besides that
// for the thing that a row is about.
type idea struct {
	name    string
	columns []string
}

func ideas() []idea {
	return []idea{
		{"visitors", []string{"name", "visited_on"}}, {"complaints", []string{"subject", "received_on"}},
		{"reminders", []string{"text", "due_on"}}, {"keys_lent", []string{"borrower", "lent_on"}},
		{"photos", []string{"title", "taken_on"}}, {"phone_calls", []string{"caller", "called_on"}},
		{"checks", []string{"inspector", "checked_on"}}, {"gifts", []string{"description", "given_on"}},
		{"parcels", []string{"sender", "arrived_on"}}, {"ideas", []string{"title", "noted_on"}},
		{"accidents", []string{"description", "happened_on"}}, {"deposits", []string{"payer", "paid_on"}},
	}
}

// newTable has a table made for something that nobody kept track of, and its first row put in.
func (d *drawer) newTable() *Program {
	t := d.table()
	what := pick(d.r, ideas())
	if t == nil || t.Key < 0 || t.Columns[t.Label].Ref != nil || slices.ContainsFunc(d.w.Tables, func(o *Table) bool {
		return strings.EqualFold(o.Name, what.name)
	}) {
		return nil
	}
	row := d.sole(t)
	if row == nil {
		return nil
	}
	about := strings.ReplaceAll(t.One, " ", "_") + "_id"
	text := inventName(d.r, "person")
	if strings.HasPrefix(what.columns[0], "t") || what.columns[0] == "subject" || what.columns[0] == "description" {
		text = pick(d.r, remarks())
	}
	day := fmt.Sprintf("2025-%02d-%02d", 1+d.r.IntN(12), 1+d.r.IntN(28))
	columns := []string{what.columns[0], about, what.columns[1]}
	kind := "TEXT"
	if _, ok := row[t.Key].(int64); ok {
		kind = "INTEGER"
	}
	made := &Table{Name: what.name, One: singular(what.name), Many: what.name, Key: -1, Label: -1}
	for _, c := range columns {
		made.Columns = append(made.Columns, Column{Name: c, Kind: Text})
	}
	slots := d.about(t)
	slots["x"], slots["n"], slots["old"] = t.rowLabel(row), what.name, enumerate(columns)
	slots["given"] = enumerate([]string{
		Words(columns[0]) + " " + text, t.One + " " + t.rowLabel(row), Words(columns[2]) + " " + d.dateText(day)})
	look, _ := d.before(t, []Cond{t.label(row)}, true)
	name := Ident(what.name)
	return &Program{
		pattern: "new_table",
		slots:   slots,
		Made:    made,
		Steps: []Step{
			look,
			{
				SQL: fmt.Sprintf("CREATE TABLE %s (%s TEXT, %s %s, %s TEXT)",
					name, columns[0], Ident(about), kind, columns[2]),
				Writes: true,
			},
			{
				SQL: fmt.Sprintf("INSERT INTO %s (%s, %s, %s) VALUES (%s, %s, %s)",
					name, columns[0], Ident(about), columns[2], Literal(text), Literal(row[t.Key]), Literal(day)),
				Writes: true,
			},
		},
		Tables: []*Table{t},
	}
}
