package folders

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// shed is a folder whose files belong together by names and numbers.
func shed() map[string]string {
	return map[string]string{
		"lockers.csv": "locker,holder,size\n1,Ana Lund,small\n2,Bo Maes,large\n3,Cy Petit,small\n4,Di Roth,large\n",
		"income.csv": "date,locker,amount,how\n2026-03-02,1,30.00,bank\n" +
			"2026-03-05,2,20.00,cash\n2026-03-09,4,15.00,bank\n",
		"rates.txt": "per year\n\nsmall: 30.00\nlarge: 45.00\n",
		"wants.csv": "who,item,count\nAna Lund,jar,2\nBo Maes,jar,1\nAna Lund,lid,4\nBo Maes,lid,1\n" +
			"Ana Lund,cap,1\n",
		"prices.yaml": "jar: 2.50\nlid: 0.40\ncap: 1.00\n",
		"things.json": "[\n  {\"code\": \"K1\", \"name\": \"hall key\", \"state\": \"good\", \"holder\": null},\n" +
			"  {\"code\": \"K2\", \"name\": \"van key\", \"state\": \"worn\", \"holder\": \"Bo Maes\"},\n" +
			"  {\"code\": \"K3\", \"name\": \"red bell\", \"state\": \"good\", \"holder\": null}\n]\n",
		"log.txt": "2026-06-01  K1  out   Ana Lund\n2026-06-03  K1  back\n2026-06-04  K2  out   Bo Maes\n",
		"turns.md": "| week | desk | post |\n|---|---|---|\n| 1 | Ana Lund | Bo Maes |\n| 2 | Bo Maes | Cy Petit |\n" +
			"| 3 | Cy Petit | Di Roth |\n| 4 | Di Roth | Ed Novak |\n| 5 | Ed Novak | Ana Lund |\n",
		"van.txt": "2026-07-01  oil 2 l      12.50  Tom\n2026-07-04  rope 5 m     8.00   Mila\n" +
			"2026-07-09  oil 1 l      6.25   Tom\n",
		"book.csv": "date,payer,what,amount\n2026-07-01,Tom,oil,12.50\n" +
			"2026-07-02,Mila,tea,3.00\n2026-07-04,Mila,rope,8.00\n",
		"minutes/2026-03-02.md": "one\n", "minutes/2026-03-30.md": "two\n", "minutes/2026-04-13.md": "three\n",
		"old/x.md":        "four\n",
		"sold-monday.txt": "3 x loaf\n4 x roll\n1 x bun\n",
		"stock.csv":       "item,count\nloaf,12\nroll,40\nbun,9\npie,30\n",
		"need.txt":        "loaf\ncake\nroll\n", "buy.txt": "- loaf\n- roll\n- tart\n",
		"form.txt": "Dear {holder}\n\nYour size is {size}.\n",
		"quotes.txt": "\"Songs like wool: warm.\" - The Courier, 4 stars\n" +
			"\"A little long.\" - Radio One\n\"Good.\" - Plaat\n",
		"rooms.csv": "room,state\nHall Nine,open\nCellar,shut\nLoft,shut\n",
		"plans.csv": "room,seats,chief\nHall Nine,40,Ines\nCellar,12,Paul\nLoft,8,Paul\n",
	}
}

// An answer over two or three files, or over all persons, is what the rows come to.
func TestAnswersAcross(t *testing.T) {
	tests := []struct {
		kind, pattern string
		fits          func(*Plan) bool
		answer, works string
	}{
		{programs.Total, "due_of", func(p *Plan) bool { return p.Slot("x") == "Bo Maes" }, "25.00",
			"45.00 - 20.00 = 25.00"},
		{programs.List, "due_all", nil, "Bo Maes = 25.00\nCy Petit = 30.00\nDi Roth = 30.00",
			"Cy Petit has locker 3, small: 30.00, locker 3 in income.csv: no row: 30.00 - 0.00 = 30.00 - yes"},
		{programs.Missing, "paid_none", nil, "Cy Petit",
			"locker 2 in income.csv: 20.00 - no\nCy Petit has locker 3, locker 3 in income.csv: no row - yes"},
		{programs.Total, "bill_of", func(p *Plan) bool { return p.Slot("x") == "Ana Lund" }, "7.60",
			"5.00 + 1.60 = 6.60, cap 1 x 1.00 = 1.00, 6.60 + 1.00 = 7.60"},
		{programs.Top, "bills", nil, "Ana Lund = 7.60\nBo Maes = 2.90",
			"0.40, 2.50 + 0.40 = 2.90\nIn order: Ana Lund, Bo Maes"},
		{programs.Top, "sums_by_name", func(p *Plan) bool { return p.Slot("ref") == "payer" }, "Mila = 11\nTom = 12.50",
			"Mila: 3 + 8 = 11\nIn order: Mila, Tom"},
	}
	for _, test := range tests {
		_, p := drawn(t, shed(), test.kind, test.pattern, test.fits)
		got := strings.Join(p.Answer.Values, "\n")
		if got != test.answer || !strings.Contains(p.Working(), test.works) {
			t.Errorf("%s: %q by %q", test.pattern, got, p.Working())
		}
	}
}

