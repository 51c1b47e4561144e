package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data"
	"hone/internal/episode/scenario"
	"hone/internal/job"
	"hone/internal/job/play"
	"hone/internal/run"
)

// words is the made run's MCP server with more tools, as it could be by now; made are the calls that reached it.
func words(t testing.TB, dir string) (made func() []string) {
	t.Helper()
	var mu sync.Mutex
	var calls []string
	s := sdk.NewServer(&sdk.Implementation{Name: "words", Version: "1.3"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	add := func(name string, hints *sdk.ToolAnnotations, answer string) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Annotations: hints},
			func(_ context.Context, _ *sdk.CallToolRequest, x in) (*sdk.CallToolResult, any, error) {
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, name+" "+x.Text)
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: answer}}}, nil, nil
			})
	}
	add("count", &sdk.ToolAnnotations{ReadOnlyHint: true}, `{"words":5}`)
	add("note", nil, "noted")
	add("erase", &sdk.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(true)}, "erased")
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(h.Close)
	check(t, os.WriteFile(serversOf(dir), []byte(`{"mcpServers": {"words": {"url": "`+h.URL+`"}}}`), 0o600))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(calls)
	}
}

// endpoint is an OpenAI-compatible server by a script: it calls the tools that it is told to by "TOOL WORD, TOOL WORD",
// and says then how it was answered. keys are those that it was sent.
func endpoint(t testing.TB) (address string, keys func() []string) {
	t.Helper()
	var mu sync.Mutex
	var sent []string
	broken := true
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.Header.Get("Authorization"))
		var body struct{ Messages []chat.Message }
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &body)
		last := body.Messages[len(body.Messages)-1]
		for _, m := range body.Messages {
			if m.Content == "count always" { // whatever it is answered
				last = m
			}
		}
		m := chat.Message{Role: chat.Assistant, Content: "I was answered: " + last.Content + hostile}
		switch {
		case last.Role != chat.User || strings.HasPrefix(last.Content, "How many"):
		case last.Content == "break" && broken:
			broken = false
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": {"message": "no such adapter"}}`)
			return
		case last.Content == "markup":
			m.Content = `<tool_call>{"name": "count", "arguments": {"text": }}</tool_call>`
		case strings.Contains(last.Content, " "):
			m.Content = "" + hostile
			for i, part := range strings.Split(last.Content, ", ") {
				tool, word, _ := strings.Cut(part, " ")
				arguments := fmt.Sprintf(`{"text":%q}`, word)
				if word == "wrongly" {
					arguments = `{"words": 1}`
				}
				m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: fmt.Sprint("c", i), Name: tool,
					Arguments: arguments})
			}
		}
		said, _ := json.Marshal(m)
		fmt.Fprintf(w, `{"choices": [{"finish_reason": "stop", "message": %s}]}`, said)
	}))
	t.Cleanup(h.Close)
	return h.URL + "/v1", func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(sent)
	}
}

// player is the page.
type player struct {
	t        *testing.T
	address  string // of the view
	run      string
	endpoint string
	now      Playground
}

// ask sends a question, or a move where there is a body, as the page does.
func (p *player) ask(path string, body, into any) (int, failure) {
	p.t.Helper()
	method, text := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		text, _ = json.Marshal(body)
	}
	q, err := http.NewRequestWithContext(p.t.Context(), method, p.address+"api/"+path, bytes.NewReader(text))
	check(p.t, err)
	u, _ := url.Parse(p.address)
	q.Header.Set("Origin", "http://"+u.Host)
	q.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(q)
	check(p.t, err)
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	check(p.t, err)
	var f failure
	if res.StatusCode != http.StatusOK {
		_ = json.Unmarshal(said, &f) // what is no JSON is shown by the status
		return res.StatusCode, f
	}
	check(p.t, json.Unmarshal(said, into))
	return res.StatusCode, f
}

