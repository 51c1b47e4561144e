package job

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/run"
)

// A run of few steps on a CPU's plug-in pads its rows to fewer lengths than one of many, and so compiles fewer programs.
func TestFewStepsCompileFewPrograms(t *testing.T) {
	for _, c := range []struct {
		plugin string
		steps  int
		fewer  bool
	}{{"pjrt_c_api_cpu_plugin.so", 2, true}, {"pjrt_c_api_cpu_plugin.so", 500, false}, {"pjrt_c_api_cuda_plugin.so", 2, false}, {"", 2, false}} {
		l := SFTPlan{Model: &basemodel.Model{Plugin: basemodel.Plugin{Path: c.plugin}}}
		for n := int32(80); n <= 500; n += 60 {
			s := batch.Sequence{IDs: make([]int32, n), Trained: make([]bool, n)}
			s.IDs[0], s.Trained[n-1] = n, true
			l.Sequences = append(l.Sequences, s)
		}
		x := config.Default()
		x.SFT.Epochs, x.SFT.Steps, x.SFT.BatchSize = 500, c.steps, 4
		var steps []batch.Batch
		for _, picked := range l.stage(x).Pass(len(l.Sequences), 0) {
			steps = append(steps, batch.New(pick(l.Sequences, picked)))
		}
		before := basemodel.RowProgramsOf(x.Engine, steps)
		multiple := l.fewPrograms(&x, steps)
		if after := basemodel.RowProgramsOf(x.Engine, steps); (multiple > 0) != c.fewer || (after < before) != c.fewer || x.Engine.RowMultiple != multiple {
			t.Errorf("%+v: a multiple of %d, %d programs for %d", c, multiple, after, before)
		}
	}
}

// A run says what it is at before its first step ends, which may take minutes also where it is resumed, and nothing when it is over.
func TestARunIsHeardOf(t *testing.T) {
	dir, err := run.Create(t.TempDir()+"/run", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var said bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		e := Env{Host: &host.Host{Talk: sanitize.New(&said), Still: &host.Still{}}}
		track := e.StartTracking(config.Metrics{}, dir, Tracked{Main: "sft"})
		time.Sleep(31 * time.Second)
		track.Close(nil)
		time.Sleep(time.Hour)
	})
	if strings.Count(said.String(), "still running sft, for 30s\n") != 1 || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("it says %s", &said)
	}
}
