package programs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// place is a city as people name it, its zone, and the minutes by which its clocks are ahead of UTC. Cities with
// another group than "" change their clocks together, and are compared among themselves alone.
type place struct {
	city, zone string
	ahead      int
	group      string
}

// places are cities whose clocks nobody changes twice a year, and two groups that change theirs in the same night.
func places() []place {
	return []place{
		{"Tokyo", "Asia/Tokyo", 540, ""}, {"Osaka", "Asia/Tokyo", 540, ""}, {"Seoul", "Asia/Seoul", 540, ""},
		{"Delhi", "Asia/Kolkata", 330, ""}, {"Mumbai", "Asia/Kolkata", 330, ""}, {"Bangalore", "Asia/Kolkata", 330, ""},
		{"Kathmandu", "Asia/Kathmandu", 345, ""}, {"Dubai", "Asia/Dubai", 240, ""}, {"Muscat", "Asia/Muscat", 240, ""},
		{"Singapore", "Asia/Singapore", 480, ""}, {"Hong Kong", "Asia/Hong_Kong", 480, ""},
		{"Shanghai", "Asia/Shanghai", 480, ""}, {"Beijing", "Asia/Shanghai", 480, ""},
		{"Taipei", "Asia/Taipei", 480, ""}, {"Kuala Lumpur", "Asia/Kuala_Lumpur", 480, ""},
		{"Manila", "Asia/Manila", 480, ""}, {"Bangkok", "Asia/Bangkok", 420, ""}, {"Jakarta", "Asia/Jakarta", 420, ""},
		{"Hanoi", "Asia/Ho_Chi_Minh", 420, ""}, {"Yangon", "Asia/Yangon", 390, ""}, {"Dhaka", "Asia/Dhaka", 360, ""},
		{"Colombo", "Asia/Colombo", 330, ""}, {"Karachi", "Asia/Karachi", 300, ""}, {"Lahore", "Asia/Karachi", 300, ""},
		{"Tashkent", "Asia/Tashkent", 300, ""}, {"Kabul", "Asia/Kabul", 270, ""}, {"Tehran", "Asia/Tehran", 210, ""},
		{"Baku", "Asia/Baku", 240, ""}, {"Tbilisi", "Asia/Tbilisi", 240, ""}, {"Riyadh", "Asia/Riyadh", 180, ""},
		{"Doha", "Asia/Qatar", 180, ""}, {"Baghdad", "Asia/Baghdad", 180, ""}, {"Istanbul", "Europe/Istanbul", 180, ""},
		{"Moscow", "Europe/Moscow", 180, ""}, {"Minsk", "Europe/Minsk", 180, ""},
		{"Nairobi", "Africa/Nairobi", 180, ""}, {"Addis Ababa", "Africa/Addis_Ababa", 180, ""},
		{"Kampala", "Africa/Kampala", 180, ""}, {"Johannesburg", "Africa/Johannesburg", 120, ""},
		{"Cape Town", "Africa/Johannesburg", 120, ""}, {"Harare", "Africa/Harare", 120, ""},
		{"Kigali", "Africa/Kigali", 120, ""}, {"Lagos", "Africa/Lagos", 60, ""}, {"Tunis", "Africa/Tunis", 60, ""},
		{"Algiers", "Africa/Algiers", 60, ""}, {"Accra", "Africa/Accra", 0, ""}, {"Dakar", "Africa/Dakar", 0, ""},
		{"Reykjavik", "Atlantic/Reykjavik", 0, ""}, {"UTC", "Etc/UTC", 0, ""},
		{"Sao Paulo", "America/Sao_Paulo", -180, ""}, {"Buenos Aires", "America/Argentina/Buenos_Aires", -180, ""},
		{"Montevideo", "America/Montevideo", -180, ""}, {"Caracas", "America/Caracas", -240, ""},
		{"La Paz", "America/La_Paz", -240, ""}, {"San Juan", "America/Puerto_Rico", -240, ""},
		{"Bogota", "America/Bogota", -300, ""}, {"Lima", "America/Lima", -300, ""},
		{"Quito", "America/Guayaquil", -300, ""}, {"Panama City", "America/Panama", -300, ""},
		{"Kingston", "America/Jamaica", -300, ""}, {"San Jose in Costa Rica", "America/Costa_Rica", -360, ""},
		{"Guatemala City", "America/Guatemala", -360, ""}, {"Mexico City", "America/Mexico_City", -360, ""},
		{"Phoenix", "America/Phoenix", -420, ""}, {"Honolulu", "Pacific/Honolulu", -600, ""},
		{"Perth", "Australia/Perth", 480, ""}, {"Brisbane", "Australia/Brisbane", 600, ""},
		{"Darwin", "Australia/Darwin", 570, ""}, {"Port Moresby", "Pacific/Port_Moresby", 600, ""},
		{"Suva", "Pacific/Fiji", 720, ""}, {"London", "Europe/London", 0, "Europe"},
		{"Dublin", "Europe/Dublin", 0, "Europe"}, {"Lisbon", "Europe/Lisbon", 0, "Europe"},
		{"Berlin", "Europe/Berlin", 60, "Europe"}, {"Madrid", "Europe/Madrid", 60, "Europe"},
		{"Rome", "Europe/Rome", 60, "Europe"}, {"Vienna", "Europe/Vienna", 60, "Europe"},
		{"Warsaw", "Europe/Warsaw", 60, "Europe"}, {"Athens", "Europe/Athens", 120, "Europe"},
		{"Helsinki", "Europe/Helsinki", 120, "Europe"}, {"New York", "America/New_York", -300, "America"},
		{"Boston", "America/New_York", -300, "America"}, {"Chicago", "America/Chicago", -360, "America"},
		{"Denver", "America/Denver", -420, "America"}, {"Los Angeles", "America/Los_Angeles", -480, "America"},
		{"Seattle", "America/Los_Angeles", -480, "America"}, {"Paris", "Europe/Paris", 60, "Europe"},
		{"Zurich", "Europe/Zurich", 60, "Europe"}, {"Stockholm", "Europe/Stockholm", 60, "Europe"},
		{"Amsterdam", "Europe/Amsterdam", 60, "Europe"}, {"Prague", "Europe/Prague", 60, "Europe"},
		{"Toronto", "America/Toronto", -300, "America"}, {"Vancouver", "America/Vancouver", -480, "America"},
		{"San Francisco", "America/Los_Angeles", -480, "America"}, {"Miami", "America/New_York", -300, "America"},
		{"Apia", "Pacific/Apia", 780, ""}, {"Tarawa", "Pacific/Tarawa", 720, ""}, {"Guam", "Pacific/Guam", 600, ""},
		{"Pago Pago", "Pacific/Pago_Pago", -660, ""}, {"Tahiti", "Pacific/Tahiti", -600, ""},
		{"Mauritius", "Indian/Mauritius", 240, ""}, {"Bali", "Asia/Makassar", 480, ""},
		{"Ulaanbaatar", "Asia/Ulaanbaatar", 480, ""}, {"Vientiane", "Asia/Vientiane", 420, ""},
		{"Phnom Penh", "Asia/Phnom_Penh", 420, ""}, {"Kuwait City", "Asia/Kuwait", 180, ""},
		{"Dar es Salaam", "Africa/Dar_es_Salaam", 180, ""}, {"Maputo", "Africa/Maputo", 120, ""},
		{"Windhoek", "Africa/Windhoek", 120, ""}, {"Luanda", "Africa/Luanda", 60, ""},
		{"Abidjan", "Africa/Abidjan", 0, ""}, {"Santo Domingo", "America/Santo_Domingo", -240, ""},
		{"Paramaribo", "America/Paramaribo", -180, ""}, {"Managua", "America/Managua", -360, ""},
		{"Medellin", "America/Bogota", -300, ""}, {"Rio de Janeiro", "America/Sao_Paulo", -180, ""},
	}
}

