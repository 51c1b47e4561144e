package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

func tool(name, description string) chat.Tool {
	return chat.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

// many returns n tools of which tool i is about thing i.
func many(n int) []chat.Tool {
	var out []chat.Tool
	for i := range n {
		out = append(out, tool(fmt.Sprintf("tool%d", i), fmt.Sprintf("Handles thing%d of the system", i)))
	}
	return out
}

func namesIn(tools []chat.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"readFile": "read file", "read_text_file": "read text file", "HTTPServer2": "http server2",
		"List files, please!": "list file please", "class": "class", "gas": "gas", "文件 read": "文 件 read", "": "",
		"naïve Ünder": "naïve ünder",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRank(t *testing.T) {
	tools := []chat.Tool{
		tool("read_file", "Reads a text file from disk"),
		tool("write_file", "Writes a text file to disk"),
		tool("send_mail", "Sends a message to a person"),
		{
			Name:        "plot",
			Description: "Draws",
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"axis":{"description":"the horizontal coordinate"}}}`,
			),
		},
		{Name: "broken", Description: "No schema", InputSchema: json.RawMessage(`{`)},
	}
	x := NewIndex(tools)
	for _, tc := range []struct {
		query string
		first string
		n     int
	}{
		{"please read files", "read_file", 2},
		{"write it down", "write_file", 1},
		{"message somebody by mail", "send_mail", 1},
		{"horizontal", "plot", 1},
		{"axis", "plot", 1},
		{"quantum", "", 0},
		{"", "", 0},
	} {
		ranked := x.Rank(tc.query)
		if len(ranked) != tc.n || tc.n > 0 && tools[ranked[0]].Name != tc.first {
			t.Errorf("%q: %v", tc.query, ranked)
		}
	}
	if got := NewIndex(nil).Rank("x"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// Worked by hand: two texts of equal length, one with the word: ln(1 + 1.5/1.5) * 1 * 2.2 / (1 + 1.2) = ln 2, so that a
// third word of the query that both have, with idf ln(1 + 0.5/2.5), cannot turn the order.
func TestScoresByHand(t *testing.T) {
	x := NewIndex([]chat.Tool{tool("aa", "common"), tool("bb", "common")})
	if got, want := x.idf["aa"], 0.6931471805599453; got != want {
		t.Errorf("idf of a word in one of two texts is %v, want ln 2", got)
	}
	if got := x.Rank("common bb"); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("%v", got)
	}
	if got := x.Rank("common"); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("equals are not in the catalog's order: %v", got)
	}
}

func TestSelect(t *testing.T) {
	tools := many(100)
	s := NewSelector(tools, SelectorOptions{Seed: 7})
	got, err := s.Select("a", "do something with thing42 and thing77", []string{"tool99"})
	if err != nil || len(got) != DefaultMax {
		t.Fatalf("%d tools, %v", len(got), err)
	}
	for _, name := range []string{"tool42", "tool77", "tool99"} {
		if !slices.Contains(namesIn(got), name) {
			t.Errorf("%s is missing", name)
		}
	}
	few := many(40)
	if all, err := NewSelector(few, SelectorOptions{}).Select("a", "x", nil); err != nil || len(all) != 40 {
		t.Errorf("40 tools fit: %d, %v", len(all), err)
	}
	gold := namesIn(tools[:50])
	if more, err := s.Select("a", "x", gold); err != nil || !slices.Equal(namesIn(more), gold) {
		t.Errorf("gold is more than fits: %v, %v", namesIn(more), err)
	}
	for _, all := range [][]chat.Tool{tools, few} {
		_, err = NewSelector(all, SelectorOptions{}).Select("a", "x", []string{"nonsense"})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.CodeUsage {
			t.Errorf("unknown gold: %v", err)
		}
	}
}

// The same seed and scenario give the same tools, another of either others; the task chooses all but the distractors.
func TestDistractors(t *testing.T) {
	tools := many(200)
	task := ""
	for i := range 60 {
		task += fmt.Sprintf("thing%d ", i)
	}
	pick := func(o SelectorOptions, id string) []string {
		got, err := NewSelector(tools, o).Select(id, task, nil)
		if err != nil {
			t.Fatal(err)
		}
		return namesIn(got)
	}
	base := pick(SelectorOptions{Max: 20, Distractors: 8, Seed: 1}, "a")
	if !slices.Equal(base, pick(SelectorOptions{Max: 20, Distractors: 8, Seed: 1}, "a")) {
		t.Error("not deterministic")
	}
	if slices.Equal(base, pick(SelectorOptions{Max: 20, Distractors: 8, Seed: 2}, "a")) ||
		slices.Equal(base, pick(SelectorOptions{Max: 20, Distractors: 8, Seed: 1}, "b")) {
		t.Error("seed or scenario changes nothing")
	}
	matched := 0
	for _, name := range pick(SelectorOptions{Max: 20, Distractors: -1}, "a") {
		if slices.Index(namesIn(tools), name) < 60 {
			matched++
		}
	}
	if matched != 20 {
		t.Errorf("without distractors %d of 20 match", matched)
	}
}

// Whatever the catalog, task and options: no more than Max, or gold; gold is there; no tool twice; catalog order; the
// order of the catalog does not change which are chosen as distractors.
func TestSelectProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tools := many(rapid.IntRange(0, 80).Draw(r, "tools"))
		o := SelectorOptions{Max: rapid.IntRange(0, 30).Draw(r, "max"),
			Distractors: rapid.IntRange(-1, 40).Draw(r, "distractors"), Seed: rapid.Uint64().Draw(r, "seed")}
		var gold []string
		if len(tools) > 0 {
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(tools)-1), 0, 5).Draw(r, "gold") {
				gold = append(gold, tools[i].Name)
			}
		}
		task := rapid.SampledFrom([]string{"", "thing3 thing5", "handles the system", "nothing"}).Draw(r, "task")
		s := NewSelector(tools, o)
		got, err := s.Select("id", task, gold)
		if err != nil {
			r.Fatal(err)
		}
		names := namesIn(got)
		limit := s.o.Max
		if want := max(min(limit, len(tools)),
			len(slices.Compact(slices.Sorted(slices.Values(gold))))); len(names) != want && len(tools) > limit {
			r.Fatalf("%d tools, want %d", len(names), want)
		}
		for _, g := range gold {
			if !slices.Contains(names, g) {
				r.Fatalf("gold %s is missing in %v", g, names)
			}
		}
		at := -1
		for _, n := range names {
			next := slices.Index(namesIn(tools), n)
			if next <= at {
				r.Fatalf("not in the catalog's order: %v", names)
			}
			at = next
		}
	})
}

type fake struct {
	sent   []chat.ToolCall
	closed int
	err    error
}

func (f *fake) Open(context.Context, string, ...environment.Template) (environment.Session, error) {
	return f, f.err
}
func (f *fake) Close() error      { f.closed++; return nil }
func (f *fake) Dir(string) string { return "" }
func (f *fake) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	return f.Call(ctx, []chat.ToolCall{call})[0]
}
func (f *fake) Call(_ context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	f.sent = append(f.sent, calls...)
	var out []trajectory.ToolResult
	for _, c := range calls {
		out = append(out, trajectory.ToolResult{Call: c, Status: trajectory.CallOK, Text: "did " + c.Name})
	}
	return out
}

func call(name, arguments string) chat.ToolCall {
	return chat.ToolCall{ID: "c", Name: name, Arguments: arguments}
}

func TestSearch(t *testing.T) {
	inner := &fake{}
	s := NewSearch(inner, many(100))
	s.results = 2
	if got := namesIn(s.ToolList()); !slices.Equal(got, []string{"search_tools"}) {
		t.Fatalf("%v", got)
	}
	opened, err := s.Open(t.Context(), "e")
	if err != nil {
		t.Fatal(err)
	}
	session := opened.(*SearchSession)
	// One turn: a search, a tool it finds, one that is nowhere, and searches that fail.
	results := session.Call(t.Context(), []chat.ToolCall{
		call("search_tools", `{"query":"thing42"}`), call("tool42", "{}"),
		call("nowhere", "{}"), call("search_tools", `{"q":1}`), call("search_tools", `{"query":"zebra"}`),
		call("search_tools", `{}`),
	})
	for i, want := range []struct {
		status trajectory.CallStatus
		text   string
	}{{trajectory.CallOK, `"name":"tool42"`}, {trajectory.CallInvalid, "call search_tools first"},
		{trajectory.CallOK, "did nowhere"}, {trajectory.CallInvalid, `want {"query"`},
		{trajectory.CallOK, "No tool matches"}, {trajectory.CallInvalid, "invalid"}} {
		if results[i].Status != want.status || !strings.Contains(results[i].Text, want.text) {
			t.Errorf("call %d: %+v, want %+v", i, results[i], want)
		}
		if searched := results[i].Call.Name == "search_tools"; results[i].Search != searched {
			t.Errorf("call %d: marked as a search: %v", i, !searched)
		}
	}
	if got := namesIn(session.CallableTools()); !slices.Equal(got, []string{"search_tools", "tool42"}) {
		t.Errorf("offered %v", got)
	}
	// The next turn may call what was found, and a search for more words finds no more than Results.
	results = session.Call(t.Context(),
		[]chat.ToolCall{call("tool42", "{}"), call("search_tools", `{"query":"handles the system"}`)})
	if results[0].Text != "did tool42" || strings.Count(results[1].Text, `"function"`) != 4 ||
		len(session.CallableTools()) != 4 {
		t.Errorf("%+v, offered %v", results, namesIn(session.CallableTools()))
	}
	if len(inner.sent) != 2 {
		t.Errorf("sent %v", inner.sent)
	}
	if err := session.Close(); err != nil || inner.closed != 1 {
		t.Errorf("closed %d times, %v", inner.closed, err)
	}
	other, err := s.Open(t.Context(), "f")
	if err != nil || len(other.(*SearchSession).CallableTools()) != 1 {
		t.Errorf("what one episode found, another knows: %v", err)
	}
}

func TestSearchNames(t *testing.T) {
	s := NewSearch(&fake{err: errors.New("down")}, []chat.Tool{tool("search_tools", "the server's own")})
	if got := s.ToolList()[0].Name; got != "search_tools_" {
		t.Error(got)
	}
	if _, err := s.Open(t.Context(), "e"); err == nil {
		t.Error("the error of Open is lost")
	}
}

func TestNeeded(t *testing.T) {
	for _, tc := range []struct {
		tokens, context int
		share           float64
		want            bool
	}{{100, 2048, 0.25, false}, {513, 2048, 0.25, true}, {512, 2048, 0.25, false}} {
		if got := NeedsSearch(tc.tokens, tc.context, tc.share); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

func BenchmarkSelect(b *testing.B) {
	s := NewSelector(many(1000), SelectorOptions{})
	for b.Loop() {
		if _, err := s.Select("id", "handles thing7 and thing800", nil); err != nil {
			b.Fatal(err)
		}
	}
}
