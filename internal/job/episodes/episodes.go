// Package episodes opens what episodes need: servers, the model, its sampler and, where it is trained, its trainer.
package episodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/episode/environment"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job/scoring"
	"hone/internal/job/settings"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/publish"
	"hone/internal/learn/sample"
	"hone/internal/mcp"
	"hone/internal/policy"
	"hone/internal/recipe"
	"hone/internal/toolset"
)

// MaxMismatch bounds the mean mismatch KL of a GRPO step, in nats a token, for a sampler in this process.
func MaxMismatch(m *basemodel.Model) float64 { return sample.MaxMismatch(m.Engine) }

// Episodes is everything that episodes of one model need: servers, model, sampler, trainer.
type Episodes struct {
	*toolset.Set
	Model    *basemodel.Model
	Trainer  *basemodel.Trainer  // nil where nothing is trained
	Sampler  *sample.Samplers    // nil where a server samples
	away     *away               // that server's; nil for none
	takes    publish.Sampler     // what versions of the policy are handed to
	Policy   *publish.Publisher  // of the trainer's adapter, or of a folder's; nil for an endpoint
	World    environment.Options // of episodes: tools, limits
	Users    *players
	judge    *scoring.Judging // nil for none
	Speaker  *rollout.Sampled // in them; nil where an endpoint speaks
	Options  rollout.Options
	Scorer   reward.Scorer
	Watch    func(*environment.Options) // of an evaluation, which books what episodes take; else nil
	Room     int                        // tokens of an episode; 0 where it is not ours to say
	opens    func(options any)
	refusals *refusals                           // nil: nobody is told of them
	KeyOf    func(*trajectory.Trajectory) string // content key of an episode, nil where none is made
}

// Open opens the servers of a run whose episodes are scored.
func Open(ctx context.Context, h *host.Host, c config.Config, servers mcp.Config, runDir string, only ...string) (*Episodes, error) {
	s, err := toolset.Open(ctx, h, c, servers, runDir, only...)
	if err != nil {
		return nil, err
	}
	return Of(h, c, s)
}

// Of are the episodes of a tool set, which they take over, without a model.
func Of(h *host.Host, c config.Config, s *toolset.Set) (*Episodes, error) {
	scorer, err := scoring.ScorerOf(h, c.Rewards, s.Catalog)
	if err != nil {
		s.Close()
		return nil, err
	}
	h.Opens(scorer)
	users, err := PlayersOf(h, c)
	if err != nil {
		s.Close()
		return nil, err
	}
	return &Episodes{Set: s, opens: h.Opens, Scorer: scorer, Users: users, refusals: &refusals{}}, nil
}

// Remote are episodes on the same servers in which a model of an endpoint speaks.
func (l *Episodes) Remote(h *host.Host, c config.Config) *Episodes {
	r := &Episodes{Set: l.Set, refusals: l.refusals, Scorer: l.Scorer, Users: l.Users, opens: l.opens, Watch: l.Watch}
	r.World = r.WorldOf(h, c)
	r.World.Hang = hang(c)
	r.Options = optionsOf(c)
	return r
}

// Held is the hash of the adapter that episodes are sampled with, "" for a base model or an endpoint.
func (l *Episodes) Held() string {
	if l.Policy == nil {
		return ""
	}
	return l.Policy.Held()
}

// Stamp adds to the record of an episode what only it knows: the adapter that made it, and what servers wrote to stderr.
func (l *Episodes) Stamp(t *trajectory.Trajectory) {
	t.Adapter = l.Held()
	if l.KeyOf != nil {
		t.ContentKey = l.KeyOf(t)
	}
	if l.Set != nil {
		l.Set.Stamp(t)
	}
}

// Wanted says which model is to speak in episodes.
type Wanted struct {
	Adapter   string              // its folder; "" for a fresh one, or the base model alone
	Scenarios []scenario.Scenario // which tell what all prompts will begin with
	Trains    bool                // training steps follow
}

// Plan is what is settled before a device is opened: the model that was found for what is wanted, how its episodes begin,
// and the configuration with what the adapter and the memory settle in it.
type Plan struct {
	Wanted
	Config  config.Config
	Model   *basemodel.Model
	World   environment.Options
	prefix  []int32 // what all prompts begin with
	private int     // tokens of a slot after it
}

