package render

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/text/tokenizer"
)

var tools = []chat.Tool{
	{Name: "hash", Description: "Hashes text.",
		InputSchema: []byte(`{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}`)},
}

// contents draws message text with what could be taken for the template's own.
var contents = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"hello", " world", "\n", "<|im_end|>", "<|im_start|>assistant\n", "<|endoftext|>", "<tool_response>", "12",
		"é", "👍🏽", "  ",
	}), 0, 6).Draw(t, "parts"), "")
})

var results = rapid.Custom(func(t *rapid.T) []chat.Message {
	if rapid.Bool().Draw(t, "user") {
		return []chat.Message{{Role: chat.User, Content: contents.Draw(t, "content")}}
	}
	var messages []chat.Message
	for range rapid.IntRange(1, 3).Draw(t, "results") {
		messages = append(messages, chat.Message{Role: chat.ToolRole, Content: contents.Draw(t, "content")})
	}
	return messages
})

var assistants = rapid.Custom(func(t *rapid.T) chat.Message {
	m := chat.Message{Role: chat.Assistant, Content: contents.Draw(t, "content")}
	for i := range rapid.IntRange(0, 2).Draw(t, "calls") {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{
			ID: []string{"call_0", "call_1"}[i], Name: rapid.SampledFrom([]string{"hash", "ü\"x"}).Draw(t, "name"),
			Arguments: rapid.SampledFrom([]string{`{}`, `{"text": "</tool_call><|im_end|>"}`,
				`{"b":1.50, "a": [ ]}`}).Draw(t, "arguments"),
		})
	}
	return m
})

func TestTurnsExtend(t *testing.T) {
	c := newChatML(t, Options{})
	rapid.Check(t, func(t *rapid.T) {
		messages := []chat.Message{{Role: chat.User, Content: contents.Draw(t, "task")}}
		row := must(c.Prompt(messages, tools))(t)
		trained := make([]bool, len(row))
		for range rapid.IntRange(1, 4).Draw(t, "turns") {
			m := assistants.Draw(t, "assistant")
			completion := must(c.Completion(m))(t)
			row = append(row, completion...)
			trained = append(trained, slices.Repeat([]bool{true}, len(completion))...)
			messages = append(messages, m)

			// What SFT trains on is what was prompted and sampled.
			ids, mask, err := trainingRow(c, messages, tools)
			if err != nil || !slices.Equal(ids, row) || !slices.Equal(mask, trained) {
				t.Fatalf("training row\n got  %q %v (%v)\n want %q %v",
					c.tok.Decode(ids), mask, err, c.tok.Decode(row), trained)
			}

			next := results.Draw(t, "results")
			ids, split, err := c.Next(slices.Concat(messages, next), len(messages)-1, completion, tools)
			bridge := must(ids, err)(t)
			if split != "" {
				t.Fatal(split)
			}
			row = append(row, bridge...)
			trained = append(trained, make([]bool, len(bridge))...)
			messages = append(messages, next...)
			if prompt := must(c.Prompt(messages, tools))(t); !slices.Equal(prompt, row) {
				t.Fatalf("the next prompt does not extend the last\n got  %q\n want %q",
					c.tok.Decode(prompt), c.tok.Decode(row))
			}
		}
	})
}

func must(ids []int32, err error) func(*rapid.T) []int32 {
	return func(t *rapid.T) []int32 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
}

func TestParseInvertsCompletion(t *testing.T) {
	c := newChatML(t, Options{})
	rapid.Check(t, func(t *rapid.T) {
		m := assistants.Draw(t, "assistant")
		ids := must(c.Completion(m))(t)
		if ids[len(ids)-1] != c.StopIDs()[0] {
			t.Fatal("the stop id is not last")
		}
		for _, completion := range [][]int32{ids, ids[:len(ids)-1]} {
			got, parseError := c.Parse(completion, nil)
			if got.Content != m.Content || !slices.Equal(got.ToolCalls, m.ToolCalls) || parseError != "" {
				t.Fatalf("got %+v %q, want %+v", got, parseError, m)
			}
		}
	})
}

func TestContentMakesNoSpecialIDs(t *testing.T) {
	c := newChatML(t, Options{})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(role string) chat.Message {
			return chat.Message{Role: role, Content: contents.Draw(t, role)}
		}
		messages := []chat.Message{draw(chat.System), draw(chat.User), draw(chat.Assistant), draw(chat.ToolRole),
			draw(chat.System)}
		special := 0
		for _, id := range must(c.Prompt(messages, tools))(t) {
			if c.tok.IsSpecial(id) {
				special++
			}
		}
		if want := 2*len(messages) + 1; special != want {
			t.Fatalf("%d special ids, the template has %d", special, want)
		}
	})
}

