package report

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/console/sanitize"
	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// What a page begins with beside its numbers: one task as the first and the last system did it, and what to do next.

// reference names a scenario by what it asks. Of one with a case on the page it is a link to it.
type reference struct {
	ID, Task string // Task is "" where no episode says it
	Shown    bool   // the page has its case
	Note     string // behind it
}

// tasks are what the page knows of its scenarios: what each asks, by the name that its case has.
type tasks map[string]string

func (t tasks) add(cases []pending) {
	for _, x := range cases {
		text := ""
		for _, e := range x.episodes {
			if text == "" {
				text = task(e.example.Trajectory)
			}
		}
		t[sanitize.Line(x.id)] = text
	}
}

func (t tasks) reference(id string) reference {
	id = sanitize.Line(id)
	text, shown := t[id]
	return reference{ID: id, Task: text, Shown: shown}
}

func (t tasks) references(ids []string) (out []reference) {
	for _, id := range ids {
		out = append(out, t.reference(id))
	}
	return out
}

// example is one scenario as the first and the last system did it.
type example struct {
	Task     reference
	Says     string
	Episodes []drawnEpisode
}

// exampleOf draws the example that tells most: a scenario that the last system does and the first does not, else the
// other way round, else one that both do, else any that both ran. It is nil where no scenario has an episode of both
// that says something about the model.
func exampleOf(t tasks, first, last string, cases []pending, r *room) *example {
	best, pair := -1, [2]labelled{}
	var of pending
	for _, x := range cases {
		for _, old := range x.episodes {
			for _, now := range x.episodes {
				if old.label == first && now.label == last && worth(old, now) > best {
					best, of, pair = worth(old, now), x, [2]labelled{old, now}
				}
			}
		}
	}
	if best < 0 || first == last {
		return nil
	}
	out := &example{Task: t.reference(of.id), Says: [...]string{"neither does it", "both do it",
		"only " + first + " does it", "only " + last + " does it"}[best]}
	for _, e := range pair {
		out.Episodes = append(out.Episodes, r.draw(e.label, e.class, e.example))
	}
	return out
}

// worth is how much two episodes of a scenario tell: 3 of a gain, 2 of a loss, 1 where both pass, 0 where both fail,
// less where one says nothing.
func worth(old, now labelled) int {
	was, is := markOf(old.example).Class, markOf(now.example).Class
	switch {
	case was == "lost" || is == "lost":
		return -1
	case was == "failed" && is == "passed":
		return 3
	case was == "passed" && is == "failed":
		return 2
	case is == "passed":
		return 1
	}
	return 0
}

// step is something to do next: what, the part of the page to look at, and a command.
type step struct{ Says, To, Command string }

// next is what to do about what the page shows, what stands in the way of all else first.
func (p Page) next(v view, n Numbers) (out []step) {
	do := func(says, to, command string) { out = append(out, step{says, to, command}) }
	if len(v.Systems) == 0 {
		return nil
	}
	last := n.Order[len(n.Order)-1]
	if slices.ContainsFunc(v.Lost, func(l lostRow) bool { return l.Unreliable }) {
		do("Find out why episodes were lost, and evaluate again: the rates say little.",
			"", strings.NewReplacer("runs show", "runs rollouts", " --episode", "").Replace(p.Show))
	}
	if len(v.NeverDone) > 0 {
		do(fmt.Sprintf("Read %s that no system does: does a good answer pass the checks?",
			fault.Count(len(v.NeverDone), "scenario")), "case-"+v.NeverDone[0].ID, "")
	}
	if len(v.Worse) > 0 {
		do(fmt.Sprintf("Look at %s done less often than before.", fault.Count(len(v.Worse), "scenario")), "worse", "")
	}
	deltas := headlines(n)
	unclear := slices.ContainsFunc(deltas, func(d stats.Delta) bool {
		return d.Episode.N > 0 && classOf(d.Episode) == "same"
	})
	if unclear && v.Detect != nil {
		do("No clear difference is not the same as none: see how many scenarios would find one.", "power", "")
	}
	better := slices.ContainsFunc(deltas, func(d stats.Delta) bool {
		return d.New == last && classOf(d.Episode) == "better"
	})
	adapter := p.Systems[len(p.Systems)-1].Model.Adapter
	switch whole := n.Systems[last].Metrics[stats.Completion().Name]; {
	case better && adapter != "":
		do("Use the model that is better.", "", "hone serve --model "+shellWord(adapter))
	case whole.N > 0 && whole.Mean == 0:
		command := ""
		if i := slices.IndexFunc(p.Facts, func(f Fact) bool { return f.Name == "dataset" && f.Value != "" }); i >= 0 {
			command = "hone collect --gold --yes --dataset " + shellWord(p.Facts[i].Value) + " --output-dir shown"
		}
		do(fmt.Sprintf("%s does none of the scenarios: show it how it is done, then learn from that with hone sft.",
			last), "", command)
	}
	return out
}

// shellWord is a path as a word of a shell.
func shellWord(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
