package episodes

import (
	"fmt"
	"slices"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/scenario"
	"hone/internal/host"
)

// Wanted says which model is to speak in episodes.
type Wanted struct {
	Adapter   string              // its folder; "" for a fresh one, or the base model alone
	Scenarios []scenario.Scenario // which tell what all prompts will begin with
	Trains    bool                // training steps follow
	Shares    bool                // the scenarios of a step share their tools, where not all fit
}

// Plan is what is settled before a device is opened: the model that was found for what is wanted, how its episodes
// begin, and the configuration with what the adapter and the memory settle in it.
type Plan struct {
	Wanted
	Config  config.Config
	Model   *basemodel.Model
	World   environment.Options
	prefix  []int32 // what all prompts begin with
	varying bool    // those of a step begin with more, each step's with something else
	private int     // tokens of a slot after it
	Seats   int     // episodes that share a slot
}

// Resolve finds the base model for what is wanted. A model or a memory that is too small for it is refused; no device
// is opened and no weight read. world is what the episodes of a model take place in. chosen tells that scenarios have
// tools of their own, and largest is a list that is as long as any, nil where that is not known. The plan's model is to
// be closed, unless it is opened.
func (l *Agent) Resolve(
	h *host.Host, c config.Config, w Wanted, world func(config.Config, *basemodel.Model) environment.Options,
	chosen bool, largest []chat.Tool,
) (Plan, error) {
	c, trained, err := basemodel.AdapterPrompting(h, c, w.Adapter, w.Trains)
	if err != nil {
		return Plan{}, err
	}
	p, find := Plan{Wanted: w, Config: c}, c
	if l.sampledAway(w.Trains) || l.trainedAway(w.Trains) {
		find.Engine.Backend, find.Engine.Plugin = "go", "" // no device is needed
	}
	if p.Model, err = basemodel.Find(h, find, c.Model.Base, trained); err != nil {
		return p, err
	}
	p.Model.WarnUntrainedTokens(c.LoRA, w.Adapter, w.Trains)
	p.World = world(c, p.Model)
	if err = l.settle(&p, chosen, largest); err != nil {
		p.Model.Close()
	}
	return p, err
}

// settle gives a plan what follows from its model, and from the world that it is in.
func (l *Agent) settle(p *Plan, chosen bool, largest []chat.Tool) error {
	longest, err := p.sharePrefix(chosen, largest)
	if err != nil {
		return err
	}
	e := basemodel.EpisodeOf(p.Config)
	e.Prompt, e.Between = longest-len(p.prefix), between(p.Model)
	if l.sampledAway(p.Trains) || l.trainedAway(p.Trains) {
		if p.Seats = basemodel.SeatsOf(p.Config.Sampler.Slots); l.trainedAway(p.Trains) {
			p.Seats = basemodel.SeatsOf(p.Config.Trainer.Slots)
		}
		p.private, err = p.Model.FitAway(p.Config, len(p.prefix), e)
		return err
	}
	fit := p.Config
	if l.away == nil { // it is sampled here
		fit.Sampler.URL = ""
	}
	p.Config.Engine, p.private, p.Seats, err = p.Model.Fit(fit, p.Adapter, len(p.prefix), e, p.Trains)
	if l.away != nil {
		p.Seats = basemodel.SeatsOf(p.Config.Sampler.Slots)
	}
	return err
}

// between is how many tokens the chat template writes around a turn's result.
func between(m *basemodel.Model) int {
	const about = 64
	call := chat.Message{Role: chat.Assistant,
		ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "tool", Arguments: "{}"}}}
	completion, err := m.Renderer.Completion(call)
	if err != nil {
		return about
	}
	next, rewrite, err := m.Renderer.Next([]chat.Message{{Role: chat.User, Content: "task"}, call,
		{Role: chat.ToolRole, ToolCallID: "call_0", Name: "tool"}}, 1, completion, nil)
	if err != nil || rewrite != "" {
		return about
	}
	return len(next)
}

// Openings are the conversations that episodes of scenarios begin with.
func (p Plan) Openings(scenarios []scenario.Scenario) (all [][]chat.Message) {
	for _, s := range scenarios {
		all = append(all, environment.Openings(p.World.System, s)...)
	}
	return all
}

// Rehearse is an error where OpenModel would be one before it opens a device, or where the plug-in cannot be used.
func (p Plan) Rehearse() error {
	if p.Model.Plugin.Path == "" {
		return nil
	}
	_, err := engine.Probe(p.Model.Plugin.Path)
	return err
}

// sharePrefix finds what all prompts begin with, and returns the length of the longest. Where scenarios have tools of
// their own, largest is a list that is as long as any. Where those of a step share theirs, which are then others, what
// comes before the tools is all that is known.
func (p *Plan) sharePrefix(chosen bool, largest []chat.Tool) (longest int, err error) {
	if !chosen {
		p.prefix, longest, err = p.Model.SharedPrefix(p.World.ToolList, p.Openings(p.Scenarios))
		return longest, err
	}
	p.varying = true
	most, wordy := 0, 0 // of the scenario with the longest opening
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
		if words := len(fmt.Sprint(p.Openings(p.Scenarios[i : i+1]))); words > most {
			most, wordy = words, i
		}
	}
	if !p.Shares || len(largest) == 0 {
		return longest, nil
	}
	// two lists that begin with other tools
	for _, list := range [][]chat.Tool{largest, slices.Concat(largest[1:], largest[:1])} {
		other, length, err := p.Model.SharedPrefix(list, p.Openings(p.Scenarios[wordy:wordy+1]))
		if err != nil {
			return 0, err
		}
		longest = max(longest, length)
		p.prefix = p.prefix[:policy.CommonPrefix(p.prefix, other)]
	}
	return longest, nil
}
