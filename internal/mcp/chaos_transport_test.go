package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Stdio serves over the process's own standard streams until stdin ends.
func (s *ChaosServer) Stdio() {
	s.note(os.Getpid())
	if s.Behaviour.start != nil {
		s.Behaviour.start(s)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		var m message
		if json.Unmarshal(line, &m) == nil {
			go s.handle(m, &Request{
				Send:  func(text string) { s.print(text + "\n") },
				Raw:   s.print,
				Hang:  func() { time.Sleep(time.Hour) },
				Crash: func() { fmt.Fprintln(os.Stderr, "chaos: crashing"); os.Exit(7) },
				HTTP:  func(int, ...string) {},
			})
		}
		if err != nil {
			if s.Behaviour.Name == "ignores-the-end" {
				time.Sleep(time.Hour)
			}
			return
		}
	}
}

func (s *ChaosServer) print(text string) {
	s.write.Lock()
	defer s.write.Unlock()
	io.WriteString(os.Stdout, text)
}

// note writes down a process, so that a test can see whether it is still there.
func (s *ChaosServer) note(pid int) {
	if s.Dir != "" {
		os.WriteFile(filepath.Join(s.Dir, fmt.Sprint(pid)), nil, 0o600)
	}
}

// Stop ends every request that hangs.
func (s *ChaosServer) Stop() { close(s.stopped) }

// ServeHTTP serves streamable HTTP. One message is answered as JSON, several as a stream of events.
func (s *ChaosServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m message
	if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
		http.Error(w, "not JSON", http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if s.Era == Legacy {
		w.Header().Set("Mcp-Session-Id", "chaos")
	}
	a := &httpAnswer{w: w}
	s.handle(m, &Request{
		Send:  a.send,
		Raw:   a.raw,
		Crash: func() { panic(http.ErrAbortHandler) },
		HTTP:  a.status,
		Hang: func() {
			a.flush()
			select {
			case <-req.Context().Done():
			case <-s.stopped:
			}
		},
	})
	a.end()
}

// httpAnswer collects messages until it is known how many there are.
type httpAnswer struct {
	w        http.ResponseWriter
	messages []string
	began    bool // the head is written
	events   bool // as a stream
}

func (a *httpAnswer) send(text string) {
	if a.began && !a.events {
		a.raw(text + "\n")
		return
	}
	a.messages = append(a.messages, text)
	if a.events {
		a.flush()
	}
}

func (a *httpAnswer) raw(text string) {
	if !a.began {
		a.began = true
		if a.w.Header().Get("Content-Type") == "" {
			a.w.Header().Set("Content-Type", "application/json")
		}
	}
	io.WriteString(a.w, text)
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

// flush writes what there is as events.
func (a *httpAnswer) flush() {
	if !a.began && len(a.messages) > 0 {
		a.events = true
		a.w.Header().Set("Content-Type", "text/event-stream")
	}
	for _, m := range a.messages {
		a.raw("event: message\ndata: " + m + "\n\n")
	}
	a.messages = nil
}

func (a *httpAnswer) status(status int, kv ...string) {
	a.began = true
	body := ""
	for i := 0; i+1 < len(kv); i += 2 {
		if kv[i] == "body" {
			body = kv[i+1]
		} else {
			a.w.Header().Set(kv[i], kv[i+1])
		}
	}
	a.w.WriteHeader(status)
	io.WriteString(a.w, body)
}

func (a *httpAnswer) end() {
	if len(a.messages) == 1 && !a.began {
		a.raw(a.messages[0])
		return
	}
	a.flush()
}
