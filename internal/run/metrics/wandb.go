package metrics

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // wandb_bridge.py
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

//go:embed wandb_bridge.py
var bridge string

// WandBOptions say where a run is logged.
type WandBOptions struct {
	Python  string   // a program, with wandb installed
	Env     []string // of the child, whole; an API key among it is wandb's
	Log     io.Writer
	Dir     string // where wandb keeps its files
	Project string
	Entity  string // a team; "": the user's own
	Name    string // of the run there
	Mode    string // offline or online
	Main    string // the stage that the run is for
	Stages  []string
	Config  map[string]string
}

// WandB implements Tracker. Make one with New.
type WandB struct {
	o     WandBOptions
	id    string
	child *child // nil where none runs
	grace time.Duration
}

// NewWandB returns a tracker. Nothing is run yet.
func NewWandB(o WandBOptions) *WandB { return &WandB{o: o, grace: grace} }

// grace is how long is waited for what a Python that has ended still says: wandb's service is a process of its own with
// the same pipe.
const grace = 5 * time.Second

// child is a process of the bridge.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Scanner
	talk    *tail
}

// answer is what the bridge says to a line.
type answer struct {
	ID   string `json:"id"`
	Rows int    `json:"rows"`
}

// Open implements Tracker.
func (b *WandB) Open(ctx context.Context, id string) (string, error) {
	init := map[string]any{"project": b.o.Project, "name": b.o.Name, "mode": b.o.Mode, "dir": b.o.Dir,
		"config": b.o.Config}
	if b.o.Entity != "" {
		init["entity"] = b.o.Entity
	}
	if id != "" {
		init["id"], init["resume"] = id, "allow"
	}
	axes := map[string]string{}
	for _, stage := range append([]string{b.o.Main, ValidationStage}, b.o.Stages...) {
		axes[Tag(b.o.Main, stage, "*")] = b.axis(stage)
	}
	if err := b.start(); err != nil {
		return "", err
	}
	a, err := b.ask(ctx, map[string]any{"init": init, "axes": axes})
	if err == nil && a.ID == "" {
		err = errors.New("wandb.init gave no ID")
	}
	if err != nil {
		return "", err
	}
	b.id = a.ID
	return a.ID, nil
}

// axis is the metric that rows of a stage are drawn over: steps of validations are those of the stage that is
// validated.
func (b *WandB) axis(stage string) string {
	if stage == ValidationStage {
		stage = b.o.Main
	}
	return Tag(b.o.Main, stage, "global_step")
}

func (b *WandB) start() error {
	c := &child{command: exec.Command(b.o.Python, "-u", "-c", bridge), talk: &tail{to: b.o.Log}}
	c.command.Env, c.command.Stderr, c.command.WaitDelay = b.o.Env, c.talk, b.grace
	out, err := c.command.StdoutPipe()
	if err == nil {
		c.in, err = c.command.StdinPipe()
	}
	if err == nil {
		err = c.command.Start()
	}
	if err != nil {
		return err
	}
	c.answers = bufio.NewScanner(out)
	b.child = c
	return nil
}

// ask sends a line and waits for its answer. After an error there is no child any more.
func (b *WandB) ask(ctx context.Context, message any) (a answer, err error) {
	text, err := json.Marshal(message)
	if err != nil {
		return a, err
	}
	c := b.child
	stop := context.AfterFunc(ctx, func() { _ = c.command.Process.Kill() }) // ends what waits below
	defer stop()
	_, err = c.in.Write(append(text, '\n'))
	if err == nil && !c.answers.Scan() {
		err = errors.Join(c.answers.Err(), io.ErrUnexpectedEOF)
	}
	if err == nil {
		err = json.Unmarshal(c.answers.Bytes(), &a)
	}
	if err == nil {
		return a, nil
	}
	b.child = nil
	_ = c.in.Close()
	_ = c.command.Process.Kill()
	_ = c.command.Wait() // killed
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if last := c.talk.last(); last != "" {
		return a, fmt.Errorf("%s ended: %s", b.o.Python, last)
	}
	return a, fmt.Errorf("%s does not answer: %w", b.o.Python, err)
}

// Send implements Tracker.
func (b *WandB) Send(ctx context.Context, rows []Row) error {
	if b.child == nil { // it ended
		if _, err := b.Open(ctx, b.id); err != nil {
			return err
		}
	}
	var list []map[string]float64
	for _, r := range rows {
		row := map[string]float64{b.axis(r.Stage): float64(r.Step)}
		for name, x := range r.Values {
			row[Tag(b.o.Main, r.Stage, name)] = x
		}
		list = append(list, row)
	}
	a, err := b.ask(ctx, map[string]any{"rows": list})
	if err == nil && a.Rows != len(rows) {
		err = fmt.Errorf("%d of %d rows were taken", a.Rows, len(rows))
	}
	return err
}

// Close implements Tracker.
func (b *WandB) Close(ctx context.Context, s Status) error {
	if b.child == nil {
		return nil
	}
	code := 1
	if s == Finished {
		code = 0
	}
	if _, err := b.ask(ctx, map[string]any{"exit": code}); err != nil {
		return err
	}
	c := b.child
	defer context.AfterFunc(ctx, func() { _ = c.command.Process.Kill() })() // what it does at its end may last
	_ = c.in.Close()
	err := c.command.Wait()
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrWaitDelay): // another process has its pipe
		return nil
	}
	return err
}

// tail keeps the last line of what is written.
type tail struct {
	to   io.Writer
	mu   sync.Mutex
	text []byte
}

const mostTail = 4096

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-mostTail):]
	return t.to.Write(p)
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	return strings.TrimSpace(string(lines[len(lines)-1]))
}
