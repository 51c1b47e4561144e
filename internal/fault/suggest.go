package fault

import (
	"slices"
	"strings"
)

// Nearest returns the name with the fewest edits (a byte inserted, deleted or replaced) to written, the earliest of
// several. None is nearest where more than a third of the letters, and one, would change. A name that written begins,
// with three letters or more, is one edit away: people leave the end off.
func Nearest(written string, names []string) string {
	return nearest(written, names, 1+len(written)/3)
}

// NearestVerb is Nearest among words as short as verbs, of which two edits make another: no more than a fifth of the
// letters, and one, change, or the letters are the same in another order.
func NearestVerb(written string, names []string) string {
	letters := func(word string) string {
		of := strings.Split(strings.ToLower(word), "")
		slices.Sort(of)
		return strings.Join(of, "")
	}
	if near := nearest(written, names, 1+len(written)/5); near != "" {
		return near
	}
	if i := slices.IndexFunc(names, func(name string) bool { return letters(name) == letters(written) }); i >= 0 {
		return names[i]
	}
	return ""
}

func nearest(written string, names []string, limit int) string {
	written = strings.ToLower(written)
	best := ""
	for _, name := range names {
		d := distance(written, name)
		if len(written) >= 3 && strings.HasPrefix(name, written) {
			d = min(d, 1)
		}
		if d <= limit && d < len(name) {
			best, limit = name, d-1
		}
	}
	return best
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
