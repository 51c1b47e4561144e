package folders

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// changeOf draws a change of the tables that stand in files, and rewrites the lines that it changes. What the program's
// statements come to, a database in memory computes.
func (d *drawer) changeOf(kind string) func() *programs.Program {
	return func() *programs.Program {
		w := *d.f.tables
		w.NoKeys = true
		w.Tables = slices.DeleteFunc(slices.Clone(w.Tables), func(t *programs.Table) bool {
			return d.f.of(t).rows == nil
		})
		if len(w.Tables) == 0 {
			return nil
		}
		p := programs.Draw(d.r, &w, kind)
		if p == nil || p.Made != nil || !slices.Contains([]string{"", "left"}, p.Answer.Form) ||
			!p.Changes() && p.Answer.Form == "" || len(p.Tables) == 0 {
			return nil
		}
		if t := p.NewRowTable(); t != nil && !t.OfPeople() && !strings.ContainsAny(p.Slot("x"), " -0123456789") {
			return nil // a name that is invented is none of a day or of a thing to buy
		}
		after, err := w.After(p)
		if err != nil {
			return nil
		}
		steps := p.Steps
		p.Steps, p.Result = nil, nil
		d.open(p)
		looked, working := len(d.ops), []string(nil)
		for i, t := range w.Tables {
			doc := d.f.of(t)
			was := doc.lines()
			now, ok := doc.withRows(after[i])
			if !ok || !slices.Equal(was, now) && !slices.Contains(p.Tables, t) {
				return nil
			}
			if !slices.Equal(was, now) {
				d.rewrite(doc, was, now)
				working = append(working, doc.newRowWhy(after[i])...)
			}
		}
		writes := slices.ContainsFunc(steps, func(s programs.Step) bool { return s.Writes })
		if changes := slices.ContainsFunc(d.ops, Op.Changes); changes != writes {
			return nil
		}
		if looked < len(d.ops) {
			if through := p.TakeWorking(); strings.Contains(through, "\n") || // of one row its line says it
				strings.HasPrefix(through, "Condition: ") {
				working = append(working, through)
			}
			d.ops[looked].Why = strings.Join(append(working, d.ops[looked].Why), "\n")
		}
		doc := d.f.of(p.Tables[0])
		if at := slices.IndexFunc(doc.lines(), wordIn(p.Slot("x")).MatchString); at >= 0 && p.Slot("x") != "" &&
			p.Answer.Form == "left" && p.Working() == "" {
			p.Work(doc.quote(at))
		}
		return p
	}
}

// newRowWhy says what each column of a new row has; nil where there is none.
func (d *Doc) newRowWhy(after programs.NumberedRows) []string {
	values, is := after[int64(len(d.rows))+1]
	if !is {
		return nil
	}
	var cells []string
	for _, c := range d.Table.Columns {
		if len(c.Parts) == 0 {
			cells = append(cells, c.Name+": "+cmp.Or(programs.Show(values[len(cells)]), "nothing"))
		}
	}
	return []string{path.Base(d.Path) + " has these columns, and the new row has in them: " + strings.Join(cells, ", ")}
}

// withRows are the lines of a file whose table has other rows; ok is false where they cannot be written so.
func (d *Doc) withRows(after programs.NumberedRows) (lines []string, ok bool) {
	var columns []int // that are stored
	for i, c := range d.Table.Columns {
		if len(c.Parts) == 0 {
			columns = append(columns, i)
		}
	}
	at := map[int]int{} // the row of a line
	for i, line := range d.rows {
		at[line] = i
	}
	for i, line := range d.lines() {
		row, is := at[i]
		if !is {
			lines = append(lines, line)
			continue
		}
		values, kept := after[int64(row)+1]
		if !kept {
			if d.mark == "" && row == len(d.rows)-1 { // the comma before it would stay
				return nil, false
			}
			continue
		}
		for k, column := range columns {
			if old := d.Table.Rows[row][column]; !programs.Equal(old, values[k]) {
				if line, ok = d.withCell(line, column, old, values[k]); !ok {
					return nil, false
				}
			}
		}
		lines = append(lines, line)
	}
	for n := int64(len(d.rows)) + 1; ; n++ {
		values, is := after[n]
		if !is {
			return lines, true
		}
		var cells []string
		for _, v := range values {
			cells = append(cells, programs.Show(v))
		}
		line, ok := d.newRow(cells)
		if !ok {
			return nil, false
		}
		last := d.rows[len(d.rows)-1] + len(lines) - len(d.lines())
		lines = slices.Insert(lines, last+1, line)
	}
}
