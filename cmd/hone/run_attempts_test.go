package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/learn/sample"
	"hone/internal/mcp"
	"hone/internal/run"
	"hone/internal/toolset"
)

// summed is a source of an adapter that has a checksum.
type summed struct {
	sample.Source
	sum uint64
}

func (s summed) AdapterChecksums() ([]uint64, error) { return []uint64{s.sum}, nil }

// holding is a publisher that has published an adapter of a checksum.
func holding(t *testing.T, sum uint64) *sample.Publisher {
	t.Helper()
	p := sample.NewPublisher(summed{sum: sum})
	if err := p.Publish(); err != nil {
		t.Fatal(err)
	}
	return p
}

// A step takes the episodes of an earlier attempt only where the same adapter made them; each row says which attempt
// and which adapter that was.
func TestEpisodesOfOneAdapter(t *testing.T) {
	workFolder(t, nil)
	l := &episodes.Episodes{Set: &toolset.Set{Catalog: &mcp.Catalog{}}, Agent: episodes.Agent{Policy: holding(t, 0xa)}}
	dir, err := run.Create("out", nil, job.Begun{Verb: "train"})
	if err != nil {
		t.Fatal(err)
	}
	put := func(ids ...string) {
		t.Helper()
		for _, id := range ids {
			x := &trajectory.Trajectory{ID: id}
			if err := (records.Journal{Dir: dir, Say: t.Logf, Episodes: l}).Trajectory("grpo", 5, x); err != nil {
				t.Fatal(err)
			}
			if err := (records.Journal{Dir: dir, Say: t.Logf, Episodes: l}).Scores("grpo",
				trajectory.Group{Trajectories: []*trajectory.Trajectory{x}}, make([]trajectory.Score, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func() (ids []string) {
		t.Helper()
		ts, err := records.Journal{Dir: dir, Say: t.Logf, Episodes: l}.Trajectories("grpo", 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range ts {
			ids = append(ids, x.ID)
		}
		slices.Sort(ids)
		return ids
	}
	put("s/5/0", "s/5/1", "s/5/2")
	if err := (records.Journal{Dir: dir, Say: t.Logf, Episodes: l}).Metrics("grpo", 5,
		map[string]float64{"reward": 1}); err != nil {
		t.Fatal(err)
	}
	recorded := func() bool {
		t.Helper()
		_, ok, err := records.Journal{Dir: dir, Say: t.Logf, Episodes: l}.StepMetrics("grpo", 5)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if dir, err = run.Open("out", run.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if got := kept(); !slices.Equal(got, []string{"s/5/0", "s/5/1", "s/5/2"}) {
		t.Errorf("of the same adapter: %q", got)
	}
	if !recorded() {
		t.Error("what the same adapter was measured at is not known")
	}
	l.Policy = holding(t, 0xb) // step 4, computed again on a GPU
	if recorded() {
		t.Error("what another adapter was measured at is taken for this one's")
	}
	if got := kept(); got != nil {
		t.Errorf("of another adapter: %q", got)
	}
	put("s/5/1")
	if got := kept(); !slices.Equal(got, []string{"s/5/1"}) {
		t.Errorf("after one was made again: %q", got)
	}
	// Rows of before adapters were named by a checksum have the SHA-256 of their numbers: they are no one's, and their
	// episodes are run anew.
	old, err := json.Marshal(trajectory.Trajectory{ID: "s/5/3", Adapter: strings.Repeat("0", 63) + "b"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.PutTrajectory(run.TrajectoryRow{ID: "grpo/s/5/3", Stage: "grpo", Step: 5, JSON: old}); err != nil {
		t.Fatal(err)
	}
	if got := kept(); !slices.Equal(got, []string{"s/5/1"}) {
		t.Errorf("with a row of an older version: %q", got)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	rows := map[string]trajectory.Trajectory{}
	text, err := os.ReadFile("out/trajectories.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var x trajectory.Trajectory
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		rows[x.ID] = x
	}
	for id, want := range map[string]trajectory.Trajectory{
		"s/5/0": {Attempt: 1, Adapter: "000000000000000a"},
		"s/5/1": {Attempt: 2, Adapter: "000000000000000b"},
		"s/5/2": {Attempt: 1, Adapter: "000000000000000a"},
	} {
		if x := rows[id]; x.Attempt != want.Attempt || x.Adapter != want.Adapter {
			t.Errorf("%s is of attempt %d, adapter %q", id, x.Attempt, x.Adapter)
		}
	}
}
