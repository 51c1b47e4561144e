package fault

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestShort(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	log := strings.Join(lines, "\n")
	got := Short(log)
	if !strings.HasPrefix(got, "line 0\nline 1\n") || !strings.HasSuffix(got, "line 98\nline 99") ||
		!strings.Contains(got, "line 5\n[... 84 lines left out ...]\nline 90\n") {
		t.Error(got)
	}
	for _, same := range []string{
		"", "one", strings.Join(lines[:firstLines+lastLines+1], "\n"), strings.Repeat("x", lineHead+2*lineTail),
	} {
		if got := Short(same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	if got := Short("a" + strings.Repeat("é", 5000) + "z"); !utf8.ValidString(got) || len(got) > 900 ||
		!strings.HasSuffix(got, "éz") {
		t.Error(got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") +
			strings.Repeat(rapid.String().Draw(t, "line")+"\n", rapid.IntRange(0, 300).Draw(t, "times"))
		if got := Short(text); len(got) > (firstLines+lastLines+1)*(lineHead+2*lineTail+40) ||
			strings.Count(got, "\n") > firstLines+lastLines {
			t.Fatalf("%d bytes of %d", len(got), len(text))
		}
	})
}

// An error shows a short reason, and its whole is to be had also where it is wrapped.
func TestWhole(t *testing.T) {
	log := "start" + strings.Repeat("\nnoise", 200) + "\nend"
	inner := &Error{What: "lost", Why: log, Next: "look"}
	outer := &Error{What: "failed", Err: inner, Next: "again"}
	for name, err := range map[string]error{
		"plain":      errors.New(log),
		"an error":   inner,
		"in another": outer,
		"wrapped":    fmt.Errorf("a: %w b", outer),
	} {
		whole := strings.ReplaceAll(Whole(err), "\n    ", "\n") // lines of a reason are indented
		if !strings.Contains(whole, log) || name != "plain" &&
			(strings.Contains(err.Error(), log) || !strings.Contains(err.Error(), "lines left out")) {
			t.Errorf("%s: %s\nwhole: %s", name, err, whole)
		}
	}
	if got := Whole(fmt.Errorf("a: %w", &Error{What: "x", Why: "y"})); got != "a: x\n  why:   y" {
		t.Errorf("%q", got)
	}
}

func TestIndented(t *testing.T) {
	for in, want := range map[string]string{
		"a":                   "a",
		"a\nb\n\n  c\n     d": "a\n    b\n\n      c\n     d",
		"":                    "",
		"a\n":                 "a\n",
	} {
		if got := Indent(in, "    "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
