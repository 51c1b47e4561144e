package synth

import (
	"path/filepath"

	"hone/internal/data/dataset"
	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
	"hone/internal/synth/generate"
)

// Comparison says what hone synth report compares: made scenarios, with other scenarios and conversations.
type Comparison struct {
	File      string   // of scenarios
	Scenarios []string // files of others
	Data      []string // files of conversations
}

// Compared is what came of it.
type Compared struct {
	Gap      generate.Distance  `json:"gap"`                // of the file's held-out tasks to its training tasks
	Distance *generate.Distance `json:"distance,omitempty"` // of the others to the file; nil where there are none
}

// Rows are the two tables, with an empty row between.
func (c Compared) Rows() [][]string {
	rows := c.Gap.Rows()
	if c.Distance != nil {
		rows = append(append(rows, []string{}), c.Distance.Rows()...)
	}
	return rows
}

// Run reads the files and compares them.
func (c Comparison) Run() (out Compared, err error) {
	list, err := scenario.LoadRows(c.File)
	if err != nil {
		return out, err
	}
	scenario.AssignSplits(list)
	out.Gap = generate.GapOf(list, overlap.TextOf)
	sets := []generate.Set{{Name: filepath.Base(c.File), Tasks: generate.TasksOf(list, overlap.TextOf)}}
	for _, file := range c.Scenarios {
		other, err := scenario.LoadRows(file)
		if err != nil {
			return out, err
		}
		sets = append(sets, generate.Set{Name: filepath.Base(file), Tasks: generate.TasksOf(other, overlap.TextOf)})
	}
	for _, file := range c.Data {
		tasks, err := conversations(file)
		if err != nil {
			return out, err
		}
		sets = append(sets, generate.Set{Name: filepath.Base(file), Tasks: tasks})
	}
	if len(sets) > 1 {
		d := generate.DistanceOf(sets)
		out.Distance = &d
	}
	return out, nil
}

// conversations are the tasks of a file that hone sft takes: what the user says, and the calls that were made.
func conversations(file string) (tasks []generate.Task, err error) {
	rows, _, err := dataset.Load([]string{file}, dataset.Options{})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		t := generate.Task{Text: overlap.UserText(r.Messages)}
		for _, m := range r.Messages[r.Opening:] {
			for _, call := range m.ToolCalls {
				t.Tools = append(t.Tools, call.Name)
			}
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}
