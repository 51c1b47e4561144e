package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hone/internal/fault"
	"hone/internal/report"
	"hone/internal/run"
	"hone/internal/text/render"
	"hone/internal/toolset"
)

func newRuns(a *app) *cobra.Command {
	c := &cobra.Command{Use: "runs", Short: "List runs and look into one"}
	dir := ""
	c.PersistentFlags().StringVar(&dir, "dir", "", "folder that holds the runs, instead of the configuration's runs_dir")
	var servers toolset.Source
	resume := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Go on with a stopped run where it was",
		Example: "  hone runs resume demo-20260102-150405\n  MCP_URL=http://127.0.0.1:3000/mcp hone runs resume ./out",
		Args:    arguments(1, 1, "the name or the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			return runRunsResume(c.Context(), a, servers, dir, args[0])
		},
	}
	a.serverFlags(resume.Flags(), &servers)
	a.reopenFlags(resume.Flags())
	c.AddCommand(
		resume,
		&cobra.Command{
			Use:     "ls",
			Short:   "List the runs, newest first",
			Example: "  hone runs ls\n  hone runs ls --json",
			Args:    arguments(0, 0, ""),
			RunE:    func(*cobra.Command, []string) error { return runRunsLs(a, dir) },
		},
		newRunsShow(a, &dir),
		newRunsReport(a, &dir),
		newRunsRescore(a, &dir),
	)
	return group(c)
}

// reopenFlags are those of verbs that go on with a run which may not be as it was left.
func (a *app) reopenFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&a.reopen.AcceptEdits, "accept-edits", false, "go on with the run's configuration and inputs although they were edited since it began")
	flags.BoolVar(&a.reopen.RebuildLedger, "rebuild-ledger", false, "make a damaged ledger again from what it still holds and from the files beside it")
}

func (a *app) runsDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	c, err := a.config()
	return c.RunsDir, err
}

// listedRun is a run's summary and what can be done with it, or its name and why it cannot be read.
type listedRun struct {
	run.Summary
	Episodes int    `json:"episodes"` // kept, of all stages
	Resume   string `json:"resume"`   // the command that goes on with it, "" without one
	Error    string `json:"error,omitempty"`
}

// stateOf says where a run is, and by which command it goes on; "" where nothing is left to do or nobody can tell.
func stateOf(s run.Summary) (state, resume string) {
	var b begun
	if s.InUseBy != "" {
		return "running, pid " + s.InUseBy, ""
	}
	if json.Unmarshal(s.Version, &b) != nil {
		return "idle", ""
	}
	resume = "hone runs resume " + run.Name(s.Path)
	done := exists(filepath.Join(s.Path, "final", render.TemplateFile))
	switch b.Verb {
	case "train", "sft":
	case "demo":
		done = done && ended(s, report.EvalStage+"grpo")
	case "demo learn":
		done = b.Study != nil && !slices.ContainsFunc(append([]string{"start"}, b.Study.Arms...), func(arm string) bool { return !ended(s, report.EvalStage+arm) })
	case "eval":
		if allFinished(s) {
			return "finished", ""
		}
		return "stopped; its own command begins it again, in another directory", ""
	case "collect": // which scenarios it is given is not kept
		if !allFinished(s) {
			return "idle; its own command runs what is left", ""
		}
		return "finished", ""
	default:
		return "idle", ""
	}
	if done {
		return "finished", ""
	}
	return "stopped; " + resume, resume
}

// ended reports whether a stage of a run has ended.
func ended(s run.Summary, stage string) bool {
	return slices.ContainsFunc(s.Stages, func(x run.StageSummary) bool { return x.Name == stage && x.Status == run.Finished })
}

// allFinished reports whether a run has stages, and has ended them all.
func allFinished(s run.Summary) bool {
	return len(s.Stages) > 0 && !slices.ContainsFunc(s.Stages, func(stage run.StageSummary) bool { return stage.Status != run.Finished })
}

