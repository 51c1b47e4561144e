package folders

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// drawn draws programs of a kind over some files until one has a pattern and meets a condition.
func drawn(t *testing.T, files map[string]string, kind, pattern string, fits func(*Plan) bool) (*Folder, *Plan) {
	t.Helper()
	f := Of(files, nil)
	for seed := range uint64(3000) {
		p := Draw(rand.New(rand.NewPCG(seed, 1)), f, everything(), kind)
		if p != nil && p.Pattern() == pattern && (fits == nil || fits(p)) {
			return f, p
		}
	}
	t.Fatalf("no %s is drawn over these files", pattern)
	return nil, nil
}

func stall() map[string]string {
	return map[string]string{
		"prices.yaml":    "currency: EUR\nloaf: 3.80\nroll: 0.50\nbun: 1.25\n",
		"sold-monday.md": "- 3 x loaf\n- 4 x roll\n- 1 x bun\n",
		"stock.csv":      "item,count\nloaf,12\nroll,40\nbun,9\npie,3\n",
		"talks.csv":      "title,by,length,room\nBees,Ana,12:30,A\nWells,Bo,7:45,B\nMaps,Cy,20:10,A\n",
		"programme.txt":  "1. Wells\n2. Maps\n3. Bees\n",
		"costs.csv": "date,who,what,amount\n2026-05-01,Ana,fuel,20.50\n2026-05-02,Bo,paint,8.00\n" +
			"2026-05-03,Ana,tea,4.25\n",
		"shopping.md": "- loaf\n- pie\n- roll\n",
	}
}

// A question over two files, or over groups, has one answer, and its working comes to it.
func TestAnswersOverFiles(t *testing.T) {
	tests := []struct {
		kind, pattern string
		fits          func(*Plan) bool
		answer        string
		working       string // a part of it
	}{
		{programs.Total, "priced_total", nil, "14.65", "13.40 + 1.25 = 14.65"},
		{programs.Total, "entries_sum", func(p *Plan) bool { return p.Slot("attr") == "length" }, "40:25",
			"27:55 + 12:30 = 40:25"},
		{programs.Total, "entries_sum", func(p *Plan) bool { return p.Slot("attr") == "count" }, "55", "15 + 40 = 55"},
		{programs.Total, "sum", func(p *Plan) bool { return p.Slot("attr") == "length" && p.Slot("filter") == "" },
			"40:25", "20:15 + 20:10 = 40:25"},
		{programs.Top, "grouped_sums", func(p *Plan) bool { return p.Slot("ref") == "person" }, "Ana: 24.75\nBo: 8",
			"Ana: 20.50 + 4.25 = 24.75"},
	}
	for _, test := range tests {
		_, p := drawn(t, stall(), test.kind, test.pattern, test.fits)
		got := strings.Join(p.Answer.Values, "\n")
		if got != test.answer || !strings.Contains(p.Working(), test.working) {
			t.Errorf("%s: %q by %q, not %q by %q", test.pattern, got, p.Working(), test.answer, test.working)
		}
		if !slices.ContainsFunc(p.Ops, func(o Op) bool { return o.Do == ShowAll || o.Do == Show }) {
			t.Errorf("%s is answered unread", test.pattern)
		}
	}
}

