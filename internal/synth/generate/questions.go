package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// perWorld is how many tasks are made of one invented world: more worlds mean more schemas that training has seen.
const perWorld = 12

// programs makes tasks from programs over the files of folders, the tables of databases, the notes of graphs, numbers
// and times, and the lists of trackers: those that are there, and invented ones. Each is played on a copy, and kept
// where the copy says what was computed.
func (m *maker) programs(ctx context.Context) ([]draftOf, error) {
	var list []draftOf
	for _, of := range []func(context.Context) ([]draftOf, error){m.folderPrograms, m.databasePrograms, m.graphPrograms,
		m.reckonPrograms, m.boardPrograms} {
		more, err := of(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	m.giveUp(list)
	if len(list) == 0 {
		return nil, nil
	}
	if err := m.asPersons(ctx, list); err != nil {
		return nil, err
	}
	for i := range list {
		m.retell(&list[i])
	}
	m.blend(list)
	return m.solve(ctx, m.apart(m.oneMeaning(list)))
}

// giveUp leaves the tools of servers to the tasks that say their own calls where no program over what a server holds
// proved good: its tools look as those of its kind do, and do something else.
func (m *maker) giveUp(list []draftOf) {
	for server, used := range m.asks {
		if !slices.ContainsFunc(list, func(d draftOf) bool {
			return slices.ContainsFunc(d.Gold, func(g scenario.Gold) bool { return used[g.Name] })
		}) {
			delete(m.asks, server)
		}
	}
}

// databasePrograms makes tasks from programs over the tables of databases.
func (m *maker) databasePrograms(ctx context.Context) ([]draftOf, error) {
	dbs, err := m.databases(ctx)
	if err != nil || len(dbs) == 0 {
		return nil, err
	}
	settings, err := m.settings(ctx, dbs)
	if err != nil {
		return nil, err
	}
	return m.playStates(ctx, "programs", settings)
}

// settings are the worlds of all databases: what is there first, with half of the tasks, then invented ones, of which a
// quarter of the domains is held out.
func (m *maker) settings(ctx context.Context, dbs []*sqlServer) (list []statePlays, err error) {
	used := map[string]bool{}
	for _, db := range dbs {
		db.uses(m.tools, used)
		m.asks[db.server] = used
	}
	total := int(float64(m.N)*m.shareOf(dbs)*(1-m.shareOfOthers(dbs, used)) + 0.5)
	for _, db := range dbs {
		left := total / len(dbs)
		live, err := m.live(ctx, db)
		if err != nil {
			return nil, err
		}
		own := "" // what is there: other states draw other worlds, so that their tasks can be learnt together
		if live != nil {
			own = fmt.Sprint(live.Create())
			n := left
			if db.create.tool != "" {
				n = left / 2
			}
			list = append(list, newSitting(m, db, setting{World: live, realm: m.worlds[0], want: n}))
			left -= n
		}
		if db.create.tool == "" {
			continue
		}
		written := m.writtenTables(db, own, m.written(left))
		for _, s := range written {
			list, left = append(list, s), left-s.want
		}
		random := m.random("worlds", db.server+own)
		order := businesses(random)
		for n := 0; left > 0; n++ {
			business := order[n%len(order)]
			w := programs.Invent(random, business)
			if n < 10*len(order) && db.holds(w.Tables) {
				continue // it is there already
			}
			db.suit(w)
			s := m.invented(w, n, business, left, db.setup(w))
			list, left = append(list, newSitting(m, db, s)), left-s.want
		}
	}
	return list, nil
}

// writtenTables are the settings of n requests that somebody wrote, over worlds of which no table is there already.
func (m *maker) writtenTables(db *sqlServer, own string, n int) (list []*sitting) {
	random := m.random("written", db.server+own)
	for i, w := range programs.WrittenWorlds() {
		world := *w.World
		db.suit(&world)
		if !db.holds(w.Tables) {
			s := newSitting(m, db, setting{World: &world, split: writtenSplit(i)})
			s.asked = shuffled(random, w.Tasks)
			list = append(list, s)
		}
	}
	for i, n := range writtenOf(random, n, list, func(s *sitting) (int, string) { return len(s.asked), s.split }) {
		if s := list[i]; n > 0 {
			s.want, s.realm = n, m.realmOf(db.setup(s.World))
		}
	}
	return slices.DeleteFunc(list, func(s *sitting) bool { return s.want == 0 })
}

// businesses are all kinds of business in an order that is drawn, of which each second of four is held out, so that a
// few worlds have some of each.
func businesses(r *rand.Rand) (order []int) {
	var held, free []int
	for _, index := range r.Perm(programs.NumDomains()) {
		if programs.IsHeldOut(index) {
			held = append(held, index)
		} else {
			free = append(free, index)
		}
	}
	for n := 0; len(held)+len(free) > 0; n++ {
		from := &free
		if n%4 == 1 && len(held) > 0 || len(free) == 0 {
			from = &held
		}
		order, *from = append(order, (*from)[0]), (*from)[1:]
	}
	return order
}

// shareOf is the part of all servers that are databases.
func (m *maker) shareOf(dbs []*sqlServer) float64 {
	return float64(len(dbs)) / float64(len(m.player.servers()))
}

// shareOfOthers is the part of the tasks for the tools of databases that take no SQL: some for each, of another kind.
func (m *maker) shareOfOthers(dbs []*sqlServer, used map[string]bool) (share float64) {
	for _, db := range dbs {
		share += m.shareOfRest(db.server, used)
	}
	return min(0.1, share)
}

// shareOfRest is the part of the tasks for the tools of a server that programs do not call.
func (m *maker) shareOfRest(server string, used map[string]bool) float64 {
	n := 0
	for _, s := range m.tools {
		if s.Server == server && !used[s.Name] && s.mayTry() {
			n++
		}
	}
	return min(0.1, 0.03*float64(n))
}

// drawn draws n kinds by their shares.
func drawn(r *rand.Rand, shares map[string]int, n int) (kinds []string) {
	names := slices.Sorted(maps.Keys(shares))
	total := 0
	for _, k := range names {
		total += shares[k]
	}
	for range n {
		at := r.IntN(total)
		for _, k := range names {
			if at -= shares[k]; at < 0 {
				kinds = append(kinds, k)
				break
			}
		}
	}
	return kinds
}

// overdrawn is how many programs are drawn for one task: some come to nothing.
const overdrawn = 1.4

// tasks draws, plays and words the programs of one setting.
func (s *sitting) tasks(ctx context.Context, index int) (
	list []draftOf, reasons map[string]int, tried int, err error,
) {
	random := s.m.random("programs", s.Name, index)
	reasons = map[string]int{}
	seen := map[string]bool{}
	for p := range s.requests(random) {
		if len(list) == s.want {
			break
		}
		if p == nil || seen[p.Key()] || p.Changes() && s.db.readOnly ||
			p.Made != nil && s.db.create.tool == "" {
			continue
		}
		seen[p.Key()] = true
		tried++
		c := s.candidate(s.m, p)
		c.Calls = s.db.gold(s.World, p)
		states, why, err := s.prove(ctx, p, c)
		if err != nil {
			return nil, nil, 0, err
		}
		if why != "" {
			if reasons[why]++; why == stateRefused {
				break
			}
			continue
		}
		if s.asked == nil {
			p.Tell(s.World)
		}
		d := s.m.wordProgram(s.setting, c, states)
		if step := p.Recalled(); step != nil && random.IntN(2) == 0 {
			if err := s.recall(ctx, &d, s.db.step(*step)); err != nil {
				return nil, nil, 0, err
			}
		}
		list = append(list, d)
	}
	return list, reasons, tried, nil
}

// recall notes the call by which the first of two messages was answered in a conversation before, and what it showed.
func (s *sitting) recall(ctx context.Context, d *draftOf, c Call) error {
	x := play{Setup: s.realm.setup, Calls: []Call{c}}
	got, err := s.m.once(x, func() (*Played, error) { return s.play(ctx, x, false) })
	if err == nil && got.Lost == "" && got.Results[0].ok() {
		d.recalled, d.shown = &c, got.Results[0].Text
	}
	return err
}

// requests are those that somebody wrote, or drawn ones, nil where a draw came to nothing.
func (s *sitting) requests(r *rand.Rand) iter.Seq[*programs.Program] {
	if s.asked != nil {
		return slices.Values(s.asked)
	}
	return func(yield func(*programs.Program) bool) {
		for _, kind := range drawn(r, programs.DatabaseShares(), int(overdrawn*float64(s.want)+0.5)) {
			if !yield(programs.Draw(r, s.World, kind)) {
				return
			}
		}
	}
}

// wordProgram is a program that holds as a scenario.
func (m *maker) wordProgram(s setting, c *Candidate, states []scenario.Check) draftOf {
	c.Checks = states
	d := draftOf{
		of:       c,
		Scenario: scenario.Scenario{Setup: m.setupOf(c), Split: c.Split, Tags: []string{"kind:" + c.Kind}},
	}
	for _, x := range c.Calls {
		if x.Slip != "" {
			d.Slips = append(d.Slips, scenario.Slip{Before: len(d.Gold), Name: x.Tool, Arguments: x.Arguments})
			continue
		}
		d.Gold = append(d.Gold, x.gold())
	}
	d.Provenance = &scenario.Provenance{
		By:      byHone,
		Version: m.Version,
		Kind:    c.Kind,
		Wording: "asked " + d.Split,
		Seed:    m.Seed,
		Proof:   c.Proof,
		Tools:   map[string]string{},
	}
	for _, x := range slices.Concat(c.Calls, s.realm.setup) {
		d.Provenance.Tools[x.Tool] = m.byName[x.Tool].SHA256
	}
	m.retell(&d)
	return d
}

// apart leaves out tasks that read like another one, held-out ones that read like a training task, and unsound ones.
func (m *maker) apart(list []draftOf) (kept []draftOf) {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].Task
	}
	read := overlap.Read(texts...)
	index := overlap.NewIndex(overlap.Threshold)
	reasons := map[string]int{}
	for i := range list {
		if why := m.unsound(&list[i]); why != "" {
			reasons[why]++
			continue
		}
		if slices.ContainsFunc(index.Near(read[i]), func(x overlap.Match) bool { return x.SameValues }) {
			reasons["nearly another task"]++
			continue
		}
		index.Add(read[i])
		kept = append(kept, list[i])
	}
	m.report.stage("asked alike", len(list), len(kept), reasons)
	return kept
}

