package folders

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// body are the lines of the rows of a table with a mark between its cells, by their numbers, whatever names them.
func (d *Doc) body() (at []int) {
	if len(d.header) < 2 {
		return nil
	}
	mark, lines := d.between(), d.lines()
	for i, line := range lines {
		row := cells(line, mark)
		if !strings.Contains(line, mark) || len(row) != len(d.header) || ruler.MatchString(line) ||
			slices.Equal(row, d.header) {
			continue
		}
		at = append(at, i)
	}
	return at
}

// between is the mark between the cells of a table.
func (d *Doc) between() string {
	switch path.Ext(d.Path) {
	case ".csv":
		return ","
	case ".tsv":
		return "\t"
	}
	return "|"
}

// hasBody reports whether a file has a table with a few rows, each a line.
func (d *Doc) hasBody() bool { return len(d.body()) > 2 }

// addRow adds a row to a table, of which the request says each column that is not empty. What names a thing of another
// file may be said by the name that stands there: whoever adds the row looks it up.
func (d *drawer) addRow() *programs.Program {
	doc := d.one((*Doc).hasBody)
	if doc == nil {
		return nil
	}
	body, lines, mark := doc.body(), doc.lines(), doc.between()
	like := cells(lines[pick(d.r, body)], mark)
	row, given, why := []string(nil), []string(nil), []string(nil)
	var from *Doc
	own := "" // a column that no other file has a word of
	for k, name := range doc.header {
		v := d.cellLike(doc, k, like[k])
		row = append(row, v)
		if v == "" || programs.Words(name) == "" {
			continue
		}
		said := programs.Words(name) + " " + v
		if o, line, column, who := d.namedElsewhere(doc, name, v); o != nil && from == nil {
			from, said = o, column+" "+who
			why = append(why, o.quote(line)+"\nSo the "+name+" is "+v+".")
		} else if d.tells(doc, programs.Words(name)) {
			own = programs.Words(name)
		}
		given = append(given, said)
	}
	if row[0] == "" || len(given) < 2 || len(given) > 6 ||
		slices.ContainsFunc(given, func(g string) bool { return len(g) > 50 }) || doc.hasRow(row) {
		return nil
	}
	line := strings.Join(row, mark)
	if mark == "|" {
		line = "| " + strings.Join(row, " | ") + " |"
	}
	for i, name := range doc.header {
		row[i] = name + ": " + cmp.Or(row[i], "nothing")
	}
	s, pattern := slots("given", strings.Join(given[:len(given)-1], ", ")+" and "+given[len(given)-1]), "found_row_add"
	known := own != "" && d.r.IntN(4) > 0
	if from != nil {
		d.both(from, doc, path.Base(from.Path)+" says what stands for whom, "+path.Base(doc.Path)+" gets the row.")
	} else if known = known && d.seek(doc, own, ""); !known {
		d.read(doc)
	}
	if !known {
		s["file"], pattern = d.name(doc), "row_add"
	}
	at := len(d.ops)
	d.addLine(doc, body[len(body)-1], line)
	why = append(why, path.Base(doc.Path)+" has these columns, and the new row has in them: "+strings.Join(row, ", "))
	d.ops[at].Why = strings.Join(append(why, d.ops[at].Why), "\n")
	return act(programs.Insert, pattern, s)
}

// hasRow reports whether a row says of the same what a new one is to say: all that is neither a number nor a day is the
// same there. What is entered day by day, or has a number of its own, comes again.
func (doc *Doc) hasRow(row []string) bool {
	for _, i := range doc.body() {
		words, same := 0, true
		for k, cell := range cells(doc.lines()[i], doc.between()) {
			if _, err := time.Parse(time.DateOnly, cell); err == nil || k == 0 && plainNumber.MatchString(cell) {
				return false
			}
			if k < len(row) && !plainNumber.MatchString(cell) {
				words++
				same = same && strings.EqualFold(cell, row[k])
			}
		}
		if same && words > 0 {
			return true
		}
	}
	return false
}

var plainNumber = regexp.MustCompile(`^\d+(?:\.\d+)?$`)

