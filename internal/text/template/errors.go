package template

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"hone/internal/fault"
)

// Class is the name of the Python exception that jinja2 raises for the same fault, so that a comparison with it can
// be made by class.
type Class string

// Classes of errors.
const (
	SyntaxFault    Class = "TemplateSyntaxError"
	AssertionFault Class = "TemplateAssertionError" // a filter or test that does not exist
	RuntimeFault   Class = "TemplateRuntimeError"
	UndefinedFault Class = "UndefinedError"
	RaisedFault    Class = "TemplateError" // the template called raise_exception
	SecurityFault  Class = "SecurityError"
	ArgumentFault  Class = "FilterArgumentError"
	TypeFault      Class = "TypeError"
	AttributeFault Class = "AttributeError"
	LoopFault      Class = "SyntaxError" // break or continue outside of a loop: Python's own, not jinja2's
	ValueFault     Class = "ValueError"
	KeyFault       Class = "KeyError"
	IndexFault     Class = "IndexError"
	DivisionFault  Class = "ZeroDivisionError"
	OverflowFault  Class = "OverflowError"
	RecursionFault Class = "RecursionError"
	LimitFault     Class = "LimitError"       // a cap of Limits; jinja2 has none of them
	Unsupported    Class = "UnsupportedError" // valid in jinja2, absent here
)

// Error is a fault in a template or of a template with some values. Compile and Render return it inside a
// *fault.Error.
type Error struct {
	Class   Class
	Message string // as jinja2 words it where that was easy
	Line    int    // 1 is the first
	Column  int    // in characters, 1 is the first
	Source  string // the line of the template
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Class, e.Message)
	}
	line, caret := window(e.Source, e.Column)
	return fmt.Sprintf("%s: %s\n    %s\n    %s^", e.Class, e.Message, line, caret)
}

// window cuts a long line (templates are often one) around the column, and returns what indents a caret under it.
func window(line string, column int) (text, indent string) {
	const before, after = 60, 40
	runes := []rune(line)
	at := min(column-1, len(runes))
	from, to := max(0, at-before), min(len(runes), at+after)
	indentRunes := make([]rune, 0, at-from)
	for _, r := range runes[from:at] {
		if r != '\t' {
			r = ' '
		}
		indentRunes = append(indentRunes, r)
	}
	return string(runes[from:to]), string(indentRunes)
}

// failure is what the lexer, parser and evaluator panic with; Compile and Render recover it, and nothing else. As in
// Go's own text/template, it spares every step of the evaluator an error result.
type failure struct {
	class   Class
	message string
	at      int // byte in the source
}

func fail(at int, class Class, format string, args ...any) {
	panic(&failure{class, fmt.Sprintf(format, args...), at})
}

// recoverFailure turns a failure into the error a user sees.
func recoverFailure(what, name, source string, err *error) {
	switch f := recover().(type) {
	case nil:
	case *failure:
		e := &Error{Class: f.class, Message: f.message}
		at := min(f.at, len(source))
		start := strings.LastIndexByte(source[:at], '\n') + 1
		e.Line = strings.Count(source[:start], "\n") + 1
		e.Column = utf8.RuneCountInString(source[start:at]) + 1
		e.Source, _, _ = strings.Cut(source[start:], "\n")
		*err = &fault.Error{
			Code: fault.CodeUsage, What: what, Where: fmt.Sprintf("%s:%d:%d", name, e.Line, e.Column), Err: e,
			Next: next(f.class),
		}
	default:
		panic(f)
	}
}

func next(class Class) string {
	switch class {
	case RaisedFault:
		return "the template refuses this conversation; change the conversation as its message says"
	case LimitFault, RecursionFault:
		return "correct the template so that it ends, or raise the limit"
	case Unsupported:
		return "write the template without it"
	}
	return "correct the template, or give it the values it expects"
}
