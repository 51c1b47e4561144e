package hone_test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// maxSentenceWords is what a reader of a second language holds in mind until the full stop.
const maxSentenceWords = 30

var (
	inlineCode = regexp.MustCompile("``.+?``|`[^`]+`")
	linkTarget = regexp.MustCompile(`\]\([^)\s]*\)`)
	listItem   = regexp.MustCompile(`^\s*([-*+]|\d+\.)\s+`)
	// A colon and a semicolon end a sentence too: what stands behind them reads as one of its own.
	sentenceEnd = regexp.MustCompile(`[.!?:;]["'”’*_)\]]*$`)
	// These end in a full stop, and no sentence with them.
	abbreviation = regexp.MustCompile(`^["'“‘*_(\[]*([Ee]\.g|[Ii]\.e|etc|cf|vs|al|approx|[Ff]ig|incl)\.$`)
)

// block is a paragraph or an item of a list: its lines, and the number of the first.
type block struct {
	line  int
	lines []string
}

// blocks returns what of a page of Markdown is prose. Headings, tables and code are none.
func blocks(src string) (out []block) {
	var b block
	flush := func() {
		if len(b.lines) > 0 {
			out = append(out, b)
		}
		b = block{}
	}
	fenced, indented, blank := false, false, true
	for i, line := range strings.Split(src, "\n") {
		text := strings.TrimSpace(line)
		fence := strings.HasPrefix(text, "```")
		wasBlank := blank
		blank = text == ""
		indented = strings.HasPrefix(line, "    ") && (indented || wasBlank)
		switch {
		case fence:
			fenced = !fenced
			flush()
		case fenced:
		case blank, indented, strings.HasPrefix(text, "|"), strings.HasPrefix(text, "#"):
			flush()
		default:
			if item := listItem.FindString(line); item != "" {
				flush()
				text = line[len(item):]
			}
			if len(b.lines) == 0 {
				b.line = i + 1
			}
			b.lines = append(b.lines, text)
		}
	}
	flush()
	return out
}

// sentence is one of a page, with the number of the line where it begins.
type sentence struct {
	line  int
	words []string
}

