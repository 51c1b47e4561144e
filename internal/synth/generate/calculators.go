package generate

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"hone/internal/episode/environment"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// calculator is what tools were seen to compute: operations on numbers, whole expressions, times in other zones. They
// may be of several servers.
type calculator struct {
	does       map[string]reckonTool // by operation of package programs
	expression *reckonTool           // takes a text as "2*(3+4)"; nil: no tool does
	roots      bool                  // in which sqrt(9) may stand
}

// reckonTool is a tool, and which arguments have the numbers, the text, or the time and its zones.
type reckonTool struct {
	tool           *subject
	a, b           string
	time, from, to string
}

func (t reckonTool) numbers(a, b float64) Call {
	list := []member{{t.a, json.RawMessage(programs.Digits(a))}}
	if t.b != "" {
		list = append(list, member{t.b, json.RawMessage(programs.Digits(b))})
	}
	return Call{Tool: t.tool.Name, Arguments: objectOf(list...)}
}

func (t reckonTool) text(expression string) Call {
	return Call{Tool: t.tool.Name, Arguments: objectOf(member{t.a, quote(expression)})}
}

func (t reckonTool) turn(time, from, to string) Call {
	var list []member
	for _, p := range t.tool.schema.fields { // in the schema's order
		switch p.name {
		case t.time:
			list = append(list, member{p.name, quote(time)})
		case t.from:
			list = append(list, member{p.name, quote(from)})
		case t.to:
			list = append(list, member{p.name, quote(to)})
		}
	}
	return Call{Tool: t.tool.Name, Arguments: objectOf(list...)}
}

// reckonToolOf is what a tool's schema says of the numbers, or the time, that it takes.
func reckonToolOf(s *subject) (t reckonTool, ok bool) {
	t.tool = s
	numbers, texts := 0, 0
	for _, p := range s.schema.fields {
		has := func(list ...string) bool {
			return slices.ContainsFunc(words(p.name), func(w string) bool { return slices.Contains(list, w) })
		}
		switch {
		case !p.required:
		case p.kind == "number" || p.kind == "integer":
			if numbers++; t.a == "" {
				t.a = p.name
			} else {
				t.b = p.name
			}
		case p.kind != "string" || len(p.choices) > 0:
			return t, false
		case has("expression", "formula", "calculation", "equation", "math"):
			texts++
			t.a = p.name
		case has("source", "from"):
			t.from = p.name
		case has("target", "to"):
			t.to = p.name
		case has("time", "datetime", "hour"):
			t.time = p.name
		default:
			return t, false
		}
	}
	turns := t.time != "" && t.from != "" && t.to != "" && numbers+texts == 0
	reckons := t.time+t.from+t.to == "" && (texts == 1 && numbers == 0 || texts == 0 && (numbers == 1 || numbers == 2))
	return t, turns || reckons
}

// calculator tries on a copy what tools compute; nil where none computes anything.
func (m *maker) calculator(ctx context.Context) (*calculator, error) {
	var tools []reckonTool
	for _, s := range m.tools {
		if t, ok := reckonToolOf(s); ok && s.mayTry() {
			tools = append(tools, t)
		}
	}
	if len(tools) == 0 {
		return nil, nil
	}
	session, err := m.player.open(ctx, m.player.from, nil)
	if err != nil { // who explores it says why
		return nil, ctx.Err()
	}
	defer func() { _ = session.Close() }() // the calls are made
	c := &calculator{does: map[string]reckonTool{}}
	for _, t := range tools {
		c.try(ctx, m, session, t)
	}
	if len(c.does) == 0 && c.expression == nil {
		return nil, ctx.Err()
	}
	return c, ctx.Err()
}

