package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

var _ environment.Tools = (*Pool)(nil)

func newPool(t *testing.T, config Config, o Options) *Pool {
	t.Helper()
	catalog, err := Discover(context.Background(), config, Options{ResourceTools: o.ResourceTools})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPool(context.Background(), config, catalog, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func open(t *testing.T, p *Pool, id string) *Episode {
	t.Helper()
	s, err := p.Open(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*Episode)
}

func ask(s environment.Session, name, args string) trajectory.ToolResult {
	return s.Call(context.Background(), []chat.ToolCall{{ID: "1", Name: name, Arguments: args}})[0]
}

func TestCall(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{MaxResult: 100})
	e := open(t, p, "e")
	tests := []struct {
		tool, args string
		status     trajectory.CallStatus
		text       string
	}{
		{"add", `{"A":2,"B":3}`, trajectory.CallOK, `{"sum":5}`},
		{"fail", `{}`, trajectory.CallToolError, "the disk is full"},
		{"picture", `{}`, trajectory.CallOK, "see\n[image image/png, 3 bytes]"},
		{"long", `{}`, trajectory.CallOK, "bytes omitted"},
		{"nope", `{}`, trajectory.CallInvalid, `unknown tool "nope"`},
		{"add", `{"A":"2","B":3}`, trajectory.CallInvalid, "/A: got string, want integer"},
		{"add", `{"A":2`, trajectory.CallInvalid, "ends early"},
		{"count", `{"x":1}`, trajectory.CallInvalid, "'x' not allowed"},
		{"count", `{}`, trajectory.CallOK, "1"}, // the invalid call before was never sent
	}
	for _, test := range tests {
		r := ask(e, test.tool, test.args)
		if r.Status != test.status || !strings.Contains(r.Text, test.text) || len(r.Text) > 100 {
			t.Errorf("%s(%s) = %s %q (%s), want %s %q",
				test.tool, test.args, r.Status, r.Text, r.Error, test.status, test.text)
		}
		if r.Call.Name != test.tool || r.Call.Arguments != test.args {
			t.Errorf("%s: the record holds %+v", test.tool, r.Call)
		}
	}
	if r := ask(e, "add", `{"A":2,"B":3}`); string(r.StructuredContent) != `{"sum":5}` {
		t.Errorf("structured content %s", r.StructuredContent)
	}
}

func TestCallsRunTogetherInOrder(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{})
	calls := []chat.ToolCall{
		{Name: "meet", Arguments: "{}"},
		{Name: "nope"},
		{Name: "meet", Arguments: "{}"},
		{Name: "add", Arguments: `{"A":1,"B":1}`},
	}
	var got []string
	for _, r := range open(t, p, "e").Call(context.Background(), calls) {
		got = append(got, r.Call.Name+" "+string(r.Status))
	}
	if want := "[meet ok nope invalid meet ok add ok]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestServerErrorIsAnObservation(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "pages")}), Options{})
	if r := ask(open(t, p, "e"), "third", "{}"); r.Status != trajectory.CallToolError || r.Error != "no such item" {
		t.Errorf("%+v", r)
	}
}

func TestHugeAnswerFailsThatCallAlone(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "huge")}), Options{})
	e := open(t, p, "e")
	for range 2 { // the second proves that the session survived the first
		if r := ask(e, "third", "{}"); r.Status != trajectory.CallToolError ||
			!strings.Contains(r.Text, "larger than") {
			t.Errorf("%s %.100s %.100s", r.Status, r.Text, r.Error)
		}
	}
}

func TestTimeoutSparesTheSession(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{Timeout: 300 * time.Millisecond})
	e := open(t, p, "e")
	if r := ask(e, "hang", "{}"); r.Status != trajectory.CallTimeout {
		t.Errorf("%+v", r)
	}
	p.servers[0].timeout = time.Minute // an answer is due now, and the machine may be busy
	if r := ask(e, "count", "{}"); r.Status != trajectory.CallOK {
		t.Errorf("after a time-out: %+v", r)
	}
}

