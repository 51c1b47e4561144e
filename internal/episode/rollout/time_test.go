package rollout_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// timed opens and answers as late as it is told.
type timed struct {
	tools
	open   time.Duration // until a session is there: others have their turn
	call   time.Duration
	worked float64 // seconds that a call is said to take
}

func (s *timed) Open(ctx context.Context, id string, t ...environment.Template) (environment.Session, error) {
	time.Sleep(s.open)
	inner, err := s.tools.Open(ctx, id, t...)
	return timedSession{inner, s}, err
}

type timedSession struct {
	environment.Session
	of *timed
}

func (s timedSession) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := s.Session.Call(ctx, calls)
	select {
	case <-time.After(s.of.call):
	case <-ctx.Done():
		for i := range results {
			results[i].Status, results[i].Outcome, results[i].Error =
				trajectory.CallTransportError, trajectory.InfrastructureError, "the call was cancelled"
		}
	}
	for i := range results {
		results[i].Seconds = s.of.worked
	}
	return results
}

// The tools' working time is a limit as turns are. What passes while others are waited for is nobody's doing; calls
// that hang are not the policy's.
func TestTimeIsNotBlame(t *testing.T) {
	for _, tc := range []struct {
		name    string
		tools   *timed
		sample  time.Duration
		outcome trajectory.Outcome
		reason  trajectory.StopReason
		turns   int
	}{
		{"in time", &timed{worked: 3}, 0, trajectory.OK, trajectory.StopCompleted, 3},
		{"one call works too long", &timed{worked: 11}, 0, trajectory.Limit, trajectory.StopMaxWork, 1},
		{"all calls work too long", &timed{worked: 6}, 0, trajectory.Limit, trajectory.StopMaxWork, 2},
		{"the sampler is slow", &timed{}, time.Hour, trajectory.OK, trajectory.StopCompleted, 3},
		{"other episodes have their turn", &timed{open: time.Hour}, 0, trajectory.OK, trajectory.StopCompleted, 3},
		{"the calls hang", &timed{call: time.Hour}, 0, trajectory.InfrastructureError, trajectory.StopTimeout, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				say := script(add+add, add, "done") // calls of one turn work at once
				reply := func(prompt string, r policy.Request) (string, error) {
					time.Sleep(tc.sample)
					return say(prompt, r)
				}
				r := newRunner(options{
					Tools:    tc.tools,
					Renderer: fakes.Renderer{},
					Sampler:  &fakes.Sampler{Reply: reply},
					MaxWork:  10 * time.Second,
					Hang:     time.Minute,
				})
				got, _ := r.Episode(context.Background(), scenario.Scenario{ID: "x", Task: "go"}, 0, 0, 0)
				if got.Outcome != tc.outcome || got.StopReason != tc.reason || len(got.Turns) != tc.turns {
					t.Errorf("%s, %s, %d turns (%s)", got.Outcome, got.StopReason, len(got.Turns), got.Error)
				}
			})
		})
	}
}

// A further attempt that drew the same tokens would make the same calls.
func TestRetriesDrawFromAnotherStream(t *testing.T) {
	var streams []uint64
	reply := func(_ string, r policy.Request) (string, error) {
		streams = append(streams, r.Key.Stream)
		return add, nil
	}
	s := &tools{status: func(int32, chat.ToolCall) trajectory.CallStatus { return trajectory.CallTransportError }}
	sampler := &fakes.Sampler{Reply: reply}
	got, _ := runner(s, nil, options{Retries: 2, Sampler: sampler}).Episode(context.Background(),
		scenario.Scenario{ID: "x"}, 0, 0, 0)
	if got.Retries != 2 || len(streams) != 3 || streams[0] == streams[1] || streams[1] == streams[2] ||
		streams[0] == streams[2] {
		t.Errorf("%d attempts before, streams %v", got.Retries, streams)
	}
	first := streams
	streams = nil
	runner(s, nil, options{Retries: 1, Sampler: sampler}).Episode(context.Background(),
		scenario.Scenario{ID: "x"}, 0, 0, 0)
	if fmt.Sprint(streams) != fmt.Sprint(first[:2]) {
		t.Errorf("the same episode draws from %v, and drew from %v", streams, first)
	}
}

