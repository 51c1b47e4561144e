package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// boardTask is a program over a board: the calls that find what it is about, those that change it, and what the things
// must then say.
type boardTask struct {
	*programs.Program
	reads, changes []Call
	after          map[string]map[string]string // by key: properties as a view says them; nil of a thing: it is gone
	said           map[string]string            // by key: a text that its view must have
	shown, hidden  []string                     // names that the reads must show, and must not
	made           string                       // name of a new thing
	more           []string                     // names of others that are made like it
	madeWith       map[string]map[string]string // by the name of a new thing: its properties as its view says them
	madeSays       []string                     // texts that its view must have
	setup          []Call                       // before the task, for what it is about
	says           func(text string) bool       // of a read that shows the answer
	looks          []look                       // more that shows what was changed
	free           []string                     // texts that may be in other letters, and end with a full stop
}

// look is a call that shows what was changed, and what its answer must be.
type look struct {
	call  Call
	key   string // of the thing that it is to show; "": it shows more
	holds func(text string) bool
}

const (
	// sayOn is a kind of programs over boards: a comment or a note on a thing.
	sayOn = "say_on"
	// oneOfMany adds one of several values of a property, as a label, or takes it away.
	oneOfMany = "one_of_many"
	// severalEdits changes several things about one in one call.
	severalEdits = "several_edits"
	// copyFound writes what is read in one place into another.
	copyFound = "copy_found"
	// createSeveral makes several things below one.
	createSeveral = "create_several"
)

// boardShares are how often each kind is drawn, in parts.
func boardShares() map[string]int {
	shares := programs.Shares()
	maps.Copy(shares, map[string]int{sayOn: 4, oneOfMany: 4, programs.Insert: 6, programs.List: 12, programs.Lookup: 10,
		programs.Remove: 9, programs.Correct: 6, programs.Unknown: 7, programs.AskBack: 4, programs.Cannot: 6,
		programs.TwoTables: 0, programs.Second: 0})
	return shares
}

// boarding is a board on which programs are played.
type boarding struct {
	*boardState
	seat
	parts  []section
	papers *papers
	groups []group
	search *subject
	finish *finish
	// lists that stand for themselves
	rosters []roster
	begins  string      // what a look at the list shows first
	draws   bool        // a new thing gets another key each time
	acts    []*subject  // tools that do something to a thing by its key alone
	kin     []*boarding // of the other lists of its server
}

// leastHeld is which part of the tasks that are wanted of a tracker programs must give, so that it is one: one in so
// many.
const leastHeld = 4

// boardPrograms makes tasks from programs over the things that trackers list.
func (m *maker) boardPrograms(ctx context.Context) (list []draftOf, err error) {
	servers, err := m.boards(ctx)
	if err != nil || len(servers) == 0 {
		return nil, err
	}
	why, in := map[string]int{}, 0
	for _, k := range servers {
		used := map[string]bool{} // no task says the call of another one
		for _, s := range m.tools {
			used[s.Name] = s.Server == k.server
		}
		m.asks[k.server] = used
		want := int(float64(m.N)/float64(len(m.player.servers())) + 0.5)
		made, tried, boards, err := m.kindredTasks(ctx, k, want, why)
		if err != nil {
			return nil, err
		}
		if in += tried; len(made)*leastHeld < want { // it looks as a tracker does, and does something else
			delete(m.asks, k.server)
			continue
		}
		list, m.boarded[k.server] = append(list, made...), boards
		var called []string
		for _, d := range made {
			for _, g := range d.Gold {
				called = append(called, nouns(g.Name)...)
			}
		}
		for name := range used { // of other things that are listed, others make tasks
			used[name] = used[name] && (share(nouns(name), called) || !share(nouns(name), k.elsewhere))
		}
	}
	m.report.stage("programs over lists", in, len(list), why)
	return list, nil
}

