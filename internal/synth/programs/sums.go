package programs

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// What a step of a reckoning does.
const (
	Plus  = "add"
	Minus = "subtract"
	Times = "multiply"
	Over  = "divide"
	Rest  = "remainder"
	Root  = "square root"
	Zone  = "time in another zone"
)

// Term is a number of a step: a value, or the result of an earlier step.
type Term struct {
	Value float64
	Of    int // of the steps from 1; 0: the value
}

// ReckonStep is one operation: on two numbers, on one, or on a time of day.
type ReckonStep struct {
	Do       string
	A, B     Term
	Time     string // HH:MM in the zone From
	From, To string // zones, as the IANA names them
	Result   float64
	Then     string // the time in the other zone
	city     string // of the zone From, as the request names it
	city2    string // of the zone To
	Why      string // how somebody comes to it, who has the results before; "": by what was asked
}

// Reckoning is a program whose answer somebody computes: a request in a person's words, and the steps to its answer.
type Reckoning struct {
	*Program
	Steps []ReckonStep
}

// reckoner computes a reckoning as it is drawn.
type reckoner struct {
	r     *rand.Rand
	steps []ReckonStep
	notes []string // what is found in the head since the last step

	byHundred bool // a percentage is multiplied, then divided by 100; else it is multiplied as a fraction
}

func val(x float64) Term { return Term{Value: x} }

func (k *reckoner) value(t Term) float64 {
	if t.Of > 0 {
		return k.steps[t.Of-1].Result
	}
	return t.Value
}

// Digits are a number as calculators show it.
func Digits(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// do makes a step and returns its result as a term.
func (k *reckoner) do(op string, a, b Term) Term {
	x, y := k.value(a), k.value(b)
	s := ReckonStep{Do: op, A: a, B: b}
	switch op {
	case Plus:
		s.Result = x + y
	case Minus:
		s.Result = x - y
	case Times:
		s.Result = x * y
	case Over:
		s.Result = x / y
	case Rest:
		s.Result = math.Mod(x, y)
	case Root:
		s.Result = math.Sqrt(x)
	}
	k.step(s)
	return Term{Of: len(k.steps)}
}

// step adds a step, with what was found in the head before it.
func (k *reckoner) step(s ReckonStep) {
	s.Why = strings.Join(k.notes, "\n")
	k.steps, k.notes = append(k.steps, s), nil
}

// note says what is found without a tool.
func (k *reckoner) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

// whole is a number from low to high in steps.
func (k *reckoner) whole(low, high, step int) float64 {
	return float64(low + step*k.r.IntN((high-low)/step+1))
}

// money is a price with two decimals, at times without.
func (k *reckoner) money(low, high int) float64 {
	x := float64(low + k.r.IntN(high-low+1))
	if k.r.IntN(3) > 0 {
		x += float64(k.r.IntN(20)) * 5 / 100
	}
	return x
}

// price is an amount as bills show it.
func price(x float64) string {
	if x == math.Trunc(x) {
		return Digits(x)
	}
	return fmt.Sprintf("%.2f", x)
}

// exact reports whether a number has no more than two decimals.
func exact(x float64) bool { return math.Abs(x*100-math.Round(x*100)) < 1e-6 }

// shorter is a number with four decimals at most, where its other digits say nothing.
func shorter(x float64) string {
	text := Digits(x)
	if at := strings.IndexByte(text, '.'); at >= 0 && len(text) > at+5 {
		text = strings.TrimSuffix(strings.TrimRight(text[:at+5], "0"), ".")
	}
	return text
}

// problem is a pattern of wordings with what stands in them, and the answer.
type problem struct {
	slots  map[string]string
	answer Answer
	round  string // how the answer is rounded
}

// number is a problem whose answer is a number.
func (k *reckoner) number(t Term, slots ...string) *problem {
	x := k.value(t)
	p := &problem{slots: slotsOf(slots)}
	if !exact(x) || !exact(x*10) && k.r.IntN(4) == 0 {
		digits := 1 + k.r.IntN(2)
		if exact(x) {
			digits = 1
		}
		p.round = map[int]string{1: "one_decimal", 2: "two_decimals"}[digits]
		scale := math.Pow(10, float64(digits))
		at := x * scale
		if math.Abs(at-math.Floor(at)-0.5) < 0.02 { // it might be rounded either way
			return nil
		}
		full := x
		x = math.Round(at) / scale
		k.note("%s rounded to %d decimal%s is %s", shorter(full), digits, ending(digits), trimFloat(x))
	}
	if full := Digits(x); p.round == "" && full != trimFloat(x) { // what binary fractions leave behind
		k.note("%s is %s", full, trimFloat(x))
	}
	p.answer = Answer{Form: "number", Values: []string{trimFloat(x)}}
	return p
}

// ending is that of a noun's plural where there are not one.
func ending(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func slotsOf(list []string) map[string]string {
	slots := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		slots[list[i]] = list[i+1]
	}
	return slots
}

// things are goods that are counted.
func goods() []string {
	return strings.Fields(`chairs lamps notebooks mugs brushes towels plants shirts cushions bulbs pencils bowls bottles
		helmets blankets hinges tiles candles folders vases spades gloves ropes kites tents jars`)
}

// goodsOf draws two of them.
func goodsOf(r *rand.Rand) (string, string) {
	list := slices.Clone(goods())
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[0], list[1]
}

// listed are numbers in a row: "3, 4.5 and 8".
func listed(values []float64) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, price(v))
	}
	return enumerate(texts)
}