func (c *calculator) try(ctx context.Context, m *maker, session environment.Session, t reckonTool) {
	says := func(call Call) (float64, string) {
		text, ok := m.tryOn(ctx, session, call)
		if !ok {
			return math.NaN(), ""
		}
		x, ok := resultOf(text)
		if !ok {
			return math.NaN(), text
		}
		return x, text
	}
	keep := func(op string) {
		if _, known := c.does[op]; !known {
			c.does[op] = t
		}
	}
	close := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }
	switch {
	case t.time != "":
		if _, text := says(t.turn("12:00", "Asia/Tokyo", "Asia/Dubai")); strings.Contains(text, "07:00") {
			keep(programs.Zone)
		}
	case t.b != "":
		first, _ := says(t.numbers(7, 3))
		for op, want := range map[string]float64{programs.Plus: 10, programs.Minus: 4, programs.Times: 21,
			programs.Over: 7.0 / 3, programs.Rest: 1} {
			if close(first, want) {
				keep(op)
			}
		}
	case slices.ContainsFunc(t.tool.schema.fields, func(p param) bool { return p.name == t.a && p.kind == "string" }):
		if x, _ := says(t.text("2*(3+4)-5/2")); close(x, 11.5) {
			root, _ := says(t.text("sqrt(49)"))
			c.expression, c.roots = &t, close(root, 7)
		}
	default:
		if x, _ := says(t.numbers(49, 0)); close(x, 7) {
			keep(programs.Root)
		}
	}
}

// resultOf is the only number in what a calculator says, or the last one.
func resultOf(text string) (x float64, ok bool) {
	for _, l := range leavesOf(text) {
		if v, err := strconv.ParseFloat(l.text(), 64); err == nil {
			x, ok = v, true
		}
	}
	if ok {
		return x, true
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n\t=:,;", r) }) {
		if v, err := strconv.ParseFloat(strings.TrimSuffix(word, "."), 64); err == nil {
			x, ok = v, true
		}
	}
	return x, ok
}

// can reports whether the tools do an operation.
func (c *calculator) can(op string) bool {
	_, ok := c.does[op]
	basic := []string{programs.Plus, programs.Minus, programs.Times, programs.Over}
	return ok || c.expression != nil && (slices.Contains(basic, op) || op == programs.Root && c.roots)
}

// uses are the tools that compute, by server.
func (c *calculator) uses() map[string][]string {
	used := map[string][]string{}
	for _, t := range c.does {
		used[t.tool.Server] = append(used[t.tool.Server], t.tool.Name)
	}
	if c.expression != nil {
		used[c.expression.tool.Server] = append(used[c.expression.tool.Server], c.expression.tool.Name)
	}
	return used
}

// signs are those of operations in an expression.
func signs() map[string]string {
	return map[string]string{programs.Plus: "+", programs.Minus: "-", programs.Times: "*", programs.Over: "/"}
}

// writes reports whether a step is written in an expression.
func (c *calculator) writes(s programs.ReckonStep) bool {
	return c.expression != nil && (signs()[s.Do] != "" || s.Do == programs.Root && c.roots)
}

// calls are the calls of a reckoning, and what each must come to. Where a tool takes expressions, a step with numbers
// is written into the one that needs it, unless what it comes to is asked for.
func (c *calculator) calls(p *programs.Reckoning) (calls []Call, results []string) {
	var whole []string // each step as an expression
	term := func(t programs.Term) (float64, string) {
		if t.Of > 0 {
			return p.Steps[t.Of-1].Result, "(" + whole[t.Of-1] + ")"
		}
		return t.Value, programs.Digits(t.Value)
	}
	var why []string
	for i, s := range p.Steps {
		a, textA := term(s.A)
		b, textB := term(s.B)
		t, able := c.does[s.Do]
		switch {
		case s.Do == programs.Zone:
			whole = append(whole, "")
			calls, results = append(calls, explained(t.turn(s.Time, s.From, s.To), s.Why)), append(results, s.Then)
		case c.writes(s):
			text := textA + " " + signs()[s.Do] + " " + textB
			if s.Do == programs.Root {
				text = "sqrt(" + strings.TrimSuffix(strings.TrimPrefix(textA, "("), ")") + ")"
			}
			if whole = append(whole, text); s.Why != "" {
				why = append(why, s.Why)
			}
			if p.Answer.Form == "list" || !slices.ContainsFunc(p.Steps[i+1:], func(o programs.ReckonStep) bool {
				return c.writes(o) && (o.A.Of == i+1 || o.B.Of == i+1)
			}) {
				calls = append(calls, explained(c.expression.text(text), strings.Join(why, "\n")))
				results, why = append(results, programs.Digits(s.Result)), nil
			}
		case able:
			whole = append(whole, programs.Digits(s.Result))
			calls = append(calls, explained(t.numbers(a, b), s.Why))
			results = append(results, programs.Digits(s.Result))
		}
	}
	return calls, results
}

// shareMisnamed is the share of training programs in whose first call a zone may be named wrong. It is more than
// shareSlips, since half of the programs have no time, or reckon before they turn it.
const shareMisnamed = 0.3