// move makes a move, which the server takes.
func (p *player) move(m map[string]any) {
	p.t.Helper()
	if status, f := p.ask("playground?run="+p.run, m, &p.now); status != http.StatusOK {
		p.t.Fatalf("%v: %d %+v", m, status, f)
	}
}

// refused makes a move that the server refuses, and says why.
func (p *player) refused(m map[string]any, why string) {
	p.t.Helper()
	var never Playground
	status, f := p.ask("playground?run="+p.run, m, &never)
	if status == http.StatusOK || !strings.Contains(f.What, why) {
		p.t.Errorf("%v: %d %+v, want %q", m, status, f, why)
	}
}

func (p *player) begin(m map[string]any) {
	p.t.Helper()
	m["do"], m["endpoint"], m["model"], m["key_env"] = "begin", p.endpoint, "m", "KEY"
	p.move(m)
}

// until waits for a phase.
func (p *player) until(phase play.Phase) Playground {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); p.now.Phase != phase; {
		if p.now.Phase == play.Over || time.Now().After(end) {
			p.t.Fatalf("it is %s and not %s: %+v %+v", p.now.Phase, phase, p.now.Failure, p.now.Notes)
		}
		p.ask("playground?run="+p.run+"&since="+p.now.Version, nil, &p.now)
	}
	return p.now
}

// decide answers the question that waits, of a tool.
func (p *player) decide(tool, do string) {
	p.t.Helper()
	q := p.until(play.Asking).Question
	if q.Tool != tool {
		p.t.Fatalf("it asks about %s, and not %s", q.Tool, tool)
	}
	p.move(map[string]any{"do": do, "number": q.Number})
}

// calls are how those of a turn ended.
func (p *player) calls(turn int) (statuses []string) {
	for _, r := range p.now.Episode.Trajectory.Turns[turn].Results {
		statuses = append(statuses, string(r.Status)+": "+r.Approval)
	}
	return statuses
}

// playing serves a made run, its server, and an endpoint, until the test ends; nothing is left of it then.
func playing(t *testing.T) (p *player, made, keys func() []string, dir string) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t, before)
	})
	dir = filepath.Join(t.TempDir(), "run")
	check(t, madeRun(t, dir).Close())
	made = words(t, dir)
	p = &player{t: t, run: "run"}
	p.endpoint, keys = endpoint(t)
	h := quiet(t)
	state := t.TempDir()
	h.LookupEnv = func(name string) (string, bool) {
		value, is := map[string]string{"KEY": "the secret", "XDG_STATE_HOME": state, "HOME": state, "USER": "ann"}[name]
		return value, is
	}
	s := &Server{Env: job.Env{Host: h}, Runs: []string{dir}, Today: func() (config.Config, error) {
		c := config.Default()
		c.MCP.Approval.Deny = []string{"words/note"}
		return c, nil
	}}
	l, err := Listen("127.0.0.1:0")
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	address, over := make(chan string, 1), make(chan error, 1)
	go func() { over <- s.Serve(ctx, l, func(a string) { address <- a }) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	select {
	case p.address = <-address:
	case err := <-over:
		over <- nil
		if _, none := pageFiles(); none != nil {
			t.Skip(none)
		}
		t.Fatal(err)
	}
	return p, made, keys, dir
}

func madeRun(t *testing.T, dir string) *run.Dir {
	d := made(t, dir, 88)
	check(t, d.Close())
	d, err := run.Open(dir, run.OpenOptions{})
	check(t, err)
	return d
}

