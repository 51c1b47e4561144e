package run

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hone/internal/fault"
)

func adapter(content string) func(string) error {
	return func(tmp string) error {
		if err := os.MkdirAll(filepath.Join(tmp, "adapter"), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(tmp, "adapter", "weights"), []byte(content), 0o644)
	}
}

func latest(t *testing.T, d *Dir) (int, []Quarantined) {
	t.Helper()
	c, ok, moved, err := d.LatestCheckpoint("grpo")
	must(t, err)
	if !ok {
		return -1, moved
	}
	return c.Step, moved
}

func TestPublishThenLatest(t *testing.T) {
	d := create(t)
	if step, moved := latest(t, d); step != -1 || moved != nil {
		t.Fatalf("latest of nothing = %d, %v", step, moved)
	}
	for _, step := range []int{2, 10, 9} {
		_, err := d.PublishCheckpoint("grpo", step, adapter(fmt.Sprint(step)))
		must(t, err)
	}
	_, err := d.PublishCheckpoint("sft", 99, adapter("another stage"))
	must(t, err)
	if step, moved := latest(t, d); step != 10 || moved != nil {
		t.Errorf("latest = %d, %v, want 10: steps are numbers, not text", step, moved)
	}
	called := false
	c, err := d.PublishCheckpoint("grpo", 10, func(string) error { called = true; return nil })
	must(t, err)
	if called || read(t, filepath.Join(c.Path, "adapter", "weights")) != "10" {
		t.Error("an intact checkpoint was written again")
	}
	for _, c := range []struct {
		also []int
		want string
	}{{[]int{2, 0, 77}, "[2 9 10 99]"}, {nil, "[9 10 99]"}} {
		must(t, KeepLast(d.Path, "grpo", 2, c.also...))
		all, err := Checkpoints(d.Path, "")
		must(t, err)
		var got []int
		for _, c := range all {
			got = append(got, c.Step)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("kept %v beside %v, want %s", got, c.also, c.want)
		}
	}
	if _, err := d.PublishCheckpoint("../up", 1, adapter("x")); err == nil {
		t.Error("a stage with a slash was accepted")
	}
}

