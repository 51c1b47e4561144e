// Command trained_adapter writes an adapter that hone has trained, for parity.py: a few steps on one text, at a rate
// that moves the model far from its base.
//
//	go run testdata/reference/trained_adapter.go MODEL.gguf PLUGIN.so OUT < ids.json
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/train"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: trained_adapter MODEL.gguf PLUGIN.so OUT < ids.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(modelPath, plugin, out string) error {
	var ids []int32
	if err := json.NewDecoder(os.Stdin).Decode(&ids); err != nil {
		return err
	}
	file, err := modelfile.Open(modelPath)
	if err != nil {
		return err
	}
	defer file.Close()
	e, err := engine.Open(engine.Options{Plugin: plugin})
	if err != nil {
		return err
	}
	defer e.Close()
	spec, weights, err := model.Load(e, file)
	if err != nil {
		return err
	}
	lora := model.LoRA{Rank: 16, Alpha: 32}
	t, err := train.New(e, spec, weights, train.NewState(spec, lora, 1), train.Options{LoRA: lora})
	if err != nil {
		return err
	}
	row := batch.Sequence{IDs: ids, Trained: make([]bool, len(ids))}
	for i := 17; i < len(ids); i++ { // the first 16 are the batch's prefix, so that its backward pass takes part
		row.Trained[i] = true
	}
	for range 4 {
		stats, err := t.Step(context.Background(), batch.New([]batch.Sequence{row}), batch.Objective{},
			batch.Update{Rate: 3e-3, MaxGradNorm: 1})
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "step %d: loss %.3f\n", t.PolicyVersion(), stats.Loss)
	}
	return t.SaveAdapter(out)
}
