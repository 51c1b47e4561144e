package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// A report of progress puts the end of a call off, up to a bound; what was written first keeps its deadline.
func TestPatience(t *testing.T) {
	for _, test := range []struct {
		reports []time.Duration // when, from the beginning
		ends    time.Duration
		waited  string
	}{
		{nil, 10 * time.Second, "no answer within 10s"},
		{[]time.Duration{8 * time.Second}, 18 * time.Second, "no answer within 10s of its last report of progress"},
		{[]time.Duration{8 * time.Second, 16 * time.Second, 24 * time.Second}, 34 * time.Second, "of its last report"},
		{[]time.Duration{12 * time.Second}, 10 * time.Second, "no answer within 10s"},
		{func() (all []time.Duration) {
			for i := range 30 {
				all = append(all, time.Duration(i+1)*9*time.Second)
			}
			return all
		}(), 100 * time.Second, "no answer within 1m40s, though it reported progress"},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			p := patient(context.Background(), 10*time.Second)
			defer p.stop()
			if first, ok := p.Deadline(); !ok || first.Sub(began) != 10*time.Second {
				t.Errorf("deadline %s", first)
			}
			ended := make(chan time.Time, 1)
			context.AfterFunc(p, func() { ended <- time.Now() })
			for _, at := range test.reports {
				time.Sleep(time.Until(began.Add(at)))
				synctest.Wait()
				if p.Err() != nil {
					break
				}
				p.more()
			}
			if took := (<-ended).Sub(began); took != test.ends {
				t.Errorf("%v: it ended after %s, want %s", test.reports, took, test.ends)
			}
			if got := p.waitText(); !strings.Contains(got, test.waited) {
				t.Errorf("%v: %s, want %s", test.reports, got, test.waited)
			}
		})
	}
}

// Progress is read under any form of the token, and each call sends one.
func TestProgressTokens(t *testing.T) {
	for _, form := range []string{"7", `"7"`, "7.0"} {
		s := &session{}
		heard := ""
		s.watchers.Store(int64(7), func(done, total float64, message string) {
			heard = fmt.Sprint(done, total, message)
		})
		s.progress([]byte(`{"progressToken":` + form + `,"progress":"1","total":3,"message":"step"}`))
		if heard != "1 3step" {
			t.Errorf("%s: %q", form, heard)
		}
		heard = ""
		s.progress([]byte(`{"progressToken":8,"progress":1}`))
		s.progress([]byte(`[]`))
		if heard != "" {
			t.Errorf("%s: another call's progress is heard: %s", form, heard)
		}
	}
}

// Tools that come up in an episode are not called, the model is told so, and so is the user, once.
func TestToolsThatAppear(t *testing.T) {
	var told []string
	s := self(t, "grows")
	p := newPool(t, configOf(t, map[string]Server{"s": s}),
		Options{Warm: -1, Changed: func(server string, changes []Change) { told = append(told, fmt.Sprint(changes)) }})
	for range 2 {
		e := open(t, p, "e")
		if r := ask(e, "late", "{}"); r.Status != trajectory.CallInvalid || !strings.Contains(r.Text, "unknown tool") {
			t.Errorf("before it is there: %+v", r)
		}
		if r := ask(e, "grow", "{}"); r.Status != trajectory.CallOK {
			t.Fatalf("%+v", r)
		}
		if r := ask(e, "late", "{}"); r.Status != trajectory.CallInvalid || !strings.Contains(r.Text, `the tool "late" came up after this conversation began, and is not offered: the list of its beginning holds`) {
			t.Errorf("once it is there: %+v", r)
		}
		if r := ask(e, "never", "{}"); !strings.Contains(r.Text, "unknown tool") {
			t.Errorf("what is never there: %+v", r)
		}
		e.Close()
	}
	if len(told) != 1 || !strings.Contains(told[0], "added late") {
		t.Errorf("told %q", told)
	}
}

// A tool that may be offered is so from the next turn on, in words behind a result; another is refused with the reason.
func TestToolsThatMayBeOffered(t *testing.T) {
	const offer = `[from now on there is also the tool {"type":"function","function":{"name":"late"`
	for _, tc := range []struct {
		why  string
		then trajectory.CallStatus
		says string
	}{
		{"", trajectory.CallOK, ""},
		{"nobody has looked at it", trajectory.CallInvalid, "is not offered: nobody has looked at it"},
	} {
		for _, isolation := range []Isolation{PerProcess, Shared} {
			t.Run(string(isolation)+tc.why, func(t *testing.T) {
				s := self(t, "grows")
				s.Isolation = isolation
				p := newPool(t, configOf(t, map[string]Server{"s": s}), Options{Warm: -1})
				var asked []string
				p.Admit = func(server string, tool Tool) string {
					asked = append(asked, server+"/"+tool.Name)
					return tc.why
				}
				e := open(t, p, "e")
				turn := func(names ...string) []trajectory.ToolResult {
					var calls []chat.ToolCall
					for i, name := range names {
						calls = append(calls, chat.ToolCall{ID: fmt.Sprint(i), Name: name, Arguments: "{}"})
					}
					return e.Call(t.Context(), calls)
				}
				for i, r := range turn("grow", "never") {
					if isLast := i == 1; strings.Contains(r.Text, offer) != (tc.why == "" && isLast) {
						t.Errorf("result %d: %q", i, r.Text)
					}
				}
				for range 2 {
					if r := turn("late")[0]; r.Status != tc.then || !strings.Contains(r.Text, tc.says) ||
						strings.Contains(r.Text, offer) {
						t.Errorf("the call of it: %+v", r)
					}
				}
				if len(asked) == 0 || asked[0] != "s/late" {
					t.Errorf("asked of %q", asked)
				}
			})
		}
	}
}
