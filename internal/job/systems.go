package job

import (
	"cmp"
	"fmt"
	"path/filepath"

	"hone/internal/config"
	"hone/internal/eval/stats"
)

// Evaluation says what hone eval measures, and on what: systems, on a split of a file of scenarios.
type Evaluation struct {
	Dataset string   `json:"dataset"`
	Split   string   `json:"split"`
	Systems []System `json:"systems,omitempty"`
	// run directories of earlier evaluations, whose episodes are not run again
	Reuse       []string `json:"reuse,omitempty"`
	TokenBudget int      `json:"token_budget,omitempty"` // of each endpoint; 0: no limit
	// scenarios of the split, where not all are run; which were drawn is in the run's scenarios
	DrawnFrom int `json:"drawn_from,omitempty"`

	CompareBase bool `json:"compare_base,omitempty"` // of a run of before there were Systems
}

// SampleText says of how many scenarios of the split the numbers are, n of them, where not all are run; "" else.
func (e *Evaluation) SampleText(n int, seed uint64) string {
	if e.DrawnFrom == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the %d scenarios of the split %s, drawn by seed %d: all systems run these, "+
		"and rates and intervals are of these alone", n, e.DrawnFrom, e.Split, seed)
}

// Settle gives an evaluation of before its systems.
func (k *Kept) Settle() {
	e := k.Evaluation
	if len(e.Systems) > 0 {
		return
	}
	if k.Adapter == "" || e.CompareBase {
		e.Systems = append(e.Systems, System{Name: BaseName})
	}
	if k.Adapter != "" {
		e.Systems = append(e.Systems, System{Name: ModelName, Adapter: k.Adapter})
	}
}

// BaseName is the system of the base model alone.
const BaseName = "base"

// System is what an evaluation measures: the base model, an adapter over it, or a model of an endpoint.
type System struct {
	Name     string  `json:"name"`               // its episodes are the stage eval_NAME
	Adapter  string  `json:"adapter,omitempty"`  // folder
	Endpoint *Remote `json:"endpoint,omitempty"` // nil where it is on this machine
	// InitialCall is the adapter's folder of a small model that makes the first call of a user's turn where it is sure;
	// "" for none.
	InitialCall string `json:"initial_call,omitempty"`
}

// Remote is a model of an endpoint.
type Remote struct {
	URL      string        `json:"url"`
	Model    string        `json:"model"`
	KeyEnv   string        `json:"key_env,omitempty"`
	API      string        `json:"api,omitempty"`   // llm.OpenAI or llm.Anthropic; empty: the first
	Episodes int           `json:"episodes"`        // at once
	Price    *config.Price `json:"price,omitempty"` // nil where it is not known
}

// ModelName is the system that hone eval --model names.
const ModelName = "model"

// IsLocal reports whether a system is on this machine.
func (s System) IsLocal() bool { return s.Endpoint == nil }

// Where is what speaks, for a person.
func (s System) Where() string {
	if s.Endpoint != nil && s.InitialCall != "" {
		return s.Endpoint.Model + " at " + s.Endpoint.URL + " behind the initial calls of " + s.InitialCall
	}
	if s.Endpoint != nil {
		return s.Endpoint.Model + " at " + s.Endpoint.URL
	}
	return cmp.Or(s.Adapter, "the base model")
}

// Model is what a system is, over a base model where it is on this machine.
func (s System) Model(base string) stats.Model {
	if s.Endpoint != nil {
		return stats.Model{Endpoint: s.Where()}
	}
	return stats.Model{Base: base, Adapter: s.Adapter}
}

// Is reports whether two are the same system, whatever they are called.
func (s System) Is(other System) bool {
	if s.IsLocal() != other.IsLocal() || s.InitialCall != other.InitialCall {
		return false
	}
	if !s.IsLocal() {
		return s.Endpoint.URL == other.Endpoint.URL && s.Endpoint.Model == other.Endpoint.Model
	}
	return s.Adapter == other.Adapter ||
		s.Adapter != "" && other.Adapter != "" && filepath.Clean(s.Adapter) == filepath.Clean(other.Adapter)
}
