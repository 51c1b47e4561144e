package folders

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// Plan is a program over a folder, with the operations by which a stranger does it.
type Plan struct {
	*programs.Program
	Ops   []Op
	About []string // the files that the request is about, at least one, which may be the folder itself
}

// Changes reports whether it changes the folder.
func (p *Plan) Changes() bool { return slices.ContainsFunc(p.Ops, Op.Changes) }

// LeavesAll reports whether nothing may be changed, or the request cannot be done as it stands.
func (p *Plan) LeavesAll() bool {
	return p.Kind == programs.Correct && !p.Changes() || slices.Contains([]string{programs.Leave, programs.Unknown,
		programs.AskBack, programs.Cannot, programs.ActIf}, p.Kind)
}

// Shares are how often each kind is drawn, in parts.
func Shares() map[string]int {
	return map[string]int{
		programs.Lookup:  16,
		programs.Join:    12,
		programs.Most:    2,
		programs.Adjust:  5,
		programs.Correct: 7,
		programs.Count:   4,
		programs.Both:    3,
		programs.Total:   14,
		programs.Best:    4,
		programs.Top:     5,
		programs.List:    9,
		programs.Compare: 2,
		programs.YesNo:   5,
		programs.Missing: 5,
		programs.Set:     15,
		programs.SetAll:  8,
		programs.Remove:  13,
		programs.Insert:  19,
		Organize:         9,
		programs.ActIf:   8,
		programs.Several: 18,
		programs.Leave:   2,
		programs.Unknown: 7,
		programs.AskBack: 5,
		programs.Cannot:  3,
	}
}

// tries bounds how often a draw that comes to nothing is made again.
const tries = 40

// mostListed bounds the folders that are listed one by one where a tool shows them all.
const mostListed = 3

// Draw draws a program of a kind, nil where the folder has none.
func Draw(r *rand.Rand, f *Folder, can Can, kind string) *Plan {
	return draw(r, f, can, kind, func(d *drawer) *programs.Program { return d.draw(kind) })
}

// structure is a way to draw programs that few folders have, or that need several files.
type structure struct {
	kind string
	draw func(*drawer) *programs.Program
}

// structures are those that come out seldom where a kind is drawn: each is tried in turn besides.
func structures() []structure {
	return []structure{
		{programs.Total, (*drawer).dueOf}, {Organize, (*drawer).swapNames}, {programs.Several, (*drawer).soldMore},
		{programs.Missing, (*drawer).paidNothing}, {programs.SetAll, (*drawer).fillAll},
		{programs.ActIf, (*drawer).setAcross}, {programs.Top, (*drawer).bills},
		{programs.Several, (*drawer).setAndTick}, {Organize, (*drawer).moveRow}, {programs.Adjust,
			(*drawer).takeFromStock}, {programs.List, (*drawer).dueAll}, {programs.Insert, (*drawer).paidTold},
		{programs.Several, (*drawer).lent}, {programs.Total, (*drawer).billOf}, {Organize, (*drawer).deleteOrMove},
		{programs.Insert, (*drawer).enterMissing}, {programs.Total, (*drawer).priced},
		{Organize, (*drawer).moveMonth}, {programs.Join, (*drawer).rated}, {programs.Insert, (*drawer).fillIn},
		{programs.Total, (*drawer).overList}, {programs.Total, (*drawer).chargeLeft},
		{programs.Total, (*drawer).chargeBoth}, {programs.Insert, (*drawer).addOnly}, {programs.Set, (*drawer).setAs},
		{programs.Insert, (*drawer).lineFrom}, {programs.Remove, (*drawer).dropLine},
		{programs.SetAll, (*drawer).callOtherwise}, {programs.Insert, (*drawer).writeOpen},
	}
}

// DrawStructure draws a program of the n-th of the structures that a folder has; nil where it has not that one.
func DrawStructure(r *rand.Rand, f *Folder, can Can, n int) *Plan {
	s := structures()[n%len(structures())]
	return draw(r, f, can, s.kind, s.draw)
}

