// Command trained_families does in hone what make_families.py has done in peft: for each model and adapter on standard
// input it takes the same steps, then writes the adapter, and the model with the adapter merged.
//
//	go run testdata/reference/trained_families.go < jobs.json
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/train"
)

// job names folders that peft and transformers wrote, and one to write.
type job struct {
	Model     string    `json:"model"`
	Adapter   string    `json:"adapter"`
	Out       string    `json:"out"`
	Texts     [][]int32 `json:"texts"`
	Untrained int       `json:"untrained"` // leading tokens of each text
	Rate      float64   `json:"rate"`
	Steps     int       `json:"steps"`
}

func main() {
	var jobs []job
	err := json.NewDecoder(os.Stdin).Decode(&jobs)
	for _, j := range jobs {
		if err == nil {
			err = j.run()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (j job) run() error {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	file, err := modelfile.Open(j.Model)
	if err != nil {
		return err
	}
	defer file.Close()
	spec, weights, err := model.Load(e, file)
	if err != nil {
		return err
	}
	spec = spec.ForContext(len(j.Texts[0]))
	lora, flat, err := model.LoadPEFT(j.Adapter, spec)
	if err != nil {
		return err
	}
	state := train.NewState(spec, lora, 1)
	state.Adapter = flat
	t, err := train.New(e, spec, weights, state, train.Options{LoRA: lora})
	if err != nil {
		return err
	}
	var rows []batch.Sequence
	for _, ids := range j.Texts {
		row := batch.Sequence{IDs: ids, Trained: make([]bool, len(ids))}
		for i := j.Untrained; i < len(ids); i++ {
			row.Trained[i] = true
		}
		rows = append(rows, row)
	}
	for range j.Steps {
		if _, err := t.Step(context.Background(), batch.New(rows), batch.Objective{},
			batch.Update{Rate: j.Rate, MaxGradNorm: 1}); err != nil {
			return err
		}
	}
	if err := t.SaveAdapter(filepath.Join(j.Out, "adapter")); err != nil {
		return err
	}
	if state, err = t.State(); err != nil {
		return err
	}
	_, err = model.Merged{Model: file, LoRA: lora, Adapter: state.Adapter}.Save(context.Background(),
		filepath.Join(j.Out, "merged"), e)
	return err
}
