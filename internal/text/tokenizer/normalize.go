package tokenizer

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalizer rewrites a text before it is split.
type normalizer func(text string) string

// normalizer builds a "normalizer" of a tokenizer.json; nil for null.
func (b *builder) normalizer(p part) normalizer {
	if p.null() {
		return nil
	}
	var o struct {
		Normalizers []part
		Pattern     pattern
		Content     string
		Prepend     string
		StripLeft   bool `json:"strip_left"`
		StripRight  bool `json:"strip_right"`

		PrecompiledCharsmap *string `json:"precompiled_charsmap"`
	}
	switch kind := b.read(p, &o); kind {
	case "Sequence":
		var all []normalizer
		for i, sub := range o.Normalizers {
			if n := b.normalizer(sub.at(p, "normalizers", i)); n != nil {
				all = append(all, n)
			}
		}
		return sequence(all)
	case "NFC":
		return normalForm(norm.NFC)
	case "NFD":
		return normalForm(norm.NFD)
	case "NFKC":
		return normalForm(norm.NFKC)
	case "NFKD":
		return normalForm(norm.NFKD)
	case "Lowercase":
		return lower
	case "Replace":
		return b.replace(p, o.Pattern, o.Content)
	case "Prepend":
		return func(text string) string {
			if text == "" {
				return text
			}
			return o.Prepend + text
		}
	case "Strip":
		return func(text string) string {
			if o.StripLeft {
				text = strings.TrimLeftFunc(text, unicode.IsSpace)
			}
			if o.StripRight {
				text = strings.TrimRightFunc(text, unicode.IsSpace)
			}
			return text
		}
	case "StripAccents":
		return stripAccents()
	case "Nmt":
		return nmt
	case "ByteLevel":
		return newAlphabet().encode
	case "Precompiled":
		return b.charsmapNormalizer(p, o.PrecompiledCharsmap)
	default:
		b.unsupportedKind(p, kind,
			"ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip, "+
				"StripAccents")
		return nil
	}
}

func sequence(all []normalizer) normalizer {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return func(text string) string {
		for _, n := range all {
			text = n(text)
		}
		return text
	}
}

// replace builds a Replace: of a normalizer, or of a decoder.
func (b *builder) replace(p part, what pattern, content string) normalizer {
	if what.Regex == nil {
		old := what.String
		if old == nil || *old == "" {
			b.fail(p, "its pattern is empty")
			return nil
		}
		return func(text string) string { return strings.ReplaceAll(text, *old, content) }
	}
	re := b.regex(p, *what.Regex)
	return func(text string) string {
		m := newMatcher(re, text)
		var out strings.Builder
		start := 0
		for from, after := 0, -1; ; {
			low, high, ok := m.find(text, from, after)
			if !ok {
				break
			}
			out.WriteString(text[start:low])
			out.WriteString(content)
			start, from, after = high, high, high
		}
		out.WriteString(text[start:])
		return out.String()
	}
}

// stripAccents drops combining marks: those that the vendor's tables, which are Unicode 9's, know.
func stripAccents() normalizer {
	marks := combiningMarks()
	return func(text string) string {
		return strings.Map(func(r rune) rune {
			if marks.has(r) {
				return -1
			}
			return r
		}, text)
	}
}

// nmt drops control characters and makes spaces of what looks like one, as in SentencePiece's nmt rules.
func nmt(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			return -1
		case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028,
			r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
			return ' '
		}
		return r
	}, text)
}
