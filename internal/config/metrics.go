package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"hone/internal/fault"
)

// Metrics says who is told of what a run measures, beside metrics.jsonl.
type Metrics struct {
	TFEvents   bool       `yaml:"tfevents" doc:"write the files of TensorBoard, in the run's folder tfevents"`
	Target     float64    `yaml:"target" min:"0" max:"1" doc:"success whose time is told: of validations, or of training steps where nothing is validated; 0 is none"`
	MLflow     MLflow     `yaml:"mlflow" doc:"a tracking server of MLflow"`
	WandB      WandB      `yaml:"wandb" doc:"Weights & Biases, by your own Python with wandb in it"`
	Prometheus Prometheus `yaml:"prometheus" doc:"the latest metrics for Prometheus"`
}

// MLflow is a tracking server.
type MLflow struct {
	URL        string `yaml:"url" doc:"of the server, as http://127.0.0.1:5000; empty is none"`
	Experiment string `yaml:"experiment" doc:"the experiment of the run; it is made where it is not there"`
	TokenEnv   string `yaml:"token_env" doc:"variable that holds a bearer token; empty sends none"`
}

// WandB is a program with wandb.
type WandB struct {
	Project string `yaml:"project" doc:"the project of the run; empty is none"`
	Entity  string `yaml:"entity" doc:"your team there; empty is your own"`
	Mode    string `yaml:"mode" enum:"offline,online" doc:"offline writes files into the run's folder, which wandb sync sends; online sends at once"`
	Python  string `yaml:"python" doc:"a Python in which wandb is installed"`
}

// Prometheus says where the latest metrics are shown.
type Prometheus struct {
	Address string `yaml:"address" doc:"address of this machine that answers /metrics while the run works, as 127.0.0.1:9464; empty is none"`
	File    string `yaml:"file" doc:"a file, whose name ends in .prom, for the textfile collector of the node exporter; empty is none"`
}

func defaultMetrics() Metrics {
	return Metrics{TFEvents: true, MLflow: MLflow{Experiment: "hone"}, WandB: WandB{Mode: "offline", Python: "python3"}}
}

// ShowAt takes the address of --metrics-address, "" where it was not given.
func (m *Metrics) ShowAt(address string) error {
	if address == "" {
		return nil
	}
	if err := loopback(address); err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "metrics cannot be shown there",
			Where: "--metrics-address " + address, Err: err, Next: "give an address of this machine, as 127.0.0.1:9464"}
	}
	m.Prometheus.Address = address
	return nil
}

// check refuses what nobody could be told by.
func (m *Metrics) check() error {
	if u, err := url.Parse(m.MLflow.URL); m.MLflow.URL != "" &&
		(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return &ValueError{"metrics.mlflow.url", "it is no URL as http://127.0.0.1:5000"}
	} else if err == nil && u.User != nil {
		return &ValueError{
			"metrics.mlflow.url",
			"the run directory keeps the configuration, so it must hold no password: " +
				"give a token by metrics.mlflow.token_env",
		}
	}
	if m.MLflow.URL != "" && m.MLflow.Experiment == "" {
		return &ValueError{"metrics.mlflow.experiment", "it is empty"}
	}
	if f := m.Prometheus.File; f != "" && !strings.HasSuffix(f, ".prom") {
		return &ValueError{"metrics.prometheus.file", "the collector reads files whose names end in .prom"}
	}
	if a := m.Prometheus.Address; a != "" {
		if err := loopback(a); err != nil {
			return &ValueError{"metrics.prometheus.address", err.Error()}
		}
	}
	return nil
}

// loopback refuses an address that other machines could reach.
func loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q is not of this machine alone: take 127.0.0.1, and let a proxy in front of it say "+
			"who may look", host)
	}
	return nil
}
