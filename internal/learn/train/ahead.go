package train

import (
	"fmt"
	"time"

	"hone/internal/learn/batch"
)

// Prepare compiles on a GPU the programs that the gradients of these batches take, several at one time: one takes ten
// seconds and few of the host's cores. Elsewhere the compiler takes all cores, so each step compiles its own. A program
// that fails here is compiled again for its gradient, which tells why.
func (t *Trainer) Prepare(batches []batch.Batch, o batch.Objective) {
	if !t.engine.IsGPU() {
		return
	}
	ahead := t.ahead()
	for _, b := range batches {
		b = b.Shorten(t.maxPrefix)
		if goal, err := t.goalOf(o, b.Rows); err == nil && b.NumTrained() > 0 {
			ahead.gradient(t.byPrefix(b), goal)
		}
	}
	_ = ahead.compile()
}

// ahead collects what is to be compiled.
type ahead struct {
	t     *Trainer
	asked map[string]bool
	make  []func() error
}

func (t *Trainer) ahead() *ahead { return &ahead{t: t, asked: map[string]bool{}} }

// gradient adds the programs of a step's parts, as gradientOfPart runs them.
func (a *ahead) gradient(parts []batch.Part, o goal) {
	for _, part := range parts {
		p, calls := len(part.Prefix), a.t.calls(part.Rows, !o.ByRow())
		if len(parts) == 1 && a.t.oneProgram(part.Batch, calls) {
			a.add("tree", calls[0].shape, p, func() (program, error) { return a.t.treeProgram(calls[0].shape, p, o) })
			continue
		}
		for _, x := range calls {
			a.add("rows", x.shape, p, func() (program, error) { return a.t.rowsProgram(x.shape, p, o) })
		}
		if p > 0 {
			a.add("prefix", shape{}, p, func() (program, error) { return a.t.prefixProgram(p, o.dropout) })
			a.add("backward", shape{}, p, func() (program, error) { return a.t.prefixBackwardProgram(p, o.dropout) })
		}
	}
}

// scores adds the programs of parts that are only scored, as scorePart runs them.
func (a *ahead) scores(parts []batch.Part, entropies bool) {
	for _, part := range parts {
		p := len(part.Prefix)
		for _, x := range a.t.calls(part.Rows, true) {
			a.add("score", x.shape, p, func() (program, error) { return a.t.scoreProgram(x.shape, p, entropies) })
		}
		if p > 0 {
			a.add("prefix", shape{}, p, func() (program, error) { return a.t.prefixProgram(p, 0) })
		}
	}
}

func (a *ahead) add(kind string, s shape, prefix int, compile func() (program, error)) {
	key := kind + s.key() + fmt.Sprintf("_%d", prefix)
	if a.asked[key] {
		return
	}
	a.asked[key] = true
	a.make = append(a.make, func() error { _, err := compile(); return err })
}

// compile compiles what is not there yet. What it takes is the time that passes, not the sum over programs.
func (a *ahead) compile() error {
	before, began := a.t.made, time.Now()
	err := a.t.engine.Together(a.make...)
	if made := &a.t.made; made.programs > before.programs {
		made.seconds = before.seconds + time.Since(began).Seconds()
	}
	return err
}
