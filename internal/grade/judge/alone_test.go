package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// passing is a judge of attempts alone that passes all of them.
type passing struct {
	mu    sync.Mutex
	asked int
	wait  func(asked int)
	fail  func(q Question) error
}

func (p *passing) Name() string { return "passing" }

func (p *passing) Ask(_ context.Context, q Question) (Reply, error) {
	p.mu.Lock()
	p.asked++
	n := p.asked
	p.mu.Unlock()
	if p.wait != nil {
		p.wait(n)
	}
	if p.fail != nil {
		if err := p.fail(q); err != nil {
			return Reply{}, err
		}
	}
	return Reply{Text: `{"reason": "because", "passed": true}`}, nil
}

// An attempt without a call that succeeded does not pass alone either, whatever the judge says; nor does a cap that is
// off take anything.
func TestVerdictHonoursTheCap(t *testing.T) {
	silent := said("Thought process:")
	silent.Messages, silent.Turns = silent.Messages[:2], silent.Turns[1:]
	for limit, want := range map[float64]bool{0.5: false, 0: true} {
		o := options(&passing{})
		o.Cap = limit
		terms, err := New(o).Verdict(t.Context(), &scenario.Scenario{}, []*trajectory.Trajectory{said("a hat"), silent})
		if err != nil || !*terms[0].Judgement.Passed || *terms[1].Judgement.Passed != want ||
			!want && terms[1].Score != limit {
			t.Errorf("cap %v: %v, %+v, %+v", limit, err, terms[0], terms[1])
		}
	}
	o := options(&passing{})
	o.Cap = 0.5
	none := &scenario.Scenario{Checks: []scenario.Check{{Type: scenario.NoCallCheck}}}
	if terms, err := New(o).Verdict(t.Context(), none, []*trajectory.Trajectory{silent}); err != nil ||
		!*terms[0].Judgement.Passed {
		t.Errorf("where no call was to be made: %v %+v", err, terms)
	}
}

// Attempts alone are asked about at once: three wait for each other.
func TestVerdictsAreAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make(chan struct{})
		m := &passing{wait: func(n int) {
			if n == 3 {
				close(all)
			}
			<-all
		}}
		o := options(m)
		o.Samples = 1
		if terms, err := New(o).Verdict(t.Context(), &scenario.Scenario{}, groupOf("a", "b", "c")); err != nil ||
			len(terms) != 3 {
			t.Errorf("%v: %v", err, terms)
		}
	})
}

// Of several errors the one that stops a run is told.
func TestVerdictsTellWhatStops(t *testing.T) {
	m := &passing{fail: func(q Question) error {
		if strings.Contains(q.User, "answer 1") {
			return &fault.Error{Code: fault.CodeBudget, What: "spent"}
		}
		return errors.New("busy")
	}}
	_, err := New(options(m)).Verdict(t.Context(), &scenario.Scenario{}, groupOf("answer 0", "answer 1", "answer 2"))
	if fault.CodeOf(err) != fault.CodeBudget {
		t.Error(err)
	}
}

// A group all of whose attempts are the same is asked about once, whatever the number of samples: there is nothing to
// compare.
func TestAlikeAttemptsAreAskedAboutOnce(t *testing.T) {
	for same, want := range map[bool]int{true: 1, false: 4} {
		m := &scripted{score: func(text string, _, _ int) float64 { return quality(text) }}
		o := options(m)
		o.Samples = 4
		group := groupOf("q=0.4", "q=0.4", "q=0.4")
		if !same {
			group = groupOf("q=0.4", "q=0.5")
		}
		terms, err := New(o).Judge(t.Context(), &scenario.Scenario{}, group)
		if err != nil || len(m.asked) != want || terms[0].Score != 0.4 {
			t.Errorf("the same %v: %v, asked %d times, %+v", same, err, len(m.asked), terms)
		}
	}
}

// What all attempts begin with is left out from the middle, where a question does not fit else. One that does not fit
// however much is left out is of its group alone: its error stops no run.
func TestLongOpenings(t *testing.T) {
	long := func(n int) []*trajectory.Trajectory {
		ts := groupOf("q=0.1", "q=0.9")
		for _, x := range ts {
			opening := x.Messages[:2:2]
			for i := range n {
				opening = append(opening, chat.Message{Role: chat.User, Content: fmt.Sprintf("message %d of many", i)},
					chat.Message{Role: chat.Assistant, Content: "I see."})
			}
			x.Messages, x.Opening = append(opening, x.Messages[2:]...), len(opening)
		}
		return ts
	}
	m := &scripted{score: func(text string, _, _ int) float64 { return quality(text) }}
	o := options(m)
	o.Context = 4000
	if _, err := New(o).Judge(t.Context(), &scenario.Scenario{}, long(2000)); err != nil {
		t.Fatal(err)
	}
	shown := m.asked[0].User
	if !strings.Contains(shown, "messages left out]") || !strings.Contains(shown, "You look.") ||
		!strings.Contains(shown, "message 1999 of many") || strings.Contains(shown, "message 1000 of many") {
		t.Errorf("%s", shown)
	}
	o.Context = 1100
	_, err := New(o).Judge(t.Context(), &scenario.Scenario{ID: "s"}, long(1))
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Where != "judge.context" || !passes(err) {
		t.Errorf("%v", err)
	}
}