// sitting is a database over which programs are played.
type sitting struct {
	setting
	seat
	db    *sqlServer
	asked []*programs.Program // requests that somebody wrote, in place of drawn ones
}

func newSitting(m *maker, db *sqlServer, s setting) *sitting {
	return &sitting{setting: s, seat: seat{m: m, server: db.server}, db: db}
}

// states are the looks at all tables. Where a row was added without a key, keys are left out.
func (s *sitting) states(p *programs.Program) (looks []Call) {
	for _, t := range s.Tables {
		looks = append(looks, s.db.read.call(t.State(!p.Free)))
	}
	if p.Made != nil {
		looks = append(looks, s.db.read.call(p.Made.State(true)))
	}
	return looks
}

// prove plays a program: its last reading step must say what was computed, and a change must show. It returns the
// checks of what is there in the end. The ledger has what an earlier command played.
func (s *sitting) prove(ctx context.Context, p *programs.Program, c *Candidate) (
	states []scenario.Check, why string, err error,
) {
	changes := p.Changes()
	x := play{Setup: s.realm.setup, Calls: c.Calls}
	if changes || s.asked != nil || p.Answer.Form == "left" ||
		p.Kind == programs.Leave || p.Kind == programs.AskBack || p.Kind == programs.Cannot ||
		p.Kind == programs.ActIf || p.Kind == programs.Unknown {
		x.Looks = s.states(p)
	}
	c.Proof = []string{x.name()}
	got, err := s.played(ctx, p, x, changes)
	if err != nil {
		return nil, "", err
	}
	if why, err := s.m.fails(c.Calls, got, "a slip goes well"); why != "" {
		return nil, why, err
	}
	switch {
	case len(p.Result) > 0 && !saysAll(s.last(p, got), p.Result),
		p.Answer.Form == "list" && len(p.Result) > 0 && listsOthers(s.last(p, got), len(p.Result)):
		return nil, "the server says something else than was computed", nil
	case len(got.Changed) < p.Writes():
		return nil, "a call that is to change something changes nothing", nil
	}
	if idle, err := s.isIdle(ctx, p, c, x, got); idle || err != nil {
		return nil, "a call that is to change something changes nothing", err
	}
	for i, look := range x.Looks {
		text := got.Seen[i].Text
		if !got.Seen[i].ok() || len(text) > mostCounted {
			return nil, "the state is too large to be compared", nil
		}
		states = append(states,
			scenario.Check{Type: scenario.StateCheck, Name: look.Tool, Arguments: look.Arguments, Equals: &text})
	}
	return states, "", nil
}

