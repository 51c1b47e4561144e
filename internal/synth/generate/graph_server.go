package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"hone/internal/episode/environment"
	"hone/internal/synth/programs"
)

// graphServer is a server that keeps things with notes and the relations between them, and which of its tools does
// what.
type graphServer struct {
	server string
	most   int                  // bytes of a result that a run shows
	scale  float64              // bytes that a graph takes, in parts of what it is reckoned to take
	read   *Call                // shows all of it; nil: no tool does
	does   map[string]graphTool // by what an edit of package programs does
	find   *graphTool           // shows the things that say a text
	open   *graphTool           // shows the things of some names
}

// graphTool is a tool and where in its arguments stands what.
type graphTool struct {
	tool           *subject
	list           string // the argument that lists things; "": it takes one
	name, of, note string // members: of a thing, its type and its notes
	from, to       string // of a relation, beside its type
	text           bool   // it takes names or a text alone
}

// graphShape says where in some members stands what; ok is false where they are no thing and no relation.
func graphShape(fields []param) (t graphTool, ok bool) {
	has := func(p param, list ...string) bool {
		return slices.ContainsFunc(words(p.name), func(w string) bool { return slices.Contains(list, w) })
	}
	n := 0
	for _, p := range fields {
		switch {
		case p.kind == "array" && p.items != nil && p.items.kind == "string" && t.note == "":
			t.note = p.name
		case p.kind != "string":
			if p.required {
				return t, false
			}
			continue
		case has(p, "from", "source", "subject"):
			t.from = p.name
		case has(p, "to", "target", "object"):
			t.to = p.name
		case has(p, "type", "kind", "category", "predicate", "relation"):
			t.of = p.name
		case has(p, "name", "title", "entity", "node"):
			t.name = p.name
		default:
			return t, false
		}
		n++
	}
	thing := t.name != "" && t.note != "" && t.from+t.to == ""
	link := t.from != "" && t.to != "" && t.of != "" && t.name+t.note == ""
	return t, (thing || link) && n <= 3
}

// graphToolOf is what a tool's schema says of the things that it takes.
func graphToolOf(s *subject) (t graphTool, ok bool) {
	var fields []param
	for _, p := range s.schema.fields {
		if p.required {
			fields = append(fields, p)
		}
	}
	if len(fields) == 1 {
		switch p := fields[0]; {
		case p.kind == "string" && len(p.choices) == 0:
			return graphTool{tool: s, name: p.name, text: true}, true
		case p.kind == "array" && p.items != nil && p.items.kind == "string":
			return graphTool{tool: s, list: p.name, text: true}, true
		case p.kind == "array" && p.items != nil && len(p.items.fields) > 0:
			t, ok = graphShape(p.items.fields)
			t.tool, t.list = s, p.name
			return t, ok
		}
	}
	t, ok = graphShape(s.schema.fields)
	t.tool = s
	return t, ok
}

// texts are a call with names or a text.
func (t graphTool) texts(list ...string) Call {
	value, _ := json.Marshal(list) // of texts
	name := t.list
	if name == "" {
		name, value = t.name, quote(list[0])
	}
	return Call{Tool: t.tool.Name, Arguments: objectOf(member{name, value})}
}

// objectOf is a JSON object with members in this order.
func objectOf(list ...member) json.RawMessage {
	var parts [][]byte
	for _, m := range list {
		parts = append(parts, slices.Concat(quote(m.name), []byte(":"), m.raw))
	}
	return slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}"))
}

// items are the calls with some objects: one call, where the tool takes a list.
func (t graphTool) items(list []json.RawMessage) (calls []Call) {
	if t.list == "" {
		for _, one := range list {
			calls = append(calls, Call{Tool: t.tool.Name, Arguments: one})
		}
		return calls
	}
	value := slices.Concat(json.RawMessage("["), bytes.Join(toBytes(list), []byte(",")), json.RawMessage("]"))
	return []Call{{Tool: t.tool.Name, Arguments: objectOf(member{t.list, value})}}
}

// thing is an object with a name, a type where one is taken, and notes.
func (t graphTool) thing(x programs.Thing) json.RawMessage {
	notes, _ := json.Marshal(append([]string{}, x.Notes...)) // of texts
	list := []member{{t.name, quote(x.Name)}}
	if t.of != "" {
		list = append(list, member{t.of, quote(x.Type)})
	}
	return objectOf(append(list, member{t.note, notes})...)
}

