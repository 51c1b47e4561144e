package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// defaultMaxFrame bounds one message from a server.
const defaultMaxFrame = 16 << 20

// exchange is one request and what became of it. The SDK decodes results and flattens errors; a trainer needs the
// server's own bytes, and to know whether a request can have arrived and who failed.
type exchange struct {
	mu        sync.Mutex
	id        jsonrpc.ID
	sent      bool            // the request may have reached the server
	dialled   bool            // a connection was sought for it; without sent, there was none
	answered  bool            // the server answered it, with a result or an error
	result    json.RawMessage // the server's bytes, nil where it answered with an error
	unusable  string          // why its answer was replaced by an error of ours
	missing   string          // why there is no answer, where the transport knows
	instead   string          // what came while it waited that answers nothing
	status    int             // of HTTP, where it was none of 2xx
	inSession bool            // over HTTP: it was sent in a session that the server had opened
	odd       string          // what of its answer was mended before it was read
	renamed   bool            // over HTTP: it was answered in another session than it was sent in
	method    string
	errors    []string // what each request came to that failed, where the SDK made several in one go

	emptyCursor bool // the request asks for the page whose cursor is "", which the SDK leaves out
}

type exchangeKey struct{}

// withExchange makes the next request sent under the context known to the returned exchange.
func withExchange(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func (x *exchange) set(change func(x *exchange)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	change(x)
}

// outcome returns a copy of what is known so far.
func (x *exchange) outcome() exchange {
	x.mu.Lock()
	defer x.mu.Unlock()
	return exchange{
		sent:      x.sent,
		dialled:   x.dialled,
		answered:  x.answered,
		result:    x.result,
		unusable:  x.unusable,
		missing:   x.missing,
		instead:   x.instead,
		status:    x.status,
		inSession: x.inSession,
		renamed:   x.renamed,
		odd:       x.odd,
		errors:    slices.Clone(x.errors),
	}
}

// fail notes why the request under way failed. The caller holds mu.
func (x *exchange) fail(why string) { x.errors = append(x.errors, x.method+": "+why) }

// miss notes why there will be no answer. The caller holds mu.
func (x *exchange) miss(why string) {
	x.missing = why
	x.fail(why)
}

// wire sees every message of a session, whatever the transport.
type wire struct {
	limit int    // of one message, bytes
	meter *meter // of the server
	// progress is told of each notifications/progress before the answer behind it is: the SDK does not keep that order.
	progress func(params json.RawMessage)
	redact   *strings.Replacer

	mu       sync.Mutex
	pending  map[jsonrpc.ID]*exchange
	stray    int64  // what the server sent that was no message
	sample   string // the first of it, cut and escaped
	status   int    // of HTTP, 0 where the last answer was a success
	any      bool   // a message came
	unasked  string // the last answer that was to no request
	numLists int    // how often the server said that its tools changed
	framing  string // how messages are framed that therefore are none

	version     string   // of the protocol, as the server calls it, where the SDK has another word
	oddGreeting []string // what of its answer to initialize is not as the protocol has it
}

func newWire(limit int, m *meter) *wire {
	return &wire{limit: limit, meter: m, redact: redactor(nil), pending: map[jsonrpc.ID]*exchange{}}
}

// sending is told of a request before it is written, and reports whether it changed it.
func (w *wire) sending(ctx context.Context, m jsonrpc.Message) (changed bool) {
	r, ok := m.(*jsonrpc.Request)
	x := exchangeOf(ctx)
	if !ok || !r.IsCall() || x == nil {
		return false
	}
	if x.emptyCursor && strings.HasSuffix(r.Method, "/list") {
		params := map[string]json.RawMessage{}
		if len(r.Params) == 0 || json.Unmarshal(r.Params, &params) == nil {
			params["cursor"] = json.RawMessage(`""`)
			if data, err := json.Marshal(params); err == nil {
				r.Params, changed = data, true
			}
		}
	}
	x.set(func(x *exchange) {
		x.id, x.method, x.sent, x.answered, x.missing, x.unusable, x.instead = r.ID, r.Method, true, false, "", "", ""
		x.status, x.renamed, x.odd = 0, false, ""
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending[r.ID] = x
	return changed
}

// forget drops a request whose caller has gone.
func (w *wire) forget(x *exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, other := range w.pending {
		if other == x {
			delete(w.pending, id)
		}
	}
}

// decode reads one message, and returns it with its own bytes; nil means that it was none and has been counted. whole
// is false where the transport broke off inside data.
func (w *wire) decode(data []byte, whole bool) (jsonrpc.Message, []byte) {
	data = trim(data)
	if len(data) == 0 {
		return nil, nil
	}
	if tooMany(data) {
		if m := w.unusable(data[:min(len(data), tailKept)], data[max(0, len(data)-tailKept):],
			fmt.Sprintf("the answer holds more than %d values", mostValues)); m != nil {
			return m, errorMessage(m.ID, m.Error.Error())
		}
		w.strayText(data)
		return nil, nil
	}
	// Log lines may be JSON objects too, so only a whole JSON-RPC message counts.
	if data[0] == '{' {
		if m := answerOf(data); m != nil {
			return m, w.receive(m, data)
		}
		if m, err := jsonrpc.DecodeMessage(data); err == nil {
			return m, w.receive(m, data)
		}
	}
	if finite := finiteJSON(data); finite != nil && whole {
		if m, err := jsonrpc.DecodeMessage(finite); err == nil {
			if r, ok := m.(*jsonrpc.Response); ok {
				w.noteOdd(r.ID, "NaN and Infinity, which JSON has not, are read as null")
			}
			return m, w.receive(m, finite)
		}
	}
	if whole && bytes.Contains(data, []byte(`"jsonrpc"`)) {
		if m := w.unusable(data, nil, "the answer cannot be decoded: "+w.excerpt(data)); m != nil {
			return m, errorMessage(m.ID, m.Error.Error())
		}
	}
	w.strayText(data)
	return nil, nil
}

// mostValues bounds the values of one message: in memory a small one takes fifty times its bytes.
const mostValues = 1 << 20

// tooMany reports whether a message holds more values than that, outside its texts.
func tooMany(data []byte) bool {
	if len(data) < mostValues { // as many commas have no room
		return false
	}
	n := 0
	for i := 0; i < len(data); {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
			continue
		case ',', ':', '[', '{':
			n++
		}
		i++
	}
	return n > mostValues
}

// noteOdd notes of an answer to come what of it was mended.
func (w *wire) noteOdd(id jsonrpc.ID, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending[id].set(func(x *exchange) { x.odd = what })
}

// finiteJSON is a text with null in the place of the numbers that encoders of floats write and JSON has not; nil where
// there are none outside its strings.
func finiteJSON(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return nil
	}
	var out []byte
	changed := false
	for i := 0; i < len(data); {
		if data[i] == '"' {
			end := stringEnd(data, i)
			out, i = append(out, data[i:end]...), end
			continue
		}
		found := ""
		for _, word := range []string{"NaN", "-Infinity", "Infinity"} {
			if bytes.HasPrefix(data[i:], []byte(word)) {
				found = word
			}
		}
		if found == "" {
			out, i = append(out, data[i]), i+1
			continue
		}
		out, i, changed = append(out, "null"...), i+len(found), true
	}
	if !changed {
		return nil
	}
	return out
}

// messagesIn splits what is more than one message: an array of them, which clients must accept (MCP 2025-03-26, basic,
// batching), one behind the other on a line, and text around them, for servers print prompts without a newline. It is
// nil where there is nothing to split.
func messagesIn(data []byte) []json.RawMessage {
	data = trim(data)
	n := bytes.Count(data, []byte(`"jsonrpc"`)) // in a string it would be escaped
	if n == 0 {
		return nil
	}
	apart := bytes.Contains(data, []byte("}{")) || bytes.Contains(data, []byte("} {"))
	if n == 1 && !apart && data[0] == '{' && data[len(data)-1] == '}' { // most are: nothing to be read a second time
		return nil
	}
	var parts []json.RawMessage
	if data[0] == '[' && json.Unmarshal(data, &parts) == nil {
		return parts
	}
	parts = nil
	add := func(part []byte) {
		if part = bytes.Trim(part, " \t\r\n,\x00\x1e"); len(part) > 0 {
			parts = append(parts, part)
		}
	}
	const most = 16 // beginnings that come to nothing: each is read to its end
	for failed := 0; len(data) > 0; {
		begin := bytes.IndexByte(data, '{')
		if begin < 0 || failed == most {
			add(data)
			break
		}
		if end := valueEnd(data[begin:]); end > 0 {
			add(data[:begin])
			add(data[begin : begin+end])
			data = data[begin+end:]
			continue
		}
		failed++
		next := bytes.Index(data[begin+1:], []byte(`{"jsonrpc"`)) // behind a message cut off
		if next < 0 {
			add(data)
			break
		}
		add(data[:begin+1+next])
		data = data[begin+1+next:]
	}
	if len(parts) < 2 {
		return nil
	}
	return parts
}

// valueEnd is where the JSON value ends that data begins with, 0 where it does not end.
func valueEnd(data []byte) int {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.SkipValue() != nil {
		return 0
	}
	return int(d.InputOffset())
}

// trim is data without white space around it and without a byte order mark.
func trim(data []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff")))
}

// errorText is an error with what its data adds, bounded.
func errorText(err error) string {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		return err.Error()
	}
	return answer.Message + Truncate(dataText(answer.Message, answer.Data), dataShown)
}

