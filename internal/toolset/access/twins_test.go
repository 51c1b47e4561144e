package access

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"hone/internal/chat"
)

func TestTwins(t *testing.T) {
	path := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)
	loose := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)
	none := json.RawMessage(`{"type":"object"}`)
	const says = "Read the complete contents of a file from the file system."
	for _, tc := range []struct {
		name  string
		tools []Served
		want  [][]int
	}{
		{"a copy", []Served{{"a", "read_file", says, path}, {"b", "read_file", says, path}}, [][]int{{0, 1}}},
		{
			"another word", []Served{{"a", "read_file", says, path},
				{"b", "read_text_file", "Read the complete contents of one file from the file system.", path}},
			[][]int{{0, 1}},
		},
		{"the same name and parameters", []Served{{"a", "read_file", says, path}, {"b", "readFile", "Gives a document back.", path}}, [][]int{{0, 1}}},
		{"other parameters", []Served{{"a", "read_file", says, path}, {"b", "read_file", says, loose}}, nil},
		{"one server's own two", []Served{{"a", "read_file", says, path}, {"a", "read_text_file", says, path}}, nil},
		{
			"one server's own two, and another's", []Served{{"a", "read_file", says, path},
				{"b", "read_file", says, path}, {"a", "read_text_file", says, path}}, [][]int{{0, 1}},
		},
		{"other things, without parameters", []Served{{"a", "list", "Lists the tables of the database.", none},
			{"b", "list", "Plays the next song.", none}}, nil},
		{"another number", []Served{{"a", "roll", "Rolls a die of 6 sides and tells the number.", none},
			{"b", "roll", "Rolls a die of 20 sides and tells the number.", none}}, nil},
		{
			"three", []Served{{"a", "read_file", says, path}, {"c", "x", "Else.", none}, {"b", "read_file", says, path},
				{"d", "read_file", says, path}}, [][]int{{0, 2, 3}},
		},
	} {
		if got := Twins(tc.tools); !slices.EqualFunc(got, tc.want, slices.Equal) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A twin is not shown beside the other, but where a scenario needs it: then the other is not.
func TestTwinsInSelect(t *testing.T) {
	tools := many(100)
	tools[60].Name, tools[60].Description = "again42", tools[42].Description
	for _, tc := range []struct {
		name, task       string
		gold             []string
		first, other     bool
		max, distractors int
	}{
		{"by task", "thing42", nil, true, false, 20, -1},
		{"by gold", "thing42", []string{"again42"}, false, true, 20, -1},
		{"both are gold", "thing42", []string{"again42", "tool42"}, true, true, 20, -1},
		{"as a distractor", "", nil, true, false, 99, 99},
		{"all fit", "", nil, true, false, 100, 0},
		{"all fit, by gold", "", []string{"again42"}, false, true, 100, 0},
	} {
		s := NewSelector(tools, SelectorOptions{Max: tc.max, Distractors: tc.distractors,
			Twins: map[string]string{"again42": "tool42"}})
		got, err := s.Select("a", tc.task, tc.gold)
		has := func(name string) bool {
			return slices.ContainsFunc(got, func(x chat.Tool) bool { return x.Name == name })
		}
		if err != nil || has("tool42") != tc.first || has("again42") != tc.other ||
			len(got) != min(tc.max, 99)+map[bool]int{true: 1}[tc.first && tc.other && tc.max > 99] {
			t.Errorf("%s: %d tools, the first %v, its twin %v, %v",
				tc.name, len(got), has("tool42"), has("again42"), err)
		}
	}
}

// A catalog of 10,000 tools, with the words and schemas that tools have; 40 are shown.
func BenchmarkSelectOfTenThousand(b *testing.B) {
	verbs := []string{"read", "write", "list", "search", "update", "delete", "create", "send", "convert", "export"}
	things := []string{"file", "issue", "message", "table", "record", "invoice", "image", "branch", "event", "ticket"}
	var tools []chat.Tool
	for i := range 10_000 {
		verb, thing := verbs[i%10], things[i/10%10]
		tools = append(tools, chat.Tool{
			Name: fmt.Sprintf("%s_%s_%d", verb, thing, i),
			Description: fmt.Sprintf("Use this tool to %s the %s of workspace %d. It returns the %s as JSON.",
				verb, thing, i/100, thing),
			InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"%s_id":{"type":"string","description":"Identifier of the %s"},"limit":{"type":"integer","description":"How many at most"}},"required":["%s_id"]}`, thing, thing, thing)),
		})
	}
	s := NewSelector(tools, SelectorOptions{Max: 40})
	for b.Loop() {
		got, err := s.Select("id",
			"Please search the invoice with the identifier 4711 in workspace 17 and send the file to the team.",
			[]string{"send_file_7"})
		if err != nil || len(got) != 40 {
			b.Fatal(len(got), err)
		}
	}
}
