package synth

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"hone/internal/episode/scenario"
	"hone/internal/episode/vet"
)

// database is a server whose one tool runs any SQL on a SQLite file in the session's folder, and answers as Python prints rows.
func database(t *testing.T) (*shop, []Tool) {
	s := newShop(t)
	s.tools = map[string]func(*stock, map[string]any) (string, error){"query": func(s *stock, args map[string]any) (string, error) {
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
	}}
	return s, []Tool{tool("query", "Execute a query on the database.", `{"type":"object","properties":{"query":{"type":"string","description":"SQL query to execute"}},"required":["query"]}`)}
}

// A server with one tool, which takes SQL, has tasks of several calls: the second is about what the first named, or sees
// what it put there. What rows are put in is seen in the table, not by the words of the call.
func TestOneToolThatTakesSQL(t *testing.T) {
	s, tools := database(t)
	o := optionsOf(s)
	o.N = 20
	made := run(t, s, tools, o)
	r := made.Report
	if len(made.Scenarios) < 16 || r.Several < 0.35 || r.Kinds[chain] < 2 || r.Kinds[readBack] < 2 || r.Kinds[pair] == 0 {
		t.Errorf("%d scenarios, %.2f of several calls, %v\n%v", len(made.Scenarios), r.Several, r.Kinds, r.Rows())
	}
	firsts, puts, states := map[string]bool{}, 0, 0
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		if found, err := (vet.Trial{Tools: s}).Row(t.Context(), x); err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", x.Task, found, err)
		}
		if slices.ContainsFunc(x.Gold, func(g scenario.Gold) bool { return strings.Contains(string(g.Arguments), "INSERT ") }) && x.Provenance.Kind != recovery {
			puts++
			if slices.ContainsFunc(x.Checks, func(c scenario.Check) bool { return c.Type == scenario.StateCheck }) {
				states++
			}
		}
		if x.Provenance.Kind == chain {
			first, _, _ := strings.Cut(sqlOf(Call{Arguments: x.Gold[0].Arguments}), "(")
			firsts[first] = true
			if !strings.Contains(x.Task, "[") || strings.Contains(x.Task, sqlOf(Call{Arguments: x.Gold[1].Arguments})) {
				t.Errorf("the task says what the first call is to tell: %s", x.Task)
			}
		}
	}
	if len(firsts) < 2 || puts < 4 || states < puts {
		t.Errorf("chains begin with %v, of %d tasks that put a row in, %d are seen by the row", firsts, puts, states)
	}
}

// The number that one call comes to goes into the expression of the next, and both plays must have come to it.
func TestOneToolThatTakesExpressions(t *testing.T) {
	c := &Candidate{Calls: []Call{{Arguments: []byte(`{"expression":"2 + 3"}`)}, {Arguments: []byte(`{"expression":"5 * 7"}`), Fed: "expression", Within: "{} * 7"}}}
	for text, want := range map[string]bool{"5": true, "2 + 3 = 5": true, "[(5,)]": true, "6": false, `{"sum": 5}`: false, "": false} {
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
