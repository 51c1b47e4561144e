package scenario

import (
	"regexp/syntax"
	"strings"
)

// Examples are texts that the condition of a check is made for. They meet it unless nothing does, or, of a regular
// expression, unless none was found; ok is false where none can be made.
func (c Check) Examples() (texts []string, ok bool) {
	switch {
	case c.Equals != nil:
		return []string{*c.Equals}, true
	case c.Contains != nil:
		return []string{*c.Contains}, true
	case c.AnyOf != nil:
		return c.AnyOf, true
	case c.OneOf != nil:
		return c.OneOf, true
	case c.Set != nil:
		return []string{strings.Join(c.Set, ", "), strings.Join(c.Set, "\n")}, true
	case c.Number != nil:
		return c.Number.Spellings(), true
	case c.Regex != nil:
		parsed, err := syntax.Parse(*c.Regex, syntax.Perl)
		if err != nil {
			return nil, true
		}
		text := exampleOf(parsed.Simplify())
		return []string{text, text + "a", "a" + text, text + " ", text + "0"}, true
	}
	return nil, false
}

// exampleOf is a short text that a regular expression may match, as far as each part of it can be looked at alone.
func exampleOf(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return string(runeOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpPlus:
		return exampleOf(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(exampleOf(re.Sub[0]), re.Min)
	case syntax.OpAlternate:
		return exampleOf(re.Sub[0])
	case syntax.OpConcat:
		var b strings.Builder
		for _, part := range re.Sub {
			b.WriteString(exampleOf(part))
		}
		return b.String()
	}
	return "" // what may be left out, and what has no width
}

// runeOf takes a letter or digit of a class of characters, which is pairs of a first and a last one, where it has any.
func runeOf(class []rune) rune {
	for _, r := range "a0A _-." {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	if len(class) == 0 {
		return 'a'
	}
	return class[0]
}
