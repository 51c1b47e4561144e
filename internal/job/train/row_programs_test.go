package train

import (
	"testing"
	"time"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/learn/batch"
	"hone/internal/learn/modelfile"
)

// A run of few steps pads its rows to fewer lengths than one of many, and so compiles fewer programs. On a GPU more
// steps are few.
func TestFewStepsCompileFewPrograms(t *testing.T) {
	for _, c := range []struct {
		plugin string
		steps  int
		fewer  bool
	}{
		{"pjrt_c_api_cpu_plugin.so", 2, true},
		{"pjrt_c_api_cpu_plugin.so", 500, false},
		{"pjrt_c_api_cuda_plugin.so", 2, true},
		{"pjrt_c_api_cuda_plugin.so", 50000, false},
		{"", 2, false},
	} {
		l := Plan{Model: &basemodel.Model{File: &modelfile.Model{Config: modelfile.Config{NumLayers: 28, Hidden: 1536,
			Intermediate: 8960, NumHeads: 12, NumKVHeads: 2, HeadDim: 128, VocabSize: 151936}},
			Plugin: basemodel.Plugin{Path: c.plugin}}}
		scale := int32(1)
		if l.Model.Plugin.IsCUDA() {
			scale = 12
		}
		for n := 80 * scale; n <= 500*scale; n += 60 * scale {
			s := batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n)}
			s.IDs[0], s.Trained[n-1] = n, true
			l.Sequences = append(l.Sequences, s)
		}
		x := config.Default()
		x.SFT.Epochs, x.SFT.Steps, x.SFT.BatchSize = 50000, c.steps, 4
		var steps []batch.Batch
		for _, picked := range l.stage(x).Pass(len(l.Sequences), 0) {
			steps = append(steps, batch.New(pick(l.Sequences, picked)))
		}
		before, _ := basemodel.RowProgramsOf(x.Engine, l.Model.Plugin.IsCUDA(), steps)
		multiple := l.fewPrograms(&x, steps)
		if after, _ := basemodel.RowProgramsOf(x.Engine, l.Model.Plugin.IsCUDA(), steps); (multiple > 0) != c.fewer ||
			(after < before) != c.fewer || x.Engine.RowMultiple != multiple {
			t.Errorf("%+v: a multiple of %d, %d programs for %d", c, multiple, after, before)
		}
	}
}

// Rows of any lengths, few steps: none is padded beyond the next multiple of 64 from the longest, and about how long it
// takes is said beforehand.
func TestShortRowsStayShort(t *testing.T) {
	for _, c := range []struct {
		name    string
		lengths []int
		steps   int
		longest int // that a row may be padded to
	}{
		{"all alike", []int{90, 91, 92, 93}, 3, 128}, {"from 60 to 280", []int{60, 100, 140, 180, 220, 260, 280}, 3,
			320}, {"one longer", []int{70, 71, 72, 73, 74, 75, 300}, 1, 320},
		{"just beyond a multiple", []int{65, 129, 193, 257}, 3, 320},
		{"just below a multiple", []int{64, 128, 192, 256}, 3, 256}, {"one row", []int{33}, 1, 64},
		{"up to 448", []int{80, 200, 320, 448}, 1, 448}, {"up to 512", []int{80, 200, 320, 512}, 1, 512},
		{"beyond", []int{80, 600}, 1, 640},
	} {
		l := Plan{Model: &basemodel.Model{Plugin: basemodel.Plugin{Path: "pjrt_c_api_cpu_plugin.so"}}}
		for i, n := range c.lengths {
			s := batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n)}
			s.IDs[0], s.Trained[n-1] = int32(i+1), true
			l.Sequences = append(l.Sequences, s)
		}
		x := config.Default()
		x.SFT.Epochs, x.SFT.Steps, x.SFT.BatchSize, x.Engine.Packing = 500, c.steps, 4, "off"
		steps := []batch.Batch{batch.New(l.Sequences)}
		l.fewPrograms(&x, steps)
		longest := batch.New([]batch.Sequence{l.Sequences[len(l.Sequences)-1]})
		if _, positions := basemodel.RowProgramsOf(x.Engine, l.Model.Plugin.IsCUDA(),
			[]batch.Batch{longest}); positions > c.longest {
			t.Errorf("%s: padded to %d tokens, want %d at most", c.name, positions, c.longest)
		}
	}
}

// The time that is said beforehand is rough, and says what it depends on.
func TestTimeText(t *testing.T) {
	for want, got := range map[string]string{
		"4 steps on 20736 tokens with padding, and at most 3 programs to compile: about 5 minutes on 2 cores; fast " +
			"and free ones take half of it, busy ones two or three times": timeText(4, 3, 20736, 5*time.Minute, 2, false),
		"1 step on 64 tokens with padding, and at most 1 program to compile: at most about 10 seconds on 1 core; " +
			"fast and free ones take half of it, busy ones two or three times": timeText(1, 1, 64, time.Second, 1, true),
	} {
		if got != want {
			t.Errorf("it says\n%s\nwant\n%s", got, want)
		}
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "10 seconds", 34 * time.Second: "30 seconds", 61 * time.Second: "1 minute",
		241 * time.Second: "4 minutes", 119 * time.Minute: "119 minutes", 150 * time.Minute: "3 hours",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