// Resolve finds the base model for what is wanted. A model or a memory that is too small for it is refused; no device is
// opened and no weight read. The plan's model is to be closed, unless it is opened.
func (l *Episodes) Resolve(h *host.Host, c config.Config, w Wanted) (Plan, error) {
	c, trained, err := basemodel.AdapterPrompting(h, c, w.Adapter, w.Trains)
	if err != nil {
		return Plan{}, err
	}
	p, find := Plan{Wanted: w, Config: c}, c
	if l.sampledAway(w.Trains) {
		find.Engine.Backend, find.Engine.Plugin = "go", "" // no device is needed
	}
	if p.Model, err = basemodel.Find(h, find, c.Model.Base, trained); err != nil {
		return p, err
	}
	if err = l.settle(h, &p); err != nil {
		p.Model.Close()
	}
	return p, err
}

// settle gives a plan all that follows from its model.
func (l *Episodes) settle(h *host.Host, p *Plan) error {
	p.Model.SayUntrained(p.Config.LoRA, p.Adapter, p.Trains)
	p.World = l.worldOf(h, p.Config, p.Model)
	p.World.Hang = hang(p.Config)
	longest, err := p.sharePrefix(l.Selection.Of != nil)
	if err != nil {
		return err
	}
	e := basemodel.EpisodeOf(p.Config)
	e.Prompt, e.Between = longest-len(p.prefix), between(p.Model)
	if l.sampledAway(p.Trains) {
		p.private, err = p.Model.FitAway(p.Config, len(p.prefix), e)
		return err
	}
	fit := p.Config
	if l.away == nil { // it is sampled here
		fit.Sampler.URL = ""
	}
	p.Config.Engine, p.private, err = p.Model.Fit(fit, p.Adapter, len(p.prefix), e, p.Trains)
	return err
}

// WorldOf is what the episodes of an endpoint take place in, as the configuration has it.
func (l *Episodes) WorldOf(h *host.Host, c config.Config) environment.Options {
	return l.worldOf(h, c, nil)
}

func (l *Episodes) worldOf(h *host.Host, c config.Config, m *basemodel.Model) environment.Options {
	list, of := l.Selection.List, l.Selection.ForScenario
	if c.Rollout.CompleteTask {
		list, of = environment.WithCompleteTask(list), func(s scenario.Scenario) ([]chat.Tool, error) {
			tools, err := l.Selection.ForScenario(s)
			return environment.WithCompleteTask(tools), err
		}
	}
	return environment.Options{Tools: l.Selection.Tools, System: c.Rollout.System, ToolList: list, ToolsOf: of, CompleteTask: c.Rollout.CompleteTask,
		MaxTurns: c.Rollout.MaxTurns, MaxToolCalls: c.Rollout.MaxToolCalls, MaxMalformed: c.Rollout.MaxMalformed, CallExample: callExample(m),
		MaxWork: c.Rollout.Timeout, Programs: toolset.Programs(h, c), User: environment.Players{Model: l.Users.model(), Seed: c.Seed}}
}

// optionsOf are those of episodes, but for who speaks and where.
func optionsOf(c config.Config) rollout.Options {
	return rollout.Options{MaxTokens: c.Rollout.MaxTokens, Temperature: c.Rollout.Temperature, Seed: c.Seed, Retries: 2}
}

// callExample is a call as a model writes it; "" for an endpoint, which writes calls by its own rules.
func callExample(m *basemodel.Model) string {
	if m == nil {
		return ""
	}
	call := chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "tool_name", Arguments: `{"argument": "value"}`}}}
	ids, err := m.Renderer.Completion(call)
	if err != nil {
		return "" // a template that cannot write it alone
	}
	if stops := m.Renderer.StopIDs(); len(ids) > 0 && slices.Contains(stops, ids[len(ids)-1]) {
		ids = ids[:len(ids)-1]
	}
	return strings.TrimSpace(m.Text.Tokenizer.Decode(ids))
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

// Openings are the conversations that episodes of scenarios begin with.
func (p Plan) Openings(scenarios []scenario.Scenario) (all [][]chat.Message) {
	for _, s := range scenarios {
		all = append(all, environment.Openings(p.World.System, s)...)
	}
	return all
}

