package access

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Search is progressive discovery as a decorator: an episode begins with one tool, which finds others by their words.
// A result of it holds the definitions of what it found, and from the next turn on those can be called. So the prompt
// only grows at its end, as prefix caches and the rendering of turns need it.
type Search struct {
	inner   environment.Tools
	tools   []chat.Tool
	index   *Index
	results int    // tools that one search finds
	name    string // of the search tool
}

// NewSearch decorates the sessions of inner, whose catalog's tools these are.
func NewSearch(inner environment.Tools, tools []chat.Tool) *Search {
	s := &Search{inner: inner, tools: tools, index: NewIndex(tools), results: 5, name: "search_tools"}
	for slices.ContainsFunc(tools, func(t chat.Tool) bool { return t.Name == s.name }) {
		s.name += "_"
	}
	return s
}

// NeedsSearch reports whether a tool list of numTokens takes more than share of a context of that many tokens, so that
// it should be searched rather than shown.
func NeedsSearch(numTokens, context int, share float64) bool {
	return float64(numTokens) > share*float64(context)
}

// ToolList is what the model is shown from the start.
func (s *Search) ToolList() []chat.Tool {
	return []chat.Tool{{Name: s.name,
		Description: fmt.Sprintf("Finds tools by what they do. There are %d tools in all; "+
			"those found can be called from the next turn on.", len(s.tools)),
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"words that say what the tool should do"}},"required":["query"],"additionalProperties":false}`)}}
}

// Open opens a session that knows no tools yet but ToolList's. The session is a *SearchSession.
func (s *Search) Open(
	ctx context.Context, episode string, templates ...environment.Template,
) (environment.Session, error) {
	inner, err := s.inner.Open(ctx, episode, templates...)
	if err != nil {
		return nil, err
	}
	return &SearchSession{Session: inner, search: s, offered: s.ToolList()}, nil
}

// SearchSession is one episode's view. Like any session it is used by one goroutine at a time.
type SearchSession struct {
	environment.Session
	search  *Search
	offered []chat.Tool
}

// CallableTools is what can be called now: ToolList and what was found, in the order of finding. An endpoint that takes
// the list of tools with each request is given this one.
func (s *SearchSession) CallableTools() []chat.Tool { return slices.Clone(s.offered) }

// Call answers searches itself and sends the calls of offered tools together. A tool that was not offered before this
// turn is invalid, also where a search of this very turn finds it: the model cannot have known its parameters.
func (s *SearchSession) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := make([]trajectory.ToolResult, len(calls))
	var send []chat.ToolCall
	var places []int
	before := s.offered
	for i, call := range calls {
		switch {
		case call.Name == s.search.name:
			results[i] = s.find(call)
		case s.search.has(call.Name) && !contains(before, call.Name):
			why := fmt.Sprintf("the tool %q has not been found yet; call %s first", call.Name, s.search.name)
			results[i] = trajectory.ToolResult{Call: call, Status: trajectory.CallInvalid,
				Text: "Error: " + why, Error: why}
		default: // what no server has, the servers' pool answers
			send, places = append(send, call), append(places, i)
		}
	}
	if len(send) > 0 {
		for k, r := range s.Session.Call(ctx, send) {
			results[places[k]] = r
		}
	}
	return results
}

func (s *Search) has(name string) bool { return contains(s.tools, name) }

func contains(tools []chat.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t chat.Tool) bool { return t.Name == name })
}

// find answers one search, and marks the answer as hone's own.
func (s *SearchSession) find(call chat.ToolCall) trajectory.ToolResult {
	r := s.answer(call)
	r.Call, r.Search = call, true
	return r
}

// answer answers with the definitions of the tools that it adds or that were there.
func (s *SearchSession) answer(call chat.ToolCall) trajectory.ToolResult {
	var arguments struct{ Query *string }
	d := json.NewDecoder(strings.NewReader(call.Arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(&arguments); err != nil || arguments.Query == nil {
		why := fmt.Sprintf(`invalid arguments for %s: want {"query": "..."}`, s.search.name)
		return trajectory.ToolResult{Status: trajectory.CallInvalid, Text: "Error: " + why, Error: why}
	}
	ranked := s.search.index.Rank(*arguments.Query)
	found := ranked[:min(len(ranked), s.search.results)]
	if len(found) == 0 {
		return trajectory.ToolResult{Status: trajectory.CallOK, Text: "No tool matches; try other words."}
	}
	var b strings.Builder
	b.WriteString(fault.Count(len(found), "tool") + ":")
	for _, i := range found {
		t := s.search.tools[i]
		fmt.Fprintf(&b, "\n%s", definition(t))
		if !contains(s.offered, t.Name) {
			// the list that calls are held against stays
			s.offered = append(s.offered[:len(s.offered):len(s.offered)], t)
		}
	}
	return trajectory.ToolResult{Status: trajectory.CallOK, Text: b.String()}
}

// definition is a tool in the form that a list of tools has in a prompt, on one line.
func definition(t chat.Tool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(t); err != nil {
		return t.Name + ": " + t.Description // its schema is no JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}
