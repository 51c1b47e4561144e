package view

import "hone/internal/recipe"

// Panel is metrics of the main stage that are looked at together.
type Panel struct {
	Title string   `json:"title"`
	Names []string `json:"names"`
	Share bool     `json:"share,omitempty"` // they are shares, from 0 to 1
	// Held names metrics of the validation that stand beside them, with the words for each.
	Held map[string]string `json:"held,omitempty"`
}

// Panels are what an overview draws: what is learnt, what is held out, whether it is stable, what it takes.
func Panels() []Panel {
	return []Panel{
		{"Learning", []string{"reward", "loss", "rewards/margins"}, false,
			map[string]string{"eval_loss": "held-out loss"}},
		{"Success", []string{"success", "rewards/accuracies", "copies/fixed"}, true,
			map[string]string{"success": "held out"}},
		{"Stability", []string{"sampling/mismatch_kl", "kl", "entropy", "grad_norm"}, false, nil},
		{"Time of a step, seconds", []string{"step_time", "time/rollout", "time/train"}, false, nil},
	}
}

// Curve is one metric over steps. A value is nil where a step has none.
type Curve struct {
	Name   string
	Share  bool
	Steps  []int
	Values []*float64
}

// Curves are those of the panels, as the run has them.
func (r *Reading) Curves(o Overview) (out []Curve, err error) {
	main, err := r.Series(o.Cards.MainStage)
	if err != nil {
		return nil, err
	}
	held, err := r.Series(recipe.ValidationStage)
	if err != nil {
		return nil, err
	}
	for _, p := range Panels() {
		for _, name := range p.Names {
			if values := main.Values[name]; values != nil {
				out = append(out, Curve{name, p.Share, main.Steps, values})
			}
		}
		for name, words := range p.Held {
			if values := held.Values[name]; values != nil {
				out = append(out, Curve{words, p.Share, held.Steps, values})
			}
		}
	}
	return out, nil
}

// Last is the last value that there is, nil where there is none.
func (c Curve) Last() *float64 {
	for i := len(c.Values) - 1; i >= 0; i-- {
		if c.Values[i] != nil {
			return c.Values[i]
		}
	}
	return nil
}
