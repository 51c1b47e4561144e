package generate

import (
	"regexp"
	"slices"
	"strings"
)

// request is a call as a person asks for it.
type request struct {
	do              string // "find the open tasks for Ali"
	thing           string // that a reading call is about, where it is about one: "contact C-7"
	things          string // that it lists, where a count of them may be asked for: "open tasks for Ali"
	value, from, to string // of a conversion
	natural         bool   // a person would ask for it so
}

// callWords puts a call into words under way: what the tool does, and the arguments that are not said yet.
type callWords struct {
	tool    *subject
	clause  []string // words of what the tool does, the verb first
	left    []slot
	tails   []string // behind the clause: "for Ali", "in Oslo"
	text    string   // behind all of it
	named   int      // arguments said by the names of their parameters
	request request
}

// slot is an argument as people say it.
type slot struct {
	param
	value string
	own   []string // the words of its name
}

func (s slot) of(names string) bool {
	return len(s.own) > 0 && slices.Contains(strings.Fields(names), s.own[len(s.own)-1])
}

// requestOf words a call, without the arguments that are left out; held-out tasks have other verbs.
func (m *maker) requestOf(c Call, held bool, without ...string) request {
	s := m.byName[c.Tool]
	a := &callWords{tool: s, clause: strings.Fields(clauseOf(s)), request: request{natural: true}}
	if len(a.clause) == 0 {
		a.clause, a.request.natural = strings.Fields(byName(s)), false
	}
	for _, arg := range argumentsOf(c) {
		one := slot{param: param{name: arg.name}, own: words(arg.name)}
		if p := s.field(arg.name); p != nil {
			one.param = *p
		}
		if slices.Contains(without, arg.name) {
			a.leaveOut(one)
			continue
		}
		said, ok := valueSaid(one.param, arg.raw)
		switch {
		case arg.name == c.Fed && c.Within != "":
			said = `"` + strings.Replace(c.Within, hole, c.mark(), 1) + `"`
		case arg.name == c.Fed && isResult(c.Field):
			said = "the result"
		case arg.name == c.Fed:
			said = "that " + wordsOfName(c.Field)
		case !ok:
			a.request.natural = false
		}
		one.value = said
		a.left = append(a.left, one)
	}
	a.join()
	a.chooseVerb()
	a.convert()
	if slices.ContainsFunc(a.left, func(s slot) bool {
		return len(s.own) > 0 && slices.Contains([]string{"min", "max"}, s.own[0])
	}) {
		a.request.natural = false // one bound alone
	}
	a.mention()
	if first := a.clause; len(first) > 0 && len(a.left) == 0 && a.readsOne() && a.request.thing != "" {
		a.request.natural = a.request.natural && len(first) > 1
	} else {
		a.request.thing = ""
	}
	for _, one := range a.left {
		a.place(one)
	}
	return a.finish(held)
}

// finish joins what was found.
func (a *callWords) finish(held bool) request {
	if len(a.clause) == 1 && a.text != "" { // hash "abc"
		a.clause, a.text = append(a.clause, a.text), ""
	}
	do := dangling.ReplaceAllString(byWay.ReplaceAllString(strings.Join(a.clause, " "), ""), "")
	if do == a.clause[0] {
		a.request.natural = false
	}
	objects := strings.TrimPrefix(strings.TrimPrefix(do[len(a.clause[0]):], " "), "the ")
	for _, tail := range a.tails {
		if !strings.HasPrefix(tail, ",") {
			tail = " " + tail
		}
		do, objects = do+tail, objects+tail
	}
	most := 1
	if a.tool.creates() {
		most = 3
	}
	if a.named > most {
		a.request.natural = false
	}
	if a.text != "" {
		do += ": " + a.text
	} else if lists := strings.Fields("list search find show get"); severalThings(objects) &&
		slices.Contains(lists, a.clause[0]) {
		a.request.things = strings.TrimPrefix(objects, "all ")
	}
	if a.request.do = do; held {
		a.request.do = otherwise(do)
	}
	return a.request
}

