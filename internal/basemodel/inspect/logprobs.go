package inspect

import (
	"context"
	"errors"
	"fmt"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
)

// Logprobs answers {"ids"} with the logprobs that a base model gives them, with the adapter of a folder where that is
// not empty.
func Logprobs(ctx context.Context, h *host.Host, c config.Config, base, adapter string) error {
	adapter = basemodel.AdapterAt(adapter)
	m, err := basemodel.FindWithoutText(h, c, base)
	if err != nil {
		return err
	}
	defer m.Close()
	m.Options.Devices = 1 // engine.devices are a run's, which trains and samples on all of them
	if err := m.Load(model.Load); err != nil {
		return err
	}
	var lora model.LoRA
	var flat []float32
	if adapter != "" {
		if lora, flat, err = model.LoadPEFT(adapter, m.Spec); err != nil {
			return err
		}
	}
	s, err := sample.NewScorer(m.Engine, m.Spec, m.Weights, lora, flat)
	if err != nil {
		return err
	}
	defer s.Close()
	err = eachLine(ctx, h, func(in idsLine) (any, error) {
		if err := in.check(m.Spec.VocabSize); err != nil {
			return nil, err
		}
		if len(in.IDs) > m.Spec.MaxContext {
			text := fmt.Sprintf("there are %d ids; the model has positions for %d", len(in.IDs), m.Spec.MaxContext)
			if m.Spec.Rope.Kind == "longrope" && !m.Spec.Rope.Long {
				text += fmt.Sprintf("; with model.context above %d it has more", m.Spec.Rope.OriginalContext)
			}
			return nil, errors.New(text)
		}
		logprobs, err := s.Logprobs(in.IDs)
		out := make([]*float32, len(in.IDs)) // the first stays null
		for i := range logprobs {
			out[i+1] = &logprobs[i]
		}
		return map[string]any{"logprobs": out}, err
	})
	basemodel.SayPrograms(h, m.Engine)
	return err
}
