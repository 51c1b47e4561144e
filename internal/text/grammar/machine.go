package grammar

import (
	"encoding/binary"
	"slices"
	"sync"

	"hone/internal/episode/policy"
)

// Grammar is compiled rules, with the states that were seen. It may be used from many goroutines: requests of one
// schema share it.
type Grammar struct {
	// Unheld are what the schema demands and the rules do not: "pattern at #/properties/name". They are sorted.
	Unheld []string

	rules     [][]sequence
	words     *Vocabulary
	character int32 // the rule of a string's characters; 0: there is none
	size      int   // symbols of the rules

	most   int // states
	mu     sync.Mutex
	stacks []stack
	number map[stack]int32
	alike  []int32         // by stack: the number of its kind
	kinds  map[stack]int32 // what stacks of one kind have in common: next does not tell
	states map[string]*state
	masks  map[string]*policy.IDSet // by the kinds of a state's places
	start  *state
}

// stack is a place in a sequence, how often the symbol there came where it is repeated, and what follows: another
// stack, by its number. Stack 0 is the end.
type stack struct {
	rule, alternative, at int32
	count                 int32
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
	g := &Grammar{rules: b.rules, words: b.words, character: b.shared[characterRule], size: b.size, most: maxStates}
	for u := range b.unheld {
		g.Unheld = append(g.Unheld, u)
	}
	slices.Sort(g.Unheld)
	g.stacks, g.alike, g.number, g.kinds = []stack{{}}, []int32{0}, map[stack]int32{}, map[stack]int32{}
	g.states, g.masks = map[string]*state{}, map[string]*policy.IDSet{}
	places := map[int32]bool{}
	g.enter(1, 0, places, map[stack]bool{})
	g.start = g.state(places)
	return g
}

// Large reports whether the grammar has seen so many states that a fresh one should take its place for what is asked
// next.
func (g *Grammar) Large() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.states) > g.most/8
}

// Bytes is about how much memory the grammar takes now.
func (g *Grammar) Bytes() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return 32*g.size + 150*len(g.stacks) + 400*len(g.states) + (g.words.size/8+100)*len(g.masks)
}

func (g *Grammar) symbol(s stack) symbol { return g.rules[s.rule-1][s.alternative][s.at] }

func (g *Grammar) intern(s stack) int32 {
	n, ok := g.number[s]
	if !ok {
		n = int32(len(g.stacks))
		g.stacks = append(g.stacks, s)
		g.number[s] = n
		g.alike = append(g.alike, g.kind(s))
	}
	return n
}

// kind numbers the stacks behind which the same tokens may come: those that differ in counts alone, and those so far
// from their bounds that no token reaches them.
func (g *Grammar) kind(s stack) int32 {
	k := s
	k.then = g.alike[s.then]
	if sequence := g.rules[s.rule-1][s.alternative]; int(s.at) < len(sequence) && sequence[s.at].most != 0 {
		x, far := sequence[s.at], int32(g.words.longest)+1
		missing, room := max(0, x.least-s.count), far
		if x.most > 0 {
			room = x.most - s.count
		}
		k.count = min(missing, far)*(far+1) + min(room, far)
	}
	n, ok := g.kinds[k]
	if !ok {
		n = int32(len(g.kinds)) + 1
		g.kinds[k] = n
	}
	return n
}

// enter adds the places at which a rule may begin.
func (g *Grammar) enter(rule int32, then int32, places map[int32]bool, seen map[stack]bool) {
	for i := range g.rules[rule-1] {
		g.reach(stack{rule: rule, alternative: int32(i), then: then}, places, seen)
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
	after := s
	after.at, after.count = s.at+1, 0
	switch {
	case x.rule == 0:
		places[g.intern(s)] = true
	case x.most != 0:
		again := s
		again.count++
		if x.most < 0 {
			again.count = min(again.count, x.least)
		}
		if x.most < 0 || s.count < x.most {
			g.enter(x.rule, g.intern(again), places, seen)
		}
		if s.count >= x.least {
			g.reach(after, places, seen)
		}
	case int(s.at)+1 < len(sequence):
		g.enter(x.rule, g.intern(after), places, seen)
	default: // of a last symbol there is nothing to come back to
		g.enter(x.rule, s.then, places, seen)
	}
}

func (g *Grammar) state(places map[int32]bool) *state {
	list := make([]int32, 0, len(places))
	for p := range places {
		list = append(list, p)
	}
	slices.Sort(list)
	key := keyOf(list)
	s, ok := g.states[key]
	if !ok && len(g.states) >= g.most {
		return &state{}
	}
	if !ok {
		s = &state{places: list, ends: places[0]}
		g.states[key] = s
	}
	return s
}

func keyOf(list []int32) string {
	key := make([]byte, 0, 4*len(list))
	for _, p := range list {
		key = binary.LittleEndian.AppendUint32(key, uint32(p))
	}
	return string(key)
}

// dead reports whether no text goes on from here, and none ends.
func (s *state) dead() bool { return len(s.places) == 0 }

// step is the state behind a byte.
func (g *Grammar) step(s *state, b byte) *state {
	next, ok := s.next[b]
	if !ok {
		next = g.move(s, func(x symbol) bool { return x.writes(b) })
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
		next = g.move(s, func(x symbol) bool { return x.isToken() && x.id == id })
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
		if fits(g.symbol(at)) {
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

// nextTokens is the set of tokens that may come in a state. It is computed once for all states whose places are of the
// same kinds.
func (g *Grammar) nextTokens(s *state) *policy.IDSet {
	if s.may != nil {
		return s.may
	}
	var kinds []int32
	for _, p := range s.places {
		kinds = append(kinds, g.alike[p])
	}
	slices.Sort(kinds)
	key := keyOf(slices.Compact(kinds))
	if s.may = g.masks[key]; s.may != nil {
		return s.may
	}
	s.may = policy.NewIDSet(g.words.size)
	within := false
	for _, p := range s.places {
		if p == 0 {
			continue
		}
		at := g.stacks[p]
		if x := g.symbol(at); x.isToken() {
			s.may.Add(x.id)
		}
		within = within || g.within(at)
	}
	if within {
		s.may.Join(g.words.plain)
		g.walk(s, g.words.others, 0, s.may)
	} else {
		g.walk(s, g.words.all, 0, s.may)
	}
	g.masks[key] = s.may
	return s.may
}

// within reports whether a place is before a character of a string that is not near its greatest length, so that all
// plain tokens may come.
func (g *Grammar) within(at stack) bool {
	if g.character == 0 || at.rule != g.character || at.at != 0 || at.then == 0 {
		return false
	}
	then := g.stacks[at.then]
	sequence := g.rules[then.rule-1][then.alternative]
	if int(then.at) >= len(sequence) {
		return false
	}
	x := sequence[then.at]
	return x.rule == g.character && (x.most < 0 || int(x.most-then.count) >= g.words.longest)
}

func (g *Grammar) walk(s *state, t tree, at int32, may *policy.IDSet) {
	for _, c := range t[at].children {
		n := &t[c]
		next := g.step(s, n.b)
		if next.dead() {
			continue
		}
		for _, id := range n.ids {
			may.Add(id)
		}
		g.walk(next, t, c, may)
	}
}

// Matches reports whether a text is one that the grammar writes, by bytes alone: of added tokens it knows nothing.
func (g *Grammar) Matches(text string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.readText(g.start, text).ends
}
