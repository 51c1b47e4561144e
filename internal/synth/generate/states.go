package generate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// setting is a world in which programs are played, and where its tasks go.
type setting struct {
	*programs.World
	realm *realm
	split string // "" where each task has its own: the server's own data
	want  int
}

// invented is the setting of the n-th invented world of a server: of a held-out kind of business, or of another one.
func (m *maker) invented(w *programs.World, n, business, left int, setup []Call) setting {
	s := setting{World: w, split: scenario.Train, want: min(left, perWorld), realm: m.realmOf(setup)}
	switch {
	case programs.IsHeldOut(business):
		s.split = scenario.Test
	case n%8 == 3:
		s.split = scenario.Validation
	}
	return s
}

// realmOf is what sessions begin with, kept among all.
func (m *maker) realmOf(setup []Call) *realm {
	r := &realm{index: len(m.worlds), setup: setup}
	m.worlds = append(m.worlds, r)
	return r
}

// shareWritten is the part of the tasks over invented states that somebody wrote, as far as there are so many: they are
// in the words of people, and of more structures than are drawn.
const shareWritten = 0.8

// writtenOf are how many of n tasks each of some written states has, 0 for those that have none: a few states where the
// tasks are few, since each has to be set up. One of four is held out.
func writtenOf[S any](r *rand.Rand, n int, states []S, about func(S) (tasks int, split string)) []int {
	var held, free, order []int
	for _, i := range r.Perm(len(states)) {
		if _, split := about(states[i]); split == scenario.Train {
			free = append(free, i)
		} else {
			held = append(held, i)
		}
	}
	for k := range min(len(states), (n+perWorld-1)/perWorld) {
		from := &free
		if k%4 == 1 && len(held) > 0 || len(free) == 0 {
			from = &held
		}
		order, *from = append(order, (*from)[0]), (*from)[1:]
	}
	of := make([]int, len(states))
	for k, i := range order {
		tasks, _ := about(states[i])
		of[i] = min(tasks, n/(len(order)-k))
		n -= of[i]
	}
	return of
}

// shuffled is a list in an order that is drawn.
func shuffled[T any](r *rand.Rand, list []T) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// writtenSplit is the split of the i-th of some written states: a quarter is held out.
func writtenSplit(i int) string {
	switch i % 8 {
	case 3:
		return scenario.Validation
	case 6:
		return scenario.Test
	}
	return scenario.Train
}

// written is how many of the tasks over invented states somebody wrote.
func (m *maker) written(left int) int {
	if m.drawnAlone {
		return 0
	}
	return int(shareWritten * float64(left))
}

// candidate is a program of a setting, before it is proved. Of a server's own data each task stands for itself.
func (s setting) candidate(m *maker, p *programs.Program) *Candidate {
	c := &Candidate{Kind: p.Kind, World: s.realm.index, Split: s.split, told: &told{Program: p, world: s.World}}
	if c.Split == "" {
		c.Split = m.drawSplit(p.Key())
	}
	return c
}

// seat is a session in which programs are played, one after the other. What a program changes is put back behind it.
type seat struct {
	m       *maker
	server  string
	session environment.Session
	keeps   bool   // the session's folder is put back
	before  folder // where it is
}

// open opens the session, unless it is open. Where that cannot be done, a play is lost.
func (s *seat) open(ctx context.Context, setup []Call, got *Played) bool {
	if s.session != nil {
		return true
	}
	session, err := s.m.player.open(ctx, s.m.player.from, setup)
	if err != nil {
		got.Lost = err.Error()
		got.refused = errors.As(err, new(refusal))
		return false
	}
	if s.session = session; s.keeps {
		s.before, _ = readFolder(session.Dir(s.server))
	}
	return true
}

func (s *seat) close() {
	if s.session != nil {
		_ = s.session.Close() // the calls are made
		s.session = nil
	}
}

func (s *seat) look(ctx context.Context, looks []Call) (seen []Answered) {
	for _, c := range looks {
		r := s.session.Probe(ctx, c.chat("look"))
		r.Text = r.Data() // as checks of state have it
		seen = append(seen, answerOf(s.session, r, s.server))
	}
	return seen
}

// once is what the ledger has of a play, or what it comes to now.
func (m *maker) once(x play, now func() (*Played, error)) (*Played, error) {
	if got := m.ledger.get(x.name()); got != nil {
		return got, nil
	}
	got, err := now()
	if err == nil && got.Lost == "" {
		err = m.ledger.put(x.name(), got)
	}
	return got, err
}

// stateRefused is why there are no tasks over a state that is invented.
const stateRefused = "the server refuses what its state is made of"

// fails counts the calls of a play, and says why it proves nothing: a server was lost, a call is refused, or a slip
// goes well, for which slip is said. The error is a server that is gone.
func (m *maker) fails(calls []Call, got *Played, slip string) (why string, err error) {
	m.count(calls, got)
	switch {
	case got.refused:
		return stateRefused, m.stillThere(got)
	case got.Lost != "":
		return "a server was lost", m.stillThere(got)
	case anyFailed(calls, got):
		return "a call is refused", nil
	case !slipsFail(calls, got):
		return slip, nil
	}
	return "", nil
}

// statePlays is a state of a server, such as a folder or a graph, over which programs are played.
type statePlays interface {
	// tasks makes the tasks of the state with this number. It also returns how many programs fell, by why, and how
	// many were tried.
	tasks(ctx context.Context, number int) ([]draftOf, map[string]int, int, error)
	name() string
	close()
}

func (s setting) name() string { return s.Name }

// playAll makes the tasks of all states of some servers.
func playAll[S any](
	ctx context.Context, m *maker, stage string, servers []S, states func(context.Context, S) ([]statePlays, error),
) ([]draftOf, error) {
	var all []statePlays
	for _, server := range servers {
		list, err := states(ctx, server)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if len(servers) == 0 {
		return nil, nil
	}
	return m.playStates(ctx, stage, all)
}

// playStates makes the tasks of states, several at once, and reports them as one stage.
func (m *maker) playStates(ctx context.Context, stage string, all []statePlays) ([]draftOf, error) {
	made, reasons, tried := make([][]draftOf, len(all)), make([]map[string]int, len(all)), make([]int, len(all))
	var done atomic.Int64
	err := atOnce(m.workers, len(all), func(i int) (err error) {
		defer all[i].close()
		made[i], reasons[i], tried[i], err = all[i].tasks(ctx, i)
		m.Progress(stage, int(done.Add(1)), len(all), all[i].name())
		return err
	})
	if err != nil {
		return nil, err
	}
	why, in := map[string]int{}, 0
	for i := range all {
		in += tried[i]
		for reason, n := range reasons[i] {
			why[reason] += n
		}
	}
	list := slices.Concat(made...)
	m.report.stage(stage, in, len(list), why)
	return list, nil
}