// count notes how many calls of each tool were made, and answered.
func (m *maker) count(calls []Call, got *Played) {
	m.player.mu.Lock()
	defer m.player.mu.Unlock()
	for i, r := range got.Results {
		t := m.byName[calls[i].Tool]
		if t.tried++; r.ok() {
			t.answered++
		}
	}
}

// isIdle reports whether one of several changes to a table shows nothing: without it, all looks the same in the end.
func (s *sitting) isIdle(ctx context.Context, p *programs.Program, c *Candidate, x play, got *Played) (bool, error) {
	var writes []int
	for i, step := range p.Steps {
		if i < len(p.Steps)-p.Later() && p.Later() > 0 { // a second message may set otherwise what the first has set
			continue
		}
		if call := s.db.step(step).key(); step.Writes {
			writes = append(writes,
				slices.IndexFunc(c.Calls, func(x Call) bool { return x.Slip == "" && x.key() == call }))
		}
	}
	if len(writes) == p.Writes() && p.Later() == 0 {
		return false, nil
	}
	for _, i := range writes {
		less := x
		less.Calls = slices.Delete(slices.Clone(c.Calls), i, i+1)
		without, err := s.played(ctx, p, less, true)
		if err != nil {
			return false, err
		}
		if slices.Equal(without.Seen, got.Seen) {
			return true, nil
		}
	}
	return false, nil
}