func TestCancelledCall(t *testing.T) {
	e := open(t, newPool(t, configOf(t, map[string]Server{"s": self(t, "tools")}), Options{}), "e")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if r := e.Call(ctx,
		[]chat.ToolCall{{Name: "hang", Arguments: "{}"}})[0]; r.Status != trajectory.CallTransportError {
		t.Errorf("%+v", r)
	}
}

func TestDeathMidCall(t *testing.T) {
	for _, isolation := range []Isolation{Shared, PerSession} {
		t.Run(string(isolation), func(t *testing.T) {
			s := self(t, "tools")
			s.Isolation = isolation
			p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{})
			first, second := open(t, p, "1"), open(t, p, "2")
			r := ask(first, "die", "{}")
			if r.Status != trajectory.CallTransportError || !strings.Contains(r.Error, "boom") ||
				!strings.Contains(r.Error, "exit status 3") {
				t.Errorf("%+v", r)
			}
			if r := ask(second, "count", "{}"); r.Status != trajectory.CallOK || r.Text != "1" {
				t.Errorf("the other episode: %+v", r)
			}
			if r := ask(open(t, p, "3"), "add", `{"A":1,"B":1}`); r.Status != trajectory.CallOK {
				t.Errorf("the next episode: %+v", r)
			}
		})
	}
}

func TestIsolation(t *testing.T) {
	tests := []struct {
		isolation Isolation
		want      string // what the second episode counts after the first has counted once
	}{{Shared, "2"}, {PerSession, "1"}, {PerProcess, "1"}}
	for _, test := range tests {
		s := self(t, "tools")
		s.Isolation = test.isolation
		p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{})
		first, second := open(t, p, "1"), open(t, p, "2")
		if r := ask(first, "count", "{}"); r.Text != "1" {
			t.Errorf("%s: first %+v", test.isolation, r)
		}
		if r := ask(second, "count", "{}"); r.Text != test.want {
			t.Errorf("%s: second counts %q, want %q", test.isolation, r.Text, test.want)
		}
	}
}

func TestTemplate(t *testing.T) {
	template := t.TempDir()
	os.WriteFile(filepath.Join(template, "note"), []byte("original"), 0o600)
	s := self(t, "tools", EpisodeDir)
	s.Template = template
	config := configOf(t, map[string]Server{"s": s})
	p := newPool(t, config, Options{Warm: 2})
	first, second := open(t, p, "1"), open(t, p, "2")
	if r := ask(first, "write", `{"Text":"changed"}`); r.Status != trajectory.CallOK {
		t.Fatalf("%+v", r)
	}
	if got := ask(first, "read", "{}").Text; got != "changed" {
		t.Errorf("the first episode reads %q", got)
	}
	if got := ask(second, "read", "{}").Text; got != "original" {
		t.Errorf("the second episode reads %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(first.Dir("s"), "note")); string(data) != "changed" {
		t.Errorf("Dir holds %q (%v)", data, err)
	}
	if data, _ := os.ReadFile(filepath.Join(template, "note")); string(data) != "original" {
		t.Errorf("the template became %q", data)
	}
	first.Close()
	second.Close()
	p.Close()
	if left, _ := os.ReadDir(config.Base["TMPDIR"]); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEnvironmentIsMinimal(t *testing.T) {
	t.Setenv("HONE_TEST_SECRET", "sesame")
	s := self(t, "tools")
	s.Env = map[string]string{"DECLARED": "yes"}
	config := configOf(t, map[string]Server{"s": s})
	text := ask(open(t, newPool(t, config, Options{}), "e"), "env", "{}").Text
	got := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, "=")
		got[key] = value
	}
	delete(got, markerEnv)
	delete(got, "GORACE")
	if len(got) != 4 || got["DECLARED"] != "yes" || got["PATH"] != config.Base["PATH"]+":"+filepath.Dir(s.Command) ||
		!strings.HasPrefix(got["HOME"], config.Base["TMPDIR"]) {
		t.Errorf("the process sees %v", got)
	}
}

