package programs

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"hone/internal/episode/scenario"
	"hone/internal/synth/written"
)

// wordings are the requests by pattern and split, those about records, about files, about graphs, about what views
// show, about several changes at once, about numbers and times, about rows of tables that hang together, and those of
// second messages over lists. Held-out tasks are in words that no training task has.
var wordings = sync.OnceValue(func() (all map[string]map[string][]string) {
	for _, of := range []string{"wordings", "file_wordings", "graph_wordings", "view_wordings", "deed_wordings",
		"sum_wordings", "table_wordings", "second_wordings"} {
		written.Words(of, &all)
	}
	return all
})

// NextMessage stands in wordings before what somebody says in a second message, once they are asked WhichSpelling.
const (
	NextMessage   = "¶"
	WhichSpelling = "What is the right spelling?"
)

// Worded is a program as a task.
type Worded struct {
	Task    string
	Between string // what is answered before a second message; "": it is one message, or the words say what is asked
	Answer  string // of the demonstration
	Checks  []scenario.Check
}

// form is how an answer is asked for, and how it then reads.
type form struct {
	manner string // in which it is asked for; "" says nothing of it
	read   func(a Answer) string
}

func joinValues(a Answer) string { return strings.Join(a.Values, ", ") }

// hasCommas reports whether an entry of a list has a comma of its own.
func (a Answer) hasCommas() bool {
	return a.Form == "list" &&
		slices.ContainsFunc(a.Values, func(v string) bool { return strings.Contains(v, ",") })
}

func perLine(a Answer) string { return strings.Join(a.Values, "\n") }

func inPairs(a Answer) string {
	if a.How == "" {
		return joinValues(a)
	}
	return fmt.Sprintf(a.How, a.Values[0], a.Values[1])
}

func last(a Answer) string { return "ANSWER: " + joinValues(a) }

// forms are the ways in which an answer of some form is asked for.
func forms(of string) []form {
	none := form{"", joinValues}
	switch of {
	case "number":
		return []form{none, none, {"number", joinValues}, {"number", joinValues}, {"last", last}}
	case "text":
		return []form{none, none, {"text", joinValues}, {"last", last}}
	case "list":
		return []form{none, {"comma", joinValues}, {"lines", perLine}}
	case "yes_no":
		return []form{none, {"yes_no", joinValues}}
	case "pair":
		return []form{{"", inPairs}}
	case "time":
		return []form{none, none, {"clock", joinValues}, {"last", last}}
	case "span":
		return []form{{"span", joinValues}, {"span", joinValues}, {"last_span", last}}
	}
	return []form{none}
}

// theirs matches what is said of a thing by "its".
var theirs = regexp.MustCompile(`\bits \{`)

// thatOne matches a thing that was just spoken of where it is no subject.
var thatOne = regexp.MustCompile(`\b(of|for|on|to|give|[Ll]et) that one\b`)

// before matches an article and the slot that it stands before.
var before = regexp.MustCompile(`\b[aA] \{\w+\}`)

// theOne matches a thing's noun and article before its name.
var theOne = regexp.MustCompile(`(?i)(?:\b(?:the|a|our) )?\{one\} \{x\}`)

// possessive matches what belongs to a thing and stands behind it.
var possessive = regexp.MustCompile(`\{x\}'s \{(\w+)\}`)

var optional = regexp.MustCompile(`\{,(\w+)\}`)

