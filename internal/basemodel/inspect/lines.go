// Package inspect shows what hone does inside: tokens, prompts, tool calls and logprobs, one JSON object a line in and
// out; the memory and the programs of a run.
package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"hone/internal/fault"
	"hone/internal/host"
)

// eachLine answers each line of stdin with one line on stdout.
func eachLine[In any](ctx context.Context, h *host.Host, answer func(In) (any, error)) error {
	_, err := host.EachLine(ctx, h.Stdin, h.Data, host.LineOptions{}, func(line []byte) (any, error) {
		return answerLine(line, answer)
	})
	return err
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
		if near := fault.Nearest(name, keys); near != "" {
			return fmt.Errorf("unknown key %s; did you mean %q?", quoted, near)
		}
	}
	return fmt.Errorf("unknown key %s; there are %s", quoted, strings.Join(keys, ", "))
}
