package folders

import (
	"slices"
	"testing"

	"hone/internal/synth/programs"
)

// Lines of a log are no entries, nor are those of a list in which one stands twice: "what is on the other list alone"
// would leave it out.
func TestWhatIsAList(t *testing.T) {
	for text, want := range map[string]int{
		"bread\nmilk\ncandles\n":                                     3,
		"bread\nmilk\nbread\ncandles\n":                              0,
		"INFO start\nERROR mail failed\nWARN ficus dry\nINFO stop\n": 0,
		"09:10 start\n09:40 mail failed\n10:00 stop\n":               0,
		"- AA batteries\n- USB stick\n- tape\n":                      3,
		"To buy\n======\nbread\nmilk\ncandles\n":                     0,
		"sold in Ulm\n3 x loaf\n4 x roll\n1 x bun\n":                 3,
		"boats:\n  - name: Sula\n    berth: 12\n  - name: Teal\n    berth: 3\n  - name: Kite\n    berth: 9\n": 0,
		"- bread\n- milk, of which we\n  need two\n- candles\n":                                               0,
		"- bread\n\n- milk\n\n- candles\n":                                                                    3,
	} {
		if got := len(Read("list.txt", text).Items); got != want {
			t.Errorf("%q has %d entries, not %d", text, got, want)
		}
	}
	if doc := Read("club/rules.md", "# Rules\n\n- Shut the gate.\n- Sweep up.\n- Pay in May.\n"); doc.Items != nil {
		t.Errorf("rules are entries: %v", doc.Items)
	}
}

// A new entry is as those are that a list has.
func TestFreshEntriesFit(t *testing.T) {
	for text, fits := range map[string][]string{
		"2 l milk\n500 g flour\n3 eggs\n":                                           newAmounts(),
		"bread\noat milk\ncandles\n":                                                newThings(),
		"- [ ] mow the lawn\n- [ ] paint the old door\n- [ ] call the bank today\n": newChores(),
	} {
		d := &drawer{r: newRand(3)}
		for range 20 {
			if got := d.fresh(Read("list.txt", text)); !slices.Contains(fits, got) {
				t.Errorf("%q gets %q", text, got)
			}
		}
	}
}

// Of a folder with a picture or a hidden file nobody is asked how many files it has.
func TestFilesThatAreNoTextAreCountedByNobody(t *testing.T) {
	f := Of(map[string]string{"a.md": "one", "b.md": "two", "more/c.md": "three", "more/d.md": "four"}, nil)
	f.Unread = []string{"picture.png"}
	d, seen := &drawer{f: f, can: everything()}, map[string]int{}
	for i := range uint64(60) {
		d.r = newRand(i)
		dir, docs := d.filesIn()
		if dir == "." && docs != nil {
			t.Fatal("the files of a folder with a picture are listed")
		}
		seen[dir] = len(docs)
	}
	if seen["more"] != 2 {
		t.Errorf("of the other folder: %v", seen)
	}
}

// Nobody asks for "the who of a row", nor for "the to of a letter".
func TestColumnsAreCalledByNouns(t *testing.T) {
	for _, test := range []struct {
		name  string
		isDay bool
		want  string
	}{
		{"who", false, "person"}, {"What", false, "item"}, {"to", false, "to"}, {"from", false, "from"},
		{"from", true, "first day"}, {"to", true, "last day"}, {"max_guests", false, "maximum guests"},
		{"who_pays", false, "who pays"},
	} {
		if got := programs.Called(test.name, test.isDay); got != test.want {
			t.Errorf("%s is called %q, not %q", test.name, got, test.want)
		}
	}
	letter := Read("letter.txt", "To: Inkwell Supplies\nDate: 2026-03-01\nAbout: toner\n\nThe toner leaks again.\n")
	for text, want := range map[string]string{"To: Ana": "addressee", "From: Ana": "sender",
		"To: 2026-06-07": "last day", "From: 4 June 2026": "first day", "To: 17:30": ""} {
		got := ""
		for _, p := range Read("a.txt", text+"\n").Pairs {
			got = p.said()
		}
		if got != want {
			t.Errorf("%q is called %q, not %q", text, got, want)
		}
	}
	if at := slices.IndexFunc(letter.Pairs, func(p Pair) bool { return p.said() == "addressee" }); at < 0 {
		t.Errorf("no addressee in %+v", letter.Pairs)
	}
}

// A chore gets no person's name in its place, and a first name another first name.
func TestOtherNamesFit(t *testing.T) {
	files := map[string]string{"list.md": "- [ ] oil the gate\n- [ ] mow the lawn\n- [ ] call the bank\n",
		"costs.csv": "day,what,amount\n1,oil the gate,4.00\n2,mow the lawn,5.00\n3,call the bank,6.00\n"}
	for seed := range uint64(20) {
		if p := draw(newRand(seed), Of(files, nil), everything(), programs.SetAll, (*drawer).callOtherwise); p != nil {
			t.Fatalf("%q is called %q", p.Slot("old"), p.Slot("v"))
		}
		d := &drawer{r: newRand(seed)}
		if v := d.otherWord("Viktor", Read("a.txt", "Viktor Brandt has it.")); v == "Saturn" || v == "workshop" {
			t.Errorf("Viktor becomes %q", v)
		}
	}
	named, firsts := Of(map[string]string{"a/a.txt": "We gave the key to Viktor Brandt.\n",
		"a/b.txt": "Ask Viktor Brandt for that lantern.\n", "c.txt": "x"}, nil), 0
	for seed := range uint64(60) {
		p := draw(newRand(seed), named, everything(), programs.SetAll, (*drawer).replaceEvery)
		if p == nil {
			continue
		}
		old, v := p.Slot("old"), p.Slot("v")
		if isCapital(old) != isCapital(v) || old == "Viktor" && slices.Contains(otherWords(), v) {
			t.Errorf("%s becomes %q", old, v)
		}
		if old == "Viktor" {
			firsts++
		}
	}
	if firsts == 0 {
		t.Error("no first name is replaced")
	}
}

// A word is found in letters of any case, and not within another one or beside a digit.
func TestWordsAreCounted(t *testing.T) {
	for text, want := range map[string]int{"": 0, "Ana": 1, "ana, ANA; Ana": 3, "Anastasia, Diana": 0, "Ana2, 2Ana": 0,
		"Ana Ana": 2, "éAna, Anaé": 0, "Ana's": 1} {
		if got := wordIn("Ana").Count(text); got != want {
			t.Errorf("%q has it %d times, not %d", text, got, want)
		}
	}
}
