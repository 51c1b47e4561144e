// Package terminal prints what a run holds: its stages, checkpoints and metrics, its episodes, or one of them. Watch
// follows the overview of a run while it goes on, by the numbers of the page.
package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/view"
)

// every is how often the run is looked at, and share how much of the time that takes at most, so that whoever writes
// the run is not held up.
const (
	every = 2 * time.Second
	share = 100 // of the time of a look
)

// rest is how long to wait after a look.
func (s State) rest() time.Duration { return max(every, share*s.took) }

// Watch shows the run until it has ended, or on a terminal until a person leaves.
func Watch(ctx context.Context, h *host.Host, r *view.Reading) error {
	first := read(r)
	if first.Err != nil {
		return first.Err
	}
	in, out := h.TerminalIn(), h.Data.Terminal()
	if in == nil || out == nil || h.JSON || h.Plain {
		return follow(ctx, h, r, first)
	}
	return draw(ctx, r, first, in, out, h.Environ)
}

func read(r *view.Reading) (s State) {
	began := time.Now()
	defer func() { s.took = time.Since(began) }()
	if s.Overview, s.Err = r.Overview(); s.Err == nil {
		s.Curves, s.Err = r.Curves(s.Overview)
	}
	return s
}

// follow prints the whole once, and then a line for each change of a number, until the run has ended. As JSON each
// change is the overview on one line.
func follow(ctx context.Context, h *host.Host, r *view.Reading, s State) error {
	told := map[string]bool{} // alerts
	last := ""
	for first := true; s.Err == nil; first = false {
		var now []string
		switch {
		case h.JSON:
			text, err := json.Marshal(s.Overview)
			if err != nil {
				return err
			}
			now = []string{string(text)}
		case first:
			for _, l := range s.lines(logWidth) {
				now = append(now, l.text)
			}
			last = s.step()
		default:
			now = []string{s.step()}
		}
		for _, a := range s.Overview.Alerts {
			if !told[a.Name] && !first && !h.JSON {
				now = append(now, sanitize.Line("! "+a.Name+": "+a.Says+" "+a.Next))
			}
			told[a.Name] = true
		}
		if text := strings.Join(now, "\n"); text != last {
			if last = now[0]; first && !h.JSON {
				last = s.step()
			}
			if _, err := fmt.Fprintln(h.Data, text); err != nil {
				return err
			}
		}
		if !s.Overview.Live {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(s.rest()):
		}
		s = read(r)
	}
	return s.Err
}

// logWidth is for how wide a terminal a log is written.
const logWidth = 100

// draw shows the run on a terminal.
func draw(ctx context.Context, r *view.Reading, s State, in, out *os.File, environ []string) error {
	p := tea.NewProgram(&page{read: func() State { return read(r) }, state: s, width: 80, height: 24},
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ),
		tea.WithoutSignalHandler())
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
