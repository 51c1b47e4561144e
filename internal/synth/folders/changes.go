package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

func act(kind, pattern string, s map[string]string) *programs.Program {
	return programs.NewAct(kind, pattern, s)
}

// valueFor is another value for a pair: one that another file has under the same key, or one of the same form.
func (d *drawer) valueFor(p Pair) string {
	var others []string
	for _, doc := range d.f.Docs {
		if o := doc.pair(p.Key); o != nil && o.Value != p.Value {
			others = append(others, o.Value)
		}
	}
	if len(others) > 0 && d.r.IntN(2) == 0 {
		return pick(d.r, others)
	}
	return otherValue(d.r, p.Key, p.Value)
}

// setLine is the line of a pair with another value.
func (d *drawer) setLine(doc *Doc, p Pair, value string) {
	line := strings.Replace(doc.lines()[p.line], p.Value, value, 1)
	d.putLine(doc, p.line, &line)
}

// setPair changes what a file notes.
func (d *drawer) setPair() *programs.Program {
	doc, p := d.noted()
	if doc == nil {
		return nil
	}
	v := d.valueFor(p)
	if v == "" || v == p.Value {
		return nil
	}
	s := slots("attr", p.said(), "v", v)
	pattern := d.find(doc, "file_set", p.said(), s)
	d.setLine(doc, p, v)
	return act(programs.Set, pattern, s)
}

// setThing changes a property of a thing that has a file of its own.
func (d *drawer) setThing() *programs.Program {
	doc, s := d.thing()
	if doc == nil {
		return nil
	}
	p := pick(d.r, doc.Pairs)
	v := d.valueFor(p)
	if v == "" || v == p.Value {
		return nil
	}
	s["attr"], s["v"] = p.said(), v
	if !d.seek(doc, s["x"], "") {
		return nil
	}
	d.setLine(doc, p, v)
	return act(programs.Set, "set", s)
}

// setIf changes what a file notes where that is what the request says, and leaves it where it is not.
func (d *drawer) setIf() *programs.Program {
	doc, p := d.noted()
	if doc == nil {
		return nil
	}
	v, old := d.valueFor(p), p.Value
	holds := d.r.IntN(2) == 0
	if !holds {
		old = d.valueFor(p)
	}
	if v == "" || old == "" || v == p.Value || v == old || !holds && old == p.Value {
		return nil
	}
	s := slots("attr", p.said(), "v", v, "old", old)
	pattern := d.find(doc, "file_set_if", p.said(), s)
	work := condition(p.Key, old, p.Value)
	if holds {
		at := len(d.ops)
		d.setLine(doc, p, v)
		d.ops[at].Why = work + "\n" + d.ops[at].Why
		return act(programs.ActIf, pattern, s)
	}
	return question(programs.ActIf, pattern, s, "left", "It is "+p.Value+", so nothing was changed.").
		Work(doc.quote(p.line), work)
}

// setEvery changes a property in all files of a folder.
func (d *drawer) setEvery() *programs.Program {
	groups := d.groups()
	if len(groups) == 0 {
		return nil
	}
	g := pick(d.r, groups)
	key := programs.Words(g.table.Columns[1+d.r.IntN(len(g.table.Columns)-1)].Name)
	first := g.docs[0].pair(key)
	if first == nil {
		return nil
	}
	v := d.valueFor(*first)
	if v == "" || slices.ContainsFunc(g.docs,
		func(doc *Doc) bool { return doc.pair(key) == nil || doc.pair(key).Value == v }) {
		return nil
	}
	d.around(g.dir)
	d.readAll(g.docs)
	for _, doc := range g.docs {
		d.setLine(doc, *doc.pair(key), v)
	}
	return act(programs.SetAll, "folder_set", slots("attr", key, "v", v, "folder", d.folderName(g.dir)))
}

// filter draws a query for rows of a table.
func (d *drawer) filter(doc *Doc) (q programs.Query, s map[string]string, ok bool) {
	return programs.Filter(d.r, &programs.World{Tables: []*programs.Table{doc.Table}, Listed: true}, doc.Table)
}

// writeFound writes what meets a condition into a new file.
func (d *drawer) writeFound() *programs.Program {
	doc := d.one((*Doc).hasTable)
	if doc == nil {
		return nil
	}
	q, s, ok := d.filter(doc)
	name := d.freeName(".txt")
	if !ok || len(q.Rows()) == 0 || len(q.Rows()) > 8 || name == "" || d.f.has(name) {
		return nil
	}
	var list []string
	for _, row := range q.Rows() {
		label := doc.Table.NameOf(row)
		if label == "" {
			return nil
		}
		list = append(list, label)
	}
	s["name"] = name
	pattern := "found_write"
	if doc.Table.One == "entry" || d.r.IntN(8) == 0 || !d.seek(doc, doc.Table.Many, "") {
		s["file"], pattern = d.name(doc), "items_write"
		d.read(doc)
	}
	d.change(Op{Do: Write, Path: name, New: strings.Join(list, "\n") + "\n", Why: q.Working()})
	return act(programs.SetAll, pattern, s)
}