// two draws two places that can be compared at any time of the year, and whose clocks differ.
func (k *reckoner) two() (a, b place) {
	list := places()
	for {
		if a, b = pick(k.r, list), pick(k.r, list); a.group == b.group && a.ahead != b.ahead {
			return a, b
		}
	}
}

// clock is a time of day.
func clock(minutes int) string {
	minutes = ((minutes % 1440) + 1440) % 1440
	return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60)
}

// said is a time as people write it: "14:30", "2:30 pm" or "half past two".
func (k *reckoner) said(minutes int) string {
	h, m := minutes/60, minutes%60
	half := map[bool]string{true: "am", false: "pm"}[h < 12]
	twelve := (h+11)%12 + 1
	switch n := k.r.IntN(8); {
	case n == 0 && m == 0:
		return fmt.Sprint(twelve, " ", half)
	case n == 1:
		return fmt.Sprintf("%d:%02d %s", twelve, m, half)
	case n == 2 && m == 30 && h > 5 && h < 12:
		return "half past " + []string{"six", "seven", "eight", "nine", "ten", "eleven"}[h-6] + " in the morning"
	case n == 2 && m == 30 && h > 17 && h < 23:
		return "half past " + []string{"six", "seven", "eight", "nine", "ten"}[h-18] + " in the evening"
	case n == 3 && h == 12 && m == 0:
		return "noon"
	}
	return clock(minutes)
}

