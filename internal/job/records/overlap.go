package records

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/data/dataset"
	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
)

// OverlapCheck says what is held against what.
type OverlapCheck struct {
	File      string // of scenarios, whose split Split is measured on
	Split     string
	Train     []string // more files of scenarios, of which the split train is learnt from
	Data      []string // files of conversations to learn from
	Model     string   // an adapter, whose runs say what it learnt from; "" for none
	By        string   // the unit by which the splits are to be apart, one of overlap.Units
	Threshold float64  // of near.NewIndex
	Catalog   string   // a catalog, which says the server of each tool; "" for none
}

// Overlaps is what stands in both.
type Overlaps struct {
	Split     string          `json:"split"`
	NumTest   int             `json:"num_test"`
	NumTrain  int             `json:"num_train"` // scenarios to learn from
	NumTexts  int             `json:"num_texts"` // and other texts
	By        string          `json:"by"`
	Threshold float64         `json:"threshold"`
	Units     []overlap.Count `json:"units"`
	Near      []overlap.Near  `json:"near"`
}

// Tell says how much is shared.
func (o Overlaps) Tell(say func(format string, args ...any)) {
	say("%s of the split %s; learnt from: %s and %s", fault.Count(o.NumTest, "scenario"), o.Split,
		fault.Count(o.NumTrain, "scenario"), fault.Count(o.NumTexts, "other text"))
	for _, u := range o.Units {
		if u.Unit == "server" && u.Num == 0 && o.NumTest > 0 {
			say("servers of the split: not known; --catalog says which server a tool is of")
			continue
		}
		say("%ss of the split: %d; of these also in what is learnt from: %d (%.0f%%)",
			u.Unit, u.Num, len(u.Shared), 100*u.Share())
	}
}

// Rows are the near copies.
func (o Overlaps) Rows() [][]string {
	rows := [][]string{}
	for _, n := range o.Near {
		values := "other values"
		if n.SameValues {
			values = "same values"
		}
		rows = append(rows, []string{n.ScenarioID, fmt.Sprintf("%.2f", n.Similarity), values, n.Source.Name,
			n.Source.Where, host.OneLine(n.Source.Text)})
	}
	return rows
}

// Err is what keeps the splits from being apart: shared units of the kind By, shared tasks, and near copies with the
// same values.
func (o Overlaps) Err(file string) error {
	why := o.findings()
	if len(why) == 0 {
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: "what is measured on is learnt from too", Where: file,
		Why: strings.Join(why, "; "), Next: "hone scenarios split --reassign keeps rows together that share a call; " +
			"leave near copies out of one side"}
}

func (o Overlaps) findings() (why []string) {
	for _, c := range o.Units {
		if n := len(c.Shared); n > 0 && (c.Unit == o.By || c.Unit == overlap.Task) {
			why = append(why, fmt.Sprintf("%s of the split %s also stand in what is learnt from; the first: %s",
				fault.Count(n, c.Unit), o.Split, c.Shared[0]))
		}
	}
	copies := slices.DeleteFunc(slices.Clone(o.Near), func(n overlap.Near) bool { return !n.SameValues })
	if len(copies) > 0 {
		why = append(why, fmt.Sprintf("%s near to what is learnt from; the first: %s to %s of %s",
			fault.Count(len(copies), "scenario"), copies[0].ScenarioID, copies[0].Source.Name, copies[0].Source.Where))
	}
	return why
}

// Overlap holds the scenarios that are measured on against all that is learnt from.
func (c OverlapCheck) Overlap(h *host.Host) (Overlaps, error) {
	out := Overlaps{Split: c.Split, By: c.By, Threshold: c.Threshold}
	if !slices.Contains(overlap.Units(), c.By) {
		return out, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("splits are not held apart by %q", c.By),
			Where: "--by", Next: "give task, call, tool or server"}
	}
	if !(c.Threshold > 0 && c.Threshold <= 1) {
		return out, &fault.Error{
			Code:  fault.CodeUsage,
			What:  "the threshold of a near copy must be above 0 and at most 1",
			Where: "--threshold",
			Next:  "leave it out",
		}
	}
	test, train, sources, err := c.read(h)
	if err != nil {
		return out, err
	}
	if c.Model != "" {
		l := ReadProvenance(c.Model)
		for _, folder := range l.unknown {
			h.Say("note: there is no run's record beside %s, so what it was trained on is not known", folder)
		}
		sources = append(sources, l.sources...)
	}
	serverOf := func(string) string { return "" }
	if c.Catalog != "" {
		catalog, err := mcp.Load(c.Catalog)
		if err != nil {
			return out, err
		}
		serverOf = func(tool string) string {
			server, _, _ := catalog.Resolve(tool)
			return server
		}
	} else if c.By == overlap.Server {
		return out, &fault.Error{Code: fault.CodeUsage, What: "which server has a tool is not known",
			Where: "--by server", Next: "give --catalog the file that hone discover writes"}
	}
	out.NumTest, out.NumTrain, out.NumTexts = len(test), len(train), len(sources)-len(train)
	out.Units = overlap.Counts(test, train, serverOf)
	out.Near = append([]overlap.Near{}, overlap.FindNear(test, sources, c.Threshold)...)
	return out, nil
}

// read returns the scenarios of the split, those to learn from, and the texts of those and of the conversations.
func (c OverlapCheck) read(h *host.Host) (test, train []scenario.Scenario, sources []overlap.Source, err error) {
	for i, file := range append([]string{c.File}, c.Train...) {
		list, err := scenario.LoadRows(file)
		if err != nil {
			return nil, nil, nil, err
		}
		scenario.AssignSplits(list)
		if i == 0 {
			if test, err = job.OfSplit(list, c.Split, file); err != nil {
				return nil, nil, nil, err
			}
		}
		for _, s := range scenario.OfSplit(list, scenario.Train) {
			if i == 0 && c.Split == scenario.Train {
				break // it is held against the others
			}
			train = append(train, s)
			sources = append(sources, overlap.Source{Name: s.ID, Where: file, Text: overlap.TextOf(&s)})
		}
	}
	for _, file := range c.Data {
		rows, report, err := dataset.Load([]string{file}, dataset.Options{})
		if err != nil {
			return nil, nil, nil, err
		}
		if report.NumRefused() > 0 {
			report.Tell(h.Say)
		}
		sources = append(sources, userTexts(rows, filepath.Base(file))...)
	}
	return test, train, sources, nil
}

// userTexts are the texts of the conversations to learn from: what the user says first, and all that the user says.
func userTexts(rows []dataset.Row, where string) (out []overlap.Source) {
	for _, r := range rows {
		if !r.ToLearnFrom() || r.WhyNoDemonstration() != "" {
			continue
		}
		name, all := fmt.Sprintf("line %d", r.Line), overlap.UserText(r.Messages)
		out = append(out, overlap.Source{Name: name, Where: where, Text: r.Task()})
		if all != r.Task() {
			out = append(out, overlap.Source{Name: name, Where: where, Text: all})
		}
	}
	return out
}
