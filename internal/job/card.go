package job

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/hub"
	"hone/internal/learn/modelfile"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/text/render"
)

// cardOf is what is known of a model's folder: of its adapter, the runs that it came of, and an evaluation of it.
func cardOf(a PushAsked, name string) (hub.Card, error) {
	m := hub.Card{Name: name, License: a.License}
	bad := func(where string, err error) error {
		return &fault.Error{Code: fault.CodeUsage, What: "the card cannot be made", Where: where, Err: err,
			Next: "put a README.md of your own into " + a.Folder}
	}
	base := ""
	if c, _, err := modelfile.LoadAdapter(a.Folder); err == nil {
		m.Adapter, base = true, c.Base()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	if p, found, err := render.ReadPrompting(a.Folder); err != nil {
		return m, err
	} else if found {
		m.System = p.System
	}
	at := a.Run
	if above := filepath.Dir(filepath.Clean(a.Folder)); at == "" {
		if _, err := os.Stat(filepath.Join(above, "version.json")); err == nil {
			at = above
		}
	}
	for seen := 0; at != "" && seen < 10; seen++ {
		before, own, err := addTraining(at, &m)
		if err != nil {
			return m, bad(at, err)
		}
		base = cmp.Or(base, own)
		at = before
	}
	slices.Reverse(m.Stages)
	if m.Base, m.OnHub = filepath.Base(base), false; base == "" || base == "." {
		m.Base = "unknown"
	}
	// a path may look like a name
	if repo, ok := hub.Parse(hub.Model, cmp.Or(a.Base, base)); ok && (a.Base != "" || repo.Revision != "") {
		m.Base, m.Revision, m.OnHub = repo.ID, repo.Revision, true
	}
	if a.Evaluation != "" {
		if err := addEvaluation(a.Evaluation, &m); err != nil {
			return m, bad(a.Evaluation, err)
		}
	}
	return m, nil
}

// addTraining puts what the run in a folder tells into the card. It returns the run that its adapter came of, where
// there was one, and the base model.
func addTraining(path string, m *hub.Card) (before, base string, err error) {
	text, err := os.ReadFile(filepath.Join(path, "version.json"))
	if err != nil {
		return "", "", err
	}
	var b struct {
		Begun
		Files map[string]string `json:"files"`
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return "", "", err
	}
	file := filepath.Join(path, run.ConfigFile)
	if text, err = os.ReadFile(file); err != nil {
		return "", "", err
	}
	c, err := config.Parse(file, text)
	if err != nil {
		return "", "", err
	}
	m.Version = cmp.Or(m.Version, b.Build.Version)
	s := hub.CardStage{Verb: b.Verb, Objective: []hub.CardFact{
		{Name: "LoRA", Value: fmt.Sprintf("rank %d, alpha %g", c.LoRA.Rank, c.LoRA.Alpha)},
		{Name: "seed", Value: fmt.Sprint(c.Seed)},
	}}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range b.Files {
			if name != run.ConfigFile && !yield(name) {
				return
			}
		}
	}) {
		s.Inputs = append(s.Inputs, hub.CardFact{Name: name, Value: b.Files[name]})
	}
	s.Data = "live episodes of " + rowCount(path, ScenariosFile)
	if b.Verb == "sft" {
		s.Data = rowCount(path, ConversationsFile)
		if cost, err := costOf(filepath.Join(path, ConversationsFile)); err != nil {
			return "", "", err
		} else if cost != "" {
			m.Costs = append(m.Costs, hub.CardFact{Name: "traces of hone sft", Value: cost})
		}
		if repo, ok := hub.Parse(hub.Dataset, b.Flags.Data); ok {
			s.Data += " of " + b.Flags.Data
			m.Datasets = append(m.Datasets, repo.ID)
		}
	}
	if err := readMetrics(filepath.Join(path, "metrics.jsonl"), &s, m); err != nil {
		return "", "", err
	}
	m.Stages = append(m.Stages, s)
	if catalog, err := mcp.Load(filepath.Join(path, CatalogFile)); err == nil && m.Catalog == "" {
		m.Catalog = catalog.Hash
		for _, x := range catalog.Servers {
			server := hub.CardServer{Name: x.Name, Version: x.Version}
			for _, t := range x.Tools {
				server.Tools = append(server.Tools, hub.CardFact{Name: t.ModelName, Value: t.SHA256})
			}
			m.Servers = append(m.Servers, server)
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	if from := b.Flags.Adapter; from != "" {
		if !filepath.IsAbs(from) {
			from = filepath.Join(b.Folder, from)
		}
		if above := filepath.Dir(filepath.Clean(from)); above != filepath.Clean(path) {
			if _, err := os.Stat(filepath.Join(above, "version.json")); err == nil {
				before = above
			}
		}
	}
	return before, c.Model.Base, nil
}

// costOf is what the conversations of a run took to collect, as far as they tell.
func costOf(path string) (string, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	rows, _, err := dataset.Load([]string{path}, dataset.Options{})
	var bill dataset.Bill
	for i := range rows {
		bill.Add(&rows[i])
	}
	return bill.String(), err
}

// rowCount is how many rows a run's input has, in words.
func rowCount(path, name string) string {
	text, err := os.ReadFile(filepath.Join(path, name))
	if err != nil {
		return "data that was not kept"
	}
	if name == ScenariosFile {
		var list []json.RawMessage
		if json.Unmarshal(text, &list) == nil {
			return fault.Count(len(list), "scenario")
		}
		return "scenarios"
	}
	return fault.Count(bytes.Count(text, []byte("\n")), "conversation")
}

// readMetrics adds up a run's steps: how many, how they ended, what they cost.
func readMetrics(path string, s *hub.CardStage, m *hub.Card) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	var seconds, tokens, dollars float64
	last := map[string]any{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var row map[string]any
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			return err
		}
		number := func(name string) float64 { x, _ := row[name].(float64); return x }
		if row["stage"] == "validation" {
			continue
		}
		s.Steps++
		seconds += number("step_time")
		tokens += number("step_tokens")
		dollars += number("judge/cost")
		last = row
	}
	for _, name := range []string{"loss", "reward"} {
		if x, ok := last[name].(float64); ok {
			s.Last = append(s.Last, hub.CardFact{Name: name + " of the last step", Value: fmt.Sprintf("%.4g", x)})
		}
	}
	m.Costs = append(m.Costs, hub.CardFact{
		Name: "hone " + s.Verb,
		Value: fmt.Sprintf("%s of steps, %.0f tokens trained",
			time.Duration(seconds*float64(time.Second)).Round(time.Second), tokens),
	})
	if dollars > 0 {
		m.Costs = append(m.Costs,
			hub.CardFact{Name: "judge of hone " + s.Verb, Value: fmt.Sprintf("%.4f dollars", dollars)})
	}
	return in.Err()
}

