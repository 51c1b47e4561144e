package generate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// realm is what sessions begin with, and what is known of it: a setup of calls, the answers of looks right after it,
// and the values that servers have shown there.
type realm struct {
	index  int
	setup  []Call
	looks  []Call   // calls that change nothing and answer the same each time
	before []stable // what they answer in the beginning
	known  values
	good   []trial // calls that were answered
}

// trial is a call that was answered in a realm.
type trial struct {
	call    Call
	got     *Played
	effects bool
}

// Bounds of the exploration.
const (
	callsOfTool = 6  // tried of a tool in a realm
	mostLooks   = 8  // of a realm
	mostSetup   = 5  // calls of a setup
	setupTries  = 24 // calls tried for a setup
	numRealms   = 3  // beside the one without a setup
)

// explore finds out what the tools do: which answer, which change something, and what there is to speak of.
func (m *maker) explore(ctx context.Context) error {
	base := m.worlds[0]
	if err := m.look(ctx, base, m.bare()); err != nil {
		return err
	}
	for round := range 3 { // the second round has what the first has shown; the third is of those that answered nothing
		if err := m.try(ctx, base, max(callsOfTool/2, callsOfTool*(round-1)), round); err != nil {
			return err
		}
	}
	m.judge()
	if err := m.look(ctx, base, m.bare()); err != nil { // now without those that change something
		return err
	}
	for range numRealms {
		made, err := m.build(ctx, len(m.worlds))
		if err != nil {
			return err
		}
		if made == nil {
			break
		}
		m.worlds = append(m.worlds, made)
		for range 2 {
			if err := m.try(ctx, made, callsOfTool/2, 0); err != nil {
				return err
			}
		}
		m.judge()
	}
	m.distrust()
	for _, r := range m.worlds {
		if err := m.look(ctx, r, slices.Concat(m.bare(), m.readers(r))); err != nil {
			return err
		}
	}
	return nil
}

// bare are calls of tools that need no argument, or the bounds of a span of days, and are not known to change anything.
func (m *maker) bare() (calls []Call) {
	for _, s := range m.tools {
		if !s.asksMore() && s.mayTry() && (s.usable() || s.unmarked == "") &&
			!s.writes && !s.destroys() && !s.creates() {
			calls = append(calls, s.bare())
		}
	}
	return calls
}

// readers are calls with arguments that were answered in a realm and change nothing, one of a tool.
func (m *maker) readers(r *realm) (calls []Call) {
	seen := map[string]bool{}
	for _, t := range r.good {
		if s := m.byName[t.call.Tool]; s.pure && s.needs() && !seen[s.Name] {
			seen[s.Name] = true
			calls = append(calls, t.call)
		}
	}
	return calls
}

// look finds those of some calls that answer, change nothing and answer the same in another session, and takes them for
// the looks of a realm.
func (m *maker) look(ctx context.Context, r *realm, calls []Call) error {
	var plays []play
	for _, c := range calls {
		for attempt := range 2 {
			plays = append(plays, play{Setup: r.setup, Calls: []Call{c}, Looks: []Call{c}, Attempt: attempt})
		}
	}
	got, err := m.all(ctx, plays, func(int) {})
	if err != nil {
		return err
	}
	r.looks, r.before = nil, nil
	for i, c := range calls {
		a, b := got[2*i], got[2*i+1]
		if a.Lost != "" || b.Lost != "" || len(a.Changed) > 0 || !a.Seen[0].ok() || !b.Seen[0].ok() ||
			len(r.looks) == mostLooks {
			continue
		}
		if looksRefused := m.Trial.Refusal; looksRefused != nil && looksRefused(a.Seen[0].Text) != "" ||
			senseless(a.Seen[0].Text, c) != "" {
			continue
		}
		s := stableOf(a.Seen[0].Text, b.Seen[0].Text, a.At, b.At)
		if s.nothing() || !s.same(b.Seen[0].Text) {
			continue
		}
		r.looks, r.before = append(r.looks, c), append(r.before, s)
		r.known.gave(c, a.Seen[0].Text, a.At)
	}
	return nil
}

// try calls each tool some times more in a realm; from round 2 on those that answered nothing before.
func (m *maker) try(ctx context.Context, r *realm, n, round int) error {
	var plays []play
	for _, s := range m.tools {
		if !s.mayTry() || round > 1 && s.usable() {
			continue
		}
		random := m.random("try", r.index, s.Name, len(r.good), len(r.known.list))
		if round > 1 { // what was refused is not tried again
			random = m.random("try again", r.index, s.Name)
		}
		seen := map[string]bool{}
		for i := range n {
			arguments, ok := filler{random, s, &r.known}.arguments(i > 0)
			if !ok || seen[string(arguments)] || !s.takes(string(arguments)) || hasTrial(r.good, s.Name, arguments) {
				continue
			}
			seen[string(arguments)] = true
			plays = append(plays,
				play{Setup: r.setup, Calls: []Call{{Tool: s.Name, Arguments: arguments}}, Looks: r.looks})
		}
		if arguments, ok := (filler{random, s, &r.known}).missing(); ok && len(s.failing) < 3 &&
			s.takes(string(arguments)) {
			plays = append(plays,
				play{Setup: r.setup, Calls: []Call{{Tool: s.Name, Arguments: arguments}}, Looks: r.looks})
		}
	}
	got, err := m.playAndTell(ctx, "explore", plays)
	if err != nil {
		return err
	}
	for i, p := range plays {
		m.learn(r, p.Calls[0], got[i])
	}
	return nil
}

