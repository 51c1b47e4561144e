package train

import (
	"testing"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/testing/fakes"
	"hone/internal/text/render"
)

// tens renders all as ten tokens.
type tens struct {
	render.Renderer
	rendered int
}

func (x *tens) Sequences([]chat.Message, int, []chat.Tool) ([]render.Sequence, error) {
	x.rendered++
	return []render.Sequence{{IDs: make([]int32, 10), Trained: make([]bool, 10)}}, nil
}

// What is rendered counts: of pairs that the memory will not hold most are never rendered.
func TestWhatIsRenderedIsCounted(t *testing.T) {
	const checked, all = 64, 640
	const bytes = 2 * 10 * all * (4 + 1) // of both sides: ids, and whether they are trained
	for free, want := range map[int64]int{bytes: all, bytes - 1: checked} {
		x := &tens{}
		l := dpoPlan{Plan: Plan{Model: &basemodel.Model{Renderer: x}}}
		l.Config.Model.Context = 100
		_, err := l.render(fakes.QuietHost(t), free, "pairs.jsonl", make([]dataset.Pair, all))
		if (err != nil) != (want < all) || x.rendered != 2*want {
			t.Errorf("%d bytes free: %d rendered, %v", free, x.rendered, err)
		}
	}
}