// What hangs on a condition says first whether that holds, be it of one file or of two.
func TestConditions(t *testing.T) {
	for pattern, condition := range map[string]string{
		"set_across":      `\nCondition: \w+ is [\w ]+\. It is [\w ]+: `,
		"item_add_unless": `Condition: .* is not there\. .*: `,
		"set_when":        `Condition: \w+ is [\w .-]+\. It is [\w .-]+: `,
		"file_set_if":     `Condition: \w+ is .*\. It is .*: `,
	} {
		_, p := drawn(t, shed(), programs.ActIf, pattern, (*Plan).Changes)
		at := slices.IndexFunc(p.Ops, Op.Changes)
		if why := p.Ops[at].Why; !matches(condition+"holds\n", why) {
			t.Errorf("%s is done for %q", pattern, why)
		}
		_, p = drawn(t, shed(), programs.ActIf, pattern, func(p *Plan) bool { return !p.Changes() })
		if !matches(condition+"fails$", p.Working()) {
			t.Errorf("%s is left for %q", pattern, p.Working())
		}
	}
}

// A person may be called by the first name, or in small letters, and the working says which row that is.
func TestPeopleAsTheyAreCalled(t *testing.T) {
	for said, why := range map[string]string{
		"Bo":       "Bo is Bo Maes, lockers.csv: 2,Bo Maes,large\nBo Maes has locker 2",
		"cy petit": "cy petit is Cy Petit, lockers.csv: 3,Cy Petit,small\nCy Petit has locker 3",
		"Di Roth":  "Di Roth has locker 4",
	} {
		_, p := drawn(t, shed(), programs.Total, "due_of", func(p *Plan) bool { return p.Slot("x") == said })
		for _, o := range p.Ops {
			if strings.Contains(o.Old+o.Why, "Maes") || strings.Contains(o.Old+o.Why, "Petit") {
				t.Errorf("%s: nobody knows the other name yet: %+v", said, o)
			}
		}
		if !strings.Contains(p.Working(), why) || said == "Di Roth" && strings.Contains(p.Working(), " is ") {
			t.Errorf("%s by %q", said, p.Working())
		}
	}
	files := shed()
	files["more.txt"] = "Bo Verne asks for a key.\n"
	d := &drawer{r: newRand(1), f: Of(files, nil)}
	doc := d.f.doc("lockers.csv")
	for range 40 {
		if said, _ := d.called(doc, doc.body()[1], "Bo Maes"); said == "Bo" {
			t.Fatal("two are called Bo")
		}
	}
}

// Amounts are added one after the other.
func TestInSteps(t *testing.T) {
	for want, list := range map[string][]int{"": {200}, "2.00 + 0.50 = 2.50, 2.50 + 1.00 = 3.50": {200, 50, 100}} {
		if got := inSteps(list, money); got != want {
			t.Errorf("%v by %q", list, got)
		}
	}
}

