package curate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// example is a trace of two turns with calls.
func example(id string) dataset.Row {
	call := func(id, text string) chat.Message {
		return chat.Message{Role: chat.Assistant, ReasoningContent: "think " + id,
			ToolCalls: []chat.ToolCall{{ID: id, Name: "f", Arguments: `{"text": "` + text + `"}`}}}
	}
	result := func(id string) chat.Message {
		return chat.Message{Role: chat.ToolRole, ToolCallID: id, Name: "f", Content: "found " + id}
	}
	return dataset.Row{
		ID: id,
		Tools: []chat.Tool{
			{
				Name: "f",
				InputSchema: json.RawMessage(
					`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`,
				),
			},
		},
		Messages: []chat.Message{
			{Role: chat.System, Content: "Be brief."}, {Role: chat.User, Content: "first"}, call("a", "1"), result("a"),
			{Role: chat.Assistant, Content: "one"}, {Role: chat.User, Content: "second"}, call("b", "2"), result("b"),
			call("c", "3"), result("c"),
			{Role: chat.Assistant, Content: "two"},
		},
	}
}

func open(t testing.TB, rows []dataset.Row, path string) *Curation {
	t.Helper()
	c, err := Open(rows, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func fresh(t testing.TB, rows ...dataset.Row) *Curation {
	return open(t, rows, filepath.Join(t.TempDir(), "ledger.jsonl"))
}

func do(t testing.TB, c *Curation, op Op) Op {
	t.Helper()
	op.Author = "me"
	done, err := c.Do(op)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// tell is a conversation in few words: the first letter of each role, and what it says.
func tell(messages []chat.Message) string {
	var out []string
	for _, m := range messages {
		said := m.Content
		for _, c := range m.ToolCalls {
			said += c.Arguments
		}
		out = append(out, m.Role[:1]+":"+said)
	}
	return strings.Join(out, "|")
}

func TestOperations(t *testing.T) {
	for _, tc := range []struct {
		op      Op
		opening int
		want    string
		left    int // of the opening
	}{
		{Op{Do: DeleteTurn, Turn: 1}, 0, `s:Be brief.|u:second|a:{"text": "2"}|t:found b|a:{"text": "3"}|t:found c|a:two`, 0},
		{Op{Do: DeleteTurn, Turn: 2}, 0, `s:Be brief.|u:first|a:{"text": "1"}|t:found a|a:one`, 0},
		{Op{Do: DeleteTurn, Turn: 1}, 5, `s:Be brief.|u:second|a:{"text": "2"}|t:found b|a:{"text": "3"}|t:found c|a:two`, 1},
		{Op{Do: DeleteStep, Message: 6}, 0, `s:Be brief.|u:first|a:{"text": "1"}|t:found a|a:one|u:second|a:{"text": "3"}|t:found c|a:two`, 0},
		{Op{Do: MergeTurns, Turn: 1}, 0, `s:Be brief.|u:first` + "\n\n" +
			`second|a:{"text": "1"}|t:found a|a:{"text": "2"}|t:found b|a:{"text": "3"}|t:found c|a:two`, 0},
		{Op{Do: EditText, Message: 10, Text: "2!"}, 0, `s:Be brief.|u:first|a:{"text": "1"}|t:found a|a:one|u:second|a:{"text": "2"}|t:found b|a:{"text": "3"}|t:found c|a:2!`, 0},
		{Op{Do: EditArguments, Message: 8, Text: `{"text": "x"}`}, 0, `s:Be brief.|u:first|a:{"text": "1"}|t:found a|a:one|u:second|a:{"text": "2"}|t:found b|a:{"text": "x"}|t:found c|a:two`, 0},
		{Op{Do: DropSystem}, 2, `u:first|a:{"text": "1"}|t:found a|a:one|u:second|a:{"text": "2"}|t:found b|a:{"text": "3"}|t:found c|a:two`, 1},
		{Op{Do: Split, Turn: 2}, 0, `s:Be brief.|u:first|a:{"text": "1"}|t:found a|a:one`, 0},
	} {
		r := example("x")
		r.Opening = tc.opening
		c := fresh(t, r)
		tc.op.Trace = "x"
		done := do(t, c, tc.op)
		x, err := c.Trace("x")
		if err != nil || tell(x.Row.Messages) != tc.want || x.Row.Opening != tc.left {
			t.Errorf("%+v:\n got  %s (opening %d)\n want %s", tc.op, tell(x.Row.Messages), x.Row.Opening, tc.want)
		}
		if d := done.Diff; d == nil ||
			!same(slices.Concat(example("").Messages[:d.At], d.Added, example("").Messages[d.At+len(d.Removed):]),
				x.Row.Messages) {
			t.Errorf("%+v: the diff %+v does not make the one of the other", tc.op, done.Diff)
		}
		if tc.op.Do == Split {
			rest, err := c.Trace("x/1")
			if err != nil || tell(rest.Row.Messages) !=
				`s:Be brief.|u:second|a:{"text": "2"}|t:found b|a:{"text": "3"}|t:found c|a:two` {
				t.Errorf("%+v, %v", rest, err)
			}
		}
	}
	c := fresh(t, example("x"))
	do(t, c, Op{Do: EditReasoning, Trace: "x", Message: 2, Text: "because"})
	do(t, c, Op{Do: Rate, Trace: "x", Rating: 4})
	do(t, c, Op{Do: Accept, Trace: "x", Why: "good"})
	if x, _ := c.Trace("x"); x.Row.Messages[2].ReasoningContent != "because" || x.Rating != 4 || x.Status != Accepted ||
		x.By != "me" || x.Why != "good" || len(x.Ops) != 3 {
		t.Errorf("%+v", x)
	}
}

// What cannot be done is said, and changes nothing: no trace, no ledger.
func TestRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	c := open(t, []dataset.Row{example("x"), {ID: "short",
		Messages: []chat.Message{{Role: chat.User, Content: "q"}, {Role: chat.Assistant, Content: "a"}}}}, path)
	for want, op := range map[string]Op{
		`no trace "y"`: {Do: Accept, Trace: "y"}, "no user turn 3": {Do: DeleteTurn, Trace: "x", Turn: 3},
		"no user turn 0": {Do: DeleteTurn, Trace: "x"}, "only turn": {Do: DeleteTurn, Trace: "short",
			Turn: 1}, "turn 2 is the last": {Do: MergeTurns, Trace: "x",
			Turn: 2}, "role user": {Do: DeleteStep, Trace: "x", Message: 1},
		"no message 11": {Do: EditText, Trace: "x", Message: 11}, "has no call 1": {Do: EditArguments, Trace: "x",
			Message: 2, Call: 1, Text: "{}"}, "JSON object": {Do: EditArguments, Trace: "x", Message: 2, Text: "[]"},
		"not JSON": {Do: EditArguments, Trace: "x", Message: 2, Text: "{"}, "no system message": {Do: DropSystem,
			Trace: "short"}, "before the first turn": {Do: Split, Trace: "x", Turn: 1},
		"1 to 5": {Do: Rate, Trace: "x", Rating: 6}, `no operation "paint"`: {Do: "paint", Trace: "x"},
		"no operation 1: there are 0": {Do: Undo, Of: 1},
	} {
		if _, err := c.Do(op); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", op, err)
		}
	}
	if x, _ := c.Trace("x"); !reflect.DeepEqual(x.Row, example("x")) || len(c.Ops()) != 0 {
		t.Errorf("%+v", x)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a ledger was begun")
	}
	c.Rehearse()
	do(t, c, Op{Do: Split, Trace: "x", Turn: 2})
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a rehearsal was written down")
	}
	do(t, c, Op{Do: EditText, Trace: "x/1", Message: 0, Text: "Be long."})
	if _, err := c.Do(Op{Do: Undo, Of: 1}); err == nil || !strings.Contains(err.Error(), "undo 2 first") {
		t.Errorf("%v", err)
	}
	do(t, c, Op{Do: Undo, Of: 2})
	if _, err := c.Do(Op{Do: Undo, Of: 2}); err == nil || !strings.Contains(err.Error(), "undone already") {
		t.Errorf("%v", err)
	}
	do(t, c, Op{Do: Undo, Of: 1})
	if _, err := c.Trace("x/1"); err == nil {
		t.Error("what was split off is still there")
	}
}