// anyFailed reports whether a call that is no slip is refused.
func anyFailed(calls []Call, got *Played) bool {
	for i, r := range got.Results {
		if calls[i].Slip == "" && (!r.ok() || looksLikeFailure(r.Text)) {
			return true
		}
	}
	return false
}

// listsOthers reports whether a text is a list in JSON of more or fewer things than n.
func listsOthers(text string, n int) bool {
	list := programs.Records(text)
	return json.Valid([]byte(text)) && list != nil && len(list) != n
}

// last is what the last reading step of a program answered.
func (s *sitting) last(p *programs.Program, got *Played) string {
	first := len(got.Results) - len(p.Steps)
	for i, step := range slices.Backward(p.Steps) {
		if !step.Writes {
			return got.Results[first+i].Text
		}
	}
	return ""
}

// played is what comes of a program's calls, which are made once.
func (s *sitting) played(ctx context.Context, p *programs.Program, x play, changes bool) (*Played, error) {
	return s.m.once(x, func() (*Played, error) {
		if p.Made != nil { // the table would be there for the next
			defer s.close()
		}
		return s.play(ctx, x, changes)
	})
}

// play makes the calls, looks, and undoes what they changed.
func (s *sitting) play(ctx context.Context, x play, changes bool) (*Played, error) {
	got := &Played{}
	if !s.open(ctx, s.realm.setup, got) {
		return got, ctx.Err()
	}
	before := s.look(ctx, x.Looks)
	s.m.make(ctx, s.session, x.Calls, got)
	got.Seen = s.look(ctx, x.Looks)
	for i := range got.Seen {
		if got.Seen[i] != before[i] {
			got.Changed = append(got.Changed, x.Looks[i].key())
		}
	}
	if got.Lost != "" || changes && !s.undo(ctx, x.Looks, before, got.Seen) {
		s.close()
	}
	return got, ctx.Err()
}

// undo puts tables back that look otherwise than before: rows out, and in again. It reports whether they then look as
// they did. Whatever cannot be put back so, as what a trigger wrote elsewhere, takes a new session.
func (s *sitting) undo(ctx context.Context, looks []Call, before, after []Answered) bool {
	if len(looks) < len(s.Tables) {
		return false
	}
	back := s.World.Create()[len(s.Tables):]
	for i, t := range slices.Backward(s.Tables) {
		if before[i] != after[i] {
			if _, ok := s.m.tryOn(ctx, s.session, s.db.write.call("DELETE FROM "+programs.Ident(t.Name))); !ok {
				return false
			}
		}
	}
	for i := range s.Tables {
		if before[i] != after[i] {
			if _, ok := s.m.tryOn(ctx, s.session, s.db.write.call(back[i])); !ok {
				return false
			}
		}
	}
	return slices.Equal(s.look(ctx, looks), before)
}

// saysAll reports whether a text has all of some values, numbers as numbers.
func saysAll(text string, values []string) bool {
	plain := flat(programs.PlainPython(text))
	for _, v := range values {
		if n, err := strconv.ParseFloat(v, 64); err == nil { // 1 is not in 12
			if !slices.ContainsFunc(numbersOf(plain),
				func(x float64) bool { return math.Abs(x-n) < 0.005+1e-9*math.Abs(n) }) {
				return false
			}
			continue
		}
		escaped := strings.ReplaceAll(flat(v), "'", `\'`) // as Python's repr may have it
		if !strings.Contains(plain, flat(v)) && !strings.Contains(plain, escaped) {
			return false
		}
	}
	return true
}

// drawSplit deals a task to a split by its key.
func (m *maker) drawSplit(key string) string {
	switch at := m.random("split", key).Float64(); {
	case at < shareTest:
		return scenario.Test
	case at < shareTest+shareValidation:
		return scenario.Validation
	}
	return scenario.Train
}
