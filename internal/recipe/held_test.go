package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hone/internal/learn/batch"
)

// sliding is a trainer whose policy is best after some steps: the loss of each token is |steps - best|, times its
// number within all rows that are held, of different length, so that a mean of rows is another than the mean of tokens.
type sliding struct {
	*fakeTrainer
	best   int
	scored *int // how often
}

func (s sliding) Score(ctx context.Context, b batch.Batch, temperature float64) (all [][]float32, err error) {
	*s.scored++
	if temperature != 1 {
		return nil, fmt.Errorf("scored at temperature %g", temperature)
	}
	n := 0
	for _, r := range b.Rows {
		row := make([]float32, len(r.IDs))
		for i := range row {
			row[i] = 100 // is not trained
			if r.Trained[i] {
				n++
				row[i] = -float32(max(len(s.Steps)-s.best, s.best-len(s.Steps)) * n)
			}
		}
		all = append(all, row)
	}
	return all, ctx.Err()
}

// held are two rows of one and three trained tokens, of which the policy's loss is |steps - best| times (1 + 2 + 3 + 4)
// / 4.
func held() []batch.Sequence {
	return []batch.Sequence{
		{IDs: []int32{1, 7, 2}, Trained: []bool{false, false, true}},
		{IDs: []int32{1, 8, 2, 3, 4}, Trained: []bool{false, false, true, true, true}},
	}
}

func supervised() SFT {
	return SFT{Stage: "sft", Epochs: 6, BatchSize: 2, Optimizer: Optimizer{LearningRate: 0.1}, CheckpointEvery: 2,
		Seed: 3, Held: held()}
}

// The loss of what is held is measured by tokens, each so many steps and at the end.
func TestHeldRowsAreMeasured(t *testing.T) {
	for _, c := range []struct {
		every int
		want  string // steps and losses
	}{{0, "3:10 6:2.5 9:5 12:12.5 15:20 18:27.5"}, {7, "7:0 14:17.5 18:27.5"}} {
		s, log, scored := supervised(), newLog(t), 0
		s.EvalEvery = c.every
		if err := s.Run(context.Background(), demonstrations(5), sliding{&fakeTrainer{}, 7, &scored}, nil, log,
			silent); err != nil {
			t.Fatal(err)
		}
		got := ""
		for step := range 100 {
			if m, ok, _ := log.StepMetrics(ValidationStage, step); ok {
				got += fmt.Sprintf(" %d:%g", step, m["eval_loss"])
			}
		}
		if got != " "+c.want || log.latest["sft"] != 18 {
			t.Errorf("each %d: measured%s, want %s", c.every, got, c.want)
		}
	}
}

// A stage ends when its patience does, wherever it was stopped on the way, with the steps and rates that it would have
// had.
func TestPatienceEndsAStageWhereverItWasStopped(t *testing.T) {
	for patience, steps := range map[int]int{0: 18, 1: 9, 2: 12, 3: 15} { // best after 6 of those measured
		s := supervised()
		s.Patience = patience
		var want *fakeTrainer
		for stop := -1; stop < steps; stop++ {
			log, scored := newLog(t), 0
			ctx, cancel := context.WithCancel(context.Background())
			first := &fakeTrainer{before: func(step int) {
				if step == stop {
					cancel()
				}
			}}
			err := s.Run(ctx, demonstrations(5), sliding{first, 7, &scored}, nil, log, silent)
			cancel()
			if stop >= 0 {
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("stopped with %v", err)
				}
				first = &fakeTrainer{}
				err = s.Run(context.Background(), demonstrations(5), sliding{first, 7, &scored}, nil, log, silent)
			}
			if err != nil || !log.Finished["sft"] {
				t.Fatal(err)
			}
			if want == nil {
				want = first
			}
			if len(first.Steps) != steps || !slices.Equal(first.Steps, want.Steps) || scored != (steps+2)/3 {
				t.Errorf("patience %d, stopped at %d: %d steps and %d measurements, want %d and %d",
					patience, stop, len(first.Steps), scored, steps, (steps+2)/3)
			}
		}
		if update := s.Optimizer.Update(8, 18); len(want.Steps) < 9 ||
			!reflect.DeepEqual(want.Steps[8][len(want.Steps[8])-len(fmt.Sprint(update)):], fmt.Sprint(update)) {
			t.Errorf("patience %d: the rate is not that of 18 steps: %s", patience, want.Steps[8])
		}
	}
}

