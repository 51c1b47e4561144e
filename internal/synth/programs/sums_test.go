package programs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // no zones of the machine
)

func canAll(string) bool { return true }

// Each kind is drawn; a number is what the last step comes to, each step takes numbers that the request or an earlier
// step says, and the answer passes its own check, where others fail it.
func TestReckonings(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, kind := range Reckons(canAll) {
		for range 40 {
			p := Reckon(r, kind)
			if p == nil {
				t.Errorf("no %s is drawn", kind)
				break
			}
			for i, s := range p.Steps {
				if again := s.computed(p.Steps); s.Do != Zone && math.Abs(again-s.Result) > 1e-9 || s.A.Of > i ||
					s.B.Of > i {
					t.Errorf("%s: step %d comes to %v, not %v", kind, i, again, s.Result)
				}
			}
			checkTimes(t, p)
			if n := len(p.Steps); p.Answer.Form == "number" && kind != "ahead" {
				want, _ := strconv.ParseFloat(p.Answer.Values[0], 64)
				if got := p.Steps[n-1].Result; math.Abs(got-want) > 0.051 ||
					p.slots["round"] == "" && math.Abs(got-want) > 1e-6 {
					t.Errorf("%s: the last step comes to %v, the answer is %v", kind, got, want)
				}
			}
			for _, split := range splits() {
				w := p.Word(r, split)
				if strings.ContainsAny(w.Task, "{}") {
					t.Errorf("%s: %q", kind, w.Task)
				}
				for _, c := range w.Checks {
					if why := c.AnswerUnmet(w.Answer); why != "" {
						t.Errorf("%s: %q fails its own check: %s", kind, w.Answer, why)
					}
					if c.Answer("There is nothing to say here 987654.") {
						t.Errorf("%s: anything passes the check of %q", kind, w.Answer)
					}
				}
			}
		}
	}
}

