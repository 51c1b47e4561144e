package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp/scan"
	"hone/internal/run"
)

// app is what every verb shares: the host, and the global flags that choose a configuration and a run.
type app struct {
	*host.Host
	reopen        run.OpenOptions // of a verb that goes on with a run
	accept        scan.Allowed    // by hone runs resume
	configPath    string
	sandbox       string                         // --sandbox
	shownAt       string                         // --metrics-address
	trainer       string                         // --trainer
	trainerURL    string                         // --url
	setenv        func(name, value string) error // of the process, for the libraries in it; nil: left as it is
	seed          uint64
	seedIsPresent func() bool
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "hone",
		Short:         "Train a model to be expert at the tools of an MCP server",
		Long:          host.Purpose,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Data)
	root.SetErr(a.Talk)
	root.SetFlagErrorFunc(flagError)
	f := root.PersistentFlags()
	f.StringVar(&a.configPath, "config", "", "configuration file (default hone.yaml, where there is one)")
	f.StringVar(&a.CacheDir, "cache", "",
		"folder for downloads and compiled programs (default hone in the user's cache folder)")
	f.BoolVar(&a.JSON, "json", false, "data as JSON on stdout")
	f.BoolVar(&a.Plain, "plain", false, "tables as tab-separated lines, no redrawn output")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "errors only on stderr")
	f.BoolVarP(&a.Verbose, "verbose", "v", false, "more on stderr")
	f.Uint64Var(&a.seed, "seed", 0, "seed of every random stream, instead of the configuration's")
	f.BoolVar(&a.Yes, "yes", false, "take yes for every question")
	f.BoolVar(&a.DryRun, "dry-run", false, "say what would be done, and do nothing")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if err := a.QuietLibraries(a.setenv); err != nil {
			return err
		}
		if a.CacheDir == "" {
			return nil
		}
		// a mistake in --cache is one for each verb, also where it has only compiled programs to keep there
		_, err := a.Store()
		return err
	}
	a.seedIsPresent = func() bool { return f.Changed("seed") }
	root.AddCommand(newRefresh(a), newChat(a))
	evaluate := newEval(a)
	evaluate.AddCommand(newEvalPower(a), movedCommand("calls", "hone-bench calls", releases),
		movedCommand("mcpbench", "hone-bench mcpbench", releases))
	root.AddCommand(newCluster(a), newCollect(a), newConfig(a), newCurate(a), newData(a), newDemo(a), newDiscover(a),
		newDoctor(a), newDPO(a), newEngine(a), newEnv(a), newInspect(a), newJudge(a), evaluate, newMCP(a), newMerge(a),
		newProxy(a), newSidecar(a), newReplay(a), newRuns(a), newSandboxExec(a), newScenarios(a), newServers(a),
		newSFT(a), newSynth(a), newTrain(a), newServe(a), newVersion(a), newView(a))
	root.AddCommand(newPull(a), newPush(a))
	group(root)
	helpByGroup(root)
	a.Verbs = nil
	for _, c := range root.Commands() {
		a.Verbs = append(a.Verbs, c.Name())
	}
	return root
}

// group gives a command that only holds others its behaviour: help, or an error that names what is near.
func group(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.Annotations = map[string]string{onlyHolds: ""}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return host.UnknownVerb(args[0], c.CommandPath(), verbsOf(c))
	}
	return c
}

// arguments checks how many there are; names is what the usage line calls them.
func arguments(least, most int, names string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		want := names
		if want == "" {
			want = "no argument"
		}
		return &fault.Error{
			Code: fault.CodeUsage,
			What: fmt.Sprintf("%s takes %s, not %q", c.CommandPath(), want, args),
			Next: c.CommandPath() + " --help",
		}
	}
}

// withConfig is a verb without arguments that needs the configuration.
func (a *app) withConfig(run func(ctx context.Context, c config.Config) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c, err := a.config()
		if err != nil {
			return err
		}
		return run(cmd.Context(), c)
	}
}

// config reads the configuration: the file named, or hone.yaml where there is one, or the defaults; then the flags.
func (a *app) config() (config.Config, error) {
	c, err := config.Read(a.configPath)
	if err != nil {
		return c, err
	}
	if a.seedIsPresent() {
		c.Seed = a.seed
	}
	if a.sandbox != "" {
		c.MCP.Sandbox.Mode = a.sandbox
		if err := c.Validate(); err != nil {
			return c, &fault.Error{Code: fault.CodeUsage, What: "the sandbox mode is not known",
				Where: "--sandbox " + a.sandbox, Err: err, Next: "give auto, require or off"}
		}
	}
	if a.trainer != "" || a.trainerURL != "" {
		c.Trainer.API, c.Trainer.URL = cmp.Or(a.trainer, c.Trainer.API), cmp.Or(a.trainerURL, c.Trainer.URL)
		if err := c.Validate(); err != nil {
			return c, &fault.Error{Code: fault.CodeUsage, What: "the trainer cannot be used", Err: err,
				Next: "give --trainer tinker with --url, or neither"}
		}
	}
	return c, c.Metrics.ShowAt(a.shownAt)
}
