package programs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// mixKinds are problems of numbers that mix operations, by the pattern of their wordings: chains that are drawn step by
// step, a part of a sum, units that everybody knows, a division either way round, two answers to one request.
func mixKinds() map[string]func(*reckoner) *problem {
	return map[string]func(*reckoner) *problem{
		"steps": stepsInWords, "steps_end": stepsEnd, "rate": rate, "per_hundred": perHundred, "range": rangeOf,
		"unit": knownUnit, "degrees": degrees, "pace": pace, "interest": interest, "order_off": orderOff,
		"tip_split": tipSplit, "gain": gain, "growth_plus": growthPlus, "leg": leg, "square": squareSide,
		"root_or": rootOr, "divides_rest": dividesRest, "deal": deal, "deal_three": dealThree, "total_each": totalEach,
		"split": split, "part_of_all": partOfAll,
	}
}

// link is one step of a chain that is drawn: what it does to the number before it.
type link struct {
	do   func(*reckoner, Term) Term
	list string // in a list of results: "that less 12"
	tell string // as a step that is told: "take 12 off"
	plan string // "minus 12"
}

// begin is the first step of a chain, on two numbers of which the first may come again later.
func (k *reckoner) begin() (first float64, l link) {
	a, b := k.whole(20, 900, 10), k.whole(3, 60, 1)
	of := func(op string) func(*reckoner, Term) Term {
		return func(k *reckoner, _ Term) Term { return k.do(op, val(a), val(b)) }
	}
	x, y := Digits(a), Digits(b)
	switch k.r.IntN(5) {
	case 0, 1:
		return a, link{func(k *reckoner, _ Term) Term { return k.part(b, val(a)) }, y + " percent of " + x,
			"take " + y + " percent of " + x, k.partOf(b, x)}
	case 2:
		return a, link{of(Times), x + " times " + y, "multiply " + x + " by " + y, x + " times " + y}
	case 3:
		return a, link{of(Plus), x + " plus " + y, "add " + x + " and " + y, x + " plus " + y}
	}
	return a, link{of(Over), x + " divided by " + y, "divide " + x + " by " + y, x + " divided by " + y}
}

// next is a step on what the last one came to; of is the number that the chain began with.
func (k *reckoner) next(of float64) link {
	n, first := k.whole(2, 40, 1), Digits(of)
	x := Digits(n)
	with := func(op string, swap bool, number float64) func(*reckoner, Term) Term {
		return func(k *reckoner, t Term) Term {
			if swap {
				return k.do(op, val(number), t)
			}
			return k.do(op, t, val(number))
		}
	}
	switch k.r.IntN(8) {
	case 0:
		return link{with(Minus, true, of), first + " without that", "subtract that from " + first, "taken off " + first}
	case 1:
		return link{with(Plus, false, n), "that plus " + x, "add " + x, "plus " + x}
	case 2:
		return link{with(Minus, false, n), "that less " + x, "take " + x + " off", "minus " + x}
	case 3:
		return link{with(Times, false, n), "that times " + x, "multiply by " + x, "times " + x}
	case 4, 5:
		return link{with(Over, false, n), "that divided by " + x, "divide by " + x, "divided by " + x}
	case 6:
		large := Digits(n * 60)
		return link{with(Over, true, n*60), large + " divided by that", "divide " + large + " by the result",
			large + " divided by that"}
	}
	percent := 5 * math.Ceil(n/5)
	return link{func(k *reckoner, t Term) Term { return k.part(percent, t) }, Digits(percent) + " percent of that",
		"take " + Digits(percent) + " percent of it", k.partOf(percent, "that")}
}

// chained draws a chain of n steps that all come to small exact numbers, and what each comes to; nil where one does
// not.
func (k *reckoner) chained(n int) (links []link, results []Term) {
	first, l := k.begin()
	links = append(links, l)
	for len(links) < n {
		links = append(links, k.next(first))
	}
	var plan []string
	for _, l := range links {
		plan = append(plan, l.plan)
	}
	k.note("%s", strings.Join(plan, "; then "))
	var t Term
	for _, l := range links {
		t = l.do(k, t)
		x := k.value(t)
		if !exact(x) || x < 1 || x > 100000 || len(Digits(x)) > 8 ||
			slices.ContainsFunc(results, func(o Term) bool { return k.value(o) == x }) {
			return nil, nil
		}
		results = append(results, t)
	}
	return links, results
}

// drawChain draws chains until one comes to exact numbers.
func (k *reckoner) drawChain(n int) (links []link, results []Term) {
	for range 400 {
		k.steps, k.notes = nil, nil
		if links, results = k.chained(n); links != nil {
			return links, results
		}
	}
	return nil, nil
}

