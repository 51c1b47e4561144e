package grammar

import (
	"encoding/binary"
	"slices"
	"sync"

	"hone/internal/policy"
)

// Grammar is compiled rules, with the states that were seen. It may be used from many goroutines: requests of one schema share it.
type Grammar struct {
	// Unheld are what the schema demands and the rules do not: "pattern at #/properties/name". They are sorted.
	Unheld []string

	rules [][]sequence
	words *Vocabulary

	most   int // states
	mu     sync.Mutex
	stacks []stack
	number map[stack]int32
	states map[string]*state
	start  *state
}

// stack is a place in a sequence and what follows it: another stack, by its number. Stack 0 is the end.
type stack struct {
	rule, alternative, at int32
	then                  int32
}

// state is the places at which a text may be, all of them at a terminal symbol or at the end.
type state struct {
	places []int32
	ends   bool             // the text may end
	next   map[byte]*state  // those that are known
	marks  map[int32]*state // by added token
	may    *policy.IDSet    // tokens that may come; nil is not known yet
}

// maxStates is how many states a grammar may have: what needs more is ended as if nothing could follow.
const maxStates = 50_000

func newGrammar(b *builder) *Grammar {
	g := &Grammar{rules: b.rules, words: b.words, most: maxStates}
	for u := range b.unheld {
		g.Unheld = append(g.Unheld, u)
	}
	slices.Sort(g.Unheld)
	g.stacks, g.number, g.states = []stack{{}}, map[stack]int32{}, map[string]*state{}
	places := map[int32]bool{}
	g.enter(1, 0, places, map[stack]bool{})
	g.start = g.state(places)
	return g
}

// Large reports whether the grammar has seen so many states that a fresh one should take its place for what is asked next.
func (g *Grammar) Large() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.states) > g.most/8
}

func (g *Grammar) intern(s stack) int32 {
	n, ok := g.number[s]
	if !ok {
		n = int32(len(g.stacks))
		g.stacks = append(g.stacks, s)
		g.number[s] = n
	}
	return n
}

// enter adds the places at which a rule may begin.
func (g *Grammar) enter(rule int, then int32, places map[int32]bool, seen map[stack]bool) {
	for i := range g.rules[rule-1] {
		g.reach(stack{int32(rule), int32(i), 0, then}, places, seen)
	}
}

// reach adds a place: itself where a terminal stands there, else the places that it leads to without one.
func (g *Grammar) reach(s stack, places map[int32]bool, seen map[stack]bool) {
	if seen[s] {
		return
	}
	seen[s] = true
	sequence := g.rules[s.rule-1][s.alternative]
	if int(s.at) == len(sequence) {
		if s.then == 0 {
			places[0] = true
			return
		}
		g.reach(g.stacks[s.then], places, seen)
		return
	}
	x := sequence[s.at]
	if x.rule == 0 {
		places[g.intern(s)] = true
		return
	}
	then := s.then // of a last symbol there is nothing to come back to, so that repetitions take no stack
	if int(s.at)+1 < len(sequence) {
		after := s
		after.at++
		then = g.intern(after)
	}
	g.enter(x.rule, then, places, seen)
}

func (g *Grammar) state(places map[int32]bool) *state {
	list := make([]int32, 0, len(places))
	for p := range places {
		list = append(list, p)
	}
	slices.Sort(list)
	key := make([]byte, 0, 4*len(list))
	for _, p := range list {
		key = binary.LittleEndian.AppendUint32(key, uint32(p))
	}
	s, ok := g.states[string(key)]
	if !ok && len(g.states) >= g.most {
		return &state{}
	}
	if !ok {
		s = &state{places: list, ends: places[0]}
		g.states[string(key)] = s
	}
	return s
}

// dead reports whether no text goes on from here, and none ends.
func (s *state) dead() bool { return len(s.places) == 0 }

// step is the state behind a byte.
func (g *Grammar) step(s *state, b byte) *state {
	next, ok := s.next[b]
	if !ok {
		next = g.move(s, func(x symbol) bool { return x.set != nil && x.set.has(b) })
		if s.next == nil {
			s.next = map[byte]*state{}
		}
		s.next[b] = next
	}
	return next
}

// mark is the state behind an added token.
func (g *Grammar) mark(s *state, id int32) *state {
	next, ok := s.marks[id]
	if !ok {
		next = g.move(s, func(x symbol) bool { return x.set == nil && x.rule == 0 && x.id == id })
		if s.marks == nil {
			s.marks = map[int32]*state{}
		}
		s.marks[id] = next
	}
	return next
}

func (g *Grammar) move(s *state, fits func(symbol) bool) *state {
	places, seen := map[int32]bool{}, map[stack]bool{}
	for _, p := range s.places {
		if p == 0 {
			continue
		}
		at := g.stacks[p]
		if fits(g.rules[at.rule-1][at.alternative][at.at]) {
			at.at++
			g.reach(at, places, seen)
		}
	}
	return g.state(places)
}

// read is the state behind a token.
func (g *Grammar) read(s *state, id int32) *state {
	t := g.words.token(id)
	if t.Added {
		return g.mark(s, id)
	}
	if t.Text == "" {
		return g.state(nil)
	}
	return g.readText(s, t.Text)
}

func (g *Grammar) readText(s *state, text string) *state {
	for i := range len(text) {
		s = g.step(s, text[i])
	}
	return s
}

// allowed is the set of tokens that may come in a state.
func (g *Grammar) allowed(s *state) *policy.IDSet {
	if s.may == nil {
		s.may = policy.NewIDSet(g.words.size)
		for _, p := range s.places {
			if p == 0 {
				continue
			}
			at := g.stacks[p]
			if x := g.rules[at.rule-1][at.alternative][at.at]; x.set == nil {
				s.may.Add(x.id)
			}
		}
		g.walk(s, 0, s.may)
	}
	return s.may
}

func (g *Grammar) walk(s *state, at int32, may *policy.IDSet) {
	for _, c := range g.words.nodes[at].children {
		n := &g.words.nodes[c]
		next := g.step(s, n.b)
		if next.dead() {
			continue
		}
		for _, id := range n.ids {
			may.Add(id)
		}
		g.walk(next, c, may)
	}
}

// Matches reports whether a text is one that the grammar writes, by bytes alone: of added tokens it knows nothing.
func (g *Grammar) Matches(text string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.readText(g.start, text).ends
}
