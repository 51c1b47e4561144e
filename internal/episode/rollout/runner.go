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

// Episode runs one scenario once and returns its record, whatever happened: how it ended is Outcome and StopReason.
// rollout is the index in the group, step the optimiser step it is for; both choose the random stream. slot is the
// sampler's. A panic in a tool or sampler is not caught: it is a bug, not data.
func (r *Runner) Episode(ctx context.Context, s scenario.Scenario, rollout, step, slot int) *trajectory.Trajectory {
	return r.episode(ctx, s, rollout, step, slot, newWitness())
}

// episode is Episode beside others that w sees. Each attempt draws from a random stream of its own: the same tokens would
// make the same calls.
func (r *Runner) episode(ctx context.Context, s scenario.Scenario, rollout, step, slot int, w *witness) *trajectory.Trajectory {
	var l losses
	for attempt := 0; ; attempt++ {
		e := r.newEpisode(s, rollout, step, slot)
		e.t.Retries, e.witness = attempt, w
		e.run(ctx)
		if e.again {
			l.lost(e.lostCall, e.lostAt)
		}
		if !e.again || attempt >= r.o.Retries || ctx.Err() != nil {
			if e.again && ctx.Err() == nil && l.tool != "" && attempt > 0 && w.forItsArguments(e.t.ID, *e.lostCall, l.since) {
				e.end(trajectory.PolicyError, e.t.StopReason, fmt.Sprintf("%s; so it went in all %d attempts, while the tool answered others", e.t.Error, l.n))
			}
			return e.t
		}
	}
}

// Groups runs groupSize episodes of each scenario and returns them in the order of scenarios and rollouts.
func (r *Runner) Groups(ctx context.Context, scenarios []scenario.Scenario, groupSize, step int) []trajectory.Group {
	return r.Each(ctx, scenarios, groupSize, step, func(*trajectory.Trajectory) {})
}

// Each is Groups that also hands over every trajectory as it ends, one at a time, in the order of ending. After ctx is
// cancelled the episodes not yet begun are records that say so.
//
// Episode i runs in slot i modulo NumSlots, and the episodes of one slot run one after the other. So which episodes
// share a slot, and with it every sampled token, does not depend on which ended first.
func (r *Runner) Each(ctx context.Context, scenarios []scenario.Scenario, groupSize, step int, each func(*trajectory.Trajectory)) []trajectory.Group {
	return r.Complete(ctx, scenarios, groupSize, step, nil, each)
}

// Complete is Each where some episodes were run before: those that done returns are taken as they are, in their places,
// and are not handed over again. The others get what they would have got beside them.
func (r *Runner) Complete(ctx context.Context, scenarios []scenario.Scenario, groupSize, step int,
	done func(scenarioID string, rollout int) *trajectory.Trajectory, each func(*trajectory.Trajectory)) []trajectory.Group {
	groups := make([]trajectory.Group, len(scenarios))
	for i, s := range scenarios {
		groups[i] = trajectory.Group{ScenarioID: s.ID, Trajectories: make([]*trajectory.Trajectory, groupSize)}
	}
	var workers sync.WaitGroup
	var ended sync.Mutex
	seen := newWitness()
	numSlots := r.o.Sampler.NumSlots()
	for slot := range numSlots {
		workers.Go(func() {
			for i := slot; i < len(scenarios)*groupSize; i += numSlots {
				s, rollout := scenarios[i/groupSize], i%groupSize
				place := &groups[i/groupSize].Trajectories[rollout]
				if done != nil {
					if *place = done(s.ID, rollout); *place != nil {
						continue
					}
				}
				t := r.episode(ctx, s, rollout, step, slot, seen)
				*place = t
				ended.Lock()
				each(t)
				ended.Unlock()
			}
		})
	}
	workers.Wait()
	return groups
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
