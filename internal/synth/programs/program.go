package programs

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The kinds of programs.
const (
	Lookup    = "look_up"      // a property of a named thing
	Join      = "join"         // a property of what a named thing refers to
	Count     = "count"        // of things that meet a condition
	Both      = "two_filters"  // count or list by two conditions
	Total     = "total"        // sum, mean, least, most of a column
	Best      = "best_of"      // the thing with the greatest or least
	Top       = "top"          // some things in order
	List      = "list"         // of things that meet a condition
	Compare   = "compare"      // which of two has more
	YesNo     = "yes_no"       // whether there is one
	Missing   = "missing"      // things without a value, or to which nothing refers
	Most      = "most_related" // the thing that most others refer to
	Set       = "find_act"     // change one property of a named thing
	SetAll    = "act_on_all"   // change or delete all that match
	Adjust    = "adjust"       // add to a number
	Remove    = "remove"       // a named thing
	Insert    = "create"       // with given values
	ActIf     = "act_if"       // only where there is none
	Several   = "several"      // two requests in one
	TwoTables = "two_tables"   // one request that changes two
	Correct   = "correct"      // the person changes their mind in the same message
	Leave     = "change_nothing"
	Second    = "second_message" // a request, and another one that needs the first
	Cannot    = "cannot"         // what no tool here does, asked of things that are there
	Unknown   = "unknown"        // a property that nothing records
	AskBack   = "ask_back"       // a change without its value, which nothing on the server could tell
)

// Shares are how often each kind is drawn, in parts.
func Shares() map[string]int {
	return map[string]int{
		Lookup:    8,
		Join:      9,
		Count:     7,
		Both:      7,
		Total:     11,
		Best:      7,
		Top:       4,
		List:      8,
		Compare:   6,
		YesNo:     5,
		Missing:   4,
		Most:      6,
		Set:       8,
		SetAll:    9,
		Adjust:    6,
		Remove:    6,
		Insert:    7,
		ActIf:     7,
		Several:   14,
		TwoTables: 14,
		Correct:   4,
		Leave:     3,
		Unknown:   5,
		AskBack:   4,
		Cannot:    1,
		Second:    18,
	}
}

// DatabaseShares are those over databases. A property that nothing records has a name there that one may ask for, and
// to give it up is to be learnt.
func DatabaseShares() map[string]int {
	shares := Shares()
	shares[Unknown] = 9
	return shares
}

// Step is one statement of a program.
type Step struct {
	SQL    string
	Writes bool
	Does   string // what a change does, for the plan; "" says nothing
	Why    string // what somebody thinks before it, as what the results so far give a reason for; "": nothing is said
}

// Answer is what a program comes to, as people would say it.
type Answer struct {
	Form   string // number, text, list, pair, yes_no, or "" where nothing is asked
	Values []string
	// Order says that a list is asked for in this order.
	Order bool
	How   string // the two values of a pair are written, as "%s (%s)"; "": with a comma
	// Among are what a text was chosen from, where the request names them: who says more than one has not chosen.
	Among []string
	// Beside are numbers that an answer of several values may say too: those that it was computed from.
	Beside []string
	// Asks is what a question back says, as an expression that no request says; "": it is known by its mark.
	Asks string
	// For is what a question with a mark has to ask for, as an expression; "": any will do.
	For string
}