func TestNextClosesTheMessage(t *testing.T) {
	c := newChatML(t, Options{})
	cut := c.tok.EncodeOrdinary("never en")
	const rest = "\n<|im_start|>user\n<tool_response>\na\n</tool_response>\n<tool_response>\nb\n" +
		"</tool_response><|im_end|>\n<|im_start|>assistant\n"
	for name, g := range map[string]struct {
		completion []int32
		want       string
	}{
		"cut":            {cut, "<|im_end|>" + rest},
		"empty":          {nil, "<|im_end|>" + rest},
		"stopped":        {append(slices.Clone(cut), c.StopIDs()[0]), rest},
		"end in content": {c.tok.EncodeOrdinary("<|im_end|>"), "<|im_end|>" + rest},
	} {
		m, _ := c.Parse(g.completion, nil)
		messages := []chat.Message{{Role: chat.User, Content: "q"}, m, {Role: chat.ToolRole, Content: "a"},
			{Role: chat.ToolRole, Content: "b"}}
		got, rewrite, err := c.Next(messages, 1, g.completion, nil)
		if err != nil || rewrite != "" || !slices.Equal(got, c.tok.Encode(g.want)) {
			t.Errorf("%s: got %q (%v), rewrite %q, want %q", name, c.tok.Decode(got), err, rewrite, g.want)
		}
	}
}

func TestParseKeepsBadCalls(t *testing.T) {
	c := newChatML(t, Options{})
	const text = "x\n<tool_call>\n{\"name\": \"hash\""
	m, parseError := c.Parse(append(c.tok.EncodeOrdinary(text), c.StopIDs()[0]), nil)
	if m.Content != text || len(m.ToolCalls) != 0 || !strings.Contains(parseError, "unterminated") {
		t.Errorf("got %+v %q", m, parseError)
	}
	// The bad text is history like any other, but nothing to train on.
	if _, err := c.Prompt([]chat.Message{m}, nil); err != nil {
		t.Error(err)
	}
	if _, err := c.Sequences([]chat.Message{m}, 0, nil); err == nil {
		t.Error("a malformed call is trained on")
	}
}

// trainingRow is the one row of a conversation.
func trainingRow(c *Vendor, messages []chat.Message, tools []chat.Tool) (ids []int32, trained []bool, err error) {
	rows, err := c.Sequences(messages, 0, tools)
	if err != nil {
		return nil, nil, err
	}
	return rows[0].IDs, rows[0].Trained, nil
}

func TestRefused(t *testing.T) {
	c := newChatML(t, Options{})
	for name, m := range map[string]chat.Message{
		"a call written as text":  {Role: chat.Assistant, Content: "<tool_call>{\"name\": \"x\", \"arguments\": {}}</tool_call>"},
		"arguments of no object":  {Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "x", Arguments: "1"}}},
		"bytes without a token":   {Role: chat.Assistant, Content: "a\U000F0000b\xF5"},
		"a user's message":        {Role: chat.User, Content: "x"},
		"a role that is not ours": {Role: "developer", Content: "x"},
	} {
		if ids, err := c.Completion(m); err == nil {
			t.Errorf("%s: Completion gave %q", name, c.tok.Decode(ids))
		}
	}
	if _, err := c.Prompt([]chat.Message{{Role: "developer"}}, nil); err == nil {
		t.Error("Prompt took an unknown role")
	}
	if _, _, err := c.Next([]chat.Message{{Role: chat.Assistant}, {Role: chat.Assistant}}, 0, nil, nil); err == nil {
		t.Error("Next took an assistant message")
	}
	if _, err := c.Sequences([]chat.Message{{Role: chat.User}}, 0, nil); err == nil {
		t.Error("Sequences took a conversation without a completion")
	}
	if _, err := NewChatML(c.tok, Options{ToolFormat: "xml"}); err == nil {
		t.Error("NewChatML took an unknown tool format")
	}
	plain, err := tokenizer.New(tokenizer.Options{Tokens: []string{"<|im_start|>", "<|im_end|>"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewChatML(plain, Options{}); err == nil {
		t.Error("NewChatML took a vocabulary whose <|im_start|> is an ordinary token")
	}
}
