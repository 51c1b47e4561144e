package console

import (
	"context"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
)

// ShowCall shows a call on the terminal.
func ShowCall(h *host.Host, name, arguments string) { h.Say("-> %s %s", name, arguments) }

// ShowResult shows what became of a call, and who decided about it.
func ShowResult(h *host.Host, status, text, approval string) {
	// it says what became of the call too
	if status == string(trajectory.CallDenied) && approval != "" && strings.HasSuffix(text, approval) {
		h.Say("<- denied: %s", strings.TrimPrefix(approval, "denied "))
		return
	}
	const most = 500
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	h.Say("<- %s: %s (%s)", status, text, approval)
}

// ShowCalls returns tools whose calls and results are shown to the person. It stands before the gate that decides about
// them.
func ShowCalls(h *host.Host, inner environment.Tools) environment.Tools { return shown{inner, h} }

type shown struct {
	environment.Tools
	host *host.Host
}

// Open implements environment.Tools.
func (s shown) Open(
	ctx context.Context, episode string, templates ...environment.Template,
) (environment.Session, error) {
	session, err := s.Tools.Open(ctx, episode, templates...)
	if err != nil {
		return nil, err
	}
	seen := shownSession{session, s.host}
	if offering, ok := session.(environment.Offering); ok {
		return shownOffering{seen, offering}, nil
	}
	return seen, nil
}

type shownSession struct {
	environment.Session
	host *host.Host
}

// shownOffering is a session whose tools change.
type shownOffering struct {
	shownSession
	offering environment.Offering
}

// CallableTools implements environment.Offering.
func (s shownOffering) CallableTools() []chat.Tool { return s.offering.CallableTools() }

// Call implements environment.Session.
func (s shownSession) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	for _, c := range calls {
		ShowCall(s.host, c.Name, c.Arguments)
	}
	results := s.Session.Call(ctx, calls)
	for _, r := range results {
		text := r.Text
		if text == "" {
			text = r.Error
		}
		ShowResult(s.host, string(r.Status), text, r.Approval)
	}
	return results
}
