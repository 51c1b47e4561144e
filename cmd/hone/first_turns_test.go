//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"fmt"
	"strings"
	"testing"

	"hone/internal/testing/learntest"
)

// After sft the model says the first turns of its rows. One that learnt to answer begins as its rows do, those that are
// held out too. One that cannot write the tokens of calls, or was hardly trained, ends with an exit code, the cause and
// what helps; its adapter is there all the same.
func TestSFTSaysFirstTurns(t *testing.T) {
	const (
		answer = `"content": "b"`
		call   = `"content": "", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]`
		row    = `{"messages": [{"role": "user", "content": "%s"}, {"role": "assistant", %s}], "split": "%s", ` +
			`"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]}` + "\n"
		config = "lora: {rank: 8, trainable_tokens: %s}\nmodel: {base: toy.gguf, chat_template: vendor.jinja}\n" +
			"engine: {backend: go}\nsft: {batch_size: %d, steps: %d, eval_every: 500, checkpoint_every: 500, " +
			"optimizer: {learning_rate: 0.02, warmup: 0, schedule: constant}}\n"
	)
	files := map[string]string{"vendor.jinja": vendorTemplate}
	for name, says := range map[string]string{"answers.jsonl": answer, "calls.jsonl": call} {
		for task, split := range map[string]string{"a": "", "b": "", "c": "", "d": "", "e": "validation"} {
			files[name] += fmt.Sprintf(row, task, says, split)
		}
	}
	workFolder(t, files)
	learntest.WriteToyModel(t, "toy.gguf", "<|box_start|>", "<tool_call>", "</tool_call>", "<|box_end|>")
	for _, c := range []struct {
		name, data, tokens string
		batch, steps, code int
		want               []string
	}{
		{"learns", "answers.jsonl", `[b, "<|im_end|>"]`, 4, 16, 0, []string{
			"of training rows at temperature 0: 4 of 4 match the row\n",
			"of held-out rows at temperature 0: 1 of 1 match the row\n", "next: hone serve --model learns/final",
		}},
		{"cannot", "calls.jsonl", "off", 4, 1, 3, []string{"the trained model never calls a tool where 5 rows do",
			"rows at temperature 0: 0 of 4 match the row; 0 of 4 that should call a tool make a well-formed call",
			"never learnt <tool_call>, </tool_call>", "lora.trainable_tokens: auto"}},
		{"hardly", "calls.jsonl", "auto", 4, 1, 3, []string{"the trained model never calls a tool where 5 rows do",
			"sft --adapter hardly/final --data calls.jsonl --output-dir hardly-2"}},
		{"try", "calls.jsonl", "auto", 2, 1, 0, []string{"note: the trained model never calls a tool where " +
			"5 rows do; the steps were less than a pass over the rows, which is ",
			"next: hone sft --adapter try/final --data calls.jsonl --output-dir try-2, which goes on; too little "}},
	} {
		code, _, said := invoked(t, fmt.Sprintf(config, c.tokens, c.batch, c.steps), "", "sft", "--data", c.data,
			"--output-dir", c.name)
		for _, want := range c.want {
			if code != c.code || !strings.Contains(said, want) {
				t.Errorf("%s: exit code %d, no %q in %s", c.name, code, want, said)
			}
		}
		if code, _, said := hone(t, "", "runs", "resume", c.name); code != 0 ||
			!strings.Contains(said, c.name+"/final") {
			t.Errorf("%s: a run that is over: exit code %d, %s", c.name, code, said)
		}
	}
}
