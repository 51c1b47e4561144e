package recipe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"hone/internal/fault"
)

// Overlap of rollouts and training: while the trainer steps from policy k to k+1, the samplers hold policy k and run the episodes of step k+1.
//
//	trainer   |          | step 0: 0 -> 1 | step 1: 1 -> 2 | ...
//	samplers  | 0: by 0  | 1: by 0        | 2: by 1        | ...
//
// So all steps but the first learn from episodes of one policy earlier, and of none older: a step waits for its episodes before the samplers get the next
// policy, which is the bound. The ratio of the loss is against the logprobs that the sampler drew with, so it corrects for the difference, and the
// clip bounds it. With a GRPO.Correction, without which the configuration refuses GSPO here, the ratio is against the trainer's, and the weights correct.
// OffPolicy masks what is too far. It changes what is learnt, so it is off by default.
//
// A checkpoint holds the policy behind too: a run that goes on samples what was not sampled yet from the same one, and learns the same.

// Rewinder is a Publisher whose samplers can hold a policy that the trainer has left.
type Rewinder interface {
	Publisher
	// Keep returns what writes the policy as it is now into an empty folder, whatever the policy is by then.
	Keep() (save func(dir string) error, err error)
	// Restore makes all samplers hold the policy that such a folder has.
	Restore(dir string) error
}

const behindDir = "behind" // in a checkpoint: the policy by which its next step's episodes are sampled

// lagging is a trainer whose samplers may be one step behind.
type lagging struct {
	Trainer
	publisher Rewinder
	current   func(dir string) error // writes the policy that was published last
	maker     func(dir string) error // the one by which the episodes of the step that comes next are sampled; nil: the trainer's own
	behind    string                 // the folder of it in the checkpoint that was loaded; "" for none
}

// lagging is nil where rollouts and training take turns.
func (g GRPO) lagging(trainer Trainer, publisher Publisher) (*lagging, error) {
	if g.Staleness == 0 {
		return nil, nil
	}
	p, ok := publisher.(Rewinder)
	why := ""
	switch {
	case !ok:
		why = "its samplers cannot hold a policy that the trainer has left"
	case g.Staleness > 1:
		why = "episodes are of one policy earlier at most"
	case g.Pools.On():
		why = "which scenarios rest is known after a step, and the next one's episodes have begun by then"
	}
	if why != "" {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "rollouts and training cannot overlap", Where: "grpo.staleness", Why: why, Next: "set grpo.staleness to 0"}
	}
	return &lagging{Trainer: trainer, publisher: p}, nil
}

// published notes that the samplers have the trainer's policy now.
func (l *lagging) published() (err error) {
	if l != nil {
		l.current, err = l.publisher.Keep()
	}
	return err
}

// took notes that a step is taken whose successor, if there is one, is sampled by the policy that was published last.
func (l *lagging) took(last bool) {
	if l == nil {
		return
	}
	if l.maker = l.current; last {
		l.maker = nil
	}
}

// measure adds whether a step's episodes were of the policy before.
func (l *lagging) measure(metrics map[string]float64, stale bool) {
	if l == nil {
		return
	}
	if metrics["staleness"] = 0; stale {
		metrics["staleness"] = 1
	}
}

// Save implements Trainer.
func (l *lagging) Save(dir string) error {
	err := l.Trainer.Save(dir)
	if err != nil || l.maker == nil {
		return err
	}
	behind := filepath.Join(dir, behindDir)
	if err := os.Mkdir(behind, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return l.maker(behind)
}

// Load implements Trainer. A checkpoint of a run that did not overlap has no policy behind: its next step is sampled by the trainer's own.
func (l *lagging) Load(dir string) error {
	l.behind = filepath.Join(dir, behindDir)
	if _, err := os.Stat(l.behind); errors.Is(err, fs.ErrNotExist) {
		l.behind = ""
	} else if err != nil {
		return err
	}
	return l.Trainer.Load(dir)
}

// ahead is the sampling of a step.
type ahead struct {
	stale bool // by the policy before the one that the trainer has when it takes the step
	done  chan struct{}
	stop  context.CancelFunc
	got   sampling
	err   error
}

// begin begins to sample.
func begin(ctx context.Context, stale bool, sample func(context.Context) (sampling, error)) *ahead {
	ctx, stop := context.WithCancel(ctx)
	a := &ahead{stale: stale, done: make(chan struct{}), stop: stop}
	go func() {
		defer close(a.done)
		defer stop()
		a.got, a.err = sample(ctx)
	}()
	return a
}

// wait returns what was sampled.
func (a *ahead) wait() (sampling, error) {
	<-a.done
	return a.got, a.err
}

// end stops what is still being sampled, and waits for it: what ended is kept. Nothing happens where nothing is.
func (a *ahead) end() {
	if a != nil {
		a.stop()
		<-a.done
	}
}

// resumeAhead goes on with the sampling of a step that had begun before the process ended, by the policy behind.
func (l *lagging) resumeAhead(ctx context.Context, sample func(context.Context) (sampling, error)) (*ahead, error) {
	if l == nil || l.behind == "" {
		return nil, nil
	}
	if err := l.publisher.Restore(l.behind); err != nil {
		return nil, err
	}
	return begin(ctx, true, sample), nil
}

// oneAtATime tells of progress from several goroutines, one after the other.
func oneAtATime(progress Progress) Progress {
	var mu sync.Mutex
	return func(stage string, done, total int, note string) {
		mu.Lock()
		defer mu.Unlock()
		progress(stage, done, total, note)
	}
}
