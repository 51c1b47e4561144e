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

// Overlap of rollouts and training: while the trainer steps from policy k to k+1, the samplers hold policy k and run
// the episodes of step k+1.
//
//	trainer   |          | step 0: 0 -> 1 | step 1: 1 -> 2 | ...
//	samplers  | 0: by 0  | 1: by 0        | 2: by 1        | ...
//
// So all steps but the first learn from episodes of one policy earlier, and of none older: a step waits for its
// episodes before the samplers get the next policy, which is the bound. The ratio of the loss is against the logprobs
// that the sampler drew with, so it corrects for the difference, and the clip bounds it. With a Correction, without
// which the configuration refuses GSPO here, the ratio is against the trainer's, and the weights correct. OffPolicy
// masks what is too far. It changes what is learnt, so it is off by default.
//
// A checkpoint holds the policy behind too: a run that goes on samples what was not sampled yet from the same one, and
// learns the same.

// Rewinder is a Publisher whose samplers can hold a policy that the trainer has left.
type Rewinder interface {
	Publisher
	// Keep returns what writes the policy as it is now into an empty folder, whatever the policy is by then.
	Keep() (save func(dir string) error, err error)
	// Restore makes all samplers hold the policy that such a folder has.
	Restore(dir string) error
}

const behindDir = "behind" // in a checkpoint: the policy by which its next step's episodes are sampled

// Overlap is that of rollouts and training.
type Overlap struct {
	None
	Staleness int // policies that episodes may be behind the trainer's: 1

	stage     *stage
	publisher Rewinder
	current   func(dir string) error // writes the policy that was published last
	// maker writes the one by which the episodes of the step that comes next are sampled; nil: it is the trainer's own.
	maker  func(dir string) error
	behind string // the folder of it in the checkpoint that was loaded; "" for none
}

// Begin implements Addition.
func (l *Overlap) Begin(s *stage) error {
	publisher, ok := s.publisher.(Rewinder)
	_, pools := AdditionOf[*Pools](s.Additions)
	why := ""
	switch {
	case !ok:
		why = "its samplers cannot hold a policy that the trainer has left"
	case l.Staleness > 1:
		why = "episodes are of one policy earlier at most"
	case pools:
		why = "which scenarios rest is known after a step, and the next one's episodes have begun by then"
	}
	if why != "" {
		return &fault.Error{Code: fault.CodeUsage, What: "rollouts and training cannot overlap",
			Where: "grpo.staleness", Why: why, Next: "set grpo.staleness to 0"}
	}
	*l = Overlap{Staleness: l.Staleness, stage: s, publisher: publisher}
	s.overlap, s.progress, s.saves = l, oneAtATime(s.progress), append(s.saves, l)
	return nil
}

// staleness is how many policies episodes may be behind.
func (l *Overlap) staleness() int {
	if l == nil {
		return 0
	}
	return l.Staleness
}

// notePublish notes that the samplers have the trainer's policy now.
func (l *Overlap) notePublish() (err error) {
	if l != nil {
		l.current, err = l.publisher.Keep()
	}
	return err
}

// ahead begins the episodes of the step behind number, by the policy that was published last.
func (l *Overlap) ahead(ctx context.Context, number int) {
	if l != nil && number+1 < l.stage.Steps {
		l.stage.next = begin(ctx, true, l.stage.sampling(number+1))
	}
}

// See implements Addition. A step that is taken has a successor, but for the last, which is sampled by the policy that
// was published last.
func (l *Overlap) See(s *Step) {
	if s.Taken {
		if l.maker = l.current; s.Number+1 == l.stage.Steps {
			l.maker = nil
		}
	}
	if s.Metrics["staleness"] = 0; s.Stale {
		s.Metrics["staleness"] = 1
	}
}

// Save implements saver.
func (l *Overlap) Save(dir string) error {
	if l.maker == nil {
		return nil
	}
	behind := filepath.Join(dir, behindDir)
	if err := os.Mkdir(behind, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return l.maker(behind)
}

// Load implements saver. A checkpoint of a run that did not overlap has no policy behind: its next step is sampled by
// the trainer's own.
func (l *Overlap) Load(dir string) error {
	l.behind = filepath.Join(dir, behindDir)
	if _, err := os.Stat(l.behind); errors.Is(err, fs.ErrNotExist) {
		l.behind = ""
	} else if err != nil {
		return err
	}
	return nil
}

// ahead is the sampling of a step.
type ahead struct {
	stale bool // by the policy before the one that the trainer has when it takes the step
	done  chan struct{}
	stop  context.CancelFunc
	got   Sampling
	err   error
}

// begin begins to sample.
func begin(ctx context.Context, stale bool, sample func(context.Context) (Sampling, error)) *ahead {
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
func (a *ahead) wait() (Sampling, error) {
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

// Resume implements Addition: it goes on with the sampling of a step that had begun before the process ended, by the
// policy behind.
func (l *Overlap) Resume(ctx context.Context) error {
	if l.behind == "" || l.stage.start == l.stage.Steps {
		return nil
	}
	err := l.publisher.Restore(l.behind)
	if err == nil {
		l.stage.next = begin(ctx, true, l.stage.sampling(l.stage.start))
	}
	return err
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
