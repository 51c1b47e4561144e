package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/console"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/llm"
	"hone/internal/mcp/scan"
	"hone/internal/toolset"
)

// CollectAsked is what the user asks of hone collect. What is empty or 0 is the configuration's.
type CollectAsked struct {
	Endpoint, Model, KeyEnv string // the endpoint's base URL, its model, and the variable that holds its key; Model may be PROVIDER/MODEL alone
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
func (a CollectAsked) byPerson() bool { return a.Model == console.Name && a.Endpoint == "" && !a.Gold }

func (a CollectAsked) check() error {
	wrong, next := "", "hone collect --help"
	switch {
	case a.Gold && (a.Endpoint != "" || a.Model != ""):
		wrong, next = "gold calls ask no endpoint", "leave out --endpoint and --model, or --gold"
	case a.Output == "", !a.Gold && !a.byPerson() && (a.Endpoint == "" || a.Model == ""):
		return &fault.Error{Code: fault.CodeUsage, What: "collect needs --endpoint, --model and --output-dir",
			Why: "with --gold or --model person it needs no endpoint; nor does a model PROVIDER/MODEL, such as anthropic/NAME", Next: next}
	case a.KeepUnknown && !a.Gold:
		wrong, next = "only gold answers are left out because nothing says them", "leave out --keep-unknown"
	case a.Gold && (a.Samples > 1 || a.Guide != ""):
		wrong, next = "gold calls are the same each time, and nobody guides them", "leave out --samples and --hidden-system-prompt"
	case a.Samples < 0 || a.AtOnce < 0 || a.Truncate < 0 || a.Truncate > 0 && a.Truncate < 16:
		wrong = "--samples and --parallel are at least 1, and --truncate at least 16"
	case a.byPerson() && (a.AtOnce > 1 || a.Guide != ""):
		wrong, next = "a person does one task after the other, and no message guides it", "leave out --parallel and --hidden-system-prompt"
	case a.Interactive && (a.Gold || a.byPerson() || a.Dataset != "" || a.Samples > 1 || a.AtOnce > 1 || a.Split == "all"):
		wrong, next = "in a conversation a person talks with a model, without scenarios", "leave out --gold, --model person, --dataset, --samples, --parallel and --split all, or --interactive"
	default:
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: wrong, Next: next}
}

// by is who speaks.
func (a CollectAsked) by(h *host.Host, named config.NamedModel) (x Collection, how string, err error) {
	x = Collection{Samples: max(1, a.Samples), AtOnce: max(1, a.AtOnce), KeepUnknown: a.KeepUnknown}
	switch {
	case a.Gold:
		return x, "their gold calls", nil
	case a.byPerson():
		x.Policy = console.NewPolicy(h)
		return x, "a person", nil
	}
	key, _ := h.LookupEnv(named.KeyEnv)
	o := llm.Options{BaseURL: named.URL, API: named.API, Key: llm.Secret(key), TokenBudget: a.TokenBudget, CacheDir: filepath.Join(a.Output, "cache")}
	if named.Price != nil {
		o.Cost, x.Priced = named.Price.Of, true
	}
	x.Client, err = llm.New(o)
	x.Policy = llm.Policy{Client: x.Client, Model: a.Model, Slots: x.AtOnce, Guide: a.Guide, Cost: o.Cost}
	return x, a.Model + " at " + a.Endpoint, err
}

// remote is the endpoint that is asked: the one named, or that of a provider's model.
func (a *CollectAsked) remote(c *config.Config) config.NamedModel {
	if known, is := c.ModelOf(a.Model); is && a.Endpoint == "" {
		a.Endpoint, a.Model = known.URL, known.Model
		return known
	}
	return config.NamedModel{URL: a.Endpoint, Model: a.Model, KeyEnv: a.KeyEnv}
}

// scenarios are those of the split; how many are not is told.
func (a CollectAsked) scenarios(h *host.Host) ([]scenario.Scenario, error) {
	if !slices.Contains([]string{scenario.Train, scenario.Validation, scenario.Test, "all"}, a.Split) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no split %q", a.Split), Where: "--split", Next: "give train, validation, test or all"}
	}
	list, err := scenario.Load(a.Dataset)
	if err != nil || a.Split == "all" {
		return list, err
	}
	kept, err := OfSplit(list, a.Split, a.Dataset)
	if other := len(list) - len(kept); err == nil && other > 0 {
		h.Say("%s of the split %s; %d of other splits are left out (--split all runs them too)", fault.Count(len(kept), "scenario"), a.Split, other)
	}
	return kept, err
}

