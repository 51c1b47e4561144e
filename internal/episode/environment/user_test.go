package environment

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// writer is a model that writes its lines, and keeps what it was asked.
type writer struct {
	lines []string
	err   error
	asked [][]chat.Message
	seeds []uint64
}

func (w *writer) Name() string { return "m" }

func (w *writer) Write(_ context.Context, messages []chat.Message, seed uint64) (Written, error) {
	w.asked, w.seeds = append(w.asked, messages), append(w.seeds, seed)
	return Written{w.lines[min(len(w.asked), len(w.lines))-1], 10, 2}, w.err
}

func begin(p Players, s scenario.Scenario, rollout int) Partner {
	return p.Begin(s, &trajectory.Trajectory{ScenarioID: s.ID, Rollout: rollout})
}

// A model that plays a user is told all that the scenario says of it, and sees of the conversation what a person would.
func TestWhatAModelIsTold(t *testing.T) {
	w := &writer{lines: []string{"It is #W1."}}
	s := scenario.Scenario{ID: "x", User: &scenario.User{Goal: "Cancel the order.", Persona: "You are rude.",
		Knows: []byte(`{"order": "#W1", "zip": "19122"}`)}}
	said := []chat.Message{{Role: chat.System, Content: "policy of the shop"}, {Role: chat.User, Content: "Cancel it."},
		{Role: chat.Assistant, Content: "Let me see.", ToolCalls: []chat.ToolCall{{ID: "c", Name: "look", Arguments: "{}"}}},
		{Role: chat.ToolRole, ToolCallID: "c", Content: "a secret"}, {Role: chat.Assistant, Content: "Which order?"}}
	got, err := begin(Players{Model: w}, s, 0).Say(t.Context(), said)
	if err != nil || !reflect.DeepEqual(got, Words{Text: "It is #W1.", PromptTokens: 10, CompletionTokens: 2}) {
		t.Fatalf("%+v, %v", got, err)
	}
	prompt := w.asked[0]
	for _, want := range []string{
		"Cancel the order.", "You are rude.", `"order": "#W1"`, "###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###",
	} {
		if !strings.Contains(prompt[0].Content, want) {
			t.Errorf("%q is not told in\n%s", want, prompt[0].Content)
		}
	}
	want := []chat.Message{
		{Role: chat.User, Content: greeting},
		{Role: chat.Assistant, Content: "Cancel it."},
		{Role: chat.User, Content: "Which order?"},
	}
	if prompt[0].Role != chat.System || !reflect.DeepEqual(prompt[1:], want) {
		t.Errorf("it sees %+v", prompt[1:])
	}
	plain := System(&scenario.User{Goal: "g", Knows: []byte(`"the zip"`)})
	if !strings.HasSuffix(plain, "\nthe zip") || strings.Contains(plain, "Who you are") {
		t.Error(plain)
	}
}

// Words are taken apart: what is said, and whether and how it ends the conversation.
func TestWordsAreRead(t *testing.T) {
	for text, want := range map[string]Words{
		" Hi. \n":                                {Text: "Hi."},
		"###STOP###":                             {Ended: trajectory.EndedByUser},
		"Thanks! ###STOP###":                     {Text: "Thanks!", Ended: trajectory.EndedByUser},
		"###TRANSFER###":                         {Ended: trajectory.EndedByTransfer},
		"###STOP### ###OUT-OF-SCOPE###":          {Ended: trajectory.EndedByOutOfScope},
		"<think>He asks. ###STOP###?</think>No.": {Text: "No."},
		"":                                       {},
	} {
		if got := read(text); got != want {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
	if got := read(strings.Repeat("é", 4000)); len(got.Text) > 4096 ||
		!strings.HasPrefix(strings.Repeat("é", 4000), got.Text) {
		t.Errorf("%d bytes", len(got.Text))
	}
}

// The seeds of a user depend on run, scenario, rollout and turn, so that whoever speaks meets the same user.
func TestSeeds(t *testing.T) {
	seen := map[uint64]string{}
	for _, seed := range []uint64{1, 2} {
		for _, id := range []string{"a", "b"} {
			for rollout := range 2 {
				w, again := &writer{lines: []string{"x"}}, &writer{lines: []string{"x"}}
				s := scenario.Scenario{ID: id, User: &scenario.User{Goal: "g"}}
				one, other := begin(Players{w, seed}, s, rollout), begin(Players{again, seed}, s, rollout)
				for range 3 {
					if _, err := one.Say(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
					if _, err := other.Say(t.Context(),
						[]chat.Message{{Role: chat.User, Content: "another policy"}}); err != nil {
						t.Fatal(err)
					}
				}
				if !reflect.DeepEqual(w.seeds, again.seeds) {
					t.Errorf("another policy meets another user: %v, %v", w.seeds, again.seeds)
				}
				for turn, x := range w.seeds {
					name := fmt.Sprint(seed, id, rollout, turn)
					if seen[x] != "" || x == 0 || x >= 1<<31 {
						t.Errorf("%s and %s have the seed %d", name, seen[x], x)
					}
					seen[x] = name
				}
			}
		}
	}
}

// A model that says nothing is asked again, by another seed, and all its tokens count; then it has failed.
func TestSpeechless(t *testing.T) {
	s := scenario.Scenario{ID: "x", User: &scenario.User{Goal: "g"}}
	w := &writer{lines: []string{"", " \n", "At last."}}
	got, err := begin(Players{Model: w}, s, 0).Say(t.Context(), nil)
	if err != nil || got.Text != "At last." || got.PromptTokens != 30 || got.CompletionTokens != 6 ||
		w.seeds[0] == w.seeds[1] {
		t.Errorf("%+v, %v, %v", got, err, w.seeds)
	}
	w = &writer{lines: []string{""}}
	if got, err := begin(Players{Model: w}, s, 0).Say(t.Context(), nil); err == nil || len(w.asked) != 3 ||
		got.PromptTokens != 30 {
		t.Errorf("%+v, %v after %d draws", got, err, len(w.asked))
	}
	w = &writer{lines: []string{"x"}, err: errors.New("gone")}
	if _, err := begin(Players{Model: w}, s, 0).Say(t.Context(), nil); err == nil || len(w.asked) != 1 {
		t.Errorf("%v after %d draws", err, len(w.asked))
	}
	if _, err := begin(Players{}, s, 0).Say(t.Context(), nil); err == nil ||
		!strings.Contains(err.Error(), "rollout.user") {
		t.Error(err)
	}
}

// A script says its lines whatever it is told, and then no more.
func TestScript(t *testing.T) {
	p := begin(Players{}, scenario.Scenario{User: &scenario.User{Says: []string{"Hi.", "Yes.", "Bye. ###STOP###"}}}, 0)
	for _, want := range []Words{
		{Text: "Yes."},
		{Text: "Bye.", Ended: trajectory.EndedByUser},
		{Ended: trajectory.EndedByScript},
		{Ended: trajectory.EndedByScript},
	} {
		if got, err := p.Say(t.Context(), nil); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if p.Name() != trajectory.Script {
		t.Error(p.Name())
	}
}
