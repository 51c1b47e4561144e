package rollout

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/policy"
)

// Options are what a Runner needs (the first three) and its limits, where 0 means the default in brackets.
type Options struct {
	Sampler  policy.Sampler
	Tools    Tools
	Renderer Renderer

	System       string        // system message; empty for none
	ToolList     []chat.Tool   // the tools shown to the model
	MaxTurns     int           // completions of one episode [8]
	MaxTokens    int           // ids of one completion [512]
	MaxToolCalls int           // calls of one episode [32]
	Temperature  float64       // 0 is greedy
	MaxWork      time.Duration // working time of the tools in one episode, see Worked; 0 for no limit
	Hang         time.Duration // after which, by the clock, a turn's calls are taken to hang; 0 for never
	Seed         uint64
	Retries      int      // further attempts, each with a fresh session, after a failure of the tools
	Programs     []string // environment of the programs that checks name; nil where none may run

	// ToolsOf chooses the tools shown in a scenario's episodes, where one list for all would be too long. It must give a
	// scenario the same each time. Without it ToolList is shown.
	ToolsOf func(s scenario.Scenario) ([]chat.Tool, error)
}

// Runner runs episodes. It is safe for use from many goroutines.
type Runner struct{ o Options }

// New returns a Runner. Sampler, Tools and Renderer must be set.
func New(o Options) *Runner {
	if o.MaxTurns == 0 {
		o.MaxTurns = 8
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = 512
	}
	if o.MaxToolCalls == 0 {
		o.MaxToolCalls = 32
	}
	return &Runner{o}
}

// Request asks for one episode.
type Request struct {
	Scenario scenario.Scenario
	Rollout  int // index in its group
	Step     int // the optimiser step that it is for
	Attempt  int // of this rollout, from 0; one that is run again goes on from Trajectory.Retries + 1
	Place    int // among all the episodes of the step, also those that need not be run; the slot is Place modulo NumSlots
}

// Run runs the episodes that are asked for until requests is closed, and hands over each as it ends, in the order of ending. An
// episode that failed is a record too: how it ended is its Outcome and StopReason. After ctx is cancelled those not yet begun are
// records that say so. Asking never waits for an episode, so more can be asked for as others end. The channel that Run returns
// is closed after the last episode, and must be read to its end. A panic in a tool or sampler is not caught: it is a bug, not data.
//
// The episodes of one slot run one after the other, in the order they were asked for. So which episodes share a slot, and
// with it every sampled token, does not depend on which ended first.
func (r *Runner) Run(ctx context.Context, requests <-chan Request) <-chan *trajectory.Trajectory {
	ended := make(chan *trajectory.Trajectory)
	go func() {
		defer close(ended)
		var episodes sync.WaitGroup
		seen := newWitness()
		last := make([]chan struct{}, r.o.Sampler.NumSlots()) // of each slot: closed when its last episode has ended
		for q := range requests {
			slot := q.Place % len(last)
			before, after := last[slot], make(chan struct{})
			last[slot] = after
			episodes.Go(func() {
				defer close(after)
				if before != nil {
					<-before
				}
				ended <- r.episode(ctx, q, slot, seen)
			})
		}
		episodes.Wait()
	}()
	return ended
}

// Episode runs one scenario once, beside no other, and returns its record. slot is the sampler's.
func (r *Runner) Episode(ctx context.Context, s scenario.Scenario, rollout, step, slot int) *trajectory.Trajectory {
	return r.episode(ctx, Request{Scenario: s, Rollout: rollout, Step: step}, slot, newWitness())
}

// Groups runs groupSize episodes of each scenario and returns them in the order of scenarios and rollouts.
func (r *Runner) Groups(ctx context.Context, scenarios []scenario.Scenario, groupSize, step int) []trajectory.Group {
	requests := make(chan Request, len(scenarios)*groupSize)
	groups := make([]trajectory.Group, len(scenarios))
	of := map[string]int{}
	for i, s := range scenarios {
		of[s.ID], groups[i] = i, trajectory.Group{ScenarioID: s.ID, Trajectories: make([]*trajectory.Trajectory, groupSize)}
		for j := range groupSize {
			requests <- Request{Scenario: s, Rollout: j, Step: step, Place: i*groupSize + j}
		}
	}
	close(requests)
	for t := range r.Run(ctx, requests) {
		groups[of[t.ScenarioID]].Trajectories[t.Rollout] = t
	}
	return groups
}

// episode runs one beside others that w sees. Each attempt draws from a random stream of its own: the same tokens would make
// the same calls.
func (r *Runner) episode(ctx context.Context, q Request, slot int, w *witness) *trajectory.Trajectory {
	var l losses
	for retry := 0; ; retry++ {
		e := r.newEpisode(q.Scenario, q.Rollout, q.Step, slot)
		e.t.Retries, e.witness = q.Attempt+retry, w
		e.run(ctx)
		if e.again {
			l.lost(e.lostCall, e.lostAt)
		}
		if !e.again || retry >= r.o.Retries || ctx.Err() != nil {
			if e.again && ctx.Err() == nil && l.tool != "" && retry > 0 && w.forItsArguments(e.t.ID, *e.lostCall, l.since) {
				e.end(trajectory.PolicyError, e.t.StopReason, fmt.Sprintf("%s; so it went in all %d attempts, while the tool answered others", e.t.Error, l.n))
			}
			return e.t
		}
	}
}

// streamOf names the random stream of one completion.
func streamOf(step int, scenarioID string, rollout, turn, attempt int) uint64 {
	h := fnv.New64a()
	numbers := []int{step, rollout, turn}
	if attempt > 0 {
		numbers = append(numbers, attempt)
	}
	for _, n := range numbers {
		_ = binary.Write(h, binary.LittleEndian, int64(n)) // a hash does not fail
	}
	_, _ = h.Write([]byte(scenarioID))
	return h.Sum64()
}