func TestLossDecidesWhereNoEpisodesDo(t *testing.T) {
	a, b := map[string]float64{"eval_loss": 1}, map[string]float64{"eval_loss": 2}
	if !Better(a, b) || Better(b, a) || Better(a, a) {
		t.Error("the lesser loss is not better")
	}
}

// scoring is a trainer that counts the rows that are scored at once; the loss of each token is its row's number among
// all.
type scoring struct {
	*fakeTrainer
	rows *[]int
}

func (s scoring) Score(_ context.Context, b batch.Batch, _ float64) (all [][]float32, err error) {
	*s.rows = append(*s.rows, len(b.Rows))
	for _, r := range b.Rows {
		all = append(all, batch.Even(len(r.IDs), -float64(r.IDs[len(r.IDs)-1])))
	}
	return all, nil
}

// So many held rows are scored at once as a step has, however many there are, and the loss is that of all their tokens.
func TestHeldRowsAreScoredInParts(t *testing.T) {
	s := supervised()
	s.Held, s.Epochs = nil, 1
	loss, tokens := 0.0, 0.0
	for i := range 7 {
		r := batch.Sequence{IDs: make([]int32, i+3), Trained: make([]bool, i+3)}
		for j := 2; j < i+3; j++ {
			r.Trained[j] = true
			loss, tokens = loss+float64(100+i), tokens+1
		}
		r.IDs[i+2] = int32(100 + i)
		s.Held = append(s.Held, r)
	}
	log, rows := newLog(t), []int{}
	if err := s.Run(t.Context(), demonstrations(5), scoring{&fakeTrainer{}, &rows}, nil, log, silent); err != nil {
		t.Fatal(err)
	}
	if m, ok, _ := log.StepMetrics(ValidationStage, 3); !ok || math.Abs(m["eval_loss"]-loss/tokens) > 1e-9 ||
		!slices.Equal(rows, []int{2, 2, 2, 1}) {
		t.Errorf("%v, want the loss %g; scored at once %v", m, loss/tokens, rows)
	}
}

// A pass is made once, not at each of its steps, and goes on in the middle as from the start.
func TestAPassIsMadeOnce(t *testing.T) {
	s, n := supervised(), 7
	p := passing{s: s, n: n}
	for step := range 3 * s.perEpoch(n) {
		got := p.pick(step)
		if want := s.Pass(n, step/s.perEpoch(n))[step%s.perEpoch(n)]; !slices.Equal(got, want) {
			t.Errorf("step %d: %v, want %v", step, got, want)
		}
		again := passing{s: s, n: n}
		if other := again.pick(step); !slices.Equal(other, got) || &p.pick(step)[0] != &got[0] {
			t.Errorf("step %d: %v, and begun there %v; made again", step, got, other)
		}
	}
}

// Examples of one conversation are neighbours in each pass, in their order; conversations are in random orders. Where
// each is its own, or none is named, the order is that of examples.
func TestWhatIsTogetherStaysTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := SFT{BatchSize: rapid.IntRange(1, 5).Draw(t, "batch"), Seed: rapid.Uint64().Draw(t, "seed")}
		n, pass := rapid.IntRange(1, 30).Draw(t, "n"), rapid.IntRange(0, 3).Draw(t, "pass")
		of, own := make([]int, n), make([]int, n)
		for i := range of {
			own[i] = 100 - i
			if i > 0 {
				of[i] = of[i-1] + rapid.IntRange(0, 1).Draw(t, "next")
			}
		}
		plain := s.Pass(n, pass)
		if s.Together = own; !reflect.DeepEqual(s.Pass(n, pass), plain) {
			t.Fatalf("%v, of examples that are each their own %v", plain, s.Pass(n, pass))
		}
		s.Together = of
		var order []int
		for i, step := range s.Pass(n, pass) {
			if len(step) != s.BatchSize && i < (n-1)/s.BatchSize {
				t.Fatalf("step %d has %d examples of %d", i, len(step), s.BatchSize)
			}
			order = append(order, step...)
		}
		for i, x := range order[1:] {
			if of[x] == of[order[i]] && x != order[i]+1 || of[x] != of[order[i]] && (x > 0 && of[x-1] == of[x]) {
				t.Fatalf("%v of conversations %v", order, of)
			}
		}
		slices.Sort(order)
		for i, x := range order {
			if i != x || len(order) != n {
				t.Fatalf("%v is no permutation", order)
			}
		}
	})
}