// twins are words by which the names of two like arguments differ.
var twins = regexp.MustCompile(
	` (?:a|b|x|y|first|second|one|two|left|right|before|after|original|modified|old|new) `)

// severalThings reports whether a phrase begins with a noun of which there are several: "open tasks for Ali".
func severalThings(phrase string) bool {
	head := ""
	for _, w := range strings.Fields(phrase) {
		if slices.Contains(strings.Fields(stops), strings.ToLower(w)) {
			break
		}
		head = w
	}
	return singular(head) != head
}

var (
	dangling = regexp.MustCompile(`(?: (?:in|of|from|with|to|for|by|between|and|or|on|at))+$`)
	// besides is what descriptions say behind what a tool does, and nobody asks for.
	besides = regexp.MustCompile(`(?i),? (?:and (?:then )?(?:return|get|give|show|report)s?|returning|using|via|` +
		`supports?|supporting|including|such as|with filters|with optional|with support|` +
		`based on|which|that|so that|in order to|optionally|from the given|if |when |as a list|as json|in json|` +
		`in a single|like |for each|for an? )\b.*$|` +
		`\s*->.*$| by [\w -]+(?:,| or ).*$`)
	otherDeed = regexp.MustCompile(`(?:,| or| and|,? and/or)? (\w+)\b`)
	given     = regexp.MustCompile(`(?i)\b(?:given|specified|provided|specific|supplied|particular) `)
	byWay     = regexp.MustCompile(`(?i) (?:by|with|from|for) (?:its |their |the |an? )?(?:unique )?` +
		`(?:ids?|names?|keys?|identifiers?|slugs?)$`)
)

// clauseOf is what a tool does in the words of its description, or of its name: the first of several deeds, and nothing
// of how; "" where neither begins with a verb.
func clauseOf(s *subject) string {
	text := byDescription(s)
	if strings.HasPrefix(text, "use ") {
		return ""
	}
	text = given.ReplaceAllString(besides.ReplaceAllString(text, ""), "")
	for _, at := range otherDeed.FindAllStringSubmatchIndex(text, -1) { // "get the date, convert zones, ..."
		word := strings.ToLower(text[at[2]:at[3]])
		if joined := text[at[0]:at[2]] != " "; joined && isVerb(word) && strings.Contains(text[:at[0]], " ") {
			text = text[:at[0]]
			break
		}
	}
	text = strings.TrimRight(strings.TrimSpace(text), ",.:")
	if name := words(s.Name); len(name) == 1 && isVerb(name[0]) && strings.Contains(text, " or ") {
		return name[0] // hash, for "compute hash or HMAC of a string"
	}
	first, rest, _ := strings.Cut(text, " ")
	if n := len(strings.Fields(text)); n < 2 || n > 14 {
		if text = byName(s); strings.HasPrefix(text, "use ") {
			return ""
		}
		return text
	}
	switch first {
	case "return", "produce", "provide", "retrieve", "fetch", "obtain", "query", "give":
		first = "get"
	case "eval", "compute":
		first = "calculate"
	case "determine", "identify":
		first = "find"
	}
	return first + " " + rest
}

// isResult reports whether a field of a result is called as any result is.
func isResult(name string) bool {
	own := words(name)
	return len(own) == 0 || slices.Contains(strings.Fields("result value output answer data text converted"),
		own[len(own)-1])
}