func TestHTTPSessions(t *testing.T) {
	var down atomic.Bool
	handler := bearer("sesame",
		mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newFixture(nil) }, nil))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler) // hangs up
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	config, err := FromFlag(server.URL, "sesame", func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, config, Options{})
	first, second := open(t, p, "1"), open(t, p, "2")
	for i, e := range []*Episode{first, second} {
		if r := ask(e, "add", `{"A":1,"B":1}`); r.Status != trajectory.CallOK || r.Text != `{"sum":2}` {
			t.Errorf("episode %d: %+v", i, r)
		}
	}
	if r := ask(first, "fail", "{}"); r.Status != trajectory.CallToolError {
		t.Errorf("%+v", r)
	}
	first.Close()
	down.Store(true)
	if r := ask(second, "count", "{}"); r.Status != trajectory.CallTransportError {
		t.Errorf("with the server gone: %+v", r)
	}
	down.Store(false)
	second.Close() // while the fixture can still be told to end the session
}

func TestNoOrphans(t *testing.T) {
	for _, mode := range []string{"stubborn", "leaves-child"} {
		t.Run(mode, func(t *testing.T) {
			pids := t.TempDir()
			config := configOf(t, map[string]Server{"s": self(t, mode, pids, "parent")})
			l, err := newOpener("s", config.Servers["s"], config.Base,
				Options{ProbeTimeout: 30 * time.Second}.withDefaults())
			if err != nil {
				t.Fatal(err)
			}
			s, err := l.openFrom(context.Background(), start{})
			if err != nil {
				t.Fatal(err)
			}
			child := ""
			for child == "" { // the child says that it ignores TERM by writing its id
				if files, _ := os.ReadDir(pids); len(files) > 0 {
					child = files[0].Name()
				}
				time.Sleep(5 * time.Millisecond)
			}
			if !alive(child) {
				t.Fatal("the test cannot see the child")
			}
			s.close()
			for _, pid := range []string{fmt.Sprint(s.conn.p.pid), child} {
				for range 12000 { // KILL is sent; the kernel delivers it in its own time
					if !alive(pid) {
						break
					}
					time.Sleep(5 * time.Millisecond)
				}
				if alive(pid) {
					t.Errorf("process %s outlived its session", pid)
				}
			}
		})
	}
}

// alive reports whether a process runs; one that has ended and waits for its parent does not.
func alive(pid string) bool {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestPoolRefusesWhatItCannotOpen(t *testing.T) {
	catalog := &Catalog{Servers: []ServerTools{{Name: "gone"}}}
	if _, err := NewPool(context.Background(), Config{}, catalog, Options{}); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("a server that the configuration lacks: %v", err)
	}
	config := configOf(t, map[string]Server{"gone": self(t, "broken")})
	p, err := NewPool(context.Background(), config, catalog, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Open(context.Background(), "e7"); err == nil || !strings.Contains(err.Error(), "no such database") ||
		!strings.Contains(err.Error(), "e7") {
		t.Errorf("Open: %v", err)
	}
}

// A start that fails once does not leave the run without ready processes.
func TestWarmAgainAfterAFailure(t *testing.T) {
	config := configOf(t, map[string]Server{"s": self(t, "tools")})
	catalog, err := Discover(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	var failing atomic.Bool
	failing.Store(true)
	failed := make(chan struct{})
	p, err := NewPool(context.Background(), config, catalog, Options{
		Warm: 1,
		Wrap: func(string, string, *exec.Cmd) error {
			if failing.Swap(false) {
				close(failed)
				return errors.New("no processes left")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	<-failed
	open(t, p, "1")
	for range 6000 {
		if p.Stats()[0].Sessions == 2 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := p.Stats()[0].Sessions; n != 2 {
		t.Errorf("%d sessions: none is kept ready", n)
	}
}
