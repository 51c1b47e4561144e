package fault

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Omission is the line that tells what a reader did not take of what it read: of results, rows, configurations and
// requests alike.
func Omission(what, where string) string { return "left aside: " + what + ", in " + where }

// Asides counts what a reader left aside, by what it is.
type Asides map[string]Aside

// Aside is how often one thing was left aside, and where first: "at line 3", "of the tool get".
type Aside struct {
	Times int
	First string
}

// Add counts one more.
func (a Asides) Add(what, where string) {
	of, known := a[what]
	if !known {
		of.First = where
	}
	of.Times++
	a[what] = of
}

// Sorted are the things, the most frequent first.
func (a Asides) Sorted() []string {
	all := slices.Sorted(maps.Keys(a))
	slices.SortStableFunc(all, func(x, y string) int { return cmp.Compare(a[y].Times, a[x].Times) })
	return all
}

// Lines tell of the most frequent things, at most so many of them. They were left aside of what noun calls one of;
// where more than are told can be seen, rest says.
func (a Asides) Lines(most int, noun, rest string) (lines []string) {
	for i, what := range a.Sorted() {
		if i == most {
			return append(lines, fmt.Sprintf("left aside: %d more, %s", len(a)-most, rest))
		}
		lines = append(lines,
			Omission(what, fmt.Sprintf("%s, the first %s", Count(a[what].Times, noun), a[what].First)))
	}
	return lines
}
