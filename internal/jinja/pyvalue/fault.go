package pyvalue

import "fmt"

// Class is the name of a Python exception.
type Class string

// Classes of faults.
const (
	UndefinedFault Class = "UndefinedError" // jinja2's, of a value that is not there
	TypeFault      Class = "TypeError"
	AttributeFault Class = "AttributeError"
	ValueFault     Class = "ValueError"
	KeyFault       Class = "KeyError"
	IndexFault     Class = "IndexError"
	DivisionFault  Class = "ZeroDivisionError"
	OverflowFault  Class = "OverflowError"
	RecursionFault Class = "RecursionError"
	LimitFault     Class = "LimitError"       // a cap of Limits; Python has none of them
	Unsupported    Class = "UnsupportedError" // valid in Python, absent here
)

// Failure is what an operation panics with, and whoever evaluates recovers; nothing else is. As in Go's own
// text/template, it spares every step of the evaluator an error result.
type Failure struct {
	Class   Class
	Message string
	At      int // byte in the source
}

// Fail ends an evaluation; at is the byte in the source.
func Fail(at int, class Class, format string, args ...any) {
	panic(&Failure{class, fmt.Sprintf(format, args...), at})
}
