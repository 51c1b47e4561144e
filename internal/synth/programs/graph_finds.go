package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Saying are the things that a search for a text finds: it is a part of their names, types or notes, whatever its
// capitals.
func (g Graph) Saying(text string) (found []Thing) {
	has := mentions(text)
	for _, t := range g.Things {
		if has(t.Name) || has(t.Type) || slices.ContainsFunc(t.Notes, has) {
			found = append(found, t)
		}
	}
	return found
}

// Size is about how many bytes a graph takes where a server shows it.
func (g Graph) Size() (n int) {
	for _, t := range g.Things {
		n += t.size()
	}
	for _, r := range g.Relations {
		n += r.size()
	}
	return n
}

func (t Thing) size() int {
	return 90 + len(t.Name) + len(t.Type) + 12*len(t.Notes) + len(strings.Join(t.Notes, ""))
}

func (r Relation) size() int { return 85 + len(r.From) + len(r.To) + len(r.Type) }

// Extent is about how many bytes a thing and its relations take where a server shows them.
func (g Graph) Extent(name string) (n int) {
	if t := g.Thing(name); t != nil {
		n = t.size()
	}
	for _, r := range g.Relations {
		if r.From == name || r.To == name {
			n += r.size()
		}
	}
	return n
}

// Word is a word by which a search finds the things that a program is about and no others, as "German" of those who
// speak it.
type Word struct {
	Text  string
	Names []string // of the things
	by    Cond
}

// Word finds such a word; of none the text is "".
func (gt *GraphTables) Word(g *GraphProgram) (w Word) {
	q := g.query
	if q == nil || g.then != nil || len(g.Types) != 1 || len(g.Named) > 0 || q.Table.Link != "" {
		return w
	}
	if slices.ContainsFunc(g.sayings, func(s saying) bool { return !s.near }) { // nobody has seen the note
		return w
	}
	for _, c := range q.Where {
		note := gt.noteOf(q.Table, c)
		if note == "" {
			continue
		}
		for _, word := range []string{note[strings.LastIndexByte(note, ' ')+1:], note} {
			found := gt.Graph.Saying(word)
			rows := q.Table.rows([]Cond{c})
			if len(word) < 4 || len(rows) == 0 || len(found) != len(rows) {
				continue
			}
			return Word{word, labels(q.Table, rows), c}
		}
	}
	return w
}

// ShowFound says that the things are found by a word: the working goes through these alone, and quotes them.
func (g *GraphProgram) ShowFound(w Word) {
	if g.Show([]Cond{w.by}); g.query != nil {
		g.query.quoted = true
	}
}

// noteOf is the note that a condition asks for; "" where it asks for no one note.
func (gt *GraphTables) noteOf(t *Table, c Cond) string {
	s := gt.sources[t][c.Column]
	switch {
	case c.Op != Is || c.Of >= 0 || s.relation != "":
	case s.note != "" && equal(c.Value, int64(1)):
		return s.note
	case s.note == "" && c.Column > 0 && t.Columns[c.Column].Kind == Text && t.Columns[c.Column].Ref == nil:
		return s.value(c.Value)
	}
	return ""
}

// Needs are the relations that somebody must see who answers, or changes, what a program is about: those of the kinds
// that it speaks of, at some things.
func (gt *GraphTables) Needs(g *GraphProgram, things []string) (list []Relation) {
	kinds := slices.Clone(g.relations)
	for _, e := range g.Edits {
		if e.Do == RemoveRelation {
			kinds = append(kinds, e.Relation.Type)
		}
	}
	for p := g.Program; p != nil; p = p.then {
		for _, t := range p.Tables {
			for i, c := range t.Columns {
				if c.Ref != nil && (t.Link != "" || slices.Contains(p.Tables, c.Ref)) {
					kinds = append(kinds, gt.sources[t][i].relation)
				}
			}
		}
	}
	for _, r := range gt.Graph.Relations {
		if slices.Contains(kinds, r.Type) && (slices.Contains(things, r.From) || slices.Contains(things, r.To)) {
			list = append(list, r)
		}
	}
	return list
}

