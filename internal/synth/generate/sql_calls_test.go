package generate

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// database is a server whose one tool runs any SQL on a SQLite file in the session's folder, and answers as Python
// prints rows.
func database(t *testing.T) (*shop, []Tool) {
	s := newShop(t)
	s.tools = map[string]func(*stock, map[string]any) (string, error){
		"query": func(s *stock, args map[string]any) (string, error) {
			db, err := sql.Open("sqlite", filepath.Join(s.dir, "data.db"))
			if err != nil {
				return "", err
			}
			defer db.Close()
			rows, err := db.Query(fmt.Sprint(args["query"]))
			if err != nil {
				return "", err
			}
			defer rows.Close()
			columns, err := rows.Columns()
			if err != nil {
				return "", err
			}
			tuples := []string{}
			for rows.Next() {
				row, into := make([]any, len(columns)), make([]any, len(columns))
				for i := range row {
					into[i] = &row[i]
				}
				if err := rows.Scan(into...); err != nil {
					return "", err
				}
				tuple := ""
				for _, v := range row {
					switch v := v.(type) {
					case string:
						tuple += "'" + v + "', "
					case nil:
						tuple += "None, "
					default:
						tuple += fmt.Sprint(v, ", ")
					}
				}
				tuple = strings.TrimSuffix(tuple, " ")
				if len(row) > 1 {
					tuple = strings.TrimSuffix(tuple, ",")
				}
				tuples = append(tuples, "("+tuple+")")
			}
			if err := rows.Err(); err != nil {
				return "", err
			}
			return "[" + strings.Join(tuples, ", ") + "]", nil
		},
	}
	return s, []Tool{tool("query", "Execute a query on the database.", `{"type":"object","properties":{"query":{"type":"string","description":"SQL query to execute"}},"required":["query"]}`)}
}

// A server with one tool, which takes SQL, has tasks from programs over invented tables: they look at the tables first,
// most need several calls, and each holds when it is tried.
func TestProgramsForOneToolThatTakesSQL(t *testing.T) {
	s, tools := database(t)
	o := optionsOf(s)
	o.N, o.drawnAlone = 60, true
	made := run(t, s, tools, o)
	r := made.Report
	if len(made.Scenarios) < 51 || r.Several < 0.8 || len(r.Kinds) < 12 || r.Calling[scenario.Train] < 16 ||
		r.Calling[scenario.Test] < 4 {
		t.Errorf("%d scenarios, %.2f of several calls, %v, %v\n%v",
			len(made.Scenarios), r.Several, r.Kinds, r.Calling, r.Rows())
	}
	of := map[string]map[string]bool{} // tables by split
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		if found, err := (checktest.Trial{Tools: s}).Row(t.Context(), x); err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", x.Task, found, err)
		}
		writes, states := false, 0
		for k, g := range x.Gold {
			text := textOf(find(g.Arguments, "query"))
			if k == 0 && !strings.Contains(text, "sqlite_master") {
				t.Errorf("%s begins with %s", x.Task, text)
			}
			writes = writes || strings.HasPrefix(text, "INSERT") || strings.HasPrefix(text, "UPDATE") ||
				strings.HasPrefix(text, "DELETE")
		}
		for _, c := range x.Checks {
			if c.Type == scenario.StateCheck {
				states++
			}
			if c.Type == scenario.CallCheck {
				t.Errorf("%s wants a call, where any way will do", x.Task)
			}
		}
		kind := x.Provenance.Kind
		if (writes || kind == programs.Leave || kind == programs.AskBack || kind == programs.Cannot) && states < 2 {
			t.Errorf("%s: %d looks at what is there in the end", x.Task, states)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(textOf(find(x.Setup[0].Arguments, "query")), "CREATE TABLE "), " ")
		if of[x.Split] == nil {
			of[x.Split] = map[string]bool{}
		}
		of[x.Split][name] = true
	}
	for name := range of[scenario.Test] {
		if of[scenario.Train][name] {
			t.Errorf("test tasks are about %s, as training tasks are", name)
		}
	}
}

