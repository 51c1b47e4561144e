package stats

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Breakdown is success by the values of one property of scenarios, such as their kind.
type Breakdown struct {
	Name    string         `json:"name"` // "kind"
	Values  []BreakdownRow `json:"values"`
	LeftOut int            `json:"left_out,omitempty"` // how many other values there are, of fewer scenarios
}

// BreakdownRow is the scenarios of one value.
type BreakdownRow struct {
	Value  string     `json:"value"`
	First  []Interval `json:"first_call"`       // by system, over scenarios with gold calls
	Whole  []Interval `json:"completion"`       // whole-episode success, by system
	Deltas []Interval `json:"deltas,omitempty"` // of whole-episode success, by pair
}

// breakdown estimates success by the values that of gives a row, in alphabetic order. A row may have several values, or
// none, with which it is in no line.
func (c Comparison) breakdown(name string, of func(Row) []string) Breakdown {
	by := map[string][]System{}
	for i, s := range c.Systems {
		for _, r := range s.Rows {
			for _, v := range of(r) {
				if by[v] == nil {
					by[v] = make([]System, len(c.Systems))
				}
				by[v][i].Rows = append(by[v][i].Rows, r)
			}
		}
	}
	out := Breakdown{Name: name}
	values := slices.Sorted(maps.Keys(by))
	if len(values) > mostValues {
		scenarios := map[string]int{}
		for v, systems := range by {
			ids := map[string]bool{}
			for _, s := range systems {
				for _, r := range s.Rows {
					ids[r.ScenarioID] = true
				}
			}
			scenarios[v] = len(ids)
		}
		slices.SortStableFunc(values, func(a, b string) int { return cmp.Compare(scenarios[b], scenarios[a]) })
		values, out.LeftOut = values[:mostValues], len(values)-mostValues
		slices.Sort(values)
	}
	if len(values) == 0 {
		return out
	}
	out.Values = make([]BreakdownRow, len(values))
	atOnce(len(values), func(i int) { out.Values[i] = c.breakdownRow(values[i], by[values[i]]) })
	return out
}

// mostValues is how many values a breakdown has at most: those of the most scenarios, of which there is most to know. A
// tag that nearly each scenario has a value of its own of, such as a date, would make a report of nothing else, and
// take hours.
const mostValues = 50

func (c Comparison) breakdownRow(value string, systems []System) BreakdownRow {
	k := BreakdownRow{Value: value}
	for _, s := range systems {
		k.First = append(k.First, Estimate(s.Rows, FirstCall(), c.Bootstrap))
		k.Whole = append(k.Whole, Estimate(s.Rows, Completion(), c.Bootstrap))
	}
	for _, p := range c.pairs() {
		k.Deltas = append(k.Deltas,
			Compare(systems[c.place(p.Old)].Rows, systems[c.place(p.New)].Rows, Completion(), c.Bootstrap))
	}
	return k
}

// Breakdowns are success by kind, tool, server, difficulty, whether tools and servers were trained on, whether a tool
// fits, and by other tags of the form name:value. One with a single value tells nothing that the whole does not, and is
// left out.
func (c Comparison) Breakdowns() []Breakdown {
	one := func(value func(Row) string) func(Row) []string {
		return func(r Row) []string {
			if v := value(r); v != "" {
				return []string{v}
			}
			return nil
		}
	}
	seen := func(flag func(Row) *bool) func(Row) []string {
		return one(func(r Row) string {
			switch f := flag(r); {
			case f == nil:
				return ""
			case *f:
				return "seen"
			}
			return "unseen"
		})
	}
	type property struct {
		name string
		of   func(Row) []string
	}
	all := []property{
		{"kind", one(func(r Row) string { return r.Kind })},
		{"tool", func(r Row) []string { return r.Tools }},
		{"server", func(r Row) []string { return r.Servers }},
		{"difficulty", one(func(r Row) string { return r.Difficulty })},
		{"tools in training", seen(func(r Row) *bool { return r.SeenTools })},
		{"servers in training", seen(func(r Row) *bool { return r.SeenServers })},
		{"tool that fits", one(func(r Row) string {
			switch {
			case r.MissingTool:
				return "missing"
			case r.NoTool:
				return "none"
			}
			return "there is one"
		})},
	}
	for _, name := range c.tagNames() {
		all = append(all, property{name, func(r Row) (values []string) {
			for _, tag := range r.Tags {
				if value, ok := strings.CutPrefix(tag, name+":"); ok {
					values = append(values, value)
				}
			}
			return values
		}})
	}
	var out []Breakdown
	for _, p := range all {
		if b := c.breakdown(p.name, p.of); len(b.Values) > 1 {
			out = append(out, b)
		}
	}
	return out
}

// tagNames are the names of tags of the form name:value that are no property of their own.
func (c Comparison) tagNames() []string {
	names := map[string]bool{}
	for _, s := range c.Systems {
		for _, r := range s.Rows {
			for _, tag := range r.Tags {
				name, _, ok := strings.Cut(tag, ":")
				if ok && name+":" != KindTag && name+":" != FamilyTag && name != "difficulty" {
					names[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// PartRegression is a part of the scenarios, such as those of one tool, that a system does less often than another one:
// the whole interval of the difference is below 0. Of many parts that did not change, one in 40 is here by chance.
type PartRegression struct {
	Property string   `json:"property"` // "tool"
	Value    string   `json:"value"`
	Old      string   `json:"old"`
	New      string   `json:"new"`
	Delta    Interval `json:"delta"`
}

// partRegressions finds them in breakdowns, the largest fall first.
func partRegressions(all []Breakdown, pairs []Pair) (out []PartRegression) {
	for _, b := range all {
		for _, v := range b.Values {
			for i, d := range v.Deltas {
				if d.N > 0 && d.High < 0 {
					out = append(out, PartRegression{b.Name, v.Value, pairs[i].Old, pairs[i].New, d})
				}
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return cmp.Compare(out[i].Delta.Mean, out[j].Delta.Mean) < 0 })
	return out
}
