package rollout

import (
	"sync"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// A call without an answer is the environment's doing, unless all shows that its arguments are why: then masking the
// episode would teach nothing about them. witness sees which calls of a step's episodes were answered, and when.
type witness struct {
	mutex    sync.Mutex
	now      int                          // counts answers and losses
	answered map[string]map[string]answer // by tool and arguments, the last one
}

type answer struct {
	at      int
	episode string
}

func newWitness() *witness { return &witness{answered: map[string]map[string]answer{}} }

// see notes the calls of a turn that were answered. It returns the time.
func (w *witness) see(episode string, results []trajectory.ToolResult) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.now++
	for _, r := range results {
		if r.Status != trajectory.CallOK && r.Status != trajectory.CallToolError {
			continue
		}
		of := w.answered[r.Call.Name]
		if of == nil {
			of = map[string]answer{}
			w.answered[r.Call.Name] = of
		}
		of[argumentsOf(r.Call)] = answer{w.now, episode}
	}
	return w.now
}

// forItsArguments reports whether a tool that gave an episode no answer has given others one since a time, and never
// one to a call of these arguments.
func (w *witness) forItsArguments(episode string, call chat.ToolCall, since int) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	lives := false
	own := argumentsOf(call)
	for arguments, a := range w.answered[call.Name] {
		if arguments == own {
			return false
		}
		lives = lives || a.at > since && a.episode != episode
	}
	return lives
}

// argumentsOf writes a call's arguments in one way.
func argumentsOf(call chat.ToolCall) string {
	v, err := chat.Decode([]byte(call.Arguments), chat.DecodeOptions{})
	if err != nil {
		return call.Arguments
	}
	text, err := chat.AppendJSON(nil, v, chat.Format{SortKeys: true})
	if err != nil {
		return call.Arguments
	}
	return string(text)
}

// losses are the attempts of one episode that ended for a call without an answer.
type losses struct {
	tool  string // in all of them; empty once they differ
	since int    // of the first
	n     int
}

// blameCall is the call that ended an attempt; nil where the environment failed otherwise.
func (l *losses) blameCall(call *chat.ToolCall, at int) {
	switch {
	case call == nil || l.n > 0 && call.Name != l.tool:
		l.tool = ""
	case l.n == 0:
		l.tool, l.since = call.Name, at
	}
	l.n++
}
