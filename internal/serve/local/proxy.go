package local

import (
	"context"
	"time"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/proxy"
)

// ProxyOptions are the flags of hone proxy.
type ProxyOptions struct {
	Upstream      string        // base URL, or PROVIDER/MODEL of the configuration
	UpstreamModel string        // put in the place of the model that clients name; "": theirs
	UpstreamKey   string        // variable that holds the upstream's key; "": none, or the provider's
	Listen        string        // address
	KeyEnvs       []string      // variables that hold the keys that clients may send; none: no key
	Stall         time.Duration // how long the upstream may send nothing

	Mode     string        // InitialCall, Sidecar, or "" for none
	Hint     bool          // of Sidecar: the upstream is told of its error once
	Model    string        // adapter folder of the mode's model
	Context  int           // tokens of one conversation of it; 0: as many as it was trained at
	Slots    int           // requests that it answers at once
	Deadline time.Duration // of its answer; what takes longer goes through as it is

	Agency    Agency // of InitialCall: the servers on which calls are made; none: clients make them
	Speculate bool   // calls that change nothing are made also where the model is not sure
}

// proxyAnnouncement is what proxy prints once it answers.
type proxyAnnouncement struct {
	URL      string `json:"url"`
	Upstream string `json:"upstream"`
}

// ServeProxy answers until ctx ends.
func ServeProxy(ctx context.Context, h *host.Host, c config.Config, o ProxyOptions) error {
	up, cost, err := o.upstream(h, c)
	if err != nil {
		return err
	}
	keys, err := Keys(h, o.KeyEnvs)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if h.DryRun {
		h.Say("would answer at %s for %s", o.Listen, up.URL)
		return nil
	}
	listener, err := Listen(o.Listen, keys)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // Serve has closed it where all went well
	mode, end, err := o.open(ctx, h, c)
	if err != nil {
		return err
	}
	defer end()
	p, err := proxy.New(proxy.Options{Upstream: up, Mode: mode, Keys: keys, Cost: cost, Logger: Logger(h)})
	if err != nil {
		return err
	}
	told := proxyAnnouncement{URL: "http://" + listener.Addr().String() + "/v1", Upstream: up.URL}
	if err := h.Print(told, [][]string{{told.URL}}); err != nil {
		return err
	}
	h.Say("before %s; Ctrl-C lets requests in flight finish", up.URL)
	return p.Serve(ctx, listener)
}

// upstream is the server that is meant, and what its tokens cost where that is known.
func (o *ProxyOptions) upstream(
	h *host.Host, c config.Config,
) (up proxy.Upstream, cost func(prompt, completion int) float64, err error) {
	if o.Upstream == "" {
		return up, nil, &fault.Error{Code: fault.CodeUsage,
			What: "--upstream is missing: give a base URL, or PROVIDER/MODEL", Next: "hone proxy --help"}
	}
	up = proxy.Upstream{URL: o.Upstream, Model: o.UpstreamModel, Stall: o.Stall}
	if m, ok := c.ModelOf(o.Upstream); ok {
		if m.API != "" && m.API != "openai" {
			return up, nil, &fault.Error{Code: fault.CodeUsage, What: "the upstream does not answer chat completions",
				Where: "--upstream " + o.Upstream, Why: "its api is " + m.API,
				Next: "name an endpoint of OpenAI's protocol"}
		}
		up.URL = m.URL
		if up.Model == "" {
			up.Model = m.Model
		}
		if o.UpstreamKey == "" {
			o.UpstreamKey = m.KeyEnv
		}
		if m.Price != nil {
			cost = m.Price.Of
		}
	}
	up.Key, err = h.KeyIn(o.UpstreamKey, "the upstream", "--upstream-key-env "+o.UpstreamKey,
		"name another with --upstream-key-env")
	return up, cost, err
}
