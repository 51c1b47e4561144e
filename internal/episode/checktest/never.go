package checktest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/chat/schema"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/grade"
)

// contradictions are pairs of checks of which no episode meets both: a call that another check forbids, more tools to
// call than calls may be made, and two texts that the one answer is to be.
func contradictions(s *scenario.Scenario) (found []string) {
	wanted := map[string]bool{}
	for i, c := range s.Checks {
		switch c.Type {
		case scenario.CallCheck:
			wanted[c.Name] = true
			if s.Forbids(c.Name) {
				found = append(found,
					fmt.Sprintf("checks[%d] (%s) cannot pass with the others: they let nobody call %s",
						i, c.Type, c.Name))
			}
		case scenario.AnswerCheck:
			for j, other := range s.Checks[:i] {
				if other.Type == scenario.AnswerCheck && apart(c, other) {
					found = append(found,
						fmt.Sprintf("checks[%d] and checks[%d] (%s) cannot both pass: no answer is what each wants",
							j, i, c.Type))
				}
			}
		}
	}
	for i, c := range s.Checks {
		if c.Type == scenario.MaxCallsCheck && c.Name == "" && *c.Max > 0 && len(wanted) > *c.Max {
			found = append(found, fmt.Sprintf("checks[%d] (%s) cannot pass with the others: %d tools are to be called",
				i, c.Type, len(wanted)))
		}
	}
	return found
}

// apart reports whether no answer meets two checks of it, as far as that is sure: they want other last numbers, or one
// wants one of few whole texts, none of which the other takes. Of several messages each may meet one.
func apart(a, b scenario.Check) bool {
	if a.AnyTurn || b.AnyTurn {
		return false
	}
	if a.Number != nil && b.Number != nil {
		return !a.Number.Near(*b.Number, a.Tolerance+b.Tolerance)
	}
	return refusesAll(a, b) || refusesAll(b, a)
}

// refusesAll reports whether a check takes none of the texts that another one wants as they are, however these are set
// apart. What an expression or a pattern takes is left open.
func refusesAll(c, whole scenario.Check) bool {
	if whole.Equals == nil && whole.AnyOf == nil || c.Regex != nil || c.Matches != nil {
		return false
	}
	texts, _ := whole.Examples()
	for _, text := range texts {
		// which count as the text alone
		for _, said := range []string{
			text, strings.Trim(text, "\"'`. "), text + ".", `"` + text + `"`, "'" + text + "'", "`" + text + "`",
		} {
			if whole.Answer(said) && c.Answer(said) {
				return false
			}
		}
	}
	return true
}

// Sessions knows which calls sessions on servers send.
type Sessions struct {
	tools    map[string]chat.Tool
	inputs   map[string]*schema.Schema // of tools, once they were asked for
	defaults grade.Defaults
}

// NewSessions takes all tools that can be called, of one name the first, and the defaults of their arguments; nil:
// none.
func NewSessions(tools []chat.Tool, defaults grade.Defaults) *Sessions {
	x := &Sessions{tools: map[string]chat.Tool{}, inputs: map[string]*schema.Schema{}, defaults: defaults}
	for _, t := range slices.Backward(tools) {
		x.tools[t.Name] = t
	}
	return x
}

// refuses says why none of the arguments is sent, "" where one may be. Without arguments the tool has to be there.
func (x *Sessions) refuses(name string, written ...string) (why string) {
	tool, is := x.tools[name]
	if !is {
		return fault.NoTool(name, slices.Sorted(maps.Keys(x.tools)))
	}
	if len(written) > 0 && x.inputs[name] == nil {
		x.inputs[name] = schema.Compile(tool.InputSchema)
	}
	for _, arguments := range written {
		verdict, reasons := x.inputs[name].Validate(arguments)
		if verdict != schema.Invalid {
			return ""
		}
		if why == "" {
			why = fmt.Sprintf("the arguments are against the schema of %s: %s", name, reasons[0])
		}
	}
	return why
}

// Unsendable says which calls of a scenario's checks and gold solution no session makes: of no tool that there is, or
// against the schema of their tool, so that they end before a server sees them. A gold call is made as it is written. A
// check is met by any call that is equal once the schema's defaults are filled in, so it is only told where none of
// these may be made.
func (x *Sessions) Unsendable(s *scenario.Scenario) (found []string) {
	for i, c := range s.Checks {
		if c.Type != scenario.CallCheck {
			continue
		}
		var written []string // of a pattern nobody knows what it leaves open
		if c.ArgumentsMatch == nil {
			written = equals(string(c.Arguments), defaultsOf(x.defaults, c.Name))
		}
		if why := x.refuses(c.Name, written...); why != "" {
			found = append(found, fmt.Sprintf("checks[%d] (%s) cannot pass: %s", i, c.Type, why))
		}
	}
	for i, call := range s.GoldCalls() {
		if why := x.refuses(call.Name, call.Arguments); why != "" {
			found = append(found, fmt.Sprintf("gold[%d] cannot be made: %s", i, why))
		}
	}
	return found
}

func defaultsOf(defaults grade.Defaults, tool string) map[string]json.RawMessage {
	if defaults == nil {
		return nil
	}
	return defaults(tool)
}

// equals are arguments that count as equal to those written: as they are, and with each choice of those that have a
// default, given or left out, as far as these are few; of many all are given, or none.
func equals(written string, defaults map[string]json.RawMessage) []string {
	list := []string{written}
	var given map[string]json.RawMessage
	if json.Unmarshal([]byte(written), &given) != nil || given == nil || len(defaults) == 0 {
		return list
	}
	var free []string // left out, or as the default is
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if value, is := given[name]; !is || sameJSON(value, defaults[name]) {
			free = append(free, name)
		}
	}
	const few = 6
	for choice := range 1 << min(few, len(free)) {
		whole := maps.Clone(given)
		for i, name := range free {
			if bit := min(i, few-1); choice>>bit&1 == 1 {
				whole[name] = defaults[name]
			} else {
				delete(whole, name)
			}
		}
		if text, err := json.Marshal(whole); err == nil {
			list = append(list, string(text))
		}
	}
	return list
}

// sameJSON reports whether two values are equal as grade has it.
func sameJSON(a, b json.RawMessage) bool {
	x, err := grade.Decode(string(a))
	y, failed := grade.Decode(string(b))
	return err == nil && failed == nil && reflect.DeepEqual(x, y)
}
