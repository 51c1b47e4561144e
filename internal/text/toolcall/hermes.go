// Package toolcall reads and writes tool calls as they stand in a model's text.
//
// It knows the Hermes form, which Qwen2.5, Qwen3 and hone's own SmolLM2 template use:
//
//	some text
//	<tool_call>
//	{"name": "hash", "arguments": {"text": "hi"}}
//	</tool_call>
//
// Nothing is swallowed: a block that is not a well-formed call stays in the content, and Err says why.
package toolcall

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

const (
	openTag  = "<tool_call>"
	closeTag = "</tool_call>"
)

// Result is what a text holds.
type Result struct {
	Content  string          // the text outside well-formed calls, without the newlines that set calls apart
	Calls    []chat.ToolCall // ids call_0, call_1, ...; arguments are the JSON text as written
	Complete bool            // false where the text ends inside a block
	Repairs  []string        // what was put right to understand a call, in words
	Err      string          // why the first bad block is no call; empty where all are
}

// Parse reads a whole text.
func Parse(text string) Result {
	var p Parser
	p.Feed(text)
	_, result := p.Close()
	return result
}

// Format writes one call, the inverse of Parse. Arguments that are no JSON object are an error: no model that is shown
// such a call in its context could learn to write a valid one.
func Format(c chat.ToolCall) (string, error) {
	if c.Name == "" {
		return "", errors.New("a tool call has no name")
	}
	name, err := jsontext.AppendQuote(nil, c.Name)
	if err != nil {
		return "", fmt.Errorf("tool call %q: name: %w", c.Name, err)
	}
	if value := jsontext.Value(c.Arguments); !value.IsValid() || value.Kind() != '{' {
		return "", fmt.Errorf("tool call %q: arguments are not a JSON object: %.200s", c.Name, c.Arguments)
	}
	return openTag + "\n" + `{"name": ` + string(name) + `, "arguments": ` + c.Arguments + "}\n" + closeTag, nil
}

// parseBlock reads what stands between the tags. JSON is strict: a repeated key, invalid UTF-8 or anything after the
// object is an error.
func parseBlock(block string) (call chat.ToolCall, repairs []string, err error) {
	dec := jsontext.NewDecoder(strings.NewReader(block))
	if kind := dec.PeekKind(); kind != '{' {
		if _, err := dec.ReadToken(); err != nil {
			return call, nil, jsonError(err)
		}
		return call, nil, errors.New("not a JSON object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return call, nil, jsonError(err)
	}
	var arguments jsontext.Value
	for dec.PeekKind() != '}' {
		key, err := dec.ReadToken()
		if err != nil {
			return call, nil, jsonError(err)
		}
		name := key.String()
		value, err := dec.ReadValue()
		if err != nil {
			return call, nil, jsonError(err)
		}
		switch name {
		case "name":
			if value.Kind() != '"' {
				return call, nil, errors.New(`"name" is not a string`)
			}
			if call.Name, err = unquote(value); err != nil {
				return call, nil, err
			}
		case "arguments":
			arguments = bytes.Clone(value)
		default:
			repairs = append(repairs, fmt.Sprintf("ignored member %q of a call", name))
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return call, nil, jsonError(err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return call, nil, errors.New("something follows the JSON object")
	}
	if call.Name == "" {
		return call, nil, errors.New(`"name" is missing or empty`)
	}
	call.Arguments, repairs, err = readArguments(arguments, repairs)
	return call, repairs, err
}

// readArguments wants an object, and understands one that was serialised twice.
func readArguments(value jsontext.Value, repairs []string) (string, []string, error) {
	if value == nil {
		return "", nil, errors.New(`"arguments" is missing`)
	}
	if value.Kind() == '"' {
		text, err := unquote(value)
		if err != nil {
			return "", nil, err
		}
		value = jsontext.Value(strings.TrimSpace(text))
		repairs = append(repairs, "arguments were JSON inside a string")
	}
	if value.Kind() != '{' || !value.IsValid() {
		return "", nil, errors.New(`"arguments" is not a JSON object`)
	}
	return string(value), repairs, nil
}

func unquote(value jsontext.Value) (string, error) {
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err
}

// jsonError drops the library's name from its messages: they are shown to the model.
func jsonError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the JSON breaks off")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "jsontext: "))
}
