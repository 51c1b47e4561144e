package scan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// checkInvisible finds characters that a tokenizer sees and a person does not.
func (c *checker) checkInvisible(at, text string) {
	type group struct{ start, end, count int }
	groups := map[string]*group{}
	var order []string
	var tags strings.Builder
	previous := rune(0)
	runes := []rune(text)
	offset, flag := 0, 0 // byte offset; characters left of a flag
	for i, r := range runes {
		if n := flagLength(runes[i:]); n > 0 {
			flag = n
		}
		inFlag := flag > 0
		flag = max(0, flag-1)
		next := rune(0)
		if i+1 < len(runes) {
			next = runes[i+1]
		}
		if what := invisibleKind(previous, r, next); what != "" && !inFlag {
			g := groups[what]
			if g == nil {
				g = &group{start: offset}
				groups[what] = g
				order = append(order, what)
			}
			g.count++
			g.end = offset + len(string(r))
			if r >= 0xE0020 && r <= 0xE007E {
				tags.WriteRune(r - 0xE0000)
			}
		}
		previous = r
		offset += len(string(r))
	}
	for _, what := range order {
		g := groups[what]
		message := fmt.Sprintf("%d %s", g.count, what)
		if what == tagKind {
			message += fmt.Sprintf(" that spell %+q", tags.String())
		}
		c.add(HiddenCharacter, invisibleSeverity(what, g.count, text), at, text, g.start, g.end, message)
	}
}

const (
	tagKind       = "tag characters"
	controlKind   = "control characters"
	zeroWidthKind = "zero-width characters"
	turningKind   = "characters that turn text round"
	directionKind = "text direction characters"
	softKind      = "soft hyphens"
	selectorKind  = "variation selectors"
)

// fewHidden is how many hidden characters get into a text by copying it from a page or a document. More can spell
// something.
const fewHidden = 3

// invisibleSeverity tells what spells or hides something from what typesetting leaves behind.
func invisibleSeverity(what string, count int, text string) Severity {
	switch {
	case what == tagKind || what == controlKind || what == turningKind:
		return High
	case what == softKind, what == directionKind && strings.ContainsFunc(text, rightToLeft):
		return Low
	case (what == zeroWidthKind || what == selectorKind) && count > fewHidden:
		return High
	case what == zeroWidthKind && !insideWord.MatchString(text):
		return Low
	}
	return Medium
}

// insideWord is a zero-width character between two letters of a script that writes spaces.
var insideWord = regexp.MustCompile(
	`[\p{Latin}\p{Cyrillic}\p{Greek}][\x{200b}-\x{200d}\x{2060}-\x{2065}\x{feff}]+[\p{Latin}\p{Cyrillic}\p{Greek}]`,
)

// invisibleKind names the kind of a hidden character, "" for one that is drawn or that its neighbours need: joiners in
// emoji and in the scripts that join, selectors after emoji, direction marks beside right-to-left letters (Unicode
// Standard 23.2, UTS 51, UTS 39).
func invisibleKind(previous, r, next rune) string {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return ""
	case unicode.IsControl(r):
		return controlKind
	case r >= 0xE0000 && r <= 0xE007F:
		return tagKind
	case r == 0x200D || r == 0x200C:
		if joins(previous) && (joins(next) || next == 0 || unicode.IsSpace(next)) {
			return ""
		}
		return zeroWidthKind
	case r == 0x200E || r == 0x200F || r == 0x061C:
		if rightToLeft(previous) || rightToLeft(next) {
			return ""
		}
		return directionKind
	case r == 0x202D || r == 0x202E:
		return turningKind
	case r >= 0x202A && r <= 0x202C || r >= 0x2066 && r <= 0x2069:
		return directionKind
	case r == 0x200B || r >= 0x2060 && r <= 0x2065 || r == 0xFEFF || r == 0x180E:
		return zeroWidthKind
	case r == 0x00AD:
		return softKind
	case r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0 || r == 0x2800 || r == 0x034F:
		return "blank characters"
	case r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF:
		if unicode.Is(unicode.Variation_Selector, previous) || previous == 0 || unicode.IsSpace(previous) ||
			previous < 0x80 && !strings.ContainsRune("0123456789#*", previous) {
			return selectorKind
		}
		return ""
	case unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return "format characters"
	case unicode.Is(unicode.Co, r):
		return "private-use characters"
	}
	return ""
}

// flags are the emoji that hold tag characters: England, Scotland and Wales, spelt in tags after a black flag.
var flags = []string{"gbeng", "gbsct", "gbwls"}

// flagLength is how many characters of a text that begins with such a flag belong to it, else 0.
func flagLength(text []rune) int {
	const blackFlag, tag, end = 0x1F3F4, 0xE0000, 0xE007F
	for _, f := range flags {
		spelt := []rune{blackFlag}
		for _, r := range f {
			spelt = append(spelt, tag+r)
		}
		spelt = append(spelt, end)
		if len(text) >= len(spelt) && slices.Equal(text[:len(spelt)], spelt) {
			return len(spelt)
		}
	}
	return 0
}

func joins(r rune) bool {
	return r == 0xFE0F || r >= 0x1F000 && r <= 0x1FAFF || r >= 0x2190 && r <= 0x2BFF ||
		unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
			unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
			unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Mongolian, unicode.Tibetan, unicode.Mn)
}

func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// away is text where a person who skims does not look.
var away = []struct {
	pattern *regexp.Regexp
	message string
}{
	{regexp.MustCompile(`<!--[\s\S]*?-->`), "an HTML comment"},
	{regexp.MustCompile(`[^\s][ \t\x{00a0}\x{2000}-\x{200a}\x{3000}]{100,}[^\s]`), "text after a hundred spaces"},
	{regexp.MustCompile(`[^\s](?:[ \t]*\r?\n){20,}[ \t]*[^\s]`), "text after twenty empty lines"},
	{regexp.MustCompile(`\[[^\]]*\]:\s*#\s*[("]`), "a markdown comment"},
}

func (c *checker) checkMargin(at, text string) {
	for i, a := range away {
		m := a.pattern.FindStringIndex(text)
		if m == nil {
			continue
		}
		severity := Medium
		if comment := i == 0 || i == len(away)-1; comment { // which honest texts have too
			severity = Low
			for _, u := range unitsOf(at, fold(text[m[0]:m[1]]), false) {
				if learnt().score(u.features()) >= enough-carried {
					severity = High
				}
			}
		}
		c.add(HiddenText, severity, at, text, m[0], m[1], a.message)
	}
}