// misname puts a call before the first one on a time that names one of its zones as people would guess it: the server
// refuses it, and the right one follows. What has to be reckoned before that call would stand behind the slip, so such
// a call has none.
func (c *calculator) misname(r *rand.Rand, p *programs.Reckoning, calls []Call, results []string) ([]Call, []string) {
	turns, able := c.does[programs.Zone]
	step := slices.IndexFunc(p.Steps, func(s programs.ReckonStep) bool { return s.Do == programs.Zone })
	if !able || step < 0 {
		return calls, results
	}
	wrong, why, ok := p.Steps[step].Misnamed(r)
	at := slices.IndexFunc(calls, func(x Call) bool { return x.Tool == turns.tool.Name })
	if !ok || calls[at].Why != "" {
		return calls, results
	}
	slip := turns.turn(wrong.Time, wrong.From, wrong.To)
	slip.Slip = slipRefused
	calls = slices.Clone(calls)
	calls[at].Why = why
	return slices.Insert(calls, at, slip), slices.Insert(slices.Clone(results), at, "")
}

// reckonPrograms makes tasks from problems of numbers and times, for the servers that compute.
func (m *maker) reckonPrograms(ctx context.Context) (list []draftOf, err error) {
	c, err := m.calculator(ctx)
	if c == nil || err != nil {
		return nil, err
	}
	kinds := programs.Reckons(c.can)
	if len(kinds) == 0 {
		return nil, nil
	}
	share := 0.0
	for server, names := range c.uses() {
		used := map[string]bool{}
		for _, name := range names {
			used[name] = true
		}
		for _, s := range m.tools { // of no answer that stays
			if s.Server == server && slices.Contains(words(s.Name), "current") {
				used[s.Name] = true
			}
		}
		m.asks[server] = used
		share += (1 - m.shareOfRest(server, used)) / float64(len(m.player.servers()))
	}
	session, err := m.player.open(ctx, m.player.from, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }() // the calls are made
	random := m.random("reckonings")
	want := int(share*float64(m.N) + 0.5)
	reasons, seen, tried := map[string]int{}, map[string]bool{}, 0
	for try := 0; len(list) < want && try < 4*want && ctx.Err() == nil; try++ {
		p := programs.Reckon(random, kinds[try%len(kinds)])
		if p == nil || seen[p.Key()] {
			continue
		}
		seen[p.Key()] = true
		tried++
		d, why, err := m.reckon(ctx, session, c, p, random)
		if err != nil {
			return nil, err
		}
		if why != "" {
			reasons[why]++
			continue
		}
		list = append(list, d)
	}
	m.report.stage("programs over numbers", tried, len(list), reasons)
	return list, ctx.Err()
}

// reckon plays a reckoning: each call must come to what was computed.
func (m *maker) reckon(
	ctx context.Context,
	session environment.Session,
	c *calculator,
	p *programs.Reckoning,
	random *rand.Rand,
) (d draftOf, why string, err error) {
	calls, results := c.calls(p)
	split := m.drawSplit(p.Key())
	if split == scenario.Train && random.Float64() < shareMisnamed {
		calls, results = c.misname(random, p, calls, results)
	}
	of := &Candidate{Kind: p.Kind, Calls: calls, Split: split, told: &told{Program: p.Program,
		world: &programs.World{}}}
	x := play{Calls: calls}
	of.Proof = []string{x.name()}
	got, err := m.once(x, func() (*Played, error) {
		got := &Played{}
		m.make(ctx, session, calls, got)
		return got, ctx.Err()
	})
	if err != nil {
		return d, "", err
	}
	if why, err := m.fails(calls, got, "a zone that is none is taken"); why != "" {
		return d, why, err
	}
	for i, r := range got.Results {
		if calls[i].Slip != "" {
			continue
		}
		x, ok := resultOf(r.Text)
		want, isNumber := strconv.ParseFloat(results[i], 64)
		if isNumber == nil && (!ok || math.Abs(x-want) > 1e-9*math.Max(1, math.Abs(want))) ||
			isNumber != nil && !strings.Contains(r.Text, results[i]) {
			return d, "the server says something else than was computed", nil
		}
	}
	return m.wordProgram(setting{World: of.told.world, realm: m.worlds[0], split: of.Split}, of,
		[]scenario.Check(nil)), "", nil
}