// fill puts slots into a wording. {,filter} is ", looking only at the MANY FILTER" where there is a filter.
func fill(text string, slots map[string]string) string {
	text, slots = agree(text, slots)
	if slots["filter"] == "" { // "items of kind film" are one noun then
		text = strings.ReplaceAll(text, " {filter}", "")
	}
	text = optional.ReplaceAllStringFunc(text, func(m string) string {
		if slots[m[2:len(m)-1]] == "" {
			return ""
		}
		return " among the " + slots["many"] + " " + slots[m[2:len(m)-1]]
	})
	text = before.ReplaceAllStringFunc(text, func(m string) string { // "a author"
		if one := slots[m[3:len(m)-1]]; one != "" && strings.ContainsRune("aeiou", rune(one[0])) {
			return m[:1] + "n" + m[1:]
		}
		return m
	})
	switch x := slots["x"]; { // "the repair 9" and "the fuel pump" have their nouns
	case strings.HasPrefix(x, slots["one"]+" "):
		text = strings.ReplaceAll(text, "{one} {x}", "{x}")
	case strings.HasPrefix(x, "the "):
		text = strings.ReplaceAll(theOne.ReplaceAllString(text, "{x}"), "{x} ({one})", "{x}")
	}
	if strings.HasPrefix(slots["x"], "the ") { // "the hours of the shift with Ana as the person"
		text = possessive.ReplaceAllString(text, "the {$1} of {x}")
	}
	text = strings.ReplaceAll(text, "{one} {filter}", "{one} "+ofOne(slots["filter"]))
	var pairs []string
	for _, name := range strings.Fields("one many x y attr ref refone asks filter end super n others v " +
		"a b city city2 time old given bound verb rel ends attr2 v2 file file2 folder folder2 name ext item item2 " +
		"head word lines does else to") {
		pairs = append(pairs, "{"+name+"}", slots[name])
	}
	text = strings.Join(strings.Fields(strings.NewReplacer(pairs...).Replace(text)), " ")
	return strings.NewReplacer(" ?", "?", " .", ".", " ,", ",", " :", ":", " ;", ";", " )", ")").Replace(text)
}

var (
	// verbs match what is said of a property: of one, and of several.
	verbs = regexp.MustCompile(`\{(attr2?)\}((?: (?:of|for|at) (?:(?:all|the|its|that) )*\{\w+\}` +
		`(?:'s \{\w+\})?(?: \{filter\})?)*)` +
		` (is|isn't|has|goes|needs|changes|doesn't)\b`)
	whatIs = regexp.MustCompile(`\b([Ww]hat)(?: is|'s) the \{(attr2?)\}`)
	oneOf  = regexp.MustCompile(`\b([Aa]nother|[Aa] new|[Aa]n?) \{(attr2?)\}`)
)

// agree has a wording speak of several where a property is called by a plural: "the allergies are wrong", "what are the
// hours", "no longer has hours", "most slots".
func agree(text string, slots map[string]string) (agreed string, filled map[string]string) {
	several := func(attr string) bool { return slots[attr] != "" && isPlural(slots[attr]) }
	if !several("attr") && !several("attr2") {
		return text, slots
	}
	text = verbs.ReplaceAllStringFunc(text, func(said string) string {
		m := verbs.FindStringSubmatch(said)
		if !several(m[1]) {
			return said
		}
		of := map[string]string{"is": "are", "isn't": "aren't", "has": "have", "goes": "go", "needs": "need",
			"changes": "change", "doesn't": "don't"}
		return strings.TrimSuffix(said, m[3]) + of[m[3]]
	})
	text = whatIs.ReplaceAllStringFunc(text, func(said string) string {
		m := whatIs.FindStringSubmatch(said)
		if !several(m[2]) {
			return said
		}
		return m[1] + " are the {" + m[2] + "}"
	})
	text = oneOf.ReplaceAllStringFunc(text, func(said string) string {
		m := oneOf.FindStringSubmatch(said)
		if !several(m[2]) {
			return said
		}
		of := map[string]string{"another": "other ", "a new": "new "}
		return of[strings.ToLower(m[1])] + "{" + m[2] + "}"
	})
	if several("attr") {
		text = strings.NewReplacer("the higher {attr}", "more {attr}", "higher {attr}", "more {attr}").Replace(text)
		if slots["end"] == "highest" {
			text = strings.ReplaceAll(text, "{end} {attr}", "most {attr}")
		}
	}
	if is, ok := strings.CutPrefix(slots["rel"], "is "); ok && several("attr2") {
		slots = maps.Clone(slots)
		slots["rel"] = "are " + is
	}
	return text, slots
}

