package revise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hone/internal/fault"
)

// RuleFile lies beside the weights of a sidecar's adapter: {"confidence": 0.98, "no_call": 0.7, "prompt": "1a2b..."},
// and what they were chosen by.
const RuleFile = "sidecar.json"

// ReadRule is the rule that lies beside an adapter; without one no draft is replaced in which no fault is found. A
// sidecar that was trained with a prompt of another form is refused: what it makes of this one, nobody has measured.
func ReadRule(folder string) (Rule, error) {
	path := filepath.Join(folder, RuleFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Rule{Confidence: 1, NoCall: 1}, nil
	}
	var told struct {
		Confidence *float64 `json:"confidence"`
		NoCall     *float64 `json:"no_call"` // none: it never saw a draft that rightly makes no call
		Prompt     string   `json:"prompt"`  // PromptForm, as it was trained; none: an older hone did not keep it
	}
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	if err == nil && told.Confidence == nil {
		err = errors.New("it has no confidence")
	}
	if err != nil {
		return Rule{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if told.Prompt != "" && told.Prompt != PromptForm() {
		return Rule{}, &fault.Error{
			Code:  fault.CodeUsage,
			What:  "the sidecar was trained with a prompt of another form than this hone asks it in",
			Where: path,
			Why:   fmt.Sprintf("its form is %s, and %s here", told.Prompt, PromptForm()),
			Next: "train it again: hone sidecar train, from it with --adapter; or take the hone that trained it. " +
				"Without the entry prompt it is taken as it is: measure that first, with hone sidecar eval",
		}
	}
	r := Rule{Confidence: *told.Confidence, NoCall: 1, Unknown: told.Prompt == ""}
	if told.NoCall != nil {
		r.NoCall = *told.NoCall
	}
	return r, nil
}

// UnknownPrompt is said of a sidecar whose rule is Unknown.
func UnknownPrompt(folder string) string {
	return filepath.Join(folder, RuleFile) + " does not say which form of the prompt it was trained with; " +
		"hone sidecar eval measures how it does with this one"
}
