package generate

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// Kinds of programs over what only a view shows, and over the other things of a server.
const (
	onPoints = "on_points" // entries that are ticked, added, taken away
	onTexts  = "on_texts"  // notes, plans, descriptions
	onLinks  = "on_links"  // what depends on what
	onPapers = "on_papers" // documents: a second list with views
	onGroups = "on_groups" // milestones: a list whose names properties have
	onFinish = "on_finish" // what is done is put away
	onTwo    = "on_two"    // two of these in one message
	onDeeds  = "on_deeds"  // several changes of one thing in one call
	onEach   = "on_each"   // each of several things gets its own value
	onMany   = "on_many"   // a question for which several views are read
	onMakes  = "on_makes"  // new things that belong to others
	onIf     = "on_if"     // what is done hangs on what a view shows
	// a text of a thing has what is chosen from
	onChoices = "on_choices"
	// lists that stand for themselves
	onRosters = "on_rosters"
	// several things have the name that is said
	onDoubt = "on_doubt"
)

type drawOf func(r *rand.Rand) *boardTask

// explore finds out what programs of these kinds there are.
func (b *boarding) explore(ctx context.Context) (err error) {
	first, err := b.played(ctx, play{Looks: []Call{b.list.bare()}}, false)
	if err != nil {
		return err
	}
	if first.Lost == "" {
		b.begins = first.Seen[0].Text
	}
	if err = b.tryEditors(ctx); err != nil {
		return err
	}
	if b.parts, err = b.learn(ctx); err != nil {
		return err
	}
	b.search = b.searchOf(b.list)
	if b.papers, err = b.findPapers(ctx); err != nil {
		return err
	}
	b.groups, b.rosters = b.findGroups(), b.findRosters()
	b.finish, err = b.findFinish(ctx)
	b.acts = b.findActs()
	return err
}

// twoOfThese draws two requests in one message, about two things, of which the second does not see what the first
// changes.
func (b *boarding) twoOfThese(r *rand.Rand) *boardTask {
	draw := func() *boardTask {
		kind := pick(r, []string{onPoints, onPoints, onTexts, onTexts, onLinks, onPapers, programs.Set, sayOn,
			oneOfMany})
		draws := b.ofViews(kind)
		if draws == nil {
			return b.drawOne(r, kind)
		}
		return pick(r, draws)(r)
	}
	one, two := draw(), draw()
	if one == nil || two == nil || one.made+two.made != "" || len(one.changes) == 0 || one.meets(two) ||
		len(one.hidden)+len(two.hidden) > 0 || one.Then() != nil || two.Then() != nil {
		return nil
	}
	one.Program, one.says = one.Behind(two.Program), two.says
	for _, c := range two.reads {
		one.look(c)
	}
	one.changes = append(one.changes, two.changes...)
	return one.joined(two)
}

// joined has a task begin with what another one begins with, and be proved by what proves that, too.
func (t *boardTask) joined(o *boardTask) *boardTask {
	t.shown, t.setup = slices.Concat(t.shown, o.shown), slices.Concat(t.setup, o.setup)
	t.looks, t.free = slices.Concat(t.looks, o.looks), slices.Concat(t.free, o.free)
	after, said := map[string]map[string]string{}, map[string]string{}
	for _, one := range []*boardTask{t, o} {
		maps.Copy(after, one.after)
		maps.Copy(said, one.said)
	}
	t.after, t.said = after, said
	return t
}

// meets reports whether two tasks read or change the same thing.
func (t *boardTask) meets(o *boardTask) bool {
	calls := func(t *boardTask) (list []string) {
		for _, c := range slices.Concat(t.setup, t.changes, t.reads) {
			for _, m := range argumentsOf(c) {
				list = append(list, strings.ToLower(textOf(m.raw)))
			}
		}
		return list
	}
	own := calls(t)
	return slices.ContainsFunc(calls(o), func(text string) bool { return text != "" && slices.Contains(own, text) })
}

