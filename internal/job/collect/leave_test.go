package collect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hone/internal/console/sanitize"
	"hone/internal/episode/scenario"
	"hone/internal/host"
)

// Of many training scenarios about one in six is left to GRPO, the same ones whatever else there is; of few, and of
// other splits, none.
func TestGoldLeavesScenariosToGRPO(t *testing.T) {
	scenarios := func(n int, split string) (list []scenario.Scenario) {
		for i := range n {
			list = append(list, scenario.Scenario{ID: fmt.Sprintf("%s-%d", split, i), Split: split,
				Provenance: &scenario.Provenance{}})
		}
		return list
	}
	var said strings.Builder
	h := &host.Host{Talk: sanitize.New(&said), Still: &host.Still{}}
	few := slices.Concat(scenarios(manyToShow-1, scenario.Train), scenarios(600, scenario.Validation))
	if got := leaveToGRPO(h, few, nil); len(got) != len(few) || said.Len() > 0 {
		t.Errorf("%d of %d are shown, and %q is said", len(got), len(few), said.String())
	}
	many := slices.Concat(scenarios(1200, scenario.Train), scenarios(100, scenario.Validation))
	got := leaveToGRPO(h, many, nil)
	if n := len(scenario.OfSplit(got, scenario.Train)); n < 950 || n > 1050 || len(got)-n != 100 {
		t.Errorf("%d of 1200 and %d of 100 are shown", n, len(got)-n)
	}
	if !strings.Contains(said.String(), fmt.Sprintf("%d training scenarios are not shown", len(many)-len(got))) {
		t.Errorf("it says %q", said.String())
	}
	again := leaveToGRPO(h, many[100:], nil)
	if !slices.EqualFunc(again, got[len(got)-len(again):], func(a, b scenario.Scenario) bool { return a.ID == b.ID }) {
		t.Error("other scenarios are left out where fewer are there")
	}
	if all := leaveToGRPO(h, many, many); len(all) != len(many) {
		t.Errorf("a run that has begun with %d goes on with %d", len(many), len(all))
	}
	own := slices.Clone(many)
	for i := range own {
		own[i].Provenance = nil
	}
	if all := leaveToGRPO(h, own, nil); len(all) != len(own) {
		t.Errorf("%d of %d that people wrote are shown", len(all), len(own))
	}
}