func (t graphTool) relation(r programs.Relation) json.RawMessage {
	return objectOf(member{t.from, quote(r.From)}, member{t.to, quote(r.To)}, member{t.of, quote(r.Type)})
}

// calls are the calls that make edits, those of one kind in one call where the tool takes several.
func (g *graphServer) calls(edits []programs.Edit) (calls []Call, ok bool) {
	for len(edits) > 0 {
		do, n := edits[0].Do, 1
		for n < len(edits) && edits[n].Do == do {
			n++
		}
		t, able := g.does[do]
		if !able {
			return nil, false
		}
		var things []programs.Thing
		var names []string
		var items []json.RawMessage
		for _, e := range edits[:n] {
			names = append(names, e.Thing.Name)
			at := slices.IndexFunc(things, func(o programs.Thing) bool { return o.Name == e.Thing.Name })
			switch {
			case e.Thing.Name == "":
				items = append(items, t.relation(e.Relation))
			case at >= 0:
				things[at].Notes = append(slices.Clone(things[at].Notes), e.Thing.Notes...)
			default:
				things = append(things, e.Thing)
			}
		}
		switch edits = edits[n:]; {
		case t.text && t.list == "":
			for _, name := range names {
				calls = append(calls, t.texts(name))
			}
		case t.text:
			calls = append(calls, t.texts(names...))
		default:
			for _, x := range things {
				items = append(items, t.thing(x))
			}
			calls = append(calls, t.items(items)...)
		}
	}
	return calls, true
}

// Names of the things by which tools are tried.
const (
	tryThing = "Hone Probe"
	tryOther = "Hone Other"
	tryNote  = "trial note"
	tryType  = "hone_trial"
)

// graphServers finds the servers that keep a graph, and tries on a copy which tool does what.
func (m *maker) graphServers(ctx context.Context) (list []*graphServer, err error) {
	for _, server := range m.player.servers() {
		var tools []graphTool
		relates := false
		for _, s := range m.tools {
			if s.Server != server || !s.mayTry() {
				continue
			}
			if t, ok := graphToolOf(s); ok {
				tools, relates = append(tools, t), relates || t.from != ""
			}
		}
		if !relates {
			continue
		}
		session, err := m.player.open(ctx, m.player.from, nil)
		if err != nil { // who explores it says why
			return nil, ctx.Err()
		}
		g := &graphServer{server: server, most: m.MaxResult, scale: 1, does: map[string]graphTool{}}
		(&graphTrial{m, session, g}).all(ctx, tools)
		_ = session.Close() // the calls are made
		_, adds := g.does[programs.AddThing]
		if _, relates := g.does[programs.AddRelation]; adds && relates && g.read != nil {
			list = append(list, g)
		}
	}
	return list, ctx.Err()
}

// graphTrial tries the tools of one server in a session.
type graphTrial struct {
	m       *maker
	session environment.Session
	of      *graphServer
}

func (t *graphTrial) call(ctx context.Context, calls ...Call) (text string, ok bool) {
	for _, c := range calls {
		if text, ok = t.m.tryOn(ctx, t.session, c); !ok {
			return "", false
		}
	}
	return text, ok
}

// all tries who makes things first, then who shows them, and then the others by what becomes of these.
func (t *graphTrial) all(ctx context.Context, tools []graphTool) {
	probe := programs.Thing{Name: tryThing, Type: tryType, Notes: []string{tryNote, "second " + tryNote}}
	other := programs.Thing{Name: tryOther, Type: tryType, Notes: []string{"other remark"}}
	for _, one := range tools {
		if one.of == "" || one.note == "" {
			continue
		}
		if _, ok := t.call(ctx, one.items([]json.RawMessage{one.thing(probe), one.thing(other)})...); ok &&
			t.reads(ctx) {
			t.of.does[programs.AddThing] = one
			break
		}
	}
	if t.of.read == nil {
		return
	}
	link := programs.Relation{From: tryThing, To: tryOther, Type: "tries_out"}
	third := programs.Thing{Name: tryThing, Notes: []string{"third remark"}}
	for range 2 {
		for _, one := range tools {
			switch {
			case one.text || one.of != "" && one.note != "":
			case one.from != "":
				t.effect(ctx, one, one.items([]json.RawMessage{one.relation(link)}), link.Type, programs.AddRelation,
					programs.RemoveRelation)
			default:
				t.effect(ctx, one, one.items([]json.RawMessage{one.thing(third)}), third.Notes[0], programs.AddNote,
					programs.RemoveNote)
			}
		}
	}
	for _, one := range tools {
		if one.text {
			t.text(ctx, one)
		}
	}
}

