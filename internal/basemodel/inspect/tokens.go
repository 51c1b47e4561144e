package inspect

import (
	"context"
	"errors"
	"fmt"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/text/tokenizer"
)

// TokenOptions say which tokenizer is used, and which way.
type TokenOptions struct {
	Base, Tokenizer string // a base model, or a file in place of its tokenizer
	Decode          bool
	SkipSpecial     bool // of Decode
}

// Tokens answers {"text"} with {"ids"}, special tokens in the text recognised and none added, or the other way.
func Tokens(ctx context.Context, h *host.Host, c config.Model, o TokenOptions) error {
	tok, err := openTokenizer(h, c, o)
	if err != nil {
		return err
	}
	if o.Decode {
		return eachLine(ctx, h, func(in idsLine) (any, error) { return decodeLine(tok, in, o.SkipSpecial) })
	}
	return eachLine(ctx, h, func(in struct {
		Text *string `json:"text"`
	}) (any, error) {
		if in.Text == nil {
			return nil, errors.New(`"text" is missing`)
		}
		return idsLine{append([]int32{}, tok.Encode(*in.Text)...)}, nil
	})
}

func openTokenizer(h *host.Host, c config.Model, o TokenOptions) (*tokenizer.Tokenizer, error) {
	if o.Tokenizer != "" {
		return tokenizer.Load(o.Tokenizer)
	}
	t, err := basemodel.OpenText(h, c, o.Base)
	if err != nil {
		return nil, err
	}
	return t.Tokenizer, nil
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
