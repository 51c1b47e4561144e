package folders

import (
	"slices"
	"strings"
	"testing"
)

// A step that stays may end after all that come later: then the plan ends with it.
func TestAnEarlierStepEndsLast(t *testing.T) {
	files := map[string]string{"works.csv": "no,task,from,until\n1,scaffold,2026-02-02,2026-03-20\n" +
		"2,pour,2026-02-05,2026-02-06\n3,fence,2026-02-27,2026-02-28\n4,sow,2026-03-02,2026-03-02\n",
		"town.yaml": "market day: 2026-03-25\n"}
	p, after := playedOver(t, files, "plan_if", func(p *Plan) bool {
		return p.Slot("x") == "fence" && p.Slot("n") == "three days"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"works.csv": strings.NewReplacer("2026-02-27,2026-02-28",
		"2026-03-02,2026-03-03", "2026-03-02,2026-03-02", "2026-03-05,2026-03-05").Replace(files["works.csv"])})
	at := slices.IndexFunc(p.Ops, func(o Op) bool { return o.Changes() })
	if why := p.Ops[at].Why; !strings.Contains(why, "The last day of the plan is 2026-03-20. It stays 20 March 2026") {
		t.Errorf("it is changed by %q", why)
	}
	l := Read("works.csv", files["works.csv"]).steps().delayed(2, 30)
	if work := l.lastWork(); !strings.HasSuffix(work, "ends on 2026-03-02, and 30 days later that is 1 April 2026.") {
		t.Errorf("the last day follows by %q", work)
	}
}

// Only a cell that says no more than that makes a stay be cancelled; of one that says more nobody knows.
func TestCancelledStays(t *testing.T) {
	for cell, want := range map[string]string{"dropped off by bus": "holds", "off season price": "holds",
		"cancelled": "cancelled", "Canceled": "cancelled", "called off": "cancelled", "dropped": "cancelled",
		"withdrawn": "cancelled", "cancellation insured": "unknown", "cancelled by mail": "unknown"} {
		s := Read("hut.csv", "in,out,guest,note\n2026-05-01,2026-05-04,Ana,\n2026-05-04,2026-05-09,Bo,\n"+
			"2026-05-12,2026-05-20,Cy,"+cell+"\n2026-05-22,2026-05-25,Di,\n").stays()
		got := "unknown"
		if s != nil {
			got = map[bool]string{true: "cancelled", false: "holds"}[s.cancelled[2]]
		}
		if got != want {
			t.Errorf("%q: %s, not %s", cell, got, want)
		}
	}
}

// Two weeks are 14 days.
func TestLentForWeeks(t *testing.T) {
	files := map[string]string{"wardrobe.csv": "item,with,since,until\nrobe,Ana Lund,2026-05-01,2026-05-15\n" +
		"mask,shelf,,\nhat,Bo Maes,2026-05-02,2026-05-16\n", "queue.md": "# Queue\n\n- Cy Petit: hat\n",
		"ways.txt": "Things are lent for two weeks.\nTea is at 4.\n"}
	p, after := playedOver(t, files, "loan_want", func(p *Plan) bool {
		return p.Slot("x") == "mask" && p.Slot("time") == "2026-05-09"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"wardrobe.csv": strings.Replace(files["wardrobe.csv"],
		"mask,shelf,,", "mask,"+p.Slot("y")+",2026-05-09,2026-05-23", 1)})
}
