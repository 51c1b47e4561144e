package generate

import (
	"path/filepath"
	"slices"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// What is refused is worded as the rest is, and nothing else changes its words.
func TestBlend(t *testing.T) {
	m := &maker{Options: Options{Seed: 3}.withDefaults()}
	before, after := 0.0, 0.0
	const worlds = 4
	for world := range worlds {
		r := m.random("world", world)
		w := programs.Invent(r, world)
		var list []draftOf
		draw := func(kinds []string, n int) {
			for try := 0; try < 40*n && n > 0; try++ {
				p := programs.Draw(r, w, kinds[try%len(kinds)])
				if p == nil {
					continue
				}
				n--
				c := &Candidate{Kind: p.Kind, program: p, told: &told{Program: p, world: w}}
				d := draftOf{of: c, Scenario: scenario.Scenario{Split: scenario.Train,
					Provenance: &scenario.Provenance{Kind: p.Kind}}}
				m.retell(&d)
				list = append(list, d)
			}
		}
		draw([]string{programs.Lookup, programs.List, programs.Set, programs.Count, programs.Best}, 80)
		draw([]string{programs.Unknown, programs.AskBack}, 16)
		texts := func() (all []scenario.Scenario) {
			for i := range list {
				all = append(all, list[i].Scenario)
			}
			return all
		}
		was := texts()
		m.blend(list)
		before, after = before+ProbeOf(was).AUC/worlds, after+ProbeOf(texts()).AUC/worlds
		for i := range list {
			if !isRefusing(&was[i]) && list[i].Task != was[i].Task {
				t.Errorf("%q became %q", was[i].Task, list[i].Task)
			}
		}
		if !slices.ContainsFunc(list, func(d draftOf) bool { return d.of.told.way > 0 }) {
			t.Error("no request has another wording")
		}
	}
	if after > before-0.05 {
		t.Errorf("words tell with %.2f, before with %.2f", after, before)
	}
}

// Programs over a server are blended, too.
func TestRefusalsOfAServerAreBlended(t *testing.T) {
	s := newShop(t)
	o := optionsOf(s)
	o.N, o.Asked = 120, 0.8
	m := newMaker(s, kindTools(s), ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), o)
	list, err := m.programs(t.Context())
	if err != nil || !slices.ContainsFunc(list, func(d draftOf) bool { return d.of.told != nil && d.of.told.way > 0 }) {
		t.Errorf("%d tasks, none of which has another wording: %v", len(list), err)
	}
}

// A word that no task had is not learnt by looking at it.
func TestKnownWords(t *testing.T) {
	v := lexicon{number: map[string]int{}}
	v.bag("show me the books")
	if bag := v.known("show Ada the books"); len(bag) != 3 || len(v.words) != 4 || v.number["ada"] != 0 {
		t.Errorf("%v of %q", bag, v.words)
	}
}
