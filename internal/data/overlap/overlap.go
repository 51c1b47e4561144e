// Package overlap says what of the scenarios that a model is measured on stands in what it learns from. It
// finds texts that say nearly the same: copies of one another but for case, punctuation, a courtesy or a few words. By
// that data sets are freed of duplicates too.
//
// Likeness is the Jaccard similarity of two texts' shingles, |A and B| / |A or B| (Broder, "On the resemblance and
// containment of documents", 1997). Which pairs are worth looking at is guessed by MinHash signatures in bands (Indyk
// and Motwani 1998; Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", chapter 3); what is returned was
// counted.
package overlap

import (
	"maps"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
)

// Units by which a split can be held apart: no unit of the test split is to stand in the training split.
const (
	Task   = "task"
	Call   = "call"
	Tool   = "tool"
	Server = "server"
)

// Units are all of them.
func Units() []string { return []string{Task, Call, Tool, Server} }

// Source is a text that is learnt from.
type Source struct {
	Name  string `json:"name"`  // of the scenario, or of the line
	Where string `json:"where"` // the file, or the run
	Text  string `json:"text"`
}

// Near is a scenario whose task is near to a text that is learnt from.
type Near struct {
	ScenarioID string  `json:"scenario_id"`
	Similarity float64 `json:"similarity"`  // Jaccard's, of shingles, see package near
	SameValues bool    `json:"same_values"` // false: a number, or something in quotes, is another
	Source     Source  `json:"source"`      // the nearest; with the same values, where there is one
}

// UserText is what the user says in a conversation, turn below turn.
func UserText(messages []chat.Message) string {
	var out []string
	for _, m := range messages {
		if m.Role == chat.User {
			out = append(out, m.Content)
		}
	}
	return strings.Join(out, "\n")
}

// TextOf is what a scenario is compared by: what its user says, and, of a simulated one, wants and knows.
func TextOf(s *scenario.Scenario) string {
	parts := []string{UserText(s.Opening())}
	if u := s.User; u != nil {
		parts = append(parts, u.Goal, string(u.Knows))
		if u.HasScript() {
			parts = append(parts, s.Replies()...)
		}
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, "\n")
}

// FindNear returns the scenarios that are near to a source, in order, each with the nearest source. threshold is that
// of near.NewIndex.
func FindNear(tasks []scenario.Scenario, sources []Source, threshold float64) []Near {
	first := map[string]int{} // of each text
	var texts []string
	var of []Source
	for _, s := range sources {
		if _, known := first[s.Text]; !known {
			first[s.Text] = len(texts)
			texts, of = append(texts, s.Text), append(of, s)
		}
	}
	x := NewIndex(threshold)
	for _, t := range Read(texts...) {
		x.Add(t)
	}
	var asked []string
	for _, s := range tasks {
		asked = append(asked, TextOf(&s))
	}
	var out []Near
	for i, matches := range x.NearEach(Read(asked...)) {
		if len(matches) > 0 {
			m := matches[0]
			out = append(out, Near{tasks[i].ID, m.Similarity, m.SameValues, of[m.ID]})
		}
	}
	return out
}

// Count is how many distinct units of one kind the test scenarios have, and which of them the training scenarios have
// too.
type Count struct {
	Unit   string   `json:"unit"`
	Num    int      `json:"num"`
	Shared []string `json:"shared"`
}

// Share is that of the shared ones, 0 of none.
func (c Count) Share() float64 {
	if c.Num == 0 {
		return 0
	}
	return float64(len(c.Shared)) / float64(c.Num)
}

// Counts counts by all Units. serverOf returns the server of a tool, "" where it is not known; such tools have none.
func Counts(test, train []scenario.Scenario, serverOf func(tool string) string) []Count {
	var out []Count
	for _, unit := range Units() {
		mine, theirs := unitsOf(test, unit, serverOf), unitsOf(train, unit, serverOf)
		c := Count{Unit: unit, Num: len(mine), Shared: []string{}}
		for _, name := range slices.Sorted(maps.Keys(mine)) {
			if theirs[name] {
				c.Shared = append(c.Shared, name)
			}
		}
		out = append(out, c)
	}
	return out
}

func unitsOf(list []scenario.Scenario, unit string, serverOf func(string) string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		if unit == Task {
			out[strings.TrimSpace(TextOf(&s))] = true
			continue
		}
		if unit == Call {
			for _, call := range s.Calls() {
				out[call] = true
			}
			continue
		}
		for _, tool := range s.Tools() {
			if unit == Server {
				tool = serverOf(tool)
			}
			if tool != "" {
				out[tool] = true
			}
		}
	}
	return out
}