// Each call waits for the person: one that only reads too, until the person says otherwise; one that destroys always.
// What rules deny is denied unasked. Nothing is started before the person begins, and the key stays here.
func TestPlaygroundAsksAboutCalls(t *testing.T) {
	p, made, keys, _ := playing(t)
	p.refused(map[string]any{"do": "say", "text": "hello"}, "there is no conversation")
	p.refused(map[string]any{"do": "begin", "text": "hello"}, "name the model")
	p.refused(map[string]any{"do": "begin", "endpoint": p.endpoint, "model": "m"}, "nothing is said")
	p.begin(map[string]any{"text": "count one"})
	p.refused(map[string]any{"do": "begin", "endpoint": p.endpoint, "model": "m", "text": "x"},
		"a conversation goes on")
	q := *p.until(play.Asking).Question
	if !q.ReadOnly || q.Destructive || q.Server != "words" || q.Arguments != `{"text":"one"}` || len(made()) > 0 {
		t.Errorf("%+v; made were %q", q, made())
	}
	p.refused(map[string]any{"do": "approve", "number": q.Number + 1}, "nothing waits for that")
	p.refused(map[string]any{"do": "say", "text": "x"}, "nothing waits for that")
	p.decide("count", "approve")
	p.until(play.Waiting)
	p.refused(map[string]any{"do": "approve", "number": q.Number}, "nothing waits for that") // a second click
	if got := p.calls(0); !slices.Equal(got, []string{"ok: allowed by the user"}) {
		t.Errorf("%q", got)
	}
	p.move(map[string]any{"do": "say", "text": "count two, note it, erase all"})
	p.decide("count", "refuse")
	p.decide("erase", "approve")
	p.until(play.Waiting)
	if got := p.calls(2); len(got) != 3 || got[0] != "denied: denied by the user" ||
		got[1] != `denied: denied by the rule "words/note"` || got[2] != "ok: allowed by the user" {
		t.Errorf("%q", got)
	}
	p.move(map[string]any{"do": "let_reads"})
	p.move(map[string]any{"do": "say", "text": "count three, erase more"})
	p.decide("erase", "refuse")
	p.until(play.Waiting)
	p.move(map[string]any{"do": "ask_reads"})
	p.move(map[string]any{"do": "say", "text": "count wrongly"})
	p.decide("count", "approve")
	p.until(play.Waiting)
	if got := p.calls(4)[0]; got != "ok: allowed by the user, who lets such calls be made unasked" {
		t.Error(got)
	}
	if len(p.now.Episode.Problems) != 1 || p.now.Episode.Problems[0].Turn != 6 {
		t.Errorf("the call against the schema is not told: %+v", p.now.Episode.Problems)
	}
	if want := []string{"count one", "erase all", "count three"}; !slices.Equal(made(), want) {
		t.Errorf("made were %q, want %q", made(), want)
	}
	text, _ := json.Marshal(p.now)
	if bytes.Contains(text, []byte("the secret")) || keys()[0] != "Bearer the secret" {
		t.Errorf("the key %q; the page got %s", keys()[0], text)
	}
	res, err := http.Post(p.address+"api/playground?run=run", "application/json", strings.NewReader(`{"do":"end"}`))
	check(t, err)
	check(t, res.Body.Close())
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a request that does not say from where is answered %d", res.StatusCode)
	}
}

// What fails is told as what it is, with what can be done, and the conversation goes on where it can.
func TestPlaygroundTellsFailures(t *testing.T) {
	p, _, _, dir := playing(t)
	p.begin(map[string]any{"text": "break"})
	if f := p.until(play.Held).Failure; !strings.Contains(f.Why, "no such adapter") || f.Next == "" {
		t.Errorf("%+v", f)
	}
	p.move(map[string]any{"do": "go_on"})
	p.until(play.Waiting)
	p.move(map[string]any{"do": "say", "text": "markup"})
	p.until(play.Waiting)
	if n := p.now.Notes; len(n) != 1 || !strings.Contains(n[0], "Turn 1: the endpoint left a call in the text") ||
		!strings.Contains(n[0], "Next: ") {
		t.Errorf("%q", n)
	}
	p.move(map[string]any{"do": "let_reads"})
	p.move(map[string]any{"do": "say", "text": "count always"})
	for _, turns := range []int{2 + 16, 2 + 2*16} { // a model that never answers is held, and goes on where it is let
		if f := p.until(play.Held).Failure; f.What != "16 turns without an answer to you" ||
			len(p.now.Episode.Trajectory.Turns) != turns {
			t.Errorf("after %d turns: %+v", len(p.now.Episode.Trajectory.Turns), f)
		}
		p.move(map[string]any{"do": "go_on"})
	}
	p.move(map[string]any{"do": "end"})
	if p.now.Phase != play.Over || p.now.Failure != nil {
		t.Errorf("%+v", p.now)
	}
	check(t, os.WriteFile(serversOf(dir), []byte(`{"mcpServers": {"words": {"url": "http://127.0.0.1:1/"}}}`), 0o600))
	p.begin(map[string]any{"text": "count one"})
	for p.now.Phase != play.Over {
		p.ask("playground?run="+p.run+"&since="+p.now.Version, nil, &p.now)
	}
	if f := p.now.Failure; f == nil || !strings.Contains(f.What+f.Where+f.Why, "words") || f.Next == "" {
		t.Errorf("of a server that is gone: %+v", f)
	}
	p.refused(map[string]any{"do": "send"}, "there is nothing to curate")
}

