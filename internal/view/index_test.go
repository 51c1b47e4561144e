package view

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/run"
)

// followedRun is a made run with a reader of its ledger.
func followedRun(t *testing.T, n int) (d *run.Dir, l *run.Ledger) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	d = made(t, dir, n)
	l, err := run.LedgerOf(dir)
	check(t, err)
	t.Cleanup(func() {
		_ = l.Close()
		_ = d.Close()
	})
	return d, l
}

func read(t *testing.T, x *Index, l *run.Ledger) bool {
	t.Helper()
	changed, err := x.read(l, func() {})
	check(t, err)
	return changed
}

// A page that asks for what is new gets each row once, and again only what was scored or replaced since.
func TestIndexFollowsALedger(t *testing.T) {
	d, l := followedRun(t, 120)
	x := &Index{}
	if !read(t, x, l) || read(t, x, l) {
		t.Fatal("a ledger that stays is read again")
	}
	check(t, x.compare(l))
	page := x.Since(0, 1000, Known{})
	if len(page.N) != 120 || page.Total != 120 || !page.Whole || page.More || slices.Contains(page.Reward, nil) {
		t.Fatalf("%d rows of %d", len(page.N), page.Total)
	}
	seq, known := page.Seq, Known{len(page.Stages), len(page.Scenarios), len(page.Outcomes), len(page.Stops),
		len(page.Tools), len(page.TermNames)}

	e := episodeOf(scenario.Scenario{ID: "new", Task: "What is new?"}, 99, 0, true, rand.New(rand.NewPCG(1, 1)))
	text, err := json.Marshal(e)
	check(t, err)
	_, err = d.PutTrajectory(run.TrajectoryRow{ID: "grpo/new/99/0", Stage: "grpo", Step: 99, JSON: text})
	check(t, err)
	read(t, x, l)
	page = x.Since(seq, 1000, known)
	if !slices.Equal(page.N, []int{120}) || page.Reward[0] != nil || !slices.Equal(page.Scenarios, []string{"new"}) ||
		len(page.Stages) > 0 {
		t.Fatalf("a row that was put: %+v", page)
	}
	seq = page.Seq

	_, err = d.Ledger.PutScores([]run.ScoreRow{
		{ID: "grpo/new/99/0", JSON: []byte(`{"reward":0.75,"terms":[{"name":"checks","score":1,"weight":1}]}`)},
	})
	check(t, err)
	read(t, x, l)
	page = x.Since(seq, 1000, known)
	if !slices.Equal(page.N, []int{120}) || page.Reward[0] == nil || *page.Reward[0] != 0.75 ||
		page.Passed[0] != passed {
		t.Fatalf("a row that was scored: %+v", page)
	}
	seq = page.Seq

	check(t, x.compare(l))
	for _, reward := range []float64{-1, -2} {
		_, err = d.Ledger.PutScores([]run.ScoreRow{
			{ID: "grpo/new/99/0", JSON: []byte(fmt.Sprintf(`{"reward":%g}`, reward))},
		})
		check(t, err)
		if read(t, x, l) {
			t.Error("a score in the place of another is new to who looks behind the last one")
		}
		check(t, x.compare(l))
		if page = x.Since(seq, 1000, known); !slices.Equal(page.N, []int{120}) || *page.Reward[0] != reward {
			t.Fatalf("a row that was scored again: %+v", page)
		}
		seq = page.Seq
	}
}

// Pages of rows have all of them, each in the page that its change is in.
func TestIndexInPages(t *testing.T) {
	_, l := followedRun(t, 130)
	x := &Index{}
	read(t, x, l)
	seen := map[int]bool{}
	for seq, more := int64(0), true; more; {
		page := x.Since(seq, 40, Known{})
		for _, n := range page.N {
			if seen[n] {
				t.Fatalf("row %d is in two pages", n)
			}
			seen[n] = true
		}
		seq, more = page.Seq, page.More
	}
	if len(seen) != 130 {
		t.Errorf("%d rows", len(seen))
	}
}

