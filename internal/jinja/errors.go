package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"hone/internal/fault"
	"hone/internal/jinja/pyvalue"
)

// Class is the name of the exception that Python or jinja2 raises for the same fault, so that a comparison with it can
// be made by class.
type Class = pyvalue.Class

// Classes of errors that only templates have.
const (
	SyntaxFault    Class = "TemplateSyntaxError"
	AssertionFault Class = "TemplateAssertionError" // a filter or test that does not exist
	RuntimeFault   Class = "TemplateRuntimeError"
	RaisedFault    Class = "TemplateError" // the template called raise_exception
	SecurityFault  Class = "SecurityError"
	ArgumentFault  Class = "FilterArgumentError"
	LoopFault      Class = "SyntaxError" // break or continue outside of a loop: Python's own, not jinja2's
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

// recoverFailure turns a failure into the error a user sees.
func recoverFailure(what, name, source string, err *error) {
	switch f := recover().(type) {
	case nil:
	case *pyvalue.Failure:
		e := &Error{Class: f.Class, Message: f.Message}
		at := min(f.At, len(source))
		start := strings.LastIndexByte(source[:at], '\n') + 1
		e.Line = strings.Count(source[:start], "\n") + 1
		e.Column = utf8.RuneCountInString(source[start:at]) + 1
		e.Source, _, _ = strings.Cut(source[start:], "\n")
		*err = &fault.Error{
			Code: fault.CodeUsage, What: what, Where: fmt.Sprintf("%s:%d:%d", name, e.Line, e.Column), Err: e,
			Next: next(f.Class),
		}
	default:
		panic(f)
	}
}

func next(class Class) string {
	switch class {
	case RaisedFault:
		return "the template refuses this conversation; change the conversation as its message says"
	case pyvalue.LimitFault, pyvalue.RecursionFault:
		return "correct the template so that it ends, or raise the limit"
	case pyvalue.Unsupported:
		return "write the template without it"
	}
	return "correct the template, or give it the values it expects"
}
