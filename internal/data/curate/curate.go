// Package curate tidies traces by operations that take nothing away: what was read stays as it is, a ledger keeps each
// operation with its author and what it changed, and a trace is what its operations make of it. So each of them can be
// undone.
//
// Terminal, command line and page all call Do; none has an operation of its own.
//
// It finds secrets and personal data in the texts of a trace, and puts placeholders in their place: keys, tokens,
// passwords, private keys, addresses of mail and machines, telephone numbers, cards, accounts, social security numbers,
// and the names of users in paths. Each rule is a pattern and, where there is one, the value's own checksum. Names of
// persons and postal addresses are not found: no pattern tells them from other words.
package curate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hone/internal/data/dataset"
	"hone/internal/fault"
)

// Curation is traces, and what was done to them. One goroutine uses it at a time.
type Curation struct {
	ledger *ledger
	ops    []Op
	read   []*Trace           // as they were read, in order
	byRoot map[string]*family // by the id of the trace that was read
	root   map[string]string  // of each trace, split off or not, that id
	now    func() time.Time   // of new operations
}

// family is a trace that was read, what was split off it, and the operations on any of them.
type family struct {
	first   *Trace
	ops     []int // indexes into Curation.ops
	present []*Trace
}

// Options of Open. The zero value is ready.
type Options struct {
	// ReadOnly makes that the ledger is read and not locked, so that it can be looked at while another process writes
	// it. Nothing can be done then.
	ReadOnly bool
	// Tools gives a row its tools where it names none; nil leaves it as it is. They are no part of what the ledger
	// belongs to.
	Tools func(*dataset.Row) error
}

// Open takes rows as traces, and their ledger at path, which is begun with the first operation. Its errors are
// *fault.Error: a ledger of other rows, or one that another process writes, or that is damaged before its end. Rows
// that came behind those that it was begun on are traces that nobody has curated yet.
func Open(rows []dataset.Row, path string, o Options) (*Curation, error) {
	c := &Curation{byRoot: map[string]*family{}, root: map[string]string{}, now: time.Now}
	hashes, err := hashesOf(rows, numRowsOf(path), o.Tools)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		t := &Trace{ID: r.Name(), Row: r}
		for n := 2; c.byRoot[t.ID] != nil; n++ {
			t.ID = fmt.Sprintf("%s#%d", r.Name(), n)
		}
		c.read = append(c.read, t)
		c.byRoot[t.ID] = &family{first: t, present: []*Trace{t}}
		c.root[t.ID] = t.ID
	}
	var ops []Op
	if c.ledger, ops, err = openLedger(path, len(rows), hashes, o.ReadOnly); err != nil {
		return nil, err
	}
	for _, op := range ops {
		if err := c.take(op); err != nil {
			c.Close()
			return nil, &fault.Error{
				Code:  fault.CodeError,
				What:  "the ledger does not fit the traces",
				Where: fmt.Sprintf("%s: operation %d", path, op.Seq),
				Err:   err,
				Next:  "cut the ledger off before that operation, or move it away to begin anew",
			}
		}
	}
	return c, nil
}

// Rehearse makes that no operation is written down from now on.
func (c *Curation) Rehearse() { c.ledger.dry = true }

// Close gives the ledger to others.
func (c *Curation) Close() { c.ledger.close() }

// Do makes an operation and writes it down; op says what is to be done, by whom. The trace comes back as it is then.
// The error, a *fault.Error with exit code 2, says why it cannot be made; nothing has changed then.
func (c *Curation) Do(op Op) (Op, error) {
	done, err := c.DoAll([]Op{op})
	if len(done) == 0 {
		return op, err
	}
	return done[0], err
}

// DoAll makes several operations and writes them down at once. Where one cannot be made, or they cannot be written,
// none is.
func (c *Curation) DoAll(list []Op) ([]Op, error) {
	first, before := len(c.ops), make([][]*Trace, 0, len(list))
	back := func() {
		for i := len(c.ops) - 1; i >= first; i-- {
			f := c.familyOf(c.ops[i].Trace)
			f.ops, f.present = f.ops[:len(f.ops)-1], before[i-first]
		}
		c.ops = c.ops[:first]
	}
	for _, op := range list {
		was, err := c.make(op)
		if err != nil {
			back()
			return nil, err
		}
		before = append(before, was)
	}
	done := slices.Clone(c.ops[first:])
	if err := c.ledger.append(done); err != nil {
		back()
		return nil, err
	}
	return done, nil
}

// make makes an operation without writing it down; before is what there was of its family.
func (c *Curation) make(op Op) (before []*Trace, err error) {
	op.Seq, op.At, op.Diff = len(c.ops)+1, c.now().UTC().Truncate(time.Second), nil
	refused := func(err error) error {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot " + strings.ReplaceAll(op.Do, "_", " "),
			Where: op.Trace, Err: err, Next: "hone curate show says what the trace holds"}
	}
	if op.Do == Undo {
		if op.Of < 1 || op.Of > len(c.ops) {
			return nil, refused(fmt.Errorf("there is no operation %d: there are %d", op.Of, len(c.ops)))
		}
		op.Trace = c.ops[op.Of-1].Trace
		if !c.live(c.familyOf(op.Trace))[op.Of-1] {
			return nil, refused(fmt.Errorf("operation %d is undone already", op.Of))
		}
	}
	f := c.familyOf(op.Trace)
	if f == nil {
		return nil, refused(fmt.Errorf("there is no trace %q", op.Trace))
	}
	before = f.present
	if err := c.take(op); err != nil {
		return nil, refused(err)
	}
	c.ops[len(c.ops)-1].Diff = familyDiff(before, f.present, op.Trace)
	return before, nil
}

