package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// waiting is a wire on which request 7 waits for an answer.
func waiting(t testing.TB, limit int) (*wire, *exchange) {
	t.Helper()
	w := newWire(limit, &meter{})
	ctx, x := withExchange(context.Background())
	id, err := jsonrpc.MakeID(float64(7))
	if err != nil {
		t.Fatal(err)
	}
	w.sending(ctx, &jsonrpc.Request{ID: id, Method: "tools/call"})
	return w, x
}

func TestDecode(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":7,"result":{"a": 1.50}}`
	tests := []struct {
		name, line string
		message    bool
		stray      int64
		answered   bool
	}{
		{"an answer", answer, true, 0, true},
		{"white space and a carriage return", "  " + answer + "\r\n", true, 0, true},
		{"a byte order mark", "\ufeff" + answer, true, 0, true},
		{"behind text", "ready> " + answer, true, 1, true},
		{"behind a message cut off", `{"jsonrpc":"2.0","id":3,"resu` + answer, true, 1, true},
		{"a log line", `{"level":30,"id":7}`, false, 1, false},
		{"text", "Starting...", false, 1, false},
		{"an array", "[1]", false, 1, false},
		{"nothing", "   \n", false, 0, false},
		{"an answer that cannot be decoded", `{"jsonrpc":"2.0","id":7,"result":{`, true, 0, true},
		{"another's that cannot be decoded", `{"jsonrpc":"2.0","id":8,"result":{`, false, 1, false},
		{"another's answer", strings.Replace(answer, "7", "8", 1), true, 0, false},
	}
	for _, test := range tests {
		w, x := waiting(t, 1<<20)
		m := decodeLine(w, test.line)
		n, _ := w.strays()
		if known := x.outcome(); (m != nil) != test.message || n != test.stray || known.answered != test.answered {
			t.Errorf("%s: message %v, %d stray, answered %v", test.name, m != nil, n, known.answered)
		} else if known.result != nil && string(known.result) != `{"a": 1.50}` {
			t.Errorf("%s: the server's bytes became %s", test.name, known.result)
		}
	}
}

// decodeLine decodes what is on a line, and returns its last message.
func decodeLine(w *wire, line string) (last jsonrpc.Message) {
	parts := messagesIn([]byte(line))
	if parts == nil {
		parts = []json.RawMessage{json.RawMessage(line)}
	}
	for _, part := range parts {
		if m, _ := w.decode(part, true); m != nil {
			last = m
		}
	}
	return last
}

