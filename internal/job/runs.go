package job

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hone/internal/fault"
	"hone/internal/run"
)

// ListedRun is a run's summary and what can be done with it, or its name and why it cannot be read.
type ListedRun struct {
	run.Summary
	Episodes int    `json:"episodes"` // kept, of all stages
	Resume   string `json:"resume"`   // the command that goes on with it, "" without one
	Error    string `json:"error,omitempty"`
	state    string
}

// ListRuns lists the runs in dir, newest first, and where everywhere is set those that are known elsewhere.
func (e Env) ListRuns(dir string, everywhere bool) ([]ListedRun, error) {
	var elsewhere []string
	if everywhere {
		index, err := e.Index()
		if err == nil {
			elsewhere, err = index.Paths()
		}
		if err != nil {
			e.Say("note: runs that are not in %s are not listed: %v", dir, err)
		}
	}
	runs, err := run.List(dir, elsewhere...)
	if err != nil {
		return nil, err
	}
	list := []ListedRun{}
	for _, r := range runs {
		l := ListedRun{Summary: r.Summary}
		for _, s := range r.Stages {
			l.Episodes += s.NumTrajectories
		}
		if l.state, l.Resume = e.Table.State(r.Summary); r.Err != nil {
			l.Error, l.Resume = r.Err.Error(), ""
			l.state, _, _ = strings.Cut(l.Error, "\n")
		}
		list = append(list, l)
	}
	return list, nil
}

// RunRows lays runs out for a person, who was shown those of dir. invoked writes commands as they are called.
func RunRows(list []ListedRun, dir string, invoked func(string) string) [][]string {
	rows := [][]string{{"NAME", "CREATED", "STEPS", "EPISODES", "STATE"}}
	for _, l := range list {
		var steps []string
		for _, s := range l.Stages {
			if s.NumSteps > 0 {
				steps = append(steps, fmt.Sprintf("%s %d", s.Name, s.NumSteps))
			}
		}
		name := l.Name // as the other verbs take it
		if filepath.Dir(l.Path) != filepath.Clean(dir) {
			name = l.Path
		}
		rows = append(rows, []string{name, l.Created.Format(time.DateTime), strings.Join(steps, ", "),
			fmt.Sprint(l.Episodes), invoked(l.state)})
	}
	return rows
}

// RunOf is the folder of the run of a name: in root, in this folder, or where everywhere is set any one that is known.
func (e Env) RunOf(root, name string, everywhere bool) (string, error) {
	path := filepath.Join(root, name)
	if _, statErr := os.Stat(path); statErr == nil || !everywhere {
		return path, nil
	}
	if _, hereErr := os.Stat(filepath.Join(name, "version.json")); hereErr == nil {
		return name, nil // begun with --output-dir, in this folder
	}
	index, err := e.Index()
	if err != nil {
		return path, nil // without a list it is only where runs are
	}
	known, err := index.Paths()
	if err != nil {
		return path, err
	}
	known = slices.DeleteFunc(known, func(p string) bool { return filepath.Base(p) != name })
	if len(known) > 1 {
		return "", &fault.Error{Code: fault.CodeUsage,
			What: fmt.Sprintf("there are %d runs of the name %s",
				len(known), name), Where: strings.Join(known, ", "), Next: "name one by its folder"}
	}
	return append(known, path)[0], nil
}
