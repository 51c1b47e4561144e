package tasks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/fault"
)

// byReason are tasks by why they are in a list, the most frequent reason first.
func byReason(list []Refused) (reasons []string, of map[string][]Refused) {
	of = map[string][]Refused{}
	for _, x := range list {
		of[x.Why] = append(of[x.Why], x)
	}
	reasons = slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(len(of[b]), len(of[a])) })
	return reasons, of
}

// Tell says what did not become a scenario, and which servers the others need.
func (i Imported) Tell(say func(format string, args ...any)) {
	for _, kind := range []struct {
		what string
		list []Refused
	}{{"refused", i.Refused}, {"without checks:", i.Unchecked}} {
		reasons, of := byReason(kind.list)
		for _, why := range reasons {
			say("%s %s, the first %s: %s", kind.what, fault.Count(len(of[why]), "task"), of[why][0].Where, why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.Unknown)) {
		say("unknown field %s: %s; it says nothing in a scenario", name, fault.Count(i.Unknown[name], "time"))
	}
	for _, name := range slices.Sorted(maps.Keys(i.LeftOut)) {
		say("left out, for scenarios have no place for it: %s: %s", name, fault.Count(i.LeftOut[name], "time"))
	}
	var servers []string
	for _, name := range slices.Sorted(maps.Keys(i.Servers)) {
		servers = append(servers, fmt.Sprintf("%s (%d)", name, i.Servers[name]))
	}
	if len(servers) > 0 {
		say("servers that the tasks need, by their names there: %s", strings.Join(servers, ", "))
	}
}

// Rows are the numbers, with the file that the scenarios are in.
func (i Imported) Rows(out string) [][]string {
	rows := [][]string{
		{"scenarios", fmt.Sprint(i.Scenarios)},
		{"refused", fmt.Sprint(len(i.Refused))},
		{"not asked for", fmt.Sprint(i.Others)},
		{"written to", out},
	}
	if i.Files != "" {
		rows = append(rows, []string{"files beside them", i.Files})
	}
	return rows
}
