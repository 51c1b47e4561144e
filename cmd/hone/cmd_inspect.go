package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/chat"
	"hone/internal/fault"
	"hone/internal/learn/model"
	"hone/internal/learn/score"
	"hone/internal/learn/train"
	"hone/internal/modelfile"
	"hone/internal/text/render"
	"hone/internal/text/tokenizer"
	"hone/internal/text/toolcall"
	"hone/internal/text/toolcall/repair"
)

func newInspect(a *app) *cobra.Command {
	c := &cobra.Command{Use: "inspect", Short: "Look inside: tokens, prompts, tool calls and logprobs, as JSON lines in and out",
		Long: "Each command reads one JSON object a line on stdin and writes one a line on stdout, in the same order.\n" +
			"A line that fails becomes {\"error\": ...}; the others are answered."}
	c.AddCommand(newInspectLogprobs(a), newInspectParse(), newInspectRender(a), newInspectTokens(a))
	for _, sub := range c.Commands() {
		sub.Args = arguments(0, 0, "")
	}
	return group(c)
}

func modelFlag(c *cobra.Command, base *string) {
	c.Flags().StringVar(base, "model", "", "base model: a path, or the name of an installed one (default the configuration's)")
}

func newInspectTokens(a *app) *cobra.Command {
	base, decode, skip := "", false, false
	c := &cobra.Command{
		Use:     "tokens",
		Short:   `{"text"} -> {"ids"}, special tokens in the text recognised, none added; or back`,
		Example: `  echo '{"text": "hello<|im_end|>"}' | hone inspect tokens` + "\n" + `  echo '{"ids": [28120, 2]}' | hone inspect tokens --decode`,
		RunE: func(c *cobra.Command, _ []string) error {
			tok, err := a.tokenizer(base)
			if err != nil {
				return err
			}
			if decode {
				return eachLine(c, func(in idsLine) (any, error) { return decodeLine(tok, in, skip) })
			}
			return eachLine(c, func(in struct {
				Text *string `json:"text"`
			}) (any, error) {
				if in.Text == nil {
					return nil, errors.New(`"text" is missing`)
				}
				return idsLine{append([]int32{}, tok.Encode(*in.Text)...)}, nil
			})
		},
	}
	modelFlag(c, &base)
	c.Flags().BoolVar(&decode, "decode", false, `{"ids"} -> {"text"}`)
	c.Flags().BoolVar(&skip, "skip-special", false, "with --decode: leave special tokens out")
	return c
}

type idsLine struct {
	IDs []int32 `json:"ids"`
}

func (l idsLine) check(vocabulary int) error {
	if l.IDs == nil {
		return errors.New(`"ids" is missing`)
	}
	for i, id := range l.IDs {
		if id < 0 || int(id) >= vocabulary {
			return fmt.Errorf("ids[%d] is %d; the vocabulary has %d tokens", i, id, vocabulary)
		}
	}
	return nil
}

type textLine struct {
	Text string `json:"text"`
}

func decodeLine(tok *tokenizer.Tokenizer, in idsLine, skipSpecial bool) (any, error) {
	if err := in.check(tok.NumTokens()); err != nil {
		return nil, err
	}
	if skipSpecial {
		return textLine{tok.DecodeOrdinary(in.IDs)}, nil
	}
	return textLine{tok.Decode(in.IDs)}, nil
}

func newInspectRender(a *app) *cobra.Command {
	base := ""
	c := &cobra.Command{
		Use:   "render",
		Short: `{"messages", "tools", "add_generation_prompt"} -> {"text", "spans"}, spans being what is trained on`,
		Long: "render writes a conversation as the model is prompted with it. Spans are byte ranges [from, to) of the text: the\n" +
			"assistant's messages, each with its stop token. Inputs that ChatML has no place for (kwargs, bos_token, eos_token,\n" +
			"now) are accepted and change nothing.",
		Example: `  echo '{"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": true}' | hone inspect render`,
		RunE: func(c *cobra.Command, _ []string) error {
			tok, err := a.tokenizer(base)
			if err != nil {
				return err
			}
			r, err := render.NewChatML(tok, render.Options{})
			if err != nil {
				return err
			}
			return eachLine(c, func(in renderLine) (any, error) { return renderText(r, tok, in) })
		},
	}
	modelFlag(c, &base)
	return c
}

type renderLine struct {
	Messages            []chat.Message  `json:"messages"`
	Tools               []chat.Tool     `json:"tools"`
	AddGenerationPrompt bool            `json:"add_generation_prompt"`
	Kwargs              json.RawMessage `json:"kwargs"`
	BOSToken            json.RawMessage `json:"bos_token"`
	EOSToken            json.RawMessage `json:"eos_token"`
	Now                 json.RawMessage `json:"now"`
}

type rendered struct {
	Text  string   `json:"text"`
	Spans [][2]int `json:"spans"`
}

func renderText(r *render.ChatML, tok *tokenizer.Tokenizer, in renderLine) (any, error) {
	ids, err := r.Prompt(in.Messages, in.Tools)
	if err != nil {
		return nil, err
	}
	out := rendered{Text: tok.Decode(ids), Spans: [][2]int{}}
	if !in.AddGenerationPrompt {
		out.Text = strings.TrimSuffix(out.Text, "<|im_start|>assistant\n")
	}
	said := false
	for _, m := range in.Messages {
		said = said || m.Role == chat.Assistant
	}
	if !said {
		return out, nil
	}
	row, trained, err := r.RenderTraining(in.Messages, in.Tools)
	if err != nil {
		return nil, err
	}
	from := -1
	for i := 0; i <= len(row); i++ {
		in := i < len(row) && trained[i]
		if in && from < 0 {
			from = len(tok.Decode(row[:i]))
		} else if !in && from >= 0 {
			out.Spans = append(out.Spans, [2]int{from, len(tok.Decode(row[:i]))})
			from = -1
		}
	}
	return out, nil
}

