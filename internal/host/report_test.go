package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/fault"
)

// An error's code is the exit code, and a signal's is 128 more than its number where nothing can be gone on with.
func TestReport(t *testing.T) {
	stopped, cancel := context.WithCancelCause(t.Context())
	cancel(Signalled(syscall.SIGTERM))
	for _, tc := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"fine", t.Context(), nil, 0},
		{"plain error", t.Context(), errors.New("x"), 1},
		{"usage", t.Context(), &fault.Error{Code: fault.CodeUsage, What: "x"}, 2},
		{"wrapped", t.Context(), fmt.Errorf("y: %w", &fault.Error{Code: fault.CodeExhausted, What: "x"}), 6},
		{"stopped by a signal", stopped, context.Canceled, 143},
		{"stopped, resumable", stopped, &fault.Error{Code: fault.CodeStopped, What: "x"}, 7},
		{"stopped, and a server blamed for it", stopped, &fault.Error{Code: fault.CodeUnavailable, What: "x", Err: context.Canceled}, 143},
		{"finished although stopped", stopped, nil, 0},
	} {
		var said bytes.Buffer
		if got := (&Host{Talk: sanitize.New(&said)}).Report(tc.ctx, tc.err); got != tc.want ||
			(tc.err == nil) != (said.Len() == 0) {
			t.Errorf("%s: exit code %d, want %d; said %q", tc.name, got, tc.want, said.String())
		}
	}
}