// checkTimes holds the times of a reckoning to the clocks of its zones on a day in January, and a flight's two local
// times to its length.
func checkTimes(t *testing.T, p *Reckoning) {
	t.Helper()
	at := func(city, clock string) time.Time {
		i := slices.IndexFunc(places(), func(x place) bool { return x.city == city || x.zone == city })
		zone, err := time.LoadLocation(places()[i].zone)
		if err != nil {
			t.Fatal(err)
		}
		x, err := time.ParseInLocation("2006-01-02 15:04", "2026-01-15 "+clock, zone)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, s := range p.Steps {
		if s.Do != Zone {
			continue
		}
		from, to := at(s.From, s.Time), at(s.To, "00:00").Location()
		if now := from.In(to).Format("15:04"); now != s.Then {
			t.Errorf("%s: at %s in %s it is %s in %s, not %s", p.Kind, s.Time, s.From, now, s.To, s.Then)
		}
	}
	if p.Kind == "flight" {
		long := at(p.slots["city2"], p.slots["name"]).Sub(at(p.slots["city"], p.slots["time"]))
		minutes := (int(long.Minutes()) + 2*24*60) % (24 * 60)
		if text := fmt.Sprintf("%d:%02d", minutes/60, minutes%60); text != p.Answer.Values[0] {
			t.Errorf("from %v it is %s, not %s", p.slots, text, p.Answer.Values[0])
		}
	}
}

// computed is what a step comes to.
func (s ReckonStep) computed(steps []ReckonStep) float64 {
	value := func(t Term) float64 {
		if t.Of > 0 {
			return steps[t.Of-1].Result
		}
		return t.Value
	}
	a, b := value(s.A), value(s.B)
	switch s.Do {
	case Plus:
		return a + b
	case Minus:
		return a - b
	case Times:
		return a * b
	case Over:
		return a / b
	case Rest:
		return math.Mod(a, b)
	}
	return math.Sqrt(a)
}

// The clocks of all places are as far ahead as the zones say, in January; those without a group in July, too.
func TestPlacesAreInTheirZones(t *testing.T) {
	for _, p := range places() {
		zone, err := time.LoadLocation(p.zone)
		if err != nil {
			t.Errorf("%s: %v", p.city, err)
			continue
		}
		for _, month := range []time.Month{time.January, time.July} {
			if _, seconds := time.Date(2026, month, 15, 12, 0, 0, 0, zone).Zone(); seconds/60 != p.ahead &&
				(month == time.January || p.group == "") {
				t.Errorf("%s is %d minutes ahead in %s, not %d", p.city, seconds/60, month, p.ahead)
			}
		}
	}
}

// A time may be said in 24 or in 12 hours, and no other time beside it.
func TestTimesAsPeopleWriteThem(t *testing.T) {
	for _, x := range []struct {
		want, said string
		holds      bool
	}{
		{"18:00", "18:00", true}, {"18:00", "It is 6 pm there.", true}, {"18:00", "6:00 p.m.", true},
		{"18:00", "It's 18:00 in Oslo, not 17:00.", false}, {"18:00", "6 am", false}, {"05:50", "5:50 am", true},
		{"05:50", "05:05", false}, {"00:00", "midnight", true}, {"12:00", "At noon.", true}, {"08:05", "18:05", false},
		{"08:10", "8:10 pm", false}, {"08:10", "8:10 p.m.", false}, {"08:10", "8:10 PM", false},
		{"08:10", "8:10pm", false},
		{"08:10", "8:10 AM.", true}, {"08:10", "It's 8:10 precisely there", true}, {"08:10", "08:10 in Bogota", true},
		{"08:10", "**08:10**", true}, {"12:30", "12:30 am", false}, {"12:30", "12:30 pm", true},
		{"12:30", "12:30 ", true}, {"20:10", "8:10", false}, {"20:10", "8:10 pm", true},
		{"17:30", "The time there: 17:30", true}, {"17:30", "17:10: no, 17:30", false},
	} {
		c := Answer{Form: "time", Values: []string{x.want}}.check("", "")
		if why := c.AnswerUnmet(x.said); (why == "") != x.holds {
			t.Errorf("%q for %s: %q", x.said, x.want, why)
		}
	}
	for _, x := range []struct {
		said  string
		holds bool
	}{
		{"08:55, 08:10", true}, {"08:55 08:10", true}, {"8:55 am and 8:10 am", true}, {"08:55 / 08:10", true},
		{"Kathmandu: 08:55, Bogota: 08:10", true}, {"8:55 pm and 8:10 am", false}, {"08:55 and 8:10 pm", false},
		{"08:10, 08:55", false}, {"08:55, 09:00, 08:10", false},
	} {
		c := Answer{Form: "times", Order: true, Values: []string{"08:55", "08:10"}}.check("", "")
		if why := c.AnswerUnmet(x.said); (why == "") != x.holds {
			t.Errorf("%q for two times: %q", x.said, why)
		}
	}
	for _, x := range []struct {
		want, said string
		holds      bool
	}{
		{"5:30", "5:30", true}, {"5:30", "From 01:30 to 07:00 it is 5:30.", true}, {"5:30", "5:30 or 6:30", false},
		{"5:30", "5 hours and 30 minutes", true}, {"5:30", "5h30", true},
		{"5:30", "15:30", false}, {"5:00", "5 hours", true}, {"0:45", "45 minutes", true}, {"0:45", "1:45", false},
		{"7:05", "7 h 5 min", true},
	} {
		c := Answer{Form: "span", Values: []string{x.want}}.check("", "")
		if why := c.AnswerUnmet(x.said); (why == "") != x.holds {
			t.Errorf("%q for %s: %q", x.said, x.want, why)
		}
	}
}

// Who is asked which of two and names both has not chosen, whichever comes first; the other answer of a message may.
func TestOneOfTwoIsChosen(t *testing.T) {
	for _, x := range []struct {
		among []string
		said  string
		holds bool
	}{
		{[]string{"Carla", "Clara"}, "Carla", true}, {[]string{"Carla", "Clara"}, "It is Carla.", true},
		{[]string{"Carla", "Clara"}, "Clara before Carla", false}, {[]string{"Carla", "Clara"}, "Clara", false},
		{[]string{"first", "second", "First", "Second"}, "first", true},
		{[]string{"first", "second", "First", "Second"}, "First.", true},
		{[]string{"first", "second", "First", "Second"}, "The second is cheaper than the first", false},
	} {
		a := Answer{Form: "text", Values: x.among[:1], Among: x.among}
		holds := true
		for _, c := range a.checks("", x.among[0]) {
			holds = holds && c.Answer(x.said)
		}
		if holds != x.holds {
			t.Errorf("%q of %q: %v", x.said, x.among, holds)
		}
		for _, c := range loosely(a.checks("", x.among[0])) {
			if c.OneOf != nil {
				t.Errorf("another answer may not name %q", x.among)
			}
		}
	}
}

// What the tools cannot compute is not asked for.
func TestReckonsAsFarAsToolsDo(t *testing.T) {
	only := func(ops ...string) func(string) bool {
		return func(op string) bool { return strings.Contains(strings.Join(ops, "|"), op) }
	}
	has := func(list []string, kind string) bool {
		return strings.Contains("|"+strings.Join(list, "|")+"|", "|"+kind+"|")
	}
	if got := Reckons(only(Zone)); !has(got, "time_at") || has(got, "talk") || has(got, "mean") {
		t.Errorf("with zones alone: %v", got)
	}
	if got := Reckons(only(Plus, Minus, Times, Over)); !has(got, "mean") || has(got, "rest") || has(got, "root") ||
		has(got, "time_at") {
		t.Errorf("with four operations: %v", got)
	}
	if got := Reckons(only("nothing")); len(got) > 0 {
		t.Errorf("with none: %v", got)
	}
}

// Several values are wanted in their order, a number with no other beside it.
func TestFieldsAreSaidInOrder(t *testing.T) {
	for _, x := range []struct {
		want  []string
		said  string
		holds bool
	}{
		{[]string{"No", "8"}, "No, 8", true}, {[]string{"No", "8"}, "no, the remainder is 8.", true},
		{[]string{"No", "8"}, "No", false}, {[]string{"No", "8"}, "8, no", false},
		{[]string{"No", "8"}, "No, 80", false},
		{[]string{"No", "8"}, "No, 8 or 9", false}, {[]string{"Yes"}, "Yes.", true}, {[]string{"Yes"}, "No", false},
		{[]string{"17:15", "186"}, "17:15, 186.00", true}, {[]string{"17:15", "186"}, "17:15, 1860", false},
		{[]string{"17:15", "9.5"}, "17:15, 9.50", true}, {[]string{"17:15", "9.5"}, "17:15, 9.55", false},
		{[]string{"05:50", "next day"}, "5:50, next day", true},
		{[]string{"05:50", "next day"}, "15:50, next day", false},
		{[]string{"side = 24"}, "side=24", true}, {[]string{"side = 24"}, "24", false},
		{[]string{"44.7"}, "44.7", true},
		{[]string{"root"}, "root or 44.7", false}, {[]string{"52:30"}, "52:30", true},
		{[]string{"52:30"}, "52:03", false},
		{[]string{"20:40", "yes"}, "In Maputo it is 20:40 then, so yes.", true},
		{[]string{"20:40", "yes"}, "Yes, at 20:40.", false},
		{[]string{"Yes"}, "Yes, the remainder is 0.", true}, {[]string{"Yes"}, "Yes, 3 remain.", false},
	} {
		c := Answer{Form: "fields", Values: x.want}.check("", "")
		if why := c.AnswerUnmet(x.said); (why == "") != x.holds {
			t.Errorf("%q for %q: %q", x.said, x.want, why)
		}
	}
}

// An answer of several values may say what it was computed from, in a statement; a list of candidates is none.
func TestFieldsMayStandBesideWhatTheyCameFrom(t *testing.T) {
	for _, x := range []struct {
		want, beside []string
		are, no      []string
	}{
		{[]string{"No", "01:00"}, []string{"09:00", "02:00"}, []string{
			"No, 01:00", "no: 1:00", "No, 09:00 in Seoul is 01:00 in Lagos.", "No, it is 01:00 in Lagos.",
			"No. When it is 9:00 in Seoul, it is 01:00 in Lagos.", "No, not 02:00 but 01:00.",
			"No, in Lagos it is 01:00 (09:00 in Seoul).", "No, 1:00 am", "No, 01:00, since it is 09:00 in Seoul",
			"No, 01:00 in Lagos, not 02:00 (it is 09:00 in Seoul then).",
		}, []string{
			"No", "01:00", "No, 02:00", "No, 02:00, 01:00", "No, 01:00, 02:00", "No, 01:00 or 02:00",
			"No, 02:00 or 01:00", "No, 01:00/02:00", "No, 01:00 and 02:00", "No, 01:00, 02:00, 03:00",
			"No, 09:00 in Seoul is 03:00 in Lagos, so 01:00", "No, 1:00 pm", "No or yes, 01:00", "No/yes: 01:00",
			"No, 01:00, 02:00 or 09:00", "Yes, 01:00", "01:00, no", "No, 01:00 02:00 09:00", "No, 11:00", "No, 01:005",
		}},
		{[]string{"17:15", "96"}, []string{"09:00", "12", "14:00", "8"}, []string{
			"17:15, 96", "5:15 pm, 96", "17:15, 96 (8 hours at 12 an hour)", "17:15, 8 hours * 12 = 96.00",
			"A shift from 09:00 to 14:00 ends at 17:15 in Lagos, and 8 hours at 12 an hour make 96.",
		}, []string{
			"17:15", "96", "17:15, 8", "17:15, 8, 12, 96", "14:00, 96", "17:15, 95 or 96", "17:15, 96, 97",
			"14:00 or 17:15, 96", "5:15 am, 96", "09:00, 14:00, 17:15, 96",
			"17:15, 8 hours at 12.5 an hour, 96",
		}},
		{[]string{"01:00", "next day"}, []string{"16:00"}, []string{
			"01:00, next day", "16:00 in Lima is 01:00 in Seoul, the next day.", "1:00 AM (next day)",
			"At 16:00 in Lima it is 01:00 in Seoul on the next day",
		}, []string{"16:00, next day", "16:00, 01:00, next day", "01:00 pm, next day", "01:00, same day"}},
		{[]string{"No", "4"}, []string{"100", "12"}, []string{
			"No, 4", "No, 100 divided by 12 leaves 4.", "No, 4 remain (100 divided by 12).",
			"No: the remainder of 100 by 12 is 4",
		}, []string{"No, 100", "No, 4, 100", "No, 100, 12, 4", "No, 4 or 12", "No, 4 and 12", "No, 3, 4, 5"}},
	} {
		c := Answer{Form: "fields", Values: x.want, Beside: x.beside}.check("", "")
		for said, holds := range cases(x.are, x.no) {
			if why := c.AnswerUnmet(said); (why == "") != holds {
				t.Errorf("%q for %q: %q", said, x.want, why)
			}
		}
	}
}

// cases says of texts whether they hold.
func cases(are, no []string) map[string]bool {
	all := map[string]bool{}
	for _, text := range are {
		all[text] = true
	}
	for _, text := range no {
		all[text] = false
	}
	return all
}

// What an answer may say beside its values is in the request or in its steps, and is none of the values.
func TestWhatStandsBesideFields(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 0))
	told := map[string]int{}
	for range 100 {
		for _, kind := range []string{"claim", "shift_pay", "day_too", "day_changed", "divides_rest", "time_at"} {
			q := Reckon(r, kind)
			for _, n := range q.Answer.Beside {
				if told[kind]++; slices.Contains(q.Answer.Values, n) {
					t.Errorf("%s: %q beside %q", kind, n, q.Answer.Values)
				}
			}
			if kind != "day_too" || len(q.Answer.Beside) == 0 {
				continue
			}
			from, to, v := q.Steps[0].Time, q.slots["city2"], q.Answer.Values
			said := fmt.Sprintf("%s in %s is %s in %s, the %s.", from, q.slots["city"], v[0], to, v[1])
			if why := q.Answer.check("", "").AnswerUnmet(said); why != "" {
				t.Errorf("%q: %s", said, why)
			}
		}
	}
	for _, kind := range []string{"claim", "shift_pay", "day_too", "day_changed", "divides_rest"} {
		if told[kind] < 80 {
			t.Errorf("%d of %s", told[kind], kind)
		}
	}
	if told["time_at"] > 0 {
		t.Error("an answer of one value has them")
	}
	k := &reckoner{steps: []ReckonStep{{Do: Zone, Time: "17:00"}}}
	for value, want := range map[string]string{"08:00": "[09:00 17:00]", "09:00": "[]", "17:00": "[]"} {
		p := &problem{slots: map[string]string{"time": "9:00"}, answer: Answer{Form: "fields",
			Values: []string{value, "96"}}}
		if got := fmt.Sprint(k.besides(p)); got != want { // "from 09:00 to 17:00" says no time elsewhere
			t.Errorf("beside %s stand %s", value, got)
		}
	}
}

