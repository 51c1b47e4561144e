package judge

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"hone/internal/episode/scenario"
)

// ruled is a reply, and what RULER reads in it: scores by id, or nothing.
type ruled struct {
	Name, Reply, Refused string
	Size                 int
	Scores               [][2]string
}

// Replies that RULER takes are read to the same scores, and those that only hone reads are whole.
// testdata/make_ruler.py asks openpipe-art.
func TestRULERReadsTheSame(t *testing.T) {
	text, err := os.ReadFile("testdata/ruler.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Cases []ruled }
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	// Where the two differ: RULER takes what is no score of every attempt, by the place in the list, and refuses what
	// can be read only one way.
	refusedHere := map[string]bool{"an id that nobody has": true, "an id twice": true, "above 1": true, "below 0": true,
		"NaN": true, "Infinity": true, "true for a score": true, "a score twice": true}
	readHere := map[string]bool{"a number for an id": true, "no explanation": true, "prose around it": true,
		"a fence": true, "a comma too many": true}
	equal := 0
	for _, c := range golden.Cases {
		var ids []string
		for i := range c.Size {
			ids = append(ids, strconv.Itoa(i+1))
		}
		r := DefaultRubric()
		got, err := r.ReadGroup(c.Reply, ids)
		switch {
		case refusedHere[c.Name] != (err != nil && c.Refused == ""),
			readHere[c.Name] != (err == nil && c.Refused != ""):
			t.Errorf("%s: RULER has %v %s, hone %v %v", c.Name, c.Scores, c.Refused, got, err)
		case err != nil || c.Refused != "":
			continue
		}
		for _, s := range c.Scores {
			want, err := strconv.ParseFloat(s[1], 64)
			if err != nil || !refusedHere[c.Name] && got[s[0]].Score != want {
				t.Errorf("%s: the score of %s is %v, RULER's %v", c.Name, s[0], got[s[0]].Score, s[1])
			}
			equal++
		}
	}
	if equal < 500 {
		t.Errorf("only %d scores were compared", equal)
	}
}

// The whole way from the same reply to the reward is RULER's too, with one sample: the score replaces nothing, it is
// the term's.
func TestRULERScoresAGroupTheSame(t *testing.T) {
	m := &scripted{reply: func(int, Question, []string) string { return twoFine }}
	o := options(m)
	o.Samples = 1
	ts := groupOf("q=0.1", "q=0.2")
	terms, err := New(o).Judge(t.Context(), &scenario.Scenario{}, ts)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range terms {
		if want := []float64{0.25, 1}[x.Judgement.Places[0]]; x.Score != want {
			t.Errorf("attempt %d, shown in place %d, earns %v", i, x.Judgement.Places[0], x.Score)
		}
	}
}