// Collect is what hone collect does. It prints how many episodes ended how.
func (e Env) Collect(ctx context.Context, c config.Config, a CollectAsked, from toolset.Source) error {
	named := a.remote(&c)
	c.Rollout.MaxResult = cmp.Or(a.Truncate, c.Rollout.MaxResult)
	trained, err := basemodel.SettleLengths(e.Host, c) // tools are shown as train shows them
	if err == nil {
		err = c.SettleLengths(true, 0) // an endpoint may think, whatever this machine is
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
	j := &Job{Env: e, Verb: "collect", Path: a.Output, Config: c, Kept: Kept{AllowFindings: a.AllowFindings}}
	defer j.Close()
	if a.Interactive {
		return j.interactive(ctx, x, a.Split, how, from)
	}
	if a.Dataset, err = Dataset(a.Dataset, c); err != nil {
		return err
	}
	list, err := a.scenarios(e.Host)
	if err != nil {
		return err
	}
	if e.DryRun {
		e.Say("would run %s with %s", fault.Count(len(list)*x.Samples, "episode"), how)
		return nil
	}
	ended, err := j.Collect(ctx, x, list, from)
	if err != nil {
		return err
	}
	if err := e.Print(ended.Outcomes, [][]string{{"trajectories", j.Trajectories()}}); err != nil {
		return err
	}
	j.sayCollected(ended)
	return nil
}

// Dataset is the file of scenarios: that of --dataset, else the configuration's, which is to be there.
func Dataset(given string, c config.Config) (string, error) {
	if given != "" {
		return given, nil
	}
	if _, err := os.Stat(c.Scenarios.File); errors.Is(err, fs.ErrNotExist) {
		return "", &fault.Error{Code: fault.CodeUsage, What: "no scenarios: --dataset names no file", Where: c.Scenarios.File, Why: "this file is read where the flag is left out (scenarios.file), and it does not exist",
			Next: "name yours with --dataset FILE, or hone synth --out " + c.Scenarios.File + " makes some for your servers"}
	}
	return c.Scenarios.File, nil
}

// TrainAsked is what the user asks of hone train. What is empty or 0 is the configuration's.
type TrainAsked struct {
	LoRA          basemodel.GivenLoRA
	Base, Adapter string // base model; adapter to start from, "" for a fresh one
	Dataset       string
	Judge         GivenJudge
	Output        string // run directory
	NumGPUs       int
	SkipBad       bool // rows that cannot be read, and scenarios whose checks tell nothing, are left out
	AllowFindings scan.Allowed
}

// Train is what hone train does.
func (e Env) Train(ctx context.Context, c config.Config, a TrainAsked, from toolset.Source) error {
	var err error
	if a.Adapter, err = basemodel.AdapterFolder(e.Host, a.Adapter); err != nil {
		return err
	}
	if c.Scenarios.File, err = Dataset(a.Dataset, c); err != nil {
		return err
	}
	if err := basemodel.OnGPUs(&c, a.NumGPUs); err != nil {
		return err
	}
	if c.Rollout.Temperature == 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot train on greedy rollouts", Where: "rollout.temperature",
			Why:  "at 0 all episodes of a group are the same, so there is nothing to compare",
			Next: "set rollout.temperature above 0, such as 1; eval.temperature is that of evaluations"}
	}
	if err := e.Free(a.Output); err != nil {
		return err
	}
	if err := a.Judge.Apply(&c); err != nil {
		return err
	}
	list, err := Vetted(e.Host, c.Scenarios.File, a.SkipBad, otherwiseScored(c))
	if err == nil {
		err = Scored(list, c.Scenarios.File, c.Judge.Model, len(c.Rewards.Program.Command) > 0)
	}
	if err != nil {
		return err
	}
	if _, err := OfSplit(list, scenario.Train, c.Scenarios.File); err != nil {
		return err
	}
	if c, err = startFrom(e.Host, c, a.LoRA, a.Adapter, a.Base); err != nil {
		return err
	}
	origin, err := originOf(a.Adapter)
	if err != nil {
		return err
	}
	j := &Job{Env: e, Verb: "train", Path: a.Output, Config: c, Kept: Kept{Adapter: a.Adapter, Origin: origin, AllowFindings: a.AllowFindings}, SkipBad: a.SkipBad}
	j.Kept.Keep(e.Host, c, from)
	if e.DryRun {
		return j.RehearseTrain(ctx, list, from)
	}
	defer j.Close()
	return j.Train(ctx, list, from)
}

