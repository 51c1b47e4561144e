package curate

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// RedactKinds of what is found.
const (
	Secret = "secret" // keys, tokens, passwords, private keys
	Email  = "email"
	Phone  = "phone"
	Card   = "card" // payment cards
	IBAN   = "iban"
	IP     = "ip"
	Name   = "name" // of a user, in a path
	SSN    = "ssn"  // social security number of the United States
)

// RedactKinds are all.
func RedactKinds() []string { return []string{Secret, Email, Phone, Card, IBAN, IP, Name, SSN} }

// Found is a stretch of a text that is to be redacted.
type Found struct {
	Kind       string
	Start, End int // bytes
}

// Find returns what is found in a text, in order; none overlaps another. Of two rules that find the same, the first of
// rules counts. Secrets are found in other encodings too.
func Find(text string) []Found {
	out := plain(text)
	for _, f := range findEncoded(text) {
		out = slices.DeleteFunc(out, func(x Found) bool { return x.Start < f.End && f.Start < x.End })
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Start < out[j].Start })
	return out
}

// plain is what is found in a text as it is written.
func plain(text string) []Found {
	var out []Found
	for _, r := range rules {
		for _, at := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
			group := 0
			for g := len(at)/2 - 1; g > 0 && group == 0; g-- {
				if at[2*g] >= 0 {
					group = g
				}
			}
			f := Found{r.kind, at[2*group], at[2*group+1]}
			if r.trim != "" {
				f.End = f.Start + len(strings.TrimRight(text[f.Start:f.End], r.trim))
			}
			if r.fits != nil {
				f.End = f.Start + r.fits(text[:f.Start], text[f.Start:f.End], text[f.End:])
			}
			if f.End > f.Start &&
				!slices.ContainsFunc(out, func(x Found) bool { return x.Start < f.End && f.Start < x.End }) {
				out = append(out, f)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Start < out[j].Start })
	return out
}

// Value is one spelling of what is redacted, and what takes its place wherever it stands in a trace.
type Value struct {
	Kind        string `json:"kind"`
	Before      string `json:"before,omitempty"` // what stands before it everywhere, and stays
	Text        string `json:"text"`
	Placeholder string `json:"placeholder"`
	// in keys of objects and JSON in texts too; those of ledgers of before 2026-11-23 leave them, or what was done
	// behind them would not fit
	Deep bool `json:"deep,omitempty"`
}

// RedactOptions of Values. The zero value looks for all kinds in texts that nobody has redacted.
type RedactOptions struct {
	Kinds   []string // that are looked for; none stands for all
	Numbers []string // of the texts' JSON (Numbers): such a value has a number in its place, wherever it stands
	Known   []string // that took the place of others already, and are nobody's
}

