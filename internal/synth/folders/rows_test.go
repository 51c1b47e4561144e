package folders

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

func club() map[string]string {
	return map[string]string{
		"lockers.csv": "locker,holder,size\n1,Ana Lund,small\n2,Bo Maes,large\n3,Cy Petit,small\n",
		"dues.csv": "date,locker,amount,how\n2026-03-02,1,20.00,bank\n2026-03-05,3,25.50,cash\n" +
			"2026-03-09,2,20.00,bank\n",
		"rota.md":    "# Rota\n\n| week | gate |\n|---|---|\n| 1 | Ana Lund |\n| 2 | Bo Maes |\n| 3 | Cy Petit |\n",
		"guests.md":  "- Ana Lund\n- Di Roy\n- Ed Stern\n",
		"keys.csv":   "name,phone\nAna Lund,555-0111\nBo Maes,555-0122\nEd Stern,555-0133\n",
		"hires.csv":  "customer,gear,hours\nAna Lund,tent,3\nBo Maes,canoe,8\nCy Petit,boat,2\n",
		"tariff.txt": "Price per hour: 7.50\nClosing day: Monday\n",
		"port.yaml":  "port: 80\nhost: here\n",
		"test.yaml":  "port: 99\nhost: there\n",
	}
}

// A new row has each column where the header has it, all of it stands in the reasoning, and what another file says is
// quoted.
func TestAddRow(t *testing.T) {
	tests := []struct {
		file string
		fits func(*Plan) bool
		line string
		why  []string
	}{
		{"dues.csv", func(p *Plan) bool { return strings.Contains(p.Slot("given"), "holder Bo Maes") },
			`^2026-03-1\d,2,[\d.]+,(bank|cash)$`,
			[]string{"lockers.csv: 2,Bo Maes,large\nSo the locker is 2.", "locker: 2"}},
		{"rota.md", nil, `^\| 4 \| (Ana Lund|Bo Maes|Cy Petit) \|$`, []string{"week: 4", "rota.md: | 3 | Cy Petit |"}},
		{"lockers.csv", nil, `^4,[^,]+,(small|large)$`, []string{"locker: 4", "The new line: 4,"}},
	}
	for _, test := range tests {
		at := func(p *Plan) int {
			return slices.IndexFunc(p.Ops, func(o Op) bool { return o.Do == Edit && o.Path == test.file })
		}
		for _, pattern := range []string{"row_add", "found_row_add"} {
			_, p := drawn(t, club(), programs.Insert, pattern, func(p *Plan) bool {
				return at(p) >= 0 && (test.fits == nil || test.fits(p))
			})
			o := p.Ops[at(p)]
			line := strings.TrimPrefix(o.New, o.Old+"\n")
			if !matches(test.line, line) {
				t.Errorf("%s: the new line is %q", test.file, line)
			}
			for _, why := range test.why {
				if !strings.Contains(o.Why, why) {
					t.Errorf("%s: %q lacks %q", test.file, o.Why, why)
				}
			}
			if named := p.Slot("file") != ""; named != (pattern == "row_add") {
				t.Errorf("%s names the file: %v", pattern, named)
			}
		}
	}
}

// No new row says of the same what a row says, and none has the phone number or the address of another one.
func TestNoRowTwice(t *testing.T) {
	files := map[string]string{
		"stock.csv": "item,size,count\nshirt,S,4\nshirt,L,11\nbag,,9\n",
		"kin.csv": "name,phone,mail,town\nAna Lund,555-0111,ana@x.example,Leeds\nBo Maes,555-0122,,Leeds\n" +
			"Cy Petit,555-0133,,Leeds\n",
	}
	f, added := Of(files, nil), 0
	for seed := range uint64(300) {
		d := &drawer{r: newRand(seed), f: f, can: everything(), call: map[*Doc]string{},
			seen: map[string]bool{}}
		if p := d.addRow(); p == nil {
			continue
		}
		added++
		o := d.ops[len(d.ops)-1]
		line := strings.TrimPrefix(o.New, o.Old+"\n")
		for _, old := range strings.Split(files[o.Path], "\n") {
			same := 0
			for k, cell := range strings.Split(line, ",") {
				if was := strings.Split(old, ","); k < len(was) && was[k] == cell && !plainNumber.MatchString(cell) &&
					(o.Path == "stock.csv" || cell != "Leeds" && cell != "") {
					same++
				}
			}
			if same > 0 && o.Path == "kin.csv" || same == 2 {
				t.Errorf("%q comes beside %q", line, old)
			}
		}
	}
	if added < 20 {
		t.Errorf("%d rows came", added)
	}
}

