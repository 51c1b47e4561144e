package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"hone/internal/blob"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

// Reference is an agent that tries scenarios as a policy would: it shows which can be solved, and which are too easy.
type Reference interface {
	Name() string
	// Try runs one episode. says is false where the episode says nothing of the agent, as where a server was lost. The
	// error ends the synthesis.
	Try(ctx context.Context, s scenario.Scenario, run int) (passed, says bool, err error)
}

// refer has the reference try each scenario, and drops those that it never solves: with checks that nobody meets, or
// too hard to learn from. The ledger has what was tried before.
func (m *maker) refer(ctx context.Context, list []draftOf) ([]draftOf, error) {
	if m.Reference == nil {
		return list, nil
	}
	tried, err := m.tries(ctx, list)
	if err != nil {
		return nil, err
	}
	return m.keepSolved(list, tried), nil
}

// solve is refer of programs. What is never solved in a model's words is tried in those of its template, which then
// stand: a wording is good where somebody who sees it and the tools alone gets where the program does.
func (m *maker) solve(ctx context.Context, list []draftOf) ([]draftOf, error) {
	if m.Reference == nil {
		return list, nil
	}
	tried, err := m.tries(ctx, list)
	if err != nil {
		return nil, err
	}
	var again []draftOf
	var at []int
	worded := 0
	for i, d := range list {
		if d.of.told == nil || d.of.told.requests == nil {
			continue
		}
		if worded++; tried[i].Runs > 0 && tried[i].Passed == 0 {
			d.of.untell()
			m.retell(&list[i])
			again, at = append(again, list[i]), append(at, i)
		}
	}
	second, err := m.tries(ctx, again)
	if err != nil {
		return nil, err
	}
	for k, i := range at {
		tried[i] = second[k]
	}
	if worded > 0 {
		reasons := map[string]int{}
		if len(again) > 0 {
			reasons["the template's words stand: the reference never solves it as it is worded"] = len(again)
		}
		m.report.stage("words solved", worded, worded-len(again), reasons)
	}
	return m.keepSolved(list, tried), nil
}

// tries are what came of the reference's runs of each task.
func (m *maker) tries(ctx context.Context, list []draftOf) ([]scenario.Reference, error) {
	runs := m.ReferenceRuns
	type run struct{ passed, says bool }
	got := make([]run, len(list)*runs)
	var done atomic.Int64
	err := atOnce(m.workers, len(got), func(i int) (err error) {
		s := list[i/runs].Scenario
		got[i].passed, got[i].says, err = m.tryOnce(ctx, s, i%runs)
		m.Progress("reference", int(done.Add(1)), len(got), "")
		return err
	})
	if err != nil {
		return nil, err
	}
	tried := make([]scenario.Reference, len(list))
	for i := range list {
		tried[i].By = m.Reference.Name()
		for _, r := range got[i*runs : (i+1)*runs] {
			if r.says {
				tried[i].Runs++
			}
			if r.passed {
				tried[i].Passed++
			}
		}
	}
	return tried, nil
}

// keepSolved are the tasks that a reference solved, each with how often.
func (m *maker) keepSolved(list []draftOf, tried []scenario.Reference) (kept []draftOf) {
	reasons := map[string]int{}
	for i, d := range list {
		d.of.Runs, d.of.PassRate = tried[i].Runs, tried[i].PassRate()
		d.Provenance.Reference = &tried[i]
		switch {
		case tried[i].Runs == 0:
			d.of.drop("no run of the reference says anything")
		case tried[i].Passed == 0 && !m.KeepUnsolved:
			d.of.drop("the reference never solves it")
		}
		if d.of.Why != "" {
			reasons[d.of.Why]++
			continue
		}
		kept = append(kept, d)
	}
	m.report.stage("reference", len(list), len(kept), reasons)
	return kept
}

// tryOnce is one episode of the reference, or what the ledger has of it.
func (m *maker) tryOnce(ctx context.Context, s scenario.Scenario, run int) (passed, says bool, err error) {
	key := fmt.Sprintf("try %s %s %d", blob.Of(m.Reference.Name()).String()[:12], s.Hash(), run)
	if got := m.ledger.get(key); got != nil {
		return slices.Contains(got.Changed, "passed"), true, nil
	}
	passed, says, err = m.Reference.Try(ctx, s, run)
	if fault.CodeOf(err) == fault.CodeBudget {
		m.asking.count(prompt{name: "episode"}, &Model{Name: m.Reference.Name()}, func(a *Asked) { a.Unasked++ })
		err = nil
	}
	if err != nil || !says {
		return false, false, err
	}
	p := &Played{}
	if passed {
		p.Changed = []string{"passed"}
	}
	return passed, true, m.ledger.put(key, p)
}

// blind gives scenarios a reason to fall whose checks an episode passes that does not read the task: it makes a call of
// the same tool with other arguments, or else one of another tool.
func (m *maker) blind(ctx context.Context, list []draftOf, why []string) error {
	return atOnce(m.workers, len(list), func(i int) error {
		d := &list[i]
		if why[i] != "" || d.of.program != nil || d.of.abstains() || slices.ContainsFunc(d.Checks,
			func(c scenario.Check) bool { return c.Type == scenario.CallCheck && !c.Refused }) {
			return nil // a check of the call holds its arguments
		}
		other, ok := m.blindCall(d.of)
		if !ok {
			return nil
		}
		text, _ := json.Marshal([]any{d.Scenario, other}) // of texts and JSON
		key := "blind " + blob.Of(text).String()[:24]
		got := m.ledger.get(key)
		if got == nil {
			passes, err := m.Trial.Blind(ctx, &d.Scenario, other.chat("blind"))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return err
			}
			if got = (&Played{}); passes {
				got.Changed = []string{"passed"}
			}
			if err := m.ledger.put(key, got); err != nil {
				return err
			}
		}
		if len(got.Changed) > 0 {
			why[i] = "a call that does not read the task passes the checks"
		}
		return nil
	})
}

// blindCall is a call that was answered where a candidate takes place, and is none of its own.
func (m *maker) blindCall(c *Candidate) (found Call, ok bool) {
	last := c.Calls[len(c.Calls)-1]
	for _, t := range m.worlds[c.World].good {
		if slices.ContainsFunc(c.Calls, func(x Call) bool { return x.key() == t.call.key() }) {
			continue
		}
		if t.call.Tool == last.Tool {
			return t.call, true
		}
		if !ok && t.effects {
			found, ok = t.call, true
		}
	}
	return found, ok
}

// finish gives a scenario what is known of it in the end.
func (d *draftOf) finish() {
	d.Difficulty = difficultyOf(d.of)
	d.Provenance.Quality = d.of.Quality
}