// Program is a request backwards: what it does, what comes of it, and the words that name it.
type Program struct {
	Kind   string
	Steps  []Step
	Tables []*Table // that a stranger has to look at
	Answer Answer
	// Result is what the last reading step shows, value by value: whoever plays it compares. nil: do not compare.
	Result []string
	// Free says that a row is added for which the person names no key.
	Free bool

	Made *Table // the table that it makes; nil: none

	alphabetical bool // the order that a list is asked for in is that of the alphabet

	pattern string            // of the wordings
	deeds   map[string][]Deed // by slot: changes that it says one after the other
	slots   map[string]string // what stands in them
	given   [][2]string       // of a new thing: properties and their values
	then    *Program          // behind it, in one message
	later   int               // how many of its last steps are of then, which is said in a second message
	// the step by which the first of two messages was answered in a conversation before; nil: it is answered here
	recalled *Step
	did      string            // what was changed, for an answer that names it
	query    *Query            // that has the answer, where somebody computes it from the rows; nil: none
	working  string            // of what is no query
	remark   string            // what is said before the working
	head     string            // the first line of the working
	sayings  []saying          // conditions in other words than notes have
	verdict  string            // the last one: what a yes or no is about
	picked   *Query            // that finds what a request names by what it is like; nil: it has a name
	through  []string          // the things by whose relations others are found
	near     bool              // there is nothing else to look at
	means    map[string]string // whom a request means that is said by a relation
	// the words of whoever wrote the request, and its answer; "": the request is drawn
	asked, replied string
	acts           bool // what is asked changes something
}

// Changes reports whether the program changes anything.
func (p *Program) Changes() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Writes })
}

// Writes is how many tables its steps change.
func (p *Program) Writes() int {
	changed := map[string]bool{}
	for _, s := range p.Steps {
		if s.Writes {
			changed[s.table()] = true
		}
	}
	return len(changed)
}

var changedTable = regexp.MustCompile(`^(?:UPDATE|DELETE FROM|INSERT INTO|CREATE TABLE) ("(?:[^"]|"")+"|[^ (]+)`)

// table is the table that a step changes, as SQL writes it; "" where it changes none.
func (s Step) table() string {
	if m := changedTable.FindStringSubmatch(s.SQL); m != nil {
		return m[1]
	}
	return ""
}

// NewRowTable is the table that gets a new row; nil where none does.
func (p *Program) NewRowTable() *Table {
	for _, s := range p.Steps {
		name, ok := strings.CutPrefix(s.SQL, "INSERT INTO ")
		for _, t := range p.Tables {
			if ok && strings.HasPrefix(name, Ident(t.Name)+" ") {
				return t
			}
		}
	}
	return nil
}

// Key names a program among those of its world.
func (p *Program) Key() string {
	var b strings.Builder
	b.WriteString(p.Kind + "\x00" + p.pattern + p.asked)
	for _, name := range slices.Sorted(maps.Keys(p.slots)) {
		if name == "named" {
			continue
		}
		b.WriteString("\x00" + p.slots[name])
	}
	for _, s := range p.Steps {
		b.WriteString("\x00" + s.SQL)
	}
	if p.later > 0 && len(p.Steps) == 0 { // no step tells the second message
		b.WriteString("\x00" + p.then.Key())
	}
	return b.String()
}

// drawer draws programs over one world.
type drawer struct {
	r *rand.Rand
	w *World
	// one and many are nouns in the place of the table's, where a value makes one: "nurses" are staff whose role is
	// nurse.
	one, many string
	plain     bool // things are named in full
	sayings   []saying
	short     bool // nothing is drawn that goes farther than one table and its references
	// at the values of a column, before it is compared with one that is said in another form
	looked []Step
	gave   [][2]string // properties of a new thing, and their values
	// the row that is added, deleted or changed first, where others are changed with it
	concerns []any
	found    *Query            // the things that are changed
	through  []string          // names of the things by whose relations others are found
	near     bool              // there is nothing else to look at
	means    map[string]string // whom a request means that is said by a relation: "the person who leads Beacon"
	picked   *Query            // that finds what is named by what it is like
}

// tries bounds how often a draw that comes to nothing is made again.
const tries = 24

// Draw draws a program of a kind, nil where the world has none.
func Draw(r *rand.Rand, w *World, kind string) *Program {
	for range tries {
		d := &drawer{r: r, w: w}
		if p := d.draw(kind); p != nil {
			p.Kind = kind
			if w.Listed {
				if p.query == nil {
					p.query = d.found
				}
				p.through, p.near, p.means = d.through, d.near, d.means
				if p.means[strings.TrimPrefix(p.slots["x"], "the ")] != "" {
					p.picked = d.picked
				}
				if p.namesNote() {
					continue
				}
				return p
			}
			p.computes()
			if !w.Cased {
				p.lower(r)
			}
			if len(d.looked) > 0 && len(p.Steps) > 0 {
				p.Steps = append(d.looked, p.Steps...)
			}
			return p
		}
	}
	return nil
}

