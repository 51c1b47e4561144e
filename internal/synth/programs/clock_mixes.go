package programs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// clockMixKinds are problems that mix times with lengths of time and with sums, or that say more than a time, by the
// pattern of their wordings.
func clockMixKinds() map[string]func(*reckoner) *problem {
	return map[string]func(*reckoner) *problem{
		"due": due, "job_end": jobEnd, "sail": sail, "shift_pay": shiftPay, "day_too": dayToo,
		"day_changed": dayChanged, "earlier_later": earlierLater, "order_times": orderTimes, "claim": claim,
	}
}

// needsSums reports whether a kind of times needs operations on numbers.
func needsSums(kind string) bool {
	return slices.Contains([]string{"talk", "job_end", "sail", "shift_pay"}, kind)
}

// due is a time after a wait, told where one is then.
func due(k *reckoner) *problem {
	a, b := k.two()
	at, long := k.time(0, 24), 5*(9+k.r.IntN(180))
	end := k.later(at, long)
	return &problem{slots: slotsOf([]string{"time", k.said(at), "city", a.city, "city2", b.city, "v", span(long)}),
		answer: timeAnswer(k.turn(end, a, b))}
}

// jobEnd is when something is ready that takes as long as a sum comes to.
func jobEnd(k *reckoner) *problem {
	a, b := k.two()
	speed := k.whole(4, 60, 1)
	at, minutes := k.time(0, 24), k.whole(20, 400, 5)
	job := pick(k.r, [][2]string{{"prints", "pages"}, {"fills", "bottles"}, {"copies", "files"}, {"packs", "boxes"},
		{"scans", "slides"}, {"pumps", "litres"}, {"checks", "rows"}, {"folds", "leaflets"}})
	all := speed * minutes
	k.note("first how long it takes: %s divided by %s a minute", Digits(all), Digits(speed))
	k.do(Over, val(all), val(speed))
	if long := int(minutes); long >= 60 {
		k.note("%d minutes is %s: %d * 60 = %d, and %d", long, span(long), long/60, long/60*60, long%60)
	}
	end := k.later(at, int(minutes))
	return &problem{slots: slotsOf([]string{"time", k.said(at), "city", a.city, "city2", b.city, "verb", job[0], "many",
		job[1], "a", Digits(all), "b", Digits(speed)}), answer: timeAnswer(k.turn(end, a, b))}
}

// quarters says a length of time in hours.
func (k *reckoner) quarters(minutes int) float64 {
	hours := float64(minutes) / 60
	if minutes%60 > 0 {
		k.note("%d minutes are %s of an hour, so %s hours", minutes%60, Digits(float64(minutes%60)/60), Digits(hours))
	}
	return hours
}

// sail is how far something comes between two local times, or what it makes, so much an hour.
func sail(k *reckoner) *problem {
	a, b := k.two()
	at, long := 15*k.r.IntN(96), 15*(3+k.r.IntN(50))
	speed := k.whole(4, 90, 1)
	what := pick(k.r, [][2]string{{"a barge", "kilometres"}, {"a freight train", "kilometres"},
		{"a yacht", "sea miles"},
		{"a drone", "kilometres"}, {"an airship", "kilometres"}, {"a truck", "kilometres"}, {"a tug", "sea miles"}})
	k.note("first the time in %s turned into that of %s, then the hours between, then times %s", a.city, b.city,
		Digits(speed))
	there := k.turn(at, a, b)
	hours := k.quarters(k.until(there, there+long))
	return k.number(k.do(Times, val(hours), val(speed)), "time", clock(at), "city", a.city, "city2", b.city, "name",
		clock(there+long), "item", what[0], "head", opening(what[0]),
		"many", what[1], "a", Digits(speed))
}

// shiftPay asks for two things: when a shift ends elsewhere, and what it pays.
func shiftPay(k *reckoner) *problem {
	a, b := k.two()
	at, long := 15*(20+k.r.IntN(40)), 15*(8+k.r.IntN(24))
	speed := k.whole(9, 80, 1)
	k.note("first the end in %s time, then the hours times %s", b.city, Digits(speed))
	end := k.turn(at+long, a, b)
	hours := k.quarters(k.until(at, at+long))
	pay := k.value(k.do(Times, val(hours), val(speed)))
	return &problem{slots: slotsOf([]string{"time", clock(at), "name", clock(at + long), "city", a.city,
		"city2", b.city,
		"a", Digits(speed)}), answer: Answer{Form: "fields", Values: []string{clock(end), Digits(pay)}}}
}

