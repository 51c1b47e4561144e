package curate

import (
	"errors"
	"fmt"
	"slices"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/episode/trajectory"
)

// apply makes an operation on a family of traces, the first of which was read from the file and the others were split
// off. It changes nothing where it cannot be made.
func apply(family []*Trace, op Op) ([]*Trace, error) {
	i := slices.IndexFunc(family, func(t *Trace) bool { return t.ID == op.Trace })
	if i < 0 {
		return nil, fmt.Errorf("there is no trace %q", op.Trace)
	}
	t := family[i].clone()
	out := slices.Clone(family)
	out[i] = t
	t.Ops = append(t.Ops, op.Seq)
	if op.edits() {
		t.void()
	}
	var err error
	switch op.Do {
	case DeleteTurn:
		err = t.deleteTurn(op.Turn)
	case DeleteStep:
		err = t.deleteStep(op.Message)
	case MergeTurns:
		err = t.mergeTurns(op.Turn)
	case EditText, EditReasoning, EditArguments:
		err = t.edit(op)
	case DropSystem:
		n := t.systems()
		if n == 0 {
			return nil, errors.New("it has no system message")
		}
		t.keep(func(i int) bool { return i >= n })
	case Split:
		var rest *Trace
		if rest, err = t.split(op); err == nil {
			out = append(out, rest)
		}
	case Rate:
		if op.Rating < 1 || op.Rating > 5 {
			return nil, fmt.Errorf("a rating is 1 to 5, not %d", op.Rating)
		}
		t.Rating = op.Rating
	case Redact:
		if len(op.Values) == 0 {
			return nil, errors.New("it names no values: hone curate redact finds them")
		}
		t.redact(op.Values)
	case Accept:
		t.Status, t.Why, t.By = Accepted, op.Why, op.Author
		t.vouch()
	case Reject:
		t.Status, t.Why, t.By = Rejected, op.Why, op.Author
	default:
		return nil, fmt.Errorf("there is no operation %q", op.Do)
	}
	return out, err
}

// void takes from a trace what is no longer proven once it reads otherwise: that its checks hold, and what a judge
// gave. What it failed stands until a person accepts what became of it, or else a trace that failed would pass by
// losing its system message.
func (t *Trace) void() {
	t.Edited = true
	t.Row.Terms = slices.DeleteFunc(slices.Clone(t.Row.Terms), func(x trajectory.Term) bool {
		return x.Name != "checks" || x.Score == 1
	})
}

// vouch puts a person's word in place of what was measured of the trace before it was edited.
func (t *Trace) vouch() {
	if t.Edited {
		t.Row.Terms, t.Row.Outcome = nil, ""
	}
	t.stale, t.rewritten = nil, nil
}

// keep leaves the messages out that f refuses. Those of the opening stay its opening.
func (t *Trace) keep(f func(i int) bool) {
	var messages []chat.Message
	opening, now := 0, make([]int, len(t.Row.Messages))
	for i, m := range t.Row.Messages {
		if now[i] = len(messages); !f(i) {
			now[i] = -1
			continue
		}
		if messages = append(messages, m); i < t.Row.Opening {
			opening++
		}
	}
	t.Row.Messages, t.Row.Opening = messages, opening
	t.renumber(now)
}

// systems is how many system messages it begins with.
func (t *Trace) systems() int {
	n := 0
	for n < len(t.Row.Messages) && t.Row.Messages[n].Role == chat.System {
		n++
	}
	return n
}

// turns are where user turns begin and, last, the end. A system message, or what an assistant says before, is in none.
func (t *Trace) turns() []int {
	var starts []int
	for i, m := range t.Row.Messages {
		if m.Role == chat.User && (i == 0 || t.Row.Messages[i-1].Role != chat.User) {
			starts = append(starts, i)
		}
	}
	return append(starts, len(t.Row.Messages))
}

// turn is where user turn n, from 1, begins and ends.
func (t *Trace) turn(n int) (start, end int, err error) {
	starts := t.turns()
	if n < 1 || n >= len(starts) {
		return 0, 0, fmt.Errorf("there is no user turn %d: it has %d", n, len(starts)-1)
	}
	return starts[n-1], starts[n], nil
}

