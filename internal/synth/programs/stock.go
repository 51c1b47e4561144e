package programs

import (
	"fmt"
	"slices"
	"strings"
)

// Numbers that go up or down by what happened: the sign is that of the event, and the amount stands in the row that it
// is about, or in the request.

// isTally reports whether a number counts something that comes and goes: no price, no rate, no measure.
func (c Column) isTally() bool {
	return isNumber(c) && !c.isYear() && !c.Bool && !c.Cents && !c.isShare() &&
		!c.isPrice(strings.Fields("price cost fee rate salary rent value budget minutes maximum minimum")...) &&
		(c.isStock() || c.isAmount() || isGoods(lastWord(c.caption())) ||
			c.sumPattern() == "sum_many" && !strings.HasPrefix(c.caption(), "number of "))
}

// stock is the column that says how many of a thing are there; -1: none.
func (t *Table) stock() int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return isNumber(c) && c.isStock() })
}

// flow is -1 where the things of a table take from a stock, as sales, 1 where they add to one, as deliveries, and 0
// where their name does not say it.
func (t *Table) flow() int {
	is := func(words string) bool {
		return slices.ContainsFunc(strings.Fields(t.One), func(w string) bool {
			return slices.Contains(strings.Fields(words), w)
		})
	}
	switch {
	case is("delivery purchase return restock refill intake receipt supply"):
		return 1
	case is("sale order loan hire rental use usage consumption handout shipment withdrawal dispensing issue"):
		return -1
	}
	return 0
}

// counted is the change of a number of the thing that another one refers to, by so much.
func (d *drawer) counted(t *Table, row []any, slots map[string]string) (step Step, up, ok bool) {
	props := t.properties(Column.isTally)
	if stock := t.stock(); stock >= 0 {
		props = []int{stock}
	}
	if len(props) == 0 {
		return Step{}, false, false
	}
	by, up := int64(pick(d.r, []int{1, 1, 1, 2, 3, 4, 5, 10})), d.r.IntN(2) == 0
	return d.counting(t, row, pick(d.r, props), by, up, slots)
}

// counting is the change of a whole number by so much, up or down.
func (d *drawer) counting(
	t *Table, row []any, i int, by int64, up bool, slots map[string]string,
) (step Step, _, ok bool) {
	x, whole := row[i].(int64)
	if !whole || by < 1 || !up && x < by {
		return Step{}, false, false
	}
	c := t.Columns[i]
	sign, after := "+", x+by
	if !up {
		sign, after = "-", x-by
	}
	slots["attr"], slots["v"] = c.caption(), fmt.Sprint(by)
	step = update(t, i, fmt.Sprintf("%s %s %d", Ident(c.Name), sign, by), t.keyConditions(row)).
		does("%s of %s: %d %s %d = %d", c.caption(), t.rowLabel(row), x, sign, by, after)
	return step, up, true
}

// amount is how many of a thing a row is about: what it says, one where it has no such column, 0 where that is empty.
func (t *Table) amount(row []any) int64 {
	amounts := t.properties(Column.isAmount)
	if len(amounts) == 0 {
		return 1
	}
	n, _ := row[amounts[0]].(int64)
	return n
}

// pieces are what a column counts: of the thing itself, or pieces that it has.
type pieces struct {
	t      *Table
	column int
	unit   string // of the pieces; "" of the thing itself
}

// isGoods reports whether a noun is of pieces that are sold, broken or delivered.
func isGoods(noun string) bool {
	return slices.Contains(strings.Fields("bottles jars tents frames pieces copies boxes packs packets tins bags "+
		"crates cartons units chairs tables bikes keys tools cups plates blankets bulbs rolls sheets cards cans "+
		"lamps spares"), noun)
}

