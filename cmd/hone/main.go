// Command hone turns an MCP server and a base model into a model that is expert at those tools.
//
// Each cmd_<verb>.go holds one verb: its flags, and what it prints. What it does is a room under internal/.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
)

func main() {
	host.UnlinkFolder()
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &app{
		Host: &host.Host{Stdin: os.Stdin, Data: sanitize.New(os.Stdout), Talk: sanitize.New(os.Stderr),
			LookupEnv: os.LookupEnv, Environ: os.Environ(), Helper: sandboxHelper(), Program: os.Args[0],
			KeepsPrograms: true, Still: &host.Still{}},
		setenv: os.Setenv,
	}
	host.KeepHeapFloor(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := (<-signals).(syscall.Signal)
		fmt.Fprintln(a.Talk, "stopping: what is under way ends first, which takes up to 30 s for requests, "+
			"and two minutes where a program is being compiled; what is finished is kept; once more stops at once")
		cancel(host.Signalled(first))
		os.Exit(128 + int((<-signals).(syscall.Signal)))
	}()
	os.Exit(a.main(ctx, os.Args[1:]))
}

// main runs one command line and returns the exit code. What it has to say about an error is on stderr by then.
func (a *app) main(ctx context.Context, args []string) int {
	a.Context = ctx
	root := newRoot(a)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		f.Next = a.CommandText(strings.ReplaceAll(f.Next, "--base-model", baseOption(c)))
	}
	return a.Report(ctx, err)
}
