package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"hone/internal/job"
)

func newPush(a *app) *cobra.Command {
	var o job.PushAsked
	c := &cobra.Command{
		Use:   "push DIR --to ORG/NAME",
		Short: "Push an adapter, a merged model or a data set to the Hugging Face Hub, as one commit",
		Long: `push makes the repository where there is none. What the Hub has already is not sent again, so a push that was cut off
goes on when its command is given again. The card of a model is made from its run and its evaluation, unless the folder
has a README.md. HF_TOKEN, HF_ENDPOINT and HF_HOME count as for huggingface_hub.`,
		Example: "  hone push out/final --to ada/shop-adapter --evaluation evaluated --private\n" +
			"  hone push merged --run out --to ada/shop\n  hone push dataset --to ada/shop-traces@v2 --mirror",
		Args: arguments(1, 1, "a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Folder = args[0]
			done, err := job.Push(c.Context(), a.Host, o)
			if err != nil || a.DryRun {
				return err
			}
			return a.Print(done, [][]string{
				{"URL", "COMMIT", "FILES", "SAME", "REMOVED"},
				{done.URL, done.Commit, strconv.Itoa(done.Files), strconv.Itoa(done.Same), strconv.Itoa(done.Removed)},
			})
		},
	}
	f := c.Flags()
	f.StringVar(&o.To, "to", "", "repository: ORG/NAME, or ORG/NAME@BRANCH")
	f.StringVar(&o.Kind, "kind", "", "model or dataset (default what the folder's files are)")
	f.StringVar(&o.Run, "run", "",
		"run whose training the card tells (default the folder above DIR, where it is a run)")
	f.StringVar(&o.Evaluation, "evaluation", "", "run directory of hone eval, whose rates the card has")
	f.StringVar(&o.Base, "base-model", "",
		"base model in the card, ORG/NAME (default the one that was trained, where it came from the Hub)")
	f.StringVar(&o.License, "license", "", "licence in the card, as the Hub abbreviates it: apache-2.0")
	f.StringVar(&o.Message, "message", "", "message of the commit (default \"Push with hone\")")
	f.BoolVar(&o.Private, "private", false, "make the repository a private one, where there is none")
	f.BoolVar(&o.Mirror, "mirror", false, "remove files that the repository has and DIR has not")
	return c
}

func newPull(a *app) *cobra.Command {
	var o job.PullAsked
	c := &cobra.Command{
		Use:   "pull ORG/NAME",
		Short: "Bring a model or a data set of the Hugging Face Hub into its cache, up to date",
		Long: "pull downloads what the cache lacks, and prints the folder. " +
			"The cache is the one that huggingface_hub, transformers and\n" +
			"vLLM use: HF_HUB_CACHE, HF_HOME. A download that was cut off goes on where it ended. " +
			"Of a model come the files that hone reads.",
		Example: "  hone pull Qwen/Qwen3-0.6B\n  hone pull ada/shop-traces@v2 --kind dataset\n" +
			"  hone pull org/name --file '*Q8_0.gguf'",
		Args: arguments(1, 1, "ORG/NAME, or ORG/NAME@REVISION"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			dir, commit, err := job.Pull(c.Context(), a.Host, o)
			if err != nil {
				return err
			}
			return a.Print(map[string]string{"folder": dir, "commit": commit}, [][]string{{dir}})
		},
	}
	c.Flags().StringVar(&o.Kind, "kind", "model", "model or dataset")
	c.Flags().StringArrayVar(&o.Files, "file", nil,
		"pattern of files, by name or path; may be repeated (default those that hone reads)")
	return c
}