// Values are what is found in the texts of one trace, each with its placeholder: "[EMAIL_1]", or a number where it is
// one in JSON. One value has one placeholder, however it is spelt in JSON or out of it, so that a call's arguments
// still say what its result says.
func Values(texts []string, o RedactOptions) []Value {
	var out []Value
	add := func(v Value) {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	var all []known
	counts := highestNumbers(texts) // of placeholders, by kind
	for _, text := range texts {
		for _, f := range Find(text) {
			spelt := text[f.Start:f.End]
			if len(o.Kinds) > 0 && !slices.Contains(o.Kinds, f.Kind) || slices.Contains(o.Known, spelt) {
				continue
			}
			k := keyOfValue(f.Kind, spelt)
			if i := slices.IndexFunc(all, k.same); i >= 0 {
				k.placeholder = all[i].placeholder
			} else {
				counts[f.Kind]++
				k.placeholder = fmt.Sprintf("[%s_%d]", strings.ToUpper(f.Kind), counts[f.Kind])
			}
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
			for _, v := range spellings(f, text, spelt, k.placeholder) {
				add(v)
			}
		}
	}
	numbers := slices.DeleteFunc(all, func(k known) bool { return !k.anywhere() })
	for _, text := range texts { // what no rule finds by itself: a number without a word before it
		if len(numbers) == 0 {
			break
		}
		squeezed, at := squeeze(text)
		for _, k := range numbers {
			for _, spelt := range k.findSpelling(text, squeezed, at) {
				if !slices.Contains(o.Known, spelt) {
					add(Value{Kind: k.kind, Text: spelt, Placeholder: k.placeholder})
				}
			}
		}
	}
	giveNumbers(out, texts, o)
	for i := range out {
		out[i].Deep = true
	}
	// the longer first: one may hold another
	sort.SliceStable(out, func(i, j int) bool { return len(out[i].Text) > len(out[j].Text) })
	return out
}

// highestNumbers is the highest number of each kind's placeholders that texts have already: a new value is another one.
func highestNumbers(texts []string) map[string]int {
	counts := map[string]int{}
	for _, text := range texts {
		for _, m := range placeholders.FindAllStringSubmatch(text, -1) {
			if n, err := strconv.Atoi(m[2]); err == nil {
				kind := strings.ToLower(m[1])
				counts[kind] = max(counts[kind], n)
			}
		}
	}
	return counts
}

var placeholders = regexp.MustCompile(`\[([A-Z]+)_(\d{1,6})\]`)

// giveNumbers gives the values that are numbers in JSON a number in the place of their placeholder, of as many digits,
// so that a schema which wants a number has one and a text says the same.
func giveNumbers(values []Value, texts []string, o RedactOptions) {
	given, n := map[string]string{}, 0 // by placeholder
	numbers := slices.Clone(o.Numbers)
	for _, x := range o.Numbers {
		if m := plainNumber.FindStringSubmatch(x); m != nil {
			numbers = append(numbers, m[1]) // without its sign and fraction
		}
	}
	for _, v := range values {
		if given[v.Placeholder] != "" || v.Before != "" || !slices.Contains(numbers, v.Text) ||
			strings.ContainsAny(v.Text, ".eE-") {
			continue
		}
		for n++; ; n++ {
			digits := strconv.Itoa(n)
			if len(digits) >= len(v.Text) {
				break // no room for one
			}
			number := "1" + strings.Repeat("0", len(v.Text)-1-len(digits)) + digits
			if !slices.Contains(o.Known, number) &&
				!slices.ContainsFunc(texts, func(t string) bool { return Count(t, number) > 0 }) {
				given[v.Placeholder] = number
				break
			}
		}
	}
	for i := range values {
		if number := given[values[i].Placeholder]; number != "" {
			values[i].Placeholder = number
		}
	}
}

// spellings are what a value is replaced by: itself and, in JSON or out of it, what it is there. The name of a user is
// replaced behind what made it one, or each word of that name would go.
func spellings(f Found, text, spelt, placeholder string) []Value {
	if f.Kind == Name {
		start := f.Start
		for n := 0; start > 0 && n < 2; start-- { // "/home/" and "\\Users\\", of which the slash in JSON is two
			if c := text[start-1]; (c == '/' || c == '\\') && text[start] != c {
				if n++; n == 2 {
					break
				}
			}
		}
		before := text[start:f.Start]
		return []Value{
			{Kind: f.Kind, Before: before, Text: spelt, Placeholder: placeholder},
			{Kind: f.Kind, Before: "~", Text: spelt, Placeholder: placeholder},
		}
	}
	out := []Value{{Kind: f.Kind, Text: spelt, Placeholder: placeholder}}
	for _, other := range []string{strings.ReplaceAll(spelt, "\n", `\n`), strings.ReplaceAll(spelt, `\n`, "\n")} {
		if other != spelt {
			out = append(out, Value{Kind: f.Kind, Text: other, Placeholder: placeholder})
		}
	}
	return out
}

// Replace puts the placeholders of values into a text. A value that is a part of a longer word is left.
func Replace(text string, values []Value) string {
	for _, v := range values {
		said := v.Before + v.Text
		if v.Text == "" || !strings.Contains(text, said) {
			continue
		}
		var b strings.Builder
		for rest, before := text, ""; ; {
			at := strings.Index(rest, said)
			if at < 0 {
				b.WriteString(rest)
				break
			}
			if at > 0 {
				before = rest[:at]
			}
			b.WriteString(rest[:at])
			behind := rest[at+len(said):]
			if joins(before, said) || joins(said, behind) {
				b.WriteString(said)
			} else {
				b.WriteString(v.Before + v.Placeholder)
			}
			before, rest = said, behind
		}
		text = b.String()
	}
	return text
}

// Count is how often a text says a value that is no part of a longer word.
func Count(text, value string) (n int) {
	for before := ""; ; {
		at := strings.Index(text, value)
		if at < 0 || value == "" {
			return n
		}
		if at > 0 {
			before = text[:at]
		}
		behind := text[at+len(value):]
		if !joins(before, value) && !joins(value, behind) {
			n++
		}
		before, text = value, behind
	}
}

// joins reports whether two texts, one behind the other, make one word.
func joins(a, b string) bool {
	x, _ := utf8.DecodeLastRuneInString(a)
	y, _ := utf8.DecodeRuneInString(b)
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	// an escape of JSON, not a letter
	if strings.HasSuffix(a, `\n`) || strings.HasSuffix(a, `\t`) || strings.HasSuffix(a, `\r`) {
		return false
	}
	return word(x) && word(y)
}
