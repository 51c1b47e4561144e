package service

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

// Ask is how a client names the scenario that it wants: by id, or by split and index, or by a seed. One that names none
// gets those of the split in turn.
type Ask struct {
	Scenario string `json:"scenario"`
	Hash     string `json:"hash"`  // of the scenario, as its row has it; "": any
	Split    string `json:"split"` // "": train, or the first that has scenarios
	Index    *int   `json:"index"` // in the split
	Seed     *int   `json:"seed"`  // modulo the split's length
}

// Task is a scenario as clients see it: not what solves it, nor what checks it.
type Task struct {
	Scenario string         `json:"scenario"`
	Hash     string         `json:"hash"`
	Split    string         `json:"split"`
	Index    int            `json:"index"` // in the split
	Messages []chat.Message `json:"messages"`
}

// errAsk is the error of a client that asks for what is not there.
type errAsk struct{ error }

// tasks are the scenarios that are served.
type tasks struct {
	splits []string // that have scenarios, in the order train, validation, test
	of     map[string][]*scenario.Scenario
	byID   map[string]*scenario.Scenario
	ids    []string
	next   atomic.Int64
}

func newTasks(list []scenario.Scenario) *tasks {
	x := &tasks{of: map[string][]*scenario.Scenario{}, byID: map[string]*scenario.Scenario{}}
	for i := range list {
		s := &list[i]
		x.of[s.Split] = append(x.of[s.Split], s)
		x.byID[s.ID], x.ids = s, append(x.ids, s.ID)
	}
	for _, split := range []string{scenario.Train, scenario.Validation, scenario.Test} {
		if len(x.of[split]) > 0 {
			x.splits = append(x.splits, split)
		}
	}
	return x
}

// split are the scenarios of a split, never none.
func (x *tasks) split(name string) ([]*scenario.Scenario, error) {
	if name == "" {
		name = x.splits[0]
	}
	if len(x.of[name]) == 0 {
		return nil, errAsk{fmt.Errorf("no scenario is in the split %q; there are %v", name, x.splits)}
	}
	return x.of[name], nil
}

// choose finds the scenario that a client asks for.
func (x *tasks) choose(a Ask) (*scenario.Scenario, error) {
	if a.Scenario != "" {
		return x.ofAsk(a)
	}
	list, err := x.split(a.Split)
	switch {
	case err != nil:
		return nil, err
	case a.Index != nil && (*a.Index < 0 || *a.Index >= len(list)):
		return nil, errAsk{fmt.Errorf("the index %d is not in the split, which has %s",
			*a.Index, fault.Count(len(list), "scenario"))}
	case a.Index != nil:
		return list[*a.Index], nil
	case a.Seed != nil:
		return list[((*a.Seed%len(list))+len(list))%len(list)], nil
	}
	return list[int(x.next.Add(1)-1)%len(list)], nil
}

func (x *tasks) ofAsk(a Ask) (*scenario.Scenario, error) {
	s := x.byID[a.Scenario]
	if s == nil {
		meant := ""
		if near := fault.Nearest(a.Scenario, x.ids); near != "" {
			meant = fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, errAsk{fmt.Errorf("there is no scenario %q%s", a.Scenario, meant)}
	}
	if a.Hash != "" && a.Hash != s.Hash() {
		return nil, errAsk{fmt.Errorf("the scenario %s has changed since its row was written: "+
			"write the rows again with hone env tasks", s.ID)}
	}
	return s, nil
}

// task is a scenario as clients see it.
func (x *tasks) task(
	s *scenario.Scenario, shows func(scenario.Scenario) ([]chat.Message, []chat.Tool, error),
) (Task, error) {
	messages, _, err := shows(*s)
	return Task{s.ID, s.Hash(), s.Split, slices.Index(x.of[s.Split], s), messages}, err
}

// isAsk reports whether an error is the client's.
func isAsk(err error) bool {
	_, is := errors.AsType[errAsk](err)
	return is
}
