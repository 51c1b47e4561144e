package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Stage is how far a thing is, by a value of its state.
type Stage string

const (
	NotBegun Stage = "not begun"
	Begun    Stage = "begun"
	Done     Stage = "done"
	// Waiting is open, and neither begun nor not to all who ask.
	Waiting Stage = "waiting"
)

// StageOf is the stage that a value of a state says; "" where it says none that people would agree on.
func StageOf(state string) Stage {
	state = strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(state))
	for stage, states := range map[Stage][]string{
		NotBegun: {"to do", "todo", "not started", "new", "backlog", "planned", "open"},
		Begun:    {"in progress", "inprogress", "doing", "started", "ongoing", "in work", "wip", "running", "active"},
		Done:     {"done", "closed", "complete", "completed", "finished", "resolved"},
		Waiting:  {"in review", "review", "blocked", "on hold", "waiting", "testing", "in testing", "paused"},
	} {
		if slices.Contains(states, state) {
			return stage
		}
	}
	return ""
}

// StageValue is the one value of a column that says a stage; "" where the column has none, or where it is not the
// state of the things, or where a value says no stage: what is open is not clear then.
func (t *Table) StageValue(i int, stage Stage) (value string) {
	if !slices.Contains([]string{"status", "state", "stage", "progress"}, lastWord(t.Columns[i].caption())) {
		return ""
	}
	for _, row := range t.Rows {
		v := Show(row[i])
		switch StageOf(v) {
		case "":
			return ""
		case stage:
			if value != "" && value != v {
				return ""
			}
			value = v
		}
	}
	return value
}

// StageColumn is the column that says how far the things are, and so which are done; -1 where there is none. A room
// that is closed is not done: some states are those of work, or the things are.
func (t *Table) StageColumn() int {
	isWork := slices.Contains(strings.Fields("task todo issue ticket bug job case card story"), lastWord(t.One))
	return slices.IndexFunc(t.Columns, func(c Column) bool {
		i := t.at(c)
		first := strings.ToLower(t.StageValue(i, NotBegun))
		return t.StageValue(i, Done) != "" && (t.StageValue(i, Begun) != "" || first != "" &&
			(isWork || !slices.Contains([]string{"open", "new", "planned"}, first)))
	})
}

// Open is the condition that a thing is not done, as people say it who do not name the state.
func (t *Table) Open(r *rand.Rand) (c Cond, phrase string, ok bool) {
	i := t.StageColumn()
	if i < 0 {
		return Cond{}, "", false
	}
	said := []string{"that are not done yet", "that are unfinished", "that are not finished", "that are still open"}
	if slices.ContainsFunc(t.Rows, func(row []any) bool { return strings.EqualFold(Show(row[i]), "open") }) {
		said = said[:3]
	}
	return Cond{i, -1, Not, t.StageValue(i, Done)}, pick(r, said), true
}

// staged is the condition that a thing is open, or at a stage.
func (d *drawer) staged(t *Table, i int) (c Cond, phrase string, ok bool) {
	if !d.w.Listed || i != t.StageColumn() || d.r.IntN(3) == 0 {
		return Cond{}, "", false
	}
	if d.r.IntN(2) == 0 {
		return t.Open(d.r)
	}
	stage := pick(d.r, []Stage{NotBegun, Begun, Done})
	if stage != Done && slices.ContainsFunc(t.Rows, func(row []any) bool { return StageOf(Show(row[i])) == Waiting }) {
		return Cond{}, "", false // is what waits begun?
	}
	c = Cond{i, -1, Is, t.StageValue(i, stage)}
	return c, pick(d.r, map[Stage][]string{
		NotBegun: {"that nobody has started", "that are not begun yet", "that have not been started"},
		Begun:    {"that are being worked on", "that are under way", "that are in the works"},
		Done:     {"that are finished", "that are done", "that we are through with"},
	}[stage]), c.Value != ""
}
