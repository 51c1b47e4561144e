package mcp

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
)

// Each episode is told what its servers wrote to stderr meanwhile: not what they wrote for others, and no more than 8
// KiB.
func TestStderrOfAnEpisode(t *testing.T) {
	for _, isolation := range []Isolation{PerProcess, PerReset, Shared} {
		t.Run(string(isolation), func(t *testing.T) {
			var mu sync.Mutex
			told := map[string]string{}
			server := self(t, "says")
			server.Isolation, server.Env = isolation, map[string]string{"TOKEN": "geheim99"}
			if isolation == PerReset {
				server.Reset = &Reset{Tool: "zero"}
			}
			p := newPool(t, configOf(t, map[string]Server{"s": server}), Options{
				Warm: -1,
				Stderr: func(episode, server, text string) {
					mu.Lock()
					defer mu.Unlock()
					told[episode+" "+server] = text
				},
			})
			for _, x := range [][2]string{
				{"endless", strings.Repeat("0123456789abcde\n", 2000)},
				{"loud", "one\x1b[2J two geheim99"},
				{"quiet", ""},
			} {
				episode, says := x[0], x[1]
				e := open(t, p, episode)
				before := e.heard[0].session.conn.p.stderr.numWritten()
				if says != "" {
					args, _ := json.Marshal(map[string]string{"Text": says})
					if r := ask(e, "say", string(args)); r.Status != "ok" {
						t.Fatalf("%+v", r)
					}
					// a pipe of its own, read beside the answers
					for e.heard[0].session.conn.p.stderr.numWritten() < before+int64(len(says)) {
						time.Sleep(time.Millisecond)
					}
				}
				e.Close()
			}
			if text, ok := told["quiet s"]; !ok || text != "" {
				t.Errorf("quiet: %q, %v", text, ok)
			}
			if got, want := told["loud s"], "one\ufffd[2J two"; !strings.HasPrefix(got, want) ||
				strings.Contains(got, "geheim99") || strings.Contains(got, "abcde") {
				t.Errorf("loud: %q", got)
			}
			if got := told["endless s"]; len(got) > stderrKept || len(got) < stderrKept-32 ||
				strings.Contains(got, "one") || !strings.HasPrefix(got, "0123") {
				t.Errorf("endless: %d bytes, %.40q", len(got), got)
			}
		})
	}
}
