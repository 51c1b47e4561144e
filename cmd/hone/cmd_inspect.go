package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/basemodel/inspect"
	"hone/internal/config"
	"hone/internal/text/toolcall"
)

func newInspect(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "inspect",
		Short: "Look inside: tokens, prompts, tool calls and logprobs, as JSON lines in and out; memory and programs",
		Long: `memory and plan show what a run of the configuration would hold and compile. Each of the other commands reads one
JSON object a line on stdin and writes one a line on stdout, in the same order. A line that fails becomes
{"error": ...}; the others are answered, and the exit code is 3.`,
	}
	c.AddCommand(newInspectLogprobs(a), newInspectMemory(a), newInspectParse(a), newInspectPlan(a), newInspectRender(a),
		newInspectTokens(a))
	for _, sub := range c.Commands() {
		sub.Args = arguments(0, 0, "")
	}
	return group(c)
}

func modelFlag(c *cobra.Command, base *string) {
	c.Flags().StringVar(base, "model", "",
		"base model: a path, or the name of an installed one (default the configuration's)")
}

func tokenizerFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "tokenizer", "", "tokenizer.json to use, in place of the base model's")
}

func newInspectTokens(a *app) *cobra.Command {
	var o inspect.TokenOptions
	c := &cobra.Command{
		Use:   "tokens",
		Short: `{"text"} -> {"ids"}, special tokens in the text recognised, none added; or back`,
		Example: `  echo '{"text": "hello<|im_end|>"}' | hone inspect tokens` + "\n" +
			`  echo '{"ids": [28120, 2]}' | hone inspect tokens --decode`,
		RunE: func(c *cobra.Command, args []string) error {
			tell := func(ctx context.Context, c config.Config) error { return inspect.Tokens(ctx, a.Host, c.Model, o) }
			if o.Tokenizer != "" { // the configuration has no part in it
				return tell(c.Context(), config.Config{})
			}
			return a.withConfig(tell)(c, args)
		},
	}
	modelFlag(c, &o.Base)
	tokenizerFlag(c, &o.Tokenizer)
	c.Flags().BoolVar(&o.Decode, "decode", false, `{"ids"} -> {"text"}`)
	c.Flags().BoolVar(&o.SkipSpecial, "skip-special", false, "with --decode: leave special tokens out")
	return c
}

func newInspectLogprobs(a *app) *cobra.Command {
	base, adapter := "", ""
	c := &cobra.Command{
		Use:     "logprobs",
		Short:   `{"ids"} -> {"logprobs"}, natural log; the first is null`,
		Example: `  echo '{"ids": [1, 4093, 198]}' | hone inspect logprobs --adapter runs/demo-20260102-150405/final`,
		RunE: a.withConfig(func(ctx context.Context, c config.Config) error {
			return inspect.Logprobs(ctx, a.Host, c, cmp.Or(base, c.Model.Base), adapter)
		}),
	}
	modelFlag(c, &base)
	c.Flags().StringVar(&adapter, "adapter", "", "adapter folder (default none: the base model's)")
	return c
}

func newInspectParse(a *app) *cobra.Command {
	var o inspect.ParseOptions
	c := &cobra.Command{
		Use:   "parse",
		Short: `{"text", "tools"} -> {"content", "reasoning", "tool_calls", "complete", "repairs"}`,
		Long: "parse reads the tool calls of a model's text. Tools type the values of forms that write all of them " +
			"as text. Reasoning\n" +
			"at the beginning, in <think> tags for example, is told apart. What was mended to understand a call is " +
			"in \"repairs\";\n" +
			"where a block is no call it stays in content, and \"parse_error\" says why.\n" +
			"Formats: " + strings.Join(toolcall.Names(), ", ") + ".",
		Example: `  echo '{"text": "<tool_call>\n{\"name\": \"hash\", \"arguments\": {}}\n</tool_call>"}' | hone inspect parse --format hermes`,
		RunE: func(c *cobra.Command, args []string) error {
			tell := func(ctx context.Context, c config.Config) error { return inspect.Parse(ctx, a.Host, c.Model, o) }
			if o.Format != "" { // the configuration has no part in it
				return tell(c.Context(), config.Config{})
			}
			return a.withConfig(tell)(c, args)
		},
	}
	modelFlag(c, &o.Base)
	c.Flags().StringVar(&o.Format, "format", "", "how calls are written (default the base model's way)")
	c.Flags().BoolVar(&o.Strict, "strict", false, "mend nothing but Python's values of a known type, as training does")
	return c
}

