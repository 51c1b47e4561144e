package generate

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// voice is what people leave to the reader: the year, where all days that are listed are in one, and their own name,
// which stands below.
type voice struct {
	year   string   // "": it has to be said
	people []string // who may be the one that asks
}

const (
	// one in so many tasks with a day leaves out the year
	yearlessOneIn = 2
	// one in so many tasks that name one person are by that person
	signedOneIn = 2
)

// voiceOf is the voice of a task over a board.
func (b *boarding) voiceOf(t *boardTask) (v voice) {
	lists := slices.ContainsFunc(t.reads, func(c Call) bool { return c.Tool == b.list.Name })
	for i, c := range b.table.Columns {
		if b.columns[i].isFor() && c.Ref == nil {
			v.people = append(v.people, b.valuesOf(i)...)
		}
		if c.Kind != programs.Date || b.columns[i].hidden || !lists {
			continue
		}
		for _, row := range b.table.Rows {
			year, _, _ := strings.Cut(programs.Show(row[i]), "-")
			if v.year == "" {
				v.year = year
			}
			if year != "" && year != v.year {
				return voice{people: v.people}
			}
		}
	}
	return v
}

// speak has a request leave out the year, or say "me" for whoever asks.
func (v voice) speak(r *rand.Rand, text string) string {
	if v.year != "" && r.IntN(yearlessOneIn) == 0 {
		text = yearless(text, v.year)
	}
	if len(v.people) > 0 && r.IntN(signedOneIn) == 0 {
		text = signed(r, text, v.people)
	}
	return text
}

// yearless leaves a year out of the days and months of a text, unless another one stands in it.
func yearless(text, year string) string {
	if slices.ContainsFunc(anyYear.FindAllString(text, -1), func(y string) bool { return y != year }) {
		return text
	}
	return regexp.MustCompile(saidDay+`,? `+year+`\b`).ReplaceAllString(text, "$1")
}

var anyYear = regexp.MustCompile(`\b(?:19|20)\d\d\b`)

// saidDay matches a day with its month, or a month behind "in".
var saidDay = func() string {
	var names []string
	for m := time.January; m <= time.December; m++ {
		names = append(names, m.String(), m.String()[:3])
	}
	month := "(?:" + strings.Join(names, "|") + ")"
	return `(\d{1,2}(?:st|nd|rd|th)?(?: of)? ` + month + `|` + month + ` \d{1,2}|\bin ` + month + `)`
}()

// signed has a request be by somebody that it names, where "me" can stand in the place of each mention.
func signed(r *rand.Rand, text string, people []string) string {
	for _, at := range r.Perm(len(people)) {
		name := people[at]
		all := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
		able := regexp.MustCompile(`\b(to|for|with|let) ` + regexp.QuoteMeta(name) + `\b([^'\w-]|$)`)
		n := len(all.FindAllString(text, -1))
		if n == 0 || n != len(able.FindAllString(text, -1)) || strings.ContainsAny(text, "\"\n") {
			continue
		}
		text, said := able.ReplaceAllString(text, "${1} me${2}"), strings.ToUpper(name[:1])+name[1:]
		if strings.Contains(text, programs.NextMessage) { // whoever says the first is known then
			return pick(r, []string{said + " here: ", said + " here. "}) + text
		}
		return pick(r, []string{said + " here: " + text, said + " here. " + text, text + "\n" + said,
			text + " - " + said, strings.TrimRight(text, ".!") + ". Thanks, " + said})
	}
	return text
}
