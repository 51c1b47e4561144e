package programs

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hone/internal/episode/scenario"
)

//go:embed wordings.json
var wordingsFile []byte

// wordings are the requests by pattern and split. Held-out tasks are in words that no training task has.
func wordings() (all map[string]map[string][]string) {
	if err := json.Unmarshal(wordingsFile, &all); err != nil {
		panic(err) // the file is compiled in
	}
	return all
}

// Worded is a program as a task.
type Worded struct {
	Task   string
	Answer string // of the demonstration
	Checks []scenario.Check
}

// form is how an answer is asked for, and how it then reads.
type form struct {
	ask  string // "" says nothing of it
	read func(a Answer) string
}

func joined(a Answer) string { return strings.Join(a.Values, ", ") }

func sorted(a Answer) string {
	values := slices.Clone(a.Values)
	slices.Sort(values)
	return strings.Join(values, ", ")
}

// forms are the ways to ask for an answer of some form, by split.
func forms(of, split string) []form {
	last := form{"End with a line ANSWER: and the answer.", func(a Answer) string { return "ANSWER: " + joined(a) }}
	if split != scenario.Train {
		last.ask = "The last line of your reply must be \"ANSWER: \" and then the result."
	}
	none := form{"", joined}
	say := func(train, held string, read func(Answer) string) form {
		if split == scenario.Train {
			return form{train, read}
		}
		return form{held, read}
	}
	switch of {
	case "number":
		return []form{
			none,
			none,
			say("Just the number.", "Reply with nothing but the number.", joined),
			say("Answer with a number only.", "Only give me the figure.", joined),
			last,
		}
	case "text":
		return []form{none, none, say("Just the answer, no sentence.", "Reply with that alone.", joined), last}
	case "list":
		return []form{
			none,
			say("Comma-separated, please.", "Separate them by commas.", joined),
			say(
				"One per line.",
				"Put each on a line of its own.",
				func(a Answer) string { return strings.Join(a.Values, "\n") },
			),
		}
	case "yes_no":
		return []form{none, say("Answer yes or no.", "A plain yes or no will do.", joined)}
	}
	return []form{none}
}

// before matches an article and the slot that it stands before.
var before = regexp.MustCompile(`\b[aA] \{\w+\}`)

var optional = regexp.MustCompile(`\{,(\w+)\}`)

// fill puts slots into a wording. {,filter} is ", looking only at the MANY FILTER" where there is a filter.
func fill(text string, slots map[string]string) string {
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
	var pairs []string
	for _, name := range strings.Fields("one many x y attr ref refone asks filter end super n others v " +
		"old given bound verb rel ends attr2 v2") {
		pairs = append(pairs, "{"+name+"}", slots[name])
	}
	text = strings.Join(strings.Fields(strings.NewReplacer(pairs...).Replace(text)), " ")
	return strings.NewReplacer(" ?", "?", " .", ".", " ,", ",", " :", ":", " ;", ";", " )", ")").Replace(text)
}

// Word words a program for a split. The same stream gives the same words.
func (p *Program) Word(r *rand.Rand, split string) Worded {
	text, answer, checks := p.say(r, split)
	if p.then != nil {
		more, also, others := p.then.say(r, split)
		text += pick(r, []string{" ", " Also: ", " Then: ", "\n"}) + more
		switch {
		case answer == "" || answer == done:
			answer = also
		case also != "" && also != done:
			answer += "\n" + also
			for i := range checks { // each answer somewhere in the message
				checks[i] = loosely(checks[i])
			}
			for i := range others {
				others[i] = loosely(others[i])
			}
		}
		checks = append(checks, others...)
	}
	if p.slots["leave"] != "" {
		text += pick(r, []string{" Don't change anything.", " Only look, change nothing.", " Leave the data as it is."})
	}
	return Worded{people(r, text), answer, checks}
}

// done is what a demonstration says where nothing was asked.
const done = "Done."

