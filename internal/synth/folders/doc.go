// Package folders makes tasks backwards over folders of text files: it draws a program (a question or a change) over
// what the files hold, computes what it comes to, and says by which operations a stranger finds that out: look around,
// read, then write. It calls no server: whoever plays the operations does, and compares.
package folders

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hone/internal/synth/programs"
)

// Doc is a text file as people see it.
type Doc struct {
	Path   string
	Text   string
	Table  *programs.Table // of a file that lists things with their properties; nil: it lists none
	Pairs  []Pair          // what it notes as "KEY: VALUE", no key twice
	Items  []Item          // entries of its lists
	rows   []int           // the line of each row of Table; nil: rows are not lines
	mark   string          // between the cells of a row; "": rows are objects of JSON, or starts says where cells begin
	header []string        // the names of all columns of a table with a mark between its cells
	starts []int           // where in a line each column of Table begins, in letters, and at last the next one or -1
}

// Pair is a property that a file notes.
type Pair struct {
	Key   string // as people say it
	Value string
	line  int
}

var dayInWords = regexp.MustCompile(
	`^(?:\pL+,? )?\d{1,2}\.? (?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\pL*\.?(?:,? \d{4})?$`)

// said is what people call what it notes.
func (p Pair) said() string {
	switch numbered := hasDigit.MatchString(p.Value); { // a day, or an hour
	case p.Key == "to" && !numbered:
		return "addressee"
	case p.Key == "from" && !numbered:
		return "sender"
	default:
		return programs.Called(p.Key, isDay(p.Value) || dayInWords.MatchString(p.Value))
	}
}

// nounOf is what people call a column.
func nounOf(c programs.Column) string {
	return cmp.Or(c.Says, programs.Called(c.Name, c.Kind == programs.Date))
}

// Item is an entry of a list.
type Item struct {
	Text string
	Head string // the heading above it; "" for none
	Box  byte   // ' ' is open, 'x' is ticked, 0 has no box
	line int
	row  bool // more stands in the line than the text
}

// mostText bounds the files that tasks are about: longer ones are cut where a model reads them.
const mostText = 1600

var (
	headLine = regexp.MustCompile(`^#{1,6} +(\S.*?)\s*#*$`)
	overLine = regexp.MustCompile(`^([A-Z][\w ,'-]{2,30}):$`)
	pairLine = regexp.MustCompile(
		`^\s*(?:[-*] )?(?:\*\*)?([A-Za-z][A-Za-z0-9 _./()-]{1,30}?)(?:\*\*)?\s*(?::(?:\*\*)?\s|=)\s*(\S.*?)\s*$`)
	jsonLine = regexp.MustCompile(`^\s*"([A-Za-z][\w .-]*)"\s*:\s*("[^"\\]*"|-?[0-9.]+|true|false)\s*,?\s*$`)
	itemLine = regexp.MustCompile(`^\s*(?:[-*+•]|\d+[.)]) +(?:\[([ xX])\] +)?(\S.*?)\s*$`)
	hasDigit = regexp.MustCompile(`\d`)
)

// prose are the endings of files in which people keep text; "" is none.
func prose() []string {
	return strings.Fields(".md .txt .text .markdown .org .rst .yaml .yml .ini .cfg .conf .env .toml .properties " +
		".json .csv .tsv .log")
}

// Read reads a file.
func Read(file, text string) *Doc {
	d := &Doc{Path: file, Text: text}
	ext := strings.ToLower(path.Ext(file))
	if ext != "" && !slices.Contains(prose(), ext) || len(text) > mostText {
		return d
	}
	switch ext {
	case ".csv":
		d.readTable(d.lines(), 0, ",")
	case ".tsv":
		d.readTable(d.lines(), 0, "\t")
	case ".json":
		d.readPairs(jsonLine)
		d.readObjects()
	case ".log":
	default:
		d.readPairs(pairLine)
		d.readItems()
		if d.readBars(); d.Table == nil && len(d.Pairs) == 0 {
			d.readGaps()
		}
	}
	return d
}

func (d *Doc) lines() []string { return strings.Split(d.Text, "\n") }

// stem is the file's name without its ending.
func (d *Doc) stem() string { return strings.TrimSuffix(path.Base(d.Path), path.Ext(d.Path)) }

// title is what stands above a file's text where that is its name in other letters, else the words of the name.
func (d *Doc) title() string {
	first := strings.TrimSpace(strings.TrimLeft(d.lines()[0], "# "))
	if slug(first) == slug(d.stem()) {
		return first
	}
	return programs.Words(d.stem())
}