// A change over several files changes what it should in each, and nothing else.
func TestChangesAcross(t *testing.T) {
	replaced := func(file string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(shed()[file]) }
	slot := func(name, value string) func(*Plan) bool { return func(p *Plan) bool { return p.Slot(name) == value } }
	tests := []struct {
		kind, pattern string
		fits          func(*Plan) bool
		want          func(*Plan) map[string]string // "" is gone
	}{
		{programs.Insert, "only_add", slot("file", "need.txt"), func(*Plan) map[string]string {
			return map[string]string{"buy.txt": shed()["buy.txt"] + "- cake\n"}
		}},
		{programs.Insert, "missing_rows", nil, func(*Plan) map[string]string {
			return map[string]string{"book.csv": shed()["book.csv"] + "2026-07-09,Tom,oil,6.25\n"}
		}},
		{programs.Insert, "paid_told", slot("x", "Cy Petit"), func(p *Plan) map[string]string {
			return map[string]string{"income.csv": shed()["income.csv"] + p.Slot("time") + ",3," + p.Slot("v") + "," +
				p.Slot("v2") + "\n"}
		}},
		{programs.ActIf, "set_across", func(p *Plan) bool {
			return p.Changes() && p.Slot("x") == "Hall Nine" &&
				p.Slot("attr2") == "state"
		}, func(*Plan) map[string]string {
			return map[string]string{"rooms.csv": replaced("rooms.csv", "Nine,open", "Nine,shut")}
		}},
		{programs.Several, "lent_out", slot("x", "hall key"), func(p *Plan) map[string]string {
			const free = `hall key", "state": "good", "holder": `
			return map[string]string{
				"log.txt":     shed()["log.txt"] + p.Slot("time") + "  K1  out   " + p.Slot("y") + "\n",
				"things.json": replaced("things.json", free+"null", free+`"`+p.Slot("y")+`"`)}
		}},
		{programs.Several, "lent_back", nil, func(p *Plan) map[string]string {
			return map[string]string{"log.txt": shed()["log.txt"] + p.Slot("time") + "  K2  back\n",
				"things.json": replaced("things.json", `"Bo Maes"`, "null")}
		}},
		{programs.Several, "sold_more", nil, func(p *Plan) map[string]string {
			left := map[string]string{"2": "28", "3": "27", "4": "26", "5": "25", "6": "24"}[p.Slot("n")]
			return map[string]string{"sold-monday.txt": shed()["sold-monday.txt"] + p.Slot("n") + " x pie\n",
				"stock.csv": replaced("stock.csv", "pie,30", "pie,"+left)}
		}},
		{Organize, "swap_in", func(p *Plan) bool {
			return p.Slot("attr") == "desk" && p.Slot("x") == "Ana Lund" && p.Slot("y") == "Cy Petit"
		}, func(*Plan) map[string]string {
			return map[string]string{"turns.md": replaced("turns.md", "| 1 | Ana Lund", "| 1 | Cy Petit",
				"| 3 | Cy Petit",
				"| 3 | Ana Lund")}
		}},
		{Organize, "files_move_month", func(p *Plan) bool {
			return p.Slot("word") == "March 2026" &&
				(p.Slot("folder2") == "old" || p.Slot("folder2") == "the old folder")
		}, func(*Plan) map[string]string {
			return map[string]string{"minutes/2026-03-02.md": "", "minutes/2026-03-30.md": "",
				"old/2026-03-02.md": "one\n",
				"old/2026-03-30.md": "two\n"}
		}},
		{programs.SetAll, "letters_fill", func(p *Plan) bool { return strings.HasSuffix(p.Slot("filter"), "large") },
			func(*Plan) map[string]string {
				return map[string]string{"form-2.txt": "Dear Bo Maes\n\nYour size is large.\n",
					"form-4.txt": "Dear Di Roth\n\nYour size is large.\n"}
			}},
		{programs.Remove, "found_line_drop", slot("word", "Courier"), func(*Plan) map[string]string {
			_, rest, _ := strings.Cut(shed()["quotes.txt"], "\n")
			return map[string]string{"quotes.txt": rest}
		}},
	}
	for _, test := range tests {
		f, p := drawn(t, shed(), test.kind, test.pattern, test.fits)
		want := f.State()
		after, ok := want.Apply(p.Ops)
		for file, text := range test.want(p) {
			if want[file] = text; text == "" {
				delete(want, file)
			}
		}
		for file := range want {
			if after[file] != want[file] {
				t.Errorf("%s: %s has %q, not %q", test.pattern, file, after[file], want[file])
			}
		}
		if len(after) != len(want) || !ok {
			t.Errorf("%s leaves %d files, not %d", test.pattern, len(after), len(want))
		}
	}
}

