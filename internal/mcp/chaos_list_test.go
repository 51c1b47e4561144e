package mcp

import (
	"fmt"
	"strings"
	"time"
)

func listBehaviours() []Behaviour {
	list := func(name string, do func(r *Request)) Behaviour {
		return Behaviour{Name: name, about: "list", do: do}
	}
	return []Behaviour{
		list("list-hangs", func(r *Request) { r.Hang() }),
		list("list-crashes", func(r *Request) { r.Crash() }),
		list("list-garbage", func(r *Request) { r.Raw("<html>busy</html>\n") }),
		list("list-error", func(r *Request) { r.Send(r.Error(-32603, "catalog is being rebuilt")) }),
		list("list-no-array", func(r *Request) { r.Send(r.Result(`"tools":{"a":1}`)) }),
		list("list-null", func(r *Request) { r.Send(r.Result(`"tools":null`)) }),
		list("list-huge", func(r *Request) {
			r.Send(r.Tools(`{"name":"big","description":"` + long(2<<20) + `","inputSchema":{"type":"object"}}`))
		}),
		list("list-deep", func(r *Request) {
			r.Send(r.Tools(target, `{"name":"deep","inputSchema":{"type":"object","enum":`+
				strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`}}`))
		}),
		list("list-endless", func(r *Request) {
			n := 0
			if r.Cursor != nil {
				fmt.Sscan(*r.Cursor, &n)
			}
			tools := fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, n)
			if n == 0 {
				tools += "," + target + "," + add
			}
			r.Send(r.Result(fmt.Sprintf(`"tools":[%s],"nextCursor":"%d"`, tools, n+1)))
		}),
		list("list-same-cursor", func(r *Request) {
			r.Send(r.Result(`"tools":[` + target + `,` + add + `],"nextCursor":"again"`))
		}),
		list("list-empty-cursor", func(r *Request) {
			if r.Cursor != nil && *r.Cursor == "" {
				r.Send(r.Tools(`{"name":"beyond","inputSchema":{"type":"object"}}`))
				return
			}
			r.Send(r.Result(`"tools":[` + target + `,` + add + `],"nextCursor":""`))
		}),
		list("list-cursor-number", func(r *Request) {
			r.Send(r.Result(`"tools":[` + target + `,` + add + `],"nextCursor":7`))
		}),
		list("list-null-schema", func(r *Request) {
			r.Send(r.Tools(`{"name":"target","inputSchema":null}`, `{"name":"add"}`))
		}),
		list("list-boolean-schemas", func(r *Request) {
			r.Send(r.Tools(`{"name":"target","inputSchema":true}`, `{"name":"never","inputSchema":false}`, add))
		}),
		list("list-malformed-tools", func(r *Request) {
			r.Send(r.Tools(`{"name":5,"inputSchema":{}}`, `null`, target,
				`{"name":"a","description":{},"inputSchema":{}}`, `"text"`, add, `{"name":"b","inputSchema":"object"}`,
				`{"name":"c","inputSchema":{"type":"string"}}`))
		}),
		list("list-duplicates", func(r *Request) { r.Send(r.Tools(target, add, target)) }),
		list("list-slow", func(r *Request) { drip(r, r.Normal+"\n") }),
	}
}

// drip sends text in small pieces with pauses between.
func drip(r *Request, text string) {
	size := max(1, len(text)/40)
	for len(text) > size {
		r.Raw(text[:size])
		text = text[size:]
		time.Sleep(3 * time.Millisecond)
	}
	r.Raw(text)
}
