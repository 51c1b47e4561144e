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
	names  []string // of the things
}

const (
	// one in so many tasks with a day leaves out the year
	yearlessOneIn = 2
	// one in so many tasks that name one person are by that person
	signedOneIn = 2
)

// voiceOf is the voice of a task over a board. The year is left to the reader where all days are in one, and the list
// that is read whole shows it.
func (b *boarding) voiceOf(t *boardTask) (v voice) {
	years := map[string]bool{}
	shown := slices.ContainsFunc(t.reads, func(c Call) bool { return c.key() == b.list.bare().key() })
	for i, c := range b.table.Columns {
		if b.columns[i].isFor() && c.Ref == nil {
			v.people = append(v.people, b.valuesOf(i)...)
		}
		for _, row := range b.table.Rows {
			if name := programs.Show(row[i]); i == b.table.Label {
				v.names = append(v.names, name)
			} else if year, _, _ := strings.Cut(name, "-"); c.Kind == programs.Date && year != "" {
				years[year] = true
				if shown && !b.columns[i].hidden {
					v.year = year
				}
			}
		}
	}
	if len(years) != 1 {
		v.year = ""
	}
	return v
}

// speak has a request leave out the year, or say "me" for whoever asks, where the answer need not name that one.
func (v voice) speak(r *rand.Rand, text, answer string) string {
	for _, name := range v.names { // what things are called stays
		if strings.Contains(text, name) && anyDay.MatchString(name) {
			return text
		}
	}
	if v.year != "" && r.IntN(yearlessOneIn) == 0 {
		text = yearless(text, v.year)
	}
	if len(v.people) > 0 && r.IntN(signedOneIn) == 0 {
		text = v.signed(r, text, answer)
	}
	return text
}

// yearless leaves a year out of the days and months of a text, unless another one or a quote stands in it.
func yearless(text, year string) string {
	if strings.Contains(text, `"`) || slices.ContainsFunc(anyYear.FindAllString(text, -1), func(y string) bool {
		return y != year
	}) {
		return text
	}
	return regexp.MustCompile(saidDay+`,? `+year+`\b`).ReplaceAllString(text, "$1")
}

var (
	anyYear = regexp.MustCompile(`\b(?:19|20)\d\d\b`)
	anyDay  = regexp.MustCompile(saidDay)
	// aName is what people are called, and no other word, as "may" or "everyone"
	aName = regexp.MustCompile(`^[A-Za-z][a-z]{2,}$`)
)

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
func (v voice) signed(r *rand.Rand, text, answer string) string {
	noNames := strings.Fields("may june april august everyone everybody anyone nobody none all team unassigned " +
		"unknown other others admin user guest")
	for _, at := range r.Perm(len(v.people)) {
		name := v.people[at]
		in := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(name)) }
		if !aName.MatchString(name) || slices.Contains(noNames, strings.ToLower(name)) || in(answer) ||
			slices.ContainsFunc(v.names, in) {
			continue
		}
		// and no last name
		able := regexp.MustCompile(`\b(to|for|with|let) ` + name + `( [a-z]|[.,;:!?]|$)`)
		n := strings.Count(strings.ToLower(text), strings.ToLower(name))
		if n == 0 || n != len(able.FindAllString(text, -1)) || strings.ContainsAny(text, "\"\n") {
			continue
		}
		text, said := able.ReplaceAllString(text, "${1} me${2}"), strings.ToUpper(name[:1])+name[1:]
		if strings.ContainsAny(text, ":?") || strings.Contains(text, "NAME") { // what stands last is read with it
			return said + pick(r, []string{" here: ", " here. "}) + text
		}
		return pick(r, []string{said + " here: " + text, said + " here. " + text, text + "\n" + said,
			text + " - " + said, strings.TrimRight(text, ".!") + ". Thanks, " + said})
	}
	return text
}
