package mcp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// eventFilter is a stream of server-sent events with only those left in it that the SDK can read: others are counted,
// and an answer beyond the limit is replaced by an error.
type eventFilter struct {
	body  io.ReadCloser
	lines *bufio.Reader
	wire  *wire

	id       jsonrpc.ID // of the call this stream answers
	exchange *exchange  // nil where it is the stream of no call

	ready bytes.Buffer
	err   error
}

func newEventFilter(body io.ReadCloser, w *wire) *eventFilter {
	return &eventFilter{body: body, wire: w, lines: bufio.NewReaderSize(body, 32<<10)}
}

func (e *eventFilter) Close() error { return e.body.Close() }

func (e *eventFilter) Read(p []byte) (int, error) {
	for e.ready.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.next()
	}
	n, _ := e.ready.Read(p)
	return n, nil
}

// next reads one event and makes it ready, or nothing where it is not fit. Fields are told apart as the HTML standard
// says: a line up to the first colon, one space after it dropped.
func (e *eventFilter) next() {
	var data []byte
	fields := map[string][]byte{} // of id, retry and event the last counts
	cut := false
	for {
		line, tail, err := readLine(e.lines, e.wire.limit)
		cut = cut || tail != nil
		text := bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(text, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(text) == 0:
		case string(field) == "data":
			if len(data)+len(value) > e.wire.limit {
				cut = true
				break
			}
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		case string(field) == "event", string(field) == "id", string(field) == "retry":
			fields[string(field)] = value
		}
		if err != nil {
			e.err = err
			e.noteBreak(err)
		}
		if len(text) == 0 || err != nil {
			break
		}
	}
	e.emit(fields, data, cut)
}

func (e *eventFilter) emit(fields map[string][]byte, data []byte, cut bool) {
	name := string(fields["event"])
	switch {
	case cut && e.exchange != nil: // whatever it was, it is the answer that matters
		why := fmt.Sprintf("the answer is larger than %d bytes", e.wire.limit)
		e.exchange.set(func(x *exchange) { x.answered, x.unusable = true, why; x.fail(why) })
		data = errorMessage(e.id, why)
	case cut:
		m := e.wire.tooLarge(data, nil)
		r, ok := m.(*jsonrpc.Response)
		if !ok {
			return
		}
		data = errorMessage(r.ID, r.Error.Error())
	case len(data) == 0 || name != "" && name != "message":
	default:
		for _, part := range messagesIn(data) {
			_, own := e.wire.decode(part, true)
			e.write(fields, own)
			data = nil
		}
		_, data = e.wire.decode(data, e.err == nil)
	}
	e.write(fields, data)
}

func (e *eventFilter) write(fields map[string][]byte, data []byte) {
	if len(fields) == 0 && len(data) == 0 {
		return
	}
	for _, field := range keysInOrder(fields) {
		fmt.Fprintf(&e.ready, "%s: %s\n", field, fields[field])
	}
	if len(data) > 0 {
		e.ready.WriteString("data: ")
		e.ready.Write(bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: ")))
		e.ready.WriteString("\n")
	}
	e.ready.WriteString("\n")
}

// noteBreak notes for the call that its stream ended; an answer that came earlier, or after a resumption, outweighs it.
func (e *eventFilter) noteBreak(err error) {
	e.exchange.set(func(x *exchange) {
		if x.missing = "the stream ended before the answer"; err != io.EOF {
			x.missing += ": " + err.Error()
		}
	})
}
