package generate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
)

// givenTo are the values that calls of a tool give a parameter, as JSON.
func givenTo(x *scenario.Scenario, tool, name string) (list []string) {
	for _, g := range x.Gold {
		for _, m := range members(g.Arguments) {
			if g.Name == tool && m.name == name {
				list = append(list, string(m.raw))
			}
		}
	}
	return list
}

var (
	exception = regexp.MustCompile(` (?:apart from|except|other than) `)
	open      = regexp.MustCompile(`that are (?:not done yet|unfinished|not finished|still open)`)
)

// sorts are what a task over the small tracker has of several changes, several things and conditions.
func sorts(x *scenario.Scenario) (list []string) {
	var most, more int
	for _, g := range x.Gold {
		if g.Name == "job_edit" {
			most = max(most, len(members(g.Arguments))-1)
		}
		if g.Name == "job_edit" && len(members(g.Arguments)) > 2 {
			more++
		}
	}
	add := func(is bool, sort string) {
		if is {
			list = append(list, sort)
		}
	}
	days := givenTo(x, "job_edit", "dueDate")
	ticks := len(givenTo(x, "job_edit", "checkSteps")) > 0
	add(most > 1, "several changes")
	add(most > 1 && ticks, "a tick and more")
	add(len(days) > 1 && len(slices.Compact(slices.Clone(days))) > 1, "each its day")
	for _, name := range []string{"assignee", "labels"} {
		lists := givenTo(x, "job_edit", name)
		add(len(lists) > 1 && strings.Contains(strings.Join(lists, ""), `","`), "each its "+name)
	}
	add(len(givenTo(x, "job_create", "partOf")) > 1, "several below one")
	add(len(givenTo(x, "job_create", "waitsFor")) > 0, "made with a link")
	add(len(days) > 0 && len(givenTo(x, "phase_rename", "dueDate")) > 0, "a group and its things")
	add(x.Provenance.Kind == "several_edits" && len(givenTo(x, "leaflet_update", "content")) > 0, "a document twice")
	add(x.Provenance.Kind == "copy_found" && most > 0, "a fact from a document")
	add(x.Provenance.Kind == "act_if" && most > 0 && strings.Contains(x.GoldAnswer, "Done"), "all was ticked")
	add(x.Provenance.Kind == "act_if" && most > 0 && !strings.Contains(x.GoldAnswer, "Done"), "a point was open")
	add(strings.Count(x.GoldAnswer, ": ") > 1 && strings.Contains(x.GoldAnswer, "\n"), "points of each")
	told := givenTo(x, "job_edit", "status")
	add(len(told) == 1 && !strings.Contains(x.Task, strings.Trim(told[0], `"`)), "told how far it is")
	add(x.Provenance.Kind == "act_on_all" && more > 1, "two changes of each")
	add(x.Provenance.Kind == "act_on_all" && exception.MatchString(x.Task), "all but one")
	add(x.Provenance.Kind == "list" && strings.Contains(x.Task, "NAME: VALUE"), "each with a property")
	add(open.MatchString(x.Task), "what is open")
	add(x.Provenance.Kind == "several_edits" && len(givenTo(x, "phase_add", "name")) > 0, "a group of what is named")
	add(strings.Contains(x.Task, "NAME: WHO"), "whose each is")
	var edits []string // without the key
	for _, g := range x.Gold {
		if all := members(g.Arguments); g.Name == "job_edit" {
			edits = append(edits, string(objectOf(all[1:]...)))
		}
	}
	add(x.Provenance.Kind == "several_edits" && len(edits) == 2 && edits[0] == edits[1], "the same text for two")
	return append(list, likes(x)...)
}

