package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// A meaning in its own words has no fault, the wordings of its templates have one in a tenth at most, and those of
// other programs over the same world nearly always.
func TestMeaningsTellWordingsApart(t *testing.T) {
	asWritten := func(_ *rand.Rand, wording string) string { return wording }
	own, fell, others, wrong := 0, 0, 0, 0
	for seed := range uint64(7) {
		w := Invent(rand.New(rand.NewPCG(seed, 21)), int(seed*5)%NumDomains())
		drawn := map[string]*Program{}
		for kind := range Shares() {
			drawn[kind] = Draw(rand.New(rand.NewPCG(seed, uint64(len(kind)))), w, kind)
		}
		for kind, p := range drawn {
			if p == nil || p.then != nil || p.Meanings(w, scenario.Train) == nil {
				continue
			}
			m := p.Meanings(w, scenario.Train)[0]
			if why := m.Fault("I would like " + m.Wants); why != "" {
				t.Errorf("%s: %s: %s", kind, why, m.Wants)
			}
			for k, split := range []string{scenario.Train, scenario.Train, scenario.Validation, scenario.Test} {
				text, _, _ := p.say(rand.New(rand.NewPCG(seed, uint64(k))), split, asWritten)
				if own++; m.Fault(text) != "" {
					fell++
				}
			}
			for _, other := range drawn {
				if other != nil && other.then == nil && other.Key() != p.Key() {
					text, _, _ := other.say(rand.New(rand.NewPCG(seed, 9)), scenario.Train, asWritten)
					if others++; m.Fault(text) == "" {
						wrong++
					}
				}
			}
		}
	}
	if own < 250 || 10*fell > own || others < 1500 || 200*wrong > others {
		t.Errorf("%d of %d own wordings fall; %d of %d of others pass", fell, own, wrong, others)
	}
}

// kennel is a world of dogs and the people that they belong to.
func kennel() *World {
	return liveTables(
		"owners", `[{"id": 1, "name": "Ana Sol", "city": "Oslo"}, {"id": 2, "name": "Ben Ray", "city": "Lima"}, {"id": 3, "name": "Cy Orr", "city": "Oslo"}]`,
		"dogs", `[{"id": 11, "name": "Rex", "age": 4, "kind": "pug", "owner_id": 1}, {"id": 12, "name": "Bello", "age": 7, "kind": "boxer", "owner_id": 1},
		{"id": 13, "name": "Fido", "age": 9, "kind": "pug", "owner_id": 3}]`)
}

// Wordings that say too little, too much or something else fall, each for its reason.
func TestFaultsOfWordings(t *testing.T) {
	asked := func(pattern string, a Answer, slots ...string) *Program {
		p := &Program{pattern: pattern, slots: map[string]string{"one": "dog", "many": "dogs"}, Answer: a}
		for i := 0; i < len(slots); i += 2 {
			p.slots[slots[i]] = slots[i+1]
		}
		return p
	}
	age := asked("lookup", Answer{Form: "number", Values: []string{"4"}}, "x", "Rex", "attr", "age")
	count := asked("count", Answer{Form: "number", Values: []string{"2"}}, "filter", "older than 5")
	unowned := asked("list", Answer{Form: "list", Values: []string{"Bello"}}, "filter", "that are not vaccinated")
	set := asked("set", Answer{}, "x", "Rex", "attr", "age", "v", "6")
	raise := asked("raise", Answer{}, "x", "Rex", "attr", "age", "v", "2")
	mean := asked("avg", Answer{Form: "number", Values: []string{"6.67"}}, "attr", "age")
	born := asked("set", Answer{}, "x", "Rex", "attr", "date of birth", "v", "2024-07-03")
	correct := asked("correct", Answer{}, "x", "Rex", "attr", "age", "old", "5", "v", "6")
	forgets := asked("set_nothing", Answer{Form: "question"}, "x", "Rex", "attr", "age")
	created := asked("insert", Answer{}, "x", "Waldi", "given", "age 3 and vaccinated no")
	created.given = [][2]string{{"age", "3"}, {"vaccinated", "no"}}
	for _, tc := range []struct {
		of   *Program
		text string
		why  string
	}{
		{age, "How old is Rex?", ""},
		{age, "rex age?", LacksValue}, // as it is stored
		{age, "Rex - age?", ""},
		{age, "What's Rex’s age?", ""},
		{age, "How old is Rex? Is İİİİ's dog older?", ""}, // whose small letters are longer
		{age, "How old is he?", LacksValue},
		{age, "Where does Rex live?", LacksThing},
		{age, "Is Rex 4 years old?", SaysAnswer},
		{age, "Is Rex four years of age?", SaysAnswer},
		{age, "How old is Rex, and is he older than 11?", SaysNumber},
		{age, "How old is Rex compared to Fido?", SaysOther},
		{age, "The age of Rex is nice.", LacksSense},
		{count, "How many dogs are over 5?", LacksThing},
		{count, "How many dogs are older than 5?", ""},
		{count, "How many dogs are younger than 5?", WrongBounds},
		{count, "Which dogs are older than 5?", LacksSense},
		{count, "How many are older than 5?", LacksThing},
		{count, "How many dogs are older than we thought?", LacksValue},
		{unowned, "List the dogs that haven't been vaccinated.", ""},
		{unowned, "List the vaccinated dogs.", WrongBounds},
		{unowned, "How many dogs are not vaccinated?", OtherSense},
		{set, "Rex's age should be 6.", ""},
		{set, "What is the age of Rex?", LacksValue},
		{set, "Raise Rex's age by 6.", LacksSense},
		{raise, "Rex got older: add 2 to the age.", ""},
		{raise, "Raise Rex's age to 2.", OtherSense},
		{raise, "Make it 2 less for Rex's age.", LacksSense},
		{mean, "What's the mean age of our dogs?", ""},
		{mean, "What's the total age of our dogs?", LacksSense},
		{born, "Put July 3rd, 2024 as the date of birth of Rex.", ""},
		{born, "Put July 4th, 2024 as the date of birth of Rex.", SaysNumber},
		{born, "Put 3 July as the date of birth of Rex.", LacksValue},
		{correct, "Make Rex's age 5, sorry, 6.", ""},
		{correct, "Make Rex's age 6, sorry, 5.", OtherSense},
		{forgets, "Could you update Rex's age?", ""},
		{forgets, "Could you update Rex's age to the right one?", OtherSense},
		{created, "New dog Waldi, age 3, not vaccinated.", ""},
		{created, "New dog Waldi, age 3, vaccinated.", WrongBounds},
		{created, "New dog Waldi, not vaccinated.", LacksValue},
	} {
		if got := tc.of.Meanings(kennel(), scenario.Train)[0].Fault(tc.text); got != tc.why {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.why)
		}
	}
}

