package access

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var catalog = map[string]Tool{
	"add":    {Server: "calc", Name: "add"},
	"sub":    {Server: "calc", Name: "sub"},
	"read":   {Server: "files", Name: "read", ReadOnly: true},
	"write":  {Server: "files", Name: "write"},
	"c7":     {Server: "io.github.up/context7", Name: "docs/get"},
	"files2": {Server: "files2", Name: "read", ReadOnly: true},
}

// asked is a prompter that gives its answers in turn and keeps the questions.
type asked struct {
	mu        sync.Mutex
	answers   []Answer
	questions []Question
	err       error
}

func (a *asked) Ask(_ context.Context, q Question) (Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions = append(a.questions, q)
	if a.err != nil || len(a.answers) == 0 {
		return No, a.err
	}
	next := a.answers[0]
	a.answers = a.answers[1:]
	return next, nil
}

func gate(t *testing.T, o GateOptions) *Gate {
	t.Helper()
	if o.Tools == nil {
		o.Tools = catalog
	}
	g, err := NewGate(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestDecide(t *testing.T) {
	all := []string{"*"}
	for _, tc := range []struct {
		name    string
		o       GateOptions
		tool    string
		allowed bool
		by      Source
		why     string
	}{
		{"no rule, nobody there", GateOptions{}, "add", false, ByNobody, `add "calc/add" to mcp.approval.allow`},
		{"no rule, auto", GateOptions{Mode: Auto}, "add", true, ByMode, "auto"},
		{"readonly, hint", GateOptions{Mode: ReadOnly}, "read", true, ByMode, "readonly"},
		{"readonly, no hint", GateOptions{Mode: ReadOnly}, "write", false, ByMode, `add "files/write" to mcp.approval.allow`},
		{"readonly, allowed by rule", GateOptions{Mode: ReadOnly, Allow: []string{"files/write"}}, "write", true, ByRule, `"files/write"`},
		{"allowed server", GateOptions{Allow: []string{"calc"}}, "add", true, ByRule, `"calc"`},
		{"allowed by wildcard", GateOptions{Allow: []string{"c*c/a*"}}, "add", true, ByRule, `"c*c/a*"`},
		{"a tool of another server", GateOptions{Allow: []string{"files/add", "*s/add"}}, "add", false, ByNobody, "calc/add"},
		{"server name is no prefix", GateOptions{Allow: []string{"files"}}, "files2", false, ByNobody, "files2/read"},
		{"slashes in both names", GateOptions{Allow: []string{"io.github.up/context7/docs/*"}}, "c7", true, ByRule, "docs/*"},
		{"server name with a slash", GateOptions{Allow: []string{"io.github.up/context7"}}, "c7", true, ByRule, "context7"},
		{
			"deny over ask and allow", GateOptions{Mode: Auto, Deny: []string{"calc/add"}, Ask: all, Allow: all,
				Prompter: YesToAll{}}, "add", false, ByRule, `denied by the rule "calc/add"`,
		},
		{"ask over allow", GateOptions{Mode: Auto, Ask: []string{"calc"}, Allow: all, Prompter: &asked{}}, "add", false, ByPerson, "denied by the user"},
		{"ask over auto, nobody there", GateOptions{Mode: Auto, Ask: []string{"calc"}}, "add", false, ByNobody, `take "calc" out of mcp.approval.ask`},
		{"--yes", GateOptions{Prompter: YesToAll{}}, "add", true, ByPerson, "allowed by the user"},
		{"person lets such calls be made", GateOptions{Prompter: &asked{answers: []Answer{YesUnasked}}}, "read", true, ByPerson, "be made unasked"},
		{"person says no", GateOptions{Prompter: &asked{answers: []Answer{No}}}, "add", false, ByPerson, "denied by the user"},
		{"question fails", GateOptions{Prompter: &asked{err: errors.New("hung up")}}, "add", false, ByNobody, "hung up"},
		{"unknown tool", GateOptions{Deny: all}, "nonsense", true, ByRule, "not sent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := gate(t, tc.o).Decide(t.Context(), chat.ToolCall{Name: tc.tool, Arguments: "{}"}, Place{})
			if d.Allowed != tc.allowed || d.By != tc.by || !strings.Contains(d.Why, tc.why) {
				t.Errorf("%+v, want allowed %v by %s with %q", d, tc.allowed, tc.by, tc.why)
			}
		})
	}
}

func TestAlways(t *testing.T) {
	for _, tc := range []struct {
		name      string
		answers   []Answer
		tools     []string
		want      []bool
		questions int
	}{
		{"yes is for one call", []Answer{Yes, No}, []string{"add", "add"}, []bool{true, false}, 2},
		{"always this tool", []Answer{AlwaysTool, No}, []string{"add", "add", "sub"}, []bool{true, true, false}, 2},
		{"always this server", []Answer{AlwaysServer, No}, []string{"add", "sub", "read"}, []bool{true, true, false}, 2},
		{"no is for one call", []Answer{No, Yes}, []string{"add", "add"}, []bool{false, true}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &asked{answers: tc.answers}
			g := gate(t, GateOptions{Prompter: p})
			for i, tool := range tc.tools {
				if d := g.Decide(t.Context(), chat.ToolCall{Name: tool}, Place{}); d.Allowed != tc.want[i] {
					t.Errorf("call %d of %s: %+v", i, tool, d)
				}
			}
			if len(p.questions) != tc.questions {
				t.Errorf("%d questions, want %d", len(p.questions), tc.questions)
			}
		})
	}
}

