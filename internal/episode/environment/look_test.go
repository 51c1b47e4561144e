package environment_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// place is a session: a folder, and answers by tool.
type place struct {
	dir     string
	answers map[string]trajectory.ToolResult
}

func (p *place) Dir(server string) string {
	if server != "" && server != "s" {
		return ""
	}
	return p.dir
}

func (p *place) Probe(_ context.Context, call chat.ToolCall) trajectory.ToolResult {
	r, ok := p.answers[call.Name]
	if !ok {
		r = trajectory.ToolResult{Status: trajectory.CallInvalid, Error: "unknown tool"}
	}
	r.Call = call
	return r
}

func (p *place) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *place) sql(t *testing.T, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	statements = append([]string{"PRAGMA synchronous = OFF"}, statements...)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func (p *place) answer(tool string, status trajectory.CallStatus, text string) {
	p.answers[tool] = trajectory.ToolResult{Status: status, Text: text}
}

// begun is the world that all tests begin with.
func begun(t *testing.T) *place {
	p := &place{dir: t.TempDir(), answers: map[string]trajectory.ToolResult{}}
	p.write(t, "out.json", `{"total": 3.5, "tags": ["b", "a"]}`)
	p.write(t, "sub/notes.txt", "milk\neggs\n")
	p.write(t, "shop.db", string(shop(t)))
	p.answer("graph", trajectory.CallOK, `{"entities": [{"name": "ann"}, {"name": "bob"}], "relations": []}`)
	p.answer("order", trajectory.CallToolError, "there is no order 7")
	return p
}

// shop is a database, made once: making one waits for the disk.
func shop(t *testing.T) []byte {
	once.Do(func() {
		p := &place{dir: t.TempDir()}
		p.sql(t, "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, price REAL, day DATE)",
			"INSERT INTO orders VALUES (1, 'ann', 2.5, '2026-01-02'), (2, 'bob', 4, NULL)")
		made, _ = os.ReadFile(filepath.Join(p.dir, "shop.db")) // nothing is no database, which the tests see
	})
	return made
}

var (
	once sync.Once
	made []byte
)

func checkOf(t *testing.T, text string) scenario.Check {
	t.Helper()
	var c scenario.Check
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if err := c.Validate(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// after is why a check does not hold of an episode in which do changed the world; and what the record says of it, which
// is all that the check was held against.
func after(t *testing.T, c scenario.Check, do func(*place)) (string, trajectory.Observation) {
	t.Helper()
	p := begun(t)
	w, lost := environment.OpenWatch(t.Context(), p, []scenario.Check{c}, nil)
	if lost != nil {
		t.Fatalf("%s: %+v", c.Look(), lost)
	}
	do(p)
	episode := &trajectory.Trajectory{Outcome: trajectory.OK}
	if lost := w.End(t.Context(), episode); lost != nil {
		t.Fatalf("%s: %+v", c.Look(), lost)
	}
	if len(episode.Seen) != 1 || len(reward.Unseen(&scenario.Scenario{Checks: []scenario.Check{c}}, episode)) > 0 {
		t.Fatalf("%s saw %+v", c.Look(), episode.Seen)
	}
	text, err := json.Marshal(episode) // a kept record must say the same
	if err != nil {
		t.Fatal(err)
	}
	kept := &trajectory.Trajectory{}
	if err := json.Unmarshal(text, kept); err != nil {
		t.Fatal(err)
	}
	return reward.Unmet(c, kept, nil), kept.Seen[0]
}

// Each check holds of the right world, and of none in which what it looks at is wrong.
func TestMutatedWorlds(t *testing.T) {
	file := func(text string) func(*testing.T, *place) {
		return func(t *testing.T, p *place) { p.write(t, "out.json", text) }
	}
	query := func(statements ...string) func(*testing.T, *place) {
		return func(t *testing.T, p *place) { p.sql(t, statements...) }
	}
	graph := func(text string) func(*testing.T, *place) {
		return func(_ *testing.T, p *place) { p.answer("graph", trajectory.CallOK, text) }
	}
	remove := func(t *testing.T, p *place) { os.RemoveAll(filepath.Join(p.dir, "out.json")) }
	nothing := func(*testing.T, *place) {}
	type worlds []func(*testing.T, *place)
	for _, test := range []struct {
		check      string
		right, not worlds
	}{
		{`{"type":"file","path":"out.json","matches":{"total":{"$number":3.5},"tags":{"$unordered":["a","b"]}}}`,
			worlds{nothing, file(`{"tags":["a","b"],"total":3.50}`)},
			worlds{remove, file(`{"total":3,"tags":["a","b"]}`), file(`{"total":3.5,"tags":["a"]}`),
				file(`{"total":3.5}`), file(`not JSON`), file(``)}},
		{`{"type":"file","path":"sub/notes.txt","set":["eggs","milk"]}`, worlds{nothing},
			worlds{func(t *testing.T, p *place) { p.write(t, "sub/notes.txt", "milk") }, func(t *testing.T, p *place) {
				p.write(t, "sub/notes.txt", "milk\neggs\nrum")
			}}},
		{`{"type":"file","path":"out.json","exists":false}`, worlds{remove}, worlds{nothing}},
		{`{"type":"file","path":"out.json","exists":true}`, worlds{nothing}, worlds{remove}},
		{`{"type":"file","path":"sub/notes.txt","sha256":"88bf5a05e41ba2ba8a8d1f5ac1ecdb9d9b37ae0e1b6a11fa9fd27d4e61a3b3a1"}`, nil, worlds{nothing}},
		{`{"type":"sql","path":"shop.db","query":"SELECT name, price FROM orders;","matches":{"$unordered":[{"name":"bob","price":4},{"name":"ann","price":2.5}]}}`,
			worlds{nothing, query("UPDATE orders SET id = id + 10")},
			worlds{query("DELETE FROM orders WHERE id = 1"), query("UPDATE orders SET price = 3 WHERE id = 2"),
				query("INSERT INTO orders (name) VALUES ('eve')"), query("DROP TABLE orders"),
				func(t *testing.T, p *place) { os.Remove(filepath.Join(p.dir, "shop.db")) },
				func(t *testing.T, p *place) {
					p.write(t, "shop.db", "no database, but long enough to look like one of them")
				}}},
		{`{"type":"sql","path":"shop.db","query":"SELECT day FROM orders WHERE id = 1","equals":"2026-01-02"}`,
			worlds{nothing}, worlds{query("UPDATE orders SET day = '2026-01-03'"), query("DELETE FROM orders")}},
		{`{"type":"sql","path":"shop.db","query":"SELECT name FROM orders ORDER BY price DESC","equals":"bob\nann"}`,
			worlds{nothing}, worlds{query("UPDATE orders SET price = -price")}},
		{`{"type":"sql","path":"shop.db","query":"SELECT sum(price) AS s FROM orders","number":6.4,"tolerance":0.2}`,
			worlds{nothing}, worlds{query("UPDATE orders SET price = 4")}},
		{`{"type":"sql","path":"shop.db","query":"SELECT json_extract(name, '$') AS n FROM orders WHERE id > 2","equals":"7"}`, worlds{query("INSERT INTO orders (name) VALUES ('7')")},
			// what is no JSON is the episode's doing
			worlds{nothing, query("INSERT INTO orders (name) VALUES ('oops')"),
				query("INSERT INTO orders (name) VALUES ('7'), ('oops')")}},
		{`{"type":"state","name":"graph","matches":{"entities":{"$unordered":[{"name":"bob"},{"name":"ann"}]},"relations":[]}}`,
			worlds{nothing}, worlds{graph(`{"entities":[{"name":"ann"}],"relations":[]}`),
				graph(`{"entities":[{"name":"ann"},{"name":"bob"}],"relations":[1]}`), graph("gone"),
				func(_ *testing.T, p *place) { p.answer("graph", trajectory.CallToolError, "broken") }}},
		{`{"type":"state","name":"order","arguments":{"id":7},"refused":true,"contains":"no order 7"}`, worlds{nothing},
			worlds{func(_ *testing.T, p *place) { p.answer("order", trajectory.CallOK, "there is no order 7") },
				func(_ *testing.T, p *place) { p.answer("order", trajectory.CallToolError, "busy") }}},
		{`{"type":"unchanged"}`, worlds{nothing}, worlds{remove, file(`{}`), query("DELETE FROM orders"),
			func(t *testing.T, p *place) { p.write(t, "new", "") }, func(t *testing.T, p *place) {
				os.Mkdir(filepath.Join(p.dir, "empty"), 0o700)
			},
			func(t *testing.T, p *place) {
				remove(t, p)
				os.Symlink("sub/notes.txt", filepath.Join(p.dir, "out.json"))
			}}},
		{`{"type":"unchanged","path":"sub"}`, worlds{nothing, remove}, worlds{func(t *testing.T, p *place) { p.write(t, "sub/deep/x", "") }}},
		{`{"type":"unchanged","ignore":["*.json","sub/*.txt"]}`,
			worlds{nothing, remove, func(t *testing.T, p *place) { p.write(t, "sub/notes.txt", "x") }},
			worlds{func(t *testing.T, p *place) { p.write(t, "sub/x", "") }}},
		{
			`{"type":"unchanged","path":"shop.db","query":"SELECT * FROM orders"}`,
			worlds{nothing, remove, query("CREATE TABLE other (x)", "UPDATE orders SET name = name")},
			worlds{query("DELETE FROM orders")},
		},
		{
			`{"type":"unchanged","name":"graph"}`, worlds{nothing,
				graph(`{"relations":[],"entities":[{"name":"ann"},{"name":"bob"}]}`)}, worlds{graph(`{}`),
				func(_ *testing.T, p *place) { p.answer("graph", trajectory.CallToolError, "broken") }},
		},
	} {
		c := checkOf(t, test.check)
		for i, do := range test.right {
			if why, saw := after(t, c, func(p *place) { do(t, p) }); why != "" {
				t.Errorf("%s, right world %d: %s (%+v)", test.check, i, why, saw)
			}
		}
		for i, do := range test.not {
			if why, saw := after(t, c, func(p *place) { do(t, p) }); why == "" {
				t.Errorf("%s holds of wrong world %d (%+v)", test.check, i, saw)
			}
		}
	}
}

// What the server put in a file's place leads nowhere: neither out of the folder nor into waiting.
func TestFolderOfAnEnemy(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(path string) error{
		"link out":       func(path string) error { return os.Symlink(secret, path) },
		"relative link":  func(path string) error { return os.Symlink("../../../../../../.."+secret, path) },
		"link in circle": func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"folder":         func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":           func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"huge":           func(path string) error { f, err := os.Create(path); f.Truncate(1 << 40); f.Close(); return err },
		"binary":         func(path string) error { return os.WriteFile(path, []byte{0xff, 0xfe, 0}, 0o600) },
		"long":           func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", 300<<10)), 0o600) },
	} {
		for _, check := range []string{
			`{"type":"file","path":"x","regex":"."}`, `{"type":"sql","path":"x","query":"SELECT 1","equals":"1"}`,
		} {
			why, saw := after(t, checkOf(t, check), func(p *place) {
				if err := put(filepath.Join(p.dir, "x")); err != nil {
					t.Fatal(err)
				}
			})
			if why == "" || strings.Contains(saw.Text, "sesame") || saw.Status == trajectory.Seen {
				t.Errorf("%s: %s: %q, saw %+v", name, check, why, saw)
			}
		}
		// None of them keeps it from being noticed.
		if why, _ := after(t, checkOf(t, `{"type":"unchanged"}`),
			func(p *place) { put(filepath.Join(p.dir, "x")) }); why != "added x" {
			t.Errorf("%s: unchanged says %q", name, why)
		}
	}
}

// More files than are looked at do not hide what an episode did.
func TestFloodOfFiles(t *testing.T) {
	why, saw := after(t, checkOf(t, `{"type":"unchanged"}`), func(p *place) {
		for i := range 20001 {
			if err := os.Link(filepath.Join(p.dir, "out.json"), filepath.Join(p.dir, strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
	})
	if saw.Status != trajectory.TooLong || !strings.Contains(why, "more than 20000 files") {
		t.Errorf("%q, saw %+v", why, saw)
	}
}

// A query reads its database and touches nothing else.
func TestQueryReadsOnly(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.db")
	another := filepath.Join(begun(t).dir, "shop.db") // which is there to be read
	for _, query := range []string{
		"DELETE FROM orders", "SELECT 1) UNION SELECT (2", "ATTACH '" + other + "' AS o", "VACUUM INTO '" + other + "'",
		"PRAGMA query_only = 0", "SELECT 1); VACUUM INTO '" + other + "'; SELECT (1",
		"SELECT 1; DELETE FROM orders", "SELEC 1", "SELECT load_extension('x')",
		"WITH x AS (SELECT 1) DELETE FROM orders RETURNING id",
		"SELECT 1); ATTACH '" + another + "' AS o; SELECT * FROM (SELECT name FROM o.orders",
	} {
		p := begun(t)
		c := scenario.Check{Type: "sql", Path: "shop.db", Query: query, Matches: []byte(`{"$any":true}`)}
		w, lost := environment.OpenWatch(t.Context(), p, []scenario.Check{c}, nil)
		if lost != nil {
			t.Fatal(lost)
		}
		episode := &trajectory.Trajectory{Outcome: trajectory.OK}
		lost = w.End(t.Context(), episode)
		if lost == nil && !strings.Contains(query, "UNION") {
			t.Errorf("%s: %+v", query, episode.Seen)
		}
		if lost != nil && (lost.Outcome != trajectory.InfrastructureError || lost.Again ||
			!strings.HasPrefix(lost.Why, "checks[0] (sql) cannot be evaluated: the query")) {
			t.Errorf("%s: %+v", query, lost)
		}
		if strings.Contains(query, another) && !strings.Contains(lost.Why, "does more than read") {
			t.Errorf("%s: %+v", query, lost)
		}
		if _, err := os.Stat(other); err == nil {
			t.Fatalf("%s wrote a file", query)
		}
		if left, err := filepath.Glob(filepath.Join(p.dir, "*")); err != nil || len(left) != 3 {
			t.Errorf("%s left %v", query, left)
		}
	}
}

// What a server has not yet moved from its log into the database is seen.
func TestQueryReadsTheLog(t *testing.T) {
	p := begun(t)
	p.sql(t, "PRAGMA journal_mode = WAL")
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // open until the end, as a server's is
	if _, err := db.Exec("INSERT INTO orders (name) VALUES ('eve')"); err != nil {
		t.Fatal(err)
	}
	c := checkOf(t, `{"type":"sql","path":"shop.db","query":"SELECT name FROM orders","set":["ann","bob","eve"]}`)
	w, _ := environment.OpenWatch(t.Context(), p, []scenario.Check{c}, nil)
	episode := &trajectory.Trajectory{Outcome: trajectory.OK}
	if lost := w.End(t.Context(), episode); lost != nil || reward.Unmet(c, episode, nil) != "" {
		t.Errorf("%+v, saw %+v", lost, episode.Seen)
	}
}

func TestQueryThatDoesNotEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := begun(t)
	c := checkOf(t, `{"type":"sql","path":"shop.db","query":"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT max(x) AS m FROM n","number":1}`)
	w, _ := environment.OpenWatch(ctx, p, []scenario.Check{c}, nil)
	done := make(chan *environment.Lost)
	go func() { done <- w.End(ctx, &trajectory.Trajectory{Outcome: trajectory.OK}) }()
	cancel()
	if lost := <-done; lost == nil || lost.Outcome != trajectory.InfrastructureError {
		t.Errorf("%+v", lost)
	}
}
