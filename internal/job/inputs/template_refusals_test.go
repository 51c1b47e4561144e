package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/text/render"
)

// strict refuses some conversations, and renders the others as ten tokens.
type strict struct{ render.Renderer }

func (strict) Sequences(messages []chat.Message, _ int, _ []chat.Tool) ([]render.Sequence, error) {
	switch messages[0].Content {
	case "raise":
		return nil, errors.New("the template raises: roles must alternate\nin line 7")
	case "inside":
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot render the chat template", Err: errors.New("TemplateError: no such role\n   ^")}
	case "unread":
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot render a message", Why: "its call is read as another"}
	}
	return []render.Sequence{{IDs: make([]int32, 10), Trained: make([]bool, 10)}}, nil
}

// Rows that cannot be rendered end the run, and the error names the flag; with it they are left out, told of and counted.
func TestRowsThatCannotBeRendered(t *testing.T) {
	for name, c := range map[string]struct {
		rows []string
		skip bool
		kept int
		what string   // of the error
		said []string // in what is told
	}{
		"all can":              {[]string{"a", "b"}, false, 2, "", nil},
		"one, not skipped":     {[]string{"a", "raise"}, false, 0, Unrendered, nil},
		"one":                  {[]string{"a", "raise", "b"}, true, 2, "", []string{"left out data.jsonl:2: it cannot be rendered: the template raises: roles must alternate"}},
		"five of one kind":     {[]string{"raise", "raise", "a", "raise", "raise", "raise"}, true, 1, "", []string{"left out 5 rows", "data.jsonl:1, data.jsonl:2, data.jsonl:4 and 2 more"}},
		"of two kinds":         {[]string{"raise", "a", "unread", "unread"}, true, 1, "", []string{"left out data.jsonl:1", "left out 2 rows: it cannot be rendered: its call is read as another"}},
		"inside of an error":   {[]string{"inside", "a"}, true, 1, "", []string{"left out data.jsonl:1: it cannot be rendered: TemplateError: no such role\n"}},
		"all of them":          {[]string{"raise", "unread"}, true, 0, "no conversation can be learnt from", []string{"left out data.jsonl:1", "left out data.jsonl:2"}},
		"all, and not skipped": {[]string{"raise", "unread"}, false, 0, Unrendered, nil},
	} {
		var rows []dataset.Row
		for i, said := range c.rows {
			rows = append(rows, dataset.Row{File: "data.jsonl", Line: i + 1, Messages: []chat.Message{{Role: chat.User, Content: said}}})
		}
		var heard bytes.Buffer
		h, told := &host.Host{Talk: sanitize.New(&heard)}, heard.String
		got, err := sequencesWithin(1<<40, h, &basemodel.Model{Renderer: strict{}}, "data.jsonl", rows, 100, c.skip)
		what := ""
		if f, is := errors.AsType[*fault.Error](err); is {
			what = f.What
		}
		if len(got) != c.kept || what != c.what {
			t.Errorf("%s: %d rows, want %d, %q: %v", name, len(got), c.kept, what, err)
		}
		for _, want := range c.said {
			if !strings.Contains(told(), want) {
				t.Errorf("%s: told is %q, want %q", name, told(), want)
			}
		}
		if c.said == nil && told() != "" {
			t.Errorf("%s: told is %q", name, told())
		}
	}
	if text := fmt.Sprint(OrSkip(&fault.Error{Code: fault.CodeUsage, What: Unrendered, Next: "correct the row"})); !strings.Contains(text, "--skip-bad") {
		t.Error(text)
	}
}
