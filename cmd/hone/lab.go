package main

import (
	"context"
	"errors"
	"time"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/publish"
	"hone/internal/learn/sample"
	"hone/internal/learn/samplers"
	"hone/internal/mcp"
	"hone/internal/prefix"
	"hone/internal/recipe"
	"hone/internal/toolset"
)

// maxMismatch bounds the mean mismatch KL of a GRPO step, in nats a token, for a sampler in this process.
func maxMismatch(m *basemodel.Model) float64 { return samplers.MaxMismatch(m.Engine) }

// lab is everything episodes of one model need: servers, model, trainer, sampler.
type lab struct {
	*toolset.Set
	machine *basemodel.Model
	learner *learner // nil where nothing is trained
	sampler *samplers.Samplers
	policy  *publish.Publisher  // of the trainer's adapter, or of a folder's; nil for an endpoint
	world   environment.Options // of episodes: tools, limits
	speaker rollout.Sampled     // in them
	options rollout.Options
	scorer  reward.Scorer
	opens   func(options any)
}

// open opens the servers of a run whose episodes are scored.
func (a *app) open(ctx context.Context, c config.Config, servers mcp.Config, runDir string, only ...string) (*lab, error) {
	s, err := toolset.Open(ctx, a.Host, c, servers, runDir, only...)
	if err != nil {
		return nil, err
	}
	return a.labOf(c, s), nil
}

// labOf is a lab without a model.
func (a *app) labOf(c config.Config, s *toolset.Set) *lab {
	l := &lab{Set: s, opens: a.Opens, scorer: reward.Scorer{Weights: weightsOf(c.Rewards), Defaults: s.Catalog.Defaults()}}
	a.Opens(l.scorer)
	return l
}

// held is the hash of the adapter that episodes are sampled with, "" for a base model or an endpoint.
func (l *lab) held() string {
	if l.policy == nil {
		return ""
	}
	return l.policy.Held()
}

// stamp adds to the record of an episode what only the lab knows: the adapter that made it, and what servers wrote to stderr.
func (l *lab) stamp(t *trajectory.Trajectory) {
	t.Adapter = l.held()
	if l.Set != nil {
		l.Set.Stamp(t)
	}
}

// planned is what findModel settles before a device is opened.
type planned struct {
	prefix  []int32 // what all prompts begin with
	private int     // tokens of a slot after it
}

// findModel finds the base model for an adapter: the one in folder, or a fresh one where that is empty. scenarios tell what
// all prompts will begin with; trains says whether training steps follow. A model or a memory that is too small for all
// this is refused, and what the configuration leaves to the plan of the memory is settled in it; no device is opened and no
// weight read.
func (l *lab) findModel(a *app, c *config.Config, folder string, scenarios []scenario.Scenario, trains bool) (planned, error) {
	settled, trained, err := basemodel.TrainedUnder(a.Host, *c, folder, trains)
	if err != nil {
		return planned{}, err
	}
	*c = settled
	m, err := basemodel.Find(a.Host, *c, c.Model.Base, trained)
	if err != nil {
		return planned{}, err
	}
	l.machine = m
	l.world = l.worldOf(a, *c)
	l.world.Hang = hang(*c)
	l.speaker = rollout.Sampled{Renderer: m.Renderer}
	l.options = rollout.Options{MaxTokens: c.Rollout.MaxTokens, Temperature: c.Rollout.Temperature, Seed: c.Seed, Retries: 2}
	prefix, longest, err := l.sharedPrefix(scenarios)
	if err != nil {
		return planned{}, err
	}
	e := basemodel.EpisodeOf(*c)
	e.Prompt, e.Between = longest-len(prefix), between(m)
	p := planned{prefix, 0}
	c.Engine, p.private, err = m.Fit(*c, folder, len(prefix), e, trains)
	return p, err
}

// worldOf is what episodes take place in, as the configuration has it.
func (l *lab) worldOf(a *app, c config.Config) environment.Options {
	return environment.Options{Tools: l.Selection.Tools, System: c.Rollout.System, ToolList: l.Selection.List, ToolsOf: l.Selection.ForScenario,
		MaxTurns: c.Rollout.MaxTurns, MaxToolCalls: c.Rollout.MaxToolCalls, MaxWork: c.Rollout.Timeout, Programs: toolset.Programs(a.Host, c)}
}

// between is how many tokens the chat template writes around a turn's result.
func between(m *basemodel.Model) int {
	const about = 64
	call := chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "tool", Arguments: "{}"}}}
	completion, err := m.Renderer.Completion(call)
	if err != nil {
		return about
	}
	next, rewrite, err := m.Renderer.Next([]chat.Message{{Role: chat.User, Content: "task"}, call, {Role: chat.ToolRole, ToolCallID: "call_0", Name: "tool"}}, 1, completion, nil)
	if err != nil || rewrite != "" {
		return about
	}
	return len(next)
}

// hang is when a turn's calls are taken to hang. Each has mcp.timeout, and may be made again.
func hang(c config.Config) time.Duration { return max(c.Rollout.Timeout, 10*c.MCP.Timeout) }