// cellLike is what a new row may have in a column, where another one has a value: a later day, another number, a code
// that comes next, or the same word. A number that names is one of those that are there.
func (d *drawer) cellLike(doc *Doc, column int, value string) string {
	var all []string
	for _, i := range doc.body() {
		all = append(all, cells(doc.lines()[i], doc.between())[column])
	}
	name := strings.ToLower(doc.header[column])
	switch _, err := time.Parse(time.DateOnly, value); {
	case err == nil:
		return laterDay(slices.Max(all), 1+d.r.IntN(9)) // days sort as texts do
	case plainNumber.MatchString(value) && distinct(all) && column == 0 && !strings.Contains(value, "."):
		return otherOf(all)
	case plainNumber.MatchString(value) && (strings.Contains(value, ".") || isMeasure(programs.Column{Name: name,
		Kind: programs.Number})) && !d.isNamed(doc, doc.header[column]):
		return otherValue(d.r, "", value)
	case column == 0 && distinct(all) && fullName.MatchString(value) && sharesNoun(strings.Fields(programs.Words(name)),
		strings.Fields("name member tenant holder customer guest person client student")):
		who, _ := programs.NameOf(d.r, "person") // persons have names
		return who
	case column == 0 && sharesNoun(strings.Fields(programs.Words(name)),
		strings.Fields("item thing product article")):
		return d.good(doc)
	case column == 0 && distinct(all):
		return ""
	case strings.Contains(value, "@"): // it is another one's
		return ""
	case phoneNumber.MatchString(value):
		return fmt.Sprint(value[:len(value)-3], 100+d.r.IntN(900))
	}
	return value
}

// phoneNumber matches a number of which each person has another one.
var phoneNumber = regexp.MustCompile(`^\+?\d+[ /-][\d /-]*\d{3}$`)

// laterDay is the day so many days after another one.
func laterDay(day string, n int) string {
	at, _ := time.Parse(time.DateOnly, day) // has the form of a day
	return at.AddDate(0, 0, n).Format(time.DateOnly)
}

// good is a thing that a file has not yet; "" where it has the one that is drawn.
func (d *drawer) good(doc *Doc) string {
	if thing := pick(d.r, goods()); !strings.Contains(strings.ToLower(doc.Text), thing) {
		return thing
	}
	return ""
}

func distinct(list []string) bool {
	list = slices.Clone(list)
	slices.Sort(list)
	return len(slices.Compact(list)) == len(list)
}

// otherOf is the number behind the greatest of some.
func otherOf(all []string) string {
	most := 0
	for _, one := range all {
		n := 0
		for _, c := range one {
			if c < '0' || c > '9' {
				return ""
			}
			n = 10*n + int(c-'0')
		}
		most = max(most, n)
	}
	return number(most + 1)
}

// isNamed reports whether another file has a column of that name whose values are those of things.
func (d *drawer) isNamed(doc *Doc, name string) bool {
	return d.one(func(o *Doc) bool { return o != doc && o.hasRows() && o.columnNamed(name) == o.Table.Key }) != nil
}

// namedElsewhere finds the person that another file has in the row with a value of that column: the tenant of plot 5.
func (d *drawer) namedElsewhere(doc *Doc, name, value string) (of *Doc, line int, column, who string) {
	of = d.one(func(o *Doc) bool {
		if o == doc || !o.hasRows() || o.mark == "" || o.columnNamed(name) < 0 {
			return false
		}
		k := o.columnNamed(name) // that names its things: a year that is the same says nothing
		return (k == o.Table.Key || k == o.Table.Label) && o.rowWith(name, value) >= 0
	})
	if of == nil {
		return nil, 0, "", ""
	}
	i := of.rowWith(name, value)
	for k, c := range of.Table.Columns {
		v := programs.Show(of.Table.Rows[i][k])
		if c.Kind == programs.Text && len(c.Parts) == 0 && fullName.MatchString(v) && strings.Count(of.Text, v) == 1 {
			return of, of.rows[i], programs.Words(c.Name), v
		}
	}
	return nil, 0, "", ""
}

// rowWith is the only row that has a value in a column, as a text; -1: none has, or several.
func (d *Doc) rowWith(name, value string) int {
	at := -1
	for i, row := range d.Table.Rows {
		if programs.Show(row[d.columnNamed(name)]) == value {
			if at >= 0 {
				return -1
			}
			at = i
		}
	}
	return at
}
