package generate

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/synth/folders"
	"hone/internal/synth/programs"
)

// Written states are shared out: of eight one is for validation and one for test, few states have all of few tasks, and
// one of few states is held out.
func TestWrittenStatesAreSharedOut(t *testing.T) {
	splits := map[string]int{}
	for i := range 16 {
		splits[writtenSplit(i)]++
	}
	if splits[scenario.Validation] != 2 || splits[scenario.Test] != 2 || splits[scenario.Train] != 12 {
		t.Errorf("%v", splits)
	}
	for _, c := range []struct {
		n, states, all int
		sizes          []int
	}{
		{0, 0, 0, []int{20, 20, 20}},
		{5, 1, 5, []int{20, 20, 20}},
		{perWorld + 1, 2, perWorld + 1, []int{20, 20, 20}},
		{50, 3, 50, []int{20, 20, 20}},
		{90, 3, 60, []int{20, 20, 20}}, // no more than there are
		{50, 3, 45, []int{5, 20, 20}},
	} {
		for seed := range uint64(20) {
			states, all, held := 0, 0, 0
			sizes := []int{0, 1, 2}
			for i, n := range writtenOf(rand.New(rand.NewPCG(seed, 1)), c.n, sizes, func(i int) (int, string) {
				return c.sizes[i], writtenSplit(i + 1) // the last is held out
			}) {
				if all += n; n > 0 {
					states++
				}
				if n > 0 && i == 2 {
					held++
				}
				if n > c.sizes[i] {
					t.Errorf("%d tasks of %d", n, c.sizes[i])
				}
			}
			if held != min(1, max(0, c.states-1)) {
				t.Errorf("%+v: %d states are held out", c, held)
			}
			if states != c.states || all > c.all || c.sizes[0] == c.sizes[1] && all != c.all {
				t.Errorf("%+v: %d tasks of %d states", c, all, states)
			}
		}
	}
}

// columnsSaid matches the line of columns that a thought before a statement may begin with.
var columnsSaid = regexp.MustCompile(`^(?:\S[^.\n]* has [^.\n]*\. ?)+\n`)

// What somebody wrote is asked over databases, folders and graphs, is held to what is there in the end, and is done
// with the thoughts of whoever wrote it: some before the first look, some before the first change.
func TestWrittenTasks(t *testing.T) {
	word := func(p *programs.Program) string { return p.Word(nil, scenario.Train).Task }
	type thoughts struct{ think, working string } // working: before the first change; "": none
	all := map[string]thoughts{}
	for _, w := range programs.WrittenWorlds() {
		for _, p := range w.Tasks {
			var of thoughts
			if len(p.Steps) > 0 {
				of.think = p.Steps[0].Why
			}
			if i := slices.IndexFunc(p.Steps, func(s programs.Step) bool { return s.Writes }); i > 0 {
				of.working = p.Steps[i].Why
			}
			all[word(p)] = of
		}
	}
	for _, w := range programs.WrittenGraphs() {
		for _, q := range w.Tasks {
			all[word(q.Program)] = thoughts{q.Think, q.Working}
		}
	}
	every := folders.Can{folders.Tree: true, folders.Show: true, folders.Edit: true, folders.Write: true,
		folders.MakeDir: true, folders.Move: true, folders.Delete: true}
	for _, w := range folders.WrittenFolders() {
		f := w.Folder()
		for _, task := range w.Tasks {
			of := thoughts{think: task.Think}
			if len(task.Do) > 0 {
				of.working = task.Working
			}
			all[word(task.Plan(f, every).Program)] = of
		}
	}
	for name, server := range map[string]func(*testing.T) (*shop, []Tool){
		"database": database, "files": cabinet,
		"graph": func(t *testing.T) (*shop, []Tool) { s := newShop(t); return s, noteTools(s) },
	} {
		s, tools := server(t)
		o := optionsOf(s)
		o.N = 60
		found := 0
		for _, x := range run(t, s, tools, o).Scenarios {
			of, is := all[x.Task]
			if !is {
				continue
			}
			if found++; len(x.Slips) > 0 {
				t.Errorf("%s: %q is done with slips, which nobody wrote", name, x.Task)
			}
			if !slices.ContainsFunc(x.Checks, func(c scenario.Check) bool {
				return c.Type == scenario.StateCheck || c.Type == scenario.UnchangedCheck
			}) {
				t.Errorf("%s: nothing says that %q changes nothing else", name, x.Task)
			}
			for _, why := range []string{of.think, programs.InSteps(of.working)} {
				n := 0
				for _, g := range x.Gold {
					if strings.HasPrefix(columnsSaid.ReplaceAllString(g.Reasoning, ""), why) {
						n++
					}
				}
				if n == 0 {
					t.Errorf("%s: %q is done without %q", name, x.Task, why)
				}
			}
		}
		if found < 40 || found > int(shareWritten*60) {
			t.Errorf("%s: %d of 60 tasks are written ones", name, found)
		}
	}
}