// anyOp draws an operation on one of the traces; many cannot be made.
func anyOp(t *rapid.T, c *Curation) Op {
	traces := c.Traces()
	return Op{
		Do: rapid.SampledFrom([]string{DeleteTurn, DeleteStep, MergeTurns, EditText, EditReasoning, EditArguments,
			DropSystem, Split, Rate, Accept, Reject, Redact, Undo}).Draw(t, "do"),
		Trace:   traces[rapid.IntRange(0, len(traces)-1).Draw(t, "trace")].ID,
		Turn:    rapid.IntRange(0, 3).Draw(t, "turn"),
		Message: rapid.IntRange(0, 11).Draw(t, "message"),
		Call:    rapid.IntRange(0, 1).Draw(t, "call"),
		Text:    rapid.SampledFrom([]string{`{"text": "y"}`, "word", ""}).Draw(t, "text"),
		Rating: rapid.IntRange(1,
			5).Draw(t, "rating"),
		Of:     rapid.IntRange(1, 12).Draw(t, "of"),
		Author: "any",
		Values: []Value{
			{Kind: Secret, Text: rapid.SampledFrom([]string{"first", "one", "1"}).Draw(t, "value"),
				Placeholder: "[SECRET_1]"},
		},
	}
}

// A trace that was edited in ten ways and more, and whose operations were undone from the last, is the trace. What was
// done is in the ledger, and read from there it is the same at every step.
func TestUndoneIsTheTrace(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		rows := []dataset.Row{example("x"), example("y")}
		c, err := Open(rows, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { c.Close() }()
		made := 0
		for range 40 {
			if _, err := c.Do(anyOp(t, c)); err == nil {
				if made++; made >= 10 {
					break
				}
			}
		}
		c.Close()
		again, err := Open(rows, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(c.Traces(), again.Traces()) || len(c.Ops()) != len(again.Ops()) {
			t.Fatalf("read from the ledger:\n%+v\nnot\n%+v", again.Traces(), c.Traces())
		}
		c = again
		for of := len(c.Ops()); of > 0; of-- {
			_, err := c.Do(Op{Do: Undo, Of: of})
			if err != nil && !strings.Contains(err.Error(), "undone already") {
				t.Fatal(err)
			}
		}
		traces := c.Traces()
		if len(traces) != 2 || !reflect.DeepEqual(*traces[0], Trace{ID: "x", Row: rows[0]}) ||
			!reflect.DeepEqual(*traces[1], Trace{ID: "y", Row: rows[1]}) {
			t.Fatalf("%+v", *traces[0])
		}
	})
}