// A length of time is added or taken off step by step, with the day, and one between two times is told so too.
func TestTimesAreReckonedStepByStep(t *testing.T) {
	for _, x := range []struct {
		at, long int
		want     string
	}{
		{14*60 + 20, 9*60 + 35,
			"14:20 and 9 hours: 14 + 9 = 23, so 23:20/23:20 and 35 minutes: 20 + 35 = 55, so 23:55"},
		{20 * 60, 5*60 + 5, "20:00 and 5 hours: 20 + 5 = 25, 25 - 24 = 1, so 01:00 the next day/" +
			"01:00 and 5 minutes: 0 + 5 = 5, so 01:05"},
		{15, -45, "00:15 less 45 minutes: 15 - 45 = -30, -30 + 60 = 30, so 23:30 the day before"},
		{7*60 + 15, -60, "07:15 less 1 hour: 7 - 1 = 6, so 06:15"},
		{-30, 40, "23:30 and 40 minutes: 30 + 40 = 70, 70 - 60 = 10, so 00:10 the next day"},
	} {
		k := &reckoner{}
		if got := k.later(x.at, x.long); got != x.at+x.long || strings.Join(k.notes, "/") != x.want {
			t.Errorf("%d and %d: %d, %q", x.at, x.long, got, k.notes)
		}
	}
	for _, x := range []struct {
		from, to, long int
		want           string
	}{
		{22*60 + 40, 6*60 + 10, 450, "from 22:40 to 05:40: 5 - 22 = -17, -17 + 24 = 7 hours/" +
			"from 05:40 to 06:10: 30 minutes/together 7:30"},
		{60, 120, 60, "from 01:00 to 02:00: 2 - 1 = 1 hour"}, {1430, 1450, 20, "from 23:50 to 00:10: 20 minutes"},
	} {
		k := &reckoner{}
		if got := k.until(x.from, x.to); got != x.long || strings.Join(k.notes, "/") != x.want {
			t.Errorf("from %d to %d: %d, %q", x.from, x.to, got, k.notes)
		}
	}
}

