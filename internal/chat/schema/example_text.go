package schema

import (
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

const exampleWords = "amber birch cedar delta ember frost grove heron iris jade kite lotus maple north opal pearl " +
	"quartz river slate tulip"

func (d *drawer) word() string {
	words := strings.Fields(exampleWords)
	return words[d.r.IntN(len(words))]
}

// formats make texts of the formats of JSON Schema; what they name is nobody's (RFC 2606, RFC 5737).
var formats = map[string]func(*rand.Rand) string{
	"date": func(r *rand.Rand) string {
		return fmt.Sprintf("20%02d-%02d-%02d", r.IntN(30), 1+r.IntN(12), 1+r.IntN(28))
	},
	"time": func(r *rand.Rand) string { return fmt.Sprintf("%02d:%02d:00Z", r.IntN(24), r.IntN(60)) },
	"date-time": func(r *rand.Rand) string {
		return fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d:00Z",
			r.IntN(30), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60))
	},
	"duration":      func(r *rand.Rand) string { return fmt.Sprintf("PT%dM", 1+r.IntN(59)) },
	"email":         func(r *rand.Rand) string { return fmt.Sprintf("user%d@example.com", r.IntN(100)) },
	"idn-email":     func(r *rand.Rand) string { return fmt.Sprintf("user%d@example.com", r.IntN(100)) },
	"hostname":      func(r *rand.Rand) string { return fmt.Sprintf("host%d.example.com", r.IntN(100)) },
	"idn-hostname":  func(r *rand.Rand) string { return fmt.Sprintf("host%d.example.com", r.IntN(100)) },
	"ipv4":          func(r *rand.Rand) string { return fmt.Sprintf("192.0.2.%d", 1+r.IntN(254)) },
	"ipv6":          func(r *rand.Rand) string { return fmt.Sprintf("2001:db8::%x", 1+r.IntN(65535)) },
	"uri":           func(r *rand.Rand) string { return fmt.Sprintf("https://example.com/%d", r.IntN(100)) },
	"iri":           func(r *rand.Rand) string { return fmt.Sprintf("https://example.com/%d", r.IntN(100)) },
	"uri-reference": func(r *rand.Rand) string { return fmt.Sprintf("/a/%d", r.IntN(100)) },
	"iri-reference": func(r *rand.Rand) string { return fmt.Sprintf("/a/%d", r.IntN(100)) },
	"uri-template":  func(r *rand.Rand) string { return fmt.Sprintf("/a/{b%d}", r.IntN(100)) },
	"json-pointer":  func(r *rand.Rand) string { return fmt.Sprintf("/a/%d", r.IntN(100)) },
	"regex":         func(r *rand.Rand) string { return fmt.Sprintf("^a{%d}", 1+r.IntN(9)) },
	"uuid": func(r *rand.Rand) string {
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x",
			r.Uint32(), r.Uint32()&0xffff, r.Uint32()&0xfff, r.Uint32()&0xfff, r.Uint64()&0xffffffffffff)
	},
}

// matching draws a text that a regular expression is found in. ok is false for one that Go's syntax does not have, such
// as one that looks ahead.
func (d *drawer) matching(pattern string) (text string, ok bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	d.match(&b, parsed, 0)
	return b.String(), true
}

// mostRepeats bounds what an expression may repeat without end.
const mostRepeats = 6

func (d *drawer) match(b *strings.Builder, re *syntax.Regexp, depth int) {
	if depth > 40 || b.Len() > 4000 {
		return
	}
	repeat := func(low, high int) {
		if high < 0 || high > low+mostRepeats {
			high = low + mostRepeats
		}
		for range low + d.r.IntN(high-low+1) {
			d.match(b, re.Sub[0], depth+1)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(d.oneOfClass(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(byte('a' + d.r.IntN(26)))
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	case syntax.OpAlternate:
		d.match(b, re.Sub[d.r.IntN(len(re.Sub))], depth+1)
	case syntax.OpCapture, syntax.OpConcat:
		for _, part := range re.Sub {
			d.match(b, part, depth+1)
		}
	}
}

// oneOfClass is a character of a class, given as pairs of bounds: a printable one of ASCII where it has some.
func (d *drawer) oneOfClass(pairs []rune) rune {
	var plain, all []rune
	for i := 0; i+1 < len(pairs); i += 2 {
		low, high := pairs[i], pairs[i+1]
		for r := max(low, '!'); r <= min(high, '~'); r++ {
			plain = append(plain, r)
		}
		all = append(all, low+rune(d.r.IntN(int(min(high-low, 1000))+1)))
	}
	if len(plain) > 0 {
		all = plain
	}
	if len(all) == 0 {
		return 'x'
	}
	return all[d.r.IntN(len(all))]
}
