package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"hone/internal/fault"
)

// withoutRights makes a folder in a tree read-only and runs f as the tree's owner, which is not root: root may write
// everywhere.
func withoutRights(t *testing.T, tree, folder string, f func()) {
	t.Helper()
	const nobody = 65534
	if os.Geteuid() == 0 {
		must(t, os.Chmod(filepath.Dir(tree), 0o755)) // of t.TempDir
		must(t, filepath.WalkDir(tree, func(path string, _ fs.DirEntry, err error) error {
			must(t, err)
			return os.Lchown(path, nobody, nobody)
		}))
		runtime.LockOSThread() // Linux checks rights on files by thread
		defer runtime.UnlockOSThread()
		must(t, syscall.Setfsuid(nobody))
		defer func() { must(t, syscall.Setfsuid(0)) }()
	}
	must(t, os.Chmod(folder, 0o555))
	defer func() { must(t, os.Chmod(folder, 0o755)) }()
	f()
}

// What cannot be written in a read-only folder is said with the folder and what to do, and what is there stays.
func TestReadOnlyFolders(t *testing.T) {
	nothing := func(*Dir) {}
	cut := func(d *Dir) {
		must(t, os.Truncate(filepath.Join(d.Path, "checkpoints/grpo_step_2/adapter/weights"), 0))
	}
	spoil := func(file string) func(*Dir) {
		return func(d *Dir) {
			must(t, d.Close())
			must(t, os.Mkdir(filepath.Join(d.Path, quarantineDir), 0o755))
			must(t, os.WriteFile(filepath.Join(d.Path, file), bytes.Repeat([]byte("not as written\n"), 99), 0o600))
		}
	}
	publish := func(step int) func(d *Dir) error {
		return func(d *Dir) error {
			_, err := d.PublishCheckpoint("grpo", step, adapter("x"))
			return err
		}
	}
	open := func(d *Dir) error {
		_, err := Open(d.Path, OpenOptions{})
		return err
	}
	begin := func(name string) func(d *Dir) error {
		return func(d *Dir) error {
			_, err := Create(filepath.Join(filepath.Dir(d.Path), name), nil, nil)
			return err
		}
	}
	for name, c := range map[string]struct {
		folder  string // below the run's parent
		prepare func(*Dir)
		do      func(*Dir) error
		says    string
	}{
		"a new run":                           {".", nothing, begin("new"), "cannot create the run directory"},
		"a run in folders that are not there": {".", nothing, begin("new/run"), "cannot create the run directory"},
		"a ledger": {"run/logs", nothing, func(d *Dir) error {
			_, err := OpenLedger(filepath.Join(d.Path, logsDir, "new.db"))
			return err
		}, "cannot open the ledger"},
		"one more checkpoint":                   {"run/checkpoints", nothing, publish(3), "cannot write the checkpoint"},
		"a damaged checkpoint, published again": {"run/checkpoints", cut, publish(2), "cannot move a broken checkpoint away"},
		"a damaged checkpoint, looked for": {"run/checkpoints", cut, func(d *Dir) error {
			_, _, _, err := d.LatestCheckpoint("grpo")
			return err
		}, "cannot move a broken checkpoint away"},
		"an old checkpoint": {"run/checkpoints", nothing, func(d *Dir) error { return KeepLast(d.Path, "grpo", 1) },
			"cannot delete an old checkpoint"},
		"one more input": {"run", nothing, func(d *Dir) error { return d.AddInput(Input{"more.json", []byte("{}")}) },
			"cannot keep an input of the run"},
		"a run, opened again": {"run/logs", func(d *Dir) { must(t, d.Close()) }, open, "cannot open the run"},
		"a damaged export":    {"run/quarantine", spoil(metricsFile), open, "cannot move a damaged file away"},
		"a damaged ledger":    {"run/quarantine", spoil(ledgerFile), open, "cannot move the damaged ledger away"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			d, err := Create(filepath.Join(parent, "run"), nil, nil)
			must(t, err)
			t.Cleanup(func() { d.Close() })
			must(t, d.PutMetric("grpo", 1, json.RawMessage(`{"loss":1}`)))
			for _, step := range []int{1, 2} {
				must(t, publish(step)(d))
			}
			c.prepare(d)
			withoutRights(t, parent, filepath.Join(parent, c.folder), func() { err = c.do(d) })
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code == 0 || f.What != c.says || f.Next == "" ||
				!strings.HasPrefix(f.Where, parent) {
				t.Errorf("%v", err)
			}
			if all, err := Checkpoints(d.Path, ""); err != nil || len(all) != 2 {
				t.Errorf("checkpoints %v, %v", all, err)
			}
		})
	}
}
