package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxFrame bounds one message from a server.
const maxFrame = 16 << 20

// stdioConn is the SDK's view of a process: a line of JSON per message. Unlike the SDK's own transport it survives
// servers that print to stdout: what is no JSON-RPC message is skipped and counted.
type stdioConn struct {
	p     *process
	tap   *tap
	lines *bufio.Reader
	limit int // of one line, bytes

	stray atomic.Int64
	write sync.Mutex
}

func newStdioConn(p *process, tap *tap) *stdioConn {
	return &stdioConn{p: p, tap: tap, lines: bufio.NewReaderSize(p.stdout, 64<<10), limit: maxFrame}
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
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	c.tap.sent(m)
	c.write.Lock()
	defer c.write.Unlock()
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
		line, cut, err := readLine(c.lines, c.limit)
		if cut {
			if m := tooLarge(line); m != nil {
				return m, nil
			}
			c.stray.Add(1)
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			// Log lines may be JSON objects too, so only a whole JSON-RPC message counts.
			if m, bad := jsonrpc.DecodeMessage(line); bad == nil && line[0] == '{' {
				c.tap.received(m)
				return m, nil
			}
			c.stray.Add(1)
		}
		if err != nil {
			if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
				err = io.EOF
			}
			return nil, err
		}
	}
}

// readLine reads to the next newline and keeps at most limit bytes; cut says that there were more.
func readLine(r *bufio.Reader, limit int) (line []byte, cut bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if room := limit - len(line); len(part) > room {
			part, cut = part[:room], true
		}
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, cut, err
		}
	}
}

// tooLarge answers in the server's stead the call whose response was beyond the limit, so that only this call fails.
// It is nil where the kept part does not reveal the id.
func tooLarge(start []byte) jsonrpc.Message {
	d := jsontext.NewDecoder(bytes.NewReader(start))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return nil
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return nil
		}
		isID := name.String() == "id"
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		if !isID {
			continue
		}
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the answer is larger than %d bytes"}}`,
			value, jsonrpc.CodeInternalError, maxFrame)
		m, err := jsonrpc.DecodeMessage([]byte(text))
		if err != nil {
			return nil
		}
		return m
	}
}
