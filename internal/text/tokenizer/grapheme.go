package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// clusters finds grapheme clusters (UAX #29, extended).
type clusters struct{ controls, prepends, joining, pictures *set }

func newClusters() *clusters {
	prepends := spans{
		{0x600, 0x605}, {0x6DD, 0x6DD}, {0x70F, 0x70F}, {0x890, 0x891}, {0x8E2, 0x8E2}, {0xD4E, 0xD4E},
		{0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x111C2, 0x111C3}, {0x113D1, 0x113D1}, {0x1193F, 0x1193F},
		{0x11941, 0x11941}, {0x11A84, 0x11A89}, {0x11D46, 0x11D46}, {0x11F02, 0x11F02},
	}
	notJoining := spans{ // marks that take a place of their own
		{0x102B, 0x102C}, {0x1038, 0x1038}, {0x1062, 0x1064}, {0x1067, 0x106D}, {0x1083, 0x1083}, {0x1087, 0x108C},
		{0x108F, 0x108F}, {0x109A, 0x109C}, {0x1A61, 0x1A61}, {0x1A63, 0x1A64}, {0xAA7B, 0xAA7B}, {0xAA7D, 0xAA7D},
		{0x11720, 0x11721},
	}
	joining := property("M").union(spansOf(unicode.Other_Grapheme_Extend)...).minus(notJoining).
		union(span{0x200D, 0x200D}, span{0xE33, 0xE33}, span{0xEB3, 0xEB3}, span{0x1F3FB, 0x1F3FF}).union(
		spans{ // Unicode 17's
			{0x1ACF, 0x1ADD}, {0x1AE0, 0x1AEB}, {0x10EFA, 0x10EFB}, {0x11B60, 0x11B67}, {0x1E6E3, 0x1E6E3},
			{0x1E6E6, 0x1E6E6}, {0x1E6EE, 0x1E6EF}, {0x1E6F5, 0x1E6F5},
		}...)
	ignorable := spans{
		{0x2065, 0x2065}, {0xFFF0, 0xFFF8}, {0xE0000, 0xE0000}, {0xE0002, 0xE001F}, {0xE0080, 0xE00FF},
		{0xE01F0, 0xE0FFF},
	}
	controls := spansOf(unicode.Cc, unicode.Cf, unicode.Zl,
		unicode.Zp).union(ignorable...).minus(joining).minus(prepends)
	regional := spans{{0x1F1E6, 0x1F1FF}}
	return &clusters{newSet(controls), newSet(prepends), newSet(joining), newSet(property("So").minus(regional))}
}

// end returns where the cluster of text at start ends. Rules that only tell apart where clusters of more than
// maxRewritten bytes end are left out: two flags are one flag each, and a consonant stands apart from the virama
// before.
func (c *clusters) end(text string, start int) int {
	r, size := utf8.DecodeRuneInString(text[start:])
	end := start + size
	if r == '\r' && end < len(text) && text[end] == '\n' {
		return end + 1
	}
	if c.controls.has(r) {
		return end
	}
	picture := c.pictures.has(r)
	for end < len(text) {
		next, size := utf8.DecodeRuneInString(text[end:])
		switch {
		case c.controls.has(next):
			return end
		case c.joining.has(next), c.prepends.has(r), hangul(r, next):
		case r == 0x200D && picture && c.pictures.has(next):
		default:
			return end
		}
		picture = picture && c.joining.has(next) || c.pictures.has(next)
		r = next
		end += size
	}
	return end
}

// hangul reports whether two letters of Korean are parts of one syllable.
func hangul(a, b rune) bool {
	lead := a >= 0x1100 && a <= 0x115F || a >= 0xA960 && a <= 0xA97C
	syllable := func(r rune) bool { return r >= 0xAC00 && r <= 0xD7A3 }
	vowel := func(r rune) bool { return r >= 0x1160 && r <= 0x11A7 || r >= 0xD7B0 && r <= 0xD7C6 }
	tail := func(r rune) bool { return r >= 0x11A8 && r <= 0x11FF || r >= 0xD7CB && r <= 0xD7FB }
	switch {
	case lead:
		return b >= 0x1100 && b <= 0x115F || b >= 0xA960 && b <= 0xA97C || vowel(b) || syllable(b)
	case vowel(a), syllable(a) && (a-0xAC00)%28 == 0:
		return vowel(b) || tail(b)
	}
	return (tail(a) || syllable(a)) && tail(b)
}
