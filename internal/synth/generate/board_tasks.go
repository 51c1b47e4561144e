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
	madeWith       map[string]string            // its properties as its view alone says them
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
		programs.TwoTables: 0})
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
	begins  string     // what a look at the list shows first
	draws   bool       // a new thing gets another key each time
	acts    []*subject // tools that do something to a thing by its key alone
}

// leastHeld is which part of the tasks that are wanted of a tracker programs must give, so that it is one: one in so
// many.
const leastHeld = 4

// boardPrograms makes tasks from programs over the things that trackers list.
func (m *maker) boardPrograms(ctx context.Context) (list []draftOf, err error) {
	states, err := m.boards(ctx)
	if err != nil || len(states) == 0 {
		return nil, err
	}
	why, in := map[string]int{}, 0
	for i, st := range states {
		used := map[string]bool{} // no task says the call of another one
		for _, s := range m.tools {
			used[s.Name] = s.Server == st.server
		}
		m.asks[st.server] = used
		want := int(float64(m.N)/float64(len(m.player.servers())) + 0.5)
		b := &boarding{boardState: st, seat: seat{m: m, server: st.server, keeps: true}}
		if err := b.explore(ctx); err != nil {
			b.close()
			return nil, err
		}
		made, tried, err := b.tasks(ctx, i, want, why)
		b.close()
		if err != nil {
			return nil, err
		}
		if in += tried; len(made)*leastHeld < want { // it looks as a tracker does, and does something else
			delete(m.asks, st.server)
			continue
		}
		list, m.boarded[st.server] = append(list, made...), b
		var called []string
		for _, d := range made {
			for _, g := range d.Gold {
				called = append(called, nouns(g.Name)...)
			}
		}
		for name := range used { // of other things that are listed, others make tasks
			used[name] = used[name] && (share(nouns(name), called) || !share(nouns(name), st.elsewhere))
		}
	}
	m.report.stage("programs over lists", in, len(list), why)
	return list, nil
}

// boardTries is how many programs are drawn for one task: many come to nothing, and few of these are played.
const boardTries = 4