// What is meant holds no key, no statement and no answer; a report, which is bound to its form, has no meaning.
func TestMeaningsHideTheAnswer(t *testing.T) {
	n := 0
	each(kennel(), 300,
		[]string{Lookup, Join, Count, Best, List, Set, Remove, Insert, Several}, func(p *Program, sql string) {
			for _, m := range p.Meanings(kennel(), scenario.Train) {
				n++
				if strings.Contains(m.Wants, "SELECT") || strings.Contains(m.Wants, "{") ||
					strings.Contains(m.Wants, "_") {
					t.Error(m.Wants)
				}
				for _, hidden := range m.Hidden {
					if slices.Contains(strings.Fields(m.Wants), hidden) {
						t.Errorf("%s says %s", m.Wants, hidden)
					}
				}
			}
			if p.Kind == Best && p.then == nil &&
				!slices.Contains(p.Meanings(kennel(), scenario.Train)[0].Hidden, p.Answer.Values[0]) {
				t.Errorf("%v is not hidden", p.Answer.Values)
			}
		})
	if n < 100 {
		t.Errorf("%d meanings", n)
	}
	if p := (&Program{pattern: "report", slots: map[string]string{}}); p.Meanings(kennel(), scenario.Train) != nil {
		t.Error("a report in other words")
	}
}

// A program in a model's words has the answer and the checks that it has in those of its template, and asks for the
// form.
func TestWordAs(t *testing.T) {
	forms := 0
	for seed := range uint64(40) {
		w := Invent(rand.New(rand.NewPCG(seed, 22)), int(seed)%NumDomains())
		for _, kind := range []string{Count, List, Several, Set, Leave} {
			p := Draw(rand.New(rand.NewPCG(seed, 23)), w, kind)
			if p == nil {
				continue
			}
			requests := []string{"FIRST"}
			if p.then != nil {
				requests = []string{"FIRST", "SECOND"}
			}
			a := p.Word(rand.New(rand.NewPCG(seed, 24)), scenario.Train)
			b := p.WordAs(rand.New(rand.NewPCG(seed, 24)), scenario.Train, requests)
			if a.Answer != b.Answer || len(a.Checks) != len(b.Checks) || !strings.HasPrefix(b.Task, "FIRST") ||
				p.then != nil && !strings.Contains(strings.ToUpper(b.Task), "SECOND") {
				t.Errorf("%+v\n%+v", a, b)
			}
			if b.Task != "FIRST" {
				forms++
			}
		}
	}
	if forms < 40 {
		t.Errorf("%d ask for a form", forms)
	}
}
