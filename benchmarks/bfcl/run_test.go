package bfcl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/benchmarks/bfcl"
	"hone/internal/blob"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/run"
)

// keepEvaluation makes a run that keeps episodes of three scenarios, as two evaluations.
func keepEvaluation(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	j := &job.Job{Env: job.Env{Host: quiet(t)}, Verb: "eval", Path: "out", Config: config.Default()}
	if err := j.Begin(); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	gold := []scenario.Gold{
		{Name: "add", Arguments: json.RawMessage(`{"a": 1}`)},
		{Name: "add", Arguments: json.RawMessage(`{"a": 2, "note": "Two, please"}`)},
	}
	list := []scenario.Scenario{
		{ID: "both", Task: "Add.", Gold: gold},
		{ID: "none", Task: "Hi.", Checks: []scenario.Check{{Type: scenario.NoCallCheck}}},
		{ID: "free", Task: "Talk."},
	}
	text, err := scenario.Encode(list, false)
	if err == nil {
		err = job.WriteFile(filepath.Join(j.Path, job.ScenariosFile), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	turns := []trajectory.Turn{
		{
			Calls: []chat.ToolCall{
				{Name: "find_tools", Arguments: `{}`},
				{Name: "add", Arguments: `{"a": 2, "note": "two please"}`},
			},
			Results: []trajectory.ToolResult{{Search: true}, {}},
		},
		{Calls: []chat.ToolCall{{Name: "add", Arguments: `{"a": 1, "note": ""}`}}}}
	tools := []chat.Tool{
		{
			Name:        "add",
			InputSchema: json.RawMessage(`{"type": "object", "properties": {"a": {"type": "integer"}, "note": {"type": "string", "default": ""}}}`),
		},
	}
	for _, x := range []struct {
		stage, scenario string
		turns           []trajectory.Turn
		outcome         trajectory.Outcome
	}{
		{"eval_model", "both", turns, trajectory.OK}, {"eval_model", "none", nil, trajectory.OK},
		{"eval_model", "free", turns, trajectory.OK}, {"eval_model", "both", nil, trajectory.EnvironmentError},
		{"eval_base", "both", turns[:1], trajectory.OK},
		{"grpo", "both", turns, trajectory.OK},
	} {
		s := list[map[string]int{"both": 0, "none": 1, "free": 2}[x.scenario]]
		id := x.scenario + "/0/" + string(x.outcome)
		text, err := json.Marshal(&trajectory.Trajectory{ID: id, ScenarioID: s.ID, Scenario: s.Hash(),
			Outcome: x.outcome, Turns: x.turns, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Dir.PutTrajectory(run.TrajectoryRow{ID: x.stage + "/" + id, Stage: x.stage,
			JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
}

// The calls of a kept evaluation are graded against the gold calls of its scenarios.
func TestCallsOfARun(t *testing.T) {
	keepEvaluation(t)
	saveCatalog(t, "out")
	for stage, want := range map[string]string{
		"eval_model": `{"valid":true,"tool":true,"param":true,"ast":true,"errors":[]}` + "\n" +
			`{"valid":true,"tool":true,"param":true,"ast":true,"errors":[]}` + "\n",
		"eval_base": `{"valid":false,"tool":false,"param":false,"ast":false,"errors":["parallel_function_checker_no_order:wrong_count: 1 calls, not 2"]}` + "\n",
	} {
		var data, talk bytes.Buffer
		h := quiet(t)
		h.Data, h.Talk = sanitize.New(&data), sanitize.New(&talk)
		if err := bfcl.Run(context.Background(), h, bfcl.Stored{Run: "out", Stage: stage}); err != nil ||
			data.String() != want {
			t.Errorf("%s: %v\n%s\n%s", stage, err, data.String(), talk.String())
		}
		if left := "2 episodes left out"; stage == "eval_model" && !strings.Contains(talk.String(), left) {
			t.Errorf("%q is not said: %s", left, talk.String())
		}
	}
	for stage, want := range map[string]string{
		"":     "there are eval_base, eval_model",
		"grpo": "there are eval_base, eval_model",
	} {
		if err := bfcl.Run(context.Background(),
			quiet(t), bfcl.Stored{Run: "out", Stage: stage}); fault.CodeOf(err) != fault.CodeUsage ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", stage, err)
		}
	}
	for _, both := range []bfcl.Stored{{File: "a", Run: "out"}, {File: "a", Stage: "eval_base"}} {
		if err := bfcl.Run(context.Background(), quiet(t), both); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%+v: %v", both, err)
		}
	}
	if err := os.Remove("out/" + job.ScenariosFile); err != nil {
		t.Fatal(err)
	}
	if err := bfcl.Run(context.Background(), quiet(t), bfcl.Stored{Run: "out", Stage: "eval_base"}); err != nil {
		t.Error(err) // nothing to grade, which is said
	}
}

// saveCatalog keeps the catalog of the run's one tool, which has a default.
func saveCatalog(t *testing.T, path string) {
	t.Helper()
	tool := mcp.Tool{Name: "add", ModelName: "add", Status: mcp.StatusOK, Findings: []string{},
		InputSchema: json.RawMessage(
			`{"type":"object","properties":{"a":{"type":"integer"},"note":{"type":"string","default":""}}}`,
		)}
	tool.SHA256 = blob.Parts(tool.Name, "", string(tool.InputSchema), "", "").String()
	c := &mcp.Catalog{Servers: []mcp.ServerTools{{Name: "sums", Tools: []mcp.Tool{tool}}}}
	c.Hash = blob.Parts("sums", "1", "add", tool.SHA256).String()
	if err := c.Save(filepath.Join(path, job.CatalogFile)); err != nil {
		t.Fatal(err)
	}
}

// quiet is a host whose runs are listed in a folder of the test's.
func quiet(t *testing.T) *host.Host {
	state := t.TempDir()
	return &host.Host{Talk: sanitize.New(io.Discard), LookupEnv: func(name string) (string, bool) {
		return state, name == "XDG_STATE_HOME"
	}}
}
