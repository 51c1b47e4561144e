package main

import (
	"github.com/spf13/cobra"

	"hone/internal/serve/local"
)

func newServe(a *app) *cobra.Command {
	o := local.Options{}
	c := &cobra.Command{
		Use:   "serve --model DIR|NAME=DIR|base",
		Short: "Answer OpenAI's and Anthropic's protocols with trained adapters, or with the base model",
		Long: `serve loads a base model and adapter folders (PEFT's files, as a run's final/) and answers OpenAI's and Anthropic's
protocols. All are served: an adapter under its name or the path given to --model, the base model under its own.
Ctrl-C lets requests in flight finish.`,
		Example: "  hone serve --model runs/demo-20260102-150405/final\n  hone serve --model shop=out/final --model " +
			"notes=runs/notes/final\n  hone serve --model base --listen 127.0.0.1:8001\n" +
			"  hone serve --model shop=out/final --agent --mcp-config .mcp.json",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			return local.Serve(cmd.Context(), a.Host, c, o)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.Models, "model", nil,
		"adapter folder, or NAME=FOLDER; may be repeated; base for the base model alone")
	f.StringVar(&o.Base, "base-model", "",
		"base model: a path, or the name of an installed one (default the configuration's)")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8000", "address; port 0 takes a free one")
	f.StringArrayVar(&o.KeyEnvs, "key-env", nil,
		"environment variable that holds a key that clients may send; may be repeated")
	f.IntVar(&o.Context, "context", 0,
		"tokens of one conversation (default model.context of the adapter's run, else 1024)")
	f.IntVar(&o.Slots, "slots", 8, "completions sampled at once")
	f.IntVar(&o.MaxAdapters, "max-adapters", 0, "adapters held at once; lets clients load and unload them")
	f.IntVar(&o.MaxRank, "max-rank", 0, "largest rank of an adapter loaded by a client (default 16)")
	f.BoolVar(&o.Agent.On, "agent", false, "call the tools of MCP servers here, and answer tasks")
	agentFlags(a, f, &o.Agent)
	return c
}
