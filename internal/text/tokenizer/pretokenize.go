package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// splitter is a pre-tokenizer: it cuts a text into pieces, which may differ from the text. first says that the text
// begins where the whole input does.
type splitter interface {
	split(text string, first bool, yield func(piece string, first bool))
}

// behavior says what becomes of the matches of a Split.
type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
	contiguous         behavior = "Contiguous"
)

// regexSplitter cuts at the matches of an expression; inverted, at what lies between them.
type regexSplitter struct {
	re       *regex
	behavior behavior
	invert   bool
}

func (s regexSplitter) split(text string, first bool, yield func(string, bool)) {
	switch s.behavior {
	case isolated:
		s.parts(text, func(low, high int, _ bool) { yield(text[low:high], first && low == 0) })
	case removed:
		s.parts(text, func(low, high int, match bool) {
			if !match {
				yield(text[low:high], first && low == 0)
			}
		})
	default:
		start, end := 0, 0
		previous := false
		s.parts(text, func(low, high int, match bool) {
			joined := false
			switch s.behavior {
			case mergedWithPrevious:
				joined = match && !previous
			case mergedWithNext:
				joined = !match && previous
			case contiguous:
				joined = match == previous
			}
			if !joined && end > start {
				yield(text[start:end], first && start == 0)
				start = low
			}
			end, previous = high, match
		})
		if end > start {
			yield(text[start:end], first && start == 0)
		}
	}
}

// parts yields the matches and what lies between them, in order; empty ones are left out.
func (s regexSplitter) parts(text string, yield func(low, high int, match bool)) {
	m := newMatcher(s.re, text)
	start := 0
	for after := -1; ; {
		low, high, ok := m.find(text, start, after)
		if !ok {
			break
		}
		if low > start {
			yield(start, low, s.invert)
		}
		if high > low {
			yield(low, high, !s.invert)
		}
		start, after = high, high
	}
	if start < len(text) {
		yield(start, len(text), s.invert)
	}
}

// literal matches a fixed string.
func literal(text string) *regex {
	n := &node{kind: nodeConcat}
	for _, r := range text {
		n.subs = append(n.subs, &node{kind: nodeSet, set: spans{{r, r}}})
	}
	return newRegex(n)
}

// spacePrefixer puts a space before a text that begins with none.
type spacePrefixer struct{}

func (spacePrefixer) split(text string, first bool, yield func(string, bool)) {
	if !strings.HasPrefix(text, " ") {
		text = " " + text
	}
	yield(text, first)
}

// byteMapper writes a text in the byte alphabet.
type byteMapper struct{ alphabet alphabet }

func (b byteMapper) split(text string, first bool, yield func(string, bool)) {
	yield(b.alphabet.encode(text), first)
}

// metaspace writes spaces as a visible character, puts one in front and cuts before each.
type metaspace struct {
	replacement string
	scheme      string // of what is put in front: "always", "first", "never"
	cut         regexSplitter
	whole       bool // do not cut
}

func (s metaspace) split(text string, first bool, yield func(string, bool)) {
	text = strings.ReplaceAll(text, " ", s.replacement)
	if (s.scheme == "always" || s.scheme == "first" && first) && !strings.HasPrefix(text, s.replacement) {
		text = s.replacement + text
	}
	if s.whole {
		yield(text, first)
		return
	}
	s.cut.split(text, first, yield)
}

