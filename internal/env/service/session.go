package service

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// session is one episode of a client.
type session struct {
	table    *table
	id       string
	scenario *scenario.Scenario
	messages []chat.Message // that the episode begins with
	tools    []chat.Tool    // of the opening
	began    time.Time
	life     context.Context
	stop     context.CancelCauseFunc
	opened   chan struct{} // closed when episode, or over, is there
	ended    chan struct{} // closed when over is there

	turn    chan struct{} // held by who reads or changes what follows
	episode environment.Episode
	record  *trajectory.Trajectory
	score   trajectory.Score
	over    *Verdict // nil: the episode goes on
	steps   int
	waited  time.Time         // since when the policy is waited for
	answers map[string]answer // to calls that their client has named, by that
	unheard []unheard
	idle    *time.Timer
	limit   time.Duration // of idleness
	closing sync.Once
}

// answer is what a client is told of a call: the tool's result, where the call was made, and the end, where the episode
// is over.
type answer struct {
	result *trajectory.ToolResult
	over   *Verdict
}

// unheard is an answer whose client had gone before it was there.
type unheard struct {
	name string
	call chat.ToolCall
	answer
}

func newSession(x *table, s *scenario.Scenario, rollout int, messages []chat.Message, tools []chat.Tool) *session {
	e := &session{table: x, id: newID(), scenario: s, messages: messages, tools: tools, began: time.Now(),
		waited: time.Now(), opened: make(chan struct{}), ended: make(chan struct{}), turn: make(chan struct{}, 1),
		answers: map[string]answer{}}
	e.record = &trajectory.Trajectory{ID: fmt.Sprintf("%s/%d/%d", s.ID, x.o.Attempt, rollout), ScenarioID: s.ID,
		Split: s.Split, Scenario: s.Hash(), Rollout: rollout}
	e.life, e.stop = context.WithCancelCause(x.life)
	e.idle = time.AfterFunc(math.MaxInt64, func() { e.close(errIdle) })
	e.limit = x.o.Idle
	e.rest() // not before the timer is there to be stopped
	return e
}

// run is the session from the opening of its servers until they are gone and the record is kept.
func (e *session) run() {
	defer func() { <-e.table.slots }()
	e.open()
	close(e.opened)
	select {
	case <-e.ended:
	case <-e.life.Done():
		e.turn <- struct{}{} // a call under way ends first, since its context is over
		if e.over == nil {
			e.finish(environment.EndOfCancel(e.life))
		}
		<-e.turn
	}
	if e.episode != nil {
		if err := e.episode.Close(); err != nil && e.record.Error == "" {
			e.record.Error = "closing the session: " + err.Error()
		}
	}
	e.table.keep(e.record, e.score)
	e.record, e.episode = nil, nil // a session that is asked again has its verdict
}

// open opens the session's servers, again where they do not come up.
func (e *session) open() {
	e.turn <- struct{}{}
	defer func() { <-e.turn }()
	blank := *e.record
	for retry := 0; ; retry++ {
		t := blank
		t.Retries = retry
		began := time.Now()
		episode, end := e.table.o.Environment.Open(e.life, *e.scenario, &t)
		e.table.metrics.Observe(openTime, "", time.Since(began))
		if end != nil && end.Again && retry < e.table.o.Retries && e.life.Err() == nil {
			continue
		}
		e.record, e.episode = &t, episode
		if end != nil {
			e.finish(end)
		}
		return
	}
}

// Tools are those that can be called now.
func (e *session) Tools() []chat.Tool {
	select {
	case <-e.opened:
	default:
		return e.tools
	}
	e.turn <- struct{}{}
	defer func() { <-e.turn }()
	if e.over != nil {
		return e.tools
	}
	return e.episode.Tools()
}

// enter waits for the session's turn, with its servers open. A client that goes meanwhile has asked for nothing.
func (e *session) enter(ctx context.Context) error {
	select {
	case <-e.opened:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case e.turn <- struct{}{}:
		e.idle.Stop()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *session) leave() {
	e.rest()
	<-e.turn
}

// rest is when the session may be idle for as long as it may be.
func (e *session) rest() { e.idle.Reset(e.limit) }

// call makes a call, unless it is one that was made: of a name that the client gave it, or equal to one whose answer
// its client did not wait for. A call goes on when its client is gone; ctx is the client's.
func (e *session) call(ctx context.Context, name string, c chat.ToolCall) (answer, error) {
	if err := e.enter(ctx); err != nil {
		return answer{}, err
	}
	defer e.leave()
	made, named := e.answers[name]
	for i, u := range e.unheard {
		if named && u.name == name || !named && sameCall(u.call, c) {
			e.unheard = append(e.unheard[:i:i], e.unheard[i+1:]...)
			return u.answer, nil
		}
	}
	if named {
		return made, nil
	}
	if e.over != nil {
		return answer{over: e.over}, nil
	}
	results := e.take(environment.Reply{Turn: &trajectory.Turn{Calls: []chat.ToolCall{
		{Name: c.Name, Arguments: c.Arguments},
	}}})
	a := answer{over: e.over}
	if len(results) == 1 {
		a.result = &results[0]
	}
	if name != "" {
		e.answers[name] = a
	}
	if ctx.Err() != nil {
		e.unheard = append(e.unheard, unheard{name, c, a})
	}
	return a, nil
}

// say ends the episode with the policy's last words. To an episode that is over they say nothing new. stop is why they
// are not whole, if so.
func (e *session) say(ctx context.Context, words string, stop trajectory.StopReason) (*Verdict, error) {
	if err := e.enter(ctx); err != nil {
		return nil, err
	}
	defer e.leave()
	if e.over == nil {
		e.take(environment.Reply{Turn: &trajectory.Turn{Content: words}, Stop: stop})
	}
	return e.over, nil
}

// take gives the environment a reply, and returns the results of its calls. It needs the session's turn.
func (e *session) take(r environment.Reply) []trajectory.ToolResult {
	began := time.Now()
	r.Turn.SampleSeconds = began.Sub(e.waited).Seconds()
	end := e.episode.Take(e.life, r)
	e.steps++
	results := e.record.Turns[len(e.record.Turns)-1].Results
	if end != nil {
		e.finish(end)
	}
	e.waited = time.Now()
	e.table.measureStep(e.waited.Sub(began), results)
	return results
}

// finish ends the episode. It needs the session's turn, or to be alone.
func (e *session) finish(end *environment.End) {
	if e.life.Err() != nil && end.Outcome != trajectory.OK {
		end = environment.EndOfCancel(e.life)
	}
	end.Note(e.record)
	e.record.Seconds = time.Since(e.began).Seconds()
	score, err := e.table.o.Records.Score(e.table.life, e.scenario, e.record)
	if err != nil {
		e.table.o.Logger.Warn("an episode could not be scored", "episode", e.record.ID, "error", err)
		score = trajectory.Score{Outcome: trajectory.JudgeError, Error: err.Error()}
	}
	e.score, e.over = score, verdictOf(e.record, score)
	e.table.measureEnd(e.over)
	close(e.ended)
}

// close ends the session: its episode too, where it goes on.
func (e *session) close(why error) {
	e.closing.Do(func() {
		e.idle.Stop()
		e.stop(why)
		e.table.forget(e)
	})
}

// sameCall reports whether two calls ask for the same, however their arguments are written.
func sameCall(a, b chat.ToolCall) bool {
	return a.Name == b.Name && canonical(a.Arguments) == canonical(b.Arguments)
}

func canonical(arguments string) string {
	form := jsontext.Value(arguments)
	if form.Canonicalize() != nil {
		return arguments
	}
	return string(form)
}