// OpenModel opens what is planned on a device, or on the server that samples.
func (l *Episodes) OpenModel(h *host.Host, p Plan) error {
	m, c := p.Model, p.Config
	l.Model, l.World, l.Options = m, p.World, optionsOf(c)
	l.Speaker = &rollout.Sampled{Renderer: m.Renderer}
	if l.sampledAway(p.Trains) {
		return l.openAway(p.Adapter, len(p.prefix)+p.private)
	}
	if err := m.Load(basemodel.Loader(c.Engine)); err != nil {
		return err
	}
	h.Say("model %s on %s", m.Spec.Name, m.Engine.Description())
	source, lora, err := l.openPolicy(h, p)
	if err != nil {
		return err
	}
	if l.away != nil {
		return l.away.speakFrom(l, source, len(p.prefix)+p.private, m.Spec.VocabSize)
	}
	h.Say("shared prefix of %d tokens; %s", len(p.prefix), basemodel.CompileNote)
	o := sample.Options{LoRA: lora, Slots: c.Engine.Slots, DecodeSteps: c.Engine.DecodeSteps, Context: p.private, Prefix: p.prefix}
	h.Opens(o)
	if l.Sampler, err = sample.NewSamplers(m.Engine, m.Spec, m.Weights, o); err != nil {
		return err
	}
	basemodel.SayPrograms(h, m.Engine)
	l.takes = publish.InProcess(l.Sampler)
	l.Speaker.Sampler, l.Policy = l.Sampler, publish.New(source, l.takes)
	l.Room = len(p.prefix) + p.private
	if p.Adapter == "" {
		return nil
	}
	return recipe.Publish(l.Policy, "the adapter "+p.Adapter)
}

// Hold makes the sampler hold the adapter in a folder, or the base model alone where that is empty, of those who train nothing.
func (l *Episodes) Hold(folder string) error {
	if folder == "" {
		return l.Policy.Withdraw()
	}
	f, err := publish.OpenFolder(l.Model.Engine, l.Model.Spec, folder, 0)
	if err != nil {
		return err
	}
	defer f.Close() // samplers copy it
	l.Policy = publish.New(f, l.takes)
	if err := recipe.Publish(l.Policy, "the adapter "+folder); err != nil || l.away == nil {
		return err
	}
	return l.away.compare(l, folder)
}

// openPolicy opens what is sampled from: a trainer's adapter, that of a folder, or the base model alone, for which there is no source.
func (l *Episodes) openPolicy(h *host.Host, p Plan) (publish.Source, model.LoRA, error) {
	m, c := p.Model, p.Config
	if p.Trains {
		c.Engine.Packing = "off" // rows of a group share its prefix, and their room was planned so
		trainer, lora, err := basemodel.OpenTrainer(h, m, c, p.Adapter, len(p.prefix))
		if err != nil {
			return nil, lora, err
		}
		l.Trainer = trainer
		return publish.Trained{Trainer: trainer.Trainer, Engine: m.Engine, Spec: m.Spec}, lora, nil
	}
	if p.Adapter == "" {
		lora, err := m.LoRA(c.LoRA)
		return nil, lora, err
	}
	f, err := publish.OpenFolder(m.Engine, m.Spec, p.Adapter, 0)
	if err != nil {
		return nil, model.LoRA{}, err
	}
	return f, f.LoRA(), nil
}

// Rehearse is an error where OpenModel would be one before it opens a device, or where the plug-in cannot be used.
func (p Plan) Rehearse() error {
	if p.Model.Plugin.Path == "" {
		return nil
	}
	_, err := engine.Probe(p.Model.Plugin.Path)
	return err
}

// Rollouts returns a runner of rollouts to train on, at a temperature. They are never truncated: what the sampler leaves out,
// the policy gives a probability.
func (l *Episodes) Rollouts(temperature float64) *rollout.Runner {
	return l.Runner(l.Speaker, temperature)
}

// Runner runs episodes of the set's servers in which p speaks.
func (l *Episodes) Runner(p rollout.Policy, temperature float64) *rollout.Runner {
	o, world := l.Options, l.World
	l.opens(world)
	if l.Watch != nil {
		l.Watch(&world)
	}
	o.Environment, o.Policy, o.Temperature = environment.New(world), p, temperature
	l.opens(o)
	return rollout.New(o)
}

