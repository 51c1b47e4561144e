package host

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hone/internal/console/sanitize"
)

// The time left is shown once a wave has ended: of episodes the slots', of steps one.
func TestTimeLeftIsShownOnceItMeansSomething(t *testing.T) {
	for _, tc := range []struct {
		stage string
		slots int
		first int // the first to be shown with an estimate
	}{{"eval base", 4, 5}, {"eval_sft", 4, 5}, {"rejection_rollouts", 4, 5}, {"grpo", 4, 2}, {"collect", 1, 2}} {
		var said bytes.Buffer
		p := &progress{w: sanitize.New(&said), redraw: true, slots: tc.slots}
		for done := 1; done <= 8; done++ {
			said.Reset()
			p.report(tc.stage, done, 8, "")
			p.began = p.began.Add(-2 * time.Second) // what the next one takes
			if got := strings.Contains(said.String(), " left"); got != (done >= tc.first) {
				t.Errorf("%s, %d of 8: %q", tc.stage, done, said.String())
			}
		}
	}
}

// A line that is drawn over a longer one leaves nothing of it; a log holds no control characters.
func TestProgressClearsTheLine(t *testing.T) {
	for _, redraw := range []bool{true, false} {
		var said bytes.Buffer
		p := &progress{w: sanitize.New(&said), redraw: redraw, slots: 1}
		p.report("grpo/rollouts", 1, 4, "a long note of what is under way")
		p.report("grpo", 1, 2, "a long note of what is under way")
		p.report("grpo", 2, 2, "short")
		for _, line := range strings.FieldsFunc(said.String(), func(r rune) bool { return r == '\r' || r == '\n' }) {
			if strings.HasSuffix(line, "\x1b[K") != redraw {
				t.Errorf("redraw %v: %q", redraw, line)
			}
		}
	}
}