// time draws a time of day within some hours.
func (k *reckoner) time(from, to int) int { return 60*from + 5*k.r.IntN(12*(to-from)) }

// turn is what a clock shows elsewhere at a time; at is in minutes, and may be of another day.
func (k *reckoner) turn(at int, a, b place) (there int) {
	there = at + b.ahead - a.ahead
	k.step(ReckonStep{Do: Zone, Time: clock(at), From: a.zone, To: b.zone, Then: clock(there), city: a.city,
		city2: b.city})
	return there
}

// Misnamed is a step on a time with one of its zones by a name that is none, as people would guess it, and why the
// right one is taken then; false where none comes to mind.
func (s ReckonStep) Misnamed(r *rand.Rand) (wrong ReckonStep, why string, ok bool) {
	wrong = s
	city, zone, to := s.city, s.From, &wrong.From
	if r.IntN(2) == 0 {
		city, zone, to = s.city2, s.To, &wrong.To
	}
	region, name, ok := strings.Cut(zone, "/")
	if !ok || city == "UTC" || strings.Contains(city, " in ") {
		return s, "", false
	}
	guess := region + "/" + strings.ReplaceAll(city, " ", "_")
	if guess == zone || r.IntN(2) == 0 {
		other := pick(r, []string{"Asia", "Africa", "Europe", "America", "Australia", "Pacific"})
		guess = pick(r, []string{name, other + "/" + name})
	}
	if *to = guess; guess == zone {
		return s, "", false
	}
	return wrong, fmt.Sprintf("%s is no zone; %s is in %s", guess, city, zone), true
}

func timeAnswer(minutes int) Answer { return Answer{Form: "time", Values: []string{clock(minutes)}} }

// span is a length of time as people say it.
func span(minutes int) string {
	h, m := minutes/60, minutes%60
	hours := fmt.Sprint(h, " hours")
	if h == 1 {
		hours = "an hour"
	}
	switch {
	case h == 0:
		return fmt.Sprint(m, " minutes")
	case m == 0:
		return hours
	}
	return fmt.Sprint(hours, " and ", m, " minutes")
}

// later is a time that is so many minutes later, or earlier where there are fewer than 0: the hours first, then the
// minutes, each with the day where it is another one.
func (k *reckoner) later(at, long int) int {
	sign, word, rest := 1, "and", long
	if long < 0 {
		sign, word, rest = -1, "less", -long
	}
	k.move(&at, word, "hour", 60, sign*(rest/60), 24)
	k.move(&at, word, "minute", 1, sign*(rest%60), 60)
	return at
}

// move takes a time by n units on; a unit is so many minutes, and around of them are the next larger one.
func (k *reckoner) move(at *int, word, unit string, minutes, n, around int) {
	if n == 0 {
		return
	}
	was, of := *at, ((*at%1440)+1440)%1440
	*at += n * minutes
	reads := of / minutes % around
	sum, sign := reads+n, "+"
	if n < 0 {
		sign = "-"
	}
	size := max(n, -n)
	text := fmt.Sprintf("%s %s %d %s%s: %d %s %d = %d", clock(was), word, size, unit, ending(size), reads, sign, size,
		sum)
	switch {
	case sum >= around:
		text += fmt.Sprintf(", %d - %d = %d", sum, around, sum-around)
	case sum < 0:
		text += fmt.Sprintf(", %d + %d = %d", sum, around, sum+around)
	}
	day := ""
	switch from := of + n*minutes; {
	case from >= 1440:
		day = " the next day"
	case from < 0:
		day = " the day before"
	}
	k.note("%s, so %s%s", text, clock(*at), day)
}

