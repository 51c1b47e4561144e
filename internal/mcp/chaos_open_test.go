package mcp

import (
	"fmt"
	"os"
	"time"
)

func openBehaviours() []Behaviour {
	return []Behaviour{
		{Name: "sound"},
		{Name: "open-hangs", about: "open", do: func(r *Request) { r.Hang() }},
		{Name: "open-crashes", about: "open", do: func(r *Request) { r.Crash() }},
		{Name: "open-garbage", about: "open", do: func(r *Request) { r.Raw("Segmentation fault (core dumped)\n") }},
		{Name: "open-partial", about: "open", do: func(r *Request) { r.Raw(r.Normal[:len(r.Normal)/2]); r.Crash() }},
		{Name: "open-error", about: "open", do: func(r *Request) { r.Send(r.Error(-32000, "licence expired")) }},
		{Name: "open-null", about: "open", do: func(r *Request) { r.Send(r.Answer("null")) }},
		{Name: "open-unknown-version", about: "open", do: func(r *Request) {
			r.Send(r.Answer(`{"protocolVersion":"1999-01-01","supportedVersions":["1999-01-01"],"capabilities":{},"serverInfo":{"name":"x","version":"1"}}`))
		}},
		{Name: "open-huge", about: "open", do: func(r *Request) { r.Send(r.Answer(`{"x":"` + long(2<<20) + `"}`)) }},
		{Name: "open-noise", about: "open", do: func(r *Request) {
			r.Raw("Starting on port 3000...\n{\"level\":30}\n\n[]\n")
			r.Send(r.Normal)
		}},
		{Name: "open-then-crash", do: func(r *Request) {
			if r.phase(r) == "list" {
				r.Crash()
			}
			r.Send(r.Normal)
		}},
		{Name: "probe-crashes", Era: Legacy, do: func(r *Request) {
			if r.Method == "server/discover" {
				r.Crash()
			}
			r.Send(r.Normal)
		}},
		{Name: "probe-hangs", Era: Legacy, do: func(r *Request) {
			if r.Method == "server/discover" {
				r.Hang()
				return
			}
			r.Send(r.Normal)
		}},
		{Name: "start-crashes", Only: "stdio", start: func(*ChaosServer) {
			fmt.Fprintln(os.Stderr, "no such database: \x1b[31mtickets.db\x1b[0m")
			os.Exit(4)
		}},
		{Name: "start-hangs", Only: "stdio", start: func(*ChaosServer) { time.Sleep(time.Hour) }},
		{Name: "start-noise-without-newline", Only: "stdio", start: func(s *ChaosServer) { s.print("> ") }},
	}
}

// long is n bytes of text.
func long(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'y'
	}
	return string(b)
}