// say words one program, without what is behind it.
func (p *Program) say(r *rand.Rand, split string) (text, answer string, checks []scenario.Check) {
	text = fill(pick(r, wordings()[p.pattern][split]), p.slots)
	if p.Answer.Form == "" {
		return text, done, nil
	}
	f := pick(r, forms(p.Answer.Form, split))
	a := p.Answer
	switch a.Form {
	case "unknown":
		none := `(?i)\b(?:no|not|isn't|aren't|doesn't|don't|unknown|cannot|can't)\b`
		return text, joined(a), []scenario.Check{{Type: scenario.AnswerCheck, Regex: &none}}
	case "cannot":
		refusal := `(?i)can't|cannot|can not|unable|not able|no tool|none of|don't have|isn't possible|not possible`
		return text, joined(a), []scenario.Check{{Type: scenario.AnswerCheck, Regex: &refusal}}
	case "lines":
		lines := strings.Join(a.Values, "\n")
		return text, lines, []scenario.Check{{Type: scenario.AnswerCheck, Equals: &lines}}
	case "left":
		nothing := `(?i)already (?:there|exist|in|on|present|has|have)|nothing (?:was|is|has|to)|unchanged|no changes?|` +
			`not (?:below|less|lower|under|changed|added|updated)|did(?:n't| not)|was(?:n't| not)`
		return text, joined(a), []scenario.Check{{Type: scenario.AnswerCheck, Regex: &nothing}}
	case "question":
		mark := "?"
		return text, joined(a), []scenario.Check{{Type: scenario.AnswerCheck, Contains: &mark}}
	}
	if a.Form == "list" && !a.Order && r.IntN(3) == 0 {
		f = form{"Sorted alphabetically, comma-separated.", sorted}
		if split != scenario.Train {
			f.ask = "In alphabetical order, with commas between them."
		}
		sortedText := sorted(a)
		return text + " " + f.ask, sortedText, []scenario.Check{{Type: scenario.AnswerCheck, Equals: &sortedText}}
	}
	answer = f.read(a)
	if f.ask != "" {
		text += " " + f.ask
	}
	return text, answer, []scenario.Check{a.check(f.ask, answer)}
}

// check is the condition on an answer: to the letter where a form was asked, else that the value is said and little
// else.
func (a Answer) check(ask, answer string) scenario.Check {
	c := scenario.Check{Type: scenario.AnswerCheck}
	switch {
	case strings.Contains(ask, "ANSWER: "):
		text := `(?m)^ANSWER: *` + regexp.QuoteMeta(joined(a)) + `\.?\s*\z`
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
	case a.Form == "list":
		c.Set = a.Values
	default:
		text := fmt.Sprintf(`^[^\n,;]{0,%d}%s[^\n,;]{0,%d}$`, around, whole(a.Values[0]), around)
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

// around bounds what may stand about a short answer, and no comma does, so that a list of everything is none.
const around = 60

// loosely is a check of an answer that holds where others stand in the same message.
func loosely(c scenario.Check) scenario.Check {
	switch {
	case c.Number != nil:
		number := c.Number.Spellings()[0]
		if strings.Contains(number, ".") {
			number = trimFloat(c.Number.Float())
		}
		text := `(?:^|[^\d.])` + regexp.QuoteMeta(number) + `(?:\.0+)?(?:[^\d]|$)`
		return scenario.Check{Type: c.Type, Regex: &text}
	case c.Regex != nil:
		text := "(?m)" + strings.TrimPrefix(*c.Regex, "(?m)")
		text = strings.TrimSuffix(text, `\z`)
		return scenario.Check{Type: c.Type, Regex: &text}
	case c.Equals != nil:
		text := `(?m)^` + regexp.QuoteMeta(*c.Equals) + `\.?$`
		return scenario.Check{Type: c.Type, Regex: &text}
	}
	return c
}

// people write as they do: mostly as it is, at times in small letters, without the last mark, or with a word more.
func people(r *rand.Rand, text string) string {
	switch r.IntN(12) {
	case 0:
		text = first(text, unicode.ToLower)
	case 1:
		text = strings.TrimRight(text, ".")
	case 2:
		text = pick(r, []string{"Hi! ", "Hello, ", "Hey, ", "Morning. "}) + text
	case 3:
		text += pick(r, []string{" Thanks!", " Thank you.", " thx", " Cheers"})
	case 4:
		text = pick(
			r,
			[]string{"Please help: ", "One thing: ", "Quick one: ", "For my report: ", "My boss asks: "},
		) + text
	default:
		text = first(text, unicode.ToUpper)
	}
	return text
}

// first changes the first letter of a text.
func first(text string, to func(rune) rune) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(to(r)) + text[n:]
}
