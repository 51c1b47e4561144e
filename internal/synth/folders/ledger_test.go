package folders

import (
	"strings"
	"testing"
)

// A transfer is two rows of one day, in the form of those that are there, and comes only if enough is there.
func TestTransferIfEnough(t *testing.T) {
	club := "ref,date,what,account,in,out\n1,2026-01-02,brought forward,current,900.00,\n" +
		"2,2026-01-02,brought forward,reserve,300.00,\n3,2026-01-09,subs,current,120.50,\n" +
		"4,2026-01-12,to reserve,current,,50.00\n5,2026-01-12,from current,reserve,50.00,\n" +
		"6,2026-01-20,rent,current,,200.00\n"
	house := "# Pots\n\n| day | pot | for | amount |\n|---|---|---|---|\n| 02/03/2026 | food | start | 400 |\n" +
		"| 02/03/2026 | trips | start | 90 |\n| 03/03/2026 | trips | Ana pays in | 30 |\n" +
		"| 05/03/2026 | food | market | -60 |\n| 09/03/2026 | food | bread | -15 |\n"
	boat := "date,text,fund,received,spent\n2026-05-01,start,kitty,80.00,\n2026-05-01,start,engine fund,610.00,\n" +
		"2026-05-03,diesel,kitty,,30.00\n2026-05-03,oil,engine fund,,8.00\n2026-05-08,rope,kitty,,12.00\n"
	of := func(x, y, v, v2 string, acts bool) func(*Plan) bool {
		return func(p *Plan) bool {
			return p.Slot("x") == x && p.Slot("y") == y && (v == "" || p.Slot("v") == v) &&
				(v2 == "" || p.Slot("v2") == v2) && p.Changes() == acts
		}
	}
	at := func(day string, fits func(*Plan) bool) func(*Plan) bool {
		return func(p *Plan) bool {
			return fits(p) && strings.Contains(strings.Join(newTexts(p), "\n"), day)
		}
	}
	rows := "7,2026-01-22,to reserve,current,,100.00\n8,2026-01-22,from current,reserve,100.00,\n"
	checkEnd(t, end{files: map[string]string{"money/accounts.csv": club, "notes.md": "Nothing of it.\n"},
		way: (*drawer).moveIfAbove, pattern: "purse_move",
		fits: at("2026-01-22", of("current", "reserve", "", "100", true)),
		want: map[string]string{"money/accounts.csv": club + rows},
		also: map[string][]string{"money/accounts.csv": {club + strings.ReplaceAll(rows, "100.00", "100"),
			club + "7,2026-01-22,transfer,reserve,100.00,\n8,2026-01-22,transfer,current,,100.00\n"}},
		wrong: map[string][]string{"money/accounts.csv": {club + strings.Replace(rows, "8,", "7,", 1),
			club + "7,2026-01-22,to reserve,current,,100.00\n", club + strings.ReplaceAll(rows, "100", "110"),
			club + "7,2026-01-22,to reserve,current,100.00,\n8,2026-01-22,from current,reserve,,100.00\n"}},
		why: "1020.50 - 50.00 = 970.50, 970.50 - 200.00 = 770.50\nCondition: more than "})
	checkEnd(t, end{files: map[string]string{"pots.md": house, "b.md": "x\n"}, way: (*drawer).moveIfAbove,
		pattern: "purse_move", fits: at("| 10/03/2026 |", of("food", "trips", "", "50", true)),
		want: map[string]string{"pots.md": house + "| 10/03/2026 | food | transfer to trips | -50 |\n" +
			"| 10/03/2026 | trips | transfer from food | 50 |\n"},
		wrong: map[string][]string{"pots.md": {house + "| 10/03/2026 | food | transfer to trips | 50 |\n" +
			"| 10/03/2026 | trips | transfer from food | -50 |\n"}}})
	checkEnd(t, end{files: map[string]string{"kitty.csv": boat, "b.md": "x\n"}, way: (*drawer).moveIfAbove,
		pattern: "purse_move", fits: of("engine fund", "kitty", "", "", false),
		answer: "The engine fund holds 602.00, which is not more than ", why: "610.00 - 8.00 = 602.00"})
	for name, text := range map[string]string{"one purse": strings.ReplaceAll(club, "reserve", "current"),
		"two amounts": strings.Replace(club, "900.00,", "900.00,3.00", 1),
		"no amount":   strings.Replace(club, "120.50", "", 1), "a word": strings.Replace(club, "120.50", "some", 1)} {
		if Read("accounts.csv", text).ledger() != nil {
			t.Errorf("%s makes a ledger", name)
		}
	}
}

// newTexts are the texts that the operations of a plan write.
func newTexts(p *Plan) (list []string) {
	for _, o := range p.Ops {
		list = append(list, o.New)
	}
	return list
}
