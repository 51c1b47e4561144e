package job

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/fault"
	"hone/internal/run"
	"hone/internal/run/report"
	"hone/internal/text/render"
	"hone/internal/toolset"
)

// Verb is what the program knows of a verb that begins runs: how it is told that one has ended, and how a stopped one
// goes on.
type Verb struct {
	Name string
	// Finished tells whether a run that nobody is writing has ended.
	Finished func(s run.Summary, b Begun) bool
	// Resume goes on with a stopped run; nil where the verb's own command does.
	Resume func(ctx context.Context, e Env, path string, b Begun, from toolset.Source) error
	// GoesOn is the command that goes on with a run in the folder behind it, where hone does not: an experiment's.
	GoesOn string
}

// Verbs is the table of them.
type Verbs []Verb

// of is the verb of a name; ok is false where there is none.
func (v Verbs) of(name string) (Verb, bool) {
	i := slices.IndexFunc(v, func(x Verb) bool { return x.Name == name })
	if i < 0 {
		return Verb{}, false
	}
	return v[i], true
}

// State says where a run is, and by which command it goes on; "" where nothing is left to do or nobody can tell.
func (v Verbs) State(s run.Summary) (state, resume string) {
	if s.InUseBy != "" {
		return "running, pid " + s.InUseBy, ""
	}
	var b Begun
	if json.Unmarshal(s.Version, &b) != nil {
		return "idle", ""
	}
	verb, ok := v.of(b.Verb)
	if !ok {
		return "idle", ""
	}
	switch {
	case verb.GoesOn != "":
		return "idle; " + verb.GoesOn + run.Name(s.Path) + " goes on with it", ""
	case verb.Finished(s, b):
		return "finished", ""
	case verb.Resume == nil:
		return "idle; its own command runs what is left", ""
	}
	resume = "hone runs resume " + run.Name(s.Path)
	return "stopped; " + resume, resume
}

// HasFinished reports whether a run has stages, and has ended them all.
func HasFinished(s run.Summary, _ Begun) bool {
	return len(s.Stages) > 0 &&
		!slices.ContainsFunc(s.Stages, func(stage run.StageSummary) bool { return stage.Status != run.Finished })
}

// HasAdapter reports whether a run has its last adapter.
func HasAdapter(s run.Summary, _ Begun) bool {
	_, err := os.Stat(filepath.Join(s.Path, "final", render.TemplateFile))
	return err == nil
}

// HasEnded reports whether a stage of a run has ended.
func HasEnded(s run.Summary, stage string) bool {
	return slices.ContainsFunc(s.Stages, func(x run.StageSummary) bool {
		return x.Name == stage && x.Status == run.Finished
	})
}

// EvaluationHasEnded reports whether an evaluation has measured all that it is to.
func EvaluationHasEnded(s run.Summary, b Begun) bool {
	if b.Flags.Evaluation == nil { // of a hone that kept no flags of evaluations
		return HasFinished(s, b)
	}
	b.Flags.Settle()
	return !slices.ContainsFunc(b.Flags.Evaluation.Systems, func(x System) bool {
		return !HasEnded(s, report.EvalStage+x.Name)
	})
}

// Resume goes on with the run in path by the verb that began it. from names its servers, where the run cannot know its
// own.
func (e Env) Resume(ctx context.Context, path string, from toolset.Source) error {
	bad := func(why, next string, err error) error {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot resume the run", Where: path, Why: why,
			Err: err, Next: next}
	}
	text, err := os.ReadFile(filepath.Join(path, "version.json"))
	if err != nil {
		return bad("",
			"hone runs ls lists the runs; one that was stopped before it began is begun again by its own command", err)
	}
	var b Begun
	if err := json.Unmarshal(text, &b); err != nil {
		return bad("its version.json is damaged", "hone runs ls", err)
	}
	verb, ok := e.Table.of(b.Verb)
	if !ok {
		return bad(fmt.Sprintf("it was begun by %q, which cannot be resumed", b.Verb), "hone runs ls", nil)
	}
	if verb.GoesOn != "" {
		return bad("another command began it", verb.GoesOn+run.Name(path), nil)
	}
	if verb.Resume == nil {
		return bad("hone "+b.Verb+" goes on by itself", "give its command again, with the same --output-dir", nil)
	}
	if here, err := os.Getwd(); err == nil && b.Folder != "" && b.Folder != here {
		e.Say("note: the run was begun in %s; its relative paths are now taken from %s", b.Folder, here)
	}
	if e.DryRun {
		e.Say("would go on with hone %s in %s", b.Verb, path)
		return nil
	}
	b.Flags.AllowFindings = append(b.Flags.AllowFindings, e.Accept...)
	return verb.Resume(ctx, e, path, b, from)
}