// numChanges is how often the server said in this session that its tools changed.
func (w *wire) numChanges() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.numLists
}

// hasMessage reports whether a message came.
func (w *wire) hasMessage() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.any
}

// noteFraming notes how the server frames what should be messages, and reports whether that is why none came.
func (w *wire) noteFraming(how string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.any {
		w.framing = how
	}
	return !w.any
}

func (w *wire) framingText() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.framing
}

// receive is told of a message, and returns its bytes: those given, but where it is a greeting that had to be mended.
func (w *wire) receive(m jsonrpc.Message, data []byte) []byte {
	w.mu.Lock()
	w.any = true
	w.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.Method == "notifications/tools/list_changed" {
			w.meter.noteListChange()
			w.mu.Lock()
			w.numLists++
			w.mu.Unlock()
		}
		if m.Method == "notifications/progress" && w.progress != nil {
			w.progress(m.Params)
		}
	case *jsonrpc.Response:
		w.mu.Lock()
		x := w.pending[m.ID]
		delete(w.pending, m.ID)
		w.mu.Unlock()
		if x == nil {
			w.strayAnswer(m)
		}
		greeting := false
		x.set(func(x *exchange) {
			greeting = x.method == "initialize" || x.method == "server/discover"
			if x.answered, x.result = true, m.Result; m.Error != nil {
				x.result = nil // some write both
				x.fail(errorText(m.Error))
			}
		})
		if greeting && m.Error == nil && w.mendGreeting(m) {
			if mended, err := jsonrpc.EncodeMessage(m); err == nil {
				return mended
			}
		}
	}
	return data
}

