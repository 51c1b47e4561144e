package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// Words that only refusing tasks have are found, and tell them apart; where the words are drawn alike, they tell
// nothing. The order of the tasks does not matter.
func TestProbe(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	nouns := strings.Fields("dog cat bird horse fish age city price colour owner room name")
	tasks := func(refuses string) (list []scenario.Scenario) {
		for i := range 300 {
			kind, task := programs.Count, fmt.Sprintf("please tell %s %s %s %d",
				pick(r, nouns), pick(r, nouns), pick(r, nouns), i)
			if i%15 == 0 {
				kind = []string{programs.Cannot, programs.Unknown, programs.AskBack}[i/15%3]
				task += refuses
			}
			list = append(list, scenario.Scenario{Task: task, Provenance: &scenario.Provenance{Kind: kind}})
		}
		return list
	}
	told := ProbeOf(tasks(" nickname"))
	if told.Refusing != 20 || told.Others != 280 || told.AUC < 0.99 || told.Words[0] != "nickname" {
		t.Errorf("%+v", told)
	}
	list := tasks("")
	untold := ProbeOf(list)
	if untold.AUC < 0.3 || untold.AUC > ProbeBar {
		t.Errorf("%+v", untold)
	}
	slices.Reverse(list)
	if again := ProbeOf(list); again.AUC != untold.AUC || !slices.Equal(again.Words, untold.Words) {
		t.Errorf("%+v, and the other way round %+v", untold, again)
	}
	if rows := told.Rows(); len(rows) != 2 || !strings.Contains(rows[1][3], "bar 0.70") {
		t.Errorf("%v", rows)
	}
	if p := ProbeOf(list[:5]); p.Rows() != nil && p.Refusing == 0 {
		t.Errorf("%+v", p)
	}
	few := ProbeOf(tasks(" nickname")[:60])
	if !strings.Contains(few.Rows()[1][3], "too few") {
		t.Errorf("%v", few.Rows())
	}
}

// The table says for each split what its tasks demand: of a database nearly all need what another call answered, and
// few arguments stand in the wording.
func TestDemands(t *testing.T) {
	s, tools := database(t)
	o := optionsOf(s)
	o.N = 100
	made := run(t, s, tools, o)
	for _, split := range []string{scenario.Train, scenario.Test} {
		d, none, words := made.Report.Demands[split], 0, 0
		for _, x := range made.Scenarios {
			if x.Split == split {
				words += len(strings.Fields(x.Task))
				if len(x.Gold) == 0 {
					none++
				}
			}
		}
		if d.Tasks != made.Report.Splits[split] || d.Chained < 0.7 || d.Said > 0.1 ||
			d.NoCall != float64(none)/float64(d.Tasks) || d.NoCall > 0.1 ||
			d.Words != float64(words)/float64(d.Tasks) || d.Short >= d.Long || float64(d.Short) > d.Words ||
			float64(d.Long) < d.Words || d.Model != 0 {
			t.Errorf("%s: %+v", split, d)
		}
	}
	shop := newShop(t)
	calls := run(t, shop, steadyTools(), optionsOf(shop))
	if d := calls.Report.Demands[scenario.Train]; d.Chained > 0.6 || d.Said < 0.5 {
		t.Errorf("tasks that say their call: %+v", d)
	}
	if calls.Invented() {
		t.Error("all tasks are over invented data")
	}
	own := 0
	for _, d := range calls.Report.Demands {
		own += d.Own
	}
	wanted := 0
	for i := range calls.Scenarios {
		if len(calls.Scenarios[i].Setup) == 0 {
			wanted++
		}
		if i > 0 { // one task makes something of nothing
			calls.Scenarios[i].Setup = append(calls.Scenarios[i].Setup, scenario.Gold{Name: "buy"})
		}
	}
	if own != wanted || own == 0 || !calls.Invented() {
		t.Errorf("%d of %d tasks are over what the shop holds, not %d", own, len(calls.Scenarios), wanted)
	}
	rows := made.Report.DemandRows()
	if len(rows) != 8 || len(rows[0]) != 4 || rows[0][1] != "TRAIN" || !strings.HasSuffix(rows[3][1], "%") {
		t.Errorf("%v", rows)
	}
}
