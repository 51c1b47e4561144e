package chat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Caps of Decode where the options leave them out.
const (
	DefaultMaxDepth = 500      // arrays and objects inside each other
	DefaultMaxBytes = 64 << 20 // of text
)

// DecodeOptions of Decode. The zero value is strict and has the default caps.
type DecodeOptions struct {
	LastWins bool // a repeated key replaces the earlier value in its place, as Python's json.loads does
	MaxDepth int  // 0 is DefaultMaxDepth
	MaxBytes int  // 0 is DefaultMaxBytes
}

// SyntaxError says where text is not the JSON that was asked for.
type SyntaxError struct {
	Offset int // in bytes; where reading stopped
	Why    string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("not JSON at byte %d: %s", e.Offset, e.Why) }

// Decode reads text as exactly one JSON value (RFC 8259) with white space around it. Invalid UTF-8, half of a
// surrogate pair, and a repeated key (unless LastWins) are errors at every depth: the usual decoders repair them
// silently, which lets one text mean two things to two readers. Errors are *SyntaxError.
func Decode(text []byte, o DecodeOptions) (Value, error) {
	if o.MaxDepth == 0 {
		o.MaxDepth = DefaultMaxDepth
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if len(text) > o.MaxBytes {
		return nil, &SyntaxError{Why: fmt.Sprintf("%d bytes are more than %d", len(text), o.MaxBytes)}
	}
	d := decoder{jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(o.LastWins)), o.MaxDepth}
	v, err := d.value()
	if err == nil {
		end := int(d.in.InputOffset())
		if _, err = d.in.ReadToken(); err == io.EOF {
			return v, nil
		}
		return nil, &SyntaxError{Offset: end, Why: "more text after the value"}
	}
	return nil, d.syntaxError(err, len(text))
}

// DecodeFirst reads the JSON value that a text begins with, whatever stands behind it, and is where the value ends; of
// an error, where reading stopped. Rules are those of Decode.
func DecodeFirst(text []byte, o DecodeOptions) (Value, int, error) {
	if o.MaxDepth == 0 {
		o.MaxDepth = DefaultMaxDepth
	}
	d := decoder{jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(o.LastWins)), o.MaxDepth}
	v, err := d.value()
	if err == nil {
		return v, int(d.in.InputOffset()), nil
	}
	err = d.syntaxError(err, len(text))
	return nil, err.(*SyntaxError).Offset, err
}

type decoder struct {
	in       *jsontext.Decoder
	maxDepth int
}

func (d *decoder) value() (Value, error) {
	token, err := d.in.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return Number(token.String()), nil
	}
	if d.in.StackDepth() > d.maxDepth {
		return nil, fmt.Errorf("more than %d arrays and objects inside each other", d.maxDepth)
	}
	if token.Kind() == '[' {
		return d.array()
	}
	return d.object()
}

func (d *decoder) array() (Value, error) {
	list := []Value{}
	for d.in.PeekKind() != ']' {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.in.ReadToken()
	return list, err
}

func (d *decoder) object() (Value, error) {
	object := &Object{}
	for d.in.PeekKind() != '}' {
		token, err := d.in.ReadToken()
		if err != nil {
			return nil, err
		}
		key := token.String() // the token is only valid until the next read
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		object.Set(key, v)
	}
	_, err := d.in.ReadToken()
	return object, err
}

// syntaxError says it without the decoder's own name.
func (d *decoder) syntaxError(err error, size int) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &SyntaxError{Offset: size, Why: "the text ends early"}
	case errors.As(err, &syntactic):
		return &SyntaxError{Offset: int(syntactic.ByteOffset),
			Why: strings.TrimPrefix(syntactic.Err.Error(), "jsontext: ")}
	}
	return &SyntaxError{Offset: int(d.in.InputOffset()), Why: err.Error()}
}
