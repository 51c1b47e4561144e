package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/serve"
)

// The Open Reward Standard, as openreward 0.1.167 speaks it (openreward/environments/server.py): a session has a
// header, and lives as long as its client pings. A call is answered by events, of which the first names it: who loses
// the stream asks for that name again. Paths may leave out the environment's name, since there is one.

// lastWordsTool is the terminal tool: what a harness calls with the policy's last words. The policy is not shown it.
const lastWordsTool = "hone_answer"

// orsRest is how long a session lives without a ping. Clients send one each 10 s.
const orsRest = time.Minute

// ors are the sessions by their clients' names for them.
type ors struct {
	mu       sync.Mutex
	sessions map[string]*orsSession
}

// orsSession is a session, or why there is none: a client that cannot begin is told so by its first call, as of any
// failure.
type orsSession struct {
	made    chan struct{} // closed when the rest is there
	session *session
	lost    *Verdict
	refused error // what the client asks for is not there
	shown   []chat.Message
}

func (s *Server) orsRoutes() []serve.Route {
	list := []serve.Route{
		{Method: "GET", Path: "/version", Handle: func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, object{"version": s.o.About.Version, "build_sha": nil})
		}},
		{Method: "POST", Path: "/create_session", Handle: func(w http.ResponseWriter, _ *http.Request) {
			stream := newEvents(w)
			stream.send("task_id", newID())
			stream.send("end", "")
		}},
		{Method: "POST", Path: "/create", Handle: s.orsCreate},
		{Method: "POST", Path: "/ping", Handle: s.orsOf(func(w http.ResponseWriter, _ *http.Request, e *orsSession) {
			if e.session != nil {
				e.session.rest()
			}
			writeJSON(w, http.StatusOK, object{"status": "ok"})
		})},
		{Method: "POST", Path: "/delete", Handle: s.orsDelete},
		{Method: "POST", Path: "/delete_session", Handle: s.orsDelete},
	}
	shows := func(path string, of func(*orsSession) any) serve.Route {
		return serve.Route{Method: "GET", Path: path,
			Handle: s.orsOf(func(w http.ResponseWriter, _ *http.Request, e *orsSession) {
				writeJSON(w, http.StatusOK, of(e))
			})}
	}
	for _, at := range []string{"", "/" + EnvironmentName} {
		list = append(list,
			serve.Route{Method: "GET", Path: at + "/tools", Handle: func(w http.ResponseWriter, _ *http.Request) {
				writeJSON(w, http.StatusOK, orsTools(s.o.Tools))
			}},
			shows(at+"/task_tools", func(e *orsSession) any { return orsTools(e.tools(s)) }),
			shows(at+"/prompt", func(e *orsSession) any { return orsPrompt(e.shown) }),
			shows(at+"/messages", func(e *orsSession) any { return orsMessages(e.shown) }),
			serve.Route{Method: "POST", Path: at + "/call", Handle: s.orsOf(s.orsCall)})
	}
	return list
}

func (e *orsSession) tools(s *Server) []chat.Tool {
	if e.session == nil {
		return s.o.Tools
	}
	return e.session.Tools()
}

// orsOf answers a request of a session that was created.
func (s *Server) orsOf(answer func(http.ResponseWriter, *http.Request, *orsSession)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.ors.mu.Lock()
		e := s.ors.sessions[r.Header.Get("X-Session-ID")]
		s.ors.mu.Unlock()
		if e == nil {
			gymRefusal(w, http.StatusNotFound, errNoSession)
			return
		}
		<-e.made
		answer(w, r, e)
	}
}

// orsCreate begins the episode of a session. Asked again for the same session it begins no other.
func (s *Server) orsCreate(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Spec  *Ask   `json:"task_spec"`
		Split string `json:"split"`
		Index *int   `json:"index"`
	}
	id := r.Header.Get("X-Session-ID")
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(&q)
	switch {
	case err != nil:
		gymRefusal(w, http.StatusUnprocessableEntity, fault.JSON(err))
		return
	case len(id) < 16:
		gymRefusal(w, http.StatusBadRequest, errors.New("X-Session-ID is to be what create_session answered"))
		return
	}
	ask := Ask{Split: q.Split, Index: q.Index}
	if q.Spec != nil {
		ask = Ask{Scenario: q.Spec.Scenario, Hash: q.Spec.Hash}
	}
	s.ors.mu.Lock()
	e, there := s.ors.sessions[id]
	if !there {
		e = &orsSession{made: make(chan struct{})}
		s.ors.sessions[id] = e
	}
	s.ors.mu.Unlock()
	if !there {
		s.orsBegin(context.WithoutCancel(r.Context()), e, ask) // a client that asks again is to find it
		close(e.made)
	}
	<-e.made
	switch {
	case e.refused != nil:
		s.orsForget(id)
		gymRefusal(w, http.StatusBadRequest, e.refused)
		return
	case !there && e.session != nil:
		context.AfterFunc(e.session.life, func() { s.orsForget(id) })
	case !there: // nothing else forgets it, where the client does not delete it
		time.AfterFunc(s.o.Idle, func() { s.orsForget(id) })
	}
	writeJSON(w, http.StatusOK, object{"sid": id})
}

