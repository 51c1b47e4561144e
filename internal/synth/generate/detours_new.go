package generate

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// wrongPart looks for a whole name in one of the two columns that have its parts, and at times in the other one then.
func (db *sqlServer) wrongPart(r *rand.Rand, p *programs.Program) *detour {
	for i, s := range p.Steps {
		for _, t := range p.Tables {
			if t.Label < 0 || len(t.Columns[t.Label].Parts) != 2 || s.Writes {
				continue
			}
			first := programs.Ident(t.Columns[t.Columns[t.Label].Parts[0]].Name)
			second := programs.Ident(t.Columns[t.Columns[t.Label].Parts[1]].Name)
			m := regexp.MustCompile(regexp.QuoteMeta(first) + ` = '([^']+)' AND (?:\S+\.)?` + regexp.QuoteMeta(second) +
				` = '([^']+)'`).FindStringSubmatch(s.SQL)
			if m == nil {
				continue
			}
			d := &detour{step: i, why: fmt.Sprintf("The name stands in two columns, %s and %s.", first, second)}
			columns := []string{first, second}
			for _, column := range columns[:1+r.IntN(2)] {
				d.calls = append(d.calls, db.failing(fmt.Sprintf("SELECT * FROM %s WHERE %s LIKE '%%%s %s%%'",
					programs.Ident(t.Name), column, m[1], m[2]), slipEmpty, false))
			}
			return d
		}
	}
	return nil
}

var ofTable = regexp.MustCompile(`^(UPDATE |SELECT [^*(]+ FROM )(\S+)( SET (\S+) = | WHERE ).*$`)

// wrongHome takes a column for one of another table, which the server refuses. Of neither the columns were read before:
// those of the right one are then.
func (db *sqlServer) wrongHome(r *rand.Rand, w *programs.World, p *programs.Program) *detour {
	for i, s := range p.Steps {
		m := ofTable.FindStringSubmatch(s.SQL)
		if m == nil || strings.Contains(s.SQL, " JOIN ") {
			continue
		}
		home := slices.IndexFunc(w.Tables, func(t *programs.Table) bool { return programs.Ident(t.Name) == m[2] })
		column := m[4]
		if !s.Writes {
			column = strings.TrimSuffix(strings.TrimPrefix(m[1], "SELECT "), " FROM ")
		}
		for _, at := range r.Perm(len(w.Tables)) {
			o := w.Tables[at]
			if home < 0 || at == home || strings.ContainsAny(column, ", (.") ||
				slices.ContainsFunc(p.Steps, func(s programs.Step) bool { return reads(s.SQL, o) }) ||
				slices.ContainsFunc(o.Columns, func(c programs.Column) bool {
					return strings.EqualFold(programs.Ident(c.Name), column)
				}) {
				continue
			}
			t := w.Tables[home]
			look, knows := db.look(r, t)
			_, also := db.look(r, o)
			look.Why = fmt.Sprintf("%s has no column %s. I look at %s.", o.Name, column, t.Name)
			look.Shows = strings.Trim(column, `"`)
			sql := m[1] + programs.Ident(o.Name) + strings.TrimPrefix(s.SQL, m[1]+m[2])
			return &detour{i, []Call{db.failing(sql, slipRefused, s.Writes), look},
				fmt.Sprintf("%s has %s: %s is one of them.", t.Name, t.Shown(), column), "",
				func(x Call) bool { return knows(x) || also(x) }}
		}
	}
	return nil
}

// noSuchColumn asks for a property that nothing records, by the name that it might have. What is recorded is looked at
// then, and that it is not there is the answer.
func (db *sqlServer) noSuchColumn(r *rand.Rand, p *programs.Program) *detour {
	asked, step := p, 0
	if then := p.Then(); then != nil {
		asked, step = then, len(p.Steps)-len(then.Steps)
	}
	guess := strings.ReplaceAll(asked.Unrecorded(), " ", "_")
	if guess == "" || programs.Ident(guess) != guess || hasColumn(asked.Tables[0], guess) {
		return nil
	}
	t := asked.Tables[0]
	why := fmt.Sprintf("There is no column %s. I look at all that is recorded.", guess)
	look, knows := db.look(r, t)
	if len(asked.Steps) == 0 {
		look.Why = why
		return &detour{step, []Call{db.failing(
			fmt.Sprintf("SELECT %s FROM %s", guess, programs.Ident(t.Name)), slipRefused, false), look}, "", "", knows}
	}
	wrong := strings.Replace(asked.Steps[0].SQL, "SELECT * ", "SELECT "+guess+" ", 1)
	return &detour{step, []Call{db.failing(wrong, slipRefused, false)}, why, "", knows}
}

var oneTable = regexp.MustCompile(`^(SELECT .*? FROM (\w+))(?:( WHERE )(.*)|(?: (?:ORDER|GROUP|LIMIT) .*)?)$`)

// nounTested takes the noun of a table for a condition on its rows, which none of them has to meet: it is left out.
func (db *sqlServer) nounTested(r *rand.Rand, p *programs.Program) *detour {
	for i, s := range p.Steps {
		m := oneTable.FindStringSubmatch(s.SQL)
		if m == nil || s.Writes || strings.Contains(s.SQL, " OR ") || strings.HasPrefix(s.SQL, "SELECT DISTINCT ") ||
			strings.Contains(m[1], " JOIN ") || strings.Count(m[1], " FROM ") > 1 {
			continue
		}
		at := slices.IndexFunc(p.Tables, func(t *programs.Table) bool { return t.Name == m[2] })
		if at < 0 {
			continue
		}
		t := p.Tables[at]
		column := pick(r, []string{"type", "kind", "category", "class_name", "sort"})
		values, way := []string(nil), slipRefused
		for _, k := range r.Perm(len(t.Columns)) { // one that is there finds nothing
			if name := t.Columns[k].Name; len(t.Kinds(k)) > 0 && programs.Ident(name) == name &&
				!strings.Contains(s.SQL, name) && r.IntN(3) == 0 {
				column, values, way = name, t.Kinds(k), slipEmpty
			}
		}
		if way == slipRefused && hasColumn(t, column) || slices.Contains(values, t.One) {
			continue
		}
		test := " WHERE " + column + " = " + programs.Literal(t.One)
		if m[3] != "" {
			test += " AND "
		}
		wrong := db.failing(m[1]+test+strings.TrimPrefix(s.SQL, m[1]+m[3]), way, false)
		if way == slipEmpty {
			look := db.read.call(fmt.Sprintf("SELECT DISTINCT %s FROM %s", column, m[2]))
			look.Why = fmt.Sprintf("It finds nothing. I look at what stands in %s.", column)
			look.Lacks, look.Shows = t.One, values[0]
			return &detour{i, []Call{wrong, look}, fmt.Sprintf("%s has %s, and no %s: each row of %s is one. "+
				"I leave this condition out.", column, strings.Join(values, ", "), t.One, t.Name), "", nil}
		}
		look, knows := db.look(r, t)
		look.Why = fmt.Sprintf("There is no column %s. I look at what %s has.", column, t.Name)
		return &detour{i, []Call{wrong, look}, fmt.Sprintf("%s has %s. No column says %s, as each row is one. "+
			"I leave this condition out.", t.Name, t.Shown(), t.One), "", knows}
	}
	return nil
}