// sumKinds are the problems of numbers, by the pattern of their wordings.
func sumKinds() map[string]func(*reckoner) *problem {
	kinds := map[string]func(*reckoner) *problem{
		"products": products, "bill": bill, "percent_of": percentOf, "plus_percent": plusPercent,
		"minus_percent": minusPercent, "percent_change": percentChange, "before_percent": beforePercent, "scale": scale,
		"cheaper": cheaper, "groups": groups, "rest": rest, "loop": loop, "mean": mean, "root": root,
		"diagonal": diagonal, "convert": convert, "travel": travel, "wage": wage, "shares": shares, "growth": growth,
		"goal":    goal,
		"chain":   chain,
		"divides": divides,
	}
	maps.Copy(kinds, mixKinds())
	return kinds
}

func products(k *reckoner) *problem {
	item, item2 := goodsOf(k.r)
	n, m := k.whole(2, 14, 1), k.whole(2, 9, 1)
	a, b := k.money(2, 60), k.money(5, 190)
	k.note("%s times %s and %s times %s, then both added", Digits(n), price(a), Digits(m), price(b))
	total := k.do(Plus, k.do(Times, val(n), val(a)), k.do(Times, val(m), val(b)))
	return k.number(total, "n", Digits(n), "item", item, "a", price(a), "v", Digits(m), "item2", item2, "b", price(b))
}

func bill(k *reckoner) *problem {
	var list []float64
	for range 3 + k.r.IntN(2) {
		list = append(list, k.money(20, 700))
	}
	off := k.money(5, 60)
	k.note("add %s one by one, then take off %s", listed(list), price(off))
	sum := val(list[0])
	for _, x := range list[1:] {
		sum = k.do(Plus, sum, val(x))
	}
	return k.number(k.do(Minus, sum, val(off)), "given", listed(list), "v", price(off))
}

// fraction is a percentage as a part of 1.
func fraction(percent float64) float64 { return math.Round(percent*100) / 10000 }

// part is so many percent of a number.
func (k *reckoner) part(percent float64, of Term) Term {
	if k.byHundred {
		return k.do(Over, k.do(Times, of, val(percent)), val(100))
	}
	return k.do(Times, of, val(fraction(percent)))
}

// partOf says how so many percent of something are found.
func (k *reckoner) partOf(percent float64, of string) string {
	if k.byHundred {
		return fmt.Sprintf("%s times %s, divided by 100", of, Digits(percent))
	}
	return fmt.Sprintf("%s times %s", of, Digits(fraction(percent)))
}

func percentOf(k *reckoner) *problem {
	a, b := k.whole(2, 45, 1), k.whole(40, 2400, 20)
	if k.r.IntN(4) == 0 {
		a += 0.5
	}
	k.note("%s percent of %s is %s", Digits(a), Digits(b), k.partOf(a, Digits(b)))
	return k.number(k.part(a, val(b)), "a", Digits(a), "b", Digits(b))
}

