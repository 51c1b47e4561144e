package metrics

import (
	"fmt"
	"strings"
	"time"
)

// Spent is what a run took, by its rows.
type Spent struct {
	Seconds float64          `json:"seconds"`         // that its attempts have worked
	Parts   map[Part]float64 `json:"parts,omitempty"` // seconds of each
	// of training, in which programs were compiled or read from the disk
	Compiling float64  `json:"compiling,omitzero"`
	GPUHours  float64  `json:"gpu_hours,omitzero"`
	JudgeCost float64  `json:"judge_dollars,omitzero"` // US dollars, where the prices are known
	Target    *Reached `json:"target,omitempty"`       // nil where it was not reached

	stages  map[string]bool // of the rows
	trained bool            // in a step there was something to learn from
	// programs that were made; of steps that a server took there are none
	programs float64
	counted  bool // programs are
}

// Reached says when the target was.
type Reached struct {
	Success  float64 `json:"success"`
	Stage    string  `json:"stage"`
	Step     int     `json:"step"`
	Seconds  float64 `json:"seconds"`
	GPUHours float64 `json:"gpu_hours,omitempty"`
}

// AddUp adds up the rows of a run.
func AddUp(rows []Row) Spent {
	s := Spent{Parts: map[Part]float64{}, stages: map[string]bool{}}
	for _, r := range rows {
		s.stages[r.Stage], s.trained = true, s.trained || r.Values["step_tokens"] > 0
		s.Seconds = max(s.Seconds, r.Values[Elapsed])
		s.GPUHours = max(s.GPUHours, r.Values[GPUHours])
		s.JudgeCost += r.Values["judge/cost"]
		s.Compiling += r.Values["time/compile"]
		if n, ok := r.Values["time/programs"]; ok {
			s.programs, s.counted = s.programs+n, true
		}
		for _, p := range Parts() {
			if x := r.Values[p.Metric()]; x > 0 {
				s.Parts[p] += x
			}
		}
		if at, ok := r.Values[ToTarget]; ok && (s.Target == nil || at < s.Target.Seconds) {
			s.Target = &Reached{Success: r.Values[success], Stage: r.Stage, Step: r.Step, Seconds: at,
				GPUHours: r.Values[GPUHours]}
		}
	}
	return s
}

// hints say what makes a part shorter, by the keys of the stages that there were.
func (s Spent) hints() map[Part]string {
	measured := "a higher eval.every, or fewer scenarios in the split validation, make it shorter"
	switch {
	case s.stages["copies"]:
		measured = "a higher --probe-every makes it shorter"
	case s.stages["grpo"]:
	case s.stages["sft"]:
		measured = "a higher sft.eval_every, or fewer rows that are held out, make it shorter"
	case s.stages["dpo"]:
		measured = "a higher dpo.eval_every, or fewer pairs that are held out, make it shorter"
	}
	train := "a larger engine.micro_batch makes it shorter"
	rollout := "more engine.slots, a lower rollout.max_tokens, or servers that answer sooner make it shorter"
	if s.counted && s.programs == 0 {
		train = "more devices at the server that trains make it shorter"
		rollout = strings.Replace(rollout, "engine.slots", "trainer.slots", 1)
	}
	if !s.trained {
		train = "nothing was trained; programs were made in it, and logprobs of probes"
	}
	return map[Part]string{
		Rollout: rollout,
		Score:   "a higher judge.concurrency, or a reward program that works on several at once, makes it shorter",
		Train:   train,
		Publish: "the adapter is copied to each sampler after each step; fewer devices or a lower lora.rank make " +
			"it shorter",
		Eval:       measured,
		Checkpoint: "a higher checkpoint_every, or a faster disk, makes it shorter",
		Other:      "compiling, and what comes between the steps; the cache of programs makes a second start shorter",
	}
}

// Lines tell it to a person; none where nothing was measured.
func (s Spent) Lines() []string {
	var lines []string
	parts, whole := map[Part]time.Duration{}, 0.0
	for p, x := range s.Parts {
		parts[p] = seconds(x)
		whole = max(whole, s.Seconds)
	}
	if p, share := most(parts, seconds(whole)); p != "" {
		var others []string
		for _, o := range Parts() {
			if o != p && s.Parts[o] >= whole/100 {
				others = append(others, fmt.Sprintf("%s %s", o, percent(s.Parts[o]/whole)))
			}
		}
		rest := ""
		if len(others) > 0 {
			rest = " (" + strings.Join(others, ", ") + ")"
		}
		hint := s.hints()[p]
		if compiled := s.Compiling / s.Parts[p]; p == Train && compiled > 0.5 {
			hint = percent(compiled) + " of it compiled programs, which are kept: a second start is shorter"
		} else if p == Train && compiled > 0.1 {
			hint += "; " + percent(compiled) + " of it compiled programs, which are kept"
		}
		lines = append(lines,
			fmt.Sprintf("bottleneck: %s took %s of %s%s: %s", p, percent(share), short(whole), rest, hint))
	}
	if s.GPUHours > 0 {
		lines = append(lines, fmt.Sprintf("GPU hours: %.3g", s.GPUHours))
	}
	if s.JudgeCost > 0 {
		lines = append(lines, fmt.Sprintf("judge: %.4f dollars", s.JudgeCost))
	}
	if t := s.Target; t != nil {
		line := fmt.Sprintf("target: success %.3g was reached at minute %.1f, at %s step %d",
			t.Success, t.Seconds/60, t.Stage, t.Step)
		if t.GPUHours > 0 {
			line += fmt.Sprintf(", after %.3g GPU hours", t.GPUHours)
		}
		lines = append(lines, line)
	}
	return lines
}

// most is the part that took most of a time, the first of several, and its share of it; "" where no time passed.
func most(parts map[Part]time.Duration, whole time.Duration) (p Part, share float64) {
	if whole <= 0 {
		return "", 0
	}
	for _, o := range Parts() {
		if parts[o] > parts[p] {
			p = o
		}
	}
	return p, parts[p].Seconds() / whole.Seconds()
}

func seconds(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*min(share, 1)) }

// short is a time without digits that nobody reads.
func short(x float64) string {
	d := seconds(x)
	switch {
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}
