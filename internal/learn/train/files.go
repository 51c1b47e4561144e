package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
)

const (
	optimizerFile = "optimizer.safetensors"
	trainerFile   = "trainer.json"
	adapterDir    = "adapter"
	referenceDir  = "reference" // an adapter too; not there where none is held
)

// counters is trainer.json.
type counters struct {
	Steps       int `json:"steps"`
	MomentSteps int `json:"moment_steps"`
}

// Save writes the trainer's whole state into a folder: adapter/ and reference/ in PEFT's form, the optimiser's moments,
// the step.
func (t *Trainer) Save(dir string) error {
	state, err := t.State()
	if err != nil {
		return err
	}
	if err := model.SavePEFT(filepath.Join(dir, adapterDir), t.spec, t.lora, t.dropout, state.Adapter); err != nil {
		return err
	}
	if err := t.saveReference(filepath.Join(dir, referenceDir)); err != nil {
		return err
	}
	moments := []modelfile.Matrix{
		{Name: "m", Rows: 1, Cols: t.size, Data: state.M},
		{Name: "v", Rows: 1, Cols: t.size, Data: state.V},
	}
	if err := modelfile.WriteMatrices(filepath.Join(dir, optimizerFile), moments, nil); err != nil {
		return err
	}
	text, err := json.Marshal(counters{state.Steps, state.MomentSteps})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, trainerFile), append(text, '\n'), 0o644)
}

func (t *Trainer) saveReference(dir string) error {
	if t.reference == nil {
		return nil
	}
	flat, err := engine.Floats(t.reference)
	if err != nil {
		return err
	}
	return model.SavePEFT(dir, t.spec, t.lora, t.dropout, flat)
}

// loadReference holds the reference in a folder, and none where that is not there.
func (t *Trainer) loadReference(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return t.setReference(nil)
	}
	lora, flat, err := model.LoadPEFT(dir, t.spec)
	if err == nil && !lora.Equal(t.lora.Explicit(t.spec)) {
		err = t.misfit(dir, lora)
	}
	if err != nil {
		return err
	}
	return t.setReference(flat)
}

// SaveAdapter writes the adapter alone, in PEFT's form, into a folder.
func (t *Trainer) SaveAdapter(dir string) error {
	state, err := t.State()
	if err != nil {
		return err
	}
	return model.SavePEFT(dir, t.spec, t.lora, t.dropout, state.Adapter)
}

// KeepAdapter copies the adapter to the host and returns what writes it into a folder, as SaveAdapter does, whatever
// steps are taken meanwhile.
func (t *Trainer) KeepAdapter() (save func(dir string) error, err error) {
	flat, err := engine.Floats(t.adapter)
	return func(dir string) error { return model.SavePEFT(dir, t.spec, t.lora, t.dropout, flat) }, err
}

// Load replaces the trainer's state by one that Save wrote.
func (t *Trainer) Load(dir string) error {
	lora, flat, err := model.LoadPEFT(filepath.Join(dir, adapterDir), t.spec)
	if err != nil {
		return err
	}
	if !lora.Equal(t.lora.Explicit(t.spec)) {
		return t.misfit(dir, lora)
	}
	if err := t.loadReference(filepath.Join(dir, referenceDir)); err != nil {
		return err
	}
	moments, err := modelfile.ReadMatrices(filepath.Join(dir, optimizerFile))
	if err != nil {
		return fmt.Errorf("reading %s of %s: %w", optimizerFile, dir, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, trainerFile))
	if err != nil {
		return err
	}
	var c counters
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("reading %s of %s: %w", trainerFile, dir, err)
	}
	return t.SetState(State{Adapter: flat, M: moments["m"].Data, V: moments["v"].Data, Steps: c.Steps,
		MomentSteps: c.MomentSteps})
}

// misfit is the error of a checkpoint whose adapter has another shape.
func (t *Trainer) misfit(dir string, lora model.LoRA) error {
	return &fault.Error{Code: fault.CodeUsage, What: "the checkpoint's adapter has another shape", Where: dir,
		Why: fmt.Sprintf("it is %+v, the run's is %+v", lora, t.lora)}
}
