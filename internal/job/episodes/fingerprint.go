package episodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/episode/policy"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/recipe"
)

// FingerprintFile is the file of an adapter folder that remembers what the trained policy says behind the beginnings of
// a text.
const FingerprintFile = "fingerprint.json"

// fingerprint is what the policy gives to the tokens of a text, which tells it from others by most, and the likeliest
// next tokens behind some of its beginnings, for servers that do not tell how they score a text. Logprobs are natural.
type fingerprint struct {
	Text      []int32   `json:"text"`            // ids
	Given     []float32 `json:"given,omitempty"` // logprobs of its ids but for the first, as many as there was room for
	At        []int     `json:"at"`              // of how many of them
	Likeliest []int32   `json:"likeliest"`       // next id
	Logprobs  []float32 `json:"logprobs"`
}

// fingerprintText is nobody's prompt: the folder may be pushed, and a run's own prompts may be private.
const fingerprintText = `The harbour master keeps a list of all boats in a table with the columns name, owner, length and berth. Every evening he counts them, and
writes the number into a book. On 14 March the list had 27 boats, of which 9 were longer than 12 metres. {"name": "find_boat", "arguments": {"owner": "Marta Lind",
"min_length": 12}} returned [{"name": "Gull", "berth": "B4"}, {"name": "North Star", "berth": "C11"}]. So the answer to her question is that two of her boats are in
the harbour: the Gull at berth B4 and the North Star at berth C11. def total(prices): return sum(p for p in prices if p > 0)`

// Each fingerprintEvery tokens of the text, at most fingerprintMost times, one token is asked for; of fewer than
// fingerprintLeast answers no mean is made.
const fingerprintEvery, fingerprintMost, fingerprintLeast = 8, 16, 8

// givenLeast is of how many given tokens a mean is made at least. With that many it needs no slack beside the bound on
// a step's: over the text bfloat16 is a ninth of the default bound (docs/log).
const givenLeast = 32

// remember writes the fingerprint of the policy that the run ends with, which its last stage left published: as the
// trainer scores the text, and as the sampler goes on. A run without one has trained all the same.
func (l *Agent) remember(ctx context.Context, h *host.Host, dir string) {
	f, err := l.fingerprint(ctx, l.Model.Text.Tokenizer.EncodeOrdinary(fingerprintText))
	if err == nil && len(f.At) < fingerprintLeast {
		err = fmt.Errorf("%d tokens of the text fit", len(f.At))
	}
	if err == nil {
		if f.Given, err = l.given(ctx, f.Text); err != nil && ctx.Err() == nil {
			h.Say("%s of %s has no logprobs of its text, so evaluations by a server compare likeliest tokens alone: %v",
				FingerprintFile, dir, err)
			err = nil
		}
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(f)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, FingerprintFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		h.Say("%s has no %s, so evaluations by a server cannot tell whether it holds the same base model: %v",
			dir, FingerprintFile, err)
	}
}

// given are the logprobs of a text's ids but for the first, as the trainer computes them, of as many as an episode has
// room for.
func (l *Agent) given(ctx context.Context, text []int32) ([]float32, error) {
	if l.Room > 0 {
		text = text[:min(len(text), l.Room)]
	}
	scores, err := l.Trainer.Steps.Score(ctx,
		batch.New([]batch.Sequence{{IDs: text, Trained: slices.Repeat([]bool{true}, len(text))}}), 1)
	if err != nil {
		return nil, err
	}
	return scores[0][1:], nil
}

// fingerprint asks the sampler. Beginnings for which it has no room are left out.
func (l *Agent) fingerprint(ctx context.Context, text []int32) (f fingerprint, err error) {
	var at []int
	for n := fingerprintEvery; n <= len(text) && len(at) < fingerprintMost; n += fingerprintEvery {
		at = append(at, n)
	}
	return l.likeliest(ctx, text, at)
}

// likeliest asks one slot, beginning by beginning: each goes on from the one before, which the slot still holds.
func (l *Agent) likeliest(ctx context.Context, text []int32, at []int) (f fingerprint, err error) {
	f.Text = text
	for _, n := range at {
		c, err := l.Speaker.Sample(ctx, policy.Request{Prompt: text[:n], Sampling: policy.Sampling{MaxTokens: 1}})
		if _, long := errors.AsType[*policy.ContextError](err); long {
			break
		}
		if err != nil {
			return f, err
		}
		f.At, f.Likeliest, f.Logprobs =
			append(f.At, n), append(f.Likeliest, c.IDs[0]), append(f.Logprobs, c.SamplerLogprobs[0])
	}
	return f, nil
}