func stepsInWords(k *reckoner) *problem {
	links, results := k.drawChain(2 + k.r.IntN(3))
	if links == nil {
		return nil
	}
	var given, values []string
	for i, l := range links {
		given, values = append(given, l.list), append(values, Digits(k.value(results[i])))
	}
	return &problem{slots: slotsOf([]string{"given", strings.Join(given, "; ")}),
		answer: Answer{Form: "list", Order: true, Values: values}}
}

func stepsEnd(k *reckoner) *problem {
	links, results := k.drawChain(2 + k.r.IntN(3))
	if links == nil {
		return nil
	}
	var given []string
	for _, l := range links {
		given = append(given, l.tell)
	}
	return k.number(results[len(results)-1], "given", strings.Join(given, ", then "))
}

// worker is what does so many units in a unit of time, and what they come in.
type worker struct{ item, many, time, times, lots string }

func workers() []worker {
	return []worker{
		{"the copier", "pages", "minute", "minutes", "brochures"}, {"the pump", "litres", "hour", "hours", "tanks"},
		{"the oven", "rolls", "hour", "hours", "trays"}, {"my plotter", "sheets", "hour", "hours", "sets"},
		{"the press", "labels", "minute", "minutes", "batches"}, {"the ferry", "cars", "trip", "trips", "loads"},
		{"the scanner", "slides", "minute", "minutes", "albums"}, {"our mill", "kilos", "day", "days", "orders"},
		{"the crew", "metres", "day", "days", "streets"}, {"the line", "jars", "minute", "minutes", "pallets"},
		{"the kiln", "tiles", "day", "days", "crates"}, {"a typist", "words", "minute", "minutes", "chapters"},
		{"the filler", "cans", "second", "seconds", "cartons"}, {"the robot", "parts", "hour", "hours", "bins"},
	}
}

// opening is a noun as it begins a sentence.
func opening(noun string) string { return strings.ToUpper(noun[:1]) + noun[1:] }

func rate(k *reckoner) *problem {
	w := pick(k.r, workers())
	n, a, b := k.whole(2, 12, 1), k.whole(20, 480, 1), k.whole(4, 60, 1)
	k.note("%s times %s %s in all, then divided by %s a %s", Digits(n), Digits(a), w.many, Digits(b), w.time)
	return k.number(k.do(Over, k.do(Times, val(n), val(a)), val(b)), "item", w.item, "head", opening(w.item), "many",
		w.many, "y", w.time, "x",
		w.times, "ends", w.lots, "n", Digits(n), "a", Digits(a), "b", Digits(b))
}

func perHundred(k *reckoner) *problem {
	a, v := k.whole(120, 900, 1), k.whole(80, 700, 1)/10
	if used := v / a * 100; used < 3 || used > 30 {
		return nil
	}
	k.note("%s litres divided by %s km is for one km, then times 100", Digits(v), Digits(a))
	return k.number(k.do(Times, k.do(Over, val(v), val(a)), val(100)), "a", Digits(a), "v", Digits(v))
}

// rangeOf is how far so many litres take one, or how many so many kilometres take.
func rangeOf(k *reckoner) *problem {
	b, n := k.whole(30, 95, 1)/10, k.whole(20, 700, 5)
	if k.r.IntN(2) == 0 {
		k.note("%s litres divided by %s is so many hundreds of km, then times 100", Digits(n), Digits(b))
		return k.number(k.do(Times, k.do(Over, val(n), val(b)), val(100)), "b", Digits(b), "given",
			"how many kilometres can I go with "+Digits(n)+" litres", "item", "kilometres")
	}
	k.note("%s km divided by 100 is so many hundreds, then times %s litres", Digits(n), Digits(b))
	return k.number(k.do(Times, k.do(Over, val(n), val(100)), val(b)), "b", Digits(b), "given",
		"how many litres do I need for "+Digits(n)+" kilometres", "item", "litres")
}

// ladder is a row of units, each so many of the next.
type ladder struct {
	units []string
	sizes []float64
}

func ladders() []ladder {
	return []ladder{
		{strings.Fields("weeks days hours minutes seconds"), []float64{7, 24, 60, 60}},
		{strings.Fields("weeks days hours minutes seconds"), []float64{7, 24, 60, 60}},
		{strings.Fields("years months"), []float64{12}}, {strings.Fields("litres millilitres"), []float64{1000}},
		{strings.Fields("kilometres metres centimetres millimetres"), []float64{1000, 100, 10}},
		{strings.Fields("tonnes kilograms grams"), []float64{1000, 1000}},
		{strings.Fields("dozens pieces"), []float64{12}},
		{strings.Fields("euros cents"), []float64{100}}, {strings.Fields("hectares ares"), []float64{100}},
	}
}

