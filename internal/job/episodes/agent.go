package episodes

import (
	"context"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
	"hone/internal/recipe"
	"hone/internal/text/render"
)

// Agent is the model that speaks in episodes, as it is opened.
type Agent struct {
	Model   *basemodel.Model
	Trainer *basemodel.Trainer // nil where nothing is trained
	Sampler *sample.Samplers   // nil where a server samples
	away    *away              // that server's; nil for none
	server  *server            // that takes the steps, and samples; nil for none
	takes   sample.Taker       // what versions of the policy are handed to
	Policy  *sample.Publisher  // of the trainer's adapter, or of a folder's; nil for an endpoint
	Speaker *rollout.Sampled   // in episodes; nil where an endpoint speaks
	Room    int                // tokens of an episode; 0 where it is not ours to say
}

// Held is the hash of the adapter that episodes are sampled with, "" for a base model or an endpoint.
func (l *Agent) Held() string {
	if l.Policy == nil {
		return ""
	}
	return l.Policy.AdapterHash()
}

// Open opens what is planned on a device, or on the server that samples.
func (l *Agent) Open(h *host.Host, p Plan) error {
	m, c := p.Model, p.Config
	l.Model, l.Speaker = m, &rollout.Sampled{Renderer: m.Renderer}
	if l.trainedAway(p.Trains) {
		return l.openTrained(h, p)
	}
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
	o := sample.Options{LoRA: lora, Slots: c.Engine.Slots, DecodeSteps: c.Engine.DecodeSteps, Context: p.private,
		Prefix: p.prefix, Apart: c.Engine.JoinWeights == "off", Seats: p.Seats}
	h.Opens(o)
	if l.Sampler, err = sample.NewSamplers(m.Engine, m.Spec, m.Weights, o); err != nil {
		return err
	}
	basemodel.SayPrograms(h, m.Engine)
	l.takes = sample.InProcess(l.Sampler)
	l.Speaker.Sampler, l.Policy = l.Sampler, sample.NewPublisher(source, l.takes)
	l.Room = len(p.prefix) + p.private
	if p.Adapter == "" {
		return nil
	}
	return recipe.Publish(l.Policy, "the adapter "+p.Adapter)
}

// Hold makes the sampler hold the adapter in a folder, or the base model alone where that is empty, of those who train
// nothing.
func (l *Agent) Hold(folder string) error {
	if folder == "" {
		return l.Policy.Withdraw()
	}
	f, err := sample.OpenFolder(l.Model.Engine, l.Model.Spec, folder, 0)
	if err != nil {
		return err
	}
	defer f.Close() // samplers copy it
	l.Policy = sample.NewPublisher(f, l.takes)
	if err := recipe.Publish(l.Policy, "the adapter "+folder); err != nil || l.away == nil {
		return err
	}
	return l.away.compare(l, folder)
}

// openPolicy opens what is sampled from: a trainer's adapter, that of a folder, or the base model alone, for which
// there is no source.
func (l *Agent) openPolicy(h *host.Host, p Plan) (sample.Source, model.LoRA, error) {
	m, c := p.Model, p.Config
	if p.Trains {
		c.Engine.Packing = "off" // rows of a group share its prefix, and their room was planned so
		trainer, lora, err := basemodel.OpenTrainer(h, m, c, p.Adapter,
			basemodel.Rows{Prefix: len(p.prefix), Varying: p.varying, Room: p.private})
		if err != nil {
			return nil, lora, err
		}
		l.Trainer = trainer
		return sample.Trained{Trainer: trainer.Steps.(sample.Trainer), Engine: m.Engine, Spec: m.Spec}, lora, nil
	}
	if p.Adapter == "" {
		lora, err := m.LoRA(c.LoRA)
		return nil, lora, err
	}
	f, err := sample.OpenFolder(m.Engine, m.Spec, p.Adapter, 0)
	if err != nil {
		return nil, model.LoRA{}, err
	}
	return f, f.LoRA(), nil
}

// ForceCalls lets single calls of the agent be forced, or is an error where they cannot be.
func (l *Agent) ForceCalls() error {
	refused := &fault.Error{Code: fault.CodeUsage, What: "no call can be forced", Where: "grpo.explorations",
		Next: "leave grpo.explorations out"}
	if l.away != nil {
		refused.Why = "the server at " + l.away.settings.URL +
			" samples, and it is not asked to hold completions to a form"
		return refused
	}
	calls, ok := render.NewCalls(render.TokenTexts(l.Model.Text.Tokenizer, l.Model.Spec.VocabSize), l.Model.Renderer)
	if !ok {
		refused.Why = "this model does not write the arguments of its calls as JSON, so they cannot be held to a schema"
		return refused
	}
	l.Speaker.Calls = calls
	return nil
}

// Measured is the policy that an evaluation measures: the sampler's, truncated as the configuration says.
func (l *Agent) Measured(e config.Eval) rollout.Policy {
	p := *l.Speaker
	p.Sampler = Truncated{p.Sampler, e}
	return p
}

// Truncated is a sampler that leaves out improbable tokens as eval.top_k, eval.top_p and eval.min_p say.
type Truncated struct {
	policy.Sampler
	eval config.Eval
}

// Sample implements policy.Sampler.
func (t Truncated) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	r.TopK, r.TopP, r.MinP = t.eval.TopK, t.eval.TopP, t.eval.MinP
	return t.Sampler.Sample(ctx, r)
}

// SaveFinal writes the adapter with what it was trained under, and how an evaluation by a server tells that it computes
// with both.
func (l *Agent) SaveFinal(ctx context.Context, h *host.Host, dir string) error {
	if err := basemodel.SaveAdapter(dir, l.Trainer.Steps, l.Model.Renderer); err != nil {
		return err
	}
	l.remember(ctx, h, dir)
	return nil
}

// Close gives back what the agent holds; it can be opened again.
func (l *Agent) Close() {
	l.away.close()
	l.server.close()
	if l.Sampler != nil {
		l.Sampler.Close()
	}
	if l.Model != nil {
		l.Model.Close()
	}
	l.Sampler, l.Model, l.Policy, l.server = nil, nil, nil, nil
}
