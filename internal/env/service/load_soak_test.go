//go:build soak

package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
)

const loadClient = "HONE_LOAD_CLIENT" // URL and number of sessions, of a process that is a client

// Many sessions at once, of two clients that are other processes: one is killed, and its sessions are gone; the other
// does not notice. What a session takes does not grow with their number, and nothing of it stays. Times are printed,
// and not judged.
func TestSoakSessions(t *testing.T) {
	if asked := os.Getenv(loadClient); asked != "" {
		url, n, _ := strings.Cut(asked, " ")
		sessions, _ := strconv.Atoi(n)
		beClient(t, url, sessions)
		return
	}
	perSession := map[int]float64{}
	for _, n := range []int{64, 128, 256, 512, 1000} {
		perSession[n] = load(t, n)
	}
	if perSession[1000] > 1.5*perSession[256] {
		t.Errorf("bytes of a session: %v", perSession)
	}
}

// load runs n sessions, and returns the bytes of heap and stacks that one takes.
func load(t *testing.T, n int) float64 {
	a := newAdder()
	s := serveTasks(t, func(o *Options, m *memory) {
		o.MaxSessions, o.Records = n, forgetful{m}
		o.Environment = environment.New(environment.Options{Tools: a, ToolList: addTools(), MaxTurns: 100,
			MaxToolCalls: 100})
	})
	s.adder = a
	before, goroutines := inUse(), runtime.NumGoroutine()
	const staying = 8
	killed, stays := startClient(t, s.url, n-staying), startClient(t, s.url, staying)
	killed.tell("begin")
	stays.tell("begin")
	killed.hear("begun")
	stays.hear("begun")
	took := (inUse() - before) / float64(n)
	killed.tell("step")
	latencies := killed.hear("stepped")
	at := time.Now()
	_ = killed.Process.Kill()
	eventually(func() bool { _, closed, _ := s.adder.counts(); return closed == n-staying })
	gone := time.Since(at)
	_ = killed.Wait()
	stays.tell("answer")
	if got := stays.hear("answered"); got != "1.9" {
		t.Errorf("the other's rewards: %s", got)
	}
	_ = stays.Wait()
	eventually(func() bool { return s.table.active() == 0 && runtime.NumGoroutine() <= goroutines+staying })
	s.table.mu.Lock()
	left := len(s.table.sessions)
	s.table.mu.Unlock()
	if kept := inUse() - before; left > 0 || kept > 1<<20 {
		t.Errorf("of %d sessions stay %d, and %.0f bytes", n, left, kept)
	}
	var b strings.Builder
	s.metrics.Write(&b)
	t.Logf("%4d sessions: %5.1f kB each; a step at the client %s; orchestration, from a histogram: %s; "+
		"%d killed in %.3f s", n, took/1024, latencies, share(b.String()), n-staying, gone.Seconds())
	return took
}

// forgetful scores, and keeps nothing: what is kept is a disk's.
type forgetful struct{ *memory }

func (forgetful) Keep(*trajectory.Trajectory, trajectory.Score) error { return nil }

// inUse is the memory of objects and stacks after a collection.
func inUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// share is how many steps were orchestrated within a time, by the metrics.
func share(text string) string {
	var of []string
	for line := range strings.Lines(text) {
		if name, count, ok := strings.Cut(strings.TrimSpace(line),
			"} "); ok && strings.HasPrefix(name, orchestrationTime+"_bucket") &&
			(strings.Contains(name, `"0.001"`) || strings.Contains(name, `"0.005"`) || strings.Contains(name, "Inf")) {
			of = append(of, name[strings.Index(name, "le="):]+" "+count)
		}
	}
	return strings.Join(of, ", ")
}

// process is a client.
type process struct {
	*exec.Cmd
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func startClient(t *testing.T, url string, sessions int) *process {
	c := exec.Command(os.Args[0], "-test.run", "^TestSoakSessions$")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", loadClient, url, sessions))
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &process{c, t, in, bufio.NewReader(out)}
}

func (p *process) tell(what string) { _, _ = io.WriteString(p.in, what+"\n") }

// hear reads until a line that begins so, and returns its rest.
func (p *process) hear(what string) string {
	p.t.Helper()
	for {
		line, err := p.out.ReadString('\n')
		if rest, is := strings.CutPrefix(strings.TrimSpace(line), what); is {
			return strings.TrimSpace(rest)
		}
		if err != nil {
			p.t.Fatalf("no %s: %v", what, err)
		}
	}
}

// beClient does as it is told on stdin: it begins sessions, makes 20 calls in each at once, and gives answers.
func beClient(t *testing.T, url string, sessions int) {
	sockets := make([]*websocket.Conn, sessions)
	ask := func(i int, frame string) string {
		ctx := context.Background()
		if err := sockets[i].Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			t.Error(err)
		}
		_, text, err := sockets[i].Read(ctx)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	each := func(do func(i int)) {
		var all sync.WaitGroup
		for i := range sockets {
			all.Go(func() { do(i) })
		}
		all.Wait()
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch in.Text() {
		case "begin":
			each(func(i int) {
				ws, _, err := websocket.Dial(context.Background(), "ws"+strings.TrimPrefix(url, "http")+"/ws", nil)
				if err != nil {
					t.Error(err)
					return
				}
				sockets[i] = ws
				ask(i, `{"type": "reset", "data": {"scenario": "sum"}}`)
				ask(i, `{"type": "step", "data": {"type": "call_tool", "tool_name": "add", "arguments": {"n": 2}}}`)
			})
			fmt.Println("begun")
		case "step":
			var mu sync.Mutex
			var took []time.Duration
			for range 20 {
				each(func(i int) {
					began := time.Now()
					ask(i, `{"type": "step", "data": {"type": "call_tool", "tool_name": "add", "arguments": {"n": 1}}}`)
					mu.Lock()
					took = append(took, time.Since(began))
					mu.Unlock()
				})
			}
			slices.Sort(took)
			fmt.Printf("stepped p50 %s, p95 %s\n",
				took[len(took)/2].Round(time.Microsecond), took[len(took)*95/100].Round(time.Microsecond))
		case "answer":
			rewards := make([]string, sessions)
			each(func(i int) {
				var reply struct{ Data struct{ Reward float64 } }
				_ = json.Unmarshal([]byte(ask(i, `{"type": "step", "data": {"type": "answer", "text": "2"}}`)), &reply)
				rewards[i] = fmt.Sprint(reply.Data.Reward)
			})
			slices.Sort(rewards)
			fmt.Println("answered", strings.Join(slices.Compact(rewards), " "))
			for _, ws := range sockets {
				_ = ws.CloseNow()
			}
			return
		}
	}
}