// searchOf is the tool that searches the things that a list shows.
func (b *boarding) searchOf(list *subject) *subject {
	for _, s := range b.m.tools {
		if s.Server == b.server && s.mayTry() && s != list && s.hasVerb("search", "find", "query") &&
			sharesNoun(s, list) && s.queryField() != "" {
			return s
		}
	}
	return nil
}

// queryField is the parameter by which a tool searches.
func (s *subject) queryField() string {
	for _, p := range s.schema.fields {
		if p.kind == "string" && slices.Contains([]string{"query", "q", "search", "text", "term"}, p.name) {
			return p.name
		}
	}
	return ""
}

// sharesNoun reports whether two tools are of the same kind of thing, by their names.
func sharesNoun(a, b *subject) bool {
	return slices.ContainsFunc(nouns(a.Name), func(n string) bool { return slices.Contains(nouns(b.Name), n) })
}

// shares are how often each kind is drawn: half of the tasks are about what views alone show and about other things,
// where the server has that.
func (b *boarding) shares() map[string]int {
	shares := boardShares()
	old := 0
	for _, n := range shares {
		old += n
	}
	parts := map[string]int{onPoints: 18, onTexts: 9, onLinks: 14, onPapers: 52, onGroups: 36, onFinish: 8, onTwo: 12,
		onDeeds: 60, onEach: 48, onMany: 38, onMakes: 42, onIf: 32, onChoices: 12, onRosters: 4, onDoubt: 12,
		programs.Second: 20}
	for kind, n := range parts {
		switch { // else little else is asked
		case len(b.parts) > 0:
		case kind == programs.Second:
			n /= 2
		case kind == onDeeds || kind == onEach || kind == onMany:
			n /= 3
		case kind == onMakes || kind == onIf:
			n /= 4
		}
		if b.edit == nil && kind == onFinish { // else most would be read
			n *= 4
		}
		if b.ofViews(kind) != nil {
			shares[kind] = max(1, n*old/130)
		}
	}
	return shares
}

