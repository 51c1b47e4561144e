package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/report"
	"hone/internal/run"
)

func newRunsShow(a *app, dir *string) *cobra.Command {
	episode, list := "", false
	c := &cobra.Command{
		Use:   "show RUN",
		Short: "Show the stages, checkpoints and metrics of a run, its episodes, or one of them",
		Example: "  hone runs show demo\n  hone runs show ./elsewhere/demo --json\n" +
			"  hone runs show demo --episodes\n  hone runs show demo --episode grpo/add-2/0/3",
		Args: arguments(1, 1, "the name or the folder of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.runPath(*dir, args[0])
			switch {
			case err != nil:
				return err
			case episode != "":
				return runShowEpisode(a, path, episode)
			case list:
				return runShowEpisodes(a, path)
			}
			return runRunsShow(a, path)
		},
	}
	c.Flags().StringVar(&episode, "episode", "", "show this episode: chat, calls, results, checks, and what servers wrote to stderr")
	c.Flags().BoolVar(&list, "episodes", false, "list the episodes, with the checks that each failed")
	c.MarkFlagsMutuallyExclusive("episode", "episodes")
	return c
}

func runRunsShow(a *app, path string) error {
	s, err := run.Summarize(path)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Print(s, nil)
	}
	state, _ := a.verbs().State(s)
	rows := [][]string{{"run", s.Name}, {"path", s.Path}, {"created", s.Created.Format(time.DateTime)}, {"attempts", fmt.Sprint(s.NumAttempts)}, {"state", a.Invoked(state)}}
	for _, st := range s.Stages {
		rows = append(rows, []string{"stage " + st.Name, fmt.Sprintf("%s %s, %s", st.Status, fault.Count(st.NumSteps, "step"), fault.Count(st.NumTrajectories, "trajectory"))})
	}
	for _, c := range s.Checkpoints {
		rows = append(rows, []string{"checkpoint", fmt.Sprintf("%s step %d: %s", c.Stage, c.Step, c.Path)})
	}
	if page := filepath.Join(path, report.HTMLFile); exists(page) {
		rows = append(rows, []string{"report", page})
	}
	if err := a.Print(nil, rows); err != nil {
		return err
	}
	return withLedger(path, func(l *run.Ledger) error {
		for _, st := range s.Stages {
			metrics, err := l.Metrics(st.Name)
			if err != nil {
				return err
			}
			table, err := metricTable(st.Name, metrics)
			if err != nil || table == nil {
				continue // rows of another form: they are in metrics.jsonl
			}
			if err := a.Print(nil, append([][]string{{""}}, table...)); err != nil {
				return err
			}
		}
		return nil
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func withLedger(path string, f func(*run.Ledger) error) error {
	l, err := run.ReadLedger(filepath.Join(path, "ledger.db"))
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // read only
	return f(l)
}

// mostColumns is how many steps a table of metrics shows: the first, the last, and some between.
const mostColumns = 7

// metricTable has a row for each metric of a stage, and a column for each of some steps. It is nil where there are none.
func metricTable(stage string, rows []run.MetricRow) ([][]string, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var picked []run.MetricRow
	for i := range min(mostColumns, len(rows)) {
		picked = append(picked, rows[i*(len(rows)-1)/max(1, min(mostColumns, len(rows))-1)])
	}
	head, names := []string{stage + " step"}, map[string]bool{}
	var values []map[string]float64
	for _, r := range picked {
		m := map[string]float64{}
		if err := json.Unmarshal(r.JSON, &m); err != nil {
			return nil, fmt.Errorf("reading the metrics of %s step %d: %w", stage, r.Step, err)
		}
		for name := range m {
			names[name] = true
		}
		head, values = append(head, fmt.Sprint(r.Step)), append(values, m)
	}
	table := [][]string{head}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		line := []string{"  " + name}
		for _, m := range values {
			cell := "-"
			if x, ok := m[name]; ok {
				cell = fmt.Sprintf("%.4g", x)
			}
			line = append(line, cell)
		}
		table = append(table, line)
	}
	return table, nil
}

// shownEpisode is an episode in JSON.
type shownEpisode struct {
	Row string `json:"row"` // its name in the run
	*trajectory.Trajectory
	Checks []eval.Verdict `json:"checks"`
}

func shownOf(e eval.Example) shownEpisode {
	return shownEpisode{e.Name(), e.Trajectory, e.Verdicts()}
}

func runShowEpisode(a *app, path, id string) error {
	found, err := episodesOf(path, func(l *run.Ledger, yield func(run.TrajectoryRow) error) error {
		rows, err := l.Find(id)
		for _, r := range rows {
			if err == nil {
				err = yield(r)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(found) != 1 {
		f := &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no episode %q", id), Where: path, Next: "hone runs show " + run.Name(path) + " --episodes lists them"}
		if len(found) > 1 {
			var names []string
			for _, e := range found {
				names = append(names, e.Name())
			}
			f.What, f.Why = fmt.Sprintf("%q is the name of %d episodes", id, len(found)), strings.Join(names, ", ")
			f.Next = "give one of these names"
		}
		return f
	}
	if a.JSON {
		return a.Print(shownOf(found[0]), nil)
	}
	return found[0].WriteText(a.Data)
}

func runShowEpisodes(a *app, path string) error {
	found, err := episodesOf(path, (*run.Ledger).Each)
	if err != nil {
		return err
	}
	list, rows := []shownEpisode{}, [][]string{{"EPISODE", "OUTCOME", "REWARD", "FAILED CHECKS"}}
	for _, e := range found {
		list = append(list, shownOf(e))
		var failed []string
		for _, v := range e.Verdicts() {
			if !v.Passed {
				failed = append(failed, host.OneLine(v.Check))
			}
		}
		rows = append(rows, []string{e.Name(), string(e.Trajectory.Outcome), fmt.Sprintf("%.4g", e.Trajectory.Reward), strings.Join(failed, "; ")})
	}
	return a.Print(list, rows)
}

// episodesOf are those episodes of the run in path that each yields, with the scenarios that the run keeps.
func episodesOf(path string, each func(l *run.Ledger, yield func(run.TrajectoryRow) error) error) (found []eval.Example, err error) {
	if _, err := run.Summarize(path); err != nil { // for its errors
		return nil, err
	}
	known := job.ScenariosOf(path)
	err = withLedger(path, func(l *run.Ledger) error {
		return each(l, func(r run.TrajectoryRow) error {
			t := &trajectory.Trajectory{}
			if err := r.Decode(t); err != nil {
				return err
			}
			e := eval.Example{Title: r.ID, Trajectory: t}
			if s := known[t.ScenarioID]; s != nil && s.Hash() == t.Scenario {
				e.Scenario = s
			}
			found = append(found, e)
			return nil
		})
	})
	return found, err
}

// shownOfSystems are the episodes of systems that show names: none, failed or all.
func shownOfSystems(systems []eval.System, show string) (shown []eval.Example) {
	for _, s := range systems {
		for _, e := range s.Episodes {
			if show == showAll || show == showFailed && e.Failed() {
				e.Title = s.Name + ": " + e.Name()
				shown = append(shown, e)
			}
		}
	}
	return shown
}
