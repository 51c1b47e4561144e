package scenario

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"sort"
)

// AssignSplits fills in Split where it is empty, by a hash of the task alone: 80% train, 10% validation, 10% test.
// So the same task always falls in the same split, rows with the same task are never torn apart, and adding rows moves
// no other. Only where a split would stay empty is a task moved into it, first into train, then validation, then test:
// the one with the greatest hash, from the split that has the most tasks to give.
func AssignSplits(scenarios []Scenario) {
	sizes := map[string]int{} // rows, given or assigned
	rows := map[string][]int{}
	for i, s := range scenarios {
		if s.Split != "" {
			sizes[s.Split]++
			continue
		}
		rows[s.Task] = append(rows[s.Task], i)
	}
	tasks := make([]string, 0, len(rows))
	hash := map[string][32]byte{}
	for task := range rows {
		tasks, hash[task] = append(tasks, task), sha256.Sum256([]byte(task))
	}
	sort.Slice(tasks, func(i, j int) bool {
		a, b := hash[tasks[i]], hash[tasks[j]]
		return bytes.Compare(a[:], b[:]) > 0
	})
	assigned := map[string][]string{} // split -> its tasks, greatest hash first
	for _, task := range tasks {
		sum := hash[task]
		split := Train
		switch binary.BigEndian.Uint64(sum[8:16]) % 10 {
		case 8:
			split = Validation
		case 9:
			split = Test
		}
		assigned[split] = append(assigned[split], task)
	}
	for n, split := range []string{Train, Validation, Test} {
		if sizes[split] > 0 || len(assigned[split]) > 0 {
			continue
		}
		donor := ""
		for _, from := range []string{Test, Validation, Train} {
			// Train must be filled, so it may take a split's only task; the others may not.
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
	for split, list := range assigned {
		for _, task := range list {
			for _, i := range rows[task] {
				scenarios[i].Split = split
			}
		}
	}
}
