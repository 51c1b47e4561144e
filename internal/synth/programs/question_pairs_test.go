package programs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Two properties of one thing are asked for in one statement, and read as another thing's are shown to.
func TestLookupTwo(t *testing.T) {
	shows := shows()
	shows.Rows[1][3] = int64(350)
	w := &World{Tables: []*Table{shows}}
	forms := map[string]bool{}
	for i := range uint64(40) {
		d := &drawer{r: rand.New(rand.NewPCG(i, 1)), w: w, plain: true}
		p := d.lookupTwo()
		if p == nil {
			continue
		}
		a := p.Answer
		sql := p.Steps[0].SQL
		if !strings.Contains(sql, "status") || !strings.Contains(sql, "fee") || len(p.Result) != 2 ||
			p.Working() != p.Slot("x")+": "+a.Values[0]+", "+a.Values[1] {
			t.Fatalf("%s: %v, because %q", sql, p.Result, p.Working())
		}
		said := p.Word(rand.New(rand.NewPCG(i, 2)), "train")
		want := a.Values[0] + ", " + a.Values[1]
		if a.How != "" {
			want = fmt.Sprintf(a.How, a.Values[0], a.Values[1])
			if !strings.Contains(said.Task, p.Slot("like")) || p.Slot("like") == want {
				t.Errorf("%q does not show the form %q", said.Task, a.How)
			}
			if first := p.Slot("like")[0]; (p.Slot("attr") == "fee") != (first >= '0' && first <= '9') {
				t.Errorf("the %s is asked for first, and the form is %q", p.Slot("attr"), p.Slot("like"))
			}
		}
		if said.Answer != want {
			t.Errorf("%q for %q", said.Answer, said.Task)
		}
		forms[a.How] = true
	}
	if len(forms) < 4 {
		t.Errorf("forms: %v", forms)
	}
}

// Who is asked for the greatest may be asked how much that is.
func TestBestWithValue(t *testing.T) {
	w := &World{Tables: []*Table{shows()}, Listed: true}
	asked := 0
	for i := range uint64(60) {
		p := Draw(rand.New(rand.NewPCG(i, 1)), w, Best)
		if p == nil || p.Answer.Form != "pair" {
			continue
		}
		asked++
		if want := map[string]string{"Ghent": "450", "Lille": "600"}[p.Answer.Values[0]]; p.Answer.Values[1] != want ||
			p.Result[1] != want || !strings.Contains(p.Steps[0].SQL, "city, fee FROM shows") {
			t.Errorf("%v by %s", p.Answer.Values, p.Steps[0].SQL)
		}
	}
	if asked == 0 {
		t.Error("nobody asks how much")
	}
}
