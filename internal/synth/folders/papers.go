package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hone/internal/synth/programs"
)

// blank is a place in a letter that is to be filled in: {name}, [name] or <name>.
var blank = regexp.MustCompile(`[{\[<]([A-Za-z][\w -]{1,40})[}\]>]`)

// cell is what stands in a cell, as it stands there.
func (d *Doc) cell(row, column int) string {
	line := d.lines()[d.rows[row]]
	switch {
	case d.starts != nil:
		return cutCell(line, d.starts[2*column], d.starts[2*column+1])
	case d.mark == "":
		return programs.Show(d.Table.Rows[row][column])
	case d.mark == "|":
		column++
	}
	if cells := strings.Split(line, d.mark); column < len(cells) {
		return strings.TrimSpace(cells[column])
	}
	return ""
}

// letter draws a pattern with blanks and a table whose columns fill them; nil: there is none.
func (d *drawer) letter() (form, of *Doc) {
	if form = d.one(func(o *Doc) bool { return blank.MatchString(o.Text) && o.Table == nil }); form == nil {
		return nil, nil
	}
	of = d.one(func(o *Doc) bool {
		return o.hasRows() && !slices.ContainsFunc(blank.FindAllStringSubmatch(form.Text, -1), func(m []string) bool {
			return o.columnNamed(m[1]) < 0
		})
	})
	if of == nil {
		return nil, nil
	}
	return form, of
}

// filled is a pattern with what a row has in its blanks, and what that is; "" where one stays empty.
func (d *Doc) filled(form *Doc, row int) (text string, why []string) {
	whole := true
	text = blank.ReplaceAllStringFunc(form.Text, func(m string) string {
		v := d.cell(row, d.columnNamed(m[1:len(m)-1]))
		whole = whole && v != ""
		why = append(why, m+" is "+v)
		return v
	})
	if !whole {
		return "", nil
	}
	return text, slices.Compact(why)
}

// fillIn writes a letter to one thing of a table, by a pattern whose blanks the table's columns fill.
func (d *drawer) fillIn() *programs.Program {
	doc, of := d.letter()
	if doc == nil {
		return nil
	}
	i := d.r.IntN(len(of.Table.Rows))
	name := of.Table.NameOf(of.Table.Rows[i])
	text, why := of.filled(doc, i)
	file := strings.TrimSuffix(doc.Path, path.Ext(doc.Path)) + "-" + slug(name) + path.Ext(doc.Path)
	if name == "" || text == "" || d.f.has(file) {
		return nil
	}
	s := slots("x", name, "file", d.name(doc), "name", file)
	d.both(doc, of, path.Base(doc.Path)+" is the pattern, "+path.Base(of.Path)+" has what goes into it.")
	d.change(Op{Do: Write, Path: file, New: text, Why: of.quote(of.rows[i]) + "\n" + strings.Join(why, "\n")})
	return act(programs.Insert, "letter_fill", s)
}

// columnNamed is the column of a file's table that is called so; -1: none is.
func (d *Doc) columnNamed(name string) int {
	return slices.IndexFunc(d.Table.Columns, func(c programs.Column) bool {
		return programs.Words(c.Name) == programs.Words(name) && len(c.Parts) == 0
	})
}

// moveRow takes a row out of a table and puts it into a new file, below the same header.
func (d *drawer) moveRow() *programs.Program {
	doc := d.one(func(o *Doc) bool { return o.hasRows() && (o.mark == "," || o.mark == "\t") })
	name := d.freeName(".csv")
	if doc == nil || name == "" {
		return nil
	}
	i := d.r.IntN(len(doc.Table.Rows))
	file, x := path.Join(path.Dir(doc.Path), name), doc.Table.NameOf(doc.Table.Rows[i])
	if x == "" || d.f.has(file) || doc.rows[i] >= len(doc.lines())-1 {
		return nil
	}
	lines := doc.lines()
	s := doc.Table.Slots(doc.Table.Rows[i])
	s["file"], s["name"] = d.name(doc), file
	d.read(doc)
	d.change(Op{Do: Write, Path: file, New: lines[0] + "\n" + lines[doc.rows[i]] + "\n", Why: doc.quote(doc.rows[i])})
	d.putLine(doc, doc.rows[i], nil)
	return act(Organize, "row_move", s)
}

