package view

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync"

	"hone/internal/run"
)

// Index is what a page lists, filters and groups the trajectories of a run by. It reads each row of the ledger once,
// and again only what was scored or replaced since.
type Index struct {
	mu    sync.RWMutex
	rows  []row // in the order of their places
	seq   int64 // of the last change
	total int   // rows of the ledger
	whole bool  // all of them were read

	stages, scenarios, outcomes, stops, tools, terms dictionary

	used  map[string]*usageOf // by tool; of a row that was replaced both count
	score int64               // the last that was seen
}

// dictionary gives names numbers, in the order in which they come.
type dictionary struct {
	names  []string
	places map[string]int
}

func (d *dictionary) at(name string) int {
	if i, ok := d.places[name]; ok {
		return i
	}
	if d.places == nil {
		d.places = map[string]int{}
	}
	d.places[name] = len(d.names)
	d.names = append(d.names, strings.Clone(name))
	return len(d.names) - 1
}

// Reading has readAtOnce rows under one lock of the database, so that whoever writes is not held up, and is readAhead
// rows ahead of their parsing: few, for each may be megabytes.
const (
	readAtOnce = 256
	readAhead  = 8
)

// placed are rows on their way from the ledger to the index.
type placed struct {
	rows chan placedRow
	err  error // once rows is closed
}

type placedRow struct {
	place int64
	row   run.TrajectoryRow
}

// read sends all that lie behind a place, and closes the channel.
func (p *placed) read(l *run.Ledger, place int64) {
	defer close(p.rows)
	for n := readAtOnce; n == readAtOnce && p.err == nil; {
		n = 0
		p.err = l.EachAfter(place, readAtOnce, func(at int64, t run.TrajectoryRow) {
			n, place = n+1, at
			p.rows <- placedRow{at, t}
		})
	}
}

