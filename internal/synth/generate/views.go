package generate

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// view is a tool that shows one thing by its key, and what it says of each thing of a table beside what is listed.
type view struct {
	tool   *subject
	table  *programs.Table
	before map[string]string      // what it shows, by key
	notes  map[string][][2]string // properties of a thing, by key
}

// mostViews bounds the things of one state that are viewed.
const mostViews = 12

// call views the thing with a key.
func (v *view) call(key string) Call { return v.tool.keyed(key) }

// keyField is the one parameter that a tool must have, where that may be a key; "" where there is none.
func (s *subject) keyField() string {
	if p := s.keyParam(); p != nil {
		return p.name
	}
	return ""
}

func (s *subject) keyParam() (key *param) {
	for i := range s.schema.fields {
		switch p := &s.schema.fields[i]; {
		case !p.required:
		case key != nil || !p.mayBeKey():
			return nil
		default:
			key = p
		}
	}
	return key
}

// mayBeKey reports whether a parameter takes a text or a number, or a list of these.
func (p *param) mayBeKey() bool {
	if p.kind == "array" {
		return p.items != nil && p.items.kind != "array" && p.items.mayBeKey()
	}
	return slices.Contains([]string{"string", "integer", "number"}, p.kind) && len(p.choices) == 0
}

// ofKey is a key as a parameter takes it.
func (p *param) ofKey(key string) json.RawMessage {
	if p.kind == "array" {
		return slices.Concat(json.RawMessage("["), p.items.ofKey(key), json.RawMessage("]"))
	}
	return p.value(key)
}

// nameColumns names what an outline does not name itself, by a parameter of the server's tools that takes the values:
// "To Do" above and "HIGH" before an entry are its status and its priority. Values are spelt as the parameter has them.
func (m *maker) nameColumns(tool string, records []programs.Record) {
	for _, name := range []string{programs.OutlineGroup, programs.OutlineTag} {
		at := slices.Index(records[0].Names, name)
		if at < 0 {
			continue
		}
		for _, s := range m.tools {
			if s.Server != m.byName[tool].Server {
				continue
			}
			i := slices.IndexFunc(s.schema.fields, func(p param) bool { return p.takesAll(records, at) })
			if i < 0 {
				continue
			}
			for k := range records {
				records[k].Names[at] = s.schema.fields[i].name
				if v := records[k].Values[at]; v != nil {
					records[k].Values[at] = s.schema.fields[i].spelt(programs.Show(v))
				}
			}
			break
		}
	}
}

// takesAll reports whether the values of a column are all choices of a parameter.
func (p param) takesAll(records []programs.Record, at int) bool {
	return len(p.choices) > 1 && !slices.ContainsFunc(records, func(r programs.Record) bool {
		return r.Values[at] != nil && p.spelt(programs.Show(r.Values[at])) == ""
	})
}

// spelt is a choice as the parameter has it; "" where it has none like it.
func (p param) spelt(value string) string {
	for _, c := range p.choices {
		if text := textOf(c); strings.EqualFold(text, value) {
			return text
		}
	}
	return ""
}

// learnViews tries the reading tools with the key of a thing: one that shows its name views things. What it says of
// each is noted.
func (m *maker) learnViews(ctx context.Context, shelves []*shelf) error {
	for _, s := range shelves {
		for _, t := range s.Tables {
			if s.views != nil || t.Key < 0 || t.Label < 0 || t.Key == t.Label ||
				t.Columns[t.Key].Kind != programs.Text && t.Columns[t.Key].Kind != programs.Number {
				continue
			}
			for _, tool := range m.tools {
				if tool.Server != s.server || !tool.pure || tool.keyField() == "" {
					continue
				}
				v := &view{tool: tool, table: t, before: map[string]string{},
					notes: map[string][][2]string{}}
				if ok, err := m.viewAll(ctx, s, v); err != nil {
					return err
				} else if ok {
					s.views = v
					break
				}
			}
		}
	}
	return nil
}

// viewAll views the first things of a table; ok is false where the tool does not show them.
func (m *maker) viewAll(ctx context.Context, s *shelf, v *view) (ok bool, err error) {
	t := v.table
	rows := t.Rows[:min(mostViews, len(t.Rows))]
	for i := range rows {
		if i == 1 && !ok { // one tells
			return false, nil
		}
		key := programs.Show(rows[i][t.Key])
		got, err := m.playAndTell(ctx, "view", []play{{Setup: s.realm.setup, Calls: []Call{v.call(key)}}})
		if err != nil {
			return false, err
		}
		if got[0].Lost != "" || !got[0].Results[0].ok() {
			return false, nil
		}
		text := got[0].Results[0].Text
		if ok = strings.Contains(text, programs.Show(rows[i][t.Label])); !ok {
			return false, nil
		}
		v.before[key] = text
		for _, note := range programs.Notes(text) {
			if v.tells(note, rows[i]) && !saysNow(note[1], []int64{got[0].At}) && strings.Count(text, note[1]) == 1 {
				v.notes[key] = append(v.notes[key], note)
			}
		}
	}
	return ok, nil
}

