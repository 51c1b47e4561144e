package episodes

import (
	"slices"

	"hone/internal/config"
	"hone/internal/episode/checktest"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
)

// Sendable knows which calls sessions on the servers send.
func (l *Episodes) Sendable(c config.Config) *checktest.Sessions {
	tools := slices.Concat(l.Selection.List, l.Catalog.Tools()) // a search of tools is called, too
	if c.Rollout.CompleteTask {
		tools = environment.WithCompleteTask(tools)
	}
	return checktest.NewSessions(tools, l.Scorer.Defaults)
}

// NoteUnsendable tells of scenarios whose calls no session makes, where they are measured: each counts as failed.
func (l *Episodes) NoteUnsendable(h *host.Host, c config.Config, list []scenario.Scenario) {
	n, first, sessions := 0, "", l.Sendable(c)
	for i := range list {
		if found := sessions.Unsendable(&list[i]); len(found) > 0 {
			if n++; n == 1 {
				first = list[i].ID + ": " + found[0]
			}
		}
	}
	if n > 0 {
		h.Say("note: %s cannot be done on these servers, and will count as failed, the first %s; hone scenarios validate names all", fault.Count(n, "scenario"), first)
	}
}
