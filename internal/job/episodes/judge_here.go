package episodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/grade/judge"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/sample"
	"hone/internal/recipe"
	"hone/internal/text/grammar"
	"hone/internal/text/render"
)

// here is a judge that is sampled on this machine: the base model, or an adapter over it.
type here struct {
	name    string
	policy  rollout.Sampled
	words   *grammar.Vocabulary
	slots   chan int // that are free
	context int      // tokens of a question and its reply
}

// mostQuestions is how many questions a judge on this machine reads at once: each takes the memory of a whole context.
const mostQuestions = 4

// folderHere is the adapter folder of a judge on this machine, "" for the base model; ok is false where a name means
// neither.
func folderHere(name string) (folder string, ok bool) {
	name = basemodel.AdapterAt(name)
	if name == job.BaseName {
		return "", true
	}
	_, err := os.Stat(filepath.Join(name, modelfile.ConfigFile))
	return name, err == nil
}

// openHere opens a judge on this machine. A host that only rehearses opens no device.
func (x *Judging) openHere(h *host.Host, c config.Config, name, folder string) (*here, error) {
	c.Engine.Devices = 1
	own, trained, err := basemodel.AdapterPrompting(h, c, folder, false)
	if err != nil {
		return nil, err
	}
	base, err := basemodel.BaseOf(folder, "", c)
	if err != nil {
		return nil, err
	}
	own.Rollout.System = "" // a question has its own
	own.Model.Context = 0
	m, err := basemodel.Find(h, own, base, trained)
	if err != nil {
		return nil, err
	}
	x.closers = append(x.closers, func() { m.Close() })
	m.WarnUntrainedTokens(own.LoRA, folder, false)
	j := &here{name: name, slots: make(chan int, min(mostQuestions, c.Judge.Concurrency)),
		context: min(c.Judge.Context, m.Shape().MaxContext)}
	for slot := range cap(j.slots) {
		j.slots <- slot
	}
	var planned *model.LoRA
	adapters := 0
	if folder != "" {
		shape, err := m.AdapterShape(own, folder)
		if err != nil {
			return nil, err
		}
		planned, adapters = &shape, 1
	}
	if err := m.FitServing(own, planned, adapters, j.context, cap(j.slots)); err != nil || h.DryRun {
		return j, err
	}
	if err := m.Load(model.LoadToSample); err != nil {
		return nil, err
	}
	var lora model.LoRA
	var f *sample.Folder
	if folder != "" {
		if f, err = sample.OpenFolder(m.Engine, m.Spec, folder, 0); err != nil {
			return nil, err
		}
		defer f.Close() // it is copied into the sampler's own arrays
		lora = f.LoRA()
	}
	h.Say("the judge %s on %s", name, m.Engine.Description())
	s, err := sample.NewSamplers(m.Engine, m.Spec, m.Weights,
		sample.Options{LoRA: lora, Slots: cap(j.slots), Context: j.context})
	if err != nil {
		return nil, err
	}
	x.closers = append([]func(){s.Close}, x.closers...)
	if f != nil {
		err = recipe.Publish(sample.NewPublisher(f, sample.InProcess(s)), "the judge "+name)
	}
	j.policy = rollout.Sampled{Sampler: s, Renderer: m.Renderer}
	j.words = render.TokenTexts(m.Text.Tokenizer, m.Spec.VocabSize)
	return j, err
}

// Name implements judge.Model.
func (j *here) Name() string { return j.name }

// Ask implements judge.Model. The reply is held to the question's schema, so it can be read unless it is cut: a small
// model that knows no JSON can still compare.
func (j *here) Ask(ctx context.Context, q judge.Question) (judge.Reply, error) {
	var slot int
	select {
	case slot = <-j.slots:
	case <-ctx.Done():
		return judge.Reply{}, ctx.Err()
	}
	defer func() { j.slots <- slot }()
	form, err := grammar.Compile(j.words, grammar.Wanted{Answer: json.RawMessage(q.Schema)})
	if err != nil {
		return judge.Reply{}, err
	}
	prompt, err := j.policy.Renderer.Prompt([]chat.Message{{Role: chat.System, Content: q.System},
		{Role: chat.User, Content: q.User}}, nil)
	if err != nil {
		return judge.Reply{}, err
	}
	stops := j.policy.Renderer.StopIDs()
	said, err := j.policy.Sample(ctx, policy.Request{
		Prompt:     prompt,
		Slot:       slot,
		Key:        policy.Key{Seed: q.Seed},
		Constraint: form.NewMatcher(stops, ""),
		Sampling:   policy.Sampling{Temperature: q.Temperature, MaxTokens: q.MaxTokens, StopIDs: stops},
	})
	if long, is := errors.AsType[*policy.ContextError](err); is {
		return judge.Reply{}, fmt.Errorf("the question has %d tokens, and the model takes %d: lower judge.context",
			long.NumPrompt, long.MaxContext)
	}
	if err != nil {
		return judge.Reply{}, err
	}
	m, _ := j.policy.Renderer.Parse(said.IDs, nil)
	free := 0.0
	return judge.Reply{Text: m.Content, PromptTokens: len(prompt), CompletionTokens: len(said.IDs), Cost: &free}, nil
}
