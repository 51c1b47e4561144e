package folders

import (
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

func everything() Can {
	return Can{Tree: true, List: true, Sizes: true, Show: true, ShowAll: true, Edit: true, Write: true, MakeDir: true,
		Move: true, Search: true, Size: true}
}

// What a plan does must be possible, a stranger must be able to find the way, and its wording must be whole.
func TestPlans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	drawn := map[string]int{}
	for index := range programs.NumDomains() {
		f := Invent(r, index)
		for _, can := range []Can{everything(), {List: true, Show: true, Write: true, Delete: true}} {
			for kind := range Shares() {
				p := Draw(r, f, can, kind)
				if p == nil {
					continue
				}
				drawn[kind]++
				for _, split := range []string{"train", "validation", "test"} {
					w := p.Word(r, split)
					if strings.ContainsAny(w.Task, "{}") || w.Answer == "" {
						t.Fatalf("%s %s is worded %q, answer %q", kind, p.Pattern(), w.Task, w.Answer)
					}
					checkWay(t, f, can, p, w.Task)
				}
			}
		}
	}
	for kind := range Shares() {
		if drawn[kind] < 4 {
			t.Errorf("%s was drawn %d times", kind, drawn[kind])
		}
	}
}

// checkWay follows the operations as a stranger does: each is one that the server can, a file is read where a listing
// has shown it or the task says its path, and nothing is edited unread.
func checkWay(t *testing.T, f *Folder, can Can, p *Plan, task string) {
	t.Helper()
	if _, ok := f.State().Apply(p.Ops); !ok {
		t.Fatalf("%q cannot be done by %v", task, p.Ops)
	}
	tree, listed, read := false, map[string]bool{}, map[string]bool{}
	for _, o := range p.Ops {
		if !can[o.Do] {
			t.Fatalf("%q needs %s, which the server cannot", task, o.Do)
		}
		switch o.Do {
		case Tree:
			tree = true
		case List, Sizes:
			listed[o.Path] = true
		case Search: // its answer names the files
			for _, doc := range f.Docs {
				if strings.Contains(doc.Text, o.Old) {
					listed[path.Dir(doc.Path)] = true
				}
			}
		case Show, ShowAll:
			for _, file := range append(slices.Clone(o.Paths), o.Path) {
				if file != "" && !tree && !listed[path.Dir(file)] &&
					!strings.Contains(strings.ToLower(task), strings.ToLower(file)) {
					t.Fatalf("%q reads %s, which nothing has shown", task, file)
				}
				read[file] = true
			}
		case Edit:
			if !read[o.Path] {
				t.Fatalf("%q edits %s unread", task, o.Path)
			}
		}
	}
}

