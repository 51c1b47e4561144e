package train

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/fault"
	"hone/internal/learn/adapter"
	"hone/internal/learn/model"
)

const (
	optimizerFile = "optimizer.safetensors"
	trainerFile   = "trainer.json"
)

// counters is trainer.json.
type counters struct {
	Steps       int `json:"steps"`
	MomentSteps int `json:"moment_steps"`
}

// Save writes the trainer's whole state into a folder: adapter/ in PEFT's form, the optimiser's moments, the step.
func (t *Trainer) Save(dir string) error {
	state, err := t.State()
	if err != nil {
		return err
	}
	if err := t.saveAdapter(filepath.Join(dir, "adapter"), state.Adapter); err != nil {
		return err
	}
	moments := []adapter.Tensor{{Name: "m", Rows: 1, Cols: t.size, Data: state.M}, {Name: "v", Rows: 1, Cols: t.size, Data: state.V}}
	if err := adapter.WriteSafetensors(filepath.Join(dir, optimizerFile), moments, nil); err != nil {
		return err
	}
	text, err := json.Marshal(counters{state.Steps, state.MomentSteps})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, trainerFile), append(text, '\n'), 0o644)
}

// SaveAdapter writes the adapter alone, in PEFT's form, into a folder.
func (t *Trainer) SaveAdapter(dir string) error {
	state, err := t.State()
	if err != nil {
		return err
	}
	return t.saveAdapter(dir, state.Adapter)
}

func (t *Trainer) saveAdapter(dir string, flat []float32) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pieces, _ := t.lora.Pieces(t.spec)
	tensors := make([]adapter.Tensor, len(pieces))
	for i, p := range pieces {
		tensors[i] = adapter.Tensor{Name: adapter.Key(t.spec.Path(p.Layer, p.Target), p.B), Rows: p.Rows, Cols: p.Cols,
			Data: flat[p.Offset : p.Offset+p.Rows*p.Cols]}
	}
	c := adapterConfig(t.spec, t.lora)
	c.Dropout = t.dropout
	return adapter.Save(dir, c, tensors)
}

// Load replaces the trainer's state by one that Save wrote.
func (t *Trainer) Load(dir string) error {
	lora, flat, err := LoadAdapter(filepath.Join(dir, "adapter"), t.spec)
	if err != nil {
		return err
	}
	if !lora.Equal(t.lora.Explicit(t.spec)) {
		return &fault.Error{Code: fault.CodeUsage, What: "the checkpoint's adapter has another shape", Where: dir,
			Why: fmt.Sprintf("it is %+v, the run's is %+v", lora, t.lora)}
	}
	moments, err := adapter.ReadSafetensors(filepath.Join(dir, optimizerFile))
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
	return t.SetState(State{Adapter: flat, M: moments["m"].Data, V: moments["v"].Data, Steps: c.Steps, MomentSteps: c.MomentSteps})
}

// adapterConfig says in PEFT's words what an adapter is. Targets are always listed: PEFT's "all-linear" would take in
// more of another model.
func adapterConfig(s model.Spec, l model.LoRA) adapter.Config {
	l = l.Explicit(s)
	c := adapter.Config{BaseModel: s.Name, Rank: l.Rank, Alpha: l.Alpha, UseRSLoRA: l.RankStabilized, TargetModules: l.Targets}
	if l.TargetPattern != "" {
		c.TargetModules = adapter.TargetPattern(l.TargetPattern)
	}
	for _, p := range l.RankPattern {
		c.RankPattern = append(c.RankPattern, adapter.Pattern[int]{Key: p.Pattern, Value: p.Value})
	}
	for _, p := range l.AlphaPattern {
		c.AlphaPattern = append(c.AlphaPattern, adapter.Pattern[float64]{Key: p.Pattern, Value: p.Value})
	}
	return c
}

// loraOf is the reverse.
func loraOf(c adapter.Config) model.LoRA {
	l := model.LoRA{Rank: c.Rank, Alpha: c.Alpha, RankStabilized: c.UseRSLoRA, Targets: c.TargetModules}
	if p := c.TargetModules.Pattern(); p != "" {
		l.Targets, l.TargetPattern = nil, p
	}
	for _, p := range c.RankPattern {
		l.RankPattern = append(l.RankPattern, model.Pattern[int]{Pattern: p.Key, Value: p.Value})
	}
	for _, p := range c.AlphaPattern {
		l.AlphaPattern = append(l.AlphaPattern, model.Pattern[float64]{Pattern: p.Key, Value: p.Value})
	}
	return l
}

// LoadAdapter reads a PEFT adapter for a model and returns its shape and flat vector.
func LoadAdapter(dir string, s model.Spec) (model.LoRA, []float32, error) {
	c, tensors, err := adapter.Load(dir)
	if err != nil {
		return model.LoRA{}, nil, err
	}
	lora := loraOf(c)
	if err := lora.Check(s); err != nil {
		return lora, nil, err
	}
	pieces, size := lora.Pieces(s)
	flat := make([]float32, size)
	bad := func(why string) error {
		return &fault.Error{Code: fault.CodeUsage, What: "the adapter does not fit the base model", Where: dir, Why: why,
			Next: "give the base model it was trained on with --base-model"}
	}
	for _, p := range pieces {
		key := adapter.Key(s.Path(p.Layer, p.Target), p.B)
		x, ok := tensors[key]
		if !ok {
			return lora, nil, bad("it has no " + key)
		}
		if x.Rows != p.Rows || x.Cols != p.Cols {
			return lora, nil, bad(fmt.Sprintf("%s is %dx%d, the model needs %dx%d", key, x.Rows, x.Cols, p.Rows, p.Cols))
		}
		if i := slices.IndexFunc(x.Data, func(x float32) bool { return x-x != 0 }); i >= 0 { // NaN or infinite
			return lora, nil, bad(fmt.Sprintf("%s holds numbers that are not finite, the first at %d", key, i))
		}
		copy(flat[p.Offset:], x.Data)
	}
	if len(tensors) != len(pieces) {
		return lora, nil, bad(fmt.Sprintf("it has %d matrices, the model's linear maps take %d", len(tensors), len(pieces)))
	}
	return lora, flat, nil
}
