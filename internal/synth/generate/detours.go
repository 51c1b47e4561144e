package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// The ways in which a call over a database goes wrong. Each is nil where a program gives no occasion.

// look shows what a table's columns are called: by what describes it, or by some of its rows. knows are the calls that
// show it as well: who has read the columns, or named them in a change, guesses none.
func (db *sqlServer) look(r *rand.Rand, t *programs.Table) (look Call, knows func(Call) bool) {
	switch look = db.sample(t); {
	case db.describe != nil && (db.nameless || r.IntN(2) == 0):
		look = db.describe.call(t.Name)
	case db.nameless && db.describeSQL != "":
		look = db.read.call(columnsOf(db.describeSQL, t.Name))
	}
	name := regexp.QuoteMeta(programs.Ident(t.Name))
	shows := regexp.MustCompile(`(?:SELECT \* FROM|UPDATE|INTO) ` + name + `(?:\W|$)`)
	return look, func(x Call) bool {
		return x.key() == look.key() || db.describe != nil && x.key() == db.describe.call(t.Name).key() ||
			slices.ContainsFunc(statementIn(x), shows.MatchString)
	}
}

// statementIn are the texts among the arguments of a call.
func statementIn(c Call) (texts []string) {
	var arguments map[string]any
	_ = json.Unmarshal(c.Arguments, &arguments) // made of it
	for _, v := range arguments {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// wrongColumn guesses a column by a name that people would think of: one like it or, in half, another word for it. What
// the table has is looked at then, and is quoted before the right name is said.
func (db *sqlServer) wrongColumn(r *rand.Rand, p *programs.Program) *detour {
	far := r.IntN(2) == 0
	for i, s := range p.Steps {
		if strings.HasPrefix(s.SQL, "CREATE") {
			continue
		}
		for _, t := range p.Tables {
			for _, k := range r.Perm(len(t.Columns)) {
				c := t.Columns[k]
				whole := regexp.MustCompile(`\b` + regexp.QuoteMeta(c.Name) + `\b`)
				guess := guessName(r, c.Name)
				if others := t.OtherNames(k); far && len(others) > 0 {
					guess = pick(r, others)
				}
				if len(c.Parts) > 0 || k == t.Key || guess == "" || programs.Ident(c.Name) != c.Name ||
					!whole.MatchString(s.SQL) || !reads(s.SQL, t) ||
					slices.ContainsFunc(p.Tables, func(o *programs.Table) bool {
						return strings.EqualFold(o.Name, c.Name) || hasColumn(o, guess)
					}) {
					continue
				}
				wrong := db.failing(whole.ReplaceAllString(s.SQL, guess), slipRefused, s.Writes)
				look, knows := db.look(r, t)
				look.Why = fmt.Sprintf("There is no column %s. I look at what %s has.", guess, t.Name)
				look.Shows = c.Name
				return &detour{i, []Call{wrong, look}, fmt.Sprintf("%s has %s. ", t.Name, t.Shown()) +
					fmt.Sprintf(pick(r, []string{"What I called %s is %s.", "None is %s: it stands in %s.",
						"There is nothing like %s but %s, so that is it."}), guess, c.Name), "", knows}
			}
		}
	}
	return nil
}

// reads reports whether a statement names a table.
func reads(sql string, t *programs.Table) bool {
	name := regexp.QuoteMeta(programs.Ident(t.Name))
	return regexp.MustCompile(`(?:FROM|JOIN|UPDATE|INTO) ` + name + `(?:\W|$)`).MatchString(sql)
}

// hasColumn reports whether a table has a column of a name.
func hasColumn(t *programs.Table, name string) bool {
	return slices.ContainsFunc(t.Columns, func(c programs.Column) bool { return strings.EqualFold(c.Name, name) })
}

// guessName is another name for a column; "" where none comes to mind.
func guessName(r *rand.Rand, name string) string {
	words := strings.Fields(programs.Words(name))
	switch {
	case strings.Contains(name, "_") && r.IntN(2) == 0:
		return name[:strings.LastIndexByte(name, '_')]
	case strings.Contains(name, "_"):
		return name[strings.LastIndexByte(name, '_')+1:]
	case len(words) > 1:
		return words[len(words)-1]
	case len(words) == 1 && len(name) > 2:
		return []string{"full_" + words[0], words[0] + "_name", words[0] + "_value"}[r.IntN(3)]
	}
	return ""
}

var (
	searched = regexp.MustCompile(`^SELECT \* FROM (\S+) WHERE (\S+) LIKE '%([^%']{3,40})%'$`)
	equalTo  = regexp.MustCompile(`(\S+) = '([a-z]+)'`)
)

// wrongTable looks for a thing in one or two other tables that have names.
func (db *sqlServer) wrongTable(r *rand.Rand, w *programs.World, p *programs.Program) *detour {
	for i, s := range p.Steps {
		m := searched.FindStringSubmatch(s.SQL)
		if m == nil {
			continue
		}
		at := slices.IndexFunc(w.Tables, func(t *programs.Table) bool { return programs.Ident(t.Name) == m[1] })
		if at < 0 {
			continue
		}
		persons := w.Tables[at].HasPersons()
		var wrong []Call
		why, most := "", 1+r.IntN(2)
		for _, at := range r.Perm(len(w.Tables)) {
			t := w.Tables[at]
			if programs.Ident(t.Name) == m[1] || t.Label < 0 || len(t.Columns[t.Label].Parts) > 0 ||
				t.Columns[t.Label].Kind != programs.Text || len(wrong) == most || t.HasPersons() != persons {
				continue
			}
			one := db.failing(fmt.Sprintf("SELECT * FROM %s WHERE %s LIKE '%%%s%%'",
				programs.Ident(t.Name), programs.Ident(t.Columns[t.Label].Name), m[3]), slipEmpty, false)
			wrong, why = append(wrong, one), why+fmt.Sprintf("There is none in %s. ", t.Name)
		}
		if len(wrong) > 0 {
			return &detour{i, wrong, why + fmt.Sprintf("I look in %s.", m[1]), m[1], nil}
		}
	}
	return nil
}

// wrongWords looks for a thing by more than its name.
func (db *sqlServer) wrongWords(r *rand.Rand, p *programs.Program) *detour {
	for i, s := range p.Steps {
		m := searched.FindStringSubmatch(s.SQL)
		if m == nil {
			continue
		}
		one := p.Slot("one")
		said := []string{"the " + m[3], one + " " + m[3], m[3] + " " + one, "new " + m[3], m[3] + "s"}[r.IntN(5)]
		if x := p.Slot("x"); strings.HasSuffix(x, " "+m[3]) && r.IntN(2) == 0 { // with its brand, say
			said = x
		}
		wrong := db.failing(fmt.Sprintf("SELECT * FROM %s WHERE %s LIKE '%%%s%%'", m[1], m[2], said), slipEmpty, false)
		return &detour{i, []Call{wrong}, fmt.Sprintf("Nothing has all these words. The name alone: %s.", m[3]), "",
			nil}
	}
	return nil
}

// wrongName asks for a thing by a name that is not quite its own, behind which it is searched for.
func (db *sqlServer) wrongName(r *rand.Rand, w *programs.World, p *programs.Program) *detour {
	for i, s := range p.Steps {
		for _, t := range p.Tables {
			if t.Label < 0 || len(t.Columns[t.Label].Parts) > 0 || t.Columns[t.Label].Kind != programs.Text ||
				w.Cased || s.Writes {
				continue
			}
			column := programs.Ident(t.Columns[t.Label].Name)
			m := regexp.MustCompile(`\b` + regexp.QuoteMeta(column) +
				` = '([A-Za-z][A-Za-z ]{3,40})'`).FindStringSubmatch(s.SQL)
			if m == nil {
				continue
			}
			name := m[1]
			said := []string{"the " + name, strings.ToLower(name), t.One + " " + name,
				name[strings.LastIndexByte(name, ' ')+1:]}[r.IntN(4)]
			if said == name {
				said = strings.ToUpper(name)
			}
			wrong := db.failing(strings.Replace(s.SQL, "'"+name+"'", programs.Literal(said), 1), slipEmpty, false)
			words := strings.Fields(name)
			search := db.read.call(fmt.Sprintf("SELECT %s FROM %s WHERE %s LIKE '%%%s%%'",
				column, programs.Ident(t.Name), column, words[len(words)-1]))
			search.Why = fmt.Sprintf("Nothing is called just that. I look for a part of the name: %s.",
				words[len(words)-1])
			search.Shows = name
			return &detour{i, []Call{wrong, search}, fmt.Sprintf("%s stands there: that is the name.", name), "", nil}
		}
	}
	return nil
}

// wrongLetters compares with a value as a person writes it, before the values are looked at.
func (db *sqlServer) wrongLetters(p *programs.Program) *detour {
	look := slices.IndexFunc(p.Steps, func(s programs.Step) bool {
		return strings.HasPrefix(s.SQL, "SELECT DISTINCT ")
	})
	if look < 0 || look == len(p.Steps)-1 || p.Steps[look+1].Writes {
		return nil
	}
	next := p.Steps[look+1].SQL
	m := equalTo.FindStringSubmatch(next)
	if m == nil {
		return nil
	}
	wrong := db.failing(strings.Replace(next, m[0], m[1]+" = '"+strings.ToUpper(m[2][:1])+m[2][1:]+"'", 1),
		slipEmpty, false)
	return &detour{look, []Call{wrong}, "Nothing has just this value. I look at which values there are.", "",
		nil}
}

// equalsText matches a comparison of a column, which may stand behind its table, with a text.
var equalsText = regexp.MustCompile(`(?:(\w+)\.)?(\w+) = '([^'%]{3,40})'`)

// compared is a comparison with a text in a statement, the table that it is of, and the number of its column there; -1
// where the statement has none.
func compared(p *programs.Program, sql string) (t *programs.Table, column int, text string) {
	for _, m := range equalsText.FindAllStringSubmatch(sql, -1) {
		for _, t := range p.Tables {
			i := slices.IndexFunc(t.Columns, func(c programs.Column) bool { return c.Name == m[2] })
			if i >= 0 && !t.IsName(i) && (m[1] == t.Name || m[1] == "" && strings.Contains(sql, " FROM "+t.Name+" ")) {
				return t, i, m[3]
			}
		}
	}
	return nil, -1, ""
}

// nextColumn looks for a value in a column that does not have it. Its values are looked at then, and as the value is
// not among them, the next column is.
func (db *sqlServer) nextColumn(r *rand.Rand, p *programs.Program) *detour {
	for i, s := range p.Steps {
		t, at, text := compared(p, s.SQL)
		if t == nil || s.Writes || len(t.Kinds(at)) == 0 { // a key or a number is no kind
			continue
		}
		column := t.Columns[at].Name
		for _, k := range r.Perm(len(t.Columns)) {
			o := t.Columns[k]
			values := t.Kinds(k)
			if k == at || len(values) == 0 || programs.Ident(o.Name) != o.Name ||
				regexp.MustCompile(`\b`+o.Name+`\b`).MatchString(s.SQL) ||
				slices.Contains(values, "yes") || slices.Contains(values, "no") ||
				slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, text) }) {
				continue
			}
			right := column + " = '" + text + "'"
			wrong := db.failing(strings.Replace(s.SQL, right, o.Name+" = '"+text+"'", 1), slipEmpty, false)
			look := db.read.call(fmt.Sprintf("SELECT DISTINCT %s FROM %s", o.Name, programs.Ident(t.Name)))
			look.Why = fmt.Sprintf("Nothing has this %s. I look at which there are.", o.Name)
			look.Lacks = text
			if i > 0 && strings.HasPrefix(p.Steps[i-1].SQL, "SELECT DISTINCT "+column+" ") {
				i--
			}
			return &detour{i, []Call{wrong, look}, fmt.Sprintf("%s is none of them: %s. The next column for it is %s.",
				text, strings.Join(values, ", "), column), column, nil}
		}
	}
	return nil
}

