package synthesis

import (
	"path/filepath"

	"hone/internal/data/formats"
	"hone/internal/data/overlap"
	"hone/internal/data/synth"
	"hone/internal/episode/scenario"
)

// Comparison says what hone synth report compares: made scenarios, with other scenarios and conversations.
type Comparison struct {
	File      string   // of scenarios
	Scenarios []string // files of others
	Data      []string // files of conversations
}

// Compared is what came of it.
type Compared struct {
	Gap      synth.Distance  `json:"gap"`                // of the file's held-out tasks to its training tasks
	Distance *synth.Distance `json:"distance,omitempty"` // of the others to the file; nil where there are none
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
	out.Gap = synth.GapOf(list, overlap.TextOf)
	sets := []synth.Set{{Name: filepath.Base(c.File), Tasks: synth.TasksOf(list, overlap.TextOf)}}
	for _, file := range c.Scenarios {
		other, err := scenario.LoadRows(file)
		if err != nil {
			return out, err
		}
		sets = append(sets, synth.Set{Name: filepath.Base(file), Tasks: synth.TasksOf(other, overlap.TextOf)})
	}
	for _, file := range c.Data {
		tasks, err := conversations(file)
		if err != nil {
			return out, err
		}
		sets = append(sets, synth.Set{Name: filepath.Base(file), Tasks: tasks})
	}
	if len(sets) > 1 {
		d := synth.DistanceOf(sets)
		out.Distance = &d
	}
	return out, nil
}

// conversations are the tasks of a file that hone sft takes: what the user says, and the calls that were made.
func conversations(file string) (tasks []synth.Task, err error) {
	rows, _, err := formats.Load([]string{file}, formats.Options{})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		t := synth.Task{Text: overlap.Said(r.Messages)}
		for _, m := range r.Messages[r.Opening:] {
			for _, call := range m.ToolCalls {
				t.Tools = append(t.Tools, call.Name)
			}
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}
