package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"hone/internal/fault"
	"hone/internal/host"
)

func TestEachAnswersInOrder(t *testing.T) {
	var out bytes.Buffer
	in := "a\n\n  bad \r\n" + strings.Repeat("x", 100) + "\n" + strings.Repeat("y", 10) + "\nnil\nlast"
	count, err := host.EachLine(context.Background(), strings.NewReader(in), &out,
		host.LineOptions{Name: "file", MaxBytes: 10}, func(line []byte) (any, error) {
			switch string(line) {
			case "bad":
				return nil, errors.New("it is bad\xff")
			case "nil":
				return nil, nil
			}
			return string(line) + " <ok>", nil
		})
	want := "\"a <ok>\"\n{\"error\":\"it is bad\ufffd\"}\n{\"error\":\"100 bytes are more than 10\"}\n" +
		"\"yyyyyyyyyy <ok>\"\n\"last <ok>\"\n"
	if out.String() != want || count != (host.LineCount{Lines: 6, Failed: 2}) {
		t.Errorf("%+v\n%s", count, out.String())
	}
	if fault.CodeOf(err) != fault.CodeFailures || !strings.Contains(err.Error(), "file:3: it is bad") ||
		!strings.Contains(err.Error(), "file:4: 100 bytes") {
		t.Error(err)
	}
}

// Of many failed lines some are named, and the rest counted.
func TestManyFailures(t *testing.T) {
	count, err := host.EachLine(context.Background(), strings.NewReader(strings.Repeat("x\n", 1000)), &bytes.Buffer{},
		host.LineOptions{}, func([]byte) (any, error) {
			return nil, errors.New("no")
		})
	var f *fault.Error
	if !errors.As(err, &f) || f.What != "1000 of 1000 lines failed" ||
		!strings.HasSuffix(f.Why, "stdin:20: no\n    and 980 more") || count.Failed != 1000 {
		t.Error(err)
	}
}

// A line beyond the bound is never held whole.
func TestHugeLineIsNotHeld(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := host.EachLine(context.Background(), &endless{left: 64 << 20}, &bytes.Buffer{},
		host.LineOptions{MaxBytes: 1 << 20}, func([]byte) (any, error) {
			return nil, errors.New("it was answered")
		})
	runtime.ReadMemStats(&after)
	if held := after.TotalAlloc - before.TotalAlloc; held > 16<<20 ||
		!strings.Contains(fmt.Sprint(err), "67108864 bytes are more than 1048576") {
		t.Errorf("%d bytes, %v", held, err)
	}
}

// endless is one line of x.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	n := min(len(p), e.left)
	for i := range n {
		p[i] = 'x'
	}
	if e.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
