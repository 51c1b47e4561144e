package evallog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// Event is what all events of a sample have. hone keeps how long things took, and no clock times: Timestamp is the
// run's beginning, and what the sample had worked until then.
type Event struct {
	UUID         string  `json:"uuid"`
	Timestamp    string  `json:"timestamp"`
	WorkingStart float64 `json:"working_start"`
	Event        string  `json:"event"`
}

// InitEvent begins a sample.
type InitEvent struct {
	Event
	Sample Init           `json:"sample"`
	State  map[string]any `json:"state"`
}

// Init is the sample as it was given.
type Init struct {
	Input  []Message `json:"input"`
	Target string    `json:"target"`
	ID     string    `json:"id"`
}

// ModelEvent is one completion with all messages before it.
type ModelEvent struct {
	Event
	Model       string         `json:"model"`
	Input       []Message      `json:"input"`
	Tools       []any          `json:"tools"` // not repeated here: the run's catalog holds them
	ToolChoice  string         `json:"tool_choice"`
	Config      map[string]any `json:"config"`
	Output      Output         `json:"output"`
	Completed   string         `json:"completed"`
	WorkingTime float64        `json:"working_time"`
}

// ToolEvent is one tool call with its result.
type ToolEvent struct {
	Event
	Type        string          `json:"type"`
	ID          string          `json:"id"`
	Function    string          `json:"function"`
	Arguments   json.RawMessage `json:"arguments"`
	Result      string          `json:"result"`
	Error       *CallError      `json:"error,omitempty"`
	Events      []any           `json:"events"`
	Completed   string          `json:"completed"`
	WorkingTime float64         `json:"working_time"`
	MessageID   string          `json:"message_id"`
}

// LimitEvent says that a limit ended the sample.
type LimitEvent struct {
	Event
	Type    string  `json:"type"`
	Message string  `json:"message"`
	Limit   float64 `json:"limit"`
}

// ErrorEvent says that the sample was lost.
type ErrorEvent struct {
	Event
	Error Error `json:"error"`
}

// ScoreEvent is one scorer's verdict.
type ScoreEvent struct {
	Event
	Score        Score  `json:"score"`
	Target       string `json:"target"`
	Intermediate bool   `json:"intermediate"`
}

// clock tells the times of a sample's events.
type clock struct {
	begun  time.Time
	sample string  // its UUID
	worked float64 // seconds
	n      int     // events so far
}

func (c *clock) event(kind string) Event {
	c.n++
	return Event{UUID: digest(c.sample, "event", strconv.Itoa(c.n)), Timestamp: c.now(), WorkingStart: c.worked,
		Event: kind}
}

func (c *clock) now() string {
	return stamp(c.begun.Add(time.Duration(c.worked * float64(time.Second))))
}

// stamp writes a time as Inspect does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

// digest is a name of 22 characters, which is as long as those that Inspect makes, from what tells a thing from all
// others.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:22]
}

// attachments are the long texts of a sample's events, each once, by their digest.
type attachments map[string]string

// long is how many bytes a text has before it is kept as an attachment; Inspect's own limit.
const long = 100

// text is s, or the reference to it.
func (a attachments) text(s string) string {
	if len(s) <= long {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	name := hex.EncodeToString(sum[:16])
	a[name] = s
	return "attachment://" + name
}

// message is m with its long texts as references.
func (a attachments) message(m Message) Message {
	switch content := m.Content.(type) {
	case string:
		m.Content = a.text(content)
	case []Part:
		parts := make([]Part, len(content))
		for i, p := range content {
			parts[i] = Part{Type: p.Type, Reasoning: a.text(p.Reasoning), Text: a.text(p.Text)}
		}
		m.Content = parts
	}
	return m
}

func (a attachments) messages(list []Message) []Message {
	out := make([]Message, len(list))
	for i, m := range list {
		out[i] = a.message(m)
	}
	return out
}