func draw(r *rand.Rand, f *Folder, can Can, kind string, way func(*drawer) *programs.Program) *Plan {
	for range tries {
		d := &drawer{r: r, f: f, can: can, call: map[*Doc]string{}, seen: map[string]bool{}}
		d.whole = can[ShowAll] && f.isShort()
		d.deep = can[Tree] && (!can[List] || len(f.Dirs) > mostListed || r.IntN(10) < 7)
		if p := way(d); p != nil {
			p.Kind = kind
			p.Remark(d.remarked())
			d.byExample(p)
			plan := &Plan{Program: p, Ops: d.ops}
			if len(d.about) == 0 {
				plan.About = []string{"."}
			}
			for _, doc := range d.about {
				plan.About = append(plan.About, doc.Path)
			}
			return plan
		}
	}
	return nil
}

func (d *drawer) draw(kind string) *programs.Program {
	switch kind {
	case programs.Lookup:
		return d.either(d.lookPair, d.lookPair, d.lookPair, d.lookPair, d.lookThing, d.lookThing, d.lookAmount,
			d.lastOf, d.where, d.mentionFile, d.bytes, d.ofTable(kind), d.ofTable(kind), d.ofTable(kind))
	case programs.Join:
		return d.either(d.join, d.ofTable(kind), d.rated)
	case programs.Most:
		return d.ofTable(kind)()
	case programs.Top:
		return d.either(d.ofTable(kind), d.sums, d.sums, d.bills, d.bills, d.bills)
	case programs.Adjust:
		return d.either(d.changeOf(kind), d.takeFromStock)
	case programs.Correct:
		return d.either(d.changeOf(kind), d.retract, d.retract)
	case programs.Count:
		return d.either(d.countItems, d.countItems, d.countFiles, d.countLines, d.ofTable(kind), d.ofFiles(kind))
	case programs.Total:
		return d.either(d.ofTable(kind), d.ofTable(kind), d.ofFiles(kind), d.priced, d.priced, d.overList, d.overList,
			d.lengths, d.rated, d.rated, d.chargeLeft, d.chargeBoth, d.dueOf, d.dueOf, d.dueOf, d.billOf, d.billOf,
			d.billOf)
	case programs.Both, programs.Best, programs.Compare, programs.Missing:
		if kind == programs.Best && d.r.IntN(4) == 0 {
			return d.biggest()
		}
		if kind == programs.Missing && d.r.IntN(3) > 0 {
			return d.paidNothing()
		}
		return d.either(d.ofTable(kind), d.ofTable(kind), d.ofFiles(kind))
	case programs.List:
		return d.either(d.listItems, d.inBoth, d.inBoth, d.openItems, d.listOpen, d.listFiles, d.mentionWhich, d.dueAll,
			d.dueAll, d.dueAll,
			d.ofTable(kind), d.ofFiles(kind))
	case programs.YesNo:
		return d.either(d.itemThere, d.fileThere, d.ofTable(kind))
	case programs.Set:
		return d.either(d.setPair, d.setPair, d.setPair, d.setThing, d.setThing, d.changeOf(kind), d.changeOf(kind),
			d.changeOf(kind), d.setAmount, d.tick, d.replaceItem, d.replaceWord, d.setAs)
	case programs.SetAll:
		return d.either(d.setEvery, d.replaceEvery, d.changeOf(kind), d.changeOf(kind), d.changeOf(kind), d.writeFound,
			d.writeFound, d.asAnswer, d.callOtherwise, d.fillAll, d.fillAll, d.fillAll)
	case programs.Remove:
		return d.either(d.removeItem, d.removeItem, d.removeTwo, d.changeOf(kind), d.changeOf(kind), d.changeOf(kind),
			d.deleteFile, d.dropLine)
	case programs.Insert:
		return d.either(d.addItem, d.addItem, d.changeOf(kind), d.changeOf(kind), d.addRow, d.addRow, d.addRow,
			d.addRow, d.lineFrom, d.lineFrom, d.addLast, d.newFile, d.newFolder, d.fillIn, d.fillIn, d.writeOpen,
			d.addOnly, d.addOnly, d.enterMissing, d.enterMissing, d.enterMissing, d.paidTold, d.paidTold,
			d.paidTold, d.paidTold)
	case Organize:
		return d.either(d.moveFile, d.moveFile, d.renameFile, d.moveSome, d.moveSome, d.copyFile, d.moveItem,
			d.swapItems, d.swapItems, d.deleteOrMove, d.moveRow, d.moveRow, d.hyphenate, d.hyphenate,
			d.moveMonth, d.moveMonth, d.moveMonth, d.swapNames, d.swapNames, d.swapNames, d.swapNames)
	case programs.ActIf:
		return d.either(d.setIf, d.addUnless, d.changeOf(kind), d.setAcross, d.setAcross, d.setAcross)
	case programs.Several:
		return d.either(d.several, d.several, d.several, d.setAndTick, d.lent, d.lent, d.lent, d.lent,
			d.soldMore, d.soldMore, d.soldMore)
	case programs.Leave:
		p := d.draw(pick(d.r, []string{programs.Lookup, programs.Count, programs.List}))
		if p != nil {
			p.Leave()
		}
		return p
	case programs.Unknown:
		return d.besides(d.noPair, d.noFile, d.noItem, d.noCell, d.noCell, d.lacking(kind), d.lacking(kind),
			d.lacking(kind))
	case programs.AskBack:
		return d.besides(d.askBack, d.askWhich, d.askWhich, d.askWhich, d.lacking(kind), d.lacking(kind))
	case programs.Cannot:
		if d.can[Delete] || d.r.IntN(2) == 0 {
			return d.besides(d.cannotTell)
		}
		return d.deleteFile()
	}
	return nil
}

