package job

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"hone/internal/config"
	"hone/internal/digest"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/publish"
	"hone/internal/policy/remote"
	"hone/internal/secret"
)

// policiesFolder is the folder of a run through which adapters are handed to a remote sampler.
const policiesFolder = "policies"

// away is a sampler behind a server.
type away struct {
	*remote.Sampler
	settings config.Sampler
	runDir   string
	handed   *publish.Remote // nil until the model is open
}

// OpenSampler asks the configuration's server whether it can sample for training, where there is one; else the model is sampled in
// this process. gone is called where the server answers nothing any more.
func (l *Episodes) OpenSampler(ctx context.Context, h *host.Host, c config.Config, runDir string, gone func(error)) error {
	s := c.Sampler
	if s.URL == "" {
		return nil
	}
	key := ""
	if s.KeyEnv != "" {
		if key, _ = h.LookupEnv(s.KeyEnv); key == "" {
			return &fault.Error{Code: fault.CodeUsage, What: "there is no key for the sampler", Where: s.URL, Why: "the variable " + s.KeyEnv + " is not set or empty",
				Next: "set it, or set sampler.key_env to another"}
		}
	}
	o := remote.Options{URL: s.URL, API: s.API, Model: s.Model, Key: secret.Text(key), Slots: s.Slots, Temperature: c.Rollout.Temperature,
		Retries: s.Retries, Timeout: s.Timeout, Gone: gone}
	if s.Retries == 0 {
		o.Retries = -1
	}
	h.Opens(o)
	sampler, err := remote.Open(ctx, o)
	if err != nil {
		return err
	}
	l.away = &away{Sampler: sampler, settings: s, runDir: runDir}
	h.Say("episodes are sampled from %s at %s", sampler.Base(), s.URL)
	return nil
}

// PoliciesOf is the folder through which a run hands adapters to a server, and what the server calls it; empty: the same.
func PoliciesOf(s config.Sampler, runDir string) (root, there string) {
	return cmp.Or(s.Adapters, filepath.Join(runDir, policiesFolder)), s.AdaptersThere
}

// speakFrom makes the episodes' model speak through the server: room ids at most, of a vocabulary.
func (a *away) speakFrom(l *Episodes, source publish.Source, room, vocabulary int) (err error) {
	a.Bound(room, vocabulary)
	root, there := PoliciesOf(a.settings, a.runDir)
	if a.handed, err = publish.NewRemote(a.Sampler, root, there, markOf(a.runDir)); err != nil {
		return err
	}
	l.Speaker.Sampler, l.Policy, l.Room = a.Sampler, publish.New(source, a.handed), a.MaxContext()
	return nil
}

// markOf tells a run from others that hand adapters through the same folder. It is the same each time the run goes on in its place.
func markOf(runDir string) string {
	if path, err := filepath.Abs(runDir); err == nil {
		runDir = path
	}
	machine, _ := os.Hostname() // the path may be another run's on another machine
	return digest.Parts(machine, runDir).String()[:12]
}

// close has the server forget the adapter. That it cannot be told so any more spoils nothing.
func (a *away) close() {
	if a != nil && a.handed != nil {
		_ = a.handed.Close()
	}
}

// MaxMismatch bounds the mean mismatch KL of sampler and trainer, in nats a token.
func (l *Episodes) MaxMismatch() float64 {
	if l.away != nil {
		return l.away.settings.MaxMismatch
	}
	return MaxMismatch(l.Model)
}
