package eval

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
)

// slow is servers, a user and a policy that take their time: 300 ms to start, a second for a call, half a second for
// what a user says.
type slow struct{ environment.Session }

func (slow) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	time.Sleep(300 * time.Millisecond)
	return slow{}, nil
}

func (slow) Call(_ context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	time.Sleep(time.Second)
	return []trajectory.ToolResult{{Call: calls[0], Status: trajectory.CallOK}}
}

func (slow) Dir(string) string { return "" }

func (slow) Close() error { return nil }

func (slow) Begin(scenario.Scenario, *trajectory.Trajectory) environment.Partner { return slow{} }

func (slow) Name() string { return "slow" }

func (slow) Say(context.Context, []chat.Message) (environment.Words, error) {
	time.Sleep(500 * time.Millisecond)
	return environment.Words{Ended: trajectory.EndedByUser}, nil
}

// thinking calls a tool, then answers, each after a time that differs from episode to episode; before each it waits for
// hone itself.
type thinking struct {
	b   *bench
	own time.Duration
}

func (thinking) NumSlots() int { return 64 }

func (p thinking) Speaker(a rollout.Attempt) rollout.Speaker {
	return waiting{watched{thought{}, p.b}.Speaker(a), p.own}
}

type waiting struct {
	rollout.Speaker
	own time.Duration
}

func (w waiting) Say(ctx context.Context, messages []chat.Message, tools []chat.Tool) (environment.Reply, error) {
	time.Sleep(w.own)
	return w.Speaker.Say(ctx, messages, tools)
}

type thought struct{ slot int }

func (thought) NumSlots() int { return 64 }

func (thought) Speaker(a rollout.Attempt) rollout.Speaker { return thought{a.Slot} }

func (p thought) Say(_ context.Context, messages []chat.Message, _ []chat.Tool) (environment.Reply, error) {
	time.Sleep(2*time.Second + time.Duration(p.slot)*37*time.Millisecond)
	if messages[len(messages)-1].Role == chat.ToolRole {
		return environment.Reply{Turn: &trajectory.Turn{Content: "done"}}, nil
	}
	return environment.Reply{Turn: &trajectory.Turn{Calls: []chat.ToolCall{{ID: "1", Name: "x", Arguments: "{}"}}}}, nil
}

// 100 ms of hone's own waiting in each turn shows in the share of orchestration, however many episodes run at once and
// although in each moment some model works; without it the share is 0.
func TestOrchestrationOfManyEpisodes(t *testing.T) {
	for _, own := range []time.Duration{0, 100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			b := &bench{fatal: func(error) {}}
			world := environment.Options{Tools: slow{}, User: slow{}, MaxTurns: 4, MaxToolCalls: 4, Hang: time.Hour}
			b.clock.watch(&world)
			runner := rollout.New(rollout.Options{Environment: environment.New(world), Policy: thinking{b, own},
				MaxTokens: 8})
			requests := make(chan rollout.Request, 64)
			for i := range 64 {
				requests <- rollout.Request{Scenario: scenario.Scenario{ID: string(rune('a' + i)),
					User: &scenario.User{Says: []string{"Do it."}}}, Place: i}
			}
			close(requests)
			b.clock.run()
			time.Sleep(3 * time.Second) // a model is opened
			all := 0.0
			for x := range runner.Run(t.Context(), requests) {
				if all += x.Seconds; x.Outcome != trajectory.OK {
					t.Fatalf("%+v", x)
				}
			}
			b.clock.pause()
			r := stats.Comparison{Parts: b.clock.parts()}.Results()
			if want := 64 * 2 * own.Seconds() / all; math.Abs(r.OrchestrationShare-want) > 1e-9 {
				t.Errorf("with %v of own waiting the share is %g, want %g of %+v",
					own, r.OrchestrationShare, want, r.Parts)
			}
			if tools, users := r.Parts[1].Seconds, r.Parts[2].Seconds; math.Abs(tools-64*1.3) > 1e-6 ||
				math.Abs(users-32) > 1e-6 {
				t.Errorf("tools %g s, users %g s", tools, users)
			}
			if said := b.clock.summary(); !strings.HasSuffix(said, ", 3s of it before, between and after episodes") {
				t.Errorf("told %s", said)
			}
		})
	}
}
