package generate

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/folders"
	"hone/internal/synth/programs"
)

// How a slip shows: the server refuses it, finds nothing, or says what it has just said. What is read elsewhere says
// something else.
const (
	slipRefused = folders.Refused
	slipEmpty   = "nothing"
	slipAgain   = "again" // the same is answered as just before
)

// Shares of training programs whose demonstration has a slip: over files; over databases, of those in which something
// can be missed, and of the others, in which a column is guessed. That fits nearly all, and would be nearly all that is
// seen.
const (
	shareSlips   = 0.2
	shareMisses  = 0.4
	shareGuesses = 0.1
)

// shareRepeats is the share of training programs whose demonstration makes a call twice before it goes on. Small models
// repeat a call that told them nothing until the episode ends; they learn to go on only from where they are then. More
// of them, or a third time, may teach the repeating instead: with a share of 0.15, 17 of 67 episodes over a database
// were loops (docs/SYNTH.md). What 0.05 does is not measured.
const shareRepeats = 0.05

// explained has a call made for a reason that its results so far give, before those that it has.
func explained(c Call, why string) Call {
	c.Why = strings.TrimSpace(why + "\n" + c.Why)
	return c
}

// repeat has one call follow itself once: a slip where there is one, else one that is no write. What comes next says
// that it helps nothing.
func repeat(r *rand.Rand, calls, writes []Call) []Call {
	var at []int
	for i, c := range calls {
		if c.Slip != "" {
			at = []int{i}
			break
		}
		if i > 0 && !slices.ContainsFunc(writes, func(w Call) bool { return w.key() == c.key() }) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return calls
	}
	i := pick(r, at[len(at)/2:]) // models get stuck late
	again := calls[i]
	if again.Slip == "" {
		again.Slip = slipAgain
	}
	again.Why = ""
	with := slices.Insert(slices.Clone(calls), i+1, again)
	if i+2 < len(with) {
		with[i+2] = explained(with[i+2], "The same call says the same again, so I make another.")
	}
	return with
}

// slip puts a call that goes wrong into the calls of a program, before the one that does it right, so that a model sees
// how one goes on from there: a column by a name that it has not, behind which the columns are looked at; a column of a
// table that is not joined; a thing that is looked for in the wrong table, or by more words than its name has; a value
// in other letters than it is stored in, behind which the values are looked at; a comparison with NULL; a row without a
// value that it needs. What comes next says what was wrong: a model that only sees a better call may learn to make
// nearly the same call again. nil where none fits.
func (db *sqlServer) slip(r *rand.Rand, w *programs.World, p *programs.Program, calls []Call) []Call {
	first, draw := len(calls)-len(p.Steps), r.Float64()
	if draw >= shareMisses {
		return nil
	}
	ways := []func() []Call{
		func() []Call { return db.wrongTable(r, w, p, calls, first) },
		func() []Call { return db.wrongWords(r, p, calls, first) },
		func() []Call { return db.wrongLetters(p, calls, first) },
		func() []Call { return db.wrongName(r, w, p, calls, first) },
		func() []Call { return db.withoutJoin(r, p, calls, first) },
		func() []Call { return db.withoutValue(p, calls, first) },
		func() []Call { return db.equalsNull(p, calls, first) },
	}
	r.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	for _, way := range ways {
		if with := way(); with != nil {
			return with
		}
	}
	if draw < shareGuesses {
		return db.wrongColumn(r, w, p, calls, first)
	}
	return nil
}

