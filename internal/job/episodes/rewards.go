package episodes

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/userprogram"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/mcp"
	"hone/internal/toolset"
)

// WeightsOf turns a section of the configuration into what episodes are scored by.
func WeightsOf(c config.Rewards) *reward.Weights {
	return &reward.Weights{Checks: c.Checks, Call: c.Call, Tool: c.Tool, End: c.End, Extra: c.Extra, Repeat: c.Repeat,
		Invalid: c.Invalid, Parse: c.Parse}
}

// ByTurn is a scorer that says too what each turn earned, where the configuration gives credit to turns.
func ByTurn(c config.Config, s reward.Scorer) reward.Scorer {
	if c.GRPO.Credit.Level == string(batch.CreditTurn) {
		s.Turns = &reward.Turns{Progress: c.GRPO.Credit.Progress}
	}
	return s
}

// ScorerOf is what episodes are scored by, with the tools of a catalog, which may be nil.
func ScorerOf(h *host.Host, c config.Rewards, catalog *mcp.Catalog) (reward.Scorer, error) {
	s := reward.Scorer{
		Weights: WeightsOf(c),
		Rating:  c.Rating,
		Effort: reward.Effort{Arguments: c.Arguments, Recovery: c.Recovery, Repair: c.Repair,
			Economy: reward.Economy(c.Economy), Length: reward.Length(c.Length)},
	}
	if catalog != nil {
		s.Defaults = catalog.Defaults()
	}
	if o := c.Overlong; o.Weight != 0 {
		s.Overlong = &reward.Overlong{Weight: o.Weight, Limit: o.Limit, Buffer: o.Buffer}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Expressions)) {
		f, err := userprogram.Compile(c.Expressions[name].Formula)
		if err != nil {
			return s, err
		}
		s.Expressions = append(s.Expressions,
			reward.Expression{Name: name, Formula: f, Weight: c.Expressions[name].Weight})
	}
	if len(c.Program.Command) == 0 {
		return s, nil
	}
	p := userprogram.Program{Command: slices.Clone(c.Program.Command), Environ: toolset.ProgramEnviron(h),
		Timeout: c.Program.Timeout}
	if strings.ContainsRune(p.Command[0], filepath.Separator) {
		file, err := filepath.Abs(p.Command[0])
		if err != nil {
			return s, err
		}
		p.Command[0] = file
	}
	var err error
	if s.Program, err = reward.NewProgram(p, c.Program.Weight); err == nil && c.Program.Worker {
		s.Program.Worker = userprogram.NewWorker(p)
	}
	return s, err
}
