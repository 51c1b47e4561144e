package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/grade/judge"
)

const twoScores = `{"scores": [{"trajectory_id": "1", "explanation": "x", "score": 0.25}, {"trajectory_id": "2", "explanation": "y", "score": 1}]}`

// twoAttempts are a group of two.
func twoAttempts() []*trajectory.Trajectory {
	var ts []*trajectory.Trajectory
	for _, answer := range []string{"a hat", "a cap"} {
		ts = append(ts, &trajectory.Trajectory{Outcome: trajectory.OK, Opening: 1, Messages: []chat.Message{
			{Role: chat.User, Content: "What is it?"},
			{Role: chat.Assistant, Content: answer},
		}})
	}
	return ts
}

// judging is a judge with one sample at an endpoint.
func judging(t *testing.T, e http.RoundTripper, set func(*Options)) *judge.Judge {
	t.Helper()
	o := Options{BaseURL: "http://127.0.0.1/v1", Transport: e, GiveUpAfter: 3, Concurrency: 8}
	if set != nil {
		set(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return judge.New(judge.Options{Model: Judge{Client: c, Model: "m"}, Samples: 1, MaxTokens: 500, Context: 9000})
}

// slow is an endpoint that turns everybody away until an hour has passed.
type slow struct {
	*endpoint
	till time.Time
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if time.Now().Before(s.till) {
		s.answers = []answer{{status: 429, header: map[string]string{"Retry-After": "20"}, body: "slow down"}}
	} else {
		s.answers = []answer{said(twoScores)}
	}
	return s.endpoint.RoundTrip(r)
}

// A judge that turns calls away for an hour is waited for by one who has the patience; else the group fails in the time
// it was given, and the endpoint is not stormed meanwhile.
func TestJudge429ForAnHour(t *testing.T) {
	for _, patience := range []time.Duration{2 * time.Hour, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			e := &slow{&endpoint{}, began.Add(time.Hour)}
			j := judging(t, e, func(o *Options) { o.Patience = patience })
			terms, err := j.Judge(t.Context(), &scenario.Scenario{}, twoAttempts())
			took := time.Since(began)
			if patience > time.Hour {
				if err != nil || terms[0].Score+terms[1].Score != 1.25 || took < time.Hour ||
					took > time.Hour+2*time.Minute || len(e.times) > 180 {
					t.Errorf("%v after %v and %d requests: %+v", err, took, len(e.times), terms)
				}
				return
			}
			if fault.CodeOf(err) != fault.CodeUnavailable || !strings.Contains(err.Error(), "429") || took < patience ||
				took > patience+2*time.Minute {
				t.Errorf("%v after %v", err, took)
			}
			for range 2 {
				if _, err := j.Judge(t.Context(), &scenario.Scenario{}, twoAttempts()); err == nil {
					t.Error("it answers")
				}
			}
			asked := len(e.times)
			if _, err = j.Judge(t.Context(), &scenario.Scenario{},
				twoAttempts()); !strings.Contains(err.Error(), "left alone") || len(e.times) != asked {
				t.Errorf("after three failed calls: %v", err)
			}
		})
	}
}

// hung answers nothing until the attempt is given up.
type hung struct{ asked int }

func (h *hung) RoundTrip(r *http.Request) (*http.Response, error) {
	h.asked++
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A judge that hangs costs its time-out for each attempt, and then the group; nothing hangs with it.
func TestJudgeHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, began := &hung{}, time.Now()
		_, err := judging(t, h, func(o *Options) { o.Timeout, o.MaxRetries = time.Minute, 2 }).Judge(t.Context(),
			&scenario.Scenario{}, twoAttempts())
		if took := time.Since(began); fault.CodeOf(err) != fault.CodeUnavailable || h.asked != 3 ||
			took < 3*time.Minute || took > 4*time.Minute {
			t.Errorf("%v after %v and %d attempts", err, took, h.asked)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began = time.Now()
		if _, err := judging(t, h, nil).Judge(ctx, &scenario.Scenario{},
			twoAttempts()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Errorf("stopped by the user: %v after %v", err, time.Since(began))
		}
	})
}

// An answer with an empty body, or with an empty text, is asked for again, and then the judge has failed.
func TestJudgeAnswersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, a := range map[string]answer{"an empty body": {status: 200}, "an empty text": said("")} {
			e := &endpoint{answers: []answer{a, a, said(twoScores)}}
			terms, err := judging(t, e, nil).Judge(t.Context(), &scenario.Scenario{}, twoAttempts())
			if err != nil || terms[0].Score+terms[1].Score != 1.25 || len(e.times) != 3 {
				t.Errorf("%s, twice: %v after %d requests", name, err, len(e.times))
			}
			e = &endpoint{answers: []answer{a}}
			if _, err := judging(t, e, nil).Judge(t.Context(), &scenario.Scenario{}, twoAttempts()); err == nil ||
				fault.CodeOf(err) == fault.CodeUsage {
				t.Errorf("%s, always: %v", name, err)
			}
		}
	})
}

// A group that was judged is not paid for again, and a budget that the next question may break stops it before it is
// sent.
func TestJudgePaysOnce(t *testing.T) {
	dir, e := t.TempDir(), &endpoint{answers: []answer{said(twoScores)}}
	price := func(prompt, completion int) float64 { return float64(prompt+completion) / 1000 }
	with := func(o *Options) { o.CacheDir, o.Cost, o.BudgetUSD = dir, price, 2 }
	var first []trajectory.Term
	for range 2 {
		terms, err := judging(t, e, with).Judge(t.Context(), &scenario.Scenario{}, twoAttempts())
		if err != nil || len(e.times) != 1 {
			t.Fatalf("%v, %d requests", err, len(e.times))
		}
		was, now := must(json.Marshal(first)), must(json.Marshal(terms))
		if first != nil && was != now {
			t.Errorf("from the cache it is %s, was %s", now, was)
		}
		first = terms
	}
	other := twoAttempts()
	other[0].Messages[1].Content = "something else"
	_, err := judging(t, e, func(o *Options) { o.CacheDir, o.Cost, o.BudgetUSD = dir, price, 1e-3 }).Judge(t.Context(),
		&scenario.Scenario{}, other)
	if fault.CodeOf(err) != fault.CodeBudget || len(e.times) != 1 {
		t.Errorf("%v after %d requests", err, len(e.times))
	}
}

// Replies of no use that were paid for are not asked for again, nor do they end a later run: it asks on, in other
// words.
func TestJudgeRecoversFromCachedProse(t *testing.T) {
	dir, e := t.TempDir(), &endpoint{answers: []answer{said("prose"), said("prose"), said("prose"), said(twoScores)}}
	with := func(o *Options) { o.CacheDir = dir }
	if _, err := judging(t, e, with).Judge(t.Context(), &scenario.Scenario{}, twoAttempts()); err == nil ||
		len(e.times) != 3 {
		t.Fatalf("%v after %d requests", err, len(e.times))
	}
	if _, err := judging(t, e, with).Judge(t.Context(), &scenario.Scenario{}, twoAttempts()); err != nil ||
		len(e.times) != 4 {
		t.Errorf("%v after %d requests", err, len(e.times))
	}
}

func must(text []byte, err error) string {
	if err != nil {
		panic(err)
	}
	return string(text)
}