func TestRead(t *testing.T) {
	tests := []struct {
		file, text string
		pairs      []string // KEY=VALUE
		items      []string
		head       string // of the first item
		rows       int
	}{
		{"soup.md", "# Soup\n\nServes: 4\n**Time**: 20 min\n\n## Needs\n- 1 onion\n- 2 l water\n* salt\n",
			[]string{"serves=4", "time=20 min"}, []string{"1 onion", "2 l water", "salt"}, "Needs", 0},
		{"shop.txt", "milk\nbread\neggs\n", nil, []string{"milk", "bread", "eggs"}, "", 0},
		{"todo.md", "- [ ] call Tom\n- [x] pay\n- [ ] sweep\n", nil, []string{"call Tom", "pay", "sweep"}, "", 0},
		{"prose.txt", "We met on Monday.\nNobody was late.\nIt rained.\n", nil, nil, "", 0},
		{"app.ini", "port=80\nhost = here\nport=81\n", []string{"host=here"}, nil, "", 0},
		{"app.json", "{\n  \"port\": 80,\n  \"name\": \"x y\",\n  \"deep\": {\n    \"on\": true\n  }\n}\n",
			[]string{"port=80", "name=x y", "on=true"}, nil, "", 0},
		{"guests.csv", "name,age\nAna,3\nBo,4\nCy,5\n", nil, nil, "", 3},
		{"rota.md", "# Rota\n\n| week | gate |\n|---|---|\n| 1 | Ana |\n| 2 | Bo |\n| 3 | Cy |\n\nend\n", nil, nil, "", 3},
		{"tools.json", `{
 "tools": [
  {"name": "saw", "ok": true},
  {"name": "axe", "ok": true},
  {"name": "hoe", "ok": false}
 ]
}
`, nil, nil, "", 3},
		{"people.txt", "Ana Lund    555-1\nBo Maes     555-2  chair\nCy Petit    555-3\n", nil,
			[]string{"Ana Lund", "Bo Maes", "Cy Petit"}, "", 3},
		{"two.csv", "name,age\nAna,3\nBo,4\n", nil, nil, "", 0},
		{"main.py", "# Title: no\nport = 80\n- a\n- b\n- c\n", nil, nil, "", 0},
		{"long.txt", strings.Repeat("Key: value\n", 200), nil, nil, "", 0},
	}
	for _, test := range tests {
		d := Read(test.file, test.text)
		var pairs []string
		for _, p := range d.Pairs {
			pairs = append(pairs, p.Key+"="+p.Value)
		}
		rows := 0
		if d.Table != nil {
			rows = len(d.Table.Rows)
		}
		if !slices.Equal(pairs, test.pairs) || !slices.Equal(texts(d.Items), test.items) || rows != test.rows ||
			len(d.Items) > 0 && d.Items[0].Head != test.head {
			t.Errorf("%s: pairs %q, items %q, %d rows", test.file, pairs, texts(d.Items), rows)
		}
	}
}

// An edit says enough of the place and no more than that, whatever changes there.
func TestRewrite(t *testing.T) {
	const rows = "day,who,what,paid\n1,Ana,oil,no\n2,Bo,oil,no\n3,Ana,tea,yes\n13,Ana,tea,no\n"
	tests := []struct{ was, now, old, with string }{
		{"a\nb\nc\n", "a\nB\nc\n", "b", "B"},
		{"a\nb\nc\n", "a\nb\nnew\nc\n", "b", "b\nnew"},
		{"a\nb\nc\n", "a\nc\n", "b\n", ""},
		{"a\nb\nc\n", "b\nc\n", "a\n", ""},
		{"a\nb\nc\nd\n", "a\nd\n", "b\nc\n", ""},
		{"a\nb\nc", "a\nb", "\nc", ""},                         // behind the last line there is no break
		{"a\nxb\nb\n", "a\nxb\n", "\nb\n", "\n"},               // another line ends so
		{"x\nb\ny\nb\nz\n", "x\nb\ny\nB\nz\n", "y\nb", "y\nB"}, // one line alone stands there twice
		{"b\nb\nb\n", "B\nb\nb\n", "", "B\nb\nb\n"},            // nothing tells the place: it is written whole
		{rows, strings.Replace(rows, "tea,yes", "tea,no", 1), "tea,yes", "tea,no"},
		{rows, strings.Replace(rows, "Bo,oil,no", "Bo,oil,yes", 1), "Bo,oil,no", "Bo,oil,yes"},
		{rows, strings.Replace(rows, "\n3,Ana,tea,yes", "\n4,Ana,tea,yes", 1), "3,Ana,tea,yes", "4,Ana,tea,yes"},
		{rows, strings.Replace(rows, "13,", "14,", 1), "13,Ana", "14,Ana"},
		{"| 1 | Ana |  |\n| 2 | Bo | x |\n", "| 1 | Ana | y |\n| 2 | Bo | x |\n", "| 1 | Ana |  |", "| 1 | Ana | y |"},
		{"Ana Lund   555-1  key\nBo Maes    555-2\n", "Ana Lund   555-9  key\nBo Maes    555-2\n", "555-1", "555-9"},
	}
	for _, test := range tests {
		d := &drawer{can: everything()}
		doc := &Doc{Path: "f", Text: test.was}
		d.rewrite(doc, doc.lines(), strings.Split(test.now, "\n"))
		if o := d.ops[0]; o.Old != test.old || o.New != test.with {
			t.Errorf("%q to %q: %s %q by %q", test.was, test.now, o.Do, o.Old, o.New)
		}
		after, ok := State{"f": test.was}.Apply(d.ops)
		if !ok || after["f"] != test.now {
			t.Errorf("%q to %q comes to %q", test.was, test.now, after["f"])
		}
	}
}