func knownUnit(k *reckoner) *problem {
	l := pick(k.r, ladders())
	from := k.r.IntN(len(l.sizes))
	to := from + 1 + k.r.IntN(min(3, len(l.sizes)-from))
	sizes := slices.Clone(l.sizes[from:to])
	a, op, word := k.whole(2, 90, 1), Times, "times"
	item, item2 := l.units[from], l.units[to]
	if k.r.IntN(3) == 0 {
		a += 0.5
	}
	if k.r.IntN(5) < 2 { // from the small unit to the large one
		for _, x := range sizes {
			a *= x
		}
		op, word = Over, "divided by"
		item, item2 = item2, item
		slices.Reverse(sizes)
	}
	if a > 9e7 {
		return nil
	}
	plan := Digits(a) + " " + item
	t := val(a)
	for _, x := range sizes {
		plan += fmt.Sprintf(", %s %s", word, Digits(x))
	}
	k.note("%s, which makes %s", plan, item2)
	for _, x := range sizes {
		t = k.do(op, t, val(x))
	}
	return k.number(t, "a", Digits(a), "item", item, "item2", item2)
}

func degrees(k *reckoner) *problem {
	if a := k.whole(-10, 420, 1); k.r.IntN(2) == 0 {
		k.note("minus 32, times 5, divided by 9")
		t := k.do(Over, k.do(Times, k.do(Minus, val(a), val(32)), val(5)), val(9))
		return k.number(t, "a", Digits(a), "item", "Fahrenheit", "item2", "Celsius")
	}
	a := k.whole(-15, 230, 1)
	k.note("times 9, divided by 5, plus 32")
	t := k.do(Plus, k.do(Over, k.do(Times, val(a), val(9)), val(5)), val(32))
	return k.number(t, "a", Digits(a), "item", "Celsius", "item2", "Fahrenheit")
}

// pace is how long some rounds of some minutes and seconds take.
func pace(k *reckoner) *problem {
	n, m, s := k.whole(3, 30, 1), k.whole(1, 9, 1), k.whole(5, 55, 5)
	k.note("one is %s times 60 plus %s seconds, all are %s times that; what is left by 60 are the seconds, "+
		"and the rest by 60 the minutes",
		Digits(m), Digits(s), Digits(n))
	one := k.do(Plus, k.do(Times, val(m), val(60)), val(s))
	all := k.do(Times, one, val(n))
	left := k.do(Rest, all, val(60))
	minutes := k.value(k.do(Over, k.do(Minus, all, left), val(60)))
	if minutes < 10 {
		return nil
	}
	answer := fmt.Sprintf("%.0f:%02.0f", minutes, k.value(left))
	k.note("%.0f minutes and %.0f seconds is %s", minutes, k.value(left), answer)
	return &problem{slots: slotsOf([]string{"n", Digits(n), "time", fmt.Sprintf("%.0f:%02.0f", m, s)}),
		answer: Answer{Form: "fields", Values: []string{answer}}}
}

func interest(k *reckoner) *problem {
	a, b, n := k.whole(500, 30000, 500), k.whole(2, 14, 1)/2, k.whole(2, 11, 1)
	k.note("a year is %s, a month that divided by 12, then times %s", k.partOf(b, Digits(a)), Digits(n))
	year := k.part(b, val(a))
	return k.number(k.do(Times, k.do(Over, year, val(12)), val(n)), "a", Digits(a), "b", Digits(b), "n", Digits(n))
}

func orderOff(k *reckoner) *problem {
	item, _ := goodsOf(k.r)
	n, a, b, v := k.whole(3, 30, 1), k.money(4, 90), k.whole(5, 30, 5), k.money(4, 30)
	k.note("%s times %s, minus %s percent of that, plus %s", Digits(n), price(a), Digits(b), price(v))
	k.note("%s percent of it: %s", Digits(b), k.partOf(b, "the sum"))
	sum := k.do(Times, val(n), val(a))
	less := k.do(Minus, sum, k.part(b, sum))
	return k.number(k.do(Plus, less, val(v)), "item", item, "n", Digits(n), "a", price(a), "b", Digits(b), "v",
		price(v))
}

