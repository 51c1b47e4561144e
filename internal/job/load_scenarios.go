package job

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/data/formats"
	"hone/internal/episode/checktest"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
)

// Vetted are the scenarios of a file to train on. A row that cannot be read, and one with a check that can never pass or passes whatever is done, as
// far as that shows without its servers, would cost a run that teaches nothing. All of them are one error, by their lines; or, with
// skip, they are told and left out. Where others score episodes too (otherwiseScored), checks that silence passes are a bound, and told alone.
func Vetted(h *host.Host, path string, skip, others bool) ([]scenario.Scenario, error) {
	list, lines, err := readable(h, path, skip)
	if err != nil {
		return nil, err
	}
	good, unsound, weak := []scenario.Scenario{}, []scenario.Bad{}, map[string][]int{}
	for i := range list {
		found := checktest.Alone(&list[i])
		if len(found) == 1 && (found[0] == checktest.EchoPasses || others && found[0] == checktest.SilencePasses) {
			weak[found[0]] = append(weak[found[0]], lines[i])
			found = nil
		}
		if len(found) > 0 {
			unsound = append(unsound, scenario.Bad{Line: lines[i], Why: list[i].ID + ": " + strings.Join(found, "; ")})
			continue
		}
		good = append(good, list[i])
	}
	if len(unsound) > 0 && (!skip || len(good) == 0) {
		return nil, unsoundChecks(path, unsound, len(good) > 0)
	}
	leftOut(h, path, unsound)
	for _, why := range []string{checktest.SilencePasses, checktest.EchoPasses} {
		if at := weak[why]; len(at) > 0 {
			h.Say("note: %s of %s, the first at %s:%d; hone scenarios validate names all", why, fault.Count(len(at), "scenario"), path, at[0])
		}
	}
	return good, nil
}

// sendable are the scenarios of a list but for those whose calls no session on the servers makes (vet.Sessions), which nobody passes: they are an error,
// or left out where bad ones are.
func (l *Episodes) sendable(j *Job, list []scenario.Scenario) (good []scenario.Scenario, err error) {
	if j.Dir != nil { // they were looked at when the run began
		return list, nil
	}
	var bad []string
	sessions := l.Sendable(j.Config)
	for i := range list {
		if list[i].Split != scenario.Train && (list[i].Split != scenario.Validation || j.Config.Eval.Every == 0) {
			good = append(good, list[i]) // it is not run
			continue
		}
		if found := sessions.Unsendable(&list[i]); len(found) > 0 {
			bad = append(bad, list[i].ID+": "+strings.Join(found, "; "))
			continue
		}
		good = append(good, list[i])
	}
	if len(bad) == 0 {
		return list, nil
	}
	if len(scenario.OfSplit(good, scenario.Train)) == 0 || !j.SkipBad {
		f := &fault.Error{Code: fault.CodeUsage, What: fault.Count(len(bad), "scenario") + " cannot be done on these servers", Where: j.Config.Scenarios.File,
			Why: strings.Join(append(bad[:min(mostNamed, len(bad)):len(bad)], more(len(bad)-mostNamed)...), "\n    "), Next: "hone discover lists the tools, hone scenarios validate names all such rows; mend them"}
		if !j.SkipBad && len(good) > 0 {
			f.Next += skipBad
		}
		return nil, f
	}
	for _, why := range bad {
		j.Say("left out: %s: %s", j.Config.Scenarios.File, why)
	}
	return good, nil
}

// mostNamed is how many bad rows an error names.
const mostNamed = 10

func more(n int) []string {
	if n <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("and %d more", n)}
}

// Sendable knows which calls sessions on the servers send.
func (l *Episodes) Sendable(c config.Config) *checktest.Sessions {
	tools := slices.Concat(l.Selection.List, l.Catalog.Tools()) // a search of tools is called, too
	if c.Rollout.CompleteTask {
		tools = environment.WithCompleteTask(tools)
	}
	return checktest.NewSessions(tools, l.Scorer.Defaults)
}

// NoteUnsendable tells of scenarios whose calls no session makes, where they are measured: each counts as failed.
func (l *Episodes) NoteUnsendable(h *host.Host, c config.Config, list []scenario.Scenario) {
	n, first, sessions := 0, "", l.Sendable(c)
	for i := range list {
		if found := sessions.Unsendable(&list[i]); len(found) > 0 {
			if n++; n == 1 {
				first = list[i].ID + ": " + found[0]
			}
		}
	}
	if n > 0 {
		h.Say("note: %s cannot be done on these servers, and will count as failed, the first %s; hone scenarios validate names all", fault.Count(n, "scenario"), first)
	}
}

// readable are the scenarios of a file with their lines, and their splits, which are of all that can be read: one that is left out later may join two
// sets. Rows that cannot be read are one error, by their lines; or, with skip, they are told and left out.
func readable(h *host.Host, path string, skip bool) (list []scenario.Scenario, lines []int, err error) {
	list, lines, bad, err := scenario.LoadGood(path)
	if err != nil {
		return nil, nil, err
	}
	if len(bad) > 0 && !skip {
		return nil, nil, orSkip(scenario.Unusable(path, bad))
	}
	leftOut(h, path, bad)
	scenario.AssignSplits(list)
	return list, lines, nil
}

func leftOut(h *host.Host, path string, rows []scenario.Bad) {
	for _, b := range rows {
		h.Say("left out: %s:%d: %s", path, b.Line, b.Why)
	}
}

// unread is the error of rows of training data that cannot be read; or, with skip, they are told and left out. What is left aside of the
// others is told too.
func unread(h *host.Host, report *formats.Report, skip bool) error {
	broken := report.Err()
	if broken == nil {
		for _, line := range report.AsideLines() {
			h.Say("%s", line)
		}
		return nil
	}
	if !skip {
		return orSkip(broken)
	}
	h.Say("left out %s:", fault.Count(report.NumRefused(), "row"))
	report.Tell(h.Say)
	return nil
}

// otherwiseScored reports whether more than checks says what an episode with checks is worth: a judge of all, a program or an expression.
func otherwiseScored(c config.Config) bool {
	return c.Judge.Model != "" && c.Judge.Scenarios == "all" && c.Rewards.Judge > 0 || len(c.Rewards.Program.Command) > 0 || len(c.Rewards.Expressions) > 0
}

const skipBad = "; or leave these rows out with --skip-bad"

// orSkip tells of the flag beside what else can be done.
func orSkip(err error) error {
	if f, ok := err.(*fault.Error); ok {
		f.Next += skipBad
	}
	return err
}

// unsoundChecks is the error of rows whose checks tell nothing.
func unsoundChecks(path string, rows []scenario.Bad, others bool) error {
	var list []string
	for _, r := range rows {
		list = append(list, fmt.Sprintf("%s:%d: %s", path, r.Line, r.Why))
	}
	f := &fault.Error{Code: fault.CodeUsage, What: "the checks of " + fault.Count(len(rows), "scenario") + " tell nothing", Where: fmt.Sprintf("%s:%d", path, rows[0].Line),
		Why: strings.Join(list, "\n    "), Next: "mend these checks; hone scenarios validate tries all of them, on the servers too"}
	if others {
		f.Next += skipBad
	}
	return f
}
