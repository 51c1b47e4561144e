package config

import "testing"

// What is given stays; what is open follows the device and the model, and leaves room for a prompt.
func TestLengthsAreSettled(t *testing.T) {
	for _, c := range []struct {
		name                 string
		context, tokens      int // given
		gpu, thinks          bool
		positions            int
		wantContext, wantMax int // 0: refused
	}{
		{"a laptop", 0, 0, false, true, 8192, 2048, 512},
		{"a GPU", 0, 0, true, false, 40960, 16384, 1024},
		{"a model that thinks", 0, 0, true, true, 40960, 16384, 4096},
		{"a GPU, few positions", 0, 0, true, true, 8192, 6144, 1536},
		{"positions not known", 0, 0, true, true, 0, 16384, 4096},
		{"long completions on a laptop", 0, 3000, false, false, 40960, 12000, 3000},
		{"long completions, few positions", 0, 9000, false, false, 8192, 0, 0},
		{"a context of one's own", 1000, 0, true, true, 40960, 1000, 250},
		{"both given", 700, 600, true, true, 40960, 700, 600},
		{"given beyond the positions, which the run refuses", 90000, 100, true, true, 8192, 90000, 100},
		{"hardly any positions", 0, 0, false, false, 32, 64, 16},
	} {
		x := Default()
		x.Model.Context, x.Rollout.MaxTokens = c.context, c.tokens
		err := x.SettleLengths(c.gpu, c.thinks, c.positions)
		if c.wantContext == 0 {
			if err == nil {
				t.Errorf("%s: context %d, max_tokens %d", c.name, x.Model.Context, x.Rollout.MaxTokens)
			}
			continue
		}
		if err != nil || x.Model.Context != c.wantContext || x.Rollout.MaxTokens != c.wantMax || x.Validate() != nil {
			t.Errorf("%s: %v: context %d, max_tokens %d, want %d and %d",
				c.name, err, x.Model.Context, x.Rollout.MaxTokens, c.wantContext, c.wantMax)
		}
	}
}
