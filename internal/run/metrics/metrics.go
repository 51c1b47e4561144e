// Package metrics tells others what a run measures while it runs: files of TensorBoard, tracking servers, Prometheus.
// Meter holds counters, gauges and histograms in the text form of Prometheus.
//
// The ledger of the run, and metrics.jsonl beside it, are the truth. All else here is a copy of their rows. A copy that
// cannot be made is a warning and never stops a run.
package metrics

import "time"

// ValidationStage is the stage of what is measured on held-out tasks while a policy is trained.
const ValidationStage = "validation"

// Row is what was measured in one step of a stage. Its numbers are finite.
type Row struct {
	Stage  string
	Step   int // from 0; of a validation the steps taken before
	At     time.Time
	Values map[string]float64 // by name; Names has them
}

// Sink takes rows, each once, in the order of the ledger. A row of a stage and step that it has is there again, since a
// run that was stopped computed the step anew: it takes the place of the other.
type Sink interface {
	Put(r Row)
	// Close sends what is left, for some seconds at most, and says how the run ended.
	Close(s Status)
}

// Status is how a run ended.
type Status int

// How a run may end.
const (
	Finished Status = iota
	Failed
	Stopped // by its user; it can go on
)

// Tag is the name of a metric where all rows of a run are in one place, as the trainers of transformers and TRL write
// it (rewrite_logs of transformers.integrations): train/NAME of the stage that the run is for, eval/NAME of
// validations. Other stages have their own name before it. What is said of validation in the name already (eval_loss)
// is not said twice.
func Tag(main, stage, name string) string {
	switch stage {
	case main:
		return "train/" + name
	case ValidationStage:
		if len(name) > 5 && name[:5] == "eval_" {
			name = name[5:]
		}
		return "eval/" + name
	}
	return stage + "/" + name
}
