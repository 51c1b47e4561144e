package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// drafting is how many candidates are drafted for one scenario that is wanted: some fall.
const drafting = 2.2

// first makes candidates of all kinds that make calls, no two with the same calls.
func (d *drafts) first() []*Candidate {
	singles := d.numSingles()
	several := int(drafting * float64(d.N) * d.Several)
	tools := d.usable()
	for _, s := range tools {
		if d.Teacher == nil { // who thinks of better ones
			d.singles(s, max(4, (singles+len(tools)-1)/len(tools)), 0)
		}
	}
	d.chains(several / 2)
	d.within(several / 2)
	d.readBacks(several / 3)
	d.recoveries(several / 5)
	d.pairs(max(several-d.count[chain]-d.count[readBack]-d.count[recovery], several/4))
	return slices.DeleteFunc(slices.Clone(d.list), func(c *Candidate) bool { return c.Why != "" })
}

// numSingles is how many candidates of one call are drafted.
func (d *drafts) numSingles() int {
	return int(drafting * float64(d.N) * (1 - d.Abstain - d.Several))
}

const (
	enough     = 3 // candidates of a tool that hold
	mostRounds = 3 // of drafting more for tools that have fewer
)

// more makes candidates for tools of which too few hold.
func (d *drafts) more(round int) []*Candidate {
	before := len(d.list)
	if round > mostRounds {
		return nil
	}
	for _, s := range d.usable() {
		hold := 0
		for _, c := range d.list {
			if c.Why == "" && slices.Contains(c.tools(), s.Name) {
				hold++
			}
		}
		if hold < enough {
			d.singles(s, 8, round)
		}
	}
	return d.list[before:]
}

type drafts struct {
	*maker
	list  []*Candidate
	seen  map[string]bool
	count map[string]int
}

// add takes a candidate, unless there is one with the same calls.
func (d *drafts) add(kind string, world int, calls ...Call) bool {
	key := keyOf(calls)
	if s := d.byName[calls[0].Tool]; d.changing(s.Server) { // elsewhere it is asked of other things
		key += fmt.Sprint(world)
	}
	if d.seen[key] {
		return false
	}
	d.seen[key] = true
	d.count[kind]++
	d.list = append(d.list, &Candidate{Kind: kind, World: world, Calls: calls})
	return true
}

func keyOf(calls []Call) (key string) {
	for _, c := range calls {
		key += c.key() + "\x00"
	}
	return key
}

// usable are the tools of which some call was answered.
func (m *maker) usable() (list []*subject) {
	for _, s := range m.tools {
		if s.usable() {
			list = append(list, s)
		}
	}
	return list
}

// realmsOf are the realms that tasks of a tool take place in: where there is something, if there is; the one without a
// setup where no setup helps.
func (m *maker) realmsOf(s *subject) (list []*realm) {
	good := func(r *realm) bool {
		return slices.ContainsFunc(r.good, func(t trial) bool { return t.call.Tool == s.Name })
	}
	matters := m.changing(s.Server)
	for _, r := range m.worlds[1:] {
		if matters && good(r) {
			list = append(list, r)
		}
	}
	if len(list) == 0 && good(m.worlds[0]) {
		list = append(list, m.worlds[0])
	}
	return list
}

// changing reports whether some tool of a server changes something.
func (m *maker) changing(server string) bool {
	return slices.ContainsFunc(m.tools, func(o *subject) bool { return o.Server == server && o.writes })
}

// wordings is in how many tasks a call without arguments is asked for, where there is no other call of its tool.
const wordings = 3

// singles drafts some calls of a tool, one a task: first those that were answered, then new ones.
func (d *drafts) singles(s *subject, n, round int) {
	realms := d.realmsOf(s)
	if len(realms) == 0 {
		return
	}
	random, made := d.random("single", s.Name, round), 0
	for _, r := range realms {
		for _, t := range r.good {
			if t.call.Tool == s.Name && made < n/2+1 && d.add(single, r.index, t.call) {
				made++
			}
		}
	}
	if len(s.schema.fields) == 0 && made > 0 {
		for first := *d.list[len(d.list)-1]; made < wordings; made++ {
			again := first
			again.Variant = made
			d.list = append(d.list, &again)
		}
		return
	}
	for try := 0; try < 8*n && made < n; try++ {
		r := pick(random, realms)
		arguments, ok := filler{random, s, &r.known}.arguments(random.IntN(3) > 0)
		if ok && s.takes(string(arguments)) && d.add(single, r.index, Call{Tool: s.Name, Arguments: arguments}) {
			made++
		}
	}
}