// things is what the rows of a file are called: by its name, where that is a plural.
func (d *Doc) things() string {
	stem := programs.Words(d.stem())
	if one, many := programs.Nouns(stem); one != many && many == stem {
		return stem
	}
	return "entries"
}

// readTable reads lines of cells, the first of which is the header, and begins at a line of the file.
func (d *Doc) readTable(lines []string, at int, mark string) {
	if strings.Contains(d.Text, `"`) {
		if mark != "|" {
			lines = unquoted(lines, mark)
		}
		_ = d.takeTable(programs.Records(strings.Join(lines, "\n"))) // its rows are no lines
		return
	}
	d.header = cells(lines[0], mark)
	if !d.takeTable(programs.Records(strings.Join(lines, "\n"))) {
		return
	}
	for i, line := range lines[1:] {
		if strings.TrimSpace(line) != "" {
			d.rows = append(d.rows, at+i+1)
		}
	}
	if d.mark = mark; len(d.rows) != len(d.Table.Rows) {
		d.rows = nil
	}
}

// unquoted are lines of cells without the quotes that cells stand in; none where a quoted cell has a mark or a quote.
func unquoted(lines []string, mark string) (plain []string) {
	for _, line := range lines {
		list := cells(line, mark)
		for i, cell := range list {
			inside, quoted := strings.CutPrefix(cell, `"`)
			if !quoted {
				continue
			}
			if list[i] = strings.TrimSuffix(inside, `"`); list[i] == inside || strings.Contains(list[i], `"`) {
				return nil
			}
		}
		plain = append(plain, strings.Join(list, mark))
	}
	return plain
}

// cells are what stands between the marks of a line.
func cells(line, mark string) (list []string) {
	if line = strings.TrimSpace(line); mark == "|" {
		line = strings.Trim(line, "|")
	}
	for cell := range strings.SplitSeq(line, mark) {
		list = append(list, strings.TrimSpace(cell))
	}
	return list
}

// takeTable makes a table of records, if they are one. Its things are called by the file's name, where that has a noun
// for them, and never by a column: people ask for the entries of a rota, not for its froms. What is numbered has the
// noun of its number: week 23.
func (d *Doc) takeTable(records []programs.Record) bool {
	for _, r := range records {
		for i, v := range r.Values {
			if text, ok := v.(string); ok && isNone(text) {
				r.Values[i] = nil
			}
		}
	}
	t := programs.TableOf(d.things(), records)
	if t == nil || len(t.Rows) < 3 {
		return false
	}
	if t.Label >= 0 && isRelation(t.Columns[t.Label].Name) {
		if t.Label = t.Key; t.Key >= 0 && isRelation(t.Columns[t.Key].Name) {
			t.Key, t.Label = -1, -1
		}
	}
	if t.Name == "entries" && t.Label >= 0 && t.Columns[t.Label].Kind == programs.Number {
		t.One, t.Many = programs.Nouns(t.Columns[t.Label].Name)
	}
	if t.Key < 0 && t.Label >= 0 && len(t.Columns[t.Label].Parts) == 0 { // by which other files name its things
		t.Key = t.Label
	}
	t.Name = d.stem()
	d.Table = t
	return true
}

// isNone reports whether a cell says that nothing stands in it.
func isNone(text string) bool {
	return slices.Contains([]string{"-", "–", "—", "n/a", "?"}, text) ||
		strings.HasPrefix(text, "(no ") && strings.HasSuffix(text, ")")
}

// isRelation reports whether a column says how a thing stands to others, and so names none.
func isRelation(column string) bool {
	words := strings.Fields(programs.Words(column))
	return len(words) > 0 && slices.Contains(strings.Fields(
		"from to by in at of until since via how when where note notes comment remark remarks"), words[len(words)-1])
}

var ruler = regexp.MustCompile(`^\s*\|?(?:\s*:?-{2,}:?\s*\|?)+$`)

// readBars reads the first table that Markdown has between bars.
func (d *Doc) readBars() {
	lines := d.lines()
	for i := 1; i < len(lines); i++ {
		if !ruler.MatchString(lines[i]) || !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "|") {
			continue
		}
		end := i + 1
		for end < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[end]), "|") {
			end++
		}
		d.readTable(slices.Concat(lines[i-1:i], lines[i+1:end]), i, "|")
		return
	}
}