// doubting is a trainer that prefers the chosen side of a pair by what of its steps are left until some, times what the
// pair's first token says; the reference thinks both sides as likely.
type doubting struct {
	*fakeTrainer
	best   int
	scored *[]int // rows, each time that what is held is scored
}

func (d doubting) Score(ctx context.Context, b batch.Batch, temperature float64) (all [][]float32, err error) {
	held := 0
	for _, r := range b.Rows {
		if r.IDs[0] >= 1000 {
			held++
		}
		margin := float32(max(len(d.Steps)-d.best, d.best-len(d.Steps))) * float32(r.IDs[0]) / 1000
		if r.Episode%2 == 0 {
			margin = -margin
		}
		all = append(all, batch.Even(len(r.IDs), float64(margin)))
	}
	if held > 0 {
		*d.scored = append(*d.scored, held)
	}
	return all, ctx.Err()
}

func (d doubting) ScoreReference(ctx context.Context, b batch.Batch, temperature float64) (all [][]float32, err error) {
	for _, r := range b.Rows {
		all = append(all, batch.Even(len(r.IDs), -float64(r.IDs[0])/500))
	}
	return all, ctx.Err()
}

// preferred are pairs of sides of one trained token.
func preferred(n, first int) (pairs []PreferencePair) {
	side := func(id int) []batch.Sequence {
		return []batch.Sequence{{IDs: []int32{int32(id), 2}, Trained: []bool{false, true}}}
	}
	for i := range n {
		pairs = append(pairs, PreferencePair{Chosen: side(first * (i + 1)), Rejected: side(first * (i + 1))})
	}
	return pairs
}

// Pairs that are held out are measured as one step's, and end a stage as rows do; where it was stopped on the way, it
// is the same.
func TestHeldPairsAreMeasured(t *testing.T) {
	d := DPO{SFT: supervised(), Preference: batch.Preference{Loss: batch.PreferenceSigmoid, Beta: 0.5},
		Held: preferred(3, 1000)}
	d.SFT.Stage, d.SFT.Held, d.SFT.Patience = "dpo", nil, 1
	var want []string
	for stop := -1; stop < 9; stop++ {
		log, scored := newLog(t), []int{}
		ctx, cancel := context.WithCancel(t.Context())
		first := &fakeTrainer{before: func(step int) {
			if step == stop {
				cancel()
			}
		}}
		err := d.Run(ctx, preferred(5, 1), doubting{first, 7, &scored}, nil, log, silent)
		cancel()
		if stop >= 0 {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("stopped with %v", err)
			}
			first = &fakeTrainer{}
			err = d.Run(t.Context(), preferred(5, 1), doubting{first, 7, &scored}, nil, log, silent)
		}
		if err != nil || !log.Finished["dpo"] {
			t.Fatal(err)
		}
		var got []string
		for step := range 20 {
			m, ok, _ := log.StepMetrics(ValidationStage, step)
			if !ok {
				continue
			}
			x := math.Abs(float64(step - 7)) // the policy prefers the other side by 2 x, 4 x and 6 x
			loss := (math.Log1p(math.Exp(x)) + math.Log1p(math.Exp(2*x)) + math.Log1p(math.Exp(3*x))) / 3
			if math.Abs(m["eval_loss"]-loss) > 1e-6 || math.Abs(m["eval_rewards/margins"]+2*x) > 1e-6 ||
				m["eval_rewards/accuracies"] != 0 || math.Abs(m["eval_logps/chosen"]+2*x) > 1e-6 {
				t.Errorf("after %d steps %v, the loss is to be %g", step, m, loss)
			}
			got = append(got, fmt.Sprint(step))
		}
		if want == nil {
			want = first.Steps
		}
		if !slices.Equal(got, []string{"3", "6", "9"}) || len(first.Steps) != 9 || !slices.Equal(first.Steps, want) ||
			!slices.Equal(scored, []int{4, 2, 4, 2, 4, 2}) {
			t.Errorf("stopped at %d: measured after %v of %d steps, rows %v", stop, got, len(first.Steps), scored)
		}
	}
}

