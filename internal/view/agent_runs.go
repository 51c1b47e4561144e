package view

import (
	"context"
	"slices"
	"strings"
	"time"

	"hone/internal/fault"
)

type none struct{}

func (d *Desk) listRuns(context.Context, none) (any, error) {
	dir, err := d.RunsDir()
	if err != nil {
		return nil, err
	}
	type listed struct {
		Name     string         `json:"name"`
		Path     string         `json:"path"`
		Created  time.Time      `json:"created"`
		Running  bool           `json:"running"`
		State    string         `json:"state"`
		Steps    map[string]int `json:"steps"` // by stage
		Episodes int            `json:"episodes"`
		Resume   string         `json:"resume,omitempty"`
		Error    string         `json:"error,omitempty"`
	}
	list, err := d.Env.ListRuns(dir, true)
	out := []listed{}
	for _, r := range list {
		state, _ := d.Env.Table.State(r.Summary)
		x := listed{r.Name, r.Path, r.Created, r.InUseBy != "", state, map[string]int{}, r.Episodes, r.Resume, r.Error}
		for _, s := range r.Stages {
			if s.NumSteps > 0 {
				x.Steps[s.Name] = s.NumSteps
			}
		}
		out = append(out, x)
	}
	return map[string]any{"runs": out}, err
}

type runAsked struct {
	Run     string   `json:"run" jsonschema:"the name or the folder of a run"`
	Stage   string   `json:"stage,omitempty" jsonschema:"the stage of the metrics; the one that trains by default"`
	Metrics []string `json:"metrics,omitempty" jsonschema:"names of metrics whose values by step are wanted, such as reward; the overview names those of each stage"`
}

// shown is an overview with metrics.
type shown struct {
	Overview
	Series *Series `json:"series,omitempty"`
	// Waited is why a watch ended.
	Waited string `json:"waited,omitempty"`
}

func (d *Desk) showRun(_ context.Context, in runAsked) (any, error) {
	r, _, err := d.reading(in.Run)
	if err != nil {
		return nil, err
	}
	out := shown{}
	if out.Overview, err = r.Overview(); err != nil {
		return nil, err
	}
	out.Panels = nil // they are for who draws
	if len(in.Metrics) == 0 {
		return out, nil
	}
	if in.Stage == "" {
		in.Stage = out.Cards.MainStage
	}
	series, err := r.Series(in.Stage, in.Metrics...)
	if err == nil && len(series.Values) < len(in.Metrics) {
		var has []string
		for _, s := range out.Stages {
			if s.Name == in.Stage {
				has = s.Metrics
			}
		}
		err = &fault.Error{Code: fault.CodeUsage, What: "the run does not have each of these metrics",
			Where: "stage " + in.Stage, Why: "it has " + strings.Join(has, ", "), Next: "show_run with names of these"}
	}
	out.Series = &series
	return out, err
}

type watchAsked struct {
	Run     string `json:"run" jsonschema:"the name or the folder of a run"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how long to wait at most: 60 by default, 600 at most"`
}

// waitEvery is how often a run that is waited for is looked at.
const waitEvery = 2 * time.Second

func (d *Desk) watchRun(ctx context.Context, in watchAsked) (any, error) {
	r, _, err := d.reading(in.Run)
	if err != nil {
		return nil, err
	}
	if in.Seconds <= 0 {
		in.Seconds = 60
	}
	end := time.Now().Add(time.Duration(min(in.Seconds, 600)) * time.Second)
	first, err := r.Overview()
	for now := first; err == nil; now, err = r.Overview() {
		out := shown{Overview: now}
		out.Panels = nil
		switch {
		case !now.Live:
			out.Waited = "the run does not go on: " + now.State
		case now.Cards.Done != first.Cards.Done || now.Cards.MainStage != first.Cards.MainStage:
			out.Waited = "a step was taken"
		case len(now.Stages) != len(first.Stages):
			out.Waited = "a stage began"
		case time.Now().After(end):
			out.Waited = "the time is over, and nothing has changed but numbers of episodes"
		default:
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(waitEvery):
			}
			continue
		}
		return out, nil
	}
	return nil, err
}

type compareAsked struct {
	Runs []string `json:"runs" jsonschema:"names or folders of two runs or more"`
}

// compared is one run beside others.
type compared struct {
	Name    string             `json:"name"`
	State   string             `json:"state"`
	Verb    string             `json:"verb,omitempty"`
	Cards   Cards              `json:"cards"`
	Alerts  []Alert            `json:"alerts"`
	Last    map[string]float64 `json:"last"`              // of each curve of the overview
	Systems map[string]rate    `json:"systems,omitempty"` // that were evaluated
}

// rate is the share of episodes that did their task.
type rate struct {
	Success  float64 `json:"success"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Episodes int     `json:"episodes"`
}

func (d *Desk) compareRuns(_ context.Context, in compareAsked) (any, error) {
	if len(in.Runs) < 2 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "two runs or more are compared",
			Next: "list_runs names them"}
	}
	runs, facts := []compared{}, map[string]map[string]string{}
	for _, name := range in.Runs {
		r, _, err := d.reading(name)
		if err != nil {
			return nil, err
		}
		o, err := r.Overview()
		if err != nil {
			return nil, err
		}
		curves, err := r.Curves(o)
		if err != nil {
			return nil, err
		}
		x := compared{Name: o.Name, State: o.State, Verb: o.Verb, Cards: o.Cards, Alerts: o.Alerts,
			Last: map[string]float64{}, Systems: map[string]rate{}}
		for _, c := range curves {
			if last := c.Last(); last != nil {
				x.Last[c.Name] = *last
			}
		}
		e, err := r.Evaluation()
		if err != nil {
			return nil, err
		}
		for system, s := range e.Systems {
			x.Systems[system] = rate{s.EpisodeSuccess, s.EpisodeLow, s.EpisodeHigh, s.NumEpisodes}
		}
		runs = append(runs, x)
		for _, fact := range o.Facts {
			if fact[0] == "folder" { // no two runs are in one
				continue
			}
			if facts[fact[0]] == nil {
				facts[fact[0]] = map[string]string{}
			}
			facts[fact[0]][name] = fact[1]
		}
	}
	differs := map[string]map[string]string{} // by fact, by run
	for fact, of := range facts {
		if slices.ContainsFunc(in.Runs, func(name string) bool { return of[name] != of[in.Runs[0]] }) {
			differs[fact] = of
		}
	}
	return map[string]any{"runs": runs, "differs": differs}, nil
}