// openings are the conversations that episodes of scenarios begin with.
func (l *lab) openings(scenarios []scenario.Scenario) (all [][]chat.Message) {
	for _, s := range scenarios {
		all = append(all, environment.Opening(l.world.System, s))
	}
	return all
}

// openModel adds what findModel finds, on a device.
func (l *lab) openModel(a *app, c *config.Config, folder string, scenarios []scenario.Scenario, trains bool) error {
	p, err := l.findModel(a, c, folder, scenarios, trains)
	if err != nil {
		return err
	}
	m := l.machine
	if err := m.Load(basemodel.Loader(c.Engine)); err != nil {
		return err
	}
	a.Say("model %s on %s", m.Spec.Name, m.Engine.Description())
	source, lora, err := l.openPolicy(a, *c, folder, len(p.prefix), trains)
	if err != nil {
		return err
	}
	a.Say("shared prefix of %d tokens; programs that are not kept yet are compiled, which takes a minute or two", len(p.prefix))
	o := sample.Options{LoRA: lora, Slots: c.Engine.Slots, DecodeSteps: c.Engine.DecodeSteps, Context: p.private, Prefix: p.prefix}
	a.Opens(o)
	if l.sampler, err = samplers.New(m.Engine, m.Spec, m.Weights, o); err != nil {
		return err
	}
	basemodel.SayPrograms(a.Host, m.Engine)
	l.speaker.Sampler, l.policy = l.sampler, publish.New(source, publish.InProcess(l.sampler))
	if folder == "" {
		return nil
	}
	return recipe.Publish(l.policy, "the adapter "+folder)
}

// openPolicy opens what is sampled from: a trainer's adapter, that of a folder, or the base model alone, for which there is no source.
func (l *lab) openPolicy(a *app, c config.Config, folder string, prefix int, trains bool) (publish.Source, model.LoRA, error) {
	m := l.machine
	if trains {
		trainer, lora, err := trainerOf(a.Host, m, c, folder, prefix)
		if err != nil {
			return nil, lora, err
		}
		l.learner = &learner{Trainer: trainer, renderer: m.Renderer}
		return trainer, lora, nil
	}
	if folder == "" {
		return nil, basemodel.LoRAOf(c.LoRA), nil
	}
	f, err := publish.OpenFolder(m.Engine, m.Spec, folder, 0)
	if err != nil {
		return nil, model.LoRA{}, err
	}
	return f, f.LoRA(), nil
}

// rehearse is an error where openModel would be one before it opens a device, or where the plug-in cannot be used.
func (l *lab) rehearse(a *app, c config.Config, folder string, scenarios []scenario.Scenario, trains bool) error {
	_, err := l.findModel(a, &c, folder, scenarios, trains)
	if err != nil || l.machine.Plugin.Path == "" {
		return err
	}
	_, err = engine.Probe(l.machine.Plugin.Path)
	return err
}

// at returns a runner of rollouts to train on, at a temperature. They are never truncated: what the sampler leaves out,
// the policy gives a probability.
func (l *lab) at(temperature float64) *rollout.Runner { return l.runner(l.speaker, temperature) }

// runner runs episodes of the lab's servers in which p speaks.
func (l *lab) runner(p rollout.Policy, temperature float64) *rollout.Runner {
	o := l.options
	o.Environment, o.Policy, o.Temperature = environment.New(l.world), p, temperature
	l.opens(l.world)
	l.opens(o)
	return rollout.New(o)
}

// unreachable gives the error of a run that failed for its servers the exit code of that, also where the fault is the
// way to them.
func (l *lab) unreachable(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.CodeError && l.Lost() > 0 {
		f.Code = fault.CodeUnavailable
	}
	return err
}

func (l *lab) close() {
	if l.sampler != nil {
		l.sampler.Close()
	}
	if l.machine != nil {
		l.machine.Close()
	}
	l.Set.Close()
}

func byID(list []scenario.Scenario) map[string]*scenario.Scenario {
	m := map[string]*scenario.Scenario{}
	for i := range list {
		m[list[i].ID] = &list[i]
	}
	return m
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
			Why:  "there are too few scenarios, too many share a call, by which they are kept in one split, or the rows give others",
			Next: "give rows the key split, or add scenarios; hone scenarios split shows how many each split has"}
	}
	return kept, nil
}

// sharedPrefix is what all prompts begin with, and the length of the longest.
func (l *lab) sharedPrefix(scenarios []scenario.Scenario) (shared []int32, longest int, err error) {
	if l.Selection.Of == nil {
		return l.machine.SharedPrefix(l.world.ToolList, l.openings(scenarios))
	}
	for i, s := range scenarios {
		tools, err := l.world.ToolsOf(s)
		if err != nil {
			return nil, 0, err
		}
		own, length, err := l.machine.SharedPrefix(tools, l.openings(scenarios[i:i+1]))
		if err != nil {
			return nil, 0, err
		}
		longest = max(longest, length)
		if i == 0 {
			shared = own
		}
		shared = shared[:prefix.Common(shared, own)]
	}
	return shared, longest, nil
}
