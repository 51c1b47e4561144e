package sidecar

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
	"hone/internal/job/episodes"
	"hone/internal/proxy/revise"
)

// Confidence is what calibration chose, and what it went by: the file sidecar.RuleFile.
type Confidence struct {
	Confidence float64 `json:"confidence"` // see sidecar.Rule
	NoCall     float64 `json:"no_call"`
	Right      int     `json:"right"`  // validation drafts that were right
	Harmed     int     `json:"harmed"` // of them, those damaged at these confidences
	Wrong      int     `json:"wrong"`
	Mended     int     `json:"mended"` // of the wrong ones
	Prompt     string  `json:"prompt"` // sidecar.PromptForm, as it was trained
}

// mostHarm is the share of right drafts that calibration lets be damaged. Fewer than fewestRight of a class say nothing
// of that, and none of it is replaced.
const mostHarm, fewestRight = 0.001, 30

func (c Confidence) words() string {
	from := func(threshold float64) string {
		if threshold >= 1 {
			return "never replaced"
		}
		return fmt.Sprintf("replaced from probability %.4f on", min(threshold, 0.9999))
	}
	few := ""
	if c.Confidence >= 1 || c.NoCall >= 1 {
		few = fmt.Sprintf("; below %d right drafts of a kind none of it is replaced: "+
			"more tasks of the split validation give more", fewestRight)
	}
	return fmt.Sprintf("calls without a fault are %s, answers in words are %s: %d of %d wrong drafts are mended, "+
		"%d of %d right ones damaged%s",
		from(c.Confidence), from(c.NoCall), c.Mended, c.Wrong, c.Harmed, c.Right, few)
}

func writeRule(folder string, c Confidence) error {
	c.Prompt = revise.PromptForm()
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return job.WriteFile(filepath.Join(folder, revise.RuleFile), append(text, '\n'))
}

// calibrationRows are the rows that calibration goes by.
func (t *training) calibrationRows() []revise.Row {
	return spread(t.rows(scenario.Validation), 16*probeRows)
}

// calibrate chooses the confidences with the most mended drafts among those that damage few, on the validation split.
func (t *training) calibrate(ctx context.Context, l *episodes.Episodes, v *revise.Environment) (Confidence, error) {
	rows := t.calibrationRows()
	list, err := v.Scenarios(rows)
	if err != nil || len(rows) == 0 {
		return Confidence{Confidence: 1, NoCall: 1}, err
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
		all = append(all, weigh(fixers.of(&rows[i].Point), &rows[i], replyOf(said[rows[i].ID]), v))
	}
	return choose(all), nil
}

// weighed is what a row's draft comes to with the sidecar's word and without it.
type weighed struct {
	before, without, with bool    // right
	class                 class   // by which the word counts
	probability           float64 // of the revision
}

// class is a kind of drafts, by what the sidecar's word needs to count.
type class int

const (
	faulty class = iota // a rule finds a fault: any valid revision counts
	sound               // calls in which none is found: from Confidence on
	plain               // no call: from NoCall on
)

func weigh(fixer *revise.Fixer, r *revise.Row, said *revise.Said, v *revise.Environment) weighed {
	decide := func(said *revise.Said) (revise.Decision, bool) {
		d := revise.Sidecar{Defaults: v.Defaults}.Weigh(fixer, r.Draft, said)
		return d, r.IsGold(d.Message.ToolCalls, v.Defaults)
	}
	w := weighed{before: r.Right}
	_, w.without = decide(nil)
	switch fixed := fixer.Fix(r.Draft); {
	case !fixed.Valid():
	case fixed.IsPlain():
		w.class = plain
	default:
		w.class = sound
	}
	d, right := decide(said)
	w.with, w.probability = right, d.Probability
	return w
}

// right is whether the outcome is, at the confidence of its class.
func (w weighed) right(confidence float64) bool {
	if w.class != faulty && (confidence >= 1 || w.probability < confidence) {
		return w.without
	}
	return w.with
}

// choose chooses the confidence of each class by itself.
func choose(all []weighed) Confidence {
	var c Confidence
	for _, k := range []class{faulty, sound, plain} {
		of := slices.DeleteFunc(slices.Clone(all), func(w weighed) bool { return w.class != k })
		threshold, right, harmed, wrong, mended := least(of)
		c.Right, c.Harmed, c.Wrong, c.Mended = c.Right+right, c.Harmed+harmed, c.Wrong+wrong, c.Mended+mended
		switch k {
		case sound:
			c.Confidence = threshold
		case plain:
			c.NoCall = threshold
		}
	}
	return c
}

// least looks at each probability that a revision had. Of two that mend as many it takes the higher, which damages less
// elsewhere.
func least(of []weighed) (threshold float64, right, harmed, wrong, mended int) {
	thresholds := []float64{0, math.Nextafter(1, 0)}
	for _, w := range of {
		thresholds = append(thresholds, w.probability)
	}
	slices.Sort(thresholds)
	threshold = 1
	right, harmed, wrong, mended = at(of, 1)
	for _, t := range slices.Compact(thresholds) {
		if r, h, w, m := at(of, t); r >= fewestRight && float64(h) <= mostHarm*float64(r) && m > 0 && m >= mended {
			threshold, right, harmed, wrong, mended = t, r, h, w, m
		}
	}
	return threshold, right, harmed, wrong, mended
}

// at counts what comes of a confidence.
func at(of []weighed, confidence float64) (right, harmed, wrong, mended int) {
	for _, w := range of {
		good := w.right(confidence)
		switch {
		case w.before && good:
			right++
		case w.before:
			right, harmed = right+1, harmed+1
		case good:
			wrong, mended = wrong+1, mended+1
		default:
			wrong++
		}
	}
	return right, harmed, wrong, mended
}

// replyOf is what an episode's model said, as the decision takes it; nil where it failed.
func replyOf(t *trajectory.Trajectory) *revise.Said {
	if t == nil || !t.Outcome.Trainable() || len(t.Turns) == 0 {
		return nil
	}
	s := &revise.Said{Message: revise.Output(t), Whole: t.StopReason == trajectory.StopCompleted}
	sum := 0.0
	for _, p := range t.Turns[0].SamplerLogprobs {
		sum += float64(p)
	}
	s.Probability = math.Exp(sum)
	s.PromptTokens, s.CompletionTokens = t.NumTokens()
	return s
}
