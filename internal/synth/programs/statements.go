package programs

import (
	"regexp"
	"slices"
	"strings"
)

// notKnown matches a statement that something is not known or not there, in an answer. A "no" alone is none, nor is one
// that gives a reason for a value, "There are no dogs, so 3.", nor one about the rest, as in
// "2 people; no one else is listed".
func notKnown() string {
	rest := strings.Fields("else other others another more further rest")
	var (
		word   = wordBut(rest...)
		few    = statement(word, `\s*[-/]\s*\d\S*`)                   // without a count: "not 4 but 3 on record"
		within = statement(word, `[^\w.,;:!?\n]*\d\w*(?:[.:/-]\w+)*`) // with the number of a thing
		what   = statement(
			wordBut(append(rest, strings.Fields("besides except so than but is are was were it they")...)...),
			`[^\w.,;:!?\n]*\d\w*(?:[.:/-]\w+)*`)
	)
	const (
		not = `(?:\bnot\b|\b(?:is|are|was|were|do|does|did|ca|could|has|have|had|wo|would)n['’]t\b)`
		by  = `\b(?:and|but|so|since|because|as|while|though)\b`
		// from where to where nothing says that it is about the rest
		begins, ends = `(?:^|[.,;:!?\n(]|` + by + `)`, `(?:[.,;:!?\n)]|$|` + by + `)`
		whole        = `(?:[.!](?:\s|$)|$)` // what is not there, and no more
		column       = `columns?|fields?|property|attribute`
		place        = `(?:the |our |my |this |that |these |any )?(?:\w+ )?` +
			`(?:records?|files?|lists?|folders?|tables?|database|data|graph|notes?)`
	)
	said := strings.Join([]string{
		// no hangar called Nine, no website on record, no price in that file
		`\bno\b` + within + `\b(?:called|named|recorded|stored|listed|noted|known|available|given|` +
			`mentioned|found|exists?|registered|tracked|(?:by|of|with) (?:that|this) name|(?:on|in|under) ` +
			place + `|` + column + `)\b`,
		`\bno (?:such|information|info|records?|data|details?|mention|trace|entry|note|way to (?:know|tell|say))\b`,
		`\bthere(?: is|['’]s| are|['’]re) no\b` + within + `\b(?:here|there|anywhere)\b`,
		// is not recorded, doesn't exist, do not have that information, couldn't find it, am unable to say
		`(?:` + not + `|\bcannot\b|\bunable to\b)` + few + `\b(?:recorded|stored|kept|listed|noted|` +
			`known|given|stated|specified|mentioned|tracked|documented|registered|found|available|provided|included|` +
			`present|there|exist|anywhere|information|info|know|find|tell|say|determine|locate|answer|` +
			`(?:on|in|part of) ` + place + `|` + column + `)\b`,
		`\bnothing (?:is )?(?:about|recorded|noted|known|listed|stored)\b`,
		`\bnowhere\b`,
		`\b(?:is|are|remains?) unknown\b`, `\b(?:nobody|no one) knows\b`, `\b(?:is|are) missing\b`,
	}, "|")
	absent := strings.Join([]string{
		// There is no website. It has no price.
		`\b(?:there(?: is|['’]s| are|['’]re)|has|have|had|found|find|finds|see|holds?|contains?|shows?|lists?) no\b`,
		// does not contain a website, doesn't have one, do not include the price
		not + few + `\b(?:have (?:an?|any|the|that|one|such)|contain|include|show|mention|specify|` +
			`store|record|track|keep|list|hold)\b`,
	}, "|")
	return anyOf(begins+within+`(?:(?:`+said+`)`+within+ends+`|(?:`+absent+`)`+what+whole+`)`, `(?:^|: ?)unknown\b`)
}

// sayNone matches an answer that there are none of what was asked for.
func sayNone() string {
	return anyOf(notKnown(), `\b(?:none|nobody|no one|nothing|zero)\b`, `^\W*(?:no|0)\b`,
		`(?:n['’]t|\bnot)(?: \w+){0,2} any\b`, `\b(?:is|are|has|have|there['’]s) no\b`)
}

// statement matches words of one statement, each with numbers behind it, as few as fit. A name may have other words and
// numbers in it, or a stop: "SO-427", "119 / 2019", "St. Olaf".
func statement(word, number string) string {
	return `(?:[^\w.,;:!?\n]*(?:` + word + `(?:[.:/&'’-]\w+)*|\w+(?:[./-]\w+)+|\d+ ?/ ?\d+\b|` +
		`(?-i:\b[A-Z][a-z]{0,3}\. ))(?:` + number + `)*)*?[^\w.,;:!?\n]*`
}

// wordBut matches a word that is none of some.
func wordBut(words ...string) string { return `\b` + lettersBut(words, `\d`) + `\b` }

// lettersBut matches what is none of some texts and does not begin with some others.
func lettersBut(texts []string, nor string) string {
	behind := map[string][]string{}
	var first []string
	for _, text := range texts {
		if text != "" {
			if behind[text[:1]] == nil {
				first = append(first, text[:1])
			}
			behind[text[:1]] = append(behind[text[:1]], text[1:])
		}
	}
	ways := []string{`[^\W` + nor + strings.Join(first, "") + `]\w*`}
	for _, letter := range first {
		ways = append(ways, letter+lettersBut(behind[letter], ""))
	}
	if nor == "" && !slices.Contains(texts, "") {
		ways = append(ways, "")
	}
	return `(?:` + strings.Join(ways, "|") + `)`
}

