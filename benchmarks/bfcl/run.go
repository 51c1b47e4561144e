package bfcl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/grade"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/mcp"
	"hone/internal/run"
)

// Stored says which calls are graded, and by what.
type Stored struct {
	File        string // JSON lines; "" is stdin
	Run, Stage  string // or a run's folder, and which of its evaluations
	Seen        string // file with what training had; "" where nobody says
	Underscores bool   // tools with a dot in their name were shown with underscores
}

// Run grades stored calls by BFCL's rules: a verdict a line on stdout, totals on stderr.
func Run(ctx context.Context, h *host.Host, s Stored) error {
	if s.Run != "" && s.File != "" || s.Run == "" && s.Stage != "" {
		return &fault.Error{Code: fault.CodeUsage, What: "a file of calls has no stages", Where: "--run and --stage",
			Next: "give a file, or --run with its --stage"}
	}
	o := Options{Name: s.File, Underscores: s.Underscores}
	if s.Seen != "" {
		err := reading(s.Seen, func(in io.Reader) (err error) { o.Seen, err = ReadSeen(in); return err })
		if fault.CodeOf(err) == fault.CodeError {
			return &fault.Error{Code: fault.CodeUsage, What: "cannot read what training had", Where: s.Seen, Err: err,
				Next: "give a catalog, scenarios, training rows or trajectories, as JSON or JSON lines"}
		} else if err != nil {
			return err
		}
	}
	grade := func(in io.Reader) error {
		t, err := Grade(ctx, in, h.Data, o)
		if t.Lines > 0 {
			return cmp.Or(err, tell(h, t))
		}
		return err
	}
	switch {
	case s.Run != "":
		o.Name = s.Run
		questions, err := questionsOf(h, s.Run, s.Stage)
		if err != nil {
			return err
		}
		return grade(questions)
	case s.File == "":
		return grade(h.Stdin)
	}
	return reading(s.File, grade)
}

// questionsOf are the episodes of a run's evaluation as lines to grade: all calls of an episode against the gold calls
// of its scenario. Of a scenario that asks for no call, none is right.
func questionsOf(h *host.Host, path, stage string) (io.Reader, error) {
	known := records.ScenariosOf(path)
	catalog, err := mcp.Load(filepath.Join(path, job.CatalogFile))
	if err != nil {
		return nil, err
	}
	defaults := catalog.Defaults()
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	stages, skipped := map[string]bool{}, 0
	err = records.ReadLedger(path, func(l *run.Ledger) error {
		return l.Each(func(r run.TrajectoryRow) error {
			if !strings.HasPrefix(r.Stage, "eval_") {
				return nil
			}
			if stages[r.Stage] = true; stage != "" && r.Stage != stage {
				return nil
			}
			k, err := records.EpisodeOfRow(r)
			if err != nil {
				return err
			}
			s := known[k.ScenarioID]
			if s == nil || s.Hash() != k.Scenario || !k.Outcome.Trainable() || len(s.Gold) == 0 && !asksForNoCall(s) {
				skipped++
				return nil
			}
			q, err := questionOf(k.Trajectory, s, catalog, defaults)
			if err != nil {
				return fmt.Errorf("trajectory %s of the ledger: %w", r.ID, err)
			}
			return out.Encode(q)
		})
	})
	names := slices.Sorted(maps.Keys(stages))
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, &fault.Error{Code: fault.CodeUsage, What: "the run keeps no evaluation", Where: path,
			Next: "name the folder that hone eval --output-dir made"}
	case stage != "" && !stages[stage], stage == "" && len(names) > 1:
		return nil, &fault.Error{Code: fault.CodeUsage,
			What: "the run has several evaluations; choose one with --stage", Where: "--stage " + stage,
			Why: "there are " + strings.Join(names, ", "), Next: "name one with --stage"}
	}
	if skipped > 0 {
		h.Say("note: %s left out: without gold calls, of scenarios that the run does not keep, "+
			"or that ended for reasons that are not the policy's", fault.Count(skipped, "episode"))
	}
	return &lines, nil
}

func asksForNoCall(s *scenario.Scenario) bool {
	return slices.ContainsFunc(s.Checks, func(c scenario.Check) bool {
		return c.Type == scenario.NoCallCheck && c.Name == ""
	})
}

func questionOf(
	t *trajectory.Trajectory, s *scenario.Scenario, catalog *mcp.Catalog, defaults grade.Defaults,
) (Case, error) {
	q := Case{ID: s.ID, Tools: t.Tools, Gold: []json.RawMessage{}, Output: []Call{}}
	if t.Shown != nil {
		var err error
		if q.Tools, err = mcp.ShownTools(*t.Shown, catalog, t.ID); err != nil {
			return q, err
		}
	}
	for _, gold := range s.GoldCalls() {
		g, err := Gold(gold, catalog.Tools(), defaults)
		if err != nil {
			return q, err
		}
		q.Gold = append(q.Gold, g)
		if q.Server == "" {
			q.Server, _, _ = catalog.Resolve(gold.Name)
		}
	}
	for _, turn := range t.Turns {
		for i, c := range turn.Calls {
			if i < len(turn.Results) && turn.Results[i].Search {
				continue // of hone's own search, which gold calls know nothing of
			}
			q.Output = append(q.Output, Call{Name: c.Name, Arguments: c.Arguments})
		}
	}
	return q, nil
}

// reading gives an open file to read.
func reading(path string, read func(io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot open the file", Where: path, Err: err,
			Next: "name a file that is there"}
	}
	defer file.Close()
	return read(file)
}

// tell says the totals: as JSON, or as a table with what its numbers are.
func tell(h *host.Host, t Totals) error {
	if !h.JSON {
		h.Say("tool: the names of the calls are those of the gold calls, each as often")
		h.Say("param: tool, and each call has the arguments that its gold call has, but for those that may be left out")
		h.Say("ast: BFCL's verdict, types and values too; intervals: Wilson's 95%%, lines with one id being one " +
			"observation")
	}
	if err := h.SayData(t, t.Table()); err != nil || h.JSON {
		return err
	}
	for _, note := range t.Notes() {
		h.Say("%s", note)
	}
	return nil
}
