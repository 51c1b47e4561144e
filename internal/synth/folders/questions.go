package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// lookPair asks for what a file notes.
func (d *drawer) lookPair() *programs.Program {
	doc, p := d.noted()
	if doc == nil {
		return nil
	}
	s := slots("attr", p.said())
	return question(programs.Lookup, d.find(doc, "file_pair", p.said(), s), s, "text", p.Value).
		Work(doc.quote(p.line))
}

// lookThing asks for a property of a thing that has a file of its own, by the thing's name alone.
func (d *drawer) lookThing() *programs.Program {
	doc, s := d.thing()
	if doc == nil {
		return nil
	}
	p := pick(d.r, doc.Pairs)
	s["attr"] = p.said()
	if !d.seek(doc, s["x"], "") {
		return nil
	}
	return question(programs.Lookup, "lookup", s, "text", p.Value).Work(doc.quote(p.line))
}

// thing draws a file that is about one thing among others of its kind, and has its name as a title.
func (d *drawer) thing() (*Doc, map[string]string) {
	doc := d.one(func(o *Doc) bool {
		title := o.title()
		return o.hasPairs() && d.alike(o) >= leastOfGroup && len(title) > 3 && !hasDigit.MatchString(title) &&
			len(d.docs(func(x *Doc) bool { return strings.EqualFold(x.title(), title) })) == 1
	})
	if doc == nil {
		return nil, nil
	}
	one, many := d.nounAbove(doc)
	if one == "" {
		return nil, nil
	}
	return doc, slots("x", doc.title(), "one", one, "many", many)
}

// lastOf asks for the last line of a file.
func (d *drawer) lastOf() *programs.Program {
	doc := d.one(func(doc *Doc) bool {
		last := doc.lastLine()
		return last > 2 && len(doc.Text) <= mostText && len(doc.lines()[last]) < 80 &&
			slices.Contains([]string{".log", ".txt", ""}, path.Ext(doc.Path))
	})
	if doc == nil {
		return nil
	}
	d.read(doc)
	last := strings.TrimSpace(doc.lines()[doc.lastLine()])
	return question(programs.Lookup, "last_line", slots("file", d.name(doc)), "text", last)
}

// where asks in which folder a file is.
func (d *drawer) where() *programs.Program {
	doc := d.one(func(doc *Doc) bool { return path.Dir(doc.Path) != "." && d.alone(doc) })
	if doc == nil {
		return nil
	}
	d.everywhere()
	return question(programs.Lookup, "file_where", slots("name", path.Base(doc.Path)), "text", path.Dir(doc.Path))
}

// alone reports whether no other file has this one's name.
func (d *drawer) alone(doc *Doc) bool {
	return len(d.docs(func(o *Doc) bool { return path.Base(o.Path) == path.Base(doc.Path) })) == 1
}

// mostRead bounds the files that are read to find a word.
const mostRead = 8