var twoTests = regexp.MustCompile(`^SELECT .*? FROM (.*) WHERE (.*) AND (.*)$`)

// oneOfTwo asks by two conditions of which one is not as it is stored. It is left out then, or a word of it looked for.
func (db *sqlServer) oneOfTwo(r *rand.Rand, p *programs.Program) *detour {
	for i, s := range p.Steps {
		m := twoTests.FindStringSubmatch(s.SQL)
		if m == nil || s.Writes || strings.Contains(s.SQL, "BETWEEN") || strings.Contains(m[2], " AND ") {
			continue
		}
		for _, n := range []int{3, 2} {
			other, test := m[5-n], m[n]
			t, at, text := compared(p, strings.ReplaceAll(m[0], other, ""))
			if t == nil || !strings.HasSuffix(test, " = '"+text+"'") || strings.Contains(test, "(") {
				continue
			}
			column := strings.TrimSuffix(test, " = '"+text+"'")
			said := []string{"the " + text, text + "s", strings.ToUpper(text), text + " " + t.One}[r.IntN(4)]
			if said == text || db.cased {
				continue
			}
			values := fmt.Sprintf("SELECT DISTINCT %s FROM %s WHERE ", column, m[1])
			look := db.read.call(values + other)
			look.Why = fmt.Sprintf("Nothing meets both. I leave out %s and look at what stands there.",
				t.Columns[at].Name)
			if words := strings.Fields(text); n == 3 && len(words) > 1 && len(words[1]) > 3 && r.IntN(2) == 0 {
				word := words[1]
				look = db.read.call(fmt.Sprintf("%s%s AND %s LIKE '%%%s%%'", values, other, column, word))
				look.Why = fmt.Sprintf("Nothing meets both in these words. I look for one of them: %s.", word)
			}
			look.Shows = text
			wrong := db.failing(strings.Replace(s.SQL, test, column+" = '"+said+"'", 1), slipEmpty, false)
			return &detour{i, []Call{wrong, look}, fmt.Sprintf("%s stands there: it is written so.", text), "", nil}
		}
	}
	return nil
}

