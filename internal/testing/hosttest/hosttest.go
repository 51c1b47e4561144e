// Package hosttest has hosts for tests.
package hosttest

import (
	"io"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/host"
)

// Quiet is a host whose runs are listed in a folder of the test's.
func Quiet(t *testing.T) *host.Host {
	state := t.TempDir()
	return &host.Host{Talk: sanitize.New(io.Discard), LookupEnv: func(name string) (string, bool) {
		return state, name == "XDG_STATE_HOME"
	}}
}

// WithOutput is a Quiet host, with what it says.
func WithOutput(t *testing.T) (*host.Host, *strings.Builder) {
	var said strings.Builder
	h := Quiet(t)
	h.Talk = sanitize.New(&said)
	return h, &said
}