// An edit that goes wrong changes nothing and is no part of what is done; the next says what must become what.
func TestMisedit(t *testing.T) {
	for text, want := range map[string]string{"Bo,no": "Bo, no", "a, b": "a,b", "| 1 | x |": "| 1|x |", "a   b": "a b",
		"- b": "-  b", "b": "b"} {
		if got := misspaced(text); got != want {
			t.Errorf("%q has other spaces in %q", text, got)
		}
	}
	ways := map[string]int{}
	for seed := range uint64(20) {
		p := &Plan{Ops: []Op{{Do: Show, Path: "f"}, {Do: Edit, Path: "f", Old: "a\n"},
			{Do: Edit, Path: "f", Old: "Bo,no", New: "Bo,yes", Why: "f: 2,Bo,no"}}}
		p.Misedit(newRand(seed))
		slip, next := p.Ops[2], p.Ops[3]
		if slip.Slip != Idle || slip.Old == "Bo,no" != (slip.New == "Bo,no") || next.Old != "Bo,no" ||
			!strings.Contains(next.Why, "Bo,no must become Bo,yes.\nf: 2,Bo,no") {
			t.Fatalf("%+v", p.Ops)
		}
		ways[slip.Old]++
		if after, ok := (State{"f": "a\nBo,no\n"}).Apply(p.Ops); !ok || after["f"] != "Bo,yes\n" {
			t.Errorf("it comes to %q", after["f"])
		}
	}
	if len(ways) != 2 {
		t.Errorf("%v", ways)
	}
	read := 0
	for seed := range uint64(20) { // what was not read yet is recalled in another form, and then read
		p := &Plan{Ops: []Op{{Do: Show, Path: "f"}, {Do: Edit, Path: "f", Old: "- [ ] b", New: "- [x] b"}}}
		if p.Misedit(newRand(seed)); p.Ops[0].Slip == Idle {
			if read++; p.Ops[0].Old != "* b" || p.Ops[1].Do != Show ||
				!strings.Contains(p.Ops[1].Why, "no line of f is") {
				t.Fatalf("%+v", p.Ops)
			}
		}
		if after, ok := (State{"f": "- [ ] b\n"}).Apply(p.Ops); !ok || len(p.Ops) != 3 || after["f"] != "- [x] b\n" {
			t.Errorf("%+v comes to %q", p.Ops, after["f"])
		}
	}
	if read < 4 || read > 16 {
		t.Errorf("%d of 20 are made before the file is read", read)
	}
	p := &Plan{Ops: []Op{{Do: Edit, Path: "f", Old: "a\n"}}}
	if p.Misedit(newRand(1)); len(p.Ops) != 1 {
		t.Errorf("a line that goes changes nothing first: %+v", p.Ops)
	}
}

