package folders

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// playedOver draws programs of a pattern over some files until a few differ, and returns what the files then hold.
func playedOver(t *testing.T, files map[string]string, pattern string, fits func(*Plan) bool) (*Plan, State) {
	t.Helper()
	f := Of(files, nil)
	for seed := range uint64(2000) {
		r := newRand(seed)
		for _, s := range overDayStructures() {
			p := draw(r, f, everything(), s.kind, s.draw)
			if p == nil || p.Pattern() != pattern || fits != nil && !fits(p) {
				continue
			}
			after, ok := f.State().Apply(p.Ops)
			if !ok {
				t.Fatalf("%s: %+v cannot be made", pattern, p.Ops)
			}
			return p, after
		}
	}
	t.Fatalf("no %s is drawn over these files", pattern)
	return nil, nil
}

// ends compares what files hold in the end with what they should.
func ends(t *testing.T, pattern string, files map[string]string, after State, want map[string]string) {
	t.Helper()
	all := maps.Clone(files)
	maps.Copy(all, want)
	for file, text := range all {
		if after[file] != text {
			t.Errorf("%s: %s has %q, not %q", pattern, file, after[file], text)
		}
	}
}

// Over kits of each kind there are the programs that they are for. What these come to is demanded, and neither what was
// there before nor an end with another day or name will do.
func TestOverDays(t *testing.T) {
	const least = 3
	for kit, patterns := range map[int][]string{0: {"plan_later", "plan_from", "plan_if"},
		1: {"rota_out", "rota_swap", "rota_take"}, 2: {"loan_home", "loan_want"},
		3: {"point_in", "point_dated", "point_both"},
		4: {"free_on", "free_between", "free_until", "who_on", "next_after"},
		5: {"decided_move", "minutes_wrong"}, 6: {"entry_top"}} {
		had := map[string]int{}
		for seed := range uint64(24) {
			r, files := rand.New(rand.NewPCG(seed, 7)), map[string]string{"shopping.txt": "milk\nbread\nrice\n"}
			overDays()[kit](r, files, "")
			f := Of(files, nil)
			for _, s := range overDayStructures() {
				if p := draw(r, f, everything(), s.kind, s.draw); p != nil && slices.Contains(patterns, p.Pattern()) {
					had[p.Pattern()]++
					demanded(t, f, p, s.kind)
				}
			}
		}
		for _, pattern := range patterns {
			if had[pattern] < least {
				t.Errorf("%s is drawn on %d kits", pattern, had[pattern])
			}
		}
	}
}

var (
	anyNumber = regexp.MustCompile(`\d+`)
	anyName   = regexp.MustCompile(`\p{Lu}\pL+`)
)

// demanded proves that the checks of a change hold for its end, and for no other end.
func demanded(t *testing.T, f *Folder, p *Plan, kind string) {
	t.Helper()
	before := f.State()
	after, ok := before.Apply(p.Ops)
	if !ok || p.Kind != kind {
		t.Fatalf("%s: %+v", p.Pattern(), p.Ops)
	}
	for file, text := range after {
		if text == before[file] {
			continue
		}
		meets := func(text string) bool {
			return !slices.ContainsFunc(f.Texts(file, after[file]), func(want string) bool {
				return !regexp.MustCompile(want).MatchString(text)
			})
		}
		added := ""
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.Contains(before[file], line) {
				added = line
			}
		}
		other := strings.Replace(text, added, anyNumber.ReplaceAllString(added, "77"), 1)
		if other == text {
			other = strings.Replace(text, added, anyName.ReplaceAllString(added, "Nobody"), 1)
		}
		if other == text {
			other = strings.Replace(text, added, strings.ToUpper(added), 1)
		}
		if !meets(text) || meets(before[file]) || added == "" || meets(other) || meets(text+"\nmore") {
			t.Errorf("%s: of %s %q is demanded", p.Pattern(), file, f.Texts(file, text))
		}
	}
}

