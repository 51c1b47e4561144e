package job

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/data/dataset"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/run"
)

// splits are those of the scenarios that data comes from, by the scenarios' hashes and ids.
type splits struct{ byHash, byID map[string]string }

// note takes in what is said of a scenario. Where two say otherwise it is held out: learning from it could not be
// undone.
func (s splits) note(hash, id, split string) {
	for _, x := range []struct {
		by  map[string]string
		key string
	}{{s.byHash, hash}, {s.byID, id}} {
		if known := x.by[x.key]; x.key != "" && split != "" && (known == "" || known == scenario.Train) {
			x.by[x.key] = split
		}
	}
}

// of is the split of a row's scenario, "" where it is not known. A hash says it better than an id, which others may
// have too.
func (s splits) of(r *dataset.Row) string {
	if split := s.byHash[r.Scenario]; split != "" {
		return split
	}
	return s.byID[r.ScenarioID]
}

// splitsAround are the splits that rows name, those of list, and those of the scenarios that the run around the rows'
// file ran.
func splitsAround(h *host.Host, path string, rows []*dataset.Row, list []scenario.Scenario) splits {
	s := splits{map[string]string{}, map[string]string{}}
	for _, r := range rows {
		s.note(r.Scenario, r.ScenarioID, r.Split)
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	if dir := run.Around(path); dir != "" {
		file := filepath.Join(dir, ScenariosFile)
		own, err := scenario.LoadCopy(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a run of conversations has none
			h.Say("warning: the scenarios of the run that the data is from cannot be read, "+
				"so rows without a split may be of those to measure on: %v", err)
		}
		list = slices.Concat(list, own)
	}
	for i := range list {
		s.note(list[i].Hash(), list[i].ID, list[i].Split)
	}
	return s
}

// holdOut gives rows without a split that of their scenario, where it is one to measure on: without it they would be
// learnt from. list are the scenarios of the run that learns, where it has some.
func holdOut(h *host.Host, path string, rows []*dataset.Row, list []scenario.Scenario) {
	open := func(r *dataset.Row) bool { return r.Split == "" && (r.Scenario != "" || r.ScenarioID != "") }
	if !slices.ContainsFunc(rows, open) {
		return
	}
	known := splitsAround(h, path, rows, list)
	places := map[string][]string{}
	for _, r := range rows {
		split := known.of(r)
		if r.Split != "" || split == "" || split == scenario.Train {
			continue
		}
		place := path
		if r.File != "" {
			place = Where(r)
		}
		r.Split = split
		place += ", of scenario " + cmp.Or(r.ScenarioID, r.Scenario)
		places[split] = append(places[split], place)
	}
	for _, split := range slices.Sorted(maps.Keys(places)) {
		p := places[split]
		h.Say("note: %s without a split, of scenarios of the split %s: taken for rows of that split, the first is %s; "+
			"give them \"split\": \"train\" if they are to be learnt from",
			fault.Count(len(p), "row"), split, p[0])
	}
}