// chances is how often one way is tried: what few files of a folder allow would else fall to what all allow.
const chances = 5

// either draws by one of some ways.
func (d *drawer) either(ways ...func() *programs.Program) *programs.Program {
	way, ops, notes, about, seen := pick(d.r, ways), len(d.ops), len(d.notes), len(d.about), maps.Clone(d.seen)
	for range chances {
		if p := way(); p != nil {
			return p
		}
		d.ops, d.notes, d.about, d.seen = d.ops[:ops], d.notes[:notes], d.about[:about], maps.Clone(seen)
	}
	return nil
}

// besides is a request that is refused, in a third behind one that can be done: a person asks for two things, of which
// one is missing. Before a question back nothing is changed.
func (d *drawer) besides(ways ...func() *programs.Program) *programs.Program {
	if d.r.IntN(3) > 0 {
		return d.either(ways...)
	}
	first := d.either(func() *programs.Program {
		p := d.draw(pick(d.r, []string{programs.Lookup, programs.Lookup, programs.Join, programs.List, programs.Total,
			programs.Best, programs.Top, programs.Set, programs.Set, programs.Adjust, programs.Insert}))
		if p == nil || p.Then() != nil || p.Answer.Form == "cannot" {
			return nil
		}
		return p
	})
	if first == nil {
		return nil
	}
	changed, n := d.touched(), len(d.ops)
	second := d.either(ways...)
	if second == nil || second.Pattern() == first.Pattern() ||
		len(changed) > 0 && (second.Answer.Form == "question" || slices.ContainsFunc(d.ops[n:], func(o Op) bool {
			return changed[o.Path] || slices.ContainsFunc(o.Paths, func(file string) bool { return changed[file] })
		})) {
		return nil
	}
	return first.Behind(second)
}

// several are two requests in one message, the second of which does not see what the first changed.
func (d *drawer) several() *programs.Program {
	kinds := []string{programs.Lookup, programs.Count, programs.List, programs.Set, programs.Set, programs.Insert,
		programs.Insert, programs.Remove, programs.Adjust, Organize}
	first := d.draw(pick(d.r, kinds))
	if first == nil || first.Answer.Form == "cannot" {
		return nil
	}
	changed, about := d.touched(), len(d.about)
	second := d.draw(pick(d.r, kinds))
	if second == nil || second.Answer.Form == "cannot" || first.Pattern() == second.Pattern() && len(changed) == 0 {
		return nil
	}
	if slices.ContainsFunc(d.about[about:], func(doc *Doc) bool { return changed[doc.Path] }) {
		return nil // of what was changed, nothing else is asked or done
	}
	seen := map[string]bool{}
	for i, o := range d.ops {
		for _, file := range append(slices.Clone(o.Paths), o.Path, o.To) {
			if changed[file] && i >= changedAt(d.ops, file) && seen[file] {
				return nil
			}
			if changed[file] && o.Changes() {
				seen[file] = true
			}
		}
	}
	if len(changed) > 0 &&
		slices.Contains([]string{"files_count", "files_list", "files_kind", "biggest"}, second.Pattern()) {
		return nil
	}
	return first.Behind(second)
}