// Says is what a request calls a thing; "" where it does not name it.
func (g *GraphProgram) Says(name string) string {
	if short := g.short[name]; short != "" {
		return short
	}
	for p := g.Program; p != nil; p = p.then {
		for _, slot := range p.nameSlots() {
			said := strings.TrimPrefix(p.slots[slot], "the ")
			if said == name || len(said) > 2 && p.means[said] == "" && mentions(said)(name) {
				return said
			}
		}
		for _, slot := range []string{"asks", "filter", "many", "given", "others"} {
			if strings.Contains(p.slots[slot], name) {
				return name
			}
		}
	}
	return ""
}

// nameEnds has those things looked for, too, that a request names and whose relations it changes: what is noted there
// is their whole names.
func (gt *GraphTables) nameEnds(g *GraphProgram) {
	for _, name := range g.ends() {
		if gt.Graph.Thing(name) != nil && g.Says(name) != "" &&
			!slices.Contains(slices.Concat(g.Named, g.Members), name) {
			g.Named = append(g.Named, name)
		}
	}
}

// ends are the names of the things whose relations change, each once, but for those of new ones.
func (g *GraphProgram) ends() (names []string) {
	var seen []string
	for _, e := range g.Edits {
		if e.Do == AddThing {
			seen = append(seen, e.Thing.Name)
		}
		for _, name := range []string{e.Relation.From, e.Relation.To} {
			if name != "" && !slices.Contains(seen, name) {
				seen, names = append(seen, name), append(names, name)
			}
		}
	}
	return names
}

// nameSlots are the slots in which a request names a thing.
func (p *Program) nameSlots() []string {
	if p.pattern == "insert_tied" {
		return []string{"a", "b"}
	}
	return []string{"x", "y", "v"}
}

// shorten has a request name things as people do who know them: by one word of the name, or in small letters. Whoever
// looks for them searches, since nothing has just this name.
func (gt *GraphTables) shorten(r *rand.Rand, g *GraphProgram) {
	for _, name := range slices.Compact(slices.Clone(g.Named)) {
		short := gt.shortName(r, name)
		if short == "" || r.IntN(2) == 0 {
			continue
		}
		hit := false
		for p := g.Program; p != nil; p = p.then {
			if slices.Contains([]string{"insert", "insert_bare", "add_unless", "compare", "rename",
				"respell", "respell_new"}, p.pattern) ||
				strings.HasPrefix(p.pattern, "compare_") {
				continue
			}
			for _, slot := range p.nameSlots() {
				if p.slots[slot] == name {
					p.slots[slot], hit = short, true
				}
			}
			for _, slot := range []string{"asks", "filter", "one", "many", "given", "others"} {
				if strings.Contains(p.slots[slot], name) {
					p.slots[slot], hit = strings.ReplaceAll(p.slots[slot], name, short), true
				}
			}
		}
		if hit {
			if g.short == nil {
				g.short = map[string]string{}
			}
			g.short[name] = short
		}
	}
}

// shortName is a word of a name that no other thing's name has, or the name in small letters; "" where there is none.
func (gt *GraphTables) shortName(r *rand.Rand, name string) string {
	t := gt.Graph.Thing(name)
	if t == nil || !isASCII(name) || strings.ContainsAny(name, "0123456789&'") {
		return ""
	}
	words := slices.DeleteFunc(strings.Fields(name), func(w string) bool {
		return len(w) < 3 || slices.Contains([]string{"the", "our", "under", "beyond"}, strings.ToLower(w))
	})
	if len(words) == 0 {
		return ""
	}
	short := words[0]
	if r.IntN(4) == 0 {
		short = words[len(words)-1]
	}
	if (len(strings.Fields(name)) == 1 || gt.areOfPeople(t.Type)) && r.IntN(3) == 0 {
		short = strings.ToLower(short) // "summer" is no house
	}
	if short == name || len(gt.named(short)) != 1 {
		return ""
	}
	return short
}

// named are the names that a text is a part of.
func (gt *GraphTables) named(text string) (names []string) {
	for _, t := range gt.Graph.Things {
		if mentions(text)(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}
