package view

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/synth"
	"hone/internal/synth/generate"
)

// Tasks are the scenarios of a run, with where each comes from and how attempts at it went.
type Tasks struct {
	Tasks []Task  `json:"tasks"`
	Left  string  `json:"left"`  // the file of those that a person did not reject
	Tools []Cover `json:"tools"` // how many tasks need each tool
	Kinds []Cover `json:"kinds"`
}

// Task is one scenario and what came of it.
type Task struct {
	*scenario.Scenario
	Asks     string   `json:"asks"`
	Needs    []string `json:"needs"` // tools of its gold calls
	Kind     string   `json:"kind"`
	Attempts int      `json:"attempts"` // scored ones, of all stages
	Passed   int      `json:"passed"`
	Review   Reviewed `json:"review"`
	Plays    []Play   `json:"plays"` // that proved it, where what the servers answered is kept beside the tasks
}

// Play is one of a task's plays.
type Play struct {
	Name string `json:"name"`
	*generate.Played
}

// Cover is how many tasks have a property.
type Cover struct {
	Name  string `json:"name"`
	Tasks int    `json:"tasks"`
	Made  int    `json:"made"`
}

func (s *Server) tasks(f *followed) (Tasks, error) {
	out := Tasks{Tasks: []Task{}, Tools: []Cover{}, Kinds: []Cover{}}
	attempts, passes := f.index.passes()
	desk, err := s.review(f)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(desk.tasks) == 0 {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	desk.mu.Lock()
	defer desk.mu.Unlock()
	out.Left = near(desk.left())
	known := f.scenarios()
	played := generate.PlaysOf(synth.WorkBeside(f.tasksFile()))
	count := func(list *[]Cover, name string, made bool) {
		i := slices.IndexFunc(*list, func(c Cover) bool { return c.Name == name })
		if i < 0 {
			i, *list = len(*list), append(*list, Cover{Name: name})
		}
		(*list)[i].Tasks++
		if made {
			(*list)[i].Made++
		}
	}
	for _, row := range desk.tasks {
		x := known[row.ID]
		if x == nil {
			continue
		}
		t := Task{Scenario: x, Asks: x.Asks(), Needs: append([]string{}, x.Tools()...), Attempts: attempts[x.ID],
			Passed: passes[x.ID], Review: desk.of(x.ID), Plays: []Play{}}
		made := x.Provenance != nil
		if made {
			t.Kind = x.Provenance.Kind
		}
		if made {
			for _, name := range x.Provenance.Proof {
				if p := played[name]; p != nil {
					t.Plays = append(t.Plays, Play{name, p})
				}
			}
		}
		for _, tag := range x.Tags {
			if kind, is := strings.CutPrefix(tag, "kind:"); is && t.Kind == "" {
				t.Kind = kind
			}
		}
		for _, tool := range t.Needs {
			count(&out.Tools, tool, made)
		}
		count(&out.Kinds, cmp.Or(t.Kind, "not said"), made)
		out.Tasks = append(out.Tasks, t)
	}
	for _, list := range [][]Cover{out.Tools, out.Kinds} {
		sort.Slice(list, func(i, j int) bool {
			return cmp.Or(list[j].Tasks-list[i].Tasks, cmp.Compare(list[i].Name, list[j].Name)) < 0
		})
	}
	return out, nil
}
