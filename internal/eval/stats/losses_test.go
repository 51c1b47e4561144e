package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A system that loses more episodes than the other one, or most of those of some scenarios, is neither helped nor
// harmed by that: the estimates stay unbiased. Here both systems are as good; one loses its servers in the hard
// scenarios, by chance and not by what it did.
func TestLossesDoNotBiasEstimates(t *testing.T) {
	const scenarios, repeats, experiments = 30, 4, 400
	r := rand.New(rand.NewPCG(4, 2))
	var difference, rate, validity, median float64
	for range experiments {
		var systems [2][]Row
		for s := range scenarios {
			hard := s%2 == 1
			done := 0.9
			if hard {
				done = 0.1
			}
			for i := range systems {
				for k := range repeats {
					if i == 1 && hard && k > 0 && r.Float64() < 0.8 { // the first always ends
						continue
					}
					x := Row{ScenarioID: fmt.Sprint(s), Repeat: k, Episode: r.Float64() < done, NumCalls: 2,
						NumInvalidCalls: int(2 * oneIf(r.Float64() > done)), Seconds: 1 + 8*oneIf(hard)}
					systems[i] = append(systems[i], x)
				}
			}
		}
		difference += Compare(systems[0], systems[1], Completion(), Bootstrap{NumResamples: 20}).Mean / experiments
		rate += Estimate(systems[1], Completion(), Bootstrap{}).Mean / experiments
		valid := Metrics()[2]
		validity += Compare(systems[0], systems[1], valid, Bootstrap{NumResamples: 20}).Mean / experiments
		median += Quantile(systems[1], 0.4, Bootstrap{}).Mean + Quantile(systems[1], 0.6, Bootstrap{}).Mean - 10
	}
	near(t, "difference of completion", difference, 0, 0.01)
	near(t, "completion", rate, 0.5, 0.01)
	near(t, "difference of validity", validity, 0, 0.01)
	near(t, "times at 40% and 60%", median, 0, 0)
}

// An episode that a metric does not count is an episode of its scenario all the same: of the efficiency of episodes
// that did the task, a scenario that is done once in four has a quarter of the weight of one that is always done,
// whoever lost some of its episodes.
func TestWeightOfWhatIsNotCounted(t *testing.T) {
	row := func(id string, done bool, extra int) Row {
		return Row{ScenarioID: id, NumGold: 1, Episode: done, NumExtraCalls: extra}
	}
	// b lost three of four
	rows := []Row{row("a", true, 1), row("a", false, 0), row("a", false, 0), row("a", false, 0), row("b", true, 0)}
	near(t, "tool efficiency", Estimate(rows, Metrics()[3], Bootstrap{}).Mean, (0.25*0.5+1)/1.25, 1e-12)
}
