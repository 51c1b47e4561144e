package programs

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Record is one thing that a server shows: its fields in their order. A value is nil, a string, an int64, a float64 or
// a bool; what holds more is left out.
type Record struct {
	Names  []string
	Values []any
}

// Records are the things in a text: a list of JSON objects, alone, as a member or below a line of words, rows beside
// the names of their columns, Python's list of dicts, or lines with a header, separated by commas, tabs or bars.
func Records(text string) []Record {
	text = strings.TrimSpace(text)
	if joined, ok := Joined(text); ok {
		return fromJSON(joined)
	}
	if list := fromJSON([]byte(text)); list != nil {
		return list
	}
	if translated, ok := pythonToJSON(text); ok {
		if list := fromJSON(translated); list != nil {
			return list
		}
	}
	if list := fromBlocks(text); list != nil {
		return list
	}
	if _, below, _ := strings.Cut(text, "\n"); strings.HasPrefix(below, "{") || strings.HasPrefix(below, "[") {
		if list := fromJSON([]byte(below)); list != nil { // "2 rows" stands above
			return list
		}
	}
	return fromLines(text)
}

var blockHead = regexp.MustCompile(`^\W*\d+\. row\W*$`)

// fromBlocks reads rows that stand one below the other, as MySQL's \G shows them: "1. row", then a line for each
// column.
func fromBlocks(text string) (records []Record) {
	within := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		switch {
		case blockHead.MatchString(line):
			records, within = append(records, Record{}), true
		case strings.TrimSpace(line) == "":
			within = false
		case within && !ok: // a value goes on
			return nil
		case within:
			r := &records[len(records)-1]
			r.Names, r.Values =
				append(r.Names, strings.TrimSpace(name)), append(r.Values, cellOf(strings.TrimSpace(value)))
		}
	}
	return records
}

// cellOf is what stands in a cell: nil where that says that nothing does.
func cellOf(text string) any {
	if text == "NULL" || text == "None" || text == "" {
		return nil
	}
	return numberOf(text)
}

