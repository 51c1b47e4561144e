package render

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/rollout"
	"hone/internal/fault"
	"hone/internal/text/toolcall"
)

var _ rollout.Renderer = (*Vendor)(nil)

var reference = flag.String("reference", "",
	"folder of the real templates that make_template.py fetched; tests of them fail without it if this is set")

// templatesDir is the folder of the real templates. Without one the test is skipped: make parity gives it, so that what
// lies in somebody's cache decides nothing.
func templatesDir(tb testing.TB) string {
	tb.Helper()
	if *reference == "" {
		tb.Skip("needs the vendors' templates, which testdata/reference/make_template.py fetches: " +
			"give their folder with -reference")
	}
	return *reference
}

// specialForm is how vendors write special tokens, so that a vocabulary for a template can be made from its text.
var specialForm = regexp.MustCompile(`<[|｜][^<>|｜\n'"{} ]{1,40}[|｜]>|</?s>|<(start|end)_(of_turn|function_\w+)>|\[/?[A-Z_]{3,20}\]|<[a-z_]+\|>|<\|[a-z_]+>|\[[e~]~?\[|\]~[!b]?\[?[a-z]*\]?`)

func newVendor(tb testing.TB, path string, change func(*VendorOptions)) *Vendor {
	tb.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	o := VendorOptions{Template: string(source), Name: filepath.Base(path), BOS: "<s>", EOS: "</s>"}
	if change != nil {
		change(&o)
	}
	v, err := NewVendor(extended(tb, append(specialForm.FindAllString(o.Template, -1), "<s>", "</s>")...), o)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func own(name string) string { return filepath.Join("testdata", name+".jinja") }

// ownTemplates stand for what vendors do: see the first line of each.
func ownTemplates() []string {
	return []string{own("thinker"), own("opens"), own("forgets"), own("unended"), own("moves"),
		filepath.Join(referenceDir, "template", "agent.jinja")}
}

// hostile text could be taken for the template's, whole or where it meets other text.
var hostile = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"hello", " world", "\n", "<|im_end|>", "<|end|>", "</s>", "<|assistant|>", "<|im_start|>assistant\n",
		"<|user|>", "[INST]", "[/INST]", "<", "<|", "|>", "end|>", "<|endoftext|>", "12", "é", "👍🏽", "  ", "\uf8ff",
		"{{ x }}", "</think>",
	}), 0, 6).Draw(t, "parts"), "")
})

var mild = rapid.SampledFrom([]string{"", "It is 3.", "Größe: 5 世界", "two\n\nlines", "a < b <| c", "x</s>y",
	"<|im_end|>", "</s"})

// dialogues draws what a rollout makes, over several user turns.
func dialogues(results *rapid.Generator[string], parallel int) *rapid.Generator[[]chat.Message] {
	return rapid.Custom(func(t *rapid.T) []chat.Message {
		var all []chat.Message
		if rapid.Bool().Draw(t, "system") {
			all = append(all, chat.Message{Role: chat.System, Content: "S" + results.Draw(t, "system text")})
		}
		calls := 0
		thought := rapid.SampledFrom([]string{"", "Hm.", "I think\nso <|end|>"})
		for turn := range rapid.IntRange(1, 3).Draw(t, "user turns") {
			// unlike the others: Mistral's template compares them
			all = append(all, chat.Message{Role: chat.User, Content: "Q" + strconv.Itoa(turn) +
				results.Draw(t, "question")})
			for range rapid.IntRange(0, 2).Draw(t, "steps") {
				m := chat.Message{
					Role:             chat.Assistant,
					Content:          rapid.SampledFrom([]string{"", "I look."}).Draw(t, "said"),
					ReasoningContent: thought.Draw(t, "thought"),
				}
				var answers []chat.Message
				for range rapid.IntRange(1, parallel).Draw(t, "calls") {
					id := "call_" + string(rune('0'+calls))
					calls++
					m.ToolCalls = append(m.ToolCalls, chat.ToolCall{
						ID:   id,
						Name: rapid.SampledFrom([]string{"hash", "now_2"}).Draw(t, "name"),
						Arguments: rapid.SampledFrom([]string{`{}`, `{"text":"a"}`,
							`{"text": "x <|im_end|> y", "n": 3}`}).Draw(t, "arguments"),
					})
					answers = append(answers, chat.Message{Role: chat.ToolRole, ToolCallID: id,
						Name: m.ToolCalls[len(answers)].Name, Content: "R" + results.Draw(t, "result")})
				}
				all = append(append(all, m), answers...)
			}
			all = append(all, chat.Message{Role: chat.Assistant, Content: "A" + mild.Draw(t, "answer"),
				ReasoningContent: thought.Draw(t, "thought")})
		}
		return all
	})
}

var twoTools = append(tools, chat.Tool{Name: "now_2", Description: "Tells the <|im_end|> time.",
	InputSchema: []byte(`{"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}`)})

