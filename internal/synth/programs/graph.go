package programs

import (
	"cmp"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
)

// Graph is what a store of notes holds: things of several types, each with notes in free text, and relations of them.
type Graph struct {
	Things    []Thing
	Relations []Relation
}

// Thing is one entry of a graph.
type Thing struct {
	Name, Type string
	Notes      []string
}

// Relation is what is stated of two things, by their names.
type Relation struct{ From, To, Type string }

// Clone is a copy that shares nothing.
func (g Graph) Clone() Graph {
	c := Graph{Relations: slices.Clone(g.Relations)}
	for _, t := range g.Things {
		t.Notes = slices.Clone(t.Notes)
		c.Things = append(c.Things, t)
	}
	return c
}

// Thing finds a thing by its name; nil where there is none.
func (g *Graph) Thing(name string) *Thing {
	at := slices.IndexFunc(g.Things, func(t Thing) bool { return t.Name == name })
	if at < 0 {
		return nil
	}
	return &g.Things[at]
}

// GraphTables are the tables that a graph is read as, and how each of their columns stands in it.
type GraphTables struct {
	*World
	Graph   Graph
	sources map[*Table][]source
	types   map[*Table]string // of a table of things
}

// source is how a column of a table stands in the graph: in a note of some form, as a note itself, or in a relation.
type source struct {
	before, after string // of a note with a value
	note          string // a note that is there or not
	relation      string // from the thing to another
}

// value is the note that says a value.
func (s source) value(v any) string { return s.before + Show(v) + s.after }

// Bounds of what is read out of notes.
const (
	leastThings = 3 // of one type, for a table
	mostFlags   = 6 // notes of one table that are asked for as they are
)

// Tables reads a graph as tables: one for each type of things. Notes of one form, as "budget 1200" and "budget 800",
// are a column, notes that stand at several things another one, and relations that lead from each thing to one other
// are references. What leads to several is a table of links.
func (g Graph) Tables() *GraphTables {
	gt := &GraphTables{World: &World{Name: "graph", Listed: true, Noted: true}, Graph: g,
		sources: map[*Table][]source{}, types: map[*Table]string{}}
	of := map[string][]Thing{}
	var types []string
	for _, t := range g.Things {
		if of[t.Type] == nil {
			types = append(types, t.Type)
		}
		of[t.Type] = append(of[t.Type], t)
	}
	for _, kind := range types {
		if kind != "" && len(of[kind]) >= leastThings { // what has no type has no noun
			gt.addTable(kind, of[kind])
		}
	}
	Understand(gt.World.Tables)
	for _, t := range gt.World.Tables {
		for i := range t.Columns {
			t.phrase(i, gt.sources[t][i])
			t.Columns[i].quote = gt.quoting(t, i)
		}
	}
	gt.addRelations()
	return gt
}

func (gt *GraphTables) addTable(kind string, things []Thing) {
	one := singular(Words(kind))
	t := &Table{Name: strings.ReplaceAll(one, " ", "_"), One: one, Many: plural(one), Key: 0, Label: 0,
		Columns: []Column{{Name: "name", Kind: Text}}}
	sources := []source{{}}
	forms := formsOf(things)
	for _, f := range forms {
		sources = append(sources, source{before: f.before, after: f.after})
		t.Columns = append(t.Columns,
			Column{Name: strings.ReplaceAll(f.name(), " ", "_"), Says: f.name(), Kind: f.kind})
	}
	for _, note := range flagsOf(things, forms) {
		sources = append(sources, source{note: note})
		t.Columns = append(t.Columns, Column{Name: note, Says: note, Bool: true, Note: true, Kind: Number})
	}
	for _, thing := range things {
		row := []any{thing.Name}
		for _, s := range sources[1:] {
			row = append(row, s.read(thing))
		}
		t.Rows = append(t.Rows, row)
	}
	gt.World.Tables, gt.sources[t], gt.types[t] = append(gt.World.Tables, t), sources, kind
}

// read is what a thing's notes say of a column; nil where they say nothing.
func (s source) read(t Thing) any {
	if s.note != "" {
		if slices.Contains(t.Notes, s.note) {
			return int64(1)
		}
		return int64(0)
	}
	for _, note := range t.Notes {
		if v, ok := s.in(note); ok {
			return numberOf(v)
		}
	}
	return nil
}

// in cuts the value out of a note of this form.
func (s source) in(note string) (value string, ok bool) {
	rest, ok := strings.CutPrefix(note, s.before)
	if value, also := strings.CutSuffix(rest, s.after); ok && also && value != "" {
		return value, true
	}
	return "", false
}

// noteForm is how some notes of a type say one property.
type noteForm struct {
	before, after string
	kind          Kind
}

var (
	noteValue = regexp.MustCompile(`\d{4}-\d{2}-\d{2}|\d+(?:\.\d+)?`)
	noteKey   = regexp.MustCompile(`^([A-Za-z][A-Za-z ]{1,24}: )(\S.*)$`)
)

