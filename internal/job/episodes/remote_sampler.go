package episodes

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"hone/internal/blob"
	"hone/internal/config"
	"hone/internal/episode/policy"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/sample"
)

// policiesFolder is the folder of a run through which adapters are handed to a remote sampler.
const policiesFolder = "policies"

// away is a sampler behind a server.
type away struct {
	*policy.Remote
	settings config.Sampler
	root     string          // of the folders in which adapters are handed over
	there    string          // the same as the server knows it; "": by the same path
	mark     string          // of this run, in the names of adapters
	aside    string          // the root, where it is a temporary folder; else ""
	handed   *sample.Remote  // nil until the model is open
	ctx      context.Context // of OpenSampler: what is compared before an evaluation ends with it
	say      func(format string, args ...any)
}

// OpenSampler asks the configuration's server whether it can sample, where there is one; else the model is sampled in
// this process. Of a server that takes the steps too a session is begun. trains says whether what it samples is
// trained on, in the run directory runDir, which is there then; else that may be empty. gone is called where the
// server answers nothing any more.
func (l *Agent) OpenSampler(
	ctx context.Context, h *host.Host, c config.Config, runDir string, trains bool, gone func(error),
) error {
	s := c.Sampler
	if trains && c.Trainer.Away() {
		return l.openServer(ctx, h, c)
	}
	if s.URL == "" {
		return nil
	}
	key, err := h.KeyIn(s.KeyEnv, "the sampler", s.URL, "set sampler.key_env to another")
	if err != nil {
		return err
	}
	o := policy.RemoteOptions{URL: s.URL, API: s.API, Model: s.Model, Key: fault.Secret(key), Slots: s.Slots,
		Temperature: c.Rollout.Temperature, Retries: s.Retries, Timeout: s.Timeout, Gone: gone}
	if s.Retries == 0 {
		o.Retries = -1
	}
	if !trains {
		o.Temperature = 0 // what logprobs are told at decides nothing
	}
	h.Opens(o)
	sampler, err := policy.OpenRemote(ctx, o)
	if err != nil {
		return err
	}
	l.away = &away{Remote: sampler, settings: s, mark: markOf(runDir), ctx: ctx, say: h.Say}
	if l.away.root, l.away.there = PoliciesOf(s, runDir); !trains {
		if err := l.away.putAside(runDir); err != nil {
			return err
		}
	}
	h.Say("episodes are sampled from %s at %s", sampler.Base(), s.URL)
	return nil
}

// PoliciesOf is the folder through which a run hands adapters to a server, and what the server calls it; empty: the
// same.
func PoliciesOf(s config.Sampler, runDir string) (root, there string) {
	return cmp.Or(s.Adapters, filepath.Join(runDir, policiesFolder)), s.AdaptersThere
}

// speakFrom makes the episodes' model speak through the server: room ids at most, of a vocabulary.
func (a *away) speakFrom(l *Agent, source sample.Source, room, vocabulary int) (err error) {
	a.SetLimits(room, vocabulary)
	if a.handed, err = sample.NewRemote(a.Remote, a.root, a.there, a.mark); err != nil {
		return err
	}
	l.takes = a.handed
	l.Speaker.Sampler, l.Policy, l.Room = a.Remote, sample.NewPublisher(source, a.handed), a.MaxContext()
	return nil
}

// putAside takes a temporary folder where no folder for adapters is named: the run of an evaluation begins once its
// model is open, if it is kept at all, and nothing may be in its folder before. Two that are not kept are told apart by
// it too.
func (a *away) putAside(runDir string) (err error) {
	if a.settings.Adapters != "" && runDir != "" {
		return nil
	}
	if a.aside, err = os.MkdirTemp("", "hone-policies-"); err != nil {
		return &fault.Error{
			Code: fault.CodeExhausted,
			What: "cannot make a folder through which adapters are handed to the sampler",
			Err:  err,
			Next: "name one as sampler.adapters",
		}
	}
	if a.mark = markOf(a.aside); a.settings.Adapters == "" {
		a.root = a.aside
	}
	return nil
}

// sampledAway reports whether the model is a server's alone: it samples, and nothing is trained here.
func (l *Agent) sampledAway(trains bool) bool { return l.away != nil && !trains }

// openAway makes the server sample from the adapter in a folder, "" for the base model alone. No device is opened, and
// no weight of the base model is read.
func (l *Agent) openAway(folder string, room int) error {
	if err := l.Model.LoadShape(); err != nil {
		return err
	}
	if err := l.away.speakFrom(l, nil, room, l.Model.Spec.VocabSize); err != nil {
		return err
	}
	return l.Hold(folder)
}

// Device is what the episodes' model is sampled on, for a person.
func (l *Agent) Device() string {
	if l.server != nil {
		return l.server.client.Base() + " at " + l.server.client.URL()
	}
	if l.away != nil {
		return l.away.Base() + " at " + l.away.settings.URL
	}
	return l.Model.Engine.Description()
}

// markOf tells a run from others that hand adapters through the same folder. It is the same each time the run goes on
// in its place.
func markOf(runDir string) string {
	if path, err := filepath.Abs(runDir); err == nil {
		runDir = path
	}
	machine, _ := os.Hostname() // the path may be another run's on another machine
	return blob.Parts(machine, runDir).String()[:12]
}

// close has the server forget the adapter. That it cannot be told so any more spoils nothing.
func (a *away) close() {
	if a == nil {
		return
	}
	if a.handed != nil {
		_ = a.handed.Close()
	}
	if a.aside != "" {
		_ = os.RemoveAll(a.aside) // it is made again with an adapter
	}
}

// MaxMismatch bounds the mean mismatch KL of sampler and trainer, in nats a token.
func (l *Agent) MaxMismatch() float64 {
	if l.server != nil {
		return l.server.settings.MaxMismatch
	}
	if l.away != nil {
		return l.away.settings.MaxMismatch
	}
	return sample.MaxMismatch(l.Model.Engine)
}
