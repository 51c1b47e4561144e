package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/run/report"
)

// many is a page of so many systems on n scenarios, each with k repeats; names of them are as long as size asks.
func many(systems, n, k, size int) report.Page {
	r := rand.New(rand.NewPCG(9, 9))
	p := report.Page{Title: "eval-20261122", Verb: "hone eval", Facts: []report.Fact{{Name: "split", Value: "test"}}}
	p.NumResamples = 200
	tools := []string{"convert_time", "get_current_time", "search_flights", "book", "cancel_reservation"}
	for i := range systems {
		s := stats.System{Name: (fmt.Sprintf("system-%02d", i) + strings.Repeat("-long", size))[:max(9, size)],
			Excluded: map[trajectory.Outcome]int{}}
		for j := range n {
			for repeat := range k {
				id := fmt.Sprintf("task-%04d", j)
				passed := r.Float64() < 0.15+0.7*float64(i+1)/float64(systems)-0.25*float64(j%5)/5
				t := episode(id, "count", passed, 0, r)
				t.ID, t.Rollout = fmt.Sprintf("%s/0/%d", id, repeat), repeat
				seen := j%2 == 0
				cost := 0.001 * r.Float64()
				s.Rows = append(s.Rows, stats.Row{
					ScenarioID: id, Repeat: repeat, Kind: []string{"time", "travel"}[j%2], Difficulty: []string{"easy",
						"hard"}[j%3/2], Tools: tools[j%5 : j%5+1],
					Servers: []string{"clock", "airline"}[j%2 : j%2+1], SeenTools: &seen, FirstCall: passed,
					Episode: passed, NumGold: 1, NumTurns: 2 + r.IntN(3), NumCalls: 1 + r.IntN(3), NumRecoverable: 1,
					NumRecovered: r.IntN(2), NoTool: j%7 == 0, Abstained: passed, NumPromptTokens: 400 + r.IntN(200),
					NumCompletionTokens: 20 + r.IntN(60), Reward: t.Reward, Seconds: t.Seconds,
					ModelSeconds: t.Seconds * 0.8, ToolSeconds: t.Seconds * 0.1, Cost: &cost,
				})
				s.Episodes = append(s.Episodes, stats.Example{Title: "eval_" + s.Name + "/" + t.ID, Trajectory: t})
			}
		}
		p.Systems = append(p.Systems, s)
	}
	return p
}

// lost has a system whose episodes all ended by a server's fault, a check that gave no verdict, and a scenario that
// nobody does.
func lost() report.Page {
	p := many(3, 12, 2, 0)
	gone := &p.Systems[2]
	gone.Excluded[trajectory.EnvironmentError] = len(gone.Rows)
	gone.Lost, gone.Rows = gone.Rows, nil
	for i := range gone.Lost {
		gone.Lost[i].Outcome, gone.Lost[i].Episode = trajectory.EnvironmentError, false
		gone.Episodes[i].Trajectory.Outcome = trajectory.EnvironmentError
	}
	base := &p.Systems[0]
	blind := base.Rows[0]
	blind.Outcome, blind.ChecksFailedToRun = stats.Unjudged, []string{"checks[0] (sql)"}
	base.Rows, base.Lost, base.Excluded =
		base.Rows[1:], []stats.Row{blind}, map[trajectory.Outcome]int{stats.Unjudged: 1}
	for _, s := range []*stats.System{base, &p.Systems[1]} {
		for i, r := range s.Rows {
			if r.ScenarioID == "task-0003" {
				s.Rows[i].Episode = false
			}
		}
	}
	return p
}

// The numbers of any evaluation are JSON, the same when they are read back: of nothing, of one system, of twelve, of
// systems that lost all their episodes.
func TestNumbersAreInResults(t *testing.T) {
	none := report.Page{Title: "none"}
	none.Systems = []stats.System{{Name: "base"}}
	for name, p := range map[string]report.Page{
		"sample": sample(60), "several systems": many(4, 20, 3, 0), "twelve": many(12, 8, 2, 0), "lost": lost(),
		"long names": many(3, 6, 1, 900), "no scenarios": many(2, 0, 1, 0), "no episode": none, "nothing": {},
	} {
		dir := t.TempDir()
		if err := p.Numbers().Write(dir); err != nil {
			t.Fatal(name, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, report.ResultsFile))
		if err != nil {
			t.Fatal(name, err)
		}
		var kept report.Numbers
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(name, err)
		}
		again, err := json.MarshalIndent(kept, "", "  ")
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s: %v, the numbers that are read back are others", name, err)
		}
		if got := p.Next(kept); name == "nothing" && len(got) > 0 {
			t.Errorf("nothing was evaluated, and %v is to be done", got)
		}
	}
}
