package job

import (
	"cmp"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/digest"
	"hone/internal/host"
	"hone/internal/learn/adapter"
	"hone/internal/learn/model"
	"hone/internal/serve"
)

// Served is a model on this machine behind a handler of OpenAI's chat completions, as hone serve has it.
type Served struct {
	http.Handler
	ID          string // of the model, in requests
	Fingerprint string // tells its weights from others
	Close       func()
}

// mostWaiting is how many requests may wait for a slot: all that one command sends at once.
const mostWaiting = 1024

// OpenServed opens the configured base model, or the adapter in folder over its base.
func OpenServed(h *host.Host, c config.Config, folder string, slots int) (*Served, error) {
	base, err := basemodel.BaseOf(folder, "", c)
	if err != nil {
		return nil, err
	}
	o := ServeOptions{Model: cmp.Or(folder, BaseOnly), Base: base, Context: c.Model.Context, Slots: slots}
	c.Engine.Devices = 1
	trained, _, own, err := o.Prompting(h, c)
	if err != nil {
		return nil, err
	}
	m, err := basemodel.Find(h, own, base, trained)
	if err != nil {
		return nil, err
	}
	out := &Served{Close: m.Close}
	if err := out.open(h, c, o, m, folder); err != nil {
		out.Close()
		return nil, err
	}
	out.Fingerprint, err = fingerprintOf(h, base, folder)
	return out, err
}

func (out *Served) open(h *host.Host, c config.Config, o ServeOptions, m *basemodel.Model, folder string) error {
	if err := m.FitServing(c, folder, o.Context, o.Slots); err != nil {
		return err
	}
	if err := m.Load(model.LoadToSample); err != nil {
		return err
	}
	models, stop, err := o.models(h, c, m)
	out.Close = func() {
		stop()
		m.Close()
	}
	if err != nil {
		return err
	}
	s, err := serve.New(serve.Options{Models: models, MaxTokens: o.Context, MaxQueue: mostWaiting, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	out.Handler, out.ID = s.Handler(), models[0].ID
	return nil
}

// fingerprintOf tells a model from others: its base's files, and an adapter's weights.
func fingerprintOf(h *host.Host, base, folder string) (string, error) {
	of, err := basemodel.Fingerprint(h, base)
	if err != nil || folder == "" {
		return digest.Of(of).String()[:16], err
	}
	weights, err := os.ReadFile(filepath.Join(folder, adapter.WeightsFile))
	return digest.Parts(of, string(weights)).String()[:16], err
}
