package mcp

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// suspicious are texts that have no place in a description: training would bake obedience to them in.
var suspicious = []struct {
	pattern *regexp.Regexp
	finding string
}{
	{regexp.MustCompile(`(?i)<\s*(important|system|secret|instructions?)\s*>`), "an instruction tag"},
	{regexp.MustCompile(`(?i)\b(ignore|disregard|forget)\b.{0,30}\b(previous|prior|above|earlier)\b`), "asks to ignore earlier text"},
	{regexp.MustCompile(`(?i)\b(do not|don't|never)\b.{0,20}\b(tell|mention|inform|show|reveal)\b.{0,30}\buser\b`), "asks to hide something from the user"},
	{regexp.MustCompile(`(?i)(~|\$HOME|/root|/home/\w+)/\.(ssh|aws|gnupg|config|cursor)\b`), "names a folder of secrets"},
}

// lint adds findings about texts that could steer a model by the back door.
func lint(servers []ServerTools) {
	for _, s := range servers {
		for i := range s.Tools {
			t := &s.Tools[i]
			text := t.Description + "\n" + string(t.InputSchema) + "\n" + string(t.OutputSchema)
			for _, check := range suspicious {
				if found := check.pattern.FindString(text); found != "" {
					t.Findings = append(t.Findings, fmt.Sprintf("%s: %q", check.finding, found))
				}
			}
			if at := strings.IndexFunc(text, hidden); at >= 0 {
				t.Findings = append(t.Findings, "hidden characters")
			}
		}
	}
}

// hidden reports characters that a person does not see but a tokenizer does: controls, zero widths, text direction,
// tags.
func hidden(r rune) bool {
	if r == '\n' || r == '\t' || r == '\r' {
		return false
	}
	// The joiner is part of visible emoji and scripts, the byte order mark is not.
	return unicode.IsControl(r) || (unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c' && r != '\u00ad')
}