// What stands on one line is told apart, wherever a message begins and ends.
func TestMessagesIn(t *testing.T) {
	const note, answer = `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"}{ \"jsonrpc\""}}`,
		`{"id": 7, "result": {"a": [{}]}, "jsonrpc": "2.0"}`
	for _, test := range []struct {
		name, line string
		want       []string // nil: not split
	}{
		{"one", note, nil},
		{"one, with white space", " " + answer + "\r\n", nil},
		{"no message", `{"level":30}{"level":40}`, nil},
		{"nothing", "  ", nil},
		{"one that holds another", `{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"jsonrpc":"2.0"}}}`, nil},
		{"a batch", "[" + note + "," + answer + "]", []string{note, answer}},
		{"a batch of one", "[" + answer + "]", []string{answer}},
		{"two", note + answer, []string{note, answer}},
		{"three, apart", answer + " " + note + "\t" + answer, []string{answer, note, answer}},
		{"two, with a carriage return", note + "\r" + answer, []string{note, answer}},
		{"two, with a comma", note + "," + answer, []string{note, answer}},
		{"two, with record separators", "\x1e" + note + "\x1e" + answer, []string{note, answer}},
		{"two behind a byte order mark", "\ufeff" + note + answer, []string{note, answer}},
		{"text before", "ready> " + answer, []string{"ready>", answer}},
		{"text behind", answer + " done", []string{answer, "done"}},
		{"text between", note + "INFO sent" + answer, []string{note, "INFO sent", answer}},
		{"text in brackets before", "[INFO] " + answer, []string{"[INFO]", answer}},
		{"a log line before", `{"level":30}` + note, []string{`{"level":30}`, note}},
		{"a log line behind", note + ` {"level":30}`, []string{note, `{"level":30}`}},
		{"two behind one cut off", `{"jsonrpc":"2.0","id":3,"resu` + note + answer, []string{`{"jsonrpc":"2.0","id":3,"resu`, note, answer}},
		{"the last cut off", note + answer[:19], []string{note, answer[:19]}},
		{"alone and cut off", note[:40], nil},
	} {
		var got []string
		for _, part := range messagesIn([]byte(test.line)) {
			got = append(got, string(part))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	if many := messagesIn(bytes.Repeat([]byte(`{"jsonrpc":`), 1<<16)); len(many) > 20 {
		t.Errorf("%d beginnings are read to the end", len(many))
	}
}

// Each message of a line reaches whom it is for, on all transports.
func TestTwoMessagesOnOneLine(t *testing.T) {
	const line = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}{"jsonrpc":"2.0","id":7,"result":{"n":1}}`
	w, x := waiting(t, 1<<20)
	body := &jsonBody{body: io.NopCloser(strings.NewReader(line)), wire: w, id: x.id}
	if data, err := io.ReadAll(body); err != nil || string(data) != `{"jsonrpc":"2.0","id":7,"result":{"n":1}}` ||
		!w.meter.takeChange() {
		t.Errorf("a body: %s (%v)", data, err)
	}
	w, _ = waiting(t, 1<<20)
	e := newEventFilter(io.NopCloser(strings.NewReader("data: "+line+"\n\n")), w)
	if data, err := io.ReadAll(e); err != nil || strings.Count(string(data), "data: ") != 2 || !w.meter.takeChange() {
		t.Errorf("events: %s (%v)", data, err)
	}
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "two-on-a-line")}), Options{})
	if r := ask(open(t, p, "e"), "third", "{}"); r.Error != "no such item" || p.Stats()[0].ListsChanged == 0 ||
		p.Stats()[0].StrayLines > 0 {
		t.Errorf("stdio: %+v, %+v", r, p.Stats()[0])
	}
}

func TestReadLineBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[a-z]{0,900}`).Draw(t, "line")
		limit := rapid.IntRange(1, 600).Draw(t, "limit")
		r := bufio.NewReaderSize(strings.NewReader(line+"\nnext\n"), 16)
		got, tail, err := readLine(r, limit)
		if err != nil || len(got) > limit || len(tail) > tailKept || (tail != nil) != (len(line)+1 > limit) {
			t.Fatalf("%d bytes of %d, tail %d, %v", len(got), len(line), len(tail), err)
		}
		if tail != nil && !strings.HasSuffix(line+"\n", string(tail)) {
			t.Fatal("the tail is not the line's end")
		}
		if next, _, _ := readLine(r, 600); string(next) != "next\n" {
			t.Fatalf("then %q", next)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{}}`, `x{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}`, "[[[",
		`{"jsonrpc":"2.0","id":7,`, "\ufeff",
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		w, x := waiting(t, 1<<20)
		m, own := w.decode(data, whole)
		n, sample := w.strays()
		if m == nil && n == 0 && len(bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff")))) > 0 {
			t.Fatalf("%q is neither a message nor counted", data)
		}
		if m != nil {
			if _, err := jsonrpc.DecodeMessage(own); err != nil {
				t.Fatalf("the message's own bytes are none: %q", own)
			}
		}
		if known := x.outcome(); known.answered && m == nil {
			t.Fatal("answered by no message")
		}
		if !utf8.ValidString(sample) || strings.ContainsAny(sample, "\n\x1b") {
			t.Fatalf("not fit to be shown: %q", sample)
		}
	})
}

// Whatever a stream holds, the SDK is given events it can read, in bounded space.
func FuzzEventFilter(f *testing.F) {
	for _, seed := range []string{
		"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n", ": ping\r\n\r\nevent: x\ndata: y\n\n",
		"id: 1\nretry: 5\n\n", "data: a\ndata: b", "data:" + strings.Repeat("y", 5000) + "\n\n",
		"event: endpoint\ndata: /m\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1000
		w, x := waiting(t, limit)
		e := newEventFilter(io.NopCloser(bytes.NewReader(data)), w)
		e.id, e.exchange = x.id, x
		out, err := io.ReadAll(e)
		if err != nil {
			t.Fatal(err)
		}
		for event := range strings.SplitSeq(string(out), "\n\n") {
			name, text := "", ""
			for line := range strings.SplitSeq(event, "\n") {
				if v, ok := strings.CutPrefix(line, "event: "); ok {
					name = v
				}
				if v, ok := strings.CutPrefix(line, "data: "); ok {
					text += v + "\n"
				}
			}
			if text == "" || name != "" && name != "message" || strings.Contains(event, "event:") && name == "" {
				continue
			}
			if _, err := jsonrpc.DecodeMessage([]byte(text)); err != nil {
				t.Fatalf("%q passes as a message: %v", text, err)
			}
		}
	})
}

func TestRender(t *testing.T) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	tests := []struct {
		name       string
		content    []mcp.Content
		structured string
		want       string
	}{
		{"text", []mcp.Content{text("a"), text("b")}, "", "a\nb"},
		{"a summary", []mcp.Content{text("1 item")}, `{"x":1}`, "1 item\n{\"x\":1}"},
		{"a summary, and a list", []mcp.Content{text("1 item")}, `["a"]`, "1 item\n[\"a\"]"},
		{"JSON that says less", []mcp.Content{text(`{"x":1}`)}, `{"x":1,"y":2}`, "{\"x\":1}\n{\"x\":1,\"y\":2}"},
		{"JSON of another type", []mcp.Content{text(`{"x":"1"}`)}, `{"x":1}`, "{\"x\":\"1\"}\n{\"x\":1}"},
		{"one of two members", []mcp.Content{text("Ines")}, `{"owner":"Ines","budget":12}`, "Ines\n{\"owner\":\"Ines\",\"budget\":12}"},
		{"neighbours beyond 2^53", []mcp.Content{text("9007199254740993")}, `{"id":9007199254740992}`, "9007199254740993\n{\"id\":9007199254740992}"},
		{"the same JSON", []mcp.Content{text(`{"x":1,"y":[2]}`)}, `{"x":1,"y":[2]}`, `{"x":1,"y":[2]}`},
		{"the same JSON, spelt otherwise", []mcp.Content{text("{\n  \"y\": [2],\n  \"x\": 1.0\n}")}, `{"x":1,"y":[2]}`, "{\n  \"y\": [2],\n  \"x\": 1.0\n}"},
		{"the same JSON behind a heading", []mcp.Content{text("Found:\n" + `{"x":1}`)}, `{"x":1}`, "Found:\n" + `{"x":1}`},
		{"the same JSON in a fence", []mcp.Content{text("```json\n{\"x\":1}\n```")}, `{"x":1}`, "```json\n{\"x\":1}\n```"},
		{"the same JSON in the second part", []mcp.Content{text("1 item"), text(`{"x":1}`)}, `{"x":1}`, "1 item\n" + `{"x":1}`},
		{"the same JSON over two parts", []mcp.Content{text(`{"x":`), text(`1}`)}, `{"x":1}`, "{\"x\":\n1}"},
		{"a wrapped text", []mcp.Content{text("hello\n")}, `{"result":"hello"}`, "hello\n"},
		{"a wrapped number", []mcp.Content{text("5")}, `{"result":5.0}`, "5"},
		{"a wrapped list", []mcp.Content{text("a"), text(`{"b":1}`)}, `{"result":["a",{"b":1}]}`, "a\n{\"b\":1}"},
		{"a wrapped list as JSON", []mcp.Content{text(`["a"]`)}, `{"items":["a"]}`, `["a"]`},
		{"wrapped parts", []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}}},
			`{"content":[{"type":"image","data":"AQ==","mimeType":"image/png"}]}`, "[image image/png, 1 bytes]"},
		{"an empty object", []mcp.Content{text("done")}, `{}`, "done"},
		{"a wrapped list of nothing", nil, `{"result":[]}`, `{"result":[]}`},
		{"an empty object alone", nil, `{}`, `{}`},
		{"an empty list", []mcp.Content{text("done")}, `{"items":[]}`, "done\n{\"items\":[]}"},
		{"a key twice", []mcp.Content{text(`{"x":1}`)}, `{"x":1,"x":2}`, "{\"x\":1}\n{\"x\":1,\"x\":2}"},
		{"structured and blank texts", []mcp.Content{text(" "), text("")}, `{"x":1}`, `{"x":1}`},
		{"structured alone", nil, `{"x":1}`, `{"x":1}`},
		{"structured and an empty text", []mcp.Content{text("")}, `{"x":1}`, `{"x":1}`},
		{"structured and a picture", []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}}},
			`{"x":1}`, "[image image/png, 1 bytes]\n{\"x\":1}"},
		{"a link", []mcp.Content{&mcp.ResourceLink{URI: "u", MIMEType: "m"}}, "", "[resource u m]"},
		{
			"a link with all", []mcp.Content{&mcp.ResourceLink{URI: "u",
				MIMEType: "m", Name: "n", Title: "n", Description: "the report\nof May", Size: new(int64)}}, "",
			"[resource u m: n, the report of May, 0 bytes]",
		},
		{"an embedded text", []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "u", Text: "t"}}}, "", "t"},
		{"nothing", nil, "", ""},
	}
	for _, test := range tests {
		if got := Render(test.content, json.RawMessage(test.structured), 1000); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		raw, max := rapid.SliceOf(rapid.Byte()).Draw(t, "text"), rapid.IntRange(1, 200).Draw(t, "max")
		if got := Render([]mcp.Content{text(string(raw))}, nil, max); len(got) > max || !utf8.ValidString(got) {
			t.Fatalf("%q", got)
		}
	})
}

