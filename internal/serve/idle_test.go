package serve

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// 500 streams that wait for their first token, clients and server in one process, take less than 200 MB.
func TestIdleStreamsAreSmall(t *testing.T) {
	const streams, most = 500, 200 << 20
	s := &sampler{says: "x", gate: make(chan struct{}), started: make(chan struct{}, streams), numSlots: streams}
	server, err := New(Options{Models: []Model{model(s)}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	taken := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := taken()
	var all sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{}}
	for range streams {
		all.Go(func() {
			res, err := client.Post("http://"+l.Addr().String()+"/v1/chat/completions", "application/json",
				strings.NewReader(hi+`,"stream":true}`))
			if err != nil {
				t.Error(err)
				return
			}
			_ = res.Body.Close()
		})
	}
	for range streams {
		<-s.started
	}
	if used := taken() - before; used > most {
		t.Errorf("%d streams take %d MB", streams, used>>20)
	} else {
		t.Logf("%d streams take %d MB", streams, used>>20)
	}
	close(s.gate)
	all.Wait()
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