func tipSplit(k *reckoner) *problem {
	a, b, n := k.money(40, 480), k.whole(5, 20, 1), k.whole(2, 9, 1)
	k.note("%s percent are %s; that and %s together, divided by %s", Digits(b), k.partOf(b, price(a)), price(a),
		Digits(n))
	all := k.do(Plus, val(a), k.part(b, val(a)))
	return k.number(k.do(Over, all, val(n)), "a", price(a), "b", Digits(b), "n", Digits(n))
}

func gain(k *reckoner) *problem {
	a, b, n := k.whole(200, 9000, 100), k.whole(2, 12, 1), 2+k.r.IntN(2)
	k.note("first what it grows to, then minus %s, so that only the gain is left", Digits(a))
	t := k.grow(a, b, n)
	return k.number(k.do(Minus, t, val(a)), "a", Digits(a), "b", Digits(b), "n", fmt.Sprint(n))
}

func growthPlus(k *reckoner) *problem {
	a, b, n, v := k.whole(200, 9000, 100), k.whole(2, 12, 1), 2+k.r.IntN(2), k.whole(50, 950, 50)
	k.note("first what it grows to, then plus %s", Digits(v))
	t := k.grow(a, b, n)
	return k.number(k.do(Plus, t, val(v)), "a", Digits(a), "b", Digits(b), "n", fmt.Sprint(n), "v", Digits(v))
}

func leg(k *reckoner) *problem {
	legs := pick(k.r, [][3]float64{{3, 4, 5}, {5, 12, 13}, {8, 15, 17}, {7, 24, 25}, {20, 21, 29}, {4, 3, 5},
		{12, 5, 13}})
	by := pick(k.r, []float64{0.5, 1, 2, 3, 4, 5, 10})
	long, foot := legs[2]*by, legs[0]*by
	k.note("the square of %s minus the square of %s, then the root", Digits(long), Digits(foot))
	t := k.do(Minus, k.do(Times, val(long), val(long)), k.do(Times, val(foot), val(foot)))
	return k.number(k.do(Root, t, Term{}), "a", Digits(long), "b", Digits(foot))
}

func squareSide(k *reckoner) *problem {
	x, y, by := k.whole(2, 9, 1), k.whole(2, 9, 1), k.whole(1, 12, 1)
	if x == y {
		return nil
	}
	a, b := x*x*by, y*y*by
	label := pick(k.r, strings.Fields("side edge length width"))
	k.note("%s times %s is the area, then its root", Digits(a), Digits(b))
	t := k.do(Root, k.do(Times, val(a), val(b)), Term{})
	x = k.value(t)
	k.note("%s = %s", label, Digits(x))
	return &problem{slots: slotsOf([]string{"a", Digits(a), "b", Digits(b), "head", label}),
		answer: Answer{Form: "fields", Values: []string{label + " = " + Digits(x)}}}
}

func rootOr(k *reckoner) *problem {
	a := k.whole(150, 9000, 1)
	b := math.Round(math.Sqrt(a)*10)/10 + pick(k.r, []float64{-0.4, -0.2, 0.2, 0.3})
	b = math.Round(b*10) / 10
	k.note("the root of %s, beside %s", Digits(a), Digits(b))
	t := k.value(k.do(Root, val(a), Term{}))
	if math.Abs(t-b) < 0.02 {
		return nil
	}
	answer := map[bool]string{true: "root", false: Digits(b)}[t > b]
	k.note("%s is %s %s, so %s", shorter(t), map[bool]string{true: "more than", false: "less than"}[t > b], Digits(b),
		answer)
	return &problem{slots: slotsOf([]string{"a", Digits(a), "b", Digits(b)}),
		answer: Answer{Form: "fields", Values: []string{answer}}}
}

func dividesRest(k *reckoner) *problem {
	b := k.whole(6, 90, 1)
	a := b*k.whole(12, 900, 1) + k.whole(1, int(b)-1, 1)*float64(min(1, k.r.IntN(4)))
	left := k.value(k.do(Rest, val(a), val(b)))
	values := []string{"No", Digits(left)}
	if left == 0 {
		values = []string{"Yes"}
	}
	k.note("%s is left, so %s", Digits(left), strings.ToLower(values[0]))
	return &problem{slots: slotsOf([]string{"a", Digits(a), "b", Digits(b)}),
		answer: Answer{Form: "fields", Values: values}}
}

