package run

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Who follows a ledger by places reads each row once, hears of scores and replacements, and of a ledger that is newer.
func TestFollowByPlaces(t *testing.T) {
	d := create(t)
	for _, id := range []string{"a", "b", "c"} {
		_, err := d.PutTrajectory(TrajectoryRow{ID: id, Stage: "grpo",
			JSON: json.RawMessage(fmt.Sprintf(`{"id":%q}`, id))})
		must(t, err)
	}
	must(t, d.PutScores([]ScoreRow{{"b", json.RawMessage(`{"reward":1}`)}}))
	l, err := LedgerOf(d.Path)
	must(t, err)
	defer l.Close()

	var seen []string
	last := int64(0)
	after := func(limit int) {
		must(t, l.EachAfter(last, limit, func(place int64, row TrajectoryRow) {
			last = place
			seen = append(seen, row.ID+string(row.Score))
		}))
	}
	after(2)
	after(2)
	after(2)
	if want := []string{"a", `b{"reward":1}`, "c"}; !slices.Equal(seen, want) {
		t.Errorf("followed %q, want %q", seen, want)
	}
	places, lastScore, err := l.ScoresAfter(0)
	must(t, err)
	if len(places) != 1 {
		t.Fatalf("scores of %v", places)
	}
	row, ok, err := l.AtPlace(places[0])
	must(t, err)
	if !ok || row.ID != "b" || string(row.Score) != `{"reward":1}` {
		t.Errorf("at its place %v, %+v", ok, row)
	}
	if _, ok, err := l.AtPlace(last + 1); ok || err != nil {
		t.Errorf("behind the last: %v, %v", ok, err)
	}

	before, version := sumsOf(t, l), versionOf(t, l)
	must(t, d.PutScores([]ScoreRow{{"c", json.RawMessage(`{"reward":2}`)}}))
	must(t, d.ReplaceTrajectory(TrajectoryRow{ID: "a", Stage: "grpo", JSON: json.RawMessage(`{"id":"a","again":1}`)}))
	if versionOf(t, l) == version {
		t.Error("the ledger was written to, and has the same version")
	}
	places, _, err = l.ScoresAfter(lastScore)
	must(t, err)
	if !slices.Equal(places, []int64{last}) {
		t.Errorf("a later score is of places %v, want %d", places, last)
	}
	now := sumsOf(t, l)
	for id, want := range map[int]bool{0: true, 1: false, 2: true} {
		if changed := now[id] != before[id]; changed != want {
			t.Errorf("trajectory %d has another sum: %v, want %v", id, changed, want)
		}
	}
	if n, err := l.NumTrajectories(); n != 3 || err != nil {
		t.Errorf("%d trajectories, %v", n, err)
	}
}

// sumsOf are the sums of each trajectory and its score, by place.
func sumsOf(t *testing.T, l *Ledger) (sums []string) {
	t.Helper()
	must(t, l.EachSum(func(_ int64, sum, score string) { sums = append(sums, sum+" "+score) }))
	return sums
}

func versionOf(t *testing.T, l *Ledger) int64 {
	t.Helper()
	v, err := l.Version()
	must(t, err)
	return v
}

// The metrics of a step that is put again keep their place and get another sum; from a place on, those behind it come.
func TestMetricsByPlace(t *testing.T) {
	d := create(t)
	sums := func() (all []string, last int64) {
		must(t, d.Ledger.EachMetricSum(func(place int64, sum string) { all, last = append(all, sum), place }))
		return all, last
	}
	for step := range 3 {
		must(t, d.PutMetric("sft", step, json.RawMessage(`{"loss":1}`)))
	}
	before, last := sums()
	must(t, d.PutMetric("sft", 0, json.RawMessage(`{"loss":2}`)))
	now, _ := sums()
	if len(now) != 3 || now[0] == before[0] || !slices.Equal(now[1:], before[1:]) {
		t.Errorf("sums %q, were %q", now, before)
	}
	rows, err := d.Ledger.MetricsFrom(last)
	must(t, err)
	if len(rows) != 1 || rows[0].Step != 2 {
		t.Errorf("from the last place on: %+v", rows)
	}
	all, err := d.Ledger.AllMetrics()
	must(t, err)
	if len(all) != 3 || string(all[0].JSON) != `{"loss":2}` {
		t.Errorf("all: %+v", all)
	}
}

// A run of a newer hone can be looked at, with a word of it, and is not written to.
func TestRunOfANewerHone(t *testing.T) {
	d := create(t)
	must(t, d.PutMetric("sft", 1, json.RawMessage(`{"loss":1}`)))
	l, err := LedgerOf(d.Path)
	must(t, err)
	if newer, err := l.Newer(); newer != "" || err != nil {
		t.Errorf("of this hone: %q, %v", newer, err)
	}
	must(t, l.Close())
	_, err = d.Ledger.db.Exec("ALTER TABLE metrics ADD COLUMN more TEXT; PRAGMA user_version = 3")
	must(t, err)
	must(t, d.Close())

	l, err = LedgerOf(d.Path)
	must(t, err)
	if newer, err := l.Newer(); !strings.Contains(newer, "its ledger has form 3, and this hone knows 2") || err != nil {
		t.Errorf("%q, %v", newer, err)
	}
	if rows, err := l.AllMetrics(); len(rows) != 1 || err != nil {
		t.Errorf("%v, %v", rows, err)
	}
	must(t, l.Close())
	text := read(t, filepath.Join(d.Path, ledgerFile))
	if _, err := Open(d.Path, OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "the ledger was written by another version of hone") {
		t.Errorf("opened: %v", err)
	}
	if read(t, filepath.Join(d.Path, ledgerFile)) != text {
		t.Error("it was written to")
	}
}
