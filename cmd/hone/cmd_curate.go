package main

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/data/curate"
	"hone/internal/data/export"
	"hone/internal/job"
)

func newCurate(a *app) *cobra.Command {
	var x job.Curating
	c := &cobra.Command{Use: "curate [DATA]", Short: "Tidy traces before they are learnt from: rules, edits, ratings, all of which can be undone",
		Long: "curate changes no file of traces. Each operation goes into a ledger beside it, with its author and what it changed, and a\n" +
			"trace is what its operations make of it. hone curate export writes what is left. hone curate DATA, on a terminal, is a page\n" +
			"with a list of the traces, their turns, and a key for each operation; ? shows the keys.",
		Example: "  hone curate traces/trajectories.jsonl\n  hone curate rules traces/trajectories.jsonl --checks-passed"}
	c.PersistentFlags().StringVar(&x.Ledger, "ledger", "", "where the operations are kept (default beside the data: DATA.curation.jsonl)")
	c.PersistentFlags().StringVar(&x.Catalog, "catalog", "", "tools of traces that name none (default catalog.json beside the data, where there is one)")
	c.PersistentFlags().StringVar(&x.Author, "author", "", "who makes the operations (default $USER)")
	at := func(run func(c *cobra.Command, d *job.Desk, args []string) error) func(*cobra.Command, []string) error {
		return func(c *cobra.Command, args []string) error {
			x.Look = c.Name() == "show" || c.Name() == "export"
			if x.Author == "" {
				x.Author, _ = a.LookupEnv("USER")
			}
			x.Data = args[0]
			d, err := x.Open(a.Host)
			if err != nil {
				return err
			}
			defer d.Close()
			if a.DryRun {
				d.Rehearse()
			}
			return run(c, d, args[1:])
		}
	}
	c.AddCommand(newCurateShow(a, at), newCurateDo(a, at), newCurateRules(a, at), newCurateRedact(a, at), newCurateExport(a, at))
	return newCuratePage(a, group(c), at)
}

// atDesk opens the traces that the first argument names for a command.
type atDesk func(run func(c *cobra.Command, d *job.Desk, args []string) error) func(*cobra.Command, []string) error

func newCurateShow(a *app, at atDesk) *cobra.Command {
	preview, base := false, ""
	c := &cobra.Command{
		Use:     "show DATA [TRACE]",
		Short:   "List the traces, or show one: its messages by number, what does not hold, what was done, what would be trained",
		Example: "  hone curate show traces/trajectories.jsonl\n  hone curate show traces/trajectories.jsonl t1 --preview --model SmolLM2-135M-Instruct",
		Args:    arguments(1, 2, "a file of traces, and perhaps a trace"),
	}
	c.RunE = at(func(c *cobra.Command, d *job.Desk, args []string) error {
		if len(args) == 0 {
			list, rows := d.List()
			return a.Print(list, rows)
		}
		if preview {
			return a.configured(func(_ context.Context, cfg config.Config) error { return d.Preview(a.Host, cfg, base, args[0]) })(c, args)
		}
		shown, rows, err := d.Show(args[0])
		if err != nil {
			return err
		}
		for _, finding := range shown.Findings {
			a.Say("does not hold: %s", finding)
		}
		for _, op := range shown.Log {
			a.Say("operation %d by %s: %s %s", op.Seq, op.Author, op.Do, op.Why)
		}
		return a.Print(shown, rows)
	})
	c.Flags().BoolVar(&preview, "preview", false, "show the exact text of the rows that sft would learn, and what of it is trained")
	modelFlag(c, &base)
	return c
}

func newCurateDo(a *app, at atDesk) *cobra.Command {
	var op curate.Op
	c := &cobra.Command{
		Use:   "do DATA OPERATION",
		Short: "Make one operation, or with - those that come as JSON lines",
		Long: "do makes one of: " + strings.Join(curate.Kinds(), ", ") + ".\n" +
			"Messages and calls are numbered from 0, turns from 1, as show has them. undo takes the number of an operation.",
		Example: "  hone curate do traces.jsonl edit_arguments --trace t1 --message 2 --text '{\"city\": \"Bern\"}'\n" +
			"  hone curate do traces.jsonl reject --trace t7 --why 'it guesses'\n" +
			"  hone curate do traces.jsonl undo --of 3\n" +
			"  echo '{\"do\": \"rate\", \"trace\": \"t1\", \"rating\": 5}' | hone curate do traces.jsonl -",
		Args: arguments(2, 2, "a file of traces and an operation"),
	}
	c.RunE = at(func(c *cobra.Command, d *job.Desk, args []string) error {
		if args[0] == "-" {
			return d.DoLines(c.Context(), a.Stdin, a.Data)
		}
		op.Do = args[0]
		if err := curate.Missing(op.Do, func(name string) bool { return c.Flags().Changed(name) }); err != nil {
			return err
		}
		done, findings, err := d.Do(op)
		if err != nil {
			return err
		}
		for _, finding := range findings {
			a.Say("does not hold: %s", finding)
		}
		a.Say("operation %d: %s %s; take it back with: undo --of %d", done.Seq, done.Do, done.Trace, done.Seq)
		return a.Print(done, nil)
	})
	c.Flags().StringVar(&op.Trace, "trace", "", "the trace")
	c.Flags().IntVar(&op.Turn, "turn", 0, "of delete_turn, merge_turns and split: the user turn, from 1")
	c.Flags().IntVar(&op.Message, "message", 0, "of edits and delete_step: the message, from 0")
	c.Flags().IntVar(&op.Call, "call", 0, "of edit_arguments: the call of the message, from 0")
	c.Flags().StringVar(&op.Text, "text", "", "of edits: what stands there then")
	c.Flags().IntVar(&op.Rating, "rating", 0, "of rate: 1 to 5")
	c.Flags().StringVar(&op.Why, "why", "", "the reason")
	c.Flags().IntVar(&op.Of, "of", 0, "of undo: the number of the operation")
	return c
}

