package episodes

import (
	"strings"
	"testing"

	"hone/internal/config"
)

// A server that samples is not asked to hold completions to a form, so no call can be forced there.
func TestCallsAreForcedHere(t *testing.T) {
	l := &Agent{away: &away{settings: config.Sampler{URL: "http://there/v1"}}}
	if err := l.ForceCalls(); err == nil || !strings.Contains(err.Error(), "http://there/v1") {
		t.Error(err)
	}
}
