package synth

import (
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/host"
)

// Split assigns a split to each row of a file that has none, to all with reassign, and writes the scenarios to out, ""
// being stdout.
func Split(h *host.Host, path, out string, reassign bool) error {
	list, err := scenario.LoadRows(path)
	if err != nil {
		return err
	}
	if reassign {
		for i := range list {
			list[i].Split = ""
		}
	}
	scenario.AssignSplits(list)
	sizes, torn := scenario.SplitSizes(list)
	if torn > 0 {
		h.Say("warning: sets of rows that share calls and are in more than one split: %d; --reassign keeps each in one",
			torn)
	}
	h.Say("train %d, validation %d, test %d", sizes[scenario.Train], sizes[scenario.Validation], sizes[scenario.Test])
	if h.DryRun {
		return nil
	}
	if out != "" {
		return scenario.Save(out, list)
	}
	text, err := scenario.Encode(list, strings.HasSuffix(path, ".jsonl"))
	if err == nil {
		_, err = h.Data.Write(text)
	}
	return err
}

// Show prints scenarios of a file as hone reads them; ids are those to show, none for all.
func Show(h *host.Host, path string, ids []string) error {
	list, err := scenario.Load(path)
	if err == nil {
		list, err = scenario.WithIDs(list, ids, path)
	}
	if err != nil {
		return err
	}
	if h.JSON {
		return h.Print(list, nil)
	}
	for _, s := range list {
		if err := s.WriteText(h.Data); err != nil {
			return err
		}
	}
	return nil
}
