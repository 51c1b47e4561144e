package plan

// Episode is what the slot of one episode must hold after the prefix that all prompts share. Tokens all.
type Episode struct {
	Prompt    int // of the longest task
	MaxTurns  int
	MaxTokens int // of a completion
	// MaxResult is the most that one turn's results can be: a token of a byte-level vocabulary stands for a byte at least,
	// so it is their bytes. Between is what the chat template writes around them.
	MaxResult, Between int
}

// fewestTokens is a slot that is worth having.
const fewestTokens = 256

// Own is the room without results: what the policy itself can fill, and its task.
func (e Episode) Own() int { return max(fewestTokens, e.Prompt+e.MaxTurns*e.MaxTokens) }

// Whole is the room with results. The last turn's are not read.
func (e Episode) Whole() int { return e.Own() + max(0, e.MaxTurns-1)*(e.MaxResult+e.Between) }

// Rooms are the smallest and the largest size of a slot, as far as the limit (the context, or the positions of the model)
// goes: without results, and with all there can be.
func (e Episode) Rooms(limit int) (least, most int) {
	return min(e.Own(), limit), min(e.Whole(), limit)
}

// Results is how many tokens of results a slot holds beside what the policy can fill.
func (e Episode) Results(room int) int { return max(0, room-e.Own()) }