// Plans in other forms than kits have are delayed from a step on, and the rows before stay.
func TestPlansAreDelayed(t *testing.T) {
	files := map[string]string{
		"works.csv": "no,task,from,until\n1,dig,2026-02-02,2026-02-03\n2,pour,2026-02-05,2026-02-06\n" +
			"3,fence,2026-02-27,2026-02-28\n4,sow,2026-03-02,2026-03-02\n",
		"town.yaml": "market day: 2026-03-07\n",
	}
	later := strings.NewReplacer("2026-02-27,2026-02-28", "2026-03-02,2026-03-03", "2026-03-02,2026-03-02",
		"2026-03-05,2026-03-05").Replace(files["works.csv"])
	p, after := playedOver(t, files, "plan_later", func(p *Plan) bool {
		return p.Slot("x") == "fence" && p.Slot("n") == "three days"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"works.csv": later})
	p, after = playedOver(t, files, "plan_from", func(p *Plan) bool {
		return p.Slot("x") == "fence" && p.Slot("time") == "2 March"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"works.csv": later})
	p, after = playedOver(t, files, "plan_if", func(p *Plan) bool {
		return p.Slot("x") == "fence" && p.Slot("n") == "three days"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"works.csv": later})
	p, after = playedOver(t, files, "plan_if", func(p *Plan) bool { return p.Slot("n") == "a week" })
	if ends(t, p.Pattern(), files, after, nil); p.Answer.Form != "left" || p.Slot("y") != "the market day" ||
		!strings.Contains(p.Working(), "9 March 2026 is not before 7 March 2026") {
		t.Errorf("%+v by %q", p.Answer, p.Working())
	}
}

// Of a rota only the days that are told change, in the column of the duty.
func TestRotasChange(t *testing.T) {
	files := map[string]string{"watch.md": "| day | what | guide |\n|---|---|---|\n| 3.7.2026 | x | Ana |\n" +
		"| 9.7.2026 | y | Bo |\n| 14.7.2026 | x | Ana |\n| 2.8.2026 | x | Ana |\n| 9.8.2026 | y | Cy |\n" +
		"| 20.8.2026 | y | Bo |\n"}
	p, after := playedOver(t, files, "rota_out", func(p *Plan) bool {
		return p.Slot("given") == "Cy takes the 3rd and Bo the 14th"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"watch.md": strings.NewReplacer("| 3.7.2026 | x | Ana",
		"| 3.7.2026 | x | Cy", "14.7.2026 | x | Ana", "14.7.2026 | x | Bo").Replace(files["watch.md"])})
	if p.Slot("x") != "Ana" || p.Slot("time") != "July" {
		t.Errorf("%s is out in %s", p.Slot("x"), p.Slot("time"))
	}
	p, after = playedOver(t, files, "rota_swap", func(p *Plan) bool {
		return p.Slot("x") == "Bo" && p.Slot("a") == "20 August" && p.Slot("y") == "Cy"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"watch.md": strings.NewReplacer("y | Cy", "y | Bo",
		"20.8.2026 | y | Bo", "20.8.2026 | y | Cy").Replace(files["watch.md"])})
	p, after = playedOver(t, files, "rota_take", func(p *Plan) bool {
		return p.Slot("x") == "Ana" && p.Slot("a") == "2 August" && p.Slot("y") == "Bo"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"watch.md": strings.Replace(files["watch.md"],
		"2.8.2026 | x | Ana", "2.8.2026 | x | Bo", 1)})
}