// A trajectory is gone on from at a turn: what was before is taken again, its calls are asked about again, and what the
// model says then is a trace that can be curated beside those of another conversation. The run stays as it was.
func TestPlaygroundGoesOnFromATurn(t *testing.T) {
	p, made, _, dir := playing(t)
	before := contentsOf(t, dir)
	const name = "grpo/task-01/0/0"
	p.refused(map[string]any{"do": "begin", "endpoint": p.endpoint, "model": "m", "episode": name, "turn": 3},
		"has no turn 3")
	p.begin(map[string]any{"episode": name, "turn": 1})
	q := p.until(play.Asking).Question
	if !strings.Contains(q.Before, "turn 0 made it before") {
		t.Errorf("%+v", q)
	}
	p.decide("count", "approve")
	p.until(play.Waiting)
	turns := p.now.Episode.Trajectory.Turns
	if len(turns) != 2 || !turns[0].NoLoss || turns[1].NoLoss ||
		!strings.HasPrefix(turns[1].Content, `I was answered: {"words":5}`) ||
		!slices.Equal(made(), []string{"count insect task-01 ladder ladder music"}) {
		t.Errorf("%+v; made were %q", turns, made())
	}
	if n := p.now.Notes; len(n) != 1 || !strings.Contains(n[0], "turn 0 were answered otherwise") {
		t.Errorf("%q", n)
	}
	p.move(map[string]any{"do": "say", "text": "thanks"})
	p.until(play.Waiting)
	p.move(map[string]any{"do": "send"})
	kept := p.now.Kept
	if kept == nil || kept.Run != "run-played" || kept.Episode != "collect/talk-1" {
		t.Fatalf("%+v", kept)
	}
	tasks, err := scenario.LoadCopy(filepath.Join(kept.Path, "scenarios.json"))
	check(t, err)
	if len(tasks) != 1 || len(tasks[0].Messages) != 2 || !slices.Equal(tasks[0].User.Says, []string{"thanks"}) ||
		!slices.Contains(tasks[0].Tags, "branch:"+name+"@1") {
		t.Errorf("another model could not be told the same: %+v", tasks)
	}
	var traces Traces
	p.ask("traces?run="+kept.Run, nil, &traces)
	if len(traces.Traces) != 1 || traces.Traces[0].Messages != 7 || traces.Traces[0].ID != kept.Trace {
		t.Fatalf("%+v", traces)
	}
	var done Curated
	p.ask("curate?run="+kept.Run, map[string]any{"do": "accept", "trace": traces.Traces[0].ID}, &done)

	// A second one comes behind it, and what was curated stays so.
	told, since := make(chan string, 1), p.now.Version
	go func() { // a page that waits, in another tab
		var next Playground
		p.ask("playground?run="+p.run+"&since="+since, nil, &next)
		told <- next.Version
	}()
	time.Sleep(50 * time.Millisecond) // it waits by then, or is answered at once
	p.begin(map[string]any{"text": "hello"})
	p.until(play.Waiting)
	if version := <-told; !strings.HasPrefix(version, "2.") {
		t.Errorf("a page that waits is told of %s, and not of the second conversation", version)
	}
	p.move(map[string]any{"do": "send"})
	p.ask("traces?run="+kept.Run, nil, &traces)
	if len(traces.Traces) != 2 || traces.Traces[0].Status != "accepted" || traces.Traces[1].Task != "hello" {
		t.Errorf("%+v", traces)
	}
	var again Episode
	if status, f := p.ask("episode?run="+kept.Run+"&id="+kept.Episode, nil, &again); status != http.StatusOK ||
		again.Trajectory.Outcome != "ok" || len(again.Trajectory.Turns) != 3 {
		t.Errorf("%d %+v %+v", status, f, again.Trajectory)
	}
	desk, err := data.Curating{Data: filepath.Join(kept.Path, "trajectories.jsonl"), Look: true}.Open(quiet(t))
	check(t, err)
	defer desk.Close()
	for _, row := range desk.ToExport(true, nil) { // what sft reads
		var learnt []bool
		for _, m := range row.Messages {
			if m.Role == chat.Assistant {
				learnt = append(learnt, !m.NoLoss)
			}
		}
		if !slices.Equal(learnt, []bool{false, true, true}) || row.Split != "train" || len(row.Tools) == 0 {
			t.Errorf("learnt are %v of split %q with %d tools", learnt, row.Split, len(row.Tools))
		}
	}
	p.begin(map[string]any{"episode": name, "turn": 2})
	p.decide("count", "approve")
	p.until(play.Waiting)
	p.refused(map[string]any{"do": "send"}, "there is nothing to curate")
	if after := contentsOf(t, dir); after != before {
		t.Error("the run that was gone on from has changed")
	}
}