// reads finds the tool that needs no argument and shows the things that were made.
func (t *graphTrial) reads(ctx context.Context) bool {
	for _, s := range t.m.tools {
		c := s.bare()
		if s.Server != t.of.server || s.needs() || !s.mayTry() || s.destroys() {
			continue
		}
		if text, ok := t.call(ctx, c); ok && strings.Contains(text, tryThing) && strings.Contains(text, tryNote) {
			if _, ok := t.of.graph(text); ok {
				t.of.read = &c
				return true
			}
		}
	}
	return false
}

// effect notes whether calls make a text appear, or go.
func (t *graphTrial) effect(ctx context.Context, one graphTool, calls []Call, text, adds, removes string) {
	before, _ := t.call(ctx, *t.of.read)
	if _, ok := t.call(ctx, calls...); !ok {
		return
	}
	after, _ := t.call(ctx, *t.of.read)
	was, is := strings.Contains(before, text), strings.Contains(after, text)
	if _, known := t.of.does[adds]; !was && is && !known {
		t.of.does[adds] = one
	}
	if _, known := t.of.does[removes]; was && !is && !known {
		t.of.does[removes] = one
	}
}

// text tries a tool that takes names or a text alone: it removes a thing, opens one, or finds one by what it says.
func (t *graphTrial) text(ctx context.Context, one graphTool) {
	said, ok := t.call(ctx, one.texts(tryThing))
	after, _ := t.call(ctx, *t.of.read)
	switch {
	case !ok:
	case !strings.Contains(after, tryThing) && strings.Contains(after, tryOther):
		if _, known := t.of.does[programs.RemoveThing]; !known {
			t.of.does[programs.RemoveThing] = one
		}
		add := t.of.does[programs.AddThing]
		t.call(ctx, add.items([]json.RawMessage{add.thing(programs.Thing{Name: tryThing, Type: tryType,
			Notes: []string{tryNote, "second " + tryNote}})})...)
	case !strings.Contains(said, tryNote):
	default:
		found, _ := t.call(ctx, one.texts("cond "+tryNote))
		if strings.Contains(found, tryThing) && !strings.Contains(found, "other remark") && one.list == "" {
			t.of.find = &one
		} else if one.list != "" && !strings.Contains(said, "other remark") {
			t.of.open = &one
		}
	}
}

// graph reads what the reading tool shows; ok is false where that is no graph.
func (g *graphServer) graph(text string) (programs.Graph, bool) {
	return g.part(text, func(json.RawMessage) bool { return true })
}

// part reads some of the things and relations that a tool shows: those whose texts are wanted.
func (g *graphServer) part(text string, want func(json.RawMessage) bool) (graph programs.Graph, ok bool) {
	for _, list := range members(json.RawMessage(strings.TrimSpace(text))) {
		for _, one := range listOf(list.raw) {
			if !want(one) {
				ok = true
				continue
			}
			var t programs.Thing
			var r programs.Relation
			for _, m := range members(one) {
				w := words(m.name)
				has := func(list ...string) bool {
					return slices.ContainsFunc(w, func(x string) bool { return slices.Contains(list, x) })
				}
				switch {
				case len(m.raw) > 0 && m.raw[0] == '[':
					t.Notes = textsOf(m.raw)
				case has("from", "source", "subject"):
					r.From = textOf(m.raw)
				case has("to", "target", "object"):
					r.To = textOf(m.raw)
				case has("type", "kind", "category", "predicate", "relation"):
					r.Type, t.Type = textOf(m.raw), textOf(m.raw)
				case has("name", "title", "entity", "node"):
					t.Name = textOf(m.raw)
				}
			}
			switch {
			case t.Name != "":
				graph.Things, ok = append(graph.Things, t), true
			case r.From != "" && r.To != "":
				graph.Relations = append(graph.Relations, r)
			default:
				return graph, false
			}
		}
	}
	return graph, ok || strings.HasPrefix(strings.TrimSpace(text), "{")
}