// day is how the day of a time elsewhere is to that of here.
func day(minutes int) string {
	switch {
	case minutes < 0:
		return "previous day"
	case minutes >= 1440:
		return "next day"
	}
	return "same day"
}

// acrossMidnight draws a time that often is of another day elsewhere.
func (k *reckoner) acrossMidnight() (at int, a, b place) {
	a, b = k.two()
	at = k.time(0, 24)
	for range 4 {
		if there := at + b.ahead - a.ahead; there < 0 || there >= 1440 {
			break
		}
		at = k.time(0, 24)
	}
	return at, a, b
}

func dayToo(k *reckoner) *problem {
	at, a, b := k.acrossMidnight()
	there := k.turn(at, a, b)
	k.note("%s in %s is %s in %s, %s", clock(at), a.city, clock(there), b.city, day(there))
	return &problem{slots: slotsOf([]string{"time", k.said(at), "city", a.city, "city2", b.city}),
		answer: Answer{Form: "fields", Values: []string{clock(there), day(there)},
			Among: []string{"same day", "next day", "previous day"}}}
}

func dayChanged(k *reckoner) *problem {
	at, a, b := k.acrossMidnight()
	there := k.turn(at, a, b)
	changed := map[bool]string{true: "no", false: "yes"}[day(there) == "same day"]
	k.note("%s in %s is %s in %s, %s, so %s", clock(at), a.city, clock(there), b.city, day(there), changed)
	return &problem{slots: slotsOf([]string{"time", k.said(at), "city", a.city, "city2", b.city}),
		answer: Answer{Form: "fields", Values: []string{clock(there), changed},
			Among: []string{"yes", "no", "Yes", "No"}}}
}

func earlierLater(k *reckoner) *problem {
	a, b := k.two()
	at, other := k.time(5, 22), k.time(5, 22)
	there := k.turn(at, a, b)
	if there == other || there < 0 || there >= 1440 { // else the day is another one
		return nil
	}
	answer := map[bool]string{true: "earlier", false: "later"}[there < other]
	k.note("it is %s in %s then, which is %s than %s", clock(there), b.city, answer, clock(other))
	return &problem{slots: slotsOf([]string{"time", clock(at), "city", a.city, "city2", b.city, "name", clock(other)}),
		answer: Answer{Form: "text", Values: []string{answer}, Among: []string{"earlier", "later", "Earlier", "Later"}}}
}

// orderTimes puts three times in three places in their order, by what they are in the first place.
func orderTimes(k *reckoner) *problem {
	a, b := k.two()
	_, c := k.two()
	if a.group != b.group || c.group != a.group || c.zone == a.zone || c.zone == b.zone {
		return nil
	}
	names := pick(k.r, [][]string{{"A", "B", "C"}, {"X", "Y", "Z"}, {"1", "2", "3"}, {"P", "Q", "R"}})
	list := []place{a, b, c}
	var given, read []string
	var at []int
	for i, p := range list {
		here := 15 * (20 + k.r.IntN(56))
		given = append(given, fmt.Sprintf("%s) %s in %s", names[i], clock(here), p.city))
		if i > 0 {
			here = k.turn(here, p, a)
		}
		if here < 0 || here >= 1440 || slices.Contains(at, here) {
			return nil
		}
		at, read = append(at, here), append(read, names[i]+" "+clock(here))
	}
	order := []int{0, 1, 2}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	var values []string
	for _, i := range order {
		values = append(values, names[i])
	}
	k.steps[0].Why = fmt.Sprintf("all in %s time, where %s is already", a.city, names[0])
	k.note("in %s: %s; the order is %s", a.city, strings.Join(read, ", "), strings.Join(values, ", "))
	return &problem{slots: slotsOf([]string{"given", strings.Join(given, ", ")}),
		answer: Answer{Form: "list", Order: true, Values: values}}
}

// claim is what somebody says of two clocks: it is right, or an hour or a half off.
func claim(k *reckoner) *problem {
	a, b := k.two()
	at := k.time(0, 24)
	there := k.turn(at, a, b)
	says := there + pick(k.r, []int{0, 0, 60, -60, 30})
	answer := map[bool]string{true: "Yes", false: "No"}[says == there]
	k.note("it is %s in %s, and %s was said, so %s", clock(there), b.city, clock(says), strings.ToLower(answer))
	return &problem{slots: slotsOf([]string{"time", k.said(at), "city", a.city, "city2", b.city, "name", clock(says)}),
		answer: Answer{Form: "fields", Values: []string{answer, clock(there)}}}
}
