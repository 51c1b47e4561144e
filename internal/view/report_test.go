package view

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/run"
	"hone/internal/run/report"
)

// reportOf is the report of the run in dir.
func reportOf(t *testing.T, dir string) string {
	t.Helper()
	if _, err := pageFiles(); err != nil {
		t.Skip(err)
	}
	p, err := records.PageOf(dir)
	check(t, err)
	check(t, WriteReport(job.Env{Host: quiet(t)}, dir, p, p.Numbers()))
	text, err := os.ReadFile(filepath.Join(dir, report.HTMLFile))
	check(t, err)
	return string(text)
}

// A report is one file with evaluated episodes first and what else has room; what others wrote does not end the element
// that it is in.
func TestReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d := made(t, dir, 240)
	check(t, d.Close())
	text := reportOf(t, dir)
	for _, want := range []string{
		`data-start="#/run/overview"`, `"overview?run=run"`, `"evaluation?run=run"`, `"tasks?run=run"`,
		`"servers?run=run"`, `"series?run=run&amp;stage=grpo"`, `"rows?run=run&amp;since=0"`,
		`"episode?id=eval_base/task-00/0/0&amp;run=run"`, `"episode?id=grpo/task-03/1/2&amp;run=run"`,
		`"group?run=run&amp;scenario=task-03&amp;stage=grpo&amp;step=1"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %s", want)
		}
	}
	if n := strings.Count(text, `data-question="episode?`); n != 240 {
		t.Errorf("it has %d of 240 trajectories", n)
	}
	_, after, _ := strings.Cut(text, "</style>") // the page's own script names such elements
	answers, _, _ := strings.Cut(after, "<script>")
	if strings.Contains(answers, "<img") || strings.Contains(answers, "\x1b") || strings.Contains(answers, "\u202e") {
		t.Error("what others wrote is markup in it, or control characters")
	}
}

// Where there is no room for all, evaluated episodes come first, and the last validation's before others.
func TestReportHasRoomForTheMostTelling(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d := made(t, dir, 120)
	defer func() { _ = d.Close() }()
	s := &Server{Env: job.Env{Host: quiet(t)}, Runs: []string{dir}}
	s.open()
	f := s.runs[0]
	check(t, records.ReadLedger(dir, func(l *run.Ledger) error {
		_, err := f.index.read(l, func() {})
		return err
	}))
	extreme := report.Group{Stage: "grpo", Step: 3, ScenarioID: "task-07"}
	var asked []string
	b := &bundle{server: s, files: map[string]string{}, put: func(_, question string, _ []byte) error {
		if id, is := strings.CutPrefix(question, "episode?id="); is {
			asked = append(asked, id)
		}
		return nil
	}}
	held := b.episodes(f, report.Numbers{Worst: []report.Group{extreme}}, func() bool { return len(asked) < 84 })
	if len(asked) != 84 || strings.Contains(strings.Join(asked[:80], " "), "grpo/") ||
		strings.Count(strings.Join(asked[80:], " "), "grpo/task-07/3/") != 4 {
		t.Errorf("%d are asked, at the end %v", len(asked), asked[max(0, len(asked)-5):])
	}
	rows := f.index.only(held)
	if len(rows.N) != 84 || rows.N[83] != 83 || rows.Total != 120 || !rows.Whole || rows.Step[83] != 3 {
		t.Errorf("%d of %d rows are listed, the last of step %d", len(rows.N), rows.Total, rows.Step[len(rows.Step)-1])
	}
}