func (t *Trace) deleteTurn(n int) error {
	start, end, err := t.turn(n)
	if err == nil && len(t.turns()) == 2 {
		err = errors.New("it is the only turn: reject the trace")
	}
	if err == nil {
		t.keep(func(i int) bool { return i < start || i >= end })
	}
	return err
}

// message is the message of a number, which must have one of the roles where there are any.
func (t *Trace) message(n int, roles ...string) (*chat.Message, error) {
	if n < 0 || n >= len(t.Row.Messages) {
		return nil, fmt.Errorf("there is no message %d: it has %d, from 0", n, len(t.Row.Messages))
	}
	m := &t.Row.Messages[n]
	if len(roles) > 0 && !slices.Contains(roles, m.Role) {
		return nil, fmt.Errorf("message %d is of the role %s", n, m.Role)
	}
	return m, nil
}

func (t *Trace) deleteStep(n int) error {
	if _, err := t.message(n, chat.Assistant); err != nil {
		return err
	}
	end := n + 1
	for end < len(t.Row.Messages) && t.Row.Messages[end].Role == chat.ToolRole {
		end++
	}
	t.keep(func(i int) bool { return i < n || i >= end })
	return nil
}

// mergeTurns joins a turn with the next. What the assistant answers in the first, without a call, goes: nobody asked
// on.
func (t *Trace) mergeTurns(n int) error {
	start, middle, err := t.turn(n)
	if err != nil {
		return err
	}
	if _, _, err := t.turn(n + 1); err != nil {
		return fmt.Errorf("turn %d is the last", n)
	}
	users, next := start, middle
	for users < middle && t.Row.Messages[users].Role == chat.User {
		users++
	}
	for next < len(t.Row.Messages) && t.Row.Messages[next].Role == chat.User {
		next++
	}
	asked := t.Row.Messages[users-1]
	for _, m := range t.Row.Messages[middle:next] {
		asked.Content += "\n\n" + m.Content
	}
	t.Row.Messages[users-1] = asked
	messages := t.Row.Messages
	t.keep(func(i int) bool {
		answer := i >= users && i < middle && messages[i].Role == chat.Assistant && len(messages[i].ToolCalls) == 0
		return !answer && (i < middle || i >= next)
	})
	return nil
}

func (t *Trace) edit(op Op) error {
	roles := []string{chat.Assistant}
	if op.Do == EditText {
		roles = nil
	}
	m, err := t.message(op.Message, roles...)
	if err != nil {
		return err
	}
	switch op.Do {
	case EditText:
		m.Content = op.Text
		t.noteAnswer(op.Message)
	case EditReasoning:
		m.ReasoningContent = op.Text
	default:
		if op.Call < 0 || op.Call >= len(m.ToolCalls) {
			return fmt.Errorf("message %d has no call %d: it has %d, from 0", op.Message, op.Call, len(m.ToolCalls))
		}
		v, err := chat.Decode([]byte(op.Text), chat.DecodeOptions{})
		if err != nil {
			return err
		}
		if _, isObject := v.(*chat.Object); !isObject {
			return errors.New("arguments are a JSON object")
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		before := m.ToolCalls[op.Call].Arguments
		m.ToolCalls[op.Call].Arguments = op.Text
		t.noteEdit(op.Message, op.Call, before)
		id := m.ToolCalls[op.Call].ID
		// it was another call's
		t.Row.Results = slices.DeleteFunc(slices.Clone(t.Row.Results), func(r dataset.Result) bool {
			return r.Call.ID == id
		})
	}
	return nil
}

// split cuts a turn and all behind it off.
func (t *Trace) split(op Op) (*Trace, error) {
	start, _, err := t.turn(op.Turn)
	if err != nil {
		return nil, err
	}
	if op.Turn == 1 {
		return nil, errors.New("nothing stands before the first turn")
	}
	rest := t.clone()
	n := t.systems()
	rest.ID = fmt.Sprintf("%s/%d", t.ID, op.Seq)
	rest.Row.ID, rest.Row.Usage = rest.ID, nil // what the trace took is told once
	rest.keep(func(i int) bool { return i < n || i >= start })
	t.keep(func(i int) bool { return i < start })
	return rest, nil
}
