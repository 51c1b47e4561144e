// Package grammar holds completions to a JSON Schema, token by token.
//
// A schema becomes rules over bytes. A Matcher runs the rules as a machine with a stack, and each state that it has
// seen is kept, so that the set of tokens that may come next is found once for each state. What is written is one of
// the values that the schema accepts, not any of them: properties come in the schema's order, and keys that the schema
// does not name are not written.
package grammar

import (
	"fmt"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/chat/schema"
)

// symbol is one of: a set of bytes, a byte, an added token, a rule, or a rule that is repeated.
type symbol struct {
	set  *set
	id   int32 // where set is nil and rule is 0: of an added token, or -1-b for the byte b
	rule int32 // counted from 1
	// least and most are how often the rule comes; most 0 is once, negative is without end. How often it came stands in
	// a stack, so that a string of thousands of characters takes no more rules than one of ten.
	least, most int32
}

func (x symbol) writes(b byte) bool {
	return x.rule == 0 && (x.set != nil && x.set.has(b) || x.set == nil && x.id == -1-int32(b))
}

func (x symbol) isToken() bool { return x.rule == 0 && x.set == nil && x.id >= 0 }

// set is a set of bytes.
type set [4]uint64

func (s *set) has(b byte) bool { return s[b>>6]>>(b&63)&1 == 1 }

func ranges(pairs ...byte) *set {
	var s set
	for i := 0; i+1 < len(pairs); i += 2 {
		for b := int(pairs[i]); b <= int(pairs[i+1]); b++ {
			s[b>>6] |= 1 << (b & 63)
		}
	}
	return &s
}

// sequence is symbols in a row; a rule is one of several.
type sequence []symbol

// builder collects rules. Rule 1 is where a text begins.
type builder struct {
	rules [][]sequence
	words *Vocabulary

	size int // symbols of all rules, and what else a schema cost
	// rules of schemas, so that one that is referred to often, or holds itself, is made once
	made   map[*chat.Object]int32
	shared map[string]int32 // rules that all schemas have
	unheld map[string]bool
	// by their root, for what references name
	documents map[*chat.Object]*schema.Document
	// compact is that of calls: between JSON's tokens stands one blank or none. They are read by machines, and tokens
	// are few.
	compact bool
}

func newBuilder(v *Vocabulary) *builder {
	b := &builder{words: v, made: map[*chat.Object]int32{}, shared: map[string]int32{}, unheld: map[string]bool{},
		documents: map[*chat.Object]*schema.Document{}}
	b.promise()
	return b
}

// promise makes room for a rule that is defined later.
func (b *builder) promise() int32 {
	b.rules = append(b.rules, nil)
	b.size++
	return int32(len(b.rules))
}

func (b *builder) define(rule int32, alternatives ...sequence) {
	for _, x := range alternatives {
		b.size += 1 + len(x)
	}
	b.rules[rule-1] = alternatives
}

// maxSize bounds what a request may make the rules of: one of a thousand tools has a quarter of it.
const maxSize = 1 << 20

func (b *builder) large() error {
	if b.size <= maxSize {
		return nil
	}
	return fmt.Errorf("the schemas are too large: their rules have more than %d symbols", maxSize)
}

// rule makes a rule of alternatives.
func (b *builder) rule(alternatives ...sequence) symbol {
	r := b.promise()
	b.define(r, alternatives...)
	return symbol{rule: r}
}

// once makes a rule that all schemas share.
func (b *builder) once(name string, make func() []sequence) symbol {
	if b.compact && name != characterRule {
		name += ", compact"
	}
	r, ok := b.shared[name]
	if !ok {
		r = b.promise()
		b.shared[name] = r
		b.define(r, make()...)
	}
	return symbol{rule: r}
}

// bytes is a text as ordinary tokens write it.
func bytes(text string) (out sequence) {
	for i := range len(text) {
		out = append(out, symbol{id: -1 - int32(text[i])})
	}
	return out
}

// literal is a text of the chat template: where the vocabulary has an added token for a part of it, that token writes
// it.
func (b *builder) literal(text string) (out sequence) {
	for len(text) > 0 {
		if id, n := b.words.addedTokenAt(text); n > 0 {
			out = append(out, symbol{id: id})
			text = text[n:]
			continue
		}
		out = append(out, bytes(text[:1])...)
		text = text[1:]
	}
	return out
}

func join(parts ...sequence) (out sequence) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func one(s symbol) sequence { return sequence{s} }

// maybe is the sequence or nothing.
func (b *builder) maybe(s sequence) symbol { return b.rule(nil, s) }

// many is the sequence any number of times.
func (b *builder) many(s sequence) symbol { return b.times(s, 0, -1)[0] }

// times is the sequence, which is never empty, least to most times; a negative most is without end.
func (b *builder) times(s sequence, least, most int) sequence {
	x := symbol{least: int32(least), most: int32(most)}
	switch {
	case most == 0:
		return nil
	case len(s) == 1 && s[0].most == 0 && s[0].rule > 0:
		x.rule = s[0].rule
	default:
		x.rule = b.rule(s).rule
	}
	return sequence{x}
}