// sentences cuts a block. A piece of inline code is one word, whatever its blanks and full stops, so these are covered;
// the ends of its lines go before it, so that what follows keeps its line.
func (b block) sentences() (out []sentence) {
	text := inlineCode.ReplaceAllStringFunc(strings.Join(b.lines, "\n"), func(code string) string {
		return strings.Repeat("\n", strings.Count(code, "\n")) + strings.Join(strings.Fields(code), "␣")
	})
	text = linkTarget.ReplaceAllString(text, "]")
	var s sentence
	for i, line := range strings.Split(text, "\n") {
		for _, piece := range strings.Fields(line) {
			if !strings.ContainsFunc(piece,
				func(r rune) bool { return r == '`' || unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				continue
			}
			if len(s.words) == 0 {
				s.line = b.line + i
			}
			s.words = append(s.words, piece)
			if sentenceEnd.MatchString(piece) && !abbreviation.MatchString(piece) {
				out, s = append(out, s), sentence{}
			}
		}
	}
	if len(s.words) > 0 {
		out = append(out, s)
	}
	return out
}

// longSentences returns the sentences of a page that are too long.
func longSentences(name, src string) (out []string) {
	for _, b := range blocks(src) {
		for _, s := range b.sentences() {
			if len(s.words) > maxSentenceWords {
				out = append(out, fmt.Sprintf("%s:%d: a sentence of %d words: %s ...",
					name, s.line, len(s.words), strings.Join(s.words[:8], " ")))
			}
		}
	}
	return out
}

// maxLineRunes is what an editor shows beside a second file.
const maxLineRunes = 120

// wideLines returns the lines of a page's prose that are too wide, but for those that cannot be wrapped.
func wideLines(name, src string) (out []string) {
	lines := strings.Split(src, "\n")
	for _, b := range blocks(src) {
		for i := range b.lines {
			line := lines[b.line-1+i]
			if n := utf8.RuneCountInString(line); n > maxLineRunes &&
				strings.Contains(inlineCode.ReplaceAllString(b.lines[i], ""), " ") {
				out = append(out, fmt.Sprintf("%s:%d: a line of %d characters", name, b.line+i, n))
			}
		}
	}
	return out
}

// isPublicPage tells the pages that users read from the log below docs/log, which is a diary, and from the reference,
// which is made from the flags.
func isPublicPage(name string) bool {
	if ok, _ := path.Match("docs/*.md", name); ok {
		return name != "docs/reference.md"
	}
	return slices.Contains([]string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/log/README.md"}, name)
}

func TestSentencesAreShort(t *testing.T) {
	read := 0
	for name, src := range files(t, func(base string) bool { return strings.HasSuffix(base, ".md") }) {
		if !isPublicPage(name) {
			continue
		}
		read++
		for _, s := range longSentences(name, string(src)) {
			t.Errorf("%s\nmore than %d: many readers of these pages read English as a second language; make it two",
				s, maxSentenceWords)
		}
		for _, l := range wideLines(name, string(src)) {
			t.Errorf("%s\nmore than %d: wrap it", l, maxLineRunes)
		}
	}
	if read < 10 {
		t.Errorf("%d pages were read", read)
	}
}

func TestSentencesFindsPlantedOnes(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for _, tc := range []struct{ name, src, want string }{
		{"short", words(30) + ".\n", ""},
		{"long", "\n" + words(31) + ".\n", "p.md:2: a sentence of 31 words: word word"},
		{"over two lines", words(20) + "\n" + words(11) + ".\n", "p.md:1: a sentence of 31 words"},
		{"the second of a paragraph", "One.\nTwo. Three\n" + words(30) + "\n", "p.md:2: a sentence of 31 words: Three word"},
		{"in a list", "- short\n- " + words(20) + "\n  " + words(11) + "\n", "p.md:2: a sentence of 31 words"},
		{"two items", "- " + words(20) + "\n- " + words(20) + "\n1. " + words(20) + "\n", ""},
		{"two paragraphs", words(20) + "\n\n" + words(20) + "\n", ""},
		{"an end within quotes", words(20) + " (\"so.\") " + words(20) + "\n", ""},
		{"a colon", words(20) + ": " + words(20) + "; " + words(20) + "\n", ""},
		{"an abbreviation is no end", words(20) + ", e.g. " + words(10) + "\n", "of 31 words"},
		{"a number is no end", words(15) + " 1.5 ... " + words(15) + "\n", "of 31 words"},
		{"code is one word", words(20) + " `a b c. d e f g\nh i j` " + words(9) + "\n", ""},
		{"code is no end", words(20) + " `a b. c:` " + words(10) + "\n", "of 31 words"},
		{"a line after code of two lines", "`a\nb`.\n" + words(31), "p.md:3: a sentence of 31 words"},
		{"signs are no words", strings.Repeat("word - ", 30) + "\n", ""},
		{"the target of a link is no word", words(29) + " [word](a.md)\n", ""},
		{"fenced code", "```\n" + words(31) + "\n```\n" + words(31) + "\n", "p.md:4: "},
		{"indented code", "So:\n\n    " + words(31) + "\n    " + words(31) + "\n\n    " + words(31) + "\n", ""},
		{"a table", "|" + words(31) + "|\n", ""},
		{"a heading", "# " + words(31) + "\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := longSentences("p.md", tc.src)
			if got := strings.Join(found, "\n"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) ||
				len(found) > 1 {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWideLinesAreFound(t *testing.T) {
	fits, wide := strings.Repeat("é ", 60), strings.Repeat("é ", 60)+"é"
	for src, want := range map[string]string{
		"a\n" + fits + "\n":                     "",
		"a\n" + wide + "\n":                     "p.md:2: a line of 121 characters",
		"- a\n- " + fits + "\n":                 "p.md:2: a line of 122 characters",
		"# " + wide + "\n|" + wide + "|\n":      "",
		"```\n" + wide + "\n```\n\n    " + wide: "",
		strings.Repeat("é", 121) + "\n":         "",
		"`" + wide + "`\nnot " + wide + "\n":    "p.md:2: a line of 125 characters",
	} {
		if got := strings.Join(wideLines("p.md", src), "\n"); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
}
