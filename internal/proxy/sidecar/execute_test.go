package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"hone/internal/chat"
	"hone/internal/console/sanitize"
	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/mcp"
	"hone/internal/proxy/revise"
)

// counted are servers that count the calls they get. One of "away" has no answer, one of "forbidden" is not sent, and
// one of "no" is refused.
type counted struct {
	mu    sync.Mutex
	calls map[string]int
}

func (c *counted) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return countedSession{c}, nil
}

type countedSession struct{ *counted }

func (s countedSession) Call(ctx context.Context, calls []chat.ToolCall) (out []trajectory.ToolResult) {
	for _, c := range calls {
		out = append(out, s.Probe(ctx, c))
	}
	return out
}

func (s countedSession) Probe(_ context.Context, c chat.ToolCall) trajectory.ToolResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c.Arguments]++
	status := map[string]trajectory.CallStatus{`"away"`: trajectory.CallTransportError,
		`"forbidden"`: trajectory.CallDenied, `"no"`: trajectory.CallToolError}[c.Arguments]
	if status == "" {
		status = trajectory.CallOK
	}
	return trajectory.ToolResult{Call: c, Status: status, Text: c.Arguments}
}

func (countedSession) Dir(string) string { return "" }
func (countedSession) Close() error      { return nil }

// Equal calls at a point are made once, whoever says them. A point at which one could not be tried is in nobody's rate.
func TestExecutions(t *testing.T) {
	e := &evaluation{Host: &host.Host{Data: sanitize.New(io.Discard), Talk: sanitize.New(io.Discard)},
		d: data{catalog: &mcp.Catalog{}}, of: map[string][]outcome{}}
	says := func(arguments ...string) (o outcome) {
		for _, a := range arguments {
			o.calls = append(o.calls, chat.ToolCall{Name: "look", Arguments: a})
		}
		o.gives = true
		return o
	}
	before := []chat.Message{{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{Name: "look", Arguments: `"before"`}}}}
	for _, point := range []string{"a", "a", "b", "c", "d"} {
		e.rows = append(e.rows, revise.Row{Point: revise.Point{ID: point, Gold: []scenario.Gold{{Name: "look"}}}})
	}
	e.rows[2].Messages = before
	e.add("one", []outcome{says(`"x"`), says(`"x"`), says(`"x"`), says(`"away"`), says(`"no"`)})
	e.add("two", []outcome{says(`"x"`), says(`"no"`), says(), says(`"x"`), says(`"forbidden"`)})
	e.add("three", []outcome{says(`"x"`, `"y"`), {calls: says(`"z"`).calls}, says(`"x"`), says(`"x"`), says(`"y"`)})
	servers := &counted{calls: map[string]int{}}
	if err := e.try(t.Context(), servers); err != nil {
		t.Fatal(err)
	}
	// At a: x, no, x+y. At b: before x. At c: away, x. At d: no, forbidden, y.
	for arguments, want := range map[string]int{
		`"x"`: 4, `"no"`: 2, `"y"`: 2, `"before"`: 1, `"away"`: 1, `"forbidden"`: 1, `"z"`: 0,
	} {
		if servers.calls[arguments] != want {
			t.Errorf("%s was called %d times, want %d", arguments, servers.calls[arguments], want)
		}
	}
	if len(e.executed.lost) != 2 || e.executed.lost["c"] == nil || e.executed.lost["d"] == nil {
		t.Errorf("lost: %v", e.executed.lost)
	}
	answered := func(name string) (all []bool) {
		for _, p := range e.placesOf(name) {
			if p.Results != nil {
				failed := slices.ContainsFunc(p.Results, func(r trajectory.ToolResult) bool {
					return r.Status != trajectory.CallOK
				})
				all = append(all, len(p.Results) > 0 && !failed)
			}
		}
		return all
	}
	for name, want := range map[string][]bool{
		"one":   {true, true, true},
		"two":   {true, false, false},
		"three": {true, true},
	} {
		if got := answered(name); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if rate := e.successRate("two"); rate.Mean != 1./3 {
		t.Errorf("the calls of two are executed: %+v", rate)
	}
	e.executed = nil
	if rate := e.successRate("two"); rate != nil {
		t.Errorf("without servers there is %+v", rate)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	if err := e.try(stopped, servers); err == nil {
		t.Error("a stop is not told")
	}
}

// Each gold call has its place, and the end of a scenario that was answered to the end has one where none is due. Of
// drafts there those in words alone are rows, and conversations that teach an upstream have no such end.
func TestEnds(t *testing.T) {
	catalog := &mcp.Catalog{Servers: []mcp.ServerTools{
		{Name: "eyes", Tools: []mcp.Tool{{Name: "look", ModelName: "look", InputSchema: []byte(`{"type":"object"}`)}}},
		{Name: "hands", Tools: []mcp.Tool{
			{Name: "take", ModelName: "take", InputSchema: []byte(`{"type":"object"}`)},
		}},
	}}
	gold := func(arguments ...string) (all []scenario.Gold) {
		for i, a := range arguments {
			all = append(all, scenario.Gold{Name: []string{"look", "take"}[i%2], Arguments: []byte(a)})
		}
		return all
	}
	list := []scenario.Scenario{
		{ID: "whole", Task: "Go.", Split: scenario.Train, Gold: gold(`{"x":1}`, `{"y":2}`)}, {ID: "away", Task: "Go.",
			Split: scenario.Train, Gold: []scenario.Gold{{Name: "look", Arguments: []byte(`"away"`)}}},
		{ID: "words", Task: "Thank you.",
			Split: scenario.Train, Checks: []scenario.Check{{Type: scenario.NoCallCheck}}}, {ID: "open", Task: "Go.",
			Checks: []scenario.Check{{Type: scenario.NoCallCheck, Name: "look"}}},
	}
	points, dropped := pointsOf(t.Context(), &counted{calls: map[string]int{}}, catalog, list, "",
		6, 1, func(int, int) {})
	if len(points) != 4 || points[3].ID != "words#end" || !points[3].IsEnd() || points[3].Server == "" ||
		len(points[3].Messages) != 1 {
		t.Fatalf("where words are due at once: %+v", points)
	}
	if len(dropped) != 1 || points[2].ID != "whole#end" || !points[2].IsEnd() || points[2].Server != "hands" ||
		len(points[2].Messages) != 5 {
		t.Fatalf("%+v, dropped %v", points, dropped)
	}
	m := &maker{Host: &host.Host{Data: sanitize.New(io.Discard), Talk: sanitize.New(io.Discard)}, catalog: catalog,
		points: points, x: MakeOptions{Corrupt: 1}}
	m.corrupt()
	ends := slices.DeleteFunc(slices.Clone(m.rows), func(r revise.Row) bool { return !r.IsEnd() })
	if len(m.rows) != 6 || len(ends) != 2 || !ends[0].Right || len(ends[0].Draft.ToolCalls) > 0 ||
		ends[0].Draft.Content == "" || ends[1].Draft.Content == "Thank you." {
		t.Errorf("%+v", m.rows)
	}
	if shown := m.conversations(); len(shown) != 2 {
		t.Errorf("%d conversations teach an upstream, want one for each gold call", len(shown))
	}
	e := &evaluation{d: data{catalog: catalog}, rows: ends[:1], of: map[string][]outcome{}}
	e.add("words", []outcome{{gives: true}})
	e.add("calls", []outcome{{gives: true, calls: points[0].GoldCalls()}})
	// all systems are of the same places
	if words, calls := e.placesOf("words"), e.placesOf("calls"); len(words)+len(calls) != 0 {
		t.Errorf("an end is %d and %d places where calls are due", len(words), len(calls))
	}
}

// A closing text that reads as a call is no answer in words: another is made, and where there is none no row.
func TestClosingsAreWords(t *testing.T) {
	catalog := &mcp.Catalog{Servers: []mcp.ServerTools{
		{Name: "eyes", Tools: []mcp.Tool{{Name: "look", ModelName: "look", InputSchema: []byte(`{"type":"object"}`)}}},
	}}
	m := &maker{Host: &host.Host{Data: sanitize.New(io.Discard), Talk: sanitize.New(io.Discard)}, catalog: catalog,
		x: MakeOptions{Corrupt: 1}}
	for i := range 40 {
		m.points = append(m.points, revise.Point{ID: fmt.Sprint(i), Tools: []string{"look"}, Gold: []scenario.Gold{},
			Messages: []chat.Message{{Role: chat.ToolRole, Content: `{"name":"look","arguments":{}}`}}})
	}
	m.corrupt()
	for _, r := range m.rows {
		if !r.Right || len(m.fixer(&r.Point).Fix(r.Draft).Message.ToolCalls) > 0 {
			t.Errorf("%+v", r.Draft)
		}
	}
}

// What is not calibrated replaces no answer in words, and --confidence is of calls and of words alike.
func TestRulesOfAnEvaluation(t *testing.T) {
	catalog := &mcp.Catalog{Servers: []mcp.ServerTools{
		{Name: "eyes", Tools: []mcp.Tool{{Name: "look", ModelName: "look", InputSchema: []byte(`{"type":"object"}`)}}},
	}}
	end := revise.Point{ID: "p", Tools: []string{"look"}, Gold: []scenario.Gold{},
		Messages: []chat.Message{{Role: chat.User, Content: "Thanks."}}}
	says := &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted,
		Turns: []trajectory.Turn{
			{Calls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: "{}"}}, SamplerLogprobs: []float32{-0.7}},
		}}
	for confidence, revised := range map[float64]bool{-1: false, 0.4: true, 0.6: false} {
		d := data{catalog: catalog, rows: []revise.Row{
			{Point: end, ID: "r", Right: true, Draft: chat.Message{Role: chat.Assistant, Content: "Gladly."}},
		}}
		e := &evaluation{d: d, rows: d.rows, fixers: fixersOf(catalog), o: EvalOptions{Confidence: confidence},
			of: map[string][]outcome{}}
		q, err := e.revising(job.System{Name: "base"})
		if err != nil {
			t.Fatal(err)
		}
		q.take(map[string]*trajectory.Trajectory{"r": says})
		if got := e.of["base"][0]; (got.verdict == revise.Revised) != revised || got.gold == revised {
			t.Errorf("at %g: %+v", confidence, got)
		}
		alone, err := e.alone(job.System{Name: "base"})
		if err != nil || !q.v.Drafts || alone.v.Drafts {
			t.Errorf("%v: the sidecar is shown the draft: %v, and alone: %v", err, q.v.Drafts, alone.v.Drafts)
		}
	}
}
