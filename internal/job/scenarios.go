package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
)

// Scenarios loads a file for a verb that measures; without checks and without a judge there is nothing to score. With
// skip, rows that cannot be read are told and left out.
func Scenarios(h *host.Host, path, judge string, skip bool) ([]scenario.Scenario, error) {
	list, _, err := readable(h, path, skip)
	if err != nil {
		return nil, err
	}
	return list, CheckScorable(list, path, judge, false) // success is by checks, or a judge, whatever earns
}

// CheckScorable is an error where something is to score that nothing can.
func CheckScorable(list []scenario.Scenario, path, judge string, byProgram bool) error {
	if scenario.NeedsJudge(list) && judge == "" && !byProgram {
		return &fault.Error{Code: fault.CodeUsage, What: "some scenarios have no checks, so nothing can score them",
			Where: path, Next: `give each scenario "checks", or name a judge with --judge-model`}
	}
	return nil
}

// OfSplit returns the scenarios of a split, which must not be empty.
func OfSplit(list []scenario.Scenario, split, path string) ([]scenario.Scenario, error) {
	kept := scenario.OfSplit(list, split)
	if len(kept) == 0 {
		return nil, noneOf(list, split, path)
	}
	return kept, nil
}

// noneOf says what a file has in the place of a split.
func noneOf(list []scenario.Scenario, split, path string) error {
	e := &fault.Error{Code: fault.CodeUsage, What: "no scenario is in the split " + split, Where: path,
		Next: "give rows the key split, or add scenarios; hone scenarios split shows how many each split has"}
	var has []string
	for _, other := range []string{scenario.Train, scenario.Validation, scenario.Test} {
		switch n := len(scenario.OfSplit(list, other)); {
		case n > 0 && n == len(list):
			e.Why = fmt.Sprintf("all %s are %s; ", fault.Count(n, "row"), other)
			if split != scenario.Train { // train has no such flag
				e.Next = "try --split " + other + "; or " + e.Next
			}
		case n > 0:
			has = append(has, fmt.Sprintf("%d %s", n, other))
		}
	}
	if len(has) > 0 {
		e.Why = "the rows are " + strings.Join(has, " and ") + "; "
	}
	e.Why += "the rows say so themselves, or they are few, or many share a call, by which they are kept in one split"
	return e
}

// LoadForTraining are the scenarios of a file to train on. A row that cannot be read, and one with a check that can
// never pass or passes whatever is done, as far as that shows without its servers, would cost a run that teaches
// nothing. All of them are one error, by their lines; or, with skip, they are told and left out. Where others score
// episodes too (otherwiseScored), checks that silence passes are a bound, and told alone.
func LoadForTraining(h *host.Host, path string, skip, others bool) ([]scenario.Scenario, error) {
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
	reportBadRows(h, path, unsound)
	for _, why := range []string{checktest.SilencePasses, checktest.EchoPasses} {
		if at := weak[why]; len(at) > 0 {
			h.Say("note: %s of %s, the first at %s:%d; hone scenarios validate names all",
				why, fault.Count(len(at), "scenario"), path, at[0])
		}
	}
	return good, nil
}

// readable are the scenarios of a file with their lines, and their splits, which are of all that can be read: one that
// is left out later may join two sets. Rows that cannot be read are one error, by their lines; or, with skip, they are
// told and left out.
func readable(h *host.Host, path string, skip bool) (list []scenario.Scenario, lines []int, err error) {
	list, lines, bad, err := scenario.LoadGood(path)
	if err != nil {
		return nil, nil, err
	}
	if len(bad) > 0 && !skip {
		return nil, nil, OrSkip(scenario.Unusable(path, bad))
	}
	reportBadRows(h, path, bad)
	scenario.AssignSplits(list)
	return list, lines, nil
}

func reportBadRows(h *host.Host, path string, rows []scenario.Bad) {
	for _, b := range rows {
		h.Say("left out: %s:%d: %s", path, b.Line, b.Why)
	}
}

// unread is the error of rows of training data that cannot be read; or, with skip, they are told and left out. What is
// left aside of the others is told too.
func unread(h *host.Host, report *dataset.Report, skip bool) error {
	broken := report.Err()
	if broken == nil {
		for _, line := range report.AsideLines() {
			h.Say("%s", line)
		}
		return nil
	}
	if !skip {
		return OrSkip(broken)
	}
	h.Say("left out %s:", fault.Count(report.NumRefused(), "row"))
	report.Tell(h.Say)
	return nil
}

// HasOtherScores reports whether more than checks says what an episode with checks is worth: a judge of all, a program
// or an expression.
func HasOtherScores(c config.Config) bool {
	return c.Judge.Model != "" && c.Judge.Scenarios == "all" && c.Rewards.Judge > 0 ||
		len(c.Rewards.Program.Command) > 0 || len(c.Rewards.Expressions) > 0
}

const SkipBad = "; or leave these rows out with --skip-bad"

// OrSkip tells of the flag beside what else can be done.
func OrSkip(err error) error {
	if f, ok := err.(*fault.Error); ok {
		f.Next += SkipBad
	}
	return err
}

// unsoundChecks is the error of rows whose checks tell nothing.
func unsoundChecks(path string, rows []scenario.Bad, others bool) error {
	var list []string
	for _, r := range rows {
		list = append(list, fmt.Sprintf("%s:%d: %s", path, r.Line, r.Why))
	}
	f := &fault.Error{
		Code:  fault.CodeUsage,
		What:  "the checks of " + fault.Count(len(rows), "scenario") + " tell nothing",
		Where: fmt.Sprintf("%s:%d", path, rows[0].Line),
		Why:   strings.Join(list, "\n    "),
		Next:  "mend these checks; hone scenarios validate tries all of them, on the servers too",
	}
	if others {
		f.Next += SkipBad
	}
	return f
}

// Dataset is the file of scenarios: that of --dataset, else the configuration's, which is to be there.
func Dataset(given string, c config.Config) (string, error) {
	if given != "" {
		return given, nil
	}
	if _, err := os.Stat(c.Scenarios.File); errors.Is(err, fs.ErrNotExist) {
		return "", &fault.Error{
			Code:  fault.CodeUsage,
			What:  "no scenarios: --dataset names no file",
			Where: c.Scenarios.File,
			Why:   "this file is read where the flag is left out (scenarios.file), and it does not exist",
			Next: "name yours with --dataset FILE, or hone synth --out " + c.Scenarios.File +
				" makes some for your servers",
		}
	}
	return c.Scenarios.File, nil
}