// The calls by which a task is set up wait for the person too; without them it does not begin.
func TestPlaygroundAsksAboutSetUp(t *testing.T) {
	p, made, _, _ := playing(t)
	p.begin(map[string]any{"episode": "eval_model/task-39/0/0", "turn": 0})
	if q := p.until(play.Asking).Question; q.Before != "it sets up the task" || q.Arguments != `{"text":"setup"}` {
		t.Errorf("%+v", q)
	}
	p.decide("count", "refuse")
	for p.now.Phase != play.Over {
		p.ask("playground?run="+p.run+"&since="+p.now.Version, nil, &p.now)
	}
	if f := p.now.Failure; f == nil || !strings.Contains(f.Why, "denied by the user") || len(made()) > 0 {
		t.Errorf("%+v; made were %q", f, made())
	}
}

// What others are measured on stays so in a conversation that goes on from it, and one in which the model said nothing
// anew is not kept.
func TestPlaygroundKeepsTheSplit(t *testing.T) {
	p, _, _, _ := playing(t)
	const name = "eval_model/task-02/0/0"
	p.begin(map[string]any{"episode": name, "turn": 2})
	p.decide("count", "approve")
	p.until(play.Waiting)
	p.refused(map[string]any{"do": "send"}, "there is nothing to curate")
	p.begin(map[string]any{"episode": name, "turn": 0})
	p.until(play.Waiting)
	p.move(map[string]any{"do": "send"})
	var kept Episode
	status, f := p.ask("episode?run="+p.now.Kept.Run+"&id="+p.now.Kept.Episode, nil, &kept)
	if status != http.StatusOK || kept.Trajectory.Split != "test" {
		t.Errorf("%d %+v %+v", status, f, kept.Trajectory)
	}
}

// contentsOf are the texts of a run's files that others read.
func contentsOf(t *testing.T, dir string) (all string) {
	for _, name := range []string{"trajectories.jsonl", "scenarios.json", "catalog.json", "version.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		check(t, err)
		all += string(text)
	}
	return all
}
