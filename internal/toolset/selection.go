package toolset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/toolset/access"
)

// Selection says which tools an episode is shown: all of them; of a large catalog those chosen for its task; or, where
// even those would fill the context, one tool to search with.
type Selection struct {
	Tools environment.Tools                              // what sessions are opened on
	List  []chat.Tool                                    // shown in all episodes, where Of is nil
	Of    func(s scenario.Scenario) ([]chat.Tool, error) // nil: List
	Why   string                                         // for the user, "" where all tools are shown
	// Largest are as many tools as one list has, those that are longest: no list takes more. It is nil where Of is.
	Largest []chat.Tool
	// Share has some scenarios that are run together share their tools, as far as those that they need allow it, in
	// place of those before; nil where Of is.
	Share func(together []scenario.Scenario) error
}

// sharing are the tools of scenarios that share them, by their ids.
type sharing struct {
	mu sync.Mutex
	of map[string][]chat.Tool
}

func (s *sharing) take(of map[string][]chat.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = of
}

func (s *sharing) tools(id string) ([]chat.Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tools, ok := s.of[id]
	return tools, ok
}

// Select chooses among all tools of a pool as mcp.max_tools and mcp.search_share say. twins says, where there are too
// many to show, which of them do the same as another (access.SelectorOptions.Twins); it may be nil.
func Select(c config.Config, pool environment.Tools, all []chat.Tool, twins func() map[string]string) Selection {
	tokens := AboutTokens(all) // collect must decide as train does, and has no tokenizer
	if share := c.MCP.SearchShare; share > 0 && access.NeedsSearch(tokens, c.Model.Context, share) {
		s := access.NewSearch(pool, all)
		list := s.ToolList()
		return Selection{Tools: s, List: list,
			Why: fmt.Sprintf("the %d tools take about %d tokens, more than %g of the context (mcp.search_share): "+
				"they are searched with %s",
				len(all), tokens, share, list[0].Name)}
	}
	most := MostTools(c, tokens)
	if len(all) <= most {
		return Selection{Tools: pool, List: all}
	}
	var hidden map[string]string
	if twins != nil {
		hidden = twins()
	}
	s := access.NewSelector(all,
		access.SelectorOptions{Max: most, Distractors: c.MCP.Distractors, Seed: c.Seed, Twins: hidden})
	return choosing(s, pool, all, fmt.Sprintf("of %d tools, each episode is shown %d that fit its task "+
		"(mcp.max_tools)%s", len(all), most, sayTwins(hidden)))
}

// choosing shows each scenario the tools that a selector chooses for it, or for it and those that it shares them with.
func choosing(s *access.Selector, pool environment.Tools, all []chat.Tool, why string) Selection {
	isTool := map[string]bool{}
	for _, t := range all {
		isTool[t.Name] = true
	}
	asked := func(one scenario.Scenario) access.Asked {
		return access.Asked{ID: one.ID, Task: one.Asks(),
			Gold: neededTools(one, func(name string) bool { return isTool[name] })}
	}
	shared := &sharing{}
	of := func(one scenario.Scenario) ([]chat.Tool, error) {
		if tools, ok := shared.tools(one.ID); ok {
			return tools, nil
		}
		a := asked(one)
		return s.Select(a.ID, a.Task, a.Gold)
	}
	share := func(together []scenario.Scenario) error {
		var list []access.Asked
		for _, one := range together {
			list = append(list, asked(one))
		}
		lists, err := s.Together(list)
		tools := map[string][]chat.Tool{}
		for i, own := range lists {
			tools[together[i].ID] = own
		}
		shared.take(tools)
		return err
	}
	return Selection{Tools: pool, List: all, Why: why, Largest: largest(all, s.Most()), Of: of, Share: share}
}

// largest are the n tools of a list that take most.
func largest(list []chat.Tool, n int) []chat.Tool {
	size := func(t chat.Tool) int { return AboutTokens([]chat.Tool{t}) }
	sorted := slices.Clone(list)
	sort.SliceStable(sorted, func(i, j int) bool { return size(sorted[i]) > size(sorted[j]) })
	return sorted[:min(n, len(sorted))]
}

