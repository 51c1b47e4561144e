package generate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// containing are words before the fields of an object that only its description states.
	containing = regexp.MustCompile(`(?i)\b(?:contains?|containing|includes?|including|with|has|having|fields|keys|properties)\b[^:.\n]{0,30}:\s*([^\n]+)`)
	// spokenField is one of them: "value (float)", "optionally request_id (str)".
	spokenField = regexp.MustCompile("(?i)^(?:and\\s+)?(optional(?:ly)?\\s+)?[`'\"]?([A-Za-z_]\\w{0," +
		"39})[`'\"]?\\s*(?:\\(([^()]*)\\))?\\.?$")
	betweenThem = regexp.MustCompile(`,\s*(?:and\s+)?|\s+and\s+`)
	fieldLine   = regexp.MustCompile("^\\s*[-*•]\\s+[`'\"*]*([A-Za-z_]\\w{0," +
		"39})[`'\"*]*\\s*(?:\\(([^()]*)\\))?\\s*(?::|-\\s|–|—)\\s*(.*)$")
	optionally = regexp.MustCompile(`(?i)\boptional(?:ly)?\b`)
)

// spell gives the objects of a tool, whose schema has no properties of them, those that the description of the
// parameter states in words, or else that of the tool.
func (s *subject) spell() {
	for i := range s.schema.fields {
		p := &s.schema.fields[i]
		object := p
		if p.kind == "array" {
			object = p.items
		}
		if object == nil || object.kind != "object" || len(object.fields) > 0 || len(object.choices) > 0 {
			continue
		}
		object.fields = fieldsInText(p.description + "\n" + object.description)
		if told := fieldsInText(s.Description); len(object.fields) == 0 && p.required {
			object.fields = told
		}
	}
}

// alike gives "date2" the form of "date", where nothing is said of its own.
func (s *subject) alike() {
	for i := range s.schema.fields {
		p := &s.schema.fields[i]
		stem := strings.TrimRight(p.name, "_0123456789")
		if stem == p.name || stem == "" || p.stated != nil || p.listed != nil || len(p.examples) > 0 ||
			p.format != "" || len(p.choices) > 0 {
			continue
		}
		for _, o := range s.schema.fields {
			if strings.TrimRight(o.name, "_0123456789") == stem && o.stated != nil && o.kind == p.kind {
				p.stated = o.stated
			}
		}
	}
}

// fieldsInText are the fields that a text lists: in a line after "contain:", or one in each line. Fewer than two are no
// list.
func fieldsInText(text string) (fields []param) {
	add := func(name, kind, description string, optional bool) {
		if !slices.ContainsFunc(fields, func(p param) bool { return p.name == name }) {
			p := param{name: name, kind: kindOf(kind, description), description: description, required: !optional}
			p.state()
			fields = append(fields, p)
		}
	}
	if m := containing.FindStringSubmatch(text); m != nil {
		for _, part := range betweenThem.Split(outsideBrackets(m[1]), -1) {
			f := spokenField.FindStringSubmatch(strings.TrimSpace(strings.ReplaceAll(part, "\x00", ",")))
			if f == nil {
				fields = nil
				break
			}
			add(f[2], f[3], "", f[1] != "" || optionally.MatchString(f[3]))
		}
	}
	if len(fields) < 2 {
		fields = nil
		for row := range strings.SplitSeq(text, "\n") {
			if f := fieldLine.FindStringSubmatch(row); f != nil {
				add(f[1], f[2], f[3], optionally.MatchString(f[2]+" "+f[3]))
			}
		}
	}
	if len(fields) < 2 {
		return nil
	}
	return fields
}

// outsideBrackets has a text with the commas between brackets hidden.
func outsideBrackets(text string) string {
	return regexp.MustCompile(`\([^()]*\)`).ReplaceAllStringFunc(text, func(in string) string {
		return strings.ReplaceAll(in, ",", "\x00")
	})
}

var (
	numberWord  = regexp.MustCompile(`(?i)\b(?:float|number|numeric|double|decimal)\b`)
	integerWord = regexp.MustCompile(`(?i)\bint(?:eger)?\b`)
	booleanWord = regexp.MustCompile(`(?i)\bbool(?:ean)?\b`)
)

// kindOf is JSON's kind of a field that is described in words.
func kindOf(kind, description string) string {
	if kind == "" {
		kind = description
	}
	switch {
	case booleanWord.MatchString(kind):
		return "boolean"
	case integerWord.MatchString(kind):
		return "integer"
	case numberWord.MatchString(kind):
		return "number"
	}
	return "string"
}

// borrowObject is an object made as another tool's arguments are: of a batch of conversions, what one conversion takes.
// What is left of its required fields has to be a type, which the other tool's name says. ok is false where no tool's
// arguments are fields of it.
func (f filler) borrowObject(p param) (json.RawMessage, bool) {
	var able []*subject
	for _, o := range f.tool.others {
		if f.lends(o, p) {
			able = append(able, o)
		}
	}
	if len(able) == 0 {
		return nil, false
	}
	o := pick(f.r, able)
	arguments, ok := filler{f.r, o, f.known}.arguments(false)
	if !ok {
		return nil, false
	}
	for _, field := range p.fields {
		if !field.required || find(arguments, field.name) != nil {
			continue
		}
		arguments = appendMember(arguments, field.name, quote(strings.Join(plainNouns(o), "_")))
	}
	return arguments, true
}

// plainNouns are a tool's name without its verb, as they are written.
func plainNouns(s *subject) []string {
	return slices.DeleteFunc(strings.Fields(wordsOfName(s.Name)), isVerb)
}

// missingObjects says for which required parameter no object could be made, "" where there is none such.
func (s *subject) missingObjects() string {
	for _, p := range s.schema.fields {
		object := &p
		if p.kind == "array" && p.items != nil {
			object = p.items
		}
		if p.required && object.kind == "object" && len(object.fields) == 0 {
			return fmt.Sprintf("%s takes objects, and nothing says what is in one", p.name)
		}
	}
	return ""
}

// lends reports whether a tool's required arguments are fields of an object, all that this one requires but a type.
func (f filler) lends(o *subject, p param) bool {
	shared := 0
	for _, q := range o.schema.fields {
		if !q.required {
			continue
		}
		at := slices.IndexFunc(p.fields, func(field param) bool { return field.name == q.name })
		if at < 0 || q.kind == "object" || q.kind == "array" {
			return false
		}
		shared++
	}
	for _, field := range p.fields {
		mine := slices.ContainsFunc(o.schema.fields, func(q param) bool { return q.required && q.name == field.name })
		if field.required && !mine && !(field.kind == "string" && field.of("type",
			"kind", "category", "operation", "action", "tool", "dimension") && len(plainNouns(o)) > 0) {
			return false
		}
	}
	return o != f.tool && shared > 1
}
