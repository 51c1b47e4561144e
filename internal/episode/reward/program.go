package reward

import (
	"context"
	"encoding/json"
	"fmt"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/episode/userprogram"
	"hone/internal/fault"
)

// mostPrograms is how many groups a program scores at once: a user's machine is to run episodes beside.
const mostPrograms = 4

// Program is a term whose scores a user's program gives: it reads {"scenario", "trajectories"} and writes a JSON list
// of numbers, 0..1, one for each trajectory. It sees the whole group, so it can compare.
type Program struct {
	Program userprogram.Program
	Weight  float64             // of a score of 1
	Worker  *userprogram.Worker // the same program, for all groups one process; nil: a process for each
	running chan struct{}
}

// NewProgram returns the term of a program that is there; else it is a *fault.Error.
func NewProgram(p userprogram.Program, weight float64) (*Program, error) {
	if _, err := p.Find(); err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the program of the rewards cannot be run",
			Where: "rewards.program.command", Err: err,
			Next: "name one that is on PATH, or a file with its path, such as ./score.py"}
	}
	return &Program{Program: p, Weight: weight, running: make(chan struct{}, mostPrograms)}, nil
}

// judged is what a program reads.
type judged struct {
	Scenario     *scenario.Scenario       `json:"scenario"`
	Trajectories []*trajectory.Trajectory `json:"trajectories"`
}

// Close ends a worker.
func (p *Program) Close() {
	if p != nil && p.Worker != nil {
		p.Worker.Close()
	}
}

func (p *Program) score(ctx context.Context, g group) ([]mark, error) {
	if p.Worker != nil {
		return p.work(ctx, g)
	}
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	out, said, err := p.Program.Run(ctx, judged{g.Scenario, g.Trajectories})
	if err != nil {
		return nil, err
	}
	var scores []*float64
	if err := json.Unmarshal([]byte(out), &scores); err != nil {
		scores = nil
	}
	return p.marks(scores, len(g.Trajectories), out, "; stderr: "+said)
}

// work has the worker score a group. It answers with scores, or with an error, which says why there are none of this
// group.
func (p *Program) work(ctx context.Context, g group) ([]mark, error) {
	out, err := p.Worker.Ask(ctx, judged{g.Scenario, g.Trajectories})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Scores []*float64 `json:"scores"`
		Error  string     `json:"error"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		answer.Scores = nil
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("the program %s says: %.2000s", p.Program.Command[0], answer.Error)
	}
	return p.marks(answer.Scores, len(g.Trajectories), string(out), "")
}

// marks are a program's scores of n trajectories, which out holds.
func (p *Program) marks(scores []*float64, n int, out, said string) ([]mark, error) {
	if len(scores) != n {
		return nil, fmt.Errorf("the program %s writes %.200q, which is no list of %d numbers%s",
			p.Program.Command[0], out, n, said)
	}
	marks := make([]mark, len(scores))
	for i, s := range scores {
		if s == nil || !(*s >= 0 && *s <= 1) {
			return nil, fmt.Errorf("the program %s writes %.200q, of which number %d is no score of 0 to 1",
				p.Program.Command[0], out, i)
		}
		marks[i].score = *s
	}
	return marks, nil
}
