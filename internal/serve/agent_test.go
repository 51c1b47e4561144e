package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/policy"
	"hone/internal/episode/trajectory"
	"hone/internal/text/toolcall"
)

// desk are tools that say who called them, but for "no", which is denied.
type desk struct {
	mu     sync.Mutex
	opened int
	called int
	open   map[*deskSession]bool
	slow   chan struct{} // calls wait for it where it is not nil
}

type deskSession struct {
	environment.Session
	desk   *desk
	number int
	calls  int
}

func (d *desk) Open(_ context.Context, _ string, _ ...environment.Template) (environment.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened++
	s := &deskSession{desk: d, number: d.opened}
	d.open[s] = true
	return s, nil
}

func (s *deskSession) Close() error {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	delete(s.desk.open, s)
	return nil
}

func (s *deskSession) Call(ctx context.Context, calls []chat.ToolCall) (out []trajectory.ToolResult) {
	if s.desk.slow != nil {
		select {
		case <-s.desk.slow:
		case <-ctx.Done():
		}
	}
	s.desk.mu.Lock()
	s.desk.called += len(calls)
	s.desk.mu.Unlock()
	for _, c := range calls {
		s.calls++
		r := trajectory.ToolResult{Call: c, Status: trajectory.CallOK,
			Text: fmt.Sprintf("%s of %d is %d", c.Name, s.number, s.calls), Approval: "allowed by the rule \"desk\""}
		if c.Name == "no" {
			r.Status, r.Text, r.Approval =
				trajectory.CallDenied, "The call was denied: nobody can be asked", "denied because nobody can be asked"
		}
		out = append(out, r)
	}
	return out
}

func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open)
}

// made is how many calls were made.
func (d *desk) made() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.called
}

// script says its lines one after another.
type script struct {
	mu    sync.Mutex
	lines []string
	asked []policy.Request
}

func (s *script) NumSlots() int { return 1 }

func (s *script) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	s.mu.Lock()
	line := s.lines[min(len(s.asked), len(s.lines)-1)]
	s.asked = append(s.asked, r)
	s.mu.Unlock()
	one := sampler{says: line}
	return one.Sample(ctx, r)
}

// talking is runes with results in its prompts.
type talking struct{ runes }

func (talking) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s:%s", m.Role, m.Content)
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "<%s %s>", c.ID, c.Name)
		}
		if m.ToolCallID != "" {
			fmt.Fprintf(&b, "<for %s>", m.ToolCallID)
		}
		b.WriteString("\n")
	}
	return ids(fmt.Sprint(len(tools), "\n") + b.String()), nil
}

func agency(t *testing.T, change func(*Options), lines ...string) (*Server, *script, *desk) {
	t.Helper()
	s, d := &script{lines: lines}, &desk{open: map[*deskSession]bool{}}
	m := model(&sampler{})
	m.Sampler, m.Renderer = s, talking{}
	o := Options{Models: []Model{m}, Agent: &Agent{Tools: d, List: []chat.Tool{{Name: "look"}, {Name: "no"}},
		MaxTurns: 4, MaxCalls: 3, MaxTime: time.Minute, MaxSessions: 2, Idle: time.Minute}}
	if change != nil {
		change(&o)
	}
	server, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server, s, d
}