var ofSome = regexp.MustCompile(`\b(?:FROM|UPDATE|INTO) (\w+)`)

// missingTable takes a table by a name that none has: behind the list of the tables, or before anything is looked at.
// What the last look shows is quoted before it is said which table it is.
func (db *sqlServer) missingTable(r *rand.Rand, w *programs.World, p *programs.Program) *detour {
	var names []string
	for _, t := range w.Tables[:min(len(w.Tables), mostDescribed)] {
		names = append(names, t.Name)
	}
	for i, s := range p.Steps {
		m := ofSome.FindStringSubmatch(s.SQL)
		at := -1
		if m != nil {
			at = slices.Index(names, m[1])
		}
		if at < 0 || strings.HasPrefix(s.SQL, "CREATE") {
			continue
		}
		t := w.Tables[at]
		if d := db.kindForTable(r, w, p, i); d != nil && r.IntN(2) == 0 {
			return d
		}
		guess := db.guessTable(r, w, t)
		if guess == "" {
			continue
		}
		list := fmt.Sprintf("The list has %s. ", strings.Join(names, ", "))
		if db.list != nil && r.IntN(2) == 0 {
			look := *db.list
			look.Why, look.Shows = fmt.Sprintf("There is no table %s. I look at which there are.", guess), m[1]
			first := db.failing(fmt.Sprintf("SELECT * FROM %s LIMIT %d", guess, someRows), slipRefused, false)
			list += fmt.Sprintf("What I called %s is %s.", guess, m[1])
			return &detour{firstStep, []Call{first, look}, list, "",
				func(x Call) bool { return x.key() == look.key() }}
		}
		wrong := regexp.MustCompile(`\b`+m[1]+`\b`).ReplaceAllString(s.SQL, guess)
		look, knows := db.look(r, t)
		look.Why = fmt.Sprintf("There is no table %s. ", guess) + list + fmt.Sprintf("I look at %s.", m[1])
		k := slices.IndexFunc(t.Columns, func(c programs.Column) bool { return len(c.Parts) == 0 })
		look.Shows = t.Columns[k].Name
		return &detour{i, []Call{db.failing(wrong, slipRefused, s.Writes), look},
			fmt.Sprintf("%s has %s: each row is one %s. This is the table.", m[1], t.Shown(), t.One), "", knows}
	}
	return nil
}

