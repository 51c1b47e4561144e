package train

import (
	"context"

	"hone/internal/basemodel"
	"hone/internal/engine"
	"hone/internal/job"
)

// open opens what takes the steps of a stage: the engine with the model, or a server. end gives it back.
func (l Plan) open(ctx context.Context, j *job.Job, stage string) (t *basemodel.Trainer, end func(), err error) {
	m, c := l.Model, j.Config
	if !c.Trainer.Away() {
		if err := m.Load(basemodel.Loader(c.Engine)); err != nil {
			return nil, nil, err
		}
		j.Say("model %s on %s; %s", m.Spec.Name, m.Engine.Description(), basemodel.CompileNote)
		t, _, err = basemodel.OpenTrainer(j.Host, m, c, j.Kept.Adapter,
			basemodel.Rows{Prefix: l.Prefix})
		return t, func() {}, err
	}
	if err := m.LoadShape(); err != nil {
		return nil, nil, err
	}
	client, err := basemodel.OpenAway(ctx, j.Host, c, stage)
	if err != nil {
		return nil, nil, err
	}
	bound := c.SFT.Optimizer.MaxGradNorm
	if stage == job.DPOStage {
		bound = c.DPO.Optimizer.MaxGradNorm
	}
	away, err := basemodel.TrainAway(ctx, j.Host, client, m, c, bound, stage+".optimizer.max_grad_norm")
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return away.Trainer, func() { away.Tinker.Close(); client.Close() }, nil
}

// Rehearse is an error where Learn would be one before it opens a device or makes an adapter at a server, or where the
// plug-in cannot be used.
func (l Plan) Rehearse(ctx context.Context, j *job.Job, stage string) error {
	if l.Config.Trainer.Away() {
		client, err := basemodel.OpenAway(ctx, j.Host, l.Config, stage)
		if err == nil {
			client.Close()
		}
		return err
	}
	if err := engine.CheckDevices(l.Model.Plugin.Path, l.Config.Engine.Devices); err != nil {
		return err
	}
	if l.Model.Plugin.Path == "" {
		return nil
	}
	_, err := engine.Probe(l.Model.Plugin.Path)
	return err
}
