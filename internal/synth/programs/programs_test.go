package programs

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"hone/internal/episode/scenario"
)

// opened is a world in a real database, with what a query answers there, line by line.
type opened struct {
	t  *testing.T
	db *sql.DB
}

func open(t *testing.T, w *World) opened {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1) // another one is another database
	for _, statement := range w.Create() {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%v: %s", err, statement)
		}
	}
	return opened{t, db}
}

func (o opened) ask(query string) (values []string) {
	o.t.Helper()
	rows, err := o.db.Query(query)
	if err != nil {
		o.t.Fatalf("%v: %s", err, query)
	}
	defer rows.Close()
	names, _ := rows.Columns()
	for rows.Next() {
		cells, into := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			o.t.Fatal(err)
		}
		for _, c := range cells {
			values = append(values, Show(c))
		}
	}
	return values
}

func (o opened) states(w *World) (all string) {
	for _, t := range w.Tables {
		all += strings.Join(o.ask(t.State(true)), "\x00") + "\x01"
	}
	return all + strings.Join(o.ask("SELECT name FROM sqlite_master"), "\x00")
}

// What is computed of the rows is what a database answers to the SQL, and a change shows there.
func TestProgramsAgreeWithADatabase(t *testing.T) {
	drawn := map[string]int{}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := Invent(r, int(seed)%NumDomains())
		for kind := range Shares() {
			p := Draw(rand.New(rand.NewPCG(seed, uint64(len(kind)))), w, kind)
			if p == nil {
				continue
			}
			drawn[kind]++
			o := open(t, w)
			before := o.states(w)
			var last []string
			for _, s := range p.Steps {
				if !s.Writes {
					last = o.ask(s.SQL)
					continue
				}
				if _, err := o.db.Exec(s.SQL); err != nil {
					t.Errorf("%s: %v: %s", kind, err, s.SQL)
				}
			}
			if changed := o.states(w) != before; changed != p.Changes() {
				t.Errorf("%s: changes %v, changed %v: %+v", kind, p.Changes(), changed, p.Steps)
			}
			if p.Result != nil && strings.Join(p.Result, " ") != strings.Join(last, " ") {
				t.Errorf("%s: computed %q, the database says %q: %+v", kind, p.Result, last, p.Steps)
			}
		}
	}
	for kind := range Shares() {
		if drawn[kind] < 3 {
			t.Errorf("%s was drawn %d times", kind, drawn[kind])
		}
	}
}

// A task has no slot left, names no key of a row that has a name, and its own answer passes its checks, while other
// answers and no answer fail.
func TestTasksAndTheirChecks(t *testing.T) {
	slot := regexp.MustCompile(`\{\S*\}|  | \?|\bnil\b`)
	for seed := range uint64(16) {
		w := Invent(rand.New(rand.NewPCG(seed, 2)), int(seed)%NumDomains())
		for kind := range Shares() {
			r := rand.New(rand.NewPCG(seed, uint64(len(kind))))
			p := Draw(r, w, kind)
			if p == nil {
				continue
			}
			for _, split := range []string{scenario.Train, scenario.Validation, scenario.Test} {
				x := p.Word(r, split)
				if x.Task == "" || slot.MatchString(x.Task) {
					t.Errorf("%s: %q", kind, x.Task)
				}
				for _, c := range x.Checks {
					if why := c.AnswerUnmet(x.answering(c)); why != "" {
						t.Errorf("%s: %q fails its own check: %s", kind, x.answering(c), why)
					}
					if kind != Unknown && kind != Cannot && kind != AskBack &&
						c.Answer("I will look at that tomorrow, all the best.") {
						t.Errorf("%s: an answer that says nothing passes: %+v", kind, c)
					}
				}
				if p.Answer.Form == "" && p.then == nil && x.Answer != done ||
					p.Answer.Form != "" && p.recalled == nil && len(x.Checks) == 0 {
					t.Errorf("%s: answer %q with %d checks", kind, x.Answer, len(x.Checks))
				}
			}
		}
	}
}

// answering is the answer that a check is of: the first of two messages has its own.
func (w Worded) answering(c scenario.Check) string {
	if c.AnyTurn {
		return w.Between
	}
	return w.Answer
}