// until is how many minutes it is from a time to the next one that reads so: the whole hours first, then the minutes.
func (k *reckoner) until(from, to int) int {
	long := (((to - from) % 1440) + 1440) % 1440
	full := from + long/60*60
	first, last := ((from%1440)+1440)%1440/60, ((full%1440)+1440)%1440/60
	if long >= 60 {
		text := fmt.Sprintf("from %s to %s: %d - %d = %d", clock(from), clock(full), last, first, last-first)
		if last < first {
			text += fmt.Sprintf(", %d + 24 = %d", last-first, last-first+24)
		}
		k.note("%s hour%s", text, ending(long/60))
	}
	if long%60 > 0 {
		k.note("from %s to %s: %d minutes", clock(full), clock(from+long), long%60)
	}
	if long >= 60 && long%60 > 0 {
		k.note("together %d:%02d", long/60, long%60)
	}
	return long
}

// clockKinds are the problems of times, by the pattern of their wordings.
func clockKinds() map[string]func(*reckoner) *problem {
	kinds := map[string]func(*reckoner) *problem{"time_at": timeAt, "time_two": timeTwo, "time_first": timeFirst,
		"arrival": arrival, "flight": flight, "ahead": ahead, "open": isOpen, "latest": latest, "talk": talk}
	maps.Copy(kinds, clockMixKinds())
	return kinds
}

func timeAt(k *reckoner) *problem {
	a, b := k.two()
	at := k.time(0, 24)
	return &problem{slots: slotsOf([]string{"time", k.said(at), "city", a.city, "city2", b.city}),
		answer: timeAnswer(k.turn(at, a, b))}
}

func timeTwo(k *reckoner) *problem {
	a, b := k.two()
	_, c := k.two()
	if c.group != a.group || c.city == b.city || c.zone == a.zone {
		return nil
	}
	at := k.time(5, 23)
	first, second := k.turn(at, a, b), k.turn(at, a, c)
	return &problem{slots: slotsOf([]string{"time", k.said(at), "city", a.city, "city2", b.city, "name", c.city}),
		answer: Answer{Form: "times", Order: true, Values: []string{clock(first), clock(second)}}}
}

// names draws two first names.
func (k *reckoner) names() (string, string) {
	x, y := firstWord(inventName(k.r, "person")), firstWord(inventName(k.r, "person"))
	return x, y
}

func timeFirst(k *reckoner) *problem {
	a, b := k.two()
	at, other := k.time(6, 20), k.time(6, 20)
	x, y := k.names()
	there := k.turn(at, a, b)
	if x == y || there == other || there < 0 || there >= 1440 { // else the day is another one
		return nil
	}
	first := map[bool]string{true: x, false: y}[there < other]
	k.note("%s's %s is %s in %s; %s is earlier, so %s", x, clock(at), clock(there), b.city, clock(min(there, other)),
		first)
	return &problem{slots: slotsOf([]string{"x", x, "y", y, "time", clock(at), "name", clock(other), "city", a.city,
		"city2", b.city}), answer: Answer{Form: "text", Values: []string{first}, Among: []string{x, y}}}
}

func arrival(k *reckoner) *problem {
	a, b := k.two()
	at, long := k.time(0, 24), 5*(9+k.r.IntN(130))
	there := k.turn(at, a, b)
	return &problem{slots: slotsOf([]string{"time", k.said(at), "city", a.city, "city2", b.city, "v", span(long)}),
		answer: timeAnswer(k.later(there, long))}
}

func flight(k *reckoner) *problem {
	a, b := k.two()
	at, long := k.time(0, 24), 5*(15+k.r.IntN(120))
	end := at + long + b.ahead - a.ahead
	there := k.turn(at, a, b)
	k.until(there, end)
	return &problem{slots: slotsOf([]string{"time", clock(at), "city", a.city, "city2", b.city, "name", clock(end)}),
		answer: Answer{Form: "span", Values: []string{fmt.Sprintf("%d:%02d", long/60, long%60)}}}
}

func ahead(k *reckoner) *problem {
	a, b := k.two()
	if a.ahead > b.ahead {
		a, b = b, a
	}
	n := float64(b.ahead-a.ahead) / 60
	if n > 13 {
		return nil
	}
	if long := k.until(720, k.turn(720, a, b)); long%60 > 0 {
		k.note("that is %s hours", trimFloat(n))
	}
	return &problem{slots: slotsOf([]string{"city", a.city, "city2", b.city}),
		answer: Answer{Form: "number", Values: []string{trimFloat(n)}}}
}

