package revise

import (
	"slices"
	"strings"
	"unicode"

	"hone/internal/fault"
)

// near is the tool that a name is meant to be: the one that is equal but for case, separators and a prefix of its
// server or of "functions"; else the only one that is near. It refuses to choose.
func (f *Fixer) near(name string) (string, bool) { return nearest(name, f.names) }

func nearest(name string, names []string) (string, bool) {
	var same []string
	for _, n := range names {
		if foldName(n) == foldName(name) || foldName(n) == foldName(afterPrefix(name)) {
			same = append(same, n)
		}
	}
	if len(same) > 0 {
		return same[0], len(same) == 1
	}
	best := fault.Nearest(name, names)
	if best == "" {
		return "", false
	}
	others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == best })
	return best, fault.Nearest(name, others) == ""
}

// foldName is a name in small letters without separators: getWeather and get_weather are one.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// afterPrefix is a name without what hosts write before it: functions.hash, server:hash, server__hash.
func afterPrefix(name string) string {
	for _, separator := range []string{"__", ".", ":", "/"} {
		if i := strings.LastIndex(name, separator); i >= 0 {
			name = name[i+len(separator):]
		}
	}
	return name
}
