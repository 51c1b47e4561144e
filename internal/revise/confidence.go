package revise

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/sidecar"
)

// Confidence is what calibration chose, and what it went by: the file sidecar.RuleFile.
type Confidence struct {
	Confidence float64 `json:"confidence"` // see sidecar.Rule
	Right      int     `json:"right"`      // validation drafts that were right
	Harmed     int     `json:"harmed"`     // of them, those damaged at this confidence
	Wrong      int     `json:"wrong"`
	Mended     int     `json:"mended"` // of the wrong ones
}

// mostHarm is the share of right drafts that calibration lets be damaged.
const mostHarm = 0.001

func (c Confidence) words() string {
	return fmt.Sprintf("a draft without a fault is replaced from probability %.4f on: %d of %d wrong drafts are mended, %d of %d right ones damaged",
		c.Confidence, c.Mended, c.Wrong, c.Harmed, c.Right)
}

func writeRule(folder string, c Confidence) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return job.WriteFile(filepath.Join(folder, sidecar.RuleFile), append(text, '\n'))
}

// calibrate chooses the confidence with the most mended drafts among those that damage few, on the validation split.
func (t *training) calibrate(ctx context.Context, l *job.Episodes, v *sidecar.Environment) (Confidence, error) {
	rows := spread(t.rows(scenario.Validation), 16*probeRows)
	list, err := v.Scenarios(rows)
	if err != nil || len(rows) == 0 {
		return Confidence{Confidence: 1}, err
	}
	blind := *v
	blind.Servers = nil
	said, err := answers(ctx, t.Host, t.c, "calibration", &blind, l.Speaker, list, 0)
	if err != nil {
		return Confidence{}, err
	}
	fixers := fixersOf(t.d.catalog)
	var all []weighed
	for i := range rows {
		all = append(all, weigh(fixers.of(&rows[i].Point), &rows[i], saidOf(said[rows[i].ID]), v))
	}
	return choose(all), nil
}

// weighed is what a row's draft comes to with the sidecar's word and without it.
type weighed struct {
	before, without, with bool    // right
	gated                 bool    // no fault was found in the draft: the word counts from a probability on
	probability           float64 // of the revision
}

func weigh(fixer *sidecar.Fixer, r *sidecar.Row, said *sidecar.Said, v *sidecar.Environment) weighed {
	decide := func(said *sidecar.Said) (sidecar.Decision, bool) {
		d := sidecar.Sidecar{Rule: sidecar.Rule{Plain: true}, Defaults: v.Defaults}.Weigh(fixer, r.Draft, said)
		return d, r.IsGold(d.Message.ToolCalls, v.Defaults)
	}
	w := weighed{before: r.Right}
	d, right := decide(nil)
	w.without, w.gated = right, len(d.Problems) == 0
	d, w.with = decide(said)
	w.probability = d.Probability
	return w
}

// right is whether the outcome is, at a confidence.
func (w weighed) right(confidence float64) bool {
	if w.gated && (confidence >= 1 || w.probability < confidence) {
		return w.without
	}
	return w.with
}

// choose looks at each probability that a revision had. Of two that mend as many it takes the higher, which damages less elsewhere.
func choose(all []weighed) Confidence {
	thresholds := []float64{0, math.Nextafter(1, 0)}
	for _, w := range all {
		thresholds = append(thresholds, w.probability)
	}
	slices.Sort(thresholds)
	best := at(all, 1)
	for _, threshold := range slices.Compact(thresholds) {
		c := at(all, threshold)
		if float64(c.Harmed) <= mostHarm*float64(c.Right) && c.Mended > 0 && c.Mended >= best.Mended {
			best = c
		}
	}
	return best
}

// at counts what comes of a confidence.
func at(all []weighed, confidence float64) Confidence {
	c := Confidence{Confidence: confidence}
	for _, w := range all {
		right := w.right(confidence)
		switch {
		case w.before && right:
			c.Right++
		case w.before:
			c.Right, c.Harmed = c.Right+1, c.Harmed+1
		case right:
			c.Wrong, c.Mended = c.Wrong+1, c.Mended+1
		default:
			c.Wrong++
		}
	}
	return c
}

// saidOf is what an episode's model said, as the decision takes it; nil where it failed.
func saidOf(t *trajectory.Trajectory) *sidecar.Said {
	if t == nil || !t.Outcome.Trainable() || len(t.Turns) == 0 {
		return nil
	}
	s := &sidecar.Said{Message: sidecar.Output(t), Whole: t.StopReason == trajectory.StopCompleted}
	sum := 0.0
	for _, p := range t.Turns[0].SamplerLogprobs {
		sum += float64(p)
	}
	s.Probability = math.Exp(sum)
	s.PromptTokens, s.CompletionTokens = t.NumTokens()
	return s
}
