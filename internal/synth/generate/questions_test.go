package generate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/synth/programs"
)

// What a server answers otherwise than was computed is no task.
func TestProgramsThatAServerContradicts(t *testing.T) {
	s, tools := database(t)
	inner := s.tools["query"]
	s.tools["query"] = func(st *stock, args map[string]any) (string, error) {
		if text := fmt.Sprint(args["query"]); strings.HasPrefix(text, "SELECT COUNT") {
			return "[(4712,)]", nil
		}
		return inner(st, args)
	}
	o := optionsOf(s)
	o.N = 30
	made := run(t, s, tools, o)
	if len(made.Scenarios) < 10 {
		t.Errorf("%d scenarios", len(made.Scenarios))
	}
	for _, x := range made.Scenarios {
		counts := slices.ContainsFunc(x.Gold, func(g scenario.Gold) bool {
			return strings.HasPrefix(textOf(find(g.Arguments, "query")), "SELECT COUNT")
		})
		if kind := x.Provenance.Kind; counts && (kind == programs.Count || kind == programs.YesNo) {
			t.Errorf("%s: %s", x.Task, x.GoldAnswer)
		}
	}
}

func TestListsOfOthers(t *testing.T) {
	for text, want := range map[string]bool{
		`[{"name": "Ana"}, {"name": "Ben"}]`:                false,
		`[{"name": "Ana"}, {"name": "Ben"}, {"name": "C"}]`: true,
		`{"rows": [{"name": "Ana"}]}`:                       true,
		`[('Ana',), ('Ben',), ('Cy',)]`:                     false, // read by nobody
	} {
		if listsOthers(text, 2) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// Of few worlds some are held out and some are for training, whatever is drawn.
func TestBusinesses(t *testing.T) {
	for seed := range uint64(50) {
		order := businesses(rand.New(rand.NewPCG(seed, 1)))
		if len(order) != programs.NumDomains() || programs.IsHeldOut(order[0]) || !programs.IsHeldOut(order[1]) ||
			programs.IsHeldOut(order[3]) {
			t.Errorf("%v", order)
		}
		slices.Sort(order)
		if len(slices.Compact(order)) != programs.NumDomains() {
			t.Errorf("%v has some twice", order)
		}
	}
}

// Tables whose names SQL reserves, or that hold a space, are asked about too.
func TestProgramsOverTablesOfOddNames(t *testing.T) {
	s, tools := database(t)
	inner := s.tools["query"]
	s.tools["query"] = func(st *stock, args map[string]any) (string, error) {
		if _, err := os.Stat(filepath.Join(st.dir, "data.db")); err != nil {
			for _, text := range []string{
				`CREATE TABLE "order" (id INTEGER PRIMARY KEY, "full name" TEXT, city TEXT, "group" INTEGER)`,
				`INSERT INTO "order" VALUES (1, 'Élise Sol', 'Oslo', 4), (2, 'Ben O''Ray', 'Lima', 7), (3, 'Cy Orr', 'Oslo', 9)`,
				`CREATE TABLE "my boats" (id INTEGER PRIMARY KEY, name TEXT, metres INTEGER)`,
				`INSERT INTO "my boats" VALUES (1, 'Skua', 9), (2, 'Tern', 12), (3, 'Gull', NULL), (4, 'Ibis', 15)`,
				`CREATE TABLE s (id INTEGER)`,
			} {
				if _, err := inner(st, map[string]any{"query": text}); err != nil {
					return "", err
				}
			}
		}
		return objects(inner, st, fmt.Sprint(args["query"]))
	}
	o := optionsOf(s)
	o.N = 30
	made, live := run(t, s, tools, o), 0
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		if len(x.Setup) > 0 {
			continue
		}
		live++
		if found, err := (checktest.Trial{Tools: s}).Row(t.Context(), x); err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", x.Task, found, err)
		}
	}
	if live < 8 {
		t.Errorf("%d of %d are about the tables that are there\n%v", live, len(made.Scenarios), made.Report.Rows())
	}
}

