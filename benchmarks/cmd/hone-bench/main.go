// Command hone-bench knows the benchmarks of others, which hone itself does not: it makes scenarios of their tasks, and
// measures by their rules what hone recorded. Each file holds one benchmark's verbs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Hints name the verbs of hone, so the program that they are told by is hone.
	a := &app{
		&host.Host{Stdin: os.Stdin, Data: sanitize.New(os.Stdout), Talk: sanitize.New(os.Stderr),
			LookupEnv: os.LookupEnv, Environ: os.Environ(), Program: "hone"},
	}
	os.Exit(a.main(ctx, os.Args[1:]))
}

// app is what the verbs share.
type app struct{ *host.Host }

// main runs one command line and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	a.Context = ctx
	root := newRoot(a)
	root.SetArgs(args)
	return a.Report(ctx, root.ExecuteContext(ctx))
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "hone-bench",
		Short: "Make scenarios of the tasks of benchmarks, and measure runs of hone by their rules",
		Long: "hone-bench knows the benchmarks of others: it makes scenarios of their task files, " +
			"which hone then runs, and measures by\n" +
			"their rules what hone recorded. It needs no server, no model and no device. docs/BENCHMARKS.md says how.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Data)
	root.SetErr(a.Talk)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &fault.Error{Code: fault.CodeUsage, What: err.Error(), Next: c.CommandPath() + " --help"}
	})
	f := root.PersistentFlags()
	f.BoolVar(&a.JSON, "json", false, "data as JSON on stdout")
	f.BoolVar(&a.Plain, "plain", false, "tables as tab-separated lines")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "errors only on stderr")
	root.AddCommand(newCalls(a), newImport(a), newMCPBench(a), newPlaces(a), newReward(a))
	root.Args = cobra.ArbitraryArgs
	root.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		var verbs []host.VerbHelp
		for _, sub := range c.Commands() {
			verbs = append(verbs, host.VerbHelp{Name: sub.Name(), Short: sub.Short})
		}
		return host.UnknownVerb(args[0], c.CommandPath(), verbs)
	}
	return root
}

// arguments checks how many there are; names is what the usage line calls them.
func arguments(least, most int, names string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return &fault.Error{
			Code: fault.CodeUsage,
			What: fmt.Sprintf("%s takes %s, not %q", c.CommandPath(), names, args),
			Next: c.CommandPath() + " --help",
		}
	}
}

// runPath is the folder of a run that is named: by its folder, by its name in dir or in the configuration's runs_dir,
// or by its name in the list of all runs.
func (a *app) runPath(dir, name string) (string, error) {
	if filepath.Base(name) != name || name == "." || name == ".." {
		return name, nil
	}
	root := dir
	if root == "" {
		c, err := config.Read("")
		if err != nil {
			return "", err
		}
		root = c.RunsDir
	}
	return job.Env{Host: a.Host}.RunOf(root, name, dir == "")
}
