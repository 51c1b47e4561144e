package generate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/episode/scenario"
)

// Worked by hand.
func TestDistance(t *testing.T) {
	a := []Task{
		{Text: "Add a hat, please.", Tools: []string{"add"}},
		{Text: "Add a hat to the list and count the list.", Tools: []string{"add", "count"}},
	}
	b := []Task{{Text: "Please add a hat.", Tools: []string{"add"}}, {Text: "Sing!"}}
	s := ShapeOf(a)
	if want := (Shape{Tasks: 2, Words: 7, WordsLow: 4, WordsHigh: 10, Calls: 1.5, Several: 0.5, Tools: 2, Chains: 1,
		Distinct: 9. / 12}); s != want {
		t.Errorf("%+v", s) // the pairs "add a", "a hat" and "the list" stand twice
	}
	o := OverlapOf(b, a)
	// Of please, add, a, hat, sing four are there; of "please add", "add a", "a hat" two; of the triples "add a hat";
	// no four words.
	if want := [mostGram]float64{4. / 5, 2. / 3, 1. / 2, 0}; o.Grams != want || o.Tools != 1 || o.Chains != 0 {
		t.Errorf("%+v", o)
	}
	if fmt.Sprintf("%.3f", o.Usage) != "0.333" { // 1 and 2/3 of the calls are add
		t.Errorf("%v", o.Usage)
	}
	rows := DistanceOf([]Set{{"theirs", a}, {"ours", b}}).Rows()
	if text := fmt.Sprint(rows); !strings.Contains(text, "[3-grams also in theirs  50% too few]") ||
		!strings.Contains(text, "[calls, mean 1.50 0.50]") {
		t.Error(text)
	}
}

// A set is no way from itself, and all the way from one with other words and tools.
func TestDistanceExtremes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(strings.Fields(vocabulary)), 6, 12)
		draw := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) Task {
			return Task{Text: strings.Join(words.Draw(r, "words"), " "),
				Tools: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3).Draw(r, "tools")}
		}), 1, 6).Draw(r, "tasks")
		o := OverlapOf(draw, draw)
		if o.Grams != [mostGram]float64{1, 1, 1, 1} || o.Near < 0.999 || o.Tools != 1 || o.Usage > 1e-9 {
			r.Fatalf("with itself: %+v", o)
		}
		other := OverlapOf(draw, []Task{{Text: "zz yy xx ww vv uu", Tools: []string{"z"}}})
		if other.Grams != [mostGram]float64{} || other.Near != 0 || other.Tools != 0 || other.Usage < 0.999 {
			r.Fatalf("with others: %+v", other)
		}
	})
}

// The shapes are of all tasks, the gap is that of those with calls, and few of them are marked.
func TestGap(t *testing.T) {
	gold := []scenario.Gold{{Name: "add", Arguments: []byte(`{}`)}}
	list := []scenario.Scenario{
		{Task: "Add a hat now.", Gold: gold, Split: "train"}, {Task: "Add a hat soon.", Gold: gold, Split: "test"},
		{Task: "Add a hat now.", Split: "test"},
		{Task: "Buy it.", Gold: gold, Split: "validation"},
	}
	d := GapOf(list, (*scenario.Scenario).Asks)
	if d.Shapes[0].Tasks != 1 || d.Shapes[1].Tasks != 3 || d.Overlaps[0].Tasks != 2 || d.Overlaps[0].Grams[2] != 1./2 {
		t.Errorf("%+v", d)
	}
	text := fmt.Sprint(d.Rows())
	for _, want := range []string{
		"[tasks 1 3]", "[no call 0% 33%]", "[tasks compared  2]", "[3-grams also in training  50% too few]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for range 8 { // ten with calls are enough
		list = append(list, list[1])
	}
	if text := fmt.Sprint(GapOf(list, (*scenario.Scenario).Asks).Rows()); strings.Contains(text, "too few") ||
		!strings.Contains(text, "[tasks compared  10]") {
		t.Error(text)
	}
}

func TestSaidAndFoundOut(t *testing.T) {
	call := func(name, arguments string) scenario.Gold {
		return scenario.Gold{Name: name, Arguments: []byte(arguments)}
	}
	text := func(s *scenario.Scenario) string { return s.Task }
	for _, tc := range []struct {
		task  string
		gold  []scenario.Gold
		finds float64
		said  float64
	}{
		{"Set the price of Tern to 12.", []scenario.Gold{call("find", `{"name":"Tern"}`), call("set", `{"id":7,"price":12}`)}, 1, 2. / 3},
		{"Add 2 and 3.", []scenario.Gold{call("add", `{"a":2,"b":3}`)}, 0, 1},
		{"Who is it?", []scenario.Gold{call("list", `{}`)}, 0, 0},
		{"Add 12.", []scenario.Gold{call("add", `{"a":1}`)}, 0, 0}, // 1 is no part of 12
	} {
		s := ShapeOf(TasksOf([]scenario.Scenario{{Task: tc.task, Gold: tc.gold}}, text))
		if s.FindsOut != tc.finds || math.Abs(s.Said-tc.said) > 1e-9 {
			t.Errorf("%s: found out %v, said %v", tc.task, s.FindsOut, s.Said)
		}
	}
}
