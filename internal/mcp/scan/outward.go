package scan

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// outward are the concepts and the marks of a text that reaches for what is outside the tool's own server, hides
// something, or sends something away: alone, or one behind the other in a sentence. An order without them is about the
// server's own business.
var outward = [][]string{
	// what it reaches for
	{"secret"}, {"private"}, {"context"}, {"inner"}, {"userdata"}, {"path"}, {"secret tool"}, {"variable"}, {"file"},
	{"hidden field"},
	{"url"}, {"filled url"}, {"mail"}, {"account"}, {"host"}, // where it sends
	{"conceal"}, {"weakconceal"}, {"noask"}, {"neg", "tell"}, {"tell", "neg"}, // what it hides
	// other tools
	{"before", "anytool"}, {"must", "anytool"}, {"anytool", "must"}, {"anytool", "use"}, {"others"}, {"prefer"},
	{"likes"}, {"disparage"}, {"replace"},
	// other orders
	{"ignore", "rules"}, {"ignore", "prior"}, {"void", "rules"}, {"void", "prior"}, {"rules", "void"},
	{"weakignore", "rules"}, {"role"}, {"weakrole"}, {"unbound"}, {"defy"},
	{"command"}, {"danger"}, {"approved"}, {"occult"}, {"threat"}, {"authority"}, {"money"}, {"bias"},
}

// addressing are the concepts of a text that speaks to somebody. One without them says what a tool does.
var addressing = []string{
	"must", "always", "before", "neg", "tell", "model", "user", "use", "anytool", "ask", "trigger", "urgent",
	"rules", "ignore", "void", "prior", "order", "consent", "others", "mention", "pose",
}

// conceptHits are the concepts and marks of a unit by their places, without those that are said of what a user decides.
func (u unit) conceptHits() map[string][]hit {
	found := map[string][]hit{}
	note := func(h hit) {
		words := string(u.text.key[h.start:h.end])
		rest := strings.TrimSpace(string(u.text.key[h.end:]))
		switch {
		case h.concept == "order" && words == "and", h.concept == "danger" &&
			byUser.MatchString(string(u.text.key[:h.start])):
		case h.concept == "anytool" && strings.HasSuffix(words, "anything else"):
		case h.concept == "userdata" && strings.Contains(words, "user's") && decision.MatchString(rest):
		default:
			found[h.concept] = append(found[h.concept], h)
		}
	}
	languages := languagesOf(lexicon().find(u.text.key, false))
	most := fewWords
	for language, words := range languages {
		most = max(most, countWords(words, language))
	}
	for language, words := range languages {
		if countWords(words, language) < most/2 { // a few words of many languages stand in any text
			continue
		}
		for _, hits := range words {
			for _, h := range hits {
				note(h)
			}
		}
	}
	for place, hits := range placesOf(u.text) {
		for _, h := range hits {
			h.concept = place
			note(h)
		}
	}
	return found
}

// inTurn reports whether a unit has some concepts one behind the other in one sentence, each near the one before.
func (u unit) inTurn(meant map[string][]hit, concepts []string) bool {
	if len(concepts) == 1 {
		return len(meant[concepts[0]]) > 0
	}
	for _, a := range meant[concepts[0]] {
		for _, b := range meant[concepts[1]] {
			if b.start < a.end || b.start-a.end >= together || u.sentences[a.start] != u.sentences[b.start] {
				continue
			}
			if b.concept != "neg" || b.language != "en" { // which in English stands before what is not to be done
				return true
			}
		}
	}
	return false
}

// byUser is before what the user is to do, not the model.
var byUser = regexp.MustCompile(`\busers? (must|may|can|should|has to|needs to|will)( then| explicitly| also)? $`)

var decision = regexp.MustCompile(`^(approv|consent|confirm|permission|decision|choice|go-ahead|wish|reply|answer)`)

// called is a name that a text says to call.
var called = regexp.MustCompile("\\b(?i:call|calls|calling|use|using|invoke|invoking|run|running|via|through|" +
	"execute)\\s+(?i:the\\s+)?[\"'`]?([a-z][a-z0-9]*(?:[_-][a-z0-9]+)+|[a-z]+[A-Z][A-Za-z0-9]*)\\b")

// reachesOut reports whether a unit is about more than the tool's own server.
func (c *checker) reachesOut(u unit, meant map[string][]hit) bool {
	if slices.ContainsFunc(outward, func(concepts []string) bool { return u.inTurn(meant, concepts) }) {
		return true
	}
	text := u.text.String()
	for _, m := range called.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(c.own, m[1]) && !slices.Contains(c.tool.parameters(), m[1]) {
			return true
		}
	}
	return c.others.find(text) != nil
}

// mostOfDeed is how many words a sentence has that says what a tool does, and nothing else.
const mostOfDeed = 12

// far are those of outward that a text has which says more than what its tool does.
var far = []string{
	"secret", "private", "context", "inner", "path", "secret tool", "variable", "hidden field", "url", "filled url",
	"mail", "account", "host", "conceal", "weakconceal", "command", "role", "weakrole", "unbound", "pose",
}

// isDeed reports whether a unit says what the tool does and speaks to nobody, as "Upload a photo". Its first word is
// the deed.
func (u unit) isDeed(meant map[string][]hit) bool {
	text := string(u.text.shown)
	if u.parameter || !u.first || len(strings.Fields(text)) > mostOfDeed || !u.isOneDeed() {
		return false
	}
	speaks := func(concept string) bool {
		return slices.ContainsFunc(meant[concept], func(h hit) bool { return h.start > 0 })
	}
	reaches := func(concept string) bool { return len(meant[concept]) > 0 }
	return !slices.ContainsFunc(addressing, speaks) && !slices.ContainsFunc(far, reaches) &&
		!condition.MatchString(text) && !strings.ContainsFunc(text,
		func(r rune) bool { return r > unicode.MaxASCII || strings.ContainsRune("{}<>[]|", r) })
}

// isOwnBusiness reports whether a unit that reads like an order is about no more than its server: it says what the tool
// does, or when to call which of the server's tools.
func (c *checker) isOwnBusiness(u unit) bool {
	meant := u.conceptHits()
	if u.isDeed(meant) {
		return true
	}
	text := u.text.String()
	return (c.namesOwn(text) || c.namesOwn(c.tool.Description) && thisTool.MatchString(text)) && !c.reachesOut(u, meant)
}

var thisTool = regexp.MustCompile(`(?i)\bthis (tool|function|one)\b`)

// namesOwn reports whether a text names another tool of the tool's server.
func (c *checker) namesOwn(text string) bool {
	for _, word := range strings.FieldsFunc(text, notInWord) {
		if word != c.tool.Name && compound.MatchString(word) && slices.Contains(c.own, word) {
			return true
		}
	}
	return false
}

// condition is how a sentence begins that says when something is to be done.
var condition = regexp.MustCompile(`(?i)^\W*(if|when|whenever|once|should|after|before|in case|unless|as soon)\b`)

// isOneDeed reports whether a unit is one sentence, perhaps with what it returns in another.
func (u unit) isOneDeed() bool {
	last := u.sentences[len(u.sentences)-1]
	if last == u.sentences[0] {
		return true
	}
	start, _ := u.sentence(u.sentences[0] + 1)
	return last == u.sentences[0]+1 && returning.MatchString(string(u.text.key[start:]))
}

var returning = regexp.MustCompile(`^\W*(returns?|supports?|accepts?|takes?|requires?|needs?)\b`)
