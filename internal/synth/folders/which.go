package folders

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

const (
	leastMeant = 2 // things that a word may mean so that one asks which
	mostMeant  = 4
)

// noName are words by which nobody calls one of several things.
var noName = strings.Fields("the and for with from our old new all one two")

// meant draws a word that the names of two or three rows of a table have, as "the wheelbarrow" of a green and a black
// one, and their names.
func (d *drawer) meant(doc *Doc) (word string, names []string) {
	of := map[string][]string{}
	for _, row := range doc.Table.Rows {
		name := doc.Table.NameOf(row)
		if parts := strings.Fields(name); len(parts) > 1 {
			first, last := parts[0], parts[len(parts)-1]
			if of[last] = append(of[last], name); first != last && strings.ToUpper(first[:1]) == first[:1] {
				of[first] = append(of[first], name)
			}
		}
	}
	var words []string
	for word, names := range of {
		if len(word) > 2 && !slices.Contains(noName, strings.ToLower(word)) && isName.MatchString(word) &&
			len(names) >= leastMeant && len(names) <= mostMeant &&
			wordIn(word).Count(strings.Join(doc.listed(), "\n")) == len(names) {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return "", nil
	}
	slices.Sort(words)
	word = pick(d.r, words)
	return word, of[word]
}

var isName = regexp.MustCompile(`^\pL[\pL'-]+$`)

// askWhich asks for something of a thing by a word that several have: whoever looks finds them, and asks which one.
func (d *drawer) askWhich() *programs.Program {
	doc := d.one((*Doc).hasRows)
	if doc == nil {
		return nil
	}
	word, names := d.meant(doc)
	if word == "" || len(d.docs(func(o *Doc) bool { return o.hasTable() && o.mentions(word) })) > 1 {
		return nil
	}
	k := d.r.IntN(len(doc.Table.Columns))
	c := doc.Table.Columns[k]
	var values []string
	for _, row := range doc.Table.Rows {
		if v := programs.Show(row[k]); v != "" {
			values = append(values, v)
		}
	}
	if !doc.Table.OfPeople() && doc.isOfPeople(doc.Table.Label) { // nobody speaks of the size of a person
		return nil
	}
	if k == doc.Table.Label || k == doc.Table.Key || c.Bool || len(c.Parts) > 0 || len(values) < 2 {
		return nil
	}
	x := word
	if strings.ToLower(word) == word {
		x = "the " + word
	}
	s := slots("x", x, "attr", nounOf(c), "v", pick(d.r, values))
	pattern := pick(d.r, []string{"which_set", "which_set", "which_look"})
	if pattern == "which_look" {
		s["form"] = "text"
	}
	d.hunt(doc, word, s["attr"], path.Base(doc.Path)+" may have it.")
	all := strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	p := asksBack(pattern, s,
		"There are "+[]string{"two", "three", "four"}[len(names)-leastMeant]+": "+all+". Which one do you mean?",
		anyOrder(names))
	return p.Work(path.Base(doc.Path) + " has " + word + " in several rows: " + all + ". Nobody said which one.")
}

// anyOrder matches a text that has some names, in any order.
func anyOrder(names []string) string {
	if len(names) == 1 {
		return `(?s)` + regexp.QuoteMeta(names[0])
	}
	var ways []string
	for i, name := range names {
		rest := slices.Delete(slices.Clone(names), i, i+1)
		ways = append(ways, regexp.QuoteMeta(name)+`.*(?:`+strings.TrimPrefix(anyOrder(rest), `(?s)`)+`)`)
	}
	return `(?s)` + strings.Join(ways, "|")
}

// noCell asks for what stands in no cell of a row that is there.
func (d *drawer) noCell() *programs.Program {
	doc := d.one((*Doc).hasRows)
	if doc == nil {
		return nil
	}
	i, k := d.r.IntN(len(doc.Table.Rows)), d.r.IntN(len(doc.Table.Columns))
	row, c := doc.Table.Rows[i], doc.Table.Columns[k]
	s := doc.Table.Slots(row)
	s["attr"], s["form"] = nounOf(c), "text"
	if row[k] != nil || c.Bool || len(c.Parts) > 0 || doc.Table.NameOf(row) == "" || s["attr"] == "" ||
		len(d.docs(func(o *Doc) bool { return o.mentions(doc.Table.NameOf(row)) })) > 1 {
		return nil
	}
	d.hunt(doc, doc.Table.NameOf(row), s["attr"], path.Base(doc.Path)+" may have it.")
	return question(programs.Unknown, "lookup", s, "unknown", "The "+s["attr"]+" is not noted.").
		Work(doc.quote(doc.rows[i]), "The row has no "+s["attr"]+".")
}

// cannotTell has somebody else told or shown what a file has.
func (d *drawer) cannotTell() *programs.Program {
	var people []string
	for _, doc := range d.docs((*Doc).hasTable) {
		for _, name := range doc.listed() {
			if fullName.MatchString(name) && strings.ToUpper(name[:1]) == name[:1] && doc.Table.OfPeople() {
				people = append(people, name)
			}
		}
	}
	who, _ := programs.NameOf(d.r, "person") // persons have names
	if len(people) > 0 {
		who = pick(d.r, people)
	}
	ops, notes, about, seen := len(d.ops), len(d.notes), len(d.about), maps.Clone(d.seen)
	p := d.draw(pick(d.r, []string{programs.Lookup, programs.Lookup, programs.List}))
	if p == nil || p.Then() != nil {
		return nil
	}
	d.ops, d.notes, d.about, d.seen = d.ops[:ops], d.notes[:notes], d.about[:about], seen // nothing is looked at
	return p.ToOthers(who)
}
