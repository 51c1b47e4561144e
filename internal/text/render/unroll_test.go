package render

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/data/dataset"
)

// looped is the workshop's case: two user turns, each with calls, and a thought before each step.
func looped() []chat.Message {
	step := func(n int, tool bool) chat.Message {
		m := chat.Message{Role: chat.Assistant, ReasoningContent: fmt.Sprintf("thought%d", n)}
		if !tool {
			m.Content = fmt.Sprintf("answer%d", n)
			return m
		}
		m.ToolCalls = []chat.ToolCall{
			{ID: fmt.Sprintf("call_%d", n), Name: "hash", Arguments: fmt.Sprintf(`{"text": "argument%d"}`, n)},
		}
		return m
	}
	result := func(n int) chat.Message {
		return chat.Message{Role: chat.ToolRole, ToolCallID: fmt.Sprintf("call_%d", n), Name: "hash", Content: "found"}
	}
	return []chat.Message{
		{Role: chat.User, Content: "first"}, step(1, true), result(1), step(2, true), result(2), step(3, false),
		{Role: chat.User, Content: "second"}, step(4, true), result(4), step(5, false),
	}
}

type sequencer interface {
	Sequences(messages []chat.Message, first int, tools []chat.Tool) ([]Sequence, error)
}

func unrolled(r sequencer) dataset.Render {
	return func(messages []chat.Message, first int, tools []chat.Tool) ([]dataset.Sequence, error) {
		rows, err := r.Sequences(messages, first, tools)
		var out []dataset.Sequence
		for _, row := range rows {
			s := dataset.Sequence{IDs: row.IDs, Trained: row.Trained, Messages: map[int][]int{}}
			for _, span := range row.Spans {
				s.Messages[span.Message] = []int{span.Start, span.End}
			}
			out = append(out, s)
		}
		return out, err
	}
}

// words are the thoughts, arguments and answers that a scheme's rows train, each as often as it is.
func words(t *testing.T, scheme string, r sequencer, decode func([]int32) string, row dataset.Row) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, x := range dataset.UnrollRow(scheme, row) {
		rows, err := r.Sequences(x.Messages, x.Opening, x.Tools)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range rows {
			var ids []int32
			for i, id := range s.IDs {
				if s.Trained[i] {
					ids = append(ids, id)
				}
			}
			text := decode(ids)
			for n := 1; n <= 5; n++ {
				for _, word := range []string{"thought", "argument", "answer"} {
					name := fmt.Sprint(word, n)
					count[name] += strings.Count(text, name)
				}
			}
		}
	}
	return count
}

// The table of coverage: by turns, each assistant message is trained exactly once under every template, its thought
// with it where the template has a place for thoughts.
func TestUnrollCoverage(t *testing.T) {
	paths := ownTemplates()
	if *reference != "" {
		for _, pattern := range []string{"*/*.jinja", "*/*/*.jinja", "*/*/*/*.jinja"} {
			found, err := filepath.Glob(filepath.Join(*reference, pattern))
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, found...)
		}
	}
	slices.Sort(paths[len(ownTemplates()):])
	var table strings.Builder
	fmt.Fprintf(&table, "%-28s %-9s %5s %6s %6s %9s %9s %9s\n",
		"template", "scheme", "once", "never", "twice+", "different", "tokens", "thoughts")
	line := func(name, scheme string, s dataset.CoverageSummary, thoughts int) {
		fmt.Fprintf(&table, "%-28s %-9s %5d %6d %6d %9d %4d/%4d %7d/5\n",
			name, scheme, s.Once, s.Never, s.Repeated, s.Different, s.Trained, s.Tokens, thoughts)
	}
	one := func(name string, r sequencer, decode func([]int32) string, row dataset.Row) {
		for _, scheme := range dataset.Schemes() {
			covered, err := dataset.Coverage(scheme, row, unrolled(r))
			if err != nil {
				fmt.Fprintf(&table, "%-28s %s\n", name, strings.SplitN(err.Error(), "\n", 2)[0])
				return
			}
			s := dataset.CoverageSummary{Scheme: scheme}
			s.Add(covered)
			count := words(t, scheme, r, decode, row)
			thoughts := 0
			for n := 1; n <= 5; n++ {
				thoughts += min(1, count[fmt.Sprint("thought", n)])
			}
			line(name, scheme, s, thoughts)
			if scheme == dataset.Prefixes {
				continue
			}
			if s.Once != 5 || s.Trained != s.Tokens {
				t.Errorf("%s, %s: %+v", name, scheme, covered)
			}
			for word, n := range count {
				i := int(word[len(word)-1] - '0')
				// some templates write thoughts of some messages alone, and then a model says no others
				if strings.HasPrefix(word, "thought") {
					if n > 1 || thoughts == 5 && n != 1 {
						t.Errorf("%s, %s: %s is trained %d times", name, scheme, word, n)
					}
					continue
				}
				if there := strings.HasPrefix(word, "answer") == (i == 3 || i == 5); there && n != 1 ||
					!there && n != 0 {
					t.Errorf("%s, %s: %s is trained %d times", name, scheme, word, n)
				}
			}
		}
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jinja")
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		o := VendorOptions{Template: string(source), Name: filepath.Base(path), BOS: "<s>", EOS: "</s>"}
		v, err := NewVendor(extended(t, append(specialForm.FindAllString(o.Template, -1), "<s>", "</s>")...), o)
		if err != nil { // the text layer does not take it, and then neither does sft
			if slices.Contains(ownTemplates(), path) {
				t.Fatal(err)
			}
			fmt.Fprintf(&table, "%-28s %s\n", name, strings.SplitN(err.Error(), "\n", 2)[0])
			continue
		}
		one(name, v, v.tok.Decode, dataset.Row{Messages: looped(), Tools: tools})
	}
	c := newChatML(t, Options{})
	plain := looped()
	for i := range plain {
		plain[i].ReasoningContent = ""
	}
	one("(hone's own)", c, c.tok.Decode, dataset.Row{Messages: plain, Tools: tools})
	t.Logf("\n%s", table.String())
	if *reference == "" {
		golden(t, "unroll.txt", table.String())
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s is otherwise (%v):\n%s", path, err, got)
	}
}
