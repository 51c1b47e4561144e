package kinds

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// words are common, short, and one or two tokens each in any English vocabulary, so that a small model can copy them.
const words = `apple river stone cloud green tiger paper house light music ocean bread chair silver garden winter
summer bridge candle forest horse island jacket kettle lemon mirror night orange pencil queen rabbit school table
window yellow zebra anchor basket camera desert engine flower guitar hammer insect jungle kitchen ladder market needle
office pocket ribbon saddle ticket valley wagon blanket copper dragon eagle feather glass honey iron jewel lake moon
nest olive pearl rain sand tower ship train wheel bird clock door fish gold hill ice king leaf milk north peak road
salt tree wind wolf`

// rule is how a text is made: one template, or one of several, each as likely as the others.
type rule struct {
	alternatives []template
	chosen       bool // written as a list
}

// template is text with references between: literals[0], references[0], literals[1], ...
type template struct {
	literals   []string
	references []reference
}

// reference is what stands in braces: a name with arguments, and filters that its text goes through.
type reference struct {
	name    string
	args    []string
	filters [][]string
}

var (
	braces = regexp.MustCompile(`\{[^{}]*\}`)
	slotIn = regexp.MustCompile(`\{[A-Za-z_]\w*\}`) // {3} is text, of a regular expression for one
	isName = regexp.MustCompile(`^[A-Za-z_][\w-]*$`)
)

func readTemplate(text string) (t template) {
	from := 0
	for _, at := range braces.FindAllStringIndex(text, -1) {
		t.literals = append(t.literals, text[from:at[0]])
		from = at[1]
		parts := strings.Split(text[at[0]+1:at[1]-1], "|")
		var ref reference
		if f := strings.Fields(parts[0]); len(f) > 0 {
			ref.name, ref.args = f[0], f[1:]
		}
		for _, p := range parts[1:] {
			ref.filters = append(ref.filters, strings.Fields(p))
		}
		t.references = append(t.references, ref)
	}
	t.literals = append(t.literals, text[from:])
	return t
}

// maker makes texts by rules.
type maker struct {
	r     *rand.Rand
	rules map[string]rule
	v     Values // drawn before
}

func (m maker) one(r rule) string {
	t := r.alternatives[0]
	if r.chosen {
		t = r.alternatives[m.r.IntN(len(r.alternatives))]
	}
	var b strings.Builder
	for i, ref := range t.references {
		b.WriteString(t.literals[i])
		b.WriteString(m.refer(ref))
	}
	b.WriteString(t.literals[len(t.references)])
	return b.String()
}

func (m maker) refer(ref reference) string {
	var text string
	if v, ok := m.v[ref.name]; ok {
		text = v
	} else if r, ok := m.rules[ref.name]; ok {
		text = m.one(r)
	} else {
		text = m.generate(ref)
	}
	for _, f := range ref.filters {
		text = applyFilters(f, text)
	}
	return text
}

// generate is a text of one of this package's own makers. What it takes was seen to by the reading.
func (m maker) generate(ref reference) string {
	switch ref.name {
	case "word":
		list := strings.Fields(words)
		return list[m.r.IntN(len(list))]
	case "integer": // from the first to the second, evenly
		low, high := number(ref.args[0]), number(ref.args[1])
		return strconv.Itoa(low + m.r.IntN(high-low+1))
	case "digits": // spread evenly over its lengths
		low, high := number(ref.args[0]), number(ref.args[1])
		n := 1 + m.r.IntN(9)
		for range low + m.r.IntN(high-low+1) - 1 {
			n = n*10 + m.r.IntN(10)
		}
		return strconv.Itoa(n)
	case "date": // from the first to the last
		first, last := day(ref.args[0]), day(ref.args[1])
		return first.AddDate(0, 0, m.r.IntN(daysBetween(first, last)+1)).Format(time.DateOnly)
	}
	low, high := number(ref.args[1]), number(ref.args[2]) // after: so many days after a date that was drawn
	return day(m.v[ref.args[0]]).AddDate(0, 0, low+m.r.IntN(high-low+1)).Format(time.DateOnly)
}

