package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// swapNames has two persons change places in one column of a table, and stay where they are in the others.
func (d *drawer) swapNames() *programs.Program {
	doc := d.one(func(o *Doc) bool { return o.hasBody() && len(o.body()) > 4 })
	if doc == nil {
		return nil
	}
	k := d.r.IntN(len(doc.header))
	all, attr := doc.texts(k), programs.Words(doc.header[k])
	i, j := d.r.IntN(len(all)), d.r.IntN(len(all))
	if i == j || !doc.isOfPeople(k) || all[i] == all[j] || all[i] == "" || all[j] == "" || attr == "" ||
		slices.Index(all, all[i]) != i || slices.Index(all, all[j]) != j ||
		slices.Contains(all[i+1:], all[i]) || slices.Contains(all[j+1:], all[j]) ||
		strings.Count(doc.Text, all[i]) == 1 && strings.Count(doc.Text, all[j]) == 1 ||
		d.others(doc, k, all[i], all[j]) {
		return nil
	}
	s := slots("x", all[i], "y", all[j], "attr", attr)
	if !d.tells(doc, attr) || !d.seek(doc, attr, "") {
		d.hunt(doc, all[i], attr, path.Base(doc.Path)+" may have the "+attr+".")
	}
	was := doc.lines()
	now := slices.Clone(was)
	body := doc.body()
	now[body[i]], now[body[j]] = doc.withText(was[body[i]], k, all[j]), doc.withText(was[body[j]], k, all[i])
	at := len(d.ops)
	d.rewrite(doc, was, now)
	d.ops[at].Why = "Only the column " + doc.header[k] + " changes, in these two rows. " + d.ops[at].Why
	return act(Organize, "swap_in", s)
}

// others reports whether another table has a column of that name with one of two names, so that nobody knows which is
// meant.
func (d *drawer) others(doc *Doc, column int, a, b string) bool {
	return slices.ContainsFunc(d.f.Docs, func(o *Doc) bool {
		at := o.inHeader(doc.header[column])
		return o != doc && at >= 0 && o.hasBody() &&
			(slices.Contains(o.texts(at), a) || slices.Contains(o.texts(at), b))
	})
}

var monthInName = regexp.MustCompile(`(\d{4})-(\d{2})(?:-\d{2})?`)

// moveMonth moves the files of one month, and no other.
func (d *drawer) moveMonth() *programs.Program {
	from, docs := d.filesIn()
	var dated []*Doc
	for _, doc := range docs {
		if monthInName.MatchString(doc.stem()) {
			dated = append(dated, doc)
		}
	}
	if len(dated) < 2 || !d.can[Move] {
		return nil
	}
	month := monthInName.FindString(pick(d.r, dated).stem())[:7]
	some := slices.DeleteFunc(slices.Clone(dated), func(o *Doc) bool { return !strings.Contains(o.stem(), month) })
	day, err := time.Parse("2006-01", month)
	dir, said, fresh := d.target(from)
	if err != nil || len(some) == len(docs) || dir == "" {
		return nil
	}
	var kept []string
	for _, doc := range docs {
		if !slices.Contains(some, doc) {
			kept = append(kept, path.Base(doc.Path))
		}
	}
	s := slots("word", day.Format("January 2006"), "folder", d.folderName(from), "folder2", said)
	d.around(from)
	if !fresh && strings.Contains(dir, "/") && said != dir {
		d.around(path.Dir(dir))
	}
	at := len(d.ops)
	if !d.moves(some, dir, said, fresh) {
		return nil
	}
	d.ops[at].Why = strings.TrimSpace("Of " + s["word"] + ": " + strings.Join(names(some), ", ") +
		". The others stay: " + strings.Join(kept, ", ") + ".\n" + d.ops[at].Why)
	return act(Organize, "files_move_month", s)
}

// fillAll writes a letter to each thing of a table that meets a condition, by a pattern whose blanks the table fills.
func (d *drawer) fillAll() *programs.Program {
	form, of := d.letter()
	if form == nil {
		return nil
	}
	q, s, ok := d.filter(of)
	if len(of.header) == 0 {
		return nil
	}
	key, all := of.header[0], of.texts(0)
	named := distinct(all) && !slices.ContainsFunc(all, func(v string) bool { return !plainName.MatchString(v) })
	if !ok || !named || len(q.Rows()) < 2 || len(q.Rows()) > 5 {
		return nil
	}
	base, ext := strings.TrimSuffix(form.Path, path.Ext(form.Path)), path.Ext(form.Path)
	s["file"], s["name"] = d.name(form), base+"-<"+programs.Words(key)+">"+ext
	d.both(form, of, path.Base(form.Path)+" is the pattern, "+path.Base(of.Path)+" has what goes into it.")
	why := q.Working()
	for i, row := range of.Table.Rows {
		if !slices.ContainsFunc(q.Rows(), func(o []any) bool { return &o[0] == &row[0] }) {
			continue
		}
		text, blanks := of.filled(form, i)
		file := base + "-" + of.cell(i, of.columnNamed(key)) + ext
		if text == "" || d.f.has(file) {
			return nil
		}
		d.change(Op{Do: Write, Path: file, New: text,
			Why: strings.TrimSpace(why + "\n" + of.quote(of.rows[i]) + "\n" + strings.Join(blanks, "\n"))})
		why = ""
	}
	return act(programs.SetAll, "letters_fill", s)
}

var plainName = regexp.MustCompile(`^[\w-]{1,20}$`)

// dropLine takes out the line of a text that has a word, as it stands there with its marks.
func (d *drawer) dropLine() *programs.Program {
	doc := d.one(func(o *Doc) bool {
		return len(o.Text) <= mostText && o.Table == nil && len(o.header) == 0 && !o.hasPairs() &&
			slices.Contains([]string{".md", ".txt"}, path.Ext(o.Path)) && o.lastLine() > 1 &&
			(d.f.guide == nil || d.f.guide.doc != o)
	})
	if doc == nil {
		return nil
	}
	word := d.word(doc)
	at := slices.IndexFunc(doc.lines(), func(line string) bool { return word != "" && strings.Contains(line, word) })
	if at < 0 || wordIn(word).Count(doc.Text) != 1 || len(strings.Fields(doc.lines()[at])) < 4 ||
		headLine.MatchString(doc.lines()[at]) || itemNumber.MatchString(doc.lines()[at]) || !doc.standsAlone(word) {
		return nil
	}
	s := slots("word", word)
	pattern := d.find(doc, "line_drop", word, s)
	d.putLine(doc, at, nil)
	return act(programs.Remove, pattern, s)
}
