package scenario

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/grade"
)

// Types of a check.
const (
	AnswerCheck = "answer"
	CallCheck   = "call"
	NoCallCheck = "no_call"
)

// Check is one condition on a finished episode. Type decides which of the other fields count:
//
//	{"type": "answer", "equals": "42"}                     the final answer alone, but for white space, quotes and a final full stop
//	{"type": "answer", "number": 4.5, "tolerance": 0.1}    the last number in the final answer; tolerance 0 is exact
//	{"type": "answer", "regex": "^[0-9]+ km$"}             RE2 syntax, found anywhere unless anchored
//	{"type": "answer", "contains": "42"}
//	{"type": "call", "name": "hash", "arguments": {...}}   this call was made and answered without error
//	{"type": "no_call"}                                    no tool was called; with "name": not this tool
type Check struct {
	Type      string          `json:"type"`
	Equals    *string         `json:"equals,omitempty"`
	Number    *float64        `json:"number,omitempty"`
	Tolerance float64         `json:"tolerance,omitempty"`
	Regex     *string         `json:"regex,omitempty"`
	Contains  *string         `json:"contains,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Validate says what is wrong with a check, or nil.
func (c Check) Validate() error {
	conditions := 0
	for _, given := range []bool{c.Equals != nil, c.Number != nil, c.Regex != nil, c.Contains != nil} {
		if given {
			conditions++
		}
	}
	if c.Type != AnswerCheck && (conditions > 0 || c.Tolerance != 0) {
		return fmt.Errorf(`equals, number, regex and contains belong to type "answer", not %q`, c.Type)
	}
	if c.Type != CallCheck && c.Arguments != nil {
		return fmt.Errorf(`"arguments" belong to type "call", not %q`, c.Type)
	}
	switch c.Type {
	case AnswerCheck:
		return c.validateAnswer(conditions)
	case CallCheck:
		return Gold{Name: c.Name, Arguments: c.Arguments}.validate()
	case NoCallCheck:
		return nil
	case "":
		return fmt.Errorf(`"type" is missing; it must be answer, call or no_call`)
	}
	return fmt.Errorf(`"type" is %q; it must be answer, call or no_call`, c.Type)
}

func (c Check) validateAnswer(conditions int) error {
	if conditions != 1 {
		return fmt.Errorf("an answer check needs exactly one of equals, number, regex and contains; it has %d", conditions)
	}
	if c.Name != "" {
		return fmt.Errorf(`"name" belongs to types "call" and "no_call", not "answer"`)
	}
	// An empty text is in every answer, so the check would pass for anyone.
	if c.Contains != nil && *c.Contains == "" {
		return fmt.Errorf(`"contains" is empty`)
	}
	if c.Tolerance < 0 || c.Tolerance != 0 && c.Number == nil {
		return fmt.Errorf(`"tolerance" must be at least 0 and stand beside "number"`)
	}
	if c.Regex != nil {
		if _, err := regexp.Compile(*c.Regex); err != nil {
			return fmt.Errorf(`"regex": %w`, err)
		}
	}
	return nil
}

// numeral finds numbers as people write them: a sign counts only where it does not join two words or numbers, as in
// 2024-05 or x-1. Group 1 is the number.
var numeral = regexp.MustCompile(`(?:^|[^\w.-])(-?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)`)

// plain is an answer without what people put around one: white space, quotes, and one final full stop, in or behind the
// quotes. So an enumeration of what the answer may be equals none of it. What would be empty is left as it is.
func plain(text string) string {
	const around = " \t\r\n\"'`\u00a0\u2018\u2019\u201c\u201d"
	text = strings.TrimSpace(text)
	bare := strings.Trim(strings.TrimSuffix(strings.Trim(text, around), "."), around)
	if bare == "" {
		return text
	}
	return bare
}

// Answer reports whether a final answer meets an answer check. An empty answer, which is what an episode without a
// final message has, meets none.
func (c Check) Answer(text string) bool {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return false
	case c.Equals != nil:
		return plain(text) == plain(*c.Equals)
	case c.Contains != nil:
		return strings.Contains(text, *c.Contains)
	case c.Regex != nil:
		matched, err := regexp.MatchString(*c.Regex, text)
		return err == nil && matched
	case c.Number != nil:
		found := numeral.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			return false
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(found[len(found)-1][1], ",", ""), 64)
		return err == nil && math.Abs(n-*c.Number) <= c.Tolerance
	}
	return false
}

// Calls reports whether the made calls meet a call or no_call check. Only calls that were answered without error
// should be passed for a call check, all calls for a no_call check.
func (c Check) Calls(made []chat.ToolCall, defaults grade.Defaults) bool {
	if c.Type == CallCheck {
		want := []chat.ToolCall{{Name: c.Name, Arguments: string(c.Arguments)}}
		return grade.Match(made, want, defaults)[0] >= 0
	}
	for _, call := range made {
		if c.Name == "" || c.Name == call.Name {
			return false
		}
	}
	return true
}
