package episodes

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/config"
	"hone/internal/episode/policy"
)

// Worked by hand: r = 0.25/0.5 has r - 1 - log r = 0.193; where another token has 0.6, the one remembered has 0.4 at
// most, where it has 0.1 no more than that. A token that may be as likely as it was is not apart, nor is a beginning
// that the server has no room for.
func TestMismatches(t *testing.T) {
	ln := func(p float64) float32 { return float32(math.Log(p)) }
	f := fingerprint{At: []int{8, 16, 24, 32, 40, 48}, Likeliest: []int32{1, 2, 3, 4, 5, 6},
		Logprobs: []float32{ln(0.5), ln(0.5), ln(0.5), ln(0.5), ln(0.3), ln(0.5)}}
	there := fingerprint{At: f.At[:5], Likeliest: []int32{1, 2, 7, 8, 9},
		Logprobs: []float32{ln(0.5), ln(0.25), ln(0.6), ln(0.1), ln(0.31)}}
	got := f.mismatches(there)
	want := []float64{0, 0.5 - 1 - math.Log(0.5), 0.8 - 1 - math.Log(0.8), 0.2 - 1 - math.Log(0.2), 0}
	if len(got) != len(want) {
		t.Fatalf("%d mismatches, want %d", len(got), len(want))
	}
	for i, x := range want {
		if !(math.Abs(got[i]-x) < 1e-6) {
			t.Errorf("beginning %d: %g, want %g", i, got[i], x)
		}
	}
	nan := fingerprint{At: []int{8}, Likeliest: []int32{1}, Logprobs: []float32{float32(math.NaN())}}
	if got := f.mismatches(nan); !math.IsInf(got[0], 1) {
		t.Errorf("what is no number is %g apart", got[0])
	}
}

// A given text is held to the bound of a step as it stands, not to a probe's, which is four times it. Worked by hand: a
// server that gives each token half a nat more is e^0.5 - 1.5 = 0.149 nats apart, one that gives half a nat less
// e^-0.5 - 0.5 = 0.107. Of 32 tokens the two farthest are no part of the mean.
func TestGivenTextIsHeldToTheBound(t *testing.T) {
	for _, c := range []struct {
		name    string
		more    float64 // nats that the server gives each token more than the trainer did
		far     int     // of so many tokens it gives nine nats less
		places  int     // of the text, that it tells of
		refused string
		done    bool
	}{
		{"the policy itself", 0, 0, 32, "", true},
		{"within the bound", -0.5, 0, 32, "", true},
		{
			"beyond the bound, within a probe's", 0.5, 0, 32, "over 32 tokens of a given text the mean mismatch KL, " +
				"without the farthest, is 0.15 nats, and the bound is 0.12", true,
		},
		{"two far tokens", 0, 2, 32, "", true},
		{"three far tokens", 0, 3, 32, "farthest is token 1, id 2: a logprob of -1.0000 when it was trained, of -10.0000 at the server", true},
		{"too few tokens", 0.5, 0, 31, "", false},
	} {
		f := fingerprint{Text: make([]int32, c.places+1), Given: slices.Repeat([]float32{-1}, c.places)}
		places := []any{nil}
		for i := range f.Text {
			f.Text[i] = int32(i + 1)
		}
		for i, id := range f.Text[1:] {
			p := -1 + c.more
			if i < c.far {
				p = -10
			}
			places = append(places, map[string]any{fmt.Sprint(id): map[string]any{"logprob": p}})
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case len(body) == 0:
				_, _ = io.WriteString(w, `{"data": [{"id": "m", "max_model_len": 64}]}`)
			case strings.Contains(string(body), `"prompt_logprobs"`):
				_ = json.NewEncoder(w).Encode(map[string]any{"model": "m", "choices": []any{
					map[string]any{"prompt_logprobs": places},
				}})
			default: // what Open samples
				_, _ = io.WriteString(w, `{"model": "m", "choices": [{"finish_reason": "length", "token_ids": [5], "logprobs": {"token_logprobs": [-1]}}]}`)
			}
		}))
		x, err := policy.OpenRemote(t.Context(),
			policy.RemoteOptions{URL: s.URL, Temperature: 1, Retries: -1, BackOff: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		a := &away{Remote: x, settings: config.Sampler{URL: s.URL, MaxMismatch: 0.12}, ctx: t.Context()}
		done, err := a.compareLogprobs(f, "final")
		if done != c.done || (err != nil) != (c.refused != "") ||
			!strings.Contains(fmt.Sprint(err), c.refused) && err != nil {
			t.Errorf("%s: compared %t, %v", c.name, done, err)
		}
		s.Close()
	}
}
