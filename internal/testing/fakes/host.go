// Package fakes has what tests put in the place of others: hosts that are quiet, a sampler and a renderer made of
// bytes, episodes that are right, and a Hub on this machine.
package fakes

import (
	"io"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/host"
)

// QuietHost is a host whose runs are listed in a folder of the test's.
func QuietHost(t *testing.T) *host.Host {
	state := t.TempDir()
	return &host.Host{Talk: sanitize.New(io.Discard), LookupEnv: func(name string) (string, bool) {
		return state, name == "XDG_STATE_HOME"
	}}
}

// HostWithOutput is a Quiet host, with what it says.
func HostWithOutput(t *testing.T) (*host.Host, *strings.Builder) {
	var said strings.Builder
	h := QuietHost(t)
	h.Talk = sanitize.New(&said)
	return h, &said
}
