package generate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/episode/scenario"
)

// counts are how many tasks with calls, and how many without, each split has.
func counts(list []draftOf) (calling, without map[string]int) {
	calling, without = map[string]int{}, map[string]int{}
	for _, d := range list {
		if d.of.abstains() {
			without[d.of.Split]++
		} else {
			calling[d.of.Split]++
		}
	}
	return calling, without
}

// part is the part of n that a split has by its tasks with calls.
func part(calling map[string]int, split string, n int) float64 {
	total := 0
	for _, count := range calling {
		total += count
	}
	return float64(n*calling[split]) / float64(total)
}

// Whatever the number of tasks, the calls that they share, the tools held out and those that fall at the gates: each
// split has its part of the tasks without calls, to one and a half, and of each kind of them, to three. After the gates
// it is off by more than two only where a split that lacks some keeps all that it has.
func TestWithoutCallsInEverySplit(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(3, 200).Draw(r, "n")
		shared := rapid.IntRange(0, 3).Draw(r, "calls per value") // 0: no two tasks share a call
		m := &maker{Options: Options{N: n, Seed: rapid.Uint64().Draw(r, "seed")}.withDefaults()}
		random := m.random("test")
		var list []draftOf
		for i := range int(1.1 * float64(n)) {
			c := &Candidate{Kind: single, Subject: fmt.Sprint(i)}
			if random.Float64() < 0.2 {
				c.Kind = pick(random, []string{askBack, missingTool, noTool})
			} else {
				value := i
				if shared > 0 {
					value = random.IntN(1 + n/shared)
				}
				c.Calls = []Call{{Tool: "t", Arguments: json.RawMessage(fmt.Sprintf(`{"a":%d}`, value))}}
			}
			d := draftOf{of: c}
			for _, x := range c.Calls {
				d.Gold = append(d.Gold, x.gold())
			}
			list = append(list, d)
		}
		m.split(list)
		for i := range list {
			list[i].of.Split = list[i].Split
		}
		calling, without := counts(list)
		if sum(calling) == 0 {
			return
		}
		kinds := map[string]map[string]int{}
		for _, d := range list {
			if d.of.abstains() {
				if kinds[d.of.Kind] == nil {
					kinds[d.of.Kind] = map[string]int{}
				}
				kinds[d.of.Kind][d.Split]++
			}
		}
		for _, split := range splits() {
			if off := math.Abs(float64(without[split]) - part(calling, split, sum(without))); off > 1.5 {
				r.Fatalf("split: %s has %d of %v without calls; with calls %v", split, without[split], without, calling)
			}
			for kind, of := range kinds {
				if off := math.Abs(float64(of[split]) - part(calling, split, sum(of))); off > 3 {
					r.Fatalf("split: %s has %d of %v of %s; with calls %v", split, of[split], of, kind, calling)
				}
			}
		}
		worst := rapid.SampledFrom(splits()).Draw(r, "split that loses most at the gates")
		left := slices.DeleteFunc(list, func(d draftOf) bool {
			return random.Float64() < 0.02 || !d.of.abstains() && d.Split == worst && random.Float64() < 0.4
		})
		_, there := counts(left)
		kept := m.trim(left)
		calling, without = counts(kept)
		if len(kept) > n {
			r.Fatalf("%d of %d wanted", len(kept), n)
		}
		if sum(calling) == 0 {
			return
		}
		off := func(split string) float64 { return float64(without[split]) - part(calling, split, sum(without)) }
		spent := func(split string) bool { return off(split) < 0 && without[split] == there[split] }
		for _, split := range splits() {
			if off(split) > 2 && !slices.ContainsFunc(splits(), spent) || off(split) < -2 && !spent(split) {
				r.Fatalf("trim: %s is off by %v; %v of %v without calls are left; with calls %v",
					split, off(split), without, there, calling)
			}
		}
	})
}