// kindredTasks makes tasks of the boards of a server, of each as many as are left for those behind it.
func (m *maker) kindredTasks(ctx context.Context, k kindred, want int, why map[string]int) (
	made []draftOf, tried int, boards []*boarding, err error,
) {
	defer func() {
		for _, b := range boards {
			b.close()
		}
	}()
	for _, st := range k.states {
		b := &boarding{boardState: st, seat: seat{m: m, server: st.server, keeps: true}}
		if slices.ContainsFunc(boards, func(o *boarding) bool { return o.papers != nil && o.papers.list == st.list }) {
			continue // they are documents
		}
		for _, o := range k.states {
			if o != st && slices.Contains(st.world.Tables, o.table) {
				b.kin = append(b.kin, &boarding{boardState: o, seat: b.seat})
			}
		}
		boards = append(boards, b)
		if err := b.explore(ctx); err != nil {
			return nil, 0, boards, err
		}
	}
	for _, b := range boards {
		b.kin = slices.DeleteFunc(slices.Clone(boards), func(o *boarding) bool { return o == b })
	}
	left := 0
	for _, b := range boards {
		left += b.weight()
	}
	for i, b := range boards {
		more, n, err := b.tasks(ctx, len(m.boarded)+i, (want-len(made))*b.weight()/left, why)
		left -= b.weight()
		if err != nil {
			return nil, 0, boards, err
		}
		made, tried = append(made, more...), tried+n
	}
	return made, tried, boards, nil
}

// weight is how many tasks a list is worth beside others: more where tools change its things.
func (b *boarding) weight() int {
	switch {
	case b.edit != nil:
		return 4
	case b.create != nil || b.archive != nil || len(b.acts) > 0:
		return 2
	}
	return 1
}

// boardTries is how many programs are drawn for one task: many come to nothing, and few of these are played.
const boardTries = 4

func (b *boarding) tasks(
	ctx context.Context, index, want int, why map[string]int,
) (list []draftOf, tried int, err error) {
	random := b.m.random("board programs", index)
	seen, refused := map[string]bool{}, 0
	for _, kind := range drawn(random, b.shares(), boardTries*want) {
		if len(list) == want || ctx.Err() != nil {
			break
		}
		t := b.draw(random, kind)
		if t == nil || seen[t.Key()] || len(t.reads)+len(t.changes) == 0 && t.Kind != programs.Cannot {
			continue
		}
		if refusal := slices.Contains(refusals(), t.Kind); refusal && refused > len(list)/mostRefused {
			continue
		} else if refusal {
			refused++
		}
		seen[t.Key()] = true
		tried++
		for _, o := range b.kin { // what a task leaves alone stays
			lists := func(l look) bool { return l.call.Tool == o.list.Name }
			if len(t.changes) > 0 && !slices.ContainsFunc(t.looks, lists) {
				o.staysBut(t, nil)
			}
		}
		c := &Candidate{Kind: t.Kind, Calls: slices.Concat(t.reads, t.changes), Split: b.m.drawSplit(t.Key()),
			told: &told{Program: t.Program, world: b.world, voice: b.voiceOf(t)}}
		answered := t.Later() > 0 && t.Answer.Form != "" // before the changes, with its own working
		if len(t.changes) > 0 && len(t.reads) > 0 && !answered {
			c.Calls[len(t.reads)].Why = t.TakeWorking()
		}
		states, reason, err := b.prove(ctx, t, c)
		if err != nil {
			return nil, 0, err
		}
		if reason != "" {
			why[reason]++
			continue
		}
		d := b.m.wordProgram(setting{World: b.world, realm: b.m.worlds[0]}, c, states)
		for _, x := range t.setup {
			d.Setup = append(d.Setup, x.gold())
		}
		list = append(list, d)
		b.m.Progress("programs over lists", len(list), want, "")
	}
	return list, tried, ctx.Err()
}

// mostRefused bounds the tasks that are refused or asked back, where little else can be drawn: one in so many.
const mostRefused = 10

// refusals are the kinds of programs that come to no call which does what is asked for.
func refusals() []string { return []string{programs.Unknown, programs.AskBack, programs.Cannot} }

// drawTries is how often a task of a kind is drawn anew, where one cannot be found by few calls.
const drawTries = 10

// draw draws a task of a kind; nil where the draws come to nothing.
func (b *boarding) draw(r *rand.Rand, kind string) *boardTask {
	for range drawTries * len(b.world.Tables) {
		if t := b.drawOne(r, kind); t != nil {
			return t
		}
	}
	return nil
}

func (b *boarding) drawOne(r *rand.Rand, kind string) *boardTask {
	switch kind {
	case sayOn:
		return b.sayOn(r)
	case oneOfMany:
		return b.oneOfMany(r)
	case programs.Cannot:
		if r.IntN(2) == 0 {
			return b.cannot(r)
		}
	}
	if draws := b.ofViews(kind); draws != nil {
		return pick(r, draws)(r)
	}
	p := programs.Draw(r, b.world, kind)
	if p == nil || p.Made != nil || !b.allows(p) {
		return nil
	}
	t := &boardTask{Program: p, after: map[string]map[string]string{}}
	for one := p; one != nil; one = one.Then() {
		if !b.finds(r, t, one) {
			return nil
		}
	}
	if p.Kind != programs.AskBack { // and people know their things
		b.shorten(r, p)
		b.nameKind(p)
	}
	if !p.Changes() {
		return t
	}
	never := []string{"n/a", "unknown", "none", "not stated", "to be checked", "none known", "open"}
	if slices.Contains(never, p.Slot("v")) { // nobody has that in a tracker
		return nil
	}
	after, err := b.world.After(p)
	if err != nil || !b.change(t, after) {
		return nil
	}
	return t
}

