package stats

import (
	"fmt"
	"math"
	"testing"
)

// Student's t of 1, 2 and 4 degrees of freedom has closed forms; of many it is normal; the rest is from printed tables.
func TestStudent(t *testing.T) {
	for _, p := range []float64{0.001, 0.025, 0.2, 0.5, 0.6, 0.9, 0.975, 0.9995} {
		near(t, fmt.Sprint("df 1, ", p), math.Atan(studentQuantile(p, 1))/math.Pi+0.5, p, 1e-10)
		near(t, fmt.Sprint("df 2, ", p), studentQuantile(p, 2), 2*(p-0.5)*math.Sqrt(2/(4*p*(1-p))), 1e-7)
		near(t, fmt.Sprint("normal, ", p), studentQuantile(p, 1e6), normalQuantile(p), 2e-5)
	}
	for df, want := range map[float64]float64{3: 3.182446, 5: 2.570582, 10: 2.228139, 30: 2.042272, 120: 1.979930} {
		near(t, fmt.Sprint("97.5% of df ", df), studentQuantile(0.975, df), want, 1e-6)
	}
	for _, df := range []float64{0.7, 1, 2.5, 7.3, 40} {
		for _, x := range []float64{-3, -0.1, 0, 0.4, 2} {
			// Simpson's rule on the density, from 0.
			const steps = 2000
			log, _ := math.Lgamma((df + 1) / 2)
			half, _ := math.Lgamma(df / 2)
			density := func(u float64) float64 {
				return math.Exp(log-half) / math.Sqrt(df*math.Pi) * math.Pow(1+u*u/df, -(df+1)/2)
			}
			sum := density(0) + density(x)
			for i := 1; i < steps; i++ {
				sum += float64(2+2*(i%2)) * density(x*float64(i)/steps)
			}
			near(t, fmt.Sprintf("tail of %v, df %v", x, df), studentTail(x, df), 0.5+sum*x/steps/3, 1e-9)
		}
	}
	near(t, "normal tail", normalTail(1.959963984540054), 0.975, 1e-12)
}

// Counts and times have no negative end, rewards may.
func TestNoNegativeCounts(t *testing.T) {
	var rows []Row
	for i, n := range []int{0, 0, 0, 0, 0, 9} {
		rows = append(rows, Row{ScenarioID: string(rune('a' + i)), NumGold: 1, NumExtraCalls: n, Seconds: float64(n),
			Reward: float64(-n)})
	}
	seen := 0
	for _, m := range Metrics() {
		got := Estimate(rows, m, Bootstrap{Level: 0.95})
		if negative := got.Low < 0; m.Scale == Amount && negative != (m.Name == rewardName) {
			t.Errorf("%s: from %g", m.Name, got.Low)
		}
		if m.Name == "extra_calls" || m.Name == rewardName {
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("%d of the metrics are there", seen)
	}
}
