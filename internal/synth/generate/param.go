package generate

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/chat/schema"
)

// param is what a schema says of one value.
type param struct {
	name, description string
	kind              string // JSON's: string, number, integer, boolean, object, array
	format, pattern   string
	choices           []json.RawMessage // of enum or const
	examples          []json.RawMessage
	min, max          *float64
	minItems          int
	required          bool
	orNumber          bool // a number is taken as well as a text
	items             *param
	fields            []param           // of an object, in the schema's order
	listed            []json.RawMessage // that the description says there are
	stated            *stated           // nil where neither the description nor an example says how its texts look
}

type member struct {
	name string
	raw  json.RawMessage
}

// members are those of a JSON object in their order; nil where it is none.
func members(raw json.RawMessage) (all []member) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if d.PeekKind() != '{' {
		return nil
	}
	_, _ = d.ReadToken() // the brace just seen
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		all = append(all, member{key, json.RawMessage(value.Clone())})
	}
	return all
}

func find(raw json.RawMessage, name string) json.RawMessage {
	for _, m := range members(raw) {
		if m.name == name {
			return m.raw
		}
	}
	return nil
}

// readParam reads a tool's inputSchema: its object.
func readParam(of json.RawMessage) param { return reader{schema.ReadDocument(of)}.read("", of, 0) }

type reader struct{ document *schema.Document }

// maxDepth bounds schemas that hold themselves.
const maxDepth = 8

func (r reader) read(name string, of json.RawMessage, depth int) param {
	p := param{name: name}
	if depth > maxDepth {
		return p
	}
	if target := r.target(of); target != nil {
		q := r.read(name, target, depth+1)
		if own := textOf(find(of, "description")); own != "" {
			q.description = own
			q.state()
		}
		return q
	}
	for _, m := range members(of) {
		r.keyword(&p, m, depth)
	}
	if p.kind == "" && len(p.fields) > 0 {
		p.kind = "object"
	}
	for _, name := range textsOf(find(of, "required")) {
		p.require(name)
	}
	p.examples = append(p.examples, quotedExamples(p.description)...)
	p.state()
	return p
}

// require marks a member as required, and adds one that the schema does not describe.
func (p *param) require(name string) {
	for i := range p.fields {
		if p.fields[i].name == name {
			p.fields[i].required = true
			return
		}
	}
	p.fields = append(p.fields, param{name: name, required: true})
}

// target is what a part of the document refers to, nil where it refers to nothing in it.
func (r reader) target(of json.RawMessage) json.RawMessage {
	for _, key := range schema.References() {
		if to, ok := r.document.At(textOf(find(of, key))); ok && find(of, key) != nil {
			raw, err := chat.AppendJSON(nil, to, chat.Format{KeepNumbers: true})
			if err == nil {
				return raw
			}
		}
	}
	return nil
}

func (r reader) keyword(p *param, m member, depth int) {
	switch m.name {
	case "type":
		if p.kind = textOf(m.raw); p.kind == "" {
			for _, kind := range textsOf(m.raw) {
				if kind != "null" && p.kind == "" {
					p.kind = kind
				}
			}
		}
	case "description":
		p.description = textOf(m.raw)
	case "format":
		p.format = textOf(m.raw)
	case "pattern":
		p.pattern = textOf(m.raw)
	case "enum":
		p.choices = listOf(m.raw)
	case "const":
		p.choices = []json.RawMessage{m.raw}
	case "examples":
		p.examples = append(p.examples, listOf(m.raw)...)
	case "minimum", "exclusiveMinimum":
		p.min = numberOf(m.raw, m.name == "exclusiveMinimum", 1)
	case "maximum", "exclusiveMaximum":
		p.max = numberOf(m.raw, m.name == "exclusiveMaximum", -1)
	case "minItems":
		_ = json.Unmarshal(m.raw, &p.minItems) // 0 where it is no number
	case "items":
		items := r.read(p.name, m.raw, depth+1)
		p.items = &items
	case "properties":
		for _, field := range members(m.raw) {
			p.fields = append(p.fields, r.read(field.name, field.raw, depth+1))
		}
	case "anyOf", "oneOf", "allOf":
		for i, one := range listOf(m.raw) {
			q := r.read(p.name, one, depth+1)
			// the first will do, beside what all have
			if p.kind == "object" && q.kind == "object" && m.name != "allOf" {
				if i == 0 {
					p.fields = append(p.fields, q.fields...)
				}
				continue
			}
			if q.kind == "" || q.kind == "null" || p.kind != "" && m.name != "allOf" {
				p.orNumber = p.orNumber || p.kind == "string" && (q.kind == "number" || q.kind == "integer")
				continue
			}
			q.name, q.fields = p.name, append(p.fields, q.fields...)
			if p.description != "" {
				q.description = p.description
			}
			*p = q
		}
	}
}

func textOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text) // "" where it is no text
	return text
}

func textsOf(raw json.RawMessage) (texts []string) {
	_ = json.Unmarshal(raw, &texts) // none where it is no list of texts
	return texts
}

func listOf(raw json.RawMessage) (list []json.RawMessage) {
	_ = json.Unmarshal(raw, &list) // none where it is no list
	return list
}

func numberOf(raw json.RawMessage, exclusive bool, inward float64) *float64 {
	var n float64
	if json.Unmarshal(raw, &n) != nil {
		return nil
	}
	if exclusive {
		n += inward
	}
	return &n
}

var (
	exampleMark = regexp.MustCompile(`(?i)(e\.g\.|for example|such as|example:|examples:|like|one of)[:,]?\s*(.*)`)
	quotedText  = regexp.MustCompile("'([^'\\s][^']{0,60})'|\"([^\"]{1,60})\"|`([^`]{1,60})`")
)

// quotedExamples are the values that a description gives in quotes behind "e.g." and the like.
func quotedExamples(description string) (examples []json.RawMessage) {
	found := exampleMark.FindStringSubmatch(description)
	if found == nil {
		return nil
	}
	for _, m := range quotedText.FindAllStringSubmatch(found[2], 8) {
		if text := m[1] + m[2] + m[3]; !slices.ContainsFunc(examples,
			func(e json.RawMessage) bool { return textOf(e) == text }) {
			examples = append(examples, quote(text))
		}
	}
	return examples
}

// quote is a text as JSON, without the escapes that only HTML needs.
func quote(text string) json.RawMessage {
	raw, err := jsontext.AppendQuote(nil, text)
	if err != nil { // not UTF-8
		raw, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "?"))
	}
	return json.RawMessage(raw)
}
