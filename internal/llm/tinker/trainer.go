package tinker

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// The losses that are sent, by the API's names.
const (
	crossEntropy       = "cross_entropy"
	importanceSampling = "importance_sampling"
)

// Trainer implements recipe.Trainer on an adapter at a server. Each loss of hone is two passes. The first is forward
// only, for the logprobs, of which the loss and its derivative by each of them are computed here. The second gives the
// server that derivative: importance sampling against the logprobs of the first has ratios of 1, so with advantages a
// its gradient is that of -sum a log p. The server has no way to let a gradient go, so the second pass is sent when the
// step is taken.
type Trainer struct {
	client *Client
	ctx    context.Context // not of one call: a step that has begun is taken whole, also where the run is stopped
	lora   LoRA
	habits Habits

	model     *Remote
	reference *Remote // an adapter that is held for comparison; nil where there is none
	state     state
	published string // path of the weights as they are; "": they are not published
	gradient  []learning
	broken    error // why the adapter is not where a step ended
}

// state is what a checkpoint has beside what lies at the server.
type state struct {
	Weights   string `json:"weights"`             // path of adapter and moments
	Reference string `json:"reference,omitempty"` // path of the adapter that is held for comparison
	Steps     int    `json:"steps"`               // optimiser steps taken
	Identity  string `json:"identity"`            // names the policy: the same exactly where the policy is
}

// stateFile is the file of a checkpoint that has the state, and adapterDir its folder with the adapter.
const stateFile, adapterDir = "tinker.json", "adapter"

// New makes a fresh adapter at a server with these habits.
func New(ctx context.Context, c *Client, l LoRA, h Habits) (*Trainer, error) {
	ctx = context.WithoutCancel(ctx)
	m, err := c.create(ctx, l)
	if err != nil {
		return nil, err
	}
	// Whatever A is drawn, B is 0: a fresh adapter is the base model, so one made anew is the same policy.
	fresh := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", c.o.URL, c.base, l.Rank, l.Seed))
	return &Trainer{client: c, ctx: ctx, lora: l, habits: h, model: m,
		state: state{Identity: hex.EncodeToString(fresh[:8])}}, nil
}

// Close frees the adapters' places at the server.
func (t *Trainer) Close() {
	t.model.unload(t.ctx)
	t.reference.unload(t.ctx)
}

// PolicyVersion counts the optimiser steps taken.
func (t *Trainer) PolicyVersion() int { return t.state.Steps }

// AdapterChecksums has one number, which names the policy. It is drawn anew at each step, and kept in checkpoints.
func (t *Trainer) AdapterChecksums() ([]uint64, error) {
	b, err := hex.DecodeString(t.state.Identity)
	if err == nil && len(b) != 8 {
		err = fmt.Errorf("the identity %q has no 8 bytes", t.state.Identity)
	}
	if err != nil {
		return nil, err
	}
	return []uint64{binary.BigEndian.Uint64(b)}, nil
}

// Gradient implements recipe.Trainer: it is the first pass.
func (t *Trainer) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	t.gradient = nil
	if t.broken != nil {
		return batch.StepStats{}, t.broken
	}
	if o.Bonus.On {
		return batch.StepStats{}, noEntropies()
	}
	if b.NumTrained() == 0 {
		return batch.StepStats{}, errors.New("a step without trained tokens")
	}
	rows, logprobs, err := t.forward(ctx, t.model, b, o.Temperature)
	if err != nil {
		return batch.StepStats{}, err
	}
	step, stats, err := learn(b, o, rows, logprobs)
	if err != nil {
		return stats, err
	}
	if math.IsNaN(stats.Loss) || math.IsInf(stats.Loss, 0) {
		return stats, &fault.Error{Code: fault.CodeError, What: fmt.Sprintf("the loss is %v", stats.Loss),
			Where: fmt.Sprintf("optimiser step %d", t.state.Steps+1),
			Why:   "the step is not taken, adapter and optimiser are as they were",
			Err:   batch.ErrNotFinite,
			Next:  "lower the stage's learning_rate in hone.yaml; hone runs show names the last checkpoint"}
	}
	for i := range step {
		step[i].Inputs = map[string][]float32{"logprobs": logprobs[i]}
	}
	t.gradient = step
	return stats, nil
}

