package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// hole stands in a text for the value that a result gives.
const hole = "{}"

// mark is what stands in a task for the hole of a call: "[total]".
func (c Call) mark() string {
	if c.Field == "" {
		return "[result]"
	}
	return "[" + spoken(c.Field) + "]"
}

// oneTuple is a list of one row with one value as Python prints it: [('apple_list',)].
var oneTuple = regexp.MustCompile(`^\[\((?:'([^'\\]*)'|"([^"\\]*)"|(-?\d+(?:\.\d+)?)),\)\]$`)

// soleOf is the one value that the result of a call consists of, with its name where it has one: of [{"total": 3}], of Python's
// [('apple_list',)], of "The sum of 2 and 3 is 5.".
func soleOf(text string, arguments json.RawMessage) (leaf, bool) {
	text = strings.TrimSpace(text)
	if m := oneTuple.FindStringSubmatch(text); m != nil {
		if m[3] != "" {
			return leaf{raw: json.RawMessage(m[3])}, true
		}
		return leaf{raw: quote(m[1] + m[2])}, true
	}
	switch leaves := leavesOf(text); {
	case len(leaves) == 1 && (isJSON(text) || !strings.Contains(text, "\n")):
		return leaves[0], true
	case len(leaves) > 0 || !short(text) || strings.ContainsAny(text[:1], "[({"):
		return leaf{}, false
	}
	if n, ok := numberOfProse(text, arguments); ok {
		return leaf{raw: n}, true
	}
	return leaf{raw: whole(text)}, true
}

// within drafts chains in which the value of a result stands inside a text of the next call, of the same tool too: SQL about the table
// that a question named, an expression with the number that another one came to. There are n chains in all then.
func (d *drafts) within(n int) {
	begun := map[string]int{}
	for _, most := range []int{mostOfFirst, n} {
		for _, r := range d.worlds {
			random := d.random("within", r.index, most)
			for _, a := range r.goodOf(random, func(t trial) bool { return !t.effects }) {
				got, ok := soleOf(a.got.Results[0].Text, a.call.Arguments)
				if !ok {
					continue
				}
				if text := got.text(); text == "" || len(text) > mostAnswer || got.raw[0] != '"' && len(text) > mostDigits ||
					strings.Contains(string(a.call.Arguments), text) || saysNow(text, []int64{a.got.At}) || strings.Contains(text, dirMark) {
					continue
				}
				for _, b := range d.usable() {
					if begun[a.call.key()] < most && d.count[chain] < n && d.wrap(r, random, a.call, got, b) {
						begun[a.call.key()]++
					}
				}
			}
		}
	}
}

// wrap drafts the chain of one call and of one of a tool that has its value inside a required text.
func (d *drafts) wrap(r *realm, random *rand.Rand, first Call, got leaf, b *subject) bool {
	f := filler{random, b, &r.known}
	for _, p := range b.schema.fields {
		text := ""
		if p.required && len(p.choices) == 0 && (p.kind == "string" || p.kind == "") {
			text = f.around(p, first, got)
		}
		arguments, ok := f.arguments(false)
		if text == "" || !ok {
			continue
		}
		fed, ok := withMember(arguments, p.name, quote(strings.Replace(text, hole, got.text(), 1)))
		if ok && b.takes(string(fed)) && d.add(chain, r.index, first, Call{Tool: b.Name, Arguments: fed, Fed: p.name, Field: got.name(), Within: text}) {
			return true
		}
	}
	return false
}

// around is a text for a parameter with a hole for what a call answered, "" where none is known.
func (f filler) around(p param, first Call, got leaf) string {
	switch {
	case f.sql(p) && f.asks():
		return f.question(first, got)
	case !f.sql(p) && got.raw[0] != '"' && slices.ContainsFunc([]string{"expression", "formula", "equation"}, func(w string) bool { return f.of(p, w) }):
		return fmt.Sprintf("%s %s %d", hole, pick(f.r, []string{"+", "-", "*"}), 2+f.r.IntN(97))
	}
	return ""
}

// Questions of ours whose answer is one value.
var (
	ofNumbers = regexp.MustCompile(`^SELECT (?:MAX|MIN)\((\w+)\) AS \w+ FROM (\w+)$`)
	ofTexts   = regexp.MustCompile(`^SELECT (\w+) FROM (\w+) ORDER BY \w+ DESC LIMIT 1$`)
)

// question is SQL with a hole for the answer to a question: of the table that it named, of the row that has the value.
func (f filler) question(first Call, got leaf) string {
	asked := sqlOf(first)
	for _, t := range f.known.tables {
		if m := ofNumbers.FindStringSubmatch(asked); m != nil && m[2] == t.name && len(t.columns) > 2 && got.raw[0] != '"' {
			return fmt.Sprintf("SELECT %s FROM %s WHERE %s = %s", pick(f.r, t.columns[:2]), t.name, m[1], hole)
		}
		if m := ofTexts.FindStringSubmatch(asked); m != nil && m[2] == t.name && len(t.columns) > 2 && got.raw[0] == '"' && !strings.Contains(got.text(), "'") {
			return fmt.Sprintf("SELECT %s FROM %s WHERE %s = '%s'", pick(f.r, []string{t.columns[0], t.columns[2], "COUNT(*)"}), t.name, m[1], hole)
		}
		if isListing(asked) && t.name == got.text() {
			about := []string{"COUNT(*) AS total"}
			if len(t.columns) > 2 {
				about = append(about, fmt.Sprintf("SUM(%s) AS sum", t.columns[2]), fmt.Sprintf("MAX(%s) AS highest", t.columns[2]))
			}
			return fmt.Sprintf("SELECT %s FROM %s", pick(f.r, about), hole)
		}
	}
	return ""
}

