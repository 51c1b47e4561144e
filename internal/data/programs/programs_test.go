package programs

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
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
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "w.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
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
	return all
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

// A task has no slot left, names no key of a row that has a name, and its own answer passes its checks, while other answers
// and no answer fail.
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
					if why := c.AnswerUnmet(x.Answer); why != "" {
						t.Errorf("%s: %q fails its own check: %s", kind, x.Answer, why)
					}
					if kind != Unknown && kind != Cannot && kind != AskBack && c.Answer("I will look at that tomorrow, all the best.") {
						t.Errorf("%s: an answer that says nothing passes: %+v", kind, c)
					}
				}
				if p.Answer.Form == "" && p.then == nil && x.Answer != done || p.Answer.Form != "" && len(x.Checks) == 0 {
					t.Errorf("%s: answer %q with %d checks", kind, x.Answer, len(x.Checks))
				}
			}
		}
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
			all = append(all, p.Tables[0].named(row))
		}
		for _, c := range p.Word(rand.New(rand.NewPCG(seed, 5)), scenario.Train).Checks {
			if c.Answer(strings.Join(all, ", ")) {
				t.Errorf("all of %d names pass: %+v", len(all), c)
			}
		}
	}
}

// Each pattern has words for each split, and no held-out wording is one of training's.
func TestWordings(t *testing.T) {
	for pattern, by := range wordings() {
		for _, split := range []string{scenario.Train, scenario.Validation, scenario.Test} {
			if len(by[split]) == 0 {
				t.Errorf("%s has no words for %s", pattern, split)
			}
			for _, text := range by[split] {
				if split != scenario.Train && slices.Contains(by[scenario.Train], text) {
					t.Errorf("%s: %q is trained on", pattern, text)
				}
			}
		}
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{"doctor_id": "doctor", "UnitPriceEUR": "unit price eur", "id": "id", "weight-kg": "weight kg", "createdAt": "created at"} {
		if got := Words(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for table, want := range map[string]string{"tbl_patients": "patient patients", "Categories": "category categories", "work_order": "work order work orders", "boxes": "box boxes", "staff": "staff staff", "bus": "bus buses"} {
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
		`[]`:              "",
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

// Of tables that were there before, keys, names and references are found.
func TestTables(t *testing.T) {
	owners := TableOf("owners", Records(`[{"id": 1, "full_name": "Ana Sol", "city": "Oslo"}, {"id": 2, "full_name": "Ben Ray", "city": "Oslo"}]`))
	pets := TableOf("pets", Records(`[{"pet_id": 7, "name": "Rex", "owner_id": 2, "born": "2020-01-02"}, {"pet_id": 8, "name": "Pip", "owner_id": 1, "born": "2021-03-04"}]`))
	Relate([]*Table{owners, pets})
	if owners.Key != 0 || owners.Label != 1 || pets.Key != 0 || pets.Label != 1 || pets.Columns[2].Ref != owners || pets.Columns[3].Kind != Date || pets.One != "pet" {
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
	added, removed, changed := Diff(before, table(`[{"id": 1, "name": "a"}, {"id": 2, "name": "B"}, {"id": 4, "name": "d"}]`))
	if len(added) != 1 || added[0][1] != "d" || len(removed) != 1 || removed[0][1] != "c" || len(changed) != 1 || changed[0][1][1] != "B" {
		t.Errorf("added %v, removed %v, changed %v", added, removed, changed)
	}
}

func TestSpokenDates(t *testing.T) {
	if got := spokenMonth("2024-05"); got != "May 2024" {
		t.Error(got)
	}
	said := map[string]bool{}
	for seed := range uint64(40) {
		said[(&drawer{r: rand.New(rand.NewPCG(seed, 1))}).spokenDate("2024-07-03")] = true
	}
	for _, want := range []string{"3 July 2024", "July 3, 2024", "2024-07-03"} {
		if !said[want] {
			t.Errorf("%q is not among %v", want, said)
		}
	}
}
