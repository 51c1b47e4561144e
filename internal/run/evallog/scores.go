package evallog

import (
	"maps"
	"math"
	"slices"

	"hone/internal/eval/stats"
)

// Names of the scores of a sample.
const (
	checksScore = "checks"     // C where the whole task was done, as hone's rate of the whole episode counts it
	callScore   = "first_call" // C where the first call is the first gold call; of scenarios with gold calls
	rewardScore = "reward"     // the reward, with its terms beside it
)

// Verdicts as Inspect writes them.
const (
	correct   = "C"
	incorrect = "I"
)

// scorers names the scores and what they come to: Inspect computes the same from the samples.
var scorers = []Scorer{
	{checksScore, rateMetrics},
	{callScore, rateMetrics},
	{rewardScore, []MetricName{{"inspect_ai/mean"}, {"inspect_ai/stderr"}}},
}

var rateMetrics = []MetricName{{"inspect_ai/accuracy"}, {"inspect_ai/stderr"}}

// scores are those of one episode.
func scores(e stats.Example, row *stats.Row) map[string]Score {
	explained := ""
	verdicts := e.Verdicts()
	for _, v := range verdicts {
		explained += v.String() + "\n"
	}
	out := map[string]Score{checksScore: {Value: letter(row.Episode), Answer: e.Trajectory.Answer(),
		Explanation: explained, History: []any{}}}
	if row.NumGold > 0 {
		out[callScore] = Score{Value: letter(row.FirstCall), History: []any{}}
	}
	terms := map[string]any{}
	for _, t := range e.Trajectory.Terms {
		terms[t.Name] = t
	}
	out[rewardScore] = Score{Value: row.Reward, Metadata: map[string]any{"terms": terms}, History: []any{}}
	return out
}

func letter(passed bool) string {
	if passed {
		return correct
	}
	return incorrect
}

// summarize computes what each scorer's values come to, as Inspect does: the values of a scenario's epochs are reduced
// to their mean, then the mean over scenarios and its standard error.
func summarize(samples []Sample) (scores []EvalScore, reductions []Reductions) {
	scores, reductions = []EvalScore{}, []Reductions{} // Inspect takes no null
	for _, s := range scorers {
		values := map[string][]float64{}
		for _, x := range samples {
			if score, ok := x.Scores[s.Name]; ok {
				values[x.ID] = append(values[x.ID], number(score.Value))
			}
		}
		if len(values) == 0 {
			continue
		}
		r := Reductions{Scorer: s.Name, Reducer: "mean"}
		var means []float64
		for _, id := range sortedKeys(values) {
			means = append(means, mean(values[id]))
			r.Samples = append(r.Samples, SampleScore{mean(values[id]), id})
		}
		e := EvalScore{Name: s.Name, Scorer: s.Name, Reducer: "mean", Scored: len(means), Params: map[string]any{},
			Metrics: map[string]Metric{}}
		for i, m := range s.Metrics {
			value := mean(means)
			if i == 1 {
				value = standardError(means)
			}
			name := m.Name[len("inspect_ai/"):]
			e.Metrics[name] = Metric{Name: name, Value: value, Params: map[string]any{}}
		}
		scores, reductions = append(scores, e), append(reductions, r)
	}
	return scores, reductions
}

func number(value any) float64 {
	if x, ok := value.(float64); ok {
		return x
	}
	if value == correct {
		return 1
	}
	return 0
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// standardError is that of the mean of independent values, from their variance with n-1 in the denominator; 0 of one
// value.
func standardError(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return 0
	}
	m, squares := mean(values), 0.0
	for _, v := range values {
		squares += (v - m) * (v - m)
	}
	return math.Sqrt(squares / (n - 1) / n)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
