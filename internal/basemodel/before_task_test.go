package basemodel

import (
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/testing/fakes"
	"hone/internal/text/render"
)

// bytewise renders as fakes does.
type bytewise struct{ render.Renderer }

func (bytewise) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	return fakes.Renderer{}.Prompt(messages, tools)
}

// What prompts begin with ends where the first says its task, whatever words the tasks happen to begin with; where they
// share much more than that, such as the task itself, it is kept.
func TestSharedPrefixEndsBeforeTasks(t *testing.T) {
	m := &Model{Renderer: bytewise{}}
	asked := func(texts ...string) (all [][]chat.Message) {
		for _, text := range texts {
			all = append(all, []chat.Message{{Role: chat.System, Content: "Be a shop."},
				{Role: chat.User, Content: text}})
		}
		return all
	}
	shared := func(all [][]chat.Message) string {
		t.Helper()
		prefix, _, err := m.SharedPrefix(nil, all)
		if err != nil {
			t.Fatal(err)
		}
		return fakes.Text(prefix)
	}
	want := shared(asked("Buy a hat.", "Sell a cap."))
	if !strings.Contains(want, "Be a shop.") {
		t.Fatalf("prompts begin with %q", want)
	}
	for name, all := range map[string][][]chat.Message{
		"tasks that begin alike": asked("Buy a hat.", "Buy a cap."),
		"one task":               asked("Buy a hat."),
		"a task like a probe":    asked("Hi.", "Hi, buy a cap."),
	} {
		if got := shared(all); got != want {
			t.Errorf("%s begin with %q, want %q", name, got, want)
		}
	}
	long := strings.Repeat("the same long task ", 10)
	if got := shared(asked(long+"today", long+"tomorrow")); !strings.Contains(got, long) {
		t.Errorf("what is long is not shared: %q", got)
	}
	opened := []chat.Message{{Role: chat.System, Content: "Be a shop."}}
	if got := shared([][]chat.Message{opened, opened}); len(got) < len("Be a shop.") {
		t.Errorf("without a user: %q", got)
	}
}
