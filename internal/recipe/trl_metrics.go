package recipe

import (
	"slices"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// trlMetrics describes the episodes of a step by what TRL's GRPO trainer measures beside means (1.16, grpo_trainer.py).
// Episodes whose outcome is not the policy's doing count nowhere:
//
//	reward_std                                standard deviation of all rewards (ddof 1)
//	rewards/TERM/std                          the same of a reward term's scores, of the episodes that have it
//	completions/min_length, max_length        fewest and most sampled tokens of an episode
//	completions/..._terminated_length         mean, fewest and most of the episodes that no limit cut; 0 where all were
//	tools/call_frequency                      calls of an episode
//	tools/failure_frequency                   share of the calls that failed; 0 where none was made
func trlMetrics(groups []trajectory.Group) map[string]float64 {
	var rewards, lengths, whole []float64
	terms := map[string][]float64{}
	calls, failed := 0.0, 0.0
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if !t.Outcome.Trainable() {
				continue
			}
			length := 0
			for _, turn := range t.Turns {
				length += len(turn.CompletionIDs)
			}
			rewards, lengths = append(rewards, t.Reward), append(lengths, float64(length))
			if raise[t.StopReason] == "" {
				whole = append(whole, float64(length))
			}
			for _, term := range t.Terms {
				terms[term.Name] = append(terms[term.Name], term.Score)
			}
			for _, c := range t.ServerCalls() {
				if calls++; c.Status != trajectory.CallOK {
					failed++
				}
			}
		}
	}
	if len(rewards) == 0 {
		return nil
	}
	m := map[string]float64{
		"reward_std": batch.Deviation(rewards), "completions/min_length": slices.Min(lengths),
		"completions/max_length": slices.Max(lengths), "completions/mean_terminated_length": 0,
		"completions/min_terminated_length": 0, "completions/max_terminated_length": 0,
		"tools/call_frequency":    calls / float64(len(rewards)),
		"tools/failure_frequency": 0,
	}
	if len(whole) > 0 {
		m["completions/min_terminated_length"], m["completions/max_terminated_length"] =
			slices.Min(whole), slices.Max(whole)
		for _, x := range whole {
			m["completions/mean_terminated_length"] += x / float64(len(whole))
		}
	}
	if calls > 0 {
		m["tools/failure_frequency"] = failed / calls
	}
	for name, scores := range terms {
		m["rewards/"+name+"/std"] = batch.Deviation(scores)
	}
	return m
}
