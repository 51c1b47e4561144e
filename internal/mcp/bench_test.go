package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hone/internal/chat"
)

// The three ways to make the same call on the same server, to be read as ratios: a pipe and no protocol code at all,
// the SDK over its own transport, and an episode's Call with everything that is in it.

func chaosArgs(t testing.TB) Server {
	t.Helper()
	return self(t, "chaos", "sound", string(Legacy), "")
}

func BenchmarkCallPipe(b *testing.B) {
	s := chaosArgs(b)
	cmd := exec.Command(s.Command, s.Args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for b.Loop() {
		fmt.Fprintln(in,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"target","arguments":{"text":"x"}}}`)
		if _, err := lines.ReadBytes('\n'); err != nil {
			b.Fatal(err)
		}
	}
	in.Close()
	cmd.Wait()
}

func BenchmarkCallSDK(b *testing.B) {
	s := chaosArgs(b)
	client := mcp.NewClient(&mcp.Implementation{Name: "b", Version: "1"}, nil)
	session, err := client.Connect(context.Background(),
		&mcp.CommandTransport{Command: exec.Command(s.Command, s.Args...)},
		&mcp.ClientSessionOptions{ProtocolVersion: legacyEra})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := session.CallTool(context.Background(),
			&mcp.CallToolParams{Name: "target", Arguments: json.RawMessage(`{"text":"x"}`)})
		if err != nil || r.IsError {
			b.Fatal(r, err)
		}
	}
	session.Close()
}

func BenchmarkCall(b *testing.B) {
	p := benchPool(b, 1)
	e, err := p.Open(context.Background(), "e")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r := e.Call(context.Background(),
			[]chat.ToolCall{{Name: "target", Arguments: `{"text":"x"}`}})[0]; r.Text != "hello" {
			b.Fatal(r)
		}
	}
	e.Close()
}

func benchPool(b *testing.B, warm int) *Pool {
	b.Helper()
	server := chaosArgs(b)
	server.Isolation = PerProcess
	config := Config{Servers: map[string]Server{"s": server},
		Base: map[string]string{"PATH": "/usr/bin:/bin", "TMPDIR": b.TempDir()}}
	catalog, err := Discover(context.Background(), config)
	if err != nil {
		b.Fatal(err)
	}
	p, err := NewPool(context.Background(), config, catalog, Options{Warm: warm})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Close() })
	return p
}

// BenchmarkOpenWarm reports how long an episode waits for its process when the pool is given the time to keep one
// ready; the time of one operation holds that time too.
func BenchmarkOpenWarm(b *testing.B) {
	p := benchPool(b, 2)
	var took []time.Duration
	for b.Loop() {
		time.Sleep(150 * time.Millisecond) // an episode's own time
		began := time.Now()
		e, err := p.Open(context.Background(), "e")
		took = append(took, time.Since(began))
		if err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[(len(took)*95+99)/100-1].Microseconds())/1000, "p95-ms")
}

// BenchmarkEpisodes reports calls a second of many episodes at once, with a process each, against those of two.
func BenchmarkEpisodes(b *testing.B) {
	for _, episodes := range []int{2, 64} {
		b.Run(fmt.Sprint(episodes), func(b *testing.B) {
			p := benchPool(b, -1)
			var open []*Episode
			for i := range episodes {
				e, err := p.Open(context.Background(), fmt.Sprint(i))
				if err != nil {
					b.Fatal(err)
				}
				open = append(open, e.(*Episode))
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var wg sync.WaitGroup
			for _, e := range open {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if r := e.Call(context.Background(),
							[]chat.ToolCall{{Name: "add", Arguments: "{}"}})[0]; !strings.HasPrefix(r.Text, "3") {
							b.Error(r)
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			for _, e := range open {
				e.Close()
			}
		})
	}
}

// BenchmarkIdleSession reports the bytes of heap and stacks of this process that an idle session takes, its process
// left out.
func BenchmarkIdleSession(b *testing.B) {
	const sessions = 32
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	for b.Loop() {
		p := benchPool(b, -1)
		before := used()
		var open []*Episode
		for i := range sessions {
			e, err := p.Open(context.Background(), fmt.Sprint(i))
			if err != nil {
				b.Fatal(err)
			}
			open = append(open, e.(*Episode))
		}
		after := used()
		for _, e := range open {
			e.Close()
		}
		b.ReportMetric(float64(max(after, before)-before)/sessions/1024, "KiB/session")
	}
}

// BenchmarkHugeResult reports the most memory that a result of 100 MB takes while it is read, as a multiple of the
// 16 MiB it is cut at.
func BenchmarkHugeResult(b *testing.B) {
	message := append([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`),
		bytes.Repeat([]byte("x"), 100<<20)...)
	message = append(message, "\"}]}}\n"...)
	for b.Loop() {
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		done := make(chan struct{})
		go func() {
			defer close(done)
			line, tail, err := readLine(bufio.NewReaderSize(bytes.NewReader(message), 64<<10), defaultMaxFrame)
			if len(line) != defaultMaxFrame || tail == nil || err != nil {
				b.Error(len(line), err)
			}
		}()
		most := uint64(0)
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			case <-time.After(100 * time.Microsecond):
			}
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		b.ReportMetric(float64(most-before.HeapAlloc)/defaultMaxFrame, "x-cap")
	}
}