// ofViews are the ways to draw a program of a kind; nil where there are none.
func (b *boarding) ofViews(kind string) (draws []drawOf) {
	has := func(able func(p section) bool) bool { return slices.ContainsFunc(b.parts, able) }
	add := func(able bool, list ...drawOf) {
		if able {
			draws = append(draws, list...)
		}
	}
	switch kind {
	case onPoints:
		add(has(func(p section) bool { return p.points && p.tick != nil }), b.tickPoint, b.tickPoint, b.tickPoint,
			b.tickNth, b.tickNth, b.tickRest)
		add(has(func(p section) bool { return p.points && p.untick != nil }), b.untickPoint)
		add(has(func(p section) bool { return p.points && p.add != nil }), b.addPoint, b.addPoint, b.addDone,
			b.addPoints, b.addPoints)
		add(has(func(p section) bool { return p.points && p.add != nil && p.tick != nil && p.set != nil }), b.fixPoint,
			b.fixPoint)
		add(has(func(p section) bool { return p.points && p.remove != nil }), b.dropPoint, b.dropPoint,
			b.dropPoint)
		add(has(func(p section) bool { return p.points }), b.askPoints, b.askPoints, b.askPoint)
		add(has(func(p section) bool { return p.points && p.create != nil }), b.makeWith)
	case onTexts:
		add(has(func(p section) bool { return !p.points && !p.links && p.set != nil }), b.writeText, b.writeText,
			b.askText, b.askText, b.fixText, b.fixText, b.fixText)
		add(has(func(p section) bool { return !p.points && !p.links && p.add != nil }), b.addText, b.addText,
			b.noteThat, b.noteBoth)
		add(has(func(p section) bool { return p.clear != nil && p.set != nil }), b.clearText)
		add(has(func(p section) bool { return !p.points && !p.links && p.create != nil }), b.makeWith)
	case onLinks:
		add(has(func(p section) bool { return p.links && p.set != nil }), b.link, b.link, b.unlink,
			b.relinkSome, b.relinkSome, b.relinkSome)
		add(has(func(p section) bool { return p.links && p.set != nil }), b.askLinks, b.askLinks, b.askBacklinks,
			b.askThrough)
		add(has(func(p section) bool { return p.links && p.create != nil && p.set == nil }), b.makeUnder)
	case onPapers:
		return b.papers.draws(b)
	case onGroups:
		return b.groupDraws()
	case onTwo:
		add(has(func(p section) bool { return p.points || p.set != nil }), b.twoOfThese)
	case onFinish:
		add(b.finish != nil, b.finishThing, b.finishThing, b.finishAll)
		add(len(b.acts) > 0, b.actOn, b.actOn, b.actOnAll)
	case onDeeds:
		add(b.edit != nil, b.editSeveral, b.editSeveral, b.editThings, b.editThings, b.editShort,
			b.setLike, b.shiftOne)
		add(b.edit != nil && b.table.StageColumn() >= 0, b.tellStage, b.tellStage)
	case onEach:
		add(b.edit != nil, b.shiftEach, b.joinEach, b.handEach, b.editEach)
	case onMany:
		add(has(func(p section) bool { return p.points && p.add != nil && p.tick != nil }), b.askPointsOfEach)
		add(has(func(p section) bool { return p.links && p.set != nil }) && b.finish != nil, b.askOpenLinks)
		add(true, b.askBest, b.askBestPair, b.countEach, b.countEach, b.askWith, b.askWith)
	case onMakes:
		add(has(func(p section) bool { return !p.links && p.create != nil }), b.makeWith)
		add(has(func(p section) bool { return p.links && p.create != nil && p.set != nil }), b.makeLinked, b.makeLinked)
		add(has(func(p section) bool { return p.links && p.create != nil && p.set == nil }), b.makeChildren,
			b.makeChildren, b.makeChildren)
		add(b.create != nil && b.columns[b.table.Label].create != nil, b.makeLike, b.makeLike, b.makeEach)
	case onIf:
		add(has(func(p section) bool { return p.points && p.tick != nil && p.add != nil }), b.pointsIf, b.pointsIf)
		add(b.edit != nil, b.giveLeast, b.ifThing, b.ifThing)
	case onChoices:
		add(has(func(p section) bool { return !p.points && !p.links && !p.listed && p.set != nil }), b.takeOffer)
	case onRosters:
		add(len(b.rosters) > 0, b.editRoster)
	case programs.Second:
		return b.secondDraws()
	case onDoubt:
		add(b.edit != nil, b.askWhich)
	}
	return draws
}

// newPoint is something of which work consists, in the words of a list.
func newPoint(r *rand.Rand) string {
	return pick(r, []string{"Ask for two offers", "Compare the prices", "Sign the order", "Agree on a date",
		"Inform the neighbours", "Take photos before", "Check the invoice", "Order spare parts", "Write a summary",
		"Test it once", "Get the keys back", "Pay the deposit", "Measure everything twice", "Call the supplier",
		"Clean up afterwards", "Ask Kim for approval", "Print two copies", "Update the schedule", "Pack the tools",
		"Confirm by mail", "Reserve a parking space", "Review by a second person", "Send the receipt", "Book a room",
		"Collect all names", "Choose a colour", "Backup is in place", "Manual is read", "Delivery is confirmed",
		"Budget is approved", "Everything is labelled", "Open questions are settled"})
}

// named draws a thing, and how a request calls it: by its name, or by words of it that no other name has.
func (b *boarding) named(r *rand.Rand) (row []any, slots map[string]string) {
	if row = b.row(r); row == nil {
		return nil, nil
	}
	return b.namedAs(r, row)
}

func (b *boarding) namedAs(r *rand.Rand, row []any) ([]any, map[string]string) {
	if b.table.NameOf(row) == "" || b.isShared(programs.Show(row[b.table.Label])) {
		return nil, nil
	}
	slots := b.table.Slots(row)
	if b.table.Key == b.table.Label && r.IntN(4) > 0 { // few know a number
		if said, ok := programs.Describe(r, b.world, b.table, row); ok {
			slots["x"] = said
			return row, slots
		}
	}
	if short := b.short(r, row); short != "" && r.IntN(5) < 3 {
		slots["x"] = b.partly(r, short)
	}
	return row, slots
}

