package host

import (
	"fmt"
	"io"
	"testing"

	"hone/internal/fault"
)

// A place and a label are said once, whatever the error of a line is.
func TestFailedLinesSayPlacesOnce(t *testing.T) {
	inner := &fault.Error{What: "cannot describe the tool", Where: "tool a", Why: "it is long",
		Err: io.ErrUnexpectedEOF, Next: "leave it out"}
	for _, x := range []struct {
		lines int
		errs  []error
		want  string
	}{
		{1, []error{io.EOF}, "1 of 1 line failed\n  where: stdin:1\n  why:   EOF\n  next:  correct it"},
		{
			2,
			[]error{fmt.Errorf("row: %w", inner)},
			"1 of 2 lines failed\n  where: stdin:1\n  why:   row: cannot describe the tool: tool a: it is long: " +
				"unexpected EOF; leave it out\n  next:  correct it; the others are answered",
		},
		{
			2,
			[]error{inner, io.EOF},
			"2 of 2 lines failed\n  where: stdin\n  why:   stdin:1: cannot describe the tool: tool a: it is long: " +
				"unexpected EOF; leave it out\n    stdin:2: EOF\n  next:  correct them",
		},
	} {
		f := failures{name: "stdin", LineCount: LineCount{Lines: x.lines}}
		for i, err := range x.errs {
			f.add(i+1, err)
		}
		if err := f.error(); fault.CodeOf(err) != fault.CodeFailures || err.Error() != x.want {
			t.Errorf("got %v\nwant %s", err, x.want)
		}
	}
	if err := (&failures{name: "stdin", LineCount: LineCount{Lines: 3}}).error(); err != nil {
		t.Error(err)
	}
}
