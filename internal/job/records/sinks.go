package records

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"hone/internal/config"
	"hone/internal/job"
	"hone/internal/run"
	"hone/internal/run/metrics"
)

// outside opens the sinks of a run that other programs read.
type outside struct {
	job.Env
	c     config.Metrics
	dir   *run.Dir
	main  string
	began time.Time
	kept  []metrics.Row
}

// AddressUsage says what --metrics-address is.
const AddressUsage = "address of this machine that answers /metrics for Prometheus, " +
	"instead of metrics.prometheus.address"

// trackedDir is the folder of a run that remembers what tracking servers have of it.
const trackedDir = "tracked"

func (o outside) follow(name string, t metrics.Tracker) []metrics.Sink {
	return []metrics.Sink{metrics.Follow(name, filepath.Join(o.dir.Path, trackedDir, name+".json"), t, o.kept, o.warn)}
}

func (o outside) warn(text string) { o.Say("note: %s", text) }

// name is the run's, there.
func (o outside) name() string { return filepath.Base(o.dir.Path) }

// params are the configuration of the run, by the paths of its keys.
func (o outside) params() map[string]string {
	text, err := o.dir.Config()
	if err == nil {
		var all map[string]string
		if all, err = config.Flat(text); err == nil {
			return all
		}
	}
	o.warn(fmt.Sprintf("trackers are not told of the configuration: %v", err))
	return nil
}

func (o outside) mlflow() []metrics.Sink {
	c := o.c.MLflow
	if c.URL == "" {
		return nil
	}
	x := metrics.MLflowOptions{URL: c.URL, Experiment: c.Experiment, Name: o.name(), Main: o.main, Began: o.began,
		Params: o.params(), Warn: o.warn}
	if c.TokenEnv != "" {
		if x.Token, _ = o.LookupEnv(c.TokenEnv); x.Token == "" {
			o.warn("mlflow: the variable " + c.TokenEnv + " is not set, so no token is sent")
		}
	}
	o.Opens(x)
	return o.follow("mlflow", metrics.NewMLflow(x))
}

func (o outside) wandb() []metrics.Sink {
	c := o.c.WandB
	if c.Project == "" {
		return nil
	}
	x := metrics.WandBOptions{Python: c.Python, Env: o.Environ, Log: o.dir.Log, Dir: o.dir.Path, Project: c.Project,
		Entity: c.Entity, Name: o.name(), Mode: c.Mode,
		Main: o.main, Stages: slices.DeleteFunc([]string{"sft", "grpo", "copies"},
			func(s string) bool { return s == o.main }), Config: o.params()}
	o.Opens(x)
	return o.follow("wandb", metrics.NewWandB(x))
}

func (o outside) prometheus() []metrics.Sink {
	c := o.c.Prometheus
	if today := o.Today.Metrics.Prometheus.Address; today != "" { // --metrics-address of a run that goes on
		c.Address = today
	}
	if c.Address == "" && c.File == "" {
		return nil
	}
	x := metrics.PrometheusOptions{Address: c.Address, File: c.File, Run: o.name(), Warn: func(err error) {
		o.warn(fmt.Sprintf("Prometheus cannot be shown all metrics: %v", err))
	}}
	o.Opens(x)
	e := metrics.OpenPrometheus(x, o.kept)
	if e.Address() != "" {
		o.Say("metrics: http://%s/metrics", e.Address())
	}
	return []metrics.Sink{e}
}
