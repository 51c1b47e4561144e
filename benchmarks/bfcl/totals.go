package bfcl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// Rates are those of some lines, in [0, 1].
type Rates struct {
	Tool  stats.Interval `json:"tool"`
	Param stats.Interval `json:"param"`
	AST   stats.Interval `json:"ast"`
}

// Group is the lines of one value.
type Group struct {
	Value string `json:"value"`
	Lines int    `json:"lines"`
	Rates
}

// Totals of all lines, and by what sets them apart.
type Totals struct {
	Lines  int `json:"lines"`
	Failed int `json:"failed"` // that could not be graded, and are in no rate
	// Stopped are lines where BFCL's checker itself ends with an error. They count as wrong.
	Stopped int `json:"stopped"`
	// Unread are lines where no call is right and the output cannot be read: ast is true there, and tool is not.
	Unread      int            `json:"unread"`
	UnknownKeys map[string]int `json:"unknown_keys,omitempty"` // of lines, by how many have them
	Rates
	Categories []Group `json:"categories"`
	Candidates []Group `json:"candidates"`     // by how many tools were offered
	Seen       []Group `json:"seen,omitempty"` // by whether training had the tools that gold calls
}

// graded is one line with its verdict.
type graded struct {
	scenario         string
	tool, param, ast bool
	category         string
	numTools         int
	seen             string // "" where nothing is to be seen
}

// rates are shares of lines. Those with one id are one observation, as repeats of one question are.
func rates(of []graded) Rates {
	estimate := func(metric func(graded) bool) stats.Interval {
		rows := make([]stats.Row, len(of))
		for i, g := range of {
			rows[i] = stats.Row{ScenarioID: strconv.Itoa(i), Family: g.scenario, Episode: metric(g)}
		}
		share := stats.Estimate(rows, stats.Completion(), stats.Bootstrap{})
		if share.Clusters > 0 {
			share.N, share.Clusters = share.Clusters, 0
		}
		return share
	}
	return Rates{Tool: estimate(func(g graded) bool { return g.tool }),
		Param: estimate(func(g graded) bool { return g.param }), AST: estimate(func(g graded) bool { return g.ast })}
}

// groups are the lines by a value, in the order of the keys that order gives values.
func groups(of []graded, value func(graded) string, order func(string) int) []Group {
	by := map[string][]graded{}
	for _, g := range of {
		if v := value(g); v != "" {
			by[v] = append(by[v], g)
		}
	}
	var out []Group
	for _, v := range slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b))
	}) {
		out = append(out, Group{Value: v, Lines: len(by[v]), Rates: rates(by[v])})
	}
	return out
}

// manyCounts is how many numbers of candidate tools are told apart before they are put together.
const manyCounts = 6

func (t *Totals) add(of []graded) {
	t.Rates = rates(of)
	none := func(string) int { return 0 }
	t.Categories = groups(of, func(g graded) string { return g.category }, none)
	exact := map[int]bool{}
	for _, g := range of {
		exact[g.numTools] = true
	}
	candidates := func(g graded) string { return strconv.Itoa(g.numTools) }
	if len(exact) > manyCounts {
		candidates = func(g graded) string { return between(g.numTools) }
	}
	t.Candidates = groups(of, candidates, leading)
	t.Seen = groups(of, func(g graded) string { return g.seen }, func(v string) int {
		return slices.Index([]string{SeenTool, UnseenTool, UnseenServer}, v)
	})
}

// between names a range of numbers of tools.
func between(n int) string {
	for _, b := range [][2]int{{0, 0}, {1, 1}, {2, 10}, {11, 100}} {
		switch {
		case n > b[1]:
		case b[0] == b[1]:
			return strconv.Itoa(n)
		default:
			return fmt.Sprintf("%d-%d", b[0], b[1])
		}
	}
	return "101 or more"
}

// leading is the number that a text begins with.
func leading(text string) int {
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// Table is the totals as lines of cells, the heading first.
func (t Totals) Table() [][]string {
	out := [][]string{{"", "LINES", "TOOL", "PARAM", "AST"}, cells("all", t.Lines-t.Failed, t.Rates)}
	for _, part := range []struct {
		name   string
		groups []Group
	}{{"", t.Categories}, {"candidate tools: ", t.Candidates}, {"", t.Seen}} {
		for _, g := range part.groups {
			out = append(out, cells(part.name+g.Value, g.Lines, g.Rates))
		}
	}
	return out
}

func cells(name string, lines int, r Rates) []string {
	out := []string{name, strconv.Itoa(lines)}
	for _, i := range []stats.Interval{r.Tool, r.Param, r.AST} {
		text := "-"
		if i.N > 0 {
			text = fmt.Sprintf("%.1f%% [%.1f, %.1f]", 100*i.Mean, 100*i.Low, 100*i.High)
			if i.TooFew {
				text += " too few"
			}
		}
		out = append(out, text)
	}
	return out
}

// tooFew reports whether an interval of the table says so.
func (t Totals) tooFew() bool {
	all := []Rates{t.Rates}
	for _, g := range slices.Concat(t.Categories, t.Candidates, t.Seen) {
		all = append(all, g.Rates)
	}
	return slices.ContainsFunc(all, func(r Rates) bool { return r.Tool.TooFew || r.Param.TooFew || r.AST.TooFew })
}

// mostKeys is how many unknown keys a note names.
const mostKeys = 10

// Notes say what the table does not: which lines are in no rate, or count as wrong for a reason of their own.
func (t Totals) Notes() []string {
	var out []string
	if t.Failed > 0 {
		out = append(out, fmt.Sprintf("%s could not be graded, and no rate counts them", fault.Count(t.Failed, "line")))
	}
	if t.Stopped > 0 {
		out = append(out,
			fmt.Sprintf("BFCL's checker itself ends with an error on %s, which \"errors\" names; they count as wrong",
				fault.Count(t.Stopped, "line")))
	}
	if t.Unread > 0 {
		out = append(
			out, fmt.Sprintf("on %s no call is right, and the output cannot be read as calls: "+
				"AST counts it as no call, as BFCL does, and TOOL as wrong", fault.Count(t.Unread, "line")),
		)
	}
	if t.tooFew() {
		out = append(out,
			"too few: fewer than 5 questions hold a success, or a failure; such intervals are wide on purpose")
	}
	if len(t.UnknownKeys) == 0 {
		return out
	}
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(t.UnknownKeys)) {
		keys = append(keys, fmt.Sprintf("%q in %s", key, fault.Count(t.UnknownKeys[key], "line")))
	}
	if more := len(keys) - mostKeys; more > 0 {
		keys = append(keys[:mostKeys], fmt.Sprintf("and %d more", more))
	}
	return append(out, "keys that mean nothing here: "+strings.Join(keys, ", "))
}