// kindForTable takes a kind of some things for a table: nurses, which are rows of staff with a role.
func (db *sqlServer) kindForTable(r *rand.Rand, w *programs.World, p *programs.Program, step int) *detour {
	t, at, text := compared(p, p.Steps[step].SQL)
	if t == nil || !slices.Contains(t.Kinds(at), text) || slices.ContainsFunc(p.Steps[:step],
		func(s programs.Step) bool { return strings.HasPrefix(s.SQL, "SELECT DISTINCT ") }) {
		return nil
	}
	guess := strings.ReplaceAll(text, " ", "_") + pick(r, []string{"", "s"})
	if guess != strings.ToLower(guess) || db.isTaken(w, guess) {
		return nil
	}
	column := t.Columns[at].Name
	look := db.read.call(fmt.Sprintf("SELECT DISTINCT %s FROM %s", programs.Ident(column), programs.Ident(t.Name)))
	look.Why = fmt.Sprintf("There is no table %s. %s has %s. I look at what stands in %s.", guess, t.Name, t.Shown(),
		column)
	look.Shows = text
	return &detour{step, []Call{db.failing("SELECT * FROM "+guess, slipRefused, false), look},
		fmt.Sprintf("%s has %s. %s is no table but one of them.", column, strings.Join(t.Kinds(at), ", "), text),
		"", nil}
}