// A change over two files leaves each as it should be, and touches no other.
func TestChangesOverFiles(t *testing.T) {
	boxes := "# To do\n\n- [ ] write to Hall Nine\n- [x] pay the rent\n- [ ] sweep\n"
	rooms := "room,status,seats\nHall Nine,open,40\nCellar,booked,12\nLoft,booked,8\n"
	files := map[string]string{
		"stock.csv": stall()["stock.csv"], "sold.md": stall()["sold-monday.md"], "todo.md": boxes, "rooms.csv": rooms,
		"minutes/a.md":      "## To do\n- [ ] Ana: locks\n- [x] Bo: paint\n- [ ] Cy: signs\n",
		"minutes/b.md":      "## Decided\n- No dogs.\n\n## To do\n- [ ] Bo: lamps\n- [x] Cy: keys\n",
		"letters/form.txt":  "Dear {name},\n\nyour room has [seats] seats.\n",
		"guests.csv":        "name,seats\nAna Lund,2\nBo Maes,3.50\nCy Petit,1\n",
		"seating plan.txt":  "Ana Lund sits at the window.\n",
		"texts/two one.txt": "x\n", "texts/three.txt": "y\n",
	}
	tests := []struct {
		kind, pattern string
		fits          func(*Plan) bool
		want          map[string]string // "" is gone
	}{
		{programs.Adjust, "stock_take", nil,
			map[string]string{"stock.csv": "item,count\nloaf,9\nroll,36\nbun,8\npie,3\n"}},
		{programs.Several, "set_and_tick", nil, map[string]string{
			"todo.md":   strings.Replace(boxes, "[ ] write", "[x] write", 1),
			"rooms.csv": strings.Replace(rooms, "Nine,open", "Nine,booked", 1),
		}},
		{programs.Insert, "boxes_collect", func(p *Plan) bool { return p.Slot("name") == "memo.txt" },
			map[string]string{"memo.txt": "Ana: locks\nCy: signs\nBo: lamps\n"}},
		{programs.Insert, "letter_fill", func(p *Plan) bool { return p.Slot("x") == "Bo Maes" },
			map[string]string{"letters/form-bo-maes.txt": "Dear Bo Maes,\n\nyour room has 3.50 seats.\n"}},
		{Organize, "row_move", func(p *Plan) bool { return p.Slot("x") == "Cellar" && p.Slot("name") == "memo.csv" },
			map[string]string{"memo.csv": "room,status,seats\nCellar,booked,12\n",
				"rooms.csv": "room,status,seats\nHall Nine,open,40\nLoft,booked,8\n"}},
		{Organize, "files_hyphenate", func(p *Plan) bool { return p.Slot("folder") == "texts" },
			map[string]string{"texts/two one.txt": "", "texts/two-one.txt": "x\n"}},
		{programs.SetAll, "rename_everywhere", func(p *Plan) bool {
			return strings.Contains(files["guests.csv"], p.Slot("old"))
		}, nil},
	}
	for _, test := range tests {
		f, p := drawn(t, files, test.kind, test.pattern, test.fits)
		if test.pattern == "rename_everywhere" {
			old, v := p.Slot("old"), p.Slot("v")
			test.want = map[string]string{
				"guests.csv":       strings.Replace(files["guests.csv"], old, v, 1),
				"seating plan.txt": strings.Replace(files["seating plan.txt"], old, v, 1),
			}
		}
		before := f.State()
		after, ok := before.Apply(p.Ops)
		if !ok {
			t.Errorf("%s: %v cannot be made", test.pattern, p.Ops)
		}
		want := before
		for file, text := range test.want {
			if want[file] = text; text == "" {
				delete(want, file)
			}
		}
		for file := range after {
			if after[file] != want[file] {
				t.Errorf("%s: %s has %q, not %q", test.pattern, file, after[file], want[file])
			}
		}
		if len(after) != len(want) {
			t.Errorf("%s leaves %d files, not %d", test.pattern, len(after), len(want))
		}
	}
}

// What is open in all files of a folder, how large a file is, and what no tool for files does.
func TestLooksOverFolders(t *testing.T) {
	files := map[string]string{
		"minutes/a.md": "## To do\n- [ ] Ana: locks\n- [x] Bo: paint\n- [ ] Cy: signs\n",
		"minutes/b.md": "## Decided\n- No dogs.\n\n## To do\n- [ ] Bo: lamps\n- [x] Cy: keys\n",
		"plain.txt":    "Grüße\n",
	}
	_, p := drawn(t, files, programs.List, "boxes_all", nil)
	if want := []string{"Ana: locks", "Cy: signs", "Bo: lamps"}; !slices.Equal(p.Answer.Values, want) {
		t.Errorf("open are %q, not %q", p.Answer.Values, want)
	}
	_, p = drawn(t, files, programs.Lookup, "file_size", func(p *Plan) bool {
		return p.Ops[len(p.Ops)-1].Path == "plain.txt"
	})
	if p.Answer.Values[0] != "8" {
		t.Errorf("it has %s bytes", p.Answer.Values[0])
	}
	_, p = drawn(t, files, programs.Cannot, "boxes_open", func(p *Plan) bool { return p.Then() == nil })
	if len(p.Ops) > 0 || p.Answer.Form != "cannot" || p.Slot("to") == "" {
		t.Errorf("%+v", p)
	}
}

