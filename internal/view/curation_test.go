package view

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/data/curate"
	"hone/internal/job"
)

// An operation answers what it changed, and leaves the list as one that is made anew: where a trace is split, where the
// halves come together again, and behind an operation that is refused.
func TestCurationKeepsTheList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	check(t, os.Mkdir(dir, 0o700))
	const row = `{"messages":[{"role":"user","content":"One?"},{"role":"assistant","content":"1"},` +
		`{"role":"user","content":"Two?"},{"role":"assistant","content":"2"}]}` + "\n"
	check(t, os.WriteFile(filepath.Join(dir, "trajectories.jsonl"), []byte(strings.Repeat(row, 4)), 0o600))
	s := &Server{Env: job.Env{Host: quiet(t)}, Runs: []string{dir}}
	s.open()
	defer s.close()
	listed, err := s.traces(s.runs[0])
	check(t, err)
	id := listed.Traces[2].ID
	for _, c := range []struct {
		op      curate.Op
		refused bool
		changed int
		length  int // of the order, where it has another length
	}{
		{op: curate.Op{Do: "accept", Trace: id}, changed: 1},
		{op: curate.Op{Do: "split", Trace: id, Turn: 2}, changed: 2, length: 5},
		{op: curate.Op{Do: "rate", Trace: id + "/2", Rating: 4}, changed: 2},
		{op: curate.Op{Do: "split", Trace: "none", Turn: 1}, refused: true},
		{op: curate.Op{Do: "undo", Of: 3}, changed: 2},
		{op: curate.Op{Do: "undo", Of: 2}, changed: 1, length: 4},
		{op: curate.Op{Do: "undo", Of: 1}, changed: 1},
	} {
		text, err := json.Marshal(c.op)
		check(t, err)
		got, err := s.curationOp(httptest.NewRequest("POST", "/api/curate?run=run", strings.NewReader(string(text))))
		if (err != nil) != c.refused {
			t.Fatalf("%s: %v", text, err)
		}
		desk := s.desks["run"]
		if !slices.Equal(desk.now, desk.Traces()) {
			t.Fatalf("behind %s the list is another than one that is made anew", text)
		}
		if out, is := got.(Curated); is && (len(out.Changed) != c.changed || len(out.Order) != c.length) {
			t.Errorf("%s: %d changed, an order of %d: %+v", text, len(out.Changed), len(out.Order), out.Changed)
		}
	}
}
