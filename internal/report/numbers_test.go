package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/report"
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

// Every number on the page is in results.json: the page that is drawn from the file, and from episodes without their
// rows, is the same to the byte.
func TestNumbersAreInResults(t *testing.T) {
	for name, p := range map[string]report.Page{
		"sample":          sample(60),
		"several systems": many(4, 20, 3, 0),
		"lost":            lost(),
	} {
		text, err := json.Marshal(p.Numbers())
		if err != nil {
			t.Fatal(name, err)
		}
		var kept report.Numbers
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(name, err)
		}
		bare := p
		bare.Facts, bare.Notes, bare.Stages, bare.Parts, bare.TrainedOn, bare.NearTrained, bare.Bootstrap =
			nil, nil, nil, nil, nil, nil, stats.Bootstrap{}
		bare.Systems = nil
		for _, s := range p.Systems {
			x := stats.System{Name: s.Name, Episodes: s.Episodes}
			for _, r := range s.Rows {
				text := stats.Row{ScenarioID: r.ScenarioID, Kind: r.Kind} // what stands beside an episode
				x.Rows = append(x.Rows, text, text, text)                 // another number of them
			}
			bare.Systems = append(bare.Systems, x)
		}
		bare.Groups = nil
		for _, g := range p.Groups {
			g.Rewards = nil
			bare.Groups = append(bare.Groups, g)
		}
		var again bytes.Buffer
		if err := bare.WriteHTML(&again, kept); err != nil {
			t.Fatal(name, err)
		}
		if page := html(t, p); page != again.String() {
			i := 0
			for page[i] == again.String()[i] {
				i++
			}
			t.Errorf("%s: the page of the file is another one: %.200q instead of %.200q",
				name, again.String()[max(0, i-40):], page[max(0, i-40):])
		}
	}
}

// A page is whole whatever was evaluated: nothing, one system, twelve, names without end, and systems that lost all
// their episodes.
func TestAnyEvaluation(t *testing.T) {
	empty := many(2, 0, 1, 0)
	none := report.Page{Title: "none"}
	none.Systems = []stats.System{{Name: "base"}}
	for name, x := range map[string]struct {
		page report.Page
		want []string
	}{
		"no episode":   {none, []string{"No episode of base says anything about the model."}},
		"no scenarios": {empty, []string{"No episode of system-01 says anything"}},
		"one system":   {many(1, 12, 1, 0), []string{"system-00 does", "Cost and time of an episode"}},
		"twelve systems": {
			many(12, 8, 2, 0),
			[]string{
				"system-11 against system-10", "system-11 against system-00", "The other pairs",
				"pass^k", "By server", "By tools in training", "Abstention", "What the evaluation can find",
				"in 80% of evaluations like this one",
			},
		},
		"long names": {many(3, 6, 1, 900), []string{strings.Repeat("-long", 100), "system-02-long-long-…ong-long-long-long-", "Names in full"}},
		"lost": {lost(), []string{
			"Episodes in no rate", "24 of 24, 100%", "half or more are lost", "Checks that gave no verdict",
			"checks[0] (sql)", "Scenarios that no system does", "task-0003",
			"No episode of system-02 says anything about the model.", "unjudged",
		}},
	} {
		page := html(t, x.page)
		_, text, err := elements(page)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range x.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
		}
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf ") || strings.Contains(page, "%!") {
			t.Errorf("%s: a number is not one", name)
		}
	}
}

// Of several episodes of a scenario, those are looked at first that show the change: one that passed, and one that
// failed.
func TestPick(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p := report.Page{Title: "pick"}
	p.NumResamples = 10
	for name, ends := range map[string]string{"a": "011", "b": "110"} {
		s := stats.System{Name: name}
		for k, end := range ends {
			e := episode("x", "count", end == '1', 0, r)
			e.Rollout = k
			s.Rows = append(s.Rows,
				stats.Row{ScenarioID: "x", Repeat: k, Episode: end == '1' && (name == "a" || k == 0)})
			// a ledger has them as they ended
			s.Episodes = append([]stats.Example{{Title: fmt.Sprint(name, k), Trajectory: e}}, s.Episodes...)
		}
		p.Systems = append(p.Systems, s)
	}
	if p.Systems[0].Name != "a" {
		p.Systems[0], p.Systems[1] = p.Systems[1], p.Systems[0]
	}
	page := html(t, p)
	if !strings.Contains(page, `data-pick="1 5"`) || !strings.Contains(page, `data-label="a, repeat 2 ✓"`) ||
		!strings.Contains(page, `data-label="b, repeat 3 ✗"`) {
		t.Errorf("%s", page[strings.Index(page, "data-pick"):][:60])
	}
}

// Long names are cut for the eye, and no two become one.
func TestBriefNames(t *testing.T) {
	long := strings.Repeat("runs/a/", 20)
	p := many(3, 4, 1, 0)
	for i, name := range []string{long + "x", long + "y" + long, long + "z" + long} {
		p.Systems[i].Name = name
	}
	_, text, err := elements(html(t, p))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"runs/a/runs/a/runs/a…s/a/runs/a/runs/a/x", "runs/a/runs/a/runs/a…ns/a/runs/a/runs/a/ (2)", long + "y",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, long); n > 20 {
		t.Errorf("a long name is there %d times", n)
	}
}
