package view

import (
	"fmt"
	"math"
	"slices"

	"hone/internal/recipe"
	"hone/internal/run/metrics"
)

// Alert is something that a person should see before the numbers: what is the case, and what to do about it.
type Alert struct {
	Name string `json:"name"`
	Says string `json:"says"`
	Next string `json:"next"`
	See  string `json:"see,omitempty"` // a search of trajectories that shows it
}

// Bounds of alerts, over the last steps of the main stage.
const (
	mostAlike    = 0.5  // share of groups without spread
	mostLost     = 0.1  // share of episodes that say nothing of the policy
	mostCut      = 0.5  // share of episodes that a limit cut
	mostCopies   = 0.5  // share of revisions that say the draft again
	mostMismatch = 0.01 // nats a token between sampler and trainer: bfloat16 gives about a tenth of it
	mostIdle     = 0.5  // share of the time in which the trainer works and the sampler waits
	leastGain    = 0.05 // of the reward, while held-out success falls
	leastFall    = 0.05 // of held-out success from its best
)

// alertsOf are the alerts that the metrics of a run give.
func alertsOf(series []metrics.Row, cards Cards) (out []Alert) {
	last := tail(series, cards.MainStage, lastSteps)
	over := func(name string, bound float64) (x float64, is bool) {
		x, _, ok := mean(last, name)
		return x, ok && x > bound
	}
	steps := fmt.Sprintf("of the last %d steps", len(last))
	if len(last) == 1 {
		steps = "of the only step"
	}
	if x, is := over("frac_reward_zero_std", mostAlike); is {
		out = append(out, Alert{
			"no spread", fmt.Sprintf("In %s of the groups %s all attempts earn the same, "+
				"so nothing is learnt from them.", percent(x), steps),
			"Where all fail, take easier scenarios or hone sft first; where none do, take harder ones. " +
				"grpo.resample finds scenarios that teach.", "",
		})
	}
	if x, is := over("masked_ratio", mostLost); is {
		out = append(out, Alert{
			"lost episodes",
			fmt.Sprintf("%s of the episodes %s say nothing of the policy, such as where a server was down.",
				percent(x), steps),
			"Open one and read why; hone doctor looks at the servers.", "outcome:environment_error",
		})
	}
	if x, is := over("completions/clipped_ratio", mostCut); is {
		out = append(out, Alert{
			"limits", fmt.Sprintf("A limit cuts %s of the episodes %s, so the model learns to be short.",
				percent(x), steps),
			"Raise the limit that the episodes name.", "outcome:limit",
		})
	}
	if x, n, ok := mean(last, "tools/call_frequency"); ok && x == 0 && n > 0 {
		out = append(out, Alert{
			"no calls", fmt.Sprintf("No episode %s calls a tool: nothing the model writes has the form of a call.",
				steps),
			"Look at what it writes, and at model.tool_format; hone sft on demonstrations teaches the form.",
			"calls:0",
		})
	}
	if x, is := over("sampling/mismatch_kl", mostMismatch); is {
		out = append(out, Alert{
			"mismatch", fmt.Sprintf("Sampler and trainer differ by %.2g nats a token %s.", x, steps),
			"They should hold the same policy: look at the dtype and the adapter of the sampler.", "",
		})
	}
	if x, is := over("sampling/episodes_apart", 0); is {
		out = append(out, Alert{
			"mismatch of episodes", fmt.Sprintf("On average a step leaves out %.2g of its episodes, "+
				"since sampler and trainer differ there by more than in others.", x),
			"Once in a while rounding does it; often, the sampler holds another policy.", "",
		})
	}
	if copies := tail(series, "copies", 1); len(copies) > 0 && copies[0].Values["copies/equal"] > mostCopies {
		out = append(out, Alert{
			"copying", fmt.Sprintf("%s of the revisions say the draft again.",
				percent(copies[0].Values["copies/equal"])),
			"More drafts that need a change, or a higher weight on them, teach to change.", "",
		})
	}
	return append(append(out, idle(last)...), hacking(series, cards)...)
}

// idle tells that the sampler waits for the trainer.
func idle(last []metrics.Row) []Alert {
	all := 0.0
	for _, p := range metrics.Parts() {
		x, _, _ := mean(last, p.Metric())
		all += x
	}
	train, _, ok := mean(last, metrics.Train.Metric())
	sampled, _, samples := mean(last, metrics.Rollout.Metric())
	if stale, _, overlaps := mean(last, "staleness"); !ok || !samples || sampled == 0 || all == 0 ||
		train/all <= mostIdle || overlaps && stale > 0 {
		return nil
	}
	return []Alert{
		{
			"sampler idle", fmt.Sprintf("The trainer works %s of the time, and the sampler waits meanwhile.",
				percent(train/all)),
			"grpo.staleness: 1 samples the next step meanwhile; a larger engine.micro_batch makes training shorter.",
			"",
		},
	}
}

// hacking tells that the reward rises while held-out success has fallen from its best.
func hacking(series []metrics.Row, cards Cards) []Alert {
	held := tail(series, recipe.ValidationStage, len(series))
	held = slices.DeleteFunc(held, func(r metrics.Row) bool { _, has := r.Values["success"]; return !has })
	if len(held) < 2 {
		return nil
	}
	best := slices.MaxFunc(held, func(a, b metrics.Row) int {
		if a.Values["success"] < b.Values["success"] {
			return -1
		}
		return 1
	})
	now := held[len(held)-1]
	fall := best.Values["success"] - now.Values["success"]
	rewardAt := func(step int) (float64, bool) {
		var around []metrics.Row
		for _, r := range series {
			if r.Stage == cards.MainStage && r.Step >= step-3 && r.Step < step+3 {
				around = append(around, r)
			}
		}
		x, _, ok := mean(around, "reward")
		return x, ok
	}
	then, ok := rewardAt(best.Step)
	is, there := rewardAt(now.Step)
	if !ok || !there || fall < leastFall || is-then < leastGain {
		return nil
	}
	return []Alert{
		{
			"possible reward hacking",
			fmt.Sprintf("The reward rose from %.3g to %.3g, while held-out success fell from %s at step %d to %s.",
				then, is, percent(best.Values["success"]), best.Step, percent(now.Values["success"])),
			"Read attempts that earn much and do not pass: what they are paid for is not the task.",
			"passed:no reward>" + fmt.Sprintf("%.2g", is),
		},
	}
}

func percent(x float64) string { return fmt.Sprintf("%.0f%%", math.Round(100*x)) }