// The tables that a database has are asked about, and what is asked is in them.
func TestProgramsOverLiveTables(t *testing.T) {
	for name, show := range map[string]shows{
		"objects": objects,
		"lists beside the names of columns": func(
			q func(*stock, map[string]any) (string, error), s *stock, text string,
		) (string, error) {
			shown, err := objects(q, s, text)
			records := programs.Records(shown)
			if err != nil || len(records) == 0 {
				return shown, err
			}
			rows := [][]any{}
			for _, r := range records {
				rows = append(rows, r.Values)
			}
			return asJSON(map[string]any{"columns": records[0].Names, "rows": rows, "types": records[0].Names})
		},
		"objects below a line": func(
			q func(*stock, map[string]any) (string, error), s *stock, text string,
		) (string, error) {
			shown, err := objects(q, s, text)
			return "Some rows:\n" + shown, err
		},
		"tuples": func(q func(*stock, map[string]any) (string, error), s *stock, text string) (string, error) {
			return q(s, map[string]any{"query": text})
		},
	} {
		t.Run(name, func(t *testing.T) { overLiveTables(t, show) })
	}
}

// shows are how a query's rows are shown.
type shows func(query func(*stock, map[string]any) (string, error), s *stock, text string) (string, error)

// boats are the statements that make two tables.
func boats() []string {
	return []string{
		"CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT, city TEXT)",
		"INSERT INTO owners VALUES (1, 'Ana Sol', 'Oslo'), (2, 'Ben Ray', 'Lima'), (3, 'Cy Orr', 'Oslo')",
		"CREATE TABLE boats (id INTEGER PRIMARY KEY, name TEXT, metres INTEGER, owner_id INTEGER)",
		"INSERT INTO boats VALUES (1, 'Skua', 9, 1), (2, 'Tern', 12, 1), (3, 'Gull', 7, 2), (4, 'Ibis', 15, " +
			"3), (5, 'Rail', 6, 2)",
	}
}

// overLiveTables checks the tasks of a database that was there before. Where rows are shown without the names of their
// columns, these are looked up before they are used.
func overLiveTables(t *testing.T, show shows) {
	s, tools := database(t)
	inner := s.tools["query"]
	s.tools["query"] = func(st *stock, args map[string]any) (string, error) { // a database that was there before
		if _, err := os.Stat(filepath.Join(st.dir, "data.db")); err != nil {
			for _, text := range boats() {
				if _, err := inner(st, map[string]any{"query": text}); err != nil {
					return "", err
				}
			}
		}
		return show(inner, st, fmt.Sprint(args["query"]))
	}
	o := optionsOf(s)
	o.N = 40
	made := run(t, s, tools, o)
	live := 0
	for _, x := range made.Scenarios {
		if len(x.Setup) == 0 {
			live++
			raw, _ := json.Marshal(x.Gold)
			text := string(raw)
			if x.Provenance.Kind != programs.AskBack && x.Provenance.Kind != programs.Cannot &&
				!strings.Contains(text, "owners") && !strings.Contains(text, "boats") {
				t.Errorf("%s asks of %s", x.Task, text)
			}
			if found, err := (checktest.Trial{Tools: s}).Row(t.Context(), &x); err != nil || len(found) > 0 {
				t.Errorf("%s: %v %v", x.Task, found, err)
			}
			if len(x.Gold) > 0 && !s.names(t, x.Gold, "owner_id") {
				t.Errorf("%s: no call before the last shows the columns: %s", x.Task, text)
			}
		}
	}
	if live < 12 || live == len(made.Scenarios) {
		t.Errorf("%d of %d are about the tables that are there\n%v", live, len(made.Scenarios), made.Report.Rows())
	}
}