// Files are read in an order that a listing tells: those that are named after it, those in which such things stand,
// those about things in general, then the others. Of each that has it not this is said once, before what comes next.
func TestSeek(t *testing.T) {
	f := Of(map[string]string{"alpha.txt": "nothing", "crates.txt": "green", "readme.md": "nor here",
		"zeta.txt": "Fuse Case: cellar", "house/settings.yaml": "port: 80", "members.txt": "Ana has the phone",
		"way.txt": "Phone Number: 4", "x.txt": "Crate Size: 3"}, nil)
	for seed := range uint64(10) { // one by one, fewer are read
		d := &drawer{r: rand.New(rand.NewPCG(seed, 1)), f: f, can: Can{Tree: true, Show: true}, call: map[*Doc]string{},
			seen: map[string]bool{}, deep: true}
		if d.seek(f.doc("x.txt"), "crate size", "") || len(d.ops) > 0 {
			t.Errorf("x.txt is not too far down: %v", d.ops)
		}
	}
	tests := []struct{ file, thing, order, why, notes string }{
		{"x.txt", "crate size", "crates.txt readme.md house/settings.yaml alpha.txt members.txt way.txt x.txt",
			"", ""},
		{"zeta.txt", "fuse case", "", "", ""},
		{"way.txt", "phone number", "members.txt readme.md house/settings.yaml alpha.txt crates.txt way.txt",
			"No file is named after phone number. Such things mostly stand in members.txt.",
			"members.txt has the word phone, but not phone number."},
		{"members.txt", "member", "members.txt", "By its name, members.txt is about member.", ""},
	}
	for _, test := range tests {
		for seed := range uint64(40) {
			d := &drawer{r: rand.New(rand.NewPCG(seed, 1)), f: f, can: Can{Tree: true, Show: true, ShowAll: true},
				call: map[*Doc]string{}, seen: map[string]bool{}, deep: true}
			found := d.seek(f.doc(test.file), test.thing, "")
			said := d.remarked()
			var read []string
			for _, o := range d.ops {
				if said += "\n" + o.Why; o.Do != Tree {
					read = append(append(read, o.Paths...), o.Path)
				}
			}
			read = slices.DeleteFunc(read, func(file string) bool { return file == "" })
			if found && !slices.Contains(read, test.file) || !strings.HasPrefix(strings.Join(read, " "), test.order) {
				t.Fatalf("%s: %q is read, not %s", test.thing, read, test.order)
			}
			for _, file := range read {
				want := 1
				if file == test.file {
					want = 0
				}
				if n := strings.Count(said, path.Base(file)+" has "); n != want {
					t.Errorf("%s is said %d times to lack %s: %s", file, n, test.thing, said)
				}
			}
			if test.why != "" && d.ops[1].Why != test.why || !strings.Contains(said, test.notes) {
				t.Errorf("%s is sought by %q, not %q, with %s", test.thing, d.ops[1].Why, test.why, test.notes)
			}
		}
	}
}

// What stands in two files is not asked for without its file.
func TestFind(t *testing.T) {
	f := Of(map[string]string{"a.txt": "Fuse Box: cellar", "c.txt": "Twice: 1", "e.txt": "twice"}, nil)
	found, searched := 0, 0
	for i := range uint64(60) {
		d := &drawer{r: rand.New(rand.NewPCG(i, 1)), f: f, can: everything(), call: map[*Doc]string{},
			seen: map[string]bool{}}
		if pattern := d.find(f.doc("c.txt"), "file_pair", "Twice", map[string]string{}); pattern != "file_pair" {
			t.Errorf("what two files have is asked for by %s", pattern)
		}
		d.ops = nil
		if d.find(f.doc("a.txt"), "file_pair", "Fuse Box", map[string]string{}) == "found_pair" {
			found++
		}
		if slices.ContainsFunc(d.ops, func(o Op) bool { return o.Do == Search }) {
			searched++
		}
	}
	if found < 40 || searched < 5 {
		t.Errorf("%d are found, %d by a search", found, searched)
	}
}

// A cell changes where it stands, in each form of a table, and as it is written there.
func TestWithCell(t *testing.T) {
	tests := []struct {
		file, text string
		line       string
		column     int
		old, v     any
		want       string // "" where it cannot be
	}{
		{"a.csv", "name,age\nAna,3\nBo,4\nCy,5\n", "Bo,4", 1, int64(4), int64(9), "Bo,9"},
		{"a.csv", "name,price\nAna,3.50\nBo,4.00\nCy,5.25\n", "Bo,4.00", 1, 4.0, 4.5, "Bo,4.50"},
		{"a.csv", "name,note\nAna,x\nBo,\nCy,y\n", "Bo,", 1, nil, "late", "Bo,late"},
		{"a.csv", "name,note\nAna,x\nBo,\nCy,y\n", "Bo,", 1, nil, "late, sorry", ""},
		{"a.md", "| name | age |\n|---|---|\n| Ana | 3 |\n| Bo | 4 |\n| Cy | 5 |\n", "| Bo | 4 |", 1,
			int64(4), int64(9), "| Bo | 9 |"},
		{
			"a.json", "[\n{\"name\": \"Ana\", \"to\": null},\n{\"name\": \"Bo\", \"to\": \"Di\"},\n" +
				"{\"name\": \"Cy\", \"to\": null}\n]",
			"{\"name\": \"Ana\", \"to\": null},", 1, nil, "Ed", "{\"name\": \"Ana\", \"to\": \"Ed\"},",
		},
	}
	for _, test := range tests {
		d := Read(test.file, test.text)
		if !d.hasRows() {
			t.Errorf("%s has no rows", test.file)
			continue
		}
		line, ok := d.withCell(test.line, test.column, test.old, test.v)
		if ok != (test.want != "") || ok && line != test.want {
			t.Errorf("%s: %q, not %q", test.file, line, test.want)
		}
	}
}

