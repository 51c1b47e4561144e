package environment

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
	// templates are the folders that the episode's own folders begin as, in place of those that servers are configured
	// with.
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
	// Probe makes a call that is the scenario's and not the model's: it may use tools that the model has not been
	// shown, and its text is not cut to what a model is shown.
	Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult
	// Dir is the episode's own folder on a server, "" where it has none. With "" for the server it is that of the one
	// server that has one.
	Dir(server string) string
	Close() error
}

// Offering is a session whose tools become more as the episode goes on, by a search.
type Offering interface {
	Session
	CallableTools() []chat.Tool // what can be called now
}
