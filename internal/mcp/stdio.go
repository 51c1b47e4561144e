package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdioConn is the SDK's view of a process: a line of JSON per message, or of several. Unlike the SDK's own transport
// it survives servers that print to stdout: what is no JSON-RPC message is skipped and counted.
type stdioConn struct {
	p     *process
	wire  *wire
	tail  *lineTail
	lines *bufio.Reader
	batch []json.RawMessage // what is left of a line of several messages
	cut   bool              // the last of them is cut off

	framing framing
	write   chan struct{} // holds one while a message is being written
}

func newStdioConn(p *process, w *wire) *stdioConn {
	t := &lineTail{r: p.stdout}
	return &stdioConn{p: p, wire: w, tail: t, lines: bufio.NewReaderSize(t, 64<<10), write: make(chan struct{}, 1)}
}

// lineTail is a reader that remembers what it read behind the last newline: who reads by lines has not seen it.
type lineTail struct {
	r io.Reader

	mu     sync.Mutex
	begins []byte // the first bytes of it
	n      int64  // bytes of it in all
	nested nesting
}

const tailShown = 4 << 10 // for an excerpt, and a secret at the end of one

func (t *lineTail) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	rest := p[:n]
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := bytes.LastIndexByte(rest, '\n'); at >= 0 {
		t.begins, t.n, t.nested, rest = t.begins[:0], 0, nesting{}, rest[at+1:]
	}
	t.begins = append(t.begins, rest[:min(len(rest), tailShown-len(t.begins))]...)
	t.n += int64(len(rest))
	t.nested.read(rest)
	return n, err
}

// rest is how many bytes there are behind the last newline, how they begin, and whether they are a whole message.
func (t *lineTail) rest() (n int64, begins []byte, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	whole = t.nested.whole && (t.n > int64(len(t.begins)) || json.Valid(t.begins))
	return t.n, bytes.Clone(t.begins), whole
}

// nesting follows the braces and brackets of a JSON value of any length, of which only the beginning is kept.
type nesting struct {
	depth           int
	quoted, escaped bool
	whole           bool // the value has ended, and only white space has come since
}

func (s *nesting) read(text []byte) {
	for _, c := range text {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		case c == '"':
			s.quoted, s.whole = true, false
		case c == '{' || c == '[':
			s.depth, s.whole = s.depth+1, false
		case c == '}' || c == ']':
			s.depth--
			s.whole = s.depth == 0
		case c != ' ' && c != '\t' && c != '\r':
			s.whole = false
		}
	}
}

// Connect makes stdioConn its own mcp.Transport.
func (c *stdioConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

func (c *stdioConn) SessionID() string { return "" }

func (c *stdioConn) Close() error {
	c.p.close()
	return nil
}

// Write gives up at ctx's deadline, for a server that no longer reads blocks us once the pipe is full. A message that
// was written in part cannot be taken back, so the process is then ended.
func (c *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
	c.wire.sending(ctx, m)
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case c.write <- struct{}{}:
		defer func() { <-c.write }()
	case <-ctx.Done(): // behind a message that the server does not read
		exchangeOf(ctx).set(func(x *exchange) { x.sent = false })
		return ctx.Err()
	}
	deadline, _ := ctx.Deadline() // without one: the zero time, no deadline
	c.p.stdin.SetWriteDeadline(deadline)
	if _, err = c.p.stdin.Write(append(data, '\n')); err != nil {
		go c.p.close()
	}
	return err
}

// Read returns the next message. It is unblocked by Close, which closes the pipe, rather than by ctx.
func (c *stdioConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.batch) > 0 {
			part := c.batch[0]
			c.batch = c.batch[1:]
			if m, _ := c.wire.decode(part, !c.cut || len(c.batch) > 0); m != nil {
				return m, nil
			}
			continue
		}
		line, tail, err := readLine(c.lines, c.wire.limit)
		var m jsonrpc.Message
		if tail != nil {
			m = c.wire.tooLarge(line, tail)
		} else if c.batch, c.cut = messagesIn(line), err != nil; len(c.batch) == 0 {
			if m, _ = c.wire.decode(line, err == nil); m == nil {
				c.checkFrame(line)
			}
		}
		if m != nil {
			return m, nil
		}
		if err != nil && len(c.batch) == 0 {
			c.p.waitFor(drainGrace) // so that how it ended is known before anybody ends it
			if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
				err = io.EOF
			}
			return nil, err
		}
	}
}

// tailKept is how much of the end of a line beyond the limit is kept, to find its id.
const tailKept = 256

// readLine reads to the next newline and keeps at most limit bytes. Where there were more, tail is the line's end.
func readLine(r *bufio.Reader, limit int) (line, tail []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		room := limit - len(line)
		if len(part) > room || tail != nil {
			tail = append(tail, part...)
			tail = append(tail[:0], tail[max(0, len(tail)-tailKept):]...)
			part = part[:min(room, len(part))]
		}
		if need := len(line) + len(part); need > cap(line) {
			room := 3 * cap(line) // append's steps of a quarter would leave five times the line behind
			if room > limit/3 {
				room = limit
			}
			grown := make([]byte, len(line), max(need, room))
			copy(grown, line)
			line = grown
		}
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, tail, err
		}
	}
}