// isShared reports whether a thing of another list has a name.
func (b *boarding) isShared(name string) bool {
	return slices.ContainsFunc(b.kin, func(o *boarding) bool {
		return slices.ContainsFunc(o.table.Rows, func(row []any) bool {
			return strings.EqualFold(programs.Show(row[o.table.Label]), name)
		})
	})
}

// partly calls a thing by a part of its name, with the noun or without.
func (b *boarding) partly(r *rand.Rand, short string) string {
	if b.table.OfPeople() {
		return short
	}
	if short = "the " + short; r.IntN(2) == 0 || len(b.kin) > 0 {
		short += " " + b.table.One
	}
	return short
}

// short are two words of a name, or a long one, that are in no other name; "" where there are none.
func (b *boarding) short(r *rand.Rand, row []any) string {
	name := programs.Show(row[b.table.Label])
	all := strings.Fields(name)
	small := strings.Fields("the a an for of to on in at from by with and or as until after before above below over " +
		"under about into onto off up down out between behind near through during without")
	var able []string
	for i := range all {
		for _, n := range []int{1, 2} {
			if i == 0 || i+n > len(all) || n == 1 && len(all[i]) < 5 ||
				strings.ContainsAny(strings.Join(all[i:i+n], ""), `:;,.()"`) || strings.HasSuffix(all[i+n-1], "ly") {
				continue
			}
			if i+n < len(all) && !slices.Contains(small, all[i+n]) { // no "load" of "load fast"
				continue
			}
			text := strings.Join(all[i:i+n], " ")
			others := slices.ContainsFunc(b.table.Rows, func(o []any) bool {
				return &o[0] != &row[0] &&
					strings.Contains(strings.ToLower(programs.Show(o[b.table.Label])), strings.ToLower(text))
			})
			if !others && !slices.Contains(small, strings.ToLower(all[i])) &&
				!slices.Contains(small, strings.ToLower(all[i+n-1])) {
				able = append(able, text)
			}
		}
	}
	if len(able) == 0 {
		return ""
	}
	return pick(r, able)
}

// seek adds the calls that find a thing: a search for what it is called, or the list; and its view.
func (b *boarding) seek(r *rand.Rand, t *boardTask, row []any, x string, views bool) {
	name := programs.Show(row[b.table.Label])
	call := b.list.bare()
	if b.search != nil && r.IntN(3) > 0 {
		call = b.searchFor(r, row, x)
	}
	t.look(call)
	t.shown = append(t.shown, name)
	if views {
		t.look(b.viewOf(row))
	}
}

// searchFor is a search for a thing by a part of its name: by what a request calls it, where that is such a part.
func (b *boarding) searchFor(r *rand.Rand, row []any, x string) Call {
	said := programs.Show(row[b.table.Label])
	if short, ok := strings.CutPrefix(x, "the "); ok && !strings.Contains(x, said) {
		said = strings.TrimSuffix(short, " "+b.table.One)
	} else if short := b.short(r, row); short != "" {
		said = short
	}
	return Call{Tool: b.search.Name, Arguments: objectOf(member{b.search.queryField(), quote(said)})}
}

// act is a task that changes one thing, whose view must then have, or not have, some texts.
func (b *boarding) act(r *rand.Rand, p *programs.Program, row []any, views bool, arguments ...member) *boardTask {
	t := &boardTask{Program: p}
	b.seek(r, t, row, p.Slot("x"), views)
	if len(arguments) > 0 {
		t.changes = b.changeOf(b.key(row), arguments...)
	}
	return t
}

// sees adds a look to what proves a task.
func (t *boardTask) sees(c Call, holds func(text string) bool) *boardTask {
	t.looks = append(t.looks, look{call: c, holds: holds})
	return t
}

