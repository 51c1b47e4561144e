package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RuleFile lies beside the weights of a sidecar's adapter: {"confidence": 0.98, "no_call": 0.7}, and what they were chosen by.
const RuleFile = "sidecar.json"

// ReadRule is the rule that lies beside an adapter; without one no draft is replaced in which no fault is found.
func ReadRule(folder string) (Rule, error) {
	path := filepath.Join(folder, RuleFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Rule{Confidence: 1, NoCall: 1}, nil
	}
	var told struct {
		Confidence *float64 `json:"confidence"`
		NoCall     *float64 `json:"no_call"` // none: it never saw a draft that rightly makes no call
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
	r := Rule{Confidence: *told.Confidence, NoCall: 1}
	if told.NoCall != nil {
		r.NoCall = *told.NoCall
	}
	return r, nil
}