func TestRecorded(t *testing.T) {
	tests := []struct{ name, content, text, want string }{
		{"text says it all", `[{"type":"text","text":"hi"}]`, "hi", ""},
		{"the text was cut", `[{"type":"text","text":"hi there"}]`, "hi", `[{"type":"text","text":"hi there"}]`},
		{"annotations", `[{"type":"text","text":"hi","annotations":{"priority":1}}]`, "hi", `[{"type":"text","text":"hi","annotations":{"priority":1}}]`},
		{"a picture", `[ {"type":"image","data":"AQ==","mimeType":"m"} ]`, "[image]", `[{"type":"image","data":"AQ==","mimeType":"m"}]`},
		{"no list", `"hi"`, "hi", ""},
	}
	for _, test := range tests {
		if got := string(recordText(json.RawMessage(test.content), test.text, 100)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	big := recordText(json.RawMessage(`[{"type":"image","data":"`+strings.Repeat("A", 4000)+
		`"},{"type":"resource","resource":{"uri":"u","blob":"`+strings.Repeat("B", 4000)+`"}}]`), "", 100)
	if len(big) > 400 || strings.Count(string(big), "sha256:") != 2 ||
		!strings.Contains(string(big), "4000 characters") {
		t.Errorf("%s", big)
	}
}

// repeated is a body of one line again and again.
type repeated struct {
	line string
	left int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left--; r.left < 0 {
		return 0, io.EOF
	}
	return copy(p, r.line), nil
}

func (r *repeated) Close() error { return nil }

// An event that never ends is of many lines, each within the limit.
func TestEventOfManyFields(t *testing.T) {
	for _, field := range []string{"id", "event", "retry", "data", "", "other"} {
		body := &repeated{field + ": " + strings.Repeat("x", 1000) + "\n", 20000}
		e := newEventFilter(body, newWire(10000, &meter{}))
		if data, err := io.ReadAll(e); err != nil || len(data) > 10000 || e.ready.Cap() > 100000 {
			t.Errorf("%q: %d bytes are passed on, %d kept (%v)", field, len(data), e.ready.Cap(), err)
		}
	}
}

// Revision 2025-03-26 lets a server put several messages into one.
func TestBatches(t *testing.T) {
	const batch = `[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"jsonrpc":"2.0","id":7,"result":{"n":1}},{"jsonrpc":"2.0","id":8,"result":{"n":2}}]`
	id, err := jsonrpc.MakeID(7.0)
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(10000, &meter{})
	body := &jsonBody{body: io.NopCloser(strings.NewReader(batch)), wire: w, id: id}
	if data, err := io.ReadAll(body); err != nil || string(data) != `{"jsonrpc":"2.0","id":7,"result":{"n":1}}` ||
		!w.meter.takeChange() {
		t.Errorf("a body: %s (%v)", data, err)
	}
	e := newEventFilter(io.NopCloser(strings.NewReader("event: message\ndata: "+batch+"\n\n")), w)
	if data, err := io.ReadAll(e); err != nil || strings.Count(string(data), "data: ") != 3 ||
		strings.Contains(string(data), "[") || !w.meter.takeChange() {
		t.Errorf("events: %s (%v)", data, err)
	}
	if _, stray := w.strays(); stray != "" {
		t.Errorf("%s is counted as no message", stray)
	}
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "batch")}), Options{})
	r := ask(open(t, p, "e"), "third", "{}")
	for deadline := time.Now().Add(10 * time.Second); p.Stats()[0].ListsChanged == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // the notification is behind the answer
	}
	if r.Error != "no such item" || p.Stats()[0].ListsChanged == 0 || p.Stats()[0].StrayLines > 0 {
		t.Errorf("stdio: %+v, %+v", r, p.Stats()[0])
	}
}