// Of a table of which a server shows the first rows alone nothing is asked: what is computed of these is not so of all.
func TestTablesThatAreNotShownWhole(t *testing.T) {
	s, tools := database(t)
	inner := s.tools["query"]
	s.tools["query"] = func(st *stock, args map[string]any) (string, error) {
		if _, err := os.Stat(filepath.Join(st.dir, "data.db")); err != nil {
			for _, text := range []string{
				`CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT, city TEXT)`,
				`INSERT INTO owners VALUES (1, 'Ana Sol', 'Oslo'), (2, 'Ben Ray', 'Lima'), (3, 'Cy Orr', 'Oslo')`,
				`CREATE TABLE boats (id INTEGER PRIMARY KEY, name TEXT, metres INTEGER)`,
				`INSERT INTO boats VALUES (1, 'Skua', 9), (2, 'Tern', 12), (3, 'Gull', 7), (4, 'Ibis', 15)`,
			} {
				if _, err := inner(st, map[string]any{"query": text}); err != nil {
					return "", err
				}
			}
		}
		return objects(inner, st, strings.ReplaceAll(fmt.Sprint(args["query"]), "LIMIT 501", "LIMIT 3"))
	}
	o := optionsOf(s)
	o.N = 20
	live := 0
	for _, x := range run(t, s, tools, o).Scenarios {
		if len(x.Setup) > 0 {
			continue
		}
		live++
		for _, g := range x.Gold {
			if strings.Contains(string(g.Arguments), "boats") {
				t.Errorf("%s: %s", x.Task, g.Arguments)
			}
		}
	}
	if live < 3 {
		t.Errorf("%d are about the table that is shown whole", live)
	}
}

