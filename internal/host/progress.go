package host

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"hone/internal/console/sanitize"
)

// Progress is told where a stage is: done of total steps or episodes, and a note. A stage "a/b" is part b of a step of
// a.
type Progress = func(stage string, done, total int, note string)

// Progress returns where stages report to: it prints them with rate and time left, as one redrawn line on a terminal,
// else as a line now and then. slots is how many episodes run at once.
func (h *Host) Progress(slots int) Progress {
	p := &progress{w: h.Talk, quiet: h.Quiet, redraw: h.redraws(), slots: slots}
	if h.Still == nil || h.Quiet {
		return p.report
	}
	return func(stage string, done, total int, note string) {
		p.report(stage, done, total, note)
		what := ""
		if done < total {
			what = fmt.Sprintf("at %s %d/%d", stage, done, total)
		}
		h.Still.at(h, what)
	}
}

type progress struct {
	w      *sanitize.Writer
	redraw bool
	quiet  bool
	slots  int // episodes that are run at once

	mu      sync.Mutex
	stage   string
	began   time.Time
	first   int       // done when the stage was first seen: what a resumed run did not do itself
	printed time.Time // a line of the stage
	last    time.Time // a line of any kind
}

// quietTime is how long a log without a terminal stays silent about one stage.
const quietTime = 15 * time.Second

func (p *progress) report(stage string, done, total int, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if strings.Contains(stage, "/") {
		p.part(now, stage, done, total, note)
		return
	}
	if stage != p.stage {
		p.stage, p.began, p.first, p.printed = stage, now, done-1, time.Time{}
	}
	if p.quiet || done < total && !p.redraw && now.Sub(p.printed) < quietTime {
		return
	}
	p.printed, p.last = now, now
	line := fmt.Sprintf("%-12s %4d/%d", stage, done, total)
	if elapsed := now.Sub(p.began); done > p.first+p.wave(stage) && elapsed > time.Second {
		each := elapsed / time.Duration(done-p.first-1)
		line += fmt.Sprintf("  %.2g/s  %s left",
			1/each.Seconds(), (each * time.Duration(total-done)).Round(time.Second))
	}
	if note != "" {
		line += "  " + note
	}
	end := "\n"
	if p.redraw {
		end = clearToEnd + end
	}
	if p.redraw && done < total {
		end = clearToEnd + "\r"
	}
	fmt.Fprint(p.w.Raw(), sanitize.Line(line)+end) // a note may hold what a server said
}

// clearToEnd takes away what a longer line left behind on a terminal (ECMA-48, EL): a rate's last digits would be read
// as this one's.
const clearToEnd = "\x1b[K"

// part shows a part of a step: on a terminal always, in a log where nothing was said for long.
func (p *progress) part(now time.Time, stage string, done, total int, note string) {
	if p.last.IsZero() {
		p.last = now
	}
	if p.quiet || !p.redraw && now.Sub(p.last) < quietTime {
		return
	}
	p.last = now
	end := "\n"
	if p.redraw {
		end = clearToEnd + "\r"
	}
	fmt.Fprint(p.w.Raw(), sanitize.Line(fmt.Sprintf("%-12s %4d/%d  %s", stage, done, total, note))+end)
}

// wave is how much of a stage is under way at once. Until that has ended, what has says nothing about the rest:
// episodes that began together end together, so the second to end would seem to have taken no time.
func (p *progress) wave(stage string) int {
	if strings.HasPrefix(stage, "eval") || strings.HasSuffix(stage, "_rollouts") {
		return max(p.slots, 1)
	}
	return 1 // a step, or an episode of a verb that runs one after the other
}