// Of held-out tools what is asked for without a value is tested too, and the rest is dealt out so that the parts hold.
func TestHeldToolAsksBack(t *testing.T) {
	m := &maker{Options: Options{SplitBy: ByTool}.withDefaults(), byName: map[string]*subject{},
		held: map[string]bool{"held": true}}
	var list []draftOf
	add := func(kind, tool string, n int) {
		for range n {
			x := Call{Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"a":%d}`, len(list)))}
			d := draftOf{of: &Candidate{Kind: kind, Calls: []Call{x}}}
			if kind == single {
				d.Gold = []scenario.Gold{x.gold()}
			}
			list = append(list, d)
		}
	}
	add(single, "held", 10)
	add(single, "seen", 40)
	add(askBack, "held", 1)
	add(askBack, "seen", 9)
	m.split(list)
	got := map[string]int{}
	for i, d := range list {
		if tool := d.of.Calls[0].Tool; tool == "held" && d.Split != scenario.Test {
			t.Errorf("task %d of a held-out tool is in %s", i, d.Split)
		}
		if d.of.abstains() {
			got[d.Split]++
		}
	}
	if got[scenario.Test] != 2 || got[scenario.Train] != 7 || got[scenario.Validation] != 1 {
		t.Errorf("%v", got)
	}
}

// sums is a server of n calculators, which answer in sentences.
func sums(t *testing.T, n int) (shop *shop, tools []Tool) {
	shop = newShop(t)
	for i := range n {
		name := "calculate_" + strings.Fields(vocabulary)[i]
		shop.tools[name] = func(_ *stock, args map[string]any) (string, error) {
			a, _ := args["a"].(float64)
			b, _ := args["b"].(float64)
			return fmt.Sprintf("The %s of %v and %v is %v", name, a, b, a*float64(i+2)+b), nil
		}
		x := toolOf(name, "Calculate "+name+".",
			`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)
		x.Safe, x.Server = true, fmt.Sprint("server", i*4/n)
		tools = append(tools, x)
	}
	return shop, tools
}

// Chains are in each split where there are enough, whatever the splits keep apart. By tool, or by server, validation
// and training may have the same.
func TestChainsInEverySplit(t *testing.T) {
	for _, by := range []string{ByTask, ByTool, ByServer} {
		for seed := range uint64(3) {
			shop, tools := sums(t, 8)
			o := optionsOf(shop)
			o.N, o.SplitBy, o.Seed = 100, by, seed
			chains, tested := map[string]int{}, map[string]bool{}
			made := run(t, shop, tools, o)
			for _, s := range made.Scenarios {
				if s.Provenance.Kind == chain {
					chains[s.Split]++
				}
				for _, g := range s.Gold {
					tested[g.Name] = tested[g.Name] || s.Split == scenario.Test
				}
			}
			if chains[scenario.Train] < 5 || chains[scenario.Validation] < 1 || chains[scenario.Test] < 2 {
				t.Errorf("by %s, seed %d: chains %v of %v", by, seed, chains, made.Report.Splits)
			}
			if n := len(slices.DeleteFunc(slices.Clone(tools),
				func(x Tool) bool { return !tested[x.Name] })); by == ByTool && n != 2 {
				t.Errorf("seed %d: %d tools are held out", seed, n)
			}
		}
	}
}

// A split is named where fewer than ten of its tasks need a call, and no other.
func TestFew(t *testing.T) {
	for _, tc := range []struct {
		calling map[string]int
		want    string
	}{
		{map[string]int{"train": 21, "validation": 2, "test": 1}, "validation 2, test 1"},
		{map[string]int{"train": 10, "validation": 10, "test": 9}, "test 9"},
		{map[string]int{"train": 30, "validation": 10, "test": 10}, ""},
		{map[string]int{"train": 9}, "train 9, validation 0, test 0"},
	} {
		if got := (&Report{Calling: tc.calling}).Few(); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.calling, got, tc.want)
		}
	}
}