// moved says what happened to some of a thing: "Four of the Alba lamps were sold." At times it asks what is left.
func (d *drawer) moved() *Program {
	if d.w.Listed {
		return nil
	}
	var able []pieces
	for _, t := range d.w.Tables {
		if t.Label < 0 || t.Columns[t.Label].Ref != nil {
			continue
		}
		if i := t.stock(); i >= 0 {
			able = append(able, pieces{t, i, ""}, pieces{t, i, ""}) // people speak of these more
		}
		for i, c := range t.Columns {
			if unit, is := strings.CutPrefix(c.caption(), "number of "); is && isNumber(c) && isGoods(unit) {
				able = append(able, pieces{t, i, unit})
			}
		}
	}
	if len(able) == 0 {
		return nil
	}
	one := pick(d.r, able)
	t, i, unit := one.t, one.column, one.unit
	row := d.sole(t)
	slots := d.about(t)
	if row == nil {
		return nil
	}
	step, up, ok := d.counting(t, row, i, int64(2+d.r.IntN(8)), d.r.IntN(2) == 0, slots)
	if !ok {
		return nil
	}
	pattern := map[bool]string{true: "came", false: "went"}[up]
	if slots["x"] = d.nameInRequest(t, row); unit != "" {
		pattern, slots["attr"] = pattern+"_unit", unit
	}
	look, _ := d.before(t, []Cond{t.label(row)}, true)
	p := &Program{pattern: pattern, slots: slots, Steps: []Step{look, step}, Tables: []*Table{t}}
	if d.r.IntN(3) == 0 && !d.plain {
		q := Query{Table: t, Where: t.keyConditions(row), Column: i, Of: -1, Order: -1}
		now := step.Does[strings.LastIndexByte(step.Does, ' ')+1:]
		p.Steps, p.Result = append(p.Steps, Step{SQL: q.SQL()}), []string{now}
		p.then = &Program{pattern: "left", slots: map[string]string{"one": t.One, "many": t.Many, "x": slots["x"],
			"attr": t.Columns[i].caption()}, Answer: Answer{Form: "number", Values: []string{now}}}
	}
	return p
}

// stocked draws in a way until the stock of a thing goes up or down by what another row says.
func (d *drawer) stocked(way func() *Program) *Program {
	p := way()
	if p == nil || !endsIn(p.pattern, "_in", "_out") {
		return nil
	}
	return p
}

func (d *drawer) stockTaken() *Program { return d.stocked(d.addAndChange) }

func (d *drawer) stockPutBack() *Program { return d.stocked(d.removeAndCount) }

// threeEffects adds a thing, deletes one or changes one, changes what it refers to, and another thing or another
// property, as people tell what happened.
func (d *drawer) threeEffects() *Program {
	p := d.either(d.addAndChange, d.addAndChange, d.removeAndCount, d.setBoth)
	if p == nil {
		return nil
	}
	from := p.Tables[0]
	for _, i := range d.r.Perm(len(from.Columns)) {
		c := from.Columns[i]
		if c.Ref == nil || c.Ref == from || c.Ref.Key < 0 || c.Ref.Label < 0 {
			continue
		}
		to := c.Ref.byKey(d.concerns[i])
		if to == nil {
			continue
		}
		slots := map[string]string{"one": from.One, "many": from.Many, "ref": c.caption()}
		step, ok := d.second(c.Ref, to, slots)
		used := p.slots["attr"]
		if p.pattern == "set_both" {
			used = p.slots["attr2"]
		}
		slots["attr"], slots["v"] = slots["attr2"], slots["v2"]
		if !ok || c.caption() == p.slots["ref"] && slots["attr"] == used || slices.ContainsFunc(from.Columns,
			func(o Column) bool { return o.Ref == c.Ref && o.caption() != c.caption() }) {
			continue
		}
		both := *p
		both.Steps = append(slices.Clone(p.Steps), step)
		if c.caption() != p.slots["ref"] {
			look := Step{SQL: "SELECT * FROM " + Ident(c.Ref.Name) + filter(c.Ref, c.Ref.keyConditions(to))}
			both.Steps = slices.Insert(both.Steps, 1, look)
		}
		if both.Tables = slices.Clone(p.Tables); !slices.Contains(both.Tables, c.Ref) {
			both.Tables = append(both.Tables, c.Ref)
		}
		both.then = &Program{pattern: "also_set", slots: slots}
		return &both
	}
	return nil
}