// What comes back is in, and what is wanted is lent for as long as the rule says, or waited for where it is out.
func TestLoans(t *testing.T) {
	out := "item;with;since;until\nrobe;Ana Lund;2026-05-01;2026-05-11\nmask;shelf;;\nhat;Bo " +
		"Maes;2026-05-02;2026-05-12\n"
	files := map[string]string{"wardrobe.csv": strings.ReplaceAll(out, ";", ","),
		"queue.md": "# Queue\n\n- Cy Petit: hat\n", "ways.txt": "We lend for 10 days.\nTea is at 4.\n"}
	p, after := playedOver(t, files, "loan_home", func(p *Plan) bool {
		return p.Slot("x") == "robe" &&
			p.Then() == nil
	})
	ends(t, p.Pattern(), files, after, map[string]string{"wardrobe.csv": strings.Replace(files["wardrobe.csv"],
		"Ana Lund,2026-05-01,2026-05-11", "shelf,,", 1)})
	p, after = playedOver(t, files, "loan_want", func(p *Plan) bool {
		return p.Slot("x") == "mask" && p.Slot("time") == "2026-05-09"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"wardrobe.csv": strings.Replace(files["wardrobe.csv"],
		"mask,shelf,,", "mask,"+p.Slot("y")+",2026-05-09,2026-05-19", 1)})
	p, after = playedOver(t, files, "loan_want", func(p *Plan) bool { return p.Slot("x") == "robe" })
	ends(t, p.Pattern(), files, after, map[string]string{"queue.md": files["queue.md"] + "- " + p.Slot("y") +
		": robe\n"})
	p, after = playedOver(t, files, "loan_home", func(p *Plan) bool {
		return p.Slot("x") == "robe" && p.Then() != nil && p.Then().Slot("x") == "hat"
	})
	ends(t, p.Pattern(), files, after, map[string]string{"wardrobe.csv": strings.Replace(files["wardrobe.csv"],
		"Ana Lund,2026-05-01,2026-05-11", "shelf,,", 1),
		"queue.md": files["queue.md"] + "- " + p.Then().Slot("y") + ": hat\n"})
}

// A new row between bars may have other blanks about these, and an old one may not change.
func TestBlanksAboutBars(t *testing.T) {
	f := Of(map[string]string{"a.md": "| a | b |\n|---|---|\n| 1 | x |\n| 2 | y |\n| 3 | z |\n"}, nil)
	want := f.Texts("a.md", strings.Replace(f.Docs[0].Text, "| 2 | y |", "| 2 |  |", 1))
	for text, meets := range map[string]bool{"| 2 |  |": true, "| 2 | |": true, "|2||": true, "| 2 | y |": false,
		"| 2 | |\n": false} {
		text = strings.Replace(f.Docs[0].Text, "| 2 | y |", text, 1)
		if regexp.MustCompile(want[0]).MatchString(text) != meets {
			t.Errorf("%q does meet %q: %v", text, want, !meets)
		}
	}
	if regexp.MustCompile(want[0]).MatchString("| a | b |\n|---|---|\n|1|x|\n| 2 |  |\n| 3 | z |\n") {
		t.Error("another row changes")
	}
}

// A new point has its place and number, those behind it the next ones, and the file the day of the change. Where a line
// says that another file has the points in short, that gets the short one.
func TestPointsAreNumbered(t *testing.T) {
	files := map[string]string{
		"rules.md":   "# Rules\n\nLast changed: 3.2.2026\n\n1. Dogs stay out.\n2. Shut doors.\n3. No fires.\n4. Pay.\n",
		"sheet.md":   "# In short\n\n- no dogs\n- pay\n\nBye\n",
		"readme.txt": "rules.md and sheet.md are kept in step.\n",
		"agenda.txt": "Agenda\n\n1) Hello\n2) Money\n3) Roof\n4) Goodbye\n",
	}
	p, after := playedOver(t, files, "point_both", func(p *Plan) bool {
		return p.Slot("item2") == "quiet after ten" && p.Slot("x") == "number 2" && p.Slot("word") == "after" &&
			isDay(p.Slot("time"))
	})
	day, err := time.Parse(time.DateOnly, p.Slot("time"))
	if err != nil {
		t.Fatal(err)
	}
	ends(t, p.Pattern(), files, after, map[string]string{
		"rules.md": "# Rules\n\nLast changed: " + day.Format("2.1.2006") + "\n\n1. Dogs stay out.\n2. Shut doors.\n" +
			"3. After ten at night it is quiet.\n4. No fires.\n5. Pay.\n",
		"sheet.md": "# In short\n\n- no dogs\n- pay\n- quiet after ten\n\nBye\n",
	})
	p, after = playedOver(t, files, "point_in", func(p *Plan) bool {
		return p.Slot("item") == "New sign" && p.Slot("x") == `"Money"` && p.Slot("word") == "before"
	})
	ends(t, p.Pattern(), files, after, map[string]string{
		"agenda.txt": "Agenda\n\n1) Hello\n2) New sign\n3) Money\n4) Roof\n5) Goodbye\n"})
	delete(files, "readme.txt")
	p, after = playedOver(t, files, "point_dated", func(p *Plan) bool { return p.Slot("x") == "number 1" })
	if ends(t, p.Pattern(), files, after, map[string]string{"rules.md": after["rules.md"]}); !strings.Contains(
		after["rules.md"], "5. Pay.") || strings.Contains(after["rules.md"], "3.2.2026") {
		t.Errorf("%q", after["rules.md"])
	}
}

