// Command hone turns an MCP server and a base model into a model that is expert at those tools.
//
// Each cmd_<verb>.go holds one verb: its flags, and run<Verb>, which wires the rooms together and is what tests call.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"hone/internal/fault"
	"hone/internal/screen"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv, environ: os.Environ(), helper: sandboxHelper(), program: os.Args[0],
		keepsPrograms: true}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := (<-signals).(syscall.Signal)
		fmt.Fprintln(a.talk(), "stopping; what is finished is kept; once more stops at once")
		cancel(signalled(first))
		os.Exit(128 + int((<-signals).(syscall.Signal)))
	}()
	os.Exit(a.main(ctx, os.Args[1:]))
}

// signalled is why the context was cancelled.
type signalled syscall.Signal

func (s signalled) Error() string { return "stopped by " + syscall.Signal(s).String() }

// main runs one command line and returns the exit code. What it has to say about an error is on stderr by then.
func (a *app) main(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		f.Next = a.invoked(strings.ReplaceAll(f.Next, "--base-model", baseOption(c)))
	}
	return a.report(ctx, err)
}

// readable is an error with a short reason and where the whole is: in the log of the run that was open, if one was.
func (a *app) readable(err error) string {
	text, whole := err.Error(), fault.Whole(err)
	if a.log != "" {
		if f, logErr := os.OpenFile(a.log, os.O_WRONLY|os.O_APPEND, 0); logErr == nil {
			_, logErr = fmt.Fprintln(screen.New(f), whole) // a log is read on a terminal
			if errors.Join(logErr, f.Close()) == nil && text != whole {
				return text + "\n  whole: " + a.log
			}
		}
	}
	if text != whole && !a.verbose {
		return text + "\n  whole: the same command with --verbose"
	}
	return whole
}

// report prints an error and returns its exit code. A verb that stopped for a signal without saying how to go on ends
// as if the signal had ended it.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return int(fault.CodeOK)
	}
	s, stopped := context.Cause(ctx).(signalled)
	if stopped && errors.Is(err, context.Canceled) { // what was cut off is nobody's fault, whoever it names
		err = s
	}
	_, said := errors.AsType[*fault.Error](err)
	margin := "    "
	if said {
		margin = "  " // of "where:" and its like; within these parts fault has indented
	}
	fmt.Fprintln(a.talk(), "hone: "+fault.Indented(a.readable(err), margin))
	if stopped && !said {
		return 128 + int(s)
	}
	return int(fault.CodeOf(err))
}
