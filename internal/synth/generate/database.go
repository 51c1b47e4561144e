package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/synth/programs"
)

// sqlServer is a server whose tools take SQL, and which tool takes what.
type sqlServer struct {
	server           string
	create, write    sqlTool
	read             sqlTool
	files            *Call // shows the file of the database, where calls name it; else nil
	list             *Call // shows the tables; nil: SQL does
	listSQL          string
	describe         *sqlTool // shows the columns of a table that is its argument; nil: SQL does
	describeSQL      string   // with TABLE for the table
	noKeys, readOnly bool
	strict           bool   // references are checked while a row comes, or a REAL has few digits
	cased            bool   // LIKE tells small letters from capitals
	nameless         bool   // rows are shown without the names of their columns
	listsColumns     bool   // what lists the tables shows their columns too
	listed           string // what shows the names of the tables that are there, in small letters
}

// sqlTool is a tool and its argument, and which other one names the file of the database: "" where none does.
type sqlTool struct{ tool, argument, file, path string }

func (t sqlTool) call(text string) Call {
	texts := map[string]string{t.argument: text}
	if t.file != "" {
		texts[t.file] = t.path
	}
	arguments, _ := json.Marshal(texts) // of texts
	return Call{Tool: t.tool, Arguments: arguments}
}

const (
	probeTable  = "hone_probe"
	probeTree   = "hone_probe_tree"
	probeColumn = "probe_column"
)

// describing are the ways to ask SQL for a table's columns: SQLite's and DuckDB's, then the standard's.
func describing() []string {
	return []string{
		"PRAGMA table_info(TABLE)",
		"SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'TABLE' ORDER BY " +
			"ordinal_position",
	}
}

// columnsOf puts a table's name into one of them: as a text where it stands as one, else as a name.
func columnsOf(sql, table string) string {
	text := strings.ReplaceAll(sql, "'TABLE'", programs.Literal(table))
	if text != sql {
		return text
	}
	return strings.ReplaceAll(sql, "TABLE", programs.Ident(table))
}

// listingsSQL ask for the names of the tables: SQLite's and DuckDB's, then PostgreSQL's way; where rows come without
// the names of their columns, for these too.
func listingsSQL(nameless bool) []string {
	if nameless {
		return []string{
			"SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name",
			"SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' " +
				"ORDER BY table_name, ordinal_position",
		}
	}
	return []string{
		"SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
		"SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name",
	}
}

// databases finds the servers whose tools take SQL, and tries on a copy which tool takes which statement.
func (m *maker) databases(ctx context.Context) (list []*sqlServer, err error) {
	for _, server := range m.player.servers() {
		takes := m.takeSQL(server)
		if len(takes) == 0 {
			continue
		}
		db, err := m.database(ctx, server, takes)
		if err != nil {
			return nil, err
		}
		if db != nil {
			list = append(list, db)
		}
	}
	return list, nil
}

// takeSQL are the tools of a server that take SQL: those that say so, then those with a parameter of the same name.
// They are told the file of the database where all are: else the file is one that is written.
func (m *maker) takeSQL(server string) []sqlTool {
	var says, called []sqlTool
	for _, s := range m.tools {
		for _, p := range s.schema.fields {
			t := sqlTool{tool: s.Name, argument: p.name, file: s.fileField(), path: "x"}
			switch {
			case s.Server != server || !s.mayTry() || t.file == p.name ||
				!s.takes(string(t.call("SELECT 1").Arguments)):
			case (filler{tool: s}).sql(p):
				says = append(says, t)
			default:
				called = append(called, t)
			}
		}
	}
	for _, t := range called {
		if slices.ContainsFunc(says, func(o sqlTool) bool { return o.argument == t.argument }) {
			says = append(says, t)
		}
	}
	if slices.ContainsFunc(says, func(t sqlTool) bool { return t.file == "" }) {
		says = slices.DeleteFunc(says, func(t sqlTool) bool { return t.file != "" })
	}
	return says
}

