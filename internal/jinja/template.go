// Package jinja renders the chat templates that come with models: the Jinja that Hugging Face's transformers set
// up (jinja2 3.1's sandbox with trim_blocks, lstrip_blocks, break and continue, {% generation %}, their tojson,
// raise_exception and strftime_now), over the values of pyvalue. Text and class of error are the same as there for
// every template the tests know; what is left out fails with Unsupported.
//
// A template is compiled once, to functions with variables in numbered slots; rendering calls them.
package jinja

import (
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// Limits stop a template that would not end. Zero fields are the defaults.
type Limits struct {
	Steps  int // statements and operators evaluated; 20 million
	Bytes  int // of all text and lists made on the way, which bounds the output too; 512 MiB
	Depth  int // calls of macros and recursive loops inside each other; 200
	Source int // bytes of template; 4 MiB
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{{&l.Steps, 20_000_000}, {&l.Bytes, 512 << 20}, {&l.Depth, 200}, {&l.Source, 4 << 20}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}

// Options of CompileWith. The zero value works.
type Options struct {
	Limits Limits
}

// Template is a compiled template. It is safe for concurrent use.
type Template struct {
	name, source string
	limits       Limits
	body         action
	slots        int       // of variables that the template assigns outside of any block
	names        []string  // of each variable, by number
	initial      []value   // of each variable that is not passed: a function, or undefined
	runs         sync.Pool // of *run: their memory serves the next rendering
}

// Span is a range of bytes of a rendered text: Start <= i < End.
type Span struct{ Start, End int }

// Compile reads a template with default options. The name is for errors, which are *fault.Error with an *Error inside.
func Compile(name, source string) (*Template, error) { return CompileWith(name, source, Options{}) }

// CompileWith is Compile with options.
func CompileWith(name, source string, o Options) (t *Template, err error) {
	defer recoverFailure("cannot read the chat template", name, source, &err)
	o.Limits = o.Limits.withDefaults()
	if len(source) > o.Limits.Source {
		pyvalue.Fail(0, pyvalue.LimitFault, "the template has %d bytes, more than %d", len(source), o.Limits.Source)
	}
	if !utf8.ValidString(source) {
		pyvalue.Fail(0, SyntaxFault, "the template is not UTF-8")
	}
	source = normalise(source)
	p := &parser{tokens: lex(source), names: map[string]int{}}
	body := p.template()
	hideNames(&body)
	c := &compiler{newLayout(nil)}
	c.layout.collect(body)
	t = &Template{name: name, source: source, limits: o.Limits, body: c.body(body), slots: len(c.layout.slots)}
	t.names, t.initial = make([]string, len(p.names)), make([]value, len(p.names))
	for name, id := range p.names {
		t.names[id], t.initial[id] = name, globalByName(name)
		if t.initial[id] == nil {
			t.initial[id] = &pyvalue.Undefined{Message: pyvalue.Quote(name) + " is undefined"}
		}
	}
	return t, nil
}

// Uses reports whether a variable's name stands in the template outside of text.
func (t *Template) Uses(variable string) bool { return slices.Contains(t.names, variable) }

// Values are what a template sees.
type Values struct {
	// Variables by name, each a chat.Value. Transformers pass messages, tools (null without), documents (null),
	// add_generation_prompt, and the special tokens bos_token, eos_token and so on.
	Variables *chat.Object
	Now       time.Time // for strftime_now
}

// Render returns the text and the spans inside {% generation %}, in order. Errors are *fault.Error with an *Error
// inside.
func (t *Template) Render(v Values) (text string, spans []Span, err error) {
	defer recoverFailure("cannot render the chat template", t.name, t.source, &err)
	r, ok := t.runs.Get().(*run)
	if !ok {
		r = &run{}
		r.Meter.Limits = pyvalue.Limits{Steps: t.limits.Steps, Bytes: t.limits.Bytes, Depth: t.limits.Depth}
	}
	r.now, r.root = v.Now, append(r.root[:0], t.initial...)
	for id, name := range t.names {
		if v.Variables == nil {
			break
		}
		if passed, ok := v.Variables.Get(name); ok {
			r.root[id] = pyvalue.Plain(passed)
		}
	}
	r.open(t.slots)
	t.body(r)
	text, spans = string(r.out), r.spans
	clear(r.root)
	r.memory.reset()
	r.Meter.Reset()
	r.out, r.spans, r.captures, r.body, r.scope = r.out[:0], nil, 0, nil, nil
	t.runs.Put(r)
	return text, spans, nil
}

// run is one rendering.
type run struct {
	pyvalue.Meter
	now      time.Time
	root     []value // of each variable, before assignments
	scope    *scope
	out      []byte
	spans    []Span
	captures int          // captures of output inside each other
	body     value        // the text of a block that a filter is applied to
	noArgs   pyvalue.Args // of calls without any
	scratch  []byte
	memory
}

func (r *run) write(text string) {
	r.Charge(len(text))
	r.out = append(r.out, text...)
}

// capture starts to collect what is written, for captured.
func (r *run) capture() int {
	r.captures++
	return len(r.out)
}

// endCapture returns what was written since capture, and takes it out of the text.
func (r *run) endCapture(start int) string {
	r.captures--
	text := string(r.out[start:])
	r.out = r.out[:start]
	return text
}