func plusPercent(k *reckoner) *problem {
	item, _ := goodsOf(k.r)
	a, b := k.whole(2, 25, 1), k.money(30, 900)
	k.note("%s percent are %s, then added to %s", Digits(a), k.partOf(a, price(b)), price(b))
	return k.number(k.do(Plus, val(b), k.part(a, val(b))), "item", item, "a", Digits(a), "b", price(b))
}

func minusPercent(k *reckoner) *problem {
	item, _ := goodsOf(k.r)
	a, b := k.whole(5, 60, 5), k.money(12, 400)
	k.note("%s percent are %s, then taken off %s", Digits(a), k.partOf(a, price(b)), price(b))
	return k.number(k.do(Minus, val(b), k.part(a, val(b))), "item", item, "a", Digits(a), "b", price(b))
}

func percentChange(k *reckoner) *problem {
	item, _ := goodsOf(k.r)
	a, b := k.whole(20, 800, 10), k.whole(20, 900, 1)
	if a == b {
		return nil
	}
	from, to := b, a
	if b < a {
		from, to = a, b
	}
	slots := []string{"item", item, "a", Digits(a), "b", Digits(b)}
	if k.byHundred {
		k.note("the change is %s minus %s: times 100, divided by %s, as it was before", Digits(from), Digits(to),
			Digits(a))
		change := k.do(Minus, val(from), val(to))
		return k.number(k.do(Over, k.do(Times, change, val(100)), val(a)), slots...)
	}
	k.note("the change is %s minus %s: divided by %s, as it was before, times 100", Digits(from), Digits(to), Digits(a))
	change := k.do(Minus, val(from), val(to))
	return k.number(k.do(Times, k.do(Over, change, val(a)), val(100)), slots...)
}

func beforePercent(k *reckoner) *problem {
	item, _ := goodsOf(k.r)
	a, net := k.whole(5, 25, 1), k.whole(20, 900, 5)
	b := math.Round(net*(100+a)) / 100
	slots := []string{"item", item, "a", Digits(a), "b", price(b)}
	if !k.byHundred {
		k.note("%s is with %s percent on top, so it is divided by %s", price(b), Digits(a), Digits(fraction(100+a)))
		return k.number(k.do(Over, val(b), val(fraction(100+a))), slots...)
	}
	k.note("%s is 100 percent and %s percent: times 100, divided by %s", price(b), Digits(a), Digits(100+a))
	return k.number(k.do(Over, k.do(Times, val(b), val(100)), val(100+a)), slots...)
}

func scale(k *reckoner) *problem {
	dish := pick(k.r,
		strings.Fields("risotto goulash granola porridge dumplings polenta chutney lasagne ramen couscous"))
	of := pick(k.r, strings.Fields("rice butter lentils cheese sugar beans oats spinach almonds mushrooms"))
	n, v, each := k.whole(2, 8, 1), k.whole(3, 30, 1), k.whole(25, 140, 5)
	if n == v {
		return nil
	}
	k.note("for one it is %s divided by %s, for %s so many times that", Digits(n*each), Digits(n), Digits(v))
	one := k.do(Over, val(n*each), val(n))
	return k.number(k.do(Times, one, val(v)), "item", dish, "item2", of, "n", Digits(n), "a", Digits(n*each),
		"v", Digits(v))
}

func cheaper(k *reckoner) *problem {
	item := pick(k.r, strings.Fields("coffee tea rice flour muesli honey nuts cheese soap paint seeds salt"))
	a, v := k.whole(100, 900, 50), k.whole(300, 2500, 100)
	b, v2 := k.money(2, 14), k.money(5, 40)
	k.note("the price of a gram: %s by %s for the first, %s by %s for the second", price(b), Digits(a), price(v2),
		Digits(v))
	one, other := k.do(Over, val(b), val(a)), k.do(Over, val(v2), val(v))
	x, y := k.value(one), k.value(other)
	if a == v || math.Abs(x-y) < 0.03*x {
		return nil
	}
	answer := map[bool]string{true: "first", false: "second"}[x < y]
	k.note("%s is less than %s, so the %s", shorter(min(x, y)), shorter(max(x, y)), answer)
	return &problem{
		slots:  slotsOf([]string{"item", item, "a", Digits(a), "b", price(b), "v", Digits(v), "v2", price(v2)}),
		answer: Answer{Form: "text", Values: []string{answer}, Among: []string{"first", "second", "First", "Second"}},
	}
}

