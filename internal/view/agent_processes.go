package view

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/run"
)

type scenariosAsked struct {
	File string `json:"file" jsonschema:"a file of scenarios, JSON or JSON lines"`
}

func (d *Desk) validateScenarios(ctx context.Context, in scenariosAsked) (any, error) {
	return d.command(ctx, "scenarios", "validate", "--offline", "--", in.File)
}

type tryAsked struct {
	File      string `json:"file" jsonschema:"a file of scenarios, JSON or JSON lines"`
	MCPConfig string `json:"mcp_config" jsonschema:"the file that names the MCP servers, in the mcpServers form"`
}

func (d *Desk) tryScenarios(ctx context.Context, in tryAsked) (any, error) {
	return d.command(ctx, "scenarios", "validate", "--mcp-config", in.MCPConfig, "--", in.File)
}

// command runs hone to its end, and returns what it says and its exit code: a file that does not hold is a result.
func (d *Desk) command(ctx context.Context, args ...string) (any, error) {
	c := exec.CommandContext(ctx, d.Program, args...)
	c.Env = d.host().Environ
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // servers are ended in order
	c.WaitDelay = 30 * time.Second
	text, err := c.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return nil, err
	}
	return fmt.Sprintf("exit code %d\n%s", c.ProcessState.ExitCode(), textPart(sanitize.Text(string(text)), 0)), nil
}

type startAsked struct {
	Verb   string   `json:"verb" jsonschema:"collect, sft, dpo, train or eval"`
	Args   []string `json:"args" jsonschema:"flags of hone VERB, one word each, without --output-dir; such as [\"--dataset\", \"tasks.json\", \"--mcp-config\", \"mcp.json\"]. --yes is for what a person has allowed"`
	Output string   `json:"output_dir,omitempty" jsonschema:"the run's folder, one that is not there; by default one among the other runs"`
}

// Started is a run that goes on by itself.
type Started struct {
	Run     string `json:"run"`
	Path    string `json:"path"`
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Log     string `json:"log"`
	Watch   string `json:"watch"`
	Stop    string `json:"stop"`
	Says    string `json:"says,omitempty"`
}

// startedVerbs are those that begin a run and need no person.
var startedVerbs = []string{"collect", "sft", "dpo", "train", "eval"}

// beginsWithin is how long a start is waited for: models are read, servers opened.
const beginsWithin = 2 * time.Minute

func (d *Desk) startRun(ctx context.Context, in startAsked) (any, error) {
	if !slices.Contains(startedVerbs, in.Verb) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%q begins no run", in.Verb), Where: "verb",
			Next: "give one of " + strings.Join(startedVerbs, ", ")}
	}
	for _, arg := range in.Args {
		if arg == "--output-dir" || strings.HasPrefix(arg, "--output-dir=") {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "the run's folder stands among the flags",
				Where: "args", Next: "give it as output_dir"}
		}
	}
	if in.Output == "" {
		dir, err := d.RunsDir()
		if err != nil {
			return nil, err
		}
		in.Output = run.FreeFolder(filepath.Join(dir, in.Verb+time.Now().Format("-20060102-150405")))
	}
	if _, err := os.Lstat(in.Output); err == nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the folder for the run is there already",
			Where: in.Output, Next: "name another output_dir; hone runs resume goes on with a stopped run"}
	}
	args := slices.Concat([]string{in.Verb}, in.Args, []string{"--output-dir", in.Output})
	log, err := os.CreateTemp("", "hone-"+in.Verb+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	c := exec.Command(d.Program, args...)
	c.Env, c.Stdout, c.Stderr = d.host().Environ, log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the run goes on when this client leaves
	if err := c.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	out := Started{Run: filepath.Base(in.Output), Path: in.Output, PID: c.Process.Pid, Log: log.Name(),
		Command: "hone " + strings.Join(args, " "),
		Watch:   "watch_run and show_run with this run; a person: hone runs watch " + in.Output,
		Stop:    fmt.Sprintf("kill -TERM %d; hone runs resume %s goes on", c.Process.Pid, in.Output)}
	return out.begin(ctx, ended)
}

// begin waits until the run has begun, or the process has ended without one.
func (s Started) begin(ctx context.Context, ended <-chan error) (any, error) {
	for end := time.Now().Add(beginsWithin); ; {
		if _, err := run.Summarize(s.Path); err == nil {
			return s, nil
		}
		if time.Now().After(end) {
			s.Says = "the run has not begun yet: the log says what is under way"
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-ended:
			said, _ := os.ReadFile(s.Log)
			if err == nil { // a dry run
				return fmt.Sprintf("%s has ended, and has begun no run. It said:\n%s", s.Command,
					textPart(sanitize.Text(string(said)), len(said)-textAtOnce)), nil
			}
			return nil, &fault.Error{Code: fault.CodeUsage, What: "no run has begun: " + err.Error(), Where: s.Command,
				Why:  sanitize.Text(string(said[max(0, len(said)-textAtOnce):])),
				Next: "correct it and call start_run again"}
		case <-time.After(100 * time.Millisecond):
		}
	}
}
