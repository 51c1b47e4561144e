package inputs

import (
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/testing/hosttest"
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
		_, err := sequencesWithin(c.free, hosttest.Quiet(t), &basemodel.Model{Renderer: x}, "data.jsonl", make([]dataset.Row, all), 100, false)
		if (err != nil) != (c.rendered < all) || x.rendered != c.rendered {
			t.Errorf("%+v: %d rendered, %v", c, x.rendered, err)
		}
	}
}

// Rows that the memory will not hold are refused by the first of them, with numbers; those that it holds just so are not.
func TestRowsThatMemoryDoesNotHold(t *testing.T) {
	for _, c := range []struct {
		each int // tokens of a row
		free int64
		at   int // the row before which it is refused; 0: it is not
	}{{100, 1000 * 100 * tokenBytes, 0}, {100, 1000*100*tokenBytes - 1, checkEvery}, {101, 1000 * 100 * tokenBytes, checkEvery}, {32768, 3 << 20, checkEvery}, {0, 0, 0}} {
		r := Rendering{One: "row", All: 1000, Free: c.free}
		refused := 0
		for i := range r.All {
			if err := r.Refuse(i, "data.jsonl"); err != nil {
				if refused = i; fault.CodeOf(err) != fault.CodeExhausted || !strings.Contains(err.Error(), "1000 rows") || !strings.Contains(err.Error(), "GiB are free") {
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