// Word words a program for a split. The same stream gives the same words.
func (p *Program) Word(r *rand.Rand, split string) Worded { return p.WordAs(r, split, nil) }

// WordAs is Word with requests of a model in the place of the templates': one for each of Meanings, "" for one that is
// bound to its words. None are those of the templates. The same stream gives the same answer and the same checks as
// Word.
func (p *Program) WordAs(r *rand.Rand, split string, requests []string) Worded {
	if p.asked != "" {
		return p.asWritten()
	}
	typed := func(i int) func(*rand.Rand, string) string {
		return func(r *rand.Rand, wording string) string {
			if wording = mistype(r, wording); requests != nil && requests[i] != "" {
				return requests[i]
			}
			return wording
		}
	}
	text, answer, checks := p.say(r, split, typed(0))
	between := ""
	switch {
	case p.later > 0:
		more, also, others := p.then.say(r, split, typed(1))
		text += " " + NextMessage + " " + more
		if p.recalled != nil {
			checks = nil // it is answered before
		}
		for i := range checks {
			checks[i].AnyTurn = true // the last answer is the other's
		}
		between, answer, checks = answer, also, append(checks, others...)
	case p.then != nil:
		more, also, others := p.then.say(r, split, typed(1))
		switch by := pick(r, manners()["second"][split]); by {
		case "":
			if !ends(text) {
				text += "."
			}
			text += " " + p.then.begin(more, unicode.ToUpper)
		case "\n":
			text += by + more
		default:
			text = follow(text, by) + " " + p.then.begin(more, unicode.ToLower)
		}
		switch {
		case answer == "" || answer == done:
			answer = also
		case also != "" && also != done:
			answer += "\n" + also
			checks, others = loosely(checks), loosely(others) // each answer somewhere in the message
		}
		checks = append(checks, others...)
	}
	if p.slots["leave"] != "" {
		text = follow(text, pick(r, manners()["leave"][split]))
	}
	if requests == nil { // a model's have a greeting of their own, or none
		if said := p.address(r, split, text); !p.refusesItself(said, checks) {
			text = said
		}
	}
	for q := p; q != nil; q = q.then {
		if asks := q.Answer.Asks; q.Answer.Form == "question" &&
			(asks == "" || regexp.MustCompile(asks).MatchString(text)) { // else who repeats it asks back
			text = strings.ReplaceAll(text, "?", ".")
		}
	}
	return Worded{text, between, answer, checks}
}

// refusesItself reports whether a request that must be refused says so itself: who repeats it would pass.
func (p *Program) refusesItself(text string, checks []scenario.Check) bool {
	refused := []string{"cannot", "unknown"}
	return (slices.Contains(refused, p.Answer.Form) || p.then != nil && slices.Contains(refused, p.then.Answer.Form)) &&
		slices.ContainsFunc(checks, func(c scenario.Check) bool {
			return c.Regex != nil && regexp.MustCompile(*c.Regex).MatchString(text)
		})
}

// done is what a demonstration says where nothing was asked.
const done = "Done."

