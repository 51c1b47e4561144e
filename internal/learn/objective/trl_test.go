package objective

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// trl is testdata/reference/trl.json, which make_trl.py writes.
type trl struct {
	Size    int
	Length  int
	Terms   map[string]float64
	Batches []trlBatch
}

// trlBatch has for each of its episodes scores of the terms a, b and c, and for each token what make_trl.py's batch
// has.
type trlBatch struct {
	Scores                       [][]*float64
	Mask, Completion             [][]float64
	New, Old, Sampler, Reference [][]float64
	Entropy                      [][]float64
	Advantages                   map[batch.Advantage][]float64
	Losses                       []trlLoss
}

type trlLoss struct {
	Loss     float64
	Gradient [][]float64
	// ByEntropy are the derivatives by the entropies, where there is a bonus for them.
	ByEntropy [][]float64 `json:"by_entropy"`
	// MeanEntropy is what TRL adapts such a bonus by.
	MeanEntropy float64 `json:"mean_entropy"`
	Settings    struct {
		Loss       batch.Loss
		Low, High  *float64
		Dual       float64
		Beta       float64
		Estimator  batch.Estimator
		Gradient   batch.Gradient
		OffPolicy  float64 `json:"off_policy"`
		Entropy    float64
		TopEntropy float64 `json:"top_entropy"`
		Correction *struct {
			Level     batch.Level
			Mode      batch.Mode
			Low, High float64
		}
	}
}

func (l trlLoss) objective() batch.Objective {
	s := l.Settings
	o := batch.Objective{Loss: s.Loss, Clip: batch.Clip{Low: 0.2, High: 0.28, Dual: s.Dual}, OffPolicy: s.OffPolicy,
		KL: batch.KL{Beta: s.Beta, Estimator: s.Estimator, Gradient: s.Gradient}, Bonus: batch.Bonus{On: s.Entropy > 0,
			Coefficient: s.Entropy}}
	if s.Low != nil {
		o.Clip.Low = *s.Low
	}
	if s.High != nil {
		o.Clip.High = *s.High
	}
	return o
}

func read(t *testing.T) (g trl) {
	text, err := os.ReadFile("../../../testdata/reference/trl.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil || len(g.Batches) == 0 {
		t.Fatalf("%d batches, %v", len(g.Batches), err)
	}
	return g
}

// groups makes trajectories of a batch, whose tokens' ids are their places. Tokens that are masked stand where tool
// results do.
func (g trl) groups(b trlBatch) (groups []trajectory.Group) {
	for i, mask := range b.Mask {
		x := &trajectory.Trajectory{Outcome: trajectory.OK,
			Turns: []trajectory.Turn{{BridgeIDs: []int32{-1, int32(-2 - i)}}}}
		for k, name := range []string{"a", "b", "c"} {
			if s := b.Scores[i][k]; s != nil {
				x.Terms = append(x.Terms, trajectory.Term{Name: name, Score: *s, Weight: g.Terms[name]})
				x.Reward += *s * g.Terms[name]
			}
		}
		for at, sampled := range mask {
			last := &x.Turns[len(x.Turns)-1]
			switch {
			case b.Completion[i][at] == 0:
			case sampled == 1:
				last.CompletionIDs, last.SamplerLogprobs =
					append(last.CompletionIDs, int32(at)), append(last.SamplerLogprobs, float32(b.Sampler[i][at]))
			case len(last.CompletionIDs) > 0:
				x.Turns = append(x.Turns, trajectory.Turn{BridgeIDs: []int32{int32(at)}})
			default:
				last.BridgeIDs = append(last.BridgeIDs, int32(at))
			}
		}
		if i%g.Size == 0 {
			groups = append(groups, trajectory.Group{})
		}
		of := &groups[len(groups)-1]
		of.Trajectories = append(of.Trajectories, x)
	}
	return groups
}

// Advantages are TRL's: GRPO's three scalings, its sum of normalised terms, and RLOO's.
func TestAdvantagesAreTRLs(t *testing.T) {
	g := read(t)
	for number, b := range g.Batches {
		var earned []batch.Earned
		for _, group := range g.groups(b) {
			var e batch.Earned
			for _, x := range group.Trajectories {
				e.Rewards, e.Terms = append(e.Rewards, x.Reward), append(e.Terms, x.Terms)
			}
			earned = append(earned, e)
		}
		for _, a := range []batch.Advantage{
			batch.AdvantageGroup, batch.AdvantageCentred, batch.AdvantageLeaveOneOut, batch.AdvantageBatch,
			batch.AdvantagePerTerm,
		} {
			if len(b.Advantages[a]) != len(b.Mask) {
				t.Fatalf("TRL has no advantages %s", a)
			}
			for i, of := range a.Of(earned) {
				for j, got := range of {
					if want := b.Advantages[a][i*g.Size+j]; !(math.Abs(got-want) < 1e-6) {
						t.Errorf("batch %d, %s: episode %d of group %d has %g, TRL gives it %g",
							number, a, j, i, got, want)
					}
				}
			}
		}
	}
}

