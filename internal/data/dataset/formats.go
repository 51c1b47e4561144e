package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/fault"
)

// columns are the members of a row that any format has. What is not among them is told of, see unread.
type columns struct {
	Messages      jsontext.Value `json:"messages"`
	Conversations jsontext.Value `json:"conversations"`
	Conversation  jsontext.Value `json:"conversation"`
	Trajectory    jsontext.Value `json:"trajectory"`

	System         jsontext.Value `json:"system"`
	SystemPrompt   jsontext.Value `json:"system_prompt"`
	Tools          jsontext.Value `json:"tools"`
	Functions      jsontext.Value `json:"functions"`
	AvailableTools jsontext.Value `json:"available_tools"`

	Query             jsontext.Value `json:"query"`
	Answers           jsontext.Value `json:"answers"`
	FunctionCall      jsontext.Value `json:"function_call"`
	SourceInstruction jsontext.Value `json:"source_instruction"`

	Prompt      jsontext.Value `json:"prompt"`
	Question    jsontext.Value `json:"question"`
	Completion  jsontext.Value `json:"completion"`
	Instruction jsontext.Value `json:"instruction"`
	Input       jsontext.Value `json:"input"`
	Output      jsontext.Value `json:"output"`
	History     jsontext.Value `json:"history"`

	Task   jsontext.Value `json:"task"`
	Checks jsontext.Value `json:"checks"`
	ID     jsontext.Value `json:"id"`
	UUID   jsontext.Value `json:"uuid"`
	own
	Others jsontext.Value `json:",embed"` // the rest, as an object
}

// record is a row to be read: its text, and the further texts where one trace is several (STS, a list of messages).
type record struct {
	columns
	rest  [][]byte
	aside []string // what is not read of it, or not learnt, though the row is kept
}

// format is one way to keep rows.
type format struct {
	name, says string
	fits       func(*record) bool
	read       func(*record) (Row, error)
	reads      string // the columns that read takes, beside those of everyRow
}

// table is in the order in which they are tried: the first that fits is taken.
func table() []format {
	return []format{
		{"sts", "session traces of the Hub (STS): a line of type session, then its messages",
			func(r *record) bool { return r.rest != nil && r.Messages == nil }, readSTS, "type harness"},
		{"toucan", "Toucan-1.5M: messages as a JSON string, available_tools",
			func(r *record) bool { return r.Messages != nil && r.AvailableTools != nil }, readToucan, "messages"},
		{
			"openai", "OpenAI's messages and tools, function_call too; hone's trajectories; the rows of most data " +
				"sets on the Hub", func(r *record) bool { return r.Messages != nil }, readOpenAI, "messages",
		},
		{"hermes", "Hermes function calling: conversations with <tool_call> and <tool_response> in the text",
			fitsHermes, readHermes, "conversations conversation"},
		{"apigen-mt", "APIGen-MT: conversations of human, gpt, function_call and observation, with a system column",
			fitsAPIGen, readShareGPT, "conversations conversation"},
		{"sharegpt", "ShareGPT: conversations of from and value, in its variants",
			func(r *record) bool { return r.turns() != nil }, readShareGPT, "conversations conversation messages"},
		{"xlam", "xLAM and APIGen: query, tools, answers",
			func(r *record) bool { return r.Query != nil && r.Answers != nil }, readXLAM, "query answers"},
		{"mcpflow-pairs", "MCP-Flow: source_instruction, function_call", func(r *record) bool {
			return r.SourceInstruction != nil && r.FunctionCall != nil
		}, readPair, "source_instruction function_call"},
		{"mcpflow-trajectories", "MCP-Flow: a list of messages with one tool call as an object",
			func(r *record) bool { return r.Trajectory != nil }, readTrajectory, "trajectory"},
		{
			"prompt-completion", "TRL's prompt and completion, as messages or as texts; the completion is learnt",
			func(r *record) bool { return r.Prompt != nil && r.Completion != nil }, readCompletion,
			"prompt completion history",
		},
		{
			"alpaca", "Alpaca: instruction, input and output; system and history as LLaMA-Factory has them",
			func(r *record) bool { return r.Instruction != nil && r.Output != nil }, readAlpaca,
			"instruction input output history",
		},
	}
}

// Names are those of all formats.
func Names() []string {
	var names []string
	for _, f := range table() {
		names = append(names, f.name)
	}
	return names
}

// Describe is a text with a line for each format.
func Describe() string {
	var b strings.Builder
	for _, f := range table() {
		fmt.Fprintf(&b, "  %-21s %s\n", f.name, f.says)
	}
	return b.String()
}

// formatByName finds a format; "" is none, and each row's is told from its columns.
func formatByName(name string) (*format, error) {
	if name == "" {
		return nil, nil
	}
	all := table()
	i := slices.IndexFunc(all, func(f format) bool { return f.name == name })
	if i < 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no format %q", name),
			Next: "the formats are " + strings.Join(Names(), ", ")}
	}
	return &all[i], nil
}