func newInspectRender(a *app) *cobra.Command {
	var o inspect.RenderOptions
	c := &cobra.Command{
		Use:   "render",
		Short: `{"messages", "tools", "add_generation_prompt"} -> {"text", "spans"}, spans being what is trained on`,
		Long: `render writes a conversation as transformers' apply_chat_template does. Spans are byte ranges [from, to) of the text:
what stands inside {% generation %}. Beside the fields above, a line may hold "kwargs" (an object of more variables),
"bos_token", "eos_token" and "now" (a date and time, for strftime_now). model.template_variables of the configuration
are variables of every line; --set KEY=VALUE adds one, or replaces it, VALUE being JSON, or else text.
A base model whose own template knows no tools is rendered in hone's ChatML, and spans are the assistant's messages,
each with its stop token.
With --view, a conversation is shown as the rows of ids that training makes of it, what is trained set off from the rest.
Text that only looks like a control token has its first character escaped: \u003c|im_end|>.`,
		Example: `  hone inspect render --template chat_template.jinja --set enable_thinking=false < conversations.jsonl` +
			"\n" +
			`  echo '{"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": true}' | hone inspect render`,
		RunE: a.withConfig(func(ctx context.Context, c config.Config) error {
			return inspect.Render(ctx, a.Host, c.Model, o)
		}),
	}
	modelFlag(c, &o.Base)
	tokenizerFlag(c, &o.Tokenizer)
	c.Flags().StringVar(&o.Template, "template", "", "file with the chat template to use, in place of the base model's")
	c.Flags().StringArrayVar(&o.Set, "set", nil, "variable of the template, as KEY=VALUE; may be given several times")
	c.Flags().BoolVar(&o.View, "view", false, "show the rows that are trained, in colour on a terminal")
	return c
}

func runFlags(c *cobra.Command, o *inspect.RunOptions) {
	c.Flags().StringVar(&o.Base, "model", "", "the same as --base-model")
	c.Flags().StringVar(&o.Base, "base-model", "",
		"base model, as hone train takes it (default the adapter's, or the configuration's)")
	c.Flags().StringVar(&o.Adapter, "adapter", "",
		"adapter that training starts from, whose shape counts (default the configuration's lora)")
	c.Flags().StringVar(&o.Dataset, "dataset", "",
		"scenarios file whose longest task counts in --private (default none counts)")
	c.Flags().IntVar(&o.Prefix, "prefix", 512,
		"tokens all prompts begin with: the system message and the tools; 0 where they share none")
	c.Flags().IntVar(&o.Private, "private", 0, "tokens of an episode after them (default what rollout.max_turns "+
		"completions and results of rollout.max_result take, at most model.context, as far as there is memory)")
	c.Flags().IntVar(&o.Row, "row", 0,
		"tokens of the longest training row after them (default --private); -1 trains nothing")
}

func newInspectMemory(a *app) *cobra.Command {
	var o inspect.RunOptions
	c := &cobra.Command{
		Use:   "memory",
		Short: "Plan the memory of a run of the configuration, before anything is allocated",
		Long: `memory makes the run's programs without a device and adds up what they and the run hold: exact for weights, caches,
adapter and moments, estimated for what a program needs while it runs (docs/guide.md says how well). The exit code is 3
where the run would be refused: for want of memory, or because its sequences outgrow the model's positions.`,
		Example: "  hone inspect memory --base-model SmolLM2-135M-Instruct --dataset scenarios.json --prefix 900\n" +
			"  hone inspect memory --config run.yaml --row 1200 --json",
		Args: arguments(0, 0, ""),
		RunE: a.withConfig(func(_ context.Context, c config.Config) error { return inspect.Memory(a.Host, c, o) }),
	}
	runFlags(c, &o)
	return c
}

func newInspectPlan(a *app) *cobra.Command {
	var o inspect.RunOptions
	folder := ""
	c := &cobra.Command{
		Use:   "plan",
		Short: "Write the programs a run of the configuration compiles, as StableHLO text, without running them",
		Long: "plan writes one file for each program, in the order a run compiles them: one operation a line, " +
			"and at the top what\n" +
			"each input and result is, with a comment where another layer begins. An output is written over an input " +
			"that is donated.",
		Example: "  hone inspect plan --hlo programs --prefix 900",
		Args:    arguments(0, 0, ""),
		RunE: a.withConfig(func(_ context.Context, c config.Config) error {
			return inspect.Programs(a.Host, c, o, folder)
		}),
	}
	runFlags(c, &o)
	c.Flags().StringVar(&folder, "hlo", "", "folder that gets the files; it is made")
	return c
}
