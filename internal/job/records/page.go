// Package records is what runs hold: what a recipe produces is written by a Journal; pages, episodes, ratings and what
// adapters learnt from are read again.
package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/grade"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/run/evallog"
	"hone/internal/run/report"
)

// PageOf is the page of the run in path, by what its folder holds.
func PageOf(path string) (report.Page, error) { return pageOf(path, false) }

// EvaluationOf is the page of the evaluations alone, which of a long training takes far less.
func EvaluationOf(path string) (report.Page, error) { return pageOf(path, true) }

func pageOf(path string, evaluated bool) (report.Page, error) {
	var c config.Config
	file := filepath.Join(path, run.ConfigFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return report.Page{}, &fault.Error{Code: fault.CodeUsage, What: "no run there", Where: path, Err: err,
			Next: "hone runs ls"}
	}
	if c, err = config.Parse(file, text); err != nil {
		return report.Page{}, err
	}
	catalog, err := mcp.Load(filepath.Join(path, job.CatalogFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return report.Page{}, err
	}
	var defaults grade.Defaults
	var servers []string
	if catalog != nil {
		defaults = catalog.Defaults()
		for _, s := range catalog.Servers {
			servers = append(servers, s.Name)
		}
	}
	ratings, err := RatingsOf(path)
	if err != nil {
		return report.Page{}, err
	}
	from := report.Source{Evaluated: evaluated, Ratings: ratings, Scenarios: ScenariosOf(path), Defaults: defaults,
		Bootstrap: job.IntervalsOf(c), Known: job.KnownFacts(catalog)}
	var b job.Begun
	s, notRun := run.Summarize(path)
	if notRun == nil && json.Unmarshal(s.Version, &b) == nil && b.Flags.Evaluation != nil {
		b.Flags.Settle()
		from.Learnt = ProvenanceOf(b.Flags.Evaluation.Systems, b.Folder, catalog)
	}
	p, err := report.Read(path, from)
	if err != nil {
		return p, err
	}
	p.Say("base model", c.Model.Base)
	p.Say("servers", strings.Join(servers, ", "))
	p.Say("seed", fmt.Sprint(c.Seed))
	for _, stage := range s.Stages {
		if stage.FinalStep > 0 {
			p.Say("final", fmt.Sprintf("step %d of %s", stage.FinalStep, stage.Name))
		}
	}
	if b.Verb != "" {
		p.Verb = "hone " + b.Verb
		p.Say("begun", s.Created.Format("2006-01-02 15:04"))
		p.Say("attempts", fmt.Sprint(s.NumAttempts))
		p.Say("begun from", b.Flags.Adapter)
		if o := b.Flags.Origin; o != nil {
			p.Say("its SHA-256", o.Weights)
		}
		p.Say("hone", b.Build.Version)
		if e := b.Flags.Evaluation; e != nil {
			p.Say("adapter", b.Flags.Adapter)
			p.Say("dataset", e.Dataset)
			p.Say("split", e.Split)
			p.Say("scenarios", e.SampleText(len(from.Scenarios), c.Seed))
			sayModels(&p, c.Model.Base, e.Systems)
		}
	}
	return p, nil
}

// sayModels says what each system of an evaluation is.
func sayModels(p *report.Page, base string, systems []job.System) {
	for _, s := range systems {
		p.Say(s.Name, s.Where())
		for i := range p.Systems {
			if p.Systems[i].Name == s.Name {
				p.Systems[i].Model = s.Model(base)
			}
		}
	}
}

// Written names the files of a report.
type Written struct {
	Report  string   `json:"report"`
	Results string   `json:"results"`
	Logs    []string `json:"logs,omitempty"`
}

// Rows are the files for a terminal.
func (w Written) Rows() [][]string {
	out := [][]string{{w.Report}, {w.Results}}
	for _, log := range w.Logs {
		out = append(out, []string{log})
	}
	return out
}

// Report writes the page of the run in path and its numbers anew, and where logs names a folder, into it a log of each
// system in Inspect's format. A dry run reads the run and writes nothing.
func Report(e job.Env, path, logs string) (Written, error) {
	out := Written{Report: filepath.Join(path, report.HTMLFile), Results: filepath.Join(path, report.ResultsFile)}
	p, err := PageOf(path)
	if err != nil || e.DryRun {
		return out, err
	}
	n, err := write(e, path, p)
	if err == nil && logs != "" {
		out.Logs, err = writeLogs(path, p, n, logs)
	}
	return out, err
}

func writeLogs(path string, p report.Page, n report.Numbers, dir string) ([]string, error) {
	s, err := run.Summarize(path)
	if err != nil {
		return nil, err
	}
	if len(p.Systems) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the run has no evaluation to write as a log",
			Where: path, Next: "hone eval --output-dir " + run.Beside(path)}
	}
	about := evallog.Run{Name: p.Title, Verb: p.Verb, Created: s.Created, Facts: map[string]string{},
		Unfinished: p.Unfinished}
	for _, f := range p.Facts {
		about.Facts[f.Name] = f.Value
	}
	about.Base, about.Dataset, about.Version = about.Facts["base model"], about.Facts["dataset"], about.Facts["hone"]
	return evallog.Write(dir, about, p.Comparison, func(system string) any { return n.Systems[system] })
}

// WritePage writes the page of the run in path, and returns it with its numbers, which take seconds of many systems:
// who wants them takes these. with adds what only this process knows, and may be nil.
func WritePage(e job.Env, path string, with func(*report.Page)) (report.Page, report.Numbers, error) {
	p, err := PageOf(path)
	if err != nil {
		return p, report.Numbers{}, err
	}
	if with != nil {
		with(&p)
	}
	n, err := write(e, path, p)
	if err != nil {
		return p, n, err
	}
	if _, err := os.Stat(filepath.Join(path, report.HTMLFile)); err == nil {
		e.Say("report: %s", filepath.Join(path, report.HTMLFile))
	}
	return p, n, nil
}

// write writes the page and then its numbers: where these are, the run has ended.
func write(e job.Env, path string, p report.Page) (report.Numbers, error) {
	n := p.Numbers()
	if e.Show != nil {
		if err := e.Show(path, p, n); err != nil {
			return n, err
		}
	}
	return n, n.Write(path)
}

// ScenariosOf are the scenarios that a run keeps, none where it keeps none.
func ScenariosOf(path string) map[string]*scenario.Scenario {
	list, err := scenario.LoadCopy(filepath.Join(path, job.ScenariosFile))
	if err != nil {
		if t, err := ownTasksOf(path); err == nil {
			list = slices.Concat(t.Train, t.Test)
		}
	}
	return scenario.ByID(list)
}
