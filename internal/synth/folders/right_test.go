package folders

import (
	"strings"
	"testing"
)

// A misspelt name becomes right, but in no minutes and in no letter.
func TestNamesPutRight(t *testing.T) {
	list := "name,seat\nAna Pryce,2\nBo Maes,3\nCy Petit,4\n"
	for _, c := range []struct {
		wrong, kept string
		rules       bool
	}{{"Ana Price", "minutes/2026-01-07.md", true}, {"Ana Pryse", "letters/2026-02-01-ana.txt", false},
		{"Ana Prcye", "office/minutes/january.md", true}} {
		files := map[string]string{"guests.csv": list, "plan.md": "# Plan\n\n- Bo Maes\n- " + c.wrong + " (late)\n",
			"tea.txt": "First " + c.wrong + " and then Cy Petit.\nAna Pryce brings cake.\n",
			c.kept:    "Present: " + c.wrong + ".\n"}
		pattern := "spell_right_but"
		if c.rules {
			files["rules.md"] = "# Rules\n\n- Minutes are not altered afterwards, nor are letters.\n"
			pattern = "spell_right"
		}
		checkEnd(t, end{files: files, way: (*drawer).spellRight, pattern: pattern,
			want: map[string]string{"plan.md": strings.ReplaceAll(files["plan.md"], c.wrong, "Ana Pryce"),
				"tea.txt": strings.ReplaceAll(files["tea.txt"], c.wrong, "Ana Pryce")}, why: ", too, which stays as it is."})
	}
	for _, other := range []string{"guests2.csv", "kin.csv"} { // two persons whose names are near each other
		f := Of(map[string]string{"guests.csv": list, other: strings.ReplaceAll(list, "Pryce", "Price")}, nil)
		if len(f.misspelt) > 0 {
			t.Errorf("%v are misspelt", f.misspelt)
		}
	}
}

// Files that are named unlike the others get the day of their text in front.
func TestDayInFront(t *testing.T) {
	for _, c := range [][3]string{
		{"talks/Bee Keeping.txt", "Bees\n\n3 March 2026\n", "talks/2026-03-03-bee-keeping.txt"},
		{"a/talks/owls.md", "# Owls, 17/04/2026\n", "a/talks/2026-04-17-owls.md"},
		{"visits/The Mill.txt", "Date: 05.05.2026\n", "visits/2026-05-05-the-mill.txt"},
	} {
		dir := c[0][:strings.LastIndex(c[0], "/")]
		checkEnd(t, end{files: map[string]string{c[0]: c[1], dir + "/2026-01-02-canals.txt": "Canals\n", "b.md": "x\n"},
			way: (*drawer).dayInFront, pattern: "files_day_front", want: map[string]string{c[0]: "", c[2]: c[1]}})
	}
}