// Episodes ask from many goroutines; after one "always" nobody is asked again.
func TestQuestionsAreAskedOneAtATime(t *testing.T) {
	p := &counting{}
	g := gate(t, GateOptions{Prompter: p})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if d := g.Decide(t.Context(), chat.ToolCall{Name: "add"}, Place{}); !d.Allowed {
				t.Errorf("%+v", d)
			}
		})
	}
	wg.Wait()
	if p.total.Load() != 1 || p.most.Load() != 1 {
		t.Errorf("%d questions, %d at once", p.total.Load(), p.most.Load())
	}
}

type counting struct{ total, now, most atomic.Int64 }

func (c *counting) Ask(context.Context, Question) (Answer, error) {
	c.total.Add(1)
	if n := c.now.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	defer c.now.Add(-1)
	return AlwaysTool, nil
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		o     GateOptions
		where string
	}{
		{GateOptions{Mode: "always"}, "mcp.approval.mode"},
		{GateOptions{Deny: []string{""}}, "mcp.approval.deny"},
		{GateOptions{Ask: []string{"calc/"}}, "mcp.approval.ask"},
		{GateOptions{Allow: []string{"/add"}}, "mcp.approval.allow"},
		{GateOptions{Allow: []string{" calc"}}, "mcp.approval.allow"},
	} {
		_, err := NewGate(tc.o)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.CodeUsage || f.Where != tc.where {
			t.Errorf("%+v: %v", tc.o, err)
		}
	}
}