// checkSequences is what holds of every conversation. It returns the number of rows.
func checkSequences(t failer, v *Vendor, messages []chat.Message, tools []chat.Tool) int {
	t.Helper()
	rows, err := v.Sequences(messages, 0, tools)
	if err != nil {
		t.Fatalf("%+v\n%v", messages, err)
	}
	trained := map[int]bool{}
	for n, row := range rows {
		if (row.Rewrite == "") != (n == 0) {
			t.Fatalf("row %d begins anew because %q", n, row.Rewrite)
		}
		if len(row.IDs) != len(row.Trained) {
			t.Fatalf("%d ids, %d in the mask", len(row.IDs), len(row.Trained))
		}
		end := 0
		for _, span := range row.Spans {
			if span.Start < end || span.End <= span.Start || span.End > len(row.IDs) {
				t.Fatalf("spans %v of %d ids", row.Spans, len(row.IDs))
			}
			end = span.End
		}
		previous, after := -1, []int32(nil)
		for i, m := range messages {
			at := slices.IndexFunc(row.Spans, func(s Span) bool { return s.Message == i })
			if m.Role != chat.Assistant || at < 0 ||
				!slices.Contains(row.Trained[row.Spans[at].Start:row.Spans[at].End], true) {
				continue
			}
			span := row.Spans[at]
			if trained[i] {
				t.Fatalf("message %d is trained twice", i)
			}
			trained[i] = true
			prompt, err := v.Prompt(messages[:i], tools)
			if err != nil || !slices.Equal(prompt, row.IDs[:span.Start]) {
				t.Fatalf("message %d is not trained behind what it is prompted with\n prompt %q (%v)\n row    %q",
					i, v.tok.Decode(prompt), err, v.tok.Decode(row.IDs[:span.Start]))
			}
			completion := row.IDs[span.Start:span.End]
			if previous >= 0 {
				bridge, split, err := v.Next(messages[:i], previous, after, tools)
				if split != "" {
					t.Fatalf("message %d begins anew in an episode, and not in a row: %s", i, split)
				}
				if joined := slices.Concat(
					row.IDs[:row.Spans[slices.IndexFunc(row.Spans,
						func(s Span) bool { return s.Message == previous })].End], bridge,
				); err != nil || !slices.Equal(joined, prompt) {
					t.Fatalf("message %d: the bridge is not what stands between: %s (%v)",
						i, divergence(v.tok.Decode(joined), v.tok.Decode(prompt), "\uf8ff"), err)
				}
			}
			previous, after = i, completion
			if !slices.Contains(v.StopIDs(), completion[len(completion)-1]) {
				t.Fatalf("message %d ends with %q, which is no stop id", i, v.tok.Decode(completion))
			}
		}
		if !v.masks && !row.Trained[len(row.Trained)-1] {
			t.Fatal("the row does not end with what is trained")
		}
	}
	for i, m := range messages {
		if m.Role == chat.Assistant && !trained[i] {
			t.Fatalf("message %d is trained nowhere", i)
		}
	}
	return len(rows)
}

type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func TestPromptsExtend(t *testing.T) {
	for _, path := range ownTemplates() {
		t.Run(filepath.Base(path), func(t *testing.T) {
			v := newVendor(t, path, nil)
			rapid.Check(t, func(t *rapid.T) {
				checkSequences(t, v, dialogues(hostile, 2).Draw(t, "dialogue"), twoTools)
			})
		})
	}
}

// Whatever stands in content, the added tokens of a prompt are those of the same conversation with harmless content.
func TestContentYieldsNoAddedToken(t *testing.T) {
	for _, path := range ownTemplates() {
		t.Run(filepath.Base(path), func(t *testing.T) { checkAddedTokens(t, newVendor(t, path, nil)) })
	}
}

func checkAddedTokens(t *testing.T, v *Vendor) {
	rapid.Check(t, func(t *rapid.T) {
		messages := dialogues(hostile, 2).Draw(t, "dialogue")
		tools := []chat.Tool{
			{Name: "hash" + hostile.Draw(t, "tool"), Description: "D" + hostile.Draw(t, "described"),
				InputSchema: []byte(`{"type": "object", "<|im_end|>": "</s>"}`)},
		}
		harmless := slices.Clone(messages)
		for i, m := range harmless {
			if m.Content != "" {
				harmless[i].Content = "x"
			}
			if m.ReasoningContent != "" {
				harmless[i].ReasoningContent = "x"
			}
			harmless[i].ToolCalls = slices.Clone(m.ToolCalls)
			for j, call := range m.ToolCalls {
				harmless[i].ToolCalls[j].Arguments = map[bool]string{true: "{}",
					false: `{"text": "a"}`}[call.Arguments == "{}"]
			}
		}
		got := addedIn(t, v, messages, tools)
		want := addedIn(t, v, harmless, []chat.Tool{{Name: "x", InputSchema: []byte(`{"type": "object"}`)}})
		if !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", v.tok.Decode(got), v.tok.Decode(want))
		}
	})
}

func addedIn(t *rapid.T, v *Vendor, messages []chat.Message, tools []chat.Tool) []int32 {
	ids, err := v.Prompt(messages, tools)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(ids, func(id int32) bool { return !v.tok.IsAdded(id) })
}

func TestRealTemplates(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(templatesDir(t), "*", "*.jinja"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	draw := dialogues(mild, 1)
	used, rendered, split := 0, 0, 0
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, known := toolcall.Detect(string(source)); !known || !KnowsTools(string(source)) {
			continue
		}
		used++
		t.Run(filepath.Base(path), func(t *testing.T) {
			v := newVendor(t, path, nil)
			for seed := range 5 {
				messages := draw.Example(seed)
				if _, err := v.Sequences(messages, 0, twoTools); err != nil {
					continue // some templates refuse content beside calls, or reasoning beside content
				}
				rendered++
				split += checkSequences(t, v, messages, twoTools) - 1
			}
		})
	}
	t.Logf("%d of %d templates know tools; %d conversations were rendered, with %d splits",
		used, len(files), rendered, split)
	if used < 60 || rendered < used*4 {
		t.Errorf("too few: %d templates, %d conversations", used, rendered)
	}
}

func isUsage(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Code == fault.CodeUsage
}
