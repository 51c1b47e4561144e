package mcpbench

import (
	"encoding/json"
	"errors"
	"io"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Weights are what a reward is a mean by: of the closed rates of an episode.
type Weights struct{ ValidToolName, SchemaCompliance, ExecutionSuccess float64 }

// Score is the mean of the rates that are defined, 0 to 1. Where none is, no call was due and none was made: that is 1.
// A failed call lowers it, after a gold call too: an agent that tries on may lose by it.
func (w Weights) Score(r Rates) float64 {
	sum, of := 0.0, 0.0
	for _, x := range []struct {
		rate   *float64
		weight float64
	}{
		{r.ValidToolName, w.ValidToolName},
		{r.SchemaCompliance, w.SchemaCompliance},
		{r.ExecutionSuccess, w.ExecutionSuccess},
	} {
		if x.rate != nil {
			sum, of = sum+*x.rate*x.weight, of+x.weight
		}
	}
	if of == 0 {
		return 1
	}
	return sum / of
}

// Reward scores groups of episodes as the configuration's rewards.program wants it: for {"scenario", "trajectories"} it
// writes a list of scores, and where the group has an "id", as a worker's has, {"id", "scores"} on a line. It ends with
// in.
func (t Tools) Reward(in io.Reader, out io.Writer, w Weights, refused func(text string) string) error {
	groups, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var g struct {
			ID           json.RawMessage          `json:"id"`
			Scenario     *scenario.Scenario       `json:"scenario"`
			Trajectories []*trajectory.Trajectory `json:"trajectories"`
		}
		if err := groups.Decode(&g); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		scores := []float64{}
		for _, episode := range g.Trajectories {
			scores = append(scores, w.Score(t.ClosedRates(LogOf(episode, g.Scenario, refused))))
		}
		var answer any = scores
		if g.ID != nil {
			answer = map[string]any{"id": g.ID, "scores": scores}
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}
