package collect

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/console"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/llm"
	"hone/internal/mcp/scan"
	"hone/internal/toolset"
)

// Asked is what the user asks of hone collect. What is empty or 0 is the configuration's.
type Asked struct {
	// the endpoint's base URL, its model, and the variable that holds its key; Model may be PROVIDER/MODEL alone
	Endpoint, Model, KeyEnv string
	Gold                    bool   // gold calls instead
	KeepUnknown             bool   // with Gold, see Collection
	Interactive             bool   // no scenarios: a person talks with the model
	Samples, AtOnce         int    // episodes of each scenario; how many run at once. 0: 1
	Guide                   string // a system message that the model gets and the trajectories do not have
	Truncate                int    // most bytes of a tool's result, in place of rollout.max_result; 0 leaves that
	Dataset, Split          string // Split may be "all"
	Output                  string // run directory
	TokenBudget             int    // 0: no limit
	AllowFindings           scan.Allowed
}

// byPerson reports whether a person does the tasks.
func (a Asked) byPerson() bool { return a.Model == console.Name && a.Endpoint == "" && !a.Gold }

func (a Asked) check() error {
	wrong, next := "", "hone collect --help"
	switch {
	case a.Gold && (a.Endpoint != "" || a.Model != ""):
		wrong, next = "gold calls ask no endpoint", "leave out --endpoint and --model, or --gold"
	case a.Output == "" && a.Gold:
		wrong = "collect needs --output-dir"
	case a.Output == "", !a.Gold && !a.byPerson() && (a.Endpoint == "" || a.Model == ""):
		return &fault.Error{Code: fault.CodeUsage, What: "collect needs --endpoint, --model and --output-dir",
			Why: "with --gold or --model person it needs no endpoint; nor does a model PROVIDER/MODEL, " +
				"such as anthropic/NAME", Next: next}
	case a.KeepUnknown && !a.Gold:
		wrong, next = "only gold answers are left out because nothing says them", "leave out --keep-unknown"
	case a.Gold && (a.Samples > 1 || a.Guide != ""):
		wrong, next = "gold calls are the same each time, and nobody guides them",
			"leave out --samples and --hidden-system-prompt"
	case a.Samples < 0 || a.AtOnce < 0 || a.Truncate < 0 || a.Truncate > 0 && a.Truncate < 16:
		wrong = "--samples and --parallel are at least 1, and --truncate at least 16"
	case a.byPerson() && (a.AtOnce > 1 || a.Guide != ""):
		wrong, next = "a person does one task after the other, and no message guides it",
			"leave out --parallel and --hidden-system-prompt"
	case a.Interactive &&
		(a.Gold || a.byPerson() || a.Dataset != "" || a.Samples > 1 || a.AtOnce > 1 || a.Split == "all"):
		wrong, next = "in a conversation a person talks with a model, without scenarios",
			"leave out --gold, --model person, --dataset, --samples, --parallel and --split all, or --interactive"
	default:
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: wrong, Next: next}
}

// by is who speaks.
func (a Asked) by(h *host.Host, named config.NamedModel) (x Collection, how string, err error) {
	x = Collection{Samples: max(1, a.Samples), AtOnce: max(1, a.AtOnce), KeepUnknown: a.KeepUnknown}
	switch {
	case a.Gold:
		return x, "their gold calls", nil
	case a.byPerson():
		x.Policy = console.NewPolicy(h)
		return x, "a person", nil
	}
	key, _ := h.LookupEnv(named.KeyEnv)
	o := llm.Options{BaseURL: named.URL, API: named.API, Key: llm.Secret(key), TokenBudget: a.TokenBudget,
		CacheDir: filepath.Join(a.Output, "cache")}
	if named.Price != nil {
		o.Cost, x.Priced = named.Price.Of, true
	}
	x.Client, err = llm.New(o)
	x.Policy = llm.Policy{Client: x.Client, Model: a.Model, Slots: x.AtOnce, Guide: a.Guide, Cost: o.Cost}
	return x, a.Model + " at " + a.Endpoint, err
}

// remote is the endpoint that is asked: the one named, or that of a provider's model.
func (a *Asked) remote(c *config.Config) config.NamedModel {
	if known, is := c.ModelOf(a.Model); is && a.Endpoint == "" {
		a.Endpoint, a.Model = known.URL, known.Model
		return known
	}
	return config.NamedModel{URL: a.Endpoint, Model: a.Model, KeyEnv: a.KeyEnv}
}

// scenarios are those of the split; how many are not is told.
func (a Asked) scenarios(h *host.Host) ([]scenario.Scenario, error) {
	if !slices.Contains([]string{scenario.Train, scenario.Validation, scenario.Test, "all"}, a.Split) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no split %q", a.Split),
			Where: "--split", Next: "give train, validation, test or all"}
	}
	list, err := scenario.Load(a.Dataset)
	if err != nil || a.Split == "all" {
		return list, err
	}
	kept, err := job.OfSplit(list, a.Split, a.Dataset)
	if other := len(list) - len(kept); err == nil && other > 0 {
		h.Say("%s of the split %s; %d of other splits are left out (--split all runs them too)",
			fault.Count(len(kept), "scenario"), a.Split, other)
	}
	return kept, err
}

// Run is what hone collect does. It prints how many episodes ended how.
func Run(ctx context.Context, e job.Env, c config.Config, a Asked, from toolset.Source) error {
	named := a.remote(&c)
	c.Rollout.MaxResult = cmp.Or(a.Truncate, c.Rollout.MaxResult)
	trained, err := basemodel.SettleLengths(e.Host, c) // tools are shown as train shows them
	if err == nil {
		err = c.SettleLengths(true, true, 0) // an endpoint may think, whatever this machine is
	}
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return err
	}
	x, how, err := a.by(e.Host, named)
	if err != nil {
		return err
	}
	x.Trained = trained
	j := &job.Job{Env: e, Verb: "collect", Path: a.Output, Config: c, Kept: job.Kept{AllowFindings: a.AllowFindings}}
	j.Kept.Keep(e.Host, c, from)
	defer j.Close()
	if a.Interactive {
		return interactive(ctx, j, x, a.Split, how, from)
	}
	if a.Dataset, err = job.Dataset(a.Dataset, c); err != nil {
		return err
	}
	list, err := a.scenarios(e.Host)
	if err != nil {
		return err
	}
	if a.Gold {
		begun, _ := scenario.LoadCopy(filepath.Join(a.Output, job.ScenariosFile)) // of a run that goes on
		list = leaveToGRPO(e.Host, list, begun)
	}
	if e.DryRun {
		e.Say("would run %s with %s", fault.Count(len(list)*x.Samples, "episode"), how)
		return nil
	}
	ended, err := runScenarios(ctx, j, x, list, from)
	if err != nil {
		return err
	}
	if err := e.Print(ended.Outcomes, [][]string{{"trajectories", j.Trajectories()}}); err != nil {
		return err
	}
	sayNext(j, ended)
	return nil
}