// What is asked over days is answered by the stays that hold; where somebody comes or goes nothing is asked.
func TestDaysAreAsked(t *testing.T) {
	files := map[string]string{"hut-2026.csv": "in,out,guest,state\n2026-05-01,2026-05-04,Ana,fixed\n" +
		"2026-05-04,2026-05-09,Bo,fixed\n2026-05-12,2026-05-20,Cy,cancelled\n2026-05-22,2026-05-25,Di,fixed\n"}
	for _, test := range []struct{ pattern, slot, is, answer, work string }{
		{"free_on", "time", "2026-05-15", "Yes", "2026-05-12,2026-05-20,Cy,cancelled\nThat does not hold"},
		{"free_on", "time", "2026-05-06", "No", "2026-05-04,2026-05-09,Bo,fixed\nThen it is taken by Bo."},
		{"free_between", "a", "2026-05-10", "", "Before: hut-2026.csv: 2026-05-04"},
		{"free_until", "time", "2026-05-13", "2026-05-22", "Next: hut-2026.csv: 2026-05-22"},
		{"who_on", "time", "2026-05-23", "Di", "Di,fixed"},
		{"next_after", "time", "2026-05-02", "Bo", "Bo,fixed"},
		{"next_after", "time", "2026-05-11", "Di", "Di,fixed"},
	} {
		p, _ := playedOver(t, files, test.pattern, func(p *Plan) bool {
			return p.Slot(test.slot) == test.is && (test.answer != "" || p.Answer.Values[0] == "Yes")
		})
		if got := p.Answer.Values[0]; test.answer != "" && got != test.answer ||
			!strings.Contains(p.Working(), test.work) || p.Slot("x") != "the hut" {
			t.Errorf("%s of %s on %s: %s by %q", test.pattern, p.Slot("x"), test.is, got, p.Working())
		}
	}
}