// goodOf are the calls of a realm that were answered, shuffled.
func (r *realm) goodOf(random *rand.Rand, want func(trial) bool) (list []trial) {
	for _, t := range r.good {
		if want(t) {
			list = append(list, t)
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// edge says that a value of one tool's result goes into a parameter of another.
type edge struct {
	from, to string
	field    string // of the result, "" for all of it
	into     param
	raw      json.RawMessage
	sure     bool // by name or value, not by form alone
}

// mostOfEdge bounds the chains from one tool to another.
const mostOfEdge = 3

// mostOfFirst bounds the chains that begin with one call, as long as other calls begin some: these chains stay in one
// split.
const mostOfFirst = 2

// chains drafts calls whose result feeds another: along the edges by name and by value first, then by form; a tool
// feeds itself where others give too few.
func (d *drafts) chains(n int) {
	d.chainsOf(n, "chain", func(a, b string) bool { return a != b })
	d.chainsOf(n, "chain of one", func(a, b string) bool { return a == b })
}

// chainsOf drafts chains of those tools that feed another one, until there are n in all.
func (d *drafts) chainsOf(n int, stream string, feeds func(a, b string) bool) {
	made, begun := map[string]int{}, map[string]int{}
	for _, sure := range []bool{true, false} {
		for _, most := range []int{mostOfFirst, n} {
			for _, r := range d.worlds {
				random := d.random(stream, r.index, sure, most)
				for _, a := range r.goodOf(random, func(t trial) bool { return !t.effects }) {
					edges := d.edges(r, a, sure, feeds)
					random.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
					for _, e := range edges {
						pairing, first := e.from+"\x00"+e.to, a.call.key()
						if made[pairing] < mostOfEdge && begun[first] < most && d.count[chain] < n &&
							d.chain(r, random, a, e) {
							made[pairing]++
							begun[first]++
						}
					}
				}
			}
		}
	}
}

// chain drafts the calls of one edge: the second has the value in one argument.
func (d *drafts) chain(r *realm, random *rand.Rand, a trial, e edge) bool {
	b := d.byName[e.to]
	arguments, ok := filler{random, b, &r.known}.arguments(false)
	if !ok {
		return false
	}
	fed, ok := withMember(arguments, e.into.name, e.raw)
	if !ok || !b.takes(string(fed)) || b.writes && e.into.kind == "" {
		return false
	}
	field := e.field
	return d.add(chain, r.index, a.call, Call{Tool: b.Name, Arguments: fed, Fed: e.into.name, Field: field})
}

// withMember puts a value into an object's member; ok is false where it has none of the name.
func withMember(object json.RawMessage, name string, raw json.RawMessage) (json.RawMessage, bool) {
	var b bytes.Buffer
	found := false
	b.WriteByte('{')
	for i, m := range members(object) {
		if i > 0 {
			b.WriteByte(',')
		}
		if m.name == name {
			m.raw, found = raw, true
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		b.Write(m.raw)
	}
	b.WriteByte('}')
	return b.Bytes(), found
}

// edges are those from one answered call to the required parameters of tools that it may feed.
func (d *drafts) edges(r *realm, a trial, sure bool, feeds func(a, b string) bool) (edges []edge) {
	text := a.got.Results[0].Text
	leaves := leavesOf(text)
	if len(leaves) == 0 && short(text) && !strings.ContainsAny(text[:1], "[{") {
		leaves = []leaf{{nil, whole(text)}}
		if n, ok := numberOfProse(text, a.call.Arguments); ok {
			leaves = append(leaves, leaf{nil, n})
		}
	}
	for _, b := range d.usable() {
		if !feeds(a.call.Tool, b.Name) {
			continue
		}
		for _, p := range b.schema.fields {
			if !p.required || len(p.choices) > 0 {
				continue
			}
			for _, l := range leaves {
				if e, ok := d.edge(r, a, b, p, l); ok && e.sure == sure {
					edges = append(edges, e)
					break
				}
			}
		}
	}
	return edges
}

// mostDigits bounds a number that is carried on: of a longer one a model makes a shorter one.
const mostDigits = 10

// numberOfProse is the number that a sentence says and the call did not: of "The sum of 2 and 3 is 5.", 5. ok is false
// where there is none, or several.
func numberOfProse(text string, arguments json.RawMessage) (raw json.RawMessage, ok bool) {
	for _, found := range wholeNumbers(text) {
		n := json.RawMessage(found)
		if !json.Valid(n) || slices.Contains(wholeNumbers(string(arguments)), found) {
			continue
		}
		if raw != nil && string(raw) != found {
			return nil, false
		}
		raw = n
	}
	return raw, raw != nil && len(raw) <= mostDigits
}

// wholeNumbers are the numbers of a text, and none that is part of a word, a version or another number.
func wholeNumbers(text string) (list []string) {
	for _, at := range numberIn.FindAllStringIndex(text, -1) {
		before, after := text[:at[0]], text[at[1]:]
		if before != "" && (isWordByte(before[len(before)-1]) || strings.HasSuffix(before, ".") ||
			strings.HasSuffix(before, ",") && len(before) > 1 && isWordByte(before[len(before)-2])) ||
			after != "" && (isWordByte(after[0]) ||
				len(after) > 1 && strings.ContainsRune(".,", rune(after[0])) && isWordByte(after[1])) {
			continue
		}
		list = append(list, text[at[0]:at[1]])
	}
	return list
}

func isWordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

func whole(text string) json.RawMessage {
	if raw := json.RawMessage(text); json.Valid(raw) && raw[0] != '{' && raw[0] != '[' {
		return raw
	}
	return quote(text)
}

func (d *drafts) edge(r *realm, a trial, b *subject, p param, l leaf) (edge, bool) {
	isText := l.raw[0] == '"'
	if slices.ContainsFunc(l.path, isIndex) || isText != (p.kind == "string" || p.kind == "") ||
		isText && (len(l.text()) > 48 || l.text() == "" || !p.carries(l.text())) || bytes.Contains(a.call.Arguments,
		l.raw) || !isText && says(flat(string(a.call.Arguments)), l) ||
		bytes.Contains(l.raw, []byte(dirMark)) || saysNow(l.text(), []int64{a.got.At}) {
		return edge{}, false
	}
	from := label{l.own(), append(l.above(), nouns(a.call.Tool)...)}
	named := from.about(label{words(p.name), nouns(b.Name)}) >= surely
	shared := slices.ContainsFunc(r.good, func(t trial) bool {
		return t.call.Tool == b.Name && bytes.Equal(find(t.call.Arguments, p.name), l.raw)
	})
	e := edge{a.call.Tool, b.Name, l.name(), p, l.raw, named || shared}
	free := filler{d.random(), b, &r.known}
	if b.Name == a.call.Tool && p.kind != "number" && p.kind != "integer" { // its own text again says nothing
		return e, e.sure
	}
	byForm := !free.sql(p) && p.pattern == "" && p.format == "" &&
		(free.composes(p) && !p.hasForm() && !slices.Contains([]string{"name", "title", "path"}, p.name) ||
			p.kind == "number" || p.kind == "integer")
	return e, e.sure || byForm
}

// readBacks drafts a call that changes something and one that sees it.
func (d *drafts) readBacks(n int) {
	for _, r := range d.worlds {
		random := d.random("read back", r.index)
		for _, a := range r.goodOf(random, func(t trial) bool {
			return t.effects && !d.byName[t.call.Tool].destroys()
		}) {
			for _, b := range r.looks {
				if d.count[readBack] >= n {
					return
				}
				if fed, ok := d.seeing(a.call, b); ok && d.byName[b.Tool].Server == d.byName[a.call.Tool].Server {
					d.add(readBack, r.index, a.call, fed)
				}
			}
		}
	}
}

// seeing is a reading call about what another call has made: its required arguments are that one's, by name.
func (d *drafts) seeing(made, reads Call) (Call, bool) {
	var v values
	v.took(made.Tool, made.Arguments)
	out := Call{Tool: reads.Tool, Arguments: reads.Arguments}
	for _, p := range d.byName[reads.Tool].schema.fields {
		if !p.required {
			continue
		}
		want := label{words(p.name), nouns(reads.Tool)}
		found, _ := v.best(want, func(raw json.RawMessage) bool { return raw[0] == '"' })
		if p.kind != "string" || len(found) == 0 {
			return out, false
		}
		var ok bool
		if out.Arguments, ok = withMember(out.Arguments, p.name, found[0]); !ok {
			return out, false
		}
	}
	return out, d.byName[reads.Tool].takes(string(out.Arguments))
}

// recoveries drafts a call that is refused, and one that is answered in its place.
func (d *drafts) recoveries(n int) {
	random := d.random("recovery")
	for _, s := range d.usable() {
		made := 0
		for _, f := range s.failing {
			r := d.worlds[f.realm]
			for _, t := range r.goodOf(random, func(t trial) bool { return t.call.Tool == s.Name && s.needs() }) {
				if made == 3 || d.count[recovery] >= n {
					break
				}
				if d.add(recovery, r.index, f.call, t.call) {
					made++
					break
				}
			}
		}
	}
}

// pairs drafts two calls in one task, each tool in turn.
func (d *drafts) pairs(n int) {
	random := d.random("pair")
	tools := d.usable()
	for try := 0; try < 12*n && d.count[pair] < n && len(tools) > 0; try++ {
		s := tools[try%len(tools)]
		realms := d.realmsOf(s)
		if len(realms) == 0 {
			continue
		}
		r := pick(random, realms)
		first, ok := filler{random, s, &r.known}.arguments(false)
		if !ok || !s.takes(string(first)) || !s.needs() {
			continue
		}
		others := r.goodOf(random, func(t trial) bool {
			return !(d.changes(t.call) && d.changes(Call{Tool: s.Name, Arguments: first})) &&
				string(t.call.Arguments) != string(first)
		})
		if len(others) > 0 {
			a, b := Call{Tool: s.Name, Arguments: first}, others[0].call
			// a call that many tasks share would hold all these in one split
			if o := d.byName[b.Tool]; o.pure && len(o.schema.fields) > 0 {
				if arguments, ok := (filler{random, o, &r.known}).arguments(!o.needs()); ok &&
					o.takes(string(arguments)) {
					b.Arguments = arguments
				}
			}
			if d.changes(b) { // what is read first is what was there
				a, b = b, a
			}
			d.add(pair, r.index, a, b)
		}
	}
}