// say words one program, without what is behind it. A wording is typed before its slots are filled.
func (p *Program) say(
	r *rand.Rand,
	split string,
	typed func(*rand.Rand, string) string,
) (text, answer string, checks []scenario.Check) {
	wording := pick(r, p.requests(split))
	that := strings.HasPrefix(p.pattern, "that_")
	if len(p.Tables) > 0 && p.Tables[0].OfPeople() && (that || strings.Contains(wording, "{x}")) {
		wording = theirs.ReplaceAllString(wording, "their {") // nobody calls a nurse "it"
		if that {
			wording = thatOne.ReplaceAllString(wording, "$1 them")
		}
	}
	text = fill(typed(r, wording), p.saidSlots(r, split))
	if len(p.deeds) > 0 { // a text that ends a sentence may end one itself
		text = strings.ReplaceAll(text, "..", ".")
	}
	if in := p.slots["in"]; in != "" {
		text = follow(text, strings.ReplaceAll(pick(r, manners()["in_file"][split]), "{file}", in))
	}
	if p.Retracted() {
		text = follow(text, strings.ReplaceAll(pick(r, manners()["taken"][split]), "{what}", p.What()))
	}
	text = p.keeps(r, split, text)
	if p.Answer.Form == "" {
		return text, p.brief(r, split), nil
	}
	f := pick(r, forms(cmp.Or(p.slots["form"], p.Answer.Form)))
	a := p.Answer
	if a.Form == "text" && p.slots["like"] != "" || p.deeds["else"] != nil ||
		f.manner == "last" && p.then != nil && p.then.Answer.Form != "" {
		f = forms("")[0] // one form is enough, none may tell how a condition comes out, and an answer follows the last
	}
	commas := a.hasCommas()
	if commas { // between them nobody could tell where one ends
		f = form{"lines", perLine}
	}
	if how := p.slots["round"]; how != "" {
		text = follow(text, pick(r, manners()[how][split]))
	}
	if text, answer, checks, fixed := p.sayFixed(r, split, f, text); fixed {
		return text, answer, checks
	}
	sorts := p.slots["sort"] != ""
	if sorts && !commas {
		sortedText := joinValues(a)
		if p.slots["first"] != "" {
			text = follow(text, pick(r, manners()["first_names"][split]))
		}
		text = follow(text, pick(r, manners()["sorted"][split]))
		return text, sortedText, []scenario.Check{{Type: scenario.AnswerCheck, Equals: &sortedText}}
	}
	if p.pattern == "list" && a.Order && p.alphabetical && !commas && r.IntN(2) == 0 {
		sortedText := joinValues(a)
		text = follow(text, pick(r, manners()["sorted"][split]))
		return text, sortedText, []scenario.Check{{Type: scenario.AnswerCheck, Equals: &sortedText}}
	}
	if a.Order && p.pattern == "list" || sorts { // the others say their order themselves
		text = follow(text, pick(r, manners()[cmp.Or(p.slots["surname"], "order")][split]))
	}
	answer = f.read(a)
	ask := ""
	if p.slots["also"] != "" {
		text = follow(text, pick(r, manners()["also"][split]))
	}
	if like := p.slots["like"]; like != "" {
		text = follow(text, strings.ReplaceAll(pick(r, manners()["like"][split]), "{like}", like))
	}
	if p.slots["first"] != "" {
		text = follow(text, pick(r, manners()["first_names"][split]))
	}
	if f.manner != "" {
		ask = pick(r, manners()[f.manner][split])
		text = follow(text, ask)
	}
	return text, answer, a.checks(ask, answer)
}

// sayFixed is the answer of a form that no manner of the request changes.
func (p *Program) sayFixed(r *rand.Rand, split string, f form, request string) (
	text, answer string, checks []scenario.Check, is bool,
) {
	text, a := request, p.Answer
	switch a.Form {
	case "unknown":
		none := notKnown()
		text, answer = p.inForm(r, split, f, text, "not recorded")
		return text, answer, []scenario.Check{{Type: scenario.AnswerCheck, Regex: &none}}, true
	case "none":
		none := sayNone()
		return text, joinValues(a), []scenario.Check{{Type: scenario.AnswerCheck, Regex: &none}}, true
	case "cannot":
		refusal := notAble()
		return text, joinValues(a), []scenario.Check{{Type: scenario.AnswerCheck, Regex: &refusal}}, true
	case "lines":
		lines := strings.Join(a.Values, "\n")
		return text, lines, []scenario.Check{{Type: scenario.AnswerCheck, Equals: &lines}}, true
	case "each":
		return text, perLine(a), a.eachChecks(), true
	case "yes_who":
		return text, "Yes, " + enumerate(a.Values) + ".", a.yesChecks(), true
	case "told":
		answer = pick(r, []string{joinValues(a), enumerate(a.Values), enumerate(a.Values) + "."})
		return text, answer, a.toldChecks(), true
	case "left":
		nothing := nothingDone()
		return text, joinValues(a), []scenario.Check{{Type: scenario.AnswerCheck, Regex: &nothing}}, true
	case "question":
		text, answer = p.inForm(r, split, f, text, "")
		return text, answer, a.asking(), true
	}
	return "", "", nil, false
}