// uses adds the tools that programs call, and those that show tables and columns in another way. It adds those too that
// take a mere text, as a memo of insights: words that are invented have nothing to do with the data.
func (db *sqlServer) uses(tools []*subject, used map[string]bool) {
	for _, s := range tools {
		if s.Server == db.server && (s.takesProse() || slices.ContainsFunc(words(s.Name), func(w string) bool {
			return slices.Contains([]string{"table", "tables", "schema", "schemas", "column", "columns",
				"query", "sql"}, w)
		})) {
			used[s.Name] = true
		}
	}
	for _, t := range []string{db.create.tool, db.write.tool, db.read.tool} {
		used[t] = true
	}
	for _, c := range []*Call{db.files, db.list} {
		if c != nil {
			used[c.Tool] = true
		}
	}
	if db.describe != nil {
		used[db.describe.tool] = true
	}
}

// tryOn makes a call in a session and returns what it says; ok is false where it is refused.
func (m *maker) tryOn(ctx context.Context, session environment.Session, c Call) (text string, ok bool) {
	r := session.Probe(ctx, c.chat("try"))
	if len(r.StructuredContent) > 0 && strings.TrimSpace(r.Text) == "" {
		r.Text = string(r.StructuredContent)
	}
	if r.Status != trajectory.CallOK || m.Trial.Refusal != nil && m.Trial.Refusal(r.Text) != "" ||
		looksLikeFailure(r.Text) {
		return r.Text, false
	}
	return r.Text, true
}

// looksLikeFailure reports whether a text is an error that is not marked as one.
func looksLikeFailure(text string) bool {
	start := strings.ToLower(strings.TrimSpace(text))
	return strings.HasPrefix(start, "error") || strings.HasPrefix(start, "database error") ||
		strings.HasPrefix(start, "failed") ||
		strings.Contains(start[:min(len(start), 80)], "error:")
}

// database tries statements on a copy of a server: the first tool that a statement works with is the one for it.
func (m *maker) database(ctx context.Context, server string, takes []sqlTool) (*sqlServer, error) {
	session, err := m.player.open(ctx, m.player.from, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }() // the calls are made
	db := &sqlServer{server: server}
	if !m.findFile(ctx, session, db, takes) {
		return nil, ctx.Err()
	}
	works := func(sql, proof string) (sqlTool, bool) {
		for _, t := range takes {
			if text, ok := m.tryOn(ctx, session, t.call(sql)); ok && strings.Contains(text, proof) {
				return t, true
			}
		}
		return sqlTool{}, false
	}
	var ok bool
	if db.read, ok = works("SELECT 4700 + 11 AS n", "4711"); !ok {
		return nil, ctx.Err()
	}
	if db.create, ok = works("CREATE TABLE "+probeTable+" (id INTEGER PRIMARY KEY, "+probeColumn+" TEXT)", ""); ok {
		for _, t := range takes { // what a tool says of a write tells little, so it is looked for
			_, _ = m.tryOn(ctx, session, t.call("INSERT INTO "+probeTable+" VALUES (1, 'written "+t.tool+"')"))
			if text, _ := m.tryOn(ctx, session,
				db.read.call("SELECT "+probeColumn+" FROM "+probeTable)); strings.Contains(text, "written "+t.tool) {
				db.write = t
				break
			}
		}
	}
	text, ok := m.tryOn(ctx, session, db.read.call("SELECT CASE WHEN 'Ana' LIKE 'ana' THEN 4712 ELSE 4713 END AS n"))
	db.cased = !ok || !strings.Contains(text, "4712")
	text, ok = m.tryOn(ctx, session, db.read.call("SELECT 4711 AS "+probeColumn))
	db.nameless = ok && !strings.Contains(text, probeColumn)
	if db.readOnly = db.write.tool == ""; db.readOnly {
		db.create = sqlTool{} // what it said of a table was not so
	} else {
		_, _ = m.tryOn(ctx, session, db.write.call("INSERT INTO "+probeTable+" ("+probeColumn+") VALUES ('keyless')"))
		text, _ := m.tryOn(ctx, session,
			db.read.call("SELECT id FROM "+probeTable+" WHERE "+probeColumn+" = 'keyless' AND id IS NOT NULL"))
		db.noKeys = !strings.Contains(text, "2")
		_, _ = m.tryOn(ctx, session, db.create.call(
			"CREATE TABLE "+probeTree+" (id INTEGER PRIMARY KEY, size REAL, above INTEGER REFERENCES "+probeTree+
				"(id))"))
		_, _ = m.tryOn(ctx, session, db.write.call("INSERT INTO "+probeTree+" VALUES (1, 12.9, 2), (2, 3.4, 1)"))
		text, _ = m.tryOn(ctx, session, db.read.call("SELECT 2 * size AS n FROM "+probeTree+" WHERE above = 2"))
		db.strict = !slices.Contains(numbersOf(text), 25.8)
	}
	m.findListing(ctx, session, db)
	return db, ctx.Err()
}

