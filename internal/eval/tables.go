package eval

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/episode/scenario"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/job/records"
	"hone/internal/llm"
	"hone/internal/run/report"
)

// Table is the rates of the systems and their differences, as they are printed.
func (m *Evaluated) Table(results stats.Results) [][]string {
	rows := [][]string{{"SYSTEM", "FIRST CALL", "WHOLE EPISODE", "EXTRA CALLS", "SCENARIOS", "EXCLUDED"}}
	for _, s := range m.Systems {
		x := results.Systems[s.Name]
		whole := x.EpisodeText()
		if x.NumEpisodes == 0 {
			whole = "-"
		}
		rows = append(rows,
			[]string{s.Name, x.FirstCallText(), whole, x.ExtraCallsText(), fmt.Sprint(x.N), fmt.Sprint(x.NumExcluded)})
	}
	for _, d := range results.Deltas {
		rows = append(rows, []string{
			d.New + " - " + d.Old, d.First.PointsText(), d.Episode.PointsText(), "", fmt.Sprint(d.Episode.N),
			fmt.Sprintf("%d + %d", results.Systems[d.New].NumExcluded, results.Systems[d.Old].NumExcluded),
		})
	}
	return rows
}

// judges are the models that decided of episodes, by name.
func (m *Evaluated) judges() (names []string) {
	for _, s := range m.Systems {
		for _, e := range s.Episodes {
			for _, term := range e.Trajectory.Terms {
				if j := term.Judgement; j != nil && j.Passed != nil && !slices.Contains(names, j.Model) {
					names = append(names, j.Model)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Notes are what there is to say beside the table: what its columns are, and for each system what they have no room
// for.
func (m *Evaluated) Notes(results stats.Results) []string {
	notes := append(m.otherForms(),
		"first call: it is the first gold call, arguments and all; whole episode: all checks pass",
		"extra calls: beyond the gold calls, in the mean")
	if m.SharedFirst != "" {
		notes = append(notes, m.SharedFirst)
	}
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if m.Drawn != "" {
		add("%s", m.Drawn)
	}
	if by := m.judges(); len(by) > 0 {
		add("of scenarios without checks, whole episode: %s passes it; the reasons are in the episodes",
			strings.Join(by, " or "))
	}
	for i, err := range m.Failed { // the first is the error that the verb ends with
		if f, ok := errors.AsType[*fault.Error](err); ok && i > 0 {
			add("%s: %s: %s", f.Where, f.What, f.Why)
		}
	}
	m.noteSystems(results, add)
	if i := m.InitialCalls(); i != nil {
		add("%s", i.Text())
	}
	for _, k := range m.Known {
		add("%s - %s: %s points of whole episodes, by a confidence sequence, which holds although the evaluation may "+
			"stop early", k.New, k.Old, k.PointsText())
	}
	if len(m.Known) > 1 {
		add("these %d differences hold together with a confidence of %g%%", len(m.Known), 100*m.Confidence())
	}
	if len(m.Known) > 0 && m.hasFamilies() {
		add("a family of scenarios counts once in a confidence sequence; in the rates of the table each of its " +
			"scenarios counts, and their intervals take the family as one piece of evidence")
	}
	switch {
	case m.NotRun > 0:
		add("stopped early: %s were not run, for these differences are known; the intervals of the table are for a "+
			"fixed number of scenarios", fault.Count(m.NotRun, "scenario"))
	case m.mayStop:
		add("did not stop early")
	}
	add("intervals: Wilson's for a rate; of a difference the paired bootstrap, and Student's t below 12 pieces " +
		"of evidence")
	add("excluded episodes are in no rate and in no difference")
	if m.hasFamilies() {
		add("each family of scenarios, or scenario without one, counts as one piece of evidence")
	} else {
		add("each scenario counts as one piece of evidence")
	}
	if tooFew(results) {
		add("too few: fewer than 5 pieces of evidence hold a success, or a failure, " +
			"or fewer than 6 tell two systems apart")
		add("intervals marked too few are wide on purpose")
	}
	return notes
}

// sharedFirst says that half of the scenarios or more begin with one gold call, as a look around is: then their first
// call says nothing of their tasks. "" where they do not.
func sharedFirst(tasks []scenario.Scenario) string {
	with, num := 0, map[string]int{}
	for _, s := range tasks {
		if len(s.Gold) == 0 {
			continue
		}
		with++
		arguments := jsontext.Value(bytes.Clone(s.Gold[0].Arguments))
		_ = arguments.Canonicalize() // what is no JSON stays as it is
		num[s.Gold[0].Name+" "+string(arguments)]++
	}
	for _, call := range slices.Sorted(maps.Keys(num)) {
		if n := num[call]; n > 1 && 2*n >= with {
			return fmt.Sprintf("the first call says little here: the gold calls of %d of %d scenarios begin with %s; "+
				"look at whole episodes", n, with, call)
		}
	}
	return ""
}

// noteSystems adds what is to be said of one system alone.
func (m *Evaluated) noteSystems(results stats.Results, add func(format string, args ...any)) {
	for _, s := range m.Systems {
		x := results.Systems[s.Name]
		if x.NumWithGold < x.N {
			add("%s: first call and extra calls are of the %s with gold calls, of %d",
				s.Name, fault.Count(x.NumWithGold, "scenario"), x.N)
		}
		if n := m.Reused[s.Name]; n > 0 {
			add("%s: %d of %s are taken from earlier evaluations", s.Name, n, fault.Count(len(s.Episodes), "episode"))
		}
		if x.NumRepeats > 1 && len(x.Passes) > 0 {
			one, all := x.Passes[0], x.Passes[len(x.Passes)-1]
			add("%s: pass@1 %.1f%% of %s, pass^%d %.1f%%: all %d repeats of a scenario, of the %s with so many",
				s.Name, 100*one.Any.Mean, fault.Count(one.Any.N, "scenario"), all.K, 100*all.All.Mean, all.K,
				fault.Count(all.All.N, "scenario"))
		}
		if x.TotalCost != nil {
			add("%s: %.4f dollars", s.Name, *x.TotalCost)
		}
		if x.ReusedCost != nil {
			add("%s: earlier evaluations paid %.4f dollars for the episodes that are reused", s.Name, *x.ReusedCost)
		}
		for i, c := range x.NotRun {
			if i == 3 {
				add("%s: and %d other checks; --json names them all", s.Name, len(x.NotRun)-i)
				break
			}
			add("%s: %s of scenario %s gave no verdict in %s", s.Name, c.Check, c.ScenarioID,
				fault.Count(c.Num, "episode"))
		}
	}
}

// hasFamilies reports whether scenarios of the evaluation were made alike.
func (m *Evaluated) hasFamilies() bool {
	return slices.ContainsFunc(m.Systems, func(s stats.System) bool {
		return slices.ContainsFunc(s.Rows, func(r stats.Row) bool { return r.Family != "" })
	})
}

// tooFew reports whether an interval of the table says so.
func tooFew(results stats.Results) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(results.Systems)), func(s stats.Summary) bool {
		return s.Metrics[stats.Completion().Name].TooFew || s.Metrics[stats.FirstCall().Name].TooFew
	}) || slices.ContainsFunc(results.Deltas, func(d stats.Delta) bool { return d.Episode.TooFew || d.First.TooFew })
}

// report writes the report of an evaluation that is kept.
func (b *bench) report(measured *Evaluated) error {
	_, numbers, err := records.WritePage(b.Env, b.Path, func(p *report.Page) {
		p.TrainedOn, p.NearTrained, p.Parts = measured.TrainedOn, measured.NearTrained, measured.Parts
		if b.local.Model != nil {
			p.Say("device", b.local.Device())
		}
		p.Say("time", b.clock.summary())
		p.Remarks = measured.remarks()
	})
	if err == nil {
		measured.results = &numbers.Results
	}
	return err
}

// otherForms says of each system how many of its answers hold a call in another form than it is read in: what a table
// of rates would put down to the model.
func (m *Evaluated) otherForms() (out []string) {
	for _, s := range m.Systems {
		var forms llm.Forms
		for _, e := range s.Episodes {
			forms.Add(e.Trajectory)
		}
		if forms.Held == 0 {
			continue
		}
		next := "hone sft on demonstrations teaches the form that is read"
		if form := forms.Most(); form.Name != "" {
			next = "model.tool_format: " + form.Name + " has it asked for and read so, or " + next
		}
		out = append(out, fmt.Sprintf("%s: %s, which no rate counts as a call; %s", s.Name, forms, next))
	}
	return out
}

// remarks are what the page says of an evaluation that may stop early, in the place of what its record cannot say
// again.
func (m *Evaluated) remarks() (out []string) {
	out = m.otherForms()
	if m.SharedFirst != "" {
		out = append(out, m.SharedFirst)
	}
	if m.NotRun > 0 {
		out = append(
			out, fmt.Sprintf("Stopped early: %s were not run. The intervals of this page are for a fixed number of "+
				"scenarios; those that hold are these.", fault.Count(m.NotRun, "scenario")),
		)
	}
	if m.NotRun == 0 && m.mayStop {
		out = append(out, "The evaluation might have stopped early, and did not.")
	}
	for _, k := range m.Known {
		out = append(out, fmt.Sprintf("%s - %s: %s points of whole episodes, by a confidence sequence.",
			k.New, k.Old, k.PointsText()))
	}
	return out
}
