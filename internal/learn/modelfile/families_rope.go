package modelfile

import (
	"fmt"
	"math"
)

// rope reads rotary positions: rope_parameters as transformers 5 writes them, or rope_theta and rope_scaling as
// published files have them.
func rope(s *settings, c Config, theta float64) Rope {
	p := s.object("rope_parameters")
	if old := s.object("rope_scaling"); old != nil {
		p = old
	}
	return ropeOf(s, p, c, value(s, "rope_theta", theta))
}

// gemma3Ropes reads the rotary positions of layers that see everything and of layers with a window.
func gemma3Ropes(s *settings, c Config) (all, local Rope) {
	var pAll, pLocal *settings
	if p := s.object("rope_parameters"); p != nil {
		pAll, pLocal = p.object("full_attention"), p.object("sliding_attention")
		if err := p.finish(); err != nil {
			s.errs = append(s.errs, fmt.Errorf("rope_parameters: %w", err))
		}
	}
	if old := s.object("rope_scaling"); old != nil {
		pAll = old
	}
	all = ropeOf(s, pAll, c, value(s, "rope_theta", 1e6))
	return all, ropeOf(s, pLocal, c, value(s, "rope_local_base_freq", 1e4))
}

// ropeOf reads one set of parameters, nil for none. The original context outside of them, as Phi-3 has it, rules.
func ropeOf(s, p *settings, c Config, theta float64) Rope {
	original := value(s, "original_max_position_embeddings", 0)
	if p == nil {
		return Rope{Theta: theta}
	}
	r := scaling(p, c, theta, original)
	if err := p.finish(); err != nil {
		s.errs = append(s.errs, fmt.Errorf("rope scaling: %w", err))
	}
	return r
}

func scaling(p *settings, c Config, theta float64, original int) Rope {
	r := Rope{Theta: value(p, "rope_theta", theta), Kind: value(p, "rope_type", value(p, "type", ""))}
	if inside := value(p, "original_max_position_embeddings", c.MaxContext); original == 0 {
		original = inside
	}
	if part := value(p, "partial_rotary_factor", 1.0); part != 1 {
		r.Dims = int(float64(c.HeadDim) * part)
	}
	switch r.Kind {
	case "", "default":
		r.Kind = ""
		return r
	case "su": // what Phi-3's first files call it
		r.Kind = "longrope"
	}
	r.OriginalContext = original
	switch r.Kind {
	case "linear":
		r.Factor, r.OriginalContext = need[float64](p, "factor"), 0
	case "llama3":
		r.Factor = need[float64](p, "factor")
		r.LowFactor, r.HighFactor = need[float64](p, "low_freq_factor"), need[float64](p, "high_freq_factor")
	case "yarn":
		r.Factor = need[float64](p, "factor")
		r.BetaFast, r.BetaSlow = value(p, "beta_fast", 32.0), value(p, "beta_slow", 1.0)
		only(p, "truncate", true)
		r.Magnitude = value(p, "attention_factor",
			yarnMagnitude(r.Factor, value(p, "mscale", 0.0), value(p, "mscale_all_dim", 0.0)))
	case "longrope":
		r.ShortFactor, r.LongFactor = need[[]float64](p, "short_factor"), need[[]float64](p, "long_factor")
		r.Magnitude = value(p, "attention_factor", 0.0)
		factor := value(p, "factor", float64(c.MaxContext)/float64(max(original, 1)))
		if r.Magnitude == 0 && factor > 1 && original > 1 {
			r.Magnitude = math.Sqrt(1 + math.Log(factor)/math.Log(float64(original)))
		}
	default:
		p.errs = append(p.errs, fmt.Errorf("type %q is not supported", r.Kind))
	}
	return r
}

func yarnMagnitude(factor, scale, scaleAll float64) float64 {
	magnitude := func(scale float64) float64 {
		if factor <= 1 {
			return 1
		}
		return 0.1*scale*math.Log(factor) + 1
	}
	if scale != 0 && scaleAll != 0 {
		return magnitude(scale) / magnitude(scaleAll)
	}
	return magnitude(1)
}