// fileField is the required parameter of a tool that takes the path of a file; "" where none does.
func (s *subject) fileField() string {
	for _, p := range s.schema.fields {
		if p.required && p.kind == "string" && len(p.choices) == 0 && fileRole(p.name) == isPath {
			return p.name
		}
	}
	return ""
}

// findFile gives tools that must be told the file of the database the only one in the session's folder that they take.
// It reports whether there is one that some tool shows, or no tool needs it.
func (m *maker) findFile(ctx context.Context, session environment.Session, db *sqlServer, takes []sqlTool) bool {
	if takes[0].file == "" {
		return true
	}
	entries, _ := os.ReadDir(session.Dir(db.server)) // a server without a folder has none
	path, fit := "", 0
	for _, e := range entries {
		for _, t := range takes {
			t.path = e.Name()
			const sum = "SELECT 4700 + 11 + COUNT(*) AS n FROM sqlite_master WHERE 1 = 0"
			if text, ok := m.tryOn(ctx, session, t.call(sum)); ok &&
				strings.Contains(text, "4711") { // what a file holds is read for that, and no echo says it
				path, fit = e.Name(), fit+1
				break
			}
		}
	}
	if fit != 1 {
		return false
	}
	for i := range takes {
		takes[i].path = path
	}
	for _, s := range m.tools {
		c, needs := s.bare(), s.needs()
		if folder := s.fileField(); folder != "" {
			c = sqlTool{tool: s.Name, argument: folder}.call(".")
			needs = !s.takes(string(c.Arguments))
		}
		if s.Server != db.server || !s.mayTry() || s.destroys() || s.creates() || needs {
			continue
		}
		if text, ok := m.tryOn(ctx, session, c); ok && strings.Contains(text, path) {
			db.files = &c
			return true
		}
	}
	return false
}

// findListing finds how a stranger sees the tables and their columns: by tools that show a table which was just made,
// or by SQL. Where none can be made, the names of tools tell.
func (m *maker) findListing(ctx context.Context, session environment.Session, db *sqlServer) {
	for _, s := range m.tools {
		about := words(s.Name)
		if s.Server != db.server || !s.mayTry() || s.destroys() || db.readOnly &&
			!slices.Contains(about, "table") && !slices.Contains(about, "tables") && !slices.Contains(about, "schema") {
			continue
		}
		c, needs, file := s.bare(), s.needs(), ""
		if db.read.file != "" {
			file = s.fileField()
			c = sqlTool{tool: s.Name, argument: file}.call(db.read.path)
			needs = !s.takes(string(c.Arguments))
		}
		if !needs && db.list == nil {
			if text, ok := m.tryOn(ctx, session, c); ok && (strings.Contains(text, probeTable) || db.readOnly) {
				db.list, db.listsColumns = &c, strings.Contains(text, probeColumn)
			}
		}
		for _, p := range s.schema.fields {
			one := sqlTool{tool: s.Name, argument: p.name, file: file, path: db.read.path}
			if c := one.call(probeTable); db.describe == nil && (p.required || !db.readOnly) &&
				slices.Contains(words(p.name), "table") && s.takes(string(c.Arguments)) {
				if text, ok := m.tryOn(ctx, session, c); ok && strings.Contains(text, probeColumn) || db.readOnly {
					db.describe = &one
				}
			}
		}
	}
	for _, sql := range listingsSQL(db.nameless) {
		if text, ok := m.tryOn(ctx, session, db.read.call(sql)); ok && db.listSQL == "" &&
			(strings.Contains(text, probeTable) || db.readOnly) {
			db.listSQL = sql
			db.listsColumns = db.listsColumns || db.list == nil && (db.nameless || strings.Contains(text, probeColumn))
		}
	}
	if db.listSQL == "" {
		db.listSQL = "SELECT table_name FROM information_schema.tables ORDER BY table_name"
	}
	for _, sql := range describing() {
		if text, ok := m.tryOn(ctx, session, db.read.call(strings.ReplaceAll(sql, "TABLE", probeTable))); ok &&
			db.describeSQL == "" &&
			strings.Contains(text, probeColumn) {
			db.describeSQL = sql
		}
	}
}

