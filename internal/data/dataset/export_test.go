package dataset

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

var update = flag.Bool("update", false, "write the golden files of testdata; then run its make_read.py")

// traces are what all goldens are made of.
func traces() []Row {
	tools := []chat.Tool{
		{Name: "weather", Description: "The <weather>.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
	}
	call := func(id, city string) []chat.ToolCall {
		return []chat.ToolCall{{ID: id, Name: "weather", Arguments: `{"city": "` + city + `"}`}}
	}
	return []Row{
		{
			ID:    "one/1",
			Tools: tools,
			Messages: []chat.Message{
				{Role: chat.System, Content: "Be brief."}, {Role: chat.User, Content: "Rain in Bern? é😀"},
				{Role: chat.Assistant, ToolCalls: append(call("a", "Bern"), call("b", "Basel")...),
					ReasoningContent: "I look."}, {Role: chat.ToolRole, ToolCallID: "a", Name: "weather",
					Content: "dry\n"},
				{Role: chat.ToolRole, ToolCallID: "b", Name: "weather",
					Content: `{"rain": 1.0}`}, {Role: chat.Assistant,
					Content: "No.", ReasoningContent: "Dry."},
				{Role: chat.User, Content: "And Uri?"}, {Role: chat.Assistant, Content: "I see.",
					ToolCalls: call("c", "Uri")}, {Role: chat.ToolRole, ToolCallID: "c", Name: "weather", Content: ""},
				{Role: chat.Assistant, Content: "No answer."},
			},
		},
		{ID: "two", Split: "validation", Messages: []chat.Message{{Role: chat.User, Content: "Hi"}, {Role: chat.Assistant, Content: "Hello."}}},
	}
}

func writeRows(t *testing.T, o SinkOptions, rows []Row) (SinkFiles, error) {
	t.Helper()
	s, err := OpenSink(o)
	if err != nil {
		return SinkFiles{}, err
	}
	defer s.Abort()
	for _, r := range rows {
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return s.Close(nil)
}

// What is written in a form is what its golden file holds, which its real reader was given; and read back it is the
// same traces.
func TestGoldens(t *testing.T) {
	for _, tc := range []struct {
		form, name string
		rows       []Row
	}{
		{"hone", "hone.jsonl", traces()}, {"hf", "hf", append(traces(), failed())},
		{"hf-jsonl", "hf_jsonl", Unroll(Turns, traces())}, {"sts", "sts", traces()},
		{"trl", "trl.jsonl", Unroll(Turns, traces())},
		{"axolotl", "axolotl.jsonl", Unroll(Turns, traces())}, {"pairs", "pairs.jsonl", rivals()},
	} {
		path := filepath.Join(t.TempDir(), tc.name)
		if *update {
			path = filepath.Join("testdata", tc.name)
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		w, err := writeRows(t,
			SinkOptions{Form: tc.form, Out: path, Card: map[string]string{"read from": "export_test.go"}}, tc.rows)
		if err != nil {
			t.Fatal(err)
		}
		if tc.form != "pairs" && w.Rows != len(tc.rows) {
			t.Errorf("%s: %+v", tc.form, w)
		}
		same(t, path, filepath.Join("testdata", tc.name))
		if entries, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".hone-export-*")); len(entries) > 0 {
			t.Errorf("%s left %q behind", tc.form, entries)
		}
	}
}

// same compares files, or folders of them.
func same(t *testing.T, got, want string) {
	t.Helper()
	read := func(root string) map[string]string {
		out := map[string]string{}
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			rel, _ := filepath.Rel(root, path)
			out[rel] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := read(got), read(want)
	for name, text := range a {
		if b[name] != text {
			t.Errorf("%s/%s is not what is committed; if that is meant, run the test with -update, "+
				"and then make parity\n%.300s", want, name, text)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%s: %d files, want %d", want, len(a), len(b))
	}
}

func TestReadBack(t *testing.T) {
	want := traces()
	for _, form := range []string{"hone", "hf", "hf-jsonl", "sts"} {
		path := filepath.Join(t.TempDir(), "out")
		if _, err := writeRows(t, SinkOptions{Form: form, Out: path}, want); err != nil {
			t.Fatal(err)
		}
		rows, report, err := Load([]string{path}, Options{})
		if err != nil || report.NumRefused() != 0 || len(rows) != len(want) {
			t.Fatalf("%s: %+v, %v", form, report, err)
		}
		for i, r := range rows {
			r.File, r.Line = "", 0
			if r.Tools == nil != (want[i].Tools == nil) || !reflect.DeepEqual(r, want[i]) && r.Split != "train" {
				t.Errorf("%s:\n got  %+v\n want %+v", form, r, want[i])
			}
			if !reflect.DeepEqual(r.Messages, want[i].Messages) {
				t.Errorf("%s:\n got  %+v\n want %+v", form, r.Messages, want[i].Messages)
			}
		}
	}
}

// rivals are traces of one scenario that passed and failed, and others that no pair is made of.
func rivals() []Row {
	trace := func(id, scenario, said string, score float64, outcome trajectory.Outcome) Row {
		return Row{ID: id, Scenario: "hash " + scenario, ScenarioID: scenario, Outcome: outcome, Opening: 1,
			Terms: []trajectory.Term{{Name: "checks", Score: score, Why: "checks[0]"}}, Messages: []chat.Message{
				{Role: chat.User, Content: "q " + scenario},
				{Role: chat.Assistant, Content: said},
			}}
	}
	other := trace("other", "a", "bad", 0, trajectory.OK)
	other.Messages[0].Content = "another question"
	return []Row{
		trace("bad1", "a", "bad 1", 0, trajectory.OK), trace("good1", "a", "good 1", 1, trajectory.OK), trace("bad2",
			"a", "bad 2", 0, trajectory.Limit), trace("good2", "a", "good 2", 1, trajectory.OK),
		trace("bad3", "a", "bad 3", 0.5, trajectory.PolicyError), trace("broken", "a", "x", 0,
			trajectory.EnvironmentError), other,
		trace("alone", "b", "good", 1, trajectory.OK), {ID: "plain",
			Messages: []chat.Message{{Role: chat.User, Content: "q"}, {Role: chat.Assistant, Content: "a"}}},
	}
}

func TestPairsAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.jsonl")
	w, err := writeRows(t, SinkOptions{Form: "pairs", Out: path}, rivals())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		var p struct {
			Chosen, Rejected []chat.Message
			ChosenID         string `json:"chosen_id"`
			RejectedID       string `json:"rejected_id"`
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		got = append(got, p.ChosenID+">"+p.RejectedID+" "+p.Chosen[0].Content+">"+p.Rejected[0].Content)
	}
	if want := []string{"good1>bad1 good 1>bad 1", "good2>bad2 good 2>bad 2",
		"good1>bad3 good 1>bad 3"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if want := map[string]int{noScenario: 1, noRival: 1, notTheModel: 1, otherPrompt: 1}; w.Rows != 3 ||
		!reflect.DeepEqual(w.LeftOut, want) {
		t.Errorf("%+v", w)
	}
}

// trlConversation is messages whose arguments are JSON text or objects.
type trlConversation []chat.Message

func (c *trlConversation) UnmarshalJSON(text []byte) error {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, m := range list {
		var calls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		}
		if err := json.Unmarshal(m["tool_calls"], &calls); m["tool_calls"] != nil && err != nil {
			return err
		}
		delete(m, "tool_calls")
		rest, err := json.Marshal(m)
		var out chat.Message
		if err == nil {
			err = json.Unmarshal(rest, &out)
		}
		if err != nil {
			return err
		}
		for _, call := range calls {
			arguments := string(call.Function.Arguments)
			if arguments[0] == '"' {
				if err := json.Unmarshal(call.Function.Arguments, &arguments); err != nil {
					return err
				}
			}
			out.ToolCalls = append(out.ToolCalls,
				chat.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: arguments})
		}
		*c = append(*c, out)
	}
	return nil
}

// compact are messages whose arguments have no white space, which is not kept where they are objects.
func compact(t *testing.T, messages []chat.Message) []chat.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].ToolCalls = slices.Clone(out[i].ToolCalls)
		for j := range out[i].ToolCalls {
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(out[i].ToolCalls[j].Arguments)); err != nil {
				t.Fatal(err)
			}
			out[i].ToolCalls[j].Arguments = b.String()
		}
	}
	return out
}