// guessTable is a name that people would think of for a table, in half another word; "" where each is there, or a
// column has the table's.
func (db *sqlServer) guessTable(r *rand.Rand, w *programs.World, t *programs.Table) string {
	last := t.Name[strings.LastIndexByte(t.Name, '_')+1:]
	guesses := []string{strings.ReplaceAll(t.One, " ", "_"), strings.ReplaceAll(t.Many, " ", "_"), last,
		t.Name + "_list"}
	if r.IntN(2) == 0 {
		guesses = t.OtherTables()
	}
	guesses = slices.DeleteFunc(guesses, func(name string) bool {
		return db.isTaken(w, name) ||
			slices.ContainsFunc(w.Tables, func(o *programs.Table) bool { return hasColumn(o, t.Name) })
	})
	if len(guesses) == 0 {
		return ""
	}
	return pick(r, guesses)
}

// isTaken reports whether a name cannot be that of a table that is not there.
func (db *sqlServer) isTaken(w *programs.World, name string) bool {
	return programs.Ident(name) != name || db.isThere(name) ||
		slices.ContainsFunc(w.Tables, func(o *programs.Table) bool {
			return strings.EqualFold(o.Name, name) || hasColumn(o, name)
		})
}

// noneYet looks for what a thing has before the first of it is added: that there is none is no reason to go on looking.
func (db *sqlServer) noneYet(p *programs.Program) *detour {
	for i, s := range p.Steps {
		m, t := inserts.FindStringSubmatch(s.SQL), p.NewRowTable()
		if m == nil || t == nil {
			continue
		}
		columns, values := listed(m[2]), listed(m[3])
		for k := range min(len(columns), len(values)) {
			if of, ok := t.FirstFor(columns[k], values[k]); ok {
				look := fmt.Sprintf("SELECT * FROM %s WHERE %s = %s", m[1], columns[k], values[k])
				return &detour{i, []Call{db.failing(look, slipEmpty, false)},
					fmt.Sprintf("%s has no %s yet. This is the first one, so I add it.", of, t.One), "", nil}
			}
		}
	}
	return nil
}

