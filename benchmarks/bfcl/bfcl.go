// Package bfcl judges tool calls by the rules of the Berkeley Function-Calling Leaderboard: the verdict is that of its
// checker of calls (bfcl_eval/eval_checker/ast_eval, and decode_ast of its handlers of tool-calling models), oddities
// and all.
//
// Accepted values are lists, of which "" says that an argument may be left out. An int will do for a float, and not the
// reverse; a bool is no int. Texts are compared without spaces, ",./-_*^", case and the kind of quotes. Lists keep
// their order, objects are compared key by key. Several calls may come in any order: each gold call takes the first
// that fits.
package bfcl

import (
	"errors"
	"fmt"
	"strings"

	"hone/internal/chat"
)

// Category is what a question asks for.
type Category string

// The categories. Those of BFCL's live data are judged alike.
const (
	Simple      Category = "simple"      // one call of the first tool
	Multiple    Category = "multiple"    // one call of one of several tools
	Parallel    Category = "parallel"    // several calls, in any order
	Irrelevance Category = "irrelevance" // no call
	Relevance   Category = "relevance"   // a call, whichever
)

// Question is one row of a benchmark: the tools offered, and the calls accepted.
type Question struct {
	Category Category
	Language Language
	Tools    []Tool
	Gold     []any // {name: {parameter: [accepted values]}}, as Loads returns it
	// Underscores is BFCL's underscore_to_dot: the model was told of a tool with a dot in its name under a name with
	// underscores, and calls it so.
	Underscores bool
}

// Tool is what BFCL calls a function description. Properties and required are JSON values as Loads returns them.
type Tool struct {
	Name       string
	properties any
	required   any
}

// Verdict of one output.
type Verdict struct {
	Valid bool // as BFCL judges
	Tool  bool // the names of the calls are those of the gold calls, each as often
	// calls and gold calls pair up so that names agree, and arguments are those that must and may be given
	Param  bool
	Errors []string // why it is not valid, as "error_type: words"
	// BFCL's checker itself ends with an error here, the one in Errors: something in tools or gold is not as it expects
	Stopped bool
}

// NewTool reads a tool in BFCL's form, OpenAI's or MCP's. Parameters that JSON Schema lets a tool leave out are none.
func NewTool(v any) (Tool, error) {
	o, ok := v.(*chat.Object)
	if !ok {
		return Tool{}, errors.New("it is not an object")
	}
	if f, ok := o.Get("function"); ok {
		if o, ok = f.(*chat.Object); !ok {
			return Tool{}, errors.New(`"function" is not an object`)
		}
	}
	name, _ := o.Get("name")
	t := Tool{properties: &chat.Object{}, required: []any{}}
	if t.Name, ok = name.(string); !ok {
		return t, errors.New(`"name" is not there, or is no text`)
	}
	for _, key := range []string{"parameters", "inputSchema", "input_schema"} {
		schema, ok := o.Get(key)
		if !ok || schema == nil {
			continue
		}
		s, ok := schema.(*chat.Object)
		if !ok {
			return t, fmt.Errorf("%q is not an object", key)
		}
		if v, ok := s.Get("properties"); ok {
			t.properties = v
		}
		if v, ok := s.Get("required"); ok {
			t.required = v
		}
		break
	}
	return t, nil
}

// modelName is the tool's name as a model was told it.
func (q Question) modelName(name string) string {
	if q.Underscores {
		return strings.ReplaceAll(name, ".", "_")
	}
	return name
}

// tool finds a tool by the name that gold has, nil where there is none. Where the tools are as the model was told of
// them, a dot of gold's name is an underscore there.
func (q Question) tool(name string) *Tool {
	for _, want := range []string{name, strings.ReplaceAll(name, ".", "_")} {
		for i := range q.Tools {
			if q.Tools[i].Name == want {
				return &q.Tools[i]
			}
		}
	}
	return nil
}

// isRenamed reports whether the tool is as the model was told of it, and gold has its own name. A call by either will
// do then, for the line does not say which of them the model knew.
func (t *Tool) isRenamed(gold string) bool {
	return t.Name != gold && t.Name == strings.ReplaceAll(gold, ".", "_")
}

// Judge judges a list of {"name", "arguments": JSON text}, as Loads returns it. What is no such list is a failure to
// decode.
func (q Question) Judge(output any) (v Verdict) {
	calls, decodeErr := decode(output)
	called := decodeErr == nil && len(calls) > 0
	if q.Category == Relevance {
		v.Valid, v.Tool, v.Param = called, called, called
		if !called {
			v.Errors = []string{orElse(decodeErr, "relevance_error:decoder_failed: there is no call")}
		}
		return v
	}
	v.Tool = q.sameNames(output)
	switch {
	case q.Category == Irrelevance:
		v.Valid, v.Param = !called, v.Tool
		if called {
			v.Errors = []string{"irrelevance_error:decoder_success: there is a call"}
		}
		return v
	case decodeErr != nil:
		v.Errors = []string{decodeErr.Error()}
		return v
	}
	why, stopped := q.check(calls)
	v.Stopped = stopped
	if v.Valid = why == ""; !v.Valid {
		v.Errors = []string{strings.ToValidUTF8(why, "\ufffd")}
	}
	v.Param = v.Tool && q.sameArguments(calls)
	return v
}

func orElse(err error, why string) string {
	if err != nil {
		return err.Error()
	}
	return why
}

// call is one that could be decoded.
type call struct {
	name      string
	arguments *chat.Object
}

// decode is decode_ast of a model that calls tools, and is_function_calling_format_output.
func decode(output any) ([]call, error) {
	list, ok := output.([]any)
	if !ok {
		return nil, errors.New("ast_decoder:decoder_failed: the output is no list of calls")
	}
	calls := make([]call, len(list))
	var misshapen error
	for i, item := range list {
		name, text, err := callOf(item)
		if err != nil {
			return nil, fmt.Errorf("ast_decoder:decoder_failed: call %d: %w", i, err)
		}
		arguments, err := Loads(text)
		if err != nil {
			return nil, fmt.Errorf("ast_decoder:decoder_failed: arguments of call %d: %w", i, err)
		}
		o, ok := arguments.(*chat.Object)
		if !ok && misshapen == nil {
			misshapen = fmt.Errorf("ast_decoder:decoder_wrong_output_format: arguments of call %d are no JSON object",
				i)
		}
		calls[i] = call{name, o}
	}
	return calls, misshapen
}

func callOf(item any) (name, arguments string, err error) {
	o, ok := item.(*chat.Object)
	if !ok {
		return "", "", errors.New("it is no object")
	}
	v, _ := o.Get("name")
	if name, ok = v.(string); !ok {
		return "", "", errors.New(`"name" is not there, or is no text`)
	}
	v, _ = o.Get("arguments")
	if arguments, ok = v.(string); !ok {
		if v == nil {
			return name, "", errors.New(`"arguments" is not there`)
		}
		return name, "", errors.New(`"arguments" is not the text of a JSON object: "{\"city\": \"Paris\"}", in quotes, and not {"city": "Paris"}, as BFCL's reader takes it`)
	}
	return name, arguments, nil
}