// Losses of whole batches and their gradients by each logprob are TRL's: episodes become rows with advantages and
// weights, are corrected, and have the objective's loss.
func TestLossesAreTRLs(t *testing.T) {
	g := read(t)
	seen, chosen, bonuses := map[batch.Loss]int{}, map[batch.Loss]int{}, map[batch.Loss]int{}
	for number, b := range g.Batches {
		for _, l := range b.Losses {
			seen[l.Settings.Loss]++
			if l.Settings.TopEntropy > 0 {
				chosen[l.Settings.Loss]++
			}
			loss, gradient, byEntropy, meanEntropy := g.step(t, b, l)
			if !(math.Abs(meanEntropy-l.MeanEntropy) < 1e-6) {
				t.Errorf("batch %d, %+v: the bonus is of a mean entropy of %.9g, TRL's of %.9g",
					number, l.Settings, meanEntropy, l.MeanEntropy)
			}
			if !(math.Abs(loss-l.Loss) < 1e-6) {
				t.Errorf("batch %d, %+v: loss %.9g, TRL has %.9g", number, l.Settings, loss, l.Loss)
			}
			for i, row := range l.ByEntropy {
				bonuses[l.Settings.Loss]++
				for at, want := range row {
					if !(math.Abs(byEntropy[i][at]-want) < 1e-6) {
						t.Errorf("batch %d, %+v: derivative by the entropy of token %d of episode %d is %.9g, "+
							"TRL has %.9g", number, l.Settings, at, i, byEntropy[i][at], want)
					}
				}
			}
			for i, row := range l.Gradient {
				for at, want := range row {
					if !(math.Abs(gradient[i][at]-want) < 1e-6) {
						t.Errorf("batch %d, %+v: derivative by token %d of episode %d is %.9g, TRL has %.9g",
							number, l.Settings, at, i, gradient[i][at], want)
					}
				}
			}
		}
	}
	for _, loss := range []batch.Loss{batch.LossDAPO, batch.LossGRPO, batch.LossBNPO, batch.LossDrGRPO, batch.LossGSPO,
		batch.LossCISPO} { // that TRL has
		if seen[loss] < len(g.Batches) || loss != batch.LossBNPO && chosen[loss] < len(g.Batches) ||
			bonuses[loss] == 0 {
			t.Errorf("%s is not compared", loss)
		}
	}
}

// step is the loss of a batch, its derivatives by the logprob and the entropy of each token of each episode, and the
// mean entropy that its bonus is of, as a step takes them, but in float64.
func (g trl) step(
	t *testing.T, b trlBatch, l trlLoss,
) (loss float64, gradient, byEntropy [][]float64, meanEntropy float64) {
	o := l.objective()
	compared := batch.Compare(g.groups(b))
	rows := compared.Rows(batch.Advantages{}.Of(compared.Groups), batch.Options{Reduction: o.Loss.Reduction(),
		Length: g.Length, KeepAlike: o.KL.Beta > 0 || o.Bonus.On || l.Settings.TopEntropy > 0})
	of := func(values [][]float64) (lists [][]float32) {
		for _, r := range rows.Rows {
			list := make([]float32, len(r.IDs))
			for at, yes := range r.Trained {
				if yes {
					list[at] = float32(values[r.Episode][r.IDs[at]])
				}
			}
			lists = append(lists, list)
		}
		return lists
	}
	if c := l.Settings.Correction; c != nil {
		var err error
		if rows, _, err = rows.Correct(batch.Correction{Level: c.Level, Mode: c.Mode, Low: c.Low, High: c.High},
			of(b.Old)); err != nil {
			t.Fatal(err)
		}
	}
	rows = rows.With(batch.ColumnReferenceLogprobs, of(b.Reference))
	if share := l.Settings.TopEntropy; share > 0 {
		var err error
		if rows, err = rows.TopEntropy(of(b.Entropy), share); err != nil {
			t.Fatal(err)
		}
		if o.KL.Beta == 0 && !o.Bonus.On {
			rows = rows.WithAdvantage()
		}
	}
	if o.Bonus.On {
		rows = rows.Exploring()
	}
	reference, err := Of(o)
	if err != nil {
		t.Fatal(err)
	}
	gradient, byEntropy = make([][]float64, len(b.Mask)), make([][]float64, len(b.Mask))
	for i := range gradient {
		gradient[i], byEntropy[i] = make([]float64, len(b.Mask[i])), make([]float64, len(b.Mask[i]))
	}
	for _, r := range rows.Rows {
		x, places := Row{Columns: make([][]float64, len(reference.Columns()))}, []int32{}
		for at, yes := range r.Trained {
			if !yes {
				continue
			}
			weight := 1 / float64(rows.Normaliser)
			if r.Weights != nil {
				weight *= float64(r.Weights[at])
			}
			places = append(places, r.IDs[at])
			x.Logprobs, x.Weights = append(x.Logprobs, b.New[r.Episode][r.IDs[at]]), append(x.Weights, weight)
			x.Entropies = append(x.Entropies, b.Entropy[r.Episode][r.IDs[at]])
			for i, c := range reference.Columns() {
				x.Columns[i] = append(x.Columns[i], float64(r.Column(c)[at]))
			}
		}
		part, slopes := reference.Reference(x)
		loss += part
		for k, at := range places {
			gradient[r.Episode][at] = slopes[k]
			if o.Bonus.On {
				of := x.Weights[k] * x.Columns[len(x.Columns)-1][k]
				byEntropy[r.Episode][at], meanEntropy = -o.Bonus.Coefficient*of, meanEntropy+of*x.Entropies[k]
			}
		}
	}
	return loss, gradient, byEntropy, meanEntropy
}
