package generate

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// as says the changes of a list in the patterns of another form, where each is a change of a property.
func as(form string, list []deed) (said []programs.Deed, ok bool) {
	for _, d := range list {
		name, is := strings.CutPrefix(d.Pattern, "do_")
		if !is || d.column < 0 && (form != "as_" || name != "write") || name == "close" && form != "as_" {
			return nil, false
		}
		said = append(said, programs.Deed{Pattern: form + name, Slots: maps.Clone(d.Slots)})
	}
	return said, len(list) > 0
}

// editThings changes two or three things, each in its own way, of which one message tells.
func (b *boarding) editThings(r *rand.Rand) *boardTask {
	n := 2 + r.IntN(2)
	t := &boardTask{after: map[string]map[string]string{}}
	var said []programs.Deed
	var lines []string
	var rows [][]any
	for range 4 * n {
		row, slots := b.named(r)
		if len(rows) == n || row == nil || slices.ContainsFunc(rows, func(o []any) bool { return &o[0] == &row[0] }) {
			continue
		}
		list := b.moreDeeds(r, row, nil, 1)
		told, ok := as("of_", list)
		if !ok || slices.ContainsFunc(said, func(d programs.Deed) bool { return d.Slots["v"] == told[0].Slots["v"] }) {
			continue
		}
		told[0].Slots["x"] = slots["x"]
		rows, said = append(rows, row), append(said, told[0])
		if t.shown = append(t.shown, programs.Show(row[b.table.Label])); list[0].reads != "" {
			lines = append(lines, b.table.NameOf(row)+": "+list[0].reads)
			t.look(b.viewOf(row))
		}
		b.does(t, row, list)
	}
	if len(rows) < 2 {
		return nil
	}
	t.reads = slices.Insert(t.reads, 0, b.list.bare())
	t.Program = programs.NewAct(severalEdits, "things_told", b.table.Slots(nil)).Does("does", said...).Work(lines...)
	return b.sparing(r, t, rows)
}

// editShort changes properties of one thing whose names the request leaves out: "the stage: Nora, high, due 3 May".
func (b *boarding) editShort(r *rand.Rand) *boardTask {
	row, slots := b.named(r)
	if row == nil {
		return nil
	}
	list := b.moreDeeds(r, row, nil, 2+r.IntN(2))
	sort.SliceStable(list, func(i, j int) bool { return list[i].column > list[j].column }) // a text stands last
	said, ok := as("as_", list)
	if !ok || len(list) < 2 || slices.ContainsFunc(list, func(d deed) bool { return d.reads != "" }) {
		return nil
	}
	act := programs.NewAct(severalEdits, "edit_short", slots).Does("does", said...)
	return b.does(b.act(r, act, row, false), row, list)
}

// finishAll puts away all that is done, and says how many that are.
func (b *boarding) finishAll(r *rand.Rand) *boardTask {
	f := b.finish
	t := &boardTask{after: map[string]map[string]string{}}
	var done [][]any
	edit := b.columns[f.column].edit
	for _, at := range r.Perm(len(b.table.Rows)) {
		row := b.table.Rows[at]
		is := programs.Show(row[f.column]) == f.value
		if !is && len(t.setup) < 2 && r.IntN(6) == 0 { // a session begins with more
			t.setup, is = append(t.setup, b.changeOf(b.key(row), member{edit.name, edit.value(f.value)})...), true
		}
		if is {
			done = append(done, row)
		}
	}
	if len(done) < 2 || len(done) > mostEach {
		return nil
	}
	slots := b.table.Slots(nil)
	slots["verb"], slots["v"] = f.verb(), f.value
	t.look(b.list.bare())
	if p := b.columns[f.column].filter; p != nil && r.IntN(2) == 0 {
		t.reads = []Call{b.list.filtered(member{p.name, p.value(f.value)})}
	}
	var lines []string
	for _, row := range done {
		t.shown = append(t.shown, programs.Show(row[b.table.Label]))
		lines = append(lines, b.key(row)+" "+b.table.NameOf(row))
		t.changes, t.after[b.key(row)] = append(t.changes, f.tool.keyed(b.key(row))), nil
	}
	lines = append(lines, strconv.Itoa(len(done))+" in all")
	answer := programs.Answer{Form: "number", Values: []string{strconv.Itoa(len(done))}}
	t.Program = programs.NewQuestion(programs.SetAll, "finish_all", slots, answer, b.table).Work(lines...)
	return t
}