// allows reports whether some tool does what a program asks for, if it asks for a change.
func (b *boarding) allows(p *programs.Program) bool {
	of := append([]*boarding{b}, b.kin...)
	at := slices.IndexFunc(of, func(o *boarding) bool { return o.table == b.tableOf(p) })
	switch {
	case !slices.Contains([]string{programs.Set, programs.SetAll, programs.Adjust, programs.Remove, programs.Insert,
		programs.ActIf, programs.Correct, programs.TwoTables, programs.AskBack}, p.Kind) && !p.Changes():
		return true
	case at < 0:
		return false
	case p.Pattern() == "insert" || p.Pattern() == "add_unless":
		return of[at].create != nil
	}
	return of[at].edit != nil
}

// shorten has a request call a thing by a part of its name.
func (b *boarding) shorten(r *rand.Rand, p *programs.Program) {
	for _, row := range b.table.Rows {
		if short := b.short(r, row); short != "" && b.table.NameOf(row) != "" && r.IntN(2) == 0 {
			p.Rename(programs.Show(row[b.table.Label]), b.partly(r, short))
		}
	}
}

// nameKind has a request say of what kind a thing is that it calls by a part of its name, where a server has several
// kinds: "the Oslo deal".
func (b *boarding) nameKind(p *programs.Program) {
	said := p.Slot("x")
	t := b.tableOf(p)
	if len(b.kin) == 0 || said == "" || t.OfPeople() || strings.Contains(said, t.One) {
		return
	}
	part := false
	for _, row := range t.Rows {
		name := programs.Show(row[t.Label])
		if name == said {
			return
		}
		part = part || strings.Contains(name, said)
	}
	if part {
		p.Rename(said, "the "+strings.TrimPrefix(said, "the ")+" "+t.One)
	}
}

// mostViewed bounds the things that are viewed one by one for a task.
const mostViewed = 4

// key is the key of a row, as a text.
func (b *boardState) key(row []any) string { return programs.Show(row[b.table.Key]) }

func (b *boardState) viewOf(row []any) Call { return b.show(b.key(row)) }

// show is the call that shows a thing.
func (b *boardState) show(key string) Call {
	if b.view == nil {
		return b.list.bare()
	}
	return b.view.keyed(key)
}

// shown is what such a call says of the thing.
func (b *boarding) shown(key, text string) string {
	if b.view == nil {
		return b.recordsIn(b.m, text)[key]
	}
	return text
}

// look adds a read that is not there yet.
func (t *boardTask) look(c Call) {
	if !slices.ContainsFunc(t.reads, func(o Call) bool { return o.key() == c.key() }) {
		t.reads = append(t.reads, c)
	}
}

// row draws a thing with a name that no other has.
func (b *boarding) row(r *rand.Rand) []any {
	row := pick(r, b.table.Rows)
	if b.table.NameOf(row) == "" {
		return nil
	}
	return row
}

