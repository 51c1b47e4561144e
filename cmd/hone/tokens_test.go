//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/testing/learntest"
)

// A base model whose tokens of calls were never trained learns to write them with sft, since their rows are trained
// with the adapter; with matrices alone it cannot tell them from others. The adapter is merged, sampled and served with
// its rows, and what is planned counts them.
func TestTokensThatWereNeverTrainedAreLearnt(t *testing.T) {
	call := `{"messages": [{"role": "user", "content": "%s"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", ` +
		`"function": {"name": "f", "arguments": "{}"}}]}], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]}` + "\n"
	rows := fmt.Sprintf(call, "a") + fmt.Sprintf(call, "b")
	const config = "lora: {rank: 4%s}\nmodel: {base: toy.gguf, chat_template: vendor.jinja}\nengine: {backend: go}\n" +
		"sft: {batch_size: 2, epochs: 100, optimizer: {learning_rate: 0.01, warmup: 0, schedule: constant}}\n"
	files := map[string]string{"say.jsonl": rows, "vendor.jinja": vendorTemplate, "auto.yaml": fmt.Sprintf(config, ""),
		"off.yaml": fmt.Sprintf(config, ", trainable_tokens: off")}
	workFolder(t, files)
	learntest.WriteToyModel(t, "toy.gguf", "<|box_start|>", "<tool_call>", "</tool_call>", "<|box_end|>")
	run := func(stdin string, args ...string) string {
		t.Helper()
		code, out, said := hone(t, stdin, args...)
		if code != 0 {
			t.Fatalf("%q: exit code %d, %s", args, code, said)
		}
		return out + said
	}
	says := map[string]string{"auto": "these rows are trained with the adapter",
		"off": "set lora.trainable_tokens: auto"}
	for name, want := range says {
		if said := run("", "--config", name+".yaml", "sft", "--data", "say.jsonl", "--output-dir",
			name); !strings.Contains(said, "never learnt <tool_call>, </tool_call>") || !strings.Contains(said, want) {
			t.Errorf("%s: %s", name, said)
		}
	}
	text := run(fmt.Sprintf(call, "a"), "inspect", "render", "--template", "vendor.jinja")
	ids, at := calledIn(t,
		run(text[:strings.Index(text, `,"spans"`)]+"}\n", "inspect", "tokens", "--model", "toy.gguf"))
	of := func(args ...string) float64 {
		return toldOf(t, run(ids, append([]string{"--config", "auto.yaml", "inspect", "logprobs"}, args...)...), at)
	}
	auto, off := of("--model", "toy.gguf", "--adapter", "auto/final"), of("--model",
		"toy.gguf", "--adapter", "off/final")
	if auto < math.Log(0.5) || off > math.Log(0.26) {
		t.Errorf("<tool_call> has a logprob of %v with rows of its own and %v without, where 1 of 4 is %v",
			auto, off, math.Log(0.25))
	}
	run("", "merge", "--adapter", "auto/final", "--output-dir", "merged")
	if merged := of("--model", "merged"); math.Abs(merged-auto) > 1e-4 {
		t.Errorf("merged it has %v, apart %v", merged, auto)
	}
}

// vendorTemplate writes the tokens of calls, and tools in few tokens.
const vendorTemplate = `{% for t in tools or [] %}{{ t.function.name }}{% endfor %}
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}\n</tool_call>' }}{% endfor %}
{{- '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// calledIn is a line of ids, and where they begin a call.
func calledIn(t *testing.T, line string) (ids string, at int) {
	t.Helper()
	var x struct{ IDs []int32 }
	const toolCall = 260
	if err := json.NewDecoder(strings.NewReader(line)).Decode(&x); err != nil || !slices.Contains(x.IDs, toolCall) {
		t.Fatalf("no call in %s; %v", line, err)
	}
	return strings.SplitAfter(line, "\n")[0], slices.Index(x.IDs, toolCall)
}

func toldOf(t *testing.T, lines string, at int) float64 {
	t.Helper()
	var x struct{ Logprobs []*float64 }
	if err := json.NewDecoder(strings.NewReader(lines)).Decode(&x); err != nil || x.Logprobs[at] == nil {
		t.Fatalf("%v: %s", err, lines)
	}
	return *x.Logprobs[at]
}
