package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hone/internal/screen"
)

// The time left is shown once a wave has ended: of episodes the slots', of steps one.
func TestTimeLeftIsShownOnceItMeansSomething(t *testing.T) {
	for _, tc := range []struct {
		stage string
		slots int
		first int // the first to be shown with an estimate
	}{{"eval base", 4, 5}, {"eval_sft", 4, 5}, {"rejection_rollouts", 4, 5}, {"grpo", 4, 2}, {"collect", 1, 2}} {
		var said bytes.Buffer
		p := &progress{w: screen.New(&said), redraw: true, slots: tc.slots}
		report := p.report()
		for done := 1; done <= 8; done++ {
			said.Reset()
			report(tc.stage, done, 8, "")
			p.began = p.began.Add(-2 * time.Second) // what the next one takes
			if got := strings.Contains(said.String(), " left"); got != (done >= tc.first) {
				t.Errorf("%s, %d of 8: %q", tc.stage, done, said.String())
			}
		}
	}
}