func TestDamagedCheckpointsAreQuarantined(t *testing.T) {
	weights := filepath.Join("adapter", "weights")
	for name, damage := range map[string]func(t *testing.T, path string){
		"a flipped byte": func(t *testing.T, path string) {
			must(t, os.WriteFile(filepath.Join(path, weights), []byte("9!"), 0o644))
		},
		"a truncated file": func(t *testing.T, path string) { must(t, os.Truncate(filepath.Join(path, weights), 0)) },
		"a missing file":   func(t *testing.T, path string) { must(t, os.Remove(filepath.Join(path, weights))) },
		"no manifest":      func(t *testing.T, path string) { must(t, os.Remove(filepath.Join(path, manifestFile))) },
		"a manifest that names a file outside": func(t *testing.T, path string) {
			must(t, os.WriteFile(filepath.Join(path, manifestFile),
				[]byte(`{"files":{"../x":{"size":1,"sha256":""}}}`), 0o644))
		},
		"an empty manifest": func(t *testing.T, path string) {
			must(t, os.WriteFile(filepath.Join(path, manifestFile), []byte(`{}`), 0o644))
		},
		"a manifest made anew over a changed file": func(t *testing.T, path string) {
			must(t, os.WriteFile(filepath.Join(path, weights), []byte("9!"), 0o644))
			sums, err := sumAndSync(filepath.Join(path, "adapter"))
			must(t, err)
			text := manifest{Files: map[string]fileSum{"adapter/weights": sums["weights"]}}.text()
			must(t, os.WriteFile(filepath.Join(path, manifestFile), text, 0o644))
		},
		"a file that the manifest does not name": func(t *testing.T, path string) {
			must(t, os.WriteFile(filepath.Join(path, "adapter", "more"), []byte("x"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := create(t)
			_, err := d.PublishCheckpoint("grpo", 1, adapter("01"))
			must(t, err)
			c, err := d.PublishCheckpoint("grpo", 2, adapter("02"))
			must(t, err)
			damage(t, c.Path)
			step, moved := latest(t, d)
			if step != 1 || len(moved) != 1 || moved[0].From != c.Path || moved[0].Why == "" {
				t.Fatalf("latest = %d, moved %v", step, moved)
			}
			if _, err := os.Stat(moved[0].To); err != nil ||
				filepath.Dir(moved[0].To) != filepath.Join(d.Path, quarantineDir) {
				t.Errorf("moved to %s: %v", moved[0].To, err)
			}
			if _, err := d.PublishCheckpoint("grpo", 2, adapter("02")); err != nil {
				t.Error(err)
			}
			if step, moved := latest(t, d); step != 2 || moved != nil {
				t.Errorf("published again: latest = %d, moved %v", step, moved)
			}
		})
	}
}

func TestFailedPublishLeavesNothing(t *testing.T) {
	d := create(t)
	_, err := d.PublishCheckpoint("grpo", 1, func(tmp string) error {
		return errors.Join(adapter("half")(tmp), fmt.Errorf("write: %w", syscall.ENOSPC))
	})
	if fault.CodeOf(err) != fault.CodeExhausted {
		t.Errorf("error = %v, code %d", err, fault.CodeOf(err))
	}
	left, err := os.ReadDir(filepath.Join(d.Path, checkpointsDir))
	must(t, err)
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A checkpoint that is damaged is put aside, each time under a name of its own, and written anew.
func TestPublishReplacesWhatIsDamaged(t *testing.T) {
	d := create(t)
	for n := range 3 {
		c, err := d.PublishCheckpoint("grpo", 1, adapter(fmt.Sprint("good ", n)))
		must(t, err)
		weights := filepath.Join(c.Path, "adapter", "weights")
		if got := read(t, weights); got != fmt.Sprint("good ", n) {
			t.Errorf("it holds %q", got)
		}
		must(t, os.WriteFile(weights, []byte("damaged"), 0o644))
	}
	aside, err := os.ReadDir(filepath.Join(d.Path, quarantineDir))
	must(t, err)
	if len(aside) != 2 {
		t.Errorf("put aside: %v", aside)
	}
}

// What stands in the way of a checkpoint is an error that says it, and nothing half is left.
func TestPublishInTheWay(t *testing.T) {
	writing := func(also func(d *Dir, tmp string) error) func(*testing.T, *Dir) func(string) error {
		return func(_ *testing.T, d *Dir) func(string) error {
			return func(tmp string) error { return errors.Join(adapter("x")(tmp), also(d, tmp)) }
		}
	}
	for name, c := range map[string]struct {
		stage string
		spoil func(*testing.T, *Dir) func(string) error
		says  string
	}{
		"nothing is written": {"grpo", func(*testing.T, *Dir) func(string) error {
			return func(string) error { return nil }
		}, "it holds no file"},
		"a file has the folder's name": {"grpo", func(t *testing.T, d *Dir) func(string) error {
			must(t, os.WriteFile(filepath.Join(d.Path, checkpointsDir), nil, 0o644))
			return adapter("x")
		}, "not a directory"},
		"the name is too long": {strings.Repeat("grpo", 60), writing(func(*Dir, string) error { return nil }),
			"file name too long"},
		"a link": {"grpo", writing(func(_ *Dir, tmp string) error {
			return os.Symlink("adapter", filepath.Join(tmp, "weights"))
		}), "weights is not a regular file"},
		"a folder stands where the manifest goes": {"grpo", writing(func(_ *Dir, tmp string) error {
			return os.MkdirAll(filepath.Join(tmp, manifestFile, "x"), 0o755)
		}), "file exists"},
		"another took its name": {"grpo", writing(func(d *Dir, tmp string) error {
			return os.MkdirAll(filepath.Join(d.Path, checkpointsDir, "grpo_step_1", "x"), 0o755)
		}), "file exists"},
		"the ledger is closed": {"grpo", writing(func(d *Dir, _ string) error { return d.Ledger.Close() }), "closed"},
		"the ledger is read-only": {"grpo", writing(func(d *Dir, _ string) error {
			_, err := d.Ledger.db.Exec("PRAGMA query_only = 1")
			return err
		}), "readonly database"},
	} {
		d := create(t)
		_, err := d.PublishCheckpoint(c.stage, 1, c.spoil(t, d))
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code == 0 || f.Where == "" ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if left, _ := filepath.Glob(filepath.Join(d.Path, checkpointsDir, unfinished+"*")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
		all, _ := Checkpoints(d.Path, c.stage)
		if len(all) > 0 && name != "another took its name" {
			t.Errorf("%s: published: %v", name, all)
		}
	}
}

// Where the folder of checkpoints is a file, nobody takes it for a run without checkpoints.
func TestCheckpointsThatCannotBeListed(t *testing.T) {
	d := create(t)
	root := filepath.Join(d.Path, checkpointsDir)
	must(t, os.WriteFile(root, nil, 0o644))
	for name, do := range map[string]func() error{
		"list":   func() error { _, err := Checkpoints(d.Path, ""); return err },
		"keep":   func() error { return KeepLast(d.Path, "grpo", 1) },
		"latest": func() error { _, _, _, err := d.LatestCheckpoint("grpo"); return err },
	} {
		if f, ok := errors.AsType[*fault.Error](do()); !ok || f.Where != root ||
			f.What != "cannot list the checkpoints" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A ledger that cannot be read says nothing of a checkpoint, which stays where it is.
func TestLatestWithoutALedger(t *testing.T) {
	d := create(t)
	c, err := d.PublishCheckpoint("grpo", 1, adapter("good"))
	must(t, err)
	must(t, d.Ledger.Close())
	if _, ok, moved, err := d.LatestCheckpoint("grpo"); ok || err == nil || len(moved) > 0 {
		t.Errorf("%v, %v, %v", ok, moved, err)
	}
	if got := read(t, filepath.Join(c.Path, "adapter", "weights")); got != "good" {
		t.Errorf("it holds %q", got)
	}
}

// crashChild stores and publishes without end, and says what is durable.
func crashChild(path string) {
	d, err := Create(path, nil, nil)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for step := 0; ; step++ {
		_, err1 := d.PutTrajectory(TrajectoryRow{ID: fmt.Sprint(step), Stage: "grpo", Step: step,
			JSON: json.RawMessage(`{"step":1}`)})
		fmt.Println("row", step)
		err3 := d.PutScores([]ScoreRow{{fmt.Sprint(step), json.RawMessage(`{"reward":1}`)}})
		fmt.Println("scored", step)
		_, err2 := d.PublishCheckpoint("grpo", step, func(tmp string) error {
			for i := range 20 {
				if err := os.WriteFile(filepath.Join(tmp, fmt.Sprint(i)), make([]byte, 50_000), 0o644); err != nil {
					return err
				}
			}
			return nil
		})
		fmt.Println("published", step)
		if err := errors.Join(err1, err2, err3); err != nil {
			fmt.Println("error", err)
			return
		}
	}
}

func TestKilled(t *testing.T) {
	for _, numLines := range []int{1, 2, 3, 5, 8} {
		path := filepath.Join(t.TempDir(), "run")
		self, err := os.Executable()
		must(t, err)
		cmd := exec.Command(self, "crash-child", path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		rows, scored, published := -1, -1, -1
		for scan, n := bufio.NewScanner(out), 0; n < numLines && scan.Scan(); n++ {
			what, step, _ := strings.Cut(scan.Text(), " ")
			switch what {
			case "row":
				fmt.Sscan(step, &rows)
			case "scored":
				fmt.Sscan(step, &scored)
			case "published":
				fmt.Sscan(step, &published)
			default:
				t.Error(scan.Text())
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // "signal: killed" is the point

		d, err := Open(path, OpenOptions{}) // the kernel let go of the lock
		must(t, err)
		for step := range rows + 1 {
			row, ok, err := d.Ledger.Trajectory(fmt.Sprint(step))
			if !ok || err != nil {
				t.Errorf("row %d was acknowledged and is gone: %v", step, err)
			}
			if step <= scored && string(row.Score) != `{"reward":1}` {
				t.Errorf("the score of row %d was acknowledged and is %s", step, row.Score)
			}
		}
		c, ok, moved, err := d.LatestCheckpoint("grpo")
		must(t, err)
		if len(moved) > 0 || ok != (c.Path != "") || (published >= 0 && c.Step < published) {
			t.Errorf("published %d, latest %v %v, quarantined %v", published, ok, c, moved)
		}
		must(t, d.Close())
	}
}

// A process killed while it writes leaves an unfinished folder, which is never loaded and does not hinder.
func TestUnfinishedFolderIsIgnored(t *testing.T) {
	d := create(t)
	half := filepath.Join(d.Path, checkpointsDir, unfinished+"grpo_step_3")
	must(t, os.MkdirAll(half, 0o755))
	must(t, os.WriteFile(filepath.Join(half, "weights"), []byte("ha"), 0o644))
	if step, moved := latest(t, d); step != -1 || moved != nil {
		t.Fatalf("latest = %d, moved %v", step, moved)
	}
	c, err := d.PublishCheckpoint("grpo", 3, adapter("whole"))
	must(t, err)
	if _, err := os.Stat(filepath.Join(c.Path, "weights")); err == nil {
		t.Error("the killed process's file is in the new checkpoint")
	}
}