// What changes places takes its tick along.
func TestSwapsKeepTicks(t *testing.T) {
	f, swapped := Of(map[string]string{"todo.md": "- [x] buy tape\n- [ ] call Ana\n- [ ] mend the gate\n"}, nil), 0
	for seed := range uint64(40) {
		d := &drawer{r: newRand(seed), f: f, can: everything(), call: map[*Doc]string{},
			seen: map[string]bool{}}
		if p := d.swapItems(); p == nil {
			continue
		}
		swapped++
		after := f.Docs[0].Text
		for _, o := range d.ops {
			if o.Do == Edit {
				after = strings.Replace(after, o.Old, o.New, 1)
			}
		}
		if !strings.Contains(after, "- [x] buy tape") || strings.Count(after, "[x]") != 1 {
			t.Errorf("%q", after)
		}
	}
	if swapped == 0 {
		t.Error("nothing changes places")
	}
}

// A change that is taken back is not made, and what else was asked for is.
func TestRetract(t *testing.T) {
	alone, both := 0, 0
	for range 2 {
		_, p := drawn(t, club(), programs.Correct, "found_set", func(p *Plan) bool {
			return p.Retracted() && p.Changes() == (alone > 0) && (p.Changes() || p.Answer.Form == "left")
		})
		if !p.Changes() {
			if alone++; !p.LeavesAll() {
				t.Errorf("%+v changes nothing, and that is not checked", p.Answer)
			}
			continue
		}
		both++
		if changed := p.What(); !strings.Contains(p.Ops[0].Why, changed+" is taken back") {
			t.Errorf("%q says not that %s stays", p.Ops[0].Why, changed)
		}
		for _, o := range p.Ops {
			if o.Changes() && strings.Contains(o.New, ": "+p.Slot("v")+"\n") {
				t.Errorf("what was taken back is done: %+v", o)
			}
		}
	}
	if alone == 0 || both == 0 {
		t.Errorf("%d alone, %d with another wish", alone, both)
	}
}

// Answers and changes that need two files quote a line of each.
func TestPairsOfFiles(t *testing.T) {
	tests := []struct {
		kind, pattern string
		fits          func(*Plan) bool
		answer        string
		why           []string // parts of the working, or of the reasoning before the change
	}{
		{programs.Total, "rated", func(p *Plan) bool { return p.Slot("x") == "Bo Maes" }, "60.00",
			[]string{"hires.csv: Bo Maes,canoe,8", "tariff.txt: Price per hour: 7.50", "8 x 7.50 = 60.00"}},
		{programs.List, "items_only", func(p *Plan) bool {
			return strings.Contains(p.Working(), "guests.md has") && strings.HasPrefix(p.Working(), "keys.csv")
		}, "Bo Maes", []string{"Ana Lund - no", "Bo Maes - yes"}},
		{programs.List, "items_both", func(p *Plan) bool {
			return strings.Contains(p.Working(), "guests.md has") && strings.HasPrefix(p.Working(), "keys.csv")
		}, "Ana Lund\nEd Stern", []string{"Ed Stern - yes"}},
		{programs.Set, "set_as", func(p *Plan) bool { return p.Slot("attr") == "port" }, "",
			[]string{"port: 80", "port: 99"}},
		{programs.Insert, "line_from", func(p *Plan) bool {
			return p.Slot("x") == "Bo Maes" && p.Slot("attr") == "phone"
		},
			"", []string{"keys.csv: Bo Maes,555-0122", "000-0000", "The new line: - Bo Maes"}},
	}
	for _, test := range tests {
		f, p := drawn(t, club(), test.kind, test.pattern, test.fits)
		if got := strings.Join(p.Answer.Values, "\n"); got != test.answer {
			t.Errorf("%s: %q, not %q", test.pattern, got, test.answer)
		}
		said := p.Working() + "\n" + p.Ops[len(p.Ops)-1].Why
		for _, why := range test.why {
			if !strings.Contains(said, why) {
				t.Errorf("%s: %q lacks %q", test.pattern, said, why)
			}
		}
		if _, ok := f.State().Apply(p.Ops); !ok {
			t.Errorf("%s cannot be done", test.pattern)
		}
	}
}

// The example of a form has nothing of the value.
func TestExample(t *testing.T) {
	for value, want := range map[string]string{"555-0122": "000-0000", "B-17": "x-00", "Monday": "day"} {
		if got := example(value, "day"); got != want {
			t.Errorf("%s is shown by %s, not %s", value, got, want)
		}
	}
}

// A folder that nobody called new is made before anything is moved there; a move that is tried before is refused.
func TestMissingFolder(t *testing.T) {
	f, p := drawn(t, club(), Organize, "file_move", func(p *Plan) bool {
		return p.Ops[len(p.Ops)-3].Slip == Refused
	})
	ops := p.Ops[len(p.Ops)-3:]
	if ops[0].To != ops[2].To || ops[1].Do != MakeDir || !strings.Contains(ops[1].Why, "no folder "+ops[1].Path) {
		t.Errorf("%+v", ops)
	}
	if after, ok := f.State().Apply(p.Ops); !ok || after[ops[2].To] == "" {
		t.Error("the file is not moved")
	}
	if p.Straight(); len(p.Ops) < 2 || p.Ops[len(p.Ops)-2].Slip != "" {
		t.Errorf("a held-out solution has a slip: %+v", p.Ops)
	}
}

