package generate

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// filler makes up arguments for a tool.
type filler struct {
	r     *rand.Rand
	tool  *subject
	known *values
}

// arguments are values for all required parameters, and for some others where optional says so; ok is false where one
// has none that fits its schema.
func (f filler) arguments(optional bool) (json.RawMessage, bool) {
	arguments, ok := f.object(f.tool.schema, nil, optional)
	if ok {
		arguments = f.inOrder(f.meetRefusals(f.pairExamples(arguments)))
	}
	if !ok || !f.tool.takes(string(arguments)) {
		if arguments, ok = f.example(optional); !ok {
			return nil, false
		}
	}
	if optional && !f.tool.needs() {
		arguments = f.some(arguments)
	}
	return arguments, true
}

// example is drawn from the whole of the schema, for one whose members ask something of one another, or are described
// in a way that readParam does not follow. Their values are those that their names ask for, where these fit.
func (f filler) example(optional bool) (json.RawMessage, bool) {
	arguments, ok := f.tool.argumentSchema().Example(f.r, optional, func(name, kind string) (json.RawMessage, bool) {
		p := param{name: name}
		for _, field := range f.tool.schema.fields {
			if field.name == name {
				p = field
			}
		}
		if p.kind != kind {
			p = param{name: name, description: p.description, kind: kind}
		}
		if kind == "array" || kind == "object" || kind == "null" { // which the schema makes of their parts
			return nil, false
		}
		raw, ok := f.value(p, nil)
		return raw, ok || f.takesCode(p) || f.sql(p) // words are no code
	})
	// as part has it
	if empty := bytes.Contains(arguments, []byte(":{}")) || bytes.Contains(arguments, []byte("[{}")); empty {
		return nil, false
	}
	return arguments, ok
}

// missing are arguments that name what is not there, so that the call may be refused: a first step of tasks that have a
// second.
func (f filler) missing() (json.RawMessage, bool) {
	arguments, ok := f.arguments(false)
	for _, p := range f.tool.schema.fields {
		raw := quote("missing-" + word(f.r))
		switch {
		case !p.required || len(p.choices) > 0 || !ok || f.takesCode(p):
			continue
		case p.kind == "integer" && p.max == nil:
			raw = json.RawMessage(strconv.Itoa(7000 + f.r.IntN(2000)))
		case p.kind != "string":
			continue
		}
		return withMember(arguments, p.name, raw)
	}
	return nil, false
}

// mostOptional bounds the optional parameters of one call: a task that names ten is no task.
const mostOptional = 2

