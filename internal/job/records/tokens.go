package records

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"hone/internal/blob"
	"hone/internal/recipe"
)

// TokensIn is the folder of a run in which what steps learnt from is kept, token by token (grpo.keep_tokens).
func TokensIn(path string) Tokens { return Tokens(filepath.Join(path, "tokens")) }

// Tokens is such a folder: a file for each step that is kept.
type Tokens string

func (t Tokens) file(step int) string {
	return filepath.Join(string(t), fmt.Sprintf("step-%d.json", step))
}

// Keep keeps the rows of a step, by the names of its episodes.
func (t Tokens) Keep(step int, rows map[string][]recipe.RecordedRow) error {
	text, err := json.Marshal(rows)
	if err == nil {
		err = os.MkdirAll(string(t), 0o755)
	}
	if err != nil {
		return err
	}
	return blob.Write(t.file(step), text, 0o600) // as private as the episodes are
}

// Take has the record among additions, where there is one, keep its rows here.
func (t Tokens) Take(additions []recipe.Addition) {
	if r, ok := recipe.AdditionOf[*recipe.TokenRecord](additions); ok {
		r.Keep = t.Keep
	}
}

// Of are the rows of a step; fs.ErrNotExist where they were not kept.
func (t Tokens) Of(step int) (rows map[string][]recipe.RecordedRow, err error) {
	text, err := os.ReadFile(t.file(step))
	if err == nil {
		err = json.Unmarshal(text, &rows)
	}
	return rows, err
}