// A row that cannot be read is one in the list, which says why; the others are there.
func TestIndexMarksABadRow(t *testing.T) {
	d, l := followedRun(t, 90)
	db, err := sql.Open("sqlite", filepath.Join(d.Path, "ledger.db"))
	check(t, err)
	defer db.Close()
	_, err = db.Exec(`UPDATE trajectories SET json = substr(json, 1, 100) WHERE rowid = 7`)
	check(t, err)
	x := &Index{}
	read(t, x, l)
	page := x.Since(0, 1000, Known{})
	if len(page.N) != 90 || len(page.Bad) != 1 || page.Bad[0].N != 6 ||
		!strings.Contains(page.Bad[0].Why, "cannot be read") || page.Outcomes[page.Outcome[6]] != "unreadable" {
		t.Errorf("%d rows, bad %+v", len(page.N), page.Bad)
	}
}

// The index says of a trajectory what the trajectory says.
func TestRowIsTheTrajectorys(t *testing.T) {
	_, l := followedRun(t, 120)
	x := &Index{}
	read(t, x, l)
	n := 0
	check(t, l.Each(func(row run.TrajectoryRow) error {
		var e trajectory.Trajectory
		check(t, row.Decode(&e))
		r := x.rows[n]
		_, written := e.NumTokens()
		wrong := 0
		for _, c := range e.Calls() {
			if c.Status != trajectory.CallOK {
				wrong++
			}
		}
		if r.id != row.ID || x.scenarios.names[r.scenario] != e.ScenarioID ||
			x.outcomes.names[r.outcome] != string(e.Outcome) || r.reward != e.Reward || r.turns != len(e.Turns) ||
			r.tokens != written || r.calls != len(e.Calls()) || r.errors != wrong || len(r.terms) != len(e.Terms) ||
			(r.passed == passed) != (e.Terms[0].Score == 1) || r.rollout != e.Rollout {
			t.Fatalf("%s: %+v", row.ID, r)
		}
		n++
		return nil
	}))
	if n != 120 || x.usage()["count"].calls != 120 {
		t.Errorf("%d rows, %+v", n, x.usage()["count"])
	}
	for text, want := range map[string]int{"INSECT TASK-07 ladder": 5, "no such words": 0} {
		if got := x.Search(text); len(got) != want {
			t.Errorf("%q is in %v, want %d rows", text, got, want)
		}
	}
}

// A link to a group opens as well before the rows are read as behind it: the ledger and the index name the same
// attempts.
func TestAttemptsBeforeAndBehindTheIndex(t *testing.T) {
	_, l := followedRun(t, 240)
	x := &Index{}
	if names, whole := x.attempts("grpo", 2, "task-05"); len(names) > 0 || whole {
		t.Errorf("an index that nothing was read into has %q", names)
	}
	read(t, x, l)
	for step, scenario := range map[int]string{2: "task-05", 3: "task-06", 4: "none", 5000: "task-05"} {
		names, whole := x.attempts("grpo", step, scenario)
		ledgers, err := attemptsIn(l, "grpo", step, scenario)
		check(t, err)
		if !whole || !slices.Equal(names, ledgers) || (len(names) == groupSize) != (step < 4) {
			t.Errorf("step %d, %s: %q in the index, %q in the ledger", step, scenario, names, ledgers)
		}
	}
}

// The first screen does not wait for trajectories: who asks of metrics alone does not begin to read rows.
func TestOverviewReadsNoRows(t *testing.T) {
	d, _ := followedRun(t, 120)
	s := &Server{Env: job.Env{Host: quiet(t)}, Runs: []string{d.Path}}
	s.open()
	handler, err := s.handler(t.Context())
	if err != nil {
		t.Skip(err) // the page is not built
	}
	for _, ask := range []struct {
		path  string
		reads bool
	}{{"runs", false}, {"overview?run=run", false}, {"series?run=run&stage=grpo", false}, {"rows?run=run", true}} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest("GET", "/api/"+ask.path, nil))
		reads := true
		s.runs[0].once.Do(func() { reads = false })
		s.runs[0].once = sync.Once{}
		if answer.Code != http.StatusOK || reads != ask.reads {
			t.Errorf("%s: %d %s; it reads rows: %v", ask.path, answer.Code, answer.Body, reads)
		}
	}
}
