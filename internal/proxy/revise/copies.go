package revise

import (
	"strings"
	"unicode"

	"hone/internal/chat"
)

// near copies are outputs of which more than this share of the tokens are the draft's.
const nearCopy = 0.9

// Copies counts, over rows that need a change, outputs that say the draft again.
type Copies struct {
	Rows  int `json:"rows"`  // that need a change
	Equal int `json:"equal"` // outputs that are the draft
	Near  int `json:"near"`  // outputs of which more than 90% of the tokens are the draft's, the equal ones among them
	Fixed int `json:"fixed"` // outputs that are right
}

// Add counts one output for a draft that is not right behind the fixer.
func (c *Copies) Add(draft, output chat.Message, right bool) {
	c.Rows++
	a, b := DraftText(draft), DraftText(output)
	if squeeze(a) == squeeze(b) {
		c.Equal++
	}
	if Overlap(a, b) > nearCopy {
		c.Near++
	}
	if right {
		c.Fixed++
	}
}

// Overlap is the share of the tokens of two texts that both have: 2 |A and B| / (|A| + |B|), as multisets of words,
// numbers and signs.
func Overlap(a, b string) float64 {
	x, y := words(a), words(b)
	if len(x)+len(y) == 0 {
		return 1
	}
	count := map[string]int{}
	for _, w := range x {
		count[w]++
	}
	both := 0
	for _, w := range y {
		if count[w] > 0 {
			count[w]--
			both++
		}
	}
	return 2 * float64(both) / float64(len(x)+len(y))
}

func words(s string) (out []string) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			flush()
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			flush()
			out = append(out, string(r))
		}
	}
	flush()
	return out
}

func squeeze(s string) string { return strings.Join(words(s), " ") }