func changedAt(ops []Op, file string) int {
	return slices.IndexFunc(ops, func(o Op) bool { return o.Changes() && (o.Path == file || o.To == file) })
}

// touched are the paths that operations change.
func (d *drawer) touched() map[string]bool {
	list := map[string]bool{}
	for _, o := range d.ops {
		if o.Changes() {
			list[o.Path] = true
			if o.To != "" {
				list[o.To] = true
			}
		}
	}
	return list
}

// docs are the files that meet a condition.
func (d *drawer) docs(want func(*Doc) bool) (list []*Doc) {
	for _, doc := range d.f.Docs {
		if want(doc) {
			list = append(list, doc)
		}
	}
	return list
}

// one draws a file that meets a condition; nil: none does.
func (d *drawer) one(want func(*Doc) bool) *Doc {
	if list := d.docs(want); len(list) > 0 {
		return pick(d.r, list)
	}
	return nil
}

func (d *Doc) hasPairs() bool { return len(d.Pairs) > 0 }
func (d *Doc) hasItems() bool { return len(d.Items) > 0 }
func (d *Doc) hasTable() bool { return d.Table != nil && d.Table.Label >= 0 && len(d.Table.Rows) > 2 }

// hasRows reports whether a file has a table whose rows are lines, or objects that each have a line.
func (d *Doc) hasRows() bool { return d.hasTable() && d.rows != nil }

// group is a folder whose files note the same properties, and the table that they make: a row for each.
type group struct {
	dir   string
	docs  []*Doc
	table *programs.Table
}

const (
	leastOfGroup = 3
	mostOfGroup  = 7
)

// groups are the folders whose files note the same.
func (d *drawer) groups() (list []group) {
	for _, dir := range append([]string{"."}, d.f.Dirs...) {
		g := group{dir: dir}
		for _, doc := range d.f.in(dir) {
			if doc.hasPairs() {
				g.docs = append(g.docs, doc)
			}
		}
		if dir == "." || len(g.docs) < leastOfGroup || len(g.docs) > mostOfGroup || len(g.docs) != len(d.f.in(dir)) {
			continue
		}
		if g.table = tableOf(dir, g.docs); g.table != nil {
			list = append(list, g)
		}
	}
	return list
}

