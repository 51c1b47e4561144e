package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/jinja"
	"hone/internal/text/render"
	"hone/internal/text/tokenizer"
)

// RenderOptions say what conversations are rendered with.
type RenderOptions struct {
	Base, Template, Tokenizer string   // a base model, and files that stand in for its own
	View                      bool     // show the rows that are trained
	Set                       []string // variables of the template, as key=value
}

// Render answers conversations with the text that a template makes of them, and the spans that are trained on.
func Render(ctx context.Context, h *host.Host, c config.Model, o RenderOptions) error {
	w, err := textOf(h, c, o)
	if err != nil {
		return err
	}
	if !o.View && !w.Own {
		t, err := jinja.Compile(w.Name, w.Template)
		if err != nil {
			return err
		}
		return eachLine(ctx, h, func(in renderLine) (any, error) { return in.render(t, w) })
	}
	r, err := w.Renderer("")
	if err != nil {
		return err
	}
	if o.View {
		colour, out := h.Colour(), io.Writer(h.Data)
		if colour {
			out = h.Data.Raw() // the view shows control characters itself
		}
		return eachLine(ctx, h, func(in renderLine) (any, error) { return nil, in.view(out, r, w.Tokenizer, colour) })
	}
	if r.Prompting().Template != "" {
		t, err := jinja.Compile(w.Name, r.Template())
		if err != nil {
			return err
		}
		return eachLine(ctx, h, func(in renderLine) (any, error) { return in.render(t, w) })
	}
	return eachLine(ctx, h, func(in renderLine) (any, error) { return renderText(r, w.Tokenizer, in) })
}

// textOf opens what the flags ask for, and no base model where they name all there is.
func textOf(h *host.Host, c config.Model, o RenderOptions) (*basemodel.Text, error) {
	var w *basemodel.Text
	var err error
	switch {
	case o.Tokenizer == "" && (o.Template == "" || o.View):
		w, err = basemodel.OpenText(h, c, o.Base)
	case o.Tokenizer == "":
		w = basemodel.WithoutModel(c)
	case o.Base == "" && o.Template != "":
		w = basemodel.WithoutModel(c)
		w.Tokenizer, err = tokenizer.Load(o.Tokenizer)
	default:
		if w, err = basemodel.OpenText(h, c, o.Base); err == nil {
			w.Tokenizer, err = tokenizer.Load(o.Tokenizer)
		}
	}
	if err == nil && o.Template != "" {
		err = w.ReplaceTemplate(o.Template)
	}
	if err == nil {
		err = setVariables(w, o.Set)
	}
	return w, err
}

// setVariables adds variables of the form key=value.
func setVariables(w *basemodel.Text, pairs []string) error {
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if key == "" || !ok {
			return &fault.Error{Code: fault.CodeUsage, What: "cannot set a variable", Where: "--set " + pair,
				Next: "write --set key=value"}
		}
		var value chat.Value = text
		if v, err := chat.Decode([]byte(text), chat.DecodeOptions{}); err == nil {
			value = v
		}
		w.Variables.Set(key, value)
	}
	return nil
}

type renderLine struct {
	Messages            json.RawMessage `json:"messages"`
	Tools               json.RawMessage `json:"tools"`
	AddGenerationPrompt bool            `json:"add_generation_prompt"`
	Kwargs              json.RawMessage `json:"kwargs"`
	BOSToken            json.RawMessage `json:"bos_token"`
	EOSToken            json.RawMessage `json:"eos_token"`
	Now                 *string         `json:"now"`
}

type rendered struct {
	Text  string   `json:"text"`
	Spans [][2]int `json:"spans"`
}

// render renders the template as transformers do.
func (in renderLine) render(t *jinja.Template, w *basemodel.Text) (any, error) {
	if in.Messages == nil {
		return nil, errors.New(`"messages" is missing`)
	}
	variables := chat.NewObject("messages", nil, "tools", nil, "documents", nil, "add_generation_prompt",
		in.AddGenerationPrompt)
	for name, text := range map[string]string{"bos_token": w.BOS, "eos_token": w.EOS} {
		if text != "" {
			variables.Set(name, text)
		}
	}
	for i := range w.Variables.Len() {
		variables.Set(w.Variables.At(i))
	}
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"messages", in.Messages}, {"tools", in.Tools}, {"bos_token", in.BOSToken}, {"eos_token", in.EOSToken},
		{"kwargs", in.Kwargs},
	} {
		if f.raw == nil {
			continue
		}
		v, err := chat.Decode(bytes.TrimSpace(f.raw), chat.DecodeOptions{})
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f.name, err)
		}
		more, isObject := v.(*chat.Object)
		switch {
		case f.name == "messages":
			variables.Set(f.name, render.FillReasoning(v))
		case f.name != "kwargs":
			variables.Set(f.name, v)
		case isObject:
			for i := range more.Len() {
				variables.Set(more.At(i))
			}
		case v != nil:
			return nil, errors.New(`"kwargs" is not an object`)
		}
	}
	now, err := in.time()
	if err != nil {
		return nil, err
	}
	text, spans, err := t.Render(jinja.Values{Variables: variables, Now: now})
	out := rendered{Text: text, Spans: [][2]int{}}
	for _, s := range spans {
		out.Spans = append(out.Spans, [2]int{s.Start, s.End})
	}
	return out, err
}

func (in renderLine) time() (time.Time, error) {
	if in.Now == nil || *in.Now == "" {
		return time.Now(), nil
	}
	for _, form := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02",
	} {
		if now, err := time.Parse(form, *in.Now); err == nil {
			return now, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no date and time: write it as 2026-03-05T09:07:03", *in.Now)
}

func (in renderLine) conversation() (messages []chat.Message, tools []chat.Tool, err error) {
	for _, f := range []struct {
		name string
		raw  json.RawMessage
		into any
	}{{"messages", in.Messages, &messages}, {"tools", in.Tools, &tools}} {
		if f.raw == nil {
			continue
		}
		if err := json.Unmarshal(f.raw, f.into); err != nil {
			return nil, nil, fmt.Errorf("%q: %w", f.name, fault.JSON(err))
		}
	}
	return messages, tools, nil
}

// renderText is for ChatML, whose spans are the assistant's messages.
func renderText(r render.Renderer, tok *tokenizer.Tokenizer, in renderLine) (any, error) {
	messages, tools, err := in.conversation()
	if err != nil {
		return nil, err
	}
	ids, err := r.Prompt(messages, tools)
	if err != nil {
		return nil, err
	}
	out := rendered{Text: tok.Decode(ids), Spans: [][2]int{}}
	if !in.AddGenerationPrompt {
		out.Text = strings.TrimSuffix(out.Text, "<|im_start|>assistant\n")
	}
	said := false
	for _, m := range messages {
		said = said || m.Role == chat.Assistant
	}
	if !said {
		return out, nil
	}
	rows, err := r.Sequences(messages, 0, tools)
	if err != nil {
		return nil, err
	}
	row, trained := rows[0].IDs, rows[0].Trained
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

// view shows a conversation as training rows.
func (in renderLine) view(out io.Writer, r render.Renderer, tok *tokenizer.Tokenizer, colour bool) error {
	messages, tools, err := in.conversation()
	if err != nil {
		return err
	}
	rows, err := r.Sequences(messages, 0, tools)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if err := render.View(out, fmt.Sprintf("row %d of %d", i+1, len(rows)), row, messages, tok,
			colour); err != nil {
			return err
		}
	}
	return nil
}
