package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

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

// WriteText writes a scenario for a person. What its file says is in it as it came.
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
		line("setup", g.Name+" "+string(g.Arguments))
	}
	for _, g := range s.Gold {
		line("gold asks", g.Asks)
		line("because", g.Reasoning)
		line("gold", g.Name+" "+string(g.Arguments))
	}
	line("because", s.GoldReasoning)
	line("answer", s.GoldAnswer)
	for _, c := range s.Checks {
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		line("check", string(text))
	}
	_, err := io.WriteString(w, b.String())
	return err
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
