package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/data"
	"hone/internal/data/dataset"
)

func newData(a *app) *cobra.Command {
	c := &cobra.Command{Use: "data", Short: "Check, convert and unroll conversations of any data set",
		Long: "data reads JSON lines, JSON and parquet, gzipped or not, and folders of them. " +
			"The format of each row is told from its columns:\n\n" + dataset.Describe()}
	c.AddCommand(newDataConvert(a), newDataUnroll(a), newDataValidate(a))
	return group(c)
}

// formatFlag names the format of what is read.
func formatFlag(c *cobra.Command, format *string) {
	c.Flags().StringVar(format, "from", "",
		"format of the rows, where it is not to be told from them: "+strings.Join(dataset.Names(), ", "))
}

func newDataValidate(a *app) *cobra.Command {
	format := ""
	c := &cobra.Command{
		Use:     "validate PATH...",
		Short:   "Say of which formats the rows are, and which cannot be learnt from, with their lines and reasons",
		Example: "  hone data validate conversations.jsonl\n  hone data validate Toucan-1.5M/Kimi-K2 --json",
		Args:    arguments(1, -1, "files or folders of conversations"),
		RunE: func(_ *cobra.Command, args []string) error {
			report, err := data.ValidateData(a.Host, args, format)
			report.Tell(a.Say)
			if printErr := a.Print(report, nil); printErr != nil {
				return printErr
			}
			return err
		},
	}
	formatFlag(c, &format)
	return c
}

func newDataConvert(a *app) *cobra.Command {
	var x data.Conversion
	c := &cobra.Command{
		Use: "convert PATH...",
		Short: "Write conversations in another form: a data set folder of the Hub, traces, " +
			"rows for TRL and Axolotl, pairs",
		Long: "convert reads rows of any format, refuses those that cannot be learnt from by line and reason, " +
			"and writes the others:\n\n" + dataset.DescribeForms() +
			"\nNothing is there until all is written. hf, trl and axolotl leave traces that failed out.",
		Example: "  hone data convert Toucan-1.5M/SFT --to hone --out toucan.jsonl\n" +
			"  hone data convert traces/trajectories.jsonl --to hf --unroll turns --out dataset\n" +
			"  hone data convert traces/trajectories.jsonl --to pairs --out pairs.jsonl",
		Args: arguments(1, -1, "files or folders of conversations"),
		RunE: func(c *cobra.Command, args []string) error {
			x.From = args
			return runDataConvert(c.Context(), a, x)
		},
	}
	formatFlag(c, &x.Format)
	c.Flags().StringVar(&x.To, "to", "hone", "form to write: "+strings.Join(dataset.SinkForms(), ", "))
	c.Flags().StringVar(&x.Out, "out", "", "file or folder to write, which must not be there yet")
	c.Flags().StringVar(&x.Unroll, "unroll", dataset.Whole,
		"rows of one conversation: "+strings.Join(dataset.Schemes(), ", ")+"; see hone data unroll")
	c.Flags().StringVar(&x.Catalog, "catalog", "",
		"tools of rows that name none (default catalog.json beside the data, where there is one)")
	c.Flags().BoolVar(&x.Failed, "failed", false, "write traces that failed too")
	return c
}

func runDataConvert(ctx context.Context, a *app, x data.Conversion) error {
	if a.DryRun {
		a.Say("would read %s, and write %s to %s", strings.Join(x.From, ", "), x.To, x.Out)
		return nil
	}
	done, err := x.Convert(ctx, a.Host)
	done.Tell(a.Say)
	if err != nil {
		return err
	}
	return a.Print(done, nil)
}

func newDataUnroll(a *app) *cobra.Command {
	var x data.Conversion
	base := ""
	c := &cobra.Command{
		Use:   "unroll PATH...",
		Short: "Show by how many rows each assistant message is trained, by each way to make rows of a conversation",
		Long: `whole is one row, or as many as the chat template's rewrites need; turns is one row for each user turn, which alone is
trained; prefixes is one row for each user turn, of which all is trained. hone data convert --unroll writes them,
and the key sft.unroll learns from them.`,
		Example: "  hone data unroll traces/trajectories.jsonl --model SmolLM2-135M-Instruct",
		Args:    arguments(1, -1, "files or folders of conversations"),
		RunE: func(c *cobra.Command, args []string) error {
			x.From = args
			return a.withConfig(func(_ context.Context, cfg config.Config) error {
				list, err := data.Coverage(a.Host, cfg, base, x)
				if err != nil {
					return err
				}
				if err := a.Print(list, data.CoverageRows(list)); err != nil {
					return err
				}
				return data.NotOnce(list)
			})(c, args)
		},
	}
	modelFlag(c, &base)
	formatFlag(c, &x.Format)
	c.Flags().StringVar(&x.Catalog, "catalog", "",
		"tools of rows that name none (default catalog.json beside the data, where there is one)")
	return c
}