// Whose doing it is that a tool gives no answer in all attempts of an episode, by what it answers others meanwhile.
func TestToolsThatDieOfTheirArguments(t *testing.T) {
	call := func(n int) string { return fakes.Call("add", fmt.Sprintf(`{"a": %d}`, n)) }
	for _, tc := range []struct {
		name   string
		victim func(attempt int) string                              // what the first episode does
		other  string                                                // what those beside it do, again and again
		status func(arguments string, n int32) trajectory.CallStatus // n: calls so far
		want   trajectory.Outcome
	}{
		{"it dies of one argument", func(int) string { return call(666) }, call(1),
			func(a string, _ int32) trajectory.CallStatus { return dies(strings.Contains(a, "666")) },
			trajectory.PolicyError},
		{"in other words each time", func(n int) string { return call(6660 + n) }, call(1),
			func(a string, _ int32) trajectory.CallStatus { return dies(strings.Contains(a, "666")) },
			trajectory.PolicyError},
		{"it is down", func(int) string { return call(666) }, call(1),
			func(string, int32) trajectory.CallStatus { return dies(true) }, trajectory.EnvironmentError},
		{"it goes down", func(int) string { return call(666) }, call(1),
			func(_ string, n int32) trajectory.CallStatus { return dies(n > 8) }, trajectory.EnvironmentError},
		{"it answers the same call of others", func(int) string { return call(1) }, fakes.Call("add", `{"a":1}`),
			func(a string, _ int32) trajectory.CallStatus { return dies(a == `{"a": 1}`) },
			trajectory.EnvironmentError},
		{"another tool of it lives", func(int) string { return call(666) }, fakes.Call("sub", `{}`),
			func(a string, _ int32) trajectory.CallStatus { return dies(strings.Contains(a, "666")) },
			trajectory.EnvironmentError},
		{
			"once it was another tool", func(n int) string {
				return []string{fakes.Call("sub", `{"a": 666}`), call(666), call(666)}[n]
			}, call(1),
			func(a string, _ int32) trajectory.CallStatus { return dies(strings.Contains(a, "666")) },
			trajectory.EnvironmentError,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n, attempts atomic.Int32
				s := &tools{status: func(_ int32, c chat.ToolCall) trajectory.CallStatus {
					if tc.name == "it goes down" && strings.Contains(c.Arguments, "666") {
						time.Sleep(time.Hour) // until it is down for all
					}
					return tc.status(c.Arguments, n.Add(1))
				}}
				reply := func(prompt string, r policy.Request) (string, error) {
					time.Sleep(time.Second)
					if !strings.Contains(prompt, "victim") {
						return tc.other, nil
					}
					return tc.victim(int(attempts.Add(1)) - 1), nil
				}
				r := runner(s, nil,
					options{Retries: 2, MaxTurns: 9, Sampler: &fakes.Sampler{Reply: reply, Slots: 4}})
				groups := groups(context.Background(), r,
					[]scenario.Scenario{{ID: "a", Task: "victim"}, {ID: "b", Task: "b"}, {ID: "c", Task: "c"}}, 1, 0)
				got := groups[0].Trajectories[0]
				if got.Outcome != tc.want || attempts.Load() != 3 {
					t.Errorf("%s after %d attempts: %s", got.Outcome, attempts.Load(), got.Error)
				}
			})
		})
	}
}

func dies(so bool) trajectory.CallStatus {
	if so {
		return trajectory.CallTimeout
	}
	return trajectory.CallOK
}

// An infrastructure error is never the policy's, whatever the tools answer others.
func TestOurFailuresAreNotThePolicys(t *testing.T) {
	s := &tools{outcome: trajectory.InfrastructureError, status: func(_ int32, c chat.ToolCall) trajectory.CallStatus {
		return dies(strings.Contains(c.Arguments, "1"))
	}}
	reply := func(prompt string, _ policy.Request) (string, error) {
		if strings.Contains(prompt, "victim") {
			return add, nil
		}
		return fakes.Call("add", `{"a": 2}`), nil
	}
	groups := groups(context.Background(), runner(s, reply, options{Retries: 2}),
		[]scenario.Scenario{{ID: "b", Task: "b"}, {ID: "a", Task: "victim"}}, 2, 0)
	for _, got := range groups[1].Trajectories {
		if got.Outcome != trajectory.InfrastructureError {
			t.Errorf("%s: %s", got.Outcome, got.Error)
		}
	}
}