func newCurateRules(a *app, at atDesk) *cobra.Command {
	var r curate.Rules
	c := &cobra.Command{
		Use:     "rules DATA",
		Short:   "Reject what rules refuse, near copies, and what is there too often",
		Example: "  hone curate rules traces/trajectories.jsonl --checks-passed --schema-valid --no-tool-error --near 0.9 --per-tool 20",
		Args:    arguments(1, 1, "a file of traces"),
	}
	c.RunE = at(func(_ *cobra.Command, d *job.Desk, _ []string) error {
		done, err := d.Rules(r)
		if err != nil {
			return err
		}
		rows := [][]string{{"rule", "rejected"}}
		for rule, n := range done.Rejected {
			rows = append(rows, []string{rule, strconv.Itoa(n)})
		}
		slices.SortFunc(rows[1:], func(x, y []string) int { return strings.Compare(x[0], y[0]) })
		a.Say("%d traces looked at, %d left; of those %d do not say how their calls went", done.Looked, done.Left, done.Unknown)
		return a.Print(done, rows)
	})
	c.Flags().BoolVar(&r.ChecksPassed, "checks-passed", false, "the checks of the scenario hold")
	c.Flags().BoolVar(&r.SchemaValid, "schema-valid", false, "each call fits the schema of its tool, and has a result")
	c.Flags().BoolVar(&r.NoToolError, "no-tool-error", false, "each call was answered without an error")
	c.Flags().IntVar(&r.MaxTurns, "max-turns", 0, "most assistant messages to learn from one trace; 0 has no bound")
	c.Flags().Float64Var(&r.MinJudge, "min-judge", 0, "least score that the judge gave; 0 asks for none")
	c.Flags().IntVar(&r.MinRating, "min-rating", 0, "least rating that a person gave; 0 asks for none")
	c.Flags().Float64Var(&r.Near, "near", 0, "from this similarity on two traces with the same values are near copies, and the better stays; 0 keeps both")
	c.Flags().IntVar(&r.PerTool, "per-tool", 0, "most traces of each tool: a trace stays while one of its tools has fewer; 0 has no bound")
	c.Flags().IntVar(&r.PerLength, "per-length", 0, "most traces of each number of calls: 0, 1, 2 to 3, 4 to 7, and so on; 0 has no bound")
	return c
}

func newCurateExport(a *app, at atDesk) *cobra.Command {
	form, out, accepted, failed := "", "", false, false
	c := &cobra.Command{
		Use:     "export DATA",
		Short:   "Write the traces that are not rejected, as the operations left them",
		Example: "  hone curate export traces/trajectories.jsonl --out curated.jsonl",
		Args:    arguments(1, 1, "a file of traces"),
	}
	c.RunE = at(func(_ *cobra.Command, d *job.Desk, _ []string) error {
		if a.DryRun {
			a.Say("would write %d traces to %s", len(d.Rows(accepted)), out)
			return nil
		}
		written, err := d.Export(form, out, accepted, failed)
		job.TellLeftOut(a.Say, written.LeftOut)
		if err != nil {
			return err
		}
		verb, what := "sft", "traces"
		if form == "pairs" {
			verb, what = "dpo", "pairs"
		}
		a.Say("%d %s written to %s; next: hone %s --data %s", written.Rows, what, written.Path, verb, written.Path)
		return a.Print(written, nil)
	})
	c.Flags().StringVar(&form, "to", "hone", "form to write: "+strings.Join(export.Forms(), ", "))
	c.Flags().StringVar(&out, "out", "", "file or folder to write, which must not be there yet")
	c.Flags().BoolVar(&accepted, "accepted", false, "those alone that are accepted")
	c.Flags().BoolVar(&failed, "failed", false, "write traces too that failed (forms hf, hf-jsonl, trl, axolotl)")
	return c
}
