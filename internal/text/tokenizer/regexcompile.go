package tokenizer

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// compileRegex compiles an expression in Oniguruma's (Ruby's) syntax. What is not supported is an error that says so.
func compileRegex(text string) (re *regex, err error) {
	defer func() {
		if r := recover(); r != nil {
			failure, ok := r.(regexError)
			if !ok {
				panic(r)
			}
			re, err = nil, failure.error
		}
	}()
	p := &regexParser{text: text}
	if len(text) > maxRegexText {
		return nil, fmt.Errorf("an expression has %d bytes, more than %d", len(text), maxRegexText)
	}
	tree := p.alternation()
	if p.more() {
		p.fail("a %q has no partner", p.text[p.pos])
	}
	return newRegex(tree), nil
}

// newRegex compiles a tree.
func newRegex(tree *node) *regex {
	c := &regexCompiler{sets: map[string]*set{}}
	for _, branch := range branches(tree) {
		a := alternative{start: len(c.prog)}
		starts, empty := firstOf(branch)
		for b := range 256 {
			a.first[b] = empty || b >= utf8.RuneSelf && starts.beyondASCII() || b < utf8.RuneSelf && starts.has(rune(b))
		}
		c.emit(branch)
		c.add(inst{op: opAccept})
		c.alts = append(c.alts, a)
	}
	c.optimise()
	return &c.regex
}

// setRegex matches one character of a set at a time.
func setRegex(s spans) *regex { return newRegex(&node{kind: nodeSet, set: s}) }

func branches(n *node) []*node {
	switch {
	case n.kind == nodeAlternate:
		return n.subs
	case n.kind == nodeConcat && len(n.subs) == 1:
		return branches(n.subs[0])
	}
	return []*node{n}
}

func (a spans) beyondASCII() bool { return len(a) > 0 && a[len(a)-1].hi >= utf8.RuneSelf }

// minLength is the least number of characters that n matches.
func minLength(n *node) int {
	switch n.kind {
	case nodeSet:
		return 1
	case nodeRepeat:
		return min(n.min*minLength(n.subs[0]), maxCount*maxCount)
	case nodeConcat, nodeAtomic:
		sum := 0
		for _, sub := range n.subs {
			sum = min(sum+minLength(sub), maxCount*maxCount)
		}
		return sum
	case nodeAlternate:
		least := minLength(n.subs[0])
		for _, sub := range n.subs[1:] {
			least = min(least, minLength(sub))
		}
		return least
	}
	return 0
}

// firstOf returns a set that holds every character a match of n can begin with, and whether n can match nothing.
func firstOf(n *node) (spans, bool) {
	switch n.kind {
	case nodeSet:
		return n.set, false
	case nodeRepeat:
		s, empty := firstOf(n.subs[0])
		return s, empty || n.min == 0
	case nodeConcat, nodeAtomic:
		var s spans
		for _, sub := range n.subs {
			more, empty := firstOf(sub)
			s = s.union(more...)
			if !empty {
				return s, false
			}
		}
		return s, true
	case nodeAlternate:
		var s spans
		empty := false
		for _, sub := range n.subs {
			more, e := firstOf(sub)
			s, empty = s.union(more...), empty || e
		}
		return s, empty
	}
	return nil, true
}

type regexCompiler struct {
	regex
	sets map[string]*set
}

func (c *regexCompiler) add(in inst) int {
	if len(c.prog) >= maxRegexProg {
		panic(regexError{errors.New("an expression is too large")})
	}
	c.prog = append(c.prog, in)
	return len(c.prog) - 1
}

func (c *regexCompiler) set(s spans) *set {
	key := fmt.Sprint(s)
	if c.sets[key] == nil {
		c.sets[key] = newSet(s)
	}
	return c.sets[key]
}

func (c *regexCompiler) emit(n *node) {
	switch n.kind {
	case nodeSet:
		c.add(inst{op: opSet, set: c.set(n.set)})
	case nodeConcat:
		for _, sub := range n.subs {
			c.emit(sub)
		}
	case nodeAlternate:
		c.alternate(n.subs)
	case nodeRepeat:
		c.repeat(n)
	case nodeLook, nodeAtomic:
		op := opLook
		if n.kind == nodeAtomic {
			op = opAtomic
		}
		at := c.add(inst{op: op, not: n.not})
		c.prog[at].x = len(c.prog)
		c.emit(n.subs[0])
		c.add(inst{op: opAccept})
		c.prog[at].y = len(c.prog)
	case nodeBehind:
		c.add(inst{op: opBehind, not: n.not, set: c.set(n.set)})
	case nodeAssert:
		in := inst{op: n.assert, not: n.not}
		if n.set != nil {
			in.set = c.set(n.set)
		}
		c.add(in)
	}
}

func (c *regexCompiler) alternate(subs []*node) {
	var ends []int
	for _, sub := range subs[:len(subs)-1] {
		split := c.add(inst{op: opSplit})
		c.prog[split].x = len(c.prog)
		c.emit(sub)
		ends = append(ends, c.add(inst{op: opJump}))
		c.prog[split].y = len(c.prog)
	}
	c.emit(subs[len(subs)-1])
	for _, end := range ends {
		c.prog[end].x = len(c.prog)
	}
}

func (c *regexCompiler) repeat(n *node) {
	sub := n.subs[0]
	if sub.kind == nodeSet && n.mode != lazy {
		op := opRepeat
		if n.mode == possessive {
			op = opPossessive
		}
		c.add(inst{op: op, set: c.set(sub.set), min: n.min, max: n.max})
		return
	}
	if n.mode == possessive {
		c.emit(&node{kind: nodeAtomic, subs: []*node{{kind: nodeRepeat, subs: n.subs, min: n.min, max: n.max}}})
		return
	}
	for range n.min {
		c.emit(sub)
	}
	if n.max < 0 {
		split := c.split(n.mode)
		c.emit(sub)
		c.add(inst{op: opJump, x: split})
		c.leave(split, n.mode)
		return
	}
	var splits []int
	for range n.max - n.min {
		splits = append(splits, c.split(n.mode))
		c.emit(sub)
	}
	for _, split := range splits {
		c.leave(split, n.mode)
	}
}

// split chooses between one more and no more; leave sets where "no more" goes on.
func (c *regexCompiler) split(mode repeatMode) int {
	at := c.add(inst{op: opSplit})
	if mode == lazy {
		c.prog[at].y = at + 1
	} else {
		c.prog[at].x = at + 1
	}
	return at
}

func (c *regexCompiler) leave(split int, mode repeatMode) {
	if mode == lazy {
		c.prog[split].x = len(c.prog)
	} else {
		c.prog[split].y = len(c.prog)
	}
}

// optimise lets a repeat keep all it took where giving characters back could not help: before the end of the
// expression, and before a character that is none of its own.
func (c *regexCompiler) optimise() {
	for i := range c.prog {
		in := &c.prog[i]
		if in.op != opRepeat {
			continue
		}
		next := c.prog[i+1] // a program ends with opAccept
		for next.op == opJump && next.x > i {
			next = c.prog[next.x]
		}
		if next.op == opAccept ||
			(next.op == opSet || next.op == opRepeat && next.min > 0) && disjoint(in.set, next.set) {
			in.op = opPossessive
		}
	}
}

func disjoint(a, b *set) bool {
	for i := range a.basic {
		if a.basic[i]&b.basic[i] != 0 {
			return false
		}
	}
	return len(slices.Clone(a.rest).intersect(b.rest)) == 0
}
