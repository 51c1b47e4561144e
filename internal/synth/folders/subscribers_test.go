package folders

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// payers are tables of persons who have paid, who owe, and who owe nothing.
func payers() []map[string]string {
	return []map[string]string{{
		"members.csv": "name,mail,kind,fee,paid_2026\nAna Lund,ana@x.example,full,30,2026-02-01\n" +
			"Ana Moss,moss@x.example,full,30,\nAna Reed,reed@x.example,half,18,\nBo Fern,bo@x.example,junior,30,n/a\n" +
			"Cy Hill,cy@x.example,full,30,12 Feb\n", "a.txt": "x\n", "b.txt": "y\n",
	}, {
		"players.md": "# Players\n\n| name | mail | due | dues_paid |\n|---|---|---|---|\n" +
			"| Ana Moss | moss@x.example | 12.50 |  |\n| Ana Reed | reed@x.example | 12.50 |  |\n" +
			"| Di Fern | di@x.example | 0 | free |\n| Cy Hill | cy@x.example | 12.50 | 2 Feb 2026 |\n", "a.txt": "x\n",
		"b.txt": "y\n",
	}, {
		"choir/singers.csv": "name,paid,subs,mail\nDi Fern,,40,di@x.example\nCy Hill,01.02.2026,40,cy@x.example\n" +
			"Bo Lund,-,40,bo@x.example\n", "a.txt": "x\n", "b.txt": "y\n",
	}}
}

// Who owes is told with what it comes to: who has nothing to pay owes nothing.
func TestWhoOwes(t *testing.T) {
	for i, want := range []string{"Ana Moss: moss@x.example\nAna Reed: reed@x.example\nTotal: 48",
		"Ana Moss: moss@x.example\nAna Reed: reed@x.example\nTotal: 25", "Di Fern: di@x.example\nTotal: 40"} {
		f := Of(payers()[i], nil)
		forms := map[string]bool{}
		for seed := range uint64(40) {
			p := draw(newRand(seed), f, everything(), programs.List, (*drawer).whoOwes)
			forms[p.Answer.Form] = true
			lines := strings.ReplaceAll(strings.Join(p.Answer.Values, "\n"), ": ", "\n")
			told := strings.NewReplacer(": ", "\n", "Total\n", "", "Total: ", "")
			if told.Replace(lines) != told.Replace(want) {
				t.Errorf("%q, not %q, by %q", lines, want, p.Working())
			}
			x := p.Word(newRand(seed), "train")
			for _, c := range x.Checks {
				if c.AnswerUnmet(x.Answer) != "" {
					t.Errorf("%q is not taken", x.Answer)
				}
			}
			if !slices.ContainsFunc(x.Checks, func(c scenario.Check) bool {
				return c.AnswerUnmet(strings.Replace(x.Answer, "moss@", "bo@", 1)) != "" || i == 2
			}) {
				t.Errorf("another mail is taken for %q", x.Task)
			}
		}
		if len(forms) != 2 {
			t.Errorf("%v", forms)
		}
	}
}

// The day on which somebody paid stands in the form of the others, with whoever is meant.
func TestPaidOn(t *testing.T) {
	members, players, singers := payers()[0], payers()[1], payers()[2]
	event{members, (*drawer).paidOn,
		func(p *Plan) bool { return p.Slot("x") == "ana reed" && p.Slot("time") == "2026-02-03" },
		func(*Plan) map[string]string {
			return map[string]string{"members.csv": changed(members, "members.csv", "half,18,", "half,18,2026-02-03")}
		}, func(*Plan) map[string]string {
			return map[string]string{"members.csv": changed(members, "members.csv", "half,18,", "half,18,3 Feb")}
		}, "ana reed is Ana Reed"}.check(t, "in a table with commas")
	event{singers, (*drawer).paidOn, func(p *Plan) bool { return p.Slot("time") == "02.02.2026" },
		func(*Plan) map[string]string {
			return map[string]string{
				"choir/singers.csv": changed(singers, "choir/singers.csv", "Fern,,", "Fern,02.02.2026,"),
			}
		}, func(*Plan) map[string]string {
			return map[string]string{
				"choir/singers.csv": changed(singers, "choir/singers.csv", "Lund,-", "Lund,02.02.2026"),
			}
		}, ""}.check(t, "where the column is not the last")
	event{players, (*drawer).whoPaidThenWhich, func(p *Plan) bool {
		return p.Then().Slot("x") == "Reed" && p.Then().Slot("time") == "4 Feb 2026" &&
			p.Slot("x") == "Ana" && p.Later() == 1
	}, func(*Plan) map[string]string {
		return map[string]string{"players.md": changed(players, "players.md", "reed@x.example | 12.50 |  |",
			"reed@x.example | 12.50 | 4 Feb 2026 |")}
	}, func(*Plan) map[string]string {
		return map[string]string{"players.md": changed(players, "players.md", "moss@x.example | 12.50 |  |",
			"moss@x.example | 12.50 | 4 Feb 2026 |")}
	}, ""}.check(t, "in two messages")
	p := draw(newRand(1), Of(players, nil), everything(), programs.AskBack, (*drawer).whoPaid)
	if p.Changes() || !p.LeavesAll() || !matches(p.Answer.For, "Ana Reed or Ana Moss?") ||
		matches(p.Answer.For, "Ana Reed?") {
		t.Errorf("%+v", p.Answer)
	}
	// one of three has paid, so that two namesakes of one name do not owe alone
	if s := readSubscribers(Of(members, nil).doc("members.csv")); s != nil {
		if first, rows := s.namesakes(); rows != nil {
			t.Errorf("%s is one of %v", first, rows)
		}
	}
}
