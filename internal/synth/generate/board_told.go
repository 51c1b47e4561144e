package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// tellStage is told how far a thing is: "The poster is finished." Its state follows from that. At times one more change
// of it is asked for.
func (b *boarding) tellStage(r *rand.Rand) *boardTask {
	i := b.table.StageColumn()
	row, slots := b.named(r)
	if i < 0 || row == nil || b.columns[i].edit == nil || strings.Contains(slots["x"], " that ") {
		return nil
	}
	stage := pick(r, []programs.Stage{programs.Done, programs.Done, programs.Begun, programs.NotBegun})
	v, edit := b.table.StageValue(i, stage), b.columns[i].edit
	if v == "" || v == programs.Show(row[i]) {
		return nil
	}
	pattern := map[programs.Stage]string{programs.Done: "told_done", programs.Begun: "told_begun",
		programs.NotBegun: "told_back"}[stage]
	list := []deed{{column: i, value: v, argument: member{edit.name, edit.value(v)},
		Deed: programs.Deed{Pattern: "do_set", Slots: map[string]string{"attr": "", "v": v}}}}
	act := programs.NewAct(programs.Set, pattern, slots)
	if stage == programs.Done && r.IntN(2) == 0 {
		if list = b.moreDeeds(r, row, list, 2); len(list) < 2 || list[1].reads != "" {
			return nil
		}
		act = programs.NewAct(severalEdits, "told_does", slots).Does("does", saidDeeds(list[1:])...)
	}
	return b.does(b.act(r, act, row, false), row, list)
}

// editEach makes the same two changes of each thing that meets a condition: a property is set, and a text added.
func (b *boarding) editEach(r *rand.Rand) *boardTask {
	p, ok := b.textPart(r, func(p section) bool { return p.add != nil && !p.listed })
	t, rows, _ := b.some(r, programs.SetAll, "each_does", 2, mostViewed)
	if !ok || t == nil {
		return nil
	}
	set, able := b.propertyDeed(r, rows[0])
	_, where, _ := t.Needs()
	if !able || set.reads != "" || slices.ContainsFunc(where, func(c programs.Cond) bool {
		return c.Column == set.column
	}) {
		return nil
	}
	v := p.written(r)
	var lines []string
	var said []programs.Deed
	for _, row := range rows {
		add := b.addDeed(r, row, p, v)
		if b.columns[set.column].isFor() && len(parted(row[set.column])) > 1 { // who of them goes is not said
			return nil
		}
		lines = append(lines, b.key(row)+" "+b.table.NameOf(row))
		said = saidDeeds([]deed{set, add})
		b.does(t, row, []deed{set, add})
	}
	t.Does("does", said...)
	t.works(lines...)
	return b.sparing(r, t, rows)
}

// askWith asks for the things that meet a condition, each with a property.
func (b *boarding) askWith(r *rand.Rand) *boardTask {
	t, rows, slots := b.some(r, programs.List, "list_with", 2, 2*mostViewed)
	if t == nil {
		return nil
	}
	_, where, _ := t.Needs()
	var able []int
	for i, c := range b.table.Columns {
		if i != b.table.Key && i != b.table.Label && !c.Note && !slices.ContainsFunc(where,
			func(o programs.Cond) bool { return o.Column == i }) && !slices.ContainsFunc(rows,
			func(row []any) bool { return programs.Show(row[i]) == "" }) {
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return nil
	}
	i := pick(r, able)
	if b.columns[i].hidden {
		if len(rows) > mostViewed {
			return nil
		}
		for _, row := range rows {
			t.look(b.viewOf(row))
		}
	}
	b.findsNamed(t, nil, []int{i})
	var said []string
	for _, row := range rows {
		value := strings.Join(parted(row[i]), ", ")
		if ref := b.table.Columns[i].Ref; ref != nil {
			value = programs.Show(ref.LabelOf(row[i]))
		}
		if value == "" || strings.ContainsAny(b.table.NameOf(row)+value, ":\n") {
			return nil
		}
		said = append(said, fmt.Sprintf("%s: %s", b.table.NameOf(row), value))
	}
	slots["attr"] = strings.ToLower(b.table.Columns[i].Caption())
	answer := programs.Answer{Form: "each", Values: said}
	found := t.TakeWorking()
	t.Program = programs.NewQuestion(programs.List, "list_with", slots, answer, b.table).Work(found)
	return t
}

// noteBoth puts the same text on two things that are named.
func (b *boarding) noteBoth(r *rand.Rand) *boardTask {
	p, ok := b.textPart(r, func(p section) bool { return p.add != nil && !p.listed })
	t, rows, slots := b.someNamed(r, severalEdits, "note_both", 2)
	if !ok || t == nil {
		return nil
	}
	v := p.written(r)
	slots["attr"], slots["v"] = b.called(r, p), v
	for _, row := range rows {
		b.does(t, row, []deed{b.addDeed(r, row, p, v)})
	}
	return b.sparing(r, t, rows)
}
