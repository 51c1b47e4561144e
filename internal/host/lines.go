package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"hone/internal/fault"
)

// MaxLineBytes of a line where Options leave it out.
const MaxLineBytes = 64 << 20

// LineOptions of Each. The zero value reads what it calls stdin.
type LineOptions struct {
	Name     string // of the stream, for errors
	MaxBytes int    // of a line; a longer one fails, and is never held whole. 0 is DefaultMaxBytes
}

// LineCount is how many lines there were, and how many of them failed.
type LineCount struct{ Lines, Failed int }

// EachLine answers each line of in that is not blank with one line of JSON on out, so that a program may talk to it
// line by line. A line whose answer is an error becomes {"error": ...}; an answer of nil writes nothing. The error at
// the end names the lines that failed, with exit code 3.
func EachLine(
	ctx context.Context, in io.Reader, out io.Writer, o LineOptions, answer func(line []byte) (any, error),
) (LineCount, error) {
	if o.Name == "" {
		o.Name = "stdin"
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = MaxLineBytes
	}
	r := bufio.NewReaderSize(in, 64<<10)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	failed := failures{name: o.Name}
	for number := 1; ; number++ {
		line, size, readErr := readLine(r, o.MaxBytes)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := context.Cause(ctx); err != nil {
				return failed.LineCount, err
			}
			failed.Lines++
			var reply any
			err := fmt.Errorf("%d bytes are more than %d", size, o.MaxBytes)
			if size <= o.MaxBytes {
				reply, err = answer(line)
			}
			if err != nil {
				failed.add(number, err)
				reply = map[string]string{"error": strings.ToValidUTF8(fault.InnerText(err), "\ufffd")}
			}
			if reply != nil { // else the answer wrote its own
				if err := e.Encode(reply); err != nil {
					return failed.LineCount, err
				}
			}
		}
		if readErr == io.EOF {
			return failed.LineCount, failed.error()
		} else if readErr != nil {
			return failed.LineCount, readErr
		}
	}
}

// readLine reads to the end of a line, of which it keeps most bytes at most. size is that of the whole line.
func readLine(r *bufio.Reader, most int) (line []byte, size int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		size += len(bytes.TrimSuffix(part, []byte("\n")))
		line = append(line, part[:min(len(part), max(0, most+1-len(line)))]...)
		if err != bufio.ErrBufferFull {
			return line, size, err
		}
	}
}

// mostNamed is how many failed lines an error names.
const mostNamed = 20

// failures are those of the lines of a stream.
type failures struct {
	LineCount
	name   string
	where  []string
	reason []string
}

func (f *failures) add(line int, err error) {
	if f.Failed++; f.Failed > mostNamed {
		return
	}
	f.where = append(f.where, fmt.Sprintf("%s:%d", f.name, line))
	f.reason = append(f.reason, fault.InnerText(err))
}

// error says each place once: where one line failed, above the reason, else before each.
func (f *failures) error() error {
	if f.Failed == 0 {
		return nil
	}
	e := &fault.Error{
		Code:  fault.CodeFailures,
		What:  fmt.Sprintf("%d of %s failed", f.Failed, fault.Count(f.Lines, "line")),
		Where: f.where[0],
		Why:   f.reason[0],
		Next:  "correct it",
	}
	if f.Failed > 1 {
		var lines []string
		for i, where := range f.where {
			lines = append(lines, where+": "+f.reason[i])
		}
		if more := f.Failed - len(f.where); more > 0 {
			lines = append(lines, fmt.Sprintf("and %d more", more))
		}
		e.Where, e.Why, e.Next = f.name, strings.Join(lines, "\n    "), "correct them"
	}
	if f.Lines > f.Failed {
		e.Next += "; the others are answered"
	}
	return e
}