func number(text string) int { n, _ := strconv.Atoi(text); return n }

func day(text string) time.Time { t, _ := time.Parse(time.DateOnly, text); return t }

func daysBetween(first, last time.Time) int { return int(last.Sub(first).Hours()) / 24 }

func applyFilters(filter []string, text string) string {
	switch filter[0] {
	case "base64":
		return base64.StdEncoding.EncodeToString([]byte(text))
	case "url":
		return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	case "upper":
		return strings.ToUpper(text)
	}
	width := 0 // hex
	if len(filter) > 1 {
		width = number(filter[1])
	}
	return fmt.Sprintf("%0*x", width, number(text))
}

// mistake says what is wrong with a reference, "" where nothing is: known are the values that are drawn before
// it, and whether they are dates.
func (ref reference) mistake(rules map[string]rule, known map[string]bool) string {
	takes := map[string]string{
		"word":    "{word}",
		"integer": "{integer 0 99}",
		"digits":  "{digits 2 4}",
		"date":    "{date 2000-01-01 2030-12-31}",
		"after":   "{after VALUE 1 30}, behind a VALUE that is {date ...} or {after ...} alone",
	}
	_, isRule := rules[ref.name]
	if _, isValue := known[ref.name]; isRule || isValue {
		if len(ref.args) > 0 {
			return fmt.Sprintf("%q takes nothing behind its name", ref.name)
		}
	} else if example, ok := takes[ref.name]; !ok {
		return fmt.Sprintf("nothing is called %q: neither a value before it, nor a rule, nor one of word, integer, "+
			"digits, date, after", ref.name)
	} else if !ref.fits(known) {
		return fmt.Sprintf("%q is written as in %s, the smaller first", ref.name, example)
	}
	for _, f := range ref.filters {
		if len(f) == 0 || !slices.Contains([]string{"base64", "url", "upper", "hex"}, f[0]) || len(f) > 2 ||
			len(f) == 2 && (f[0] != "hex" || !inRange(f[1], 0, 16)) {
			return fmt.Sprintf("%q is no filter: there are base64, url, upper, hex and hex 6", strings.Join(f, " "))
		}
		if f[0] == "hex" && (ref.name != "integer" && ref.name != "digits" || isRule) {
			return "hex is for {integer ...} and {digits ...}"
		}
	}
	return ""
}

// isDate reports whether a rule makes dates and nothing else, also by other rules and by dates that are known.
func (r rule) isDate(rules map[string]rule, known map[string]bool) bool {
	return !slices.ContainsFunc(r.alternatives, func(t template) bool {
		if len(t.references) != 1 || t.literals[0]+t.literals[1] != "" || len(t.references[0].filters) > 0 {
			return true
		}
		name := t.references[0].name
		other, isRule := rules[name]
		return name != "date" && name != "after" && !known[name] && !(isRule && other.isDate(rules, nil))
	})
}

// fits reports whether the arguments of a maker are as it takes them.
func (ref reference) fits(known map[string]bool) bool {
	a := ref.args
	ordered := func(low, high string) bool {
		return inRange(low, -1<<40, 1<<40) && inRange(high, -1<<40, 1<<40) && number(low) <= number(high)
	}
	switch ref.name {
	case "word":
		return len(a) == 0
	case "integer":
		return len(a) == 2 && ordered(a[0], a[1])
	case "digits":
		return len(a) == 2 && ordered(a[0], a[1]) && inRange(a[0], 1, 15) && inRange(a[1], 1, 15)
	case "date":
		return len(a) == 2 && !day(a[0]).IsZero() && !day(a[1]).IsZero() && !day(a[1]).Before(day(a[0]))
	}
	return len(a) == 3 && known[a[0]] && ordered(a[1], a[2]) && inRange(a[1], -100_000, 100_000) &&
		inRange(a[2], -100_000, 100_000)
}

func inRange(text string, low, high int) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= low && n <= high
}
