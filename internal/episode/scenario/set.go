package scenario

import (
	"fmt"
	"regexp"
	"strings"
)

// between is what people put between, before and behind the entries of a list: white space, commas and semicolons,
// bullets and numbers at the beginning of lines, "and", brackets, quotes, a final full stop.
var between = regexp.MustCompile(`^(?:\n[ \t]*(?:[-*•+]|\d+[.)])[ \t]+|[\s,;&\[\](){}"'` + "`" +
	`\x{2018}\x{2019}\x{201c}\x{201d}]|\*\*|and\b|\.$)`)

// unmetSet says why a text does not list exactly the wanted entries, in any order, or "". What stands before a colon,
// as in "The files are: a, b", may be anything.
func unmetSet(text string, want []string) string {
	first := stripEntries(text, want)
	why := first
	for rest := text; why != ""; {
		i := strings.IndexByte(rest, ':')
		if i < 0 {
			return first
		}
		rest = rest[i+1:]
		if strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\n") {
			why = stripEntries(rest, want)
		}
	}
	return ""
}

// stripEntries takes a text apart, entry by entry, the longest that fits first: an entry may hold a comma.
func stripEntries(text string, want []string) string {
	found := map[string]bool{}
	entries := longestFirst(want)
	whole := "\n" + strings.TrimSpace(text) // so that a bullet at the very beginning begins a line
	for at := 0; at < len(whole); {
		entry := ""
		for _, e := range entries {
			if strings.HasPrefix(whole[at:], e) && isWord(whole, at, at+len(e)) {
				entry = e
				break
			}
		}
		if entry != "" {
			found[entry] = true
			at += len(entry)
			continue
		}
		n := len(between.FindString(whole[at:]))
		if n == 0 {
			return fmt.Sprintf("%s lists more than the set", shortQuote(strings.TrimSpace(whole[at:])))
		}
		at += n
	}
	for _, e := range want {
		if !found[e] {
			return fmt.Sprintf("%s does not list %q", shortQuote(text), e)
		}
	}
	return ""
}
