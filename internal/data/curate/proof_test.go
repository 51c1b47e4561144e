package curate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// An edited trace has no proof any more: its checks held for what it was. What failed has failed until a person says
// otherwise.
func TestEditsVoidTheProof(t *testing.T) {
	edits := []Op{
		{Do: DeleteTurn, Turn: 1}, {Do: DeleteStep, Message: 6}, {Do: MergeTurns, Turn: 1}, {Do: EditText, Message: 10,
			Text: "2!"}, {Do: EditReasoning, Message: 2, Text: "r"},
		{Do: EditArguments, Message: 6, Text: `{"text": "x"}`}, {Do: DropSystem}, {Do: Split, Turn: 2},
	}
	for _, op := range edits {
		passed, failed := example("passed"), example("failed")
		passed.Outcome, failed.Outcome = trajectory.OK, trajectory.OK
		passed.Terms = []trajectory.Term{{Name: "checks", Score: 1}, {Name: "judge", Score: 0.9}}
		failed.Terms = []trajectory.Term{{Name: "checks", Score: 0, Why: "checks[0]"}, {Name: "judge", Score: 0.9}}
		passed.Results = []dataset.Result{{Status: trajectory.CallOK}}
		passed.Results[0].Call.ID = "b"
		c := fresh(t, passed, failed)
		for _, id := range []string{"passed", "failed"} {
			op.Trace = id
			do(t, c, op)
		}
		for _, x := range c.Traces() {
			if strings.HasPrefix(x.ID, "passed") && (hasTerm(&x.Row, "checks") || hasTerm(&x.Row, "judge") ||
				!x.Edited || x.Row.WhyNoDemonstration() != "") {
				t.Errorf("%s: %s keeps %+v", op.Do, x.ID, x.Row.Terms)
			}
			if strings.HasPrefix(x.ID, "failed") &&
				(x.Row.WhyNoDemonstration() != "failed checks[0]" || hasTerm(&x.Row, "judge")) {
				t.Errorf("%s: %s is learnt from: %+v", op.Do, x.ID, x.Row.Terms)
			}
		}
		if x, _ := c.Trace("passed"); op.Do == EditArguments && len(x.Row.Results) != 0 {
			t.Errorf("the result of other arguments is kept: %+v", x.Row.Results)
		}
		ruled, err := c.Apply(Rules{ChecksPassed: true})
		if err != nil || ruled.Left != 0 {
			t.Errorf("%s: %+v %v", op.Do, ruled, err)
		}
		if x, _ := c.Trace("passed"); x.Why != "checks passed: it was edited since its checks were made" {
			t.Errorf("%s: %s", op.Do, x.Why)
		}
		do(t, c, Op{Do: Accept, Trace: "failed"})
		if x, _ := c.Trace("failed"); x.Row.WhyNoDemonstration() != "" || len(x.Row.Terms) != 0 {
			t.Errorf("%s: a person's word does not count: %+v", op.Do, x.Row.Terms)
		}
	}
	r := example("failed")
	r.Outcome, r.Terms = trajectory.OK, []trajectory.Term{{Name: "checks", Why: "checks[0]"}}
	c := fresh(t, r)
	do(t, c, Op{Do: Accept, Trace: "failed"})
	if x, _ := c.Trace("failed"); x.Row.WhyNoDemonstration() == "" || x.Edited {
		t.Error("a trace that was not edited is as it was measured")
	}
	do(t, c, Op{Do: Undo, Of: 1})
	if x, _ := c.Trace("failed"); !slices.Equal(x.Row.Terms, r.Terms) {
		t.Errorf("%+v", x.Row.Terms)
	}
}

// A ledger belongs to the traces and not to the tools of a catalog beside them; one that was begun when it did is still
// read.
func TestToolsAreNoPartOfTheLedger(t *testing.T) {
	rows := func() []dataset.Row {
		r := example("x")
		r.Tools, r.Shown = nil, &trajectory.Shown{}
		return []dataset.Row{r}
	}
	with := func(description string) Options {
		return Options{Tools: func(r *dataset.Row) error {
			r.Shown, r.Tools = nil, []chat.Tool{{Name: "f", Description: description}}
			return nil
		}}
	}
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	c, err := Open(rows(), path, with("one"))
	if err != nil {
		t.Fatal(err)
	}
	do(t, c, Op{Do: DropSystem, Trace: "x"})
	c.Close()
	if c, err = Open(rows(), path, with("two")); err != nil {
		t.Fatal(err)
	}
	if x, _ := c.Trace("x"); len(c.Ops()) != 1 || x.Row.Tools[0].Description != "two" {
		t.Errorf("%+v", c.Traces()[0])
	}
	c.Close()
	full := rows()
	if err := with("one").Tools(&full[0]); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), "old.jsonl")
	c = open(t, full, old)
	do(t, c, Op{Do: DropSystem, Trace: "x"})
	c.Close()
	if c, err = Open(rows(), old, with("one")); err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// What is only looked at is not locked, and nothing can be done to it.
func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	rows := []dataset.Row{example("x")}
	c := open(t, rows, path)
	do(t, c, Op{Do: Rate, Trace: "x", Rating: 2})
	part, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.WriteString(`{"seq":2,"do":"re`); err != nil { // which the other process is writing
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	look, err := Open(rows, path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	if x, _ := look.Trace("x"); x.Rating != 2 {
		t.Errorf("%+v", x)
	}
	if _, err := look.Do(Op{Do: Rate, Trace: "x", Rating: 3}); err == nil || len(look.Ops()) != 1 ||
		look.Traces()[0].Rating != 2 {
		t.Errorf("done to what is only looked at: %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("what is only looked at was changed")
	}
	if _, err := Open(rows, path, Options{}); fault.CodeOf(err) != fault.CodeError ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("%v", err)
	}
}

// Several operations are written at once, or none is.
func TestDoAll(t *testing.T) {
	c := fresh(t, example("x"), example("y"))
	list := []Op{
		{Do: Split, Trace: "x", Turn: 2},
		{Do: Rate, Trace: "x/1", Rating: 2},
		{Do: Rate, Trace: "y", Rating: 3},
		{Do: Rate, Trace: "z", Rating: 1},
	}
	if _, err := c.DoAll(list); fault.CodeOf(err) != fault.CodeUsage || len(c.Ops()) != 0 || len(c.Traces()) != 2 ||
		c.Traces()[1].Rating != 0 {
		t.Errorf("%v: %d operations, %d traces", err, len(c.Ops()), len(c.Traces()))
	}
	done, err := c.DoAll(list[:3])
	if err != nil || len(done) != 3 || done[2].Seq != 3 || len(c.Traces()) != 3 || c.Traces()[2].Rating != 3 {
		t.Errorf("%v %+v", err, done)
	}
}

// A member that is left out is not 0.
func TestWhatAnOperationNeeds(t *testing.T) {
	for _, do := range Kinds() {
		needs := Needs(do)
		for i := range needs {
			line := `{"do": "` + do + `"`
			for j, name := range needs {
				if j != i {
					line += `, "` + name + `": ` +
						map[string]string{"trace": `"a"`, "text": `"a"`, "values": "[]"}[name]
					if strings.HasSuffix(line, ": ") {
						line += "1"
					}
				}
			}
			if _, err := ParseOp([]byte(line + "}")); fault.CodeOf(err) != fault.CodeUsage ||
				!strings.Contains(err.Error(), "which "+needs[i]) {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if op, err := ParseOp([]byte(`{"do": "edit_text", "trace": "x", "message": 0, "text": ""}`)); err != nil ||
		op.Message != 0 {
		t.Errorf("%+v %v", op, err)
	}
}
