package generate

import (
	"slices"
	"strings"
)

// readsOne reports whether the tool shows what it is asked of.
func (a *callWords) readsOne() bool {
	return a.tool.hasVerb("get", "show", "read", "fetch", "view", "describe", "info", "lookup", "inspect", "retrieve")
}

// place says an argument that the clause does not speak of, behind it.
func (a *callWords) place(s slot) {
	creates := a.tool.creates()
	tail := func(before string) { a.tails = append(a.tails, strings.TrimSpace(before+" "+s.value)) }
	side, _ := s.bounds()
	switch {
	case s.kind == "boolean":
		about := strings.Join(slices.DeleteFunc(strings.Fields(wordsOfName(s.name)), func(w string) bool {
			return slices.Contains(strings.Fields("include use with has is show allow enable enabled"), w)
		}), " ")
		only := strings.HasSuffix(about, " only")
		if about == "" || s.value == "false" && (only || !s.required) { // it is so where nobody says anything
			a.request.natural = false
		}
		if only {
			a.tails = append(a.tails, ", "+about)
			return
		}
		a.tails = append(a.tails, map[string]string{"true": "with ", "false": "without "}[s.value]+about)
	case s.of("type kind") && slices.Contains([]string{"generate", "create", "make", "get"}, a.clause[0]):
		a.request.natural = a.request.natural && !isVerb(s.value)
		a.clause = []string{a.clause[0], article(s.value), s.value}
	case len(s.choices) > 0 && s.of("status state priority severity category type kind level") && !creates:
		a.adjective(s)
	case len(s.own) == 1 && s.of("to into"):
		if at := slices.Index(a.clause, "between"); at > 1 { // "convert a color between formats"
			a.clause = a.clause[:at]
		}
		tail("to")
	case len(s.own) == 1 && s.of("from"):
		tail("from")
	case side < 0:
		tail("from")
	case side > 0:
		tail("to")
	case a.text == "" && s.kind == "array" && s.items != nil && s.items.kind == "object":
		a.text = s.value
	case s.of("format output"):
		tail("as")
	case s.of("algorithm encoding method"):
		tail("with")
	case s.of("limit max top results"):
		a.tails = append(a.tails, ", at most "+s.value)
	case s.of("count n quantity") && !creates:
		a.tails = append(a.tails, ", "+s.value+" of them")
	case s.of("query search q keyword term") && len(s.value) < 3: // a part of a word
		a.request.natural = false
	case s.of("query search q keyword term") && slices.Contains([]string{"search", "find", "look"}, a.clause[0]):
		tail("for")
	case s.of("query search q keyword term"):
		tail("matching")
	case s.of("city location place country region timezone tz zone language lang locale currency unit units"):
		tail("in")
	case s.of("date day"):
		tail("on")
	case s.of("deadline due"):
		tail("due")
	case s.of("time"):
		tail("at")
	case s.of("email recipient assignee user author owner client customer person employee contact amount price cost"):
		tail("for")
	case s.of("name title") && (creates || a.tool.hasVerb("start", "begin", "generate")):
		tail("called")
	case s.of("category project folder list group tag tags collection column"):
		tail("in")
	case s.of("description body message comment note notes content") && creates:
		tail("saying")
	case a.text == "" &&
		s.of("text input string data content value expression code markdown html json csv id key name"):
		a.text = s.value
		a.request.natural = a.request.natural && s.required
	case len(s.choices) > 0:
		a.named++
		a.tails = append(a.tails, "("+s.value+")")
	default:
		if a.named++; !s.required && !creates || strings.ContainsAny(s.name, "0123456789") {
			a.request.natural = false // who asks would not say so
		}
		tail("with " + wordsOfName(s.name))
	}
}

// adjective says what kind of things is meant: the open tasks.
func (a *callWords) adjective(s slot) {
	own := nouns(a.tool.Name)
	at := len(a.clause) - 1
	for at > 0 && !slices.Contains(own, singular(strings.ToLower(strings.Trim(a.clause[at], ",.")))) {
		at--
	}
	if at < 1 {
		a.named++
		a.tails = append(a.tails, "("+s.value+")")
		return
	}
	said := s.value
	if s.of("priority severity") {
		said += "-" + s.own[len(s.own)-1]
	}
	if a.clause = slices.Insert(a.clause, at, said); said == "all" {
		a.clause = slices.DeleteFunc(a.clause, func(w string) bool { return w == "the" })
	}
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeioAEIO") {
		return "an"
	}
	return "a"
}
