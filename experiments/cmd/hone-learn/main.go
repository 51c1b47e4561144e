// Command hone-learn is an experiment: what does GRPO add? From one adapter, fine-tuned on few demonstrations, it goes
// on in several ways of equal size, and measures each on the same held-out scenarios.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp/sandbox"
)

// sandboxVerb is what a server's process begins as: this program restricts itself and becomes the server.
const sandboxVerb = "sandbox-exec"

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	// Hints name the verbs of hone, so the program that they are told by is hone.
	a := &app{
		Host: &host.Host{Stdin: os.Stdin, Data: sanitize.New(os.Stdout), Talk: sanitize.New(os.Stderr),
			LookupEnv: os.LookupEnv, Environ: os.Environ(), Program: "hone", KeepsPrograms: true, Still: &host.Still{}},
		setenv: os.Setenv,
	}
	if len(os.Args) > 1 && os.Args[1] == sandboxVerb {
		os.Exit(a.Report(ctx, &fault.Error{
			Code: fault.CodeError,
			What: "cannot start the server in its sandbox",
			Err:  sandbox.Exec(os.Args[2:], a.Environ),
		}))
	}
	if self, err := os.Executable(); err == nil {
		a.Helper = []string{self, sandboxVerb}
	}
	host.KeepHeapFloor(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := (<-signals).(syscall.Signal)
		fmt.Fprintln(a.Talk,
			"stopping: what is under way ends first; what is finished is kept; once more stops at once")
		cancel(host.Signalled(first))
		os.Exit(128 + int((<-signals).(syscall.Signal)))
	}()
	os.Exit(a.main(ctx, os.Args[1:]))
}
