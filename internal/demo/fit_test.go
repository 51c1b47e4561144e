package demo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/recipe"
	"hone/internal/run"
)

// quiet is a pace of two quiet cores.
var quiet = pace{Opening: 30, Compiling: 20, Episode: 0.4, Row: 0.5, Spent: 70, Ran: 32}

func slower(times float64) pace {
	p := quiet
	for _, s := range []*float64{&p.Opening, &p.Compiling, &p.Episode, &p.Row, &p.Spent} {
		*s *= times
	}
	return p
}

// A choice holds what a result needs, ends in time, and leaves no room for more. A slower machine is never given more.
// Where the least takes longer than twice the time, the stages are shown only.
func TestFitting(t *testing.T) {
	const batchSize, episodes = 8, 32
	need := least(quiet, episodes).total()
	last := choice{Tests: mostTests, Rows: mostRows, Steps: mostSteps}
	kinds := map[string]bool{}
	for times := 0.05; times < 60; times *= 1.1 {
		for _, minutes := range []float64{2, 8, 20} {
			p := slower(times)
			c, enough := fitting(p, minutes, batchSize, episodes)
			if c.pace != p {
				t.Fatalf("the pace is not kept: %+v", c)
			}
			switch need := times * need; {
			case need > 2*60*minutes:
				kinds["none"] = true
				if enough || c.Rows >= leastRows || c.total() >= need {
					t.Errorf("%.2f times, %v minutes: %+v, %v", times, minutes, c, enough)
				}
				continue
			case need > 60*minutes:
				kinds["least"] = true
				if !enough || c.Tests != leastTests || c.Rows != leastRows || c.Steps != leastSteps {
					t.Errorf("%.2f times, %v minutes: %+v, %v", times, minutes, c, enough)
				}
			default:
				kinds["fits"] = true
				if !enough || c.total() > 60*minutes || c.Tests < leastTests || c.Rows < leastRows ||
					c.Steps < leastSteps || c.Rows%batchSize > 0 {
					t.Errorf("%.2f times, %v minutes: %+v, %v", times, minutes, c, enough)
				}
				for _, more := range []choice{{Rows: 2 * batchSize}, {Steps: 1}, {Tests: 8}} {
					next := c
					next.Rows, next.Steps, next.Tests = c.Rows+more.Rows, c.Steps+more.Steps, c.Tests+more.Tests
					if next.total() <= 60*minutes && next.Rows <= mostRows && next.Steps <= mostSteps &&
						next.Tests <= mostTests {
						t.Errorf("%.2f times, %v minutes: %+v leaves room for %+v", times, minutes, c, more)
					}
				}
			}
			if minutes == 8 {
				if c.Tests > last.Tests || c.Rows > last.Rows || c.Steps > last.Steps {
					t.Errorf("%.2f times: %+v is more than a faster machine's %+v", times, c, last)
				}
				last = c
			}
		}
	}
	if len(kinds) != 3 {
		t.Errorf("only %v were tried", kinds)
	}
}

// A demo that goes on takes the choice it made, and measures nothing: there is nothing here that could be measured. The
// choice is summed, so that one that was edited does not go on.
func TestChoiceIsKept(t *testing.T) {
	dir, err := run.Create(filepath.Join(t.TempDir(), "out"), nil, job.Begun{Verb: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	want := choice{pace: quiet, Tests: 72, Rows: 144, Steps: 3, Episodes: 32}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir.Path, choiceFile)
	if err := os.WriteFile(file, text, 0o600); err != nil { // a kill came before its sum
		t.Fatal(err)
	}
	var said strings.Builder
	d := demo{Env: job.Env{Host: &host.Host{Talk: sanitize.New(&said)}}, dir: dir}
	got, err := d.loadOrChoose(t.Context(), recipe.Data{}, recipe.Evaluation{}, nil)
	if err != nil || got != want ||
		!strings.Contains(said.String(), "72 held-out tasks, 144 rows of SFT and 3 steps of GRPO of 32 episodes") {
		t.Fatalf("%+v, %v; it said %s", got, err, &said)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Open(dir.Path, run.OpenOptions{}); err == nil {
		t.Error("a choice that was edited goes on")
	}
}

// A whole demo is what the learning figures were measured on.
func TestFullIsAsItWas(t *testing.T) {
	if got := (Fit{Full: true}).size(); got != (Size{Demonstrations: 300, Train: 600, Test: 160}) {
		t.Errorf("%+v", got)
	}
	if got := (Fit{Minutes: 8}).size(); !got.Few || got.Test < mostTests || got.Demonstrations < mostRows ||
		got.Train < 8*mostSteps {
		t.Errorf("%+v", got)
	}
}

// From its first quarter on, the line's estimate of the whole is right within a third, also where the machine turns out
// to be 0.7 or 1.4 times as fast as it was measured. Work that an earlier attempt did is no speed of this one.
func TestWholeEstimates(t *testing.T) {
	c, _ := fitting(quiet, 8, 8, 32)
	for _, x := range []struct {
		speed   float64
		resumed bool
	}{{1, false}, {0.7, false}, {1.4, false}, {0.7, true}} {
		var said []string
		began := time.Now()
		now := began.Add(seconds(c.Spent))
		w := whole{began: began, now: func() time.Time { return now },
			told: func(stage string, done, total int, note string) { said = append(said, note) }}
		w.expect(c)
		var when []time.Time
		stage := func(name string, all float64, from, n int) {
			for i := from; i <= n; i++ {
				if i > from || from == 1 {
					now = now.Add(seconds(all / x.speed / float64(n)))
				}
				w.report(name, i, n, "")
				when = append(when, now)
			}
		}
		first := 1
		parts := c.parts()
		for i, p := range parts {
			if x.resumed && i < 3 { // done before
				continue
			}
			if p.stage != grpoStage {
				stage(p.stage, p.seconds, first, 16)
				continue
			}
			step := p.seconds / float64(c.Steps) / x.speed
			from := 1
			if x.resumed {
				from = 2
			}
			for s := from; s <= c.Steps; s++ {
				for e := 1; e <= c.Episodes; e++ {
					now = now.Add(seconds(step * rolling / float64(c.Episodes)))
					w.report(grpoStage+"/episodes", e, c.Episodes, "")
					when = append(when, now)
				}
				now = now.Add(seconds(step * (1 - rolling)))
				w.report(grpoStage, s, c.Steps, "")
				when = append(when, now)
			}
		}
		end := now.Sub(began).Seconds()
		checked := 0
		for i, line := range said {
			if when[i].Sub(began).Seconds() < end/4 {
				continue
			}
			checked++
			_, of, ok := strings.Cut(line, " of about ")
			minutes, sec, _ := strings.Cut(of, ":")
			about, err := time.ParseDuration(minutes + "m" + sec + "s")
			if !ok || err != nil || about.Seconds() < end*2/3 || about.Seconds() > end*4/3 {
				t.Errorf("%+v: line %d of %d says %q at %.0f of %.0f s",
					x, i, len(said), line, when[i].Sub(began).Seconds(), end)
			}
		}
		if checked < 20 ||
			!strings.HasPrefix(said[len(said)-1], clockText(seconds(end))+" of about "+clockText(seconds(end))) {
			t.Errorf("%+v: %d lines; the last is %q", x, checked, said[len(said)-1])
		}
	}
}
