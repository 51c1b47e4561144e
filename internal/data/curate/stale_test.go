package curate

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/episode/trajectory"
)

// A result of a call that has other arguments now is told of, wherever edits move it, until the result is edited too,
// the arguments are as they were, or a person accepts the trace.
func TestResultsOfEditedCalls(t *testing.T) {
	const other = `{"text": "x"}`
	edit := func(message, call int, text string) Op {
		return Op{Do: EditArguments, Message: message, Call: call, Text: text}
	}
	for name, tc := range map[string]struct {
		ops  []Op
		want string // the messages of results that are told of
	}{
		"edited":              {[]Op{edit(2, 0, other)}, "3"},
		"to the same":         {[]Op{edit(2, 0, `{"text": "1"}`)}, ""},
		"twice":               {[]Op{edit(2, 0, other), edit(2, 0, `{"text": "y"}`)}, "3"},
		"and back":            {[]Op{edit(2, 0, other), edit(2, 0, `{"text": "1"}`)}, ""},
		"two calls":           {[]Op{edit(6, 0, other), edit(8, 0, other)}, "7 9"},
		"its result too":      {[]Op{edit(6, 0, other), edit(8, 0, other), {Do: EditText, Message: 7, Text: "found x"}}, "9"},
		"another result":      {[]Op{edit(8, 0, other), {Do: EditText, Message: 7, Text: "found x"}}, "9"},
		"the call's words":    {[]Op{edit(8, 0, other), {Do: EditText, Message: 8, Text: "I look."}, {Do: EditReasoning, Message: 8, Text: "hm"}}, "9"},
		"moved up":            {[]Op{edit(8, 0, other), {Do: DropSystem}, {Do: DeleteStep, Message: 5}}, "6"},
		"its step goes":       {[]Op{edit(8, 0, other), {Do: DeleteStep, Message: 8}}, ""},
		"split off":           {[]Op{edit(2, 0, other), edit(8, 0, other), {Do: Split, Turn: 2}}, "3 x/3:5"},
		"merged":              {[]Op{edit(8, 0, other), {Do: MergeTurns, Turn: 1}}, "7"},
		"accepted":            {[]Op{edit(8, 0, other), {Do: Accept}}, ""},
		"edited and accepted": {[]Op{edit(6, 0, other), {Do: Accept}, edit(8, 0, other)}, "9"},
		"undone":              {[]Op{edit(8, 0, other), {Do: Undo, Of: 1}}, ""},
		"rejected":            {[]Op{edit(8, 0, other), {Do: Reject, Why: "bad"}}, "9"},
		"two at once":         {[]Op{edit(12, 1, `{"text": "9"}`)}, "13"},
	} {
		r := example("x")
		// ids that come again
		pair := chat.Message{Role: chat.Assistant, ToolCalls: []chat.ToolCall{
			{ID: "c", Name: "f", Arguments: `{"text": "4"}`},
			{ID: "b", Name: "f", Arguments: `{"text": "5"}`},
		}}
		r.Messages = append(r.Messages, chat.Message{Role: chat.User, Content: "third"}, pair,
			chat.Message{Role: chat.ToolRole, ToolCallID: "b"}, chat.Message{Role: chat.ToolRole, ToolCallID: "c"},
			chat.Message{Role: chat.Assistant, Content: "three"})
		path := filepath.Join(t.TempDir(), "ledger.jsonl")
		c := open(t, []dataset.Row{r}, path)
		for _, op := range tc.ops {
			op.Trace = "x"
			do(t, c, op)
		}
		for range 2 { // and by the ledger
			var got []string
			for _, x := range c.Traces() {
				for _, found := range NewChecker().Findings(x) {
					after, is := strings.CutPrefix(found, "message ")
					number, _, told := strings.Cut(after, " is the result of the call before it was edited")
					if !is || !told {
						t.Errorf("%s: %s", name, found)
					}
					if x.ID != "x" {
						number = x.ID + ":" + number
					}
					got = append(got, number)
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%s: told of %q, want %q", name, got, tc.want)
			}
			c.Close()
			c = open(t, []dataset.Row{r}, path)
		}
	}
}

// A call that was edited to what its tool does not take is a misfit, wherever edits move it and whatever becomes of its
// result, until it is edited to what the tool takes or a person accepts the trace. What the policy called wrongly is
// none.
func TestMisfitsOfEditedCalls(t *testing.T) {
	edit := func(message int, text string) Op { return Op{Do: EditArguments, Message: message, Text: text} }
	const wrong, wrongToo = `{"text": 1}`, `{}`
	mail := Op{Do: Redact, Values: []Value{{Kind: Email, Text: "ann@acme.io", Placeholder: "[EMAIL_1]", Deep: true}}}
	for name, tc := range map[string]struct {
		ops  []Op
		want string // the messages of calls that are told of
	}{
		"none":                {nil, ""},
		"edited well":         {[]Op{edit(2, `{"text": "x"}`)}, ""},
		"edited":              {[]Op{edit(2, wrong)}, "2"},
		"mended":              {[]Op{edit(2, wrong), edit(2, `{"text": "x"}`)}, ""},
		"two, one undone":     {[]Op{edit(2, wrong), edit(6, wrongToo), {Do: Undo, Of: 1}}, "6"},
		"its result too":      {[]Op{edit(2, wrong), {Do: EditText, Message: 3, Text: "found x"}}, "2"},
		"moved up":            {[]Op{edit(8, wrong), {Do: DropSystem}, {Do: DeleteStep, Message: 5}}, "5"},
		"its step goes":       {[]Op{edit(8, wrong), {Do: DeleteStep, Message: 8}}, ""},
		"split off":           {[]Op{edit(8, wrong), {Do: Split, Turn: 2}}, "x/2:4"},
		"accepted":            {[]Op{edit(8, wrong), {Do: Accept}}, ""},
		"edited and accepted": {[]Op{edit(6, wrong), {Do: Accept}, edit(8, wrongToo)}, "8"},
		"redacted":            {[]Op{edit(2, `{"text": "x", "to": "ann@acme.io"}`), mail}, ""},
		"wrong and redacted":  {[]Op{edit(2, `{"to": "ann@acme.io"}`), mail}, "2"},
		"edited, redacted":    {[]Op{edit(2, wrong), edit(2, `{"text": "x", "to": "ann@acme.io"}`), mail}, ""},
		"redacted, edited":    {[]Op{edit(2, `{"text": "x", "to": "ann@acme.io"}`), mail, edit(2, `{"text": "y", "to": "[EMAIL_1]"}`)}, ""},
		"no placeholder":      {[]Op{edit(2, `{"text": "x", "to": "ann@acme.io"}`), mail, edit(2, `{"text": "y", "to": "[EMAIL_2]"}`)}, "2"},
		"edited to a worse":   {[]Op{edit(2, `{"text": "x"}`), edit(2, wrong)}, "2"},
		"of the policy":       {[]Op{edit(12, `{"text": "x"}`), edit(12, `{"text": 3}`)}, ""},
	} {
		r := example("x")
		r.Tools[0].InputSchema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"to":{"type":"string","pattern":"@"}},"required":["text"]}`)
		r.Messages = append(r.Messages, chat.Message{Role: chat.User, Content: "third"}, chat.Message{
			Role:      chat.Assistant,
			ToolCalls: []chat.ToolCall{{ID: "d", Name: "f", Arguments: `{"text": 3}`}},
		},
			chat.Message{Role: chat.ToolRole, ToolCallID: "d", Content: "no text"}, chat.Message{Role: chat.Assistant,
				Content: "three"})
		path := filepath.Join(t.TempDir(), "ledger.jsonl")
		c := open(t, []dataset.Row{r}, path)
		for _, op := range tc.ops {
			op.Trace = "x"
			do(t, c, op)
		}
		for range 2 { // and by the ledger
			var got []string
			for _, x := range c.Traces() {
				for _, found := range NewChecker().Misfits(x) {
					number, _, _ := strings.Cut(strings.TrimPrefix(found, "message "), ",")
					if x.ID != "x" {
						number = x.ID + ":" + number
					}
					got = append(got, number)
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%s: told of %q, want %q", name, got, tc.want)
			}
			c.Close()
			c = open(t, []dataset.Row{r}, path)
		}
	}
}

// What stands in the opening is not learnt: an edited call there holds no trace back.
func TestMisfitsOfTheOpening(t *testing.T) {
	r := example("x")
	r.Opening = 5
	c := fresh(t, r)
	misfits := func() []string {
		x, err := c.Trace("x")
		if err != nil {
			t.Fatal(err)
		}
		return NewChecker().Misfits(x)
	}
	do(t, c, Op{Do: EditArguments, Trace: "x", Message: 2, Text: `{"text": 1}`})
	if got := misfits(); len(got) != 0 {
		t.Errorf("of the opening: %q", got)
	}
	do(t, c, Op{Do: EditArguments, Trace: "x", Message: 6, Text: `{"text": 1}`})
	if got := misfits(); len(got) != 1 || !strings.HasPrefix(got[0], "message 6,") {
		t.Errorf("behind it: %q", got)
	}
}

// What a trace took is told once, also where it was split: by the part that kept its name.
func TestSplitCountsCostsOnce(t *testing.T) {
	r := example("x")
	cost := 0.5
	r.Usage = &trajectory.Usage{PromptTokens: 7, CompletionTokens: 3, Cost: &cost}
	c := fresh(t, r)
	do(t, c, Op{Do: Split, Trace: "x", Turn: 2})
	var bill dataset.Bill
	for _, row := range c.Rows(false) {
		bill.Add(&row)
	}
	if x, err := c.Trace("x"); err != nil || x.Row.Usage == nil || len(c.Traces()) != 2 || bill.PromptTokens != 7 ||
		bill.CompletionTokens != 3 || bill.Dollars != 0.5 {
		t.Errorf("%v, %+v of %d traces", err, bill, len(c.Traces()))
	}
}

// A rule refuses what is told of.
func TestRulesRefuseResultsOfEditedCalls(t *testing.T) {
	c := fresh(t, example("x"), example("y"))
	do(t, c, Op{Do: EditArguments, Trace: "y", Message: 2, Text: `{"text": "x"}`})
	done, err := c.Apply(Rules{SchemaValid: true, Author: "rule"})
	if err != nil {
		t.Fatal(err)
	}
	rejected := slices.Collect(func(yield func(string) bool) {
		for _, x := range c.Traces() {
			if x.Status == Rejected && !yield(x.ID+": "+x.Why) {
				return
			}
		}
	})
	if len(rejected) != 1 || !strings.HasPrefix(rejected[0], "y: ") ||
		!strings.Contains(rejected[0], "message 3 is the result") {
		t.Errorf("%q, %+v", rejected, done)
	}
}
