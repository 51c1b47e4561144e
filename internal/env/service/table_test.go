package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// A client waits for a slot, and is told when none came free in time.
func TestCapacity(t *testing.T) {
	s := serveTasks(t, func(o *Options, _ *memory) { o.MaxSessions, o.Wait = 1, 50*time.Millisecond })
	one, two := s.connect(), s.connect()
	one.ask(`{"type": "reset", "data": {}}`)
	if got, want := two.ask(`{"type": "reset", "data": {}}`),
		`"code":"CAPACITY_REACHED","active_sessions":1,"max_sessions":1}}`; !strings.HasSuffix(got, want) {
		t.Error(got)
	}
	s.table.o.Wait = time.Minute
	waits := make(chan string)
	go func() { waits <- two.ask(`{"type": "reset", "data": {}}`) }()
	one.step(`{"type": "answer", "text": ""}`) // its episode is over, and its socket is open
	if got := <-waits; !strings.HasPrefix(got, `{"type":"observation"`) {
		t.Error(got)
	}
	one.ask(`{"type": "state"}`)
}

// A call that a client makes again is not made twice: of the same name, or equal to one whose answer it did not wait
// for. An equal call whose answer was heard is another one.
func TestRepeatedCallIsNotMadeTwice(t *testing.T) {
	add, spelt := chat.ToolCall{Name: "add", Arguments: `{"n": 1, "m": 0}`}, chat.ToolCall{Name: "add",
		Arguments: `{"m":0,"n":1}`}
	left, leave := context.WithCancel(t.Context())
	leave()
	here := t.Context()
	type made struct {
		ctx  context.Context
		name string
		call chat.ToolCall
		want string
	}
	for name, calls := range map[string][]made{
		"heard":         {{here, "", add, "1"}, {here, "", add, "2"}},
		"named":         {{here, "a", add, "1"}, {here, "a", add, "1"}, {here, "b", add, "2"}},
		"unheard":       {{left, "", add, "1"}, {here, "", spelt, "1"}, {here, "", add, "2"}},
		"another":       {{left, "", add, "1"}, {here, "", chat.ToolCall{Name: "add", Arguments: `{"n": 5}`}, "6"}},
		"named unheard": {{left, "a", add, "1"}, {here, "a", add, "1"}, {here, "", add, "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveTasks(t, nil)
			one := s.tasks.byID["sum"]
			e, err := s.table.begin(here, one)
			if err != nil {
				t.Fatal(err)
			}
			<-e.opened
			for i, c := range calls {
				got, err := callUntilMade(e, c.ctx, c.name, c.call)
				if err != nil || got.result == nil || got.result.Text != c.want {
					t.Errorf("call %d: %+v, %v, want %s", i, got.result, err, c.want)
				}
			}
			e.close(errGone)
		})
	}
}

// callUntilMade calls with a context that may be over: the client left while the call was made, not before.
func callUntilMade(e *session, ctx context.Context, name string, c chat.ToolCall) (answer, error) {
	for {
		a, err := e.call(ctx, name, c)
		if !errors.Is(err, context.Canceled) {
			return a, err
		}
	}
}

// Servers that do not open are opened again, before anybody is told.
func TestOpensAgain(t *testing.T) {
	s := serveTasks(t, nil)
	c := s.connect()
	c.ask(`{"type": "reset", "data": {"scenario": "late"}}`)
	c.step(`{"type": "call_tool", "tool_name": "add", "arguments": {"n": 2}}`)
	if reward, _, v := c.step(`{"type": "answer", "text": "2"}`); reward == nil || *reward != 1.9 {
		t.Errorf("%v, %+v", reward, v)
	}
	s.table.drain(time.Minute)
	if opened, closed, _ := s.adder.counts(); opened != 3 || closed != 3 || s.memory.kept[0].Retries != 2 {
		t.Errorf("%d opened, %d closed, %d retries", opened, closed, s.memory.kept[0].Retries)
	}
}

