package revise

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/proxy"
)

// offered are the tools of the requests below.
func offered() []chat.Tool {
	return []chat.Tool{
		{Name: "hash", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`)},
		{Name: "clock", InputSchema: json.RawMessage(`{"type":"object","properties":{"zone":{"enum":["UTC","CET"]}}}`)},
	}
}

// lie is an upstream's answer whose calls are not what they seem, as deltas of a stream. whole is the message that they
// add up to; "" where only a stream can lie so.
type lie struct {
	deltas  []string // of tool_calls
	whole   string
	fixer   Verdict  // what becomes of it without a model
	revised Verdict  // and with one that knows the right call
	calls   []string // behind the fixer: names and arguments
}

func lies() map[string]lie {
	one := func(id, name, arguments string) string {
		return fmt.Sprintf(`{"index":0,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`,
			id, name, arguments)
	}
	said := func(calls ...string) string {
		return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	simple := func(name, arguments string, fixer, revised Verdict, calls ...string) lie {
		c := one("u1", name, arguments)
		return lie{[]string{c}, said(c), fixer, revised, calls}
	}
	many := make([]string, 0, 40)
	for i := range 40 {
		many = append(
			many, fmt.Sprintf(
				`{"index":%d,"id":"u1","type":"function","function":{"name":"hash","arguments":"{\"text\":\"%d\"}"}}`, i, i,
			),
		)
	}
	return map[string]lie{
		"a tool that does not exist":       simple("format_disk", `{"text":"it"}`, Original, Revised),
		"a tool without a name":            simple("", `{"text":"it"}`, Original, Revised),
		"a name that is a header":          simple("hash\r\nX-Evil: 1", `{"text":"it"}`, Original, Revised),
		"a name that ends an event":        simple("x\n\ndata: {\"choices\":[]}\n\n", `{}`, Original, Revised),
		"a required argument is missing":   simple("hash", `{}`, Original, Revised),
		"an argument of the wrong type":    simple("hash", `{"text":["it"]}`, Mended, Mended, `hash{"text":"it"}`),
		"a value that is none of the enum": simple("clock", `{"zone":"Mars"}`, Original, Revised),
		"an argument that is forbidden":    simple("hash", `{"text":"it","sudo":true}`, Mended, Mended, `hash{"text":"it"}`),
		"an argument twice":                simple("hash", `{"text":"it","text":"him"}`, Original, Revised),
		"arguments that are a list":        simple("hash", `["it"]`, Original, Revised),
		"arguments that are prose":         simple("hash", `please hash it`, Original, Revised),
		"arguments without end":            simple("hash", `{"text":"it`, Original, Revised),
		"arguments a thousand deep":        simple("hash", strings.Repeat(`{"text":`, 1000)+`1`+strings.Repeat(`}`, 1000), Original, Revised),
		"a name in other case":             simple("Hash", `{"text":"it"}`, Mended, Mended, `hash{"text":"it"}`),
		"forty calls under one id":         {many, said(many...), Untouched, Revised, nil},
		"two calls under one id, both to mend": {
			[]string{one("u1", "Hash", `{"text":"a"}`),
				`{"index":1,"id":"u1","type":"function","function":{"name":"Hash","arguments":"{\"text\":\"b\"}"}}`},
			said(one("u1", "Hash", `{"text":"a"}`), one("u1", "Hash", `{"text":"b"}`)), Mended, Revised,
			[]string{`hash{"text":"a"}`, `hash{"text":"b"}`},
		},
		"another id in the middle": {
			[]string{one("u1", "hash", `{"te`), `{"index":0,"id":"u2","function":{"arguments":"xt\":\"it\"}"}}`}, "",
			Untouched, Untouched, []string{`hash{"text":"it"}`},
		},
		"another id and name in the middle": {
			[]string{one("u1", "hash", `{"text":"a"}`), one("u2", "hash", `{"text":"b"}`)}, "", Untouched, Revised,
			[]string{`hash{"text":"a"}`, `hash{"text":"b"}`},
		},
		"another name in the middle": {[]string{one("u1", "hash", `{"text"`), one("u1", "clock", `:"it"}`)},
			"", Untouched, Untouched, []string{`hash{"text":"it"}`}},
		"places that jump and go back": {
			[]string{`{"index":7,"id":"u1","function":{"name":"hash","arguments":"{\"text\":"}}`,
				`{"index":-3,"id":"u2","function":{"name":"clock","arguments":"{}"}}`,
				`{"index":7,"function":{"arguments":"\"it\"}"}}`}, "", Untouched, Revised,
			[]string{`hash{"text":"it"}`, `clock{}`},
		},
		"the name comes behind the arguments": {
			[]string{`{"index":0,"id":"u1","function":{"arguments":"{\"text\":\"it\"}"}}`,
				`{"index":0,"function":{"name":"hash","arguments":""}}`}, "", Untouched, Untouched,
			[]string{`hash{"text":"it"}`},
		},
		"a tool that does not exist, of three": {
			[]string{one("u1", "hash", `{"text":"a"}`),
				`{"index":1,"id":"u2","function":{"name":"rm","arguments":"{}"}}`},
			said(one("u1", "hash", `{"text":"a"}`), one("u2", "rm", `{}`)), Original, Revised, nil,
		},
	}
}

func (l lie) stream() string {
	var b strings.Builder
	for i, d := range l.deltas {
		role := ""
		if i == 0 {
			role = `"role":"assistant",`
		}
		fmt.Fprintf(&b, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{%s\"tool_calls\":[%s]},"+
			"\"finish_reason\":null}]}\n\n", role, d)
	}
	b.WriteString("data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n" +
		"data: [DONE]\n\n")
	return b.String()
}

// told are the calls that a client gathers of an answer, as OpenAI's clients do, and the decision that it is told.
func told(t *testing.T, r *http.Response, text string) (calls []chat.ToolCall, decision string) {
	t.Helper()
	decision = strings.TrimPrefix(r.Header.Get(proxy.DecisionHeader), "sidecar=")
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		var whole struct {
			Choices []struct{ Message chat.Message }
		}
		if err := json.Unmarshal([]byte(text), &whole); err != nil || len(whole.Choices) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		return whole.Choices[0].Message.ToolCalls, decision
	}
	if !strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("the stream has no end: %s", text)
	}
	places := map[int]int{}
	for line := range strings.Lines(text) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c struct {
			Choices []struct {
				Delta struct {
					ToolCalls []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		for _, d := range c.Choices[0].Delta.ToolCalls {
			at, known := places[d.Index]
			if !known {
				at = len(calls)
				places[d.Index], calls = at, append(calls, chat.ToolCall{})
			}
			calls[at].ID += d.ID
			calls[at].Name += d.Function.Name
			calls[at].Arguments += d.Function.Arguments
		}
	}
	return calls, decision
}

// An upstream that lies in its calls: what a client gets is the upstream's own bytes, or calls of tools that it
// offered, which fit their schemas and have ids of their own; and it is told which.
func TestLyingCalls(t *testing.T) {
	knows := completes(completion(callJSON("hash", `{"text":"it"}`), "tool_calls", -0.001))
	fixer := NewFixer(offered())
	tools, err := json.Marshal(offered())
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":"big","messages":[{"role":"user","content":"Hash it."}],"tools":` + string(tools)
	for name, l := range lies() {
		for _, streams := range []bool{false, true} {
			for _, asked := range []bool{false, true} {
				if !streams && l.whole == "" {
					continue
				}
				t.Run(fmt.Sprintf("%s, stream %v, sidecar %v", name, streams, asked), func(t *testing.T) {
					m := &Mode{Sidecar: Sidecar{Rule: Rule{Confidence: 0.9, Deadline: 20 * time.Second}}}
					want := l.fixer
					if asked {
						m.Sidecar.Reviser, want = small(t, knows), l.revised
					}
					says, request := completion(l.whole, "tool_calls", 0), body+"}"
					if streams {
						says, request = l.stream(), body+`,"stream":true}`
					}
					r, text, _ := through(t, m, request, says)
					calls, decision := told(t, r, text)
					if r.StatusCode != 200 || r.Header.Get("X-Evil") != "" ||
						!strings.HasPrefix(decision, string(want)+";") {
						t.Errorf("status %d, decision %q, want %s", r.StatusCode, decision, want)
					}
					if want == Untouched || want == Original {
						if text != says {
							t.Errorf("%s, and the client was told\n%s, not\n%s", want, text, says)
						}
						return
					}
					var ids, got []string
					for _, c := range calls {
						if fixer.Problems(chat.Message{ToolCalls: []chat.ToolCall{c}}) != nil || c.ID == "" ||
							slices.Contains(ids, c.ID) {
							t.Errorf("the client was told of %+v", c)
						}
						ids, got = append(ids, c.ID), append(got, c.Name+strings.ReplaceAll(c.Arguments, " ", ""))
					}
					if want == Mended && !slices.Equal(got, l.calls) ||
						want == Revised && !slices.Equal(got, []string{`hash{"text":"it"}`}) {
						t.Errorf("the client was told of %q", got)
					}
				})
			}
		}
	}
}

// What the proxy makes of a stream is what its deltas mean, whatever ids and places they have.
func TestGathersLyingStreams(t *testing.T) {
	for name, l := range lies() {
		if l.whole != "" || l.calls == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var got []string
			reviser := reading(func(q Question) {
				for _, c := range q.Draft.Message.ToolCalls {
					got = append(got, c.Name+c.Arguments)
				}
			})
			tools, _ := json.Marshal(offered())
			through(t, &Mode{Sidecar: Sidecar{Rule: Rule{Confidence: 0.5}, Reviser: reviser}},
				`{"model":"big","messages":[{"role":"user","content":"Hash it."}],"stream":true,"tools":`+string(tools)+
					"}", l.stream())
			if !slices.Equal(got, l.calls) {
				t.Errorf("read %q, want %q", got, l.calls)
			}
		})
	}
}

// reading is a reviser that only looks.
type reading func(Question)

// Revise implements sidecar.Reviser.
func (r reading) Revise(_ context.Context, q Question) (Said, error) {
	r(q)
	return Said{}, nil
}
