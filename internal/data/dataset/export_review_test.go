package dataset

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// Traces of one name, or of names that one file would have, are several files, whose ids are several too.
func TestSTSNames(t *testing.T) {
	var rows []Row
	for i, id := range []string{"a", "a", "a-2", "A", "b/c", "b_c", ""} {
		rows = append(rows, Row{ID: id, Line: i + 1, Messages: []chat.Message{
			{Role: chat.User, Content: "q"},
			{Role: chat.Assistant, Content: "a"},
		}})
	}
	out := filepath.Join(t.TempDir(), "sts")
	if _, err := writeRows(t, SinkOptions{Form: "sts", Out: out}, rows); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(out)
	if err != nil || len(files) != len(rows) {
		t.Fatalf("%v %v", files, err)
	}
	read, _, err := Load([]string{out}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range read {
		ids = append(ids, r.ID)
	}
	if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != len(rows) || !slices.Contains(ids, "b/c") ||
		!slices.Contains(ids, "a") {
		t.Errorf("%q", ids)
	}
}

// Two traces of a scenario that were shown different tools are no pair: the prompt of one is not the other's.
func TestPairsOfOtherTools(t *testing.T) {
	rows := rivals()
	for i := range rows {
		if rows[i].WhyNoDemonstration() != "" {
			rows[i].Tools = []chat.Tool{{Name: "other"}}
		}
	}
	_, err := writeRows(t, SinkOptions{Form: "pairs", Out: filepath.Join(t.TempDir(), "pairs.jsonl")}, rows)
	if err == nil {
		t.Error("traces of other tools became pairs")
	}
}

// What a mask leaves out is out of each form: Axolotl's training, hone's own weight.
func TestMasksAreWritten(t *testing.T) {
	r := Row{Outcome: trajectory.OK, Messages: []chat.Message{
		{Role: chat.User, Content: "q"},
		{Role: chat.Assistant, Content: "no", NoLoss: true},
		{Role: chat.User, Content: "q2"},
		{Role: chat.Assistant, Content: "yes"},
	}}
	line, _ := axolotlLine(nil, &r)
	var axolotl struct{ Messages []struct{ Training bool } }
	if err := json.Unmarshal(line, &axolotl); err != nil || axolotl.Messages[1].Training ||
		!axolotl.Messages[3].Training {
		t.Errorf("%s %v", line, err)
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if _, err := writeRows(t, SinkOptions{Form: "hone", Out: path}, []Row{r}); err != nil {
		t.Fatal(err)
	}
	read, _, err := Load([]string{path}, Options{})
	if err != nil || !read[0].Messages[1].NoLoss || read[0].Messages[3].NoLoss {
		t.Errorf("%+v %v", read, err)
	}
}

// A chat template that writes arguments as JSON gets an object: a text would be written as JSON once more.
func TestArgumentsAreObjectsForTRL(t *testing.T) {
	call := func(arguments string) Row {
		return Row{Opening: 1, Messages: []chat.Message{
			{Role: chat.User},
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "f", Arguments: arguments}}},
		}}
	}
	for arguments, want := range map[string]string{
		"{\"n\": 1.50,\n \"s\": \"a\\nb\"}": `{"n":1.50,"s":"a\nb"}`,
		"{":                                 `"{"`,
		`"x"`:                               `"\"x\""`,
		"":                                  `""`,
	} {
		r := call(arguments)
		line, err := trlLine(nil, &r)
		var got struct {
			Completion []struct {
				Calls []struct {
					Function struct{ Arguments json.RawMessage }
				} `json:"tool_calls"`
			}
		}
		if err == nil {
			err = json.Unmarshal(line, &got)
		}
		if err != nil || string(got.Completion[0].Calls[0].Function.Arguments) != want {
			t.Errorf("%q: %s, want %s, %v", arguments, line, want, err)
		}
	}
}