// refusal says why a row is none; reason is one of few, so that a report can count by it.
type refusal struct{ reason, detail string }

func (r *refusal) Error() string {
	if r.detail == "" {
		return r.reason
	}
	return r.reason + ": " + r.detail
}

func refuse(reason, format string, args ...any) error {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// Why a row that is JSON is refused.
const (
	noFormat     = "no known format"
	noMessages   = "no messages"
	noPrompt     = "no prompt"
	noSplit      = "of a split that is not known"
	badShape     = "a member of another type than its format has"
	badRole      = "a role that no conversation has"
	badContent   = "content that is not text"
	badWeight    = "a weight that is neither 0 nor 1"
	badCall      = "a call that cannot be read"
	badArguments = "arguments that are not a JSON object"
	unanswered   = "a call without a result, and the conversation goes on"
	noCall       = "a result without a call"
	badTools     = "tools that cannot be read"
	unknownTool  = "a call of a tool that the row does not list"
)

// decode reads JSON into v; a repeated key's last value counts, as in Python.
func decode(text []byte, v any) error {
	return json.Unmarshal(text, v, jsontext.AllowDuplicateNames(true))
}

// read makes a row of a record. f is nil where the format is to be told from the columns.
func (r *record) read(f *format) (Row, string, error) {
	if f == nil {
		all := table()
		i := slices.IndexFunc(all, func(f format) bool { return f.fits(r) })
		if i < 0 && r.Task != nil && r.Checks != nil {
			return Row{}, "", refuse(noFormat,
				"it is a scenario, which shows no conversation; hone collect --gold makes conversations of scenarios")
		}
		if i < 0 {
			return Row{}, "", refuse(noFormat, "its columns are those of none; --from names one")
		}
		f = &all[i]
	} else if !f.fits(r) && f.name != "openai" && f.name != "sharegpt" {
		return Row{}, f.name, refuse(noFormat, "its columns are not those of %s", f.name)
	}
	row, err := f.read(r)
	if err == nil {
		err = r.split(&row)
	}
	if err != nil {
		return row, f.name, err
	}
	if row.Outcome == "" { // hone's own record stays as it went
		r.aside = r.unread(f.reads, row.Messages)
		if err := r.addSystem(&row); err != nil {
			return row, f.name, err
		}
		setApart(&row)
		r.aside = append(r.aside, unsaid(&row)...)
	}
	if row.ID == "" {
		row.ID = text(first(r.ID, r.UUID))
	}
	return row, f.name, check(&row)
}

// check is an error where a row cannot be learnt from whatever the tools of others are. What hone recorded is kept as
// it went, wrong calls and all.
func check(row *Row) error {
	if len(row.Messages) == 0 {
		return refuse(noMessages, "")
	}
	if row.Outcome != "" {
		return nil
	}
	if len(row.Tools) > 0 {
		if name := row.UnknownTool(row.Tools); name != "" {
			return refuse(unknownTool, "%q", name)
		}
	}
	return nil
}

// first is the first value that is there.
func first(values ...jsontext.Value) jsontext.Value {
	for _, v := range values {
		if len(v) > 0 && v.Kind() != 'n' {
			return v
		}
	}
	return nil
}

// text is a string's text, another value's JSON, and nothing for null.
func text(v jsontext.Value) string {
	if len(v) == 0 || v.Kind() == 'n' {
		return ""
	}
	if v.Kind() == '"' {
		s, _ := jsontext.AppendUnquote(nil, v) // valid: it was decoded
		return string(s)
	}
	return string(v)
}

// listOf reads a list, one value, or either as a string, each by one. A list that is none is refused as bad.
func listOf[T any](v jsontext.Value, bad string, one func(jsontext.Value) (T, error)) (out []T, err error) {
	if v, err = unwrap(v); err != nil || len(v) == 0 || v.Kind() == 'n' {
		return nil, err
	}
	list := []jsontext.Value{v}
	if v.Kind() == '[' {
		if err := decode(v, &list); err != nil {
			return nil, refuse(bad, "")
		}
	}
	for _, item := range list {
		x, err := one(item)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// unwrap is the JSON in a string, or the value itself. Data sets keep lists as strings where a column must have one
// type.
func unwrap(v jsontext.Value) (jsontext.Value, error) {
	if v.Kind() != '"' {
		return v, nil
	}
	inner := jsontext.Value(strings.TrimSpace(text(v)))
	if len(inner) == 0 || string(inner) == "None" {
		return nil, nil
	}
	if !inner.IsValid(jsontext.AllowDuplicateNames(true)) {
		return nil, refuse(badShape, "a string that is not JSON: %.60q", string(inner))
	}
	return inner, nil
}
