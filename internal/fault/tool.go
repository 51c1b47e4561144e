package fault

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// NoTool says that no tool has a name, and which of some names is meant: the same behind a server's name, without the
// mark by which two servers' tools are told apart, or with signs that models cannot write.
func NoTool(name string, names []string) string {
	const most = 20
	text := fmt.Sprintf("there is no tool %q", name)
	if same := possibleTools(name, names); len(same) > 0 {
		var quoted []string
		for _, s := range same {
			quoted = append(quoted, fmt.Sprintf("%q", s))
		}
		return text + "; here it is called " + strings.Join(quoted, " or ")
	}
	if near := Nearest(name, names); near != "" {
		return text + fmt.Sprintf("; did you mean %q?", near)
	}
	switch sorted := slices.Sorted(slices.Values(names)); {
	case len(sorted) == 0:
		return text
	case len(sorted) > most:
		return text + "; there are " + strings.Join(sorted[:most], ", ") + ", ..."
	default:
		return text + "; there are " + strings.Join(sorted, ", ")
	}
}

var (
	notInTool = regexp.MustCompile(`[^a-z0-9]+`)
	toolHash  = regexp.MustCompile(`_[0-9a-f]{8}$`)
	ofServer  = regexp.MustCompile(`^.*(__|[./:])`)
	firstPart = regexp.MustCompile(`^.*?(__|[./:])`)
)

// possibleTools are the names that a name may stand for: all of it first, then what is behind a server's name.
func possibleTools(name string, names []string) (same []string) {
	plain := func(name string) string {
		return strings.Trim(notInTool.ReplaceAllString(strings.ToLower(name), "_"), "_")
	}
	forms := func(name string) []string {
		bare := toolHash.ReplaceAllString(name, "")
		return []string{plain(bare), plain(ofServer.ReplaceAllString(bare, ""))}
	}
	wanted := []string{plain(name), plain(firstPart.ReplaceAllString(name, "")),
		plain(ofServer.ReplaceAllString(name, ""))}
	for _, want := range wanted {
		for _, n := range names {
			if want != "" && slices.Contains(forms(n), want) && !slices.Contains(same, n) {
				same = append(same, n)
			}
		}
		if len(same) > 0 {
			return slices.Sorted(slices.Values(same))
		}
	}
	return nil
}
