package folders

import (
	"path"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// newFile makes a file with given lines.
func (d *drawer) newFile() *programs.Program {
	name := d.freeName(pick(d.r, []string{".txt", ".md"}))
	dir := pick(d.r, append([]string{"."}, d.f.Dirs...))
	if name == "" || d.f.has(path.Join(dir, name)) {
		return nil
	}
	var lines []string
	for _, i := range d.r.Perm(len(newItems()))[:1+d.r.IntN(4)] {
		lines = append(lines, newItems()[i])
	}
	s, pattern := slots("name", name, "lines", strings.Join(lines, " / ")), "file_create_top"
	if dir != "." {
		s["folder"], pattern = d.folderName(dir), "file_create"
		d.around(path.Dir(dir))
	}
	d.change(Op{Do: Write, Path: path.Join(dir, name), New: strings.Join(lines, "\n") + "\n"})
	return act(programs.Insert, pattern, s)
}

func (d *drawer) newFolder() *programs.Program {
	dir, name := pick(d.r, append([]string{"."}, d.f.Dirs...)), pick(d.r, newDirs())
	if d.f.has(path.Join(dir, name)) || !d.can[MakeDir] {
		return nil
	}
	s, pattern := slots("name", name), "folder_create_top"
	if dir != "." {
		s["folder"], pattern = d.folderName(dir), "folder_create"
		d.around(path.Dir(dir))
	}
	d.change(Op{Do: MakeDir, Path: path.Join(dir, name)})
	return act(programs.Insert, pattern, s)
}

// target draws a folder for files to be moved to: one that is there, or at times a new one.
func (d *drawer) target(from string) (dir, said string, fresh bool) {
	if d.r.IntN(3) == 0 && d.can[MakeDir] {
		name := pick(d.r, newDirs())
		if !d.f.has(name) {
			return name, pick(d.r, []string{"a new folder " + name, "a new folder called " + name, name,
				"the folder " + name, "the " + name + " folder"}), true
		}
	}
	if len(d.f.Dirs) == 0 {
		return "", "", false
	}
	dir = pick(d.r, d.f.Dirs)
	if dir == from || strings.HasPrefix(dir, from+"/") {
		return "", "", false
	}
	return dir, d.folderName(dir), false
}

// moves notes the moves of some files into a folder, which is made where it is new; ok is false where one is taken.
// Where nobody says that it is new, a move may be tried before, which is refused.
func (d *drawer) moves(docs []*Doc, dir, said string, fresh bool) (ok bool) {
	if missing := fresh && !strings.Contains(said, "new"); missing {
		if first := docs[0].Path; d.r.IntN(3) > 0 {
			d.change(Op{Do: Move, Path: first, To: path.Join(dir, path.Base(first)), Slip: Refused})
		}
		d.change(Op{Do: MakeDir, Path: dir, Why: "There is no folder " + dir + " yet, so I make it before I move."})
	} else if fresh {
		d.change(Op{Do: MakeDir, Path: dir})
	}
	for _, doc := range docs {
		to := path.Join(dir, path.Base(doc.Path))
		if d.f.has(to) {
			return false
		}
		d.change(Op{Do: Move, Path: doc.Path, To: to})
	}
	return true
}

func (d *drawer) moveFile() *programs.Program {
	doc := pick(d.r, d.f.Docs)
	dir, said, fresh := d.target(path.Dir(doc.Path))
	if dir == "" || !d.can[Move] {
		return nil
	}
	s := slots("file", d.name(doc), "folder", said)
	d.locate(doc)
	if !fresh && strings.Contains(dir, "/") && said != dir {
		d.around(path.Dir(dir))
	}
	if !d.moves([]*Doc{doc}, dir, said, fresh) {
		return nil
	}
	return act(Organize, "file_move", s)
}

func (d *drawer) renameFile() *programs.Program {
	doc := pick(d.r, d.f.Docs)
	name := d.freeName(path.Ext(doc.Path))
	to := path.Join(path.Dir(doc.Path), name)
	if name == "" || d.f.has(to) || !d.can[Move] {
		return nil
	}
	s := slots("file", d.name(doc), "name", name)
	d.locate(doc)
	d.change(Op{Do: Move, Path: doc.Path, To: to})
	return act(Organize, "file_rename", s)
}

// moveSome moves the files of a folder: all, those of a kind, or those that mention a word.
func (d *drawer) moveSome() *programs.Program {
	from, docs := d.filesIn()
	if len(docs) < 2 || len(docs) > mostRead || !d.can[Move] {
		return nil
	}
	dir, said, fresh := d.target(from)
	s, pattern := slots("folder", d.folderName(from), "folder2", said), "files_move_all"
	if dir == "" {
		return nil
	}
	switch ext := path.Ext(pick(d.r, docs).Path); d.r.IntN(3) {
	case 0:
		some := slices.DeleteFunc(slices.Clone(docs), func(o *Doc) bool { return path.Ext(o.Path) != ext })
		if kindName(ext) == "" || len(some) == len(docs) {
			return nil
		}
		docs, s["ext"], pattern = some, kindName(ext), "files_move_kind"
	case 1:
		at, word, all, found := d.searched()
		if at == "." || len(found) == 0 || len(found) == len(all) || dir == at || strings.HasPrefix(dir, at+"/") {
			return nil
		}
		d.mentioning(at, word, all)
		docs, s["folder"], s["word"], pattern = found, d.folderName(at), word, "files_move_mention"
	default:
		if from == "." {
			return nil
		}
	}
	if pattern != "files_move_mention" {
		d.around(from)
	}
	if !fresh && strings.Contains(dir, "/") && said != dir {
		d.around(path.Dir(dir))
	}
	if !d.moves(docs, dir, said, fresh) {
		return nil
	}
	return act(Organize, pattern, s)
}

// copyFile reads a file and writes it under another name.
func (d *drawer) copyFile() *programs.Program {
	doc := d.one(func(doc *Doc) bool { return len(doc.Text) < mostText/2 && doc.lastLine() > 0 })
	if doc == nil {
		return nil
	}
	name, dir := d.freeName(path.Ext(doc.Path)), pick(d.r, append([]string{"."}, d.f.Dirs...))
	if name == "" || d.f.has(path.Join(dir, name)) {
		return nil
	}
	d.read(doc)
	if strings.Contains(dir, "/") {
		d.around(path.Dir(dir))
	}
	d.change(Op{Do: Write, Path: path.Join(dir, name), New: doc.Text})
	return act(Organize, "file_copy", slots("file", d.name(doc), "name", name, "folder", d.folderName(dir)))
}

// deleteFile removes a file, or cannot.
func (d *drawer) deleteFile() *programs.Program {
	doc := pick(d.r, d.f.Docs)
	s := slots("file", d.name(doc))
	if !d.can[Delete] {
		return question(programs.Cannot, "file_delete", s, "cannot",
			"I have no tool that deletes files, so I can't do that.")
	}
	d.locate(doc)
	d.change(Op{Do: Delete, Path: doc.Path})
	return act(programs.Remove, "file_delete", s)
}

// deleteOrMove deletes a file where that can be done, and else moves it, as the request says.
func (d *drawer) deleteOrMove() *programs.Program {
	doc := pick(d.r, d.f.Docs)
	dir, said, fresh := d.target(path.Dir(doc.Path))
	if dir == "" || !d.can[Move] {
		return nil
	}
	s := slots("file", d.name(doc), "folder", said)
	d.locate(doc)
	if d.can[Delete] {
		d.change(Op{Do: Delete, Path: doc.Path})
	} else if !d.moves([]*Doc{doc}, dir, said, fresh) {
		return nil
	}
	return act(Organize, "file_delete_or_move", s)
}

// noPair asks for what a file does not note and another one does.
func (d *drawer) noPair() *programs.Program {
	doc, other := d.one((*Doc).hasPairs), d.one((*Doc).hasPairs)
	key := pick(d.r, newKeys())
	if doc == nil {
		return nil
	}
	if other != doc {
		key = pick(d.r, other.Pairs).Key
	}
	for word := range strings.FieldsSeq(key) { // nor anything that might be it
		if strings.Contains(strings.ToLower(doc.Text), word) {
			return nil
		}
	}
	if d.readsAll() && d.r.IntN(8) > 0 && len(d.docs(func(o *Doc) bool { return o.says(key) })) == 0 {
		d.everywhere()
		d.readAll(d.f.Docs)
		return question(programs.Unknown, "found_pair", slots("attr", key, "form", "text"), "unknown",
			"The "+key+" is not noted anywhere.").Work("I have read all files, and none has the " + key + ".")
	}
	d.read(doc)
	return question(programs.Unknown, "file_pair", slots("attr", key, "file", d.name(doc), "form", "text"), "unknown",
		"The "+key+" is not noted in "+path.Base(doc.Path)+".").Work(path.Base(doc.Path) + " has no " + key + ".")
}

// readsAll reports whether somebody reads all files who is not told in which one something is.
func (d *drawer) readsAll() bool { return d.whole || len(d.f.Docs) <= mostRead }

// says reports whether a file has a word of a key.
func (d *Doc) says(key string) bool {
	text := strings.ToLower(d.Path + "\n" + d.Text)
	return slices.ContainsFunc(strings.Fields(strings.ToLower(key)),
		func(word string) bool { return strings.Contains(text, word) })
}

// noFile asks for something of a file that is not there.
func (d *drawer) noFile() *programs.Program {
	name := d.freeName(path.Ext(pick(d.r, d.f.Docs).Path)) // as the others end
	if name == "" {
		return nil
	}
	said := name
	if stem := programs.Words(strings.TrimSuffix(name, path.Ext(name))); d.r.IntN(4) > 0 &&
		len(d.docs(func(o *Doc) bool { return o.says(stem) })) == 0 {
		said = "the " + stem + pick(d.r, []string{" file", " list", " note"})
	}
	s := slots("file", said, "item", pick(d.r, newItems()), "attr", pick(d.r, newKeys()), "folder", "", "name", "")
	if doc := d.one((*Doc).hasPairs); doc != nil {
		s["attr"] = pick(d.r, doc.Pairs).said()
	}
	if len(d.f.Dirs) > 0 {
		s["folder"] = d.folderName(pick(d.r, d.f.Dirs))
	}
	patterns := split("file_pair|items_count|items_list|item_add|item_remove|last_line|item_there|boxes_open")
	if s["folder"] != "" {
		patterns = append(patterns, "file_move")
	}
	if s["name"] = d.freeName(path.Ext(name)); s["name"] != "" && s["name"] != name {
		patterns = append(patterns, "file_rename")
	}
	d.everywhere()
	none := "There is no " + strings.TrimPrefix(said, "the ") + " here."
	pattern := pick(d.r, patterns)
	s["form"] = map[string]string{"file_pair": "text", "items_count": "number", "items_list": "list", "last_line": "text",
		"boxes_open": "list"}[pattern]
	return question(programs.Unknown, pattern, s, "unknown", none).
		Work("I have seen all folders, and no file is called " + said + ".")
}

// noItem is to change an entry that a list has not.
func (d *drawer) noItem() *programs.Program {
	doc := d.one((*Doc).hasEntries)
	if doc == nil {
		return nil
	}
	text, pattern := d.fresh(doc), "item_remove"
	s := slots("item", text, "file", d.name(doc))
	switch {
	case text == "":
		return nil
	case doc.Items[0].Box != 0 && d.r.IntN(2) == 0:
		pattern = "item_tick"
	case d.r.IntN(3) == 0:
		if s["old"], s["item"] = text, d.fresh(doc); s["item"] == "" || s["item"] == text {
			return nil
		}
		pattern = "item_replace"
	}
	none := "There is no such line, so nothing was changed."
	if last := text[strings.LastIndexByte(text, ' ')+1:]; d.readsAll() && d.r.IntN(8) > 0 &&
		len(d.docs(func(o *Doc) bool { return o.says(last) })) == 0 { // nobody says where it would be
		s["file"] = ""
		d.everywhere()
		d.readAll(d.f.Docs)
		return question(programs.Unknown, "found_"+strings.TrimPrefix(pattern, "item_"), s, "unknown", none).
			Work("I have read all files, and none has " + text + ".")
	}
	d.read(doc)
	return question(programs.Unknown, pattern, s, "unknown", none).
		Work("No line of " + path.Base(doc.Path) + " has " + text + ".")
}

// askBack asks for something that nothing here could tell.
func (d *drawer) askBack() *programs.Program {
	what := programs.AsksFor(`what|which|who`, `add(?:ed)?|put|items?|entr(?:y|ies)|lines?|text|words?|write|written|`+
		`go(?:es)?|includ(?:e|ed)|append(?:ed)?|there|name|it|that|this|refers?|new`)
	where := programs.AsksFor(`where|what|which`, `move[ds]?|put|go(?:es)?|folders?|director(?:y|ies)|paths?|place|`+
		`location|destination|to|it|be`)
	switch d.r.IntN(3) {
	case 0:
		doc, p := d.noted()
		if doc == nil {
			return nil
		}
		file := d.name(doc)
		return asksBack("set_nothing", slots("attr", p.said(), "x", file, "one", "file"),
			"What should the "+p.said()+" be?",
			programs.AsksFor(`what|which|who|when|where|how`, p.said()+`|it|be|value|new|set|changed?`))
	case 1:
		doc := d.one((*Doc).hasEntries)
		if doc == nil {
			return nil
		}
		return asksBack("item_add_what", slots("file", d.name(doc)), "What should I put there?", what)
	}
	return asksBack("file_move_where", slots("file", d.name(pick(d.r, d.f.Docs))), "Where should I move it to?", where)
}

// asksBack is a request whose answer is a question for what it lacks.
func asksBack(pattern string, slots map[string]string, says, what string) *programs.Program {
	return programs.NewQuestion(programs.AskBack, pattern, slots,
		programs.Answer{Form: "question", Values: []string{says}, For: what})
}