// compare holds a server that was given the adapter in a folder to the folder's fingerprint. Where there is none
// nothing is asked, and that is said.
func (a *away) compare(l *Agent, folder string) error {
	path := filepath.Join(folder, FingerprintFile)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		a.say("%s has no %s: whether %s holds the base model that it was trained on is not compared",
			folder, FingerprintFile, a.settings.URL)
		return nil
	}
	var f fingerprint
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err == nil {
		err = f.check(l.Model.Spec.VocabSize)
	}
	if err != nil {
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  "the adapter's fingerprint cannot be read",
			Where: path,
			Err:   err,
			Next:  "bring the file back from where the adapter came, or take it away: then nothing is compared",
		}
	}
	if done, err := a.compareLogprobs(f, folder); done || err != nil {
		return err
	}
	there, err := l.likeliest(a.ctx, f.Text, f.At)
	if err != nil {
		return err
	}
	apart := f.mismatches(there)
	if len(apart) < fingerprintLeast {
		a.say("%s has no room for the text of %s: whether it holds the base model that %s was trained on is "+
			"not compared", a.settings.URL, path, folder)
		return nil
	}
	bound := recipe.ProbeBound(a.settings.MaxMismatch)
	mean, near := recipe.Near(apart, bound)
	if near {
		a.say("%s was compared with %s by %d likeliest tokens alone, a weak check that sees a model of much "+
			"difference: the logprobs of a text, which see more, are not told or not remembered",
			a.settings.URL, folder, len(apart))
		return nil
	}
	worst := slices.Index(apart, slices.Max(apart))
	return a.another(
		folder, fmt.Sprintf("behind %d beginnings of a text the likeliest token's mean mismatch KL, "+
			"without the farthest, is %.2g nats, and the bound is %.2g (sampler.max_mismatch, for a few tokens); "+
			"farthest is the one behind %d tokens: id %d with a logprob of %.4f when it was trained, "+
			"id %d with %.4f at the server",
			len(apart), mean, bound, f.At[worst], f.Likeliest[worst], f.Logprobs[worst], there.Likeliest[worst],
			there.Logprobs[worst]),
	)
}

// compareLogprobs compares what the policy gave to the text's tokens with what the server gives them, in one request.
// It is not done where either does not tell.
func (a *away) compareLogprobs(f fingerprint, folder string) (done bool, err error) {
	if len(f.Given) < givenLeast {
		return false, nil
	}
	there, err := a.PromptLogprobs(a.ctx, f.Text[:len(f.Given)+1])
	if err != nil || len(there) < givenLeast {
		return false, err
	}
	apart, worst := make([]float64, len(there)), 0
	for i, p := range there {
		if apart[i] = recipe.Mismatch(float64(p) - float64(f.Given[i])); apart[i] > apart[worst] {
			worst = i
		}
	}
	mean, near := recipe.Near(apart, a.settings.MaxMismatch)
	if near {
		return true, nil
	}
	return true, a.another(
		folder, fmt.Sprintf("over %d tokens of a given text the mean mismatch KL, without the farthest, "+
			"is %.2g nats, and the bound is %.2g (sampler.max_mismatch); farthest is token %d, id %d: "+
			"a logprob of %.4f when it was trained, of %.4f at the server",
			len(apart), mean, a.settings.MaxMismatch, worst+1, f.Text[worst+1], f.Given[worst], there[worst]),
	)
}

// another is the error of a server that computes with other weights.
func (a *away) another(folder, why string) error {
	return &fault.Error{Code: fault.CodeError, What: "the server does not hold the policy that was trained",
		Where: a.settings.URL, Why: why, Next: "have it serve the base model that " + folder +
			" was trained on, unquantised and in a like dtype, and apply the adapter to all of its target modules"}
}

// check refuses what is no fingerprint of a model.
func (f fingerprint) check(vocabulary int) error {
	if len(f.At) != len(f.Likeliest) || len(f.At) != len(f.Logprobs) || len(f.At) < fingerprintLeast {
		return fmt.Errorf("it has %d places, %d ids and %d logprobs", len(f.At), len(f.Likeliest), len(f.Logprobs))
	}
	if len(f.Given) > 0 && len(f.Given) >= len(f.Text) {
		return fmt.Errorf("it has %d logprobs of %d ids", len(f.Given), len(f.Text))
	}
	for _, n := range f.At {
		if n < 1 || n > len(f.Text) {
			return fmt.Errorf("it has a place at %d of %d ids", n, len(f.Text))
		}
	}
	for _, id := range f.Text {
		if id < 0 || int(id) >= vocabulary {
			return fmt.Errorf("it has the id %d, and the vocabulary has %d", id, vocabulary)
		}
	}
	return nil
}

// mismatches are, for each beginning that the server had room for, which are the first ones, how far at least its
// likeliest token's logprob is from the one remembered, as the k3 estimate of recipe.Parity. Where another token is the
// likeliest there, the one remembered has its probability at most, and no more than what that leaves.
func (f fingerprint) mismatches(there fingerprint) (apart []float64) {
	for i := range there.At {
		delta := float64(there.Logprobs[i]) - float64(f.Logprobs[i])
		if there.Likeliest[i] != f.Likeliest[i] {
			p := math.Exp(float64(there.Logprobs[i]))
			delta = min(0, math.Log(min(p, max(1-p, 1e-9)))-float64(f.Logprobs[i]))
		}
		apart = append(apart, recipe.Mismatch(delta))
	}
	return apart
}
