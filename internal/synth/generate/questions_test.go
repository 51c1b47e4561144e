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

// Some demonstrations of training have a slip: a call that the server refuses, or that finds nothing, before the one
// that does it right. No held-out task has one.
func TestSlips(t *testing.T) {
	s, tools := database(t)
	o := optionsOf(s)
	o.N, o.drawnAlone = 320, true
	slips, again, followUps, several := 0, 0, 0, 0
	for _, x := range run(t, s, tools, o).Scenarios {
		if x.User != nil {
			followUps++
			if found, err := (checktest.Trial{Tools: s}).Row(t.Context(), &x); err != nil || len(found) > 0 {
				t.Errorf("%s: %v %v", x.User.Says, found, err)
			}
		}
		for _, slip := range x.Slips {
			slips++
			if x.Split != scenario.Train {
				t.Errorf("a slip in %s: %s", x.Split, x.Task)
			}
			if n := slip.Before; n < len(x.Gold) && x.Gold[n].Reasoning == "" {
				t.Errorf("%s: nothing is said of what goes wrong: %s", x.ID, slip.Arguments)
			}
			if n := slip.Before; n > 0 && slip.Call().Arguments == x.Gold[n-1].Call().Arguments {
				again++ // what was just said is said once more
				continue
			}
			session, err := s.Open(t.Context(), x.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range x.Setup {
				session.Probe(t.Context(), g.Call())
			}
			for _, g := range x.Gold[:slip.Before] {
				session.Probe(t.Context(), g.Call())
			}
			r := session.Probe(t.Context(), slip.Call())
			if r.Status == trajectory.CallOK && !looksLikeFailure(r.Text) && len(programs.Records(r.Text)) > 0 {
				t.Errorf("%s goes well: %s", slip.Arguments, r.Text)
			}
			_ = session.Close()
		}
		if n := len(x.Slips); n > 2 || n == 2 && x.Slips[0].Call().Arguments != x.Slips[1].Call().Arguments {
			several++
			for i, slip := range x.Slips[1:] {
				if slip.Call().Arguments == x.Slips[i].Call().Arguments {
					t.Errorf("%s: the same goes wrong twice: %s", x.ID, slip.Arguments)
				}
			}
		}
	}
	if several < 5 {
		t.Errorf("%d tasks have several slips", several)
	}
	if slips-again < 12 || again < 1 || followUps < 1 {
		t.Errorf("%d slips, %d calls that are made again, and %d tasks behind others", slips-again, again, followUps)
	}
}

// What is wrong with a query, and what is said of it before the right one.
func TestWrongQueries(t *testing.T) {
	db := &sqlServer{read: takesSQL, write: takesSQL}
	r := rand.New(rand.NewPCG(1, 1))
	for _, x := range []struct {
		sql   string
		slip  func(p *programs.Program) *detour
		wrong []string // any of them; none: it fits not
		why   []string
	}{
		{"SELECT b.Name FROM a JOIN b ON a.Of = b.Id WHERE b.Size = 3",
			func(p *programs.Program) *detour { return db.withoutJoin(r, p) },
			[]string{"SELECT b.Name FROM a WHERE b.Size = 3", "SELECT Name FROM a WHERE Size = 3"},
			[]string{"b is not joined yet.", "It is a column of b, which has to be joined."}},
		{"SELECT a.Name FROM a JOIN b ON a.Of = b.Id",
			func(p *programs.Program) *detour { return db.withoutJoin(r, p) }, nil, nil},
		{"SELECT Name FROM a",
			func(p *programs.Program) *detour { return db.withoutJoin(r, p) }, nil, nil},
		{"INSERT INTO a (Name, Of, Size) VALUES ('Al (2)', (SELECT Id FROM b WHERE Name = 'Bo'), 'big')",
			func(p *programs.Program) *detour { return db.withoutValue(p) },
			[]string{"INSERT INTO a (Name, Of) VALUES ('Al (2)', (SELECT Id FROM b WHERE Name = 'Bo'))"},
			[]string{"Size must have a value: big."}},
		{"INSERT INTO a (Name) VALUES ('Al')",
			func(p *programs.Program) *detour { return db.withoutValue(p) }, nil, nil},
		{"SELECT Name FROM a WHERE Paid IS NULL",
			func(p *programs.Program) *detour { return db.equalsNull(p) },
			[]string{"SELECT Name FROM a WHERE Paid = NULL"}, []string{"Nothing equals NULL: what is empty IS NULL."}},
		{"UPDATE a SET Size = 1 WHERE Paid IS NULL",
			func(p *programs.Program) *detour {
				p.Steps[0].Writes = true
				return db.equalsNull(p)
			}, nil, nil},
		{"SELECT COUNT(*) FROM a WHERE Paid IS NULL",
			func(p *programs.Program) *detour { return db.equalsNull(p) },
			[]string{"SELECT COUNT(*) FROM a WHERE Paid = NULL"},
			[]string{"Nothing equals NULL: what is empty IS NULL."}},
	} {
		p := &programs.Program{Steps: []programs.Step{{SQL: x.sql}}, Tables: []*programs.Table{{Name: "a"}}}
		right := db.step(p.Steps[0])
		for range 8 {
			d := x.slip(p)
			if len(x.wrong) == 0 {
				if d != nil {
					t.Errorf("%s: %s", x.sql, d.calls[0].Arguments)
				}
				continue
			}
			got := along([]Call{right}, 0, []detour{*d})
			i := slices.IndexFunc(x.wrong, func(w string) bool { return got[0].key() == db.read.call(w).key() })
			if len(got) != 2 || i < 0 || got[0].Slip == "" || got[1].Why != x.why[i] || got[1].key() != right.key() {
				t.Errorf("%s: %s, then %q", x.sql, got[0].Arguments, got[1].Why)
			}
		}
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
	for _, c := range []Call{{Shows: "open"}, {Lacks: "done"}} { // what is said of a look stands there
		if got := (&Played{Results: []Answered{{"ok", "open, held"}}}); slipsFail([]Call{c}, got) != true {
			t.Errorf("%+v is not shown", c)
		}
		if got := (&Played{Results: []Answered{{"ok", "done, held"}}}); slipsFail([]Call{c}, got) != false {
			t.Errorf("%+v is taken for shown", c)
		}
	}
	if c := explained(Call{Why: "It is 4."}, "Nothing is there."); c.Why != "Nothing is there.\nIt is 4." {
		t.Errorf("%q", c.Why)
	}
}

func TestRepeat(t *testing.T) {
	call := func(text, slip string) Call {
		return Call{Tool: "q", Arguments: quote(text), Slip: slip}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		got := repeat(r, []Call{call("list", ""), call("look", ""), call("write", "")}, []Call{call("write", "")})
		if n := len(got); n != 4 || got[n-1].key() != call("write", "").key() || got[n-1].Slip != "" ||
			got[n-1].Why != "I have seen this already: nothing has changed in between, so it says no more." {
			t.Fatal(got)
		}
		for _, c := range got[2 : len(got)-1] {
			if c.key() != call("look", "").key() || c.Slip != slipAgain {
				t.Fatal(got)
			}
		}
		got = repeat(r, []Call{call("list", ""), call("wrong", slipRefused), call("look", "")}, nil)
		if len(got) != 4 { // the same failing call a third time would be learnt
			t.Fatal(got)
		}
		for _, c := range got[1 : len(got)-1] {
			if c.key() != call("wrong", "").key() || c.Slip != slipRefused {
				t.Fatal(got)
			}
		}
	}
	if got := repeat(r, []Call{call("list", "")}, nil); len(got) != 1 {
		t.Error(got)
	}
	query := func(text, slip string) Call {
		c := (sqlTool{tool: "q", argument: "query"}).call(text)
		c.Slip = slip
		return c
	}
	right := explained(query("SELECT price FROM dish", ""), "dish has id and price.")
	for slip, want := range map[string]string{ // the cause, and what is different
		slipRefused: "It is refused for the same reason, as it has the same words.\ndish has id and price.\n" +
			"The next call has price in place of cost.",
		slipEmpty: "It finds nothing for the same reason: it looks for the same words in the same place.\n" +
			"dish has id and price.\nThe next call has price in place of cost.",
	} {
		if got := repeat(r, []Call{query("SELECT cost FROM dish", slip), right}, nil); got[2].Why != want {
			t.Errorf("%q", got[2].Why)
		}
	}
	for sql, want := range map[string]string{"SELECT price, id FROM dish": "The next call has id, too.",
		"SELECT FROM dish": "The next call leaves out price.", "SELECT price FROM dish": ""} {
		if got := difference(query("SELECT price FROM dish", ""), query(sql, "")); got != want {
			t.Errorf("%s: %q", sql, got)
		}
	}
	if got := difference(Call{Tool: "a"}, Call{Tool: "b"}); got != "Next I call b, not a." {
		t.Error(got)
	}
	results := []Answered{{"ok", "a"}, {"ok", "b"}}
	if calls := []Call{call("look", ""), call("look", slipAgain)}; slipsFail(calls, &Played{Results: results}) {
		t.Error("a call that is answered otherwise is told as made again")
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
