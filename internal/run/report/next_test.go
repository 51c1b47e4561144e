package report_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/run/report"
)

// outcomes is a page of systems with an episode of each scenario: p passes, f fails, l is lost, - was not run.
func outcomes(of map[string]string, order ...string) report.Page {
	r := rand.New(rand.NewPCG(2, 2))
	p := report.Page{Title: "x", Verb: "hone eval", Run: "x"}
	p.NumResamples = 200
	for i, name := range order {
		s := stats.System{Name: name, Excluded: map[trajectory.Outcome]int{}}
		for k, end := range of[name] {
			if end == '-' {
				continue
			}
			id := fmt.Sprintf("task-%02d", k)
			t := episode(id, "words", end == 'p', i, r)
			if end == 'l' {
				t.Outcome = trajectory.EnvironmentError
				s.Excluded[t.Outcome]++
				s.Lost = append(s.Lost, stats.Row{ScenarioID: id, NumGold: 1})
			} else {
				s.Rows = append(s.Rows, stats.Row{ScenarioID: id, NumGold: 1, Episode: end == 'p'})
			}
			s.Episodes = append(s.Episodes, stats.Example{Title: "eval_" + name + "/" + t.ID, Trajectory: t})
		}
		p.Systems = append(p.Systems, s)
	}
	return p
}

// What to do next follows from what was measured, and what stands in the way of all else comes first.
func TestNext(t *testing.T) {
	both := []string{"base", "model"}
	for _, c := range []struct {
		name      string
		of        map[string]string
		order     []string
		has, lack []string
	}{
		{"better", map[string]string{"base": strings.Repeat("f", 20), "model": strings.Repeat("p", 20)}, both,
			[]string{"hone serve --model 'my runs/final'"}, []string{"less often", "No clear difference"}},
		{"worse", map[string]string{"base": strings.Repeat("p", 20), "model": strings.Repeat("f", 20)}, both,
			[]string{"less often than before. task-00", "hone collect --gold --yes --dataset tasks.json"},
			[]string{"hone serve", "No clear"}},
		{"no difference", map[string]string{"base": "fpfpfpfpfpfp", "model": "pfpfpfpfpfpf"}, both,
			[]string{"No clear difference", "hone eval power x", "less often"}, []string{"hone serve"}},
		{"none does one", map[string]string{"base": "fp", "model": "fp"}, both,
			[]string{"1 scenario that no system does: does a good answer pass the checks? task-00"},
			[]string{"hone serve"}},
		{"half are lost", map[string]string{"base": "pp", "model": "pl"}, both,
			[]string{"^Find out why", "hone runs rollouts x"}, []string{"hone serve"}},
		{"one system that does nothing", map[string]string{"model": "fff"}, []string{"model"},
			[]string{"hone collect --gold"}, []string{"hone serve"}},
	} {
		p := outcomes(c.of, c.order...)
		p.Facts = []report.Fact{{Name: "dataset", Value: "tasks.json"}}
		p.Systems[len(p.Systems)-1].Model = stats.Model{Base: "b", Adapter: "my runs/final"}
		at := "^"
		for _, s := range p.Next(p.Numbers()) {
			at += s.Says + " " + s.Scenario + " " + s.Command + "\n"
		}
		for _, want := range c.has {
			if !strings.Contains(at, want) {
				t.Errorf("%s: the steps lack %q: %s", c.name, want, at)
			}
		}
		for _, not := range c.lack {
			if strings.Contains(at, not) {
				t.Errorf("%s: the steps have %q: %s", c.name, not, at)
			}
		}
	}
}
