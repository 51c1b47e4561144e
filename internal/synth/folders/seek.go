package folders

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"

	"hone/internal/synth/programs"
)

const (
	mostSought   = 7    // files that are read in vain, where several are read at once
	mostInTurn   = 4    // the same, where each is read by a call of its own
	mostAtOnce   = 3    // files that are read at once where it is not known which has it
	mostTogether = 2000 // bytes of theirs: of more an engine may cut what it shows
)

// seek reads files until one has what is looked for, of which nobody said where it is. Which comes first is chosen by
// what a listing shows: files whose name says it, files in which such things stand as a rule, files that say how things
// are in general, then the others in the order of the listing. Of each that has nothing of it this is said, and why one
// reads on. about is what else the request says of it. It is false, and nothing is read, where the file is too far
// down.
func (d *drawer) seek(doc *Doc, thing, about string) bool {
	order := d.ranked(thing + " " + about)
	at := slices.IndexFunc(order, func(o ranked) bool { return o.doc == doc })
	d.about = append(d.about, doc)
	if d.whole {
		d.look(Op{Do: Show, Path: doc.Path})
		return true
	}
	most := mostInTurn
	if d.can[ShowAll] {
		most = mostSought
	}
	word := d.telling(doc, thing)
	if word != "" && (at > most || d.r.IntN(4) == 0) {
		d.look(Op{Do: Search, Path: ".", Old: word, Why: "No file is named. I search for " + word + "."})
		d.look(Op{Do: Show, Path: doc.Path, Why: path.Base(doc.Path) + " has it."})
		return true
	}
	if at < 0 || at > most {
		return false
	}
	d.everywhere()
	if order[0].rank < byName && d.f.guide != nil && d.byGuide(doc, thing, about) {
		return true
	}
	for from := 0; from <= at; {
		some := d.atOnce(order[from:])
		why := order[from].why(thing, some)
		if from > 0 {
			why = "Next: " + strings.Join(names(some), ", ") + "."
		}
		d.readSome(some, why)
		for _, o := range some {
			if o != doc {
				d.note(o.lack(thing))
			}
		}
		from += len(some)
	}
	return true
}

// atOnce are the first of some files that are read by one call: those that are as near as the first.
func (d *drawer) atOnce(order []ranked) []*Doc {
	n, size := 1, len(order[0].doc.Text)
	for ; n < min(len(order), mostAtOnce) && order[n].rank == order[0].rank; n++ {
		if size += len(order[n].doc.Text); size > mostTogether {
			break
		}
	}
	if !d.can[ShowAll] || d.r.IntN(4) == 0 {
		n = 1
	}
	return docsOf(order[:n])
}

// readSome reads files at once, or the one that there is.
func (d *drawer) readSome(docs []*Doc, why string) {
	docs = slices.DeleteFunc(slices.Clone(docs), func(o *Doc) bool { return d.wasRead(o) })
	if len(docs) == 0 {
		return
	}
	if len(docs) == 1 {
		d.look(Op{Do: Show, Path: docs[0].Path, Why: why})
		return
	}
	var paths []string
	for _, o := range docs {
		paths = append(paths, o.Path)
	}
	d.look(Op{Do: ShowAll, Paths: paths, Why: why})
}

// wasRead reports whether a file was read before.
func (d *drawer) wasRead(doc *Doc) bool {
	return d.wholeRead() || slices.ContainsFunc(d.ops, func(o Op) bool {
		return o.Do == Show && o.Path == doc.Path || o.Do == ShowAll && slices.Contains(o.Paths, doc.Path)
	})
}

// note says something of what was read, before what is done next or answered.
func (d *drawer) note(text string) { d.notes = append(d.notes, remark{len(d.ops), text}) }

// remark is what is said before an operation; before the answer where there is none with that number.
type remark struct {
	before int
	text   string
}

// remarked puts the remarks before what the operations are made for, and returns those before the answer.
func (d *drawer) remarked() string {
	said := map[int]string{}
	for _, n := range d.notes {
		said[n.before] += n.text + "\n"
	}
	for i := range d.ops {
		d.ops[i].Why = strings.TrimSpace(said[i] + d.ops[i].Why)
	}
	return strings.TrimSpace(said[len(d.ops)])
}