// Of an unrolled row the turn alone is what a trainer learns.
func TestMasks(t *testing.T) {
	rows := Unroll(Turns, traces())
	for i, want := range []struct {
		prompt, completion int
		trained            string
	}{{2, 4, "001001"}, {7, 3, "0000000101"}, {1, 1, "01"}} {
		var trl struct{ Prompt, Completion trlConversation }
		line, _ := trlLine(nil, &rows[i])
		if err := json.Unmarshal(line, &trl); err != nil || len(trl.Prompt) != want.prompt ||
			len(trl.Completion) != want.completion {
			t.Errorf("%d: %d %d %v", i, len(trl.Prompt), len(trl.Completion), err)
		}
		var axolotl struct{ Messages []struct{ Training bool } }
		line, _ = axolotlLine(nil, &rows[i])
		if err := json.Unmarshal(line, &axolotl); err != nil {
			t.Fatal(err)
		}
		trained := ""
		for _, m := range axolotl.Messages {
			trained += map[bool]string{true: "1", false: "0"}[m.Training]
		}
		if trained != want.trained {
			t.Errorf("%d: %s", i, trained)
		}
	}
}

// Nothing half-written: where nothing comes of it, or somebody else's file is in the place, there is nothing new.
func TestOpenAndClose(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []SinkOptions{
		{Form: "hf", Out: taken},
		{Form: "csv", Out: filepath.Join(dir, "a")},
		{Form: "hf"},
		{Form: "hf", Out: filepath.Join(dir, "no", "where")},
	} {
		if _, err := OpenSink(o); err == nil {
			t.Errorf("%+v was opened", o)
		}
	}
	if _, err := writeRows(t, SinkOptions{Form: "pairs", Out: filepath.Join(dir, "p")},
		traces()); fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), noScenario) {
		t.Errorf("%v", err)
	}
	for _, form := range SinkForms() {
		s, err := OpenSink(SinkOptions{Form: form, Out: filepath.Join(dir, "aborted")})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(traces()[0]); err != nil {
			t.Fatal(err)
		}
		s.Abort()
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// The Hub's own library reads the same traces: testdata/make_read.py.
func TestReadByTheRealReader(t *testing.T) {
	text, err := os.ReadFile("testdata/read.json")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Messages, Prompt, Completion, Chosen, Rejected trlConversation
		Tools                                          []chat.Tool
		Opening, Turn                                  int
		Outcome, Terms, Turns                          string
	}
	var found map[string]map[string][]row
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	rows := Unroll(Turns, traces())
	same := func(name string, got []chat.Message, tools []chat.Tool, want Row) {
		if !reflect.DeepEqual(compact(t, got), compact(t, want.Messages)) || len(tools) != len(want.Tools) ||
			len(tools) == 1 && tools[0].Name != "weather" {
			t.Errorf("%s:\n got  %+v\n want %+v", name, got, want.Messages)
		}
	}
	train, validation := found["hf"]["train"], found["hf"]["validation"]
	if len(train) != 2 || len(validation) != 1 {
		t.Fatalf("hf: %d and %d rows", len(train), len(validation))
	}
	same("hf", train[0].Messages, train[0].Tools, traces()[0])
	same("hf", validation[0].Messages, validation[0].Tools, traces()[1])
	bad := failed()
	terms, turns, err := bad.Record()
	if got := train[1]; err != nil || got.Outcome != "ok" || got.Terms != terms || got.Turns != turns ||
		!got.Messages[1].NoLoss || got.Messages[3].NoLoss || got.Opening != 1 {
		t.Errorf("hf: %+v %v", got, err)
	}
	train = found["hf_jsonl"]["train"]
	if len(train) != 2 || len(found["trl"]["train"]) != 3 || len(found["axolotl"]["train"]) != 3 ||
		len(found["pairs"]["train"]) != 3 {
		t.Fatalf("%d, %d, %d and %d rows", len(train), len(found["trl"]["train"]), len(found["axolotl"]["train"]),
			len(found["pairs"]["train"]))
	}
	for i, r := range train {
		same("hf-jsonl", r.Messages, r.Tools, rows[i])
		if r.Turn != i+1 || r.Opening != rows[i].Opening {
			t.Errorf("%+v", r)
		}
	}
	for i, r := range found["trl"]["train"] {
		same("trl", slices.Concat(r.Prompt, r.Completion), r.Tools, rows[i])
	}
	for i, r := range found["axolotl"]["train"] {
		same("axolotl", r.Messages, r.Tools, rows[i])
	}
	for _, r := range found["pairs"]["train"] {
		if len(r.Prompt) != 1 || len(r.Chosen) != 1 || len(r.Rejected) != 1 || r.Chosen[0].Content[:4] != "good" ||
			r.Rejected[0].Content[:3] != "bad" {
			t.Errorf("%+v", r)
		}
	}
}

