package host

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/console/sanitize"
)

// heard is what is said while run works in a bubble, whose clock stands still until all wait.
func heard(t *testing.T, run func(h *Host)) string {
	t.Helper()
	var said bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		run(&Host{Talk: sanitize.New(&said), Still: &Still{}}) // a bubble with something that still waits does not end
	})
	return said.String()
}

// Each 30 seconds of silence there is a line, of what began last; other lines are no silence.
func TestSilenceIsBroken(t *testing.T) {
	got := heard(t, func(h *Host) {
		whole := h.Working("at work on sft")
		time.Sleep(20 * time.Second)
		h.Say("a line")
		time.Sleep(31 * time.Second)
		compiled := h.Working("compiling the program for prompts")
		time.Sleep(75 * time.Second)
		compiled()
		time.Sleep(20 * time.Second)
		whole()
		time.Sleep(time.Hour)
		ended := h.Working("at work on eval")
		time.Sleep(time.Second)
		ended()
		time.Sleep(time.Hour)
		for range 3 { // works that follow each other are one silence
			ended := h.Working("at work on eval")
			time.Sleep(19 * time.Second)
			ended()
		}
		h.Quiet = true
		defer h.Working("at work in silence")()
		time.Sleep(time.Hour)
	})
	if want := `a line
still at work on sft, for 50s
still compiling the program for prompts, for 29s
still compiling the program for prompts, for 59s
still at work on sft, for 2m20s
still at work on eval, for 11s
`; got != want {
		t.Errorf("it says\n%swant\n%s", got, want)
	}
}

// Where a stage is, is told of until the next report, or its end, even where it ends early and another goes on.
func TestSilenceOfAStage(t *testing.T) {
	got := heard(t, func(h *Host) {
		progress := h.Progress(1)
		time.Sleep(time.Hour)
		progress("sft", 1, 3, "loss 1")
		time.Sleep(40 * time.Second)
		progress("sft", 2, 3, "loss 1")
		time.Sleep(40 * time.Second)
		progress("eval", 1, 2, "")
		time.Sleep(40 * time.Second)
		progress("eval", 2, 2, "")
		time.Sleep(time.Hour)
	})
	if want := `sft             1/3  loss 1
still at sft 1/3, for 30s
sft             2/3  0.025/s  40s left  loss 1
still at sft 2/3, for 30s
eval            1/2
still at eval 1/2, for 30s
eval            2/2  0.025/s  0s left
`; got != want {
		t.Errorf("it says\n%swant\n%s", got, want)
	}
}
