package records

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
	"hone/internal/job/episodes"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/testing/fakes"
	"hone/internal/toolset"
)

// lookUp is a server in this process: it knows a number for each name.
func lookUp(b *testing.B) *toolset.Set {
	b.Helper()
	type in struct {
		Name string `json:"name"`
	}
	type out struct {
		Number int `json:"number"`
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "numbers", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "look_up", Description: "the number of a name"},
		func(_ context.Context, _ *sdk.CallToolRequest, x in) (*sdk.CallToolResult, out, error) {
			return nil, out{len(x.Name)}, nil
		})
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	b.Cleanup(h.Close)
	servers := mcp.Config{Servers: map[string]mcp.Server{"numbers": {URL: h.URL}}}
	catalog, err := mcp.Discover(b.Context(), servers)
	if err != nil {
		b.Fatal(err)
	}
	// it outlives the benchmark's context
	pool, err := mcp.NewPool(context.Background(), servers, catalog, mcp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pool.Close() })
	return &toolset.Set{Catalog: catalog, Pool: pool, Tools: pool}
}

const numCalls = 7 // of an episode; its last turn is an answer

// numbered are tasks whose gold calls the null policy makes.
func numbered(n int) []scenario.Scenario {
	list := make([]scenario.Scenario, n)
	for i := range list {
		list[i] = scenario.Scenario{ID: fmt.Sprint("s", i), Task: "Look the names up.", Split: scenario.Train}
		for k := range numCalls {
			list[i].Gold = append(list[i].Gold,
				scenario.Gold{Name: "look_up", Arguments: fmt.Appendf(nil, `{"name": "name %d"}`, k)})
		}
	}
	return list
}

// null is a policy that computes nothing: it looks one name up in each turn, then answers.
func null(slots int) rollout.Policy {
	return rollout.Sampled{
		Renderer: fakes.Renderer{},
		Sampler: &fakes.Sampler{Slots: slots, Reply: func(prompt string, _ policy.Request) (string, error) {
			if n := strings.Count(prompt, "<call>"); n < numCalls {
				return fakes.Call("look_up", fmt.Sprintf(`{"name": "name %d"}`, n)), nil
			}
			return "done", nil
		}},
	}
}

func journalIn(b *testing.B, set *toolset.Set) Journal {
	b.Helper()
	d, err := run.Create(filepath.Join(b.TempDir(), "out"), []byte("{}\n"), map[string]string{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	return Journal{Dir: d, Say: func(string, ...any) {}, Episodes: &episodes.Episodes{Set: set}}
}

// cpu is the processor time of this process, of all its threads.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rates gives a rate by the clock and, for a machine that others use too, by processor time.
func rates(b *testing.B, n int, began time.Duration, what string, unit time.Duration, per string) {
	b.ReportMetric(float64(n)*float64(unit)/float64(b.Elapsed()), what+"/"+per)
	b.ReportMetric(float64(n)*float64(unit)/float64(cpu(b)-began), what+"/cpu-"+per)
}

// BenchmarkTurns reports turns a second of steps of 64 episodes at a time, with all that a step has but a model:
// sessions of an MCP server in this process over HTTP, rendering, records, scores, ledger.
func BenchmarkTurns(b *testing.B) {
	const groups, size = 8, 8
	host.KeepHeapFloor(b.Context()) // as a command does
	set := lookUp(b)
	journal, list := journalIn(b, set), numbered(groups)
	runner := rollout.New(rollout.Options{Policy: null(groups * size),
		Environment: environment.New(environment.Options{Tools: set.Tools, ToolList: set.Catalog.Tools(),
			MaxTurns: numCalls + 1})})
	turns, step, began := 0, 0, cpu(b)
	for b.Loop() {
		got, err := recipe.Rollouts{Stage: "grpo", Step: step, GroupSize: size, Runner: runner, Scorer: reward.Scorer{},
			Log: journal, Progress: func(string, int, int, string) {}}.Groups(b.Context(), list)
		if err != nil {
			b.Fatal(err)
		}
		for _, g := range got {
			for _, t := range g.Trajectories {
				if turns += len(t.Turns); t.Outcome != trajectory.OK || len(t.Turns) != numCalls+1 || t.Reward < 0.8 {
					b.Fatalf("%s: %s %s, %d turns, reward %g", t.ID, t.Outcome, t.Error, len(t.Turns), t.Reward)
				}
			}
		}
		step++
	}
	rates(b, turns, began, "turns", time.Second, "s")
}

// BenchmarkLedger reports how many trajectories a minute are kept with their scores, each durably: of 8 turns, 3,000
// sampled tokens with logprobs, and results of 1 KB.
func BenchmarkLedger(b *testing.B) {
	set := &toolset.Set{Catalog: &mcp.Catalog{}}
	journal, n, began := journalIn(b, set), 0, cpu(b)
	for b.Loop() {
		g := trajectory.Group{ScenarioID: "s"}
		var scores []trajectory.Score
		for i := range 8 {
			t := &trajectory.Trajectory{ID: fmt.Sprintf("s/%d/%d", n, i), ScenarioID: "s", Rollout: i,
				Outcome: trajectory.OK, StopReason: trajectory.StopCompleted}
			for range 8 {
				turn := trajectory.Turn{Calls: []chat.ToolCall{
					{ID: "call_0", Name: "look_up", Arguments: `{"name": "x"}`},
				}}
				for k := range 375 {
					turn.CompletionIDs, turn.SamplerLogprobs =
						append(turn.CompletionIDs, int32(k*101)), append(turn.SamplerLogprobs, -1/float32(k+3))
				}
				turn.Results = []trajectory.ToolResult{
					{Call: turn.Calls[0], Status: trajectory.CallOK, Text: strings.Repeat("a result ", 110)},
				}
				t.Turns = append(t.Turns, turn)
			}
			if err := journal.Trajectory("grpo", n, t); err != nil {
				b.Fatal(err)
			}
			g.Trajectories = append(g.Trajectories, t)
			scores = append(scores,
				trajectory.Score{Reward: float64(i), Terms: []trajectory.Term{{Name: "call", Score: 1, Weight: 1}}})
		}
		if err := journal.Scores("grpo", g, scores); err != nil {
			b.Fatal(err)
		}
		n++
	}
	rates(b, 8*n, began, "trajectories", time.Minute, "min")
}