// What minutes decide moves with their day, what they put off stays, and what is left is told.
func TestDecidedMoves(t *testing.T) {
	files := map[string]string{
		"open.md": "## Open\n- [ ] new gate\n- [ ] blue or red?\n- [ ] rent\n- [ ] tea urn\n\n## Settled\n" +
			"- [x] old gate (4 May 2026)\n\nBye\n",
		"2026-06-01.md": "# Minutes\n\nChair: Ana\n\n- New gate: yes.\n- Blue or red? Red.\n- Rent: put off.\n",
		"house.txt":     "Minutes stay. At the end: Correction (date): ...\n",
	}
	p, after := playedOver(t, files, "decided_move", nil)
	ends(t, p.Pattern(), files, after, map[string]string{"open.md": "## Open\n- [ ] rent\n- [ ] tea urn\n\n## " +
		"Settled\n" +
		"- [x] old gate (4 May 2026)\n- [x] new gate (1 June 2026)\n- [x] blue or red? (1 June 2026)\n\nBye\n"})
	if got := strings.Join(p.Answer.Values, ", "); got != "rent, tea urn" {
		t.Errorf("%s are left", got)
	}
	p, after = playedOver(t, files, "minutes_wrong", func(p *Plan) bool { return isDay(p.Slot("time")) })
	text := files["2026-06-01.md"] + "\nCorrection (" + p.Slot("time") + "): chair: " + p.Slot("v") + ", not Ana.\n"
	ends(t, p.Pattern(), files, after, map[string]string{"2026-06-01.md": text})
	want := regexp.MustCompile(Of(files, nil).Texts("2026-06-01.md", text)[0])
	for as, meets := range map[string]bool{
		strings.Replace(text, "chair: "+p.Slot("v")+", not Ana", p.Slot("v")+" was in the chair", 1): true,
		strings.Replace(text, p.Slot("v"), "Nobody", 1):                                              false,
		strings.Replace(text, p.Slot("time"), "2020-01-01", 1):                                       false,
		strings.Replace(text, "Chair: Ana", "Chair: "+p.Slot("v"), 1):                                false,
	} {
		if want.MatchString(as) != meets {
			t.Errorf("%q meets %q: %v", as, want, !meets)
		}
	}
}

// A new entry of a log stands on top in the form of the others.
func TestEntriesOnTop(t *testing.T) {
	files := map[string]string{"log.md": "# Log\n\n### 9.5.2026; quay; Ana & Bo\n- wind: 3\n- fish: none\n\n" +
		"### 2.5.2026; pier; Bo & Cy\n- wind: 5\n- fish: two\n\n### 1.5.2026; pier; Bo & Cy\n- wind: 5\n- fish: two\n"}
	p, after := playedOver(t, files, "entry_top", func(p *Plan) bool {
		return isDay(p.Slot("time")) && p.Slot("y") == "Cy and Ana" && p.Slot("given") == "wind 3, fish: two"
	})
	day, err := time.Parse(time.DateOnly, p.Slot("time"))
	if err != nil {
		t.Fatal(err)
	}
	ends(t, p.Pattern(), files, after, map[string]string{"log.md": strings.Replace(files["log.md"], "### 9.5",
		"### "+day.Format("2.1.2006")+"; "+p.Slot("x")+"; Cy & Ana\n- wind: 3\n- fish: two\n\n### 9.5", 1)})
}

// Ledgers, results and lists of persons have days and names too, and are no rotas.
func TestWhatIsNoRota(t *testing.T) {
	rows := func(header, like string) *Doc {
		text := header + "\n"
		for i, who := range strings.Fields("Ana Bo Ana Cy Bo Cy Ana") {
			text += strings.NewReplacer("DAY", "2026-07-0"+string(rune('1'+i)), "WHO", who).Replace(like) + "\n"
		}
		return Read("x.csv", text)
	}
	for _, c := range []struct {
		header, like string
		is           bool
	}{
		{"date,what,amount,who", "DAY,oil,12,WHO", false}, {"date,what,by", "DAY,oil,WHO", false},
		{"date,match,name", "DAY,final,WHO", false}, {"date,job,crew,sum", "DAY,oil,WHO,12.50", false},
		{"day,result,who", "DAY,3:1,WHO", false}, {"day,desk,driver,reach", "DAY,a,WHO,0171 555 123", false},
		{"day,desk,driver,at", "DAY,a,WHO,x@b.example", false}, {"day,tour,who,room", "DAY,none,WHO,big", false},
		{"day,tour,who", "DAY,none,WHO", true}, {"day,what,who sells,n", "DAY,ice,WHO,3", true},
		{"day,on duty", "DAY,WHO", true}, {"day,crew,notes", "DAY,WHO,", true},
	} {
		if got := rows(c.header, c.like).rota() != nil; got != c.is {
			t.Errorf("%s: a rota: %v", c.header, got)
		}
	}
}