// A tool does not do to a table of other columns, or without names, what it was seen to do.
func TestActsFitTheTableThatTheyWereLearntOf(t *testing.T) {
	shelfOf := func(text string) *shelf {
		table := programs.TableOf("tasks", programs.Records(text))
		return &shelf{World: &programs.World{Tables: []*programs.Table{table}}, server: "desk"}
	}
	a := act{tool: &subject{Tool: Tool{Server: "desk"}}, table: "tasks", names: []string{"id", "title"}}
	for text, want := range map[string]bool{
		`[{"id": 1, "title": "a"}, {"id": 2, "title": "b"}]`:   true,
		`[{"title": "a", "id": 1}, {"title": "b", "id": 2}]`:   false,
		`[{"id": 1, "title": "a", "n": 2}]`:                    false,
		`[{"id": 1, "done": false}, {"id": 2, "done": false}]`: false,
	} {
		if got := a.fits(shelfOf(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A server that takes changes and makes none has no task of one, and one that refuses them is asked questions alone.
func TestProgramsForServersThatDoNotChange(t *testing.T) {
	for name, answer := range map[string]func(text string) (string, error){
		"idle":      func(text string) (string, error) { return "[]", nil },
		"read-only": func(text string) (string, error) { return "", fmt.Errorf("cannot run %.6s: read-only", text) },
	} {
		s, tools := database(t)
		inner := s.tools["query"]
		s.tools["query"] = func(st *stock, args map[string]any) (string, error) {
			if _, err := os.Stat(filepath.Join(st.dir, "data.db")); err != nil {
				for _, text := range []string{
					"CREATE TABLE boats (id INTEGER PRIMARY KEY, name TEXT, metres INTEGER, port TEXT)",
					"INSERT INTO boats VALUES (1, 'Skua', 9, 'Oslo'), (2, 'Tern', 12, 'Lima'), (3, 'Gull', 7, " +
						"'Oslo'), (4, 'Ibis', 15, 'Bari')",
				} {
					if _, err := inner(st, map[string]any{"query": text}); err != nil {
						return "", err
					}
				}
			}
			text := fmt.Sprint(args["query"])
			if strings.HasPrefix(text, "UPDATE") ||
				name == "read-only" && !strings.HasPrefix(text, "SELECT") && !strings.HasPrefix(text, "PRAGMA") {
				return answer(text)
			}
			return objects(inner, st, text)
		}
		o := optionsOf(s)
		o.N = 30
		made := run(t, s, tools, o)
		if len(made.Scenarios) < 5 {
			t.Errorf("%s: %d scenarios\n%v", name, len(made.Scenarios), made.Report.Rows())
		}
		for _, x := range made.Scenarios {
			for _, g := range x.Gold {
				text := textOf(find(g.Arguments, "query"))
				if text == "" || strings.HasPrefix(text, "UPDATE") ||
					name == "read-only" && strings.HasPrefix(text, "INSERT") {
					t.Errorf("%s: %s: %s", name, x.Task, g.Arguments)
				}
			}
		}
	}
}

// Where LIKE tells small letters from capitals, a name is said as it is stored.
func TestNamesAsTheyAreStored(t *testing.T) {
	s, tools := database(t)
	inner := s.tools["query"]
	s.tools["query"] = func(st *stock, args map[string]any) (string, error) {
		if strings.Contains(fmt.Sprint(args["query"]), "'Ana' LIKE 'ana'") {
			return "[(4713,)]", nil
		}
		return inner(st, args)
	}
	o := optionsOf(s)
	o.N, o.drawnAlone = 40, true
	for _, x := range run(t, s, tools, o).Scenarios {
		for _, g := range x.Gold {
			if text := textOf(find(g.Arguments, "query")); strings.Contains(text, " LIKE '") &&
				!strings.Contains(text, "%'") {
				t.Errorf("%s: %s", x.Task, text)
			}
		}
	}
}

// Of two tasks that read alike one is kept.
func TestTasksThatReadAlike(t *testing.T) {
	m := newMaker(nil, nil, nil, Options{})
	var list []draftOf
	for _, text := range []string{
		"How many boats in Oslo are there?", "how many boats in Oslo are there", "Delete the boat Skua.",
	} {
		list = append(list, draftOf{Scenario: scenario.Scenario{Task: text}, of: &Candidate{}})
	}
	if kept := m.apart(list); len(kept) != 2 {
		t.Errorf("%d are kept", len(kept))
	}
}

// A task behind another one, in the same conversation, passes its own checks.
func TestTasksBehindOthers(t *testing.T) {
	s, tools := database(t)
	o := optionsOf(s)
	o.N, o.drawnAlone = 120, true
	behind := 0
	for _, x := range run(t, s, tools, o).Scenarios {
		if x.User == nil {
			continue
		}
		behind++
		if found, err := (checktest.Trial{Tools: s}).Row(t.Context(), &x); err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", x.User.Says, found, err)
		}
	}
	if behind < 3 {
		t.Errorf("%d tasks stand behind another one", behind)
	}
}

// A slip that is meant to be refused is, and one that is meant to find nothing finds nothing.
func TestSlipsGoWrong(t *testing.T) {
	for _, x := range []struct {
		slip, text string
		status     trajectory.CallStatus
		want       bool
	}{
		{slipRefused, "no such column", trajectory.CallToolError, true},
		{slipRefused, "Error: no such column", trajectory.CallOK, true},
		{slipRefused, "[]", trajectory.CallOK, false},
		{slipEmpty, "[]", trajectory.CallOK, true},
		{slipEmpty, "no such column", trajectory.CallToolError, false},
		{slipEmpty, `[{"name": "Ana"}]`, trajectory.CallOK, false},
		{slipEmpty, `[('Ana',)]`, trajectory.CallOK, false},
		{slipEmpty, `[{'COUNT(*)': 0}]`, trajectory.CallOK, true},
		{slipEmpty, `[{'COUNT(*)': 2}]`, trajectory.CallOK, false},
		{slipEmpty, `[{'SUM(hours)': None}]`, trajectory.CallOK, true},
		{slipEmpty, strings.Repeat("many words of a thing. ", 4), trajectory.CallOK, false},
	} {
		got := &Played{Results: []Answered{{Status: x.status, Text: x.text}}}
		if slipsFail([]Call{{Slip: x.slip}}, got) != x.want {
			t.Errorf("%s, %s %q: %v", x.slip, x.status, x.text, !x.want)
		}
	}
	if c := explained(Call{Why: "It is 4."}, "Nothing is there."); c.Why != "Nothing is there.\nIt is 4." {
		t.Errorf("%q", c.Why)
	}
}

// No invented table has the name of one that is there.
func TestInventedTablesAreNew(t *testing.T) {
	s, tools := database(t)
	var there []string // what some businesses may call their tables
	for seed := range uint64(2) {
		for index := 0; index < programs.NumDomains(); index += 6 {
			for _, x := range programs.Invent(rand.New(rand.NewPCG(seed, 1)), index).Tables {
				if !slices.Contains(there, x.Name) {
					there = append(there, x.Name)
				}
			}
		}
	}
	for _, w := range programs.WrittenWorlds() {
		if name := w.Tables[0].Name; !slices.Contains(there, name) {
			there = append(there, name)
		}
	}
	inner := s.tools["query"]
	s.tools["query"] = func(st *stock, args map[string]any) (string, error) {
		if _, err := os.Stat(filepath.Join(st.dir, "data.db")); err != nil {
			for _, name := range there {
				for _, text := range []string{
					"CREATE TABLE " + programs.Ident(name) + " (id INTEGER PRIMARY KEY, name TEXT, size INTEGER)",
					"INSERT INTO " + programs.Ident(name) +
						" VALUES (1, 'Ana Sol', 4), (2, 'Ben Ray', 7), (3, 'Cy Orr', 9)",
				} {
					if _, err := inner(st, map[string]any{"query": text}); err != nil {
						return "", err
					}
				}
			}
		}
		return objects(inner, st, fmt.Sprint(args["query"]))
	}
	o := optionsOf(s)
	o.N = 120
	invented := 0
	for _, x := range run(t, s, tools, o).Scenarios {
		for _, c := range x.Setup {
			invented++
			for _, name := range there {
				if strings.Contains(string(c.Arguments), "CREATE TABLE "+programs.Ident(name)+" ") {
					t.Errorf("%s is there already: %s", name, c.Arguments)
				}
			}
		}
	}
	if invented == 0 {
		t.Error("nothing is invented")
	}
}

// A server of which no program proved good keeps its tools for tasks of calls.
func TestServersWithoutPrograms(t *testing.T) {
	m := newMaker(nil, nil, nil, Options{})
	m.asks = map[string]map[string]bool{"notes": {"read_graph": true}, "data": {"query": true}}
	m.giveUp([]draftOf{
		{Scenario: scenario.Scenario{Task: "Print the bill."}},
		{Scenario: scenario.Scenario{Task: "How many boats are there?", Gold: []scenario.Gold{{Name: "query"}}}},
	})
	if m.asks["notes"] != nil || !m.asks["data"]["query"] {
		t.Error(m.asks)
	}
}

// Whoever asks back has to ask for what is missing and to leave all as it is, over each kind of server.
func TestWhoAsksBackChangesNothing(t *testing.T) {
	of := func(tools func(*shop) []Tool) func(*testing.T) (*shop, []Tool) {
		return func(t *testing.T) (*shop, []Tool) { s := newShop(t); return s, tools(s) }
	}
	for name, server := range map[string]func(*testing.T) (*shop, []Tool){"graph": of(noteTools),
		"board": of(boardTools), "database": database, "files": cabinet} {
		s, tools := server(t)
		o := optionsOf(s)
		o.N, o.Asked = 240, 0.8
		found := 0
		for _, x := range run(t, s, tools, o).Scenarios {
			if x.Provenance.Kind != programs.AskBack {
				continue
			}
			found++
			var types []string
			other := "Done. Should I go on?"
			refused := false
			for _, c := range x.Checks {
				types = append(types, c.Type)
				refused = refused || c.Type == scenario.AnswerCheck && c.AnswerUnmet(other) != ""
			}
			if !refused || !slices.Contains(types, scenario.StateCheck) &&
				!slices.Contains(types, scenario.UnchangedCheck) {
				t.Errorf("%s: %q checks %v, and %q passes: %v", name, x.Task, types, other, !refused)
			}
		}
		if found == 0 {
			t.Errorf("%s: nobody asks back", name)
		}
	}
}
