package scan

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Squat says that a package has nearly the name of one that many use, and is another: who mistypes, or asks a model for
// the name, gets it.
const Squat Code = "typosquat"

//go:embed known.txt
var knownText string

// knownPackages are the packages that many use, as npm:NAME or pypi:NAME, and what is known of attacks by name.
func knownPackages() (names []string, attacks map[string]string) {
	attacks = map[string]string{}
	for line := range strings.Lines(knownText) {
		line = strings.TrimSpace(line)
		if attack, is := strings.CutPrefix(line, "! "); is {
			name, what, _ := strings.Cut(attack, " ")
			attacks[name] = what
		} else if line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	return names, attacks
}

// Package returns the finding on a server's package, or none: pkg is npm:NAME or pypi:NAME, with a version or without.
func Package(server, pkg string) []Finding {
	kind, name := split(pkg)
	list, attacks := knownPackages()
	if what := attacks[kind+":"+name]; what != "" {
		return []Finding{
			{Code: Squat, Severity: High, Server: server, Excerpt: quote(name),
				Message: "an attack was published under this name: " + what},
		}
	}
	if kind == "" || slices.Contains(list, kind+":"+name) {
		return nil
	}
	for _, k := range list {
		ofKind, meant := split(k)
		if how := squats(name, meant, kind == ofKind); how != "" {
			return []Finding{{Code: Squat, Severity: Medium, Server: server, Excerpt: quote(name),
				Message: fmt.Sprintf("the package is not %s, which many use: %s", k, how)}}
		}
	}
	return nil
}

// split is the kind and the name of a package, without its version; names of PyPI are normalised (PEP 503).
func split(pkg string) (kind, name string) {
	kind, name, found := strings.Cut(pkg, ":")
	if !found || kind != "npm" && kind != "pypi" {
		return "", ""
	}
	if kind == "npm" {
		if at := strings.LastIndex(name, "@"); at > 0 {
			name = name[:at]
		}
		return kind, strings.ToLower(name)
	}
	name, _, _ = strings.Cut(name, "==")
	name, _, _ = strings.Cut(name, "[")
	return kind, strings.Join(strings.FieldsFunc(strings.ToLower(name),
		func(r rune) bool { return r == '-' || r == '_' || r == '.' }), "-")
}

// squats says how a name comes near another, "" where it does not. Between registries only the same name counts; names
// there are often alike by right.
func squats(name, meant string, same bool) string {
	scope, base := cutScope(name)
	ofScope, ofBase := cutScope(meant)
	switch {
	case !same:
		return ""
	case plainName(name) == plainName(meant):
		return "the names differ by marks, or by characters that look alike"
	case base == ofBase && ofScope != "" && scope != "" && near(scope, ofScope, 6):
		return "the scope is nearly the same"
	case base == ofBase && ofScope != "" && scope == "" && len(base) >= 10:
		return "it is the name without its scope " + ofScope
	case scope == ofScope && near(base, ofBase, 8):
		return "one letter differs"
	}
	return ""
}

// cutScope cuts the scope off an npm name: @scope/base.
func cutScope(name string) (scope, base string) {
	if of, rest, found := strings.Cut(name, "/"); found {
		return of, rest
	}
	return "", name
}

// plainName is a name without marks, and with digits as the letters they look like.
func plainName(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "", "0", "o", "1", "l", "3", "e", "5", "s", "rn", "m", "vv",
		"w").Replace(name)
}

// near reports whether one letter was left out, added, replaced or put in the place of its neighbour. Short names, and
// names that differ in a short last part such as git and gif, are alike by chance; so is a number at the end.
func near(a, b string, least int) bool {
	if a == b || min(len(a), len(b)) < least {
		return false
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	j := 0
	for j < min(len(a), len(b))-i && a[len(a)-1-j] == b[len(b)-1-j] {
		j++
	}
	x, y := a[i:len(a)-j], b[i:len(b)-j] // where they differ
	one := len(x) <= 1 && len(y) <= 1 || len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]
	part := func(s string, at int) string { // the word that holds a place
		start, end := strings.LastIndexAny(s[:min(at, len(s))], "-_@/")+1, len(s)
		if n := strings.IndexAny(s[min(at, len(s)):], "-_@/"); n >= 0 {
			end = min(at, len(s)) + n
		}
		return s[start:end]
	}
	digit := strings.Trim(x+y, "0123456789") == ""
	return one && !digit && min(len(part(a, i)), len(part(b, i))) >= 4
}
