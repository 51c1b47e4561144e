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

// Somebody tells what happened, and what has to be done in the files follows: from a rule in a README, or from where
// the request says that it goes and from the lines that are there.

// Loose is a line of a file that people word freely, and an expression for all ways to do so.
type Loose struct{ Path, Line, Is string }

// Texts are expressions that the text of a file must all meet in the end: for files that people write in several ways,
// and else those of its folder, with the lines that people word freely.
func (p *Plan) Texts(f *Folder, file, after string) []string {
	for _, form := range p.Forms {
		if form.Path == file && form.Text == after {
			return form.Is
		}
	}
	texts := f.Texts(file, after)
	for _, l := range p.Loose {
		for i := range texts {
			if l.Path == file {
				texts[i] = strings.ReplaceAll(texts[i], regexp.QuoteMeta(l.Line), l.Is)
			}
		}
	}
	return texts
}

// loosen says that a line of a file may be in other words.
func (d *drawer) loosen(doc *Doc, line, is string) {
	d.loose = append(d.loose, Loose{doc.Path, line, is})
}

// rule is a line of a README that has all of some words.
type rule struct {
	doc  *Doc
	line int
}

var ruleName = regexp.MustCompile(`(?i)^(?:readme|how-we-.*|rules|conventions|guide)$`)

// findRule finds a rule by the words that it must have, each said in one of some ways; nil: no README has it.
func (d *drawer) findRule(words ...[]string) *rule {
	for _, doc := range d.f.Docs {
		if !ruleName.MatchString(doc.stem()) || doc.Table != nil {
			continue
		}
		for i, line := range doc.lines() {
			if !slices.ContainsFunc(words, func(ways []string) bool { return !says(line, ways...) }) {
				return &rule{doc, i}
			}
		}
	}
	return nil
}

// says reports whether a text has one of some words.
func says(text string, ways ...string) bool {
	return slices.ContainsFunc(ways, func(w string) bool { return w != "" && wordIn(w).MatchString(text) })
}

// ways are how a rule may say the name of a column.
func ways(column string) []string { return []string{column, programs.Words(column)} }

// study reads the files that a told event is about: first the rule, where there is one, which says what they are.
// Where there is none, the request names them.
func (d *drawer) study(of *rule, docs ...*Doc) {
	d.about = append(d.about, docs...)
	if of == nil {
		d.everywhere()
		d.locate(docs...)
		d.readAll(docs)
		return
	}
	d.everywhere()
	d.readSome([]*Doc{of.doc}, path.Base(of.doc.Path)+" may say what is done then.")
	d.note("The rule, " + of.doc.quote(of.line))
	if d.r.IntN(3) > 0 && d.can[ShowAll] {
		d.readAll(docs)
		return
	}
	for _, doc := range docs {
		d.look(Op{Do: Show, Path: doc.Path})
	}
}

// because puts a reason before the operations from the n-th on.
func (d *drawer) because(n int, lines ...string) {
	lines = slices.DeleteFunc(append(lines, d.ops[n].Why), func(line string) bool { return line == "" })
	d.ops[n].Why = strings.Join(lines, "\n")
}

// loud is a name as people type it: at times in small letters.
func (d *drawer) loud(name string) string {
	if d.r.IntN(5) == 0 {
		return strings.ToLower(name)
	}
	return name
}

// shown are the cells of a row, of which some are empty.
func shown(row []string) string {
	list := slices.Clone(row)
	for i, cell := range list {
		list[i] = cmp.Or(cell, "nothing")
	}
	return strings.Join(list, ", ")
}

// restOf reads those of some files that were not read yet, by calls that each show all that they read. It is false
// where that takes too many.
func (d *drawer) restOf(docs []*Doc, why string) bool {
	size, calls, part := 0, 0, []*Doc(nil)
	for _, doc := range append(slices.Clone(docs), nil) {
		if doc != nil && d.wasRead(doc) {
			continue
		}
		if doc == nil || size+len(doc.Text)+aroundFile > max(d.f.Shown/10*8, mostTogether) || !d.can[ShowAll] {
			if calls++; len(part) > 0 {
				d.readSome(part, why)
				why = "The next ones."
			}
			size, part = 0, nil
		}
		if doc != nil {
			size, part = size+len(doc.Text)+aroundFile, append(part, doc)
		}
	}
	return calls <= mostInTurn+1
}

// asLeft is a file as the operations so far leave it.
func (d *drawer) asLeft(doc *Doc) *Doc { return Read(doc.Path, d.now()[doc.Path]) }

// sayDay is a day as people say it, and why it is the day that files then have, "" where it is said so.
func (d *drawer) sayDay(at time.Time, form string) (said, why string) {
	is := at.Format(form)
	said = at.Format(pick(d.r, []string{form, form, "2 January 2006", "January 2, 2006", time.DateOnly}))
	if said != is {
		why = said + " is " + is
	}
	return said, why
}

// filled are the cells of a column that are not empty.
func (d *Doc) filledTexts(column int) []string {
	return slices.DeleteFunc(d.texts(column), func(v string) bool { return v == "" })
}

// newRowLike is the line of a new row in the form of a table's last one.
func (d *Doc) newRowLike(row []string) (at int, line string) {
	body := d.body()
	if d.between() == "|" {
		return body[len(body)-1], "| " + strings.Join(row, " | ") + " |"
	}
	return body[len(body)-1], strings.Join(row, d.between())
}

// setText is a line of a table with another text in a column, be it empty before or not.
func (d *Doc) setText(line string, column int, text string) string {
	parts := strings.Split(line, d.between())
	if d.between() == "|" && strings.HasPrefix(strings.TrimSpace(line), "|") {
		column++
	}
	if was := strings.TrimSpace(parts[column]); was != "" {
		parts[column] = strings.Replace(parts[column], was, text, 1)
	} else if parts[column] = text; d.between() == "|" {
		parts[column] = " " + text + " "
	}
	return strings.Join(parts, d.between())
}

// amounts that are said without the cents that they have not.
func saidAmount(text string) string { return strings.TrimSuffix(text, ".00") }

// digitsLike is an amount with as many digits behind the point as another one.
func digitsLike(units int, like string) string {
	if strings.Contains(like, ".") {
		return fmt.Sprintf("%d.00", units)
	}
	return number(units)
}
