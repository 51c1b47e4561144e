package inspect

import (
	"context"
	"errors"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/text/render"
	"hone/internal/text/toolcall"
)

// ParseOptions say how calls are written, in a form that is named or as a base model writes them.
type ParseOptions struct {
	Base, Format string
	Strict       bool // mend nothing but Python's values of a known type, as training does
}

// Parse answers {"text", "tools"} with the tool calls that the text holds.
func Parse(ctx context.Context, h *host.Host, c config.Model, o ParseOptions) error {
	f, err := toolFormat(h, c, o.Base, o.Format)
	if err != nil {
		return err
	}
	return eachLine(ctx, h, func(in parseInput) (any, error) { return in.parse(f, !o.Strict) })
}

// toolFormat is a named form of calls, or that of a base model.
func toolFormat(h *host.Host, c config.Model, base, name string) (toolcall.Format, error) {
	if name != "" {
		return toolcall.ByName(name)
	}
	t, err := basemodel.OpenText(h, c, base)
	if err != nil {
		return toolcall.Format{}, err
	}
	return t.ToolFormat()
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
	Content    string            `json:"content"`
	Reasoning  string            `json:"reasoning"`
	ToolCalls  []parsedCall      `json:"tool_calls"`
	Complete   bool              `json:"complete"`
	Repairs    []toolcall.Repair `json:"repairs"`
	ParseError string            `json:"parse_error,omitempty"`
}

func (in parseInput) parse(f toolcall.Format, mend bool) (any, error) {
	if in.Text == nil {
		return nil, errors.New(`"text" is missing`)
	}
	r := render.ReadText(*in.Text, f, render.ReadOptions{Tools: in.Tools, Repair: mend})
	out := parsed{Content: r.Content, Reasoning: r.Reasoning, ToolCalls: []parsedCall{}, Complete: r.Complete,
		Repairs: append([]toolcall.Repair{}, r.Repairs...), ParseError: r.Err}
	for _, c := range r.Calls {
		out.ToolCalls = append(out.ToolCalls, parsedCall{c.Name, c.Arguments})
	}
	return out, nil
}
