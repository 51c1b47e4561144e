package curate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/fault"
)

// Kinds of operations. Messages are numbered from 0 and user turns from 1, as they are when the operation is made.
const (
	DeleteTurn = "delete_turn" // user turn Turn, with all that follows up to the next
	DeleteStep = "delete_step" // assistant message Message, with the results of its calls
	// user turn Turn and the next: one question, the steps of both, the second's answer
	MergeTurns    = "merge_turns"
	EditText      = "edit_text"      // the content of Message becomes Text
	EditReasoning = "edit_reasoning" // its reasoning does
	EditArguments = "edit_arguments" // the arguments of its call number Call become Text, a JSON object
	DropSystem    = "drop_system"    // the system messages at the beginning
	// user turn Turn and what follows become a trace of their own, with the same system messages
	Split  = "split"
	Rate   = "rate" // Rating, from 1 to 5
	Accept = "accept"
	Reject = "reject" // Why says for what
	Redact = "redact" // each of Values becomes its placeholder, wherever it stands
	Undo   = "undo"   // the operation of the number Of, which may be an undo itself
)

// Op is one operation on one trace. Seq, At and Diff are the ledger's.
type Op struct {
	Seq    int       `json:"seq"` // its number in the ledger, from 1
	At     time.Time `json:"at"`
	Author string    `json:"author"`
	Do     string    `json:"do"`
	Trace  string    `json:"trace"`

	Turn    int    `json:"turn,omitempty"`
	Message int    `json:"message,omitempty"`
	Call    int    `json:"call,omitempty"`
	Text    string `json:"text,omitempty"`
	Rating  int    `json:"rating,omitempty"`
	Why     string `json:"why,omitempty"`
	Of      int    `json:"of,omitempty"`

	Values []Value `json:"values,omitempty"`

	Diff *Diff `json:"diff,omitempty"` // what it did to the trace's messages
}

// Diff is a stretch of messages that others took the place of.
type Diff struct {
	At      int            `json:"at"` // the first of them
	Removed []chat.Message `json:"removed"`
	Added   []chat.Message `json:"added"`
}

// edits reports whether it makes that a trace reads otherwise.
func (op Op) edits() bool {
	switch op.Do {
	case DeleteTurn, DeleteStep, MergeTurns, EditText, EditReasoning, EditArguments, DropSystem, Split:
		return true
	}
	return false
}

// Needs are the members by which an operation says what it is about, as JSON names them. One that is left out would
// count as 0.
func Needs(do string) []string {
	switch do {
	case DeleteTurn, MergeTurns, Split:
		return []string{"trace", "turn"}
	case DeleteStep:
		return []string{"trace", "message"}
	case EditText, EditReasoning, EditArguments:
		return []string{"trace", "message", "text"}
	case Rate:
		return []string{"trace", "rating"}
	case Redact:
		return []string{"trace", "values"}
	case Undo:
		return []string{"of"}
	}
	return []string{"trace"}
}

// Missing is an error where given, which tells whether a member was given, has not all that an operation needs.
func Missing(do string, given func(name string) bool) error {
	for _, name := range Needs(do) {
		if !given(name) {
			next := "name its " + strings.Join(Needs(do), ", ")
			if name == "values" {
				next += " in a JSON line; hone curate redact finds them by itself"
			}
			return &fault.Error{Code: fault.CodeUsage, What: "cannot " + strings.ReplaceAll(do, "_", " "),
				Why: "it does not say which " + name, Next: next}
		}
	}
	return nil
}

// replaces reports whether an operation that is made again takes away what it took away the first time. Messages and
// turns are numbered as they were then: after an undo another one may have the number.
func (op Op) replaces(d *Diff) bool {
	if d == nil || op.Diff == nil {
		return d == op.Diff
	}
	return len(d.Removed) == len(op.Diff.Removed) && (len(d.Removed) == 0 || same(d.Removed, op.Diff.Removed))
}

// Status of a trace.
const (
	Undecided = ""
	Accepted  = "accepted"
	Rejected  = "rejected"
)

// Trace is a trace as the operations left it.
type Trace struct {
	ID     string
	Row    dataset.Row
	Status string
	Why    string // of its status
	By     string // who decided
	Rating int    // 1 to 5, 0 for none
	Edited bool   // it reads otherwise than its episode went
	Ops    []int  // the operations that made it what it is, by number

	stale     []stale // edited calls with the results of others, in the order in which they were edited
	rewritten []stale // edited calls that nobody has accepted the trace with
	redacted  []Value
}

// clone copies what operations change.
func (t *Trace) clone() *Trace {
	c := *t
	c.Row.Messages = append([]chat.Message{}, t.Row.Messages...)
	c.Ops = append([]int{}, t.Ops...)
	return &c
}

// same reports whether two lists of messages are.
func same(a, b []chat.Message) bool {
	x, _ := json.Marshal(a) // texts alone
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// diffOf is what turns one list of messages into another, nil where they are the same.
func diffOf(before, after []chat.Message) *Diff {
	front := 0
	for front < len(before) && front < len(after) && same(before[front:front+1], after[front:front+1]) {
		front++
	}
	back := 0
	for back < len(before)-front && back < len(after)-front &&
		same(before[len(before)-1-back:len(before)-back], after[len(after)-1-back:len(after)-back]) {
		back++
	}
	if front == len(before) && front == len(after) {
		return nil
	}
	return &Diff{At: front, Removed: before[front : len(before)-back], Added: after[front : len(after)-back]}
}

// ParseOp reads an operation as JSON. A member that no operation has is an error: a misspelt number would count as 0.
func ParseOp(line []byte) (Op, error) {
	var op Op
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&op); err != nil {
		return op, fault.JSON(err)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(line, &given); err != nil {
		return op, fault.JSON(err)
	}
	return op, Missing(op.Do, func(name string) bool { return given[name] != nil })
}

// Kinds are the names of all operations.
func Kinds() []string {
	return []string{DeleteTurn, DeleteStep, MergeTurns, EditText, EditReasoning, EditArguments, DropSystem, Split, Rate,
		Accept, Reject, Redact, Undo}
}

// String tells a person of an operation, by whom it is if that is known.
func (op Op) String() string {
	text := fmt.Sprintf("operation %d", op.Seq)
	if op.Author != "" {
		text += " by " + op.Author
	}
	return strings.TrimRight(fmt.Sprintf("%s: %s %s", text, op.Do, op.Why), " ")
}