// offers are amounts of something at their prices, some in a small unit and some in a large one.
func (k *reckoner) offers(n int) (item, unit string, said []string, each []Term) {
	item = pick(k.r, strings.Fields("oil vinegar juice milk soap paint syrup shampoo ink glue"))
	large, small := "litres", "ml"
	if k.r.IntN(2) == 0 {
		item = pick(k.r, strings.Fields("coffee rice flour muesli cocoa nuts cheese sugar seeds salt"))
		large, small = "kg", "g"
	}
	var plans []string
	var costs, sizes []float64
	dear := k.whole(3, 24, 1) // a litre, or a kilogram
	for range n {
		size := k.whole(200, 2500, 50)
		cost := math.Round(size/1000*dear*k.whole(70, 140, 1)/5) / 20
		text := Digits(size) + " " + small
		if size > 900 && size != 1000 {
			text = Digits(size/1000) + " " + large
		}
		said, costs, sizes = append(said, text+" for "+price(cost)), append(costs, cost), append(sizes, size)
		plans = append(plans, price(cost)+" by "+Digits(size))
	}
	k.note("all in %s, price divided by amount: %s", small, strings.Join(plans, ", "))
	for i := range costs {
		each = append(each, k.do(Over, val(costs[i]), val(sizes[i])))
	}
	return item, small, said, each
}

// labels are names for n offers that an answer is to use.
func (k *reckoner) labels(n int) []string {
	sets := [][]string{{"A", "B", "C"}, {"left", "right", "middle"}, {"red", "blue", "green"}, {"X", "Y", "Z"},
		{"corner shop", "market", "web"}, {"glass", "tin", "bag"}}
	return pick(k.r, sets)[:n]
}

func deal(k *reckoner) *problem {
	item, unit, said, each := k.offers(2)
	x, y := k.value(each[0]), k.value(each[1])
	names := k.labels(2)
	if math.Abs(x-y) < 0.03*x {
		return nil
	}
	best := names[0]
	if y < x {
		best = names[1]
	}
	k.note("%s is less than %s a %s, so %s", shorter(min(x, y)), shorter(max(x, y)), unit, best)
	return &problem{slots: slotsOf([]string{"item", item, "x", names[0], "y", names[1], "a", said[0], "b", said[1]}),
		answer: Answer{Form: "text", Values: []string{best}, Among: names}}
}

func dealThree(k *reckoner) *problem {
	item, _, said, each := k.offers(3)
	names := pick(k.r, [][]string{{"A", "B", "C"}, {"X", "Y", "Z"}, {"1", "2", "3"}, {"P", "Q", "R"}})
	var given, read []string
	for i := range said {
		given = append(given, names[i]+") "+said[i])
		read = append(read, names[i]+" "+shorter(k.value(each[i])))
	}
	order := []int{0, 1, 2}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(k.value(each[i]), k.value(each[j])) })
	var values []string
	for i, at := range order {
		if i > 0 && k.value(each[at]) < 1.03*k.value(each[order[i-1]]) {
			return nil
		}
		values = append(values, names[at])
	}
	k.note("%s; from the lowest: %s", strings.Join(read, ", "), strings.Join(values, ", "))
	return &problem{slots: slotsOf([]string{"item", item, "given", strings.Join(given, ", ")}),
		answer: Answer{Form: "list", Order: true, Values: values}}
}

func totalEach(k *reckoner) *problem {
	n, a, v, b := k.whole(2, 30, 1), k.whole(4, 60, 1), k.whole(2, 9, 1), k.whole(0, 40, 5)
	all := n*a + b
	if !exact(all/v) || all/v == n || b == 0 {
		return nil
	}
	k.note("%s times %s plus %s is the total, and that divided by %s", Digits(n), Digits(a), Digits(b), Digits(v))
	total := k.do(Plus, k.do(Times, val(n), val(a)), val(b))
	each := k.do(Over, total, val(v))
	return &problem{slots: slotsOf([]string{"n", Digits(n), "a", Digits(a), "b", Digits(b), "v", Digits(v)}),
		answer: Answer{Form: "list", Order: true, Values: []string{Digits(k.value(total)), Digits(k.value(each))}}}
}

func split(k *reckoner) *problem {
	a, n := k.money(20, 900), k.whole(2, 14, 1)
	return k.number(k.do(Over, val(a), val(n)), "a", price(a), "n", Digits(n))
}

func partOfAll(k *reckoner) *problem {
	a, b, v := k.whole(8, 240, 1), k.whole(8, 240, 1), k.whole(8, 240, 1)
	x, _ := goodsOf(k.r)
	k.note("all are %s, %s and %s added; %s divided by that, times 100", Digits(a), Digits(b), Digits(v), Digits(b))
	all := k.do(Plus, k.do(Plus, val(a), val(b)), val(v))
	return k.number(k.do(Times, k.do(Over, val(b), all), val(100)), "a", Digits(a), "b", Digits(b), "v", Digits(v),
		"item", x)
}
