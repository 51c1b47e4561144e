package view

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/blob"
	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/testing/learntest"
)

// hostile is a text that would run, close what it stands in, steer a terminal or turn around what is read, where it is
// not shown as text.
const hostile = "</script><img src=x onerror=\"window.ran=1\"><script>window.ran=1</script> \x1b[31mred\x1b[0m " +
	"\u202ereversed\u202c \x00 {{constructor}} javascript:window.ran=1"

// groupSize is how many attempts a made run has at each scenario of a step.
const groupSize = 4

// made writes a run of GRPO with n trajectories, of a toy model over bytes, that does not go on. What is in it follows
// from n alone.
func made(t testing.TB, dir string, n int) *run.Dir {
	t.Helper()
	base := filepath.Join(filepath.Dir(dir), "toy.gguf")
	if _, err := os.Stat(base); err != nil {
		learntest.WriteToyModel(t, base)
	}
	var tasks []scenario.Scenario
	for i := range 40 {
		s := scenario.Scenario{ID: fmt.Sprintf("task-%02d", i), Task: taskOf(i), Split: scenario.Train,
			Checks: []scenario.Check{{Type: scenario.AnswerCheck, Equals: new("5")}}, Tags: []string{"kind:count"}}
		if i == 39 {
			s.Setup = []scenario.Gold{{Name: "count", Arguments: json.RawMessage(`{"text":"setup"}`)}}
		}
		if i%2 == 0 {
			s.Provenance = &scenario.Provenance{By: "hone synth", Kind: "single", Wording: "plain",
				Proof: []string{"play-1"}, Seed: 7, Prompts: map[string]string{"quality": "5ca1ab1e00"},
				Tools: map[string]string{"count": "0ddba11000"}}
		}
		if i == 2 { // others are measured on it
			s.Split = scenario.Test
		}
		tasks = append(tasks, s)
	}
	d, err := run.Create(dir,
		[]byte(fmt.Sprintf("model: {base: %q}\ngrpo: {steps: 100000, group_size: %d}\n", base, groupSize)),
		job.Begun{Verb: "train", Flags: job.Kept{MCPConfig: serversOf(dir)}}, input(t, job.CatalogFile, catalogOf()),
		input(t, job.ScenariosFile, tasks))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for _, stage := range []string{"eval_base", "eval_model"} {
		for i := range tasks {
			put(t, d, stage, 0, episodeOf(tasks[i], 0, 0,
				r.Float64() < map[string]float64{"eval_base": 0.3, "eval_model": 0.7}[stage], r))
		}
		check(t, d.Ledger.PutStage(run.StageRow{Name: stage, Status: run.Finished}))
	}
	left := n - 2*len(tasks)
	for step := 0; left > 0; step++ {
		for g := range 2 {
			s := tasks[(2*step+g)%len(tasks)]
			for k := range min(groupSize, left) {
				put(t, d, "grpo", step, episodeOf(s, step, k, r.IntN(3) == 0, r))
				left--
			}
		}
		x := float64(step)
		metric(t, d, "grpo", step, map[string]float64{
			"reward": 1 + 0.1*math.Sin(x/7), "success": 0.5 + 0.2*math.Sin(x/9), "loss": 1 / (1 + x), "grad_norm": 0.3,
			"entropy": 0.5, "sampling/mismatch_kl": 1e-4, "frac_reward_zero_std": 0.6, "step_time": 4,
			"time/rollout": 2, "time/train": 1, "time/elapsed": 4 * (x + 1), "step_tokens": 100,
		})
	}
	check(t, d.Ledger.PutStage(run.StageRow{Name: "grpo", Status: run.Finished}))
	return d
}

// serversOf is the file of a made run's servers, which is there where a test writes it.
func serversOf(dir string) string { return filepath.Join(filepath.Dir(dir), "mcp.json") }

// catalogOf is one server of one tool.
func catalogOf() mcp.Catalog {
	tool := mcp.Tool{
		Name:        "count",
		ModelName:   "count",
		Description: "Counts words. " + strings.ReplaceAll(hostile, "\x00", ""),
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
		Status:      "ok",
	}
	tool.SHA256 = blob.Parts(tool.Name, tool.Description, string(tool.InputSchema), "", "").String()
	return mcp.Catalog{
		Hash: blob.Parts("words", "1", tool.ModelName, tool.SHA256).String(),
		Servers: []mcp.ServerTools{
			{Name: "words", Version: "1.2", Era: "2025-11-25", Transport: "stdio", Tools: []mcp.Tool{tool}},
		},
	}
}

