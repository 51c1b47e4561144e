package job

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"hone/internal/blob"
	"hone/internal/fault"
	"hone/internal/run"
)

// Origin is the adapter of another run that a run began with: a fork of it. The new run has a directory, a ledger and
// steps of its own.
type Origin struct {
	Run string `json:"run,omitempty"` // its directory, absolute; "" where the adapter is in none
	// SHA-256 of that run's version.json, which holds those of its configuration and inputs
	Identity   string `json:"identity,omitempty"`
	Checkpoint string `json:"checkpoint,omitempty"` // its name, such as grpo_step_20; "" for the final adapter
	Weights    string `json:"weights"`              // SHA-256 of adapter_model.safetensors
}

const weightsFile = "adapter_model.safetensors"

// OriginOf says where an adapter comes from; nil where there is none.
func OriginOf(adapter string) (*Origin, error) {
	if adapter == "" {
		return nil, nil
	}
	weights, err := os.ReadFile(filepath.Join(adapter, weightsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // who loads it says what is wrong
	}
	if err != nil {
		return nil, err
	}
	o := &Origin{Weights: blob.Of(weights).String()}
	if o.Run = run.Around(adapter); o.Run == "" {
		return o, nil
	}
	version, err := os.ReadFile(filepath.Join(o.Run, "version.json"))
	if err != nil {
		return nil, err
	}
	o.Identity = blob.Of(version).String()
	if at, err := filepath.Abs(adapter); err == nil && filepath.Base(filepath.Dir(filepath.Dir(at))) == "checkpoints" {
		o.Checkpoint = filepath.Base(filepath.Dir(at))
	}
	return o, nil
}

// BeganWith refuses to go on with a run where the adapter that it began with is another one now.
func (k Kept) BeganWith(path string) error {
	if k.Origin == nil {
		return nil
	}
	now, err := OriginOf(k.Adapter)
	if err != nil || now != nil && now.Weights == k.Origin.Weights {
		return err
	}
	why := "its weights have another SHA-256 now"
	if now == nil {
		why = "it is gone; a run keeps its last checkpoints only, and the best"
	}
	return &fault.Error{Code: fault.CodeUsage, What: "the adapter that the run began with is not there as it was",
		Where: k.Adapter, Why: why,
		Next: "put it back, or begin a new run from the adapter there is: hone train --adapter; " + run.Name(path) +
			" keeps what it has"}
}
