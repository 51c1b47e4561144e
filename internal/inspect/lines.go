// Package inspect shows what hone does inside: tokens, prompts, tool calls and logprobs, one JSON object a line in and out; the
// memory and the programs of a run.
package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/suggest"
)

// eachLine answers each line of stdin with one line on stdout, so that a program may talk to it line by line. Its error says
// at the end which lines failed.
func eachLine[In any](ctx context.Context, h *host.Host, answer func(In) (any, error)) error {
	in := bufio.NewReader(h.Stdin)
	out := json.NewEncoder(h.Data)
	out.SetEscapeHTML(false)
	var failed failures
	for number := 1; ; number++ {
		line, readErr := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			failed.lines++
			reply, err := answerLine(line, answer)
			if err != nil {
				failed.add(number, err)
				reply = map[string]string{"error": fault.Unlabelled(err)}
			}
			if reply != nil { // else the answer wrote its own
				if err := out.Encode(reply); err != nil {
					return err
				}
			}
		}
		if readErr == io.EOF {
			return failed.error()
		} else if readErr != nil {
			return readErr
		}
	}
}

// failures are those of the lines of stdin.
type failures struct {
	lines  int // of all
	where  []string
	reason []string
}

func (f *failures) add(line int, err error) {
	f.where = append(f.where, fmt.Sprintf("stdin:%d", line))
	f.reason = append(f.reason, fault.Unlabelled(err))
}

// error says each place once: where one line failed, above the reason, else before each.
func (f *failures) error() error {
	if len(f.where) == 0 {
		return nil
	}
	e := &fault.Error{Code: fault.CodeFailures, What: fmt.Sprintf("%d of %s failed", len(f.where), fault.Count(f.lines, "line")), Where: f.where[0],
		Why: f.reason[0], Next: "correct it"}
	if len(f.where) > 1 {
		var lines []string
		for i, where := range f.where {
			lines = append(lines, where+": "+f.reason[i])
		}
		e.Where, e.Why, e.Next = "stdin", strings.Join(lines, "\n    "), "correct them"
	}
	if f.lines > len(f.where) {
		e.Next += "; the others are answered"
	}
	return e
}

func answerLine[In any](line []byte, answer func(In) (any, error)) (any, error) {
	var v In
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return nil, unknownKey[In](name)
		}
		return nil, fault.JSON(err)
	}
	if len(bytes.TrimSpace(line[d.InputOffset():])) > 0 {
		return nil, errors.New("more than one value on the line")
	}
	return answer(v)
}

// unknownKey is the error of a key, in quotes, that a line has and In has not.
func unknownKey[In any](quoted string) error {
	var keys []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[In]()) {
		keys = append(keys, f.Tag.Get("json"))
	}
	if name, err := strconv.Unquote(quoted); err == nil {
		if near := suggest.Nearest(name, keys); near != "" {
			return fmt.Errorf("unknown key %s; did you mean %q?", quoted, near)
		}
	}
	return fmt.Errorf("unknown key %s; there are %s", quoted, strings.Join(keys, ", "))
}
