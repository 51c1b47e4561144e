package service

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// orsClient speaks the Open Reward Standard, as openreward does.
type orsClient struct {
	*served
	id string
}

func (c *orsClient) do(ctx context.Context, method, path, body string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	q.Header.Set("X-Session-ID", c.id)
	return http.DefaultClient.Do(q)
}

// ask returns the status and the text of an answer.
func (c *orsClient) ask(method, path, body string) (int, string) {
	c.t.Helper()
	r, err := c.do(c.t.Context(), method, path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	var text strings.Builder
	_, _ = bufio.NewReader(r.Body).WriteTo(&text)
	return r.StatusCode, strings.TrimSpace(text.String())
}

// begin creates a session of a scenario.
func (s *served) beginORS(scenario string) *orsClient {
	s.t.Helper()
	s.t.Cleanup(http.DefaultClient.CloseIdleConnections)
	c := &orsClient{served: s}
	_, text := c.ask("POST", "/create_session", "{}")
	name, id, _ := strings.Cut(readEvents(s.t, text)[0], " ")
	if c.id = id; name != "task_id" || len(id) != 32 {
		s.t.Fatal(text)
	}
	if status, answer := c.ask("POST",
		"/create", `{"env_name": "hone", "task_spec": {"scenario": "`+scenario+`"}}`); status != 200 ||
		answer != `{"sid":"`+c.id+`"}` {
		s.t.Fatalf("%d %s", status, answer)
	}
	return c
}

// readEvents are the events of a stream, each with its data.
func readEvents(t *testing.T, text string) (list []string) {
	t.Helper()
	for _, event := range strings.Split(strings.TrimSpace(text), "\n\n") {
		name, data, ok := strings.Cut(event, "\n")
		if !ok {
			t.Fatalf("%q", event)
		}
		list = append(list,
			strings.TrimSpace(strings.TrimPrefix(name, "event: "))+" "+strings.TrimPrefix(data, "data: "))
	}
	return list
}

// call makes a call, and returns what its stream says. The client puts parts together without the spaces that they
// begin with.
func (c *orsClient) call(name, input, task string) (output string, reward *float64, finished bool, hone Verdict) {
	c.t.Helper()
	body, _ := json.Marshal(map[string]any{"name": name, "input": json.RawMessage(input), "task_id": task})
	_, text := c.ask("POST", "/call", string(body))
	var whole strings.Builder
	for _, event := range readEvents(c.t, text)[1:] {
		kind, data, _ := strings.Cut(event, " ")
		if kind != "chunk" && kind != "end" {
			c.t.Fatal(event)
		}
		whole.WriteString(strings.TrimLeft(data, " \t\u00a0\u0085\u2003"))
	}
	var answer struct {
		OK     bool
		Output struct {
			Blocks   []struct{ Type, Text string }
			Reward   *float64
			Finished bool
			Metadata struct{ Hone Verdict }
		}
	}
	if err := json.Unmarshal([]byte(whole.String()), &answer); err != nil || !answer.OK ||
		len(answer.Output.Blocks) != 1 || answer.Output.Blocks[0].Type != "text" {
		c.t.Fatalf("%s, %v", text, err)
	}
	return answer.Output.Blocks[0].Text, answer.Output.Reward, answer.Output.Finished, answer.Output.Metadata.Hone
}

// A session of the standard: its prompt and tools, calls, and the last words by the terminal tool, which the policy is
// not shown.
func TestORSSession(t *testing.T) {
	s := serveTasks(t, nil)
	c := s.beginORS("sum")
	for _, x := range [][2]string{
		{"/prompt", `[{"text":"[system]","type":"text"},{"text":"You add.","type":"text"},{"text":"[user]","type":"text"},{"text":"Add 2.","type":"text"}]`},
		{"/hone/messages", `[{"blocks":[{"text":"You add.","type":"text"}],"role":"system"},{"blocks":[{"text":"Add 2.","type":"text"}],"role":"user"}]`},
		{"/task_tools", `"tools":[{"name":"add","description":"Adds to a sum","input_schema":{"type":"object","properties":{"n":{"type":"number"}}}}]`},
		{"/hone/tools", `"terminal_tool":{"arg":"text","description":"Ends the episode with the last words of the policy","name":"hone_answer"}`},
		{"/version", `"build_sha":null`}, {"/splits", `[{"name":"train","type":"train"}`},
	} {
		if status, answer := c.ask("GET", x[0], ""); status != 200 || !strings.Contains(answer, x[1]) {
			t.Errorf("%s: %d %s", x[0], status, answer)
		}
	}
	if status, answer := c.ask("POST", "/create", `{"split": "validation", "index": 0}`); status != 200 ||
		s.table.active() != 1 {
		t.Errorf("created again: %d %s", status, answer)
	}
	if status, _ := c.ask("POST", "/ping", ""); status != 200 {
		t.Errorf("ping: %d", status)
	}
	for _, task := range []string{"one", "one", ""} { // the second is the first again
		want := "2"
		if task == "" {
			want = "4"
		}
		if text, reward, finished, _ := c.call("add", `{"n": 2}`, task); text != want || reward != nil || finished {
			t.Errorf("%s, %v, %v, want %s", text, reward, finished, want)
		}
	}
	if _, reward, finished, v := c.call("hone_answer", `{"text": "4"}`, ""); reward == nil || *reward != 1.3 ||
		!finished || !v.Trainable {
		t.Errorf("%v, %v, %+v", reward, finished, v)
	}
	if status, _ := c.ask("POST", "/delete", ""); status != 200 {
		t.Errorf("delete: %d", status)
	}
	if status, _ := c.ask("POST", "/call", `{"name": "add", "input": {}}`); status != 404 {
		t.Errorf("a session that was deleted: %d", status)
	}
}

// No failure is an error of create, or a reward: not servers that do not open, nor slots that are taken. What is not
// there is refused.
func TestORSFailures(t *testing.T) {
	s := serveTasks(t, func(o *Options, _ *memory) { o.MaxSessions, o.Wait = 1, time.Millisecond })
	for name, x := range map[string]struct {
		scenario, tool string
		want           trajectory.Outcome
	}{
		"does not open": {"unopened", "add", trajectory.EnvironmentError},
		"dies":          {"sum", "die", trajectory.EnvironmentError},
	} {
		c := s.beginORS(x.scenario)
		if text, reward, finished, v := c.call(x.tool, "{}", ""); reward != nil || !finished || v.Outcome != x.want ||
			!strings.HasPrefix(text, "Error: ") {
			t.Errorf("%s: %s, %v, %v, %+v", name, text, reward, finished, v)
		}
		c.ask("POST", "/delete", "")
		eventually(func() bool { return s.table.active() == 0 })
	}
	holds, waits := s.beginORS("sum"), s.beginORS("sum")
	if text, reward, finished, v := waits.call("add", "{}", ""); reward != nil || !finished ||
		v.Outcome != trajectory.InfrastructureError || v.Error != errFull.Error() {
		t.Errorf("%s, %v, %v, %+v", text, reward, finished, v)
	}
	if status, answer := (&orsClient{s, strings.Repeat("x", 16)}).ask("POST",
		"/create", `{"split": "train", "index": 7}`); status != 400 ||
		!strings.Contains(answer, "the index 7 is not in the split") {
		t.Errorf("%d %s", status, answer)
	}
	if status, _ := (&orsClient{s, "short"}).ask("POST", "/create", `{"split": "train", "index": 0}`); status != 400 {
		t.Errorf("%d", status)
	}
	holds.ask("POST", "/delete", "")
	eventually(func() bool { return s.table.active() == 0 })
}

// Who loses a stream asks again by the name that it began with, and no second call is made.
func TestORSStreamLost(t *testing.T) {
	s := serveTasks(t, nil)
	c := s.beginORS("sum")
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := c.do(ctx, "POST", "/call", `{"name": "hold", "input": {"n": 1}}`)
	if err != nil {
		t.Fatal(err)
	}
	line := bufio.NewReader(r.Body)
	_, _ = line.ReadString('\n')
	data, _ := line.ReadString('\n')
	<-s.adder.holding
	hangUp()
	_ = r.Body.Close()
	close(s.adder.hold)
	if text, _, _, _ := c.call("hold", `{"n": 1}`,
		strings.TrimSpace(strings.TrimPrefix(data, "data: "))); text != "held" {
		t.Error(text)
	}
	if _, _, calls := s.adder.counts(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
	c.ask("POST", "/delete", "")
}

// A session whose client no longer pings is closed.
func TestORSRests(t *testing.T) {
	s := serveTasks(t, func(o *Options, _ *memory) { o.Idle = 30 * time.Millisecond })
	s.beginORS("sum")
	eventually(func() bool {
		s.ors.mu.Lock()
		defer s.ors.mu.Unlock()
		return len(s.ors.sessions) == 0 && s.table.active() == 0
	})
}

// Long texts come in parts that no reader changes.
func TestORSParts(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		b.WriteString(strings.Repeat("é", i%7) + strings.Repeat(" ", i%5) + strings.Repeat("\u2003\u00a0", i%3) + "x")
	}
	w := &recorder{}
	(&events{w: w}).sendAll(b.String())
	var whole strings.Builder
	list := readEvents(t, w.String())
	for _, event := range list {
		kind, data, _ := strings.Cut(event, " ")
		if len(data) > 17<<10 || kind == "" {
			t.Errorf("a part of %d bytes", len(data))
		}
		whole.WriteString(strings.TrimLeft(data, " \t\u00a0\u0085\u2003"))
	}
	if len(list) < 3 || whole.String() != b.String() {
		t.Errorf("%d parts, %d bytes of %d", len(list), whole.Len(), b.Len())
	}
}

type recorder struct {
	strings.Builder
	http.ResponseWriter
}

func (r *recorder) Write(b []byte) (int, error) { return r.Builder.Write(b) }
func (r *recorder) FlushError() error           { return errors.ErrUnsupported }

// An opening with earlier turns has their calls and results.
func TestORSMessages(t *testing.T) {
	messages := []chat.Message{
		{Role: chat.User, Content: "Hi."},
		{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "look", Arguments: `{"a":1}`}}},
		{Role: chat.ToolRole, ToolCallID: "c", Content: "1"},
	}
	got, _ := json.Marshal(orsMessages(messages))
	if want := `[{"blocks":[{"text":"Hi.","type":"text"}],"role":"user"},{"blocks":[{"id":"c","input":{"a":1},"name":"look","type":"tool_call"}],"role":"assistant"},` +
		`{"blocks":[{"blocks":[{"text":"1","type":"text"}],"is_error":false,"tool_call_id":"c","type":"tool_result"}],"role":"user"}]`; string(got) != want {
		t.Error(string(got))
	}
	if got, _ := json.Marshal(orsPrompt(messages[:1])); string(got) != `[{"text":"Hi.","type":"text"}]` {
		t.Error(string(got))
	}
	if got, _ := json.Marshal(orsPrompt(messages)); !strings.Contains(string(got), `"[tool_call look] {\"a\":1}"`) {
		t.Error(string(got))
	}
}
