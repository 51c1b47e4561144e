package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// A body that comes a byte at a time holds its connection for half a minute, no longer.
func TestSlowBodiesAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := New(Options{Models: []Model{model(&sampler{says: "x"})}, Grace: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(ctx, l) }()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		began := time.Now()
		gone := make(chan time.Duration, 1)
		go func() {
			_, _ = io.Copy(io.Discard, ours)
			gone <- time.Since(began)
		}()
		fmt.Fprint(ours, "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+
			"Content-Length: 100000\r\n\r\n")
		for range 300 {
			if _, err := ours.Write([]byte(" ")); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		if held := <-gone; held < readTimeout || held > readTimeout+5*time.Second {
			t.Errorf("the connection was held for %s", held)
		}
		ours.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A client that takes none of its answer, a stream or not, is hung up on, and its slot goes to another.
func TestSlowReadersAreHungUpOn(t *testing.T) {
	for _, more := range []string{`,"stream":true}`, "}"} {
		readSlowly(t, hi+more)
	}
}

func readSlowly(t *testing.T, body string) {
	synctest.Test(t, func(t *testing.T) {
		const patience = 7 * time.Second
		s := &sampler{says: "héllo"}
		server, err := New(Options{Models: []Model{model(s)}, Grace: time.Second, Patience: patience})
		if err != nil {
			t.Fatal(err)
		}
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(ctx, l) }()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		fmt.Fprintf(ours, "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		began := time.Now()
		synctest.Wait()
		if taken, _ := server.models.list[0].slots.busy(); taken != 0 {
			t.Errorf("%d slots wait for the client", taken)
		}
		time.Sleep(patience + time.Second)
		synctest.Wait()
		rest, _ := io.ReadAll(ours) // ends, as the server has hung up
		if held := time.Since(began); held > patience+2*time.Second || strings.Contains(string(rest), "[DONE]") ||
			strings.Contains(string(rest), "usage") {
			t.Errorf("held for %s: %s", held, rest)
		}
		ours.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A client that takes none of its stream keeps a task no longer than its time: its call is not made, and its session
// goes to another.
func TestATaskOutlastsNoSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = time.Minute
		server, _, d := agency(t, func(o *Options) {
			o.Agent.MaxTime, o.Patience, o.Grace = most, time.Hour, time.Second
		}, "CALL look {}", "Done.")
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(ctx, l) }()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		body := hi + `,"stream":true}`
		fmt.Fprintf(ours, "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		time.Sleep(most - time.Second)
		synctest.Wait()
		if d.count() != 1 {
			t.Errorf("%d sessions are open while the task waits for its client", d.count())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if d.count() != 0 || d.made() != 0 {
			t.Errorf("behind its time the task has %d sessions, and made %d calls", d.count(), d.made())
		}
		ours.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
