package tokenizer

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Hugging Face's tokenizers takes its character classes from Oniguruma and from Rust (Unicode 16 and 17) and its
// normal forms from a crate of Unicode 9, while Go's tables are of Unicode 15. What differs stands in this file; it was
// found by asking tokenizers 0.23.3 about every character.

// newer holds what Unicode 16 added to each category.
func newer(category string) spans {
	switch category {
	case "Lu":
		return spans{{0x1C89, 0x1C89}, {0xA7CB, 0xA7CC}, {0xA7DA, 0xA7DA}, {0xA7DC, 0xA7DC}, {0x10D50, 0x10D65}}
	case "Ll":
		return spans{{0x1C8A, 0x1C8A}, {0xA7CD, 0xA7CD}, {0xA7DB, 0xA7DB}, {0x10D70, 0x10D85}}
	case "Lm":
		return spans{{0x10D4E, 0x10D4E}, {0x10D6F, 0x10D6F}, {0x16D40, 0x16D42}, {0x16D6B, 0x16D6C}}
	case "Lo":
		return spans{
			{0x105C0, 0x105F3}, {0x10D4A, 0x10D4D}, {0x10D4F, 0x10D4F}, {0x10EC2, 0x10EC4}, {0x11380, 0x11389},
			{0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7}, {0x113D1, 0x113D1},
			{0x113D3, 0x113D3}, {0x11BC0, 0x11BE0}, {0x13460, 0x143FA}, {0x16100, 0x1611D}, {0x16D43, 0x16D6A},
			{0x18CFF, 0x18CFF}, {0x1E5D0, 0x1E5ED}, {0x1E5F0, 0x1E5F0}, {0x2EBF0, 0x2EE5D},
		}
	case "L":
		return newer("Lu").union(newer("Ll")...).union(newer("Lm")...).union(newer("Lo")...)
	case "M":
		return spans{
			{0x0897, 0x0897}, {0x10D69, 0x10D6D}, {0x10EFC, 0x10EFC}, {0x113B8, 0x113C0}, {0x113C2, 0x113C2},
			{0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D0}, {0x113D2, 0x113D2}, {0x113E1, 0x113E2},
			{0x11F5A, 0x11F5A}, {0x1611E, 0x1612F}, {0x1E5EE, 0x1E5EF},
		}
	case "N", "Nd":
		return spans{
			{0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9}, {0x16130, 0x16139}, {0x16D70, 0x16D79},
			{0x1CCF0, 0x1CCF9}, {0x1E5F1, 0x1E5FA},
		}
	case "P":
		return spans{
			{0x1B4E, 0x1B4F}, {0x1B7F, 0x1B7F}, {0x10D6E, 0x10D6E}, {0x113D4, 0x113D5}, {0x113D7, 0x113D8},
			{0x11BE1, 0x11BE1}, {0x16D6D, 0x16D6F}, {0x1E5FF, 0x1E5FF},
		}
	case "S":
		return spans{
			{0x2427, 0x2429}, {0x2FFC, 0x2FFF}, {0x31E4, 0x31E5}, {0x31EF, 0x31EF}, {0x10D8E, 0x10D8F}, {0x1CC00, 0x1CCEF},
			{0x1CD00, 0x1CEB3}, {0x1F8B2, 0x1F8BB}, {0x1F8C0, 0x1F8C1}, {0x1FA89, 0x1FA89}, {0x1FA8F, 0x1FA8F},
			{0x1FABE, 0x1FABE}, {0x1FAC6, 0x1FAC6}, {0x1FADC, 0x1FADC}, {0x1FADF, 0x1FADF}, {0x1FAE9, 0x1FAE9}, {0x1FBCB, 0x1FBEF},
		}
	case "Han":
		return spans{{0x2EBF0, 0x2EE5D}}
	}
	return nil
}

// property is \p{name}: a general category or a script by its short or usual name; nil for any other.
func property(name string) spans {
	switch name {
	case "Letter":
		name = "L"
	case "Mark":
		name = "M"
	case "Number":
		name = "N"
	case "Punctuation", "Punct":
		name = "P"
	case "Symbol":
		name = "S"
	}
	if t, ok := unicode.Categories[name]; ok {
		return spansOf(t).union(newer(name)...)
	}
	if t, ok := unicode.Scripts[name]; ok {
		return spansOf(t).union(newer(name)...)
	}
	return nil
}

func whiteSpace() spans { return spansOf(unicode.White_Space) }

// wordOnig is \w in Oniguruma: alphabetic, marks, digits, connectors, and some of the number letters of Latin-1.
func wordOnig() spans {
	return wordRust().union(span{0xB2, 0xB3}, span{0xB9, 0xB9}, span{0xBC, 0xBE}).minus(spansOf(unicode.Join_Control))
}

