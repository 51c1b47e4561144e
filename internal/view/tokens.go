package view

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/learn/batch"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/text/tokenizer"
)

// Tokens are the ids of an episode as training has them: its rows, and of each token what is known.
type Tokens struct {
	Rows []TokenRow `json:"rows"`
	Note string     `json:"note,omitempty"` // why there are no texts, or ids that the vocabulary does not have
	// Learnt says whether the episode is among what its step learns from, in words.
	Learnt string `json:"learnt"`
	Kept   bool   `json:"kept"` // Trainer and Entropy are of the step itself
}

// TokenRow is one training row. The lists have equal length.
type TokenRow struct {
	Begins    string     `json:"begins,omitempty"` // why it begins anew
	IDs       []int32    `json:"ids"`
	Texts     []string   `json:"texts"`
	Turns     []int      `json:"turns"`   // of each token
	Sampled   []bool     `json:"sampled"` // the policy wrote it
	Trained   []bool     `json:"trained"` // and the step learns from it
	Sampler   []*float32 `json:"sampler"` // logprob; null where nobody sampled
	Advantage []float64  `json:"advantage"`
	Trainer   []*float32 `json:"trainer,omitempty"` // logprob under the policy that is trained, where the run kept it
	Entropy   []*float32 `json:"entropy,omitempty"` // nats over the vocabulary, where the run kept it
}

// tokens are those of an episode, with the advantages that the configuration's rule gives its group.
func (s *Server) tokens(f *followed, name string) (out Tokens, err error) {
	found, err := f.find(name)
	if err != nil {
		return out, err
	}
	t := found.example.Trajectory
	c, err := configOf(f.Path)
	if err != nil {
		return out, err
	}
	tok, err := s.tokenizer(c)
	if err != nil {
		out.Note = "The texts of tokens are not shown, for the model's tokenizer is not there: " + err.Error()
	}
	advantages, says := f.advantages(found)
	out.Learnt = says
	out.Rows = rowsOf(t, advantages, tok, &out)
	if found.row.Stage == trainedStage {
		out.Kept = f.record(found, out.Rows)
	}
	return out, nil
}

// record puts into the rows of an episode what its step has kept of each token; false where it has kept nothing.
func (f *followed) record(of found, rows []TokenRow) bool {
	step, err := remember(f, fmt.Sprintf("tokens %d", of.row.Step), func() (map[string][]recipe.RecordedRow, error) {
		return records.TokensIn(f.Path).Of(of.row.Step)
	})
	kept := step[of.example.Trajectory.ID]
	if err != nil || len(kept) == 0 {
		return false
	}
	for i := range rows {
		r := &rows[i]
		at := slices.IndexFunc(kept, func(k recipe.RecordedRow) bool { return k.Length == len(r.IDs) })
		if at < 0 { // nothing of the row is learnt from
			r.Trained = make([]bool, len(r.IDs))
			continue
		}
		k := kept[at]
		kept = slices.Delete(slices.Clone(kept), at, at+1)
		r.Trained, r.Trainer, r.Entropy =
			make([]bool, len(r.IDs)), make([]*float32, len(r.IDs)), make([]*float32, len(r.IDs))
		for j, place := range k.At {
			r.Trained[place] = k.Weight[j] == nil || *k.Weight[j] != 0
			r.Trainer[place], r.Entropy[place] = k.Trainer[j], k.Entropy[j]
			if k.Advantage[j] != nil {
				r.Advantage[place] = float64(*k.Advantage[j])
			}
		}
	}
	return true
}

// tokenizer is the base model's; it is opened once for each model.
func (s *Server) tokenizer(c config.Config) (*tokenizer.Tokenizer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, there := s.tokenizers[c.Model.Base]; there {
		return kept, nil
	}
	text, err := basemodel.OpenText(s.Env.Host, c.Model, "")
	if err != nil {
		return nil, err
	}
	if s.tokenizers == nil {
		s.tokenizers = map[string]*tokenizer.Tokenizer{}
	}
	s.tokenizers[c.Model.Base] = text.Tokenizer
	return text.Tokenizer, nil
}

