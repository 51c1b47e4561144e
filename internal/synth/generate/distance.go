package generate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
)

// Task is a task as tables compare it: what is asked, and the tools that its calls are of, in order.
type Task struct {
	Text  string
	Tools []string
	Calls [][]string // of each gold call the values in its arguments; none where only the tools are known
}

// TasksOf are the tasks of scenarios: their gold calls, or where there is none the calls that checks want.
func TasksOf(list []scenario.Scenario, text func(*scenario.Scenario) string) (tasks []Task) {
	for i := range list {
		s := &list[i]
		t := Task{Text: text(s)}
		for _, g := range s.Gold {
			t.Tools = append(t.Tools, g.Name)
			var values []string
			for _, l := range leavesOf(string(g.Arguments)) {
				values = append(values, l.text())
			}
			t.Calls = append(t.Calls, values)
		}
		if len(s.Gold) == 0 {
			for _, c := range s.Checks {
				if c.Type == scenario.CallCheck {
					t.Tools = append(t.Tools, c.Name)
				}
			}
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// Shape is what a set of tasks looks like.
type Shape struct {
	Tasks     int     `json:"tasks"`
	Words     float64 `json:"words"` // mean length
	WordsLow  int     `json:"words_p10"`
	WordsHigh int     `json:"words_p90"`
	Calls     float64 `json:"calls"`   // mean
	Several   float64 `json:"several"` // share with several calls
	None      float64 `json:"none"`    // share without one
	// share in which a call behind the first has a value that the task does not say
	FindsOut float64 `json:"finds_out"`
	Said     float64 `json:"arguments_said"`   // share of the values in calls that stand in the task
	Tools    int     `json:"tools"`            // distinct
	Chains   int     `json:"chains"`           // distinct pairs of a call's tool and the next one's
	Distinct float64 `json:"distinct_bigrams"` // distinct word pairs of all word pairs (Li et al. 2016, distinct-2)
}

// ShapeOf measures tasks.
func ShapeOf(tasks []Task) Shape {
	s := Shape{Tasks: len(tasks)}
	if len(tasks) == 0 {
		return s
	}
	var lengths []int
	tools, chains, pairs, all := map[string]bool{}, map[string]bool{}, map[string]bool{}, 0
	n := float64(len(tasks))
	for _, t := range tasks {
		w := strings.Fields(t.Text)
		lengths = append(lengths, len(w))
		s.Words += float64(len(w)) / n
		s.Calls += float64(len(t.Tools)) / n
		switch {
		case len(t.Tools) > 1:
			s.Several += 1 / n
		case len(t.Tools) == 0:
			s.None += 1 / n
		}
		for i, name := range t.Tools {
			tools[name] = true
			if i > 0 {
				chains[t.Tools[i-1]+" > "+name] = true
			}
		}
		for _, g := range grams(t.Text, 2) {
			pairs[g] = true
			all++
		}
	}
	values, said := 0, 0
	for _, t := range tasks {
		in, finds := t.countValues()
		values, said = values+in[0], said+in[1]
		if finds {
			s.FindsOut += 1 / n
		}
	}
	s.Said = float64(said) / float64(max(1, values))
	slices.Sort(lengths)
	s.WordsLow, s.WordsHigh = lengths[len(lengths)/10], lengths[(len(lengths)*9)/10]
	s.Tools, s.Chains = len(tools), len(chains)
	if all > 0 {
		s.Distinct = float64(len(pairs)) / float64(all)
	}
	return s
}

// countValues counts the values in the calls of a task, and those of them that it says. findsOut reports whether a call
// behind the first has one that it does not say, so that something has to be found out before.
func (t Task) countValues() (counts [2]int, findsOut bool) {
	plain := flat(t.Text)
	for i, values := range t.Calls {
		for _, v := range values {
			counts[0]++
			if hasText(plain, flat(v)) {
				counts[1]++
			} else if i > 0 {
				findsOut = true
			}
		}
	}
	return counts, findsOut
}

// grams are the n-grams of a text's words, plain.
func grams(text string, n int) (list []string) {
	w := strings.Fields(normal(text))
	for i := 0; i+n <= len(w); i++ {
		list = append(list, strings.Join(w[i:i+n], " "))
	}
	return list
}

// mostGram is the longest n-gram that is compared.
const mostGram = 4

// Overlap is what one set of tasks has in common with another, seen from it.
type Overlap struct {
	Tasks int               `json:"tasks"`         // compared
	Grams [mostGram]float64 `json:"shared_ngrams"` // share of its distinct n-grams, n from 1, that the other has
	// share of its tasks that are near copies of one of the other, whatever the values
	Near   float64 `json:"near"`
	Tools  float64 `json:"tools"`  // share of its tools that the other has
	Chains float64 `json:"chains"` // and of its pairs of tools
	// Usage is how differently often the tools are used: half the sum of the differences of their shares, 0 the same, 1
	// all others.
	Usage float64 `json:"tool_distance"`
}

// OverlapOf compares tasks with others.
func OverlapOf(tasks, others []Task) (o Overlap) {
	o.Tasks = len(tasks)
	for n := range mostGram {
		o.Grams[n] = sharedOf(tasks, others, func(t Task) []string { return grams(t.Text, n+1) })
	}
	o.Tools = sharedOf(tasks, others, func(t Task) []string { return t.Tools })
	o.Chains = sharedOf(tasks, others, func(t Task) (list []string) {
		for i := 1; i < len(t.Tools); i++ {
			list = append(list, t.Tools[i-1]+" > "+t.Tools[i])
		}
		return list
	})
	a, b := usage(tasks), usage(others)
	for name := range maps.Keys(union(a, b)) {
		o.Usage += math.Abs(a[name]-b[name]) / 2
	}
	index := overlap.NewIndex(overlap.Threshold)
	for _, t := range overlap.Read(textsOfTasks(others)...) {
		index.Add(t)
	}
	for _, found := range index.NearEach(overlap.Read(textsOfTasks(tasks)...)) {
		if len(found) > 0 {
			o.Near += 1 / float64(len(tasks))
		}
	}
	return o
}

func textsOfTasks(tasks []Task) (texts []string) {
	for _, t := range tasks {
		texts = append(texts, t.Text)
	}
	return texts
}

// sharedOf is the share of the distinct units of tasks that others have too, 0 of none.
func sharedOf(tasks, others []Task, units func(Task) []string) float64 {
	mine, theirs := map[string]bool{}, map[string]bool{}
	for _, t := range tasks {
		for _, u := range units(t) {
			mine[u] = true
		}
	}
	for _, t := range others {
		for _, u := range units(t) {
			theirs[u] = true
		}
	}
	shared := 0
	for u := range mine {
		if theirs[u] {
			shared++
		}
	}
	return float64(shared) / float64(max(1, len(mine)))
}

// usage is the share that each tool has of the calls.
func usage(tasks []Task) map[string]float64 {
	count, n := map[string]float64{}, 0.0
	for _, t := range tasks {
		for _, name := range t.Tools {
			count[name]++
			n++
		}
	}
	for name := range count {
		count[name] /= n
	}
	return count
}

func union(a, b map[string]float64) map[string]float64 {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// Set is a named set of tasks.
type Set struct {
	Name  string
	Tasks []Task
}

// Distance is how far sets of tasks are from the first of them.
type Distance struct {
	Names    []string  `json:"names"`
	Shapes   []Shape   `json:"shapes"`
	Overlaps []Overlap `json:"overlaps"` // of each set but the first, with the first
}

// DistanceOf compares sets with the first.
func DistanceOf(sets []Set) (d Distance) {
	for i, s := range sets {
		d.Names, d.Shapes = append(d.Names, s.Name), append(d.Shapes, ShapeOf(s.Tasks))
		if i > 0 {
			d.Overlaps = append(d.Overlaps, OverlapOf(s.Tasks, sets[0].Tasks))
		}
	}
	return d
}

// Rows are the sets as a table, a column each.
func (d Distance) Rows() [][]string {
	rows := [][]string{append([]string{""}, d.Names...)}
	add := func(name string, value func(Shape) string) {
		row := []string{name}
		for _, s := range d.Shapes {
			row = append(row, value(s))
		}
		rows = append(rows, row)
	}
	add("tasks", func(s Shape) string { return fmt.Sprint(s.Tasks) })
	add("words, mean (10% to 90%)", func(s Shape) string {
		return fmt.Sprintf("%.1f (%d to %d)", s.Words, s.WordsLow, s.WordsHigh)
	})
	add("distinct word pairs", func(s Shape) string { return percent(s.Distinct) })
	add("calls, mean", func(s Shape) string { return fmt.Sprintf("%.2f", s.Calls) })
	add("several calls", func(s Shape) string { return percent(s.Several) })
	add("no call", func(s Shape) string { return percent(s.None) })
	add("something is to be found out", func(s Shape) string { return percent(s.FindsOut) })
	add("values of calls that the task says", func(s Shape) string { return percent(s.Said) })
	add("tools", func(s Shape) string { return fmt.Sprint(s.Tools) })
	add("pairs of tools", func(s Shape) string { return fmt.Sprint(s.Chains) })
	shared := func(name string, value func(Overlap) string) {
		row := []string{name + " in " + d.Names[0], ""}
		for _, o := range d.Overlaps {
			row = append(row, value(o)+o.few())
		}
		rows = append(rows, row)
	}
	if len(d.Overlaps) == 0 {
		return rows
	}
	compared := []string{"tasks compared", ""}
	for _, o := range d.Overlaps {
		compared = append(compared, fmt.Sprint(o.Tasks))
	}
	rows = append(rows, compared)
	for n := range mostGram {
		shared(fmt.Sprintf("%d-grams also", n+1), func(o Overlap) string { return percent(o.Grams[n]) })
	}
	shared("tasks with a near copy", func(o Overlap) string { return percent(o.Near) })
	shared("tools also", func(o Overlap) string { return percent(o.Tools) })
	shared("pairs of tools also", func(o Overlap) string { return percent(o.Chains) })
	shared("tool use unlike that", func(o Overlap) string { return fmt.Sprintf("%.2f", o.Usage) })
	return rows
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// few marks a number that is of too few tasks to say much.
func (o Overlap) few() string {
	if o.Tasks < FewTasks {
		return " too few"
	}
	return ""
}

// GapOf says what training and held-out tasks of scenarios look like, and how far the wordings of the held-out ones are
// from those of training. The shapes are of all tasks. Compared are those with calls: of what needs no tool there is
// one wording.
func GapOf(list []scenario.Scenario, text func(*scenario.Scenario) string) Distance {
	var all, calling [2][]scenario.Scenario // training, held-out
	for _, s := range list {
		side := 1
		if s.Split == scenario.Train {
			side = 0
		}
		all[side] = append(all[side], s)
		if len(s.Gold) > 0 {
			calling[side] = append(calling[side], s)
		}
	}
	d := DistanceOf([]Set{{"training", TasksOf(all[0], text)}, {"held-out", TasksOf(all[1], text)}})
	d.Overlaps = []Overlap{OverlapOf(TasksOf(calling[1], text), TasksOf(calling[0], text))}
	return d
}