func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	rows := []dataset.Row{example("x"), example("x")}
	c := open(t, rows, path)
	c.now = func() time.Time { return time.Date(2026, 11, 23, 1, 2, 3, 4, time.UTC) }
	do(t, c, Op{Do: Reject, Trace: "x#2", Why: "a copy"})
	do(t, c, Op{Do: EditText, Trace: "x", Message: 1, Text: "1st"})
	if _, err := Open(rows, path, Options{}); fault.CodeOf(err) != fault.CodeError ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("two at once: %v", err)
	}
	c.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read what was redacted: %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if want :=
		`{"seq":1,"at":"2026-11-23T01:02:03Z","author":"me","do":"reject","trace":"x#2","why":"a copy"}`; len(lines) !=
		4 || lines[1] != want {
		t.Errorf("%s", text)
	}
	if !strings.Contains(lines[2],
		`"diff":{"at":1,"removed":[{"role":"user","content":"first"}],"added":[{"role":"user","content":"1st"}]}`) {
		t.Errorf("%s", lines[2])
	}
	// What broke off was never done; what broke inside is said; other traces are refused.
	if err := os.WriteFile(path, append(text, `{"seq":3,"do":"rej`...), 0o600); err != nil {
		t.Fatal(err)
	}
	again := open(t, rows, path)
	if len(again.Ops()) != 2 || len(again.Rows(false)) != 1 || len(again.Rows(true)) != 0 {
		t.Errorf("%+v", again.Ops())
	}
	do(t, again, Op{Do: Accept, Trace: "x"})
	again.Close()
	if whole, _ := os.ReadFile(path); strings.Count(string(whole), "\n") != 4 ||
		!strings.HasPrefix(string(whole), string(text)) {
		t.Errorf("%s", whole)
	}
	// Rows that came behind are traces that nobody has curated; the others stay as they were left.
	more := open(t, append(slices.Clone(rows), example("y")), path)
	if got := more.Traces(); len(got) != 3 || got[1].Status != Rejected || got[2].Status != Undecided {
		t.Errorf("with a row behind them: %+v", got)
	}
	do(t, more, Op{Do: Accept, Trace: "y"})
	more.Close()
	if _, err := Open([]dataset.Row{example("y"), example("x"), example("x")}, path, Options{}); err == nil {
		t.Error("a row before them is taken")
	}
	if _, err := Open(rows[:1], path, Options{}); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(err.Error(), "others than the ledger's") {
		t.Errorf("%v", err)
	}
	for _, damage := range []string{
		"x\n", lines[0] + "\n" + lines[2] + "\n", lines[0] + "\n{\n", lines[0] + "\n" +
			strings.Replace(lines[1], "x#2", "z", 1) + "\n",
	} {
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(rows, path, Options{}); fault.CodeOf(err) != fault.CodeError {
			t.Errorf("%q: %v", damage, err)
		}
	}
}

