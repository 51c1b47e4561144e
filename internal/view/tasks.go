package view

import (
	"cmp"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

// Tasks are the scenarios of a run, with where each comes from and how attempts at it went.
type Tasks struct {
	Tasks []Task  `json:"tasks"`
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
	for _, x := range f.scenarios() {
		t := Task{Scenario: x, Asks: x.Asks(), Needs: append([]string{}, x.Tools()...), Attempts: attempts[x.ID], Passed: passes[x.ID]}
		made := x.Provenance != nil
		if made {
			t.Kind = x.Provenance.Kind
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
	slices.SortFunc(out.Tasks, func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	for _, list := range [][]Cover{out.Tools, out.Kinds} {
		slices.SortFunc(list, func(a, b Cover) int { return cmp.Or(b.Tasks-a.Tasks, cmp.Compare(a.Name, b.Name)) })
	}
	return out, nil
}
