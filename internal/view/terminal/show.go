package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/run/report"
)

// Show prints the run in path.
func Show(e job.Env, path string) error {
	s, err := run.Summarize(path)
	if err != nil {
		return err
	}
	if e.JSON {
		return e.Print(s, nil)
	}
	state, _ := e.Table.State(s)
	rows := [][]string{
		{"run", s.Name},
		{"path", s.Path},
		{"created", s.Created.Format(time.DateTime)},
		{"attempts", fmt.Sprint(s.NumAttempts)},
		{"state", e.CommandText(state)},
	}
	for _, st := range s.Stages {
		text := fmt.Sprintf("%s %s, %s",
			st.Status, fault.Count(st.NumSteps, "step"), fault.Count(st.NumTrajectories, "trajectory"))
		if st.FinalStep > 0 {
			text += fmt.Sprintf("; final is step %d", st.FinalStep)
		}
		rows = append(rows, []string{"stage " + st.Name, text})
	}
	for _, c := range s.Checkpoints {
		rows = append(rows, []string{"checkpoint", fmt.Sprintf("%s step %d: %s", c.Stage, c.Step, c.Path)})
	}
	page := filepath.Join(path, report.HTMLFile)
	if _, err := os.Stat(page); err == nil {
		rows = append(rows, []string{"report", page})
	}
	if err := e.Print(nil, rows); err != nil {
		return err
	}
	if err := rates(e, path); err != nil {
		return err
	}
	if err := printCost(e, path, s.Created); err != nil {
		return err
	}
	return records.ReadLedger(path, func(l *run.Ledger) error {
		for _, st := range s.Stages {
			metrics, err := l.Metrics(st.Name)
			if err != nil {
				return err
			}
			table, err := run.MetricTable(st.Name, metrics)
			if err != nil || table == nil {
				continue // rows of another form: they are in metrics.jsonl
			}
			if err := e.Print(nil, append([][]string{{""}}, table...)); err != nil {
				return err
			}
		}
		return nil
	})
}

// printCost prints what the run took, where that was measured.
func printCost(e job.Env, path string, began time.Time) error {
	return records.ReadLedger(path, func(l *run.Ledger) error {
		list, err := l.AllMetrics()
		if err != nil {
			return err
		}
		for i, line := range metrics.AddUp(records.RowsOf(list, began)).Lines() {
			if i == 0 {
				line = "\n" + line
			}
			fmt.Fprintln(e.Data, line)
		}
		return nil
	})
}

// rates prints the table of an evaluation, by the numbers of the run's report, where there is one.
func rates(e job.Env, path string) error {
	text, err := os.ReadFile(filepath.Join(path, report.ResultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var n report.Numbers
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil || len(n.Order) == 0 {
		return err
	}
	var m eval.Evaluated
	for _, name := range n.Order {
		m.Systems = append(m.Systems, stats.System{Name: name})
	}
	return e.Print(nil, append([][]string{{""}}, m.Table(n.Results)...))
}

// Printed is an episode in JSON.
type Printed struct {
	Row string `json:"row"` // its name in the run
	*trajectory.Trajectory
	Checks []stats.Verdict `json:"checks"`
}

// Of is an episode as it is printed in JSON.
func Of(e stats.Example) Printed { return Printed{e.Name(), e.Trajectory, e.Verdicts()} }

// Episode prints the episode of a name in the run in path.
func Episode(h *host.Host, path, id string) error {
	found, err := records.FindEpisode(path, id)
	if err != nil {
		return err
	}
	if h.JSON {
		return h.Print(Of(found), nil)
	}
	return found.WriteText(h.Data)
}

// Episodes lists the episodes of the run in path that are picked, with the checks that each failed.
func Episodes(h *host.Host, path string, of records.Pick) error {
	found, err := of.Episodes(path)
	if err != nil {
		return err
	}
	list, rows := []Printed{}, [][]string{{"EPISODE", "OUTCOME", "REWARD", "FAILED CHECKS"}}
	for _, e := range found {
		list = append(list, Of(e))
		var failed []string
		for _, v := range e.Verdicts() {
			if !v.Passed {
				failed = append(failed, host.OneLine(v.Check))
			}
		}
		rows = append(rows, []string{e.Name(), string(e.Trajectory.Outcome), fmt.Sprintf("%.4g", e.Trajectory.Reward),
			strings.Join(failed, "; ")})
	}
	return h.Print(list, rows)
}
