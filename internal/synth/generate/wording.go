package generate

import (
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
)

//go:embed wordings/*.json
var wordingFiles embed.FS

// family is a way to word tasks. No family words tasks of two splits.
type family struct {
	Name    string   `json:"name"`
	Request request  `json:"request"`
	One     []string `json:"one"`     // word one call with its slots
	Bare    []string `json:"bare"`    // the same without slots
	Slot    string   `json:"slot"`    // of a name and a value
	Nested  string   `json:"nested"`  // the same where the value has parts
	Between string   `json:"between"` // slots
	// These join two calls. {a} and {b} are requests, {field} is what the first gives, {param} what the second takes.
	Fed       []string `json:"fed"`
	FedWhole  []string `json:"fed_whole"`  // the second takes the whole result
	FedWithin []string `json:"fed_within"` // {hole} stands in the text of {b}
	Both      []string `json:"both"`
	Recover   []string `json:"recover"`
	// These say what the answer is to be.
	Field []string `json:"field"`
	Whole []string `json:"whole"`
}

// request names how a family says what a tool does.
type request string

const (
	inDescription request = "description" // by the words of the tool's description
	inName        request = "name"
	inOtherWords  request = "other words" // by its name, with another verb
)

// of is what a tool does, in the base form: "convert time".
func (r request) of(s *subject) string {
	switch r {
	case inDescription:
		return byDescription(s)
	case inOtherWords:
		return otherwise(byName(s))
	}
	return byName(s)
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
	var text string
	switch {
	case c.own != nil:
		return c.own.values.Fill(pick(r, c.own.wordings(c.Split)))
	case c.Kind == single:
		text = m.alone(c.Calls[0], f, r)
	case c.Kind == chain && c.Calls[1].Within != "":
		text = m.joinCalls(c, pick(r, f.FedWithin), f)
	case c.Kind == chain && c.Calls[1].Field == "":
		text = m.joinCalls(c, pick(r, f.FedWhole), f)
	case c.Kind == chain:
		text = m.joinCalls(c, pick(r, f.Fed), f)
	case c.Kind == recovery:
		text = m.joinCalls(c, pick(r, f.Recover), f)
	default:
		text = m.joinCalls(c, pick(r, f.Both), f)
	}
	return text + f.reply(c.Answer, r)
}

// reply says what the answer is to be, after a space; "" where nothing is asked.
func (f family) reply(a answer, r *rand.Rand) string {
	switch {
	case a.text == "":
		return ""
	case a.field == "":
		return " " + pick(r, f.Whole)
	}
	return " " + strings.ReplaceAll(pick(r, f.Field), "{field}", wordsOfName(a.field))
}

// alone words one call as a sentence.
func (m *maker) alone(c Call, f family, r *rand.Rand, without ...string) string {
	do, slots := f.Request.of(m.byName[c.Tool]), f.slots(slotsOf(c, without...))
	pattern := pick(r, f.One)
	if slots == "" {
		pattern = pick(r, f.Bare)
	}
	text := strings.NewReplacer("{Do}", title(do), "{do}", do, "{slots}", slots, "{Slots}",
		title(slots)).Replace(pattern)
	return title(text)
}

func (f family) slots(slots []slot) string {
	var parts []string
	for _, s := range slots {
		pattern := f.Slot
		if s.nested {
			pattern = f.Nested
		}
		parts = append(parts, strings.NewReplacer("{name}", s.name, "{value}", s.value).Replace(pattern))
	}
	return strings.Join(parts, f.Between)
}

// joinCalls words two calls by a pattern.
func (m *maker) joinCalls(c *Candidate, pattern string, f family) string {
	part := func(x Call) string {
		do, slots := f.Request.of(m.byName[x.Tool]), f.slots(slotsOf(x))
		if slots == "" {
			return do
		}
		return fmt.Sprintf("%s (%s)", do, slots)
	}
	last := c.Calls[len(c.Calls)-1]
	return strings.NewReplacer("{a}", part(c.Calls[0]), "{b}", part(last), "{field}", wordsOfName(last.Field),
		"{param}", wordsOfName(last.Fed), "{hole}", last.mark()).Replace(pattern)
}
