package main

import (
	"context"
	"net/url"

	"github.com/spf13/pflag"

	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/learn/adapter"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
	"hone/internal/mcp"
)

// serverFlags say which servers a verb works on.
type serverFlags struct{ server, file string }

func (f *serverFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "mcp", "", "one MCP server: a URL, or a command with its arguments (default $MCP_URL)")
	flags.StringVar(&f.file, "mcp-config", "", "file with the MCP servers, in the mcpServers or the servers form")
}

// servers reads the configuration of the servers: --mcp, else --mcp-config, else $MCP_URL, else the configuration's file.
func (a *app) servers(c config.Config, f serverFlags) (mcp.Config, error) {
	token, _ := a.lookupEnv("MCP_BEARER_TOKEN")
	if f.server == "" && f.file == "" {
		f.server, _ = a.lookupEnv("MCP_URL")
		if u, err := url.Parse(f.server); f.server != "" && (err != nil || u.Host == "") { // else it would be run as a command
			return mcp.Config{}, &fault.Error{Code: fault.CodeUsage, What: "MCP_URL is not a URL", Where: "MCP_URL=" + f.server,
				Next: "write it with http:// or https://"}
		}
	}
	if f.server != "" {
		return mcp.FromFlag(f.server, token, a.lookupEnv)
	}
	if f.file == "" {
		f.file = c.MCP.Config
	}
	servers, err := mcp.LoadConfig(f.file, a.lookupEnv)
	if err != nil || len(c.MCP.Only) == 0 {
		return servers, err
	}
	return servers.Only(c.MCP.Only...)
}

// maxMismatch bounds the mean mismatch KL of a GRPO step, in nats a token, for a sampler in this process in float32.
const maxMismatch = 1e-5

// lab is everything episodes of one model need: servers, model, trainer, sampler.
type lab struct {
	catalog *mcp.Catalog
	pool    *mcp.Pool
	machine *machine
	learner *learner
	options rollout.Options
	scorer  reward.Scorer
}

// openServers connects to the servers and freezes their tools; only names the tools to keep, none keeps all.
func (a *app) openServers(ctx context.Context, c config.Config, servers mcp.Config, only ...string) (*lab, error) {
	catalog, err := mcp.Discover(ctx, servers)
	if err != nil {
		return nil, err
	}
	if len(only) > 0 {
		if catalog, err = catalog.Only(only...); err != nil {
			return nil, err
		}
	}
	pool, err := mcp.NewPool(ctx, servers, catalog, mcp.Options{Timeout: c.MCP.Timeout, MaxResult: c.Rollout.MaxResult})
	if err != nil {
		return nil, err
	}
	return &lab{catalog: catalog, pool: pool, scorer: reward.Scorer{Defaults: catalog.Defaults()}}, nil
}

// openModel adds the base model with an adapter: the one in folder, or a fresh one where that is empty. scenarios
// tell what all prompts will begin with.
func (l *lab) openModel(a *app, c config.Config, folder string, scenarios []scenario.Scenario) error {
	var err error
	if l.machine, err = a.openMachine(c, c.Model.Base, c.Rollout.System); err != nil {
		return err
	}
	m := l.machine
	a.say("model %s on %s", m.spec.Name, m.engine.Description())
	l.options = rollout.Options{Tools: l.pool, Renderer: m.renderer, System: c.Rollout.System, ToolList: l.catalog.Tools(),
		MaxTurns: c.Rollout.MaxTurns, MaxTokens: c.Rollout.MaxTokens, MaxToolCalls: c.Rollout.MaxToolCalls,
		Temperature: c.Rollout.Temperature, Timeout: c.Rollout.Timeout, Seed: c.Seed, Retries: 2}
	lora := model.LoRA{Rank: c.SFT.LoRA.Rank, Alpha: c.SFT.LoRA.Alpha, RankStabilized: c.SFT.LoRA.RSLoRA}
	state := train.NewState(m.spec, lora, c.Seed)
	if folder != "" {
		if lora, state.Adapter, err = train.LoadAdapter(folder, m.spec); err != nil {
			return err
		}
		state.M, state.V = make([]float32, len(state.Adapter)), make([]float32, len(state.Adapter))
	}
	prefix, longest, err := m.sharedPrefix(l.options, scenarios)
	if err != nil {
		return err
	}
	trainer, err := train.New(m.engine, m.spec, m.weights, state, train.Options{LoRA: lora, MicroBatch: c.Engine.MicroBatch,
		RowMultiple: c.Engine.RowMultiple, MaxPrefix: len(prefix), Temperature: c.Rollout.Temperature})
	if err != nil {
		return err
	}
	private := min(max(256, longest-len(prefix)+c.Rollout.MaxTurns*c.Rollout.MaxTokens), c.Model.Context)
	a.say("shared prefix of %d tokens; compiling", len(prefix))
	sampler, err := sample.New(m.engine, m.spec, m.weights, sample.Options{LoRA: lora, Slots: c.Engine.Slots, Context: private, Prefix: prefix})
	if err != nil {
		return err
	}
	l.options.Sampler = sampler
	l.learner = &learner{Trainer: trainer, sampler: sampler}
	if folder == "" {
		return nil
	}
	return l.learner.Publish()
}

// at returns a runner at a temperature: that of training, or that of evaluations.
func (l *lab) at(temperature float64) *rollout.Runner {
	o := l.options
	o.Temperature = temperature
	return rollout.New(o)
}

func (l *lab) close() {
	if l.learner != nil {
		l.learner.sampler.Close()
	}
	if l.machine != nil {
		l.machine.close()
	}
	_ = l.pool.Close() // the processes are gone either way
}

// scenarios loads a file for a verb that scores by rules; without checks and without a judge there is nothing to score.
func scenarios(path, judge string) ([]scenario.Scenario, error) {
	list, err := scenario.Load(path)
	if err != nil {
		return nil, err
	}
	if judge != "" {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "this build scores by checks only", Where: "--judge-model " + judge,
			Next: `leave --judge-model out and give each scenario "checks"`}
	}
	if scenario.NeedsJudge(list) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "some scenarios have no checks, so nothing can score them", Where: path,
			Next: `give each scenario "checks", or name a judge with --judge-model`}
	}
	return list, nil
}

// ofSplit returns the scenarios of a split, which must not be empty.
func ofSplit(list []scenario.Scenario, split, path string) ([]scenario.Scenario, error) {
	kept := scenario.OfSplit(list, split)
	if len(kept) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no scenario is in the split " + split, Where: path,
			Next: "give rows the key split, or leave it out and hone scenarios split assigns it"}
	}
	return kept, nil
}

// baseOf returns the base model for an adapter: the one given, else the one the adapter names, else the configuration's.
func baseOf(folder, given string, c config.Config) (string, error) {
	if given != "" || folder == "" {
		if given == "" {
			given = c.Model.Base
		}
		return given, nil
	}
	a, _, err := adapter.Load(folder)
	if err != nil || a.BaseModel != "" {
		return a.BaseModel, err
	}
	return c.Model.Base, nil
}