// Changes of tables come to the lines that the statements say, wherever rows stand.
func TestWithRows(t *testing.T) {
	tests := []struct {
		text  string
		after programs.NumberedRows
		want  string
	}{
		{"name,age\nAna,3\nBo,4\nCy,5\n", programs.NumberedRows{1: {"Ana", int64(3)}, 3: {"Cy", int64(6)}}, "name,age\nAna,3\nCy,6\n"},
		{"name,age\nAna,3\nBo,4\nCy,5\n\nend,\n", programs.NumberedRows{
			1: {"Ana", int64(3)}, 2: {"Bo", int64(4)}, 3: {"Cy", int64(5)},
			4: {"end", nil}, 5: {"Di", int64(1)},
		}, "name,age\nAna,3\nBo,4\nCy,5\n\nend,\nDi,1\n"},
	}
	for _, test := range tests {
		d := Read("a.csv", test.text)
		if lines, ok := d.withRows(test.after); !ok || strings.Join(lines, "\n") != test.want {
			t.Errorf("%q", lines)
		}
	}
}

// What a request lacks is asked for, and another question is not it.
func TestAskBack(t *testing.T) {
	of := map[string]string{}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := Draw(r, Invent(r, int(seed)%programs.NumDomains()), everything(), programs.AskBack)
		if p != nil && p.Then() == nil {
			of[p.Pattern()] = p.Answer.For
		}
	}
	for pattern, c := range map[string]struct{ are, no []string }{
		"item_add_what": {[]string{"What should I put there?", "What would you like me to add?", "Which item?",
			"Could you tell me the entry?", "What does \"that\" refer to?", "What?", "Sure, what goes on list.md?",
			"Please tell me: what is the new line?", "What do you mean by \"it\"?"}, []string{"Done. Anything else?",
			"Should I add a line?", "Is that okay?", "Shall I go on?", "I added it. Can I help you with more?"}},
		"set_nothing": {[]string{"What should it be?", "Which value?", "What is the new one?"},
			[]string{"Done. Anything else?", "Should I change it?", "Is that okay?"}},
		"file_move_where": {[]string{"Where should I move it to?", "To which folder?", "Which directory should it go to?",
			"What is the target folder?", "Where to?", "Where?", "Could you specify the destination?",
			"There are two: a.b/ and c/. Which one do you mean?"}, []string{"Done. Anything else?", "Should I move it?",
			"Is that okay?", "Shall I go on?", "I moved it to notes/. Should I go on?"}},
	} {
		asks, err := regexp.Compile(of[pattern])
		if err != nil || of[pattern] == "" {
			t.Fatalf("%s: %q, %v", pattern, of[pattern], err)
		}
		for _, text := range c.are {
			if !asks.MatchString(text) {
				t.Errorf("%s: %q does not ask", pattern, text)
			}
		}
		for _, text := range c.no {
			if asks.MatchString(text) {
				t.Errorf("%s: %q asks", pattern, text)
			}
		}
	}
}

// What only counts is no part of an amount, and a unit is.
func TestAmounts(t *testing.T) {
	for text, want := range map[string]string{"4 x tote bag": "4 of tote bag", "12 pcs hooks": "12 of hooks",
		"225 g butter": "225 g of butter", "2 onions": "2 of onions", "sold on 3 July": ""} {
		got := ""
		if m := amountItem.FindStringSubmatch(text); m != nil {
			got = m[1] + " of " + m[2]
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
