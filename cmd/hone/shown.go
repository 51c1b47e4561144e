package main

import (
	"encoding/json"
	"fmt"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/mcp/approval"
	"hone/internal/mcp/selection"
)

// shown says which tools an episode is shown: all of them; of a large catalog those chosen for its task; or, where even
// those would fill the context, one tool to search with.
type shown struct {
	tools  rollout.Tools                                  // what sessions are opened on
	list   []chat.Tool                                    // shown in all episodes, where of is nil
	of     func(s scenario.Scenario) ([]chat.Tool, error) // nil: list
	search string                                         // name of the tool to search with, "" without one
	why    string                                         // for the user, "" where all tools are shown
}

func showTools(c config.Config, pool rollout.Tools, all []chat.Tool) shown {
	const bytesOfToken = 4 // about: collect must decide as train does, and has no tokenizer
	size := 0
	for _, t := range all {
		text, _ := json.Marshal(t) // of a schema that was read as JSON
		size += len(text)
	}
	tokens := size / bytesOfToken
	if share := c.MCP.SearchShare; share > 0 && selection.Needed(tokens, c.Model.Context, share) {
		s := selection.NewSearch(pool, all, selection.SearchOptions{})
		list := s.ToolList()
		return shown{tools: s, list: list, search: list[0].Name,
			why: fmt.Sprintf("the %d tools take about %d tokens, more than %g of the context (mcp.search_share): they are searched with %s",
				len(all), tokens, share, list[0].Name)}
	}
	if len(all) <= c.MCP.MaxTools {
		return shown{tools: pool, list: all}
	}
	s := selection.New(all, selection.Options{Max: c.MCP.MaxTools, Distractors: c.MCP.Distractors, Seed: c.Seed})
	return shown{tools: pool, list: all, of: func(one scenario.Scenario) ([]chat.Tool, error) {
		return s.Select(one.ID, one.Task, needed(one))
	}, why: fmt.Sprintf("of %d tools, each episode is shown %d that fit its task (mcp.max_tools)", len(all), c.MCP.MaxTools)}
}

// needed are the tools that a scenario speaks of, by which it could not be done, or checked, if they were left out.
func needed(s scenario.Scenario) []string {
	var names []string
	for _, g := range s.Gold {
		names = append(names, g.Name)
	}
	for _, check := range s.Checks {
		if check.Name != "" && !check.Asks() {
			names = append(names, check.Name)
		}
	}
	return names
}

// forScenario is the tools shown for one scenario.
func (s shown) forScenario(one scenario.Scenario) ([]chat.Tool, error) {
	if s.of == nil {
		return s.list, nil
	}
	return s.of(one)
}

// unasked approves the search, which only hone answers, and asks about the rest.
func (s shown) unasked(ask approver) approver {
	return func(call chat.ToolCall, at approval.Place) (bool, string) {
		if s.search != "" && call.Name == s.search {
			return true, "hone's own search"
		}
		return ask(call, at)
	}
}

// sharedPrefix is what all prompts begin with, and the length of the longest.
func (l *lab) sharedPrefix(scenarios []scenario.Scenario) (shared []int32, longest int, err error) {
	if l.options.ToolsOf == nil {
		return l.machine.SharedPrefix(l.options.ToolList, l.openings(scenarios))
	}
	for i, s := range scenarios {
		tools, err := l.options.ToolsOf(s)
		if err != nil {
			return nil, 0, err
		}
		own, length, err := l.machine.SharedPrefix(tools, l.openings(scenarios[i:i+1]))
		if err != nil {
			return nil, 0, err
		}
		longest = max(longest, length)
		if i == 0 {
			shared = own
		}
		n := 0
		for n < len(shared) && n < len(own) && shared[n] == own[n] {
			n++
		}
		shared = shared[:n]
	}
	return shared, longest, nil
}