// read takes in what was put since it was last called; changed reports whether that was anything. told is called as
// rows come in.
func (x *Index) read(l *run.Ledger, told func()) (changed bool, err error) {
	total, err := l.NumTrajectories()
	if err != nil {
		return false, err
	}
	x.mu.Lock()
	x.total = total
	x.mu.Unlock()
	before := x.seq // only this reader changes it
	first := len(x.rows) == 0
	if first {
		if _, x.score, err = l.ScoresAfter(0); err != nil { // rows that are read from now on come with their scores
			return false, err
		}
	}
	place := int64(0)
	if !first {
		place = x.rows[len(x.rows)-1].place
	}
	n, rows := 0, placed{rows: make(chan placedRow, readAhead)}
	go rows.read(l, place)
	for r := range rows.rows {
		x.put(r.place, r.row)
		if n++; n%readAtOnce == 0 {
			told()
		}
	}
	if rows.err != nil {
		return true, rows.err
	}
	places, last, err := l.ScoresAfter(x.score)
	if err != nil {
		return true, err
	}
	if err := x.again(l, places); err != nil {
		return true, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.score, x.whole, x.total = last, true, max(x.total, len(x.rows))
	return x.seq != before, nil
}

// again reads trajectories that lie where others were.
func (x *Index) again(l *run.Ledger, places []int64) error {
	for _, place := range places {
		t, ok, err := l.AtPlace(place)
		if err != nil {
			return err
		}
		if ok {
			x.put(place, t)
		}
	}
	return nil
}

// compare finds what was replaced, or scored again, by the sums of the rows, and reads it again.
func (x *Index) compare(l *run.Ledger) error {
	var others []int64
	err := l.EachSum(func(place int64, sum, score string) {
		i, there := x.find(place)
		if !there {
			return
		}
		r := &x.rows[i]
		sum, score = strings.Clone(sum[:min(len(sum), 16)]), strings.Clone(score[:min(len(score), 16)])
		if r.sum != "" && (r.sum != sum || r.score != score) {
			others = append(others, place)
		}
		r.sum, r.score = sum, score
	})
	if err != nil {
		return err
	}
	return x.again(l, others)
}

func (x *Index) find(place int64) (i int, there bool) {
	return slices.BinarySearchFunc(x.rows, place, func(r row, place int64) int { return cmp.Compare(r.place, place) })
}

// put takes a row in, in the place of the one that was there.
func (x *Index) put(place int64, t run.TrajectoryRow) {
	e, err := recordOf(t)
	x.mu.Lock()
	defer x.mu.Unlock()
	i, there := x.find(place)
	r := x.rowOf(place, t, e, err, !there)
	x.seq++
	r.seq = x.seq
	if !there {
		x.rows = append(x.rows, r)
		return
	}
	r.sum, r.score = x.rows[i].sum, x.rows[i].score
	x.rows[i] = r
}

// Rows are rows of the index in columns, as a page takes them. Dictionaries have the names that the page does not know
// yet.
type Rows struct {
	Seq   int64 `json:"seq"` // the page asks next for what changed behind it
	More  bool  `json:"more"`
	Total int   `json:"total"` // rows of the ledger
	Whole bool  `json:"whole"` // all of them were read once

	Stages    []string `json:"stages"`
	Scenarios []string `json:"scenarios"`
	Outcomes  []string `json:"outcomes"`
	Stops     []string `json:"stops"`
	Tools     []string `json:"tools"`
	TermNames []string `json:"term_names"`

	N        []int       `json:"n"`  // which row
	ID       []string    `json:"id"` // "" where it is stage/scenario/step/rollout
	Stage    []int       `json:"stage"`
	Step     []int       `json:"step"`
	Scenario []int       `json:"scenario"`
	Rollout  []int       `json:"rollout"`
	Attempt  []int       `json:"attempt"`
	Outcome  []int       `json:"outcome"`
	Stop     []int       `json:"stop"`
	Reward   []*float64  `json:"reward"` // null where it is not scored
	Passed   []verdict   `json:"passed"`
	Turns    []int       `json:"turns"`
	Calls    []int       `json:"calls"`
	Errors   []int       `json:"errors"`
	Tokens   []int       `json:"tokens"`
	Seconds  []float64   `json:"seconds"`
	Called   [][]int     `json:"called"`
	Terms    [][]float64 `json:"terms"` // of each term its name's number, score and weight

	Bad []BadRow `json:"bad,omitempty"`
}

// BadRow is one that cannot be read.
type BadRow struct {
	N   int    `json:"n"`
	Why string `json:"why"`
}

// Known is how many names of each dictionary a page has, in the order of Rows.
type Known [6]int

// Since returns at most limit rows that changed behind seq, those that changed first.
func (x *Index) Since(seq int64, limit int, known Known) Rows {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var changed []int
	for i := range x.rows {
		if x.rows[i].seq > seq {
			changed = append(changed, i)
		}
	}
	sort.SliceStable(changed, func(a, b int) bool { return x.rows[changed[a]].seq < x.rows[changed[b]].seq })
	out := x.empty(known)
	if out.More = len(changed) > limit; out.More {
		changed = changed[:limit]
		out.Seq = x.rows[changed[limit-1]].seq
	}
	for _, i := range changed {
		out.add(i, &x.rows[i], x)
	}
	return out
}

// only are some rows, which are numbered from 0 in the order that is given: for a page that has no others.
func (x *Index) only(rows []*row) Rows {
	out := x.empty(Known{})
	for n, r := range rows {
		out.add(n, r, x)
	}
	return out
}

// empty are no rows, with the names that are not known yet.
func (x *Index) empty(known Known) Rows {
	out := Rows{N: []int{}, Seq: x.seq, Total: x.total, Whole: x.whole}
	for i, d := range []struct {
		into *[]string
		from *dictionary
	}{
		{&out.Stages, &x.stages},
		{&out.Scenarios, &x.scenarios},
		{&out.Outcomes, &x.outcomes},
		{&out.Stops, &x.stops},
		{&out.Tools, &x.tools},
		{&out.TermNames, &x.terms},
	} {
		*d.into = append([]string{}, d.from.names[min(max(known[i], 0), len(d.from.names)):]...)
	}
	return out
}

func (o *Rows) add(n int, r *row, x *Index) {
	id := r.id
	if id == x.stages.names[r.stage]+"/"+episodeName(x.scenarios.names[r.scenario], r.step, r.rollout) {
		id = ""
	}
	var reward *float64
	if r.scored && r.why == "" {
		reward = &r.reward
	}
	terms := make([]float64, 0, 3*len(r.terms))
	for _, t := range r.terms {
		terms = append(terms, float64(t.name), t.score, t.weight)
	}
	if r.why != "" {
		o.Bad = append(o.Bad, BadRow{n, r.why})
	}
	o.N, o.ID, o.Stage, o.Step, o.Scenario = append(o.N, n), append(o.ID, id), append(o.Stage, r.stage),
		append(o.Step, r.step), append(o.Scenario, r.scenario)
	o.Rollout, o.Attempt, o.Outcome, o.Stop =
		append(o.Rollout, r.rollout), append(o.Attempt, r.attempt), append(o.Outcome, r.outcome), append(o.Stop, r.stop)
	o.Reward, o.Passed, o.Turns, o.Calls =
		append(o.Reward, reward), append(o.Passed, r.passed), append(o.Turns, r.turns), append(o.Calls, r.calls)
	o.Errors, o.Tokens, o.Seconds = append(o.Errors, r.errors), append(o.Tokens, r.tokens), append(o.Seconds, r.seconds)
	o.Called, o.Terms = append(o.Called, append([]int{}, r.tools...)), append(o.Terms, terms)
}

// Search returns the rows in whose first words a text stands, in any letters.
func (x *Index) Search(text string) []int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	text = strings.ToLower(text)
	found := []int{}
	for i := range x.rows {
		if strings.Contains(x.rows[i].text, text) {
			found = append(found, i)
		}
	}
	return found
}