// A task is worked on until the model makes no call; the client sees an answer, and beside it what was called, whatever
// it speaks.
func TestAgentAnswersATask(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": hi + `}`,
		"/v1/messages":         `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`,
		"/v1/responses":        `{"model":"m","input":"hi"}`,
	} {
		server, s, d := agency(t, nil, "I look. CALL look {}CALL no {}", "CALL look {}", "Done.")
		w := through(server.Handler(), path, body)
		var out struct {
			Hone    Steps
			Choices []struct {
				Message      chat.Message
				FinishReason string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(w.text()), &out); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %v %s", path, w.Code, err, w.text())
		}
		var got []string
		for _, x := range out.Hone.Steps {
			got = append(got, x.ID+" "+string(x.Status)+" "+x.Result)
		}
		want := []string{"call_0 ok look of 1 is 1", "call_1 denied The call was denied: nobody can be asked",
			"call_2 ok look of 1 is 3"}
		if !slices.Equal(got, want) || out.Hone.Stopped != "" {
			t.Errorf("%s: %q, stopped %q", path, got, out.Hone.Stopped)
		}
		if !strings.Contains(w.text(), `I look. \n\nDone.`) || strings.Contains(w.text(), `"tool_calls"`) ||
			strings.Contains(w.text(), "tool_use") {
			t.Errorf("%s: %s", path, w.text())
		}
		last := text(s.asked[2].Prompt)
		for _, part := range []string{
			"2\nuser:hi\n", "assistant:I look. <call_0 look><call_1 no>\n", "tool:look of 1 is 1<for call_0>\n",
			"tool:The call was denied: nobody can be asked<for call_1>\n",
			"assistant:<call_2 look>\ntool:look of 1 is 3<for call_2>\n",
		} {
			if !strings.Contains(last, part) {
				t.Errorf("%s: the prompt lacks %q: %s", path, part, last)
			}
		}
		if d.count() != 0 || d.opened != 1 {
			t.Errorf("%s: %d sessions are open of %d", path, d.count(), d.opened)
		}
	}
}

// A stream adds up to the answer, and tells of calls in comments, as they are made.
func TestAgentStreams(t *testing.T) {
	server, _, _ := agency(t, nil, "I look. CALL look {}", "Done.")
	w := through(server.Handler(), "/v1/chat/completions", hi+`,"stream":true,"stream_options":{"include_usage":true}}`)
	content, comments := "", []string{}
	for line := range strings.Lines(w.text()) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, ": hone.") {
			comments = append(comments, line)
			continue
		}
		var c completion
		if data, ok := strings.CutPrefix(line, "data: {"); ok && json.Unmarshal([]byte("{"+data), &c) == nil &&
			len(c.Choices) > 0 && c.Choices[0].Delta.Content != nil {
			content += *c.Choices[0].Delta.Content
		}
	}
	if content != "I look. \n\nDone." || !strings.Contains(w.text(), `"finish_reason":"stop"`) ||
		!strings.HasSuffix(w.text(), "data: [DONE]\n\n") {
		t.Errorf("%q in %s", content, w.text())
	}
	if len(comments) != 2 ||
		!strings.HasPrefix(comments[0], `: hone.call {"id":"call_0","name":"look","arguments":"{}"}`) ||
		!strings.Contains(comments[1], `"status":"ok","result":"look of 1 is 1"`) {
		t.Errorf("comments %q", comments)
	}
}

// Limits end a task in words: of turns, calls, time, and sessions.
func TestAgentLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		line, want string
		sampled    int
	}{
		"turns": {"CALL look {}", `"stopped":"max_turns"`, 4},
		"calls": {"CALL look {}CALL look {}CALL look {}CALL look {}", `"stopped":"max_tool_calls"`, 1},
	} {
		server, s, _ := agency(t, nil, tc.line)
		if w := through(server.Handler(), "/v1/chat/completions", hi+"}"); !strings.Contains(w.text(), tc.want) ||
			!strings.Contains(w.text(), `"finish_reason":"length"`) || len(s.asked) != tc.sampled {
			t.Errorf("%s: %d were sampled: %s", name, len(s.asked), w.text())
		}
	}
	synctest.Test(t, func(t *testing.T) {
		server, _, d := agency(t, nil, "CALL look {}")
		d.slow = make(chan struct{})
		if w := through(server.Handler(), "/v1/chat/completions", hi+"}"); w.Code != 504 ||
			!strings.Contains(w.text(), "task_timeout") {
			t.Errorf("time: %d %s", w.Code, w.text())
		}
		if d.count() != 0 {
			t.Error("the session of a task that took too long is open")
		}
	})
	for body, want := range map[string]string{
		`,"tool_choice":{"type":"function","function":{"name":"gone"}}}`: "is not among the tools",
		`,"tools":[{"type":"function","function":{"name":"mine"}}]}`:     `"param":"tools"`,
		`,"n":2}`: `"param":"n"`,
	} {
		server, _, _ := agency(t, nil, "x")
		if w := through(server.Handler(), "/v1/chat/completions", hi+body); w.Code != 400 ||
			!strings.Contains(w.text(), want) {
			t.Errorf("%s: %d %s", body, w.Code, w.text())
		}
	}
}