// tells reports whether a note says what the list does not, and something.
func (v *view) tells(note [2]string, row []any) bool {
	value := strings.ToLower(note[1])
	nothing := value == "none" || value == "(none)" || value == "-" || strings.HasPrefix(value, "no ") ||
		strings.Contains(value, dirMark)
	return !nothing && len(value) <= 80 && !slices.ContainsFunc(row, func(o any) bool {
		listed := strings.ToLower(programs.Show(o))
		return listed != "" && (strings.Contains(value, listed) || strings.Contains(listed, value))
	})
}

// noteQuestion asks for what a view says of a thing.
func (s *shelf) noteQuestion(r *rand.Rand) (*programs.Program, []Call) {
	row := pick(r, s.views.table.Rows)
	key := programs.Show(row[s.views.table.Key])
	notes := s.views.notes[key]
	if len(notes) == 0 || s.views.table.NameOf(row) == "" {
		return nil, nil
	}
	note := pick(r, notes)
	slots := s.views.table.Slots(row)
	slots["attr"] = programs.Words(note[0])
	p := programs.NewQuestion(programs.Lookup, "lookup", slots,
		programs.Answer{Form: "text", Values: []string{strings.TrimPrefix(note[1], "@")}}, s.views.table)
	return p, []Call{s.shown[s.views.table], s.views.call(key)}
}

// oneAtATime are calls of a tool that takes a thing's key and much else: with the key and one other value each, so that
// it shows what each does.
func (m *maker) oneAtATime(r *rand.Rand, s *shelf, t *subject) (plays []play) {
	field := t.keyField()
	if s.views == nil || field == "" {
		return nil
	}
	rows := s.views.table.Rows
	for i, p := range t.schema.fields {
		value, ok := filler{r, t, &s.realm.known}.value(p, nil)
		if p.required || !ok || len(value) == 0 || value[0] == '{' || value[0] == 't' || value[0] == 'f' {
			continue
		}
		key := programs.Show(rows[i%len(rows)][s.views.table.Key])
		arguments := slices.Concat(json.RawMessage("{"), quote(field), json.RawMessage(":"), t.keyParam().ofKey(key),
			json.RawMessage(","), quote(p.name), json.RawMessage(":"), firsts(value), json.RawMessage("}"))
		if t.takes(string(arguments)) {
			plays = append(plays, play{Setup: s.realm.setup, Calls: []Call{{Tool: t.Name, Arguments: arguments}},
				Looks: append(slices.Clone(s.realm.looks), s.views.call(key))})
		}
	}
	return plays
}

// learnNote tells that a call with a key and a value has the value stand in the view of the thing.
func (m *maker) learnNote(s *shelf, c Call, after string) (a act, ok bool) {
	t := m.byName[c.Tool]
	var leaves []leaf
	if walk(nil, c.Arguments, &leaves); len(leaves) != 2 {
		return a, false
	}
	before := s.views.before[leaves[0].text()]
	i := slices.IndexFunc(t.schema.fields, func(p param) bool { return p.name == leaves[1].path[0] })
	if _, found := addedLine(before, after, after); !found || i < 0 || before == "" ||
		!strings.Contains(after, leaves[1].text()) || strings.Contains(before, leaves[1].text()) {
		return a, false
	}
	return act{
		tool:   t,
		does:   actNote,
		table:  s.views.table.Name,
		names:  columnNames(s.views.table),
		key:    s.views.table.Key,
		keyAt:  leaves[0].pointer(),
		valAt:  leaves[1].pointer(),
		column: -1,
		sample: c.Arguments,
		value:  t.schema.fields[i],
	}, true
}

// changeNote changes what only a view of a thing shows. The view tells whether it was done.
func (m *maker) changeNote(r *rand.Rand, s *shelf, a act) (p *programs.Program, calls []Call, look *noted) {
	t := s.tableByName(a.table)
	row := pick(r, t.Rows)
	if row[a.key] == nil || t.NameOf(row) == "" || s.views == nil || s.views.tool.Server != a.tool.Server {
		return nil, nil, nil
	}
	key := programs.Show(row[a.key])
	before := s.views.before[key]
	value, ok := filler{r, a.tool, &s.realm.known}.value(a.value, nil)
	var leaves []leaf
	if value = firsts(value); ok {
		walk(nil, value, &leaves)
	}
	if before == "" || len(leaves) != 1 || strings.Contains(before, leaves[0].text()) || len(leaves[0].text()) > 80 {
		return nil, nil, nil
	}
	slots := t.Slots(row)
	slots["table"], slots["v"] = t.Name, leaves[0].text()
	pattern, said := "set", words(a.value.name)
	for _, verb := range []string{"add", "append"} {
		if slices.Contains(said, verb) {
			pattern = "append_as"
			said = slices.DeleteFunc(said, func(w string) bool { return w == verb })
		}
	}
	slots["attr"] = strings.Join(slices.DeleteFunc(said, func(w string) bool { return w == "set" }), " ")
	arguments := withLeaf(withLeaf(a.sample, a.keyAt, key), a.valAt, leaves[0].text())
	return programs.NewAct(programs.Set, pattern, slots), []Call{s.shown[t], {Tool: a.tool.Name, Arguments: arguments}},
		&noted{look: s.views.call(key), before: before}
}

// noted is a look at one thing, and what it showed before.
type noted struct {
	look   Call
	before string
}
