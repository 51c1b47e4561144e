package config

import (
	"fmt"
	"math"
	"strconv"
)

// Eval says what is measured.
type Eval struct {
	Every       int     `yaml:"every" min:"0" doc:"steps of train between evaluations on the validation split, which also begins and ends it; 0 evaluates nothing. sft runs no episodes: sft.validation measures its loss"`
	Split       string  `yaml:"split" enum:"validation,test" doc:"the scenarios to evaluate on; test is for the final numbers"`
	Repeats     int     `yaml:"repeats" min:"1" max:"10000" doc:"episodes of each scenario in hone eval, each with random numbers of its own, the same for all systems"`
	Temperature float64 `yaml:"temperature" min:"-1" max:"10" doc:"sampling temperature; 0 is greedy, -1 is 0, or where the chat template has the model think what its card says: generation_config.json, or 0.6"`
	TopK        int     `yaml:"top_k" min:"0" doc:"samples from this many of the likeliest tokens only; 0 is off. Rollouts have no such key: what is left out could not be learnt from"`
	TopP        float64 `yaml:"top_p" min:"0.0001" max:"1" doc:"samples from the likeliest tokens only, as many as have this much of the probability; 1 is off"`
	MinP        float64 `yaml:"min_p" min:"0" max:"1" doc:"samples from tokens only that are at least this share as likely as the likeliest; 0 is off"`
	Confidence  float64 `yaml:"confidence" min:"0.5" max:"0.999" doc:"coverage of the intervals: of a rate Wilson's score interval, of a difference the percentiles of a paired bootstrap over scenarios"`

	FailOnError FailOnError `yaml:"fail_on_error" doc:"when a system of hone eval is given up, for episodes that fail for reasons that are not the policy's: true at the first, false never, below 1 at this share of its episodes, from 1 on at this number of them"`
	StopEarly   float64     `yaml:"stop_early" min:"0" max:"100" doc:"hone eval ends before its last scenario where the difference of two systems is known: its confidence sequence leaves out 0, or is at most this many percentage points wide; 0 runs all"`
}

// ByCard is the eval.temperature that the model's card says.
const ByCard = -1

// check refuses a truncation that would not be done.
func (e *Eval) check() error {
	if err := e.FailOnError.Check(); err != nil {
		return &ValueError{"eval.fail_on_error", err.Error()}
	}
	if e.Temperature < 0 && e.Temperature != ByCard {
		return &ValueError{"eval.temperature", "below 0 there is -1 alone: what the model's card says"}
	}
	if e.Temperature > 0 {
		return nil
	}
	for _, key := range []struct {
		name string
		on   bool
	}{{"top_k", e.TopK > 0}, {"top_p", e.TopP < 1}, {"min_p", e.MinP > 0}} {
		if key.on {
			return &ValueError{"eval." + key.name,
				"greedy sampling takes the likeliest token in any case; set eval.temperature above 0"}
		}
	}
	return nil
}

// FailOnError is true, false or a number above 0, as Inspect's option of that name (inspect_ai,
// eval(fail_on_error=...)).
type FailOnError string

// Check says what is wrong with a value.
func (f FailOnError) Check() error {
	if f == "true" || f == "false" {
		return nil
	}
	if x, err := strconv.ParseFloat(string(f), 64); err != nil || !(x > 0) || math.IsInf(x, 0) {
		return fmt.Errorf("%q is neither true, false, a share of the episodes (0.1) nor a number of them (5)",
			string(f))
	}
	return nil
}

// Exceeds reports whether so many failed episodes, of all that are planned, are too many.
func (f FailOnError) Exceeds(failed, planned int) bool {
	if failed == 0 || f == "false" {
		return false
	}
	x, err := strconv.ParseFloat(string(f), 64)
	switch {
	case err != nil: // true
		return true
	case x < 1:
		return float64(failed) >= x*float64(planned)
	}
	return float64(failed) >= x
}
