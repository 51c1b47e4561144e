package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/grade"
	"hone/internal/mcp"
	"hone/internal/report"
	"hone/internal/run"
)

func newRunsReport(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "report RUN",
		Short: "Write a run's report.html again, from what the run holds now",
		Long: "Writes report.html into the run's folder: rates with intervals, what got worse, learning curves, the worst and best groups, and\n" +
			"the episodes. It works while the run goes on, and on runs of any verb. A browser opens the page without network.",
		Example: "  hone runs report demo-20260102-150405\n  hone runs report ./out --json",
		Args:    arguments(1, 1, "the name or the folder of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.runPath(*dir, args[0])
			if err != nil {
				return err
			}
			return runRunsReport(a, path)
		},
	}
}

func runRunsReport(a *app, path string) error {
	p, err := a.pageOf(path)
	if err != nil {
		return err
	}
	if a.DryRun {
		a.Say("would write %s", filepath.Join(path, report.HTMLFile))
		return nil
	}
	if err := p.Write(path); err != nil {
		return err
	}
	file := filepath.Join(path, report.HTMLFile)
	return a.Print(map[string]string{"report": file}, [][]string{{file}})
}

// pageOf is the page of the run in path, by what its folder holds.
func (a *app) pageOf(path string) (report.Page, error) {
	var c config.Config
	file := filepath.Join(path, "config.resolved.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return report.Page{}, &fault.Error{Code: fault.CodeUsage, What: "no run there", Where: path, Err: err, Next: "hone runs ls"}
	}
	if c, err = config.Parse(file, text); err != nil {
		return report.Page{}, err
	}
	catalog, err := mcp.Load(filepath.Join(path, catalogFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return report.Page{}, err
	}
	var defaults grade.Defaults
	facts := []report.Fact{{Name: "base model", Value: c.Model.Base}}
	if catalog != nil {
		defaults = catalog.Defaults()
		var servers []string
		for _, s := range catalog.Servers {
			servers = append(servers, s.Name)
		}
		facts = append(facts, report.Fact{Name: "servers", Value: strings.Join(servers, ", ")})
	}
	p, err := report.Read(path, report.Source{Scenarios: scenariosOf(path), Defaults: defaults, Bootstrap: intervalsOf(c)})
	if err != nil {
		return p, err
	}
	p.Facts = append(facts, p.Facts...)
	p.Facts = append(p.Facts, report.Fact{Name: "seed", Value: fmt.Sprint(c.Seed)})
	var b begun
	if s, err := run.Summarize(path); err == nil && json.Unmarshal(s.Version, &b) == nil {
		p.Verb = "hone " + b.Verb
		p.Facts = append(p.Facts, report.Fact{Name: "begun", Value: s.Created.Format("2006-01-02 15:04")}, report.Fact{Name: "attempts", Value: fmt.Sprint(s.NumAttempts)},
			report.Fact{Name: "begun from", Value: b.Flags.Adapter}, report.Fact{Name: "hone", Value: b.Build.Version})
	}
	return p, nil
}

// writeReport writes the page of the run in path. with adds what only this process knows, and may be nil.
func (a *app) writeReport(path string, with func(*report.Page)) (report.Page, error) {
	p, err := a.pageOf(path)
	if err != nil {
		return p, err
	}
	if with != nil {
		with(&p)
	}
	if err := p.Write(path); err != nil {
		return p, err
	}
	a.Say("report: %s", filepath.Join(path, report.HTMLFile))
	return p, nil
}

// reportEval writes the report of an evaluation that is kept.
func (t *tuning) reportEval(l *lab, f evalFlags, trainedOn []string) error {
	_, err := t.a.writeReport(t.path, func(p *report.Page) {
		p.TrainedOn = trainedOn
		p.Facts = append(p.Facts, report.Fact{Name: "device", Value: l.machine.Engine.Description()}, report.Fact{Name: "adapter", Value: f.model},
			report.Fact{Name: "dataset", Value: f.dataset}, report.Fact{Name: "split", Value: f.split})
	})
	return err
}

// reportTrain writes the report of a training run.
func (t *tuning) reportTrain(l *lab) error {
	_, err := t.a.writeReport(t.path, func(p *report.Page) {
		p.Facts = append(p.Facts, report.Fact{Name: "device", Value: l.machine.Engine.Description()})
	})
	return err
}