// addEvaluation reads the rates of an evaluation.
func addEvaluation(path string, m *hub.Card) error {
	text, err := os.ReadFile(filepath.Join(path, "results.json"))
	if err != nil {
		return err
	}
	var r stats.Results
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	names := r.Order
	for name := range r.Systems {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	last := ""
	for _, name := range names {
		s, ok := r.Systems[name]
		if !ok {
			continue
		}
		x := hub.CardSystem{Name: name,
			Whole: hub.CardRate{Mean: s.EpisodeSuccess, Low: s.EpisodeLow, High: s.EpisodeHigh}, Scenarios: s.N}
		if s.Success != nil && s.Low != nil && s.High != nil {
			x.FirstCall = &hub.CardRate{Mean: *s.Success, Low: *s.Low, High: *s.High}
		}
		if last = name; s.TotalCost != nil {
			m.Costs = append(m.Costs,
				hub.CardFact{Name: "evaluation of " + name, Value: fmt.Sprintf("%.4f dollars", *s.TotalCost)})
		}
		m.Systems = append(m.Systems, x)
	}
	for i := range m.Systems { // hone eval measures the one that is asked for last, or calls it so
		m.Systems[i].IsThis = m.Systems[i].Name == last && !strings.EqualFold(last, BaseOnly)
	}
	for _, d := range r.Deltas {
		m.Deltas = append(m.Deltas, hub.CardDelta{Old: d.Old, New: d.New,
			Whole: hub.CardRate{Mean: d.Episode.Mean, Low: d.Episode.Low, High: d.Episode.High}})
	}
	return nil
}
