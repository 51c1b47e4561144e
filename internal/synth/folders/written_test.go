package folders

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// What somebody wrote over folders can be done by the operations that servers have, and its answers are right by their
// own checks.
func TestWrittenFolders(t *testing.T) {
	all := Can{Tree: true, Show: true, Edit: true, Write: true, MakeDir: true, Move: true, Delete: true}
	without := Can{List: true, Show: true, Write: true, MakeDir: true, Move: true, Delete: true}
	for _, w := range WrittenFolders() {
		f := w.Folder()
		for _, task := range w.Tasks {
			p, q := task.Plan(f, all), task.Plan(f, without)
			if p == nil || q == nil || task.Plan(f, Can{}) != nil {
				t.Errorf("%s: %q has no plan", w.Name, task.Task)
				continue
			}
			before := f.State()
			after, ok := before.Apply(p.Ops)
			other, too := before.Apply(q.Ops)
			if !ok || !too || !same(after, other) || same(before, after) == p.Changes() {
				t.Errorf("%s: %q: %v %v %+v", w.Name, task.Task, ok, too, p.Ops)
			}
			as := p.Word(nil, scenario.Train)
			one := &scenario.Scenario{Task: as.Task, GoldAnswer: as.Answer, Checks: as.Checks}
			for _, why := range checktest.Alone(one) {
				if why != checktest.EchoPasses || !p.Changes() { // of a change, its end state is checked, too
					t.Errorf("%s: %q is answered %q: %s", w.Name, task.Task, as.Answer, why)
				}
			}
		}
		if len(w.Tasks) < 20 || len(f.Docs) < 8 {
			t.Errorf("%s: %d tasks, %d files", w.Name, len(w.Tasks), len(f.Docs))
		}
	}
}

func same(a, b State) bool {
	if len(a) != len(b) {
		return false
	}
	for file, text := range a {
		if is, there := b[file]; !there || is != text {
			return false
		}
	}
	return true
}

// What somebody thinks stands where it is thought: before the first read, and before the first change or the answer.
func TestThoughtsHaveTheirPlace(t *testing.T) {
	can := Can{Tree: true, Show: true, Edit: true, Write: true, MakeDir: true, Move: true, Delete: true}
	for _, w := range WrittenFolders() {
		f := w.Folder()
		for _, task := range w.Tasks {
			p, working := task.Plan(f, can), programs.InSteps(task.Working)
			read := slices.IndexFunc(p.Ops, func(o Op) bool { return o.Do == Show })
			if first := slices.IndexFunc(p.Ops, Op.Changes); p.Ops[0].Do != Tree ||
				read >= 0 && !strings.Contains(p.Ops[read].Why, task.Think) ||
				first >= 0 && !strings.Contains(p.Ops[first].Why, working) ||
				(p.Working() == working) != (first < 0 || working == "") {
				t.Errorf("%s: %q: %+v", w.Name, task.Task, p.Ops)
			}
			for _, file := range task.Reads {
				if !slices.Contains(p.About, file) {
					t.Errorf("%s: %q is not about %s", w.Name, task.Task, file)
				}
			}
		}
	}
}