func TestFindings(t *testing.T) {
	r := example("x")
	checker := NewChecker()
	if found := checker.Findings(&Trace{Row: r}); len(found) != 0 {
		t.Errorf("%q", found)
	}
	r.Messages[2].ToolCalls[0].Arguments = `{"text": 3}`
	r.Messages[6].ToolCalls[0].Name = "g"
	r.Messages = slices.Delete(r.Messages, 9, 10)
	if found := checker.Findings(&Trace{Row: r}); len(found) != 3 ||
		!strings.Contains(found[0], "message 2, call 0: arguments of f: /text") ||
		!strings.Contains(found[1], `no tool "g"`) || !strings.Contains(found[2], `without the result of "c"`) {
		t.Errorf("%q", found)
	}
	r = dataset.Row{Messages: []chat.Message{{Role: chat.User}, {Role: chat.ToolRole}}}
	if found := checker.Findings(&Trace{Row: r}); len(found) != 2 || !strings.Contains(found[0], "no call") ||
		!strings.Contains(found[1], "to learn from") {
		t.Errorf("%q", found)
	}
}

// scored is a short trace of one call with what rules look at.
func scored(id, task string, checks, judge float64, status trajectory.CallStatus) dataset.Row {
	r := dataset.Row{
		ID:      id,
		Outcome: trajectory.OK,
		Terms:   []trajectory.Term{{Name: "checks", Score: checks, Why: "checks[0]"}, {Name: "judge", Score: judge}},
		Messages: []chat.Message{
			{Role: chat.User, Content: task},
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "tool_" + task[:1], Arguments: "{}"}}},
			{Role: chat.ToolRole, ToolCallID: "1"},
			{Role: chat.Assistant, Content: "x"},
		},
		Results: []dataset.Result{{Status: status}},
	}
	r.Results[0].Call.ID = "1"
	return r
}