// lower has a name typed in small letters, as people do; it is then looked for without regard to them.
func (p *Program) lower(r *rand.Rand) {
	if p.later > 0 { // which may name it again
		return
	}
	name := p.slots["x"]
	exact, loose := "= "+Literal(name), "LIKE "+Literal(strings.ToLower(name))
	if part := Literal("%" + name + "%"); slices.ContainsFunc(p.Steps,
		func(s Step) bool { return strings.Contains(s.SQL, part) }) {
		exact, loose = part, Literal("%"+strings.ToLower(name)+"%")
	}
	ascii := strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) < 0
	if !ascii || name == strings.ToLower(name) || // LIKE tells "É" from "é"
		r.IntN(8) > 0 || strings.ContainsAny(name, `%_\`) || p.alike(name) ||
		!slices.ContainsFunc(p.Steps, func(s Step) bool { return strings.Contains(s.SQL, exact) }) {
		return
	}
	p.slots["x"] = strings.ToLower(name)
	for i := range p.Steps {
		p.Steps[i].SQL = strings.ReplaceAll(p.Steps[i].SQL, exact, loose)
	}
	p.slots["asks"] = strings.ReplaceAll(p.slots["asks"], name, p.slots["x"])
}

// alike reports whether two rows have a name but for its capitals.
func (p *Program) alike(name string) bool {
	return slices.ContainsFunc(p.Tables, func(t *Table) bool {
		n := 0
		for _, row := range t.Rows {
			if strings.EqualFold(t.rowLabel(row), name) {
				n++
			}
		}
		return n > 1
	})
}

// draw draws a program of a kind. Where tables are read as a whole, a change knows what it is of.
func (d *drawer) draw(kind string) *Program {
	p := d.drawKind(kind)
	if p != nil && d.w.Listed && p.query == nil && p.then == nil {
		p.query = d.found
	}
	return p
}

func (d *drawer) drawKind(kind string) *Program {
	if p := d.ofLinks(kind); p != nil {
		return p
	}
	if p := d.farther(kind); p != nil {
		return p
	}
	switch kind {
	case Lookup:
		return d.either(d.lookup, d.lookup, d.lookupTwo)
	case Join:
		return d.join()
	case Count:
		return d.count(1)
	case Both:
		return d.either(func() *Program { return d.count(2) }, func() *Program { return d.list(2) })
	case Total:
		if p := d.oftenWorth(); p != nil {
			return p
		}
		return d.either(d.total, d.total, d.total, d.worth, d.worth, d.worth, d.sumOf, d.sumOf, d.sumEach)
	case Best:
		return d.either(d.best, d.best, d.best, d.worthBest)
	case Top:
		return d.either(d.top, d.top, d.report)
	case List:
		return d.list(1)
	case Compare:
		return d.either(d.compare, d.compareOf, d.against, d.averages)
	case YesNo:
		return d.yesNo()
	case Missing:
		return d.missing()
	case Most:
		return d.either(d.most, d.most, d.mostOf, d.mostOf, d.having, d.havingOver, d.havingOver)
	case Set:
		return d.either(d.setOne, d.setOne, d.setOne, d.setTwo, d.setTwo, d.sameAs, d.exchange, d.clearOne, d.clearOne,
			d.clearOne, func() *Program { return d.onExtreme(false) })
	case SetAll:
		return d.either(d.setAll, d.setAll, d.moveAll, d.moveAll, d.moveAll, d.moveAll, d.fillMissing, d.removeAll,
			d.removeAll, d.clearAll, d.clearAll, d.clearAll)
	case Adjust:
		return d.either(d.adjust, d.adjust, d.percentAll, d.moved)
	case TwoTables:
		return d.either(d.setBoth, d.addAndChange, d.addAndChange, d.removeAndCount, d.removeAndCount,
			d.removeWith, d.removeWith, d.removeAllWith, d.handOver)
	case Remove:
		return d.either(d.remove, d.remove, d.removeWith, d.removeUnreferred, d.removeAndCount,
			func() *Program { return d.onExtreme(true) })
	case Insert:
		return d.either(d.insert, d.insert, d.insert, d.insert, d.insert, d.insert, d.insert, d.insert, d.newTable)
	case ActIf:
		return d.either(d.actIf, d.actIf, func() *Program { return d.setWhen(false) }, func() *Program {
			return d.setWhen(true)
		})
	case Several:
		return d.either(d.several, d.several, d.changeAndAsk, d.changeAndAsk, d.twoChanges, d.setBoth, d.addAndChange)
	case Correct:
		return d.set(true)
	case Unknown:
		if d.w.Listed {
			return d.besides(d.either(d.unknown, d.nobody))
		}
		return d.besides(d.either(d.unknown, d.unknown, d.unknown, d.nobody))
	case AskBack:
		return d.besides(d.askBack())
	case Cannot:
		return d.besides(d.cannot())
	case Second:
		return d.secondMessage()
	case Leave:
		p := d.draw(pick(d.r, []string{Count, List, Best, Lookup, Total}))
		if p != nil {
			p.slots["leave"] = "yes"
		}
		return p
	}
	return nil
}

// farther draws, at times, a program of a kind that goes over more tables, tells what happened or touches several
// things. Few things of a world allow it, so it is drawn again and again.
func (d *drawer) farther(kind string) *Program {
	if d.w.Listed || d.short {
		return nil
	}
	ofParent := func(d *drawer) *Program { return d.ofParent(kind) }
	ways := map[string][]func(*drawer) *Program{
		Join:  {(*drawer).joinTwo, (*drawer).across, (*drawer).across},
		Count: {(*drawer).countTwo, (*drawer).noneOf},
		List: {(*drawer).noneOf, (*drawer).noneOf, (*drawer).noneOf, (*drawer).bySurname, (*drawer).bySurname,
			(*drawer).listAndCount,
			func(d *drawer) *Program { return d.list(1) }},
		YesNo: {(*drawer).yesWho, (*drawer).noneOf, (*drawer).noneOf},
		Both:  {(*drawer).noneOf, func(d *drawer) *Program { return d.list(2) }},
		Total: {(*drawer).countEach, (*drawer).room, (*drawer).sumOf, (*drawer).worth, (*drawer).worth,
			(*drawer).sumMany, (*drawer).sumMany},
		Compare: {(*drawer).averages, (*drawer).averages, (*drawer).averagesOf},
		Most:    {(*drawer).mostBy},
		Set:     {(*drawer).event, (*drawer).told, ofParent, ofParent, (*drawer).renameOne, (*drawer).renameOne},
		SetAll:  {ofParent, (*drawer).moveAll, (*drawer).noneToChange},
		Remove:  {ofParent, (*drawer).remove, (*drawer).remove},
		Adjust:  {(*drawer).raiseAndLower, (*drawer).moved, (*drawer).moved, (*drawer).moved},
		TwoTables: {(*drawer).threeEffects, (*drawer).threeEffects, (*drawer).stockTaken,
			(*drawer).stockPutBack},
		ActIf:   {(*drawer).addIfNone, (*drawer).setWhenOf, (*drawer).setIfRoom, (*drawer).setIfRoom},
		Insert:  {(*drawer).addNext},
		AskBack: {(*drawer).severalFit},
	}[kind]
	if len(ways) == 0 || d.r.IntN(5) > 1 {
		return nil
	}
	way := pick(d.r, ways)
	for range tries {
		one := &drawer{r: d.r, w: d.w, plain: d.plain}
		if p := way(one); p != nil {
			*d = *one
			return p
		}
	}
	return nil
}

// either draws with one of some ways; a way that is there twice is drawn twice as often.
func (d *drawer) either(ways ...func() *Program) *Program { return pick(d.r, ways)() }

// table draws a table that has rows with labels.
func (d *drawer) table() *Table {
	var able []*Table
	for _, t := range d.w.Tables {
		if t.Label >= 0 && len(t.Rows) > 2 {
			able = append(able, t)
		}
	}
	if len(able) == 0 {
		return nil
	}
	t := pick(d.r, able)
	if t.isNumbered() && d.r.IntN(2) == 0 { // people ask less of what has no name
		t = pick(d.r, able)
	}
	return t
}

// isNumbered reports whether a table's things have no names but numbers of their own: shifts, orders.
func (t *Table) isNumbered() bool {
	return t.Label >= 0 && t.Label == t.Key && t.Columns[t.Label].Kind == Number
}

// properties are the columns that are neither key nor label.
func (t *Table) properties(want func(Column) bool) (list []int) {
	for i, c := range t.Columns {
		if i != t.Key && !t.IsName(i) &&
			(want == nil || want(c)) {
			list = append(list, i)
		}
	}
	return list
}

// isYear reports whether the numbers are years, which nobody adds up.
func (c Column) isYear() bool {
	words := strings.Fields(Words(c.Name))
	alone := strings.Fields("joined founded built planted established published hired") // for the year of that
	return strings.Contains(c.More, "after") || strings.Contains(c.More, "newer") || slices.Contains(words, "year") ||
		slices.Contains(words, "born") || slices.Contains(words, "since") ||
		c.Kind == Number && len(words) == 1 && slices.Contains(alone, words[0])
}

func isNumber(c Column) bool  { return c.Kind == Number && isOrdered(c) }
func isOrdered(c Column) bool { return c.Kind != Text && c.Ref == nil && !c.Bool && !c.Label }

// sole draws a row whose label no other row has.
func (d *drawer) sole(t *Table) []any {
	row := pick(d.r, t.Rows)
	name := t.rowLabel(row)
	n := 0
	for _, o := range t.Rows {
		if t.rowLabel(o) == name {
			n++
		}
	}
	if n != 1 || name == "" || !sayable(name) {
		return nil
	}
	return row
}

// label is the condition that a row has its label.
func (t *Table) label(row []any) Cond { return Cond{t.Label, -1, Is, t.value(row, t.Label, -1)} }

// about are the slots that say what a program is about.
func about(t *Table) map[string]string { return map[string]string{"one": t.One, "many": t.Many} }

// about are those slots with the noun that a condition made.
func (d *drawer) about(t *Table) map[string]string {
	slots := about(t)
	if d.many != "" {
		slots["one"], slots["many"] = d.one, d.many
	}
	return slots
}

// narrow says in slots what a condition says: by its phrase, or by the noun that it made.
func (d *drawer) narrow(slots map[string]string, t *Table, phrase string) {
	maps.Copy(slots, d.about(t))
	slots["filter"] = phrase
}

// tables are the tables of a query, the first its own.
func (q Query) tables() (list []*Table) {
	list = []*Table{q.Table}
	add := func(c Column) {
		if c.Ref != nil && !slices.Contains(list, c.Ref) {
			list = append(list, c.Ref)
		}
	}
	for _, c := range q.Where {
		add(q.Table.Columns[c.Column])
	}
	if q.Agg != "COUNT" {
		add(q.Table.Columns[q.Column])
	}
	return list
}

func (q Query) program(pattern string, slots map[string]string, a Answer) *Program {
	p := &Program{pattern: pattern, slots: slots, Answer: a, Steps: []Step{{SQL: q.SQL()}},
		Tables: q.tables(), query: &q}
	for _, v := range q.Run() {
		p.Result = append(p.Result, Show(v))
	}
	return p
}

func valueTexts(values []any) (texts []string) {
	for _, v := range values {
		texts = append(texts, Show(v))
	}
	return texts
}
