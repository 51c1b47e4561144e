package programs

import (
	"math/rand/v2"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// What stands behind a plural is a whole phrase, in the number of what it speaks of.
func TestPhrases(t *testing.T) {
	rent := Column{Name: "rent", Kind: Number}
	hours := Column{Name: "hours", Kind: Number, With: "with {v} hours"}
	built := Column{Name: "built", Kind: Number, With: "built in {v}"}
	hired := Column{Name: "hired_on", Kind: Date, More: "hired after {v}"}
	for _, c := range [][2]string{
		{whose("floor", "{v}"), "whose floor is {v}"}, {whose("allergies", "{v}"), "whose allergies are {v}"},
		{whose("hours per week", "3"), "whose hours per week are 3"}, {whose("hours flown", "3"), "whose hours flown are 3"},
		{whose("number of seats", "3"), "whose number of seats is 3"}, {whose("delay in minutes", "3"),
			"whose delay in minutes is 3"}, {whose("address", "A"), "whose address is A"},
		{together("whose floor is 2", "in Oslo"), "in Oslo whose floor is 2"},
		{together("in Oslo", "that are late"), "in Oslo that are late"},
		{together("that are late", "whose day is 3"), "that are late and whose day is 3"},
		{together("with a bell", "whose day is 3"), "with a bell and whose day is 3"},
		{rent.boundPhrase("at least 5"), "whose rent is at least 5"},
		{hours.boundPhrase("5 or more"), "with 5 hours or more"},
		{hours.boundPhrase("between 5 and 6 inclusive"), "with between 5 and 6 hours inclusive"},
		{built.boundPhrase("in 1980 or later"), "built in 1980 or later"},
		{built.boundPhrase("between 1980 and 1990 inclusive"), "built between 1980 and 1990 inclusive"},
		{hired.boundPhrase("on or after 3 May"), "hired on or after 3 May"},
		{put("with {v} slots", "1"), "with 1 slot"}, {put("with {v} slots", "2"), "with 2 slots"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

// A wording speaks of several where a property is called by a plural, and of one where it is not.
func TestWordingsAgree(t *testing.T) {
	for wording, want := range map[string][2]string{
		"The {attr} of {x} is wrong.":     {"The allergies of Ana are wrong.", "The bed of Ana is wrong."},
		"What is the {attr} of {x}?":      {"What are the allergies of Ana?", "What is the bed of Ana?"},
		"what's the {attr} of {x}?":       {"what are the allergies of Ana?", "what's the bed of Ana?"},
		"{x} has no {attr}, or a {attr}":  {"Ana has no allergies, or allergies", "Ana has no bed, or a bed"},
		"Which has the higher {attr}?":    {"Which has more allergies?", "Which has the higher bed?"},
		"the {one} with the {end} {attr}": {"the patient with the most allergies", "the patient with the highest bed"},
		"If the {attr2} {rel}, delete it.": {"If the allergies are known, delete it.",
			"If the bed is known, delete it."},
	} {
		for i, attr := range []string{"allergies", "bed"} {
			got := fill(wording, map[string]string{"x": "Ana", "one": "patient", "end": "highest", "rel": "is known",
				"attr": attr, "attr2": attr})
			if got != want[i] {
				t.Errorf("%q, want %q", got, want[i])
			}
		}
	}
}

// At most one request in eight has a greeting or a word of thanks.
func TestFewManners(t *testing.T) {
	p, n := &Program{pattern: "count", slots: map[string]string{}}, 0
	r := rand.New(rand.NewPCG(1, 1))
	const draws = 4000
	for range draws {
		if text := p.address(r, scenario.Train, "How many dogs?"); !strings.EqualFold(text, "How many dogs?") {
			n++
		}
	}
	if n > draws/8+60 || n < draws/16 {
		t.Errorf("%d of %d", n, draws)
	}
}

// Whoever sets a flag says how the thing then is, and never "the heated of the hall".
func TestFlagsAreSetInWords(t *testing.T) {
	w := liveTables("halls", `[{"id": 1, "name": "North", "heated": 1}, {"id": 2, "name": "South", "heated": 0},
		{"id": 3, "name": "East", "heated": 0}]`)
	n := 0
	each(w, 60, []string{Set, Correct}, func(p *Program, sql string) {
		if strings.Contains(sql, "SET heated") {
			if n++; p.pattern != "set_value" || !strings.HasSuffix(p.slots["v"], "heated") {
				t.Errorf("%s %q", p.pattern, p.slots)
			}
		}
	})
	if n == 0 {
		t.Error("nothing was set")
	}
}
