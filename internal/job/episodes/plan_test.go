package episodes

import (
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/text/render"
)

// listing writes the names of tools, then what is said.
type listing struct{ render.Renderer }

func (listing) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	text := "TOOLS "
	for _, t := range tools {
		text += t.Name + ","
	}
	for _, m := range messages {
		text += "\nSAID " + m.Content
	}
	var ids []int32
	for _, r := range text + "\nSAYS" {
		ids = append(ids, r)
	}
	return ids, nil
}

// words are what such ids say.
func words(ids []int32) string {
	var text strings.Builder
	for _, id := range ids {
		text.WriteRune(id)
	}
	return text.String()
}

// Scenarios with tools of their own share a step's when they are trained on by GRPO. So what all begin with ends before
// the tools, also where their own lists happen to begin alike, and the longest prompt may have the longest tools. Where
// none are shared each keeps its list.
func TestPrefixOfToolsThatStepsShare(t *testing.T) {
	largest := []chat.Tool{{Name: "a_tool_with_a_long_name"}, {Name: "another_long_name"}}
	for shares, want := range map[bool]string{true: "TOOLS a", false: "TOOLS a_tool_with_a_long_name,"} {
		tasks := []scenario.Scenario{{Task: "Go."}, {Task: "Go there now."}}
		p := Plan{Wanted: Wanted{Trains: true, Shares: shares, Scenarios: tasks},
			Model: &basemodel.Model{Renderer: listing{}},
			World: environment.Options{ToolsOf: func(s scenario.Scenario) ([]chat.Tool, error) {
				return []chat.Tool{largest[0], {Name: s.Task[2:3]}}, nil
			}}}
		longest, err := p.sharePrefix(true, largest)
		if got := words(p.prefix); err != nil || got != want || !p.varying {
			t.Errorf("shares %t: %v, %q, want %q", shares, err, got, want)
		}
		text := "TOOLS a_tool_with_a_long_name,another_long_name,\nSAID Go there now.\nSAYS"
		if whole := len(text); shares && longest < whole {
			t.Errorf("the longest prompt has %d tokens, and %q has %d", longest, text, whole)
		}
	}
	of := func(scenario.Scenario) ([]chat.Tool, error) { return []chat.Tool{{Name: "own"}}, nil }
	sidecar := Plan{Wanted: Wanted{Trains: true, Scenarios: []scenario.Scenario{{Task: "Go."}}},
		Model: &basemodel.Model{Renderer: listing{}}, World: environment.Options{ToolsOf: of}}
	if _, err := sidecar.sharePrefix(true, nil); err != nil || !strings.HasPrefix(words(sidecar.prefix), "TOOLS own,") {
		t.Errorf("lists of which the largest is not known: %q, %v", words(sidecar.prefix), err)
	}
	p := Plan{Wanted: Wanted{Trains: true, Scenarios: []scenario.Scenario{{Task: "Go."}}},
		Model: &basemodel.Model{Renderer: listing{}}, World: environment.Options{ToolList: largest}}
	if _, err := p.sharePrefix(false, nil); err != nil || p.varying ||
		!strings.Contains(words(p.prefix), "another_long_name") {
		t.Errorf("one list for all: %q, %v", words(p.prefix), err)
	}
}
