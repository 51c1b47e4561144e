// Package data does what hone data and hone curate do.
package data

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
)

// Conversion says how conversations of files become others.
type Conversion struct {
	From     []string // files and folders
	Format   string   // of them, "" to tell it
	To, Out  string   // a form of package dataset, and where it goes
	Unroll   string   // a scheme of package unroll
	Catalog  string   // of rows that name no tools; "" is the catalog.json beside each file
	Failed   bool     // keep traces too that show nothing to imitate
	MaxBytes int      // of a row; 0 is the default
}

// Converted is what came of a conversion.
type Converted struct {
	dataset.Report
	LeftOut map[string]int    `json:"left_out"` // rows that were read, and are in nothing that was written, by reason
	Written dataset.SinkFiles `json:"written"`
}

// Convert reads conversations and writes them in a form. The error says why nothing was written; what was read is
// reported all the same.
func (x Conversion) Convert(ctx context.Context, h *host.Host) (Converted, error) {
	var out Converted
	if !slices.Contains(dataset.Schemes(), x.Unroll) {
		return out, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no scheme %q", x.Unroll),
			Where: "--unroll", Next: "the schemes are " + strings.Join(dataset.Schemes(), ", ")}
	}
	var err error
	if x.From, err = job.LocalData(h, x.From...); err != nil {
		return out, err
	}
	if err := job.RefuseCurated(x.From...); err != nil {
		return out, err
	}
	sink, err := dataset.OpenSink(dataset.SinkOptions{Form: x.To, Out: x.Out,
		Card: map[string]string{"made by": "hone data convert", "rows of one conversation": x.Unroll}})
	if err != nil {
		return out, err
	}
	defer sink.Abort()
	g := newGate(x.To, x.Catalog, x.Failed)
	out.LeftOut = g.leftOut
	out.Report, err = dataset.Read(x.From,
		dataset.Options{Format: x.Format, MaxBytes: x.MaxBytes}, func(r dataset.Row) error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if passes, err := g.pass(&r); !passes || err != nil {
				return err
			}
			rows := g.rows(x.Unroll, r)
			for _, row := range rows {
				if err := sink.Add(row); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		return out, err
	}
	out.Written, err = sink.Close(g.leftOut)
	out.LeftOut = out.Written.LeftOut
	return out, err
}

// gate is what a row passes on its way to a file, whichever command writes it.
type gate struct {
	form    string // of package dataset
	failed  bool   // traces pass too that show nothing to imitate
	tools   job.Catalogs
	leftOut map[string]int // rows that do not pass, by reason
}

func newGate(form, catalog string, failed bool) *gate {
	return &gate{form, failed, job.NewCatalogs(catalog), map[string]int{}}
}

// pass gives a row its tools, or counts why it is not to be written.
func (g *gate) pass(r *dataset.Row) (bool, error) {
	if why := g.leavesOut(r); why != "" {
		g.leftOut[why]++
		return false, nil
	}
	return true, g.tools.ToolsFor(r)
}

// rows are those that a conversation becomes in the gate's form; it counts one that becomes none.
func (g *gate) rows(scheme string, r dataset.Row) []dataset.Row {
	rows := dataset.UnrollRow(scheme, r)
	if g.form == "trl" { // which has no mask of its own
		var runs []dataset.Row
		for _, row := range rows {
			runs = append(runs, dataset.Runs(row)...)
		}
		rows = runs
	}
	if len(rows) == 0 {
		g.leftOut[noAssistant]++
	}
	return rows
}

// noAssistant is why a conversation is left out of which nothing can be learnt.
const noAssistant = "no assistant message"

// leavesOut says why a row is not written, or "". Forms that a trainer reads hold rows to learn from alone. They name
// no split, so nothing behind them could tell the others. All but pairs hold what is to be imitated alone.
func (g *gate) leavesOut(r *dataset.Row) string {
	imitated := g.form == "trl" || g.form == "axolotl"
	if (imitated || g.form == "pairs") && !r.ToLearnFrom() {
		return "of the split " + r.Split + ", which is to be measured on"
	}
	if (imitated || g.form == "hf" || g.form == "hf-jsonl") && !g.failed {
		// without the check's name, so that a few reasons count all
		why, _, _ := strings.Cut(r.WhyNoDemonstration(), " ")
		switch why {
		case "":
		case "outcome", "failed":
			return "traces that failed; --failed keeps them"
		default:
			return noAssistant
		}
	}
	return ""
}

// Tell says what came of it.
func (c Converted) Tell(say func(format string, args ...any)) {
	c.Report.Tell(say)
	TellLeftOut(say, c.LeftOut)
	if c.Written.Rows > 0 {
		say("%s written to %s", fault.Count(c.Written.Rows, "row"), c.Written.Path)
	}
}

// TellLeftOut says how many rows were not written, and why.
func TellLeftOut(say func(format string, args ...any), leftOut map[string]int) {
	for _, why := range slices.Sorted(maps.Keys(leftOut)) {
		say("left out %s: %s", fault.Count(leftOut[why], "row"), why)
	}
}

// ValidateData reads conversations, or pairs where no row is one, and says which rows are none. The error, with exit
// code 2, says that there are such.
func ValidateData(h *host.Host, paths []string, format string) (dataset.Report, error) {
	local, err := job.LocalData(h, paths...)
	if err != nil {
		return dataset.Report{}, err
	}
	one, reader := "conversation", "hone data convert and hone sft leave"
	report, err := dataset.Read(local, dataset.Options{Format: format}, func(dataset.Row) error { return nil })
	if format == "" && report.Kept == 0 && report.Read > 0 {
		if _, of, pairsErr := dataset.LoadPairs(local); pairsErr == nil {
			report, err, one, reader = of, nil, "pair", "hone dpo leaves"
			h.Say("these are pairs: hone dpo --data %s learns from them", strings.Join(paths, ", "))
		}
	}
	if n := report.NumRefused(); err == nil && len(report.Refused) > 0 {
		damaged := &fault.Error{
			Code:  fault.CodeUsage,
			What:  fmt.Sprintf("%d of %s are no %s", n, fault.Count(report.Read, "row"), one),
			Where: strings.Join(paths, ", "),
			Next:  cmp.Or(report.Next(), "correct them; "+reader+" them out"),
		}
		if n == 0 {
			damaged.What, damaged.Next = "the file is damaged", "download or write it again"
		}
		err = damaged
	}
	return report, err
}