// formOf is the form of a note that says a value: behind a colon, or the only number or day in it.
func formOf(note string) (f noteForm, value string, ok bool) {
	if m := noteKey.FindStringSubmatch(note); m != nil {
		return noteForm{before: m[1]}, m[2], true
	}
	found := noteValue.FindAllStringIndex(note, 2)
	if len(found) != 1 {
		return f, "", false
	}
	from, to := found[0][0], found[0][1]
	f.before, f.after = note[:from], note[to:]
	joined := f.before != "" && !strings.HasSuffix(f.before, " ") || f.after != "" && !strings.HasPrefix(f.after, " ")
	if joined || f.before+f.after == "" || isVerbAlone(firstWord(f.before)) ||
		len(strings.Fields(f.before+f.after)) > 4 {
		return f, "", false
	}
	return f, note[from:to], true
}

func firstWord(text string) string {
	first, _, _ := strings.Cut(text, " ")
	return first
}

// formsOf are the forms that a third of the things has a note of, each once.
func formsOf(things []Thing) (forms []noteForm) {
	var leads []noteForm
	values := map[noteForm][]string{}
	for _, t := range things {
		seen := map[noteForm]bool{}
		for _, note := range t.Notes {
			f, v, ok := formOf(note)
			if !ok || seen[f] {
				continue
			}
			seen[f] = true
			if values[f] == nil {
				forms = append(forms, f)
			}
			values[f] = append(values[f], v)
		}
	}
	for _, t := range things { // "level senior" and "level junior"
		for _, note := range t.Notes {
			if f, v, ok := leadOf(note); ok && !formed(note, forms) {
				if values[f] == nil {
					leads = append(leads, f)
				}
				values[f] = append(values[f], v)
			}
		}
	}
	leads = slices.DeleteFunc(leads, func(f noteForm) bool {
		return len(slices.Compact(slices.Sorted(slices.Values(values[f])))) < 2
	})
	forms = slices.DeleteFunc(append(forms, leads...), func(f noteForm) bool {
		return len(values[f]) < 2 || 3*len(values[f]) < len(things) || f.name() == ""
	})
	sort.SliceStable(forms, func(i, j int) bool { return len(values[forms[i]]) > len(values[forms[j]]) })
	for i := range forms {
		forms[i].kind = kindOfTexts(values[forms[i]])
	}
	return forms
}

// leadOf takes the first word of a note for what it says: "level senior". ok is false where that word is no noun.
func leadOf(note string) (f noteForm, value string, ok bool) {
	first, rest, found := strings.Cut(note, " ")
	ok = found && len(first) > 3 && !isVerbAlone(first) && !isPast(first) && !slices.Contains(states(), first) &&
		!slices.Contains(strings.Fields("does with from only needs breakfast good third first under"), first) &&
		strings.ToLower(first) == first && len(strings.Fields(rest)) < 4
	return noteForm{before: first + " "}, rest, ok
}

// formed reports whether a note has one of some forms.
func formed(note string, forms []noteForm) bool {
	return slices.ContainsFunc(forms, func(f noteForm) bool {
		_, ok := source{before: f.before, after: f.after}.in(note)
		return ok
	})
}

// states are words that say how a thing is.
func states() []string {
	return strings.Fields("open closed allergic vegetarian vegan afraid free available full empty late out")
}

// kindOfTexts is the kind of values that stand in texts.
func kindOfTexts(list []string) Kind {
	numbers, days := 0, 0
	for _, v := range list {
		if _, isText := numberOf(v).(string); !isText {
			numbers++
		}
		if _, err := time.Parse(time.DateOnly, v); err == nil {
			days++
		}
	}
	switch len(list) {
	case numbers:
		return Number
	case days:
		return Date
	}
	return Text
}

// name is what people call what a form says: "budget", "ticket price", "price a night".
func (f noteForm) name() string {
	before := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(f.before), ":"))
	before = strings.TrimPrefix(before, "number of ")
	if at := strings.LastIndex(before, " in "); at > 0 { // the unit is not said
		before = before[:at]
	}
	after := strings.TrimSpace(f.after)
	unit, rest, _ := strings.Cut(after, " ")
	paid := slices.Contains(strings.Fields("euro euros dollar dollars pound pounds francs eur usd gbp chf"),
		strings.ToLower(unit))
	switch {
	case paid && before == "":
		return strings.TrimSpace("price " + rest)
	case paid && !strings.Contains(before, "price") && !strings.Contains(before, "budget") &&
		!strings.Contains(before, "cost"):
		return before + " price"
	case before == "":
		return after
	}
	return before
}