// startFrom is c with the base model and the adapter that training starts from, and with lengths for them.
func startFrom(h *host.Host, c config.Config, lora basemodel.GivenLoRA, adapter, base string) (config.Config, error) {
	var err error
	if c.Model.Base, err = basemodel.BaseOf(adapter, base, c); err == nil {
		c.Model.Base, err = basemodel.PinRevision(h, c.Model.Base)
	}
	if err == nil {
		if c, err = basemodel.SettleLengths(h, c); err == nil {
			err = lora.Apply(h, &c, adapter)
		}
	}
	return c, err
}

// SFTAsked is what the user asks of hone sft. What is empty is the configuration's.
type SFTAsked struct {
	LoRA          basemodel.GivenLoRA
	Base, Adapter string // base model; adapter to start from, "" for a fresh one
	Data, Catalog string // conversations; tools of rows that name none
	Output        string // run directory
	Steps         int    // in place of sft.epochs; 0: what the keys say
	SkipBad       bool   // rows that cannot be read or rendered are left out
	AllowFindings scan.Allowed
}

// SFT is what hone sft does.
func (e Env) SFT(ctx context.Context, c config.Config, a SFTAsked) error {
	if a.Data == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no conversations to learn from", Next: "name a file with --data; hone collect makes one"}
	}
	err := c.TakeSteps(a.Steps)
	if err == nil {
		err = e.Free(a.Output)
	}
	if err != nil {
		return err
	}
	if a.Adapter, err = basemodel.AdapterFolder(e.Host, a.Adapter); err != nil {
		return err
	}
	from, err := LocalData(e.Host, a.Data)
	if err != nil {
		return err
	}
	d, err := ReadConversations(from[0], a.Catalog)
	if err == nil {
		err = unread(e.Host, &d.report, a.SkipBad)
	}
	if err != nil {
		return err
	}
	d.holdOut(e.Host, nil)
	if c, err = startFrom(e.Host, c, a.LoRA, a.Adapter, a.Base); err != nil {
		return err
	}
	rows, err := d.Demonstrations(e.Host, c)
	if err == nil {
		err = toolset.RefuseFindings(e.Host, c.MCP, d.LintTools(rows), a.AllowFindings)
	}
	if err != nil {
		return err
	}
	j := &Job{Env: e, Verb: "sft", Path: a.Output, Config: c, Kept: Kept{Adapter: a.Adapter, Data: a.Data, AllowFindings: a.AllowFindings}, SkipBad: a.SkipBad}
	defer j.Close()
	if e.DryRun {
		return j.RehearseSFT(d, rows)
	}
	return j.SFT(ctx, d, rows)
}
