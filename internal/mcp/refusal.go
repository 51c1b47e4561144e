package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// Refusal are the results by which a server says no without isError, as many do: a regular expression (RE2) that is
// found in the text, as "^Error", or an object whose members a JSON result has, as {"status": "error"}; the values are
// grade.Patterns.
type Refusal []json.RawMessage

// refusal is a Refusal, compiled.
type refusal struct {
	texts   []*regexp.Regexp
	objects []*grade.Pattern
}

// UnmarshalJSON reads a list of patterns, or one.
func (r *Refusal) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		list = []json.RawMessage{append(json.RawMessage{}, data...)}
	}
	*r = list
	_, err := r.compile()
	return err
}

func (r Refusal) compile() (refusal, error) {
	const form = `write "refusal": ["^Error"] or "refusal": [{"status": "error"}]`
	var all refusal
	for _, one := range r {
		var text string
		if json.Unmarshal(one, &text) == nil {
			re, err := regexp.Compile(text)
			if err == nil && text == "" {
				err = fmt.Errorf("it is empty, and found in every text")
			}
			if err != nil {
				return all, mistake{fmt.Sprintf("refusal %q: %v", text, err), form}
			}
			all.texts = append(all.texts, re)
			continue
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(one, &object) != nil || len(object) == 0 {
			return all, mistake{
				fmt.Sprintf("refusal %s is neither a regular expression nor an object with members", one), form,
			}
		}
		p, err := grade.NewPattern(`{"$subset": ` + string(one) + `}`)
		if err != nil {
			return all, mistake{fmt.Sprintf("refusal %s: %v", one, err), form}
		}
		all.objects = append(all.objects, p)
	}
	return all, nil
}

// fits says by which pattern a result is a refusal, or "".
func (r refusal) fits(result trajectory.ToolResult) string {
	for _, re := range r.texts {
		if re.MatchString(result.Text) {
			return re.String()
		}
	}
	text := unfenced(result.Text)
	for _, p := range r.objects {
		if p.Unmet(text) == "" ||
			len(result.StructuredContent) > 0 && p.Unmet(string(result.StructuredContent)) == "" {
			return "the JSON of an error"
		}
	}
	return ""
}

// RefusalAdvice is what to write into a server's entry so that patterns are refusals: in words, then ready to paste.
func RefusalAdvice(server string, patterns []string) string {
	return fmt.Sprintf(
		`write into the entry of server %s in the MCP configuration (.mcp.json), beside "command" or "url", how such `+
			`an answer begins, as "refusal": ["^Error"], or what its JSON holds, as "refusal": [{"status": "error"}]; `+
			`all that were seen are "refusal": [%s], or "refusal": [] where it says no by isError alone`,
		server, strings.Join(patterns, ", "),
	)
}