// brief are the entries of a list that people name: no sentences.
func (d *Doc) brief() []Item {
	return slices.DeleteFunc(slices.Clone(d.Items), func(item Item) bool {
		return len(item.Text) > 45 || strings.HasSuffix(item.Text, ".")
	})
}

// hasBrief reports whether a file has entries that people name.
func (d *Doc) hasBrief() bool { return len(d.brief()) > 0 }

// hasEntries reports whether a file has a list whose lines have nothing but its entries.
func (d *Doc) hasEntries() bool { return d.hasItems() && !d.Items[0].row }

// bullet is what stands before a new entry behind another one.
var bullet = regexp.MustCompile(`^(\s*(?:[-*+•] +)?(?:\[[ xX]\] +)?)`)

// entry is the line of a new entry that comes behind another one; ok is false in a list with numbers.
func (doc *Doc) entry(behind Item, text string) (line string, ok bool) {
	mark := bullet.FindString(doc.lines()[behind.line])
	if itemNumber.MatchString(doc.lines()[behind.line]) {
		return "", false
	}
	return strings.NewReplacer("[x]", "[ ]", "[X]", "[ ]").Replace(mark) + text, true
}

var itemNumber = regexp.MustCompile(`^\s*\d+[.)] `)

// fresh draws an entry that a list has not, as those are that it has: so much of a thing, a thing, or a chore.
func (d *drawer) fresh(doc *Doc) string {
	draw := newThings
	switch amounts, words := doc.entriesAre(); {
	case amounts:
		draw = newAmounts
	case words > 2:
		draw = newChores
	}
	for range 6 {
		text := pick(d.r, draw())
		if !strings.Contains(strings.ToLower(doc.Text), strings.ToLower(text)) {
			return text
		}
	}
	return ""
}

// entriesAre reports whether most entries of a list begin with an amount, and how many words they have in the mean.
func (doc *Doc) entriesAre() (amounts bool, words float64) {
	n, all := 0, 0
	for _, item := range doc.Items {
		if all += len(strings.Fields(item.Text)); item.Text[0] >= '0' && item.Text[0] <= '9' {
			n++
		}
	}
	return 2*n > len(doc.Items), float64(all) / float64(max(1, len(doc.Items)))
}

// addItem puts one or two entries on a list.
func (d *drawer) addItem() *programs.Program {
	doc := d.one((*Doc).hasEntries)
	if doc == nil {
		return nil
	}
	text := d.fresh(doc)
	last, pattern, s := doc.Items[len(doc.Items)-1], "item_add", slots("item", text, "file", d.name(doc))
	if heads := doc.heads(); len(heads) > 1 {
		s["head"], pattern = pick(d.r, heads), "item_add_head"
		under := doc.under(s["head"])
		last = under[len(under)-1]
	}
	line, ok := doc.entry(last, text)
	if !ok || text == "" {
		return nil
	}
	if second := d.fresh(doc); pattern == "item_add" && d.r.IntN(4) == 0 && second != "" && second != text {
		more, _ := doc.entry(last, second)
		s["item2"], pattern, line = second, "item_add_two", line+"\n"+more
	}
	d.read(doc)
	d.addLine(doc, last.line, line)
	return act(programs.Insert, pattern, s)
}

// addUnless puts an entry on a list where it is not there yet.
func (d *drawer) addUnless() *programs.Program {
	doc := d.one(func(doc *Doc) bool { return doc.hasEntries() && len(doc.heads()) < 2 })
	if doc == nil {
		return nil
	}
	if d.r.IntN(2) == 0 {
		item := pick(d.r, doc.Items)
		d.read(doc)
		return question(programs.ActIf, "item_add_unless", slots("item", item.Text, "file", d.name(doc)), "left",
			"It is already there, so nothing was changed.").
			Work("Condition: " + item.Text + " is not there. " + doc.quote(item.line) + ": fails")
	}
	text, last := d.fresh(doc), doc.Items[len(doc.Items)-1]
	line, ok := doc.entry(last, text)
	if !ok || text == "" {
		return nil
	}
	d.read(doc)
	at := len(d.ops)
	d.addLine(doc, last.line, line)
	d.ops[at].Why = "Condition: " + text + " is not there. No line has it: holds\n" + d.ops[at].Why
	return act(programs.ActIf, "item_add_unless", slots("item", text, "file", d.name(doc)))
}