// Of two requests in one message each answer passes where both stand, in whatever form either is asked for.
func TestTwoAnswersPassTogether(t *testing.T) {
	both := 0
	for seed := range uint64(600) {
		w := Invent(rand.New(rand.NewPCG(seed, 2)), int(seed)%NumDomains())
		r := rand.New(rand.NewPCG(seed, 8))
		p := Draw(r, w, Several)
		if p == nil || p.Answer.Form == "" || p.then == nil || p.then.Answer.Form == "" {
			continue
		}
		both++
		x := p.Word(r, scenario.Train)
		for _, c := range x.Checks {
			if why := c.AnswerUnmet(x.Answer); why != "" {
				t.Errorf("%q: %q fails its own check: %s", x.Task, x.Answer, why)
			}
			if first, _, _ := strings.Cut(x.Answer, "\n"); c.Answer("Tomorrow.") ||
				len(x.Checks) == 1 && c.Answer(first) {
				t.Errorf("%q: half an answer passes: %+v", x.Task, c)
			}
		}
	}
	if both < 30 {
		t.Errorf("%d tasks of two answers", both)
	}
}

func TestAnAnswerThatListsEverythingFails(t *testing.T) {
	w := Invent(rand.New(rand.NewPCG(3, 3)), 0)
	for seed := range uint64(40) {
		p := Draw(rand.New(rand.NewPCG(seed, 4)), w, Best)
		if p == nil {
			continue
		}
		var all []string
		for _, row := range p.Tables[0].Rows {
			all = append(all, p.Tables[0].rowLabel(row))
		}
		for _, c := range p.Word(rand.New(rand.NewPCG(seed, 5)), scenario.Train).Checks {
			if c.Answer(strings.Join(all, ", ")) {
				t.Errorf("all of %d names pass: %+v", len(all), c)
			}
		}
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"doctor_id": "doctor", "UnitPriceEUR": "unit price eur", "id": "id", "weight-kg": "weight kg",
		"createdAt": "created at",
	} {
		if got := Words(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for table, want := range map[string]string{
		"tbl_patients": "patient patients", "Categories": "category categories", "work_order": "work order work orders",
		"boxes": "box boxes", "staff": "staff member staff", "bus": "bus buses", "s": "s ses",
		"bookshelves": "bookshelf bookshelves", "loaf": "loaf loaves",
	} {
		if one, many := Nouns(table); one+" "+many != want {
			t.Errorf("%s: %s %s, want %s", table, one, many, want)
		}
	}
}

func TestRecords(t *testing.T) {
	for text, want := range map[string]string{
		`[{"id": 1, "name": "a", "tags": ["x", "y"]}, {"id": 2, "name": null, "tags": []}]`: `[id=1 name=a tags=x; y][id=2 name=<nil> tags=<nil>]`,
		`{"count": 2, "items": [{"n": 1.5}]}`:                                               `[n=1.5]`,
		`[{'cid': 0, 'name': "O'Brien", 'ok': True, 'x': None}]`:                            `[cid=0 name=O'Brien ok=true x=<nil>]`,
		"name,age\nAna,3\nBen,NULL":                                                         `[name=Ana age=3][name=Ben age=<nil>]`,
		"| id | name |\n|----|------|\n| 1 | a |":                                           `[id=1 name=a]`,
		"just a sentence": "",
		`{"a": 1}`:        "",
		"name,age\nNan,3": `[name=Nan age=3]`,
		`[]`:              "",
		`{"columns": ["id", "name"], "columnTypes": ["INT", "TEXT"], "rows": [[1, "a"], [2, null]]}`: `[id=1 name=a][id=2 name=<nil>]`,
		`{"data": {"rows": [[1.5]], "columns": ["n"]}}`:                                              `[n=1.5]`,
		`{"columns": ["id", "name"], "rows": [[1], [2]]}`:                                            "",
		"2 rows\n{\"columns\":[\"id\"],\"rows\":[{\"id\":1}]}":                                       `[id=1]`,
	} {
		got := ""
		for _, r := range Records(text) {
			var cells []string
			for i, name := range r.Names {
				cells = append(cells, fmt.Sprintf("%s=%v", name, r.Values[i]))
			}
			got += "[" + strings.Join(cells, " ") + "]"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Texts with as many decimals are numbers, as a DECIMAL is shown; versions are none.
func TestDecimalsThatAreTexts(t *testing.T) {
	got := TableOf("parts", Records(`[{"id": 1, "price": "4.50", "version": "1.9", "kept": "2.0"},
		{"id": 2, "price": "12.00", "version": "1.10", "kept": "2.0"}, {"id": 3, "price": null, "version": "2.0",
		"kept": "2.0"}]`))
	if got.Columns[1].Kind != Number || got.Rows[0][1] != 4.5 || got.Rows[1][1] != 12.0 || got.Rows[2][1] != nil ||
		got.Columns[2].Kind != Text || got.Columns[3].Kind != Text {
		t.Errorf("%+v %v", got.Columns, got.Rows)
	}
}

// Of tables that were there before, keys, names and references are found.
func TestTables(t *testing.T) {
	owners := TableOf(
		"owners", Records(
			`[{"id": 1, "full_name": "Ana Sol", "city": "Oslo"}, {"id": 2, "full_name": "Ben Ray", "city": "Oslo"}]`,
		),
	)
	pets := TableOf("pets", Records(`[{"pet_id": 7, "name": "Rex", "owner_id": 2, "born": "2020-01-02"}, {"pet_id": 8, "name": "Pip", "owner_id": 1, "born": "2021-03-04"}]`))
	Relate([]*Table{owners, pets})
	if owners.Key != 0 || owners.Label != 1 || pets.Key != 0 || pets.Label != 1 || pets.Columns[2].Ref != owners ||
		pets.Columns[3].Kind != Date || pets.One != "pet" {
		t.Errorf("%+v\n%+v", owners, pets)
	}
	if got := pets.show(2, pets.Rows[0]); got != "Ben Ray" {
		t.Error(got)
	}
	if TableOf("x", Records(`[{"a": 1}, {"b": 2}]`)) != nil {
		t.Error("records of two forms are one table")
	}
}

func TestDiff(t *testing.T) {
	table := func(text string) *Table { return TableOf("items", Records(text)) }
	before := table(`[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}]`)
	added, removed, changed := Diff(before,
		table(`[{"id": 1, "name": "a"}, {"id": 2, "name": "B"}, {"id": 4, "name": "d"}]`))
	if len(added) != 1 || added[0][1] != "d" || len(removed) != 1 || removed[0][1] != "c" || len(changed) != 1 ||
		changed[0][1][1] != "B" {
		t.Errorf("added %v, removed %v, changed %v", added, removed, changed)
	}
}

func TestSpokenDates(t *testing.T) {
	if got := monthText("2024-05"); got != "May 2024" {
		t.Error(got)
	}
	said := map[string]bool{}
	for seed := range uint64(40) {
		said[(&drawer{r: rand.New(rand.NewPCG(seed, 1))}).dateText("2024-07-03")] = true
	}
	for _, want := range []string{"3 July 2024", "July 3, 2024", "2024-07-03", "the 3rd of July 2024"} {
		if !said[want] {
			t.Errorf("%q is not among %v", want, said)
		}
	}
}

// A list in order is no part of a list of everything, and a value no part of a longer word.
func TestAnswersThatSayMoreFail(t *testing.T) {
	top := Answer{Form: "list", Values: []string{"Ana", "Ben", "Cy"}, Order: true}.check("", "")
	one := Answer{Form: "text", Values: []string{"art"}}.check("", "")
	for text, want := range map[string]bool{
		"Ana, Ben, Cy":                       true,
		"Ana\nBen\nCy":                       true,
		"The top three are Ana, Ben and Cy.": true,
		"Here you are, in order:\n1. Ana\n2. Ben\n3. Cy": true,
		"Ana (30), Ben (20), Cy (10)":                    true,
		"Ana, Ben, Cy, Dan":                              false,
		"Zoe, Ana, Ben, Cy":                              false,
		"Zoe\nAna\nBen\nCy":                              false,
		"Ana, Bo, Ben, Cy":                               false,
		"Ana, Cy, Ben":                                   false,
	} {
		if top.Answer(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"art": true, "She teaches art.": true, "I will start.": false} {
		if one.Answer(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	yes := valueOf(Column{Name: "vegan", Kind: Text}, "yes")
	if c := yes.check("", ""); !c.Answer("yes") || !c.Answer("Yes.") || c.Answer("no") {
		t.Errorf("%+v: %+v", yes, c)
	}
}

func TestStateOfATableThatIsAKeyAlone(t *testing.T) {
	table := &Table{Name: "tags", Columns: []Column{{Name: "id"}}}
	if got := table.State(false); got != "SELECT id FROM tags ORDER BY id" {
		t.Error(got)
	}
}

// Of values that are several texts each, one of two is looked for in none of them as a whole.
func TestConditionsOnSeveralTexts(t *testing.T) {
	table := TableOf("notes",
		Records(`[{"name": "a", "tags": ["x", "y"]}, {"name": "b", "tags": ["x"]}, {"name": "c", "tags": ["y"]}]`))
	w := &World{Tables: []*Table{table}, Listed: true}
	for seed := range uint64(200) {
		if c, phrase, ok := (&drawer{r: rand.New(rand.NewPCG(seed, 7)), w: w}).condition(table, table.Label); ok &&
			c.Op != Is {
			t.Errorf("%s: %+v", phrase, c)
		}
	}
}

// The two requests of one message each have the noun of their own table.
func TestNounsOfTwoRequests(t *testing.T) {
	several := 0
	for seed := range uint64(200) {
		w := Invent(rand.New(rand.NewPCG(seed, 8)), int(seed)%NumDomains())
		p := Draw(rand.New(rand.NewPCG(seed, 9)), w, Several)
		if p == nil || p.then == nil || len(p.then.Tables) == 0 || p.then.slots["one"] == "" || len(p.Tables) < 2 {
			continue
		}
		several++
		of, first := p.then.Tables[0], p.Tables[0]
		one := p.then.slots["one"]
		if one != of.One && of != first && one == p.slots["one"] {
			t.Errorf("%q is said of %s", one, of.Name)
		}
	}
	if several < 20 {
		t.Errorf("%d were drawn", several)
	}
}

// A name that two rows have names neither, and things of one name are not counted as one.
func TestNamesOfTwo(t *testing.T) {
	people := TableOf("people", Records(`[{"id": 1, "name": "Ana", "age": 3}, {"id": 2, "name": "Ana", "age": 4},
		{"id": 3, "name": "Ben", "age": 5}]`))
	pets := TableOf("pets", Records(`[{"id": 1, "name": "Rex", "people_id": 1}, {"id": 2, "name": "Pip", "people_id": 2},
		{"id": 3, "name": "Kit", "people_id": 3}]`))
	tables := []*Table{people, pets}
	Relate(tables)
	if pets.Columns[2].Ref != people {
		t.Fatalf("%+v", pets)
	}
	for seed := range uint64(100) {
		for kind, table := range map[string]*Table{Lookup: people, Set: people, Most: people} {
			w := &World{Tables: tables}
			if p := Draw(rand.New(rand.NewPCG(seed, 1)), w,
				kind); p != nil && p.Tables[0] == table && p.slots["x"] == "Ana" ||
				p != nil && slices.Equal(p.Answer.Values, []string{"Ana"}) {
				t.Errorf("%s: %+v", kind, p.Steps)
			}
		}
	}
}

func TestArticles(t *testing.T) {
	for text, want := range map[string]string{
		"Add a {one} {x}.":                    "Add an author Ana.",
		"Whose {attr}? A {one} has a {attr}.": "Whose price? An author has a price.",
	} {
		if got := fill(text, map[string]string{"one": "author", "x": "Ana", "attr": "price"}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What is changed of some things alone is said of these, in a phrase or by their noun.
func TestFilterIsSaid(t *testing.T) {
	tasks := TableOf("tasks", Records(`[{"id": 1, "title": "Call Ana", "status": "open", "days": 3},
		{"id": 2, "title": "Buy milk", "status": "done", "days": 5}, {"id": 3, "title": "Fix door", "status": "open", "days": 8}]`))
	nouns := 0
	for seed := range uint64(60) {
		_, slots, ok := Filter(rand.New(rand.NewPCG(seed, 1)), &World{Tables: []*Table{tasks}, Listed: true}, tasks)
		if ok && slots["filter"] == "" && slots["many"] == tasks.Many {
			t.Errorf("%v are all", slots)
		}
		if ok && slots["filter"] == "" {
			nouns++
		}
	}
	if nouns == 0 {
		t.Error("no noun was drawn")
	}
}

func TestConditionsAreSaid(t *testing.T) {
	nouns := 0
	for seed := range uint64(300) {
		w := Invent(rand.New(rand.NewPCG(seed, 1)), int(seed)%NumDomains())
		for _, kind := range []string{Total, Best, Adjust} {
			p := Draw(rand.New(rand.NewPCG(seed, 2)), w, kind)
			if p == nil || p.slots["x"] != "" || p.slots["filter"] != "" || strings.HasPrefix(p.pattern, "room") {
				continue
			}
			_, where, some := strings.Cut(strings.ReplaceAll(p.Steps[len(p.Steps)-1].SQL, " IS NOT NULL", ""),
				" WHERE ")
			if !some || !strings.Contains(where, "=") {
				continue
			}
			if nouns++; p.slots["many"] == p.Tables[0].Many {
				t.Errorf("%s of all %s: %s", kind, p.slots["many"], where)
			}
		}
	}
	if nouns == 0 {
		t.Error("no noun was drawn")
	}
}

// Things without names are narrowed down as others are: the works of a person, say, which have numbers alone.
func TestConditionsOnThingsWithoutNames(t *testing.T) {
	works := &Table{Name: "works", Key: -1, Label: -1, Columns: []Column{{Name: "hours", Kind: Number}},
		Rows: [][]any{{int64(1)}, {int64(2)}, {int64(3)}}}
	found := 0
	for seed := range uint64(100) {
		d := &drawer{r: rand.New(rand.NewPCG(seed, 1)), w: &World{Tables: []*Table{works}}}
		if c, _, ok := d.condition(works); ok && c.Column == 0 {
			found++
		}
	}
	if found == 0 {
		t.Error("no condition is found")
	}
}
