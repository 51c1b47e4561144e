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