func (d *drawer) removeItem() *programs.Program {
	doc := d.one((*Doc).hasBrief)
	if doc == nil {
		return nil
	}
	item := pick(d.r, doc.brief())
	if itemNumber.MatchString(doc.lines()[item.line]) {
		return nil
	}
	s := slots("item", item.Text)
	pattern := d.find(doc, "item_remove", item.Text, s)
	d.putLine(doc, item.line, nil)
	return act(programs.Remove, pattern, s)
}

// removeTwo takes two entries off one list.
func (d *drawer) removeTwo() *programs.Program {
	doc := d.one((*Doc).hasBrief)
	if doc == nil {
		return nil
	}
	a, b := pick(d.r, doc.brief()), pick(d.r, doc.brief())
	was := doc.lines()
	if a.line >= b.line || itemNumber.MatchString(was[a.line]) {
		return nil
	}
	s, pattern := slots("item", a.Text, "item2", b.Text), "item_remove_two"
	if !d.tells(doc, a.Text) || !d.tells(doc, b.Text) || !d.seek(doc, a.Text, "") {
		s["file"], pattern = d.name(doc), "item_remove_two_of"
		d.read(doc)
	}
	d.rewrite(doc, was, slices.Delete(slices.Delete(slices.Clone(was), b.line, b.line+1), a.line, a.line+1))
	return act(programs.Remove, pattern, s)
}

// tick ticks an entry off, or takes the tick away.
func (d *drawer) tick() *programs.Program {
	doc := d.one(func(doc *Doc) bool { return doc.hasBrief() && doc.brief()[0].Box != 0 })
	if doc == nil {
		return nil
	}
	item, pattern := pick(d.r, doc.brief()), "item_tick"
	line := strings.Replace(doc.lines()[item.line], "[ ]", "[x]", 1)
	switch item.Box {
	case 0:
		return nil
	case 'x':
		pattern, line = "item_untick", strings.NewReplacer("[x]", "[ ]", "[X]", "[ ]").Replace(doc.lines()[item.line])
	}
	s := slots("item", item.Text)
	pattern = d.find(doc, pattern, item.Text, s)
	d.putLine(doc, item.line, &line)
	return act(programs.Set, pattern, s)
}

func (d *drawer) replaceItem() *programs.Program {
	doc := d.one(func(doc *Doc) bool { return doc.hasEntries() && doc.hasBrief() })
	if doc == nil {
		return nil
	}
	item, text := pick(d.r, doc.brief()), d.fresh(doc)
	if text == "" || strings.Count(doc.lines()[item.line], item.Text) != 1 {
		return nil
	}
	line := strings.Replace(doc.lines()[item.line], item.Text, text, 1)
	s := slots("old", item.Text, "item", text)
	pattern := d.find(doc, "item_replace", item.Text, s)
	d.putLine(doc, item.line, &line)
	return act(programs.Set, pattern, s)
}

// swapItems has two entries of a list change places, each with its tick.
func (d *drawer) swapItems() *programs.Program {
	doc := d.one((*Doc).hasBrief)
	if doc == nil {
		return nil
	}
	a, b := pick(d.r, doc.brief()), pick(d.r, doc.brief())
	was := doc.lines()
	if a.line == b.line || a.Head != b.Head || strings.Count(was[a.line], a.Text) != 1 ||
		strings.Count(was[b.line], b.Text) != 1 || strings.Count(doc.Text, a.Text) != 1 ||
		strings.Count(doc.Text, b.Text) != 1 {
		return nil
	}
	now := slices.Clone(was)
	now[a.line] = strings.Replace(was[a.line], a.Text, b.Text, 1)
	now[b.line] = strings.Replace(was[b.line], b.Text, a.Text, 1)
	if a.Box != b.Box {
		if now[a.line], now[b.line] = was[b.line], was[a.line]; itemNumber.MatchString(was[a.line]) {
			return nil
		}
	}
	d.read(doc)
	d.rewrite(doc, was, now)
	return act(Organize, "items_swap", slots("item", a.Text, "item2", b.Text, "file", d.name(doc)))
}

// setAmount changes the amount with which an entry begins.
func (d *drawer) setAmount() *programs.Program {
	doc, item, amount, thing := d.amount()
	if doc == nil {
		return nil
	}
	v := otherValue(d.r, "", amount)
	if v == "" || v == amount {
		return nil
	}
	line := strings.Replace(doc.lines()[item.line], amount, v, 1)
	s := slots("word", thing, "v", v)
	pattern := d.find(doc, "item_amount_set", thing, s)
	d.putLine(doc, item.line, &line)
	return act(programs.Set, pattern, s)
}

