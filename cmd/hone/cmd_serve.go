package main

import (
	"github.com/spf13/cobra"

	"hone/internal/job"
)

func newServe(a *app) *cobra.Command {
	o := job.ServeOptions{}
	c := &cobra.Command{
		Use:   "serve --model DIR|base",
		Short: "Answer OpenAI's chat-completions protocol with a trained adapter, or with the base model",
		Long: "serve loads a base model and an adapter folder (PEFT's files, as a run's final/) and answers /v1/chat/completions.\n" +
			"Both are served: the adapter under the name given to --model, the base model under its own. Ctrl-C lets requests\n" +
			"in flight finish.",
		Example: "  hone serve --model runs/demo-20260102-150405/final\n  hone serve --model base --listen 127.0.0.1:8001",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			return job.Serve(cmd.Context(), a.Host, c, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Model, "model", "", "adapter folder, or base for the base model alone")
	f.StringVar(&o.Base, "base-model", "", "base model: a path, or the name of an installed one (default the configuration's)")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8000", "address; port 0 takes a free one")
	f.StringVar(&o.KeyEnv, "key-env", "", "environment variable that holds the key clients must send")
	f.IntVar(&o.Context, "context", 0, "tokens of one conversation (default model.context of the adapter's run, else 1024)")
	f.IntVar(&o.Slots, "slots", 8, "completions sampled at once, for each model")
	return c
}
