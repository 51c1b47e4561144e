package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// node is a part of a parsed expression.
type node struct {
	kind     nodeKind
	set      spans // nodeSet, nodeBehind
	subs     []*node
	min, max int // nodeRepeat; max < 0: any number
	mode     repeatMode
	not      bool   // of a look-around or an assertion
	assert   opcode // nodeAssert
}

type nodeKind int

const (
	nodeSet nodeKind = iota
	nodeConcat
	nodeAlternate
	nodeRepeat
	nodeLook
	nodeBehind
	nodeAtomic
	nodeAssert
)

type repeatMode int

const (
	greedy repeatMode = iota
	lazy
	possessive
)

// Bounds that no real expression comes near, so that a hostile one cannot eat memory or our stack.
const (
	maxRegexDepth = 100
	maxRegexProg  = 5_000
	maxRegexText  = 1 << 14 // bytes
	maxCount      = 1000
)

// regexError is what parse panics with; compileRegex returns it.
type regexError struct{ error }

type regexParser struct {
	text  string
	pos   int
	fold  bool // (?i)
	depth int
}

func (p *regexParser) fail(format string, args ...any) {
	panic(regexError{fmt.Errorf("%s at byte %d of the expression %q", fmt.Sprintf(format, args...), p.pos, p.text)})
}

func (p *regexParser) more() bool { return p.pos < len(p.text) }

func (p *regexParser) peek(s string) bool { return strings.HasPrefix(p.text[p.pos:], s) }

func (p *regexParser) take(s string) bool {
	if p.peek(s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *regexParser) rune() rune {
	if !p.more() {
		p.fail("it ends too early")
	}
	r, size := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += size
	return r
}

func (p *regexParser) alternation() *node {
	if p.depth++; p.depth > maxRegexDepth {
		p.fail("it is nested more than %d deep", maxRegexDepth)
	}
	defer func(fold bool) { p.depth--; p.fold = fold }(p.fold)
	n := &node{kind: nodeAlternate, subs: []*node{p.concat()}}
	for p.take("|") {
		n.subs = append(n.subs, p.concat())
	}
	if len(n.subs) == 1 {
		return n.subs[0]
	}
	return n
}

func (p *regexParser) concat() *node {
	n := &node{kind: nodeConcat}
	for p.more() && !p.peek("|") && !p.peek(")") {
		if atom := p.atom(); atom != nil {
			n.subs = append(n.subs, p.quantifier(atom))
		}
	}
	return n
}

func (p *regexParser) quantifier(n *node) *node {
	for p.more() {
		at := p.pos
		low, high := 0, 0
		switch {
		case p.take("?"):
			low, high = 0, 1
		case p.take("*"):
			low, high = 0, -1
		case p.take("+"):
			low, high = 1, -1
		default:
			var ok bool
			if low, high, ok = p.counts(); !ok {
				p.pos = at
				return n
			}
		}
		braces := p.text[at] == '{'
		mode := greedy
		if p.take("?") {
			mode = lazy
		} else if !braces && p.take("+") { // after {n,m} a + repeats it, in Ruby's syntax
			mode = possessive
		}
		if n.kind == nodeLook || n.kind == nodeBehind || n.kind == nodeAssert || minLength(n) == 0 && high != 1 {
			p.fail("repeating what can be empty is not supported")
		}
		n = &node{kind: nodeRepeat, subs: []*node{n}, min: low, max: high, mode: mode}
	}
	return n
}

// counts reads {n}, {n,}, {n,m} or {,m}.
func (p *regexParser) counts() (low, high int, ok bool) {
	if !p.take("{") {
		return 0, 0, false
	}
	body, _, found := strings.Cut(p.text[p.pos:], "}")
	if !found {
		return 0, 0, false
	}
	first, second, two := strings.Cut(body, ",")
	low, err := strconv.Atoi(first)
	if err != nil && !(two && first == "") {
		return 0, 0, false
	}
	high = low
	if two {
		if high, err = strconv.Atoi(second); second == "" {
			high = -1
		} else if err != nil {
			return 0, 0, false
		}
	}
	if low < 0 || low > maxCount || high > maxCount || high >= 0 && high < low {
		p.fail("the counts {%s} are not supported", body)
	}
	p.pos += len(body) + 1
	return low, high, true
}

// atom reads one element; nil for a setting such as (?i), which holds to the end of the group.
func (p *regexParser) atom() *node {
	switch r := p.rune(); r {
	case '(':
		return p.group()
	case '[':
		return &node{kind: nodeSet, set: p.brackets()}
	case '.':
		return &node{kind: nodeSet, set: spans{{'\n', '\n'}}.complement()}
	case '^':
		return &node{kind: nodeAssert, assert: opLineStart}
	case '$':
		return &node{kind: nodeAssert, assert: opLineEnd}
	case '*', '+', '?':
		p.fail("%q has nothing to repeat", r)
		return nil
	case '\\':
		switch {
		case p.take("b"), p.take("B"):
			return &node{kind: nodeAssert, assert: opWordEdge, set: wordOnig(), not: p.text[p.pos-1] == 'B'}
		case p.take("A"):
			return &node{kind: nodeAssert, assert: opTextStart}
		case p.take("z"):
			return &node{kind: nodeAssert, assert: opTextEnd}
		}
		return &node{kind: nodeSet, set: p.foldCase(p.escape())}
	default:
		return &node{kind: nodeSet, set: p.foldCase(spans{{r, r}})}
	}
}

func (p *regexParser) foldCase(s spans) spans {
	if p.fold {
		return s.fold()
	}
	return s
}

func (p *regexParser) group() *node {
	n := &node{kind: nodeConcat}
	fold := p.fold
	switch {
	case p.take("?:"):
	case p.take("?="):
		n.kind = nodeLook
	case p.take("?!"):
		n.kind, n.not = nodeLook, true
	case p.take("?<="):
		n.kind = nodeBehind
	case p.take("?<!"):
		n.kind, n.not = nodeBehind, true
	case p.take("?>"):
		n.kind = nodeAtomic
	case p.take("?i:"):
		p.fold = true
	case p.take("?i)"):
		p.fold = true
		return nil
	case p.peek("?"):
		p.fail("this kind of group is not supported")
	}
	sub := p.alternation()
	p.fold = fold
	if !p.take(")") {
		p.fail("a group is not closed")
	}
	if n.kind == nodeBehind {
		if sub.kind == nodeConcat && len(sub.subs) == 1 {
			sub = sub.subs[0]
		}
		if sub.kind != nodeSet {
			p.fail("looking behind at more than one character is not supported")
		}
		n.set = sub.set
		return n
	}
	n.subs = []*node{sub}
	return n
}

// escape reads what follows a backslash and stands for characters.
func (p *regexParser) escape() spans {
	r := p.rune()
	switch r {
	case 's':
		return whiteSpace()
	case 'S':
		return whiteSpace().complement()
	case 'd':
		return property("Nd")
	case 'D':
		return property("Nd").complement()
	case 'w':
		return wordOnig()
	case 'W':
		return wordOnig().complement()
	case 'p', 'P':
		return p.property(r == 'P')
	case 'n':
		r = '\n'
	case 'r':
		r = '\r'
	case 't':
		r = '\t'
	case 'f':
		r = '\f'
	case 'v':
		r = '\v'
	case 'u':
		r = p.hex(4)
	case 'x':
		if p.take("{") {
			r = p.hex(strings.IndexByte(p.text[p.pos:], '}'))
			p.take("}")
		} else {
			r = p.hex(2)
		}
	default:
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			p.fail(`\%c is not supported`, r)
		}
	}
	return spans{{r, r}}
}