// Of two rows of one person the first stays, with its number and a cell of the second.
func TestMergedRows(t *testing.T) {
	for _, c := range []struct{ file, text, attr, want, wrong string }{
		{"list.csv", "no,name,phone,mail\n3,Ana Lund,1,a@x\n4,Bo Maes,2,b@x\n5,Ana Lund,7,c@x\n6,Cy Petit,4,d@x\n",
			"phone", "no,name,phone,mail\n3,Ana Lund,7,a@x\n4,Bo Maes,2,b@x\n6,Cy Petit,4,d@x\n",
			"no,name,phone,mail\n3,Ana Lund,7,a@x\n4,Bo Maes,2,b@x\n5,Cy Petit,4,d@x\n"},
		{"d/kin.csv", "id,name,flat,kind\nT1,Ana Lund,A,old\nT2,A. Lund,B,new\nT3,Cy Petit,C,old\nT4,Bo Maes,D,new\n", "flat",
			"id,name,flat,kind\nT1,Ana Lund,B,old\nT3,Cy Petit,C,old\nT4,Bo Maes,D,new\n",
			"id,name,flat,kind\nT2,A. Lund,B,new\nT3,Cy Petit,C,old\nT4,Bo Maes,D,new\n"},
		{"hives.md", "| hive | name | side | since |\n|---|---|---|---|\n| H1 | Bo Maes | east | 2019 |\n" +
			"| H2 | Cy Petit | west | 2020 |\n| H3 | Bo Maes | south | 2021 |\n", "side",
			"| hive | name | side | since |\n|---|---|---|---|\n| H1 | Bo Maes | south | 2019 |\n" +
				"| H2 | Cy Petit | west | 2020 |\n",
			"| hive | name | side | since |\n|---|---|---|---|\n| H1 | Bo Maes | south | 2021 |\n" +
				"| H2 | Cy Petit | west | 2020 |\n"},
	} {
		files := map[string]string{c.file: c.text, "b.md": "x\n"}
		checkEnd(t, end{files: files, way: (*drawer).mergeTwice, pattern: "merge_twice",
			fits: func(p *Plan) bool { return p.Slot("attr") == c.attr }, want: map[string]string{c.file: c.want},
			wrong: map[string][]string{c.file: {c.wrong}}, why: "The second goes."})
		_, p := drawnBy(t, end{files: files, way: (*drawer).mergeTwice, pattern: "merge_twice"})
		few := draw(newRand(2), Of(files, nil), Can{List: true, Show: true, Write: true}, "set", (*drawer).mergeTwice)
		if few == nil || p == nil {
			t.Fatalf("%s: nothing is merged by writing", c.file)
		}
	}
}

// What was decided last holds, and the files that say something else get it; the minutes stay.
func TestLaterCounts(t *testing.T) {
	for _, c := range []struct{ first, then, key, old, v, file string }{
		{"- The guest fee is 4.00 from now on.", "- Guest fee raised to 5.50.", "guest fee", "4.00", "5.50", "prices.txt"},
		{"We agreed on 30 as the rent per day.", "From now on the rent per day is 36.", "rent per day", "30", "36",
			"a/terms.md"},
		{"* key deposit: 20.00", "* The key deposit goes down to 15.00, all in favour.", "key deposit", "20.00", "15.00",
			"board.yaml"},
	} {
		text := c.key + ": " + c.old + "\nopen: yes\n"
		files := map[string]string{"talks/2026-01-05.md": "# January\n\n" + c.first + "\n",
			"talks/2026-02-05.md": "# February\n\nNothing on it. Ana asked about the " + c.key + ".\n",
			"talks/2026-04-02.md": "# April\n\n" + c.then + "\n", c.file: text, "now.txt": c.key + ": " + c.v + "\n"}
		checkEnd(t, end{files: files, way: (*drawer).decidedLast, pattern: "decided_last", answer: c.v, why: c.first})
		checkEnd(t, end{files: files, way: (*drawer).followDecision, pattern: "decided_follow",
			want: map[string]string{c.file: strings.Replace(text, c.old, c.v, 1)},
			why:  "The later one counts, 2026-04-02.md"})
	}
}

// What minutes put off they do not decide: the value before holds, and where nothing comes behind it nobody is asked.
func TestPutOffDecidesNothing(t *testing.T) {
	files := map[string]string{"talks/2026-01-05.md": "- The guest fee is 30.\n",
		"talks/2026-02-05.md": "- Dora proposes 36 as the guest fee, put off to the next meeting.\n",
		"prices.txt":          "guest fee: 30\n"}
	if f := Of(files, nil); len(f.decided) > 0 {
		t.Errorf("%+v is decided", f.decided)
	}
	files["talks/2026-03-05.md"] = "- The guest fee goes up to 40.\n"
	checkEnd(t, end{files: files, way: (*drawer).decidedLast, pattern: "decided_last", answer: "40", why: "is 30."})
	files["talks/2026-04-05.md"] = "- Guest fee: Bo wants to go back to 30. No decision.\n"
	if f := Of(files, nil); len(f.decided) > 0 {
		t.Errorf("%+v is decided, and then open again", f.decided)
	}
}