// familyDiff is what changed in the trace that an operation names.
func familyDiff(before, after []*Trace, id string) *Diff {
	find := func(list []*Trace) (t Trace) {
		if i := slices.IndexFunc(list, func(t *Trace) bool { return t.ID == id }); i >= 0 {
			t = *list[i]
		}
		return t
	}
	a, b := find(before), find(after)
	return diffOf(a.Row.Messages, b.Row.Messages)
}

func (c *Curation) familyOf(id string) *family {
	if root, ok := c.root[id]; ok {
		return c.byRoot[root]
	}
	return nil
}

// take adds an operation to what is known, or leaves all as it is where it cannot be made.
func (c *Curation) take(op Op) error {
	f := c.familyOf(op.Trace)
	if f == nil {
		return fmt.Errorf("there is no trace %q", op.Trace)
	}
	c.ops = append(c.ops, op)
	f.ops = append(f.ops, len(c.ops)-1)
	present, err := c.play(f)
	if err != nil {
		c.ops, f.ops = c.ops[:len(c.ops)-1], f.ops[:len(f.ops)-1]
		return err
	}
	f.present = present
	for _, t := range present {
		c.root[t.ID] = f.first.ID
	}
	return nil
}

// live are the operations of a family that are not undone, undoing among them.
func (c *Curation) live(f *family) map[int]bool {
	live := map[int]bool{}
	for _, i := range slices.Backward(f.ops) {
		undone, known := live[i]
		if known && !undone {
			continue
		}
		live[i] = true
		if c.ops[i].Do == Undo {
			live[c.ops[i].Of-1] = false
		}
	}
	return live
}

// play makes the traces of a family anew, by its live operations.
func (c *Curation) play(f *family) ([]*Trace, error) {
	live := c.live(f)
	traces := []*Trace{f.first}
	last := f.ops[len(f.ops)-1]
	for _, i := range f.ops {
		if !live[i] || c.ops[i].Do == Undo {
			continue
		}
		next, err := apply(traces, c.ops[i])
		undo := c.ops[last]
		if err == nil && undo.Do == Undo && !c.ops[i].replaces(familyDiff(traces, next, c.ops[i].Trace)) {
			err = errors.New("it would change other messages than it did")
		}
		switch {
		case err != nil && undo.Do == Undo && i >= undo.Of:
			return nil, fmt.Errorf("operation %d was made on what operation %d left: undo %d first (%w)",
				i+1, undo.Of, i+1, err)
		case err != nil && undo.Do == Undo: // which brings operation i back
			since := c.ops[f.ops[len(f.ops)-2]].Seq
			return nil, fmt.Errorf("operation %d was made on what is no longer there: undo what was done since, "+
				"first %d (%w)", i+1, since, err)
		case err != nil:
			return nil, err
		}
		traces = next
	}
	return traces, nil
}

// Traces are all traces as they are now, in the order of the file; what was split off stands behind what it was a part
// of.
func (c *Curation) Traces() []*Trace {
	var out []*Trace
	for _, t := range c.read {
		out = append(out, c.byRoot[t.ID].present...)
	}
	return out
}

// Family are the traces that are there of the one that an operation is on: itself, or with what was split off it. No
// other trace changes by the operation.
func (c *Curation) Family(op Op) []*Trace {
	name := op.Trace
	if op.Do == Undo && op.Of >= 1 && op.Of <= len(c.ops) {
		name = c.ops[op.Of-1].Trace
	}
	if f := c.familyOf(name); f != nil {
		return f.present
	}
	return nil
}

// Trace is one of them.
func (c *Curation) Trace(id string) (*Trace, error) {
	if f := c.familyOf(id); f != nil {
		for _, t := range f.present {
			if t.ID == id {
				return t, nil
			}
		}
	}
	return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no trace %q", id),
		Next: "hone curate show lists them"}
}

// Last is the last operation on a trace that is not undone, and no undo itself; ok is false where there is none.
func (c *Curation) Last(id string) (op Op, ok bool) {
	f := c.familyOf(id)
	if f == nil {
		return Op{}, false
	}
	live := c.live(f)
	for _, i := range slices.Backward(f.ops) {
		if live[i] && c.ops[i].Do != Undo &&
			(c.ops[i].Trace == id || fmt.Sprintf("%s/%d", c.ops[i].Trace, c.ops[i].Seq) == id) {
			return c.ops[i], true
		}
	}
	return Op{}, false
}

// Ops are all operations, in order.
func (c *Curation) Ops() []Op { return c.ops }

// Rows are those of traces that are not rejected, or with accepted set of those that are accepted.
func (c *Curation) Rows(accepted bool) []dataset.Row {
	var out []dataset.Row
	for _, t := range c.Traces() {
		if t.Status == Accepted || t.Status == Undecided && !accepted {
			out = append(out, t.Row)
		}
	}
	return out
}
