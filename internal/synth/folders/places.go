package folders

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Texts are expressions that the text of a file must all meet to be what operations come to, but for blank lines at its
// ends and about the bars of a new row. A row that is new in a table may stand at any place in it; where the rows are
// sorted, at the one that was computed or where it is sorted too.
func (f *Folder) Texts(file, after string) []string {
	after = strings.TrimSpace(after)
	doc := f.doc(file)
	if doc == nil {
		return []string{exactly(after, nil)}
	}
	lines := strings.Split(strings.TrimSpace(doc.Text), "\n")
	doc = Read(file, strings.Join(lines, "\n"))
	if texts := corrected(strings.Join(lines, "\n"), after); texts != nil {
		return texts
	}
	at, row := newLine(lines, strings.Split(after, "\n"))
	places := doc.places(at, row)
	if len(places) < 2 {
		return []string{exactly(after, lines)}
	}
	text, here := "", rowPattern(row)
	for i, line := range lines {
		if slices.Contains(places, i) {
			text += "(?:" + here + `\n)?`
		}
		if text += regexp.QuoteMeta(line); i < len(lines)-1 {
			text += `\n`
		}
	}
	if slices.Contains(places, len(lines)) {
		text += `(?:\n` + here + ")?"
	}
	full := 0
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			full++
		}
	}
	once := fmt.Sprintf(`\A\s*(?:\S[^\n]*\n\s*){%d}\S[^\n]*\s*\z`, full) // the row stands at one of the places
	return []string{`\A\s*` + text + `\s*\z`, once}
}

// corrected are expressions for a text to whose end a correction comes, in other words too, if that says the same day
// and the new value, before it says what that is not, and of what it is: by its name or by the old value. None where it
// is no correction.
func corrected(before, after string) []string {
	line, is := strings.CutPrefix(after, before)
	m := correctionLine.FindStringSubmatch(strings.TrimSpace(line))
	days, form := []time.Time(nil), ""
	if m != nil {
		days, form = daysOf(m[1:2])
	}
	if !is || form == "" {
		return nil
	}
	var forms []string
	for _, form := range dayForms() {
		forms = append(forms, regexp.QuoteMeta(days[0].Format(form)))
	}
	key, v, old := m[2], m[3], m[4]
	begins := `\A\s*` + regexp.QuoteMeta(before) + `\s*\n\W*` + regexp.QuoteMeta(correction) + `(?:` +
		strings.Join(forms, "|") + `)\)`
	const apart = `[^\pL\d\n]`
	barred := strings.Fields("not t instead rather") // "t" is of "wasn't"
	if first := wordOrNumber.FindString(old); !slices.Contains(wordOrNumber.FindAllString(key, -1), first) {
		barred = append(barred, first)
	}
	value := begins + `(?:` + apart + `+` + noneOf(barred) + `)*` + apart + `+` + regexp.QuoteMeta(v) +
		`(?:` + apart + `[^\n]*)?\s*\z`
	of := begins + `[^\n]*(?i:` + regexp.QuoteMeta(longest(key)) + `|` + wholeWord(old) + `)[^\n]*\s*\z`
	return []string{value, of}
}

var (
	correctionLine = regexp.MustCompile(`^Correction \(([^()\n]+)\): ([^\n]+): ([^\n]+), not ([^\n]+)\.$`)
	wordOrNumber   = regexp.MustCompile(`[\pL\d]+`)
)

