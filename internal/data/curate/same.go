package curate

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// known is a value without what may differ between two spellings of it.
type known struct {
	kind, plain string
	code        string // of a telephone number: its country's, where it is said
	placeholder string
}

func keyOfValue(kind, spelt string) known {
	spelt = strings.NewReplacer(`\n`, "\n", `\r`, "", `\/`, "/", `\\`, `\`, `\"`, `"`).Replace(spelt)
	k := known{kind: kind, plain: spelt}
	switch kind {
	case Email:
		k.plain = strings.ToLower(spelt)
	case Phone, Card, IBAN, SSN:
		k.plain, _ = squeeze(spelt)
		k.plain = strings.ReplaceAll(k.plain, "\x00", "")
	}
	if kind == Phone {
		if international := strings.HasPrefix(k.plain, "00"); international || strings.Contains(spelt, "+") {
			k.plain = strings.TrimPrefix(k.plain, "00")
			k.code = countries.FindString(k.plain)
			k.plain = k.plain[len(k.code):]
		} else if america.MatchString(k.plain) {
			k.code, k.plain = "1", k.plain[1:]
		}
		k.plain = strings.TrimLeft(k.plain, "0") // the prefix of a trunk
	}
	return k
}

// countries are the codes of countries (ITU-T E.164), america is a number of North America behind its own.
var (
	countries = regexp.MustCompile(`^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})`)
	america   = regexp.MustCompile(`^1[2-9]\d{2}[2-9]\d{6}$`)
)

// same reports whether two are one value. A telephone number without its country is that of any.
func (k known) same(x known) bool {
	return k.kind == x.kind && k.plain == x.plain && (k.code == x.code || k.code == "" || x.code == "")
}

// fewest is how many digits a number has at least that is taken for a value wherever it stands: a shorter one may be
// anything.
const fewest = 9

// anywhere reports whether a value is such a number.
func (k known) anywhere() bool {
	return slices.Contains([]string{Phone, Card, IBAN, SSN}, k.kind) && len(k.code+k.plain) >= fewest && k.plain != ""
}

// findSpelling are the stretches of a text that say a value with other marks between its digits, or none, whatever
// stands around them. squeezed and at are of squeeze; the value is one to be found anywhere.
func (k known) findSpelling(text, squeezed string, at []int) (out []string) {
	begins := []string{""}
	if k.kind == Phone {
		begins = []string{"0", ""}
		if k.code != "" {
			begins = []string{"00" + k.code + "0", "00" + k.code, k.code + "0", k.code, "0", ""}
		}
		if len(k.plain) < fewest {
			begins = begins[:len(begins)-2]
		}
	}
	for from := 0; ; {
		i := strings.Index(squeezed[from:], k.plain)
		if i < 0 {
			return out
		}
		i += from
		from = i + 1
		last := at[i+len(k.plain)-1]
		_, size := utf8.DecodeRuneInString(text[last:])
		end := last + size
		for _, begin := range begins {
			if !strings.HasSuffix(squeezed[:i], begin) {
				continue
			}
			start := at[i-len(begin)]
			if joins(text[:start], text[start:]) || joins(text[:end], text[end:]) {
				continue
			}
			if said := text[start:end]; start > 0 && text[start-1] == '(' &&
				strings.Count(said, ")") > strings.Count(said, "(") {
				start--
			}
			if start > 0 && text[start-1] == '+' {
				start--
			}
			out = append(out, text[start:end])
			break
		}
	}
}

// squeeze is a text without the marks that may stand between the digits of a number, in capitals, and where each of its
// bytes was. What makes two numbers of it is a zero byte there.
func squeeze(text string) (string, []int) {
	var out []byte
	var at []int
	marks := 0
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			out, at, marks = append(out, byte(unicode.ToUpper(r))), append(at, i), 0
			continue
		case strings.ContainsRune(" ().\u00a0/+-", r):
			if marks++; marks <= 3 {
				continue
			}
		}
		if len(out) > 0 && out[len(out)-1] != 0 {
			out, at = append(out, 0), append(at, i)
		}
	}
	return string(out), at
}