// chooseVerb takes the deed that an argument chooses for what the tool does: of "encode or decode strings", "decode".
func (a *callWords) chooseVerb() {
	for i, one := range a.left {
		if len(one.choices) == 0 || !one.of("action operation mode op command method") {
			continue
		}
		verb, _, _ := strings.Cut(one.value, " ")
		if !isVerb(verb) {
			a.request.natural = false
			continue
		}
		if a.left = slices.Delete(a.left, i, i+1); a.clause[0] == verb && !slices.Contains(a.clause, "or") {
			return
		}
		var main []string
		for k, o := range a.left {
			if o.required && len(o.choices) == 0 {
				main = append(main, o.value)
				a.left = slices.Delete(a.left, k, k+1)
				break
			}
		}
		about := strings.Join(slices.DeleteFunc(strings.Fields(wordsOfName(a.tool.Name)), isVerb), " ")
		if len(main) == 0 || slices.Contains([]string{"generate", "create", "make", "add", "set"}, verb) {
			a.request.natural = false // from a value, and nobody says how
		}
		if a.clause = append([]string{verb}, main...); about != "" {
			a.clause = append(a.clause, "("+about+")")
		}
		if slices.ContainsFunc(a.left, func(o slot) bool { return o.required && len(o.choices) == 0 }) {
			a.request.natural = false // what it is done with has no place
		}
		if slices.Contains([]string{"decode", "decrypt", "decompress"}, verb) && len(main) > 0 &&
			strings.HasPrefix(main[0], `"`) { // nothing that words are the code of
			a.request.natural = false
		}
		return
	}
	if len(a.clause) > 2 && (a.clause[1] == "or" || a.clause[1] == "and") {
		a.request.natural = false // one of two deeds, and nothing says which
	}
}

// join takes two arguments for one: text1 and text2, min and max.
func (a *callWords) join() {
	for i := range a.left {
		for k := i + 1; k < len(a.left); k++ {
			one, other := a.left[i], a.left[k]
			stem := func(s slot) string {
				name := strings.ToLower(wordsOfName(strings.TrimRight(s.name, "0123456789")))
				return strings.TrimSpace(twins.ReplaceAllString(" "+name+" ", " "))
			}
			if one.value == "" || other.value == "" || one.kind != other.kind || len(one.choices) > 0 ||
				one.name == other.name {
				continue
			}
			low, high := slices.Contains(one.own, "min"), slices.Contains(other.own, "max")
			switch {
			case low && high && one.kind != "string":
				a.tails = append(a.tails, "between "+one.value+" and "+other.value)
			case stem(one) == stem(other) && one.required && other.required && !a.tool.converts():
				both := one
				both.own, both.value, both.kind = words(stem(one)), one.value+" and "+other.value, "array"
				if len(both.own) == 0 {
					both.own = []string{"value"}
				}
				a.left = append(a.left, both)
			default:
				continue
			}
			a.left = slices.Delete(slices.Delete(a.left, k, k+1), i, i+1)
			return
		}
	}
}

// convert takes what is converted, from what and to what, out of the arguments.
func (a *callWords) convert() {
	side := func(names string) int {
		return slices.IndexFunc(a.left, func(s slot) bool {
			return len(s.own) > 0 && slices.Contains(strings.Fields(names), s.own[0]) && s.value != ""
		})
	}
	from, to := side("from source"), side("to target into")
	main := slices.IndexFunc(a.left, func(s slot) bool {
		return s.of("value amount number quantity time") && !s.of("from to")
	})
	if from < 0 || to < 0 || main < 0 {
		if a.tool.converts() && (main < 0 || from < 0) {
			a.request.natural = false
		} else if a.tool.converts() { // it is not said to what
			a.clause = []string{"convert", a.left[main].value, bared(a.left[from].value)}
			a.left = nil
		}
		return
	}
	value, of, into := a.left[main], a.left[from], a.left[to]
	a.left = slices.DeleteFunc(slices.Clone(a.left), func(s slot) bool {
		return s.name == value.name || s.name == of.name || s.name == into.name
	})
	if of.value == into.value {
		a.request.natural = false
	}
	unit := of.kind != "integer" && of.kind != "number" && (value.kind == "number" || value.kind == "integer")
	if unit {
		a.request.value, a.request.from, a.request.to = value.value, bared(of.value), bared(into.value)
		a.clause = []string{"convert", value.value, bared(of.value), "to", bared(into.value)}
	} else {
		noun := ""
		if of.kind == "integer" || of.kind == "number" { // from base 2 to base 16
			noun = strings.Join(append(slices.Clone(of.own[1:]), nouns(a.tool.Name)...), " ") + " "
		}
		a.clause = []string{"convert", value.value, "from", noun + of.value, "to", noun + into.value}
	}
	if len(a.left) > 0 && !slices.ContainsFunc(a.left, func(s slot) bool { return s.of("date") }) {
		a.request.natural = false
		a.request.value = ""
	}
}

