package generate

import (
	"regexp"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
)

var namesTool = regexp.MustCompile(`^Yes, (\S+) can do that\.$`)

// StillAbstains says why a scenario of ours that is answered without a call is so no longer, with the tools that there
// are now; "" where it is, and of every other scenario. Such a scenario calls nothing, so no call of it tells.
func StillAbstains(s scenario.Scenario, tools []Tool) (why string) {
	if s.Provenance == nil || s.Provenance.By != byHone || len(s.Gold) > 0 {
		return ""
	}
	subjects := make([]*subject, len(tools))
	for i, t := range tools {
		subjects[i] = &subject{Tool: t, schema: readParam(t.InputSchema)}
	}
	switch s.Provenance.Kind {
	case missingTool:
		known := wordsOf(subjects)
		for _, wish := range wishes() {
			if !strings.Contains(strings.ToLower(s.Task), strings.ToLower(wish[0])) {
				continue
			}
			for _, w := range strings.Fields(wish[1]) {
				if slices.Contains(known, w) {
					return "a tool may do it now: one speaks of " + w
				}
			}
		}
		if at := slices.IndexFunc(subjects, (*subject).general); at >= 0 {
			return subjects[at].Name + " may do it now"
		}
	case askBack:
		asks := func(t *subject) bool {
			return slices.ContainsFunc(t.schema.fields, func(p param) bool {
				return p.required && s.GoldAnswer == askFor(p.name)
			})
		}
		for name := range s.Provenance.Tools {
			at := slices.IndexFunc(subjects, func(t *subject) bool { return t.Name == name })
			if at >= 0 && !slices.ContainsFunc(s.Setup, func(c scenario.Gold) bool { return c.Name == name }) &&
				!asks(subjects[at]) {
				return name + " does not require what the answer asks for"
			}
		}
		if !slices.ContainsFunc(subjects, asks) {
			return "no tool requires what the answer asks for"
		}
	case noTool:
		if m := namesTool.FindStringSubmatch(s.GoldAnswer); m != nil &&
			!slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == m[1] }) {
			return m[1] + ", which the answer names, is gone"
		}
	}
	return ""
}

// general reports whether a tool can do nearly anything: it runs commands or code, or reaches any address. With one of
// these there is no saying what cannot be done.
func (s *subject) general() bool {
	name := words(s.Name)
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return slices.Contains(name, w) })
	}
	if has("shell", "bash", "terminal", "command", "cmd", "fetch", "browser", "browse", "http", "navigate", "web",
		"eval", "internet") ||
		has("execute", "exec", "run") && has("code", "script", "python", "javascript", "js", "program") {
		return true
	}
	return slices.ContainsFunc(s.schema.fields, func(p param) bool {
		w := words(p.name)
		return len(w) == 1 &&
			slices.Contains([]string{"command", "cmd", "url", "uri", "script", "javascript", "shell"}, w[0])
	})
}
