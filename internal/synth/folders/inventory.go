package folders

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// inventory is a table of how many there are of each thing, with a column for notes, and mostly where the things are.
type inventory struct {
	doc                      *Doc
	item, n, place, note     int // place is -1 where the table has none
	items, counts, at, notes []string
}

// readInventory reads a table as one; nil where it is none.
func readInventory(doc *Doc) *inventory {
	v := &inventory{doc: doc, item: -1, n: -1, place: -1, note: -1}
	if !doc.hasBody() {
		return nil
	}
	for k, name := range doc.header {
		has := func(list string) bool {
			return sharesNoun(strings.Fields(programs.Words(name)), strings.Fields(list))
		}
		switch {
		case v.n < 0 && has("count number quantity qty stock pieces have") &&
			doc.all(k, func(v string) bool { _, err := strconv.Atoi(v); return err == nil }):
			v.n = k
		case v.note < 0 && has("note remark comment"):
			v.note = k
		case v.place < 0 && has("room place where shelf box cupboard area") && !distinct(doc.texts(k)) &&
			doc.all(k, nameForm.MatchString):
			v.place = k
		case v.item < 0 && has("item thing article what name object") && doc.all(k, nameForm.MatchString):
			v.item = k
		}
	}
	if v.item < 0 || v.n < 0 || v.note < 0 {
		return nil
	}
	v.items, v.counts, v.notes = doc.texts(v.item), doc.texts(v.n), doc.texts(v.note)
	if v.at = make([]string, len(v.items)); v.place >= 0 {
		v.at = doc.texts(v.place)
	}
	return v
}

// findInventories are the inventories of a folder.
func (f *Folder) findInventories() (list []*inventory) {
	for _, doc := range f.Docs {
		if v := readInventory(doc); v != nil {
			list = append(list, v)
		}
	}
	return list
}

// isInventory reports whether a file is one of the inventories: there somebody counts, and a note says why.
func (f *Folder) isInventory(doc *Doc) bool {
	return slices.ContainsFunc(f.inventories, func(v *inventory) bool { return v.doc == doc })
}

// in are the rows of the things at a place.
func (v *inventory) in(place string) (rows []int) {
	seen := map[string]bool{}
	for i, at := range v.at {
		if at == place && !seen[v.items[i]] {
			rows = append(rows, i)
			seen[v.items[i]] = true
		}
	}
	return rows
}

// leastCounted and mostCounted bound the things of which somebody tells how many there are.
const (
	leastCounted = 4
	mostCounted  = 5
)

// losses are how things get fewer: as it is told, and the note, with the part of it that says why.
var losses = [][3]string{{"broke", "broken", "brok"}, {"got lost", "lost", "lost"}, {"was stolen", "stolen", "stol"},
	{"is cracked and had to go", "cracked", "crack"}, {"fell apart", "fell apart", "apart"},
	{"never came back from the trip", "not come back", "back"}}