// inForm has a request that is refused, or asked back, say how the answer should read, as those that are answered do.
// Where a last line is wanted, it has what there is to say; "": none is wanted.
func (p *Program) inForm(r *rand.Rand, split string, f form, text, none string) (request, answer string) {
	answer = joinValues(p.Answer)
	if able := []string{"number", "text", "comma", "lines", "last"}; !slices.Contains(able, f.manner) ||
		f.manner == "last" && none == "" {
		return text, answer
	}
	if f.manner == "last" {
		answer += "\nANSWER: " + none
	}
	return follow(text, pick(r, manners()[f.manner][split])), answer
}

// keeps has a request say what is to stay, where there is such.
func (p *Program) keeps(r *rand.Rand, split, text string) string {
	keep := p.slots["keep"]
	if keep == "" {
		return text
	}
	if !ends(text) { // a name keeps its capital
		text += "."
	}
	return follow(text, strings.ReplaceAll(pick(r, manners()["keep"][split]), "{y}", keep))
}

// asking are the checks of a question back.
func (a Answer) asking() []scenario.Check {
	if asks := a.Asks; asks != "" {
		return []scenario.Check{{Type: scenario.AnswerCheck, Regex: &asks}}
	}
	mark := "?"
	checks := append([]scenario.Check{{Type: scenario.AnswerCheck, Contains: &mark}}, a.named()...)
	if names := a.For; names != "" {
		checks = append(checks, scenario.Check{Type: scenario.AnswerCheck, Regex: &names})
	}
	return checks
}

// named want all names among which a question back asks.
func (a Answer) named() (list []scenario.Check) {
	for _, name := range a.Among {
		list = append(list, scenario.Check{Type: scenario.AnswerCheck, Contains: &name})
	}
	return list
}

