package episodes

import (
	"context"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/host"
	"hone/internal/learn/sample"
	"hone/internal/llm/tinker"
)

// server takes the steps and samples.
type server struct {
	client   *tinker.Client
	settings config.Trainer
	trainer  *tinker.Trainer // nil until the model is open
	ctx      context.Context
}

// grpoStage names the keys of what is trained on episodes.
const grpoStage = "grpo"

// openServer begins a session at the server that takes the steps.
func (l *Agent) openServer(ctx context.Context, h *host.Host, c config.Config) error {
	client, err := basemodel.OpenAway(ctx, h, c, grpoStage)
	if err == nil {
		l.server = &server{client: client, settings: c.Trainer, ctx: ctx}
	}
	return err
}

// trainedAway reports whether a server takes the steps.
func (l *Agent) trainedAway(trains bool) bool { return l.server != nil && trains }

// openTrained makes the adapter at the server, which samples it. No device is opened, and no weight of the base model
// is read.
func (l *Agent) openTrained(h *host.Host, p Plan) error {
	m, c, s := p.Model, p.Config, l.server
	if err := m.LoadShape(); err != nil {
		return err
	}
	trainer, err := basemodel.TrainAway(s.ctx, h, s.client, m, c, c.GRPO.Optimizer.MaxGradNorm,
		grpoStage+".optimizer.max_grad_norm")
	if err != nil {
		return err
	}
	l.Trainer, s.trainer, l.Room = trainer.Trainer, trainer.Tinker, len(p.prefix)+p.private
	sampler := tinker.NewSampler(s.client, l.Room, m.Spec.VocabSize)
	l.takes = &handed{server: s, sampler: sampler}
	l.Speaker.Sampler, l.Policy = sampler, sample.NewPublisher(source{s.trainer}, l.takes)
	return nil
}

// close frees the adapters' places, and ends the session.
func (s *server) close() {
	if s == nil {
		return
	}
	if s.trainer != nil {
		s.trainer.Close()
	}
	s.client.Close()
}

// source is the policy of a trainer at a server: no array of it is here.
type source struct{ *tinker.Trainer }

// Adapter implements sample.Source.
func (source) Adapter() engine.Buffer { return nil }

// handed implements sample.Taker: the server keeps the policy where its sampler finds it, by a path.
type handed struct {
	server  *server
	sampler *tinker.Sampler
	sums    []uint64 // of what is sampled from
}

// Take implements sample.Taker.
func (x *handed) Take(s sample.Source) error {
	sums, err := s.AdapterChecksums()
	if err != nil {
		return err
	}
	path, err := x.server.trainer.Publish()
	if err == nil {
		err = x.sampler.Hold(x.server.ctx, path, s.PolicyVersion())
	}
	if err == nil {
		x.sums = sums
	}
	return err
}

// Checksums implements sample.Taker.
func (x *handed) Checksums() ([]uint64, error) { return x.sums, nil }
