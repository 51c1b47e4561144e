package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// grid is a file as lines of cells, whatever names them: rows below a header, or lines with wide gaps.
type grid struct {
	doc  *Doc
	mark string // between the cells of a line; "" is a wide gap
	at   []int  // the line of each row
	rows [][]string
}

// grid are the lines of cells of a file; nil where fewer than three lines have cells.
func (d *Doc) grid() *grid {
	if len(d.Text) > mostText || strings.Contains(d.Text, `"`) {
		return nil
	}
	g := &grid{doc: d, mark: d.between()}
	if len(d.header) > 1 {
		g.at = d.body()
	} else if g.mark = ""; slices.Contains([]string{".txt", ".log", ""}, path.Ext(d.Path)) {
		for i, line := range d.lines() {
			if gap.MatchString(strings.TrimSpace(line)) && !strings.HasPrefix(line, " ") {
				g.at = append(g.at, i)
			}
		}
	}
	if len(g.at) < 3 {
		return nil
	}
	for _, i := range g.at {
		if line := d.lines()[i]; g.mark != "" {
			g.rows = append(g.rows, cells(line, g.mark))
		} else {
			g.rows = append(g.rows, gap.Split(strings.TrimSpace(line), -1))
		}
	}
	return g
}

var cellStart = regexp.MustCompile(`(?:^|\s{2,})\S`)

// like is a line with other cells in the form of a row: they begin where its cells do.
func (g *grid) like(row int, list []string) string {
	switch line := g.doc.lines()[g.at[row]]; g.mark {
	case "":
		starts, text := cellStart.FindAllStringIndex(line, -1), ""
		for k, cell := range list {
			if k > 0 {
				text += "  "
			}
			if k < len(starts) {
				text = padded(text, utf8.RuneCountInString(line[:starts[k][1]])-1)
			}
			text += cell
		}
		return text
	case "|":
		return "| " + strings.Join(list, " | ") + " |"
	}
	return strings.Join(list, g.mark)
}

// inHeader is the place of a column in the header of a file; -1: it has none of that name.
func (d *Doc) inHeader(name string) int { return slices.Index(d.header, name) }

// withText is a line of a table with another text in a column that has one, with the blanks about it as they are.
func (d *Doc) withText(line string, column int, text string) string {
	parts := strings.Split(line, d.between())
	if d.between() == "|" && strings.HasPrefix(strings.TrimSpace(line), "|") {
		column++
	}
	was := strings.TrimSpace(parts[column])
	parts[column] = strings.Replace(parts[column], was, text, 1)
	return strings.Join(parts, d.between())
}

// twin is a pair of files of which one has the rows of the other, but some: a book and a log of the same costs.
type twin struct {
	from, to *grid
	of       []int // for each column of to the one of from that it has
	word     []bool
	missing  []int // rows of from that to has not
}

// mostMissing bounds the rows that one file has and the other has not.
const mostMissing = 2

// findTwins are the pairs of files with the same rows.
func (f *Folder) findTwins() (list []twin) {
	var grids []*grid
	has := map[string][]int{} // the grids that have a cell by which rows are told
	for _, d := range f.Docs {
		if g := d.grid(); g != nil {
			for cell := range g.telling() {
				has[cell] = append(has[cell], len(grids))
			}
			grids = append(grids, g)
		}
	}
	for i, from := range grids {
		both := make([]int, len(grids))
		for cell := range from.telling() {
			for _, k := range has[cell] {
				both[k]++
			}
		}
		for k, to := range grids {
			if i == k || both[k] < 2 || to.mark != "," {
				continue
			}
			if t, ok := twinOf(from, to); ok {
				list = append(list, t)
			}
		}
	}
	return list
}

// telling are the cells by which a row is told from others.
func (g *grid) telling() map[string]bool {
	cells := map[string]bool{}
	for _, row := range g.rows {
		for _, cell := range row {
			if tells(cell) {
				cells[cell] = true
			}
		}
	}
	return cells
}

// tells reports whether a cell is more than a word of few: a day, a code or an amount.
func tells(cell string) bool { return len(cell) > 2 && hasDigit.MatchString(cell) }

// follows reports whether the rows that are missing belong behind the last one, by a first column of days.
func (t twin) follows() bool {
	last := t.to.rows[len(t.to.rows)-1][0]
	return !slices.ContainsFunc(t.missing, func(i int) bool {
		day := t.from.rows[i][t.of[0]]
		return isDay(last) && isDay(day) && day < last
	})
}

func twinOf(from, to *grid) (t twin, ok bool) {
	t = twin{from: from, to: to}
	var pairs [][2]int
	for i, a := range from.rows {
		n := 0
		for k, b := range to.rows {
			if shared(a, b) > 1 {
				pairs = append(pairs, [2]int{i, k})
				n++
			}
		}
		if n > 1 {
			return t, false
		}
		if n == 0 {
			t.missing = append(t.missing, i)
		}
	}
	if len(pairs) < 2 || len(t.missing) == 0 || len(t.missing) > mostMissing {
		return t, false
	}
	for k := range to.doc.header {
		of := -1
		for i := range from.rows[pairs[0][0]] {
			same, first := true, true
			for _, p := range pairs {
				a, b := from.rows[p[0]], to.rows[p[1]]
				same = same && i < len(a) && a[i] == b[k]
				first = first && i < len(a) && strings.Fields(a[i] + " .")[0] == b[k]
			}
			if same || first {
				of, t.word = i, append(t.word, !same)
				break
			}
		}
		if t.of = append(t.of, of); of < 0 {
			return t, false
		}
	}
	for _, i := range t.missing {
		if len(from.rows[i]) != len(from.rows[pairs[0][0]]) {
			return t, false
		}
	}
	return t, true
}

// shared is how many cells two rows have in common by which rows are told.
func shared(a, b []string) (n int) {
	for _, cell := range b {
		if tells(cell) && slices.Contains(a, cell) {
			n++
		}
	}
	return n
}