// Two entries of a list go by one request, and no others.
func TestRemoveTwo(t *testing.T) {
	lists := map[string]string{"a.md": "- one thing\n- two things\n- three things\n",
		"b.md": "- three things\n- nought\n- more\n"}
	for _, pattern := range []string{"item_remove_two", "item_remove_two_of"} {
		f, p := drawn(t, lists, programs.Remove, pattern, nil)
		after, ok := f.State().Apply(p.Ops)
		before := f.State()
		gone := 0
		for file := range before {
			gone += strings.Count(before[file], "\n") - strings.Count(after[file], "\n")
		}
		all := after["a.md"] + after["b.md"]
		if !ok || gone != 2 || strings.Count(all, "- "+p.Slot("item")+"\n") > 1 {
			t.Errorf("%s leaves %q", pattern, all)
		}
	}
}

// What goes from a file is quoted, all of it where that is no more than a request changes.
func TestLinesThatGoAreQuoted(t *testing.T) {
	rows := []string{"who,gear", "Ana,tent", "Bo,boat", "Cy,raft", "Dan,oar", "Eve,rope"}
	without := func(rows []string, gone ...string) []string {
		return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(gone, row) })
	}
	many := []string{"a,b"}
	for i := range 30 {
		many = append(many, fmt.Sprintf("x%d,%d", i, i))
	}
	for name, c := range map[string]struct {
		was, now []string
		edits    int
		why      string
	}{
		"two apart": {rows, without(rows, "Ana,tent", "Cy,raft"), 2, "gear.csv: These lines go:\nAna,tent\nCy,raft"},
		"three of all": {rows, without(rows, "Ana,tent", "Cy,raft", "Eve,rope"), 3,
			"gear.csv: These lines go:\nAna,tent\nCy,raft\nEve,rope"},
		"two together": {rows, without(rows, "Bo,boat", "Cy,raft"), 1, "gear.csv: These lines go:\nBo,boat\nCy,raft"},
		"one":          {rows, without(rows, "Cy,raft"), 1, "gear.csv: This line goes: Cy,raft"},
		"eight": {many, without(many, many[1], many[3], many[5], many[7], many[9], many[11], many[13], many[15]), 1,
			"gear.csv: These lines go:\nx0,0\nx2,2\nx4,4\nx6,6\nx8,8\nx10,10\nx12,12\nx14,14"},
		"more": {many, without(many, many[1], many[3], many[5], many[7], many[9], many[11], many[13], many[15], many[17]),
			1, "gear.csv: x0,0"},
		"others come": {rows, []string{"who,gear", "Fay,net", "Bo,boat", "Eve,rope"}, 1, "gear.csv: Ana,tent"},
	} {
		for _, can := range []Can{everything(), {Write: true}} {
			doc := Read("gear.csv", strings.Join(c.was, "\n"))
			d := &drawer{can: can}
			d.rewrite(doc, c.was, c.now)
			if can[Edit] && len(d.ops) != c.edits || d.ops[0].Why != c.why {
				t.Errorf("%s: %q", name, d.ops)
			}
			after, ok := State{"gear.csv": doc.Text}.Apply(d.ops)
			if !ok || after["gear.csv"] != strings.Join(c.now, "\n") {
				t.Errorf("%s: it leaves %q", name, after["gear.csv"])
			}
		}
	}
}

// A person is looked up by what names the rows of another file, and not by a year that is the same.
func TestOthersAreFoundByTheirKeys(t *testing.T) {
	d := &drawer{r: newRand(1), f: Of(map[string]string{
		"lockers.csv": "locker,holder,since\n1,Ana Lund,2019\n2,Bo Maes,2020\n3,Cy Petit,2021\n",
		"income.csv":  "date,locker,since\n2026-03-02,1,2019\n2026-03-05,2,2020\n2026-03-09,3,2021\n"}, nil)}
	for column, want := range map[string]string{"locker": "Bo Maes", "since": ""} {
		value := map[string]string{"locker": "2", "since": "2020"}[column]
		if _, _, _, who := d.namedElsewhere(d.f.doc("income.csv"), column, value); who != want {
			t.Errorf("%s %s is of %q, not %q", column, value, who, want)
		}
	}
}

// Of a row between tabs an edit has two cells, which tie it to its row.
func TestRunsOfCells(t *testing.T) {
	const was = "Tove\tSula\t2019"
	doc := Read("members.tsv", "name\tboat\tjoined\n"+was+"\nArno\tTeal\t2021\nMina\tKite\t2022\n")
	if old, with := doc.run(was, "Tove\tSula\t2020"); old != "Sula\t2019" || with != "Sula\t2020" {
		t.Errorf("%q becomes %q", old, with)
	}
}

func matches(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }
