package generate

import (
	"embed"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"hone/internal/episode/scenario"
)

//go:embed wordings/*.json
var wordingFiles embed.FS

// family is a way to word tasks. No family words tasks of two splits. {do} is a request, {a} and {b} are two of them,
// and {Do} and {A} begin a sentence.
type family struct {
	Name    string   `json:"name"`
	One     []string `json:"one"`
	Tell    []string `json:"tell"`    // the {field} of what the call shows is to be said
	Of      []string `json:"of"`      // the same of a {thing}
	Count   []string `json:"count"`   // how many {things} there are
	Amount  []string `json:"amount"`  // {value} {from} in {to}
	Whole   []string `json:"whole"`   // the result alone is to be said
	Fed     []string `json:"fed"`     // {b} speaks of the result of {a}
	Within  []string `json:"within"`  // {hole} stands in the text of {b}
	Both    []string `json:"both"`    // two requests
	Recover []string `json:"recover"` // the second where the first is refused
}

// families are those of a split's tasks: what is chosen by validation tasks has seen no wording of the test.
func families(split string) []family { return allFamilies()[split] }

var allFamilies = sync.OnceValue(func() map[string][]family {
	all := map[string][]family{}
	for _, split := range splits() {
		name := "wordings/" + split + ".json"
		data, err := wordingFiles.ReadFile(name)
		var of []family
		if err == nil {
			err = json.Unmarshal(data, &of)
		}
		if err != nil {
			panic(name + ": " + err.Error()) // a file of the program itself
		}
		all[split] = of
	}
	return all
})

// text words a candidate by a family.
func (m *maker) text(c *Candidate, f family, r *rand.Rand) string {
	held := c.Split == scenario.Validation || c.Split == scenario.Test
	if c.own != nil {
		return c.own.values.Fill(pick(r, c.own.wordings(c.Split))) + f.reply(c.Answer, r)
	}
	last := m.requestOf(c.Calls[len(c.Calls)-1], held)
	if c.Kind == single {
		return f.alone(last, c.Answer, r)
	}
	pattern := pick(r, f.Both)
	switch {
	case c.Kind == chain && c.Calls[1].Within != "":
		pattern = pick(r, f.Within)
	case c.Kind == chain:
		pattern = pick(r, f.Fed)
	case c.Kind == recovery:
		pattern = pick(r, f.Recover)
	}
	first := m.requestOf(c.Calls[0], held).do
	return fill(pattern, "{a}", first, "{A}", title(first), "{b}", last.do, "{hole}", c.Calls[1].mark()) +
		f.reply(c.Answer, r)
}

func fill(pattern string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(pattern)
}

// reply says what the answer is to be, after a space; "" where nothing is asked.
func (f family) reply(a answer, r *rand.Rand) string {
	if a.text == "" {
		return ""
	}
	text, what := " ", "answer"
	switch {
	case a.field == "" || isResult(a.field):
		what = "result"
	default:
		text = " What is the " + a.fieldInWords() + "? "
	}
	return text + fill(pick(r, f.Whole), "{what}", a.what(what))
}

// fieldInWords is what the answer is called: "broadcast address", "number of words".
func (a answer) fieldInWords() string {
	field := wordsOfName(a.field)
	last := field[strings.LastIndexByte(field, ' ')+1:]
	if a.what("") == "number" && singular(last) != last {
		return "number of " + field
	}
	return field
}

// what is a number, or what other answers are called.
func (a answer) what(other string) string {
	if _, err := strconv.ParseFloat(a.text, 64); err == nil {
		return "number"
	}
	return other
}

// alone words one call as a sentence, and what the answer is to be.
func (f family) alone(q request, a answer, r *rand.Rand) string {
	field, text := a.fieldInWords(), ""
	switch {
	case a.count:
		text = fill(pick(r, f.Count), "{things}", q.things)
	case q.value != "" && isResult(a.field):
		text = fill(pick(r, f.Amount), "{value}", q.value, "{from}", q.from, "{to}", q.to)
	case a.text == "" || isResult(a.field):
		return f.bare(q.do, r) + f.reply(a, r)
	case q.thing != "" && r.IntN(3) > 0:
		text = fill(pick(r, f.Of), "{field}", field, "{thing}", q.thing)
	default:
		text = fill(pick(r, f.Tell), "{do}", q.do, "{Do}", title(q.do), "{field}", field)
	}
	if a.text == "" {
		return text
	}
	return text + " " + fill(pick(r, f.Whole), "{what}", a.what("answer"))
}

// bare is a request as a sentence.
func (f family) bare(do string, r *rand.Rand) string {
	return fill(pick(r, f.One), "{do}", do, "{Do}", title(do))
}