// A session without a step is closed.
func TestIdle(t *testing.T) {
	s := serveTasks(t, func(o *Options, _ *memory) { o.Idle = 20 * time.Millisecond })
	c := s.connect()
	c.ask(`{"type": "reset", "data": {"scenario": "sum"}}`)
	eventually(func() bool { opened, closed, _ := s.adder.counts(); return opened == 1 && closed == 1 })
	if reward, done, v := c.step(`{"type": "answer", "text": "2"}`); reward != nil || !done ||
		v.Error != errIdle.Error() {
		t.Errorf("%v, %v, %+v", reward, done, v)
	}
}

// When the server ends, no session begins, those under way may end, and the rest is ended. All records are kept.
func TestDrain(t *testing.T) {
	s := serveTasks(t, nil)
	ends, hangs := s.connect(), s.connect()
	for _, c := range []*client{ends, hangs} {
		c.ask(`{"type": "reset", "data": {"scenario": "sum"}}`)
		c.step(`{"type": "call_tool", "tool_name": "add", "arguments": {"n": 2}}`)
	}
	drained := make(chan struct{})
	go func() {
		s.table.drain(time.Second)
		close(drained)
	}()
	<-s.table.draining
	if got := ends.ask(`{"type": "step", "data": {"type": "answer", "text": "2"}}`); !strings.Contains(got,
		`"reward":1.9`) {
		t.Error(got)
	}
	if got := ends.ask(`{"type": "reset", "data": {}}`); !strings.Contains(got, "the server shuts down") {
		t.Error(got)
	}
	<-drained
	if opened, closed, _ := s.adder.counts(); opened != 2 || closed != 2 || len(s.memory.kept) != 2 {
		t.Errorf("%d opened, %d closed, %d kept", opened, closed, len(s.memory.kept))
	}
	if reward, done, v := hangs.step(`{"type": "answer", "text": "2"}`); reward != nil || !done ||
		v.Error != errDraining.Error() {
		t.Errorf("%v, %v, %+v", reward, done, v)
	}
}

// Records that cannot be kept make the server unwell, and its end an error.
func TestLostRecords(t *testing.T) {
	s := serveTasks(t, func(o *Options, m *memory) { o.Records = full{m} })
	c := s.connect()
	c.ask(`{"type": "reset", "data": {"scenario": "sum"}}`)
	c.step(`{"type": "answer", "text": "2"}`)
	s.table.drain(time.Minute)
	if err := s.table.lossError(); err == nil || err.Error() != "keeping the record of sum/1/0: the disk is full" {
		t.Error(err)
	}
}

type full struct{ *memory }

func (full) Keep(*trajectory.Trajectory, trajectory.Score) error {
	return errors.New("the disk is full")
}

// Clients name scenarios by id, or by split and index, or by a seed; else they get those of the split in turn.
func TestChoose(t *testing.T) {
	x := newTasks([]scenario.Scenario{task("a", scenario.Train), task("b", scenario.Validation),
		task("c", scenario.Train)})
	hash := x.byID["a"].Hash()
	for _, c := range []struct{ ask, want string }{
		{`{"scenario": "b", "split": "train", "index": 0}`, "b"}, {`{"scenario": "a", "hash": "` + hash + `"}`, "a"},
		{`{"index": 1}`, "c"}, {`{"split": "validation", "index": 0}`, "b"}, {`{"seed": 5}`, "c"}, {`{"seed": -1}`,
			"c"}, {`{}`, "a"}, {`{}`, "c"}, {`{}`, "a"},
		{`{"scenario": "d"}`, ""}, {`{"split": "test"}`, ""}, {`{"index": 2}`, ""}, {`{"index": -1}`, ""},
		{`{"scenario": "a", "hash": "x"}`, ""},
	} {
		var a Ask
		if err := json.Unmarshal([]byte(c.ask), &a); err != nil {
			t.Fatal(err)
		}
		got, err := x.choose(a)
		if (err != nil) != (c.want == "") || err != nil && !isAsk(err) || err == nil && got.ID != c.want {
			t.Errorf("%s: %v, %v", c.ask, got, err)
		}
	}
}
