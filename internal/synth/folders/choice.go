package folders

import (
	"path"
	"slices"
	"strings"
)

// read finds a file as a stranger does who knows what the request calls it, and reads it alone.
func (d *drawer) read(doc *Doc) {
	d.about = append(d.about, doc)
	d.locate(doc)
	if !d.wasRead(doc) {
		d.once(Op{Do: Show, Path: doc.Path})
	}
}

// find reads the file that a request is about, and returns the pattern of its wording. What stands in no other file may
// be asked for without a word of where it is.
func (d *drawer) find(doc *Doc, pattern, thing string, s map[string]string) string {
	// of one of many like it, nobody would know which is meant
	ofMany := strings.HasPrefix(pattern, "file_") && d.alike(doc) >= leastOfGroup && path.Dir(doc.Path) != "."
	if d.r.IntN(10) == 0 || ofMany || !doc.has(thing) || !d.tells(doc, thing) || !d.seek(doc, thing, "") {
		s["file"] = d.name(doc)
		d.read(doc)
		return pattern
	}
	return "found_" + strings.TrimPrefix(strings.TrimPrefix(pattern, "file_"), "item_")
}

// has reports whether a file has a word of what is looked for: that a letter's "To" is the addressee stands nowhere.
func (d *Doc) has(thing string) bool {
	text := strings.ToLower(d.Text)
	return slices.ContainsFunc(strings.Fields(strings.ToLower(thing)), func(w string) bool {
		return strings.Contains(text, w)
	})
}

// tells reports whether something stands in one file alone, so that nobody has to say in which.
func (d *drawer) tells(doc *Doc, thing string) bool {
	return len(thing) > 3 && !slices.ContainsFunc(d.f.Docs, func(o *Doc) bool {
		return o != doc && strings.Contains(strings.ToLower(o.Path+"\n"+o.Text), strings.ToLower(thing))
	})
}

// noted draws something that a file notes, mostly what no other does; nil where none notes anything.
func (d *drawer) noted() (doc *Doc, p Pair) {
	if doc = d.one((*Doc).hasPairs); doc == nil {
		return nil, Pair{}
	}
	p = pick(d.r, doc.Pairs)
	for range tries {
		if d.tells(doc, p.Key) || d.r.IntN(8) == 0 {
			break
		}
		doc = d.one((*Doc).hasPairs)
		p = pick(d.r, doc.Pairs)
	}
	return doc, p
}

// telling is a word of what is looked for that stands in few files as it is, so that a search finds the right one; ""
// where none does, or nothing searches.
func (d *drawer) telling(doc *Doc, thing string) string {
	if !d.can[Search] {
		return ""
	}
	for _, word := range strings.Fields(thing) {
		n := len(d.docs(func(o *Doc) bool { return strings.Contains(o.Text, word) }))
		if len(word) > 3 && strings.Contains(doc.Text, word) && n < 4 {
			return word
		}
	}
	return ""
}

// readAll reads some files, of which the folder has been seen.
func (d *drawer) readAll(docs []*Doc) {
	var paths []string
	for _, doc := range docs {
		paths = append(paths, doc.Path)
	}
	if d.can[ShowAll] && len(paths) > 1 {
		d.look(Op{Do: ShowAll, Paths: paths})
		return
	}
	for _, file := range paths {
		d.look(Op{Do: Show, Path: file})
	}
}

// mentioning looks for the files among some that have a word: by a search, or by reading them all.
func (d *drawer) mentioning(dir, word string, all []*Doc) {
	exact := func(o *Doc) bool { return strings.Contains(o.Text, word) == o.mentions(word) }
	below := len(d.docs(func(o *Doc) bool { return strings.HasPrefix(o.Path, dir+"/") || dir == "." })) == len(all)
	if d.can[Search] && below && !slices.ContainsFunc(all, func(o *Doc) bool { return !exact(o) }) &&
		d.r.IntN(3) > 0 {
		d.look(Op{Do: Search, Path: dir, Old: word})
		return
	}
	d.around(dir)
	d.readAll(all)
}
