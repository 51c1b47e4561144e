package mcp

import (
	"fmt"
	"net/http"
	"strings"
)

// httpBehaviours are those that only HTTP has.
func httpBehaviours() []Behaviour {
	of := func(name, about string, do func(r *Request)) Behaviour {
		return Behaviour{Name: name, Only: "http", about: about, do: do}
	}
	var all []Behaviour
	for _, status := range []int{400, 401, 403, 404, 405, 429, 500, 502, 503} {
		all = append(all, of(fmt.Sprintf("call-%d", status), "call", func(r *Request) {
			r.HTTP(status, "Content-Type", "text/plain", "body", "refused by the gateway")
		}))
	}
	for _, status := range []int{401, 403, 404, 500} {
		all = append(all, of(fmt.Sprintf("open-%d", status), "", func(r *Request) {
			r.HTTP(status, "body", "refused by the gateway")
		}))
	}
	stream := func(r *Request, text string) {
		r.HTTP(http.StatusOK, "Content-Type", "text/event-stream", "body", text)
	}
	return append(all,
		of("call-429-once", "call", func(r *Request) {
			if r.Calls.Load() == 1 {
				r.HTTP(http.StatusTooManyRequests)
				return
			}
			r.Send(r.Normal)
		}),
		of("call-redirected-away", "call", func(r *Request) {
			r.HTTP(http.StatusTemporaryRedirect, "Location", "http://other.invalid/mcp")
		}),
		of("call-redirected-by-302", "call", func(r *Request) { r.HTTP(http.StatusFound, "Location", "/elsewhere") }),
		of("call-redirected-in-a-circle", "call", func(r *Request) {
			r.HTTP(http.StatusTemporaryRedirect, "Location", "/")
		}),
		of("call-html", "call", func(r *Request) {
			r.HTTP(http.StatusOK, "Content-Type", "text/html", "body", "<html>Please log in</html>")
		}),
		of("call-no-body", "call", func(r *Request) { r.HTTP(http.StatusOK, "Content-Type", "application/json") }),
		of("call-202", "call", func(r *Request) { r.HTTP(http.StatusAccepted) }),
		of("call-other-session", "call", func(r *Request) {
			r.HTTP(http.StatusOK, "Content-Type", "application/json", "Mcp-Session-Id", "other", "body", r.Normal)
		}),
		of("call-cut-json", "call", func(r *Request) {
			r.HTTP(http.StatusOK, "Content-Type", "application/json", "Content-Length", fmt.Sprint(len(r.Normal)),
				"body", r.Normal[:len(r.Normal)/2])
			r.Crash()
		}),
		of("call-cut-events", "call", func(r *Request) { stream(r, "event: message\ndata: "+r.Normal[:20]) }),
		of("call-no-event", "call", func(r *Request) { stream(r, ": ping\n\n: ping\n\n") }),
		of("call-events-never-end", "call", func(r *Request) {
			stream(r, "data: "+r.Normal+"\n\n")
			r.Raw(": still here\n\n")
			r.Hang()
		}),
		of("call-odd-events", "call", func(r *Request) {
			text := ": hello\nretry: 10\ndata: [DONE]\n\nevent: ping\ndata: {}\n\ndata: not json\n\n" +
				"data:" + strings.Replace(r.Normal, `,"result"`, ",\ndata: \"result\"", 1) + "\n\n"
			stream(r, strings.ReplaceAll(text, "\n", "\r\n"))
		}),
		of("call-huge-event", "call", func(r *Request) { stream(r, "data: "+r.Text(long(2<<20))+"\n\n") }),
	)
}
