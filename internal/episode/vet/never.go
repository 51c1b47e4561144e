package vet

import (
	"encoding/json"
	"fmt"
	"math"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/grade"
	"hone/internal/schema"
)

// contradictions are pairs of checks of which no episode meets both: a call that another check forbids, more tools to call than calls may be
// made, and two texts that the one answer is to be.
func contradictions(s *scenario.Scenario) (found []string) {
	wanted := map[string]bool{}
	for i, c := range s.Checks {
		switch c.Type {
		case scenario.CallCheck:
			wanted[c.Name] = true
			if s.Forbids(c.Name) {
				found = append(found, fmt.Sprintf("checks[%d] (%s) cannot pass with the others: they let nobody call %s", i, c.Type, c.Name))
			}
		case scenario.AnswerCheck:
			for j, other := range s.Checks[:i] {
				if other.Type == scenario.AnswerCheck && apart(c, other) {
					found = append(found, fmt.Sprintf("checks[%d] and checks[%d] (%s) cannot both pass: no answer is what each wants", j, i, c.Type))
				}
			}
		}
	}
	for i, c := range s.Checks {
		if c.Type == scenario.MaxCallsCheck && c.Name == "" && *c.Max > 0 && len(wanted) > *c.Max {
			found = append(found, fmt.Sprintf("checks[%d] (%s) cannot pass with the others: %d tools are to be called", i, c.Type, len(wanted)))
		}
	}
	return found
}

// apart reports whether no answer meets two checks of it, as far as that is sure: they want other last numbers, or one wants one of few whole
// texts, none of which the other takes. Of several messages each may meet one.
func apart(a, b scenario.Check) bool {
	if a.AnyTurn || b.AnyTurn {
		return false
	}
	if a.Number != nil && b.Number != nil {
		return math.Abs(*a.Number-*b.Number) > a.Tolerance+b.Tolerance
	}
	return refusesAll(a, b) || refusesAll(b, a)
}

// refusesAll reports whether a check takes none of the texts that another one wants as they are.
func refusesAll(c, whole scenario.Check) bool {
	if whole.Equals == nil && whole.AnyOf == nil {
		return false
	}
	texts, _ := whole.Examples()
	for _, text := range texts {
		for _, said := range []string{text, text + ".", `"` + text + `"`, "`" + text + "`"} { // which count as the text alone
			if c.Answer(said) {
				return false
			}
		}
	}
	return true
}

// Unsendable says which calls of a scenario's checks and gold solution no session makes: of no tool that there is, or against the schema of their
// tool, so that they end before a server sees them. A call of a check has what it leaves out from the schema's defaults.
func Unsendable(s *scenario.Scenario, tools []chat.Tool, defaults grade.Defaults) (found []string) {
	why := func(call chat.ToolCall, exact bool) string {
		for _, t := range tools {
			if t.Name != call.Name {
				continue
			}
			if !exact {
				return ""
			}
			if verdict, reasons := schema.Compile(t.InputSchema).Validate(withDefaults(call, defaults)); verdict == schema.Invalid {
				return fmt.Sprintf("the arguments are against the schema of %s: %s", t.Name, reasons[0])
			}
			return ""
		}
		return fmt.Sprintf("there is no tool %q", call.Name)
	}
	for i, c := range s.Checks {
		if c.Type != scenario.CallCheck {
			continue
		}
		if x := why(chat.ToolCall{Name: c.Name, Arguments: string(c.Arguments)}, c.ArgumentsMatch == nil); x != "" {
			found = append(found, fmt.Sprintf("checks[%d] (%s) cannot pass: %s", i, c.Type, x))
		}
	}
	for i, call := range s.GoldCalls() {
		if x := why(call, true); x != "" {
			found = append(found, fmt.Sprintf("gold[%d] cannot be made: %s", i, x))
		}
	}
	return found
}

// withDefaults are a call's arguments with what the schema of its tool fills in, as calls are compared; as they are where they are no object.
func withDefaults(call chat.ToolCall, defaults grade.Defaults) string {
	var given map[string]json.RawMessage
	if defaults == nil || json.Unmarshal([]byte(call.Arguments), &given) != nil || given == nil {
		return call.Arguments
	}
	filled := defaults(call.Name)
	if len(filled) == 0 {
		return call.Arguments
	}
	whole := map[string]json.RawMessage{}
	for name, value := range filled {
		whole[name] = value
	}
	for name, value := range given {
		whole[name] = value
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return call.Arguments
	}
	return string(text)
}