func (p *regexParser) hex(digits int) rune {
	if digits <= 0 || digits > 8 || p.pos+digits > len(p.text) {
		p.fail("a character number is cut off")
	}
	n, err := strconv.ParseUint(p.text[p.pos:p.pos+digits], 16, 32)
	if err != nil || n > unicode.MaxRune {
		p.fail("a character number is not valid")
	}
	p.pos += digits
	return rune(n)
}

func (p *regexParser) property(not bool) spans {
	name, _, found := strings.Cut(p.text[p.pos:], "}")
	if !found || !strings.HasPrefix(name, "{") {
		p.fail(`\p needs a name in braces`)
	}
	p.pos += len(name) + 1
	name = name[1:]
	if after, ok := strings.CutPrefix(name, "^"); ok {
		name, not = after, !not
	}
	s := property(name)
	if s == nil {
		p.fail(`\p{%s} is not supported: categories and scripts are`, name)
	}
	if not {
		return s.complement()
	}
	return s
}

// brackets reads a character class after its "[".
func (p *regexParser) brackets() spans {
	if p.depth++; p.depth > maxRegexDepth {
		p.fail("it is nested more than %d deep", maxRegexDepth)
	}
	defer func() { p.depth-- }()
	not := p.take("^")
	var s spans
	for first := true; ; first = false {
		switch {
		case !p.more():
			p.fail("a class is not closed")
		case p.take("[:"):
			p.fail("POSIX classes are not supported")
		case p.take("["):
			s = s.union(p.brackets()...)
			continue
		case p.take("&&"):
			s = p.foldCase(s).intersect(p.rest())
			return negate(s, not)
		case p.peek("]") && !first:
			p.pos++
			return negate(p.foldCase(s), not)
		}
		s = s.union(p.member()...)
	}
}

// rest reads the right side of && up to the class's "]".
func (p *regexParser) rest() spans {
	if p.peek("]") {
		p.fail("&& has no right side")
	}
	return p.brackets()
}

func negate(s spans, not bool) spans {
	if not {
		return s.complement()
	}
	return s
}

// member reads a character, a range or an escape within brackets.
func (p *regexParser) member() spans {
	low := p.bracketRunes()
	if len(low) != 1 || low[0].lo != low[0].hi || !p.peek("-") || p.peek("-]") {
		return low
	}
	p.pos++
	high := p.bracketRunes()
	if len(high) != 1 || high[0].lo != high[0].hi || high[0].lo < low[0].lo {
		p.fail("a range in a class is not valid")
	}
	return spans{{low[0].lo, high[0].lo}}
}

func (p *regexParser) bracketRunes() spans {
	if p.take(`\`) {
		return p.escape()
	}
	r := p.rune()
	return spans{{r, r}}
}
