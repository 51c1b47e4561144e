package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is one of server-sent events (WHATWG HTML, section 9.2).
type event struct {
	text string // its lines as they came, without the empty one behind them
	data []byte // of its data lines; nil of a comment
}

func (e event) isDone() bool { return string(e.data) == "[DONE]" }

// eventReader reads the events of a stream.
type eventReader struct {
	lines *bufio.Reader
	most  int // bytes of one event
}

func newEventReader(r io.Reader, most int) *eventReader {
	return &eventReader{bufio.NewReader(r), most}
}

// next returns the next event; io.EOF after the last.
func (r *eventReader) next() (event, error) {
	var text []string
	var data []string
	size := 0
	for {
		line, err := r.line(r.most - size)
		size += len(line) + 1
		switch {
		case err != nil && (!errors.Is(err, io.EOF) || len(text) == 0 && line == ""):
			return event{}, err
		case err == nil && line == "" && len(text) == 0: // an empty line before an event
			continue
		}
		if line != "" {
			text = append(text, line)
		}
		if value, isData := strings.CutPrefix(line, "data:"); isData {
			data = append(data, strings.TrimPrefix(value, " "))
		}
		if line == "" || err != nil { // some servers leave out the last empty line
			e := event{text: strings.Join(text, "\n")}
			if data != nil {
				e.data = []byte(strings.Join(data, "\n"))
			}
			return e, nil
		}
	}
}

// line reads a line of at most so many bytes, without its end.
func (r *eventReader) line(most int) (string, error) {
	var out []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		out = append(out, part...)
		if len(out) > most {
			return "", badUpstream("upstream_too_long",
				fmt.Sprintf("an event of the upstream's stream is longer than %d bytes", r.most))
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return string(bytes.TrimRight(out, "\r\n")), err
	}
}