func TestRules(t *testing.T) {
	long := scored("long", "delta of the river", 1, 0.9, trajectory.CallOK)
	long.Messages = slices.Concat(long.Messages[:3], long.Messages[1:3], long.Messages[3:])
	wrong := scored("wrong", "echo of the valley", 1, 0.9, trajectory.CallOK)
	wrong.Messages[1].ToolCalls[0].Name = "none"
	wrong.Tools = []chat.Tool{{Name: "tool_e"}}
	list := []dataset.Row{
		scored("good", "alpha of the sea", 1, 0.9, trajectory.CallOK), scored("failed", "bravo of the army", 0.5, 0.9,
			trajectory.CallOK), scored("error", "charlie of the lake", 1, 0.9, trajectory.CallToolError),
		long, scored("poor", "foxtrot of the night", 1, 0.2, trajectory.CallOK), wrong, scored("copy",
			"alpha of the Sea!", 1, 0.95, trajectory.CallOK), example("plain"),
	}
	for _, tc := range []struct {
		rules Rules
		want  string
	}{
		{Rules{}, ""}, {Rules{ChecksPassed: true}, "failed plain"}, {Rules{SchemaValid: true}, "wrong"},
		{Rules{NoToolError: true}, "error"}, {Rules{MaxTurns: 2}, "long plain"}, {Rules{MinJudge: 0.5}, "poor plain"},
		{Rules{Near: 0.8}, "good"}, {Rules{MinRating: 1}, "good failed error long poor wrong copy plain"},
		{Rules{PerTool: 1}, "good"},
		{Rules{PerLength: 2}, "failed error poor wrong"},
		{Rules{NoToolError: true, Wanted: func(*dataset.Row) []string { return []string{"tool_c"} }}, ""},
		{Rules{NoToolError: true, Wanted: func(*dataset.Row) []string { return []string{"tool_z"} }}, "error"},
	} {
		c := fresh(t, list...)
		tc.rules.Author = "rules"
		out, err := c.Apply(tc.rules)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range c.Traces() {
			if x.Status == Rejected {
				got = append(got, x.ID)
				if x.By != "rules" || x.Why == "" {
					t.Errorf("%+v", x)
				}
			}
		}
		want := strings.Fields(tc.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || out.Looked != 8 || out.Left != 8-len(want) {
			t.Errorf("%+v: rejected %v, want %v (%+v)", tc.rules, got, want, out)
		}
		for _, name := range tc.rules.names() { // also one that refuses nothing is told of
			if _, told := out.Rejected[name]; !told {
				t.Errorf("%+v: nothing is told of the rule %s", tc.rules, name)
			}
		}
		if len(out.Rejected) != len(tc.rules.names()) ||
			out.Spared != map[bool]int{true: 1}[tc.rules.Wanted != nil && tc.want == ""] {
			t.Errorf("%+v: %+v", tc.rules, out)
		}
		if tc.rules.NoToolError && out.Unknown != 1 {
			t.Errorf("%+v", out)
		}
	}
	// What a person accepted stays, and counts.
	c := fresh(t, list...)
	do(t, c, Op{Do: Accept, Trace: "good"})
	do(t, c, Op{Do: Accept, Trace: "failed"})
	out, err := c.Apply(Rules{ChecksPassed: true, Near: 0.8})
	if x, _ := c.Trace("good"); err != nil || x.Status != Accepted || out.Rejected["near copy"] != 1 ||
		out.Rejected["checks passed"] != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := c.Apply(Rules{Near: 2}); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("%v", err)
	}
}

// An operation is answered at once, and is on the disk then. Set against 50 ms at 10,000 traces.
func BenchmarkDo(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var rows []dataset.Row
			for i := range n {
				rows = append(rows, example(fmt.Sprint(i)))
			}
			c := fresh(b, rows...)
			i := 0
			for b.Loop() {
				i++
				if _, err := c.Do(Op{Do: EditText, Trace: fmt.Sprint(i % n), Message: 1, Text: fmt.Sprint(i),
					Author: "me"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