// A scenario gives so many pairs and no more, of different traces that passed; one that cannot be paired takes no
// place.
func TestOneScenarioDoesNotOutweighOthers(t *testing.T) {
	trace := func(scenario, id, asked string, score float64) Row {
		return Row{ID: id, Scenario: scenario, Outcome: trajectory.OK,
			Terms: []trajectory.Term{{Name: "checks", Score: score}}, Messages: []chat.Message{
				{Role: chat.User, Content: asked},
				{Role: chat.Assistant, Content: "said " + id},
			}}
	}
	rows := []Row{trace("many", "good1", "q", 1), trace("many", "good2", "q", 1),
		trace("many", "other", "else", 0), trace("few", "good3", "q", 1), trace("few", "bad", "q", 0)}
	for i := range 9 {
		rows = append(rows, trace("many", fmt.Sprint("bad", i), "q", 0))
	}
	s, err := OpenSink(SinkOptions{Form: "pairs", Out: filepath.Join(t.TempDir(), "pairs.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	w, err := s.Close(nil)
	if want := map[string]int{enoughPairs: 5, otherPrompt: 1}; err != nil || w.Rows != mostPairs+1 ||
		!reflect.DeepEqual(w.LeftOut, want) {
		t.Fatalf("%+v, %v", w, err)
	}
	text, err := os.ReadFile(w.Path)
	if err != nil || strings.Count(string(text), "said good1") != 2 || strings.Count(string(text), "said good2") != 2 ||
		strings.Count(string(text), "said good3") != 1 || !strings.Contains(enoughPairs, fmt.Sprint(mostPairs)) {
		t.Errorf("%v\n%s", err, text)
	}
}