// hyphenate renames the files of a folder that have spaces in their names.
func (d *drawer) hyphenate() *programs.Program {
	dir, docs := d.filesIn()
	docs = slices.DeleteFunc(slices.Clone(docs), func(o *Doc) bool { return !strings.Contains(path.Base(o.Path), " ") })
	if len(docs) == 0 || !d.can[Move] {
		return nil
	}
	d.around(dir)
	for _, doc := range docs {
		to := path.Join(dir, strings.ReplaceAll(path.Base(doc.Path), " ", "-"))
		if d.f.has(to) {
			return nil
		}
		d.change(Op{Do: Move, Path: doc.Path, To: to})
	}
	return act(Organize, "files_hyphenate", slots("folder", d.folderName(dir)))
}

// openOfAll are the boxes without a tick in the files of a folder, file by file.
func (d *drawer) openOfAll() (dir string, docs []*Doc, open []string) {
	var able []string
	boxed := func(o *Doc) bool {
		return slices.ContainsFunc(o.Items, func(item Item) bool { return item.Box != 0 })
	}
	for _, dir := range d.f.Dirs {
		if in := d.f.in(dir); len(in) > 1 && len(in) < mostRead &&
			!slices.ContainsFunc(in, func(o *Doc) bool { return !boxed(o) }) {
			able = append(able, dir)
		}
	}
	if len(able) == 0 {
		return "", nil, nil
	}
	dir = pick(d.r, able)
	for _, doc := range d.f.in(dir) {
		for _, item := range doc.Items {
			if item.Box == ' ' {
				open = append(open, item.Text)
			}
		}
	}
	return dir, d.f.in(dir), open
}

// workOpen goes through all boxes of some files.
func workOpen(docs []*Doc) (lines []string) {
	for _, doc := range docs {
		for _, item := range doc.Items {
			if item.Box == 0 {
				continue
			}
			lines = append(lines, item.Text+map[bool]string{true: " - open", false: " - done"}[item.Box == ' '])
		}
	}
	return lines
}

// listOpen asks what is still open in all files of a folder.
func (d *drawer) listOpen() *programs.Program {
	dir, docs, open := d.openOfAll()
	if len(open) < 2 || slices.ContainsFunc(open, func(text string) bool { return strings.Contains(text, ",") }) {
		return nil
	}
	d.around(dir)
	d.readAll(docs)
	return question(programs.List, "boxes_all", slots("folder", d.folderName(dir)), "list", open...).
		Work(workOpen(docs)...)
}

// writeOpen has it written to a new file.
func (d *drawer) writeOpen() *programs.Program {
	dir, docs, open := d.openOfAll()
	name := d.freeName(".txt")
	if len(open) < 2 || name == "" || d.f.has(name) {
		return nil
	}
	d.around(dir)
	d.readAll(docs)
	d.change(Op{Do: Write, Path: name, New: strings.Join(open, "\n") + "\n", Why: strings.Join(workOpen(docs), "\n")})
	return act(programs.Insert, "boxes_collect", slots("folder", d.folderName(dir), "name", name))
}

// callOtherwise gives a thing another name wherever it stands.
func (d *drawer) callOtherwise() *programs.Program {
	doc := d.one((*Doc).hasTable)
	if doc == nil {
		return nil
	}
	old := doc.Table.NameOf(pick(d.r, doc.Table.Rows))
	name, ok := programs.NameOf(d.r, "person")
	if len(old) < 5 || !ok || !isCapital(old) || !strings.Contains(old, " ") {
		return nil
	}
	if !fullName.MatchString(old) {
		name = strings.Fields(old)[0] + " " + pick(d.r, otherWords())
	}
	found := d.docs(func(o *Doc) bool { return strings.Contains(o.Text, old) })
	if len(found) < 2 || len(found) > 4 || slices.ContainsFunc(d.f.Docs, func(o *Doc) bool {
		return strings.Contains(o.Text, name) || strings.Contains(o.Text, old) && (!o.standsAlone(old) ||
			len(o.Text) > mostText)
	}) {
		return nil
	}
	switch {
	case d.can[Search]:
		d.look(Op{Do: Search, Path: ".", Old: old, Why: "It may stand in several files. I search for it."})
		d.readAll(found)
	case len(d.f.Docs) <= mostRead:
		d.everywhere()
		d.readAll(d.f.Docs)
	default:
		return nil
	}
	for _, o := range found {
		d.replaceIn(o, old, name)
	}
	return act(programs.SetAll, "rename_everywhere", slots("old", old, "v", name))
}

// isCapital reports whether a text begins with a capital letter, as names do and chores do not.
func isCapital(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsUpper(first)
}

// bytes asks for the size of a file.
func (d *drawer) bytes() *programs.Program {
	doc := pick(d.r, d.f.Docs)
	if !d.can[Size] {
		return nil
	}
	d.locate(doc)
	d.look(Op{Do: Size, Path: doc.Path})
	return question(programs.Lookup, "file_size", slots("file", d.name(doc)), "number", number(len(doc.Text)))
}
