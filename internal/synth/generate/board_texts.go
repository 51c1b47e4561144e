package generate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// textPart draws a part whose lines are plain text.
func (b *boarding) textPart(r *rand.Rand, able func(p section) bool) (p section, ok bool) {
	var parts []section
	for _, p := range b.parts {
		if !p.points && !p.links && able(p) {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return p, false
	}
	return pick(r, parts), true
}

// written is what somebody writes into a part: where it holds a list of references a page, else a remark.
func (p section) written(r *rand.Rand) string {
	if p.listed {
		name := pick(r, []string{"offer", "plan", "sketch", "manual", "invoice", "minutes", "contract", "photos"})
		return pick(r, []string{"https://example.org/", "files/", "docs/"}) + name +
			pick(r, []string{".pdf", ".md", "-2.pdf", "-final.pdf"})
	}
	text := remark(r)
	return strings.ToUpper(text[:1]) + text[1:] + pick(r, []string{"", "."})
}

// has has the view of a thing say a text in a part.
func (b *boarding) has(t *boardTask, row []any, p section, want ...string) *boardTask {
	return b.seesOf(t, row, func(text string) bool {
		return !slices.ContainsFunc(want, func(w string) bool {
			return !strings.Contains(partOf(text, p.title).says(), w)
		})
	})
}

// addText puts a text below what a part says, which a session may begin with.
func (b *boarding) addText(r *rand.Rand) *boardTask {
	by := func(p section) *param { return p.add }
	t, row, p, before := b.putText(r, programs.Insert, "part_add", by, 2)
	if t == nil {
		return nil
	}
	return b.has(t, row, p, before, t.free[0])
}

// writeText says what a part is to say, whatever it says now.
func (b *boarding) writeText(r *rand.Rand) *boardTask {
	by := func(p section) *param { return p.set }
	t, row, p, _ := b.putText(r, programs.Set, "part_write", by, 3)
	if t == nil {
		return nil
	}
	return b.seesOf(t, row, func(text string) bool { return partOf(text, p.title).says() == t.free[0] })
}

// putText puts a text into a part of a thing by one of its parameters. One of so many sessions begins with a text
// before, put there in the same way; "" in the others.
func (b *boarding) putText(
	r *rand.Rand, kind, pattern string, by func(section) *param, begins int,
) (t *boardTask, row []any, p section, before string) {
	p, ok := b.textPart(r, func(p section) bool { return by(p) != nil })
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil, nil, p, ""
	}
	put := func(text string) member { return member{by(p).name, by(p).texts(text)} }
	slots["attr"], slots["v"] = b.called(r, p), p.written(r)
	t = b.act(r, programs.NewAct(kind, pattern, slots), row, r.IntN(3) == 0, put(slots["v"]))
	t.free = []string{slots["v"]}
	if before = p.written(r); r.IntN(begins) > 0 || before == slots["v"] {
		return t, row, p, ""
	}
	t.setup = b.changeOf(b.key(row), put(before))
	return t, row, p, before
}

// clause is something that people note, as it stands behind "that".
func clause(r *rand.Rand) string {
	day := pick(r, []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"})
	return pick(r, []string{"the delivery arrives on " + day, "nobody is there on " + day,
		pick(r, []string{"Nora", "Felix", "Ines", "Omar"}) + " has the key",
		fmt.Sprintf("the price went up to %d euros", 20+10*r.IntN(60)), "we are still waiting for an answer",
		"the old version is in the archive", "half of it has been paid", "the meeting was moved to " + day,
		pick(r, []string{"Wanda", "Paul", "Julia", "Sven"}) + " will call back on " + day,
		fmt.Sprintf("it takes about %d hours", 2+r.IntN(9)), fmt.Sprintf("%d people are needed", 2+r.IntN(6)),
		"the contract is signed", "the receipt is missing", "it has to be quiet after eight"})
}

// noteThat adds something that the request says in its own words.
func (b *boarding) noteThat(r *rand.Rand) *boardTask {
	p, ok := b.textPart(r, func(p section) bool { return p.add != nil && !p.listed })
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil
	}
	slots["attr"], slots["v"] = b.called(r, p), clause(r)
	said := strings.ToUpper(slots["v"][:1]) + slots["v"][1:]
	t := b.act(r, programs.NewAct(programs.Insert, "part_note", slots), row, r.IntN(3) == 0,
		member{p.add.name, p.add.texts(said + ".")})
	t.free = []string{said + "."}
	return b.has(t, row, p, said)
}

