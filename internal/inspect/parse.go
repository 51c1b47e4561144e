package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/chat"
	"hone/internal/text/render"
	"hone/internal/text/toolcall"
	"hone/internal/text/toolcall/repair"
)

func newInspectParse(a *app) *cobra.Command {
	base, format, strict := "", "", false
	c := &cobra.Command{
		Use:   "parse",
		Short: `{"text", "tools"} -> {"content", "reasoning", "tool_calls", "complete", "repairs"}`,
		Long: "parse reads the tool calls of a model's text. Tools type the values of forms that write all of them as text. Reasoning\n" +
			"at the beginning, in <think> tags for example, is told apart. What was mended to understand a call is in \"repairs\";\n" +
			"where a block is no call it stays in content, and \"parse_error\" says why.\n" +
			"Formats: " + strings.Join(toolcall.Names(), ", ") + ".",
		Example: `  echo '{"text": "<tool_call>\n{\"name\": \"hash\", \"arguments\": {}}\n</tool_call>"}' | hone inspect parse --format hermes`,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := a.toolFormat(base, format)
			if err != nil {
				return err
			}
			return eachLine(c, func(in parseInput) (any, error) { return in.parse(f, !strict) })
		},
	}
	modelFlag(c, &base)
	c.Flags().StringVar(&format, "format", "", "how calls are written (default the base model's way)")
	c.Flags().BoolVar(&strict, "strict", false, "mend nothing, as training does")
	return c
}

// toolFormat is a named form of calls, or that of a base model.
func (a *app) toolFormat(base, name string) (toolcall.Format, error) {
	if name != "" {
		return toolcall.Named(name)
	}
	w, err := a.text(base)
	if err != nil {
		return toolcall.Format{}, err
	}
	r, err := w.Renderer("")
	if err != nil {
		return toolcall.Format{}, err
	}
	if v, ok := r.(*render.Vendor); ok {
		return v.ToolFormat(), nil
	}
	return toolcall.Hermes(), nil
}

type parseInput struct {
	Text  *string     `json:"text"`
	Tools []chat.Tool `json:"tools"`
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

func (in parseInput) parse(f toolcall.Format, mend bool) (any, error) {
	if in.Text == nil {
		return nil, errors.New(`"text" is missing`)
	}
	r := render.ReadText(*in.Text, f, render.ReadOptions{Tools: in.Tools, Repair: mend})
	out := parsed{Content: r.Content, Reasoning: r.Reasoning, ToolCalls: []parsedCall{}, Complete: r.Complete,
		Repairs: append([]repair.Kind{}, r.Repairs...), ParseError: r.Err}
	for _, c := range r.Calls {
		out.ToolCalls = append(out.ToolCalls, parsedCall{c.Name, c.Arguments})
	}
	return out, nil
}
