package job

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
	"hone/internal/data/overlap"
	"hone/internal/demo"
	"hone/internal/episode/scenario"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/grade"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/report"
	"hone/internal/run"
)

// PageOf is the page of the run in path, by what its folder holds.
func PageOf(path string) (report.Page, error) {
	var c config.Config
	file := filepath.Join(path, configFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return report.Page{}, &fault.Error{Code: fault.CodeUsage, What: "no run there", Where: path, Err: err, Next: "hone runs ls"}
	}
	if c, err = config.Parse(file, text); err != nil {
		return report.Page{}, err
	}
	catalog, err := mcp.Load(filepath.Join(path, CatalogFile))
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
	p, err := report.Read(path, report.Source{Scenarios: ScenariosOf(path), Defaults: defaults, Bootstrap: IntervalsOf(c), Known: eval.Known{Server: ServerOf(catalog)}})
	if err != nil {
		return p, err
	}
	p.Facts = append(facts, p.Facts...)
	p.Facts = append(p.Facts, report.Fact{Name: "seed", Value: fmt.Sprint(c.Seed)})
	var b Begun
	if s, err := run.Summarize(path); err == nil && json.Unmarshal(s.Version, &b) == nil {
		p.Verb = "hone " + b.Verb
		p.Facts = append(p.Facts, report.Fact{Name: "begun", Value: s.Created.Format("2006-01-02 15:04")}, report.Fact{Name: "attempts", Value: fmt.Sprint(s.NumAttempts)},
			report.Fact{Name: "begun from", Value: b.Flags.Adapter}, report.Fact{Name: "hone", Value: b.Build.Version})
	}
	return p, nil
}

// ServerOf tells the server of a tool by the name the model calls it by; "" of one that the catalog does not have. It is nil
// without a catalog.
func ServerOf(c *mcp.Catalog) func(tool string) string {
	if c == nil {
		return nil
	}
	servers := map[string]string{}
	for _, s := range c.Servers {
		for _, t := range s.Tools {
			servers[t.ModelName] = s.Name
		}
	}
	return func(tool string) string { return servers[tool] }
}

// WritePage writes the page of the run in path. with adds what only this process knows, and may be nil.
func WritePage(h *host.Host, path string, with func(*report.Page)) (report.Page, error) {
	p, err := PageOf(path)
	if err != nil {
		return p, err
	}
	if with != nil {
		with(&p)
	}
	if err := p.Write(path); err != nil {
		return p, err
	}
	h.Say("report: %s", filepath.Join(path, report.HTMLFile))
	return p, nil
}

// reportEvaluation writes the report of an evaluation that is kept.
func (j *Job) reportEvaluation(l *Episodes, trainedOn []string, near []overlap.Near) error {
	_, err := WritePage(j.Host, j.Path, func(p *report.Page) {
		p.TrainedOn, p.NearTrained = trainedOn, near
		p.Facts = append(p.Facts, report.Fact{Name: "device", Value: l.Model.Engine.Description()}, report.Fact{Name: "adapter", Value: j.Kept.Adapter},
			report.Fact{Name: "dataset", Value: j.Kept.Evaluation.Dataset}, report.Fact{Name: "split", Value: j.Kept.Evaluation.Split})
	})
	return err
}

// reportTrain writes the report of a training run.
func (j *Job) reportTrain(l *Episodes) error {
	_, err := WritePage(j.Host, j.Path, func(p *report.Page) {
		p.Facts = append(p.Facts, report.Fact{Name: "device", Value: l.Model.Engine.Description()})
	})
	return err
}

// ScenariosOf are the scenarios that a run keeps, none where it keeps none.
func ScenariosOf(path string) map[string]*scenario.Scenario {
	list, err := scenario.LoadKept(filepath.Join(path, ScenariosFile))
	if err != nil {
		var t demo.Tasks
		if text, err := os.ReadFile(filepath.Join(path, "tasks.json")); err == nil && json.Unmarshal(text, &t) == nil {
			list = slices.Concat(t.Train, t.Test)
		}
	}
	return ByID(list)
}
