package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/run/report"
	"hone/internal/toolset"
	"hone/internal/view"
)

// app is the host, and what the command line says.
type app struct {
	*host.Host
	setenv func(name, value string) error // of the process, for the libraries in it; nil: left as it is

	config, sandbox, arms string
	seed                  uint64
	seedIsPresent         func() bool
	numGPUs               int
	resume                bool
	Options
}

// main runs one command line and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	a.Context = ctx
	root := newRoot(a)
	root.SetArgs(args)
	return a.Report(ctx, root.ExecuteContext(ctx))
}

func newRoot(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "hone-learn",
		Short: "Compare GRPO with SFT of equal size, from one start on few demonstrations; for a GPU, or hours of CPU",
		Long: "hone-learn fine-tunes on few demonstrations of the demo's tasks, then goes on from that adapter in " +
			"several ways that\n" +
			"are of about equal size: " + ArmGRPO + " (live rollouts, rule rewards), " + ArmRejection +
			" (SFT on the start's own rollouts\n" +
			"that passed), " + ArmRFT + " (SFT on these and the demonstrations), " + ArmContinued +
			" (SFT on the same demonstrations) and\n" +
			ArmGold + " (SFT on executed solutions of GRPO's tasks).\n" +
			"Each is evaluated on the same held-out scenarios, and the paired differences are printed.",
		Example: "  hone-learn --backend cuda --seed 1\n  hone-learn --arms grpo --split validation\n" +
			"  hone-learn --dataset tasks.json --mcp-config .mcp.json --demonstrations 100",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &fault.Error{Code: fault.CodeUsage,
					What: "hone-learn takes no argument, not " + strings.Join(args, " "), Next: "hone-learn --help"}
			}
			return nil
		},
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(c *cobra.Command, _ []string) error { return a.run(c.Context()) },
	}
	c.SetIn(a.Stdin)
	c.SetOut(a.Data)
	c.SetErr(a.Talk)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &fault.Error{Code: fault.CodeUsage, What: err.Error(), Next: "hone-learn --help"}
	})
	a.globalFlags(c)
	f := c.Flags()
	f.StringVar(&a.Backend, "backend", "auto", "auto, cuda, cpu or go")
	f.IntVar(&a.numGPUs, "num-gpus", 0, "GPUs of this machine to use (default engine.num_gpus)")
	f.StringVar(&a.Split, "split", scenario.Test, "what to evaluate on: validation, to choose settings, or test")
	f.StringVar(&a.arms, "arms", strings.Join(Arms(), ","),
		"what to run, separated by commas; empty is the start alone")
	f.IntVar(&a.Demonstrations, "demonstrations", 150, "rows of the start")
	f.StringVar(&a.Dataset, "dataset", "",
		"scenarios of your own in the place of the demo's, with gold calls: the start is shown some of the split train")
	f.StringVar(&a.Servers, "mcp-config", "", "servers of the dataset (default mcp.config)")
	f.IntVar(&a.ShownKinds, "shown-kinds", 0,
		"kinds of task that the start's rows are of, drawn by the seed, of a dataset: tools; 0 is all")
	f.Float64Var(&a.RewardNoise, "reward-noise", 0,
		"share of "+ArmGRPO+"'s episodes whose reward is turned around, to see how much it bears")
	f.IntVar(&a.Epochs, "epochs", 2, "passes of the start over them")
	f.IntVar(&a.Steps, "steps", 100, "GRPO steps")
	f.IntVar(&a.Groups, "groups", 32, "scenarios of a step")
	f.IntVar(&a.GroupSize, "group-size", 4, "rollouts of a scenario in a step")
	f.Float64Var(&a.GRPORate, "grpo-rate", 3e-4, "peak learning rate of "+ArmGRPO)
	f.Float64Var(&a.SFTRate, "sft-rate", 3e-4, "peak learning rate of the arms that are SFT")
	f.StringVar(&a.Output, "output-dir", "", "run directory (default one under the configuration's runs_dir)")
	f.BoolVar(&a.resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	return c
}

// globalFlags are those that hone has of every verb, as far as they act here.
func (a *app) globalFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&a.config, "config", "", "configuration file (default hone.yaml, where there is one)")
	f.StringVar(&a.CacheDir, "cache", "",
		"folder for downloads and compiled programs (default hone in the user's cache folder)")
	f.BoolVar(&a.JSON, "json", false, "data as JSON on stdout")
	f.BoolVar(&a.Plain, "plain", false, "tables as tab-separated lines, no redrawn output")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "errors only on stderr")
	f.BoolVarP(&a.Verbose, "verbose", "v", false, "more on stderr")
	f.Uint64Var(&a.seed, "seed", 0, "seed of every random stream, instead of the configuration's")
	f.StringVar(&a.sandbox, "sandbox", "", "auto, require or off, instead of the configuration's mcp.sandbox.mode")
	f.BoolVar(&a.Yes, "yes", false, "take yes for every question")
	f.BoolVar(&a.DryRun, "dry-run", false, "say what would be done, and do nothing")
	a.seedIsPresent = func() bool { return f.Changed("seed") }
}

// settings is the configuration, and then the flags.
func (a *app) settings() (config.Config, error) {
	c, err := config.Read(a.config)
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
	return c, nil
}

// run begins a comparison, or goes on with one.
func (a *app) run(ctx context.Context) error {
	if err := a.QuietLibraries(a.setenv); err != nil {
		return err
	}
	c, err := a.settings()
	if err != nil {
		return err
	}
	e := job.Env{Host: a.Host, Today: c,
		Table: job.Verbs{{Name: Verb, Finished: HasEnded, Resume: Resume}}}
	e.Show = func(path string, p report.Page, n report.Numbers) error { return view.WriteReport(e, path, p, n) }
	if a.resume {
		if a.Output == "" {
			return &fault.Error{Code: fault.CodeUsage, What: "no run to go on with", Where: "--resume",
				Next: "name its folder with --output-dir; hone runs ls lists them"}
		}
		return e.Resume(ctx, a.Output, toolset.Source{})
	}
	if err := basemodel.OnGPUs(&c, a.numGPUs); err != nil {
		return err
	}
	if a.numGPUs > 0 {
		a.Backend = c.Engine.Backend
	}
	if a.Arms = []string{}; a.arms != "" {
		a.Arms = strings.Split(a.arms, ",")
	}
	return Compare(ctx, e, c, a.Options)
}