// readObjects reads a list of objects. Where each has a line of its own, rows are lines.
func (d *Doc) readObjects() {
	if !d.takeTable(programs.Records(d.Text)) || d.Table.Label < 0 {
		return
	}
	lines, name := d.lines(), d.Table.Columns[d.Table.Label].Name
	for _, row := range d.Table.Rows {
		at := slices.IndexFunc(lines, func(line string) bool {
			return strings.Contains(line, `"`+name+`": "`+programs.Show(row[d.Table.Label])+`"`) &&
				strings.Count(line, "{") == 1 && strings.Count(line, "}") == 1
		})
		if at < 0 || slices.Contains(d.rows, at) {
			d.rows = nil
			return
		}
		d.rows = append(d.rows, at)
	}
}

// withCell is a line of the table with another value in a column; ok is false where the one that is known does not
// stand there.
func (d *Doc) withCell(line string, column int, old, v any) (now string, ok bool) {
	if d.starts != nil {
		return d.withGapCell(line, column, old, v)
	}
	if d.mark == "" {
		member := regexp.MustCompile(`("` + regexp.QuoteMeta(d.Table.Columns[column].Name) + `": *)("[^"]*"|[^,}\s]+)`)
		at := member.FindStringSubmatchIndex(line)
		if at == nil || !programs.Equal(objectCell(line[at[4]:at[5]]), old) {
			return "", false
		}
		text := numberAs(strings.Trim(line[at[4]:at[5]], `"`), v)
		if v == nil {
			text = "null"
		} else if _, isText := v.(string); isText && text != "true" && text != "false" {
			text = `"` + text + `"`
		}
		return line[:at[4]] + text + line[at[5]:], !strings.ContainsAny(programs.Show(v), "\"\\")
	}
	cells := strings.Split(line, d.mark)
	at := column
	if d.mark == "|" {
		at++ // before the first bar stands nothing
	}
	if at >= len(cells) || !programs.Equal(plainCell(strings.TrimSpace(cells[at])), old) ||
		strings.Contains(programs.Show(v), d.mark) {
		return "", false
	}
	was := strings.TrimSpace(cells[at])
	switch is := numberAs(was, v); {
	case was != "":
		cells[at] = strings.Replace(cells[at], was, is, 1)
	case d.mark == "|":
		cells[at] = " " + is + " "
	default:
		cells[at] = is
	}
	return strings.Join(cells, d.mark), true
}

// plainCell is what a cell says; nil for nothing.
func plainCell(text string) any {
	if isNone(text) {
		return nil
	}
	return programs.Cell(text)
}

// objectCell is the value of a member as records have it.
func objectCell(text string) any {
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, `"`) {
		return strings.Trim(text, `"`)
	}
	return programs.Cell(text)
}

// numberAs is a value as text, a number with as many digits behind the point as the one before.
func numberAs(was string, v any) string {
	_, digits, ok := strings.Cut(was, ".")
	if x, isFloat := v.(float64); isFloat && ok {
		return strconv.FormatFloat(x, 'f', len(digits), 64)
	}
	return programs.Show(v)
}

// newRow is the line of a row with these cells; ok is false where rows are objects.
func (d *Doc) newRow(cells []string) (line string, ok bool) {
	switch {
	case d.starts != nil:
		return d.newGapRow(cells)
	case d.mark == "" || slices.ContainsFunc(cells, func(c string) bool { return strings.Contains(c, d.mark) }):
		return "", false
	case d.mark == "|":
		return "| " + strings.Join(cells, " | ") + " |", true
	}
	return strings.Join(cells, d.mark), true
}

func (d *Doc) readPairs(form *regexp.Regexp) {
	count := map[string]int{}
	for i, line := range d.lines() {
		m := form.FindStringSubmatch(line)
		if m == nil || len(strings.Fields(m[1])) > 3 {
			continue
		}
		key, value := programs.Words(m[1]), strings.Trim(m[2], `"`)
		if value == "" || len(value) > 60 || strings.ContainsAny(value, "{}[]|>`") ||
			strings.HasSuffix(value, ".") || strings.Contains(value, " #") || strings.Count(line, m[2]) != 1 {
			continue
		}
		count[key]++
		d.Pairs = append(d.Pairs, Pair{key, value, i})
	}
	d.Pairs = slices.DeleteFunc(d.Pairs, func(p Pair) bool { // nobody asks for the founded, or the to
		return count[p.Key] > 1 || strings.HasSuffix(p.Key, "ed") && !strings.Contains(p.Key, " ") ||
			slices.Contains([]string{"from", "to"}, p.said())
	})
}

// eventLine begins as the lines of a log do: with a level or a time.
var eventLine = regexp.MustCompile(`^(?:[A-Z]{4,}\b|\[?\d{1,2}:\d{2}|\d{4}-\d{2}-\d{2}T)`)