// A call that a client requires of an agent is one of the agent's tools, and the task's first turn is held to it.
func TestAgentMustCall(t *testing.T) {
	frame := func(o *Options) { shaped(o); o.Agent.List[0].InputSchema = json.RawMessage(`{"const":{}}`) }
	for choice, want := range map[string][]bool{
		`"required"`: {true, false},
		`{"type":"function","function":{"name":"look"}}`: {true, false},
		`"auto"`: {false, false},
	} {
		server, s, _ := agency(t, frame, "CALL look {}", "Done.")
		w := through(server.Handler(), "/v1/chat/completions", hi+`,"tool_choice":`+choice+"}")
		var held []bool
		for _, r := range s.asked {
			held = append(held, r.Constraint != nil)
		}
		if w.Code != 200 || !slices.Equal(held, want) {
			t.Errorf("%s: status %d, held %v: %s", choice, w.Code, held, w.text())
		}
	}
}

// A session that has a name waits for its next task, is its key's alone, is used by one task at a time, and is closed
// when nobody comes.
func TestAgentSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _, d := agency(t, func(o *Options) { o.Keys = []string{"a", "b"} }, "CALL look {}", "x", "CALL look {}",
			"x", "CALL look {}", "x", "CALL look {}", "x")
		ask := func(key, session string) *recorder {
			return through(server.Handler(), "/v1/chat/completions", hi+"}", "Authorization", "Bearer "+key,
				sessionHeader, session)
		}
		for i, tc := range []struct{ key, session, want string }{
			{"a", "s", "look of 1 is 1"},
			{"a", "s", "look of 1 is 2"},
			{"b", "s", "look of 2 is 1"},
		} {
			if w := ask(tc.key, tc.session); !strings.Contains(w.text(), tc.want) {
				t.Errorf("task %d: %d %s", i, w.Code, w.text())
			}
		}
		if w := ask("a", "another"); w.Code != 429 || !strings.Contains(w.text(), "no_session") || d.count() != 2 {
			t.Errorf("a third session: %d, %d are open", w.Code, d.count())
		}
		d.slow = make(chan struct{})
		done := make(chan *recorder)
		go func() { done <- ask("a", "s") }()
		synctest.Wait()
		if w := ask("a", "s"); w.Code != 409 || !strings.Contains(w.text(), "session_busy") {
			t.Errorf("two tasks of one session: %d %s", w.Code, w.text())
		}
		close(d.slow)
		if w := <-done; !strings.Contains(w.text(), "look of 1 is 3") {
			t.Errorf("%d %s", w.Code, w.text())
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if d.count() != 0 || len(server.sessions.open) != 0 {
			t.Errorf("%d sessions are open behind their time", d.count())
		}
	})
}

