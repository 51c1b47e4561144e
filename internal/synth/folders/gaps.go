package folders

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hone/internal/synth/programs"
)

// contents say what stands in a column that has no header, by its values.
func contents() []struct {
	name string
	form *regexp.Regexp
} {
	return []struct {
		name string
		form *regexp.Regexp
	}{
		{"date", regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)},
		{"phone number", regexp.MustCompile(`^\+?\d[\d /-]{5,}$`)},
		{"email", regexp.MustCompile(`^\S+@\S+\.\S+$`)},
		{"code", regexp.MustCompile(`^[A-Z]{1,3}-?\d+$`)},
		{"name", fullName},
	}
}

// readGaps reads lines of cells that stand below each other with wide gaps between them, and have no header: what a
// column has, its values tell.
func (d *Doc) readGaps() {
	lines := d.lines()
	var at []int
	for i, line := range lines {
		if gap.MatchString(strings.TrimSpace(line)) && !strings.HasPrefix(line, " ") {
			at = append(at, i)
		}
	}
	starts := columnStarts(lines, at)
	if len(at) < 3 || len(starts) < 2 || d.logsLoans() {
		return
	}
	var names []string
	var from []int // of the columns that are known, in pairs of begin and end
	for k, start := range starts {
		end := -1
		if k+1 < len(starts) {
			end = starts[k+1]
		}
		var cells []string
		for _, i := range at {
			if cell := cutCell(lines[i], start, end); cell != "" && !isNone(cell) {
				cells = append(cells, cell)
			}
		}
		if name := contentOf(cells, k == len(starts)-1); name != "" && !slices.Contains(names, name) {
			names, from = append(names, name), append(from, start, end)
		}
	}
	if len(names) < 2 || !slices.Contains(names, "name") {
		return
	}
	var records []programs.Record
	for _, i := range at {
		r := programs.Record{Names: names}
		for k := range names {
			r.Values = append(r.Values, gapCell(cutCell(lines[i], from[2*k], from[2*k+1])))
		}
		records = append(records, r)
	}
	if d.takeTable(records) {
		d.rows, d.starts = at, from
	}
}

// gapCell is what a cell says, always as a text: a number there has its form.
func gapCell(text string) any {
	if text == "" || isNone(text) {
		return nil
	}
	return text
}

// contentOf names a column by what its cells are: nearly all of them, or a note where it is the last.
func contentOf(cells []string, last bool) string {
	for _, c := range contents() {
		n := 0
		for _, cell := range cells {
			if c.form.MatchString(cell) {
				n++
			}
		}
		if n > 1 && 5*n >= 4*len(cells) {
			return c.name
		}
	}
	if last && len(cells) > 0 {
		return "note"
	}
	return ""
}

// columnStarts are the places at which cells begin in most of some lines.
func columnStarts(lines []string, at []int) (starts []int) {
	count := map[int]int{}
	for _, i := range at {
		line := []rune(lines[i])
		for k := range line {
			if line[k] != ' ' && (k == 0 || k > 1 && line[k-1] == ' ' && line[k-2] == ' ') {
				count[k]++
			}
		}
	}
	for k, n := range count {
		if 2*n > len(at) || k == 0 {
			starts = append(starts, k)
		}
	}
	slices.Sort(starts)
	for _, i := range at { // no cell goes over the place where another begins
		line := []rune(lines[i])
		for _, k := range starts {
			if k > 0 && k <= len(line) && line[k-1] != ' ' {
				return nil
			}
		}
	}
	return starts
}

// cellAt are the places at which a cell begins and ends that stands between two others, the second of which is the end
// of the line where it is -1, and where the next cell begins; -1 where none does. Behind a wide gap comes another cell.
func cellAt(letters []rune, from, to int) (begin, end, next int) {
	if to < 0 || to > len(letters) {
		to = len(letters)
	}
	begin = min(from, to)
	end, next = begin, -1
	for i := begin; i < len(letters); i++ {
		switch wide := i > begin+1 && letters[i-1] == ' ' && letters[i-2] == ' '; {
		case letters[i] == ' ':
		case wide || i >= to:
			return begin, end, i
		default:
			end = i + 1
		}
	}
	return begin, end, next
}

// cutCell is what stands in a cell.
func cutCell(line string, from, to int) string {
	letters := []rune(line)
	begin, end, _ := cellAt(letters, from, to)
	return strings.TrimSpace(string(letters[begin:end]))
}

// withGapCell is a line with another value in a column, and what stands behind it where it stood.
func (d *Doc) withGapCell(line string, column int, old, v any) (now string, ok bool) {
	from, to := d.starts[2*column], d.starts[2*column+1]
	letters := []rune(line)
	begin, _, next := cellAt(letters, from, to)
	if !programs.Equal(gapCell(cutCell(line, from, to)), old) {
		return "", false
	}
	text := padded(string(letters[:begin]), from) + programs.Show(v)
	if next < 0 {
		return strings.TrimRight(text, " "), true
	}
	return padded(text, next) + string(letters[next:]), utf8.RuneCountInString(text)+2 <= next
}

// newGapRow is the line of a row with these cells, each where its column begins.
func (d *Doc) newGapRow(cells []string) (line string, ok bool) {
	for k, cell := range cells {
		from := d.starts[2*k]
		if n := utf8.RuneCountInString(line); n > 0 && n+2 > from {
			return "", false
		}
		if cell != "" {
			line = padded(line, from) + cell
		}
	}
	return line, true
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