func runRunsLs(a *app, only string) error {
	dir, err := a.runsDir(only)
	if err != nil {
		return err
	}
	var elsewhere []string
	if only == "" {
		index, err := a.runsIndex()
		if err == nil {
			elsewhere, err = index.Paths()
		}
		if err != nil {
			a.Say("note: runs that are not in %s are not listed: %v", dir, err)
		}
	}
	runs, err := run.List(dir, elsewhere...)
	if err != nil {
		return err
	}
	list := []listedRun{}
	rows := [][]string{{"NAME", "CREATED", "STEPS", "EPISODES", "STATE"}}
	for _, r := range runs {
		l, steps, state := listedRun{Summary: r.Summary}, []string{}, ""
		for _, s := range r.Stages {
			if l.Episodes += s.NumTrajectories; s.NumSteps > 0 {
				steps = append(steps, fmt.Sprintf("%s %d", s.Name, s.NumSteps))
			}
		}
		if state, l.Resume = stateOf(r.Summary); r.Err != nil {
			l.Error, l.Resume = r.Err.Error(), ""
			state, _, _ = strings.Cut(l.Error, "\n")
		}
		list = append(list, l)
		name := r.Name // as the other verbs take it
		if filepath.Dir(r.Path) != filepath.Clean(dir) {
			name = r.Path
		}
		rows = append(rows, []string{name, r.Created.Format(time.DateTime), strings.Join(steps, ", "), fmt.Sprint(l.Episodes), a.Invoked(state)})
	}
	if len(list) == 0 {
		a.Say("no runs in %s", dir)
	}
	return a.Print(list, rows)
}

// runPath is the folder of a run given by its name or its path.
func (a *app) runPath(dir, name string) (string, error) {
	if filepath.Base(name) != name || name == "." || name == ".." {
		return name, nil
	}
	root, err := a.runsDir(dir)
	path := filepath.Join(root, name)
	if _, statErr := os.Stat(path); statErr == nil || dir != "" || err != nil {
		return path, err
	}
	if _, hereErr := os.Stat(filepath.Join(name, "version.json")); hereErr == nil {
		return name, nil // begun with --output-dir, in this folder
	}
	index, err := a.runsIndex()
	if err != nil {
		return path, nil // without a list it is only where runs are
	}
	known, err := index.Paths()
	if err != nil {
		return path, err
	}
	known = slices.DeleteFunc(known, func(p string) bool { return filepath.Base(p) != name })
	if len(known) > 1 {
		return "", &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there are %d runs of the name %s", len(known), name), Where: strings.Join(known, ", "),
			Next: "name one by its folder"}
	}
	return append(known, path)[0], nil
}

func runRunsResume(ctx context.Context, a *app, f toolset.Source, dir, name string) error {
	path, err := a.runPath(dir, name)
	if err != nil {
		return err
	}
	return resumeRun(ctx, a, f, path)
}

// resumeRun goes on with a run by the verb that began it. The servers of f are asked for where the run cannot know its own.
func resumeRun(ctx context.Context, a *app, f toolset.Source, path string) error {
	bad := func(why, next string, err error) error {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot resume the run", Where: path, Why: why, Err: err, Next: next}
	}
	text, err := os.ReadFile(filepath.Join(path, "version.json"))
	if err != nil {
		return bad("", "hone runs ls lists the runs; one that was stopped before it began is begun again by its own command", err)
	}
	var b begun
	if err := json.Unmarshal(text, &b); err != nil {
		return bad("its version.json is damaged", "hone runs ls", err)
	}
	if here, err := os.Getwd(); err == nil && b.Folder != "" && b.Folder != here {
		a.Say("note: the run was begun in %s; its relative paths are now taken from %s", b.Folder, here)
	}
	if a.DryRun {
		a.Say("would go on with hone %s in %s", b.Verb, path)
		return nil
	}
	switch b.Verb {
	case "demo":
		return runDemo(ctx, a, path, 0)
	case "demo learn":
		if b.Study == nil {
			return bad("its arms were not kept by the hone that began it", "begin it again with hone demo learn", nil)
		}
		return resumeDemoLearn(ctx, a, path, *b.Study)
	case "train":
		return resumeTrain(ctx, a, f, path, b.Flags)
	case "sft":
		return resumeSFT(ctx, a, path, b.Flags)
	case "eval":
		return bad("an evaluation cannot be resumed", "give hone eval another --output-dir, such as "+run.Beside(path)+"; hone runs show "+run.Name(path)+" shows what this one holds", nil)
	case "collect":
		return bad("hone collect goes on by itself", "give its command again, with the same --output-dir", nil)
	}
	return bad(fmt.Sprintf("it was begun by %q, which cannot be resumed", b.Verb), "hone runs ls", nil)
}
