package main

import (
	"time"

	"github.com/spf13/cobra"

	"hone/internal/mcp/scan"
	"hone/internal/serve/local"
)

func newProxy(a *app) *cobra.Command {
	o := local.ProxyOptions{}
	c := &cobra.Command{
		Use:   "proxy --upstream URL|PROVIDER/MODEL [--mode " + local.InitialCall + " --model DIR]",
		Short: "Stand in front of another model's server",
		Long: "proxy answers OpenAI's chat completions by asking another server, the upstream. " +
			"Requests and answers go through as they\n" +
			"are, streams event by event. In the mode initial-call a small model, " +
			"an adapter that hone eval --calibrate was given, makes\n" +
			"the first call of a user's turn where it is sure, and the upstream goes on from the result. " +
			"With --mcp-config the proxy makes\n" +
			"that call itself, where mcp.approval allows it; else the client does. " +
			"In the mode sidecar the upstream's\n" +
			"calls are mended, or revised by the adapter of hone sidecar train; without --model by the fixer alone. " +
			"Ctrl-C lets requests in flight finish.",
		Example: "  hone proxy --upstream http://127.0.0.1:8000/v1\n" +
			"  hone proxy --upstream openai/gpt-4o-mini --key-env PROXY_KEY --listen 0.0.0.0:8001\n" +
			"  hone proxy --upstream openai/gpt-4o --mode initial-call --model runs/shop/final --mcp-config .mcp.json",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			return local.ServeProxy(cmd.Context(), a.Host, c, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Upstream, "upstream", "",
		"base URL of the upstream, up to and including /v1, or PROVIDER/MODEL of the configuration's providers")
	f.StringVar(&o.UpstreamModel, "upstream-model", "",
		"model to ask the upstream for, whatever clients name (default the client's)")
	f.StringVar(&o.UpstreamKey, "upstream-key-env", "",
		"environment variable that holds the upstream's key; clients' keys are never sent on")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8001", "address; port 0 takes a free one")
	f.StringArrayVar(&o.KeyEnvs, "key-env", nil,
		"environment variable that holds a key that clients may send; may be repeated")
	f.DurationVar(&o.Stall, "upstream-timeout", 2*time.Minute,
		"how long the upstream may send nothing before its request is given up")
	f.StringVar(&o.Mode, "mode", "", local.InitialCall+", "+local.Sidecar+", or nothing: all goes through")
	f.BoolVar(&o.Hint, "hint", false, "in the mode sidecar: tell the upstream once of a call that could not be mended")
	f.StringVar(&o.Model, "model", "", "adapter folder of the mode's model")
	f.IntVar(&o.Context, "context", 0,
		"tokens of one conversation of that model (default model.context of the adapter's run)")
	f.IntVar(&o.Slots, "slots", 4, "requests that it answers at once")
	f.DurationVar(&o.Deadline, "deadline", 5*time.Second,
		"how long it may take before the request goes through as it is")
	a.toolFlags(f, &o.Agency.Servers, (*scan.Allowed)(&o.Agency.AllowFindings))
	f.BoolVar(&o.Speculate, "speculate", false, "make unsure calls that change nothing while the upstream reads; "+
		"their results are used where it makes the same")
	return c
}