// forward are the rows of a batch as they are sent, and the logprobs of each one's IDs but the first.
func (t *Trainer) forward(ctx context.Context, m *Remote, b batch.Batch, temperature float64) (
	rows []Row, logprobs [][]float32, err error,
) {
	if cmp.Or(temperature, 1) != 1 {
		return nil, nil, fmt.Errorf("a trainer behind the Tinker API has logprobs at temperature 1, and not at %v",
			temperature)
	}
	for _, r := range b.Rows {
		ids := append(append(make([]int32, 0, len(b.Prefix)+len(r.IDs)), b.Prefix...), r.IDs...)
		if len(b.Prefix) == 0 && len(r.Trained) > 0 && r.Trained[0] {
			return nil, nil, errors.New("a row begins with a trained token")
		}
		rows = append(rows, Row{IDs: ids, Inputs: map[string][]float32{"weights": ones(len(ids) - 1)}})
	}
	for _, part := range requests(rows) {
		p, err := m.pass(ctx, crossEntropy, part, true)
		if err != nil {
			return nil, nil, err
		}
		logprobs = append(logprobs, p...)
	}
	return rows, logprobs, nil
}

// Of one request: a server may bound what it takes.
const maxRequestRows, maxRequestTokens = 1024, 1 << 18

// requests cuts rows such that each part is one request's.
func requests(rows []Row) (parts [][]Row) {
	from, tokens := 0, 0
	for i, r := range rows {
		if i > from && (i-from == maxRequestRows || tokens+len(r.IDs) > maxRequestTokens) {
			parts, from, tokens = append(parts, rows[from:i]), i, 0
		}
		tokens += len(r.IDs)
	}
	return append(parts, rows[from:])
}

// Apply implements recipe.Trainer: it is the second pass, and the step along its gradient. The norm is 0 where the
// server tells none.
func (t *Trainer) Apply(u batch.Update) (norm float64, err error) {
	step := t.gradient
	if t.gradient = nil; step == nil {
		return 0, errors.New("there is no gradient to apply")
	}
	tokens, rows := 0, make([]Row, len(step))
	for _, x := range step {
		tokens += len(x.slopes)
	}
	for i, x := range step {
		scale := t.habits.Reduction.scale(len(x.slopes), len(step), tokens)
		advantages := make([]float32, len(x.slopes))
		for j, slope := range x.slopes {
			advantages[j] = float32(-float64(slope) * scale)
		}
		x.Inputs["advantages"] = advantages
		rows[i] = x.Row
	}
	parts := [][]Row{rows}
	if t.habits.Reduction == Sum {
		parts = requests(rows)
	}
	t.published = ""
	for _, part := range parts {
		if _, err := t.model.pass(t.ctx, importanceSampling, part, false); err != nil {
			return 0, t.breaks(err)
		}
	}
	a := u.Adam
	norm, err = t.model.step(t.ctx, adam{rate: u.Rate, beta1: cmp.Or(a.Beta1, 0.9), beta2: cmp.Or(a.Beta2, 0.99),
		epsilon: cmp.Or(a.Epsilon, 1e-8), decay: a.WeightDecay, maxNorm: u.MaxGradNorm})
	if err != nil {
		return 0, t.breaks(err)
	}
	if math.IsNaN(norm) {
		norm = 0
	}
	t.state.Steps++
	var next [8]byte
	_, _ = rand.Read(next[:]) // never fails
	t.state.Identity = hex.EncodeToString(next[:])
	return norm, nil
}

// breaks notes that a step failed half-way: a gradient lies at the server, or the step was taken and its answer lost.
func (t *Trainer) breaks(err error) error {
	t.broken = fmt.Errorf("the trainer is not where a step ended, since one failed half-way: %w", err)
	return err
}

// Score implements recipe.Trainer.
func (t *Trainer) Score(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	return t.score(ctx, t.model, b, temperature)
}

// ScoreReference implements recipe.Trainer.
func (t *Trainer) ScoreReference(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	if t.reference == nil {
		return nil, errors.New("no reference is held")
	}
	return t.score(ctx, t.reference, b, temperature)
}

func (t *Trainer) score(ctx context.Context, m *Remote, b batch.Batch, temperature float64) ([][]float32, error) {
	_, logprobs, err := t.forward(ctx, m, b, temperature)
	if err != nil {
		return nil, err
	}
	scores := make([][]float32, len(b.Rows))
	for i, r := range b.Rows {
		scores[i] = make([]float32, len(r.IDs))
		for j, trained := range r.Trained {
			if trained {
				scores[i][j] = logprobs[i][len(b.Prefix)+j-1]
			}
		}
	}
	return scores, nil
}

// Entropies implements recipe.Trainer; the API tells none.
func (t *Trainer) Entropies(context.Context, batch.Batch, float64) ([][]float32, error) {
	return nil, noEntropies()
}

