package access

import (
	"fmt"
	"strings"
)

// rule is a pattern: "server" for all tools of a server, or "server/tool"; * stands for any characters.
type rule string

func parseRule(pattern string) (rule, error) {
	switch {
	case pattern == "":
		return "", fmt.Errorf("it is empty")
	case strings.TrimSpace(pattern) != pattern:
		return "", fmt.Errorf("%q begins or ends with a space", pattern)
	case strings.HasPrefix(pattern, "/"):
		return "", fmt.Errorf("%q names no server", pattern)
	case strings.HasSuffix(pattern, "/"):
		return "", fmt.Errorf("%q names no tool", pattern)
	}
	return rule(pattern), nil
}

// matches tries every slash as the one between server and tool, because both names may hold slashes themselves.
func (r rule) matches(t Tool) bool {
	pattern := string(r)
	if glob(pattern, t.Server) {
		return true
	}
	for i := range pattern {
		if pattern[i] == '/' && glob(pattern[:i], t.Server) && glob(pattern[i+1:], t.Name) {
			return true
		}
	}
	return false
}

func (r rule) matchesAny(tools map[string]Tool) bool {
	for _, t := range tools {
		if r.matches(t) {
			return true
		}
	}
	return false
}

func first(rules []rule, t Tool) (rule, bool) {
	for _, r := range rules {
		if r.matches(t) {
			return r, true
		}
	}
	return "", false
}

// glob reports whether name is pattern, where * is any run of bytes. It backtracks to the last * only, so its time is
// at most the product of the lengths.
func glob(pattern, name string) bool {
	p, n := 0, 0
	star, resume := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
