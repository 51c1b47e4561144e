package eval

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/llm"
)

// bench opens the systems of an evaluation, one after the other, on one set of servers.
type bench struct {
	*job.Job
	tasks []scenario.Scenario
	local *episodes.Episodes // the servers, and the base model once it is needed
	given config.Config
	under string        // the adapter folder that the model was opened for
	now   config.Config // and given as that settles it
	held  string        // and the one that is published, "" for the base model alone
	clock clock
	base  string                 // its fingerprint, once it is known
	paid  map[string]*llm.Client // of endpoints, by system
	first agents

	servers string // serversSum
	earlier earlier
	fatal   func(error) // ends what is under way: an endpoint refuses all that it is asked
}

// stand is a system that speaks in episodes.
type stand struct {
	*episodes.Episodes
	rollout.Policy
	who      speaker       // for the key of an episode
	settings config.Config // under which it speaks
}

// openLocal opens the base model for the first system on this machine, of which there may be none.
func (b *bench) openLocal() error {
	b.given, b.now = b.Config, b.Config
	for _, s := range b.Kept.Evaluation.Systems {
		if s.IsLocal() {
			c, err := b.openModel(b.promptFolder(s), b.Config)
			b.Config = c
			return err
		}
	}
	b.local.World = b.local.WorldOf(b.Host, b.Config)
	return nil
}

// promptFolder is the adapter folder as whose a system is prompted. The base model is prompted as the adapter that it
// is compared with.
func (b *bench) promptFolder(s job.System) string {
	if s.Adapter == "" && b.Kept.Adapter != "" {
		return b.Kept.Adapter
	}
	for _, other := range b.Kept.Evaluation.Systems {
		if s.Adapter == "" {
			s.Adapter = other.Adapter
		}
	}
	return s.Adapter
}

// openModel opens the base model for an adapter's shape and prompting, and returns what it is opened under.
func (b *bench) openModel(folder string, c config.Config) (config.Config, error) {
	b.local.CloseModel()
	p, err := b.local.Resolve(b.Host, c, episodes.Wanted{Adapter: folder, Scenarios: b.tasks})
	if err != nil {
		return c, err
	}
	if err := b.local.OpenModel(b.Host, p); err != nil {
		return c, err
	}
	b.under, b.held, b.now = folder, folder, p.Config
	b.local.Speaker.Sampler = timedSampler{b.local.Speaker.Sampler, &b.clock}
	b.local.Watch = b.clock.watch
	return p.Config, nil
}

// turnTo makes a system the one that speaks.
func (b *bench) turnTo(s job.System) (stand, error) {
	if s.Endpoint != nil {
		return b.remote(s)
	}
	l, folder := b.local, b.promptFolder(s)
	if same, err := b.alike(folder, b.under); err != nil {
		return stand{}, err
	} else if !same {
		if _, err := b.openModel(folder, b.given); err != nil {
			return stand{}, err
		}
	}
	if err := b.publish(s.Adapter); err != nil {
		return stand{}, err
	}
	who, err := b.onThisMachine()
	return stand{l, l.Measured(b.Config.Eval), who, b.now}, err
}

// alike reports whether one sampler serves two adapters.
func (b *bench) alike(x, y string) (bool, error) {
	return b.local.Model.Alike(b.given, x, y)
}

// publish makes the sampler hold the adapter in a folder, or the base model alone.
func (b *bench) publish(folder string) error {
	if folder == b.held {
		return nil
	}
	b.held = folder
	return b.local.Hold(folder)
}

// cancel ends what is under way: the server that samples the systems of this machine answers nothing any more.
func (b *bench) cancel(err error) {
	if f, ok := errors.AsType[*fault.Error](err); ok && b.Dir != nil {
		f.Next += ", then " + b.Onward()
	}
	b.fatal(err)
}

// remote is a model of an endpoint, in episodes that are as those on this machine.
func (b *bench) remote(s job.System) (stand, error) {
	r := s.Endpoint
	client := b.paid[s.Name]
	if client == nil {
		key, err := b.KeyIn(r.KeyEnv, "the endpoint", r.URL, "set key_env of the provider to another")
		if err != nil {
			return stand{}, err
		}
		o := llm.Options{BaseURL: r.URL, API: r.API, Key: llm.Secret(key), TokenBudget: b.Kept.Evaluation.TokenBudget}
		if b.Path != "" {
			o.CacheDir = filepath.Join(b.Path, "cache")
		}
		if client, err = llm.New(o); err != nil {
			return stand{}, err
		}
		b.paid[s.Name] = client
	}
	e := b.Config.Eval
	l := b.local.Remote(b.Host, b.Config)
	l.Watch = b.clock.watch
	p := llm.Policy{Client: client, Model: r.Model, Slots: r.Episodes, TopK: e.TopK, TopP: e.TopP, MinP: e.MinP}
	if r.Price != nil {
		p.Cost = r.Price.Of
	}
	who := speaker{URL: r.URL, Model: r.Model}
	if s.InitialCall == "" {
		return stand{l, watched{p, b}, who, b.Config}, nil
	}
	agent, err := b.first.of(b, s.InitialCall, p.NumSlots())
	if err != nil {
		return stand{}, err
	}
	sum, err := json.Marshal(agent.Calibration)
	who.Initial = string(sum)
	return stand{l, watched{behind{p, agent}, b}, who, b.Config}, err
}

// watched books what an endpoint takes, and tells of what it will answer to whatever it is asked.
type watched struct {
	rollout.Policy
	b *bench
}

// Speaker implements rollout.Policy.
func (p watched) Speaker(a rollout.Attempt) rollout.Speaker {
	return watchedSpeaker{p.Policy.Speaker(a), p.b}
}

type watchedSpeaker struct {
	rollout.Speaker
	b *bench
}

// Say implements rollout.Speaker.
func (s watchedSpeaker) Say(
	ctx context.Context, messages []chat.Message, tools []chat.Tool,
) (environment.Reply, error) {
	defer s.b.clock.book(&s.b.clock.model)()
	reply, err := s.Speaker.Say(ctx, messages, tools)
	if code := fault.CodeOf(err); err != nil &&
		(code == fault.CodeUsage || code == fault.CodeBudget || code == fault.CodeExhausted) {
		s.b.fatal(err)
	}
	return reply, err
}
