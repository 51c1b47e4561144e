package sample

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/train"
)

// spelled decodes id i as piece i.
type spelled []string

func (s spelled) Next(id int32) string { return s[id] }

func TestStops(t *testing.T) {
	for _, tc := range []struct {
		name         string
		pieces       []string
		wanted       []string
		before, stop string
		tokens       int // until it is found; 0: never
	}{
		{"in one token", []string{"a", "b.c", "d"}, []string{"."}, "ab", ".", 2},
		{"across tokens", []string{"so ST", "O", "P it"}, []string{"STOP"}, "so ", "STOP", 3},
		{"at the beginning", []string{"x", "y"}, []string{"x"}, "", "x", 1},
		{"the first that is whole", []string{"abcd"}, []string{"abcd", "c"}, "ab", "c", 1},
		{"the longer of two that end together", []string{"abc"}, []string{"c", "bc"}, "a", "bc", 1},
		{"begins anew", []string{"a", "a", "b"}, []string{"aab", "ab"}, "", "aab", 3},
		{"after empty tokens", []string{"\n", "", "", "\n"}, []string{"\n\n"}, "", "\n\n", 4},
		{"several bytes a letter", []string{"é", "世", "界"}, []string{"世界"}, "é", "世界", 3},
		{"never", []string{"S", "T", "O"}, []string{"STOP"}, "", "", 0},
	} {
		s := newStops(spelled(tc.pieces), tc.wanted)
		tokens := 0
		for i := range tc.pieces {
			before, stop, found := s.next(int32(i))
			if !found {
				continue
			}
			if tokens = i + 1; before != tc.before || stop != tc.stop {
				t.Errorf("%s: %q before %q", tc.name, before, stop)
			}
			break
		}
		if tokens != tc.tokens {
			t.Errorf("%s: found after %d tokens, want %d", tc.name, tokens, tc.tokens)
		}
	}
}

// However a text is cut into tokens, the stop text is the one found when it is read letter by letter.
func TestStopsDoNotDependOnTokens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abé")), 0, 30, -1).Draw(rt, "text")
		wanted := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("abé")), 1, 4, -1), 1, 4).Draw(rt, "wanted")
		var before, stop string
		end := 0
		for i := 1; i <= len(text) && end == 0; i++ {
			for _, w := range wanted {
				if strings.HasSuffix(text[:i], w) && len(w) > len(stop) {
					before, stop, end = text[:i-len(w)], w, i
				}
			}
		}
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(0, len(rest)).Draw(rt, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		s := newStops(spelled(pieces), wanted)
		written := 0
		for i, p := range pieces {
			written += len(p)
			gotBefore, gotStop, found := s.next(int32(i))
			if found != (end > 0 && written >= end) {
				rt.Fatalf("%q: after %d bytes found is %v, and the stop text ends at %d", pieces, written, found, end)
			}
			if found {
				if gotBefore != before || gotStop != stop {
					rt.Fatalf("%q: %q before %q, letter by letter %q before %q",
						pieces, gotBefore, gotStop, before, stop)
				}
				return
			}
		}
	})
}

// Tokens are told of while the completion is sampled, with the numbers that it ends with.
func testTokensAsTheyCome(t *testing.T, _ *engine.Engine, s *Sampler, _ *train.Trainer) {
	var told policy.Completion
	r := policy.Request{Prompt: []int32{1, 2, 3}, Key: policy.Key{Seed: 5},
		Sampling: policy.Sampling{Temperature: 1, MaxTokens: 12, TopLogprobs: 2}}
	r.Each = func(x policy.Token) {
		told.IDs, told.SamplerLogprobs, told.TopLogprobs =
			append(told.IDs, x.ID), append(told.SamplerLogprobs, x.Logprob), append(told.TopLogprobs, x.Top)
		told.PolicyVersion = x.PolicyVersion
	}
	c, err := s.Sample(t.Context(), r)
	if told.FinishReason = c.FinishReason; err != nil || !reflect.DeepEqual(told, c) {
		t.Errorf("told of %+v, sampled %+v, %v", told, c, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	r.TopLogprobs, r.MaxTokens = 0, 60
	r.Each = func(policy.Token) {
		if n++; n == 3 {
			cancel()
		}
	}
	if _, err := s.Sample(ctx, r); !errors.Is(err, context.Canceled) || n >= 60 {
		t.Errorf("%d tokens were told of, %v", n, err)
	}
}