func groups(k *reckoner) *problem {
	item, _ := goodsOf(k.r)
	a, b := k.whole(80, 1900, 1), k.whole(6, 48, 1)
	k.note("what is left of %s by %s; the rest, without it, divided by %s", Digits(a), Digits(b), Digits(b))
	left := k.do(Rest, val(a), val(b))
	full := k.do(Over, k.do(Minus, val(a), left), val(b))
	if k.value(left) == 0 || k.value(left) == k.value(full) {
		return nil
	}
	return &problem{slots: slotsOf([]string{"item", item, "a", Digits(a), "b", Digits(b)}),
		answer: Answer{Form: "pair", Values: []string{Digits(k.value(full)), Digits(k.value(left))}}}
}

func rest(k *reckoner) *problem {
	a, b := k.whole(200, 99000, 1), k.whole(7, 97, 1)
	t := k.do(Rest, val(a), val(b))
	return k.number(t, "a", Digits(a), "b", Digits(b))
}

func loop(k *reckoner) *problem {
	item := pick(k.r, []string{"A tram line", "The cable car", "Our bus line", "A ring road", "The toy train"})
	b := k.whole(5, 24, 1)
	a, n := k.whole(1, int(b), 1), k.whole(int(b)+1, 160, 1)
	k.note("%s and %s, and what that leaves by %s", Digits(a), Digits(n), Digits(b))
	at := k.do(Rest, k.do(Plus, val(a), val(n)), val(b))
	if k.value(at) == 0 { // the last one, which has no number 0
		return nil
	}
	return k.number(at, "item", item, "a", Digits(a), "b", Digits(b), "n", Digits(n))
}

func mean(k *reckoner) *problem {
	var list []float64
	for range 3 + k.r.IntN(3) {
		list = append(list, k.whole(20, 990, 1)/10)
	}
	var texts []string
	for _, x := range list {
		texts = append(texts, Digits(x))
	}
	k.note("they are %d: add them up, then divide by %d", len(list), len(list))
	sum := val(list[0])
	for _, x := range list[1:] {
		sum = k.do(Plus, sum, val(x))
	}
	return k.number(k.do(Over, sum, val(float64(len(list)))), "given", enumerate(texts))
}

func root(k *reckoner) *problem {
	a := k.whole(11, 140, 1)
	return k.number(k.do(Root, val(a*a), Term{}), "a", Digits(a*a))
}

func diagonal(k *reckoner) *problem {
	legs := pick(k.r, [][2]float64{{3, 4}, {5, 12}, {8, 15}, {7, 24}, {20, 21}, {9, 40}})
	by := pick(k.r, []float64{0.5, 1, 2, 3, 5, 10, 12, 25})
	item := pick(k.r,
		[]string{"a window", "a gate", "a sheet", "the yard", "a panel", "the court", "a banner", "the lawn"})
	a, b := legs[0]*by, legs[1]*by
	k.note("the squares of %s and %s added, then the root", Digits(a), Digits(b))
	sum := k.do(Plus, k.do(Times, val(a), val(a)), k.do(Times, val(b), val(b)))
	return k.number(k.do(Root, sum, Term{}), "item", item, "a", Digits(a), "b", Digits(b))
}

func convert(k *reckoner) *problem {
	u := pick(k.r, []struct {
		item, item2 string
		one         float64
	}{{"yards", "metres", 0.9144}, {"feet", "centimetres", 30.48}, {"pounds", "kilograms", 0.4536},
		{"gallons", "litres", 3.785}, {"acres", "square metres", 4046.86}, {"sea miles", "kilometres", 1.852},
		{"ounces", "grams", 28.35}, {"pints", "millilitres", 568}, {"crowns", "euros", 0.04}, {"francs", "euros", 1.06},
		{"dollars", "pesos", 17.2}, {"stone", "kilograms", 6.35}, {"cups", "millilitres", 240},
		{"hands", "centimetres", 10.16}})
	a := k.whole(3, 240, 1)
	k.note("one is %s, so %s times %s", Digits(u.one), Digits(a), Digits(u.one))
	return k.number(k.do(Times, val(a), val(u.one)), "a", Digits(a), "item", u.item, "item2", u.item2, "b",
		Digits(u.one))
}