// Who takes several steps with numbers says the plan before the first one, and chains are of many forms.
func TestPlansStandBeforeTheFirstStep(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	forms := map[string]bool{}
	for kind := range sumKinds() {
		for range 10 {
			p := Reckon(r, kind)
			if len(p.Steps) > 1 && p.Steps[0].Why == "" {
				t.Errorf("%s has no plan: %v", kind, p.Steps)
			}
			if kind == "steps" || kind == "steps_end" {
				form := ""
				for _, s := range p.Steps {
					form += fmt.Sprint(s.Do, s.A.Of, s.B.Of, " ")
				}
				forms[form] = true
			}
		}
	}
	if len(forms) < 12 {
		t.Errorf("20 chains have %d forms", len(forms))
	}
}

// A zone that is guessed is not the right one, and what is said of it names the right one.
func TestMisnamed(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	said := 0
	for range 200 {
		p := Reckon(r, "time_at")
		wrong, why, ok := p.Steps[0].Misnamed(r)
		if !ok {
			continue
		}
		said++
		s := p.Steps[0]
		if wrong.From == s.From && wrong.To == s.To ||
			!strings.HasSuffix(why, s.From) && !strings.HasSuffix(why, s.To) ||
			wrong.Time != s.Time {
			t.Errorf("%v for %v: %s", wrong, s, why)
		}
	}
	if said < 150 {
		t.Errorf("%d of 200 zones are misnamed", said)
	}
}