// wrongColumn guesses a column by a name that people would think of.
func (db *sqlServer) wrongColumn(
	r *rand.Rand, w *programs.World, p *programs.Program, calls []Call, first int,
) []Call {
	for i, s := range p.Steps {
		if strings.HasPrefix(s.SQL, "SELECT * ") || strings.HasPrefix(s.SQL, "CREATE") {
			continue
		}
		for _, t := range p.Tables {
			for _, c := range t.Columns {
				whole := regexp.MustCompile(`\b` + regexp.QuoteMeta(c.Name) + `\b`)
				guess := guessName(r, c.Name)
				if len(c.Parts) > 0 || !whole.MatchString(s.SQL) || guess == "" || programs.Ident(c.Name) != c.Name ||
					slices.ContainsFunc(p.Tables, func(o *programs.Table) bool {
						return strings.EqualFold(o.Name, c.Name) ||
							slices.ContainsFunc(o.Columns, func(x programs.Column) bool {
								return strings.EqualFold(x.Name, guess)
							})
					}) {
					continue
				}
				wrong := db.step(programs.Step{SQL: whole.ReplaceAllString(s.SQL, guess), Writes: s.Writes})
				wrong.Slip = slipRefused
				look := db.sample(w, t)
				if db.describe != nil && r.IntN(2) == 0 {
					look = db.describe.call(t.Name)
				}
				// who had looked would know
				before := slices.DeleteFunc(slices.Clone(calls[:first]), func(x Call) bool {
					return x.key() == look.key() ||
						strings.Contains(string(x.Arguments), "FROM "+programs.Ident(t.Name)+" LIMIT")
				})
				look.Why = fmt.Sprintf("There is no column %s. I look at what %s has.", guess, t.Name)
				right := explained(calls[first+i], fmt.Sprintf("It is %s.", c.Name))
				return slices.Concat(before, calls[first:first+i], []Call{wrong, look, right}, calls[first+i+1:])
			}
		}
	}
	return nil
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
func (db *sqlServer) wrongTable(r *rand.Rand, w *programs.World, p *programs.Program, calls []Call, first int) []Call {
	for i, s := range p.Steps {
		m := searched.FindStringSubmatch(s.SQL)
		if m == nil {
			continue
		}
		var wrong []Call
		why, most := "", 1+r.IntN(2)
		for _, at := range r.Perm(len(w.Tables)) {
			t := w.Tables[at]
			if programs.Ident(t.Name) == m[1] || t.Label < 0 || len(t.Columns[t.Label].Parts) > 0 ||
				t.Columns[t.Label].Kind != programs.Text || len(wrong) == most {
				continue
			}
			one := db.read.call(fmt.Sprintf("SELECT * FROM %s WHERE %s LIKE '%%%s%%'",
				programs.Ident(t.Name), programs.Ident(t.Columns[t.Label].Name), m[3]))
			one.Slip = slipEmpty
			wrong, why = append(wrong, one), why+fmt.Sprintf("There is none in %s. ", t.Name)
		}
		if len(wrong) > 0 {
			right := explained(calls[first+i], why+fmt.Sprintf("I look in %s.", m[1]))
			return slices.Concat(calls[:first+i], wrong, []Call{right}, calls[first+i+1:])
		}
	}
	return nil
}

// wrongWords looks for a thing by more than its name.
func (db *sqlServer) wrongWords(r *rand.Rand, p *programs.Program, calls []Call, first int) []Call {
	for i, s := range p.Steps {
		m := searched.FindStringSubmatch(s.SQL)
		if m == nil {
			continue
		}
		one := p.Slot("one")
		said := []string{"the " + m[3], one + " " + m[3], m[3] + " " + one, "new " + m[3], m[3] + "s"}[r.IntN(5)]
		wrong := db.read.call(fmt.Sprintf("SELECT * FROM %s WHERE %s LIKE '%%%s%%'", m[1], m[2], said))
		wrong.Slip = slipEmpty
		right := explained(calls[first+i], fmt.Sprintf("Nothing has all these words. The name alone: %s.", m[3]))
		return slices.Concat(calls[:first+i], []Call{wrong, right}, calls[first+i+1:])
	}
	return nil
}

// wrongName asks for a thing by a name that is not quite its own, behind which it is searched for.
func (db *sqlServer) wrongName(r *rand.Rand, w *programs.World, p *programs.Program, calls []Call, first int) []Call {
	for i, s := range p.Steps {
		for _, t := range p.Tables {
			if t.Label < 0 || len(t.Columns[t.Label].Parts) > 0 || t.Columns[t.Label].Kind != programs.Text ||
				w.Cased || s.Writes {
				continue
			}
			column := programs.Ident(t.Columns[t.Label].Name)
			m := regexp.MustCompile(`\b` + regexp.QuoteMeta(column) +
				` = '([A-Za-z][A-Za-z ]{3,40})'`).FindStringSubmatch(s.SQL)
			if m == nil || strings.Contains(s.SQL, "COUNT(") || strings.Contains(s.SQL, "SUM(") ||
				strings.Contains(s.SQL, "AVG(") {
				continue
			}
			name := m[1]
			said := []string{"the " + name, strings.ToLower(name), t.One + " " + name,
				name[strings.LastIndexByte(name, ' ')+1:]}[r.IntN(4)]
			if said == name {
				said = strings.ToUpper(name)
			}
			wrong := db.read.call(strings.Replace(s.SQL, "'"+name+"'", programs.Literal(said), 1))
			wrong.Slip = slipEmpty
			words := strings.Fields(name)
			search := db.read.call(fmt.Sprintf("SELECT %s FROM %s WHERE %s LIKE '%%%s%%'",
				column, programs.Ident(t.Name), column, words[len(words)-1]))
			search.Why = fmt.Sprintf("Nothing is called just that. I look for a part of the name: %s.",
				words[len(words)-1])
			right := explained(calls[first+i], fmt.Sprintf("The name is %s.", name))
			return slices.Concat(calls[:first+i], []Call{wrong, search, right}, calls[first+i+1:])
		}
	}
	return nil
}

// wrongLetters compares with a value as a person writes it, before the values are looked at.
func (db *sqlServer) wrongLetters(p *programs.Program, calls []Call, first int) []Call {
	look := slices.IndexFunc(p.Steps, func(s programs.Step) bool {
		return strings.HasPrefix(s.SQL, "SELECT DISTINCT ")
	})
	if look < 0 || look == len(p.Steps)-1 || p.Steps[look+1].Writes {
		return nil
	}
	next := p.Steps[look+1].SQL
	m := equalTo.FindStringSubmatch(next)
	if m == nil || strings.Contains(next, "COUNT(") || strings.Contains(next, "SUM(") { // which always find something
		return nil
	}
	wrong := db.read.call(strings.Replace(next, m[0], m[1]+" = '"+strings.ToUpper(m[2][:1])+m[2][1:]+"'", 1))
	wrong.Slip = slipEmpty
	values := explained(calls[first+look], "Nothing has just this value. I look at which values there are.")
	return slices.Concat(calls[:first+look], []Call{wrong, values}, calls[first+look+1:])
}

var lastJoin = regexp.MustCompile(`^(SELECT .* FROM (\S+).*) JOIN (\S+) ON \S+ = \S+( .*|)$`)

// withoutJoin names a column of a table that the query does not read, at times without the table.
func (db *sqlServer) withoutJoin(r *rand.Rand, p *programs.Program, calls []Call, first int) []Call {
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
		wrong := db.read.call(less)
		wrong.Slip = slipRefused
		return slices.Concat(calls[:first+i], []Call{wrong, explained(calls[first+i], why)}, calls[first+i+1:])
	}
	return nil
}

