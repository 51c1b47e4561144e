package view

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/recipe"
)

// The tokens of an episode are the rows that training has of it, with the advantages that its group gives; what the
// step kept of them stands in their place, and an id that no vocabulary has is a number.
func TestTokensAreWhatTheStepHas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d := made(t, dir, 100)
	s := &Server{Env: job.Env{Host: quiet(t)}, Runs: []string{dir}}
	s.open()
	f := s.runs[0]
	r := rand.New(rand.NewPCG(1, 1))
	task := scenario.Scenario{ID: "odd", Task: "Odd?"}
	for k, passes := range []bool{true, false, false} {
		e := episodeOf(task, 70, k, passes, r)
		if k == 0 {
			e.Turns[0].CompletionIDs[2] = 1 << 20
			e.Turns[1].SamplerLogprobs[0] = -99
		}
		put(t, d, "grpo", 70, e)
	}
	check(t, d.Close())
	read := func() Tokens {
		x, err := s.tokens(f, "grpo/odd/70/0")
		check(t, err)
		_, err = json.Marshal(x)
		check(t, err)
		return x
	}
	found, err := f.find("grpo/odd/70/0")
	check(t, err)
	want := found.example.Trajectory.Rows()[0]
	x := read()
	got := x.Rows[0]
	if len(x.Rows) != 1 || len(got.IDs) != len(want.IDs) || x.Kept ||
		!strings.Contains(x.Note, "beyond the vocabulary") {
		t.Fatalf("%d rows, %q", len(x.Rows), x.Note)
	}
	advantage := 1.5 - 2.5/3 // rewards 1.5 0.5 0.5, centred
	at, unknown := []int{}, 0
	for i := range want.IDs {
		if got.IDs[i] != want.IDs[i] || got.Sampled[i] != want.Sampled[i] || got.Trained[i] != want.Sampled[i] ||
			want.Sampled[i] && (*got.Sampler[i] != want.Logprobs[i] || math.Abs(got.Advantage[i]-advantage) > 1e-9) {
			t.Fatalf("token %d: %d %v %v %g", i, got.IDs[i], got.Sampled[i], got.Trained[i], got.Advantage[i])
		}
		if got.Texts[i] == "" {
			unknown++
		}
		if want.Sampled[i] {
			at = append(at, i)
		}
	}
	if unknown != 1 {
		t.Errorf("%d ids have no text", unknown)
	}

	one, none := float32(1), float32(0)
	kept := recipe.RecordedRow{Length: len(want.IDs), At: at}
	for i := range at {
		trainer, entropy, weight := -float32(i), float32(i)/2, &one
		if i == 1 {
			weight = &none
		}
		kept.Trainer, kept.Entropy, kept.Weight, kept.Advantage, kept.Sampler =
			append(kept.Trainer, &trainer), append(kept.Entropy, &entropy), append(kept.Weight, weight),
			append(kept.Advantage, &one), append(kept.Sampler, &one)
	}
	check(t, records.TokensIn(dir).Keep(70, map[string][]recipe.RecordedRow{"odd/70/0": {kept}}))
	f.tell("")
	got = read().Rows[0]
	if !got.Trained[at[0]] || got.Trained[at[1]] || *got.Trainer[at[3]] != -3 || *got.Entropy[at[3]] != 1.5 ||
		got.Advantage[at[3]] != 1 || got.Trainer[0] != nil {
		t.Errorf("what the step kept is not shown: %v %v", got.Trained[at[1]], got.Trainer[at[3]])
	}
	for name, says := range map[string]string{
		"eval_base/task-00/0/0": "only those of the stage grpo",
		"grpo/odd/70/1":         "learns from it",
	} {
		x, err := s.tokens(f, name)
		check(t, err)
		if !strings.Contains(x.Learnt, says) {
			t.Errorf("%s: %q", name, x.Learnt)
		}
	}
}