// lack says that a file has not what is looked for, but a word of it at most.
func (d *Doc) lack(thing string) string {
	switch word := d.wordOf(thing); {
	case d.mentions(thing):
		return path.Base(d.Path) + " has the words " + thing + ", but nothing of it."
	case word != "":
		return path.Base(d.Path) + " has the word " + word + ", but not " + thing + "."
	}
	return path.Base(d.Path) + " has nothing about " + thing + "."
}

// How near a file is to what is looked for, as its name tells. A name that says it has byName and more.
const (
	ofMany    = iota // one of many like it, none of which is named after it
	ofNothing        // its name tells nothing
	ofAll            // its name says that it is about things in general
	asARule          // such things stand there as a rule
	byName
)

// ranked is a file, and how near it is to what is looked for.
type ranked struct {
	doc  *Doc
	rank int
}

func docsOf(list []ranked) (docs []*Doc) {
	for _, o := range list {
		docs = append(docs, o.doc)
	}
	return docs
}

// why says why one begins with some files.
func (o ranked) why(thing string, some []*Doc) string {
	all := strings.Join(names(some), ", ")
	switch {
	case o.rank >= byName && o.doc.named(thing) > 0:
		return "By its name, " + all + " is about " + thing + "."
	case o.rank >= byName:
		return "By its name, " + all + " may have it."
	case o.rank == asARule:
		return "No file is named after " + thing + ". Such things mostly stand in " + all + "."
	case o.rank == ofAll:
		return "No file is named after " + thing + ". First what is of general use: " + all + "."
	}
	return "No file is named after " + thing + ". I go through the files, first " + all + "."
}

// ranked are the files that may have something, the nearest first, and else as a listing has them.
func (d *drawer) ranked(thing string) (list []ranked) {
	topics := topicsOf(thing)
	for _, doc := range d.f.Docs {
		stem := strings.Fields(programs.Words(doc.stem()))
		o := ranked{doc, ofNothing}
		switch n := doc.named(thing); {
		case n > 0:
			o.rank = byName + n
		case d.alike(doc) >= leastOfGroup && path.Dir(doc.Path) != ".":
			o.rank = ofMany
		case sharesNoun(stem, topics):
			o.rank = asARule
		case sharesNoun(stem, strings.Fields(general)):
			o.rank = ofAll
		}
		list = append(list, o)
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return cmp.Or(cmp.Compare(b.rank, a.rank),
			cmp.Compare(strings.Count(a.doc.Path, "/"), strings.Count(b.doc.Path, "/"))) < 0
	})
	return list
}

// general are the words of names of files that say how things are.
const general = "readme info about handbook facts basics settings notes"

// topicsOf are the words of names of files in which things of some words stand as a rule.
func topicsOf(thing string) (files []string) {
	asked := strings.Fields(strings.ToLower(thing))
	for _, topic := range [][2]string{
		{"phone number email mail address contact call", "member contact people phone address staff team guest helper"},
		{"code password key wifi login port host timeout limit language theme backup hour name", "setting config info"},
		{"price cost fee rate deposit discount rent permit", "price setting rate fee info"},
		{"paid amount expense payment balance payer", "payment expense cost spending money receipt"},
		{"date day week opening closing arrival", "date calendar schedule rota plan programme info"},
		{"present decided meeting", "minute meeting"},
		{"stock count quantity left", "stock inventory pantry"},
	} {
		if sharesNoun(asked, strings.Fields(topic[0])) {
			files = append(files, strings.Fields(topic[1])...)
		}
	}
	return files
}

// named is how many words of what is looked for a file's name has.
func (d *Doc) named(thing string) (n int) {
	stem := strings.Fields(programs.Words(d.stem()))
	for _, word := range strings.Fields(strings.ToLower(thing)) {
		if len(word) > 3 && sharesNoun([]string{word}, stem) {
			n++
		}
	}
	return n
}

// sharesNoun reports whether two lists of words have one in common, be it one or many.
func sharesNoun(a, b []string) bool {
	return slices.ContainsFunc(a, func(word string) bool {
		one, _ := programs.Nouns(word)
		return slices.ContainsFunc(b, func(other string) bool {
			of, _ := programs.Nouns(other)
			return of == one
		})
	})
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