// moveItem takes an entry from one list to another.
func (d *drawer) moveItem() *programs.Program {
	from := d.one(func(doc *Doc) bool { return doc.hasEntries() && doc.hasBrief() })
	to := d.one(func(doc *Doc) bool { return doc.hasEntries() && len(doc.heads()) < 2 })
	if from == nil || to == nil || from == to {
		return nil
	}
	item, last := pick(d.r, from.brief()), to.Items[len(to.Items)-1]
	line, ok := to.entry(last, item.Text)
	if !ok || itemNumber.MatchString(from.lines()[item.line]) ||
		strings.Contains(strings.ToLower(to.Text), strings.ToLower(item.Text)) {
		return nil
	}
	d.read(from)
	d.read(to)
	d.putLine(from, item.line, nil)
	d.addLine(to, last.line, line)
	return act(Organize, "item_move", slots("item", item.Text, "file", d.name(from), "file2", d.name(to)))
}

// addLast adds a line to a text.
func (d *drawer) addLast() *programs.Program {
	doc := d.one(func(doc *Doc) bool {
		return len(doc.Text) <= mostText && !doc.hasItems() && doc.Table == nil && doc.lastLine() > 0 &&
			slices.Contains([]string{".md", ".txt", ".log", ""}, path.Ext(doc.Path))
	})
	if doc == nil {
		return nil
	}
	text := programs.Fact(d.r)
	d.read(doc)
	d.addLine(doc, doc.lastLine(), text)
	return act(programs.Insert, "line_add", slots("item", text, "file", d.name(doc)))
}

// replaceWord puts a word in the place of another in a file, replaceEvery in all files of a folder that have it.
func (d *drawer) replaceWord() *programs.Program {
	doc := d.one(func(doc *Doc) bool { return len(doc.Text) < mostText && !doc.hasTable() })
	if doc == nil {
		return nil
	}
	old, v := d.replacement(doc)
	if old == "" {
		return nil
	}
	d.read(doc)
	d.replaceIn(doc, old, v)
	return act(programs.Set, "word_replace", slots("old", old, "v", v, "file", d.name(doc)))
}

// replacement draws a word of a file that is no part of another one there, and another word.
func (d *drawer) replacement(doc *Doc) (old, v string) {
	old = d.word(doc)
	v = d.otherWord(old, doc)
	if old == "" || !doc.standsAlone(old) || doc.begins(old) || strings.Contains(doc.Text, v) {
		return "", ""
	}
	return old, v
}

// otherWord draws another word, a name where the old one is one: in the place of a first name another one.
func (d *drawer) otherWord(old string, docs ...*Doc) string {
	v := pick(d.r, slices.DeleteFunc(otherWords(), func(w string) bool { return isCapital(w) != isCapital(old) }))
	before := regexp.MustCompile(regexp.QuoteMeta(old) + ` \p{Lu}\pL+`)
	if isCapital(old) && slices.ContainsFunc(docs, func(doc *Doc) bool { return before.MatchString(doc.Text) }) {
		if name, ok := programs.NameOf(d.r, "person"); ok {
			v, _, _ = strings.Cut(name, " ")
		}
	}
	return v
}

// begins reports whether a word is the first of a line, as what a line notes is, or "Dear".
func (d *Doc) begins(word string) bool {
	return slices.ContainsFunc(d.lines(), func(line string) bool {
		return strings.HasPrefix(strings.TrimLeft(line, " #*-|\""), word)
	})
}

// standsAlone reports whether a word is no part of another one, and always has the same letters.
func (d *Doc) standsAlone(word string) bool {
	n := strings.Count(d.Text, word)
	return n == strings.Count(strings.ToLower(d.Text), strings.ToLower(word)) &&
		n == wordIn(word).Count(d.Text)
}

// replaceIn changes each line that has a word.
func (d *drawer) replaceIn(doc *Doc, old, v string) {
	was := doc.lines()
	var at []int
	for i, line := range was {
		if strings.Contains(line, old) {
			at = append(at, i)
		}
	}
	if len(at) == 1 {
		line := strings.ReplaceAll(was[at[0]], old, v)
		d.putLine(doc, at[0], &line)
		return
	}
	d.change(Op{Do: Write, Path: doc.Path, New: strings.ReplaceAll(doc.Text, old, v)})
}

func (d *drawer) replaceEvery() *programs.Program {
	dir, old, all, found := d.searched()
	v := d.otherWord(old, all...)
	if len(found) == 0 || len(found) > 3 ||
		slices.ContainsFunc(all, func(doc *Doc) bool { return strings.Contains(doc.Text, v) }) ||
		slices.ContainsFunc(found, func(doc *Doc) bool { return !doc.standsAlone(old) || doc.begins(old) }) {
		return nil
	}
	d.around(dir)
	d.readAll(all)
	for _, doc := range found {
		d.replaceIn(doc, old, v)
	}
	return act(programs.SetAll, "word_replace_all", slots("old", old, "v", v, "folder", d.folderName(dir)))
}
