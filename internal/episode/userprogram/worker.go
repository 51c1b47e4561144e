package userprogram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Worker is a program that judges one input after the other in one process: an input is a line of its stdin, and its
// verdict a line of its stdout, both JSON objects with the same "id". The process is started when there is something to
// judge, again after it ended or was stopped, and should end when its stdin does.
type Worker struct {
	Program Program       // its Timeout is for one input
	turn    chan struct{} // one input at a time
	live    *process      // nil: none
	asked   int           // inputs so far, which are their ids
}

// NewWorker returns a worker whose process has not begun.
func NewWorker(p Program) *Worker { return &Worker{Program: p, turn: make(chan struct{}, 1)} }

// errEnded is that of a process that ended before it answered.
var errEnded = errors.New("ended without an answer")

// Ask gives the program an input, which is a JSON object with other keys than "id", and returns the line of its answer.
// Where the process ends before it answers, another is asked the same once. A process that does not answer in time, or
// writes what is no answer, is stopped: nothing that it still writes counts.
func (w *Worker) Ask(ctx context.Context, input any) ([]byte, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	limit := w.Program.limit()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := w.ask(limited, text)
	if errors.Is(err, errEnded) {
		answer, err = w.ask(limited, text)
	}
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return nil, fmt.Errorf("the program %s did not answer within %s; it is started again",
			w.Program.Command[0], limit)
	}
	return nil, fmt.Errorf("the program %s %w", w.Program.Command[0], err)
}

// ask asks the process that is there, or a new one.
func (w *Worker) ask(ctx context.Context, text []byte) (answer []byte, err error) {
	if w.live != nil && w.live.hasEnded() {
		w.live = nil
	}
	if w.live == nil {
		if w.live, err = start(w.Program); err != nil {
			return nil, err
		}
	}
	p := w.live
	w.asked++
	written := make(chan struct{})
	go func() { // a process that does not read must not hold us
		defer close(written)
		_, _ = fmt.Fprintf(p.stdin, "{\"id\":%d,%s\n", w.asked, text[1:])
	}()
	if answer, err = p.answer(ctx, w.asked); err == nil {
		select {
		case <-written:
			return answer, nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	p.stop()
	<-written
	w.live = nil
	return nil, err
}

// Close ends the process, if there is one.
func (w *Worker) Close() {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if w.live != nil {
		w.live.close()
		w.live = nil
	}
}

// process is a running program.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *lines
	said  *tail
	ended chan struct{} // closed when it has, and nothing of it is left
}

// start begins a process, whose working folder is as that of Program.Run.
func start(p Program) (*process, error) {
	cmd, err := p.command(context.Background()) // it outlives an input
	if err != nil {
		return nil, err
	}
	x := &process{cmd: cmd, lines: &lines{to: make(chan []byte), gone: make(chan struct{})}, said: &tail{},
		ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = x.lines, x.said
	if x.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it started
		close(x.ended)
	}()
	return x, nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// answer waits for the answer to the input of an id. Answers to earlier ones are late: they are passed over.
func (p *process) answer(ctx context.Context, id int) ([]byte, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.ended:
			return nil, fmt.Errorf("%w (%v); stderr: %s", errEnded, p.cmd.ProcessState, p.said)
		case line := <-p.lines.to:
			var of struct {
				ID *int `json:"id"`
			}
			switch err := json.Unmarshal(line, &of); {
			case err != nil || of.ID == nil || *of.ID > id:
				return nil, fmt.Errorf("writes %.200q, which is no answer: a line of stdout is a JSON object with "+
					"the id of the input, here %d; all else goes to stderr", line, id)
			case *of.ID == id:
				return line, nil
			}
		}
	}
}

// stop kills the process and all that it started, and waits until that is done.
func (p *process) stop() {
	p.lines.leave()
	if !p.hasEnded() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
	<-p.ended
}

// close lets the process end by itself, for some seconds.
func (p *process) close() {
	p.lines.leave()
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		p.stop()
	}
}

// lines hands on each whole line that is written, of at most mostOutput bytes: a longer one comes in pieces.
type lines struct {
	to   chan []byte
	gone chan struct{} // closed: nobody reads any more
	left sync.Once
	held []byte
}

// leave tells that nobody reads: a line that waits would keep the process from ending, see exec.Cmd.WaitDelay.
func (l *lines) leave() { l.left.Do(func() { close(l.gone) }) }

func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		whole := i >= 0
		if !whole {
			i = len(rest)
		}
		l.held = append(l.held, rest[:i]...)
		rest = rest[min(len(rest), i+1):]
		if !whole && len(l.held) < mostOutput {
			break
		}
		line := bytes.TrimSpace(l.held)
		l.held = nil
		if len(line) == 0 {
			continue
		}
		select {
		case l.to <- line:
		case <-l.gone:
			return 0, io.ErrClosedPipe
		}
	}
	return len(p), nil
}

// tail keeps the last bytes of what a program writes.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-mostOutput/16):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
