package render

import (
	"slices"
	"testing"

	"hone/internal/chat"
)

// A message that a mask leaves out is context: the ids are the same, none of it is trained, and a row ends with what
// is.
func TestMaskedMessagesAreContext(t *testing.T) {
	c := newChatML(t, Options{})
	messages := []chat.Message{
		{Role: chat.User, Content: "a"},
		{Role: chat.Assistant, Content: "one"},
		{Role: chat.User, Content: "b"},
		{Role: chat.Assistant, Content: "two"},
	}
	whole, err := c.Sequences(messages, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range []int{1, 3} {
		some := slices.Clone(messages)
		some[at].NoLoss = true
		rows, err := c.Sequences(some, 0, nil)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%v %v", rows, err)
		}
		other := messages[[]int{3, 1}[i]].Content
		var trained []int32
		for j, id := range rows[0].IDs {
			if id != whole[0].IDs[j] {
				t.Fatalf("id %d became another", j)
			}
			if rows[0].Trained[j] {
				trained = append(trained, id)
			}
		}
		if got := c.tok.Decode(trained); got != other+"<|im_end|>" || !rows[0].Trained[len(rows[0].Trained)-1] {
			t.Errorf("message %d masked: %q is trained", at, got)
		}
	}
	for i := range messages {
		messages[i].NoLoss = true
	}
	if _, err := c.Sequences(messages, 0, nil); err == nil {
		t.Error("a conversation that is masked whole is trained")
	}
}