// Who says what is needed asks for it, and who takes a number that nobody named does not.
func TestAskingForWhatIsMissing(t *testing.T) {
	for _, x := range []struct {
		kind, said string
		asks       bool
	}{
		{"percent_ask", "To find the net amount, I need the tax rate. Could you provide it?", true},
		{"percent_ask", "I don't know the percentage.", true}, {"percent_ask", "With a rate of 19, it is 412.", false},
		{"people_ask", "I need to know the number of people.", true}, {"people_ask", "How many are you?", true},
		{"people_ask", "The number of heads is 4, so 35 each.", false},
		{"sum_ask", "Could you provide the exchange rate?", true}, {"sum_ask", "At a rate of 1.1 it is 154.", false},
		{"clock_ask", "Could you please specify the two cities?", true}, {"clock_ask", "I need both time zones.", true},
		{"clock_ask", "It is 12:30 in that city.", false},
	} {
		if got := regexp.MustCompile(asksBack()[x.kind].like).MatchString(x.said); got != x.asks {
			t.Errorf("%s: %q asks: %v", x.kind, x.said, got)
		}
	}
}

// What is to be asked back is worded as a question where its wording is one, and no request meets its own check.
func TestQuestionsBack(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for kind := range asksBack() {
		asked := 0
		for range 60 {
			p := Reckon(r, kind)
			for _, split := range splits() {
				w := p.Word(r, split)
				if len(w.Checks) != 1 || w.Checks[0].Answer(w.Task) {
					t.Errorf("%s: who repeats %q has asked", kind, w.Task)
				}
				if strings.Contains(w.Task, "?") {
					asked++
				}
			}
		}
		if asked < 60 {
			t.Errorf("%s: %d of 180 requests are questions", kind, asked)
		}
	}
}