// readItems reads the entries of lists: behind bullets, or each line of a file that has nothing but short lines.
func (d *Doc) readItems() {
	head, lines := "", d.lines()
	bare := true
	for i, line := range lines {
		if m := headLine.FindStringSubmatch(line); m != nil {
			head = m[1]
			continue
		}
		if m := overLine.FindStringSubmatch(line); m != nil {
			head = m[1]
			continue
		}
		m := itemLine.FindStringSubmatch(line)
		if m == nil {
			bare = bare && len(line) <= 50 && !strings.HasSuffix(line, ".") && !strings.Contains(line, ": ") &&
				!strings.HasSuffix(line, ",") && !strings.HasPrefix(line, " ") && !underLine.MatchString(line)
			continue
		}
		bare = false
		if slices.ContainsFunc(d.Pairs, func(p Pair) bool { return p.line == i }) || len(m[2]) > 60 {
			continue
		}
		item := Item{Text: m[2], Head: head, line: i}
		if m[1] != "" {
			item.Box = strings.ToLower(m[1])[0]
		}
		d.Items = append(d.Items, item)
	}
	if bare && len(d.Pairs) == 0 && !gap.MatchString(strings.TrimSpace(d.Text)) {
		for i, line := range lines {
			if line != "" && !headLine.MatchString(line) && !overLine.MatchString(line) {
				d.Items = append(d.Items, Item{Text: line, Head: headAbove(lines, i), line: i})
			}
		}
		if len(d.Items) > 1 && !countedItem.MatchString(d.Items[0].Text) && (&Doc{Items: d.Items[1:]}).counts() != nil {
			d.Items = d.Items[1:] // the first is their title
		}
	}
	if len(d.Items) == 0 && !d.logsLoans() {
		d.Items = named(lines)
	}
	seen, events := map[string]bool{}, 0
	for _, item := range d.Items {
		if seen[strings.ToLower(item.Text)] = true; eventLine.MatchString(item.Text) {
			events++
		}
	}
	// of what stands there twice nobody can tell which is meant, lines of a log and rules are no entries, and an entry
	// that goes on below is more than its line
	if len(d.Items) < 3 || len(seen) < len(d.Items) || 2*events >= len(d.Items) || goOn(lines) ||
		ruleName.MatchString(d.stem()) {
		d.Items = nil
	}
}

// goOn reports whether an entry goes on in the line below it: with words, keys, or entries of its own.
func goOn(lines []string) bool {
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
	for i, below := range lines[1:] {
		if itemLine.MatchString(lines[i]) && strings.TrimSpace(below) != "" && indent(below) > indent(lines[i]) {
			return true
		}
	}
	return false
}

var (
	gap       = regexp.MustCompile(`\s{2,}`)
	fullName  = regexp.MustCompile(`^\pL[\pL'. -]+ [\pL'-]+$`)
	underLine = regexp.MustCompile(`^\s*(?:={3,}|-{3,})\s*$`) // makes a heading of the line above
	ruleName  = regexp.MustCompile(`(?i)^(?:readme|how-we-.*|rules|conventions|guide)$`)
)

// named are lines of cells with wide gaps between them, each called by the cell that is a name of two words or more.
func named(lines []string) (list []Item) {
	for i, line := range lines {
		cells := gap.Split(strings.TrimSpace(line), -1)
		if len(cells) < 2 {
			continue
		}
		for _, cell := range cells {
			if fullName.MatchString(cell) {
				list = append(list, Item{Text: cell, line: i, row: true})
				break
			}
		}
	}
	return list
}

// headAbove is the last heading before a line.
func headAbove(lines []string, i int) string {
	for _, line := range slices.Backward(lines[:i]) {
		for _, form := range []*regexp.Regexp{headLine, overLine} {
			if m := form.FindStringSubmatch(line); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// pair is the pair with that key; nil: there is none.
func (d *Doc) pair(key string) *Pair {
	for i := range d.Pairs {
		if d.Pairs[i].Key == key {
			return &d.Pairs[i]
		}
	}
	return nil
}

// mentions reports whether the text has a word.
func (d *Doc) mentions(word string) bool {
	return wordIn(word).MatchString(d.Text)
}

// wordIn is a word in letters of any case that is no part of another one.
type wordIn string

// MatchString reports whether a text has the word.
func (w wordIn) MatchString(text string) bool { return w.Count(text) > 0 }

// Count is how often a text has the word.
func (w wordIn) Count(text string) (n int) {
	word, text := strings.ToLower(string(w)), strings.ToLower(text)
	for at := 0; word != ""; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			break
		}
		i += at
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		if !partOfWord(before) && !partOfWord(after) {
			n++
		}
		at = i + len(word)
	}
	return n
}

func partOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