// recount has somebody tell how many there are of some things: those that are as they stand there stay.
func (d *drawer) recount() *programs.Program {
	if len(d.f.inventories) == 0 {
		return nil
	}
	v := pick(d.r, d.f.inventories)
	place := pick(d.r, v.at)
	rows := v.in(place)
	if len(rows) < leastCounted {
		return nil
	}
	d.r.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
	rows = rows[:min(len(rows), mostCounted)]
	differ := 1 + d.r.IntN(2)
	now, told, why := v.doc.lines(), make([]string, len(rows)), make([]string, len(rows))
	lines, did := v.doc.body(), []string(nil)
	for k, i := range rows {
		n, _ := strconv.Atoi(v.counts[i]) // of digits
		was := n
		why[k] = fmt.Sprintf("%s: %d there, %d told - stays", v.items[i], was, n)
		reason := ""
		if k < differ {
			if n += pick(d.r, []int{-2, -1, -1, 1, 2, 3}); n < 1 {
				return nil
			}
			why[k] = fmt.Sprintf("%s: %d there, %d told - changes", v.items[i], was, n)
			did = append(did, fmt.Sprintf("%s %d", v.items[i], n))
			line := v.doc.setText(now[lines[i]], v.n, number(n))
			if loss := pick(d.r, losses[:3]); n < was && v.notes[i] == "" && d.r.IntN(2) == 0 {
				gone := []string{"one", "two"}[was-n-1]
				reason = " (" + gone + " " + loss[1] + ")"
				line = v.doc.setText(line, v.note, gone+" "+loss[1])
				d.loosenNote(v, line, gone+" "+loss[1], loss[2])
			}
			now[lines[i]] = line
		}
		told[k] = fmt.Sprintf("%s %d%s", v.items[i], n, reason)
	}
	for k := range told {
		o := d.r.IntN(k + 1)
		told[k], told[o] = told[o], told[k]
	}
	s, pattern := slots("given", strings.Join(told[:len(told)-1], ", ")+" and "+told[len(told)-1],
		"file", d.name(v.doc)), "counted"
	if v.place >= 0 {
		s["head"], pattern = place, "counted_there"
	}
	d.read(v.doc)
	at := len(d.ops)
	d.rewrite(v.doc, v.doc.lines(), now)
	d.because(at, why...)
	return act(programs.Adjust, pattern, s).Did("changed are " + programs.Enumerate(did) + ", the others were right")
}

// loosenNote says that a note of a row may be in other words, as long as they say why.
func (d *drawer) loosenNote(v *inventory, line, note, why string) {
	is := strings.Replace(regexp.QuoteMeta(line), regexp.QuoteMeta(note), `[^,|\n]*(?i:`+why+`)[^,|\n]*`, 1)
	d.loosen(v.doc, line, is)
}

// lostOne has one of some things be broken or lost: there is one less, and a note says why.
func (d *drawer) lostOne() *programs.Program {
	if len(d.f.inventories) == 0 {
		return nil
	}
	v := pick(d.r, d.f.inventories)
	i := d.r.IntN(len(v.items))
	n, _ := strconv.Atoi(v.counts[i]) // of digits
	loss, item := pick(d.r, losses), v.items[i]
	same := 0
	for k := range v.items {
		if v.items[k] == item && v.at[k] == v.at[i] {
			same++
		}
	}
	if n < 2 || v.notes[i] != "" || same != 1 || strings.Contains(loss[1], v.doc.between()) {
		return nil
	}
	x := "one " + item
	if one, many := programs.Nouns(item); one != many && many == item {
		x = "one of the " + item
	}
	s, pattern := slots("x", x, "v", loss[0]), "lost_one"
	if v.place >= 0 {
		s["head"], pattern = v.at[i], "lost_one_there"
	}
	if !d.tells(v.doc, item) || d.r.IntN(3) == 0 {
		s["file"] = d.name(v.doc)
		pattern += "_in"
		d.read(v.doc)
	} else {
		d.hunt(v.doc, item, "", path.Base(v.doc.Path)+" may have it.")
	}
	var others []string
	for k := range v.items {
		if v.items[k] == item && k != i {
			others = append(others, v.at[k])
		}
	}
	line := v.doc.setText(v.doc.lines()[v.doc.body()[i]], v.n, number(n-1))
	note := "one " + loss[1]
	line = v.doc.setText(line, v.note, note)
	d.loosenNote(v, line, note, loss[2])
	at := len(d.ops)
	d.putLine(v.doc, v.doc.body()[i], &line)
	why := fmt.Sprintf("%d - 1 = %d, and %s says why.", n, n-1, v.doc.header[v.note])
	if len(others) > 0 {
		why += " Those in " + strings.Join(slices.Compact(others), ", ") + " stay."
	}
	d.because(at, why)
	return act(programs.Adjust, pattern, s).Did(fmt.Sprintf("of %s there are %d now, and the note says %s", item, n-1,
		note))
}
