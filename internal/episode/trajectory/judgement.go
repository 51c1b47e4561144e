package trajectory

// Judgement is how a judge came to a term's score.
type Judgement struct {
	Model    string    `json:"model"`
	Rubric   string    `json:"rubric,omitempty"`   // its name
	Fallback bool      `json:"fallback,omitempty"` // the judge failed, and this is the one in its place
	Failed   string    `json:"failed,omitempty"`   // then why
	Passed   *bool     `json:"passed,omitempty"`   // of an episode that was judged alone
	Samples  []float64 `json:"samples,omitempty"`  // the score of each
	// and where among the group's episodes this one was shown, from 0
	Places []int              `json:"places,omitempty"`
	Axes   map[string]float64 `json:"axes,omitempty"` // means over the samples, on the rubric's scale
	// What the judge read and wrote for it, whether it was asked or a cache had the answers: the group's, divided by
	// its episodes.
	PromptTokens     int      `json:"prompt_tokens,omitempty"`
	CompletionTokens int      `json:"completion_tokens,omitempty"`
	Cost             *float64 `json:"cost,omitempty"` // US dollars; nil where the price is not known
}
