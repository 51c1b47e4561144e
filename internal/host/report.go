package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
)

// Signalled is the cause of a context that a signal cancelled.
type Signalled syscall.Signal

func (s Signalled) Error() string { return "stopped by " + syscall.Signal(s).String() }

// readable is an error with a short reason and where the whole is: in the log of the run that was open, if one was.
func (h *Host) readable(err error) string {
	text, whole := err.Error(), fault.Whole(err)
	if h.Log != "" {
		if f, logErr := os.OpenFile(h.Log, os.O_WRONLY|os.O_APPEND, 0); logErr == nil {
			_, logErr = fmt.Fprintln(sanitize.New(f), whole) // a log is read on a terminal
			if errors.Join(logErr, f.Close()) == nil && text != whole {
				return text + "\n  whole: " + h.Log
			}
		}
	}
	if text != whole && !h.Verbose {
		return text + "\n  whole: the same command with --verbose"
	}
	return whole
}

// Report prints an error and returns its exit code. A verb that stopped for a signal without saying how to go on ends
// as if the signal had ended it.
func (h *Host) Report(ctx context.Context, err error) int {
	if err == nil {
		return int(fault.CodeOK)
	}
	s, stopped := context.Cause(ctx).(Signalled)
	if stopped && errors.Is(err, context.Canceled) { // what was cut off is nobody's fault, whoever it names
		err = s
	}
	_, said := errors.AsType[*fault.Error](err)
	margin := "    "
	if said {
		margin = "  " // of "where:" and its like; within these parts fault has indented
	}
	fmt.Fprintln(h.Talk, "hone: "+fault.Indent(h.readable(err), margin))
	if stopped && !said {
		return 128 + int(s)
	}
	return int(fault.CodeOf(err))
}