// Where several rows fit, they are named and asked for; what a row has not is not noted.
func TestSeveralFit(t *testing.T) {
	_, p := drawn(t, shed(), programs.AskBack, "which_set", nil)
	want := "There are two: hall key and van key. Which one do you mean?"
	if p.Answer.Values[0] != want || p.Changes() || !p.LeavesAll() || p.Slot("x") != "the key" {
		t.Errorf("%+v", p.Answer)
	}
	for text, ok := range map[string]bool{want: true, "The van key, or the hall key?": true, "The van key?": false} {
		if matches(p.Answer.For, text) != ok {
			t.Errorf("%q is one that names both: %v", text, !ok)
		}
	}
	_, p = drawn(t, shed(), programs.Unknown, "lookup", func(p *Plan) bool {
		return p.Then() == nil && strings.Contains(p.Answer.Values[0], "not noted")
	})
	if p.Slot("attr") != "holder" || !strings.Contains(p.Working(), `"holder": null`) {
		t.Errorf("%s of %s by %q", p.Slot("attr"), p.Slot("x"), p.Working())
	}
}

// Rows are the same only where a day or a number is, and where one of the columns is in both.
func TestTwins(t *testing.T) {
	if f := Of(shed(), nil); len(f.twins) != 1 || f.twins[0].from.doc.Path != "van.txt" ||
		len(f.twins[0].missing) != 1 || !f.twins[0].word[2] || f.twins[0].word[3] {
		t.Errorf("%+v", f.twins)
	}
	files := shed()
	files["book.csv"] = "date,payer,what,amount\n2026-07-01,Tom,oil,12.55\n" +
		"2026-07-02,Mila,tea,3.00\n2026-07-04,Mila,rope,8.50\n"
	if f := Of(files, nil); len(f.twins) > 0 {
		t.Errorf("other amounts are the same rows: %+v", f.twins)
	}
}

// A log of what went out and came back lists no persons: who has a thing now, one line of it does not tell.
func TestLogOfLoansIsNoList(t *testing.T) {
	f := Of(shed(), nil)
	if d := f.doc("log.txt"); !d.logsLoans() || d.Table != nil || len(d.Items) > 0 {
		t.Errorf("%+v lists %v", d.Table, d.Items)
	}
	if d := Read("list.txt", people); d.logsLoans() || len(d.Items) == 0 || d.Table == nil {
		t.Error("a list of people logs loans")
	}
}

// Rows that are missing in the middle of a book of days go to no end of it.
func TestMissingRowsAreTheLast(t *testing.T) {
	for last, follows := range map[string]bool{"2026-07-08": true, "2026-07-09": true, "2026-07-10": false} {
		files := shed()
		files["book.csv"] += last + ",Mila,tea,2.00\n"
		if f := Of(files, nil); len(f.twins) != 1 || f.twins[0].follows() != follows {
			t.Errorf("%s: %+v", last, f.twins)
		}
	}
}

// Who has paid all has nothing to pay.
func TestNobodyOwesNothing(t *testing.T) {
	f := Of(shed(), nil)
	for seed := range uint64(300) {
		d := &drawer{r: newRand(seed), f: f, can: everything(), seen: map[string]bool{}}
		if p := d.dueOf(); p != nil && strings.HasPrefix(strings.ToLower(p.Slot("x")), "ana") {
			t.Fatalf("Ana Lund owes %q", p.Answer.Values)
		}
	}
}

// Nobody swaps in a column that another table has, too, with one of the names.
func TestSwapIsOfOneTable(t *testing.T) {
	files := shed()
	files["early.md"] = "| day | desk |\n|---|---|\n| 1 | Cy Petit |\n| 2 | Flo Rey |\n| 3 | Gil Sand |\n"
	f, swaps := Of(files, nil), 0
	for seed := range uint64(2000) {
		d := &drawer{r: newRand(seed), f: f, can: everything(), seen: map[string]bool{}}
		if p := d.swapNames(); p != nil {
			if swaps++; p.Slot("attr") == "desk" && (p.Slot("x") == "Cy Petit" || p.Slot("y") == "Cy Petit") {
				t.Fatalf("%s and %s swap in one of two tables", p.Slot("x"), p.Slot("y"))
			}
		}
	}
	if swaps == 0 {
		t.Error("nobody swaps")
	}
}
