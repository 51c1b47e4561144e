package overlap

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
)

func TestSaid(t *testing.T) {
	got := UserText([]chat.Message{
		{Role: chat.System, Content: "be brief"},
		{Role: chat.User, Content: "Add a hat."},
		{Role: chat.Assistant, Content: "Done."},
		{Role: chat.User, Content: "And a boat."},
	})
	if got != "Add a hat.\nAnd a boat." {
		t.Errorf("%q", got)
	}
}

func TestTextOf(t *testing.T) {
	for want, s := range map[string]scenario.Scenario{
		"Sing.":                                           {Task: "Sing."},
		"Cancel order 12.\n{\"zip\": 19122}":              {User: &scenario.User{Goal: "Cancel order 12.", Persona: "hasty", Knows: []byte(`{"zip": 19122}`)}},
		"I want to cancel.\nNumber 12.\nYes.":             {User: &scenario.User{Says: []string{"I want to cancel.", "Number 12.", "Yes."}}},
		"Cancel an order.\nCancel order 12 for a friend.": {Task: "Cancel an order.", User: &scenario.User{Goal: "Cancel order 12 for a friend."}},
	} {
		if got := TextOf(&s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The nearest source is named, one with the same values first; the same text in two sources is named once, by the
// first.
func TestFindNear(t *testing.T) {
	sources := []Source{
		{"one", "f", "Move 3 boxes of apples from shelf 4 to shelf 7, and count them."},
		{"two", "f", "Please move 3 boxes of apples from shelf 4 to shelf 9, and count them all."},
		{"three", "g", "Please move 3 boxes of apples from shelf 4 to shelf 9, and count them all."},
		{"else", "g", "Tell me a story."},
	}
	tasks := []scenario.Scenario{
		{ID: "a", Task: "Move 3 boxes of apples from shelf 4 to shelf 9, and count them."}, {ID: "b", Task: "Sing."},
		{ID: "c", Messages: []chat.Message{
			{Role: chat.User, Content: "Tell me"},
			{Role: chat.Assistant, Content: "What?"},
			{Role: chat.User, Content: "a story!"},
		}},
	}
	got := FindNear(tasks, sources, Threshold)
	if len(got) != 2 || got[0].ScenarioID != "a" || got[0].Source.Name != "two" || !got[0].SameValues ||
		got[1].ScenarioID != "c" || got[1].Source.Name != "else" || got[1].Similarity != 1 {
		t.Errorf("%+v", got)
	}
}

// What is shared is what both have; a split held against itself shares all, and one without a common unit nothing.
func TestCounts(t *testing.T) {
	server := func(tool string) string { return strings.TrimRight(tool, "0123456789") }
	rapid.Check(t, func(r *rapid.T) {
		draw := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) scenario.Scenario {
			s := scenario.Scenario{Task: rapid.SampledFrom([]string{"one", "two", "three"}).Draw(r, "task")}
			for range rapid.IntRange(0, 3).Draw(r, "calls") {
				s.Gold = append(s.Gold, scenario.Gold{
					Name:      rapid.SampledFrom([]string{"a1", "a2", "b1"}).Draw(r, "tool"),
					Arguments: []byte(rapid.SampledFrom([]string{`{}`, `{"x":1}`, `{"x": 1.0}`}).Draw(r, "arguments")),
				})
			}
			return s
		}), 0, 5)
		test, train := draw.Draw(r, "test"), draw.Draw(r, "train")
		for _, c := range Counts(test, test, server) {
			if len(c.Shared) != c.Num {
				r.Fatalf("held against itself: %+v", c)
			}
		}
		back := Counts(train, test, server)
		for i, c := range Counts(test, train, server) {
			if c.Unit != Units()[i] || !slices.Equal(c.Shared, back[i].Shared) || len(c.Shared) > c.Num ||
				len(c.Shared) > back[i].Num || !(c.Share() >= 0 && c.Share() <= 1) {
				r.Fatalf("%+v and %+v", c, back[i])
			}
		}
		for _, c := range Counts(test, nil, server) {
			if len(c.Shared) != 0 {
				r.Fatalf("held against nothing: %+v", c)
			}
		}
	})
	one := []scenario.Scenario{
		{Task: "x", Gold: []scenario.Gold{{Name: "a1", Arguments: []byte(`{"x":1}`)}},
			Checks: []scenario.Check{{Type: scenario.CallCheck, Name: "a2", Arguments: []byte(`{"y":2}`)}}},
	}
	other := []scenario.Scenario{
		{Task: "y", Gold: []scenario.Gold{
			{Name: "a2", Arguments: []byte(`{"y": 2.0}`)},
			{Name: "b1", Arguments: []byte(`{}`)},
		}},
	}
	want := []Count{
		{Task, 1, []string{}},
		{Call, 2, []string{`a2 {"y":2}`}},
		{Tool, 2, []string{"a2"}},
		{Server, 1, []string{"a"}},
	}
	for i, c := range Counts(one, other, server) {
		if c.Unit != want[i].Unit || c.Num != want[i].Num || !slices.Equal(c.Shared, want[i].Shared) {
			t.Errorf("%+v, want %+v", c, want[i])
		}
	}
}