// notAble matches a statement of the one who answers that they, or their tools, cannot do what was asked, anywhere in
// an answer. That somebody else cannot do something is none, nor is that of some things there are none.
func notAble() string {
	const (
		cannot = `(?:can['’]t|cannot|can not|could not|couldn['’]t|unable to|not able to|not possible for me to)\b`
		tool   = `(?:\w+ )?(?:tools?|functions?|abilit(?:y|ies)|access|means|way|permission)\b`
	)
	return anyOf(
		`\b(?:i|we|my tools|the tools|these tools)\b[^.;!?\n\d]{0,40}?\b`+cannot, // I can't, I am sorry but cannot
		`(?:^|[.!?:]\s+)(?:sorry,? )?(?:but )?`+cannot,
		`\b`+cannot+` be done\b`,
		`(?:n['’]t|\bnot) (?:possible|supported|something (?:i|we|my tools) can)\b`, // it isn't, printing is not
		`\b(?:i|we|my tools|the tools|these tools) (?:can only|only can)\b`,
		`\b(?:no|none of (?:my|the|these|our)|without an?|lack an?|lack the) `+tool,
		`\b(?:i|we|my tools)\b[^.;!?\n\d]{0,20}?\b(?:do not|don['’]t) (?:have|offer|provide|support)`+
			`(?: (?:an?|any|the))? `+tool,
		`\b(?:beyond|outside(?: of)?) (?:my|what (?:i|my tools))\b`,
	)
}

// nothingDone matches a statement that all is left as it was, anywhere in an answer.
func nothingDone() string {
	return anyOf(
		`already (?:there|exist|in|on|present|has|have)`, `nothing (?:was|is|has|to)`, `unchanged`,
		`no (?:changes?|action|updates? (?:was|were|is|are))`, `^\W*(?:there (?:are|were) no|none)\b`,
		`not (?:below|less|lower|under|changed|added|updated)`, `(?:did|was|will)(?:n['’]t| not)\b`,
		`(?:have|has|is)(?:n['’]t| not) (?:been )?(?:changed|added|updated|touched|altered|created|made|deleted|removed)`,
		`won['’]t\b`, `\bi(?:['’](?:ve|ll|m)| have| will| am)? (?:left|leave|leaving|kept|keep|keeping)\b`,
		`\b(?:was|were|been) left\b`, `\b(?:remains?|stays?)\b`,
	)
}

// anyOf matches what one of several expressions does, in capitals too.
func anyOf(list ...string) string {
	return `(?i)` + strings.ReplaceAll(strings.Join(list, "|"), "(?i)", "")
}

// AsksFor matches a question that has one of some words before one of others, or asks for one of these: "could you tell
// me the folder?". Both are expressions.
func AsksFor(words, things string) string {
	return anyOf(
		`\b(?:`+words+`)\b`+sentence+`\b(?:`+things+`)\b`+sentence+`\?`,
		`\b(?:need|require|provide|specify|share|clarify|identify|know|say|name|choose|pick|tell me|give me)\b`+
			sentence+`\b(?:`+things+`|it|that|one|which|what|where|who)\b`+sentence+`\?`,
		`\b(?:do|did) you mean\b`+sentence+`\?`,
		`\b(?:which|what|where|who)\s*\?`,
	)
}

// sentence is more of the same sentence: a name may have a stop in it.
const sentence = `(?:[^.!?]|[.!]\S)*?`

// asksWhich matches a question which of some things is meant: by their noun, by one for any thing, or by none.
func asksWhich(one, many string) string {
	nouns := []string{`ones?`, `items?`, `entr(?:y|ies)`, `records?`, `rows?`, `things?`, `tasks?`, `person`, `people`}
	for _, noun := range []string{one, many, one[strings.LastIndexByte(one, ' ')+1:]} {
		nouns = append(nouns, regexp.QuoteMeta(noun))
	}
	of := strings.Join(nouns, "|")
	return anyOf(
		`\bwhich\s+(?:[\w'’-]+\s+){0,2}?(?:`+of+`)\b`+sentence+`\?`,
		`\bwhich\s+(?:of|do|did|are|is|should|would)\b`+sentence+`\?`,
		`\b(?:is|was) (?:it|that|this)\b`+sentence+`\bor\b`+sentence+`\?`,
		AsksFor(`what|who|whose`, of+`|names?|titles?|ids?|numbers?|identifiers?|called`),
	)
}

// asksValue matches a question what a property is to be.
func asksValue(property string) string {
	things := strings.Fields(`it be value new set changed? updated? correct put enter use instead`)
	for _, w := range strings.Fields(strings.ToLower(property)) {
		if len(w) > 2 && !slices.Contains(grammar(), w) {
			things = append(things, regexp.QuoteMeta(w))
		}
	}
	return anyOf(AsksFor(`what|which|whom?|when|where|how`, strings.Join(things, "|")), `\bto what\b`+sentence+`\?`)
}