// rowsOf cuts an episode into the rows that trajectory.Rows makes of it, and says of each token what there is.
func rowsOf(t *trajectory.Trajectory, advantages []float64, tok *tokenizer.Tokenizer, out *Tokens) []TokenRow {
	rows := []TokenRow{}
	strange := false
	for i, turn := range t.Turns {
		if i == 0 || turn.Rewrite != "" {
			rows = append(rows, TokenRow{Begins: turn.Rewrite, Texts: []string{}})
		}
		r := &rows[len(rows)-1]
		advantage := 0.0
		if len(advantages) > 0 {
			advantage = advantages[min(i, len(advantages)-1)]
		}
		add := func(ids []int32, sampled bool) {
			for k, id := range ids {
				text, known := textOf(tok, id)
				strange = strange || !known && tok != nil
				r.IDs, r.Texts, r.Turns = append(r.IDs, id), append(r.Texts, text), append(r.Turns, i)
				trained := sampled && advantage != 0
				r.Sampled, r.Trained = append(r.Sampled, sampled), append(r.Trained, trained)
				var logprob *float32
				if sampled && k < len(turn.SamplerLogprobs) && !math.IsNaN(float64(turn.SamplerLogprobs[k])) &&
					!math.IsInf(float64(turn.SamplerLogprobs[k]), 0) {
					logprob = &turn.SamplerLogprobs[k]
				}
				own := 0.0
				if sampled {
					own = advantage
				}
				r.Sampler, r.Advantage = append(r.Sampler, logprob), append(r.Advantage, own)
			}
		}
		add(turn.BridgeIDs, false)
		add(turn.CompletionIDs, true)
	}
	if strange {
		out.Note = "Some ids are beyond the vocabulary of the base model, and are shown by number alone."
	}
	return rows
}

// textOf is a token's text; of bytes that are no whole character they are written as \xNN.
func textOf(tok *tokenizer.Tokenizer, id int32) (text string, known bool) {
	if tok == nil {
		return "", false
	}
	if _, known = tok.Token(id); !known {
		return "", false
	}
	if text, ok := tok.Bytes(id); ok {
		return escapeBroken(text), true
	}
	return tok.Decode([]int32{id}), true
}

// escapeBroken writes bytes that are no UTF-8 as \xNN.
func escapeBroken(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02x`, text[0])
		} else {
			out.WriteString(text[:size])
		}
		text = text[size:]
	}
	return out.String()
}

// learnt is what a step learns from each of its episodes, by the rule of the run's configuration: the advantages of its
// turns, or one for all. An episode that it does not have is not learnt from.
type learnt map[string][]float64

// trainedStage is the stage whose episodes are trained on.
const trainedStage = "grpo"

// learntAt is that of one step.
func (f *followed) learntAt(step int) (learnt, error) {
	return remember(f, fmt.Sprintf("learnt %d", step), func() (learnt, error) {
		c, err := configOf(f.Path)
		if err != nil {
			return nil, err
		}
		var groups []trajectory.Group
		var names [][]string // of the members of each
		place := map[string]int{}
		err = records.ReadLedger(f.Path, func(l *run.Ledger) error {
			rows, err := l.Trajectories(trainedStage, step)
			for _, row := range rows {
				t := &trajectory.Trajectory{}
				if row.Score == nil || row.Decode(t) != nil || !t.Outcome.Trainable() {
					continue
				}
				i, known := place[t.ScenarioID]
				if !known {
					i = len(groups)
					place[t.ScenarioID] = i
					groups, names = append(groups, trajectory.Group{ScenarioID: t.ScenarioID}), append(names, nil)
				}
				groups[i].Trajectories, names[i] = append(groups[i].Trajectories, t), append(names[i], row.ID)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		out := learnt{}
		advantages := job.GRPOOf(c, 0).Advantage.Of(batch.Compare(groups).Groups)
		for i := range groups {
			if len(names[i]) < 2 { // nothing to compare
				continue
			}
			for j, name := range names[i] {
				out[name] = advantages[0][j]
			}
			advantages = advantages[1:]
		}
		return out, nil
	})
}

// advantages are those of an episode, none where it is not learnt from, and why.
func (f *followed) advantages(of found) (list []float64, says string) {
	t := of.example.Trajectory
	switch {
	case of.row.Stage != trainedStage:
		return nil, "Nothing is learnt from this episode: only those of the stage grpo are trained on."
	case of.row.Score == nil:
		return nil, "It has no score yet, so nothing is known of what will be learnt from it."
	case !t.Outcome.Trainable():
		return nil, "Nothing is learnt from this episode: how it ended is not the policy's doing."
	}
	step, err := f.learntAt(of.row.Step)
	if err != nil {
		return nil, err.Error()
	}
	list, compared := step[of.row.ID]
	if !compared {
		return nil, "Nothing is learnt from this episode: its group has no other to compare it with."
	}
	for _, x := range list {
		if x != 0 {
			return list, "The step learns from it: each sampled token has the advantage shown."
		}
	}
	return list, "Nothing is learnt from this episode: its advantage is 0, as where all of its group earn the same."
}

// catalogFile is where a run keeps the tools of its servers.
func catalogFile(path string) string { return filepath.Join(path, job.CatalogFile) }