// Unreachable gives the error of a run that failed for its servers the exit code of that, also where the fault is the
// way to them.
func (l *Episodes) Unreachable(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.CodeError && l.NumLost() > 0 {
		f.Code = fault.CodeUnavailable
	}
	return err
}

// OpenJudge has the episodes judged by the configuration's judge, where it names one.
func (l *Episodes) OpenJudge(h *host.Host, c config.Config) (err error) {
	if l.judge, err = scoring.JudgeOf(h, c); err == nil {
		l.Scorer.Judge = l.judge.Term(c)
		h.Opens(l.Scorer)
	}
	return err
}

// SayJudge tells what the judge cost.
func (l *Episodes) SayJudge(h *host.Host) { l.judge.Say(h) }

func (l *Episodes) Close() {
	l.judge.Close()
	l.Scorer.Program.Close()
	l.CloseModel()
	l.Set.Close()
}

// CloseModel leaves the servers alone.
func (l *Episodes) CloseModel() {
	l.away.close()
	if l.Sampler != nil {
		l.Sampler.Close()
	}
	if l.Model != nil {
		l.Model.Close()
	}
	l.Sampler, l.Model, l.Policy = nil, nil, nil
}

// Criteria tell success by the scenarios' own checks. learnt is what the policy was trained with, nil where that is not known.
func (l *Episodes) Criteria(byID map[string]*scenario.Scenario, learnt *stats.Learnt) stats.Criteria {
	known := settings.KnownOf(l.Catalog)
	known.Learnt = learnt
	return stats.ByChecks(byID, l.Scorer.Defaults, known)
}

// Passed says of a scored episode of a scenario whether it passed, and whether rules know that: its checks, or its gold calls.
func (l *Episodes) Passed(list []scenario.Scenario) func(*trajectory.Trajectory) (passed, known bool) {
	byID := scenario.ByID(list)
	criteria := l.Criteria(byID, nil)
	return func(t *trajectory.Trajectory) (passed, known bool) {
		s := byID[t.ScenarioID]
		if s == nil || len(s.Checks)+len(s.Gold) == 0 {
			return false, false
		}
		return criteria.Episode(t), true
	}
}

// sharePrefix finds what all prompts begin with, and returns the length of the longest. chosen tells that scenarios have
// tools of their own.
func (p *Plan) sharePrefix(chosen bool) (longest int, err error) {
	if !chosen {
		p.prefix, longest, err = p.Model.SharedPrefix(p.World.ToolList, p.Openings(p.Scenarios))
		return longest, err
	}
	for i, s := range p.Scenarios {
		tools, err := p.World.ToolsOf(s)
		if err != nil {
			return 0, err
		}
		own, length, err := p.Model.SharedPrefix(tools, p.Openings(p.Scenarios[i:i+1]))
		if err != nil {
			return 0, err
		}
		longest = max(longest, length)
		if i == 0 {
			p.prefix = own
		}
		p.prefix = p.prefix[:policy.CommonPrefix(p.prefix, own)]
	}
	return longest, nil
}

// Rows renders conversations as training rows, under the system message and the tools that an episode of the scenario is sampled under.
func (l *Episodes) Rows(list []scenario.Solved) ([]batch.Sequence, error) {
	var rows []batch.Sequence
	for _, of := range list {
		messages := of.Messages
		if l.World.System != "" && messages[0].Role != chat.System {
			messages = append([]chat.Message{{Role: chat.System, Content: l.World.System}}, messages...)
		}
		tools, err := l.World.ToolsOf(of.Scenario)
		if err != nil {
			return nil, fmt.Errorf("the tools of %s: %w", of.Scenario.ID, err)
		}
		rendered, err := l.Model.Renderer.Sequences(messages, 0, tools)
		if err != nil {
			return nil, fmt.Errorf("rendering a demonstration of %s: %w", of.Scenario.ID, err)
		}
		for _, s := range rendered {
			rows = append(rows, batch.Sequence{IDs: s.IDs, Trained: s.Trained})
		}
	}
	return rows, nil
}

// SaveFinal writes the adapter with what it was trained under, and how an evaluation by a server tells that it computes with both.
func (l *Episodes) SaveFinal(ctx context.Context, h *host.Host, dir string) error {
	if err := basemodel.SaveAdapter(dir, l.Trainer.Trainer, l.Model.Renderer); err != nil {
		return err
	}
	l.remember(ctx, h, dir)
	return nil
}