// A request of the server's that is too large has an id of its own, which may be that of a call of ours.
func TestHugeRequestIsNoAnswer(t *testing.T) {
	w := newWire(100, &meter{})
	id, err := jsonrpc.MakeID(1.0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, x := withExchange(context.Background())
	w.sending(ctx, &jsonrpc.Request{ID: id, Method: "tools/call"})
	for _, head := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"a":"`,
		`{"method":"ping","id":1,"params":{"a":"`,
	} {
		if m := w.tooLarge([]byte(head), []byte(`xxx"}}`)); m != nil || x.outcome().answered {
			t.Errorf("%s is taken for the answer: %v", head, m)
		}
	}
	if m := w.tooLarge([]byte(`{"id":1,"result":{"a":"`), []byte(`xxx"}}`)); m == nil || !x.outcome().answered {
		t.Errorf("the answer is not found: %v", m)
	}
}

// stuck is a network in which the messages of a method find no connection, and others an answer.
type stuck struct {
	method  string
	reached chan struct{}
	free    chan struct{}
}

func (s stuck) RoundTrip(req *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(data), s.method) {
		close(s.reached)
		<-s.free
		return nil, errors.New("no connection")
	}
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody, Request: req,
		Header: http.Header{"Content-Type": {"text/event-stream"}}}, nil
}

// The SDK tells a server in a goroutine that a call was given up, under the call's context: the call had reached the
// server all the same.
func TestGivingUpSaysNothingOfTheCall(t *testing.T) {
	base := stuck{"notifications/cancelled", make(chan struct{}), make(chan struct{})}
	u, err := url.Parse("http://s.example.com/mcp")
	if err != nil {
		t.Fatal(err)
	}
	h := &httpTripper{origin: originOf(u), base: base, wire: newWire(1<<20, &meter{})}
	ctx, x := withExchange(t.Context())
	post := func(text string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(text))
		if err != nil {
			return err
		}
		resp, err := h.RoundTrip(req)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	if err := post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() { told <- post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`) }()
	<-base.reached
	if known := x.outcome(); !known.sent || !known.dialled {
		t.Errorf("while the server is told, the call is %+v", &known)
	}
	close(base.free)
	if err := <-told; err == nil {
		t.Error("the notification found a connection")
	}
	if known := x.outcome(); !known.sent || known.missing != "" {
		t.Errorf("after that the call is sent: %v, missing %q", known.sent, known.missing)
	}
}
