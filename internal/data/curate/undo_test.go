package curate

import (
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hone/internal/data/dataset"
)

// An undo that would make a later operation change other messages than it did is refused, and names what to undo first.
func TestUndoRetargetsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second Op
		refused       bool
	}{
		"a message has another number":   {Op{Do: DropSystem}, Op{Do: EditText, Message: 0, Text: "1st"}, true},
		"a step has another number":      {Op{Do: DeleteStep, Message: 6}, Op{Do: DeleteStep, Message: 6}, true},
		"a turn has another number":      {Op{Do: DeleteTurn, Turn: 1}, Op{Do: EditText, Message: 1, Text: "2nd"}, true},
		"the same message":               {Op{Do: EditText, Message: 1, Text: "1"}, Op{Do: EditText, Message: 1, Text: "2"}, true},
		"nothing was changed":            {Op{Do: EditText, Message: 1, Text: "1"}, Op{Do: EditText, Message: 1, Text: "1"}, true},
		"another message":                {Op{Do: EditText, Message: 1, Text: "1"}, Op{Do: EditText, Message: 10, Text: "2"}, false},
		"the turn has its number still":  {Op{Do: DeleteStep, Message: 2}, Op{Do: DeleteTurn, Turn: 2}, false},
		"a rating is of the trace whole": {Op{Do: DropSystem}, Op{Do: Rate, Rating: 3}, false},
	} {
		path := filepath.Join(t.TempDir(), "ledger.jsonl")
		c := open(t, []dataset.Row{example("x")}, path)
		tc.first.Trace, tc.second.Trace = "x", "x"
		do(t, c, tc.first)
		do(t, c, tc.second)
		c.Close()
		c = open(t, []dataset.Row{example("x")}, path) // what is compared is in the ledger
		before := *c.Traces()[0]
		_, err := c.Do(Op{Do: Undo, Of: 1})
		if !tc.refused {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "undo 2 first") {
			t.Errorf("%s: %v, the trace is %s", name, err, tell(c.Traces()[0].Row.Messages))
			continue
		}
		if !reflect.DeepEqual(before, *c.Traces()[0]) || len(c.Ops()) != 2 {
			t.Errorf("%s: a refused undo changed the trace", name)
		}
		do(t, c, Op{Do: Undo, Of: 2})
		do(t, c, Op{Do: Undo, Of: 1})
		if _, err := c.Do(Op{Do: Undo, Of: 3}); err == nil || !strings.Contains(err.Error(), "first 4") {
			t.Errorf("%s: brought back on what is no longer there: %v", name, err)
		}
	}
}

// A line that could not be written whole is taken back, and what comes later stands on a line of its own.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	c := open(t, []dataset.Row{example("x")}, path)
	do(t, c, Op{Do: Rate, Trace: "x", Rating: 1})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var free unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &free); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE,
		&unix.Rlimit{Cur: uint64(info.Size()) + 10, Max: free.Max}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(Op{Do: Rate, Trace: "x", Rating: 2})
	if back := unix.Setrlimit(unix.RLIMIT_FSIZE, &free); back != nil {
		t.Fatal(back)
	}
	if err == nil || !strings.Contains(err.Error(), "cannot write the ledger") {
		t.Fatalf("a full disk: %v", err)
	}
	do(t, c, Op{Do: Rate, Trace: "x", Rating: 3})
	c.Close()
	again := open(t, []dataset.Row{example("x")}, path)
	if x, _ := again.Trace("x"); len(again.Ops()) != 2 || x.Rating != 3 {
		t.Errorf("%+v", again.Ops())
	}

	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0) // which cannot be cut off either
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	good := again.ledger.f
	again.ledger.f = full
	if _, err := again.Do(Op{Do: Rate, Trace: "x", Rating: 4}); err == nil {
		t.Error("/dev/full took an operation")
	}
	again.ledger.f = good
	if _, err := again.Do(Op{Do: Rate, Trace: "x", Rating: 5}); err == nil ||
		!strings.Contains(err.Error(), "not whole") {
		t.Errorf("written behind a part of a line: %v", err)
	}
}