// deedVerbs are what tools do to a thing by its key alone.
func deedVerbs() []string {
	return strings.Fields("complete finish close resolve reopen cancel start stop pause resume confirm approve star " +
		"unstar pin unpin lock unlock suspend unsuspend bury unbury archive unarchive activate deactivate enable " +
		"disable publish submit reset review")
}

// findActs finds the tools that do something to a thing by its key alone.
func (b *boarding) findActs() (list []*subject) {
	for _, s := range b.m.tools {
		if s.Server == b.server && s.mayTry() && !s.ReadOnly && s != b.archive && b.takesKey(s) &&
			!slices.Contains(b.editors, s) && s.hasVerb(deedVerbs()...) && sharesNoun(s, b.list) &&
			(b.finish == nil || s != b.finish.tool) {
			list = append(list, s)
		}
	}
	return list
}

// deedOf is the verb in the name of such a tool.
func deedOf(s *subject) string {
	said := words(s.Name)
	return said[slices.IndexFunc(said, func(w string) bool { return slices.Contains(deedVerbs(), w) })]
}

// doTo calls such a tool on a thing, whose view must then say something else.
func (b *boarding) doTo(t *boardTask, s *subject, row []any) {
	t.changes = append(t.changes, s.keyed(b.key(row)))
	b.seesOf(t, row, func(view string) bool { return differs(b.looks[b.key(row)], view) })
}

// differs reports whether a view says something else than before, beside the time of a change.
func differs(before, view string) bool {
	was, is := pairsOf(before), pairsOf(view)
	if len(is) == 0 {
		return view != before
	}
	for name, v := range is {
		said := words(name)
		if v != was[name] && !share(said, []string{"updated", "modified"}) && (was[name] == "" || !volatile(name)) {
			return true
		}
	}
	return false
}

// actOn does something to a thing.
func (b *boarding) actOn(r *rand.Rand) *boardTask {
	s := pick(r, b.acts)
	row, slots := b.named(r)
	if row == nil {
		return nil
	}
	slots["verb"] = deedOf(s)
	t := b.act(r, programs.NewAct(programs.Set, "verb", slots), row, false)
	b.doTo(t, s, row)
	return t
}

// actOnAll does it to all that meets a condition.
func (b *boarding) actOnAll(r *rand.Rand) *boardTask {
	s := pick(r, b.acts)
	t, rows, slots := b.some(r, programs.SetAll, "verb_all", 2, mostEach)
	if t == nil {
		return nil
	}
	slots["verb"] = deedOf(s)
	for _, row := range rows {
		b.doTo(t, s, row)
	}
	return b.sparing(r, t, rows)
}

// askWhich draws a change of a thing that is called by a word which several have: which of them is to be asked.
func (b *boarding) askWhich(r *rand.Rand) *boardTask {
	row := b.row(r)
	list := b.moreDeeds(r, row, nil, 1)
	if row == nil || len(list) == 0 {
		return nil
	}
	word := pick(r, strings.Fields(programs.Show(row[b.table.Label])))
	var names []string
	for _, o := range b.table.Rows {
		if name := programs.Show(o[b.table.Label]); slices.Contains(strings.Fields(name), word) {
			names = append(names, name)
		}
	}
	if len(word) < 5 || len(names) < 2 || len(names) > mostEach || strings.ContainsAny(word, `",.:;()`) {
		return nil
	}
	slots := b.table.Slots(nil)
	slots["x"] = "the " + strings.ToLower(word) + " " + b.table.One
	list[0].Slots["x"] = slots["x"]
	said, ok := as("of_", list)
	if !ok {
		return nil
	}
	act := programs.AskWhich("things_told", slots, names).Does("does", said...)
	t := &boardTask{Program: act, shown: names}
	t.look(b.list.bare())
	if s := b.search; s != nil && r.IntN(2) == 0 {
		t.reads = []Call{{Tool: s.Name, Arguments: objectOf(member{s.queryField(), quote(strings.ToLower(word))})}}
	}
	return t
}

