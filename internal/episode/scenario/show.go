package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/fault"
)

// WithIDs returns the scenarios with these ids, in the order of the file; all where there are none. path is used in
// errors only.
func WithIDs(scenarios []Scenario, ids []string, path string) ([]Scenario, error) {
	var found []Scenario
	var known []string
	for _, s := range scenarios {
		known = append(known, s.ID)
		if len(ids) == 0 || slices.Contains(ids, s.ID) {
			found = append(found, s)
		}
	}
	for _, id := range ids {
		if slices.Contains(known, id) {
			continue
		}
		f := &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no scenario %q", id), Where: path,
			Next: "hone scenarios show " + path + " lists them all"}
		if near := fault.Nearest(id, known); near != "" {
			f.Why = fmt.Sprintf("did you mean %q?", near)
		}
		return nil, f
	}
	return found, nil
}

// WriteText writes a scenario for a person. What its file says is in it as it came, but for setup calls and checks,
// which may hold whole tables: of what is long there, the beginning.
func (s *Scenario) WriteText(w io.Writer) error {
	var b strings.Builder
	about := []string{s.Split}
	if s.Difficulty != "" {
		about = append(about, s.Difficulty)
	}
	fmt.Fprintf(&b, "scenario %s (%s)\n", s.ID, strings.Join(append(about, s.Tags...), ", "))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", name, strings.ReplaceAll(text, "\n", "\n            "))
		}
	}
	for _, m := range s.Opening() {
		line(m.Role, m.Content)
		for _, c := range m.ToolCalls {
			line("  calls", c.Name+" "+c.Arguments)
		}
	}
	if s.User != nil {
		s.writeUser(line)
	}
	for _, g := range s.Setup {
		line("setup", g.Name+" "+cutText(string(g.Arguments)))
	}
	for _, g := range s.Gold {
		line("because", g.AsksReasoning)
		line("gold asks", g.Asks)
		line("because", g.Reasoning)
		line("gold", g.Name+" "+string(g.Arguments))
	}
	line("because", s.GoldReasoning)
	line("answer", s.GoldAnswer)
	for _, c := range s.Checks {
		line("check", c.brief())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// brief is a check in a line or two.
func (c Check) brief() string {
	text, _ := json.Marshal(c) // of texts and JSON
	d := jsontext.NewDecoder(bytes.NewReader(text))
	_, _ = d.ReadToken() // the brace
	var fields []string
	for d.PeekKind() == '"' {
		key, _ := d.ReadToken()
		name := key.String()
		value, _ := d.ReadValue()
		if name != "type" {
			fields = append(fields, name+" "+briefValue(value))
		}
	}
	return strings.TrimSuffix(c.Type+": "+strings.Join(fields, ", "), ": ")
}

// briefValue is a JSON value for a person: texts as they are, of a long list how much it holds.
func briefValue(value jsontext.Value) string {
	var list []any
	text := string(value)
	switch value.Kind() {
	case '[':
		_ = json.Unmarshal(value, &list)
		return cut(text, fmt.Sprintf("%d in all", len(list)))
	case '"':
		_ = json.Unmarshal(value, &text)
		text = `"` + strings.ReplaceAll(text, "\n", `\n`) + `"`
	}
	return cutText(text)
}

// cutText is the beginning of a text that is long, and how long it is.
func cutText(text string) string {
	return cut(text, fmt.Sprintf("%d characters", utf8.RuneCountInString(text)))
}

// cut is the beginning of a text that is long, and what is said of the whole.
func cut(text, whole string) string {
	const most, shown = 100, 80 // cut where it saves something
	if r := []rune(text); len(r) > most {
		return string(r[:shown]) + "… (" + whole + ")"
	}
	return text
}

// writeUser writes who speaks with the policy, and how.
func (s *Scenario) writeUser(line func(name, text string)) {
	u := s.User
	if u.HasScript() {
		for _, text := range s.Replies() {
			line("then says", text)
		}
	} else {
		first := ""
		if s.UserBegins() {
			first = ", who finds the first words"
		}
		line("user is", fmt.Sprintf("a model%s, for at most %s", first, fault.Count(u.Limit(), "message")))
	}
	line("  wants", u.Goal)
	line("  is", u.Persona)
	line("  knows", string(u.Knows))
	line("ends on", strings.Join(u.EndsOn, ", "))
}
