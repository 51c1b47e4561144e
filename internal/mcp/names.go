package mcp

import (
	"regexp"
	"strings"
	"unicode"

	"hone/internal/blob"
)

var allowedName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// nameTools gives every tool the name the model uses: the server's own where hosts allow it and no other tool has it,
// else prefixed by the server's, else with a hash. It depends on the set of tools alone, not on their order, and no
// server can choose names such that two tools share one: calls of the first would reach the second.
func nameTools(servers []ServerTools) {
	forms := []func(server, tool string) string{
		func(_, tool string) string { return sanitize(tool) },
		func(server, tool string) string { return sanitize(server + "__" + tool) },
	}
	for _, form := range forms {
		taken := map[string]int{}
		for _, s := range servers {
			for _, t := range s.Tools {
				name := t.ModelName
				if name == "" {
					name = form(s.Name, t.Name)
				}
				taken[name]++
			}
		}
		for _, s := range servers {
			for j := range s.Tools {
				t := &s.Tools[j]
				if name := form(s.Name, t.Name); t.ModelName == "" && taken[name] == 1 {
					t.ModelName = name
				}
			}
		}
	}
	taken := map[string]bool{}
	left := map[string]*Tool{} // by hash, so that the order is no server's
	for _, s := range servers {
		for j := range s.Tools {
			if t := &s.Tools[j]; t.ModelName == "" {
				left[blob.Parts(s.Name, t.Name).String()] = t
				t.ModelName = s.Name + "__" + t.Name // what is hashed below
			} else {
				taken[t.ModelName] = true
			}
		}
	}
	for _, hash := range keysInOrder(left) {
		t := left[hash]
		plain := t.ModelName
		for t.ModelName = withHash(plain, hash); taken[t.ModelName]; t.ModelName = withHash(plain, hash) {
			hash = blob.Parts(hash).String()
		}
		taken[t.ModelName] = true
	}
}

// sanitize returns name if it is allowed, else its allowed characters and a hash of the whole.
func sanitize(name string) string {
	if allowedName.MatchString(name) {
		return name
	}
	return withHash(name, blob.Parts(name).String())
}

func withHash(name, hash string) string {
	mapped := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, name)
	return mapped[:min(len(mapped), 55)] + "_" + hash[:8]
}
