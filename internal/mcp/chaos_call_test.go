package mcp

import (
	"fmt"
	"strings"
	"time"
)

func callBehaviours() []Behaviour {
	return append(append(lostCalls(), contentBehaviours()...), extraBehaviours()...)
}

func call(name string, do func(r *Request)) Behaviour {
	return Behaviour{Name: name, about: "call", do: do}
}

// lostCalls never answer, or not with what answers this call.
func lostCalls() []Behaviour {
	return []Behaviour{
		call("call-hangs", func(r *Request) { r.Hang() }),
		call("call-crashes", func(r *Request) { r.Crash() }),
		call("call-garbage", func(r *Request) { r.Raw("Traceback (most recent call last):\n") }),
		call("call-partial", func(r *Request) { r.Raw(r.Normal[:len(r.Normal)/2]); r.Crash() }),
		call("call-partial-then-hangs", func(r *Request) { r.Raw(r.Normal[:len(r.Normal)/2]); r.Hang() }),
		call("call-huge", func(r *Request) { r.Send(r.Text(long(2 << 20))) }),
		call("call-huge-id-last", func(r *Request) {
			r.Send(fmt.Sprintf(`{"result":{"content":[{"type":"text","text":"%s"}]},"jsonrpc":"2.0","id":%s}`,
				long(2<<20), r.ID))
		}),
		call("call-deep", func(r *Request) {
			r.Send(
				r.Result(`"content":[],"structuredContent":{"a":` +
					strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`),
			)
		}),
		call("call-twice", func(r *Request) { r.Send(r.Normal); r.Send(r.Normal) }),
		call("call-wrong-id", func(r *Request) { r.Send(strings.Replace(r.Normal, `"id":`, `"id":9`, 1)) }),
		call("call-string-id", func(r *Request) {
			r.Send(strings.Replace(r.Normal, `"id":`+string(r.ID), fmt.Sprintf(`"id":"%s"`, r.ID), 1))
		}),
		call("call-null-id", func(r *Request) {
			r.Send(strings.Replace(r.Normal, `"id":`+string(r.ID), `"id":null`, 1))
		}),
		call("call-late", func(r *Request) {
			select {
			case <-time.After(7 * time.Second): // longer than the test's limit of a call
				r.Send(r.Normal)
			case <-r.stopped:
			}
		}),
	}
}

// contentBehaviours answer with something odd.
func contentBehaviours() []Behaviour {
	return []Behaviour{
		call("call-null", func(r *Request) { r.Send(r.Answer("null")) }),
		call("call-array", func(r *Request) { r.Send(r.Answer("[]")) }),
		call("call-empty", func(r *Request) { r.Send(r.Result("")) }),
		call("call-both", func(r *Request) {
			r.Send(strings.TrimSuffix(r.Normal, "}") + `,"error":{"code":-32000,"message":"and an error"}}`)
		}),
		call("call-unknown-content", func(r *Request) { r.Send(r.Content(`{"type":"hologram"}`)) }),
		call("call-content-text", func(r *Request) { r.Send(r.Result(`"content":"hello"`)) }),
		call("call-is-error", func(r *Request) {
			r.Send(r.Result(`"content":[{"type":"text","text":"disk full"}],"isError":true`))
		}),
		call("call-rpc-error", func(r *Request) { r.Send(r.Error(-32602, "no such table")) }),
		call("call-binary", func(r *Request) {
			r.Send(r.Content(`{"type":"image","data":"AQID","mimeType":"image/png"}`,
				`{"type":"audio","data":"AQI=","mimeType":"audio/wav"}`,
				`{"type":"resource_link","uri":"file:///a","name":"a"}`,
				`{"type":"resource","resource":{"uri":"file:///b","blob":"AQ==","mimeType":"x/y"}}`))
		}),
		call("call-bad-base64", func(r *Request) {
			r.Send(r.Content(`{"type":"image","data":"!!!","mimeType":"image/png"}`))
		}),
		call("call-invalid-utf8", func(r *Request) {
			r.Send(r.Content(`{"type":"text","text":"` + "a\xff\xfeb" + `"}`))
		}),
		{Name: "call-breaks-output-schema", do: func(r *Request) {
			switch r.phase(r) {
			case "list":
				r.Send(
					r.Tools(
						strings.TrimSuffix(target, "}")+
							`,"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`,
						add,
					),
				)
			case "call":
				r.Send(r.Result(`"content":[{"type":"text","text":"x"}],"structuredContent":{"n":"one"}`))
			default:
				r.Send(r.Normal)
			}
		}},
	}
}

// extraBehaviours send more than an answer, or send it oddly.
func extraBehaviours() []Behaviour {
	notification := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
	}
	return []Behaviour{
		call("call-asks-the-client", func(r *Request) {
			for i, method := range []string{
				"ping", "roots/list", "sampling/createMessage", "elicitation/create", "no/such",
			} {
				r.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":%q,"params":{}}`, i, method))
			}
			r.Send(r.Normal)
		}),
		call("call-notification-flood", func(r *Request) {
			for range 1000 {
				r.Send(notification("notifications/message", `{"level":"info","data":"x"}`))
			}
			r.Send(r.Normal)
		}),
		call("call-odd-progress", func(r *Request) {
			for _, token := range []string{`"x"`, "-1", "1.5", "null", "{}"} {
				r.Send(notification("notifications/progress", `{"progressToken":`+token+`,"progress":1}`))
			}
			r.Send(r.Normal)
		}),
		call("call-batch", func(r *Request) { r.Send("[" + r.Normal + "]") }),
		call("call-noise", func(r *Request) { r.Raw("processing...\n"); r.Send(r.Normal) }),
		call("call-noise-on-the-line", func(r *Request) { r.Raw("done: "); r.Send(r.Normal) }),
		call("call-pretty", func(r *Request) { r.Send(strings.ReplaceAll(r.Normal, ",", ",\t") + "\r") }),
		call("call-byte-order-mark", func(r *Request) { r.Raw("\ufeff"); r.Send(r.Normal) }),
		call("call-slow", func(r *Request) { drip(r, r.Normal+"\n") }),
		{Name: "call-input-required", about: "call", Era: Modern, do: func(r *Request) {
			r.Send(r.Answer(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}}}`))
		}},
		{Name: "tools-change", do: func(r *Request) {
			switch phase := r.phase(r); {
			case phase == "call":
				r.changed.Store(true)
				r.Send(notification("notifications/tools/list_changed", `{}`))
			case phase == "list" && r.changed.Load():
				r.Send(r.Tools(`{"name":"new","inputSchema":{"type":"object"}}`, add))
				return
			}
			r.Send(r.Normal)
		}},
	}
}
