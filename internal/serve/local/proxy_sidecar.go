package local

import (
	"net/http"
	"os"
	"path/filepath"

	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/proxy"
	"hone/internal/proxy/revise"
)

// mostRevised are the tokens of a revision.
const mostRevised = 256

// openSidecar opens the mode Sidecar; without a model it is the fixer alone.
func (o *ProxyOptions) openSidecar(h *host.Host, c config.Config) (proxy.Mode, func(), error) {
	mode := &revise.Mode{Hint: o.Hint}
	if o.Model == "" {
		return mode, func() {}, nil
	}
	rule, err := revise.ReadRule(o.Model)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case rule.Confidence >= 1 && rule.NoCall >= 1:
		why := "no threshold in " + revise.RuleFile + " reached the requested precision"
		if _, err := os.Stat(filepath.Join(o.Model, revise.RuleFile)); err != nil {
			why = "it has no " + revise.RuleFile
		}
		h.Say("note: %s: %s, so only calls with a detected fault are revised", o.Model, why)
	case rule.NoCall >= 1:
		h.Say("note: answers in words go on as they are: %s of %s names no confidence for them",
			revise.RuleFile, o.Model)
	}
	if rule.Unknown {
		h.Say("note: %s", revise.UnknownPrompt(o.Model))
	}
	rule.Deadline = o.Deadline
	if c.Model.Context = o.Context; o.Context == 0 {
		c.Model.Context = TrainingContext(o.Model)
	}
	m, err := OpenServed(h, c, o.Model, o.Slots)
	if err != nil {
		return nil, nil, err
	}
	mode.Sidecar = revise.Sidecar{
		Rule: rule,
		Reviser: revise.Served{Client: &http.Client{Transport: InProcess{Handler: m.Handler}},
			URL: "http://127.0.0.1/v1/chat/completions", Model: m.ID, MaxTokens: mostRevised},
	}
	return mode, m.Close, nil
}
