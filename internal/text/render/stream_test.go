package render

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

func sum(deltas []chat.Delta) (m chat.Message) {
	m.Role = chat.Assistant
	for _, d := range deltas {
		m.Content += d.Content
		m.ReasoningContent += d.Reasoning
		if d.Call != nil {
			m.ToolCalls = append(m.ToolCalls, *d.Call)
		}
	}
	return m
}

func readParts(r *Reader, parts []string) (chat.Message, toolcall.Result) {
	var all []chat.Delta
	for _, p := range parts {
		all = append(all, r.Feed(p)...)
	}
	return sum(append(all, r.Close()...)), r.Result()
}

// A completion that comes in parts is read as the message that it is when it is read whole, wherever it is cut, for
// each way in which a prompt may leave the reasoning.
func TestReaderEqualsParse(t *testing.T) {
	const hermesCall = "<tool_call>\n{\"name\": \"hash\", \"arguments\": {\"text\": \"a\"}}\n</tool_call>"
	part := rapid.SampledFrom([]string{
		"\n", "\n\n", " ", "a", "é 世", "<think>", "</think>", "<thi", "</thin", "k>", hermesCall, hermesCall[:20],
		"<tool_call>", "</tool_call>", "<function=hash>\n<parameter=text>\na\n</parameter>\n</function>",
		"<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "<|end|>", "<|start|>assistant",
		" to=functions.hash<|channel|>commentary json<|message|>{\"text\": \"a\"}",
	})
	for _, name := range []string{"thinker", "opens", "forgets", "channels", "unended", "moves"} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, own(name), nil)
			rapid.Check(t, func(t *rapid.T) {
				text := strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")
				opened := rapid.Bool().Draw(t, "opened")
				want := v.reasoning.read(text, v.format, opened, toolcall.Options{})
				var chunks []string
				for rest := text; rest != ""; {
					n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "n")
					chunks, rest = append(chunks, rest[:n]), rest[n:]
				}
				for _, parts := range [][]string{chunks, strings.Split(text, ""), {text}} {
					m, got := readParts(v.reasoning.reader(v.format, opened, toolcall.Options{}), parts)
					if !reflect.DeepEqual(got, want) || m.Content != want.Content ||
						m.ReasoningContent != want.Reasoning || !reflect.DeepEqual(m.ToolCalls, want.Calls) {
						t.Fatalf("%q in parts %q is read as\n%+v and told as\n%+v, want\n%+v",
							text, parts, got, m, want)
					}
				}
			})
		})
	}
}

// The rules of reasoning, spelled out: tags, white space, what a prompt began, and what does not end.
func TestReasoningIsSplit(t *testing.T) {
	r := reasoning{open: "<think>", close: "</think>"}
	for _, c := range []struct {
		text             string
		opened           bool
		thought, content string
		ended            bool
	}{
		{"\n x", false, "", "\n x", true},
		{" \n<think>\n\nHm.\n\nSo.\n</think>\n\nYes.\n", false, "Hm.\n\nSo.", "Yes.\n", true},
		{"<think></think>", false, "", "", true},
		{"\nHm.\n</think>\nYes.", true, "Hm.", "Yes.", true},
		{"<think>Hm.</think>Yes.", true, "Hm.", "Yes.", true},
		{"Hm.\n</thin", true, "Hm.\n</thin", "", false},
		{"Hm.\n\n", true, "Hm.", "", false},
		{"", true, "", "", false},
		{"", false, "", "", true},
		{"<thin", false, "", "<thin", true},
		{"a<think>b</think>", false, "", "a<think>b</think>", true},
	} {
		thought, content, ended := r.split(c.text, c.opened)
		if thought != c.thought || content != c.content || ended != c.ended {
			t.Errorf("%q (opened %v) is %q, %q, %v", c.text, c.opened, thought, content, ended)
		}
	}
}

// What cannot become anything else is told at once; only what may begin a tag, or a call, waits.
func TestReaderHoldsBackNoMoreThanItMust(t *testing.T) {
	v := newVendor(t, own("thinker"), nil)
	r := v.reasoning.reader(v.format, true, toolcall.Options{})
	call := `<tool_call>{"name": "hash", "arguments": {}}</tool_call>`
	for _, step := range []struct {
		feed string
		want chat.Message // what this tells
	}{
		{"Hm", chat.Message{ReasoningContent: "Hm"}},
		{".\n", chat.Message{ReasoningContent: "."}}, // the newline may be the tag's
		{"So", chat.Message{ReasoningContent: "\nSo"}},
		{" <", chat.Message{ReasoningContent: " "}},
		{"3", chat.Message{ReasoningContent: "<3"}},
		{"\n</think", chat.Message{}},
		{">\n", chat.Message{}},
		{"\nI", chat.Message{Content: "I"}},
		{" look", chat.Message{Content: " look"}},
		{" <tool", chat.Message{Content: " "}},
		{"s>", chat.Message{Content: "<tools>"}},
		{call[:len(call)-1], chat.Message{}},
		{call[len(call)-1:], chat.Message{ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "hash", Arguments: "{}"}}}},
	} {
		step.want.Role = chat.Assistant
		if got := sum(r.Feed(step.feed)); !reflect.DeepEqual(got, step.want) {
			t.Errorf("%q tells %+v, want %+v", step.feed, got, step.want)
		}
	}
}

// The prompt says whether the completion begins inside of the reasoning.
func TestReaderKnowsThePrompt(t *testing.T) {
	for name, opened := range map[string]bool{"thinker": false, "opens": true} {
		v := newVendor(t, own(name), nil)
		prompt, err := v.Prompt([]chat.Message{{Role: chat.User, Content: "Hash <think>"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := readParts(v.Reader(prompt, nil), []string{"Hm.\n</think>\n\nYes."})
		if thought := m.ReasoningContent == "Hm." && m.Content == "Yes."; thought != opened {
			t.Errorf("%s: read as %+v", name, m)
		}
	}
}