var lastJoin = regexp.MustCompile(`^(SELECT .* FROM (\S+).*) JOIN (\S+) ON \S+ = \S+( .*|)$`)

// withoutJoin names a column of a table that the query does not read, at times without the table.
func (db *sqlServer) withoutJoin(r *rand.Rand, p *programs.Program) *detour {
	for i, s := range p.Steps {
		m := lastJoin.FindStringSubmatch(s.SQL)
		if m == nil || !strings.Contains(m[1]+m[4], m[3]+".") {
			continue
		}
		less, why := m[1]+m[4], fmt.Sprintf("%s is not joined yet.", m[3])
		if r.IntN(2) == 0 {
			less = strings.ReplaceAll(less, m[3]+".", "")
			why = fmt.Sprintf("It is a column of %s, which has to be joined.", m[3])
		}
		return &detour{i, []Call{db.failing(less, slipRefused, false)}, why, m[3], nil}
	}
	return nil
}

var inserts = regexp.MustCompile(`(?s)^INSERT INTO ("(?:[^"]|"")+"|\S+) \((.*?)\) VALUES \((.*)\)$`)

// withoutValue adds a row without one of its values, which a server refuses that insists on it. Of a text that several
// rows have, the values that there are are looked at then.
func (db *sqlServer) withoutValue(p *programs.Program) *detour {
	for i, s := range p.Steps {
		m, t := inserts.FindStringSubmatch(s.SQL), p.NewRowTable()
		if m == nil || t == nil {
			continue
		}
		columns, values := listed(m[2]), listed(m[3])
		if len(columns) != len(values) || len(columns) < 2 {
			continue
		}
		at, look := len(columns)-1, false
		for k, column := range columns {
			if t.HasKinds(strings.Trim(column, `"`)) {
				at, look = k, true
			}
		}
		d := &detour{i, []Call{db.failing(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", m[1],
			strings.Join(slices.Delete(slices.Clone(columns), at, at+1), ", "),
			strings.Join(slices.Delete(slices.Clone(values), at, at+1), ", ")), slipRefused, true)},
			fmt.Sprintf("%s must have a value: %s.", columns[at], strings.Trim(values[at], "'")), "", nil}
		if strings.HasPrefix(values[at], "(") {
			d.why = columns[at] + " must have a value."
		}
		if look {
			values := db.read.call(fmt.Sprintf("SELECT DISTINCT %s FROM %s", columns[at], m[1]))
			values.Why = columns[at] + " must have a value. I look at which there are."
			d.calls = append(d.calls, values)
		}
		return d
	}
	return nil
}

// listed are the parts of a list in SQL, between the commas that stand in no text and in no parentheses.
func listed(text string) (parts []string) {
	depth, quoted, from := 0, byte(0), 0
	for i := range len(text) {
		switch c := text[i]; {
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case c == '\'' || c == '"':
			quoted = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parts, from = append(parts, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

// equalsNull compares with NULL as with a value.
func (db *sqlServer) equalsNull(p *programs.Program) *detour {
	for i, s := range p.Steps {
		if s.Writes || !strings.Contains(s.SQL, " IS NULL") {
			continue
		}
		wrong := db.failing(strings.Replace(s.SQL, " IS NULL", " = NULL", 1), slipEmpty, false)
		return &detour{i, []Call{wrong}, "Nothing equals NULL: what is empty IS NULL.", "", nil}
	}
	return nil
}
