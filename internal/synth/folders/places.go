package folders

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