// space is what may stand between JSON's tokens: what json.dumps writes, with or without indent, and nothing more,
// since white space without end is no answer.
func (b *builder) space() symbol {
	return b.once("space", func() []sequence {
		blank := one(symbol{set: ranges(' ', ' ')})
		if b.compact {
			return []sequence{nil, blank}
		}
		return []sequence{nil, blank, join(bytes("\n"), b.times(blank, 0, 16))}
	})
}

// characterRule is the name of the rule of characters.
const characterRule = "character"

// character is one of a JSON string: as it is, or escaped. Half of a surrogate pair cannot be written.
func (b *builder) character() symbol {
	return b.once(characterRule, func() []sequence {
		hex := symbol{set: ranges('0', '9', 'a', 'f', 'A', 'F')}
		low := symbol{set: ranges(0x80, 0xBF)}
		s := func(pairs ...byte) symbol { return symbol{set: ranges(pairs...)} }
		return []sequence{
			{s(0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7E)},
			{s('\\', '\\'), s('"', '"', '\\', '\\', '/', '/', 'b', 'b', 'f', 'f', 'n', 'n', 'r', 'r', 't', 't')},
			{s('\\', '\\'), s('u', 'u'), s('0', '9', 'a', 'c', 'A', 'C', 'e', 'f', 'E', 'F'), hex, hex, hex},
			{s('\\', '\\'), s('u', 'u'), s('d', 'd', 'D', 'D'), s('0', '7'), hex, hex},
			{s(0xC2, 0xDF), low}, // UTF-8, as RFC 3629 has it
			{s(0xE0, 0xE0), s(0xA0, 0xBF), low},
			{s(0xE1, 0xEC, 0xEE, 0xEF), low, low},
			{s(0xED, 0xED), s(0x80, 0x9F), low},
			{s(0xF0, 0xF0), s(0x90, 0xBF), low, low},
			{s(0xF1, 0xF3), low, low, low},
			{s(0xF4, 0xF4), s(0x80, 0x8F), low, low},
		}
	})
}

// text is a JSON string of least to most characters.
func (b *builder) text(least, most int) symbol {
	if least == 0 && most < 0 {
		return b.once("text", func() []sequence {
			return []sequence{join(bytes(`"`), one(b.many(one(b.character()))), bytes(`"`))}
		})
	}
	return b.rule(join(bytes(`"`), b.times(one(b.character()), least, most), bytes(`"`)))
}

// digits bound numbers, which else may never end.
const digits = 15

// integer is one of up to 19 digits that 64 bits hold: keys of databases are of that size.
func (b *builder) integer() symbol {
	return b.once("integer", func() []sequence {
		positive := b.rule(append(spans(1, limit), widest()...)...)
		return []sequence{bytes("0"), one(positive), join(bytes("-"), one(positive))}
	})
}

func (b *builder) number() symbol {
	return b.once("number", func() []sequence {
		digit := one(symbol{set: ranges('0', '9')})
		fraction := b.maybe(join(bytes("."), b.times(digit, 1, digits)))
		exponent := b.maybe(join(one(symbol{set: ranges('e', 'e', 'E', 'E')}),
			one(b.maybe(one(symbol{set: ranges('+', '+', '-', '-')}))), b.times(digit, 1, 2)))
		whole := b.rule(bytes("0"), join(one(symbol{set: ranges('1', '9')}), b.times(digit, 0, digits-1)))
		return []sequence{{b.maybe(bytes("-")), whole, fraction, exponent}}
	})
}

// value is any JSON value.
func (b *builder) value() symbol {
	return b.once("value", func() []sequence {
		return []sequence{one(b.text(0, -1)), one(b.number()), bytes("true"), bytes("false"), bytes("null"),
			one(b.anyObject()), one(b.array(b.value, 0, -1))}
	})
}

func (b *builder) anyObject() symbol {
	return b.once("object", func() []sequence { return b.members(one(b.text(0, -1)), b.value()) })
}

// members are objects of any number of members of one kind.
func (b *builder) members(key sequence, value symbol) []sequence {
	sp := one(b.space())
	member := join(sp, key, bytes(":"), sp, one(value))
	return []sequence{
		join(bytes("{"), sp, bytes("}")),
		join(bytes("{"), member, one(b.many(join(bytes(","), member))), sp, bytes("}")),
	}
}

// array is one of least to most items.
func (b *builder) array(item func() symbol, least, most int) symbol {
	sp := one(b.space())
	var alternatives []sequence
	if least == 0 {
		alternatives = append(alternatives, join(bytes("["), sp, bytes("]")))
	}
	if most != 0 {
		r := b.promise() // an item may be an array of the same
		x := join(sp, one(item()))
		rest := -1
		if most > 0 {
			rest = most - 1
		}
		b.define(r, join(bytes("["), x, b.times(join(bytes(","), x), max(0, least-1), rest), sp, bytes("]")))
		alternatives = append(alternatives, one(symbol{rule: r}))
	}
	return b.rule(alternatives...)
}

// jsonText is a text as JSON, as ordinary tokens write it.
func jsonText(text string) sequence {
	const hex = "0123456789abcdef"
	out := []byte{'"'}
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, '\\', 'n')
		case r == '\t':
			out = append(out, '\\', 't')
		case r < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return bytes(string(append(out, '"')))
}
