package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hone/benchmarks/mcpbench"
	"hone/benchmarks/tasks"
	"hone/internal/blob"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/run"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"hone-bench": main}) }

// Each script in testdata/script drives the command as a user would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits}})
}

// exits CODE COMMAND ARGS... runs the command and wants that exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// bench runs a command line in this process; its runs are listed in a folder of the test's.
func bench(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	a := &app{
		&host.Host{Stdin: strings.NewReader(""), Data: sanitize.New(&out), Talk: sanitize.New(&said), Program: "hone",
			LookupEnv: func(name string) (string, bool) { return t.TempDir(), name == "XDG_STATE_HOME" }},
	}
	code = a.main(t.Context(), args)
	return code, out.String(), said.String()
}

// keep makes a run that keeps an episode of each scenario: of its four calls one names no tool, one breaks its tool's
// schema, and one is made twice.
func keep(t *testing.T, path string, list []scenario.Scenario) {
	t.Helper()
	h := &host.Host{Data: sanitize.New(&bytes.Buffer{}), Talk: sanitize.New(&bytes.Buffer{}),
		LookupEnv: func(name string) (string, bool) { return t.TempDir(), name == "XDG_STATE_HOME" }}
	j := &job.Job{Env: job.Env{Host: h}, Verb: "collect", Path: path, Config: config.Default()}
	if err := j.Begin(); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	text, err := scenario.Encode(list, false)
	if err == nil {
		err = job.WriteFile(filepath.Join(path, job.ScenariosFile), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	var tools []mcp.Tool
	catalog := []string{"shop", "2"}
	for _, name := range []string{"look", "buy"} {
		tool := mcp.Tool{Name: name, ModelName: name, Status: mcp.StatusOK, Findings: []string{},
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
			)}
		tool.SHA256 = blob.Parts(tool.Name, "", string(tool.InputSchema), "", "").String()
		tools, catalog = append(tools, tool), append(catalog, name, tool.SHA256)
	}
	c := &mcp.Catalog{Hash: blob.Parts(catalog...).String(), Servers: []mcp.ServerTools{{Name: "shop", Tools: tools}}}
	if err := c.Save(filepath.Join(path, job.CatalogFile)); err != nil {
		t.Fatal(err)
	}
	turn := trajectory.Turn{}
	for _, r := range []trajectory.ToolResult{
		{Call: chat.ToolCall{Name: "look", Arguments: `{"name": "tea"}`}, Status: trajectory.CallOK, Text: "in stock"},
		{Call: chat.ToolCall{Name: "look", Arguments: `{"name":"tea"}`}, Status: trajectory.CallOK, Text: "in stock"},
		{Call: chat.ToolCall{Name: "buy", Arguments: `{}`}, Status: trajectory.CallInvalid},
		{Call: chat.ToolCall{Name: "steal", Arguments: `{"name": "tea"}`}, Status: trajectory.CallInvalid},
	} {
		turn.Calls, turn.Results = append(turn.Calls, r.Call), append(turn.Results, r)
	}
	for _, s := range list {
		text, err := json.Marshal(&trajectory.Trajectory{ID: s.ID + "/0/0", ScenarioID: s.ID, Scenario: s.Hash(),
			Outcome: trajectory.OK, Turns: []trajectory.Turn{turn}})
		if err == nil {
			_, err = j.Dir.PutTrajectory(run.TrajectoryRow{ID: "collect/" + s.ID, Stage: "collect", JSON: text})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What was imported is told, and a run of it is measured by MCP-Bench's rules: published and closed. The name of a
// folder may have brackets: it is a name, and no pattern.
func TestMCPBenchFromTasksToRates(t *testing.T) {
	suite, err := filepath.Abs("../../tasks/testdata/mcpbench")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	const from = "suite [1"
	if err := os.CopyFS(from, os.DirFS(suite)); err != nil {
		t.Fatal(err)
	}
	code, out, said := bench(t, "import", "--from", "mcpbench", from, "--out", "bench.json", "--json")
	var found tasks.Imported
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 0 || found.Scenarios != 2 ||
		len(found.Refused) != 4 || found.Files != "bench.files" {
		t.Fatalf("exit code %d, %+v, %v, %s", code, found, err, said)
	}
	for _, words := range []string{
		`refused 1 task, the first `,
		`the id "tea_shop_000" is another task's`, "unknown field server_tasks.tasks.priority: 1 time;",
		"servers that the tasks need, by their names there: Tea Shop (2)",
	} {
		if !strings.Contains(said, words) {
			t.Errorf("no %q in %s", words, said)
		}
	}
	if code, _, said := bench(t, "import", "--from", "mcpbench", from, "--out", "bench.json"); code != 2 ||
		!strings.Contains(said, "there already") {
		t.Errorf("again: exit code %d, %s", code, said)
	}
	if code, out, _ := bench(t, "import", "--from", "mcpbench", from, "--only", "tea_shop_001", "--out",
		"one.json"); code != 0 || !strings.Contains(out, "not asked for") {
		t.Errorf("one: exit code %d, %s", code, out)
	}

	list, err := scenario.Load("bench.json")
	if err != nil {
		t.Fatal(err)
	}
	keep(t, "ran", list)
	code, out, said = bench(t, "mcpbench", "./ran", "--json")
	var stages []mcpbench.RuleMetrics
	if err := json.Unmarshal([]byte(out), &stages); err != nil || code != 0 || len(stages) != 1 {
		t.Fatalf("exit code %d, %s, %v, %s", code, out, err, said)
	}
	s := stages[0]
	got := fmt.Sprintf("%s %d %.3f %.3f", s.Stage, s.NumTasks, s.Calls, s.Servers)
	for _, d := range mcpbench.Definitions() {
		got += fmt.Sprintf(" %s %.3f %.3f", d.Name, d.Of(s.Published), d.Of(s.Closed))
	}
	want := "collect 2 4.000 1.000 valid_tool_name_rate 0.750 0.667 input_schema_compliance 0.667 0.333 " +
		"execution_success_rate 0.500 0.333 valid_call_failure_rate 0.333 0.500 planning_json_compliance 1.000 1.000 " +
		"rules 0.639 0.444"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, out, said = bench(t, "mcpbench", "./ran")
	if !strings.Contains(out, "valid_tool_name_rate") || !strings.Contains(out, "0.667") ||
		!strings.Contains(said, "2 tasks, 0 without calls") {
		t.Errorf("%s%s", out, said)
	}
	if code, out, _ := bench(t, "mcpbench", "--definitions"); code != 0 ||
		strings.Count(out, "hole") < len(mcpbench.Definitions()) {
		t.Errorf("exit code %d, %s", code, out)
	}
	for _, args := range [][]string{{"./nowhere"}, {}, {"./ran", "--definitions"}} {
		if code, _, said := bench(t, append([]string{"mcpbench"}, args...)...); code != 2 {
			t.Errorf("%q: exit code %d, %s", args, code, said)
		}
	}
}
