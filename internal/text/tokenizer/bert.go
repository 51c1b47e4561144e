package tokenizer

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// bertNormalizer is BERT's cleaning: control characters are dropped and white space becomes a space; each Chinese
// character is put between spaces; accents are dropped; and what is left is mapped to lower case.
func bertNormalizer(clean, chinese, accents, lowercase bool) normalizer {
	var all []normalizer
	if clean {
		dropped := spansOf(unicode.Cc, unicode.Cf, unicode.Co).minus(laterFormats()).union(span{0, 0}, span{0xFFFD, 0xFFFD})
		all = append(all, func(text string) string {
			return strings.Map(func(r rune) rune {
				switch {
				case unicode.IsSpace(r) && (r == '\t' || r == '\n' || r == '\r' || !dropped.has(r)):
					return ' '
				case dropped.has(r):
					return -1
				}
				return r
			}, text)
		})
	}
	if chinese {
		all = append(all, spacesAroundChinese)
	}
	if accents {
		marks := bertMarks()
		decompose := normalForm(norm.NFD)
		all = append(all, func(text string) string {
			return strings.Map(func(r rune) rune {
				if marks.has(r) {
					return -1
				}
				return r
			}, decompose(text))
		})
	}
	if lowercase {
		all = append(all, lower)
	}
	return sequence(all)
}

func spacesAroundChinese(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B81F ||
			r >= 0x2B920 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F {
			b.WriteString(" " + string(r) + " ")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// laterFormats are format characters that BertNormalizer's tables, of Unicode 8, do not know.
func laterFormats() spans {
	return spans{{0x890, 0x891}, {0x8E2, 0x8E2}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}}
}

// bertMarks is what BertNormalizer takes for an accent: the nonspacing marks of Unicode 8.
func bertMarks() spans {
	later := spans{
		{0x7FD, 0x7FD}, {0x898, 0x89F}, {0x8CA, 0x8E1}, {0x9FE, 0x9FE}, {0xAFA, 0xAFF}, {0xB55, 0xB55}, {0xC04, 0xC04},
		{0xC3C, 0xC3C}, {0xD00, 0xD00}, {0xD3B, 0xD3C}, {0xD81, 0xD81}, {0xEBA, 0xEBA}, {0xECE, 0xECE}, {0x180F, 0x180F},
		{0x1885, 0x1886}, {0x1ABF, 0x1ACE}, {0x1DF6, 0x1DFB}, {0xA82C, 0xA82C}, {0xA8C5, 0xA8C5}, {0xA8FF, 0xA8FF},
		{0xA9BD, 0xA9BD}, {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50},
		{0x10F82, 0x10F85}, {0x11070, 0x11074}, {0x110C2, 0x110C2}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF},
		{0x1123E, 0x11241}, {0x1133B, 0x1133B}, {0x11438, 0x1145E}, {0x1182F, 0x1183A}, {0x1193B, 0x11943},
		{0x119D4, 0x11A0A}, {0x11A33, 0x11A5B}, {0x11A8A, 0x11A99}, {0x11C30, 0x11C3F}, {0x11C92, 0x11CB6},
		{0x11D31, 0x11D47}, {0x11D90, 0x11D97}, {0x11EF3, 0x11F01}, {0x11F36, 0x11F42}, {0x13440, 0x13455},
		{0x16F4F, 0x16F4F}, {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E02A}, {0x1E08F, 0x1E08F},
		{0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1E944, 0x1E94A},
	}
	return spansOf(unicode.Mn).minus(later).union(span{0x1734, 0x1734})
}
