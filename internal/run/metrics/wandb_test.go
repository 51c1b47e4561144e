package metrics

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	wandbPython = flag.String("wandb", "", "a Python with wandb, in the place of the one that stands for it")
	wandbFolder = flag.String("wandb-dir", "", "where the real one's files are left")
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

func wandbRow(stage string, step int, values map[string]float64) Row {
	return Row{Stage: stage, Step: step, Values: values}
}

// driveWandB logs a run that is stopped and goes on, as hone does.
func driveWandB(t *testing.T, o WandBOptions) (warned []string) {
	t.Helper()
	o.Project, o.Name, o.Mode, o.Main, o.Stages, o.Config =
		"hone contract", "run1", "offline", "grpo", []string{"sft"}, map[string]string{"grpo.steps": "4"}
	o.Log = &bytes.Buffer{}
	file := filepath.Join(t.TempDir(), "wandb.json")
	warn := func(text string) { warned = append(warned, text) }
	rows := []Row{wandbRow("grpo", 0, map[string]float64{"reward": 0.5}),
		wandbRow("grpo", 1, map[string]float64{"reward": 0.625})}
	Follow("wandb", file, NewWandB(o), rows, warn).Close(Stopped)
	rows = append(rows, wandbRow("validation", 2, map[string]float64{"success": 1}),
		wandbRow("sft", 0, map[string]float64{"loss": 1e-9}))
	Follow("wandb", file, NewWandB(o), rows, warn).Close(Finished)
	return warned
}

const axes = `{"axis": "train/global_step", "metric": "eval/*"}
{"axis": "sft/global_step", "metric": "sft/*"}
{"axis": "train/global_step", "metric": "train/*"}
`

const wandbInit = `{"id": null, "init": {"config": {"grpo.steps": "4"}, "mode": "offline", "name": "run1", "project": "hone contract"}}
` + axes + `{"row": {"train/global_step": 0, "train/reward": 0.5}}
{"row": {"train/global_step": 1, "train/reward": 0.625}}
{"exit": 1}
{"id": "made", "init": {"config": {"grpo.steps": "4"}, "mode": "offline", "name": "run1", "project": "hone contract", "resume": "allow"}}
` + axes + `{"row": {"eval/success": 1, "train/global_step": 2}}
{"row": {"sft/global_step": 0, "sft/loss": 1e-09}}
{"exit": 0}
`

// fakeWandB is a Python in which wandb is the one of testdata.
func fakeWandB(t *testing.T) (o WandBOptions, record string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	stands, err := filepath.Abs("testdata/wandb/fake")
	if err != nil {
		t.Fatal(err)
	}
	record = filepath.Join(t.TempDir(), "record")
	return WandBOptions{Python: python, Dir: t.TempDir(),
		Env: append(os.Environ(), "PYTHONPATH="+stands, "PYTHONDONTWRITEBYTECODE=1", "WANDB_RECORD="+record)}, record
}

// wandb is asked for what the real one was seen to take (testdata/wandb/parity.py): each step once, over the axis of
// its stage.
func TestBridge(t *testing.T) {
	if *wandbPython != "" {
		if warned := driveWandB(t,
			WandBOptions{Python: *wandbPython, Dir: *wandbFolder, Env: os.Environ()}); warned != nil {
			t.Errorf("%q", warned)
		}
	}
	o, record := fakeWandB(t)
	warned := driveWandB(t, o)
	got, err := os.ReadFile(record)
	if err != nil || string(got) != wandbInit || warned != nil {
		t.Errorf("%s\nwant\n%s\n%q, %v", got, wandbInit, warned, err)
	}
}

// A child that dies is begun again with the run that it had, and a Python without wandb is told of.
func TestBridgeThatFails(t *testing.T) {
	o, record := fakeWandB(t)
	o.Main, o.Log = "grpo", &bytes.Buffer{}
	b := NewWandB(o)
	if id, err := b.Open(t.Context(), ""); id != "made" || err != nil {
		t.Fatal(id, err)
	}
	died := []Row{wandbRow("grpo", 0, map[string]float64{"die": 1})}
	if err := b.Send(t.Context(), died); err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("%v", err)
	}
	if err := b.Send(t.Context(), died); err != nil {
		t.Error(err)
	}
	if err := b.Close(t.Context(), Failed); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(record); strings.Count(string(got), `"id": "made"`) != 1 ||
		strings.Count(string(got), `"row"`) != 1 {
		t.Errorf("%s", got)
	}
	o.Env = append(os.Environ(), "PYTHONPATH="+t.TempDir(), "PYTHONNOUSERSITE=1", "PYTHONHOME="+t.TempDir())
	if _, err := NewWandB(o).Open(t.Context(), ""); err == nil || !strings.Contains(err.Error(), o.Python+" ended: ") {
		t.Errorf("%v", err)
	}
	o.Python = filepath.Join(t.TempDir(), "python")
	if _, err := NewWandB(o).Open(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "python") {
		t.Errorf("%v", err)
	}
}

// A Python that does not end, or leaves a process that has its pipes, holds nobody up.
func TestNobodyWaitsForPython(t *testing.T) {
	begin := func(t *testing.T) (b *WandB, record string) {
		o, record := fakeWandB(t)
		o.Main, o.Log = "grpo", &bytes.Buffer{}
		b = NewWandB(o)
		b.grace = time.Millisecond
		if _, err := b.Open(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			text, _ := os.ReadFile(record + ".service")
			if pid, err := strconv.Atoi(string(text)); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		})
		return b, record
	}
	t.Run("a process lives on", func(t *testing.T) {
		b, _ := begin(t)
		if err := b.Send(t.Context(),
			[]Row{wandbRow("grpo", 0, map[string]float64{"service": 1})}); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(t.Context(), Finished); err != nil {
			t.Error(err)
		}
	})
	t.Run("a process lives on, and Python does not", func(t *testing.T) {
		b, _ := begin(t)
		if err := b.Send(t.Context(),
			[]Row{wandbRow("grpo", 0, map[string]float64{"service": 1, "die": 1})}); err == nil {
			t.Error("that is no error")
		}
	})
	t.Run("Python does not end", func(t *testing.T) {
		b, record := begin(t)
		if err := b.Send(t.Context(), []Row{wandbRow("grpo", 0, map[string]float64{"linger": 1})}); err != nil {
			t.Fatal(err)
		}
		ctx, late := context.WithCancel(t.Context())
		go func() {
			defer late()
			for t.Context().Err() == nil {
				if _, err := os.Stat(record + ".lingers"); err == nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		if err := b.Close(ctx, Finished); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
