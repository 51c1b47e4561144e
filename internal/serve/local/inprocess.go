package local

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"hone/internal/basemodel"
	"hone/internal/blob"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/learn/modelfile"
	"hone/internal/serve"
	"hone/internal/toolset"
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

// OpenServed opens the configured base model, or an adapter, a folder or a name of the Hub, over its base.
func OpenServed(h *host.Host, c config.Config, folder string, slots int) (*Served, error) {
	return OpenAgent(context.Background(), h, c, folder, slots, Agency{})
}

// OpenAgent is OpenServed of a server that is an agent where the agency is on.
func OpenAgent(
	ctx context.Context, h *host.Host, c config.Config, folder string, slots int, agency Agency,
) (*Served, error) {
	folder, err := basemodel.AdapterFolder(h, folder)
	if err != nil {
		return nil, err
	}
	base, err := basemodel.BaseOf(folder, "", c)
	if err != nil {
		return nil, err
	}
	if c.Model.Context == 0 { // as serve has it
		c.Model.Context = TrainingContext(folder)
	}
	o := Options{Base: base, Context: c.Model.Context, Slots: slots}
	if folder != "" {
		o.adapters = []adapterFolder{{folder, folder}}
	}
	c.Engine.Devices = 1
	p, err := open(h, c, o)
	if err != nil {
		return nil, err
	}
	out := &Served{Close: p.close}
	if err := out.open(ctx, p, agency); err != nil {
		out.Close()
		return nil, err
	}
	if out.Fingerprint, err = fingerprintOf(h, base, folder); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

func (out *Served) open(ctx context.Context, p *places, agency Agency) error {
	models, err := p.load()
	if err != nil {
		return err
	}
	o := serve.Options{Models: models, MaxTokens: p.options.Context, MaxQueue: mostWaiting,
		Logger: slog.New(slog.DiscardHandler)}
	var set *toolset.Set
	if agency.On {
		if o.Agent, set, err = agency.open(ctx, p.host, p.config); err != nil {
			return err
		}
	}
	s, err := serve.New(o)
	if err != nil {
		return err
	}
	out.Close = func() {
		s.Close()
		if set != nil {
			set.Close()
		}
		p.close()
	}
	out.Handler, out.ID = s.Handler(), models[0].ID
	return nil
}

// fingerprintOf tells a model from others: its base's files, and an adapter's weights.
func fingerprintOf(h *host.Host, base, folder string) (string, error) {
	of, err := basemodel.Fingerprint(h, base)
	if err != nil || folder == "" {
		return blob.Of(of).String()[:16], err
	}
	weights, err := os.ReadFile(filepath.Join(folder, modelfile.WeightsFile))
	return blob.Parts(of, string(weights)).String()[:16], err
}
