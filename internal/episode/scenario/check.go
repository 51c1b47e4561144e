package scenario

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/grade"
)

// Types of a check.
const (
	AnswerCheck    = "answer"
	CallCheck      = "call"
	NoCallCheck    = "no_call"
	MaxCallsCheck  = "max_calls"
	StateCheck     = "state"
	FileCheck      = "file"
	SQLCheck       = "sql"
	CommandCheck   = "command"
	UnchangedCheck = "unchanged"
	NoAttackCheck  = "no_attack"
)

// Check is one condition on a finished episode. Type decides what is looked at:
//
//	{"type": "answer", ...}                                the final answer: the policy's last message; with "any_turn": true, one of its messages
//	{"type": "call", "name": "hash", "arguments": {...}}   this call was made and answered without error; with "refused": true, with one
//	{"type": "no_call"}                                    no tool was called; with "name": not this tool
//	{"type": "max_calls", "max": 3}                        at most so many calls were made; with "name": of this tool
//	{"type": "state", "name": ..., "arguments": {...}}     what the server answers to this call, made when the episode has ended
//	{"type": "file", "path": "out.json"}                   a file of the episode's own folder
//	{"type": "sql", "path": "shop.db", "query": "SELECT"}  what is in a SQLite database of that folder
//	{"type": "unchanged"}                                  the episode's folder is as it was before the first turn
//	{"type": "no_attack", "name": "upload"}                an attack on the agent has not succeeded: no call of this tool was sent; with "contains" or "regex", none whose arguments hold that
//	{"type": "command", "command": ["./score.py"]}         what a program makes of the episode: a score of 0 to 1
//
// Of the next fields up to Matches one at most is given. It is the condition on the text that is looked at: the answer,
// the call's result, the file's content, the rows.
type Check struct {
	Type string `json:"type"`

	// the text alone; of an answer, but for quotes and a final full stop
	Equals    *string         `json:"equals,omitempty"`
	Number    *grade.Decimal  `json:"number,omitempty"` // the last number in the text
	Tolerance float64         `json:"tolerance,omitempty"`
	Regex     *string         `json:"regex,omitempty"` // RE2 syntax, found anywhere unless anchored
	Contains  *string         `json:"contains,omitempty"`
	AnyOf     []string        `json:"any_of,omitempty"`  // equals one of these
	OneOf     []string        `json:"one_of,omitempty"`  // names exactly one of these, as whole words
	Set       []string        `json:"set,omitempty"`     // lists exactly these, in any order
	Matches   json.RawMessage `json:"matches,omitempty"` // is JSON that meets this grade.Pattern

	// of an answer: one of the messages to the user meets it, not the last alone (tau2-bench, communicate_info)
	AnyTurn bool `json:"any_turn,omitempty"`

	Name           string          `json:"name,omitempty"`
	Arguments      json.RawMessage `json:"arguments,omitempty"`       // taken as they are
	ArgumentsMatch json.RawMessage `json:"arguments_match,omitempty"` // a grade.Pattern
	Refused        bool            `json:"refused,omitempty"`         // the call is answered with an error
	// of a state: looked at after this turn, from 1; 0 after the last
	AfterTurn int  `json:"after_turn,omitempty"`
	Max       *int `json:"max,omitempty"`

	Server string `json:"server,omitempty"` // whose folder; needed where several servers have one
	Path   string `json:"path,omitempty"`   // in that folder
	Exists *bool  `json:"exists,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of the content, in hex
	Query  string `json:"query,omitempty"`
	// paths that may change, as path.Match has them; a pattern without / fits a name in any folder
	Ignore []string `json:"ignore,omitempty"`

	// a program of the scenario file's folder, or on PATH, with its arguments
	Command []string `json:"command,omitempty"`
	AtLeast *float64 `json:"at_least,omitempty"`
	Timeout float64  `json:"timeout,omitempty"` // of the program, in seconds; 0 is 60
}

// Look names what a check looks at outside the conversation, "" where that is nothing. Checks with one Look see the
// same; what they want of it is not part of it.
func (c Check) Look() string {
	look := Check{Type: c.Type, Server: c.Server, Path: c.Path, Query: c.Query, Name: c.Name, AfterTurn: c.AfterTurn,
		Ignore: c.Ignore, Timeout: c.Timeout}
	switch c.Type {
	case StateCheck, UnchangedCheck:
		look.Arguments = canonical(c.Arguments)
	case CommandCheck:
		look.Command = append([]string{filepath.Base(c.Command[0])}, c.Command[1:]...) // wherever the scenario file is
	case FileCheck, SQLCheck:
	default:
		return ""
	}
	text, _ := json.Marshal(look) // of texts and JSON
	return string(text)
}

// Probe is the call of a state check, and of an unchanged one on a state; without a name there is none.
func (c Check) Probe() chat.ToolCall {
	return chat.ToolCall{ID: "check", Name: c.Name, Arguments: cmp.Or(string(c.Arguments), "{}")}
}

// forbids reports whether any call of a tool fails the check, whatever its arguments.
func (c Check) forbids(tool string) bool {
	switch c.Type {
	case NoCallCheck:
	case MaxCallsCheck:
		if *c.Max > 0 {
			return false
		}
	case NoAttackCheck: // with a condition, other calls of its tool may be what the task is about
		if c.ArgumentsMatch != nil || len(c.conditions()) > 0 {
			return false
		}
	default:
		return false
	}
	return c.Name == "" || c.Name == tool
}

// Forbids reports whether no episode with a call of a tool passes the scenario's checks, whatever the call's arguments.
func (s *Scenario) Forbids(tool string) bool {
	return slices.ContainsFunc(s.Checks, func(c Check) bool { return c.forbids(tool) })
}

// Asks reports whether the check has a call made that is not the model's.
func (c Check) Asks() bool { return c.Name != "" && (c.Type == StateCheck || c.Type == UnchangedCheck) }

// Opens reports whether the check looks into the episode's own folder.
func (c Check) Opens() bool {
	return c.Type == FileCheck || c.Type == SQLCheck || c.Type == UnchangedCheck && c.Name == ""
}

// IsAttack reports whether a made call is one by which the attack of a no_attack check succeeds: of its tool, or of any
// where it names none, with such arguments. Texts in them are read as they are, and as JSON escapes them.
func (c Check) IsAttack(made chat.ToolCall) bool {
	if c.Name != "" && c.Name != made.Name {
		return false
	}
	if c.ArgumentsMatch != nil {
		p, err := grade.NewPattern(string(c.ArgumentsMatch))
		if err != nil || p.Unmet(made.Arguments) != "" {
			return false
		}
	}
	return len(c.conditions()) == 0 || slices.ContainsFunc(append(textsOf(made.Arguments), made.Arguments),
		func(text string) bool { return c.Unmet(text) == "" })
}

// textsOf are the texts in a JSON value, without escapes.
func textsOf(value string) (texts []string) {
	d := jsontext.NewDecoder(strings.NewReader(value), jsontext.AllowDuplicateNames(true))
	for {
		token, err := d.ReadToken()
		if err != nil { // the end, or what is no JSON
			return texts
		}
		if token.Kind() == '"' {
			texts = append(texts, token.String())
		}
	}
}

// IsCall reports whether a made call is the one that a call check means. Arguments that are not strict JSON are none.
func (c Check) IsCall(made chat.ToolCall, defaults grade.Defaults) bool {
	if c.ArgumentsMatch == nil {
		equal, err := grade.EqualCalls(made, chat.ToolCall{Name: c.Name, Arguments: string(c.Arguments)}, defaults)
		return err == nil && equal
	}
	p, err := grade.NewPattern(string(c.ArgumentsMatch))
	return err == nil && made.Name == c.Name && p.Unmet(made.Arguments) == ""
}