func (b *boarding) tasks(
	ctx context.Context, index, want int, why map[string]int,
) (list []draftOf, tried int, err error) {
	random := b.m.random("board programs", index)
	seen := map[string]bool{}
	for _, kind := range drawn(random, b.shares(), boardTries*want) {
		if len(list) == want || ctx.Err() != nil {
			break
		}
		t := b.draw(random, kind)
		if t == nil || seen[t.Key()] || len(t.reads)+len(t.changes) == 0 && t.Kind != programs.Cannot {
			continue
		}
		seen[t.Key()] = true
		tried++
		c := &Candidate{Kind: t.Kind, Calls: slices.Concat(t.reads, t.changes), Split: b.m.drawSplit(t.Key()),
			told: &told{Program: t.Program, world: b.world}}
		if len(t.changes) > 0 && len(t.reads) > 0 {
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

// drawTries is how often a task of a kind is drawn anew, where one cannot be found by few calls.
const drawTries = 10

// draw draws a task of a kind; nil where the draws come to nothing.
func (b *boarding) draw(r *rand.Rand, kind string) *boardTask {
	for range drawTries {
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
	if p == nil || p.Made != nil || b.edit == nil && p.Changes() {
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

// shorten has a request call a thing by a part of its name.
func (b *boarding) shorten(r *rand.Rand, p *programs.Program) {
	for _, row := range b.table.Rows {
		if short := b.short(r, row); short != "" && b.table.NameOf(row) != "" && r.IntN(2) == 0 {
			p.Rename(programs.Show(row[b.table.Label]), b.partly(r, short))
		}
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

// finds adds the calls by which somebody finds what a program is about: the list, by what it can be asked for, and
// views of the things of which it does not show what is needed. It is false where that takes too many.
func (b *boarding) finds(r *rand.Rand, t *boardTask, p *programs.Program) bool {
	of, where, columns := p.Needs()
	if of == nil {
		return b.findsWithout(t, p)
	}
	if of != b.table {
		at := slices.Index(b.world.Tables, of) - 1
		t.look(b.others[at])
		return true
	}
	arguments, asked, open := []member{}, []programs.Cond{}, []programs.Cond{}
	for _, c := range where {
		column := b.columns[c.Column]
		switch {
		case c.Column == b.table.Label || c.Column == b.table.Key || !column.hidden && (c.Of >= 0 || r.IntN(8) == 0):
		case column.filter != nil && c.Op == programs.Is && c.Of < 0 && column.filter.kind == "string":
			arguments, asked = append(arguments, member{column.filter.name, quote(b.spoken(c))}), append(asked, c)
		case column.filter != nil && c.Op == programs.Is && c.Of < 0 && column.filter.kind == "array":
			arguments, asked =
				append(arguments, member{column.filter.name, column.filter.value(c.Value)}), append(asked, c)
		case column.none != nil && c.Op == programs.Null:
			arguments, asked = append(arguments, member{column.none.name, json.RawMessage("true")}), append(asked, c)
		case column.hidden:
			open = append(open, c)
		}
	}
	names := slices.ContainsFunc(arguments, func(m member) bool {
		return slices.ContainsFunc(arguments, func(o member) bool {
			return m.name == o.name && string(m.raw) != string(o.raw)
		})
	})
	list := b.list.filtered(arguments...)
	if names || !b.list.takes(string(list.Arguments)) {
		return false
	}
	for _, row := range b.table.Rows { // the list must show these and no others
		name := programs.Show(row[b.table.Label])
		if slices.ContainsFunc(b.table.Matching(asked), func(o []any) bool { return &o[0] == &row[0] }) {
			t.shown = append(t.shown, name)
		} else if len(asked) > 0 && len(t.reads) == 0 {
			t.hidden = append(t.hidden, name)
		}
	}
	if row := b.onlyNamed(where); row != nil && b.search != nil && r.IntN(2) == 0 && b.table.NameOf(row) != "" {
		t.look(b.searchFor(r, row, programs.Show(row[b.table.Label])))
		t.look(b.viewOf(row))
		return b.findsNamed(t, nil, columns)
	}
	t.look(list)
	listed := slices.Concat(asked, slices.DeleteFunc(slices.Clone(where), func(c programs.Cond) bool {
		return b.columns[c.Column].hidden || slices.ContainsFunc(asked, func(o programs.Cond) bool {
			return o.Column == c.Column && o.Op == c.Op && o.Of == c.Of
		})
	}))
	rows := b.table.Matching(listed)
	unseen := len(open) > 0
	if !unseen { // what is asked for of those that are found
		rows = b.table.Matching(where)
		unseen = slices.ContainsFunc(columns, func(i int) bool { return b.columns[i].hidden })
	}
	for _, c := range where { // the milestone's own day
		unseen = unseen || c.Of >= 0
	}
	if len(rows) > mostViewed && unseen {
		return false
	}
	p.Show(asked)
	if unseen {
		p.Show(listed)
		for _, row := range rows {
			t.look(b.viewOf(row))
		}
	}
	return b.findsNamed(t, slices.DeleteFunc(slices.Clone(where), func(c programs.Cond) bool {
		return slices.ContainsFunc(asked, func(o programs.Cond) bool { return o.Column == c.Column })
	}), columns)
}

// onlyNamed is the thing that a condition names, where there is no other one; nil where there is.
func (b *boarding) onlyNamed(where []programs.Cond) []any {
	if len(where) != 1 || where[0].Column != b.table.Label || where[0].Op != programs.Is {
		return nil
	}
	if rows := b.table.Matching(where); len(rows) == 1 {
		return rows[0]
	}
	return nil
}

// findsNamed adds the list of the things that properties name, where one of them is asked for.
func (b *boarding) findsNamed(t *boardTask, where []programs.Cond, columns []int) bool {
	for _, c := range where {
		columns = append(slices.Clone(columns), c.Column)
	}
	for _, i := range columns {
		if at := slices.Index(b.world.Tables, b.table.Columns[i].Ref); b.table.Columns[i].Ref != nil && at > 0 {
			t.look(b.others[at-1])
		}
	}
	return true
}

// spoken is the value of a condition as a filter takes it.
func (b *boarding) spoken(c programs.Cond) string { return programs.Show(c.Value) }

// listOf is the list of the things that a program is about.
func (b *boarding) listOf(p *programs.Program) Call {
	i := slices.IndexFunc(b.world.Tables[1:], func(t *programs.Table) bool { return t.One == p.Slot("one") })
	if i < 0 || p.Slot("one") == b.table.One {
		return b.list.bare()
	}
	return b.others[i]
}

// findsWithout adds the list for a program that is no query, where the list shows all that it needs.
func (b *boarding) findsWithout(t *boardTask, p *programs.Program) bool {
	able := []string{"insert", "insert_bare", "add_unless", "cannot", "set_nothing"}
	refused := []string{programs.Unknown, programs.AskBack, programs.Cannot}
	if slices.Contains(able, p.Pattern()) || slices.Contains(refused, p.Kind) {
		if p.Kind == programs.AskBack && b.archive != nil && !b.archive.hasVerb("delete", "remove") {
			p.Archives("archive") // as what can be done is said
		}
		if p.Kind == programs.Cannot {
			return true
		}
		t.look(b.listOf(p))
		if name := p.Slot("x"); p.Kind == programs.Unknown && name != "" { // the thing itself says nothing of it
			for _, row := range b.table.Rows {
				if programs.Show(row[b.table.Label]) == name || b.key(row) == name {
					t.look(b.viewOf(row))
				}
			}
		}
		return true
	}
	return false
}

// change adds the calls that make the rows of a table what statements make them.
func (b *boarding) change(t *boardTask, after []programs.NumberedRows) bool {
	for k, o := range b.world.Tables[1:] {
		for i, row := range o.Rows {
			if now := after[k+1][int64(i)+1]; now == nil || !slices.EqualFunc(row, now, programs.Equal) {
				return false
			}
		}
		if len(after[k+1]) != len(o.Rows) {
			return false
		}
	}
	rows := after[0]
	for i, row := range b.table.Rows {
		now, kept := rows[int64(i)+1]
		if !kept {
			if b.archive == nil || !t.archives(b.archive) {
				return false
			}
			t.changes = append(t.changes, b.archive.keyed(b.key(row)))
			t.after[b.key(row)] = nil
			continue
		}
		arguments, want, ok := b.edits(row, now)
		if !ok {
			return false
		}
		if len(arguments) == 0 {
			continue
		}
		for i := range b.columns { // by a key that nobody says
			if !programs.Equal(row[i], now[i]) {
				b.findsNamed(t, nil, []int{i})
			}
		}
		t.after[b.key(row)] = want
		t.changes = append(t.changes, b.changeOf(b.key(row), arguments...)...)
	}
	for n := int64(len(b.table.Rows)) + 1; rows[n] != nil; n++ {
		if !b.creates(t, rows[n]) {
			return false
		}
	}
	return len(t.changes) > 0 && len(t.changes) <= 2*mostViewed
}

// archives says a removal in the words of the tool that makes it.
func (t *boardTask) archives(s *subject) bool {
	if s.hasVerb("delete", "remove") || t.Slot("verb") != "" {
		return true
	}
	return t.Archives(words(s.Name)[slices.IndexFunc(words(s.Name), func(w string) bool { return w == "archive" })])
}

// edits are the arguments that make a row another one, and what its view then says.
func (b *boarding) edits(row, now []any) (arguments []member, want map[string]string, ok bool) {
	want = map[string]string{}
	for i, c := range b.columns {
		if programs.Equal(row[i], now[i]) {
			continue
		}
		if c.edit == nil || i == b.table.Key || strings.Contains(programs.Show(now[i]), programs.ListMark) {
			return nil, nil, false
		}
		value := c.edit.value(now[i])
		arguments = append(arguments, member{c.edit.name, value})
		want[c.name] = programs.Show(now[i])
	}
	return arguments, want, true
}

// creates adds the call that makes a new thing.
func (b *boarding) creates(t *boardTask, row []any) bool {
	if b.create == nil {
		return false
	}
	var arguments []member
	with := map[string]string{}
	for i, c := range b.columns {
		switch {
		case row[i] == nil:
		case i == b.table.Key || c.create == nil || strings.Contains(programs.Show(row[i]), programs.ListMark):
			return false
		default:
			b.findsNamed(t, nil, []int{i})
			arguments = append(arguments, member{c.create.name, c.create.value(row[i])})
			if c.hidden {
				with[c.name] = programs.Show(row[i])
			}
		}
	}
	call := Call{Tool: b.create.Name, Arguments: objectOf(arguments...)}
	t.made, t.madeWith, t.changes = programs.Show(row[b.table.Label]), with, append(t.changes, call)
	return b.create.takes(string(call.Arguments))
}

// row draws a thing with a name that no other has.
func (b *boarding) row(r *rand.Rand) []any {
	row := pick(r, b.table.Rows)
	if b.table.NameOf(row) == "" {
		return nil
	}
	return row
}

// remarks are what people write on a piece of work.
func remark(r *rand.Rand) string {
	day := pick(r, []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"})
	return pick(r, []string{
		"waiting for an answer until " + day, "called on " + day + ", nobody there",
		fmt.Sprint("the offer is ", 10*(4+r.IntN(90)), " euros"), "the form is in the green folder",
		"ask again on " + day, fmt.Sprint("needs ", 2+r.IntN(6), " people"), "agreed with everybody on " + day,
		"the measurements were wrong", "half of it is done", fmt.Sprint("takes about ", 2+r.IntN(9), " hours"),
		"the old one can stay", "please check the invoice", "only in the morning", "the key is with the neighbours",
		"moved because of the rain", fmt.Sprint("page ", 2+r.IntN(40), " of the manual explains it"),
	})
}

// sayOn adds a comment, a note or the like to a thing, by a parameter whose name says that it adds.
func (b *boarding) sayOn(r *rand.Rand) *boardTask {
	row := b.row(r)
	if b.edit == nil || row == nil {
		return nil
	}
	var able []param
	for _, p := range b.edit.schema.fields {
		w := words(p.name)
		if p.kind == "array" && p.items != nil && p.items.kind == "string" && len(w) == 2 &&
			slices.Contains([]string{"append", "add"}, w[1]) &&
			slices.Contains([]string{"comments", "notes", "remarks", "updates", "log"}, w[0]) {
			able = append(able, p)
		}
	}
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
