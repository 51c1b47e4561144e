package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/run/report"
)

// sample is a page of three systems on n scenarios, with groups and curves, all of it from one seed.
func sample(n int) report.Page {
	r := rand.New(rand.NewPCG(7, 7))
	p := report.Page{
		Title: "demo-20261122-173714",
		Verb:  "hone demo",
		Run:   "demo-20261122-173714",
		Facts: []report.Fact{
			{Name: "model", Value: "SmolLM2-135M-Instruct"}, {Name: "server", Value: "@coo-quack/calc-mcp@2.1.1"},
			{Name: "seed", Value: "1"}, {Name: "demonstrations", Value: "300"}, {Name: "test scenarios",
				Value: fmt.Sprint(n)},
		},
	}
	p.Parts = []stats.Part{
		{Name: "training", Seconds: 412},
		{Name: "sampling", Seconds: 655.3},
		{Name: "tools and orchestration", Seconds: 21.4, Orchestration: true},
	}
	p.Bootstrap.NumResamples = 500
	kinds := []string{"base64 encode", "count words", "crc32", "date add", "hash md5", "rgb of a color"}
	for i, s := range []struct {
		name string
		rate float64
	}{{"base", 0.03}, {"sft", 0.78}, {"grpo", 0.8}} {
		x := stats.System{Name: s.name, Excluded: map[trajectory.Outcome]int{}}
		for k := range n {
			id := fmt.Sprintf("demo-test-%05d", k)
			kind := kinds[k%len(kinds)]
			passed := r.Float64() < s.rate-0.3*float64(k%len(kinds))/5
			t := episode(id, kind, passed, i, r)
			p.Systems = append(p.Systems[:i], x)
			x.Rows = append(x.Rows, stats.Row{
				ScenarioID: id, Kind: kind, Tags: []string{"kind:" + kind,
					"wording:" + []string{"seen", "unseen"}[k%2]}, Tools: []string{kind[:4]},
				FirstCall: passed || r.Float64() < 0.05, Episode: passed,
				NumGold: 1, NumTurns: 2, NumCompletionTokens: 20 + r.IntN(20), Reward: t.Reward, Seconds: t.Seconds,
				ModelSeconds: t.Seconds * 0.9, ToolSeconds: 0.004,
			})
			x.Episodes = append(x.Episodes, stats.Example{Title: "eval_" + s.name + "/" + t.ID, Trajectory: t})
		}
		if i == 0 {
			x.Excluded[trajectory.EnvironmentError] = 2
		}
		p.Systems = append(p.Systems[:i], x)
	}
	sft, grpo, validation := report.Stage{Name: "sft"}, report.Stage{Name: "grpo"}, report.Stage{Name: "validation"}
	for i := range 40 {
		x := float64(i)
		sft.Steps = append(sft.Steps, report.Step{
			Number: i,
			Values: map[string]float64{"loss": 3*math.Exp(-x/8) + 0.1*r.Float64(), "grad_norm": 1 + r.Float64(),
				"step_time": 1.2 + r.Float64()/4},
		})
		if i < 12 {
			grpo.Steps = append(grpo.Steps, report.Step{
				Number: i,
				Values: map[string]float64{
					"reward": 1.3 + 0.02*x + 0.1*r.Float64(), "rewards/checks/mean": 0.7 + 0.01*x,
					"sampling/mismatch_kl": 2e-4 * r.Float64(), "completions/clipped_ratio": 0.02 * r.Float64(),
					"frac_reward_zero_std": 0.5 * r.Float64(), "completions/mean_length": 30 + r.Float64()*5,
					"turns/mean": 2, "grad_norm": 0.3 * r.Float64(), "step_time": 40 + 4*r.Float64(),
					"loss": 0.01 * (r.Float64() - 0.5), "outcome/ok": 64,
					"masked_ratio": 0,
				},
			})
		}
	}
	for _, i := range []int{4, 8, 12} {
		validation.Steps = append(validation.Steps,
			report.Step{Number: i, Values: map[string]float64{"success": 0.7 + 0.01*float64(i), "reward": 1.4}})
	}
	p.Stages = []report.Stage{sft, grpo, validation}
	for g := range 14 {
		group := report.Group{Stage: "grpo", Step: g % 12, ScenarioID: fmt.Sprintf("demo-train-%05d", g)}
		for k := range 4 {
			t := episode(group.ScenarioID, kinds[g%6], r.IntN(14) < g, 2, r)
			t.Rollout = k
			group.Rewards = append(group.Rewards, t.Reward)
		}
		p.Groups = append(p.Groups, group)
	}
	return p
}

// episode is one that calls a tool and answers.
func episode(id, kind string, passed bool, turnsOff int, r *rand.Rand) *trajectory.Trajectory {
	args := fmt.Sprintf(`{"text":"insect %d ladder ladder music","type":"words"}`, r.IntN(900))
	t := &trajectory.Trajectory{ID: id + "/0/0", ScenarioID: id, Outcome: trajectory.OK,
		StopReason: trajectory.StopCompleted, Seconds: 0.4 + r.Float64(), Reward: 0.2, Terms: []trajectory.Term{
			{Name: "checks", Weight: 1, Why: `checks[0] (answer): the answer holds no "5"`},
			{Name: "call", Weight: 0.5},
			{Name: "tool", Score: 1, Weight: 0.2},
		}}
	call := chat.ToolCall{ID: "call_0", Name: "count", Arguments: args}
	result := trajectory.ToolResult{Call: call, Status: trajectory.CallOK, Text: `{"words":5}`, Seconds: 0.003}
	answer := "5"
	if passed {
		t.Reward, t.Terms = 1.9, []trajectory.Term{
			{Name: "checks", Score: 1, Weight: 1},
			{Name: "call", Score: 1, Weight: 0.5},
			{Name: "tool", Score: 1, Weight: 0.2},
		}
	} else {
		answer = "The answer is 133."
	}
	t.Turns = []trajectory.Turn{
		{CompletionIDs: make([]int32, 21), Calls: []chat.ToolCall{call}, Results: []trajectory.ToolResult{result}, SampleSeconds: 0.3},
		{CompletionIDs: make([]int32, 4), Content: answer, SampleSeconds: 0.1},
	}
	t.Messages = []chat.Message{
		{Role: chat.System, Content: "Call a tool to get the result, then reply with the result only."},
		{Role: chat.User, Content: fmt.Sprintf("Please find out (%s) how many words \"insect %d ladder ladder music\" has.", kind, r.IntN(900))},
		{Role: chat.Assistant, ToolCalls: []chat.ToolCall{call}}, {Role: chat.ToolRole, Name: "count",
			ToolCallID: "call_0", Content: result.Text}, {Role: chat.Assistant, Content: answer},
	}
	return t
}
