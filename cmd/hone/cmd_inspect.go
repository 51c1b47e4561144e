package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/learn/model"
	"hone/internal/learn/peft"
	"hone/internal/learn/score"
	"hone/internal/text/tokenizer"
)

func newInspect(a *app) *cobra.Command {
	c := &cobra.Command{Use: "inspect", Short: "Look inside: tokens, prompts, tool calls and logprobs, as JSON lines in and out; memory and programs",
		Long: "memory and plan show what a run of the configuration would hold and compile. Each of the other commands reads one\n" +
			"JSON object a line on stdin and writes one a line on stdout, in the same order. A line that fails becomes\n" +
			"{\"error\": ...}; the others are answered, and the exit code is 3."}
	c.AddCommand(newInspectLogprobs(a), newInspectMemory(a), newInspectParse(a), newInspectPlan(a), newInspectRender(a), newInspectTokens(a))
	for _, sub := range c.Commands() {
		sub.Args = arguments(0, 0, "")
	}
	return group(c)
}

func modelFlag(c *cobra.Command, base *string) {
	c.Flags().StringVar(base, "model", "", "base model: a path, or the name of an installed one (default the configuration's)")
}

func tokenizerFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "tokenizer", "", "tokenizer.json to use, in place of the base model's")
}

func newInspectTokens(a *app) *cobra.Command {
	base, file, decode, skip := "", "", false, false
	c := &cobra.Command{
		Use:     "tokens",
		Short:   `{"text"} -> {"ids"}, special tokens in the text recognised, none added; or back`,
		Example: `  echo '{"text": "hello<|im_end|>"}' | hone inspect tokens` + "\n" + `  echo '{"ids": [28120, 2]}' | hone inspect tokens --decode`,
		RunE: func(c *cobra.Command, _ []string) error {
			var tok *tokenizer.Tokenizer
			var err error
			if file != "" {
				tok, err = tokenizer.Load(file)
			} else {
				tok, err = a.tokenizer(base)
			}
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
	tokenizerFlag(c, &file)
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
	m, err := basemodel.FindWithoutText(a.Host, conf, base)
	if err != nil {
		return err
	}
	defer m.Close()
	m.Options.Devices = 1 // engine.devices are a run's, which trains and samples on all of them
	if err := m.Load(model.Load); err != nil {
		return err
	}
	var lora model.LoRA
	var flat []float32
	if adapter != "" {
		if lora, flat, err = peft.Load(adapter, m.Spec); err != nil {
			return err
		}
	}
	s, err := score.New(m.Engine, m.Spec, m.Weights, lora, flat)
	if err != nil {
		return err
	}
	defer s.Close()
	err = eachLine(c, func(in idsLine) (any, error) {
		if err := in.check(m.Spec.VocabSize); err != nil {
			return nil, err
		}
		if len(in.IDs) > m.Spec.MaxContext {
			text := fmt.Sprintf("there are %d ids; the model has positions for %d", len(in.IDs), m.Spec.MaxContext)
			if m.Spec.Rope.Kind == "longrope" && !m.Spec.Rope.Long {
				text += fmt.Sprintf("; with model.context above %d it has more", m.Spec.Rope.OriginalContext)
			}
			return nil, errors.New(text)
		}
		logprobs, err := s.Logprobs(in.IDs)
		out := make([]*float32, len(in.IDs)) // the first stays null
		for i := range logprobs {
			out[i+1] = &logprobs[i]
		}
		return map[string]any{"logprobs": out}, err
	})
	basemodel.SayPrograms(a.Host, m.Engine)
	return err
}

// tokenizer builds the tokenizer of a base model; no device is opened.
func (a *app) tokenizer(base string) (*tokenizer.Tokenizer, error) {
	t, err := a.text(base)
	if err != nil {
		return nil, err
	}
	return t.Tokenizer, nil
}

// text opens a base model's text layer; no device is opened.
func (a *app) text(base string) (*basemodel.Text, error) {
	c, err := a.config()
	if err != nil {
		return nil, err
	}
	return basemodel.OpenText(a.Host, c.Model, base)
}