// isASCII reports whether the values are in ASCII, so that there is one alphabetical order.
func (a Answer) isASCII() bool {
	return strings.IndexFunc(joinValues(a), func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// isAlphabetical reports whether the values are in one order whether capitals count or not: B before a is in none.
func (a Answer) isAlphabetical() bool {
	return slices.IsSortedFunc(a.Values, func(x, y string) int {
		return strings.Compare(strings.ToLower(x), strings.ToLower(y))
	})
}

// checks are those of an answer in the form that was asked for.
func (a Answer) checks(ask, answer string) []scenario.Check {
	list := []scenario.Check{a.check(ask, answer)}
	if len(a.Among) > 0 && !strings.Contains(ask, "ANSWER: ") {
		list = append(list, scenario.Check{Type: scenario.AnswerCheck, OneOf: a.Among})
	}
	return list
}

// check is the condition on an answer: to the letter where a form was asked, else that the value is said and little
// else.
func (a Answer) check(ask, answer string) scenario.Check {
	c := scenario.Check{Type: scenario.AnswerCheck}
	switch {
	case strings.Contains(ask, "ANSWER: "):
		text := `(?m)^ANSWER: *` + regexp.QuoteMeta(joinValues(a)) + `\.?\s*\z`
		c.Regex = &text
	case a.Form == "time" || a.Form == "times":
		text := timeCheck(a.Values)
		c.Regex = &text
	case a.Form == "span":
		text := spanCheck(a.Values[0])
		c.Regex = &text
	case a.Form == "number":
		c.Number, c.Tolerance = scenario.NumberIn(a.Values[0]), 0.005 // made of digits
	case a.Form == "yes_no":
		text := `(?i)^\W*` + strings.ToLower(a.Values[0]) + `\b`
		c.Regex = &text
	case a.Form == "list" && a.Order:
		text := fmt.Sprintf(`\A(?:[^\n]{0,%d}:\s*)?[^\n,;]{0,%d}?`, around, around) + whole(a.Values[0])
		for _, v := range a.Values[1:] { // one mark between two, so that nothing else is listed there
			text += `[^\n,;]{0,12}?(?:[\n,;>]|\band\b|\bthen\b)\s*[^\n,;]{0,12}?` + whole(v)
		}
		text += fmt.Sprintf(`[^\n,;]{0,%d}\z`, around)
		c.Regex = &text
	case a.Form == "fields":
		text := fieldsCheck(a.Values, a.Beside)
		c.Regex = &text
	case a.Form == "pair" && a.How != "":
		text := `\A\s*` + regexp.QuoteMeta(answer) + `\.?\s*\z`
		c.Regex = &text
	case a.Form == "list" || a.Form == "pair":
		c.Set = a.Values
	default:
		text := fmt.Sprintf(`^[^\n,;]{0,%d}%s[^\n,;]{0,%d}$`, around, spelling(a.Values[0]), around)
		if slices.Contains(a.Among, "First") || slices.Contains(a.Among, "Later") {
			text = "(?i)" + text
		}
		c.Regex = &text
	}
	return c
}

var (
	wordFirst = regexp.MustCompile(`^\w`)
	wordLast  = regexp.MustCompile(`\w$`)
)

// whole matches a value that is no part of a longer word.
func whole(value string) string {
	text := regexp.QuoteMeta(value)
	if wordFirst.MatchString(value) {
		text = `\b` + text
	}
	if wordLast.MatchString(value) {
		text += `\b`
	}
	return text
}

// spelling matches a value as people write it: of a day "3 July 2024" and "July 3rd, 2024" too.
func spelling(value string) string {
	day, err := time.Parse(time.DateOnly, value)
	if err != nil {
		return whole(value)
	}
	month := day.Month().String()
	of, nth := month[:3]+"(?:"+month[3:]+")?", fmt.Sprintf("0?%d(?:st|nd|rd|th)?", day.Day())
	return fmt.Sprintf(`\b(?:%s|%s (?:of )?%s,? %d|%s %s,? %d)\b`, value, nth, of, day.Year(), of, nth, day.Year())
}

// around bounds what may stand about a short answer, and no comma does, so that a list of everything is none.
const around = 60

// loosely are checks of an answer that hold where others stand in the same message. What is listed is then only said:
// what else may stand there is the other's.
func loosely(checks []scenario.Check) (list []scenario.Check) {
	for _, c := range checks {
		texts := []string{}
		switch {
		case c.Number != nil:
			texts = append(texts, saidSomewhere(c.Number.Spellings()[0]))
		case c.Regex != nil:
			text := strings.TrimSuffix(strings.TrimPrefix(*c.Regex, "(?m)"), `\z`)
			if line, ok := strings.CutPrefix(text, `\A`); ok {
				text = "^" + line
			}
			texts = append(texts, "(?m)"+text)
		case c.Equals != nil:
			texts = append(texts, `(?m)^`+regexp.QuoteMeta(*c.Equals)+`\.?$`)
		case len(c.OneOf) > 0: // the others may be the other answer's
			continue
		case len(c.Set) > 0:
			for _, v := range c.Set {
				texts = append(texts, whole(v))
			}
		default:
			list = append(list, c)
		}
		for _, text := range texts {
			list = append(list, scenario.Check{Type: c.Type, Regex: &text})
		}
	}
	return list
}