// preTokenizer builds the splitters of a "pre_tokenizer". A ByteLevel's own mapping to the byte alphabet is a
// byteMapper, which the caller may take off the end where the model works on bytes.
func (b *builder) preTokenizer(p part) []splitter {
	if p.null() {
		return nil
	}
	var o struct {
		Pretokenizers    []part
		Pattern          pattern
		Behavior         behavior
		Invert           bool
		AddPrefixSpace   *bool `json:"add_prefix_space"`
		UseRegex         *bool `json:"use_regex"`
		IndividualDigits bool  `json:"individual_digits"`
		Replacement      string
		PrependScheme    string `json:"prepend_scheme"`
		Split            *bool
		Delimiter        string
	}
	switch kind := b.read(p, &o); kind {
	case "Sequence":
		var all []splitter
		for i, sub := range o.Pretokenizers {
			all = append(all, b.preTokenizer(sub.at(p, "pretokenizers", i))...)
		}
		return all
	case "ByteLevel":
		return byteLevel(o.AddPrefixSpace == nil || *o.AddPrefixSpace, o.UseRegex == nil || *o.UseRegex)
	case "Split":
		return []splitter{b.split(p, o.Pattern, o.Behavior, o.Invert)}
	case "Digits":
		how := contiguous
		if o.IndividualDigits {
			how = isolated
		}
		return []splitter{regexSplitter{setRegex(numeric()), how, false}}
	case "Punctuation":
		return []splitter{regexSplitter{setRegex(punctuation()), b.behavior(p, o.Behavior, isolated), false}}
	case "Whitespace":
		word := wordRust()
		run := func(s spans) *node {
			return &node{kind: nodeRepeat, min: 1, max: -1, subs: []*node{{kind: nodeSet, set: s}}}
		}
		words := newRegex(&node{kind: nodeAlternate,
			subs: []*node{run(word), run(word.union(whiteSpace()...).complement())}})
		return []splitter{regexSplitter{words, removed, true}}
	case "WhitespaceSplit":
		return []splitter{regexSplitter{setRegex(whiteSpace()), removed, false}}
	case "CharDelimiterSplit":
		return []splitter{regexSplitter{b.character(p, "delimiter", o.Delimiter), removed, false}}
	case "Metaspace":
		cut := regexSplitter{b.character(p, "replacement", o.Replacement), mergedWithNext, false}
		scheme := b.scheme(p, o.PrependScheme, o.AddPrefixSpace)
		return []splitter{metaspace{o.Replacement, scheme, cut, o.Split != nil && !*o.Split}}
	default:
		b.unsupportedKind(p, kind,
			"ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace, "+
				"WhitespaceSplit")
		return nil
	}
}

// gpt2 is the expression that GPT-2 splits by, and ByteLevel with use_regex.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

func byteLevel(prefixSpace, useRegex bool) []splitter {
	var all []splitter
	if prefixSpace {
		all = append(all, spacePrefixer{})
	}
	if useRegex {
		all = append(all, mustSplit(gpt2))
	}
	return append(all, byteMapper{newAlphabet()})
}

// mustSplit isolates the matches of an expression of our own.
func mustSplit(expression string) splitter {
	re, err := compileRegex(expression)
	if err != nil {
		panic("hone: " + err.Error()) // a mistake in this package: each is compiled in a test
	}
	return regexSplitter{re, isolated, false}
}

func (b *builder) split(p part, what pattern, how behavior, invert bool) splitter {
	s := regexSplitter{behavior: b.behavior(p, how, ""), invert: invert}
	switch {
	case what.Regex != nil:
		s.re = b.regex(p, *what.Regex)
	case what.String != nil && *what.String != "":
		s.re = literal(*what.String)
	default:
		b.fail(p, "its pattern is empty")
	}
	return s
}

func (b *builder) behavior(p part, how, usual behavior) behavior {
	switch how {
	case removed, isolated, mergedWithPrevious, mergedWithNext, contiguous:
		return how
	case "":
		if usual != "" {
			return usual
		}
	}
	b.fail(p, "its behavior %q is not one of Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous", how)
	return ""
}

// character checks an option that has to be one character.
func (b *builder) character(p part, name, text string) *regex {
	if utf8.RuneCountInString(text) != 1 {
		b.fail(p, "its %s %q is not one character", name, text)
		return nil
	}
	return literal(text)
}

// scheme reads when a Metaspace puts its character in front; older files say it by add_prefix_space.
func (b *builder) scheme(p part, scheme string, prefixSpace *bool) string {
	switch {
	case prefixSpace != nil && !*prefixSpace && (scheme == "" || scheme == "never"):
		return "never"
	case scheme == "":
		return "always"
	case scheme != "always" && scheme != "first" && scheme != "never", prefixSpace != nil && !*prefixSpace:
		b.fail(p, "its prepend_scheme %q is not one of always, first, never, or contradicts add_prefix_space", scheme)
	}
	return scheme
}
