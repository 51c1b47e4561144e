package trajectory

import "regexp"

// Usage is how many tokens an endpoint says that it read and wrote in a turn.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"` // of the whole prompt, what earlier turns read among it
	CompletionTokens int `json:"completion_tokens"`

	Cost *float64 `json:"cost,omitempty"` // in US dollars, by the price when it was asked; nil where that is not known
}

// Cost is what an episode cost in US dollars; nil where that is not known of a turn.
func (t *Trajectory) Cost() *float64 {
	total := 0.0
	for _, turn := range t.Turns {
		if turn.Usage == nil || turn.Usage.Cost == nil {
			return nil
		}
		total += *turn.Usage.Cost
	}
	if len(t.Turns) == 0 {
		return nil
	}
	return &total
}

// NumTokens is how many tokens were read and written in an episode: by its ids, or where a turn has none by what the
// endpoint counted. Each turn reads its whole prompt, so what stands at the beginning counts once for each turn.
func (t *Trajectory) NumTokens() (prompt, completion int) {
	row := 0
	for _, turn := range t.Turns {
		if turn.Usage != nil {
			prompt, completion = prompt+turn.Usage.PromptTokens, completion+turn.Usage.CompletionTokens
			continue
		}
		if turn.Rewrite != "" {
			row = 0
		}
		row += len(turn.BridgeIDs)
		prompt += row
		row += len(turn.CompletionIDs)
		completion += len(turn.CompletionIDs)
	}
	return prompt, completion
}

// CannotEvaluate follows the name of a check in the error of an episode that ended because of it.
const CannotEvaluate = " cannot be evaluated: "

var unevaluated = regexp.MustCompile(`^(checks\[\d+\] \(\w+\))` + CannotEvaluate)

// CutReason is the name of the check that could not be evaluated and thereby ended the episode, such as "checks[0]
// (sql)"; "" where another thing ended it.
func (t *Trajectory) CutReason() string {
	if m := unevaluated.FindStringSubmatch(t.Error); m != nil {
		return m[1]
	}
	return ""
}
