// Package fault is the error a user sees: what went wrong, where, why, and the next command; and the exit code.
// It also finds the name that was meant where an unknown one was written, and keeps keys out of what is printed.
package fault

import (
	"errors"
	"strings"
)

// Code is a process exit code.
type Code int

// Exit codes of every verb.
const (
	CodeOK          Code = 0
	CodeError       Code = 1
	CodeUsage       Code = 2 // usage, configuration or an input file
	CodeFailures    Code = 3 // finished, but too much failed
	CodeBudget      Code = 4 // budget spent
	CodeUnavailable Code = 5 // an upstream or server cannot be reached
	CodeExhausted   Code = 6 // disk, memory or device
	CodeStopped     Code = 7 // stopped by the user, resumable
)

// Error is a failure a person is to act on. What is required; the rest may be empty.
type Error struct {
	Code  Code
	What  string // what failed: "cannot read the scenarios"
	Where string // file:line, server name, URL
	Why   string // the cause, if Err does not say it
	Next  string // the command or edit that helps
	Err   error  // the cause, for errors.Is and errors.As
}

// Error prints all parts, one a line where there are several, the reason as Short leaves it.
func (e *Error) Error() string { return e.text(Short(e.reason())) }

// reason is Why and the cause.
func (e *Error) reason() string {
	if e.Err == nil {
		return e.Why
	}
	if e.Why == "" {
		return Whole(e.Err)
	}
	return e.Why + ": " + Whole(e.Err)
}

func (e *Error) text(why string) string {
	const margin = "    " // more than labels have: a server's text may hold lines that look like them
	var b strings.Builder
	b.WriteString(Indent(e.What, margin))
	if e.Where != "" {
		b.WriteString("\n  where: " + Indent(e.Where, margin))
	}
	if why != "" {
		b.WriteString("\n  why:   " + Indent(why, margin))
	}
	if e.Next != "" {
		b.WriteString("\n  next:  " + Indent(e.Next, margin))
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the exit code of an error: the outermost Error's, or CodeError.
func CodeOf(err error) Code {
	if err == nil {
		return CodeOK
	}
	var f *Error
	if errors.As(err, &f) && f.Code != 0 {
		return f.Code
	}
	return CodeError
}
