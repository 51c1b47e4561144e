package scenario

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"sort"

	"github.com/go-json-experiment/json/jsontext"
)

// AssignSplits fills in Split where it is empty, by a hash of the task alone: 80% train, 10% validation, 10% test.
// So the same task always falls in the same split, rows with the same task are never torn apart, and adding rows moves
// no other. Only where a split would stay empty is a task moved into it, first into train, then validation, then test:
// the one with the greatest hash, from the split that has the most tasks to give.
func AssignSplits(scenarios []Scenario) {
	assign(scenarios, func(s Scenario) string { return s.Task })
}

// AssignSplitsByCall is AssignSplits by a hash of the first gold call, else of the first call that is checked, else of
// the task: one call worded in many ways then is in one split, so no call of the test split is asked for in training. A
// row without a split joins the rows of its call that have one.
func AssignSplitsByCall(scenarios []Scenario) {
	given := map[string]string{}
	for _, s := range scenarios {
		if key := CallKey(s); s.Split != "" && given[key] == "" {
			given[key] = s.Split
		}
	}
	for i, s := range scenarios {
		if s.Split == "" {
			scenarios[i].Split = given[CallKey(s)]
		}
	}
	assign(scenarios, CallKey)
}

// CallKey is equal for scenarios that AssignSplitsByCall keeps together: whatever the order of a call's arguments and the
// form of its numbers.
func CallKey(s Scenario) string {
	calls := s.Gold
	for _, c := range s.Checks {
		if c.Type == CallCheck {
			calls = append(calls[:len(calls):len(calls)], Gold{c.Name, c.Arguments})
		}
	}
	if len(calls) == 0 {
		return s.Task
	}
	arguments := jsontext.Value(bytes.Clone(calls[0].Arguments))
	if err := arguments.Canonicalize(); err != nil { // Validate refuses such arguments
		arguments = jsontext.Value(calls[0].Arguments)
	}
	return calls[0].Name + "\x00" + string(arguments)
}

// assign fills in Split where it is empty; rows with the same key go together.
func assign(scenarios []Scenario, key func(Scenario) string) {
	sizes := map[string]int{} // rows, given or assigned
	rows := map[string][]int{}
	for i, s := range scenarios {
		if s.Split != "" {
			sizes[s.Split]++
			continue
		}
		rows[key(s)] = append(rows[key(s)], i)
	}
	keys := make([]string, 0, len(rows))
	hash := map[string][32]byte{}
	for k := range rows {
		keys, hash[k] = append(keys, k), sha256.Sum256([]byte(k))
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := hash[keys[i]], hash[keys[j]]
		return bytes.Compare(a[:], b[:]) > 0
	})
	assigned := map[string][]string{} // split -> its keys, greatest hash first
	for _, k := range keys {
		sum := hash[k]
		split := Train
		switch binary.BigEndian.Uint64(sum[8:16]) % 10 {
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
			spare := len(assigned[from]) > 1 || len(assigned[from]) == 1 && (n == 0 || sizes[from] > 0 || from == Test && n == 1)
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
