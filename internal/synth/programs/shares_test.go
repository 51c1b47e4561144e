package programs

import (
	"strings"
	"testing"
	"unicode"
)

// Each kind has a share, so that it is drawn: over tables all of them, over a graph all but changes of two tables.
func TestShares(t *testing.T) {
	if Shares()[TwoTables] == 0 || Shares()[AskBack] == 0 || GraphShares()[TwoTables] != 0 {
		t.Errorf("%v and %v", Shares(), GraphShares())
	}
	for _, shares := range []map[string]int{Shares(), DatabaseShares(), GraphShares()} {
		for kind, n := range shares {
			if n < 1 && kind != TwoTables {
				t.Errorf("%s has the share %d", kind, n)
			}
		}
	}
	for _, kind := range []string{noteOne, noteMany, noteIf, chosen, clearOut, shifts, senses, likeMade, chains,
		perGroup, placesLeft, linkProduct, relink, takeOver, rename, holds, ensure, twoEdits, twoNotes, tied, newTied} {
		if GraphShares()[kind] == 0 {
			t.Errorf("%s has no share", kind)
		}
	}
}

// A question back of some things says once of what else they are: not "whose mechanic is the mechanic", and of no
// mechanic before.
func TestAskBackOfSome(t *testing.T) {
	see := func(p *Program) {
		one := strings.TrimSuffix(strings.TrimPrefix(p.Answer.Values[0], "Which "), " do you mean?")
		if strings.Count(p.slots["filter"], one) != 1 {
			t.Errorf("%s are %q", p.slots["many"], p.slots["filter"])
		}
	}
	drawnBy(t, 20, (*drawer).ofSome, func(p *Program, _ *World, _ opened) { see(p) })
	drawnOver(t, jobs(), 10, (*drawer).ofSome, func(p *Program, _ opened) { see(p) })
}

// A path keeps its letters where a sentence begins with it; other words have a capital.
func TestBegin(t *testing.T) {
	p := &Program{slots: map[string]string{"x": "ann"}}
	for text, want := range map[string]string{"shopping/old/a.txt: add milk": "shopping/old/a.txt: add milk",
		"todo.md needs milk": "todo.md needs milk", "ann has milk": "ann has milk", "milk. Or not": "Milk. Or not",
		"my list needs milk": "My list needs milk"} {
		if got := p.begin(text, unicode.ToUpper); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