// tableOf is the table of what some files all note.
func tableOf(dir string, docs []*Doc) *programs.Table {
	var keys []string
	for _, p := range docs[0].Pairs {
		if !slices.ContainsFunc(docs, func(o *Doc) bool { return o.pair(p.Key) == nil }) {
			keys = append(keys, p.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var records []programs.Record
	for _, doc := range docs {
		r := programs.Record{Names: []string{"name"}, Values: []any{doc.title()}}
		for _, key := range keys {
			r.Names, r.Values = append(r.Names, key), append(r.Values, programs.Cell(doc.pair(key).Value))
		}
		records = append(records, r)
	}
	t := programs.TableOf(path.Base(dir), records)
	if t == nil {
		return nil
	}
	t.Label = 0
	programs.Understand([]*programs.Table{t})
	return t
}

// ofTable draws a question over the tables of files.
func (d *drawer) ofTable(kind string) func() *programs.Program {
	return func() *programs.Program {
		p := programs.Draw(d.r, d.f.tables, kind)
		if p == nil || p.Changes() || isLong(p) || strings.HasSuffix(p.Pattern(), "_other") { // of columns like litres
			return nil
		}
		p.Steps, p.Result = nil, nil
		d.open(p)
		return p
	}
}

// lacking draws a request over the tables of files that lacks something: a property that no file speaks of, or a thing
// that is named.
func (d *drawer) lacking(kind string) func() *programs.Program {
	return func() *programs.Program {
		p := programs.Draw(d.r, d.f.tables, kind)
		if p == nil || p.Changes() || isLong(p) || p.Slot("one") == "entry" {
			return nil
		}
		said, _, _ := strings.Cut(strings.TrimPrefix(p.Answer.Values[0], "The "), " of ")
		if kind == programs.Unknown && len(d.docs(func(o *Doc) bool { return o.says(said) })) > 0 {
			return nil
		}
		p.Steps, p.Result = nil, nil
		if len(p.Tables) > 0 {
			d.open(p)
		}
		return p
	}
}

// open reads the files that have the tables of a program. Where the things have no noun of their own, the request says
// which file that is, and at times where they have.
func (d *drawer) open(p *programs.Program) {
	first, thing := d.f.of(p.Tables[0]), p.Slot("x")
	if strings.HasPrefix(thing, "the ") || !strings.Contains(first.Text, thing) || !d.tells(first, thing) {
		thing = ""
	}
	if len(p.Tables) == 1 {
		if thing = cmp.Or(thing, d.nounOf(p, first)); thing == "" || d.r.IntN(8) == 0 ||
			!d.seek(first, thing, p.Slot("attr")) {
			p.In(d.name(first))
			d.read(first)
		}
		return
	}
	d.everywhere()
	var docs []*Doc
	var said []string
	for _, t := range p.Tables {
		docs = append(docs, d.f.of(t))
		said = append(said, path.Base(d.f.of(t).Path)+" has the "+t.Many)
	}
	before := len(d.ops)
	d.about = append(d.about, docs...)
	if d.r.IntN(2) == 0 {
		d.readAll(docs)
	} else {
		for _, doc := range docs {
			d.look(Op{Do: Show, Path: doc.Path})
		}
	}
	if len(d.ops) > before {
		d.ops[before].Why = strings.Join(said, ", ") + "."
	}
}

// nounOf is the word by which one finds the file of a program that names none: the noun of its things, or what the
// request asks of them, where one file alone has that; "" where the request need not say any.
func (d *drawer) nounOf(p *programs.Program, doc *Doc) string {
	if p.Tables[0].One != "entry" && p.Says("one", "many") {
		return p.Tables[0].Many
	}
	for _, slot := range []string{"attr", "attr2", "ref"} {
		if said := p.Slot(slot); said != "" && d.tells(doc, said) && strings.Contains(
			programs.Words(strings.Join(doc.header, " ")), said) {
			return said
		}
	}
	return ""
}

// isLong reports whether an answer is longer than people ask for.
func isLong(p *programs.Program) bool {
	return slices.ContainsFunc(p.Answer.Values, func(v string) bool { return len(v) > 80 })
}

// ofFiles draws a question over what the files of a folder note.
func (d *drawer) ofFiles(kind string) func() *programs.Program {
	return func() *programs.Program {
		groups := d.groups()
		if len(groups) == 0 {
			return nil
		}
		g := pick(d.r, groups)
		p := programs.Draw(d.r, &programs.World{Name: "folder", Tables: []*programs.Table{g.table}, Listed: true}, kind)
		if p == nil || p.Changes() || isLong(p) {
			return nil
		}
		p.Steps, p.Result = nil, nil
		if d.r.IntN(2) == 0 {
			p.In(d.folderName(g.dir))
		}
		d.around(g.dir)
		d.readAll(g.docs)
		return p
	}
}

// question is a question of a pattern.
func question(kind, pattern string, slots map[string]string, form string, values ...string) *programs.Program {
	return programs.NewQuestion(kind, pattern, slots, programs.Answer{Form: form, Values: values})
}

// slots are pairs of a slot's name and what stands in it.
func slots(pairs ...string) map[string]string {
	s := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		s[pairs[i]] = pairs[i+1]
	}
	return s
}

func number(n int) string { return fmt.Sprint(n) }

// names are the file names of some files.
func names(docs []*Doc) (list []string) {
	for _, doc := range docs {
		list = append(list, path.Base(doc.Path))
	}
	return list
}

// heads are the headings of a file's items with how many stand below.
func (d *Doc) heads() []string {
	count := map[string]int{}
	for _, item := range d.Items {
		count[item.Head]++
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(count)), func(head string) bool {
		return head == "" || count[head] < 2
	})
}

// under are the items below a heading.
func (d *Doc) under(head string) (list []Item) {
	for _, item := range d.Items {
		if item.Head == head {
			list = append(list, item)
		}
	}
	return list
}

func texts(items []Item) (list []string) {
	for _, item := range items {
		list = append(list, item.Text)
	}
	return list
}

func sameText(text string) func(string) bool {
	return func(o string) bool { return strings.EqualFold(o, text) }
}