// bared is a unit without quotes.
func bared(unit string) string { return strings.Trim(unit, `"`) }

const (
	// plain are words for what any text or number is.
	plain       = "text string value input content message number character data phrase sentence integer"
	determiners = "a an the any some one this your each every multiple several"
	stops       = "of in to for by with from on at as into between and or about against is are than per me"
)

// mention puts values where the clause speaks of their parameters: of "parse a URL into its parts", "parse
// https://example.com into its parts".
func (a *callWords) mention() {
	a.left = slices.DeleteFunc(a.left, func(s slot) bool {
		if len(s.choices) > 0 || s.kind == "boolean" || strings.HasPrefix(s.value, ",") {
			return false
		}
		about := slices.DeleteFunc(slices.Clone(s.own), func(w string) bool {
			return slices.Contains([]string{"id", "key", "name"}, w)
		})
		keyed := len(about) < len(s.own) && !a.tool.creates()
		if len(about) == 0 && keyed {
			about = nouns(a.tool.Name)
		}
		if len(about) == 0 {
			return false
		}
		names := []string{about[len(about)-1]}
		if slices.Contains(strings.Fields(plain), names[0]) {
			names = strings.Fields("text string")
			if s.kind == "number" || s.kind == "integer" {
				names = strings.Fields("value number integer")
			}
			names = append(names, about[len(about)-1])
		}
		return a.replace(s, names, keyed)
	})
}

// leaveOut takes what the clause says of an argument out of it, where it stands behind a preposition: of "a string of
// the length", "a string".
func (a *callWords) leaveOut(s slot) {
	at := slices.IndexFunc(a.clause, func(w string) bool {
		return len(s.own) > 0 && singular(strings.ToLower(strings.Trim(w, ",."))) == s.own[len(s.own)-1]
	})
	for from := at - 1; from > 1 && from >= at-3; from-- {
		if slices.Contains(strings.Fields("of with for in at by"), a.clause[from]) {
			a.clause = slices.Delete(a.clause, from, at+1)
			return
		}
	}
}

func (a *callWords) replace(s slot, names []string, keyed bool) bool {
	for i := len(a.clause) - 1; i > 0; i-- {
		noun := strings.Trim(a.clause[i], ",.;:")
		low := singular(strings.ToLower(noun))
		if !slices.ContainsFunc(names, func(n string) bool {
			return low == n || len(n) >= 4 && strings.HasPrefix(low, n)
		}) || strings.ContainsAny(a.clause[i], `"`) {
			continue
		}
		from := i
		for from > 1 && !slices.Contains(strings.Fields(stops+" "+determiners), strings.ToLower(a.clause[from-1])) &&
			!strings.HasSuffix(a.clause[from-1], ",") {
			from--
		}
		adjectives := a.clause[from:i]
		if from > 1 && slices.Contains(strings.Fields(determiners), strings.ToLower(a.clause[from-1])) {
			from--
		}
		if from < 1 || slices.Contains([]string{"or", "and"}, a.clause[from-1]) { // one thing of several
			return false
		}
		said := []string{s.value}
		several := s.kind == "array" && strings.Contains(s.value, " and ")
		one := strings.ToLower(noun[:1]) == noun[:1]
		if one && !several {
			noun = singular(noun)
		}
		switch number := s.kind == "number" || s.kind == "integer"; {
		case s.value == "the result" || strings.HasPrefix(s.value, "that "):
		case keyed:
			said = []string{noun, s.value}
			a.request.thing = noun + " " + s.value
		case slices.Contains(strings.Fields(plain), low) && len(adjectives) == 0:
		case number && slices.Contains(strings.Fields("of with"), a.clause[from-1]):
			said = []string{noun, s.value}
		default:
			said = append(append([]string{"the"}, adjectives...), noun, s.value)
			if a.readsOne() {
				a.request.thing = strings.Join(said, " ")
			}
		}
		a.clause = slices.Concat(a.clause[:from], said, a.clause[i+1:])
		return true
	}
	return false
}