// What is held out is scored by whom the stage names for it.
func TestHeldPairsHaveTheirExaminer(t *testing.T) {
	d := DPO{SFT: supervised(), Preference: batch.Preference{Loss: batch.PreferenceSigmoid, Beta: 0.5},
		Held: preferred(1, 1000)}
	mine, theirs, trainer := []int{}, []int{}, &fakeTrainer{}
	d.Examiner = doubting{trainer, 7, &theirs}
	if err := d.Run(t.Context(), preferred(5, 1), doubting{trainer, 7, &mine}, nil, newLog(t), silent); err != nil ||
		len(mine) != 0 || len(theirs) != 6 {
		t.Errorf("%v: scored by the trainer %v, by the examiner %v", err, mine, theirs)
	}
}

// The programs of a pass are compiled before its first step, which the time of that step holds: of the steps that are
// taken, and once.
func TestAPassIsPrepared(t *testing.T) {
	for steps, want := range map[int]int{0: 3, 2: 2, 9: 3} { // 0: by epochs
		s, log, trainer := supervised(), newLog(t), &fakeTrainer{}
		s.Steps, s.Held = steps, nil
		rows := demonstrations(5)
		first := firstTimes{&timesLog{log, map[string]float64{}}}
		if err := s.Run(context.Background(), rows, trainer, nil, first, silent); err != nil {
			t.Fatal(err)
		}
		var batches []batch.Batch
		for _, picked := range s.Pass(len(rows), 0)[:want] {
			batches = append(batches, numbered(pickRows(rows, picked)))
		}
		if wanted := fmt.Sprint(0, batches, batch.Objective{}); !slices.Equal(trainer.prepared, []string{wanted}) ||
			first.of["time/compile"] != float64(want) || first.of["time/programs"] != float64(want) {
			t.Errorf("%d steps: %q, want %q; %v", steps, trainer.prepared, wanted, first.of)
		}
	}
}

// What is compiled while held rows are measured is no step's time, and a program all the same.
func TestMeasuringIsNoStep(t *testing.T) {
	trainer := &fakeTrainer{made: 3}
	c := clock{began: time.Now().Add(-time.Hour)}
	c.restart(trainer)
	trainer.made = 1
	m := map[string]float64{}
	c.step(m, trainer)
	if m["time/compile"] != 1 || m["time/programs"] != 4 || m["step_time"] > 60 {
		t.Errorf("%v", m)
	}
}

func pickRows(rows []batch.Sequence, picked []int) (of []batch.Sequence) {
	for _, i := range picked {
		of = append(of, rows[i])
	}
	return of
}

// firstTimes holds the clock's metrics of the first step alone.
type firstTimes struct{ *timesLog }

func (l firstTimes) Metrics(stage string, step int, m map[string]float64) error {
	if step == 0 {
		return l.timesLog.Metrics(stage, step, m)
	}
	return l.memoryLog.Metrics(stage, step, m)
}

// compiling makes programs for what it scores.
type compiling struct{ *fakeTrainer }

func (c compiling) Score(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	c.made += 100
	return c.fakeTrainer.Score(ctx, b, temperature)
}

// longest is the most that a step has compiled.
type longest struct {
	*memoryLog
	compile float64
}

func (l *longest) Metrics(stage string, step int, m map[string]float64) error {
	l.compile = max(l.compile, m["time/compile"])
	return l.memoryLog.Metrics(stage, step, m)
}

// A pass takes what its measuring compiles out of the next step.
func TestCompilingToMeasureIsNoStep(t *testing.T) {
	s, log := supervised(), &longest{memoryLog: newLog(t)}
	s.Held = demonstrations(2)
	if err := s.Run(t.Context(), demonstrations(5), compiling{&fakeTrainer{}}, nil, log, silent); err != nil {
		t.Fatal(err)
	}
	if log.compile == 0 || log.compile >= 100 {
		t.Errorf("a step compiled for %g seconds", log.compile)
	}
}
