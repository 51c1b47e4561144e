package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/fault"
)

// eachJSON yields the rows of a text: its lines, or the elements of its array, or its documents.
func eachJSON(in *bufio.Reader, path string, o SourceOptions, yield func(Record) error) error {
	t := &sourceText{in: in, line: 1, most: o.MaxBytes, yield: yield}
	var err error
	switch first, lone := opening(in); {
	case first == '[' && !lone:
		err = t.array()
	case first == '{' && !lone && strings.Contains(filepath.Base(path), ".json") &&
		!strings.Contains(filepath.Base(path), ".jsonl"):
		err = t.documents() // one object on many lines, or several
	default:
		err = t.lines()
	}
	if t.failed != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot read the conversations",
			Where: fmt.Sprintf("%s:%d", path, t.line), Err: t.failed, Next: "download or write the file again"}
	}
	return err
}

// opening is the first character of a text that is not blank, and whether its first line is one whole value.
func opening(in *bufio.Reader) (first byte, lone bool) {
	head, _ := in.Peek(in.Size())
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 {
		return 0, true
	}
	line, _, ended := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimSpace(line)
	if !ended && len(head) >= in.Size()/2 { // a long line: nothing is known of its end
		return head[0], head[0] == '{'
	}
	return head[0], head[0] == '{' && line[len(line)-1] == '}' ||
		head[0] == '[' && ended && jsontext.Value(line).IsValid() && behind(head[len(line):])
}

// behind reports whether more stands after the first line: a list alone on the only line is an array of rows.
func behind(rest []byte) bool { return len(bytes.TrimSpace(rest)) > 0 }

// sourceText is where reading stands.
type sourceText struct {
	in     *bufio.Reader
	line   int // of the next byte
	most   int
	yield  func(Record) error
	failed error // of reading; nil at the end of the text
}

// lines yields each line that is not blank.
func (t *sourceText) lines() error {
	var line []byte
	for {
		line = line[:0]
		size := 0
		var err error
		for {
			var part []byte
			part, err = t.in.ReadSlice('\n')
			size += len(part)
			if len(line) <= t.most {
				line = append(line, part...)
			}
			if err != bufio.ErrBufferFull {
				break
			}
		}
		if size > 0 {
			if e := t.row(t.line, line, size); e != nil {
				return e
			}
			t.line++
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			t.failed = err
			return nil
		}
	}
}

// row yields a row's bytes, of which size were read; they are copied.
func (t *sourceText) row(line int, data []byte, size int) error {
	data = bytes.TrimSpace(data)
	r := Record{Line: line}
	switch {
	case len(data) == 0:
		return nil
	case size > t.most:
		r.Reason, r.Detail = TooLong, fmt.Sprintf("%d bytes, more than %d", size, t.most)
	default:
		r.JSON = bytes.Clone(data)
	}
	return t.yield(r)
}

// Flaw says why a row's text is not one JSON value, or nothing. A repeated key is left to whom it concerns.
func Flaw(data []byte) (reason, detail string) {
	if jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true)) {
		return "", ""
	}
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			r, n := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return NotUTF8, fmt.Sprintf("at byte %d of the row", at+1)
	}
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	_, err := d.ReadValue()
	var syntactic *jsontext.SyntacticError
	switch {
	case err == nil && bytes.IndexByte(data, '\r') >= 0: // in JSON it stands between values alone
		return NotJSON, `more text behind the value; its lines may end with \r alone: tr '\r' '\n' < FILE > lines.jsonl`
	case err == nil:
		return NotJSON, "more text behind the value"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Cut, "" // a line that breaks off
	case errors.As(err, &syntactic):
		return NotJSON, fmt.Sprintf("at byte %d of the row: %s",
			syntactic.ByteOffset+1, strings.TrimPrefix(syntactic.Err.Error(), "jsontext: "))
	}
	return NotJSON, err.Error()
}

// array yields the elements of an array. What is broken inside an element costs that element alone, as long as its
// brackets close.
func (t *sourceText) array() error {
	if b, err := t.skip(); err != nil || b != '[' {
		return nil
	}
	for first := true; ; first = false {
		b, err := t.skip()
		if err != nil {
			return t.isOpen()
		}
		if b == ']' {
			return t.afterArray()
		}
		if b == ',' && !first {
			if b, err = t.skip(); err != nil {
				return t.isOpen()
			}
		}
		if done, err := t.value(b); err != nil || done {
			return err
		}
	}
}

// afterArray refuses what stands behind the array, once.
func (t *sourceText) afterArray() error {
	if _, err := t.skip(); err != nil {
		return nil
	}
	return t.yield(Record{Line: t.line, Reason: NotJSON, Detail: "text behind the array"})
}

func (t *sourceText) isOpen() error {
	if t.failed != nil {
		return nil
	}
	return t.yield(Record{Line: t.line, Reason: Cut, Detail: notClosed})
}

// documents yields objects that follow each other.
func (t *sourceText) documents() error {
	for {
		b, err := t.skip()
		if err != nil {
			return nil
		}
		if done, err := t.value(b); err != nil || done {
			return err
		}
	}
}

// skip reads to the next byte that is not blank.
func (t *sourceText) skip() (byte, error) {
	for {
		b, err := t.in.ReadByte()
		if err != nil {
			if err != io.EOF {
				t.failed = err
			}
			return 0, err
		}
		switch b {
		case '\n':
			t.line++
		case ' ', '\t', '\r':
		default:
			return b, nil
		}
	}
}

// value yields the value that begins with b; done tells that the text ended inside it.
func (t *sourceText) value(b byte) (done bool, err error) {
	line, size := t.line, 0
	var data []byte
	depth, quoted, escaped := 0, false, false
	for {
		size++
		if size <= t.most {
			data = append(data, b)
		}
		switch {
		case b == '\n':
			t.line++
		case escaped:
			escaped = false
		case quoted && b == '\\':
			escaped = true
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{', b == '[':
			depth++
		case b == '}', b == ']':
			depth--
		}
		if depth <= 0 && !quoted && (b == '}' || b == ']' || b == '"') {
			return false, t.row(line, data, size)
		}
		if depth == 0 && !quoted { // a bare word or number
			if next, err := t.in.Peek(1); err != nil || strings.IndexByte(",]} \t\r\n", next[0]) >= 0 {
				return err != nil, t.row(line, data, size)
			}
		}
		if b, err = t.in.ReadByte(); err != nil {
			if err != io.EOF {
				t.failed = err
			}
			return true, t.yield(Record{Line: line, Reason: Cut})
		}
	}
}