// cannot is a request about a thing that no tool of a board does.
func (b *boarding) cannot(r *rand.Rand) *boardTask {
	row, slots := b.named(r)
	if row == nil {
		return nil
	}
	day := pick(r, []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"})
	who := pick(r, []string{"the caretaker", "our supplier", "the landlord", "the printer's", "the insurance"})
	deed := pick(r, [][2]string{
		{"ring {who} about {x} and tell me what they say", "make phone calls"},
		{"call {who} because of {x} and ask for a date", "make phone calls"},
		{"mail {who} that {x} is late", "send messages"}, {"send {who} a reminder of {x} on {day}", "send messages"},
		{"book a van for {x} on {day}", "book anything"}, {"order what is needed for {x}", "order anything"},
		{"pay the bill for {x}", "pay anything"}, {"print {x} twice", "print"},
		{"put {x} on our website and send me the link", "upload anything"},
		{"take a photo of {x} on {day}", "take photos"}, {"wake me on {day} for {x}", "wake anybody"}})
	slots["verb"] = strings.NewReplacer("{x}", slots["x"], "{who}", who, "{day}", day).Replace(deed[0])
	answer := programs.Answer{Form: "cannot",
		Values: []string{"I can't do that: none of my tools can " + deed[1] + "."}}
	return &boardTask{Program: programs.NewQuestion(programs.Cannot, "cannot", slots, answer)}
}

// roster is a list of texts that stands for itself: one tool shows it, and one writes all of it anew.
type roster struct {
	show, write *subject
	field       *param
	name        string
}

// findRosters finds such lists: their two tools have a name but for the verb.
func (b *boarding) findRosters() (list []roster) {
	verbs := []string{"get", "list", "show", "view", "read", "set", "update", "upsert", "write", "put", "replace"}
	stem := func(s *subject) string {
		return strings.Join(slices.DeleteFunc(words(s.Name), func(w string) bool { return slices.Contains(verbs, w) }),
			" ")
	}
	for _, s := range b.m.tools {
		fields := s.schema.fields
		if s.Server != b.server || s.ReadOnly || !s.mayTry() || len(fields) != 1 || !fields[0].required ||
			fields[0].kind != "array" || !fields[0].isText() || !s.hasVerb(verbs...) {
			continue
		}
		for _, show := range b.m.tools {
			if show.Server == b.server && show != s && show.mayTry() && len(show.schema.fields) == 0 &&
				stem(show) == stem(s) {
				name := stem(s)
				if strings.Contains(s.Name, name[strings.LastIndexByte(name, ' ')+1:]+"s") {
					name += "s"
				}
				list = append(list, roster{show, s, &s.schema.fields[0], name})
			}
		}
	}
	return list
}

// writesRoster reports whether calls write such a list: a server may keep it in its memory when its files are put back.
func (b *boarding) writesRoster(x play) bool {
	return slices.ContainsFunc(slices.Concat(x.Setup, x.Calls), func(c Call) bool {
		return slices.ContainsFunc(b.rosters, func(s roster) bool { return s.write.Name == c.Tool })
	})
}

// editRoster adds an entry to a list that is written as a whole, or takes one out: the others stay.
func (b *boarding) editRoster(r *rand.Rand) *boardTask {
	s := pick(r, b.rosters)
	var has []string
	for range 2 + r.IntN(3) {
		if text := newPoint(r); !slices.Contains(has, text) {
			has = append(has, text)
		}
	}
	write := func(list []string) Call {
		return Call{Tool: s.write.Name, Arguments: objectOf(member{s.field.name, s.field.texts(list...)})}
	}
	pattern, v, now := "setting_add", newPoint(r), slices.Clone(has)
	if now = append(now, v); slices.Contains(has, v) {
		at := r.IntN(len(has))
		pattern, v, now = "setting_drop", has[at], slices.Delete(slices.Clone(has), at, at+1)
	}
	act := programs.NewAct(programs.Set, pattern, map[string]string{"attr": s.name, "v": v})
	t := &boardTask{Program: act.Work("now: " + strings.Join(has, "; ")), setup: []Call{write(has)}, shown: has}
	t.look(s.show.bare())
	t.changes = []Call{write(now)}
	return t.sees(s.show.bare(), func(text string) bool {
		return !slices.ContainsFunc(now, func(v string) bool { return !strings.Contains(text, v) }) &&
			strings.Contains(text, v) == slices.Contains(now, v)
	})
}