// strayAnswer notes, for the calls that wait, an answer that is to none of them: often it is theirs, under another id.
func (w *wire) strayAnswer(m *jsonrpc.Response) {
	data, err := json.Marshal(m.ID.Raw())
	if err != nil {
		return
	}
	id := printable(cutName(w.redact.Replace(string(data))))
	body := []byte(m.Result)
	if m.Error != nil {
		body = []byte(m.Error.Error())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unasked = fmt.Sprintf("an answer under the id %s, which no request has: %s", id, w.excerpt(body))
	for asked, x := range w.pending {
		x.set(func(x *exchange) {
			x.instead = fmt.Sprintf("an answer under the id %s where %v was asked: %s",
				id, asked.Raw(), w.excerpt(body))
		})
	}
}

func (w *wire) lastStray() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unasked
}

func (w *wire) strayText(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stray++; w.sample == "" {
		w.sample = w.excerpt(data)
	}
	for _, x := range w.pending {
		x.set(func(x *exchange) {
			if x.instead == "" {
				x.instead = "a line that is no message: " + w.excerpt(data)
			}
		})
	}
	w.meter.stray(w.sample)
}

// strays returns how much of what the server sent was no message, and the first of it.
func (w *wire) strays() (int64, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stray, w.sample
}

// noteStatus notes the HTTP status of an answer to a call, 0 for a success.
func (w *wire) noteStatus(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = status
}