// A thing that has a file of its own is found by its name, whatever the file's folder.
func TestThings(t *testing.T) {
	files := map[string]string{"plain.txt": "nothing\n"}
	for _, name := range []string{"Ana Lund", "Bo Maes", "Cy Petit"} {
		files["members/"+slug(name)+".txt"] = name + "\n\nLevel: " + strings.ToLower(name[:2]) + "\n"
	}
	for _, why := range []string{"By its name, bo-maes.txt is about Bo Maes.", "bo-maes.txt has it."} {
		_, p := drawn(t, files, programs.Lookup, "lookup", func(p *Plan) bool {
			return p.Slot("x") == "Bo Maes" && p.Ops[len(p.Ops)-1].Why == why
		})
		if last := p.Ops[len(p.Ops)-1]; p.Answer.Values[0] != "bo" || last.Path != "members/bo-maes.txt" {
			t.Errorf("%q by %+v", p.Answer.Values, last)
		}
	}
	f, p := drawn(t, files, programs.Set, "set", func(p *Plan) bool { return p.Slot("x") == "Cy Petit" })
	after, _ := f.State().Apply(p.Ops)
	if want := "Cy Petit\n\nLevel: " + p.Slot("v") + "\n"; after["members/cy-petit.txt"] != want {
		t.Errorf("%q, not %q", after["members/cy-petit.txt"], want)
	}
}

// Years are added up by nobody.
func TestYearsAreNoMeasure(t *testing.T) {
	for column, want := range map[string]int{"joined": -1, "year_built": -1, "since": -1, "days": 1} {
		doc := Read("people.csv", "name,"+column+"\nAna Lund,2019\nBo Maes,2021\nCy Petit,2020\n")
		if got := doc.measure(); got != want {
			t.Errorf("%s: column %d, not %d", column, got, want)
		}
	}
}

// What is sold comes off the file that has the things sold, and not off another one with a count.
func TestSoldOffItsStock(t *testing.T) {
	files := map[string]string{"sold-monday.txt": "3 x loaf\n4 x roll\n1 x bun\n",
		"stock.csv": "item,count\nloaf,12\nroll,40\nbun,9\npie,30\n",
		"tools.csv": "tool,count\nsaw,12\nplane,40\nlathe,9\ndrill,30\n"}
	n := 0
	for seed := range uint64(30) {
		if p := draw(newRand(seed), Of(files, nil), everything(), programs.Several, (*drawer).soldMore); p != nil {
			if n++; p.Slot("x") != "pie" {
				t.Errorf("%s is sold", p.Slot("x"))
			}
		}
	}
	if n == 0 {
		t.Error("nothing is sold")
	}
}

// Of a file that the first of two requests changes, the second one asks nothing.
func TestNothingIsAskedOfWhatWasChanged(t *testing.T) {
	f := Of(map[string]string{"list.md": "- ear plugs\n- wood screws\n- sanding discs\n- linseed oil\n"}, nil)
	n := 0
	for seed := range uint64(300) {
		p := draw(newRand(seed), f, everything(), programs.Several, (*drawer).several)
		if p == nil {
			continue
		}
		n++
		change := slices.IndexFunc(p.Ops, Op.Changes)
		if first := p.Pattern(); change >= 0 && (strings.Contains(first, "remove") || strings.Contains(first, "add")) &&
			len(p.About) > 1 && p.About[1] == "list.md" {
			t.Errorf("%s of %v: %+v", first, p.About, p.Ops)
		}
	}
	if n == 0 {
		t.Error("no two requests")
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// Where all files are short they are read by one call, before anything is said of them or changed. A file that the
// request names is read alone.
func TestAShortFolderIsReadWhole(t *testing.T) {
	f := Of(stall(), nil)
	f.Shown = 8000
	if !f.isShort() {
		t.Fatal("the folder is long")
	}
	whole, alone := 0, 0
	for kind := range Shares() {
		for seed := range uint64(6) {
			p := Draw(rand.New(rand.NewPCG(seed, 3)), f, everything(), kind)
			if p == nil {
				continue
			}
			reads := 0
			for i, o := range p.Ops {
				switch {
				case o.Do == ShowAll && len(o.Paths) == len(f.Docs):
					reads++
				case o.Do == Show && slices.Contains(p.About, o.Path):
					alone++
				case o.Do == ShowAll, o.Do == Show, o.Do == Search:
					t.Errorf("%s: operation %d is %+v", p.Pattern(), i, o)
				}
			}
			if reads > 1 {
				t.Errorf("%s reads all %d times", p.Pattern(), reads)
			}
			whole += reads
		}
	}
	if whole < 20 || alone < 10 {
		t.Errorf("all are read %d times, and a file alone %d times", whole, alone)
	}
	long := stall()
	long["letter.txt"] = strings.Repeat("Dear all.\n", 600)
	l := Of(long, nil)
	if l.Shown = 6000; l.isShort() {
		t.Error("a folder of a long letter is short")
	}
}