// sqlOf is the SQL of a call, "" where it has none.
func sqlOf(c Call) string {
	for _, m := range argumentsOf(c) {
		if text := textOf(m.raw); strings.HasPrefix(text, "SELECT ") || strings.HasPrefix(text, "INSERT ") || strings.HasPrefix(text, "CREATE ") {
			return text
		}
	}
	return ""
}

// listingsSQL ask for the names of the tables: SQLite's and DuckDB's, then PostgreSQL's way.
func listingsSQL() []string {
	return []string{"SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name"}
}

func isListing(sql string) bool {
	return slices.ContainsFunc(listingsSQL(), func(l string) bool { return strings.HasPrefix(sql, l) })
}

// asks reports whether a tool takes SQL that asks.
func (f filler) asks() bool { return !f.makesTables() && !f.inserts() }

// withSQL are calls of the tools that take SQL that asks, for each of some statements.
func (m *maker) withSQL(r *realm, statements []string) (calls []Call) {
	for _, s := range m.tools {
		f := filler{m.random("sql", s.Name), s, &r.known}
		at := slices.IndexFunc(s.schema.fields, func(p param) bool { return p.required && f.sql(p) })
		if at < 0 || !s.mayTry() || s.unmarked != "" && !s.usable() || !f.asks() {
			continue
		}
		for _, sql := range statements {
			arguments, ok := f.arguments(false)
			if !ok {
				continue
			}
			if arguments, ok = withMember(arguments, s.schema.fields[at].name, quote(sql)); ok && s.takes(string(arguments)) {
				calls = append(calls, Call{Tool: s.Name, Arguments: arguments})
			}
		}
	}
	return calls
}

// listings are calls that ask a database for its tables.
func (m *maker) listings() []Call { return m.withSQL(&realm{}, listingsSQL()) }

// mostTables bounds the tables of a realm that are looked at.
const mostTables = 2

// rows are calls that see all that is in the first tables of a realm.
func (m *maker) rows(r *realm) []Call {
	var statements []string
	for _, t := range r.known.tables[:min(mostTables, len(r.known.tables))] {
		statements = append(statements, fmt.Sprintf("SELECT * FROM %s ORDER BY 1", t.name))
	}
	return m.withSQL(r, statements)
}

// inquire makes calls whose answer is one value that the next can be about.
func (m *maker) inquire(ctx context.Context, r *realm) error {
	var statements []string
	for _, l := range listingsSQL() {
		statements = append(statements, l, l+" LIMIT 1")
	}
	for _, t := range r.known.tables[:min(mostTables, len(r.known.tables))] {
		if len(t.columns) > 2 {
			statements = append(statements, fmt.Sprintf("SELECT MAX(%s) AS highest FROM %s", t.columns[2], t.name), fmt.Sprintf("SELECT MIN(%s) AS lowest FROM %s", t.columns[2], t.name),
				fmt.Sprintf("SELECT %s FROM %s ORDER BY %s DESC LIMIT 1", t.columns[1], t.name, t.columns[2]), fmt.Sprintf("SELECT %s FROM %s ORDER BY %s DESC LIMIT 1", t.columns[1], t.name, t.columns[0]))
		}
	}
	var plays []play
	for _, c := range m.withSQL(r, statements) {
		if !tried(r.good, c.Tool, c.Arguments) {
			plays = append(plays, play{Setup: r.setup, Calls: []Call{c}, Looks: r.looks})
		}
	}
	got, err := m.told(ctx, "explore", plays)
	if err != nil {
		return err
	}
	for i, p := range plays {
		m.learn(r, p.Calls[0], got[i])
	}
	return nil
}

var quotedName = regexp.MustCompile(`['"](\w+)['"]`)

// listed remembers the tables that an answer names, where a call asked for them.
func (v *values) listed(c Call, text string) {
	if !isListing(sqlOf(c)) {
		return
	}
	var names []string
	for _, l := range leavesOf(text) {
		names = append(names, l.text())
	}
	if !isJSON(text) {
		for _, m := range quotedName.FindAllStringSubmatch(text, mostOfOne) {
			names = append(names, m[1])
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(v.tables, func(t table) bool { return t.name == name }) {
			v.tables = append(v.tables, table{name: name})
		}
	}
}

// rowReadBacks drafts a row that is put into a table and a look at it, with a tool that takes any SQL, until there are n.
func (d *drafts) rowReadBacks(n int) {
	for _, s := range d.usable() {
		at := slices.IndexFunc(s.schema.fields, func(p param) bool { return filler{tool: s}.sql(p) && p.required })
		if f := (filler{tool: s}); at < 0 || !f.anySQL() || !f.asks() {
			continue
		}
		for _, r := range d.worlds[1:] {
			random := d.random("row", r.index, s.Name)
			f := filler{random, s, &r.known}
			for made := 0; made < (n+numRealms-1)/numRealms && d.count[readBack] < n && len(r.known.tables) > 0; made++ {
				insertion := f.insertion(pick(random, r.known.tables))
				row := insertInto.FindStringSubmatch(insertion)
				arguments, ok := f.arguments(false)
				if row == nil || !ok {
					continue
				}
				puts, _ := withMember(arguments, s.schema.fields[at].name, quote(insertion))
				sees, _ := withMember(arguments, s.schema.fields[at].name, quote(fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s = %s", row[3], row[4], row[1], row[2], row[5])))
				d.add(readBack, r.index, Call{Tool: s.Name, Arguments: puts}, Call{Tool: s.Name, Arguments: sees})
			}
		}
	}
}
