package scenario

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/blob"
)

// AssignSplits fills in Split where it is empty: 80% train, 10% validation, 10% test. Scenarios that ask for a same
// call, be it their first, are in one split, and so are those joined by a third: then no call of a test scenario is
// asked for in training, however it is worded. The calls of a scenario are its gold calls and those its checks want; a
// scenario without any goes by its opening. Calls are the same whatever the order of their arguments and the form of
// their numbers. A call without arguments says nothing of the task and joins only scenarios that have no other.
//
// What joins scenarios are calls written in the file. So it does not hold for calls that only the agent will build, for
// setup calls, which the model does not see, nor for rows whose splits are given, in the file, against it; rows beside
// such ones join the first of them.
//
// Scenarios that belong together go by the smallest hash of a call of theirs, so the order of rows does not matter, and
// adding rows moves none that share no call with them. Only where a split would stay empty is one such set moved into
// it, first into train, then validation, then test: the one with the greatest hash, from the split that has the most to
// give. A split stays empty where the sets are too few, as where one call is in all scenarios.
func AssignSplits(scenarios []Scenario) {
	keys := Together(scenarios)
	given := map[string]string{}
	for i, s := range scenarios {
		if s.Split != "" && given[keys[i]] == "" {
			given[keys[i]] = s.Split
		}
	}
	for i, s := range scenarios {
		if s.Split == "" {
			scenarios[i].Split = given[keys[i]]
		}
	}
	assign(scenarios, keys)
}

// Together returns a key for each scenario, equal for those that AssignSplits keeps together.
func Together(scenarios []Scenario) []string {
	parent := map[string]string{} // a forest over calls: joined calls have one root
	root := func(call string) string {
		for parent[call] != call {
			parent[call] = parent[parent[call]]
			call = parent[call]
		}
		return call
	}
	firsts := make([]string, len(scenarios))
	for i, s := range scenarios {
		calls := callsOf(s)
		firsts[i] = calls[0]
		for _, c := range calls {
			if _, known := parent[c]; !known {
				parent[c] = c
			}
			a, b := root(calls[0]), root(c)
			if hashOf(a) > hashOf(b) { // the root has the smallest hash, whatever comes first
				a, b = b, a
			}
			parent[b] = a
		}
	}
	keys := make([]string, len(scenarios))
	for i, first := range firsts {
		keys[i] = root(first)
	}
	return keys
}

// wantedCalls are the calls of a scenario: its gold calls, and those that its checks want.
func (s *Scenario) wantedCalls() []Gold {
	calls := s.Gold
	for _, c := range s.Checks {
		if c.Type == CallCheck {
			calls = append(calls[:len(calls):len(calls)],
				Gold{Name: c.Name, Arguments: slices.Concat(c.Arguments, c.ArgumentsMatch)})
		}
	}
	return calls
}

// Tools are the names of the tools that a scenario asks for, each once, in order.
func (s *Scenario) Tools() []string {
	var names []string
	for _, c := range s.wantedCalls() {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Calls are the calls by which a scenario is split, each written in one form, such as add {"a":1}; none where it asks
// for none.
func (s *Scenario) Calls() []string {
	if len(s.wantedCalls()) == 0 {
		return nil
	}
	calls := callsOf(*s)
	for i := range calls {
		calls[i] = strings.ReplaceAll(calls[i], "\x00", " ")
	}
	return calls
}

// callsOf are the calls a scenario asks for, each written in one form; at least one text.
func callsOf(s Scenario) []string {
	var bare, out []string
	for _, c := range s.wantedCalls() {
		arguments := jsontext.Value(bytes.Clone(c.Arguments))
		if err := arguments.Canonicalize(); err != nil { // Validate refuses such arguments
			arguments = jsontext.Value(c.Arguments)
		}
		call := c.Name + "\x00" + string(arguments)
		if string(arguments) == "{}" {
			bare = append(bare, call)
		} else {
			out = append(out, call)
		}
	}
	switch {
	case len(out) > 0:
		return out
	case len(bare) > 0:
		return []string{strings.Join(bare, "\x00")}
	}
	return []string{s.wording()}
}

func hashOf(key string) string {
	sum := blob.Of(key)
	return string(sum[:])
}

// assign fills in Split where it is empty; rows with the same key go together.
func assign(scenarios []Scenario, keyOf []string) {
	sizes := map[string]int{} // rows, given or assigned
	rows := map[string][]int{}
	for i, s := range scenarios {
		if s.Split != "" {
			sizes[s.Split]++
			continue
		}
		rows[keyOf[i]] = append(rows[keyOf[i]], i)
	}
	keys := make([]string, 0, len(rows))
	hash := map[string]string{}
	for k := range rows {
		keys, hash[k] = append(keys, k), hashOf(k)
	}
	slices.SortFunc(keys, func(a, b string) int { return strings.Compare(hash[b], hash[a]) })
	assigned := map[string][]string{} // split -> its keys, greatest hash first
	for _, k := range keys {
		split := Train
		switch binary.BigEndian.Uint64([]byte(hash[k][8:16])) % 10 {
		case 8:
			split = Validation
		case 9:
			split = Test
		}
		assigned[split] = append(assigned[split], k)
	}
	fillEmpty(assigned, sizes)
	for split, list := range assigned {
		for _, k := range list {
			for _, i := range rows[k] {
				scenarios[i].Split = split
			}
		}
	}
}

// fillEmpty moves a key into each split that has neither an assigned key nor, by sizes, a given row.
func fillEmpty(assigned map[string][]string, sizes map[string]int) {
	for n, split := range []string{Train, Validation, Test} {
		if sizes[split] > 0 || len(assigned[split]) > 0 {
			continue
		}
		donor := ""
		for _, from := range []string{Test, Validation, Train} {
			// Train must be filled, so it may take a split's only key; the others may not.
			spare := len(assigned[from]) > 1 ||
				len(assigned[from]) == 1 && (n == 0 || sizes[from] > 0 || from == Test && n == 1)
			if spare && (donor == "" || len(assigned[from]) > len(assigned[donor])) {
				donor = from
			}
		}
		if donor != "" {
			assigned[split] = append(assigned[split], assigned[donor][0])
			assigned[donor] = assigned[donor][1:]
		}
	}
}

// SplitSizes are how many scenarios each split has, and how many sets that share calls are in more than one.
func SplitSizes(list []Scenario) (sizes map[string]int, torn int) {
	sizes, splits := map[string]int{}, map[string]map[string]bool{} // by set
	together := Together(list)
	for i, s := range list {
		sizes[s.Split]++
		key := together[i]
		if splits[key] == nil {
			splits[key] = map[string]bool{}
		}
		if splits[key][s.Split] {
			continue
		}
		if splits[key][s.Split] = true; len(splits[key]) == 2 {
			torn++
		}
	}
	return sizes, torn
}