func isOpen(k *reckoner) *problem {
	a, b := k.two()
	at, from := k.time(6, 20), 30*(12+k.r.IntN(10))
	there := k.turn(at, a, b)
	if there < 0 || there >= 20*60 || there == from { // people close, too
		return nil
	}
	answer := map[bool]string{true: "Yes", false: "No"}[there > from]
	k.note("%s is %s %s", clock(there), map[bool]string{true: "after", false: "before"}[there > from], clock(from))
	return &problem{slots: slotsOf([]string{"time", k.said(at), "city", a.city, "city2", b.city, "name", clock(from)}),
		answer: Answer{Form: "yes_no", Values: []string{answer}}}
}

func latest(k *reckoner) *problem {
	a, b := k.two()
	x, _ := k.names()
	at, before := k.time(7, 24), 5*(2+k.r.IntN(22))
	start := k.later(at, -before)
	return &problem{
		slots:  slotsOf([]string{"x", x, "time", clock(at), "city2", b.city, "city", a.city, "v", span(before)}),
		answer: timeAnswer(k.turn(start, b, a)),
	}
}

func talk(k *reckoner) *problem {
	a, b := k.two()
	at, long := k.time(0, 24), 5*(2+k.r.IntN(22))
	rate := float64(2+k.r.IntN(60)) / 20
	there := k.turn(at, a, b)
	end := there + long
	k.until(there, end)
	if long > 60 {
		k.note("%d times 60 and %d is %d minutes", long/60, long%60, long)
	}
	return k.number(k.do(Times, val(float64(long)), val(rate)), "a", price(rate), "time", clock(at), "city", a.city,
		"city2", b.city, "name", clock(end))
}

// Reckons are the kinds of reckonings for which there are operations: those of numbers and those of times.
func Reckons(can func(op string) bool) (kinds []string) {
	numbers := can(Plus) && can(Minus) && can(Times) && can(Over)
	if numbers {
		for kind := range sumKinds() {
			switch {
			case slices.Contains(strings.Fields("groups rest loop divides divides_rest pace"), kind) && !can(Rest):
			case slices.Contains(strings.Fields("root diagonal leg square root_or"), kind) && !can(Root):
			case slices.Contains(strings.Fields("steps steps_end unit"), kind): // no two of them are alike
				kinds = append(kinds, kind, kind)
			default:
				kinds = append(kinds, kind)
			}
		}
		kinds = append(kinds, "sum_ask", "people_ask", "people_ask", "percent_ask")
	}
	if can(Zone) {
		for kind := range clockKinds() {
			if numbers || !needsSums(kind) {
				kinds = append(kinds, kind, kind) // they are fewer, and as many ask for them
			}
		}
		kinds = append(kinds, "clock_ask")
	}
	if len(kinds) > 0 {
		kinds = append(kinds, "clock_cannot", "clock_cannot")
	}
	slices.Sort(kinds)
	return kinds
}

// Reckon draws a reckoning of a kind; nil where the draw comes to nothing.
func Reckon(r *rand.Rand, kind string) *Reckoning {
	for range tries {
		k := &reckoner{r: r, byHundred: r.IntN(3) == 0}
		var p *problem
		switch {
		case sumKinds()[kind] != nil:
			p = sumKinds()[kind](k)
		case clockKinds()[kind] != nil:
			p = clockKinds()[kind](k)
		default:
			p = k.refused(kind)
		}
		if p == nil {
			continue
		}
		if p.round != "" {
			p.slots["round"] = p.round
		}
		p.answer.Beside = k.besides(p)
		q := &Program{Kind: kind, pattern: kind, slots: p.slots, Answer: p.answer, working: strings.Join(k.notes, "\n")}
		return &Reckoning{Program: q, Steps: k.steps}
	}
	return nil
}

