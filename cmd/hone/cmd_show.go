package main

import (
	"fmt"
	"os"
	"path/filepath"
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
	return job.ReadLedger(path, func(l *run.Ledger) error {
		for _, st := range s.Stages {
			metrics, err := l.Metrics(st.Name)
			if err != nil {
				return err
			}
			table, err := run.MetricTable(st.Name, metrics)
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

// printedEpisode is an episode in JSON.
type printedEpisode struct {
	Row string `json:"row"` // its name in the run
	*trajectory.Trajectory
	Checks []eval.Verdict `json:"checks"`
}

func episodeOf(e eval.Example) printedEpisode {
	return printedEpisode{e.Name(), e.Trajectory, e.Verdicts()}
}

func runShowEpisode(a *app, path, id string) error {
	found, err := job.FindEpisode(path, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Print(episodeOf(found), nil)
	}
	return found.WriteText(a.Data)
}

func runShowEpisodes(a *app, path string) error {
	found, err := job.EpisodesOf(path)
	if err != nil {
		return err
	}
	list, rows := []printedEpisode{}, [][]string{{"EPISODE", "OUTCOME", "REWARD", "FAILED CHECKS"}}
	for _, e := range found {
		list = append(list, episodeOf(e))
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

// episodesToPrint are the episodes of systems that show names: none, failed or all.
func episodesToPrint(systems []eval.System, show string) (shown []eval.Example) {
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