// remark is what people write on a piece of work.
func remark(r *rand.Rand) string {
	day := pick(r, []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"})
	who := pick(r, []string{"Ben", "Ida", "the landlord", "Mrs Koch", "the office", "Omar", "the supplier", "Lotte"})
	return pick(r, []string{
		"waiting for an answer until " + day, "called on " + day + ", nobody there",
		fmt.Sprint("the offer is ", 10*(4+r.IntN(90)), " euros"), "the form is in the green folder",
		"ask again on " + day, fmt.Sprint("needs ", 2+r.IntN(6), " people"), "agreed with everybody on " + day,
		"the measurements were wrong", "half of it is done", fmt.Sprint("takes about ", 2+r.IntN(9), " hours"),
		"the old one can stay", "please check the invoice", "only in the morning", "the key is with the neighbours",
		"moved because of the rain", fmt.Sprint("page ", 2+r.IntN(40), " of the manual explains it"),
		who + " has the papers", "from " + who + ", by phone", "ring " + who + " before " + day,
		who + " does not want it before noon", fmt.Sprint("order number ", 1000+r.IntN(9000)),
		fmt.Sprint(2+r.IntN(30), " of ", 32+r.IntN(20), " have come so far"), "nothing is left over from last year",
		"tried it twice, works on the small one only", fmt.Sprint("costs ", 5+r.IntN(90), ".50 more than last time"),
		"handed over by " + who, "cannot start before " + day, "left a message with " + who,
		fmt.Sprint("room ", 100+r.IntN(300), " has the best light"), "not urgent, but do not forget it",
		"see what " + who + " wrote about it", fmt.Sprint("there are ", 3+r.IntN(20), " in the box downstairs"),
	})
}

// sayOn adds a comment, a note or the like to a thing, by a parameter whose name says that it adds.
func (b *boarding) sayOn(r *rand.Rand) *boardTask {
	row := b.row(r)
	if b.edit == nil || row == nil {
		return nil
	}
	able := b.remarks()
	if len(able) == 0 {
		return nil
	}
	p, v := pick(r, able), remark(r)
	_, slots := b.namedAs(r, row)
	var by []member
	pattern := "say_on"
	author := slices.IndexFunc(b.edit.schema.fields, func(o param) bool {
		w := words(o.name)
		return len(w) == 2 && w[0] == strings.TrimSuffix(words(p.name)[0], "s") && w[1] == "author"
	})
	if people := slices.IndexFunc(b.columns, boardColumn.isFor); author >= 0 && people >= 0 && r.IntN(3) > 0 {
		pattern, slots["y"] = "say_by", pick(r, b.valuesOf(people))
		by = []member{{b.edit.schema.fields[author].name, quote(slots["y"])}}
	}
	slots["attr"], slots["v"] = strings.TrimSuffix(words(p.name)[0], "s"), v
	value, _ := json.Marshal([]string{v}) // of texts
	t := b.act(r, programs.NewAct(programs.Set, pattern, slots), row, false, append(by, member{p.name, value})...)
	t.said = map[string]string{b.key(row): v}
	if by == nil {
		return t
	}
	return b.seesOf(t, row, func(view string) bool { return strings.Contains(view, slots["y"]) })
}

// remarks are the parameters that add a comment, a note or the like.
func (b *boarding) remarks() (able []param) {
	for _, p := range b.edit.schema.fields {
		w := words(p.name)
		if p.kind == "array" && p.items != nil && p.items.kind == "string" && len(w) == 2 &&
			slices.Contains([]string{"append", "add"}, w[1]) &&
			slices.Contains([]string{"comments", "notes", "remarks", "updates", "log"}, w[0]) {
			able = append(able, p)
		}
	}
	return able
}

// oneOfMany adds a label or somebody to those that a thing has, or takes one away: all are given anew.
func (b *boarding) oneOfMany(r *rand.Rand) *boardTask {
	row := b.row(r)
	var able []int
	for i, c := range b.columns {
		if c.edit != nil && c.hidden && c.edit.kind == "array" {
			able = append(able, i)
		}
	}
	if row == nil || len(able) == 0 {
		return nil
	}
	i := pick(r, able)
	has := slices.DeleteFunc(strings.Split(programs.Show(row[i]), programs.ListMark), func(v string) bool {
		return v == ""
	})
	slots, pattern := b.table.Slots(row), "append_as"
	slots["attr"] = words(b.columns[i].name)[0]
	if last := slots["attr"]; !strings.HasSuffix(last, "s") {
		slots["attr"] += "s"
	}
	var now []string
	if len(has) > 0 && r.IntN(2) == 0 {
		pattern, slots["v"] = "take_off", pick(r, has)
		now = slices.DeleteFunc(slices.Clone(has), func(v string) bool { return v == slots["v"] })
	} else {
		others := strings.Split(programs.Show(pick(r, b.table.Rows)[i]), programs.ListMark)
		if slots["v"] = pick(r, others); slots["v"] == "" || slices.Contains(has, slots["v"]) {
			return nil
		}
		now = append(slices.Clone(has), slots["v"])
	}
	value, _ := json.Marshal(append([]string{}, now...)) // of texts
	t := &boardTask{Program: programs.NewAct(programs.Set, pattern, slots), after: map[string]map[string]string{
		b.key(row): {b.columns[i].name: strings.Join(now, programs.ListMark)}}}
	t.reads = []Call{b.list.bare(), b.viewOf(row)}
	t.changes = b.changeOf(b.key(row), member{b.columns[i].edit.name, value})
	return t
}