// someRows is how many rows of a table a stranger looks at to see its columns, and how their values are written.
const someRows = 3

// suit says of a world what its store is like.
func (db *sqlServer) suit(w *programs.World) {
	w.NoKeys, w.Cased, w.Strict = db.noKeys, db.cased, db.strict
}

// sample is the call that shows some rows of a table.
func (db *sqlServer) sample(t *programs.Table) Call {
	return db.read.call(fmt.Sprintf("SELECT * FROM %s LIMIT %d", programs.Ident(t.Name), someRows))
}

// discover are the calls by which a stranger finds out what there is: the tables, then some rows of some. Of a table
// that is written to without such rows, or that gets a new one, the columns are asked for: some may have to be given.
func (db *sqlServer) discover(tables []*programs.Table, added *programs.Table) (calls []Call) {
	if db.files != nil {
		calls = append(calls, *db.files)
	}
	if db.list != nil {
		calls = append(calls, *db.list)
	} else {
		calls = append(calls, db.read.call(db.listSQL))
	}
	for _, t := range tables {
		rows := t != added && len(t.Rows) > 0
		if rows {
			calls = append(calls, db.sample(t))
		}
		switch {
		case rows && !db.nameless || db.nameless && db.listsColumns:
		case db.describe != nil:
			calls = append(calls, db.describe.call(t.Name))
		case db.describeSQL != "":
			calls = append(calls, db.read.call(columnsOf(db.describeSQL, t.Name)))
		}
	}
	return calls
}

// gold are the calls of a program as a stranger makes them.
func (db *sqlServer) gold(w *programs.World, p *programs.Program) (calls []Call) {
	if len(p.Steps) == 0 && len(p.Tables) == 0 {
		return nil
	}
	seen := slices.Clone(p.Tables)
	for _, t := range w.Tables { // who has not seen the columns cannot know which table has what is asked for
		if len(seen) < mostDescribed && !slices.Contains(seen, t) {
			seen = append(seen, t)
		}
	}
	slices.SortFunc(seen,
		func(a, b *programs.Table) int { return slices.Index(w.Tables, a) - slices.Index(w.Tables, b) })
	var added *programs.Table
	if p.Free {
		added = p.NewRowTable()
	}
	calls = db.discover(seen, added)
	plan := p.Plan()
	for _, s := range p.Steps {
		call := db.step(s)
		if call.Why = s.Why; s.Writes && plan != "" { // what the looks have shown
			call.Why, plan = strings.TrimSpace(s.Why+"\n"+plan), ""
		}
		calls = append(calls, call)
	}
	return calls
}

// step is the call of a step.
func (db *sqlServer) step(s programs.Step) Call {
	switch {
	case strings.HasPrefix(s.SQL, "CREATE "):
		return db.create.call(s.SQL)
	case s.Writes:
		return db.write.call(s.SQL)
	}
	return db.read.call(s.SQL)
}

// mostDescribed bounds the tables that are looked at before a question.
const mostDescribed = 8

// setup are the calls that make a world.
func (db *sqlServer) setup(w *programs.World) (calls []Call) {
	for i, sql := range w.Create() {
		if i < len(w.Tables) {
			calls = append(calls, db.create.call(sql))
		} else {
			calls = append(calls, db.write.call(sql))
		}
	}
	return calls
}

