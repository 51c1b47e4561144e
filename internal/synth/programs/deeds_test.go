package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// Each of several changes is said in words of the split, in their order, and tells the program from others.
func TestDeeds(t *testing.T) {
	deed := func(pattern, v string) Deed { return Deed{pattern, map[string]string{"attr": "status", "v": v}} }
	made := func(last string) *Program {
		return NewAct(Set, "edit_several", map[string]string{"x": "Lamp"}).
			Does("does", deed("do_set", "Zed"), deed("do_assign", "Ola"), deed("do_rank", last))
	}
	p := made("High")
	if p.Key() == made("Low").Key() {
		t.Error("two programs have one key")
	}
	for _, split := range splits() {
		for seed := range uint64(20) {
			text := p.Word(rand.New(rand.NewPCG(seed, 1)), split).Task
			at := []int{strings.Index(text, "Zed"), strings.Index(text, "Ola"), strings.Index(text, "High")}
			if at[0] < 0 || !slices.IsSorted(at) || !strings.Contains(text, "Lamp") || strings.ContainsAny(text, "{}") {
				t.Errorf("%s: %q", split, text)
			}
			if split == scenario.Train {
				continue
			}
			for _, of := range wordings()["do_assign"][scenario.Train] {
				if strings.Contains(text, fill(of, map[string]string{"v": "Ola"})) {
					t.Errorf("%s is said as in training: %q", split, text)
				}
			}
		}
	}
}

// An answer of a line for each thing is one in any order and any letters, with little around it.
func TestEachChecks(t *testing.T) {
	checks := Answer{Form: "each", Values: []string{"Lamp: Buy it, Test it", "Oil: Sign"}}.eachChecks()
	for text, want := range map[string]bool{
		"Lamp: Buy it, Test it\nOil: Sign":                   true,
		"- oil: sign.\n- **Lamp**: buy it, test it":          true,
		"Here they are:\n\nLamp: Buy it, Test it\nOil: Sign": true,
		"Lamp: Buy it\nOil: Sign":                            false,
		"Lamp: Buy it, Test it":                              false,
		"Lamp: Buy it, Test it, Sell it\nOil: Sign":          false,
		"Lamp: Buy it, Test it\nOil: Sign\nDoor: A\nSky: B":  false,
	} {
		got := !slices.ContainsFunc(checks, func(c scenario.Check) bool { return !c.Answer(text) })
		if got != want {
			t.Errorf("%q passes: %v", text, got)
		}
	}
}

// A request calls a thing by a part of its name wherever it names it, and never one that is to be made.
func TestRename(t *testing.T) {
	for _, c := range []struct {
		pattern, slot string
		want          string
	}{{"set", "x", "the lamp"}, {"same_as", "y", "the lamp"}, {"insert", "x", "Fix the lamp"}} {
		p := NewAct(Set, c.pattern, map[string]string{c.slot: "Fix the lamp"})
		if done := p.Rename("Fix the lamp", "the lamp"); p.slots[c.slot] != c.want || done != (c.want == "the lamp") {
			t.Errorf("%s: %q", c.pattern, p.slots[c.slot])
		}
	}
	asks := NewQuestion(Join, "asks", map[string]string{"asks": "Who is Oil behind?"}, Answer{})
	if asks.Rename("Oil", "the oil"); asks.slots["asks"] != "Who is the oil behind?" {
		t.Error(asks.slots["asks"])
	}
}

// Whoever repeats a request that must be refused does not pass.
func TestRefusesItself(t *testing.T) {
	refusal := notAble()
	checks := []scenario.Check{{Type: scenario.AnswerCheck, Regex: &refusal}}
	p := NewQuestion(Cannot, "cannot", nil, Answer{Form: "cannot"})
	if !p.refusesItself("I can't get at it. Send it to Ola.", checks) || p.refusesItself("Send it to Ola.", checks) {
		t.Error("a request that says that it cannot be done is none")
	}
}
