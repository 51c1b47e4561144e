package rollout_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// slow are tools that take their time, and count how many sessions there are at once.
type slow struct {
	call time.Duration

	mutex     sync.Mutex
	now, most int
}

type slowSession struct{ *slow }

func (s *slow) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.now++
	s.most = max(s.most, s.now)
	return slowSession{s}, nil
}

func (s slowSession) Close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.now--
	return nil
}

func (s slowSession) Dir(string) string { return "" }

func (s slowSession) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	return s.Call(ctx, []chat.ToolCall{call})[0]
}

func (s slowSession) Call(_ context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	time.Sleep(s.call)
	return []trajectory.ToolResult{{Call: calls[0], Status: trajectory.CallOK, Text: "42"}}
}

// inSlots says how long 128 episodes of four turns take in 16 slots, by a clock of its own, and the most sessions there
// were. It is an error of t where two speak in one slot, or two that run at once have the same slot and seat.
func inSlots(t *testing.T, seats int, say, call time.Duration) (took time.Duration, sessions int) {
	synctest.Test(t, func(t *testing.T) {
		var mutex sync.Mutex
		speaks, sits := map[int]bool{}, map[string]uint64{}
		reply := func(prompt string, r policy.Request) (string, error) {
			mutex.Lock()
			if speaks[r.Slot] {
				t.Errorf("two speak in slot %d", r.Slot)
			}
			speaks[r.Slot] = true
			turn := 0
			for i := range prompt {
				if i+6 <= len(prompt) && prompt[i:i+6] == "<tool>" {
					turn++
				}
			}
			at := fmt.Sprint(r.Slot, " ", r.Seat)
			if _, taken := sits[at]; taken != (turn > 0) {
				t.Errorf("turn %d at %s, where one sits: %v", turn, at, taken)
			}
			sits[at] = 1
			if turn == 3 {
				delete(sits, at)
			}
			mutex.Unlock()
			time.Sleep(say)
			mutex.Lock()
			defer mutex.Unlock()
			speaks[r.Slot] = false
			if turn == 3 {
				return "done", nil
			}
			return add, nil
		}
		tools := &slow{call: call}
		r := rollout.New(rollout.Options{
			Environment: environment.New(environment.Options{Tools: tools, ToolList: []chat.Tool{{Name: "add"}}}),
			Policy: rollout.Sampled{Sampler: &fakes.Sampler{Reply: reply, Slots: 16},
				Renderer: fakes.Renderer{}},
			MaxTokens: 100, Seats: seats,
		})
		requests := make(chan rollout.Request, 128)
		for i := range 128 {
			requests <- rollout.Request{Scenario: scenario.Scenario{ID: fmt.Sprint(i), Task: "go"}, Place: i}
		}
		close(requests)
		began, n := time.Now(), 0
		for got := range r.Run(t.Context(), requests) {
			if n++; got.Outcome != trajectory.OK || len(got.Turns) != 4 {
				t.Errorf("%s: %s after %d turns: %s", got.ID, got.Outcome, len(got.Turns), got.Error)
			}
		}
		if took = time.Since(began); n != 128 {
			t.Errorf("%d episodes", n)
		}
		tools.mutex.Lock()
		defer tools.mutex.Unlock()
		sessions = tools.most
	})
	return took, sessions
}

// Where tools take half a second, their slots are other episodes' meanwhile: 128 episodes take three fifths of the time
// or less, by more sessions. Where tools are quick nothing changes.
func TestASlotWhoseToolsWorkIsAnothers(t *testing.T) {
	const half = 500 * time.Millisecond
	for _, c := range []struct {
		say, call time.Duration
		share     float64 // of the time that one episode after the other takes; at most
		sessions  int
	}{
		{100 * time.Millisecond, half, 0.6, 32},
		{300 * time.Millisecond, half, 0.6, 32},
		{300 * time.Millisecond, 50 * time.Millisecond, 1, 16},
	} {
		alone, _ := inSlots(t, 1, c.say, c.call)
		if want := 8 * (4*c.say + 3*c.call); alone != want {
			t.Errorf("one after the other they take %v, want %v", alone, want)
		}
		took, sessions := inSlots(t, 2, c.say, c.call)
		if share := took.Seconds() / alone.Seconds(); share > c.share || sessions != c.sessions {
			t.Errorf("turns of %v and %v: %v, %.2f of %v; %d sessions", c.say, c.call, took, share, alone, sessions)
		}
		t.Logf("turns of %v and calls of %v: %v, %.2f of %v", c.say, c.call, took,
			took.Seconds()/alone.Seconds(), alone)
	}
}