// fromJSON finds the first list of objects.
func fromJSON(text []byte) []Record {
	if len(text) == 0 || text[0] != '[' && text[0] != '{' || !json.Valid(text) {
		return nil
	}
	if text[0] == '[' {
		var list []json.RawMessage
		_ = json.Unmarshal(text, &list) // it is valid
		var records []Record
		rich := map[string]bool{}
		for _, one := range list {
			r, ok := recordOf(one, rich)
			if !ok {
				return nil
			}
			records = append(records, r)
		}
		return aligned(records, rich)
	}
	if list := fromColumns(text); list != nil {
		return list
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // the brace just seen
	for d.More() {
		var value json.RawMessage
		if _, err := d.Token(); err != nil || d.Decode(&value) != nil {
			return nil
		}
		if found := fromJSON(bytes.TrimSpace(value)); found != nil {
			return found
		}
	}
	return nil
}

// fromColumns reads rows that are lists beside a list of the names of their columns.
func fromColumns(text []byte) []Record {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // what is no object has none
	for key, names := range members {
		if !slices.Contains([]string{"columns", "column_names", "columnNames", "headers", "fields"}, key) {
			continue
		}
		var called []string
		_ = json.Unmarshal(names, &called) // objects are no names
		for _, rows := range members {
			if list := Named(called, Rows(string(rows))); list != nil {
				return list
			}
		}
	}
	return nil
}

// aligned gives records the fields that any of them has, nil where one has it not, without those that hold more than a
// value in some record. Records that have little in common stay as they are.
func aligned(records []Record, rich map[string]bool) []Record {
	var names []string
	for _, r := range records {
		for _, name := range r.Names {
			if !rich[name] && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	out := make([]Record, len(records))
	for i, r := range records {
		has := 0
		for _, name := range names {
			var value any
			if at := slices.Index(r.Names, name); at >= 0 {
				value = r.Values[at]
				has++
			}
			out[i].Names, out[i].Values = append(out[i].Names, name), append(out[i].Values, value)
		}
		if 2*has <= len(names) {
			return records
		}
	}
	return out
}

// recordOf reads one object, and notes which of its fields hold more than a value; ok is false where it is none.
func recordOf(text json.RawMessage, rich map[string]bool) (r Record, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return r, false
	}
	for d.More() {
		name, err := d.Token()
		var value any
		if err != nil || d.Decode(&value) != nil {
			return r, false
		}
		switch v := value.(type) {
		case nil, string, bool:
		case json.Number:
			value = numberOf(v.String())
		case []any: // texts of a list are one text, in which each is found
			text, plain := joinTexts(v)
			if !plain {
				rich[name.(string)] = true
				continue
			}
			value = text
		default:
			rich[name.(string)] = true
			continue
		}
		r.Names, r.Values = append(r.Names, name.(string)), append(r.Values, value)
	}
	return r, len(r.Names) > 0
}

// ListMark stands between the texts of a list that is shown as one value.
const ListMark = "; "

// joinTexts are the texts of a list as one; plain is false where something else is in it.
func joinTexts(list []any) (text any, plain bool) {
	var parts []string
	for _, one := range list {
		s, ok := one.(string)
		if !ok {
			return nil, false
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return nil, true
	}
	return strings.Join(parts, ListMark), true
}

// numberOf is a number where a text is one, else the text: of 007, +47 and Nan the letters count.
func numberOf(text string) any {
	if !json.Valid([]byte(text)) {
		return text
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	// a person may be Nan
	if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
		return x
	}
	return text
}

// fromLines reads a table of lines: the first names the columns.
func fromLines(text string) (records []Record) {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool {
		return strings.Trim(l, " |+-:=\r\t") == "" // empty, or a rule between header and rows
	})
	if len(lines) < 2 {
		return nil
	}
	for _, separator := range []string{"|", "\t", ","} {
		names := cells(lines[0], separator)
		if len(names) < 2 {
			continue
		}
		for i, line := range lines[1:] {
			values := cells(line, separator)
			if len(values) != len(names) {
				if slices.ContainsFunc(lines[i+2:],
					func(l string) bool { return len(cells(l, separator)) == len(names) }) {
					return nil // a value has the separator within
				}
				break
			}
			r := Record{Names: names}
			for _, v := range values {
				r.Values = append(r.Values, cellOf(v))
			}
			records = append(records, r)
		}
		return records
	}
	return nil
}

func cells(line, separator string) (list []string) {
	line = strings.TrimSpace(line)
	if separator == "|" {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	}
	for part := range strings.SplitSeq(line, separator) {
		list = append(list, strings.TrimSpace(part))
	}
	return list
}

// TableOf makes a table of records that have the same fields; nil where they have not.
func TableOf(name string, records []Record) *Table {
	if len(records) == 0 {
		return nil
	}
	t := &Table{Name: name, Key: -1, Label: -1}
	t.One, t.Many = Nouns(name)
	for _, n := range records[0].Names {
		t.Columns = append(t.Columns, Column{Name: n, Kind: Text})
	}
	for _, r := range records {
		if !slices.Equal(r.Names, records[0].Names) {
			return nil
		}
		row := slices.Clone(r.Values)
		for i, v := range row {
			if b, ok := v.(bool); ok {
				row[i] = map[bool]string{true: "true", false: "false"}[b]
			}
		}
		t.Rows = append(t.Rows, row)
	}
	for i := range t.Columns {
		t.readDecimals(i)
	}
	for i := range t.Columns {
		t.Columns[i].Kind = t.kindOf(i)
	}
	for i := range t.Columns {
		t.Columns[i].Several = slices.ContainsFunc(
			t.Rows,
			func(row []any) bool { return strings.Contains(Show(row[i]), ListMark) },
		)
	}
	t.findKey()
	t.findLabel()
	return t.Without(t.repeats)
}

var decimal = regexp.MustCompile(`^-?\d{1,15}\.(\d+)$`)

// readDecimals makes numbers of a column's texts that all are some with as many decimals: DECIMAL is shown so.
func (t *Table) readDecimals(i int) {
	places := 0
	for _, row := range t.Rows {
		text, ok := row[i].(string)
		m := decimal.FindStringSubmatch(text)
		if row[i] != nil && (!ok || m == nil || places > 0 && places != len(m[1])) {
			return
		}
		if m != nil {
			places = len(m[1])
		}
	}
	if len(t.distinct(i)) < 2 {
		return
	}
	for _, row := range t.Rows {
		if row[i] != nil {
			row[i] = numberOf(row[i].(string))
		}
	}
}

// repeats reports whether a column's texts have in them how each row is called, and are no more than that in another
// form.
func (t *Table) repeats(i int) bool {
	return i != t.Label && i != t.Key && t.Label >= 0 && len(t.Rows) > 2 && t.Columns[i].Kind == Text &&
		len(t.Columns[t.Label].Parts) == 0 && !slices.ContainsFunc(t.Rows, func(row []any) bool {
		name, text := Show(row[t.Label]), Show(row[i])
		return len(name) < 8 || len(text) > 3*len(name) || !strings.Contains(text, name)
	})
}

// kindOf is by the values that are there.
func (t *Table) kindOf(i int) Kind {
	numbers, dates, all := 0, 0, 0
	for _, row := range t.Rows {
		if row[i] == nil {
			continue
		}
		all++
		if _, ok := asFloat(row[i]); ok {
			numbers++
		} else if s := Show(row[i]); len(s) >= 10 {
			if _, err := time.Parse(time.DateOnly, s[:10]); err == nil {
				dates++
			}
		}
	}
	switch all {
	case 0:
		return Text
	case numbers:
		return Number
	case dates:
		return Date
	}
	return Text
}

func (t *Table) unique(i int) bool {
	seen := map[string]bool{}
	for _, row := range t.Rows {
		if row[i] == nil || seen[Show(row[i])] {
			return false
		}
		seen[Show(row[i])] = true
	}
	return true
}

// findKey takes the column that is called an id, or else the first, where its values differ.
func (t *Table) findKey() {
	for i, c := range t.Columns {
		name := strings.ToLower(c.Name)
		own := strings.TrimSuffix(name, "_id") == strings.ReplaceAll(t.One, " ", "_")
		if (own || slices.Contains([]string{"id", "rowid", "uuid", "key"}, name)) &&
			t.unique(i) {
			t.Key = i
			return
		}
	}
	if len(t.Columns) > 0 && t.unique(0) {
		if words := strings.Fields(Words(t.Columns[0].Name)); isCode(words, t.Columns[0].Name) {
			t.Key = 0
		}
	}
}

// findLabel takes the column by which a person would name a row: one called a name, or the two that first and last
// names stand in, else the first text that tells rows apart, else the key, which people say behind the noun: "repair
// 9".
func (t *Table) findLabel() {
	best := 0
	for i, c := range t.Columns {
		words := strings.Fields(Words(c.Name))
		score := 0
		switch {
		case len(words) == 0 || c.Kind == Date || c.Kind == Time || c.Several:
		case i != t.Key && c.Kind == Text && t.unique(i) && t.isBrief(i) && // what a thing with a code is
			slices.Contains([]string{"description", "model", "item", "product", "article"}, words[len(words)-1]):
			score = 4
		case i == t.Key:
			score = 1
			if c.Kind == Text && !t.isOpaque(i) {
				score = 3
			}
		case slices.Contains([]string{"name", "title", "label", "subject"}, words[len(words)-1]) &&
			!slices.Contains(words, "first") && !slices.Contains(words, "last") && c.Kind == Text &&
			(len(words) == 1 || t.column(strings.Join(words[:len(words)-1], "_")) < 0): // else it names something else
			score = 4
		case t.unique(i) && c.Kind == Text && !isContact(words) && !t.isYesNo(i):
			score = 3
		case t.unique(i) && isCode(words, c.Name) && !isContact(words):
			score = 2
		}
		if score > best {
			t.Label, best = i, score
		}
	}
	if first, last := t.column("first_name", "firstname", "given_name", "forename"), t.column("last_name", "lastname",
		"family_name", "surname"); first >= 0 && last >= 0 && best < 4 {
		t.nameOf(first, last)
	}
}

// isBrief reports whether the texts of a column are short enough to name a thing by.
func (t *Table) isBrief(i int) bool {
	return !slices.ContainsFunc(t.Rows, func(row []any) bool { return len(Show(row[i])) > 40 })
}

// isOpaque reports whether a column's values are numbers or long codes, as UUIDs, by which nobody names a thing that
// has words of its own.
func (t *Table) isOpaque(i int) bool {
	return !slices.ContainsFunc(t.Rows, func(row []any) bool {
		text := Show(row[i])
		return strings.Trim(text, "0123456789") != "" && (len(text) <= longestCode || !isLongCode(text))
	})
}

// isLongCode reports whether a text has no blank and some digit.
func isLongCode(text string) bool {
	return strings.ContainsAny(text, "0123456789") && !strings.Contains(text, " ")
}

// isContact reports whether a column says how a thing is reached, by which nobody names it.
func isContact(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"email", "mail", "phone", "telephone", "mobile", "fax", "url", "website",
			"address"}, w)
	})
}

// column is the first that has one of some names; -1 where none has.
func (t *Table) column(names ...string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool {
		return slices.Contains(names, strings.ReplaceAll(Words(c.Name), " ", "_")) ||
			slices.Contains(names, strings.ReplaceAll(Words(c.Name), " ", ""))
	})
}

// nameOf adds the name that stands in two columns, by which people name a row.
func (t *Table) nameOf(first, last int) {
	t.Label = len(t.Columns)
	t.Columns = append(t.Columns, Column{Name: "name", Kind: Text, Parts: []int{first, last}})
	for i, row := range t.Rows {
		var name any
		x, _ := row[first].(string)
		if y, _ := row[last].(string); x != "" && y != "" {
			name = x + " " + y
		}
		t.Rows[i] = append(row, name)
	}
}