// flagsOf are the notes that are asked for as they are: those of several things first.
func flagsOf(things []Thing, forms []noteForm) (notes []string) {
	count := map[string]int{}
	for _, t := range things {
		for _, note := range t.Notes {
			if formed(note, forms) || len(note) > 50 || noteValue.MatchString(note) && !isVerbAlone(firstWord(note)) {
				continue
			}
			if count[note]++; count[note] == 1 {
				notes = append(notes, note)
			}
		}
	}
	slices.SortStableFunc(notes, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return notes[:min(mostFlags, len(notes))]
}

// phrase gives a column the words of the notes that it stands in.
func (t *Table) phrase(i int, s source) {
	c := &t.Columns[i]
	who := "that"
	if t.OfPeople() || t.One == "person" {
		who = "who"
	}
	switch first := firstWord(strings.TrimPrefix(c.Says, "year ")); {
	case s.note != "":
		c.Bool = true
		c.Yes, c.No, c.Asks = flagPhrases(s.note, who)
	case c.Kind == Number && t.years(i) && isPast(first): // joined 2014
		c.Says = "year " + strings.TrimPrefix(c.Says, "year ")
		c.Asks = "In which year is {x} noted as \"" + first + "\"?"
		c.With, c.More, c.Less = who+" "+first+" in {v}", who+" "+first+" after {v}", who+" "+first+" before {v}"
		if c.Most, c.Least = "", ""; first == "born" {
			c.With, c.More, c.Less = "born in {v}", "born after {v}", "born before {v}"
			c.Most, c.Least, c.Asks = "youngest", "oldest", "In which year was {x} born?"
		}
	case c.Kind == Number && strings.HasPrefix(c.Says, "price"), c.Kind == Number &&
		strings.HasSuffix(c.Says, " price"):
		c.With, c.More, c.Less =
			whose(c.Says, "{v}"), whose(c.Says, "above {v}"), whose(c.Says, "below {v}")
		if c.Most, c.Least = "", ""; slices.ContainsFunc(t.Columns, func(o Column) bool {
			return &o != c && o.Says != c.Says && strings.Contains(o.Says, "price")
		}) {
			break
		}
		c.Most, c.Least = "most expensive", "cheapest"
	case c.Kind == Date && first == "born":
		c.Says, c.Asks = "date of birth", "When was {x} born?"
		c.Most, c.Least = "youngest", "oldest"
	}
}

// years reports whether the numbers of a column are years.
func (t *Table) years(i int) bool {
	for _, row := range t.Rows {
		if x, ok := asFloat(row[i]); ok && (x < 1900 || x > 2100) {
			return false
		}
	}
	return true
}

// flagPhrases say that a note stands at things, that it does not, and ask for it.
func flagPhrases(note, who string) (yes, no, asks string) {
	first, rest, _ := strings.Cut(note, " ")
	switch {
	case first == "does" || first == "is" || first == "was":
		is := map[string]string{"does": "do", "is": "are", "was": "were"}[first]
		if after, ok := strings.CutPrefix(rest, "not "); ok {
			return who + " " + is + " not " + after, who + " " + is + " " + after, ""
		}
		return who + " " + is + " " + rest, who + " " + is + " not " + rest, ""
	case isVerbAlone(first):
		base := baseVerb(first)
		return strings.TrimSpace(who + " " + base + " " + rest),
			strings.TrimSpace(who + " do not " + base + " " + rest), strings.TrimSpace("Does {x} "+base+" "+rest) + "?"
	case slices.Contains(states(), first) || isPast(first) && rest != "":
		return who + " are " + note, who + " are not " + note, "Is {x} " + note + "?"
	}
	return `noted as "` + note + `"`, "", `Is {x} noted as "` + note + `"?`
}

// isVerbAlone reports whether a word is a verb of a third person: speaks, owns, has.
func isVerbAlone(word string) bool {
	verbs := strings.Fields(`accepts arrives attends belongs borrows brings buys coaches comes competes contains
		costs covers delivers departs does drives eats employs ends exports feeds fits follows gives grows handles
		has heads helps holds hosts includes keeps knows leads likes lives looks loves makes manages meets mentors
		moves needs offers opens organises organizes owns pays performs plays prefers presents provides reads rents
		repairs reports requires reviews runs sells sends serves sings sits speaks sponsors starts stays stores
		studies supervises supplies takes teaches trains travels treats uses visits volunteers wants wears works
		writes`)
	return slices.Contains(verbs, word)
}

// baseVerb is a verb of a third person without its ending.
func baseVerb(word string) string {
	switch {
	case word == "has":
		return "have"
	case word == "does":
		return "do"
	case endsIn(word, "ches", "shes", "sses", "xes"):
		return word[:len(word)-2]
	case strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	}
	return strings.TrimSuffix(word, "s")
}

// isPast reports whether a word says what was done.
func isPast(word string) bool {
	irregular := strings.Fields(
		"born built bought sold made kept held written taken done known led lent met paid sent taught")
	return len(word) > 3 && strings.HasSuffix(word, "ed") || slices.Contains(irregular, word)
}