func travel(k *reckoner) *problem {
	b := k.whole(12, 120, 4)
	a := b * k.whole(3, 30, 1) / 4
	return k.number(k.do(Over, val(a), val(b)), "a", Digits(a), "b", Digits(b))
}

func wage(k *reckoner) *problem {
	a, b, v := k.whole(3, 40, 1), k.money(9, 60), k.whole(5, 120, 5)
	if k.r.IntN(4) == 0 {
		a += 0.5
	}
	k.note("%s times %s, then %s once", Digits(a), price(b), Digits(v))
	return k.number(k.do(Plus, k.do(Times, val(a), val(b)), val(v)), "a", Digits(a), "b", price(b), "v", Digits(v))
}

func shares(k *reckoner) *problem {
	n, v, v2 := k.whole(2, 24, 1), k.whole(2, 24, 1), k.whole(2, 24, 1)
	a := k.whole(60, 1800, 5)
	x, y := k.names()
	if x == y || n == v {
		return nil
	}
	k.note("all parts are %s, %s and %s added; %s times %s by that is for %s", Digits(n), Digits(v), Digits(v2),
		Digits(a), Digits(v), y)
	all := k.do(Plus, k.do(Plus, val(n), val(v)), val(v2))
	return k.number(k.do(Over, k.do(Times, val(a), val(v)), all), "a", Digits(a), "n", Digits(n), "v", Digits(v),
		"v2", Digits(v2), "x", x, "y", y)
}

func growth(k *reckoner) *problem {
	a, b, n := k.whole(200, 9000, 100), k.whole(2, 12, 1), 2+k.r.IntN(2)
	p := k.number(k.grow(a, b, n), "a", Digits(a), "b", Digits(b), "n", fmt.Sprint(n))
	if p != nil && p.round == "one_decimal" {
		return nil
	}
	return p
}

// grow is a number that grows by so many percent, n times.
func (k *reckoner) grow(a, percent float64, n int) Term {
	k.note("%s percent more is times %s: %s times that, %d times over", Digits(percent), Digits(fraction(100+percent)),
		Digits(a), n)
	t := val(a)
	for range n {
		t = k.do(Times, t, val(fraction(100+percent)))
	}
	return t
}

func goal(k *reckoner) *problem {
	a, v := k.whole(40, 900, 10), k.whole(10, 95, 5)
	b := a + v*k.whole(4, 30, 1)
	k.note("what is missing is %s minus %s, and that divided by %s", Digits(b), Digits(a), Digits(v))
	return k.number(k.do(Over, k.do(Minus, val(b), val(a)), val(v)), "a", Digits(a), "b", Digits(b), "v", Digits(v))
}

func chain(k *reckoner) *problem {
	a, b, parts, each := k.whole(6, 60, 1), k.whole(4, 40, 1), k.whole(3, 9, 1), k.whole(5, 60, 1)
	v := a*b - parts*each
	if v <= 0 {
		return nil
	}
	k.note("%s times %s, that minus %s, and that divided by %s", Digits(a), Digits(b), Digits(v), Digits(parts))
	product := k.do(Times, val(a), val(b))
	less := k.do(Minus, product, val(v))
	one := k.do(Over, less, val(parts))
	list := []string{Digits(k.value(product)), Digits(k.value(less)), Digits(k.value(one))}
	return &problem{slots: slotsOf([]string{"a", Digits(a), "b", Digits(b), "v", Digits(v), "v2", Digits(parts)}),
		answer: Answer{Form: "list", Order: true, Values: list}}
}

func divides(k *reckoner) *problem {
	b := k.whole(6, 60, 1)
	a := b * k.whole(12, 400, 1)
	if k.r.IntN(2) == 0 {
		a += k.whole(1, int(b)-1, 1)
	}
	left := k.value(k.do(Rest, val(a), val(b)))
	answer := map[bool]string{true: "Yes", false: "No"}[left == 0]
	k.note("%s is left, so %s", Digits(left), strings.ToLower(answer))
	return &problem{slots: slotsOf([]string{"a", Digits(a), "b", Digits(b)}),
		answer: Answer{Form: "yes_no", Values: []string{answer}}}
}