func hasTrial(good []trial, tool string, arguments json.RawMessage) bool {
	return slices.ContainsFunc(good, func(t trial) bool {
		return t.call.Tool == tool && string(t.call.Arguments) == string(arguments)
	})
}

// learn takes in what a call came to.
func (m *maker) learn(r *realm, c Call, got *Played) {
	s := m.byName[c.Tool]
	s.tried++
	switch {
	case got.Lost != "":
		s.why = orFirst(s.why, got.Lost)
		return
	case !got.Results[0].ok():
		s.refused++
		s.why = orFirst(s.why, got.Results[0].Text)
		s.note(c, false)
		s.hint(c, got.Results[0].Text)
		s.ask(c, got.Results[0].Text)
		if got.Results[0].Status == "tool_error" && len(s.failing) < 12 {
			s.failing = append(s.failing, failed{r.index, c})
		}
		return
	}
	if looksRefused := m.Trial.Refusal; looksRefused != nil && looksRefused(got.Results[0].Text) != "" {
		s.refused++
		s.unmarked = orFirst(s.unmarked, looksRefused(got.Results[0].Text))
		s.note(c, false)
		s.hint(c, got.Results[0].Text)
		s.ask(c, got.Results[0].Text)
		s.why = orFirst(s.why, got.Results[0].Text)
		return
	}
	if sign := senseless(got.Results[0].Text, c); sign != "" {
		s.misunderstood(c, sign, got.Results[0].Text)
		return
	}
	s.note(c, true)
	s.answered++
	effect := m.effect(r, got)
	if effect != "" {
		s.writes = true
		if s.ReadOnly && s.lies == "" {
			s.lies = effect
		}
	}
	r.good = append(r.good, trial{c, got, effect != ""})
	if effect == "" { // what is gone when the session ends is nothing to speak of
		r.known.gave(c, got.Results[0].Text, got.At)
	}
}

func orFirst(text, other string) string {
	if text == "" {
		return strings.TrimSpace(other)
	}
	return text
}

// effect says what a call changed, "" where nothing is seen.
func (m *maker) effect(r *realm, got *Played) string {
	if len(got.Changed) > 0 {
		return strings.Join(got.Changed[:min(3, len(got.Changed))], ", ")
	}
	for i, saw := range got.Seen {
		if i < len(r.before) && (!saw.ok() || !r.before[i].same(saw.Text)) {
			return "the answer of " + r.looks[i].Tool
		}
	}
	return ""
}

// judge says of each tool whether its calls can share a session.
func (m *maker) judge() {
	for _, s := range m.tools {
		s.pure = s.answered > 0 && !s.writes
	}
}

// build makes a realm with something in it: calls that change something, one after the other, each with what is there
// by then. It is nil where no tool does.
func (m *maker) build(ctx context.Context, index int) (*realm, error) {
	base := m.worlds[0].known
	r := &realm{index: index, known: values{slices.Clone(base.list)}}
	random := m.random("realm", index)
	used := map[string]int{}
	for try := 0; try < setupTries && len(r.setup) < mostSetup; try++ {
		s := m.nextWriter(used, try)
		if s == nil {
			break
		}
		used[s.Name]++
		arguments, ok := filler{random, s, &r.known}.arguments(false)
		if !ok || !s.takes(string(arguments)) {
			continue
		}
		c := Call{Tool: s.Name, Arguments: arguments}
		got, err := m.play(ctx, play{Setup: r.setup, Calls: []Call{c}, Looks: m.worlds[0].looks})
		if err != nil {
			return nil, err
		}
		s.tried++
		if got.Lost != "" ||
			!got.Results[0].ok() || m.Trial.Refusal != nil && m.Trial.Refusal(got.Results[0].Text) != "" ||
			senseless(got.Results[0].Text, c) != "" || m.effect(m.worlds[0], got) == "" {
			continue
		}
		s.writes, s.answered = true, s.answered+1
		r.setup = append(r.setup, c)
		r.known.took(c.Tool, c.Arguments)
		r.known.gave(c, got.Results[0].Text, got.At)
		used[s.Name] += 2 // others first
	}
	if len(r.setup) == 0 {
		return nil, nil
	}
	return r, m.look(ctx, r, m.bare())
}

// nextWriter is the tool that a setup is to try next: one that makes things, the one that was used least.
func (m *maker) nextWriter(used map[string]int, try int) *subject {
	var next *subject
	for _, s := range m.tools {
		may := s.Safe && !s.destroys() && !s.pure && (s.writes || s.creates() && try > 0)
		if may && (used[s.Name] < 6 || len(m.tools) == 1) && (next == nil || used[s.Name] < used[next.Name]) {
			next = s
		}
	}
	return next
}