// MostTools is mcp.max_tools; where that is 0, without bound for tools that fit, as they are then read once for all
// episodes, and else what models still choose well among.
func MostTools(c config.Config, tokens int) int {
	switch {
	case c.MCP.MaxTools > 0:
		return c.MCP.MaxTools
	case tokens <= roomForTools(c.Model.Context):
		return math.MaxInt
	}
	return access.DefaultMax
}

// longContext is a context from which on a model has, as a rule, as many positions once more.
const longContext = 16384

// roomForTools is how many tokens of tools fit. They stand before the context, which is what an episode has behind
// them: so a whole context of them does, but where the context is short, since the model's positions may bound it.
func roomForTools(context int) int {
	if context >= longContext {
		return context
	}
	return context / 2
}

// AboutTokens is about how many tokens tools take in a prompt, where there is no tokenizer.
func AboutTokens(all []chat.Tool) int {
	const bytesOfToken = 4
	size := 0
	for _, t := range all {
		text, _ := json.Marshal(t) // of a schema that was read as JSON
		size += len(text)
	}
	return size / bytesOfToken
}

func sayTwins(hidden map[string]string) string {
	if len(hidden) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s do what a tool of another server does, which is shown instead",
		fault.Count(len(hidden), "tool"))
}

// neededTools are the tools that a scenario speaks of: it could not be told, done or checked if they were left out.
// What earlier messages called, and checks name, may be no tool of the servers: a mistake that was made, a tool that is
// not to be called, or hone's own complete_task.
func neededTools(s scenario.Scenario, known func(name string) bool) []string {
	var names []string
	for _, m := range s.Messages {
		for _, c := range m.ToolCalls {
			if known(c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	for _, g := range s.Gold {
		names = append(names, g.Name)
	}
	for _, check := range s.Checks {
		if check.Name != "" && !check.Asks() && known(check.Name) {
			names = append(names, check.Name)
		}
	}
	return names
}

// UsesSearch reports whether a tool is called only behind a search that has found it.
func (s Selection) UsesSearch() bool {
	_, is := s.Tools.(*access.Search)
	return is
}

// ForScenario is the tools shown for one scenario.
func (s Selection) ForScenario(one scenario.Scenario) ([]chat.Tool, error) {
	if s.Of == nil {
		return s.List, nil
	}
	return s.Of(one)
}

// ForConversation is the tools shown in a conversation that is no scenario's: those that fit all that the user has
// said, so that it keeps what its earlier turns needed, and those that were called in it.
func (s Selection) ForConversation(messages []chat.Message) ([]chat.Tool, error) {
	said := []string{}
	for _, m := range messages {
		if m.Role == chat.User {
			said = append(said, m.Content)
		}
	}
	id := ""
	if len(said) > 0 {
		id = said[0] // the same distractors in all its turns
	}
	return s.behind(id, strings.Join(said, "\n"), messages)
}

// ForDemonstration is the tools shown in an episode of a scenario that a conversation shows how to do: those that fit
// what the user asks before the assistant's first turn, and those that are called in it. Without an id it is known by
// what is asked.
func (s Selection) ForDemonstration(id string, messages []chat.Message) ([]chat.Tool, error) {
	asked := ""
	for _, m := range messages {
		if m.Role == chat.Assistant {
			break
		}
		if m.Role == chat.User {
			asked = m.Content
		}
	}
	return s.behind(cmp.Or(id, asked), asked, messages)
}

// behind is the tools shown where somebody asks for something, with those that messages call.
func (s Selection) behind(id, asked string, messages []chat.Message) ([]chat.Tool, error) {
	known := map[string]bool{}
	for _, t := range s.List {
		known[t.Name] = true
	}
	var called []chat.ToolCall
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			if known[c.Name] { // a client may tell of others
				called = append(called, c)
			}
		}
	}
	return s.ForScenario(scenario.Scenario{ID: id, Messages: []chat.Message{
		{Role: chat.Assistant, ToolCalls: called},
		{Role: chat.User, Content: asked},
	}})
}