func (s *Server) orsBegin(ctx context.Context, e *orsSession, ask Ask) {
	one, err := s.tasks.choose(ask)
	if err == nil {
		e.shown, _, err = s.o.Environment.Shows(*one)
	}
	if err == nil {
		e.session, err = s.table.begin(ctx, one)
	}
	switch {
	case err == nil:
		e.session.limit = min(e.session.limit, orsRest)
		e.session.rest()
		return
	case isAsk(err):
		e.refused = err
	default:
		e.lost = &Verdict{Outcome: trajectory.InfrastructureError, StopReason: trajectory.StopError, Error: err.Error()}
	}
	s.table.measureRefusal(err)
}

func (s *Server) orsForget(id string) *orsSession {
	s.ors.mu.Lock()
	defer s.ors.mu.Unlock()
	e := s.ors.sessions[id]
	delete(s.ors.sessions, id)
	return e
}

func (s *Server) orsDelete(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Session-ID")
	if e := s.orsForget(id); e != nil {
		if <-e.made; e.session != nil {
			e.session.close(errGone)
		}
	}
	writeJSON(w, http.StatusOK, object{"sid": id})
}

// orsCall makes a call, and streams its answer.
func (s *Server) orsCall(w http.ResponseWriter, r *http.Request, e *orsSession) {
	var q struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
		Task  string          `json:"task_id"` // of a call that was asked for before
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(&q); err != nil {
		gymRefusal(w, http.StatusUnprocessableEntity, fault.JSON(err))
		return
	}
	q.Task = cmp.Or(q.Task, newID())
	stream := newEvents(w)
	stream.send("task_id", q.Task)
	stop := stream.beat()
	text, over, err := e.do(r.Context(), q.Task, chat.ToolCall{Name: q.Name, Arguments: cmp.Or(string(q.Input), "{}")})
	stop()
	if err != nil {
		return // the client has gone
	}
	output := object{"blocks": []object{{"type": "text", "text": text}}, "metadata": nil, "reward": nil,
		"finished": over != nil}
	if over != nil {
		output["metadata"], output["reward"] = object{"hone": over}, over.Reward
	}
	body, err := json.Marshal(object{"ok": true, "output": output})
	if err != nil {
		stream.send("error", err.Error())
		return
	}
	stream.sendAll(string(body))
}

// do makes a call of a name, or gives the last words.
func (e *orsSession) do(ctx context.Context, name string, c chat.ToolCall) (text string, over *Verdict, err error) {
	if e.session == nil {
		return "Error: the episode could not begin", e.lost, nil
	}
	if c.Name == lastWordsTool {
		var given struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal([]byte(c.Arguments), &given) // words that are none say nothing
		over, err = e.session.say(ctx, given.Text, "")
		return "The episode is over.", over, err
	}
	got, err := e.session.call(ctx, name, c)
	text, _ = textOf(got)
	return text, got.over, err
}

// orsTools are tools in the standard's form.
func orsTools(list []chat.Tool) object {
	return object{
		"tools": openEnvTools(list), "terminal_tool": object{"name": lastWordsTool, "arg": "text",
			"description": "Ends the episode with the last words of the policy"},
		"supports_score_group": false, "message_block_types": []string{"text", "tool_call", "tool_result"},
	}
}

func orsText(text string) object { return object{"type": "text", "text": text} }

// orsPrompt is an opening as blocks of one message: that of the user alone, else all under headings, as openreward
// flattens them.
func orsPrompt(messages []chat.Message) []object {
	if len(messages) == 1 && messages[0].Role == chat.User {
		return []object{orsText(messages[0].Content)}
	}
	var blocks []object
	for _, m := range messages {
		blocks = append(blocks, orsText("["+m.Role+"]"))
		if m.Content != "" {
			blocks = append(blocks, orsText(m.Content))
		}
		for _, c := range m.ToolCalls {
			blocks = append(blocks, orsText(fmt.Sprintf("[tool_call %s] %s", c.Name, c.Arguments)))
		}
	}
	return blocks
}

// orsMessages is an opening with roles. Results stand in messages of the user.
func orsMessages(messages []chat.Message) []object {
	var list []object
	for _, m := range messages {
		var blocks []object
		switch {
		case m.Role == chat.ToolRole:
			m.Role = chat.User
			blocks = append(blocks, object{"type": "tool_result", "tool_call_id": m.ToolCallID,
				"blocks": []object{orsText(m.Content)}, "is_error": false})
		case m.Content != "":
			blocks = append(blocks, orsText(m.Content))
		}
		for _, c := range m.ToolCalls {
			blocks = append(blocks, object{"type": "tool_call", "id": c.ID, "name": c.Name,
				"input": json.RawMessage(cmp.Or(c.Arguments, "{}"))})
		}
		list = append(list, object{"role": m.Role, "blocks": blocks})
	}
	return list
}

// events is a stream of server-sent events.
type events struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return &events{w: w}
}

func (e *events) write(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.w.Write([]byte(text)) // fails only where the client is gone
	_ = http.NewResponseController(e.w).Flush()
}

func (e *events) send(event, data string) { e.write("event: " + event + "\ndata: " + data + "\n\n") }

// sendAll sends a long text in parts, as its reader takes no long lines, and drops the spaces that a part begins with.
func (e *events) sendAll(text string) {
	const most = 16 << 10
	for len(text) > most {
		n := most
		for !utf8.RuneStart(text[n]) || unicode.IsSpace(firstRune(text[n:])) {
			n--
		}
		e.send("chunk", text[:n])
		text = text[n:]
	}
	e.send("end", text)
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// beat says each 10 s that the call is under way, until stop.
func (e *events) beat() (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticks := time.NewTicker(10 * time.Second)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				e.write(": ping\n\n")
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}