func noEntropies() error {
	return errors.New("a trainer behind the Tinker API tells no entropies over the vocabulary")
}

// Prepare implements recipe.Trainer: a server compiles by itself.
func (t *Trainer) Prepare([]batch.Batch, batch.Objective) {}

// CompileStats implements recipe.Trainer: what a server compiles it does not tell.
func (t *Trainer) CompileStats() (programs int, seconds float64) { return 0, 0 }

// ResetOptimizer implements recipe.Trainer, on an adapter that has taken no step.
func (t *Trainer) ResetOptimizer() error {
	if t.state.Steps > 0 {
		return errors.New("the moments of a trainer behind the Tinker API cannot be forgotten")
	}
	return nil
}

// HoldReference implements recipe.Trainer: the policy as it is becomes an adapter of its own at the server.
func (t *Trainer) HoldReference() error {
	path, err := t.keep("reference")
	if err != nil {
		return err
	}
	return t.refer(path)
}

// refer holds what lies at a path, "" nothing, for comparison.
func (t *Trainer) refer(path string) error {
	t.reference.unload(t.ctx)
	t.reference, t.state.Reference = nil, ""
	if path == "" {
		return nil
	}
	m, err := t.client.restore(t.ctx, t.lora, path, false)
	if err == nil {
		t.reference, t.state.Reference = m, path
	}
	return err
}

// keep saves weights and moments under a name that is new, since a path names what lies there for good.
func (t *Trainer) keep(what string) (path string, err error) {
	if t.broken != nil {
		return "", t.broken
	}
	return t.model.save(t.ctx, t.name(what))
}

func (t *Trainer) name(what string) string {
	return fmt.Sprintf("hone-%s-%d-%s", what, t.state.Steps, rand.Text()[:8])
}

// Snapshot implements recipe.Trainer.
func (t *Trainer) Snapshot() (restore func() error, err error) {
	was := t.state
	was.Weights, err = t.keep("snapshot")
	return func() error { return t.restore(was) }, err
}

// restore makes the adapter what a state says. SkyRL loads weights into an adapter that has done nothing yet, so it is
// another one.
func (t *Trainer) restore(to state) error {
	m, err := t.client.restore(t.ctx, t.lora, to.Weights, true)
	if err != nil {
		return err
	}
	t.model.unload(t.ctx)
	t.model, t.gradient, t.published, t.broken = m, nil, "", nil
	if to.Reference != t.state.Reference {
		if err := t.refer(to.Reference); err != nil {
			return err
		}
	}
	t.state = to
	return nil
}

// Publish keeps the policy as it is where samplers find it, and returns its path.
func (t *Trainer) Publish() (path string, err error) {
	if t.broken != nil {
		return "", t.broken
	}
	if t.published == "" {
		t.published, err = t.model.publish(t.ctx, t.name("policy"))
	}
	return t.published, err
}

// Sampler samples the policy as it is now, in completions of room ids at most with their prompts, all below vocabulary.
func (t *Trainer) Sampler(room, vocabulary int) (*Sampler, error) {
	path, err := t.Publish()
	if err != nil {
		return nil, err
	}
	s := NewSampler(t.client, room, vocabulary)
	return s, s.Hold(t.ctx, path, t.state.Steps)
}

// SaveAdapter writes the adapter alone, in PEFT's form, into a folder.
func (t *Trainer) SaveAdapter(dir string) error {
	path, err := t.Publish()
	if err != nil {
		return err
	}
	return t.client.archive(t.ctx, path, dir)
}

// Save implements recipe.Trainer: the adapter, in adapter/, and the path of all else, which stays at the server.
func (t *Trainer) Save(dir string) error {
	now := t.state
	var err error
	if now.Weights, err = t.keep("step"); err != nil {
		return err
	}
	if err := t.SaveAdapter(filepath.Join(dir, adapterDir)); err != nil {
		return err
	}
	text, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, stateFile), append(text, '\n'), 0o644)
}

// Load implements recipe.Trainer.
func (t *Trainer) Load(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return &fault.Error{Code: fault.CodeUsage, What: "the checkpoint is none of a trainer behind the Tinker API",
			Where: dir, Next: "go on with the trainer that the run began with (trainer.api in its configuration)"}
	}
	if err != nil {
		return err
	}
	var to state
	if err := json.Unmarshal(text, &to); err != nil {
		return fmt.Errorf("reading %s of %s: %w", stateFile, dir, err)
	}
	return t.restore(to)
}