// clearText takes away what a part says.
func (b *boarding) clearText(r *rand.Rand) *boardTask {
	p, ok := b.textPart(r, func(p section) bool { return p.set != nil && p.clear != nil })
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil
	}
	slots["attr"] = b.called(r, p)
	t := b.act(r, programs.NewAct(programs.Remove, "part_clear", slots), row, r.IntN(2) == 0,
		member{p.clear.name, json.RawMessage("true")})
	t.setup = b.changeOf(b.key(row), member{p.set.name, p.set.texts(p.written(r))})
	return b.seesOf(t, row, func(text string) bool { return partOf(text, p.title).says() == "" })
}

// askText asks what a part says.
func (b *boarding) askText(r *rand.Rand) *boardTask {
	p, ok := b.textPart(r, func(p section) bool { return p.set != nil && !p.listed })
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil
	}
	says := partOf(b.looks[b.key(row)], p.title).says()
	slots["attr"] = b.called(r, p)
	if says == "" && r.IntN(4) == 0 {
		said := "There is no " + slots["attr"] + " on record for it."
		none := programs.Answer{Form: "unknown", Values: []string{said}}
		return b.act(r, programs.NewQuestion(programs.Unknown, "part_says", slots, none, b.table), row, true)
	}
	var setup []Call
	if says == "" {
		says = p.written(r)
		setup = b.changeOf(b.key(row), member{p.set.name, p.set.texts(says)})
	}
	if strings.Contains(says, "\n") || len(says) > 200 {
		return nil
	}
	answer := programs.Answer{Form: "text", Values: []string{strings.TrimSuffix(says, ".")}}
	t := b.act(r, programs.NewQuestion(programs.Lookup, "part_says", slots, answer, b.table), row, true)
	t.setup = setup
	t.says = func(text string) bool { return partOf(text, p.title).says() == says }
	return t
}

// makeWith makes a thing with a text in a part, which its view alone shows.
func (b *boarding) makeWith(r *rand.Rand) *boardTask {
	var parts []section
	for _, p := range b.parts {
		if p.create != nil && !p.links {
			parts = append(parts, p)
		}
	}
	name := b.columns[b.table.Label].create
	if b.create == nil || name == nil || len(parts) == 0 {
		return nil
	}
	p, title := pick(r, parts), b.newName(r)
	slots := b.table.Slots(nil)
	slots["x"], slots["attr"], slots["v"] = title, b.called(r, p), p.written(r)
	if p.points {
		slots["v"] = newPoint(r)
	}
	t := &boardTask{Program: programs.NewAct(programs.Insert, "make_with", slots), made: title,
		madeSays: []string{slots["v"]}, after: map[string]map[string]string{}}
	t.changes = []Call{{Tool: b.create.Name, Arguments: objectOf(member{name.name, quote(title)},
		member{p.create.name, p.create.texts(slots["v"])})}}
	return b.told(t)
}

// newName is a name for a new thing that no other has.
func (b *boarding) newName(r *rand.Rand) string {
	for {
		name, _ := programs.Natural(r, []string{"task"}, "title")
		if !slices.ContainsFunc(b.table.Rows, func(row []any) bool {
			return strings.Contains(programs.Show(row[b.table.Label]), name)
		}) {
			return name
		}
	}
}

// told is a task of a new thing whose call is taken; nil where it is not.
func (b *boarding) told(t *boardTask) *boardTask {
	if !b.create.takes(string(t.changes[0].Arguments)) {
		return nil
	}
	return t
}

// fixText changes a line of a part that is written as a whole, or adds one below: the rest of it stays.
func (b *boarding) fixText(r *rand.Rand) *boardTask {
	p, ok := b.textPart(r, func(p section) bool { return p.set != nil && !p.listed })
	row, slots := b.named(r)
	if !ok || row == nil {
		return nil
	}
	_, body := inventPaper(r)
	one := paper{title: "", body: body}
	slots["attr"] = b.called(r, p)
	var pattern string
	now := slices.Clone(body)
	if at, name, value := one.entry(r); r.IntN(2) == 0 && at >= 0 {
		pattern, slots["a"], slots["v"] = "text_set", name, one.otherValue(r, at, value)
		if now[at] = name + ": " + slots["v"]; slots["v"] == value {
			return nil
		}
	} else {
		pattern, slots["v"] = "text_line", one.lastLine(r)
		if now = append(now, slots["v"]); slots["v"] == "" {
			return nil
		}
	}
	text := strings.Join(now, "\n")
	act := programs.NewAct(programs.Set, pattern, slots).Work(body...)
	t := b.act(r, act, row, true, member{p.set.name, p.set.texts(text)})
	t.setup = b.changeOf(b.key(row), member{p.set.name, p.set.texts(strings.Join(body, "\n"))})
	return b.seesOf(t, row, func(view string) bool { return partOf(view, p.title).says() == text })
}
