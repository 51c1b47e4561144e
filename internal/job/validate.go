package job

import (
	"context"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/episode/vet"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/toolset"
)

// TryScenarios makes the setup and gold calls of each scenario and reports what does not hold. Its error is a server that
// cannot be reached.
func TryScenarios(ctx context.Context, h *host.Host, c config.Config, from toolset.Source, list []scenario.Scenario, find func(i int, why string, said map[string]string)) error {
	c, err := basemodel.SettleLengths(h, c)
	if err != nil {
		return err
	}
	servers, err := toolset.Configured(h, c, from)
	if err != nil {
		return err
	}
	l, err := Open(ctx, h, c, servers, "")
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Set.Runnable(c, list); err != nil { // no user is played
		return err
	}
	trial := vet.Trial{Tools: l.Tools, Defaults: l.Scorer.Defaults, Programs: toolset.Programs(h, c), Refusal: mcp.LooksRefused}
	report := h.Progress(1)
	for i := range list {
		why, err := trial.Row(ctx, &list[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		said := l.Said(list[i].ID)
		for _, w := range why {
			find(i, w, said)
			said = nil // once is enough
		}
		report("validate", i+1, len(list), "")
	}
	return nil
}
