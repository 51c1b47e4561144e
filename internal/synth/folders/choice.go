package folders

import (
	"path"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// read finds a file as a stranger does who knows what the request calls it, and reads it.
func (d *drawer) read(doc *Doc) {
	if d.name(doc) != doc.Path { // who is told the path need not look for it
		d.around(path.Dir(doc.Path))
	}
	d.look(Op{Do: Show, Path: doc.Path})
}

// find reads the file that a request is about, and returns the pattern of its wording. What stands in no other file may
// be asked for without a word of where it is.
func (d *drawer) find(doc *Doc, pattern, thing string, s map[string]string) string {
	// of one of many like it, nobody would know which is meant
	ofMany := strings.HasPrefix(pattern, "file_") && d.alike(doc) >= leastOfGroup && path.Dir(doc.Path) != "."
	if d.r.IntN(6) == 0 || ofMany || !d.tells(doc, thing) {
		s["file"] = d.name(doc)
		d.read(doc)
		return pattern
	}
	d.seek(doc, thing)
	return "found_" + strings.TrimPrefix(strings.TrimPrefix(pattern, "file_"), "item_")
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

const (
	mostAstray = 2 // files that are read in vain, one after the other
	mostAtOnce = 3 // files that are read beside the one that has it
)

// seek reads a file of which nobody said where it is. A stranger searches for a word, reads the files that may have it
// at once, or one after the other: others are then read first, which have not what is looked for, or a word of it
// alone. That they have not is why one reads on.
func (d *drawer) seek(doc *Doc, thing string) {
	if word := d.telling(doc, thing); word != "" && d.r.IntN(3) == 0 {
		d.look(Op{Do: Search, Path: ".", Old: word, Why: "No file is named. I search for " + word + "."})
		d.look(Op{Do: Show, Path: doc.Path, Why: path.Base(doc.Path) + " has it."})
		return
	}
	d.everywhere()
	why := unsaid(thing) + " I begin with " + path.Base(doc.Path) + "."
	switch said := d.saysIt(doc, thing); {
	case said:
		why = "By its name, " + path.Base(doc.Path) + " is about " + thing + "."
		if d.r.IntN(3) > 0 {
			d.look(Op{Do: Show, Path: doc.Path, Why: why})
			return
		}
	case d.can[ShowAll] && d.r.IntN(5) < 2:
		d.readSome(doc, thing)
		return
	}
	for range min(mostAstray, d.r.IntN(mostAstray+2)) { // two as often as none and one together
		other := d.other(doc, thing)
		if other == nil {
			break
		}
		d.ops = append(d.ops, Op{Do: Show, Path: other.Path, Slip: Elsewhere})
		why = "There is nothing about " + thing + " in " + path.Base(other.Path) + "."
		if word := other.wordOf(thing); word != "" {
			why = path.Base(other.Path) + " has the word " + word + ", but not " + thing + "."
		}
		why += " Next: " + path.Base(doc.Path) + "."
	}
	d.look(Op{Do: Show, Path: doc.Path, Why: why})
}

// readSome reads some files at once of which one has what is looked for, in the order in which a listing has them.
func (d *drawer) readSome(doc *Doc, thing string) {
	some := []*Doc{doc}
	for range 1 + d.r.IntN(mostAtOnce) {
		if other := d.other(doc, thing); other != nil && !slices.Contains(some, other) {
			some = append(some, other)
		}
	}
	if len(some) == 1 {
		d.look(Op{Do: Show, Path: doc.Path, Why: unsaid(thing) + " I try " + path.Base(doc.Path) + "."})
		return
	}
	slices.SortFunc(some, func(a, b *Doc) int { return strings.Compare(a.Path, b.Path) })
	var paths []string
	for _, o := range some {
		paths = append(paths, o.Path)
	}
	d.look(Op{Do: ShowAll, Paths: paths, Why: unsaid(thing) + " It may be in " + orList(names(some)) + "."})
}

func unsaid(thing string) string { return "No file is named after " + thing + "." }

func orList(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// other draws a file that has not what is looked for, and was not read: as often as not one that has a word of it.
func (d *drawer) other(doc *Doc, thing string) *Doc {
	fits := func(o *Doc) bool {
		return o != doc && len(o.Text) <= mostText && !strings.Contains(strings.ToLower(o.Path+"\n"+o.Text),
			strings.ToLower(thing)) && !slices.ContainsFunc(d.ops, func(x Op) bool { return x.Path == o.Path })
	}
	if o := d.one(func(o *Doc) bool { return fits(o) && o.wordOf(thing) != "" }); o != nil && d.r.IntN(2) == 0 {
		return o
	}
	lacks := func(o *Doc) bool { return fits(o) && !o.says(thing) }
	if o := d.one(func(o *Doc) bool { return lacks(o) && d.alike(o) < leastOfGroup }); o != nil {
		return o // one of many like it has not what there is once
	}
	return d.one(lacks)
}

// wordOf is a word of several that are looked for which a text has; "" where it has none.
func (d *Doc) wordOf(thing string) string {
	words := strings.Fields(thing)
	for _, word := range words {
		if len(words) > 1 && len(word) > 3 && (d.mentions(word) || wordIn(word).MatchString(programs.Words(d.stem()))) {
			return word
		}
	}
	return ""
}

// saysIt reports whether the name of a file has a word of what is looked for.
func (d *drawer) saysIt(doc *Doc, thing string) bool {
	stem := programs.Words(doc.stem())
	return slices.ContainsFunc(strings.Fields(strings.ToLower(thing)), func(word string) bool {
		one, _ := programs.Nouns(word)
		return len(word) > 3 && slices.ContainsFunc(strings.Fields(stem), func(w string) bool {
			of, _ := programs.Nouns(w)
			return of == one
		})
	})
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