// word draws a word of a file that people may look for: a name, or a long word.
func (d *drawer) word(doc *Doc) string {
	var words []string
	for _, word := range strings.FieldsFunc(doc.Text, func(r rune) bool { return !isLetter(r) }) {
		if len(word) > 3 && (word[0] >= 'A' && word[0] <= 'Z' || len(word) > 6) && len(word) < 20 {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return pick(d.r, words)
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// searched draws a folder and a word that some of its files mention.
func (d *drawer) searched() (dir, word string, all, found []*Doc) {
	dir = pick(d.r, append([]string{"."}, d.f.Dirs...))
	all = d.f.in(dir)
	if len(all) < 2 || len(all) > mostRead ||
		slices.ContainsFunc(all, func(o *Doc) bool { return len(o.Text) > mostText }) {
		return "", "", nil, nil
	}
	if word = d.word(pick(d.r, all)); word == "" {
		return "", "", nil, nil
	}
	for _, doc := range all {
		if doc.mentions(word) {
			found = append(found, doc)
		} else if strings.Contains(strings.ToLower(doc.Text), strings.ToLower(word)) { // a part of a word: who knows
			return "", "", nil, nil
		}
	}
	return dir, word, all, found
}

// mentionWhich asks which files of a folder mention a word.
func (d *drawer) mentionWhich() *programs.Program {
	dir, word, all, found := d.searched()
	if len(found) == 0 || len(found) == len(all) {
		return nil
	}
	d.mentioning(dir, word, all)
	return question(programs.List, "mention_which", slots("folder", d.folderName(dir), "word", word), "list",
		names(found)...).Work(through(names(all), func(i int) bool { return slices.Contains(found, all[i]) })...)
}

// mentionFile asks in which file a word is.
func (d *drawer) mentionFile() *programs.Program {
	if len(d.f.Docs) > mostRead || slices.ContainsFunc(d.f.Docs, func(o *Doc) bool { return len(o.Text) > mostText }) {
		return nil
	}
	doc := pick(d.r, d.f.Docs)
	word := d.word(doc)
	if word == "" || len(d.docs(func(o *Doc) bool {
		return strings.Contains(strings.ToLower(o.Text), strings.ToLower(word)) ||
			strings.Contains(strings.ToLower(o.Path), strings.ToLower(word))
	})) != 1 || !d.alone(doc) {
		return nil
	}
	if d.can[Search] {
		d.mentioning(".", word, d.f.Docs)
	} else {
		d.everywhere()
		d.readAll(d.f.Docs)
	}
	return question(programs.Lookup, "mention_file", slots("word", word), "text", path.Base(doc.Path)).
		Work(doc.quote(slices.IndexFunc(doc.lines(), wordIn(word).MatchString)))
}

// join asks for what the file notes that a row of another file names.
func (d *drawer) join() *programs.Program {
	doc := d.one((*Doc).hasTable)
	if doc == nil {
		return nil
	}
	t := doc.Table
	row := pick(d.r, t.Rows)
	for i, c := range t.Columns {
		if i == t.Label || row[i] == nil || t.NameOf(row) == "" {
			continue
		}
		value := programs.Words(programs.Show(row[i]))
		other := d.one(func(o *Doc) bool {
			return o != doc && o.hasPairs() && len(value) > 3 && programs.Words(o.stem()) == value
		})
		if other == nil {
			continue
		}
		p := pick(d.r, other.Pairs)
		d.read(doc)
		d.around(path.Dir(other.Path))
		d.look(Op{Do: Show, Path: other.Path})
		s := t.Slots(row)
		s["ref"], s["refone"], s["attr"] = nounOf(c), nounOf(c), p.said()
		q := question(programs.Join, "join", s, "text", p.Value).
			Work(t.NameOf(row)+": "+programs.Show(row[i]), other.quote(p.line))
		q.In(d.name(doc))
		return q
	}
	return nil
}

// list draws a file with a list, all of it or what stands below a heading, and the pattern for that.
func (d *drawer) list(pattern string) (doc *Doc, items []Item, s map[string]string, of string) {
	if doc = d.one((*Doc).hasItems); doc == nil {
		return nil, nil, nil, ""
	}
	s = slots("file", d.name(doc))
	heads := doc.heads()
	if len(heads) > 0 && (len(heads) > 1 || d.r.IntN(2) == 0) {
		s["head"] = pick(d.r, heads)
		return doc, doc.under(s["head"]), s, pattern + "_head"
	}
	return doc, doc.Items, s, pattern
}

func (d *drawer) countItems() *programs.Program {
	doc, items, s, pattern := d.list("items_count")
	if doc == nil {
		return nil
	}
	d.read(doc)
	return question(programs.Count, pattern, s, "number", number(len(items))).
		Work(programs.Numbered(texts(items))...)
}

func (d *drawer) listItems() *programs.Program {
	doc, items, s, pattern := d.list("items_list")
	if doc == nil || len(items) > 9 ||
		slices.ContainsFunc(texts(items), func(t string) bool { return strings.Contains(t, ",") }) {
		return nil
	}
	d.read(doc)
	return question(programs.List, pattern, s, "list", texts(items)...)
}

// itemThere asks whether something is on a list: what is, or what another list has.
func (d *drawer) itemThere() *programs.Program {
	doc := d.one((*Doc).hasItems)
	from := d.one((*Doc).hasBrief)
	if doc == nil || from == nil {
		return nil
	}
	item := pick(d.r, from.brief()).Text
	there := "no"
	switch {
	case slices.ContainsFunc(texts(doc.Items), sameText(item)):
		there = "yes"
	case strings.Contains(strings.ToLower(doc.Text), strings.ToLower(item)):
		return nil
	}
	if len(item) > 30 {
		return nil
	}
	d.read(doc)
	work := path.Base(doc.Path) + " has no " + item + "."
	if at := slices.IndexFunc(doc.Items, func(o Item) bool { return strings.EqualFold(o.Text, item) }); at >= 0 {
		work = doc.quote(doc.Items[at].line)
	}
	return question(programs.YesNo, "item_there", slots("item", item, "file", d.name(doc)), "yes_no", there).Work(work)
}

// openItems asks which boxes are ticked, or are not, or how many.
func (d *drawer) openItems() *programs.Program {
	doc := d.one(func(doc *Doc) bool { return doc.hasItems() && doc.Items[0].Box != 0 })
	if doc == nil {
		return nil
	}
	var open, done []string
	for _, item := range doc.Items {
		if item.Box == ' ' {
			open = append(open, item.Text)
		} else {
			done = append(done, item.Text)
		}
	}
	s := slots("file", d.name(doc))
	d.read(doc)
	boxes := func(open bool) []string {
		return through(texts(doc.Items), func(i int) bool { return (doc.Items[i].Box == ' ') == open })
	}
	switch n := d.r.IntN(3); {
	case n == 0:
		return question(programs.Count, "boxes_count", s, "number", number(len(open))).
			Work(append(boxes(true), programs.Numbered(open)...)...)
	case n == 1 && len(done) > 0:
		return question(programs.List, "boxes_done", s, "list", done...).Work(boxes(false)...)
	case len(open) > 0 && len(open) < 9:
		return question(programs.List, "boxes_open", s, "list", open...).Work(boxes(true)...)
	}
	return nil
}

// filesIn draws a folder with files in it.
func (d *drawer) filesIn() (dir string, docs []*Doc) {
	dir = pick(d.r, append([]string{"."}, d.f.Dirs...))
	if slices.ContainsFunc(d.f.Unread, func(file string) bool { return path.Dir(file) == dir }) {
		return dir, nil // what is asked of all its files is asked of those, too
	}
	return dir, d.f.in(dir)
}

func (d *drawer) countFiles() *programs.Program {
	if d.r.IntN(3) == 0 {
		ext := path.Ext(pick(d.r, d.f.Docs).Path)
		if kindName(ext) == "" ||
			slices.ContainsFunc(d.f.Unread, func(file string) bool { return path.Ext(file) == ext }) {
			return nil
		}
		all := d.docs(func(doc *Doc) bool { return path.Ext(doc.Path) == ext })
		d.everywhere()
		return question(programs.Count, "files_kind", slots("ext", kindName(ext)), "number", number(len(all))).
			Work(programs.Numbered(names(all))...)
	}
	dir, docs := d.filesIn()
	if len(docs) < 2 {
		return nil
	}
	d.around(dir)
	return question(programs.Count, "files_count", slots("folder", d.folderName(dir)), "number", number(len(docs))).
		Work(programs.Numbered(names(docs))...)
}

// kindName is what people call files with an ending; "" where they do not.
func kindName(ext string) string {
	return map[string]string{".csv": "CSV", ".md": "Markdown", ".txt": "text", ".json": "JSON", ".py": "Python",
		".log": "log", ".yaml": "YAML", ".yml": "YAML", ".js": "JavaScript"}[ext]
}

func (d *drawer) listFiles() *programs.Program {
	dir, docs := d.filesIn()
	if len(docs) < 2 || len(docs) > 9 {
		return nil
	}
	d.around(dir)
	return question(programs.List, "files_list", slots("folder", d.folderName(dir)), "list", names(docs)...)
}

// fileThere asks for a file that is there, or for one that is not.
func (d *drawer) fileThere() *programs.Program {
	doc := pick(d.r, d.f.Docs)
	name, there := path.Base(doc.Path), "yes"
	if d.r.IntN(2) == 0 {
		if name, there = d.freeName(path.Ext(doc.Path)), "no"; name == "" {
			return nil
		}
	}
	d.everywhere()
	return question(programs.YesNo, "file_there", slots("name", name), "yes_no", there)
}

// freeName is a name that no file has.
func (d *drawer) freeName(ext string) string {
	name := pick(d.r, newNames()) + ext
	if slices.Contains(names(d.f.Docs), name) {
		return ""
	}
	return name
}

// biggest asks for the largest file of a folder.
func (d *drawer) biggest() *programs.Program {
	dir, docs := d.filesIn()
	if len(docs) < 3 || len(docs) > 9 || !d.can[Sizes] {
		return nil
	}
	docs = slices.Clone(docs)
	slices.SortFunc(docs, func(a, b *Doc) int { return len(b.Text) - len(a.Text) })
	if len(docs[0].Text) < len(docs[1].Text)+20 {
		return nil
	}
	if d.can[Tree] || path.Dir(dir) != "." {
		d.around(path.Dir(dir))
	}
	d.look(Op{Do: Sizes, Path: dir})
	return question(programs.Best, "biggest", slots("folder", d.folderName(dir)), "text", path.Base(docs[0].Path))
}

// countLines asks how many lines of a file have a word.
func (d *drawer) countLines() *programs.Program {
	doc := d.one(func(doc *Doc) bool {
		return len(doc.Text) <= mostText && slices.Contains([]string{".log", ".txt"}, path.Ext(doc.Path)) &&
			len(doc.lines()) > 5
	})
	if doc == nil {
		return nil
	}
	word := d.word(doc)
	if word == "" {
		return nil
	}
	var found []string
	for _, line := range doc.lines() {
		if wordIn(word).MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		} else if strings.Contains(strings.ToLower(line), strings.ToLower(word)) {
			return nil
		}
	}
	if len(found) < 2 {
		return nil
	}
	d.read(doc)
	return question(programs.Count, "mention_lines", slots("word", word, "file", d.name(doc)), "number",
		number(len(found))).Work(programs.Numbered(found)...)
}

// amountItem is an entry that begins with a number: "225 g butter", "2 onions", "4 x bag". What only counts is no unit:
// there are 4.
var amountItem = regexp.MustCompile(
	`^(\d[\d.,/]*(?: ?(?:g|kg|mg|ml|cl|l|litres?|cups?|tsp|tbsp|packs?|packets?|tins?|cans?|` +
		`bottles?|boxes|bags?|rolls?|cm|m|mm))?)(?: ?(?:x|pcs|pieces))? (\pL[\pL -]{2,30})$`,
)

// amount draws an entry of a list that begins with an amount, and is the only one there of what it is an amount of.
func (d *drawer) amount() (doc *Doc, item Item, amount, thing string) {
	doc = d.one(func(doc *Doc) bool { // else others count
		return doc.counts() == nil &&
			slices.ContainsFunc(doc.Items, func(item Item) bool { return amountItem.MatchString(item.Text) })
	})
	if doc == nil {
		return nil, Item{}, "", ""
	}
	item = pick(d.r, doc.Items)
	m := amountItem.FindStringSubmatch(item.Text)
	if m == nil || wordIn(m[2]).Count(strings.Join(texts(doc.Items), "\n")) != 1 {
		return nil, Item{}, "", ""
	}
	return doc, item, m[1], m[2]
}

func (d *drawer) lookAmount() *programs.Program {
	doc, item, amount, thing := d.amount()
	if doc == nil {
		return nil
	}
	s := slots("word", thing)
	return question(programs.Lookup, d.find(doc, "item_amount", thing, s), s, "text", amount).
		Work(item.Text)
}

// asAnswer asks for a number or a name and has it written to a new file.
func (d *drawer) asAnswer() *programs.Program {
	p := d.either(d.ofTable(programs.Total), d.ofTable(programs.Count), d.ofTable(programs.Best), d.countItems,
		d.lookPair, d.ofFiles(programs.Total))
	name := d.freeName(".txt")
	if p == nil || len(p.Answer.Values) != 1 || name == "" || d.f.has(name) {
		return nil
	}
	d.change(Op{Do: Write, Path: name, New: p.Answer.Values[0] + "\n", Why: p.TakeWorking()})
	return p.Behind(act(programs.Insert, "answer_write", slots("name", name)))
}

// quote is a line of a file, behind the file's name.
func (d *Doc) quote(line int) string {
	return path.Base(d.Path) + ": " + strings.TrimSpace(d.lines()[line])
}

// through goes through things and says of each whether it is one of those that are asked for.
func through(things []string, is func(int) bool) (lines []string) {
	for i, thing := range things {
		lines = append(lines, thing+map[bool]string{true: " - yes", false: " - no"}[is(i)])
	}
	return lines
}
