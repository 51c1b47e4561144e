package job

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
	"hone/internal/testing/fakes"
	"hone/internal/text/render"
)

// tens renders each conversation as ten tokens.
type tens struct {
	render.Renderer
	rendered int
}

func (x *tens) Sequences([]chat.Message, int, []chat.Tool) ([]render.Sequence, error) {
	x.rendered++
	return []render.Sequence{{IDs: make([]int32, 10), Trained: make([]bool, 10)}}, nil
}

// What is rendered counts: of rows that the memory will not hold most are never rendered.
func TestWhatIsRenderedIsCounted(t *testing.T) {
	const all = 10 * checkEvery
	for _, c := range []struct {
		free     int64
		rendered int
	}{{10 * all * tokenBytes, all}, {10*all*tokenBytes - 1, checkEvery}} {
		x := &tens{}
		_, err := sequencesWithin(c.free, fakes.QuietHost(t), &basemodel.Model{Renderer: x}, "data.jsonl",
			make([]dataset.Row, all), 100, false)
		if (err != nil) != (c.rendered < all) || x.rendered != c.rendered {
			t.Errorf("%+v: %d rendered, %v", c, x.rendered, err)
		}
	}
}

// Rows that the memory will not hold are refused by the first of them, with numbers; those that it holds just so are
// not.
func TestRowsThatMemoryDoesNotHold(t *testing.T) {
	for _, c := range []struct {
		each int // tokens of a row
		free int64
		at   int // the row before which it is refused; 0: it is not
	}{
		{100, 1000 * 100 * tokenBytes, 0},
		{100, 1000*100*tokenBytes - 1, checkEvery},
		{101, 1000 * 100 * tokenBytes, checkEvery},
		{32768, 3 << 20, checkEvery},
		{0, 0, 0},
	} {
		r := Rendering{One: "row", All: 1000, Free: c.free}
		refused := 0
		for i := range r.All {
			if err := r.Refuse(i, "data.jsonl"); err != nil {
				if refused = i; fault.CodeOf(err) != fault.CodeExhausted ||
					!strings.Contains(err.Error(), "1000 rows") || !strings.Contains(err.Error(), "GiB are free") {
					t.Error(err)
				}
				break
			}
			r.Tokens += c.each
		}
		if refused != c.at {
			t.Errorf("%+v: refused before row %d", c, refused)
		}
	}
}

// strict refuses some conversations, and renders the others as ten tokens.
type strict struct{ render.Renderer }

func (strict) Sequences(messages []chat.Message, _ int, _ []chat.Tool) ([]render.Sequence, error) {
	switch messages[0].Content {
	case "raise":
		return nil, errors.New("the template raises: roles must alternate\nin line 7")
	case "inside":
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot render the chat template",
			Err: errors.New("TemplateError: no such role\n   ^")}
	case "unread":
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot render a message",
			Why: "its call is read as another"}
	}
	return []render.Sequence{{IDs: make([]int32, 10), Trained: make([]bool, 10)}}, nil
}

// Rows that cannot be rendered end the run, and the error names the flag; with it they are left out, told of and
// counted.
func TestRowsThatCannotBeRendered(t *testing.T) {
	for name, c := range map[string]struct {
		rows []string
		skip bool
		kept int
		what string   // of the error
		said []string // in what is told
	}{
		"all can":          {[]string{"a", "b"}, false, 2, "", nil},
		"one, not skipped": {[]string{"a", "raise"}, false, 0, Unrendered, nil},
		"one":              {[]string{"a", "raise", "b"}, true, 2, "", []string{"left out data.jsonl:2: it cannot be rendered: the template raises: roles must alternate"}},
		"five of one kind": {[]string{"raise", "raise", "a", "raise", "raise", "raise"}, true, 1, "",
			[]string{"left out 5 rows", "data.jsonl:1, data.jsonl:2, data.jsonl:4 and 2 more"}},
		"of two kinds": {[]string{"raise", "a", "unread", "unread"}, true, 1, "",
			[]string{"left out data.jsonl:1", "left out 2 rows: it cannot be rendered: its call is read as another"}},
		"inside of an error":   {[]string{"inside", "a"}, true, 1, "", []string{"left out data.jsonl:1: it cannot be rendered: TemplateError: no such role\n"}},
		"all of them":          {[]string{"raise", "unread"}, true, 0, "no conversation can be learnt from", []string{"left out data.jsonl:1", "left out data.jsonl:2"}},
		"all, and not skipped": {[]string{"raise", "unread"}, false, 0, Unrendered, nil},
	} {
		var rows []dataset.Row
		for i, said := range c.rows {
			rows = append(rows, dataset.Row{File: "data.jsonl", Line: i + 1, Messages: []chat.Message{
				{Role: chat.User, Content: said},
			}})
		}
		var heard bytes.Buffer
		h, told := &host.Host{Talk: sanitize.New(&heard)}, heard.String
		got, err := sequencesWithin(1<<40, h, &basemodel.Model{Renderer: strict{}}, "data.jsonl", rows, 100, c.skip)
		for i, x := range got { // a place is told with a row, as where training leaves it out
			line := int(x.Place[len("data.jsonl:")] - '1')
			if c.rows[line] != "a" && c.rows[line] != "b" || i > 0 && x.Place == got[i-1].Place {
				t.Errorf("%s: row %d is from %q", name, i, x.Place)
			}
		}
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
	if text := fmt.Sprint(OrSkip(&fault.Error{Code: fault.CodeUsage, What: Unrendered,
		Next: "correct the row"})); !strings.Contains(text, "--skip-bad") {
		t.Error(text)
	}
}
