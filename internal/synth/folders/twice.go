package folders

import (
	"path"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// mergeTwice makes one row of two that are of the same person: the first stays with its number, but for a cell of the
// second, which goes.
func (d *drawer) mergeTwice() *programs.Program {
	type two struct {
		doc       *Doc
		a, b, who int
	}
	var all []two
	for _, doc := range d.docs((*Doc).hasBody) {
		keys := doc.texts(0)
		if len(doc.header) < 4 || !distinct(keys) || !hasDigit.MatchString(keys[0]) || isDays(keys) ||
			doc.ledger() != nil || doc.dealings() != nil || doc.book() != nil {
			continue
		}
		who := slices.IndexFunc(doc.header, func(h string) bool { return doc.isOfPeople(doc.inHeader(h)) })
		if who < 1 {
			continue
		}
		names, found := doc.texts(who), len(all)
		for i, a := range names {
			for k := i + 1; k < len(names); k++ {
				if b := names[k]; fullName.MatchString(a) && fullName.MatchString(b) &&
					surname(a) == surname(b) && a[0] == b[0] &&
					(a == b || strings.Contains(b, ". ") || strings.Contains(a, ". ")) {
					all = append(all, two{doc, i, k, who})
				}
			}
		}
		if len(all) > found+1 { // of persons one stands twice at most
			all = all[:found]
		}
	}
	if len(all) == 0 {
		return nil
	}
	one := pick(d.r, all)
	doc, body := one.doc, one.doc.body()
	k := d.r.IntN(len(doc.header))
	name, keys, cell := doc.header[k], doc.texts(0), doc.texts(k)
	x := doc.texts(one.who)[one.a]
	if other := doc.texts(one.who)[one.b]; len(other) > len(x) {
		x = other
	}
	if k == 0 || k == one.who || cell[one.a] == cell[one.b] || cell[one.a] == "" || cell[one.b] == "" ||
		slices.ContainsFunc(d.f.Docs, func(o *Doc) bool { // which would have to follow
			at := o.inHeader(doc.header[0])
			return o != doc && at >= 0 && slices.Contains(o.texts(at), keys[one.b])
		}) {
		return nil
	}
	attr := programs.Called(name, isDay(cell[one.a]))
	s := slots("x", x, "a", keys[one.a], "b", keys[one.b], "attr", attr, "file", d.name(doc))
	d.read(doc)
	was, at := doc.lines(), len(d.ops)
	line := doc.withText(was[body[one.a]], k, cell[one.b])
	now := slices.Clone(was)
	now[body[one.a]] = line
	now = slices.Delete(now, body[one.b], body[one.b]+1)
	if d.can[Edit] {
		d.putLine(doc, body[one.a], &line)
		d.putLine(doc, body[one.b], nil)
	} else {
		d.rewrite(doc, was, now)
	}
	if d.now()[doc.Path] != strings.Join(now, "\n") {
		return nil
	}
	d.ops[at].Why = "Two rows of " + path.Base(doc.Path) + ":\n" + strings.TrimSpace(was[body[one.a]]) + "\n" +
		strings.TrimSpace(was[body[one.b]]) + "\nThe first stays, with the " + attr + " " + cell[one.b] + ":\n" +
		strings.TrimSpace(line) + "\nThe second goes. All other rows keep their numbers.\n" + d.ops[at].Why
	return act(programs.Several, "merge_twice", s).
		Did(keys[one.a] + " has the " + attr + " " + cell[one.b] + " now, and " + keys[one.b] + " is gone")
}
