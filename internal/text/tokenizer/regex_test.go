package tokenizer

import (
	"slices"
	"strings"
	"testing"

	"github.com/dlclark/regexp2"
	"pgregory.net/rapid"
)

func matches(t *testing.T, expression, text string) []string {
	t.Helper()
	re, err := compileRegex(expression)
	if err != nil {
		t.Fatalf("%q: %v", expression, err)
	}
	m := newMatcher(re, text)
	var out []string
	for from, after := 0, -1; ; {
		low, high, ok := m.find(text, from, after)
		if !ok {
			return out
		}
		out = append(out, text[low:high])
		from, after = high, high
	}
}

func TestRegex(t *testing.T) {
	for _, c := range []struct {
		expression, text string
		want             []string
	}{
		{`a|ab`, "ab", []string{"a"}},
		{`(?:a|ab)(?:c|bcd)`, "abcd", []string{"abcd"}},
		{`a+?b`, "aab", []string{"aab"}},
		{`a{2}|a`, "aaa", []string{"aa", "a"}},
		{`a{,2}b`, "aaab", []string{"aab"}},
		{`a{2,}`, "a aa aaa", []string{"aa", "aaa"}},
		{`a{2,3}?`, "aaaa", []string{"aa", "aa"}},
		{`a{x}`, "a{x}", []string{"a{x}"}},
		{`a++a|b`, "aab", []string{"b"}},
		{`(?>a|ab)c`, "abc", nil},
		{`(?:ab)++a|b`, "abab", []string{"b", "b"}},
		{`(?:ab|a)*?c`, "abac", []string{"abac"}},
		{`\s+(?!\S)|\s+`, "a  b ", []string{" ", " ", " "}},
		{`(?<=a)b|(?<!a)c`, "abcac", []string{"b", "c"}},
		{`(?i:'s|K)`, "'ſ'S\u212a", []string{"'ſ", "'S", "\u212a"}},
		{`(?i)a(?:B)|c`, "AbC", []string{"Ab", "C"}},
		{`[a-c&&[^b]]+`, "abcd", []string{"a", "c"}},
		{`[^\r\n\p{L}]`, "a\n1", []string{"1"}},
		{`[]a]+[a-]`, "]a-", []string{"]a-"}},
		{`[[:]`, ":", nil},
		{`\u0041\x{1F600}\x42`, "A😀B", []string{"A😀B"}},
		{`^a$`, "a\nba\na", []string{"a", "a"}},
		{`\Aa|b\z`, "aab b", []string{"a", "b"}},
		{`\bab\b|\Bb`, "ab cb", []string{"ab", "b"}},
		{`.`, "a\né", []string{"a", "é"}},
		{`\d\D\w\W\S`, "1a_.x", []string{"1a_.x"}},
		{`\P{L}\p{^L}\p{Han}`, "12世", []string{"12世"}},
		{`\t\f\v\.`, "\t\f\v.", []string{"\t\f\v."}},
		{`(?=(\d{3})+(?!\d))`, "1234567", []string{"", ""}},
		{`x*`, "ax", []string{"", "x"}},
	} {
		if c.expression == `[[:]` {
			if _, err := compileRegex(c.expression); err == nil {
				t.Error("an open class is accepted")
			}
			continue
		}
		if got := matches(t, c.expression, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s on %q: got %q, want %q", c.expression, c.text, got, c.want)
		}
	}
}

func TestRegexRefuses(t *testing.T) {
	for expression, why := range map[string]string{
		`(a`: "not closed", `a)`: "partner", `*a`: "nothing to repeat", `[a`: "not closed", `\p{Nope}`: "Nope",
		`\pL`: "braces", `(?<n>a)`: "not supported", `(?<=ab)c`: "looking behind", `(?:a*)*`: "empty", `^*`: "empty",
		`a{9999}`: "counts", `a{3,2}`: "counts", `[b-a]`: "range", `[a-\d]`: "range", `\q`: `\q`, `\u00`: "cut off",
		`\xZZ`: "not valid", `[[:alpha:]]`: "POSIX", `[a&&]`: "right side", `\`: "too early",
		`(?:(?:(?:a{100}b){100}){100})`: "too large", strings.Repeat("(", 200): "deep", strings.Repeat("[",
			200): "deep", strings.Repeat("a", 1<<15): "bytes",
	} {
		if _, err := compileRegex(expression); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.40q: want %q, got %v", expression, why, err)
		}
	}
}

func TestRegexGivesUp(t *testing.T) {
	if got := matches(t, `(?:a|a|a)+b|c`, strings.Repeat("a", 60)+"b"); len(got) != 1 {
		t.Errorf("a match that is found at once: %q", got)
	}
	if got := matches(t, `(?:a|a|a)+b|c`, strings.Repeat("a", 60)+"c"); got != nil {
		t.Errorf("got %q after more retries than there are", got)
	}
}

func TestEveryPreTokenizerCompiles(t *testing.T) {
	for name, p := range preTokenizers() {
		for _, expression := range p.split {
			if _, err := compileRegex(expression); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestRegexEqualsRegexp2 has a second implementation as its oracle, on text that both have the same Unicode for.
func TestRegexEqualsRegexp2(t *testing.T) {
	alphabet := []rune("aAbzZ1٣ \n\r\t'sSlL.,/é\u0301世ǅʰ😀\u00a0_-")
	for _, expression := range []string{gpt2, llama3, qwen2, qwen35, o200k, tekken, deepseek3,
		`(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|\s`, `\d{1,3}(?=(?:\d{3})*\b)|a|b`, `(?:a|A)+?(?:b|z)|[^a]+?1`} {
		oracle := regexp2.MustCompile(expression, regexp2.None)
		re, err := compileRegex(expression)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			text := string(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 30).Draw(t, "text"))
			m := newMatcher(re, text)
			match, err := oracle.FindStringMatch(text)
			for from, after := 0, -1; err == nil; {
				low, high, ok := m.find(text, from, after)
				if ok != (match != nil) || ok && text[low:high] != match.String() {
					t.Fatalf("%s on %q: got %q (%v), want %v", expression, text, text[low:high], ok, match)
				}
				if !ok {
					return
				}
				from, after = high, high
				match, err = oracle.FindNextMatch(match)
			}
		})
	}
}

func FuzzRegex(f *testing.F) {
	for _, expression := range []string{
		gpt2, o200k, deepseek3, `(?:a|b)*?(?=c)[^\S\n]`, `[`, `(?<`, `a{1,2}{3}`, `\p{^Lu}`,
	} {
		f.Add(expression, "ab c'S 12\u0301")
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		if len(text) > 24 {
			return // a stranger's expression may backtrack
		}
		re, err := compileRegex(expression)
		if err != nil {
			return
		}
		s := regexSplitter{re: re, behavior: isolated}
		joined := ""
		s.split(text, false, func(piece string, _ bool) { joined += piece })
		if joined != text {
			t.Fatalf("the pieces of %q by %q add up to %q", text, expression, joined)
		}
	})
}