var inserts = regexp.MustCompile(`^INSERT INTO (\S+) \((.*), ([^,()]+)\) VALUES \((.*), ([^,()']+|'[^']*')\)$`)

// withoutValue adds a row without the last of its values, which a server refuses that insists on it.
func (db *sqlServer) withoutValue(p *programs.Program, calls []Call, first int) []Call {
	for i, s := range p.Steps {
		m := inserts.FindStringSubmatch(s.SQL)
		if m == nil {
			continue
		}
		less := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", m[1], m[2], m[4])
		wrong := db.step(programs.Step{SQL: less, Writes: true})
		wrong.Slip = slipRefused
		right := explained(calls[first+i], fmt.Sprintf("%s must have a value: %s.", m[3],
			strings.Trim(m[5], "'")))
		return slices.Concat(calls[:first+i], []Call{wrong, right}, calls[first+i+1:])
	}
	return nil
}

// equalsNull compares with NULL as with a value.
func (db *sqlServer) equalsNull(p *programs.Program, calls []Call, first int) []Call {
	for i, s := range p.Steps {
		if s.Writes || !strings.Contains(s.SQL, " IS NULL") || strings.Contains(s.SQL, "COUNT(") ||
			strings.Contains(s.SQL, "SUM(") || strings.Contains(s.SQL, "AVG(") { // which always find something
			continue
		}
		wrong := db.read.call(strings.Replace(s.SQL, " IS NULL", " = NULL", 1))
		wrong.Slip = slipEmpty
		right := explained(calls[first+i], "Nothing equals NULL: what is empty IS NULL.")
		return slices.Concat(calls[:first+i], []Call{wrong, right}, calls[first+i+1:])
	}
	return nil
}

func isSlip(c Call) bool { return c.Slip != "" }

// slipsFail reports whether each slip went wrong as it was meant to.
func slipsFail(calls []Call, got *Played) bool {
	for i, c := range calls {
		if c.Slip == "" || i >= len(got.Results) {
			continue
		}
		r := got.Results[i]
		failed := !r.ok() || looksLikeFailure(r.Text)
		if c.Slip == slipAgain && (failed || r.Text != got.Results[i-1].Text) {
			return false
		}
		if c.Slip == slipRefused && !failed ||
			c.Slip == slipEmpty && (failed || len(r.Text) > 80 || len(programs.Records(r.Text)) > 0) {
			return false
		}
	}
	return true
}