// Who goes on from a response goes on from its calls too.
func TestAgentResponsesKeepCalls(t *testing.T) {
	server, s, _ := agency(t, nil, "I look. CALL look {}", "Done.", "Again.")
	w := through(server.Handler(), "/v1/responses", `{"model":"m","input":"hi"}`)
	var out struct{ ID string }
	if err := json.Unmarshal([]byte(w.text()), &out); err != nil {
		t.Fatal(err)
	}
	through(server.Handler(), "/v1/responses", `{"model":"m","input":"more","previous_response_id":"`+out.ID+`"}`)
	want := "2\nuser:hi\nassistant:I look. <call_0 look>\ntool:look of 1 is 1<for call_0>\nassistant:Done.\nuser:more\n"
	if got := text(s.asked[2].Prompt); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a task's conversation asks for says which tools the model is shown.
func TestAgentIsShownWhatFits(t *testing.T) {
	server, s, _ := agency(t, func(o *Options) {
		o.Agent.ListOf = func(messages []chat.Message) ([]chat.Tool, error) {
			if messages[0].Content == "hi" {
				return o.Agent.List[:1], nil
			}
			return nil, errors.New("no tool is known")
		}
	}, "Done.")
	if w := through(server.Handler(), "/v1/chat/completions", hi+"}"); !strings.Contains(w.body.String(), "Done.") ||
		!strings.HasPrefix(text(s.asked[0].Prompt), "1\n") {
		t.Errorf("%s; prompt %q", w.body.String(), text(s.asked[0].Prompt))
	}
	if w := through(server.Handler(), "/v1/chat/completions",
		strings.Replace(hi, `"hi"`, `"ho"`, 1)+"}"); strings.Contains(w.body.String(), "Done.") {
		t.Errorf("a list that cannot be made is not told: %s", w.body.String())
	}
}

// A call waits until the client was told of it, and for no client that is gone.
func TestCallsWaitForTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		ctx, gone := context.WithCancel(t.Context())
		made := make(chan struct{})
		go func() {
			f.addCall(ctx, news{step: &Step{Name: "buy"}})
			close(made)
		}()
		synctest.Wait()
		select {
		case <-made:
			t.Error("the call is made before the client was told of it")
		default:
		}
		gone()
		synctest.Wait()
		select {
		case <-made:
		default:
			t.Error("the call of a client that is gone waits for ever")
		}
	})
}

// Behind the turn that had to call, a task reads what its model says as ever: text, then a call.
func TestAgentGoesOnBehindAForcedCall(t *testing.T) {
	server, _, d := agency(t, func(o *Options) {
		shaped(o)
		o.Models[0].Shape.Read = func([]int32) Reader {
			return toolcall.Frame{Open: "CALL ", Middle: " ", Between: "\n"}.Reader()
		}
		o.Agent.List[0].InputSchema = json.RawMessage(`{"const":{}}`)
	}, "CALL look {}", "More. CALL look {}", "Done.")
	w := through(server.Handler(), "/v1/chat/completions", hi+`,"tool_choice":"required"}`)
	if w.Code != 200 || d.made() != 2 || !strings.Contains(w.text(), "Done.") || strings.Contains(w.text(), "CALL") {
		t.Errorf("status %d, %d calls: %s", w.Code, d.made(), w.text())
	}
}

// A task whose calls were made is finished while the server ends: sent again, it would make them twice.
func TestAgentFinishesWhatItBegan(t *testing.T) {
	server, s, d := agency(t, nil, "CALL look {}", "Done.")
	d.slow = make(chan struct{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	told := make(chan string)
	go func() {
		status, body := send(t, "POST", "http://"+l.Addr().String()+"/v1/chat/completions", hi+"}")
		told <- fmt.Sprint(status, " ", body)
	}()
	sampled := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.asked)
	}
	slots := server.models.list[0].slots
	for taken := 1; taken > 0 || sampled() == 0; taken, _ = slots.busy() { // until its call is under way
		time.Sleep(time.Millisecond)
	}
	stop()
	for slots.admits() == nil {
		time.Sleep(time.Millisecond)
	}
	close(d.slow)
	if told := <-told; !strings.HasPrefix(told, "200 ") || !strings.Contains(told, "Done.") {
		t.Errorf("%s", told)
	}
	if err := <-ended; err != nil || sampled() != 2 {
		t.Errorf("%v, %d were sampled", err, sampled())
	}
}

// What is counted of an agent's task has the agent's tools.
func TestAgentCountsItsTools(t *testing.T) {
	server, _, _ := agency(t, nil, "Done.")
	w := through(server.Handler(), "/tokenize", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	// the prompt begins with their number
	if want := fmt.Sprintf(`"tokens":[%d,`, '2'); !strings.Contains(w.text(), want) {
		t.Errorf("want %s: %s", want, w.text())
	}
}