func taskOf(i int) string {
	if i == 3 {
		return "How many words? " + hostile
	}
	return fmt.Sprintf("How many words has \"insect %d ladder ladder music\"?", i)
}

func input(t testing.TB, name string, of any) run.Input {
	text, err := json.Marshal(of)
	check(t, err)
	return run.Input{Name: name, Data: text}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func metric(t testing.TB, d *run.Dir, stage string, step int, values map[string]float64) {
	text, err := json.Marshal(values)
	check(t, err)
	check(t, d.PutMetric(stage, step, text))
}

// put keeps an episode and what it earned.
func put(t testing.TB, d *run.Dir, stage string, step int, x *trajectory.Trajectory) {
	t.Helper()
	score := trajectory.Score{Reward: x.Reward, Terms: x.Terms}
	lean := *x
	lean.Reward, lean.Terms = 0, nil
	text, err := json.Marshal(lean)
	check(t, err)
	_, err = d.PutTrajectory(run.TrajectoryRow{ID: stage + "/" + x.ID, Stage: stage, Step: step, JSON: text})
	check(t, err)
	earned, err := json.Marshal(score)
	check(t, err)
	_, err = d.Ledger.PutScores([]run.ScoreRow{{ID: stage + "/" + x.ID, JSON: earned}})
	check(t, err)
}

// episodeOf calls a tool and answers, rightly or not. Its ids are the bytes of what it wrote.
func episodeOf(s scenario.Scenario, step, rollout int, passed bool, r *rand.Rand) *trajectory.Trajectory {
	arguments := fmt.Sprintf(`{"text":"insect %s ladder ladder music"}`, s.ID)
	if rollout == 2 {
		arguments = `{"words":"insect ladder"}` // against the schema
	}
	call := chat.ToolCall{ID: "call_0", Name: "count", Arguments: arguments}
	result := trajectory.ToolResult{Call: call, Status: trajectory.CallOK, Text: `{"words":5}` + hostile,
		Seconds: 0.003 + 0.01*r.Float64()}
	answer, x := "5", &trajectory.Trajectory{
		ID:          episodeName(s.ID, step, rollout),
		ScenarioID:  s.ID,
		Scenario:    s.Hash(),
		Split:       s.Split,
		Rollout:     rollout,
		Attempt:     1,
		Temperature: 1,
		Outcome:     trajectory.OK,
		StopReason:  trajectory.StopCompleted,
		Seconds:     0.4 + r.Float64(),
	}
	x.Reward, x.Terms = 1.5, []trajectory.Term{
		{Name: "checks", Score: 1, Weight: 1},
		{Name: "call", Score: 1, Weight: 0.5},
	}
	switch {
	case !passed && rollout == 1:
		x.Outcome, x.StopReason = trajectory.Limit, trajectory.StopMaxTokens
		fallthrough
	case !passed:
		answer = "The answer is 133. " + hostile
		x.Reward, x.Terms = 0.5, []trajectory.Term{
			{Name: "checks", Weight: 1, Why: `checks[0] (answer): the answer is not "5"`},
			{Name: "call", Score: 1, Weight: 0.5},
		}
	}
	asked := []chat.Message{
		{Role: chat.System, Content: "Call a tool, then reply."},
		{Role: chat.User, Content: s.Task},
	}
	x.Opening = len(asked)
	x.Shown = &trajectory.Shown{Catalog: catalogOf().Hash, All: true}
	x.Messages = append(asked, chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}},
		chat.Message{Role: chat.ToolRole, Name: "count", ToolCallID: "call_0", Content: result.Text},
		chat.Message{Role: chat.Assistant, Content: answer})
	bridge, first := ids(s.Task), ids(arguments)
	x.Turns = []trajectory.Turn{
		{
			BridgeIDs:       bridge,
			CompletionIDs:   first,
			SamplerLogprobs: logprobs(len(first), r),
			Calls:           []chat.ToolCall{call},
			Results:         []trajectory.ToolResult{result},
			SampleSeconds:   0.3,
			PolicyVersion:   step,
		},
		{BridgeIDs: ids(result.Text), CompletionIDs: ids(answer), SamplerLogprobs: logprobs(len(answer), r),
			Content: answer, SampleSeconds: 0.1, PolicyVersion: step}}
	return x
}

func ids(text string) []int32 {
	out := make([]int32, len(text))
	for i := range out {
		out[i] = int32(text[i])
	}
	return out
}

func logprobs(n int, r *rand.Rand) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = -float32(r.ExpFloat64()) / 4
	}
	return out
}
