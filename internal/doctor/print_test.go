package doctor

import (
	"errors"
	"io"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
)

// What fails first is what to do first; downloads that are missing are one command.
func TestPrintNamesWhatIsNext(t *testing.T) {
	h := &host.Host{Data: sanitize.New(io.Discard), Talk: sanitize.New(io.Discard)}
	for _, tc := range []struct {
		next []string
		want string
	}{
		{[]string{"hone engine install cpu", "hone engine install M"}, "hone engine install cpu M"},
		{[]string{"hone engine install cpu", "look"}, "hone engine install cpu"},
		{[]string{"look", "hone engine install cpu"}, "look"},
	} {
		var checks []Check
		for _, next := range tc.next {
			checks = append(checks, Check{Name: "x", Status: Fail, Next: next})
		}
		f, is := errors.AsType[*fault.Error](Print(h, checks))
		if !is || f.Next != tc.want {
			t.Errorf("%q: %v", tc.next, f)
		}
	}
}

// A server that fails is one line: what, and why. Its name stands before it.
func TestWhatFailed(t *testing.T) {
	for want, err := range map[string]error{
		"it cannot be started: no such program": &mcp.Failure{Server: "s", Phase: mcp.PhaseStart, Err: errors.New("no such program")},
		"it does not answer: EOF; the process ended: exit status 1; no mood today": &mcp.Failure{
			Server: "s",
			Phase:  mcp.PhaseConnect,
			Err:    errors.New("EOF"),
			Said:   "the process ended: exit status 1;\n  no mood\ttoday",
		},
		"it does not list its tools: broken": &mcp.Failure{Server: "s", Phase: mcp.PhaseList, Err: errors.New("broken")},
		"plain":                              errors.New("plain"),
	} {
		if got := failureText(err); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