// A store that checks references while rows come, and whose REAL has few digits, gets tables without either. Its tools
// for writes, and for what there is, are found by their parameters and by what they show.
func TestProgramsForStoresThatAreStrict(t *testing.T) {
	s, tools := database(t)
	inner := s.tools["query"]
	references := regexp.MustCompile(`REAL|REFERENCES`)
	s.tools["query"] = func(st *stock, args map[string]any) (string, error) {
		if !strings.HasPrefix(fmt.Sprint(args["query"]), "SELECT") {
			return "", errors.New("it reads alone")
		}
		return objects(inner, st, fmt.Sprint(args["query"]))
	}
	s.tools["alter"] = func(st *stock, args map[string]any) (string, error) {
		if references.MatchString(fmt.Sprint(args["query"])) {
			return "", errors.New("it is refused")
		}
		return inner(st, args)
	}
	s.tools["explore"] = func(st *stock, args map[string]any) (string, error) {
		text := "SELECT name FROM sqlite_master WHERE type = 'table'"
		if name, ok := args["table"]; ok {
			text = "SELECT name, type FROM pragma_table_info(" + programs.Literal(name) + ")"
		}
		return objects(inner, st, text)
	}
	tools = append(tools,
		tool("export", "Exports a query.", `{"type":"object","properties":{"query":{"type":"string"},`+
			`"path":{"type":"string"}},"required":["query","path"]}`),
		tool("alter", "Changes things.",
			`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
		tool("explore", "Shows what there is.", `{"type":"object","properties":{"table":{"type":"string"}}}`))
	o := optionsOf(s)
	o.N = 80
	made := run(t, s, tools, o)
	alters := 0
	for _, x := range made.Scenarios {
		for _, g := range x.Gold {
			if g.Name == "alter" {
				alters++
			}
		}
		if len(x.Gold) > 0 && x.Gold[0].Name != "explore" {
			t.Errorf("%s begins with %s", x.Task, x.Gold[0].Name)
		}
		if len(x.Setup) == 0 || references.Match(x.Setup[0].Arguments) {
			t.Errorf("%s: %v", x.Task, x.Setup)
		}
	}
	if len(made.Scenarios) < 50 || alters < 15 {
		t.Errorf("%d scenarios, %d writes\n%v", len(made.Scenarios), alters, made.Report.Rows())
	}
}

// Calls that must name the database's file name the one that a tool shows, and look for it first. Where no tool makes
// tables, the one that writes is found on the tables that are there.
func TestProgramsForToolsThatNameTheFile(t *testing.T) {
	for makes, least := range map[bool]int{true: 50, false: 40} {
		s, _ := database(t)
		inner := s.tools["query"]
		s.fill = func(dir string) error {
			for _, text := range boats() {
				if _, err := inner(&stock{dir: dir}, map[string]any{"query": text}); err != nil {
					return err
				}
			}
			return nil
		}
		s.tools = map[string]func(*stock, map[string]any) (string, error){
			"list_books": func(_ *stock, args map[string]any) (string, error) {
				if args["directory"] != "." {
					return "", errors.New("there is no such folder")
				}
				return "data.db", nil
			},
			"search": func(_ *stock, args map[string]any) (string, error) {
				return fmt.Sprint("Nothing is like ", args["sql"]), nil
			},
			"execute": func(st *stock, args map[string]any) (string, error) {
				text := fmt.Sprint(args["sql"])
				if args["file"] != "data.db" || !makes && strings.HasPrefix(text, "CREATE") {
					return "", errors.New("it is refused")
				}
				return objects(inner, st, text)
			},
		}
		tools := []Tool{
			tool("list_books", "Lists files.", `{"type":"object","properties":{"directory":{"type":"string"}},`+
				`"required":["directory"]}`),
			tool("search", "Searches SQL files.", `{"type":"object","properties":{"path":{"type":"string"},`+
				`"sql":{"type":"string"}},"required":["path","sql"]}`),
			tool("execute", "Runs SQL.", `{"type":"object","properties":{"file":{"type":"string"},"sql":{"type":"string"}},"required":["file","sql"]}`),
		}
		o := optionsOf(s)
		o.N = 80
		made := run(t, s, tools, o)
		writes := 0
		for _, x := range made.Scenarios {
			if len(x.Gold) > 0 && string(x.Gold[0].Arguments) != `{"directory":"."}` {
				t.Errorf("%s begins with %s", x.Task, x.Gold[0].Arguments)
			}
			if !makes && len(x.Setup) > 0 {
				t.Errorf("%s: %v", x.Task, x.Setup)
			}
			for _, g := range x.Gold {
				if strings.Contains(string(g.Arguments), "UPDATE ") {
					writes++
				}
			}
		}
		if len(made.Scenarios) < least || writes < 5 {
			t.Errorf("%v: %d scenarios, %d changes\n%v", makes, len(made.Scenarios), writes, made.Report.Rows())
		}
	}
}

// Of two databases in one folder nobody knows which is meant.
func TestTwoFilesAreNoDatabase(t *testing.T) {
	for files, want := range map[string]int{"a.db": 1, "a.db b.db": 0} {
		s, _ := database(t)
		s.fill = func(dir string) error {
			for _, name := range strings.Fields(files) {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}
		s.tools = map[string]func(*stock, map[string]any) (string, error){
			"list_books": func(*stock, map[string]any) (string, error) { return files, nil },
			"execute":    func(*stock, map[string]any) (string, error) { return `[{"n": 4711}]`, nil },
		}
		m := newMaker(s, []Tool{tool("list_books", "Lists files.", none),
			tool("execute", "Runs SQL.", `{"type":"object","properties":{"file":{"type":"string"},`+
				`"sql":{"type":"string"}},"required":["file","sql"]}`)},
			ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), optionsOf(s))
		if dbs, err := m.databases(t.Context()); err != nil || len(dbs) != want {
			t.Errorf("%s: %v, %v", files, dbs, err)
		}
	}
}

// Where a session has no copy of its own, no table is emptied to find the tool that writes. What was tried before is no
// table of anybody.
func TestSharedTablesAreNotEmptied(t *testing.T) {
	for _, shared := range []bool{false, true} {
		s, tools := database(t)
		inner, emptied := s.tools["query"], 0
		s.fill = func(dir string) error {
			for _, text := range append(boats(), "CREATE TABLE "+probeTable+" (id INTEGER PRIMARY KEY)",
				"CREATE TABLE "+probeTree+" (id INTEGER PRIMARY KEY, size REAL, above INTEGER)",
				"INSERT INTO "+probeTree+" VALUES (1, 12.9, 2), (2, 3.4, 1)") {
				if _, err := inner(&stock{dir: dir}, map[string]any{"query": text}); err != nil {
					return err
				}
			}
			return nil
		}
		s.tools["query"] = func(st *stock, args map[string]any) (string, error) {
			text := fmt.Sprint(args["query"])
			if strings.HasPrefix(text, "CREATE") {
				return "", errors.New("it is refused")
			}
			if strings.HasPrefix(text, "DELETE") {
				emptied++
			}
			return objects(inner, st, text)
		}
		for i := range tools {
			tools[i].Shared = shared
		}
		m := newMaker(s, tools, ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), optionsOf(s))
		dbs, err := m.databases(t.Context())
		if err != nil || len(dbs) != 1 {
			t.Fatal(dbs, err)
		}
		w, err := m.live(t.Context(), dbs[0])
		if err != nil || w == nil || dbs[0].readOnly != shared || (emptied == 0) != shared {
			t.Fatalf("shared %v: %d emptied, %+v, %v", shared, emptied, dbs[0], err)
		}
		if len(w.Tables) != 2 {
			t.Errorf("%d tables", len(w.Tables))
		}
	}
}

// A state that the server refuses to hold has no tasks, and no server is gone.
func TestStatesThatAreRefused(t *testing.T) {
	s, tools := database(t)
	inner, refused := s.tools["query"], 0
	s.tools["query"] = func(st *stock, args map[string]any) (string, error) {
		text := fmt.Sprint(args["query"])
		if strings.Contains(text, "INSERT INTO") && !strings.Contains(text, probeTable) &&
			strings.Count(text, "), (") > 2 && len(text)%2 == 0 {
			refused++
			return "", errors.New("it is full")
		}
		return inner(st, args)
	}
	o := optionsOf(s)
	o.N = 300
	made := run(t, s, tools, o)
	if len(made.Scenarios) == 0 || refused < mostLost {
		t.Errorf("%d scenarios, %d refused", len(made.Scenarios), refused)
	}
}

// names reports whether what gold calls answer has a name.
func (s *shop) names(t *testing.T, gold []scenario.Gold, name string) bool {
	session, err := s.Open(t.Context(), "names")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	return slices.ContainsFunc(gold, func(g scenario.Gold) bool {
		return strings.Contains(session.Probe(t.Context(), g.Call()).Text, name)
	})
}

// objects are the rows of a query as JSON objects.
func objects(query func(*stock, map[string]any) (string, error), s *stock, text string) (string, error) {
	if !strings.HasPrefix(text, "SELECT") && !strings.HasPrefix(text, "PRAGMA") {
		return query(s, map[string]any{"query": text})
	}
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "data.db"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	rows, err := db.Query(text)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	list := []map[string]any{}
	for rows.Next() {
		row, into, object := make([]any, len(columns)), make([]any, len(columns)), map[string]any{}
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		for i, name := range columns {
			object[name] = row[i]
		}
		list = append(list, object)
	}
	out, err := json.Marshal(list)
	return string(out), err
}

// The number that one call comes to goes into the expression of the next, and both plays must have come to it.
func TestOneToolThatTakesExpressions(t *testing.T) {
	c := &Candidate{Calls: []Call{
		{Arguments: []byte(`{"expression":"2 + 3"}`)},
		{Arguments: []byte(`{"expression":"5 * 7"}`), Fed: "expression", Within: "{} * 7"},
	}}
	for text, want := range map[string]bool{
		"5": true, "2 + 3 = 5": true, "[(5,)]": true, "6": false, `{"sum": 5}`: false, "": false,
	} {
		if got := c.fed(&Played{Results: []Answered{{Text: text}, {}}}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A task names what stands in the hole by the name that the result gives it.
func TestMark(t *testing.T) {
	if got := (Call{Field: "maxPrice"}).mark() + (Call{}).mark(); got != "[max price][result]" {
		t.Error(got)
	}
}

func TestSoleOf(t *testing.T) {
	for _, tc := range []struct{ text, name, want string }{
		{`[('apple_list',)]`, "", "apple_list"},
		{`[(42,)]`, "", "42"},
		{`[{"total": 3}]`, "total", "3"},
		{`{"name":"a"}`, "name", "a"},
		{`["a"]`, "", "a"},
		{"12.5", "", "12.5"},
		{"oak", "", "oak"},
		{"Total: 12", "Total", "12"},
		{`[(None,)]`, "", ""},
		{`[]`, "", ""},
		{`[(1,), (2,)]`, "", ""},
		{`[('a', 1)]`, "", ""},
		{`[{"a":1,"b":2}]`, "", ""},
		{"", "", ""},
	} {
		got, ok := soleOf(tc.text, []byte("{}"))
		if ok != (tc.want != "") || ok && (got.text() != tc.want || got.name() != tc.name) {
			t.Errorf("%s: %v %+v", tc.text, ok, got)
		}
	}
}

// Before the first change stands what all changes come to.
func TestPlansStandBeforeCalls(t *testing.T) {
	db := &sqlServer{read: takesSQL, write: takesSQL, listSQL: "SELECT name FROM tables"}
	dish := programs.TableOf("dish", programs.Records(`[{"id":1,"name":"Pea Soup","price":4},
		{"id":2,"name":"Plum Tart","price":6}]`))
	w := &programs.World{Tables: []*programs.Table{dish}}
	p := programs.NewQuestion(programs.Adjust, "raise", nil, programs.Answer{}, dish)
	p.Steps = []programs.Step{{SQL: "SELECT * FROM dish WHERE name LIKE '%Pea%'", Why: "Plan."},
		{SQL: "UPDATE dish SET price = price + 1 WHERE id = 1", Writes: true, Does: "4 + 1 = 5"},
		{SQL: "UPDATE dish SET price = price - 1 WHERE id = 2", Writes: true, Does: "6 - 1 = 5", Why: "Now the other."}}
	calls := db.gold(w, p)
	var got []string
	for _, c := range calls[len(calls)-3:] {
		got = append(got, c.gold().Reasoning)
	}
	want := []string{"Plan.", "1. 4 + 1 = 5\n2. 6 - 1 = 5", "Now the other."}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
