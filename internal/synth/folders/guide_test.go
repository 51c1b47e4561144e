package folders

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

func papers() map[string]string {
	return map[string]string{
		"README.md": "# Papers\n\n- `book.csv`: our outgoings\n- `list.txt` says whom to call.\n" +
			"- `old/book-2025.csv` has the outgoings of last year\n",
		"book.csv":          "item,amount,payer\nrope,12.50,Ana Lund\npaint,8.00,Bo Maes\nlamps,4.25,Ana Lund\n",
		"list.txt":          "Ana Lund 555\nBo Maes 556\nCy Petit 557\n",
		"old/book-2025.csv": "item,amount,payer\nnails,1.50,Bo Maes\nglue,3.00,Cy Petit\ntape,2.25,Bo Maes\n",
		"zebra.md":          "- stripes\n- dots\n- squares\n",
	}
}

func TestFindGuide(t *testing.T) {
	f := Of(papers(), nil)
	if f.guide == nil || f.guide.what[f.doc("book.csv")] != "our outgoings" || f.guide.what[f.doc("list.txt")] != "" ||
		f.guide.line[f.doc("list.txt")] != 3 ||
		f.guide.what[f.doc("old/book-2025.csv")] != "the outgoings of last year" {
		t.Errorf("%+v", f.guide)
	}
	files := papers()
	files["README.md"] = "# Papers\n\nSee `book.csv` only.\n"
	if f := Of(files, nil); f.guide != nil {
		t.Errorf("a file that names one other is a guide: %+v", f.guide)
	}
}

// A file that the request calls by what the guide says of it is found by the guide.
func TestGuidedName(t *testing.T) {
	_, p := drawn(t, papers(), programs.Insert, "row_add", func(p *Plan) bool {
		return strings.HasSuffix(p.Slot("file"), " our outgoings")
	})
	var read []string
	for _, o := range p.Ops {
		if o.Do == Show {
			read = append(read, o.Path)
		}
	}
	if !slices.Equal(read, []string{"README.md", "book.csv"}) || p.About[0] != "book.csv" {
		t.Errorf("%q are read, and it is about %q", read, p.About)
	}
	if last := p.Ops[len(p.Ops)-2].Why; last != "README.md: - `book.csv`: our outgoings" {
		t.Errorf("book.csv is read since %q", last)
	}
}

// Two files whose names say the same are read at once, but one by one at times.
func TestLikeNames(t *testing.T) {
	read := map[string]bool{}
	for seed := range uint64(20) {
		d := &drawer{r: newRand(seed), f: Of(papers(), nil), can: everything()}
		read[strings.Join(names(d.atOnce(d.ranked("book"))), " ")] = true
	}
	if len(read) != 2 || !read["book.csv"] || !read["book.csv book-2025.csv"] {
		t.Errorf("%v are read first", read)
	}
}

// "By its name, X is about Y" is said where the request has the word Y.
func TestNameSaysWhatIsAsked(t *testing.T) {
	files := papers()
	files["members.csv"] = "member,since,fee\nAna Lund,2019,30\nBo Maes,2021,40\nCy Petit,2022,35\nDi Roth,2020,25\n"
	f, n := Of(files, nil), 0
	for seed := range uint64(400) {
		r := newRand(seed)
		p := Draw(r, f, everything(), pick(r, []string{programs.Best, programs.Lookup, programs.Total}))
		if p == nil {
			continue
		}
		task := strings.ToLower(p.Word(r, "train").Task)
		for _, o := range p.Ops {
			if strings.Contains(o.Why, "members.csv is about members.") {
				if n++; !strings.Contains(task, "member") {
					t.Errorf("%q has no member", task)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no file is chosen by its name")
	}
}

// A guide points to a file for a word that no other of its lines has.
func TestGuidePoints(t *testing.T) {
	f := Of(papers(), nil)
	for thing, points := range map[string]bool{"outgoings": false, "whom": true, "last year": true, "stripes": false} {
		doc := f.doc("old/book-2025.csv")
		if thing == "whom" {
			doc = f.doc("list.txt")
		}
		if f.guide.points(doc, thing) != points {
			t.Errorf("%s: points is %v", thing, !points)
		}
	}
}
