package collect

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hone/internal/chat"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/grade"
	"hone/internal/host"
	"hone/internal/llm"
)

// Replayed is what a model says in place of a trace's last assistant message.
type Replayed struct {
	Trace string       `json:"trace"`
	Same  string       `json:"same"` // all, tools, kind, nothing (sameAs), or no answer
	Was   chat.Message `json:"was"`
	Is    chat.Message `json:"is,omitzero"`
	Error string       `json:"error,omitempty"` // why there is no answer
}

// noAnswer is what a trace has in place of how far it is the same where its request failed.
const noAnswer = "no answer"

// replay sends traces, several at once.
type replay struct {
	ask      func(ctx context.Context, t dataset.Row) (chat.Message, error)
	kept     *os.File // takes a line of each answer as it comes; nil: none does
	progress host.Progress

	mu     sync.Mutex  // of all that follows
	said   []*Replayed // by trace; nil: it was not sent, or not to the end
	done   int
	failed int   // of these
	gone   int   // of these the last in a row, which no endpoint was there for
	first  error // why the first of those did
}

// run sends all, so many at once. The error says why not all were sent.
func (r *replay) run(ctx context.Context, traces []dataset.Row, atOnce int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	next := make(chan int)
	var over error // the first that is not of one trace
	var wait sync.WaitGroup
	for range min(atOnce, len(traces)) {
		wait.Go(func() {
			for i := range next {
				is, err := r.ask(ctx, traces[i])
				r.mu.Lock()
				if err = r.keep(traces[i], i, is, err); err != nil && over == nil {
					over = err
					stop()
				}
				r.mu.Unlock()
			}
		})
	}
	for i := 0; i < len(traces) && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	if over == nil && r.done < len(traces) {
		return ctx.Err()
	}
	return over
}

// keep notes what came of trace i. The error says why no other is to be sent.
func (r *replay) keep(t dataset.Row, i int, is chat.Message, err error) error {
	was := t.Messages[lastAnswer(t)]
	x := Replayed{Trace: t.Name(), Same: noAnswer, Was: was, Is: is}
	switch {
	case err == nil:
		x.Same, r.gone = sameAs(was, is), 0
	case !ofOneTrace(err):
		return err
	default:
		if x.Error = fault.InnerText(err); r.failed == 0 {
			r.first = err
		}
		r.failed++
		if r.gone++; fault.CodeOf(err) != fault.CodeUnavailable {
			r.gone = 0
		}
	}
	r.said[i] = &x
	r.done++
	r.progress("replay", r.done, len(r.said), x.Same)
	var gone error
	if r.gone >= replayGivesUp {
		gone = err
	}
	if r.kept == nil {
		return gone
	}
	line, err := json.Marshal(x)
	if err == nil {
		_, err = r.kept.Write(append(line, '\n'))
	}
	if err != nil {
		return &fault.Error{Code: fault.CodeExhausted, What: "cannot keep an answer", Where: r.kept.Name(), Err: err,
			Next: "make room; the same command goes on"}
	}
	return gone
}

// ofOneTrace reports whether a request failed as another need not: the endpoint did not answer it, or refused what it
// says.
func ofOneTrace(err error) bool {
	status, refused := errors.AsType[*llm.StatusError](err)
	code := fault.CodeOf(err)
	return code == fault.CodeUnavailable || code == fault.CodeError && refused && status.Status >= 400
}

// results are the traces that were sent, in their order, and a table of how often what is said is the same.
func (r *replay) results() ([]Replayed, [][]string) {
	list, count := []Replayed{}, map[string]int{}
	for _, x := range r.said {
		if x != nil {
			list = append(list, *x)
			count[x.Same]++
		}
	}
	rows := [][]string{{"same", "traces"}}
	for _, same := range []string{"all", "tools", "kind", "nothing", noAnswer} {
		rows = append(rows, []string{same, strconv.Itoa(count[same])})
	}
	return list, rows
}

// sameAs is how far two assistant messages are the same: in the calls that they make, in any order, since those of one
// message are made at once; in the tools of these; or in whether they make any. Of messages with calls the words beside
// them are not compared.
func sameAs(was, is chat.Message) string {
	calls := len(was.ToolCalls) > 0
	switch {
	case calls != (len(is.ToolCalls) > 0):
		return "nothing"
	case !calls && was.Content == is.Content, calls && sameCalls(was.ToolCalls, is.ToolCalls):
		return "all"
	case calls && slices.Equal(toolNames(was.ToolCalls), toolNames(is.ToolCalls)):
		return "tools"
	}
	return "kind"
}

// sameCalls reports whether two lists hold the same calls, each as often.
func sameCalls(was, is []chat.ToolCall) bool {
	return len(was) == len(is) && !slices.Contains(grade.Match(full(is), full(was), nil), -1)
}

// full are calls of which those that have no arguments say so as JSON does.
func full(calls []chat.ToolCall) []chat.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		if strings.TrimSpace(calls[i].Arguments) == "" {
			calls[i].Arguments = "{}"
		}
	}
	return calls
}

// toolNames are those of calls, in the order of the alphabet.
func toolNames(calls []chat.ToolCall) (names []string) {
	for _, c := range calls {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}