// noneOf is an expression for words of letters and digits that are none of some words, in capitals or not. An
// expression cannot say what must not follow, so that it goes on letter by letter.
func noneOf(words []string) string {
	rest, letters, digits, firsts := map[rune][]string{}, "", "", []rune(nil)
	for _, word := range words {
		all := []rune(strings.ToLower(word))
		if len(all) == 0 {
			continue
		}
		if _, has := rest[all[0]]; !has {
			firsts = append(firsts, all[0])
			if unicode.IsLetter(all[0]) {
				letters += string(all[0]) + string(unicode.ToUpper(all[0]))
			} else {
				digits += string(all[0])
			}
		}
		rest[all[0]] = append(rest[all[0]], string(all[1:]))
	}
	ways := []string{`(?:[^\PL` + letters + `]|[^\D` + digits + `])[\pL\d]*`}
	for _, first := range firsts {
		more := noneOf(rest[first])
		if !slices.Contains(rest[first], "") { // what begins a word is not the word
			more = `(?:` + more + `)?`
		}
		ways = append(ways, `[`+string(first)+string(unicode.ToUpper(first))+`]`+more)
	}
	return `(?:` + strings.Join(ways, "|") + `)`
}

// exactly matches a text, with blanks about it and about the bars of lines that were not there before.
func exactly(text string, before []string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if slices.Contains(before, line) {
			lines = append(lines, regexp.QuoteMeta(line))
		} else {
			lines = append(lines, rowPattern(line))
		}
	}
	return `\A\s*` + strings.Join(lines, `\n`) + `\s*\z`
}

// rowPattern matches a line; where it begins with a bar, with any blanks about bars and at its end.
func rowPattern(line string) string {
	if !strings.HasPrefix(line, "|") {
		return regexp.QuoteMeta(line)
	}
	var parts []string
	for part := range strings.SplitSeq(line, "|") {
		parts = append(parts, regexp.QuoteMeta(strings.TrimSpace(part)))
	}
	if parts[len(parts)-1] != "" {
		parts[len(parts)-1] += ` *`
	}
	return strings.Join(parts, ` *\| *`)
}

// newLine is the one line that is new in a text, and its place; -1 where there is not just one.
func newLine(was, now []string) (at int, line string) {
	if len(now) != len(was)+1 {
		return -1, ""
	}
	for at < len(was) && was[at] == now[at] {
		at++
	}
	if !slices.Equal(was[at:], now[at+1:]) {
		return -1, ""
	}
	return at, now[at]
}

// places are the lines before which a new row of a table may stand that is at a line itself; none where it is no row.
func (d *Doc) places(at int, row string) (list []int) {
	body, mark := d.body(), d.between()
	if len(body) < 2 || body[len(body)-1]-body[0] != len(body)-1 || at < body[0] || at > body[len(body)-1]+1 ||
		len(cells(row, mark)) != len(d.header) {
		return nil
	}
	first, sorted := body[0], false
	list = []int{at}
	for column := range d.header {
		var values []string
		for _, i := range body {
			values = append(values, cells(d.lines()[i], mark)[column])
		}
		for _, order := range []func(a, b string) int{natural, func(a, b string) int { return natural(b, a) }} {
			if !slices.IsSortedFunc(values, order) || natural(values[0], values[len(values)-1]) == 0 {
				continue
			}
			sorted = true
			for i := range len(values) + 1 {
				if slices.IsSortedFunc(slices.Insert(slices.Clone(values), i, cells(row, mark)[column]), order) {
					list = append(list, first+i)
				}
			}
		}
	}
	for i := 0; i <= len(body) && !sorted; i++ {
		list = append(list, first+i)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

var chunk = regexp.MustCompile(`\d+|\D+`)

// natural compares texts as people sort them: numbers by their size, also within a text.
func natural(a, b string) int {
	x, wrong := strconv.ParseFloat(a, 64)
	y, wrongToo := strconv.ParseFloat(b, 64)
	if wrong == nil && wrongToo == nil {
		return cmp.Compare(x, y)
	}
	return slices.CompareFunc(chunk.FindAllString(strings.ToLower(a), -1), chunk.FindAllString(strings.ToLower(b), -1),
		func(a, b string) int {
			x, wrong := strconv.Atoi(a)
			y, wrongToo := strconv.Atoi(b)
			if wrong == nil && wrongToo == nil {
				return cmp.Compare(x, y)
			}
			return cmp.Compare(a, b)
		})
}