// seesOf adds what is shown of a thing.
func (b *boarding) seesOf(t *boardTask, row []any, holds func(text string) bool) *boardTask {
	t.looks = append(t.looks, look{b.viewOf(row), b.key(row), holds})
	return t
}

// called is what people call a part: as the view does, or by its last word where no other part ends so.
func (b *boarding) called(r *rand.Rand, p section) string {
	name := strings.ToLower(p.title)
	all := strings.Fields(name)
	last := all[len(all)-1]
	same := 0
	for _, o := range b.parts {
		if strings.HasSuffix(strings.ToLower(o.title), last) {
			same++
		}
	}
	if len(all) == 2 && same == 1 && r.IntN(2) == 0 {
		return last
	}
	return name
}

// pointsOf draws a thing with points, some of which a session may begin with besides its own.
func (b *boarding) pointsOf(r *rand.Rand, able func(p section) bool) (
	row []any, slots map[string]string, p section, list []point, setup []Call,
) {
	var parts []section
	for _, p := range b.parts {
		if p.points && able(p) {
			parts = append(parts, p)
			if b.shows(p) { // what is in use is asked for more often
				parts = append(parts, p, p)
			}
		}
	}
	if len(parts) == 0 {
		return nil, nil, p, nil, nil
	}
	p = pick(r, parts)
	var with [][]any // those that have points
	for _, o := range b.table.Rows {
		if len(partOf(b.looks[b.key(o)], p.title).points()) > 0 {
			with = append(with, o)
		}
	}
	if row, slots = b.named(r); len(with) > 0 && r.IntN(2) == 0 {
		row, slots = b.namedAs(r, pick(r, with))
	}
	if row == nil {
		return nil, nil, p, nil, nil
	}
	slots["attr"] = b.called(r, p)
	list = partOf(b.looks[b.key(row)], p.title).points()
	if len(list) > 0 && r.IntN(3) > 0 || p.add == nil {
		return row, slots, p, list, nil
	}
	var more []string
	for range 2 + r.IntN(3) {
		if text := newPoint(r); !slices.Contains(more, text) {
			more, list = append(more, text), append(list, point{text, false})
		}
	}
	setup = b.changeOf(b.key(row), member{p.add.name, p.add.texts(more...)})
	if p.tick != nil && r.IntN(3) > 0 {
		if at := r.IntN(len(list)); !list[at].done {
			list[at].done = true
			setup = append(setup, b.changeOf(b.key(row), member{p.tick.name, p.tick.numbers(at + 1)})...)
		}
	}
	return row, slots, p, list, setup
}

// shows reports whether the view of some thing has a part.
func (b *boarding) shows(p section) bool {
	return slices.ContainsFunc(b.table.Rows, func(row []any) bool {
		return len(partOf(b.looks[b.key(row)], p.title).lines) > 0
	})
}

// pointsAre has the view of a thing say these points.
func (b *boarding) pointsAre(t *boardTask, row []any, p section, list []point) *boardTask {
	return b.seesOf(t, row, func(text string) bool {
		return slices.Equal(partOf(text, p.title).points(), list)
	})
}

// saidPoints are a list of points as a working has them.
func saidPoints(list []point) (lines []string) {
	for i, one := range list {
		lines = append(lines, fmt.Sprintf("%d. %s - %s", i+1, one.text,
			map[bool]string{true: "done", false: "open"}[one.done]))
	}
	return lines
}

// sole reports whether a text is that of one point alone, in whatever letters.
func sole(list []point, text string) bool {
	n := 0
	for _, o := range list {
		if strings.Contains(strings.ToLower(o.text), strings.ToLower(text)) {
			n++
		}
	}
	return n == 1
}

// whole reports whether the points that a session shows are those of one list only, so that a number is of one.
func (b *boarding) whole(row []any, p section) bool {
	return !slices.ContainsFunc(b.parts, func(o section) bool {
		return o.points && o.title != p.title && len(partOf(b.looks[b.key(row)], o.title).points()) > 0
	})
}
