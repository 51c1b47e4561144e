// Package rollout runs episodes: one conversation between a policy and the tools of a live server.
package rollout

import (
	"context"
	"maps"
	"slices"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// Tools opens isolated sessions on the servers of a run. internal/mcp implements it.
type Tools interface {
	// Open gives one episode its own view of the servers. Its error is an environment error, unless it is a Blamer.
	// templates are the folders that the episode's own folders begin as, in place of those that servers are configured with.
	Open(ctx context.Context, episode string, templates ...Template) (Session, error)
}

// Template is a folder that an episode's own folder on a server is a copy of when it begins.
type Template struct{ Server, Folder string }

// TemplatesOf are a scenario's templates as Open takes them, sorted by server.
func TemplatesOf(folders map[string]string) []Template {
	var list []Template
	for _, server := range slices.Sorted(maps.Keys(folders)) {
		list = append(list, Template{server, folders[server]})
	}
	return list
}

// Blamer is an error of Open that says whose fault it is: trajectory.EnvironmentError or InfrastructureError.
type Blamer interface {
	error
	Blame() trajectory.Outcome
}

// Session is one episode's view of the servers.
type Session interface {
	// Call runs the calls of one turn, all of them, in parallel where there are several, and returns results in call
	// order. It never fails: what went wrong is each result's Status.
	Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult
	// Probe makes a call that is the scenario's and not the model's: it may use tools that the model has not been shown,
	// and its text is not cut to what a model is shown.
	Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult
	// Dir is the episode's own folder on a server, "" where it has none. With "" for the server it is that of the one
	// server that has one.
	Dir(server string) string
	Close() error
}

// Renderer turns a conversation into ids and ids into messages. internal/text/render implements it.
type Renderer interface {
	// Prompt renders a whole conversation up to and including the opening of the next assistant message.
	Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error)
	// Next renders the prompt of the turn that follows a completion, read as messages[at], and its results behind it. ids
	// are what follows the completion: the end of its message if it is missing, the results, the next opening. Where a
	// prompt of these messages would write otherwise what was prompted and sampled so far, ids are that prompt whole,
	// and rewrite says why.
	Next(messages []chat.Message, at int, completion []int32, tools []chat.Tool) (ids []int32, rewrite string, err error)
	// Completion renders an assistant message as it would have been sampled, its stop id last (for SFT).
	Completion(m chat.Message) ([]int32, error)
	// Parse reads a sampled completion back as the assistant message it is: its reasoning, by the rules of the model's
	// family, its content, and its calls, numbered from 0. A malformed or unterminated call is parseError, and its text
	// stays in the content; so is reasoning that does not end.
	Parse(completion []int32) (m chat.Message, parseError string)
	StopIDs() []int32
}
