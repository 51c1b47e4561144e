package generate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// want is a parameter that the schema calls optional and a refusal asked for: "cidr is required for contains".
type want struct {
	param, choice string // the choice that it goes with, "" where none is named
	oneOf         bool   // any parameter of its refusal will do: "one of the arguments --lead --prospect is required"
}

var asksOneOf = regexp.MustCompile(`(?i)\b(?:one|either) of\b`)

// mostRefusal bounds a refusal that is read, in bytes. What a command line says of its usage is longer, and its last
// line says what is wrong.
const mostRefusal = 300

var demands = regexp.MustCompile(`(?i)\b(?:required|requires|missing|must (?:be )?(?:provided|specif(?:y|ied)|given|set|provide|supply)|needs?|expected|provide|specify)\b`)

// ask takes the optional parameters that a refusal of a call asks for.
func (s *subject) ask(c Call, refusal string) {
	if refusal = strings.TrimSpace(refusal); len(refusal) > mostRefusal {
		refusal = refusal[strings.LastIndexByte(refusal, '\n')+1:]
	}
	if len(refusal) > mostRefusal || !demands.MatchString(refusal) {
		return
	}
	says := func(text string) bool {
		return regexp.MustCompile(`(?i)(?:^|[^\w])` + regexp.QuoteMeta(text) + `(?:$|[^\w])`).MatchString(refusal)
	}
	choice := ""
	for _, p := range s.schema.fields {
		for _, raw := range p.choices {
			if text := textOf(raw); text != "" && choice == "" && says(text) &&
				!slices.ContainsFunc(s.schema.fields, func(o param) bool { return o.name == text }) {
				choice = text
			}
		}
	}
	for _, p := range s.schema.fields {
		w := want{p.name, choice, asksOneOf.MatchString(refusal)}
		if !p.required && len(p.choices) == 0 && says(p.name) && find(c.Arguments, p.name) == nil &&
			!slices.Contains(s.wants, w) {
			s.wants = append(s.wants, w)
		}
	}
}

// alternative draws one of the parameters of which a refusal wants any; "" where none does, or arguments have one.
func (f filler) alternative(arguments json.RawMessage) string {
	var names []string
	for _, w := range f.tool.wants {
		if w.oneOf && find(arguments, w.param) != nil {
			return ""
		}
		if w.oneOf {
			names = append(names, w.param)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return pick(f.r, names)
}

// meetRefusals adds what refusals have asked for to arguments, where these go with the same choice or name none.
func (f filler) meetRefusals(arguments json.RawMessage) json.RawMessage {
	chosen, chose := map[string]bool{}, false
	for _, m := range members(arguments) {
		at := slices.IndexFunc(f.tool.schema.fields, func(p param) bool {
			return p.name == m.name && len(p.choices) > 0
		})
		if at >= 0 {
			chosen[textOf(m.raw)] = true
		}
	}
	for _, w := range f.tool.wants { // "eval (default)" is named by no call
		chose = chose || chosen[w.choice]
	}
	alternative := f.alternative(arguments)
	for _, w := range f.tool.wants {
		if find(arguments, w.param) != nil || w.choice != "" && !chosen[w.choice] && (chose || len(chosen) > 0) ||
			w.oneOf && w.param != alternative {
			continue
		}
		at := slices.IndexFunc(f.tool.schema.fields, func(p param) bool { return p.name == w.param })
		raw, ok := f.value(f.tool.schema.fields[at], nil)
		if f.tool.schema.fields[at].kind == "boolean" { // a switch that has to be set
			raw, ok = json.RawMessage("true"), true
		}
		if ok {
			arguments = appendMember(arguments, w.param, raw)
		}
	}
	return arguments
}

// appendMember is an object with one member more.
func appendMember(object json.RawMessage, name string, raw json.RawMessage) json.RawMessage {
	out := strings.TrimSuffix(string(object), "}")
	if out != "{" {
		out += ","
	}
	return json.RawMessage(out + string(quote(name)) + ":" + string(raw) + "}")
}

// some are arguments of a tool that requires none: mostly one of its optional parameters, as a call without arguments
// is one call.
func (f filler) some(arguments json.RawMessage) json.RawMessage {
	if string(arguments) != "{}" || len(f.tool.schema.fields) == 0 || f.r.IntN(4) == 0 {
		return arguments
	}
	p := pick(f.r, f.tool.schema.fields)
	if raw, ok := f.value(p, nil); ok {
		return appendMember(arguments, p.name, raw)
	}
	return arguments
}