// besides are the numbers of a request and of its steps that stand beside the values of an answer of several. Where the
// first value is one of them, who says it may have computed nothing: then there are none.
func (k *reckoner) besides(p *problem) (list []string) {
	if p.answer.Form != "fields" || len(p.answer.Values) < 2 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.slots)) {
		list = append(list, figures.FindAllString(p.slots[name], -1)...)
	}
	for _, s := range k.steps {
		if s.Do == Zone {
			list = append(list, s.Time)
		} else {
			list = append(list, Digits(k.value(s.A)), Digits(k.value(s.B)))
		}
	}
	for i, n := range list {
		if hours, minutes, ok := strings.Cut(n, ":"); ok && len(hours) == 1 {
			list[i] = "0" + hours + ":" + minutes
		}
	}
	if slices.Contains(list, p.answer.Values[0]) {
		return nil
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(n string) bool { return slices.Contains(p.answer.Values, n) })
}

// figures matches a time of day or a number.
var figures = regexp.MustCompile(`\d+:\d\d|\d+(?:\.\d+)?`)

// question is what is asked back, and an expression that such questions meet, and no request does that lacks it.
type question struct {
	says []string
	like string
}

// needs matches who says that something is needed, or asks for it: "I need the tax rate. Could you provide it?"
func needs(nouns string) string {
	const asks = `\b(?:need|require|provide|specify|share|clarify|know|tell me|give me)\b`
	return asks + `[^.?!\n\d]{0,40}?\b(?:` + nouns + `)\b`
}

// asksBack are the questions back by kind.
func asksBack() map[string]question {
	return map[string]question{
		"clock_ask": {[]string{"Which two places do you mean?", "Which two cities do you mean?"},
			`(?i)\b(?:which|what) (?:two |other )?(?:place|cit|town|location|country|time ?zone|zone)|` +
				`\bwhere (?:are|is) |\bplease tell me|\blet me know|` +
				needs(`places?|cit(?:y|ies)|towns?|locations?|countr(?:y|ies)|(?:time ?)?zones?`)},
		"sum_ask": {[]string{"Which number should I use for that? Please tell me."},
			`(?i)\b(?:which|what)(?: is| are)? (?:the |your )?(?:other |missing |second )?` +
				`(?:number|amount|rate|currency|figure|value|size|speed)|\bhow (?:many (?:are|fit)|fast|large|big)\b|` +
				`\bplease tell me|\blet me know|` +
				needs(`numbers?|amounts?|(?:exchange )?rate|currency|figures?|values?|size|speed`)},
		"people_ask": {[]string{"How many of you are there?", "How many people share it?"},
			`(?i)\bhow many\b|\bwhat(?: is|['’]s) the number of\b|\blet me know|` + needs(`number of`)},
		"percent_ask": {[]string{"How many percent is that?", "What percentage should I use? Please tell me."},
			`(?i)\bhow (?:many|high|large)\b|\b(?:what|which)(?: is| are)? (?:the |your )?(?:\w+ )?(?:percent|rate)|` +
				`\bplease tell me|\blet me know|` + needs(`rate|percent(?:age)?`)},
	}
}

// refused is what no tool of a clock or a calculator does, and what lacks a place or a number that only the person
// knows.
func (k *reckoner) refused(kind string) *problem {
	at := k.time(5, 23)
	if asks, ok := asksBack()[kind]; ok {
		a := map[bool]float64{true: k.whole(60, 990, 10), false: k.money(20, 900)}[k.r.IntN(2) == 0]
		return &problem{slots: slotsOf([]string{"time", k.said(at), "a", price(a)}), answer: Answer{Form: "question",
			Values: []string{pick(k.r, asks.says)}, Asks: asks.like}}
	}
	x, _ := k.names()
	_, b := k.two()
	verb := pick(k.r, []string{
		"wake me at " + k.said(at), "remind me of the call with " + x + " at " + k.said(at),
		"book a table for " + k.said(at) + " in " + b.city, "start a timer for " + span(5*(1+k.r.IntN(20))),
		"tell " + x + " that we meet at " + k.said(at), "pay " + price(k.money(10, 200)) + " to " + x,
		"save " + price(k.money(10, 200)) + " as my budget", "put " + k.said(at) + " in " + b.city + " in my calendar",
		"look up the price of a flight to " + b.city, "print the bill of " + price(k.money(10, 200)),
		"set the clock in the hall to " + k.said(at), "check the weather in " + b.city + " at " + k.said(at),
	})
	return &problem{slots: slotsOf([]string{"verb", verb}), answer: Answer{Form: "cannot", Values: []string{
		"I can't do that: my tools only calculate and tell times."}}}
}
