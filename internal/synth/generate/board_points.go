package generate

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

func ticks(p section) bool   { return p.tick != nil }
func unticks(p section) bool { return p.untick != nil && p.tick != nil }
func drops(p section) bool   { return p.remove != nil && p.remove.isNumbers() }
func adds(p section) bool    { return p.add != nil }
func any1(section) bool      { return true }

// typed is a text as people type what they see: at times they begin it with a small letter.
func typed(r *rand.Rand, text string) string {
	if r.IntN(5) < 2 {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// markPoint ticks a point, or takes the tick away; the request says its text.
func (b *boarding) markPoint(r *rand.Rand, pattern string, able func(p section) bool, done bool) *boardTask {
	row, slots, p, list, setup := b.pointsOf(r, able)
	if len(list) == 0 {
		return nil
	}
	at := r.IntN(len(list))
	if list[at].done == done || !sole(list, list[at].text) {
		return nil
	}
	with := p.untick
	if done {
		with = p.tick
	}
	slots["v"] = typed(r, list[at].text)
	act := programs.NewAct(programs.Set, pattern, slots).Work(saidPoints(list)...)
	t := b.act(r, act, row, true, member{with.name, with.numbers(at + 1)})
	t.setup = setup
	now := slices.Clone(list)
	now[at].done = done
	return b.pointsAre(t, row, p, now)
}

func (b *boarding) tickPoint(r *rand.Rand) *boardTask {
	return b.markPoint(r, "point_tick", ticks, true)
}

func (b *boarding) untickPoint(r *rand.Rand) *boardTask {
	return b.markPoint(r, "point_untick", unticks, false)
}

// tickNth ticks a point that the request calls by its place.
func (b *boarding) tickNth(r *rand.Rand) *boardTask {
	row, slots, p, list, setup := b.pointsOf(r, ticks)
	if len(list) < 2 || !b.whole(row, p) {
		return nil
	}
	at := r.IntN(min(len(list), 4))
	if list[at].done {
		return nil
	}
	slots["n"] = []string{"first", "second", "third", "fourth"}[at]
	if at == len(list)-1 && r.IntN(2) == 0 {
		slots["n"] = "last"
	}
	act := programs.NewAct(programs.Set, "point_tick_nth", slots).Work(saidPoints(list)...)
	t := b.act(r, act, row, true, member{p.tick.name, p.tick.numbers(at + 1)})
	t.setup = setup
	now := slices.Clone(list)
	now[at].done = true
	return b.pointsAre(t, row, p, now)
}

// tickRest ticks all that is open.
func (b *boarding) tickRest(r *rand.Rand) *boardTask {
	row, slots, p, list, setup := b.pointsOf(r, ticks)
	var open []int
	now := slices.Clone(list)
	for i, one := range list {
		if now[i].done = true; !one.done {
			open = append(open, i+1)
		}
	}
	if len(open) == 0 || p.tick.kind != "array" && len(open) > 1 {
		return nil
	}
	act := programs.NewAct(programs.SetAll, "point_tick_all", slots).Work(saidPoints(list)...)
	t := b.act(r, act, row, true, member{p.tick.name, p.tick.numbers(open...)})
	t.setup = setup
	return b.pointsAre(t, row, p, now)
}

// addPoint adds an open point.
func (b *boarding) addPoint(r *rand.Rand) *boardTask {
	row, slots, p, _, _ := b.pointsOf(r, adds)
	if row == nil {
		return nil
	}
	list := partOf(b.looks[b.key(row)], p.title).points()
	slots["v"] = newPoint(r)
	t := b.act(r, programs.NewAct(programs.Insert, "part_add", slots), row, r.IntN(2) == 0,
		member{p.add.name, p.add.texts(slots["v"])})
	return b.pointsAre(t, row, p, append(slices.Clone(list), point{slots["v"], false}))
}

// addDone adds a point that is done already: by two calls, since a new one is open.
func (b *boarding) addDone(r *rand.Rand) *boardTask {
	row, slots, p, list, setup := b.pointsOf(r, func(p section) bool { return adds(p) && ticks(p) })
	if row == nil {
		return nil
	}
	slots["v"] = newPoint(r)
	if slices.ContainsFunc(list, func(o point) bool { return o.text == slots["v"] }) {
		return nil
	}
	t := b.act(r, programs.NewAct(programs.Insert, "point_add_done", slots), row, true,
		member{p.add.name, p.add.texts(slots["v"])})
	t.setup = setup
	t.changes = append(t.changes, b.changeOf(b.key(row), member{p.tick.name, p.tick.numbers(len(list) + 1)})...)
	return b.pointsAre(t, row, p, append(slices.Clone(list), point{slots["v"], true}))
}

// dropPoint takes a point away.
func (b *boarding) dropPoint(r *rand.Rand) *boardTask {
	row, slots, p, list, setup := b.pointsOf(r, drops)
	if len(list) == 0 {
		return nil
	}
	at := r.IntN(len(list))
	if slots["v"] = typed(r, list[at].text); !sole(list, list[at].text) {
		return nil
	}
	act := programs.NewAct(programs.Remove, "point_drop", slots).Work(saidPoints(list)...)
	t := b.act(r, act, row, true, member{p.remove.name, p.remove.numbers(at + 1)})
	t.setup = setup
	return b.pointsAre(t, row, p, slices.Delete(slices.Clone(list), at, at+1))
}

// askPoints asks which points are open, or done, or how many.
func (b *boarding) askPoints(r *rand.Rand) *boardTask {
	row, slots, p, list, setup := b.pointsOf(r, any1)
	if len(list) < 2 || !b.whole(row, p) {
		return nil
	}
	return b.askPointsOf(r, row, slots, list, setup, r.IntN(3) == 0)
}

func (b *boarding) askPointsOf(
	r *rand.Rand, row []any, slots map[string]string, list []point, setup []Call, done bool,
) *boardTask {
	var found []string
	for _, one := range list {
		if one.done == done && sole(list, one.text) {
			found = append(found, one.text)
		}
	}
	if len(found) == 0 {
		return nil
	}
	pattern, kind, answer := "points_open", programs.List, programs.Answer{Form: "list", Values: found}
	switch {
	case done:
		pattern = "points_done"
	case r.IntN(3) == 0:
		pattern, kind = "points_count", programs.Count
		answer = programs.Answer{Form: "number", Values: []string{strconv.Itoa(len(found))}}
	}
	q := programs.NewQuestion(kind, pattern, slots, answer, b.table).Work(saidPoints(list)...)
	t := b.act(r, q, row, true)
	t.setup = setup
	return t
}

// askPoint asks whether a point is done.
func (b *boarding) askPoint(r *rand.Rand) *boardTask {
	row, slots, _, list, setup := b.pointsOf(r, any1)
	if len(list) == 0 {
		return nil
	}
	one := pick(r, list)
	if slots["v"] = typed(r, one.text); !sole(list, one.text) {
		return nil
	}
	answer := programs.Answer{Form: "yes_no", Values: []string{map[bool]string{true: "Yes", false: "No"}[one.done]}}
	q := programs.NewQuestion(programs.YesNo, "point_is_done", slots, answer, b.table).Work(saidPoints(list)...)
	t := b.act(r, q, row, true)
	t.setup = setup
	return t
}

// addPoints adds several open points in one call.
func (b *boarding) addPoints(r *rand.Rand) *boardTask {
	row, slots, p, _, _ := b.pointsOf(r, func(p section) bool { return adds(p) && p.add.kind == "array" })
	if row == nil {
		return nil
	}
	var more []string
	list := partOf(b.looks[b.key(row)], p.title).points()
	for range 2 + r.IntN(2) {
		if text := newPoint(r); !slices.Contains(more, text) {
			more, list = append(more, text), append(list, point{text, false})
		}
	}
	slots["attr"], slots["v"] = counted(slots["attr"]), pick(r, []string{strings.Join(more, " / "), quoted(more),
		strings.Join(more, "; ")})
	t := b.act(r, programs.NewAct(programs.Insert, "points_add", slots), row, r.IntN(2) == 0,
		member{p.add.name, p.add.texts(more...)})
	return b.pointsAre(t, row, p, list)
}

// quoted are some texts, each in marks.
func quoted(list []string) string {
	marked := []string{}
	for _, text := range list {
		marked = append(marked, `"`+text+`"`)
	}
	return programs.Enumerate(marked)
}

// amounts are points that say a number, before and after somebody corrects it.
func amounts(r *rand.Rand) (old, now string) {
	numbers := strings.Fields("Two Three Four Five Six Seven Eight Nine Ten Twelve")
	at := r.IntN(len(numbers) - 1)
	what := pick(r, strings.Split("folding chairs|keys copied|spare batteries|posters printed|tables set up|"+
		"people confirmed|copies signed|metres of cable|boxes packed|lamps tested|names on the list|samples sent", "|"))
	if r.IntN(2) == 0 {
		return numbers[at] + " " + what, numbers[at+1] + " " + what
	}
	return numbers[at+1] + " " + what, numbers[at] + " " + what
}

// fixPoint corrects the words of a point: all are written anew, and what was ticked is ticked again.
func (b *boarding) fixPoint(r *rand.Rand) *boardTask {
	row, slots, p, list, setup := b.pointsOf(r, func(p section) bool {
		return adds(p) && ticks(p) && p.set != nil && p.set.kind == "array" && p.tick.kind == "array"
	})
	old, now := amounts(r)
	if row == nil || slices.ContainsFunc(list, func(o point) bool { return o.text == old || o.text == now }) {
		return nil
	}
	slots["old"], slots["v"] = old, now
	setup = append(setup, b.changeOf(b.key(row), member{p.add.name, p.add.texts(old)})...)
	list = append(list, point{old, false})
	lines := saidPoints(list)
	list[len(list)-1].text = now
	var texts []string
	var done []int
	for i, one := range list {
		if texts = append(texts, one.text); one.done {
			done = append(done, i+1)
		}
	}
	act := programs.NewAct(programs.Set, "point_fix", slots).Work(lines...)
	t := b.act(r, act, row, true, member{p.set.name, p.set.texts(texts...)})
	if t.setup = setup; len(done) > 0 {
		t.changes = append(t.changes, b.changeOf(b.key(row), member{p.tick.name, p.tick.numbers(done...)})...)
	}
	return b.pointsAre(t, row, p, list)
}
