package tasks

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// imported imports into a folder of the test's own, and reads the scenarios back as every verb does.
func imported(t *testing.T, o Options) (Imported, map[string]scenario.Scenario) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.json")
	found, err := Import(o, out)
	if err != nil {
		t.Fatal(err)
	}
	list, err := scenario.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]scenario.Scenario{}
	for _, s := range list {
		by[s.ID] = s
	}
	if len(by) != found.Scenarios {
		t.Errorf("%d scenarios are said, %d are there", found.Scenarios, len(by))
	}
	return found, by
}

// refusals are the reasons by the last element of where, in order.
func refusals(found Imported) (out []string) {
	for _, r := range found.Refused {
		out = append(out, filepath.Base(r.Where)+": "+r.Why)
	}
	slices.Sort(out)
	return out
}

func wantRefusals(t *testing.T, found Imported, want ...string) {
	t.Helper()
	got := refusals(found)
	if len(got) != len(want) {
		t.Fatalf("refused %q, want %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("refused %q, want %q", got[i], want[i])
		}
	}
}

func wantCounts(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s %v, want %v", what, got, want)
	}
}

func TestMCPBench(t *testing.T) {
	found, by := imported(t, Options{Form: "mcpbench", From: "testdata/mcpbench"})
	wantRefusals(t, found, "tea_runner_format.json: server_tasks[1].tasks[0] (tea_shop_clock_000): it has no text",
		`tea_runner_format.json: server_tasks[1].tasks[1] (tea_shop_000): the id "tea_shop_000" is another task's`,
		`tea_runner_format.json: server_tasks[1].tasks[2]: it has no "task_id"`,
		`tea_runner_format.json: server_tasks[1].tasks[3]: `)
	wantCounts(t, "unknown", found.Unknown, map[string]int{"server_tasks.mood": 1, "server_tasks.tasks.priority": 1})
	wantCounts(t, "servers", found.Servers, map[string]int{"Tea Shop": 2})
	s := by["tea_shop_000"]
	if s.Task != "I fancy some green tea, nothing dear. Could you get me a couple of packs?" || s.Split != "test" ||
		s.Difficulty != "single_server" || !slices.Equal(s.Tags, []string{"mcpbench", "server:Tea Shop"}) {
		t.Errorf("%+v", s)
	}
	if s := by["tea_shop_001"]; s.Task != "Cancel order 17 and say what is paid back." {
		t.Errorf("without a vague wording: %+v", s)
	}
	text, err := os.ReadFile(filepath.Join(found.Files, "reference.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var first reference
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || len(lines) != 2 ||
		!reflect.DeepEqual(first, reference{"tea_shop_000",
			"Call find_tea(kind='green') and order 2 packs of the cheapest, with find_tea's id.",
			"order needs the id that find_tea returns.", []string{"Tea Shop"}, []string{"Clock", "Maps"}}) {
		t.Errorf("%s, %v", text, err)
	}
}

// session is an episode's with a folder of its own.
type session struct{ dir string }

func (s session) Probe(context.Context, chat.ToolCall) trajectory.ToolResult {
	return trajectory.ToolResult{}
}
func (s session) Dir(string) string { return s.dir }

// score begins an episode of a scenario, lets do change its folder and answer, and makes the checks' looks as a run
// does.
func score(t *testing.T, s scenario.Scenario, do func(dir string) (answer string)) (float64, *environment.Lost) {
	t.Helper()
	dir := t.TempDir()
	if template := s.Template[""]; template != "" {
		if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
	}
	w, lost := environment.OpenWatch(t.Context(), session{dir}, s.Checks, []string{"PATH=" + os.Getenv("PATH")})
	if lost != nil {
		t.Fatal(lost.Why)
	}
	tr := &trajectory.Trajectory{Outcome: trajectory.OK,
		Messages: []chat.Message{{Role: chat.User, Content: s.Task}, {Role: chat.Assistant, Content: do(dir)}}}
	if lost := w.End(t.Context(), tr); lost != nil {
		return 0, lost
	}
	return *tr.Seen[0].Score, nil
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// outcome of an episode by its check: a score, or a failure that says nothing about the model.
func wantScore(t *testing.T, s scenario.Scenario, what, want string, do func(dir string) string) {
	t.Helper()
	got, lost := score(t, s, do)
	text := fmt.Sprint(got)
	if lost != nil {
		text = lost.Why
	}
	if lost == nil && text != want || !strings.Contains(text, want) {
		t.Errorf("%s: %s is scored %s, want %s", s.ID, what, text, want)
	}
}

func TestMCPMark(t *testing.T) {
	o := Options{Form: "mcpmark", From: "testdata/mcpmark/tasks", States: "testdata/mcpmark/states"}
	found, by := imported(t, o)
	wantRefusals(t, found, "no_check: there is no verify.py",
		"raise_price: its verify.py looks into the service postgres",
		"weigh: its start state is not here: unpack the archive of its category")
	wantCounts(t, "unknown", found.Unknown,
		map[string]int{"meta.json: reviewed_by": 1, "meta.json: meta_data.stateSize": 1})
	wantCounts(t, "servers", found.Servers, map[string]int{"filesystem": 1})
	s := by["filesystem/easy/letters/count_lines"]
	if s.Difficulty != "L1" ||
		s.Split != "test" || !slices.Equal(s.Tags, []string{"mcpmark", "category:letters", "counting"}) ||
		!strings.HasPrefix(s.Task, "# Count the lines") {
		t.Errorf("%+v", s)
	}
	wantScore(t, s, "doing nothing", "0", func(string) string { return "3" })
	wantScore(t, s, "a wrong total", "0", func(dir string) string { write(t, dir+"/total.txt", "4"); return "" })
	wantScore(t, s, "the right total", "1", func(dir string) string { write(t, dir+"/total.txt", "3\n"); return "" })
	wantScore(t, s, "a missing module", "verify.py could not be run", func(dir string) string {
		write(t, dir+"/needs-module", "")
		write(t, dir+"/total.txt", "3")
		return ""
	})

	o.Unchecked = true
	found, by = imported(t, o)
	if s := by["postgres/easy/shop/raise_price"]; found.Scenarios != 4 || len(s.Checks) != 0 ||
		!slices.Contains(s.Tags, "unchecked") || len(found.Unchecked) != 3 || len(found.Refused) != 0 {
		t.Errorf("unchecked: %+v, %+v", found, s)
	}
	o.Only = "postgres/*/*/*"
	if found, by = imported(t, o); found.Scenarios != 1 || found.Others != 3 {
		t.Errorf("only: %+v, %v", found, by)
	}
}

func TestToolathlon(t *testing.T) {
	found, by := imported(t, Options{Form: "toolathlon", From: "testdata/toolathlon"})
	wantRefusals(t, found, "from-database: its preprocess/main.py needs a PostgreSQL database",
		"prepares: its preprocess/main.py would have to be run before each episode")
	wantCounts(t, "unknown", found.Unknown, map[string]int{"task_config.json: colour": 1})
	wantCounts(t, "left out", found.LeftOut, map[string]int{"docs/agent_system_prompt.md": 1,
		"task_config.json: needed_local_tools: claim_done": 1, "task_config.json: needed_local_tools: history": 1})
	wantCounts(t, "servers", found.Servers, map[string]int{"filesystem": 1})
	s := by["tidy-list"]
	wantScore(t, s, "doing nothing", "0", func(string) string { return "" })
	wantScore(t, s, "the sorted list", "1", func(dir string) string {
		text, err := os.ReadFile(dir + "/fruits.txt")
		if err != nil || string(text) != "pear\napple\n" {
			t.Errorf("the start state: %q, %v", text, err)
		}
		write(t, dir+"/sorted.txt", "apple\npear\n")
		return ""
	})
	if s.Split == "test" { // assigned, for its tasks are for training too
		t.Logf("by chance")
	}
}

func TestAWM(t *testing.T) {
	from, err := filepath.Abs("testdata/awm")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // where a statement that attaches a file would make it
	found, by := imported(t, Options{Form: "awm", From: from})
	wantRefusals(t, found, "0: gen_db.jsonl has no tables", "2: gen_verifier.pure_code.jsonl has code for another task")
	wantCounts(t, "unknown", found.Unknown, map[string]int{"gen_tasks.jsonl: season": 1,
		"gen_db.jsonl: db_schema.tables.engine": 1, "gen_verifier.pure_code.jsonl: verification.model": 1})
	// The table that is no SQL, two rows against a key, and three statements that reach beyond the database.
	wantCounts(t, "left out", found.LeftOut, map[string]int{"statements that SQLite refuses": 6})
	wantCounts(t, "servers", found.Servers, map[string]int{"tea_shop": 2})
	for _, stolen := range []string{
		"stolen.db", filepath.Join(found.Files, "stolen.db"), filepath.Join(found.Files, "tea_shop", "state",
			"stolen.db"),
	} {
		if _, err := os.Stat(stolen); err == nil {
			t.Errorf("a statement wrote %s", stolen)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(found.Files, "tea_shop", "state")); err != nil || len(entries) != 1 {
		t.Errorf("the start state has %v, %v", entries, err)
	}
	buy := func(packs int) func(dir string) string {
		return func(dir string) string {
			db, err := sql.Open("sqlite", filepath.Join(dir, "tea_shop.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec("PRAGMA journal_mode = WAL; INSERT INTO cart VALUES (1, ?)", packs); err != nil {
				t.Fatal(err)
			}
			return "done"
		}
	}
	s := by["tea_shop/0"]
	wantScore(t, s, "doing nothing", "0", func(string) string { return "complete" })
	wantScore(t, s, "two packs", "1", buy(2))
	wantScore(t, s, "three packs", "0", buy(3))
	wantScore(t, s, "throwing the database away", "0", func(dir string) string {
		if err := os.Remove(filepath.Join(dir, "tea_shop.db")); err != nil {
			t.Fatal(err)
		}
		return ""
	})
	s = by["tea_shop/1"]
	wantScore(t, s, "the price", "1", func(string) string { return "It is 3." })
	wantScore(t, s, "another price", "0", func(string) string { return "It is 4." })
	wantScore(t, s, "a verifier that fails", "KeyError", func(string) string { return "crash" })

	// Without verifiers the tasks can still be had, in their start states.
	bare := t.TempDir()
	for _, name := range []string{awmTasks, awmSchemas, awmSamples} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(bare, name)); err != nil {
			t.Fatal(err)
		}
	}
	found, by = imported(t, Options{Form: "awm", From: bare, Unchecked: true})
	if s := by["tea_shop/0"]; found.Scenarios != 4 || len(s.Checks) > 0 || s.Template[""] == "" ||
		by["bare/0"].Template != nil {
		t.Errorf("without verifiers: %+v, %+v", found, s)
	}
	found, by = imported(t, Options{Form: "awm", From: from, Only: "tea_shop/1"})
	if len(by) != 1 || found.Others != 3 {
		t.Errorf("only: %+v", found)
	}
	if found, err := Import(Options{Form: "awm", From: from}, "50% of it?.json"); err != nil ||
		found.Files != "50% of it?.files" {
		t.Errorf("by a relative path: %+v, %v", found, err)
	}
}

func TestImportRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "no.json"), `{"server_tasks": [`)
	if err := os.MkdirAll(filepath.Join(dir, "taken.files"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		o         Options
		out, want string
	}{
		{Options{Form: "mcpbenhc", From: "testdata/mcpbench"}, "out.json", `there is no form of tasks "mcpbenhc"`},
		{Options{Form: "mcpbench", From: dir + "/no.json"}, "out.json", "cannot read the tasks of the form mcpbench"},
		{Options{Form: "mcpbench", From: dir + "/nothing"}, "out.json", "no such file"},
		{Options{Form: "mcpbench", From: "testdata/mcpbench", Only: "["}, "out.json", "the pattern of ids is not one"},
		{Options{Form: "mcpbench", From: "testdata/mcpbench", Only: "x"}, "out.json", "2 tasks read, and none is a scenario"},
		{Options{Form: "mcpbench", From: "testdata/mcpbench"}, "taken.json", "the folder for the scenarios' files is there already"},
		{Options{Form: "mcpmark", From: "testdata/mcpmark/tasks"}, "out.json", "4 tasks read, and none is a scenario"},
		{Options{Form: "toolathlon", From: "testdata/awm"}, "out.json", "no task of the form toolathlon is there"},
		{Options{Form: "awm", From: "testdata/mcpbench"}, "out.json", "gen_tasks.jsonl"},
	} {
		_, err := Import(tc.o, filepath.Join(dir, tc.out))
		if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(fmt.Sprint(err), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.o, err, tc.want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Whatever fields are added to a task file, each is counted once for each place in which it stands, and the scenarios
// stay the same.
func TestUnknownFieldsAreCounted(t *testing.T) {
	text, err := os.ReadFile("testdata/mcpbench/tea_runner_format.json")
	if err != nil {
		t.Fatal(err)
	}
	_, plain := imported(t, Options{Form: "mcpbench", From: "testdata/mcpbench"})
	rapid.Check(t, func(r *rapid.T) {
		var file map[string]any
		if err := json.Unmarshal(text, &file); err != nil {
			r.Fatal(err)
		}
		want := map[string]int{"server_tasks.mood": 1, "server_tasks.tasks.priority": 1}
		places := []struct {
			at string
			in map[string]any
		}{{"", file}, {"generation_info.", file["generation_info"].(map[string]any)}}
		for _, g := range file["server_tasks"].([]any) {
			group := g.(map[string]any)
			places = append(places, struct {
				at string
				in map[string]any
			}{"server_tasks.", group})
			for _, task := range group["tasks"].([]any) {
				if task, ok := task.(map[string]any); ok {
					places = append(places, struct {
						at string
						in map[string]any
					}{"server_tasks.tasks.", task})
				}
			}
		}
		for _, p := range places {
			for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`x[a-z.]{0,3}`), 0, 3,
				rapid.ID).Draw(r, "names") {
				p.in[name] = rapid.SampledFrom([]any{1, nil, "text", map[string]any{"a": 1}, []any{}}).Draw(r, "value")
				want[p.at+name]++
			}
		}
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		changed, err := json.Marshal(file)
		if err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "in.json"), changed, 0o600); err != nil {
			r.Fatal(err)
		}
		found, err := Import(Options{Form: "mcpbench", From: filepath.Join(dir, "in.json")},
			filepath.Join(dir, "out.json"))
		if err != nil {
			r.Fatal(err)
		}
		if !maps.Equal(found.Unknown, want) {
			r.Fatalf("counted %v, want %v", found.Unknown, want)
		}
		list, err := scenario.Load(filepath.Join(dir, "out.json"))
		if err != nil {
			r.Fatal(err)
		}
		for _, s := range list {
			if !reflect.DeepEqual(s, plain[s.ID]) {
				r.Fatalf("%+v, want %+v", s, plain[s.ID])
			}
		}
	})
}

// Any file gives scenarios that can be loaded, or an error of the user's.
func FuzzMCPBench(f *testing.F) {
	text, err := os.ReadFile("testdata/mcpbench/tea_runner_format.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(
		[]byte(`{"server_tasks": [null, {"tasks": [{"task_id": "a", "fuzzy_description": "b", "fuzzy_description": "c"}]}]}`),
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "in.json"), string(data))
		_, err := Import(Options{Form: "mcpbench", From: filepath.Join(dir, "in.json")}, filepath.Join(dir, "out.json"))
		if err == nil {
			_, err = scenario.Load(filepath.Join(dir, "out.json"))
			if err != nil {
				t.Error(err)
			}
		} else if fault.CodeOf(err) != fault.CodeUsage {
			t.Error(err)
		}
	})
}
