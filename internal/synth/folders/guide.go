package folders

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// guide is a file that says which other files have what, as a README does.
type guide struct {
	doc  *Doc
	line map[*Doc]int    // that names a file
	what map[*Doc]string // what that line says of it in a few words; none where it says more
}

// leastGuided is how many files a guide must name.
const leastGuided = 2

var (
	guideName = regexp.MustCompile(`(?i)^(?:readme|index|contents|overview|guide|where-is-what)$`)
	fileName  = regexp.MustCompile(`[\w./-]+\.[a-z]{2,4}\b`)
	whatIs    = regexp.MustCompile("^[`*\")]*(?::| -| –| has| holds| lists) +" +
		"(\\pL[\\pL\\d' -]{3,45}?)(?:[.;:(]|\\s*$)")
)

// findGuide is the guide of a folder; nil where there is none.
func (f *Folder) findGuide() *guide {
	for _, d := range f.Docs {
		if !guideName.MatchString(d.stem()) || path.Dir(d.Path) != "." || len(d.Text) > mostText {
			continue
		}
		g := &guide{doc: d, line: map[*Doc]int{}, what: map[*Doc]string{}}
		for i, line := range d.lines() {
			for _, at := range fileName.FindAllStringIndex(line, -1) {
				of := f.called(line[at[0]:at[1]])
				if of == nil || of == d {
					continue
				}
				if _, again := g.line[of]; again {
					delete(g.what, of)
					continue
				}
				g.line[of] = i
				if m := whatIs.FindStringSubmatch(line[at[1]:]); m != nil && strings.Contains(m[1], " ") {
					g.what[of] = m[1]
				}
			}
		}
		if len(g.line) >= leastGuided {
			return g
		}
	}
	return nil
}

// called is the only file with a path, or with a name; nil: there is none, or several.
func (f *Folder) called(name string) (found *Doc) {
	if d := f.doc(name); d != nil {
		return d
	}
	for _, d := range f.Docs {
		if path.Base(d.Path) == name {
			if found != nil {
				return nil
			}
			found = d
		}
	}
	return found
}

// points reports whether of all lines of the guide the one about a file alone has a word of what is looked for.
func (g *guide) points(doc *Doc, thing string) bool {
	at, is := g.line[doc]
	words := strings.Fields(strings.ToLower(thing))
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < 4 })
	has := func(i int) bool {
		return sharesNoun(words, strings.FieldsFunc(strings.ToLower(g.doc.lines()[i]), func(r rune) bool {
			return !isLetter(r)
		}))
	}
	if !is || !has(at) {
		return false
	}
	for _, i := range g.line {
		if i != at && has(i) {
			return false
		}
	}
	return true
}

// guided is what a person calls a file by what the guide says of it, in words that no file's name has; "" where it
// says no such.
func (d *drawer) guided(doc *Doc) string {
	if d.f.guide == nil || d.f.guide.what[doc] == "" {
		return ""
	}
	what := d.f.guide.what[doc]
	if slices.ContainsFunc(d.f.Docs, func(o *Doc) bool { return o.named(what) > 0 }) {
		return ""
	}
	return pick(d.r, []string{"the file with ", "the file that has "}) + what
}

// locate looks around until a file that a request calls by some name can be told from the others.
func (d *drawer) locate(docs ...*Doc) {
	for _, doc := range docs {
		if d.name(doc) == doc.Path { // who is told the path need not look for it
			continue
		}
		d.around(path.Dir(doc.Path))
		if g := d.f.guide; g != nil && g.what[doc] != "" && strings.HasSuffix(d.name(doc), " "+g.what[doc]) {
			d.readSome([]*Doc{g.doc}, "No file is called after "+g.what[doc]+". "+path.Base(g.doc.Path)+
				" may say which one has that.")
			d.note(g.doc.quote(g.line[doc]))
		}
	}
}

// byGuide reads the guide where the names of files do not tell where something is, and the file that it names for that.
// It is false where the guide does not tell either.
func (d *drawer) byGuide(doc *Doc, thing, about string) bool {
	g := d.f.guide
	if d.wasRead(g.doc) {
		return false
	}
	d.readSome([]*Doc{g.doc}, "No file is named after "+thing+". "+path.Base(g.doc.Path)+" may say where it is.")
	if doc == g.doc {
		return true
	}
	if at := g.line[doc]; g.points(doc, thing+" "+about) {
		d.look(Op{Do: Show, Path: doc.Path, Why: g.doc.quote(at)})
		return true
	}
	d.note(g.doc.lack(thing))
	return false
}

// guideText is a guide to some files: a line for each file of rows or notes, by what it is about or has in it, not by
// its name.
func guideText(files map[string]string) (text string) {
	about := map[string]string{
		"hires": "the bookings of our gear", "loans": "the gear that is out", "rentals": "the gear that people booked",
		"tariff": "the going rates", "terms": "the going rates", "conditions": "the going rates",
		"dues": "the money that came in", "payments": "the money that came in", "income": "the money that came in",
		"spending": "our outgoings", "costs": "our outgoings", "receipts": "our outgoings",
		"stock": "the goods on the shelf", "prices": "the cost of each article",
		"phone-list": "the ways to reach everybody", "people": "the ways to reach everybody",
		"addresses": "the ways to reach everybody", "helpers": "the ways to reach everybody",
		"requests": "those who still wait", "applications": "those who still wait", "sign-ups": "those who still wait",
		"programme": "the running order", "friday": "the running order", "evening": "the running order",
		"opening": "the running order", "info": "codes and fees of the house", "facts": "codes and fees of the house",
		"handbook": "codes and fees of the house", "basics": "codes and fees of the house",
		"duty-plan": "the turns of everybody", "week-plan": "the turns of everybody",
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		what := about[Read(file, "").stem()]
		if header := strings.SplitN(files[file], "\n", 2)[0]; what == "" && path.Ext(file) == ".csv" {
			columns := strings.Split(header, ",")
			for i := range columns {
				columns[i] = programs.Words(columns[i])
			}
			what = strings.Join(columns, ", ")
		}
		if what != "" {
			text += "- `" + file + "`: " + what + "\n"
		}
	}
	return text
}