// likes are what such a task takes from another thing, gives each new one, leaves as it is, or moves by a span.
func likes(x *scenario.Scenario) (list []string) {
	add := func(is bool, sort string) {
		if is {
			list = append(list, sort)
		}
	}
	viewed, edited := givenTo(x, "job_view", "id"), givenTo(x, "job_edit", "id")
	calls := len(x.Gold) - 1
	makes := calls > 0 && x.Gold[calls].Name == "job_create" && x.Provenance.Kind == "create"
	people := givenTo(x, "job_create", "assignee")
	moved := calls > 0 && strings.Contains(x.Gold[calls].Reasoning, ", so 202") && x.Provenance.Kind == "find_act"
	add(makes && len(viewed) > 0, "made like another")
	add(makes && len(viewed) > 0 && len(givenTo(x, "job_create", "waitsFor")) > 0, "made like another, linked")
	add(x.Provenance.Kind == "find_act" && len(edited) == 1 &&
		slices.ContainsFunc(viewed, func(id string) bool { return id != edited[0] }), "set like another")
	add(len(people) > 1 && people[0] != people[1], "each new one its person")
	add(x.Provenance.Kind == "act_if" && len(edited) == 0 && x.GoldAnswer != "" &&
		!strings.HasPrefix(x.GoldAnswer, "Nothing") && len(viewed) > 0, "left and told")
	add(moved && len(givenTo(x, "job_edit", "dueDate")) == 1, "one day by a span")
	add(moved && len(givenTo(x, "phase_rename", "dueDate")) == 1, "a group alone by a span")
	return list
}

// Several changes of one thing in one call, changes of each of several things, things that belong to others, and
// changes that hang on a view: all are drawn, each task passes its own checks, and no change passes
// of which an argument is left out.
func TestProgramsOfSeveralChanges(t *testing.T) {
	s := newShop(t)
	tools := viewTools(s)
	o := optionsOf(s)
	o.N, o.Asked = 640, 0.8
	made := run(t, s, tools, o)
	seen, cut := map[string]int{}, 0
	trial := checktest.Trial{Tools: s}
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		list := sorts(x)
		for _, sort := range list {
			seen[sort]++
		}
		if len(list) == 0 {
			continue
		}
		if found, err := trial.Row(t.Context(), x); err != nil || len(found) > 0 {
			t.Errorf("%s (%s): %v %v", x.ID, x.Task, found, err)
		}
		last := len(x.Gold) - 1
		if last < 0 { // what no tool can do, asked of what is open
			continue
		}
		arguments := members(x.Gold[last].Arguments)
		made := slices.Contains(list, "made like another") && // what is there where nothing is given
			!slices.Contains([]string{"priority", "status"}, arguments[max(len(arguments)-1, 0)].name)
		if !made && (len(arguments) < 3 || x.Gold[last].Name != "job_edit") {
			continue
		}
		less := *x
		less.Gold = slices.Clone(x.Gold)
		less.Gold[last].Arguments = objectOf(arguments[:len(arguments)-1]...)
		if found, err := trial.Row(t.Context(), &less); err != nil || len(found) == 0 {
			t.Errorf("%s (%s) passes without %s: %v", x.ID, x.Task, arguments[len(arguments)-1].name, err)
		}
		cut++
	}
	for _, sort := range []string{"several changes", "a tick and more", "each its day", "each its assignee",
		"each its labels", "several below one", "made with a link", "all was ticked", "a point was open",
		"points of each", "a group and its things", "a document twice", "a fact from a document", "told how far it is",
		"two changes of each", "all but one", "each with a property", "what is open",
		"a group of what is named", "whose each is", "the same text for two",
		"made like another", "made like another, linked", "set like another", "each new one its person",
		"left and told", "one day by a span", "a group alone by a span"} {
		if seen[sort] == 0 {
			t.Errorf("no task has %s: %v", sort, seen)
		}
	}
	if cut < 30 {
		t.Errorf("%d tasks were cut", cut)
	}
}

// What stays of a list is given anew with what comes, and what is there already is not given twice.
func TestHanded(t *testing.T) {
	for _, c := range []struct {
		has, old, v, want string
	}{{"a", "a", "b", `["b"]`}, {"a|c", "a", "b", `["b","c"]`}, {"a|b|c", "a", "b", `["b","c"]`}} {
		got, _ := json.Marshal(handed(strings.Split(c.has, "|"), c.old, c.v)) // of texts
		if string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.has, got, c.want)
		}
	}
}
