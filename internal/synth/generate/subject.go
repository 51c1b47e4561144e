package generate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"hone/internal/chat/schema"
)

// subject is a tool, and what was found out of it.
type subject struct {
	Tool
	schema param
	checks *schema.Schema

	tried, answered, refused int
	pure                     bool // no call of it changed anything
	writes                   bool // some call did
	// what a call changed though the tool says that it changes nothing
	lies string
	why  string // the first answer that was no success
	// the first of calls that had been answered when they were tried
	later string
	// the pattern, as JSON, of errors that its server does not mark as such
	unmarked string
	// arguments, as name and value, of calls that were answered, and of those that were refused
	took, spoilt map[string]bool
	hints        map[string][]json.RawMessage // values that a refusal named, by parameter
	failing      []failed                     // calls that are refused, whatever the attempt
	// of texts as the description says, and of others, by parameter
	formed map[string]formCount
	wants  []want     // optional parameters that refusals have asked for
	others []*subject // tools of the same server
	whole  []member   // arguments without which a list holds something back
	// the sign, as NaN, by which an answer showed that a call was not understood
	senseless string
}

// failed is a call that was refused in a realm.
type failed struct {
	realm int
	call  Call
}

// note remembers which arguments a call had that was answered, or refused.
func (s *subject) note(c Call, answered bool) {
	if s.took == nil {
		s.took, s.spoilt = map[string]bool{}, map[string]bool{}
	}
	into := s.spoilt
	if answered {
		into = s.took
	}
	s.count(c, answered)
	for _, m := range argumentsOf(c) {
		into[m.name+"\x00"+string(m.raw)] = true
	}
}

var offered = regexp.MustCompile(
	`(?i)\b(?:supported|valid|allowed|available|expected|one of|options|must be|choose)\b[^:\n]{0,40}:\s*([^\n]+)`,
)

// offeredOne is a refusal that may offer a single value: what there is of a kind of thing.
var offeredOne = regexp.MustCompile(`(?i)^(?:supported|valid|allowed|available)\b[^:\n]{0,40}s\s*:`)

// mostHints bounds how many values one refusal may name.
const mostHints = 40

// hint takes the values that a refusal offers in place of one of the call's: "Unknown unit: x. Supported units: m, km",
// "Unknown vault: x. Available vaults: work".
func (s *subject) hint(c Call, refusal string) {
	at := offered.FindStringSubmatchIndex(refusal)
	if at == nil {
		return
	}
	before, after := refusal[:at[0]], refusal[at[2]:at[3]]
	var list []json.RawMessage
	for _, part := range strings.FieldsFunc(after, func(r rune) bool {
		return strings.ContainsRune(",;|[](){}'\"` ", r)
	}) {
		if part = strings.Trim(part, "."); part != "" && part != "or" && part != "and" && len(part) < 30 &&
			len(list) < mostHints {
			list = append(list, quote(part))
		}
	}
	least := 2
	if offeredOne.MatchString(refusal[at[0]:]) {
		least = 1
	}
	for _, m := range argumentsOf(c) {
		if text := textOf(m.raw); len(text) > 1 && strings.Contains(before, text) && len(list) >= least &&
			len(s.hints[m.name]) == 0 {
			if s.hints == nil {
				s.hints = map[string][]json.RawMessage{}
			}
			s.hints[m.name] = list
			for _, o := range s.schema.fields { // "Source unit" and "Target unit"
				if s.hints[o.name] == nil && s.twins(m.name, o) {
					s.hints[o.name] = list
				}
			}
		}
	}
}

// twins reports whether another parameter takes what one of some name takes: both are texts, of which the descriptions
// end alike.
func (s *subject) twins(name string, o param) bool {
	last := func(p param) string {
		fields := words(p.description)
		if len(fields) == 0 {
			return ""
		}
		return fields[len(fields)-1]
	}
	at := slices.IndexFunc(s.schema.fields, func(p param) bool { return p.name == name })
	return at >= 0 && o.name != name && o.kind == "string" && len(o.choices) == 0 && last(o) != "" &&
		last(o) == last(s.schema.fields[at])
}

// spoils reports whether a value of a parameter was only ever in calls that were refused.
func (s *subject) spoils(name string, raw []byte) bool {
	key := name + "\x00" + string(raw)
	return s.spoilt[key] && !s.took[key]
}

// usable reports whether some call of the tool was answered without error.
func (s *subject) usable() bool { return s.answered > 0 }

// mayTry reports whether calls of the tool can do no harm.
func (s *subject) mayTry() bool { return s.Safe || s.ReadOnly }

// creates reports whether the tool is called after making something new.
func (s *subject) creates() bool {
	return s.hasVerb("create", "add", "new", "make", "insert", "write", "put", "append", "save", "set", "store",
		"register", "init")
}

// destroys reports whether the tool is called after taking something away, so that nothing is left to speak of.
func (s *subject) destroys() bool {
	return s.hasVerb("delete", "remove", "drop", "clear", "reset", "purge", "destroy", "kill", "move", "rename", "wipe",
		"uninstall")
}

func (s *subject) hasVerb(verbs ...string) bool {
	return slices.ContainsFunc(words(s.Name), func(w string) bool { return slices.Contains(verbs, w) })
}

// field is a parameter by its name; nil where there is none.
func (s *subject) field(name string) *param {
	i := slices.IndexFunc(s.schema.fields, func(p param) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &s.schema.fields[i]
}

// needs reports whether the tool has required parameters.
func (s *subject) needs() bool {
	return slices.ContainsFunc(s.schema.fields, func(p param) bool { return p.required })
}

// bare is a call that lists all: without arguments, but for the days between which that is, and switches.
func (s *subject) bare() Call {
	call := Call{Tool: s.Name, Arguments: s.spanned()}
	for _, w := range s.whole {
		call = call.with(w.name, string(w.raw))
	}
	return call
}

// keyed is a call with a thing's key alone.
func (s *subject) keyed(key string) Call {
	p := s.keyParam()
	return Call{Tool: s.Name, Arguments: objectOf(member{p.name, p.ofKey(key)})}
}

// lists are the tools of a server that read something and need no argument.
func (m *maker) lists(server string) (list []*subject) {
	for _, s := range m.tools {
		if s.Server == server && s.mayTry() && !s.destroys() && !s.creates() && !s.needs() && !isPart(s.Name) &&
			(s.ReadOnly || !s.hasVerb("undo", "redo", "revert", "restore", "sync", "push", "pull", "commit", "start",
				"stop", "pause", "resume", "next", "pop", "import", "setup", "optimize", "update")) {
			list = append(list, s)
		}
	}
	return list
}

// takes reports whether arguments fit the tool's schema.
func (s *subject) takes(arguments string) bool {
	verdict, _ := s.argumentSchema().Validate(arguments)
	return verdict != schema.Invalid
}

func (s *subject) argumentSchema() *schema.Schema {
	if s.checks == nil {
		s.checks = schema.Compile(s.InputSchema)
	}
	return s.checks
}
