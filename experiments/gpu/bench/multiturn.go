package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"hone/internal/episode/policy"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
)

// dialogue is the shape of a step of episodes with several turns. experiments/gpu/multiturn/peer.py has the same
// numbers.
type dialogue struct {
	tasks, group               int
	system, task               int // tokens: system prompt with the tools, which all share, and what is asked
	turns, completion, results int // completion and results are tokens of each turn; no results follow the last
}

func (b *bench) dialogue() dialogue {
	if b.toy {
		return dialogue{tasks: 2, group: 2, system: 48, task: 6, turns: 3, completion: 5, results: 4}
	}
	return dialogue{tasks: 8, group: 8, system: 4000, task: 30, turns: 3, completion: 171, results: 100}
}

// private is how many tokens an episode has behind what all share.
func (d dialogue) private() int {
	return d.task + d.turns*d.completion + (d.turns-1)*d.results
}

// multiturn is a whole step of GRPO: episodes of several turns with results of tools between them, the rows made of
// them, an optimiser step on all of them, and its adapter handed to the sampler. The engine's own defaults decide how
// much is computed at once. Each step is a line of its own too, as it ends: a run that is cut off keeps those. The
// first warms up: it compiles. system is how many tokens the system prompt with the tools has; 0: 4000.
func (b *bench) multiturn(system int) (row, error) {
	d := b.dialogue()
	d.system = cmp.Or(system, d.system)
	b.lora = model.LoRA{Rank: 16, Alpha: 32}
	start := time.Now()
	t, err := train.New(b.engine, b.spec, b.weights, train.NewState(b.spec, b.lora, 1), train.Options{LoRA: b.lora})
	if err != nil {
		return row{}, err
	}
	s, err := sample.NewSamplers(b.engine, b.spec, b.weights,
		sample.Options{LoRA: b.lora, Slots: d.tasks * d.group, Context: d.private() + 2, Prefix: b.prefix(d.system)})
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	p := sample.NewPublisher(t, sample.InProcess(s))
	if err := p.Publish(); err != nil {
		return row{}, err
	}
	opened := time.Since(start).Seconds()
	out, n := json.NewEncoder(os.Stdout), 0
	var last map[string]float64
	r, err := timeRuns(1, min(2, b.repeat), func() (err error) {
		n++
		began := time.Now()
		last, err = b.dialogues(d, s, t, p, n)
		if err != nil {
			return err
		}
		ms := time.Since(began).Seconds() * 1e3
		return out.Encode(row{Row: fmt.Sprintf("multiturn step %d", n), Who: "hone", Ms: ms, Least: ms, Runs: 1,
			Devices: b.engine.NumDevices(), More: last})
	})
	r.Compile += opened
	r.More = last
	return r, err
}

// dialogues is one such step. It returns the seconds of its parts.
func (b *bench) dialogues(
	d dialogue, s *sample.Samplers, t *train.Trainer, p *sample.Publisher, step int,
) (map[string]float64, error) {
	before, start := s.Stats(), time.Now()
	groups, err := b.episodes(d, s, step)
	if err != nil {
		return nil, err
	}
	sampled := time.Now()
	after := s.Stats() // waits for nothing: no request is under way
	compared := batch.Compare(groups)
	advantages := batch.Advantages{}.Of(compared.Groups)
	x, dropped := compared.Rows(advantages, batch.Options{}), compared.GroupStats(advantages)
	if len(x.Rows) != d.tasks*d.group || x.NumTrained() != d.tasks*d.group*d.turns*d.completion {
		return nil, fmt.Errorf("%d rows with %d trained tokens were made of %d episodes: %+v",
			len(x.Rows), x.NumTrained(), d.tasks*d.group, dropped)
	}
	made := time.Now()
	stats, err := t.Step(background, x, batch.Objective{Loss: batch.LossDAPO, Clip: batch.Clip{Low: 0.2, High: 0.28},
		Temperature: 1}, batch.Update{Rate: 1e-5, MaxGradNorm: 1})
	if err != nil {
		return nil, err
	}
	trained := time.Now()
	_, compiling := t.CompileStats()
	if err := p.Publish(); err != nil {
		return nil, err
	}
	published := time.Now()
	seconds := func(from, to time.Time) float64 { return to.Sub(from).Seconds() }
	busy := after.BusySeconds - before.BusySeconds
	return map[string]float64{
		"sampling_s": seconds(start, sampled), "training_s": seconds(made, trained),
		"publish_s": seconds(trained, published),
		// Nothing is on the device between the last token and the optimiser step's first program, and while no slot has
		// work.
		"idle_between_s": seconds(sampled, made), "idle_sampling_s": max(0, seconds(start, sampled)-busy),
		"sampled": float64(after.Decoded - before.Decoded), "fed": float64(after.Prefilled - before.Prefilled),
		"compile_s": compiling, "trained": float64(stats.NumTrained), "computed": float64(stats.NumTokens),
		"padded": float64(stats.NumPadded), "prefix": float64(len(x.Prefix)), "loss": stats.Loss,
		"gradient_norm": stats.GradNorm,
		"mismatch":      stats.Mismatch,
	}, nil
}

// episodes plays a step's, each in a slot: it goes on as soon as its tool has answered, whatever the others do.
func (b *bench) episodes(d dialogue, s policy.Sampler, step int) ([]trajectory.Group, error) {
	groups, errs := make([]trajectory.Group, d.tasks), make([]error, d.tasks*d.group)
	var done sync.WaitGroup
	for task := range d.tasks {
		groups[task].Trajectories = make([]*trajectory.Trajectory, d.group)
		for member := range d.group {
			slot := task*d.group + member
			x := &trajectory.Trajectory{Outcome: trajectory.OK, Reward: float64(member % 2), Temperature: 1}
			groups[task].Trajectories[member] = x
			done.Go(func() { x.Turns, errs[slot] = b.episode(d, s, step, task, slot) })
		}
	}
	done.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return groups, nil
}

func (b *bench) episode(d dialogue, s policy.Sampler, step, task, slot int) (turns []trajectory.Turn, err error) {
	bridge := append(b.prefix(d.system), b.tokens(d.task, step*100+task+7)...)
	var prompt []int32
	for turn := range d.turns {
		prompt = append(prompt, bridge...)
		c, err := s.Sample(background, policy.Request{
			Slot:     slot,
			Prompt:   prompt,
			Sampling: policy.Sampling{MaxTokens: d.completion, Temperature: 1},
			Key:      policy.Key{Seed: uint64(step), Stream: uint64(slot*d.turns + turn)},
		})
		if err != nil {
			return nil, err
		}
		if len(c.IDs) != d.completion {
			return nil, fmt.Errorf("a turn has %d tokens, not %d", len(c.IDs), d.completion)
		}
		turns = append(turns,
			trajectory.Turn{BridgeIDs: bridge, CompletionIDs: c.IDs, SamplerLogprobs: c.SamplerLogprobs})
		prompt = append(prompt, c.IDs...)
		bridge = b.tokens(d.results, 1000+slot*d.turns+turn)
	}
	return turns, nil
}
