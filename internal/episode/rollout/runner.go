package rollout

import (
	"context"
	"fmt"
	"sync"

	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Options are what a Runner joins (the first two) and how the policy speaks; 0 means the default in brackets.
type Options struct {
	Environment environment.Environment
	Policy      Policy

	MaxTokens   int     // ids of one completion [512]
	Temperature float64 // 0 is greedy
	Seed        uint64
	Retries     int // further attempts, each with a fresh session, after a failure of the tools
	// Seats is how many episodes share a slot [1]: one speaks while the tools of the others work.
	Seats int

	// Name is the id of an episode, unique in a run [scenario/step/rollout].
	Name func(scenarioID string, step, rollout int) string
}

// Runner runs episodes. It is safe for use from many goroutines.
type Runner struct{ o Options }

// New returns a Runner. Environment and Policy must be set.
func New(o Options) *Runner {
	if o.MaxTokens == 0 {
		o.MaxTokens = 512
	}
	if o.Name == nil {
		o.Name = func(scenarioID string, step, rollout int) string {
			return fmt.Sprintf("%s/%d/%d", scenarioID, step, rollout)
		}
	}
	return &Runner{o}
}

// Request asks for one episode.
type Request struct {
	Scenario scenario.Scenario
	Rollout  int // index in its group
	Step     int // the optimiser step that it is for
	Attempt  int // of this rollout, from 0; one that is run again goes on from Trajectory.Retries + 1
	Forced   Forced
	// among all the episodes of the step, also those that need not be run; the slot is Place modulo NumSlots
	Place int
}

// Run runs the episodes that are asked for until requests is closed, and hands over each as it ends, in the order of
// ending. An episode that failed is a record too: how it ended is its Outcome and StopReason. After ctx is cancelled
// those not yet begun are records that say so. Asking never waits for an episode, so more can be asked for as others
// end. The channel that Run returns is closed after the last episode, and must be read to its end. A panic in a tool or
// policy is not caught: it is a bug, not data.
//
// The episodes of one slot begin in the order they were asked for, each when the one before has ended or, where there
// are Seats, is long at work with its tools. Which episodes share a slot, and with it every sampled token, does not
// depend on which ended first.
func (r *Runner) Run(ctx context.Context, requests <-chan Request) <-chan *trajectory.Trajectory {
	ended := make(chan *trajectory.Trajectory)
	go func() {
		defer close(ended)
		var episodes sync.WaitGroup
		seen := newWitness()
		lanes := make([]*lane, r.o.Policy.NumSlots())
		for i := range lanes {
			lanes[i] = newLane(r.o.Seats)
		}
		for q := range requests {
			slot := q.Place % len(lanes)
			given := lanes[slot].ask()
			episodes.Go(func() {
				s := <-given
				t, _ := r.episode(ctx, q, slot, s, seen) // the record says it too
				s.leave()
				ended <- t
			})
		}
		episodes.Wait()
	}()
	return ended
}

// Episode runs one scenario once, beside no other, and returns its record. slot is the policy's. The error is for what
// would end other episodes too: a policy that cannot speak, as an endpoint that is gone or whose budget is spent, and a
// ctx that was cancelled.
func (r *Runner) Episode(
	ctx context.Context, s scenario.Scenario, rollout, step, slot int,
) (*trajectory.Trajectory, error) {
	return r.episode(ctx, Request{Scenario: s, Rollout: rollout, Step: step}, slot, nil, newWitness())
}

// episode runs one beside others that w sees. Each attempt draws from a random stream of its own: the same tokens would
// make the same calls.
func (r *Runner) episode(
	ctx context.Context, q Request, slot int, at *sit, w *witness,
) (*trajectory.Trajectory, error) {
	var l losses
	seat := 0
	if at != nil {
		seat = at.seat
	}
	for retry := 0; ; retry++ {
		p := r.play(ctx, q.Scenario, Attempt{
			ScenarioID:  q.Scenario.ID,
			Step:        q.Step,
			Rollout:     q.Rollout,
			Retries:     q.Attempt + retry,
			Slot:        slot,
			Seat:        seat,
			Temperature: r.o.Temperature,
			MaxTokens:   r.o.MaxTokens,
			Seed:        r.o.Seed,
			Forced:      q.Forced,
		}, at, w)
		if !p.end.Again || ctx.Err() != nil {
			return p.t, p.err
		}
		l.blameCall(p.end.Lost, p.at)
		if retry < r.o.Retries {
			continue
		}
		if l.tool != "" && retry > 0 && w.forItsArguments(p.t.ID, *p.end.Lost, l.since) {
			p.t.Outcome, p.t.Error = trajectory.PolicyError,
				fmt.Sprintf("%s; so it went in all %d attempts, while the tool answered others", p.t.Error, l.n)
		}
		return p.t, p.err
	}
}