// wordRust is \w in Rust's regex crate.
func wordRust() spans {
	return spansOf(unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control).
		union(newer("L")...).union(newer("M")...).union(newer("Nd")...)
}

// numeric is Rust's char::is_numeric.
func numeric() spans { return property("N").union(span{0x11DE0, 0x11DE9}, span{0x16FF4, 0x16FF6}) }

// punctuation is what the vendor's Punctuation splits at: ASCII's, symbols included, and Unicode 7's.
func punctuation() spans {
	later := spans{
		{0x61D, 0x61D}, {0x9FD, 0x9FD}, {0xA76, 0xA76}, {0xC77, 0xC77}, {0xC84, 0xC84}, {0x1B7D, 0x1B7E}, {0x2E43, 0x2E4F},
		{0x2E52, 0x2E5D}, {0x10EAD, 0x10EAD}, {0x10F55, 0x10F59}, {0x10F86, 0x10F89}, {0x1144B, 0x1144F}, {0x1145A, 0x1145B},
		{0x1145D, 0x1145D}, {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1183B, 0x1183B}, {0x11944, 0x11946},
		{0x119E2, 0x119E2}, {0x11A3F, 0x11A46}, {0x11A9A, 0x11A9C}, {0x11A9E, 0x11AA2}, {0x11B00, 0x11B09},
		{0x11C41, 0x11C45}, {0x11C70, 0x11C71}, {0x11EF7, 0x11EF8}, {0x11F43, 0x11F4F}, {0x11FFF, 0x11FFF},
		{0x12FF1, 0x12FF2}, {0x16E97, 0x16E9A}, {0x16FE2, 0x16FE2}, {0x1E95E, 0x1E95F},
	}
	return spansOf(unicode.P).minus(later).
		union(span{'!', '/'}, span{':', '@'}, span{'[', '`'}, span{'{', '~'}, span{0x166D, 0x166D}, span{0x111C9, 0x111C9})
}

// unnormalised holds the characters whose decompositions and combining classes the vendor's normal forms do not know.
func unnormalised() spans {
	return spans{
		{0x7FD, 0x7FD}, {0x898, 0x89F}, {0x8CA, 0x8D3}, {0x9FE, 0x9FE}, {0xC3C, 0xC3C}, {0xD3B, 0xD3C}, {0xEBA, 0xEBA},
		{0x1715, 0x1715}, {0x1ABF, 0x1ACE}, {0x1DF6, 0x1DFA}, {0x32FF, 0x32FF}, {0xA7F2, 0xA7F4}, {0xA82C, 0xA82C}, {0xAB69, 0xAB69},
		{0x10781, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC},
		{0x10EFD, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B},
		{0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x11930, 0x11930}, {0x11935, 0x11935}, {0x11938, 0x11938},
		{0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34}, {0x11A47, 0x11A47},
		{0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97}, {0x11F41, 0x11F42},
		{0x16FF0, 0x16FF1}, {0x1E030, 0x1E06D}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF},
		{0x1E4EC, 0x1E4EF}, {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9},
	}
}

// normalForm is one of the four, with unnormalised characters left as they are and nothing moved across them.
func normalForm(f norm.Form) normalizer {
	untouched := unnormalised()
	first := string(untouched[0].lo) // none is lower, so text below it is not looked at closely
	return func(text string) string {
		if f.QuickSpanString(text) == len(text) && !above(text, first) {
			return text
		}
		var b strings.Builder
		start := 0
		for i, r := range text {
			if r >= untouched[0].lo && untouched.has(r) {
				b.WriteString(f.String(text[start:i]))
				b.WriteRune(r)
				start = i + len(string(r))
			}
		}
		if start == 0 {
			return f.String(text)
		}
		b.WriteString(f.String(text[start:]))
		return b.String()
	}
}

// above reports whether text has a byte that starts a character from first's lead byte on.
func above(text, first string) bool {
	for i := range len(text) {
		if text[i] >= first[0] {
			return true
		}
	}
	return false
}

// lower maps each character to lower case by itself, as Rust's char::to_lowercase does.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x10D50 && r <= 0x10D65:
			return r + 0x20
		case r >= 0x16EA0 && r <= 0x16EB8:
			return r + 0x1B
		}
		switch r {
		case 0x1C89, 0xA7CC, 0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA:
			return r + 1
		case 0xA7CB:
			return 0x264
		case 0xA7DC:
			return 0x19B
		}
		return unicode.ToLower(r)
	}, strings.ReplaceAll(text, "\u0130", "i\u0307"))
}