func newInspectParse() *cobra.Command {
	format := "hermes"
	c := &cobra.Command{
		Use:   "parse",
		Short: `{"text", "tools"} -> {"content", "reasoning", "tool_calls", "complete", "repairs"}`,
		Long: "parse reads the tool calls of a model's text. In the Hermes form there is no reasoning, and tools change nothing.\n" +
			"Where a block is no call it stays in content, and \"parse_error\" says why.",
		Example: `  echo '{"text": "<tool_call>\n{\"name\": \"hash\", \"arguments\": {}}\n</tool_call>"}' | hone inspect parse`,
		RunE: func(c *cobra.Command, _ []string) error {
			if format != "hermes" {
				return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("unknown format %q", format), Next: "use --format hermes"}
			}
			return eachLine(c, parseLine)
		},
	}
	c.Flags().StringVar(&format, "format", format, "how calls are written: hermes")
	return c
}

type parseInput struct {
	Text  *string         `json:"text"`
	Tools json.RawMessage `json:"tools"`
}

type parsedCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type parsed struct {
	Content    string        `json:"content"`
	Reasoning  string        `json:"reasoning"`
	ToolCalls  []parsedCall  `json:"tool_calls"`
	Complete   bool          `json:"complete"`
	Repairs    []repair.Kind `json:"repairs"`
	ParseError string        `json:"parse_error,omitempty"`
}

func parseLine(in parseInput) (any, error) {
	if in.Text == nil {
		return nil, errors.New(`"text" is missing`)
	}
	r := toolcall.Hermes().Parse(*in.Text, toolcall.Options{})
	out := parsed{Content: r.Content, ToolCalls: []parsedCall{}, Complete: r.Complete, Repairs: append([]repair.Kind{}, r.Repairs...), ParseError: r.Err}
	for _, c := range r.Calls {
		out.ToolCalls = append(out.ToolCalls, parsedCall{c.Name, c.Arguments})
	}
	return out, nil
}

func newInspectLogprobs(a *app) *cobra.Command {
	base, adapter := "", ""
	c := &cobra.Command{
		Use:     "logprobs",
		Short:   `{"ids"} -> {"logprobs"}, natural log; the first is null`,
		Example: `  echo '{"ids": [1, 4093, 198]}' | hone inspect logprobs --adapter runs/demo-20260102-150405/final`,
		RunE:    func(c *cobra.Command, _ []string) error { return runInspectLogprobs(c, a, base, adapter) },
	}
	modelFlag(c, &base)
	c.Flags().StringVar(&adapter, "adapter", "", "adapter folder (default none: the base model's)")
	return c
}

func runInspectLogprobs(c *cobra.Command, a *app, base, adapter string) error {
	conf, err := a.config()
	if err != nil {
		return err
	}
	if base == "" {
		base = conf.Model.Base
	}
	m, err := a.openMachine(conf, base, "")
	if err != nil {
		return err
	}
	defer m.close()
	var lora model.LoRA
	var flat []float32
	if adapter != "" {
		if lora, flat, err = train.LoadAdapter(adapter, m.spec); err != nil {
			return err
		}
	}
	s, err := score.New(m.engine, m.spec, m.weights, lora, flat)
	if err != nil {
		return err
	}
	defer s.Close()
	return eachLine(c, func(in idsLine) (any, error) {
		if err := in.check(m.spec.VocabSize); err != nil {
			return nil, err
		}
		logprobs, err := s.Logprobs(in.IDs)
		out := make([]*float32, len(in.IDs)) // the first stays null
		for i := range logprobs {
			out[i+1] = &logprobs[i]
		}
		return map[string]any{"logprobs": out}, err
	})
}

// tokenizer builds the tokenizer of a base model; no device is opened.
func (a *app) tokenizer(base string) (*tokenizer.Tokenizer, error) {
	c, err := a.config()
	if err != nil {
		return nil, err
	}
	if base == "" {
		base = c.Model.Base
	}
	path, err := a.modelPath(base)
	if err != nil {
		return nil, err
	}
	file, err := modelfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only
	return openTokenizer(file.Vocabulary)
}

func openTokenizer(v modelfile.Vocabulary) (*tokenizer.Tokenizer, error) {
	return tokenizer.New(tokenizer.Options{Tokens: v.Tokens, Merges: v.Merges, Types: v.TokenTypes, PreTokenizer: v.PreTokenizer})
}

// eachLine answers each line of stdin with one line on stdout, so that a program may talk to it line by line.
func eachLine[In any](c *cobra.Command, answer func(In) (any, error)) error {
	in := bufio.NewReader(c.InOrStdin())
	out := json.NewEncoder(c.OutOrStdout())
	out.SetEscapeHTML(false)
	for {
		line, readErr := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := context.Cause(c.Context()); err != nil {
				return err
			}
			if err := out.Encode(answerLine(line, answer)); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return nil
		} else if readErr != nil {
			return readErr
		}
	}
}

func answerLine[In any](line []byte, answer func(In) (any, error)) any {
	var v In
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(&v)
	if err == nil && len(bytes.TrimSpace(line[d.InputOffset():])) > 0 {
		err = errors.New("more than one value on the line")
	}
	var out any
	if err == nil {
		out, err = answer(v)
	}
	if err != nil {
		return map[string]string{"error": err.Error()}
	}
	return out
}