// live reads what tables a server has by itself; nil where there are none with rows.
func (m *maker) live(ctx context.Context, db *sqlServer) (*programs.World, error) {
	session, err := m.player.open(ctx, m.player.from, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }() // the calls are made
	text, ok := m.tryOn(ctx, session, db.read.call(db.listSQL))
	if !ok {
		return nil, ctx.Err()
	}
	w := &programs.World{Name: "live"}
	db.listed = strings.ToLower(text)
	seen := map[string]bool{}
	for _, name := range firstValues(text) {
		if seen[name] {
			continue
		}
		seen[name] = true
		if slices.Contains([]string{"", probeTable, probeTree}, name) || strings.HasPrefix(name, "sqlite_") ||
			len(w.Tables) == mostLive {
			continue
		}
		rows, ok := m.tryOn(ctx, session, db.read.call("SELECT * FROM "+programs.Ident(name)+" LIMIT 501"))
		records := programs.Records(rows)
		if db.nameless {
			records = programs.Named(m.columns(ctx, session, db, name), programs.Rows(rows))
		}
		t := programs.TableOf(name, records)
		if !ok || t == nil || len(t.Rows) > mostRows {
			continue
		}
		count, ok := m.tryOn(ctx, session, db.read.call("SELECT COUNT(*) AS n FROM "+programs.Ident(name)))
		if ok && saysAll(count, []string{fmt.Sprint(len(t.Rows))}) { // some servers show the first rows alone
			w.Tables = append(w.Tables, t)
		}
	}
	if len(w.Tables) == 0 {
		return nil, ctx.Err()
	}
	programs.Relate(w.Tables)
	programs.Understand(w.Tables)
	if db.readOnly {
		m.findWrite(ctx, session, db, w.Tables[0])
	}
	db.suit(w)
	return w, ctx.Err()
}

// findWrite finds the tool that writes where none makes tables: a copy's table is emptied by it. Where a session has no
// copy of its own that would be somebody's table.
func (m *maker) findWrite(ctx context.Context, session environment.Session, db *sqlServer, t *programs.Table) {
	for _, write := range m.takeSQL(db.server) {
		if s := m.byName[write.tool]; s.Shared || !s.Safe {
			continue
		}
		write.path = db.read.path
		_, _ = m.tryOn(ctx, session, write.call("DELETE FROM "+programs.Ident(t.Name)))
		if text, ok := m.tryOn(ctx, session, db.read.call("SELECT 4700 + 11 + COUNT(*) AS n FROM "+
			programs.Ident(t.Name))); ok && slices.Contains(numbersOf(text), 4711) {
			db.write, db.readOnly, db.noKeys = write, false, true
			return
		}
	}
}

// isThere reports whether a table of some name may be there already.
func (db *sqlServer) isThere(name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.ToLower(name)) + `\b`).MatchString(db.listed)
}

// holds reports whether one of some tables may be there already.
func (db *sqlServer) holds(tables []*programs.Table) bool {
	return slices.ContainsFunc(tables, func(t *programs.Table) bool { return db.isThere(t.Name) })
}

// columns are the names of a table's columns, of a server that shows rows without them: SQLite's and DuckDB's way, then
// the standard's.
func (m *maker) columns(ctx context.Context, session environment.Session, db *sqlServer, table string) []string {
	for _, sql := range []string{
		"SELECT name FROM pragma_table_info('TABLE')",
		"SELECT column_name FROM information_schema.columns WHERE table_name = 'TABLE' ORDER BY ordinal_position",
	} {
		if text, ok := m.tryOn(ctx, session, db.read.call(columnsOf(sql, table))); ok {
			if names := firstValues(text); len(names) > 0 {
				return names
			}
		}
	}
	return nil
}

// firstValues are the first values of the rows that a server shows, with the names of columns or without.
func firstValues(text string) (list []string) {
	for _, r := range programs.Records(text) {
		list = append(list, programs.Show(r.Values[0]))
	}
	if list == nil {
		for _, row := range programs.Rows(text) {
			list = append(list, programs.Show(row[0]))
		}
	}
	return list
}

// Bounds of what is read of a server's own data.
const (
	mostLive = 12  // tables
	mostRows = 500 // of one
)