func (f filler) object(p param, around []string, optional bool) (json.RawMessage, bool) {
	var b bytes.Buffer
	b.WriteByte('{')
	more := 0
	for _, field := range p.fields {
		if !field.required {
			if !optional || more == mostOptional || f.r.IntN(3) > 0 {
				continue
			}
			more++
		}
		raw, ok := f.value(field, around)
		// nothing is related to itself
		for try := 0; try < 3 && ok && raw[0] == '"' && bytes.Contains(b.Bytes(), raw); try++ {
			raw, ok = f.value(field, around)
		}
		if !ok && !field.required {
			continue
		}
		if !ok {
			return nil, false
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(quote(field.name))
		b.WriteByte(':')
		b.Write(raw)
	}
	b.WriteByte('}')
	return f.coherent(b.Bytes()), true
}

// coherent gives a thing whose type was drawn a name of that type.
func (f filler) coherent(object json.RawMessage) json.RawMessage {
	name, kind := "", ""
	for _, m := range members(object) {
		switch w := words(m.name); {
		case slices.Contains(w, "name") && m.raw[0] == '"':
			name = m.name
		case slices.Contains(w, "type") && m.raw[0] == '"':
			kind = textOf(m.raw)
		}
	}
	if made, ok := programs.NameOf(f.r, kind); ok && name != "" {
		object, _ = withMember(object, name, quote(made))
	}
	return object
}

func (f filler) value(p param, around []string) (json.RawMessage, bool) {
	if len(p.choices) > 0 {
		return pick(f.r, p.choices), true
	}
	switch p.kind {
	case "boolean":
		return json.RawMessage(strconv.FormatBool(f.r.IntN(2) == 0)), true
	case "object":
		return f.part(p, append(slices.Clone(around), words(p.name)...))
	case "array":
		return f.array(p, around)
	case "integer", "number":
		return f.number(p, around)
	case "string", "":
		if p.kind == "" && p.measures() {
			return f.number(param{name: p.name, kind: "number", examples: p.examples}, around)
		}
		if p.orNumber && f.r.IntN(3) > 0 {
			return f.number(p, around)
		}
		return f.text(p, around)
	}
	return nil, false
}

// measures reports whether a parameter that has no type is a number by its name.
func (p param) measures() bool {
	w := words(p.name)
	return len(w) > 0 && slices.Contains([]string{"amount", "price", "cost", "quantity", "qty", "total", "weight",
		"percent", "percentage", "hour", "minute", "duration", "limit", "count", "balance", "budget"}, w[len(w)-1])
}

// part is an object inside the arguments. Without a member it is none: there are no words for it, and a server that
// asks for one asks for what is in it.
func (f filler) part(p param, around []string) (json.RawMessage, bool) {
	if raw, ok := f.borrowObject(p); ok {
		return raw, true
	}
	raw, ok := f.object(p, around, true)
	for try := 0; try < 4 && ok && string(raw) == "{}"; try++ {
		if len(p.fields) == 0 {
			return nil, false
		}
		field := pick(f.r, p.fields)
		if one, made := f.value(field, around); made {
			raw = appendMember(raw, field.name, one)
		}
	}
	return raw, ok && string(raw) != "{}"
}

func (f filler) array(p param, around []string) (json.RawMessage, bool) {
	item := param{name: p.name, kind: "string"}
	if p.items != nil {
		item = *p.items
		item.name = p.name
	}
	var parts []json.RawMessage
	for range max(1, p.minItems, 1+f.r.IntN(2)) {
		raw, ok := f.value(item, append(slices.Clone(around), words(p.name)...))
		if !ok {
			return nil, false
		}
		if !slices.ContainsFunc(parts, func(o json.RawMessage) bool { return bytes.Equal(o, raw) }) {
			parts = append(parts, raw)
		}
	}
	return slices.Concat(json.RawMessage("["), bytes.Join(toBytes(parts), []byte(",")), json.RawMessage("]")), true
}

func toBytes(list []json.RawMessage) (out [][]byte) {
	for _, raw := range list {
		out = append(out, raw)
	}
	return out
}

func (f filler) labelOf(p param, around []string) label {
	return label{words(p.name), append(slices.Clone(around), nouns(f.tool.Name)...)}
}

func (f filler) number(p param, around []string) (json.RawMessage, bool) {
	fits := func(raw json.RawMessage) bool {
		n, err := strconv.ParseFloat(string(raw), 64)
		return err == nil && (p.min == nil || n >= *p.min) && (p.max == nil || n <= *p.max) &&
			(p.kind == "number" || n == math.Trunc(n))
	}
	if known, score := f.known.best(f.labelOf(p, around), fits); score > 0 && f.r.IntN(4) > 0 && !f.tool.creates() {
		return pick(f.r, known), true
	}
	if len(p.examples) > 0 && f.r.IntN(3) == 0 {
		if raw := pick(f.r, p.examples); fits(raw) {
			return raw, true
		}
	}
	low, high := rangeOf(p.name)
	if p.min != nil {
		low = *p.min
		high = max(high, low+20)
	}
	if p.max != nil {
		high = *p.max
		low = min(low, high)
	}
	n := low + math.Floor(f.r.Float64()*(math.Floor(high)-math.Ceil(low)+1))
	if p.kind == "number" && high-low > 1 && f.r.IntN(3) == 0 {
		n = min(n+float64(f.r.IntN(9)+1)/10, high)
	}
	return json.RawMessage(strconv.FormatFloat(n, 'f', -1, 64)), true
}

// rangeOf is where numbers of a name lie.
func rangeOf(name string) (low, high float64) {
	for _, w := range words(name) {
		switch w {
		case "year":
			return 1990, 2030
		case "month":
			return 1, 12
		case "day":
			return 1, 28
		case "hour":
			return 0, 23
		case "minute", "second":
			return 0, 59
		case "limit", "count", "size", "depth", "page", "max", "top", "head", "tail", "line":
			return 1, 10
		case "latitude", "lat":
			return -60, 60
		case "longitude", "lon", "lng":
			return -170, 170
		case "percent", "percentage":
			return 1, 100
		case "id", "index":
			return 1, 3
		case "duration", "delay", "timeout", "step":
			return 1, 3
		}
	}
	return 2, 99
}

func (f filler) text(p param, around []string) (json.RawMessage, bool) {
	taken := func(raw json.RawMessage) bool {
		return raw[0] == '"' && matches(p.pattern, textOf(raw)) && !f.tool.spoils(p.name, raw)
	}
	fits := taken
	stating := p.stated != nil && (!f.tool.doubts(p) || f.r.IntN(4) == 0)
	if raw, ok := f.valueFromText(p, stating, fits); ok {
		return raw, true
	}
	if stating && p.stated.strict() {
		fits = func(raw json.RawMessage) bool { return taken(raw) && p.stated.fits(textOf(raw)) }
	}
	if hints := f.tool.hints[p.name]; len(hints) > 0 && len(around) == 0 {
		if raw := pick(f.r, hints); fits(raw) {
			return raw, true
		}
	}
	if f.takesCode(p) {
		return nil, false
	}
	made, known := f.inventText(p, around), []json.RawMessage(nil)
	if stating && p.stated.strict() {
		made = p.stated.make(f.r)
	}
	if slices.ContainsFunc(words(p.name), saysPath) { // files are of the kind that is there
		made = f.known.likeFiles(f.r, made)
	}
	switch {
	case f.of(p, "old") || f.of(p, "existing"): // what is replaced is there
		known, _ = f.known.best(label{[]string{"content", "text"}, nil}, fits)
	case !f.composes(p):
		found, score := f.known.best(f.labelOf(p, around), fits)
		if score == 0 && made == "" {
			about := nouns(f.tool.Name)
			if f.tool.hasVerb("file", "directory", "folder") {
				about = append(about, "path")
			}
			found, _ = f.known.best(label{about, nil}, fits)
		}
		if score == 0 && made == "" && len(found) == 0 {
			found = f.known.names()
		}
		general := !slices.ContainsFunc(words(p.name), func(w string) bool { return !vague(w) })
		if score >= surely || made == "" || general && !f.tool.creates() {
			known = found
		}
	}
	if f.of(p, "path") && !f.tool.creates() && f.r.IntN(4) == 0 {
		return quote("."), true // the session's own folder
	}
	if len(known) > 0 && (made == "" || f.r.IntN(6) > 0) {
		return pick(f.r, known), true
	}
	if made == "" && f.sql(p) { // words are none
		return nil, false
	}
	if made == "" {
		made = phrase(f.r)
	}
	if !matches(p.pattern, made) {
		return nil, false
	}
	return quote(made), true
}

// valueFromText is a value that the description lists, one of the shape that it states, or an example that has no
// shape; ok is false where it says nothing, and at times else, as guesses by name are tried too.
func (f filler) valueFromText(p param, stating bool, fits func(json.RawMessage) bool) (json.RawMessage, bool) {
	switch {
	case len(p.listed) > 0 && (f.tool.insists(p) || f.r.IntN(8) > 0) && (!f.tool.doubts(p) || f.r.IntN(4) == 0):
		if raw := pick(f.r, p.listed); fits(raw) {
			return raw, true
		}
	case stating && !p.stated.strict() && (f.tool.insists(p) || f.r.IntN(5) > 0):
		if raw := quote(p.stated.make(f.r)); fits(raw) {
			return raw, true
		}
	case p.stated == nil && len(p.examples) > 0 && f.r.IntN(5) > 1:
		some := slices.DeleteFunc(slices.Clone(p.examples), func(raw json.RawMessage) bool { return !fits(raw) })
		// each was refused, perhaps for what stood beside it
		if len(some) == 0 && len(p.examples) > 1 && f.r.IntN(2) == 0 {
			some = slices.DeleteFunc(slices.Clone(p.examples), func(raw json.RawMessage) bool {
				return raw[0] != '"' || !matches(p.pattern, textOf(raw))
			})
		}
		if len(some) > 0 {
			return pick(f.r, some), true
		}
	}
	return nil, false
}

// pairExamples gives two parameters with as many examples each, whose names share a word, examples of one place: from
// "km", "lb" to "mi", "kg". Other pairs are often refused, and then none of the examples would be taken any more. At
// times it leaves them.
func (f filler) pairExamples(arguments json.RawMessage) json.RawMessage {
	for i, p := range f.tool.schema.fields {
		at := slices.IndexFunc(p.examples, func(raw json.RawMessage) bool {
			return string(raw) == string(find(arguments, p.name))
		})
		for _, o := range f.tool.schema.fields[i+1:] {
			if at < 0 || len(p.examples) < 2 || len(o.examples) != len(p.examples) || !o.of(words(p.name)...) ||
				f.r.IntN(4) == 0 {
				continue
			}
			if with, ok := withMember(arguments, o.name, o.examples[at]); ok {
				arguments = with
			}
		}
	}
	return arguments
}

// of reports whether a parameter's name has a word.
func (f filler) of(p param, word string) bool { return slices.Contains(words(p.name), word) }

// composes reports whether a text is written for the call, and none that was seen will do: SQL, content, a new name.
func (f filler) composes(p param) bool {
	own := words(p.name)
	if f.tool.destroys() && !f.sql(p) && !f.of(p, "destination") && !f.of(p, "new") { // what is there is taken away
		return false
	}
	if f.sql(p) || slices.ContainsFunc(own, func(w string) bool {
		return slices.Contains([]string{"content", "text", "message", "body", "description", "note", "comment",
			"thought", "insight", "expression", "formula", "observation"}, w)
	}) {
		return true
	}
	if f.of(p, "destination") || f.of(p, "target") || f.of(p, "new") {
		return true
	}
	return f.tool.creates() && len(own) == 1 && (own[0] == "name" || own[0] == "title" || saysPath(own[0]))
}

func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	ok, err := regexp.MatchString(pattern, text)
	return err != nil || ok // a pattern of another dialect is the schema's to judge
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

var (
	sqlText  = regexp.MustCompile(`(?i)\b(?:my|postgre|t-?)?sql(?:ite)?\b|\bselect |\bcreate table\b|\b(?:duckdb|postgres|snowflake|bigquery|clickhouse)\b`)
	sqlValue = regexp.MustCompile(`(?i)\bsql (?:query|queries|statements?|commands?|code|script|to )`)
	// otherCode are languages that nothing here is written in: words would be answered with an error of syntax.
	otherCode = regexp.MustCompile(`(?i)\b(?:graphql|cypher|sparql|promql|kql|jsonpath|xpath|jmespath|jq|javascript|typescript|python code|mongodb (?:query|filter)|lucene)\b`)
)

// sql reports whether a parameter takes SQL: it is a query of a tool for a database, or its description says so.
func (f filler) sql(p param) bool {
	query := f.of(p, "sql") || f.of(p, "query") || f.of(p, "statement")
	return query && sqlText.MatchString(
		strings.Join(append(words(p.name), p.description, f.tool.Description, f.tool.Name), " "),
	) || sqlValue.MatchString(p.description)
}

// takesCode reports whether a parameter takes code of another language.
func (f filler) takesCode(p param) bool { return !f.sql(p) && otherCode.MatchString(p.description) }