func (w *wire) lastStatus() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// tooLarge answers in the server's stead the call whose response was beyond the limit, so that only this call fails.
// It is nil where neither end of the message reveals the id.
func (w *wire) tooLarge(head, tail []byte) jsonrpc.Message {
	if m := w.unusable(head, tail, fmt.Sprintf("the answer is larger than %d bytes", w.limit)); m != nil {
		return m
	}
	w.strayText(head)
	return nil
}

// unusable is an error instead of the answer of which the two ends are given; nil where it answers no call.
func (w *wire) unusable(head, tail []byte, why string) *jsonrpc.Response {
	id, ok := idIn(head, tail)
	w.mu.Lock()
	x := w.pending[id]
	delete(w.pending, id)
	w.mu.Unlock()
	if !ok || x == nil {
		return nil
	}
	x.set(func(x *exchange) {
		x.answered, x.unusable = true, why
		x.fail(why)
	})
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: why}}
}

// lastID finds the id that some servers write last. Inside a string of the result it would be escaped.
var lastID = regexp.MustCompile(`"id"\s*:\s*("[^"\\]*"|-?\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// idIn returns the id of an answer of which only the two ends are known; a request of the server's, whose ids are its
// own, is none.
func idIn(head, tail []byte) (jsonrpc.ID, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(head))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return jsonrpc.ID{}, false
	}
	var id []byte
	for {
		token, err := d.ReadToken()
		if err != nil || token.Kind() != '"' {
			break
		}
		name := token.String()
		if name == "method" {
			return jsonrpc.ID{}, false
		}
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		if name == "id" {
			id = bytes.Clone(value)
		}
	}
	if id != nil {
		return makeID(id)
	}
	if found := lastID.FindSubmatch(tail); found != nil {
		return makeID(found[1])
	}
	return jsonrpc.ID{}, false
}

func makeID(raw []byte) (jsonrpc.ID, bool) {
	m, err := jsonrpc.DecodeMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, raw))
	if r, ok := m.(*jsonrpc.Response); err == nil && ok {
		return r.ID, true
	}
	return jsonrpc.ID{}, false
}

// excerpt is foreign text fit for an error: cut, on one line, with what does not print escaped.
func excerpt(text string) string {
	text = strings.TrimSpace(text)
	if cut := runeStart(text, excerptKept); cut < len(text) {
		return strconv.Quote(text[:cut]) + fmt.Sprintf(" and %d bytes more", len(text)-cut)
	}
	return strconv.Quote(text)
}

const excerptKept = 160

// excerpt hides secrets before it cuts, for half a secret would not be found any more.
func (w *wire) excerpt(data []byte) string {
	const enough = 16 << 10 // for what is shown and the longest secret behind it
	head := data[:min(len(data), enough)]
	text := w.redact.Replace(string(head)) + string(data[len(head):])
	return excerpt(text)
}