func TestUnused(t *testing.T) {
	g := gate(t, GateOptions{Deny: []string{"calc", "clac"}, Ask: []string{"files/*"}, Allow: []string{"files/raed"}})
	if got, want := g.UnusedRules(), []string{"deny clac", "allow files/raed"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// path.Match agrees where there are no slashes and no other special characters.
func TestGlobAgreesWithPathMatch(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,8}`).Draw(r, "pattern")
		text := rapid.StringMatching(`[ab]{0,10}`).Draw(r, "text")
		want, err := path.Match(pattern, text)
		if err != nil {
			r.Skip()
		}
		if got := glob(pattern, text); got != want {
			r.Fatalf("glob(%q, %q) = %v", pattern, text, got)
		}
	})
}

// Whatever else the rules say, what a deny rule matches is never sent, and what is not sent reaches no server.
func TestDenyIsNeverOutranked(t *testing.T) {
	names := []string{"add", "sub", "read", "write", "c7", "files2"}
	pattern := rapid.SampledFrom([]string{"*", "calc", "calc/*", "files*", "files/read", "*/add", "io*", "nothing"})
	rapid.Check(t, func(r *rapid.T) {
		o := GateOptions{Tools: catalog, Prompter: YesToAll{},
			Mode: rapid.SampledFrom([]Mode{Ask, Auto, ReadOnly}).Draw(r, "mode"),
			Deny: rapid.SliceOfN(pattern, 0, 2).Draw(r, "deny"), Ask: rapid.SliceOfN(pattern, 0, 2).Draw(r, "ask"),
			Allow: rapid.SliceOfN(pattern, 0, 2).Draw(r, "allow")}
		g, err := NewGate(o)
		if err != nil {
			r.Fatal(err)
		}
		inner := &fakeTools{}
		s, err := g.Wrap(inner, nil).Open(t.Context(), "e")
		if err != nil {
			r.Fatal(err)
		}
		var calls []chat.ToolCall
		for _, n := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 6).Draw(r, "calls") {
			calls = append(calls, chat.ToolCall{ID: "id" + n, Name: n, Arguments: "{}"})
		}
		results := s.Call(t.Context(), calls)
		if len(results) != len(calls) {
			r.Fatalf("%d results for %d calls", len(results), len(calls))
		}
		sent := 0
		for i, res := range results {
			if res.Call != calls[i] || res.Approval == "" {
				r.Fatalf("result %d: %+v of %+v", i, res, calls[i])
			}
			_, denied := first(g.deny, catalog[calls[i].Name])
			if denied != (res.Status == trajectory.CallDenied) && (denied || o.Mode != ReadOnly) {
				r.Fatalf("deny rules match: %v, result %+v", denied, res)
			}
			if res.Status != trajectory.CallDenied {
				sent++
			} else if !strings.HasPrefix(res.Text, "The call was denied: ") || res.Error == "" {
				r.Fatalf("the model is not told: %+v", res)
			}
		}
		if sent != len(inner.sent) {
			r.Fatalf("%d calls reached the server, %d were allowed", len(inner.sent), sent)
		}
	})
}

type fakeTools struct {
	sent []chat.ToolCall
	err  error
}

func (f *fakeTools) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return f, f.err
}
func (f *fakeTools) Close() error      { return nil }
func (f *fakeTools) Dir(string) string { return "" }
func (f *fakeTools) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	return f.Call(ctx, []chat.ToolCall{call})[0]
}

func (f *fakeTools) Call(_ context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	f.sent = append(f.sent, calls...)
	var out []trajectory.ToolResult
	for _, c := range calls {
		out = append(out, trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: c.Name})
	}
	return out
}

func TestOpenFails(t *testing.T) {
	want := errors.New("down")
	if _, err := gate(t, GateOptions{}).Wrap(&fakeTools{err: want}, nil).Open(t.Context(), "e"); !errors.Is(err, want) {
		t.Error(err)
	}
}

// "Always" for the tool b of the server a is not "always" for a server called a/b.
func TestAlwaysIsForWhatWasShown(t *testing.T) {
	asked := []Tool{}
	g, err := NewGate(GateOptions{
		Tools: map[string]Tool{"b": {Server: "a", Name: "b"}, "c": {Server: "a/b", Name: "c"}},
		Prompter: prompt(func(_ context.Context, q Question) (Answer, error) {
			asked = append(asked, q.Tool)
			return AlwaysTool, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c", "b", "c"} {
		g.Decide(t.Context(), chat.ToolCall{Name: name}, Place{})
	}
	if len(asked) != 2 {
		t.Errorf("asked about %v", asked)
	}
}

// A question whose episode ended while it waited for another one's answer is not asked.
func TestNobodyIsAskedForAnEpisodeThatEnded(t *testing.T) {
	g, err := NewGate(GateOptions{Tools: map[string]Tool{"b": {Server: "a", Name: "b"}},
		Prompter: prompt(func(context.Context, Question) (Answer, error) { t.Error("asked"); return Yes, nil })})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d := g.Decide(ctx, chat.ToolCall{Name: "b"}, Place{}); d.Allowed || d.By != ByNobody {
		t.Errorf("%+v", d)
	}
}

// Where a question ends without an answer, the reason says how the call is answered in advance; where the run was
// stopped, it does not.
func TestUnansweredSaysHowToAnswerInAdvance(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	g, err := NewGate(GateOptions{Tools: map[string]Tool{"b": {Server: "a", Name: "b"}},
		Prompter: prompt(func(context.Context, Question) (Answer, error) { return No, io.EOF })})
	if err != nil {
		t.Fatal(err)
	}
	if d := g.Decide(ctx, chat.ToolCall{Name: "b"}, Place{}); d.By != ByNobody ||
		!strings.HasSuffix(d.Why, `(EOF) and no rule allows it; to send it, add "a/b" to mcp.approval.allow`) {
		t.Errorf("%+v", d)
	}
	stopping := prompt(func(context.Context, Question) (Answer, error) { stop(); return No, context.Canceled })
	g.prompter = stopping
	if d := g.Decide(ctx, chat.ToolCall{Name: "b"}, Place{}); d.By != ByNobody ||
		strings.Contains(d.Why, "mcp.approval") {
		t.Errorf("stopped: %+v", d)
	}
}

type prompt func(context.Context, Question) (Answer, error)

func (p prompt) Ask(ctx context.Context, q Question) (Answer, error) { return p(ctx, q) }

// What nobody has looked at is admitted where a rule allows it, or where the mode was chosen to send all.
func TestAdmit(t *testing.T) {
	late, reads := Tool{Server: "s", Name: "late"}, Tool{Server: "s", Name: "late", ReadOnly: true}
	for _, tc := range []struct {
		o        GateOptions
		tool     Tool
		reviewed bool
		why      string
	}{
		{GateOptions{Mode: Auto}, late, false, ""},
		{GateOptions{Mode: Auto}, late, true, "nobody has looked at it"},
		{GateOptions{Mode: Auto}, reads, true, "nobody has looked at it"},
		{GateOptions{Mode: Auto, Deny: []string{"s/l*"}}, late, false, "denied by the rule"},
		{GateOptions{Mode: Auto, Ask: []string{"s"}}, late, false, "out of mcp.approval.ask"},
		{GateOptions{Mode: Auto, Allow: []string{"s"}}, late, true, ""},
		{GateOptions{Mode: Ask}, late, true, "no rule allows it"},
		{GateOptions{Mode: Ask, Prompter: YesToAll{}}, late, true, "no rule allows it"},
		{GateOptions{Mode: Ask, Allow: []string{"s/late"}}, late, true, ""},
		{GateOptions{Mode: ReadOnly}, late, true, "not annotated"},
		{GateOptions{Mode: ReadOnly}, reads, true, "nobody has looked at it"},
		{GateOptions{Mode: Auto, Tools: map[string]Tool{"late": {Server: "other", Name: "late"}}}, late, false, "another tool has its name"},
	} {
		g, err := NewGate(tc.o)
		if err != nil {
			t.Fatal(err)
		}
		why := g.Admit("late", tc.tool, tc.reviewed)
		if (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%+v, %+v: %q, want %q", tc.o, tc.tool, why, tc.why)
		}
		if got, known := g.tool("late"); (why == "") != (known && got == tc.tool) {
			t.Errorf("%+v: why %q, and the gate knows %+v", tc.o, why, got)
		}
	}
}
