package programs

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// dinnerGraph has things with notes of which people speak in other words.
func dinnerGraph() Graph {
	return Graph{Things: []Thing{
		{"Ana Holm", "person", []string{"born 1980", "allergic to nuts", "no driving licence"}},
		{"Bo Lind", "person", []string{"born 1991", "allergic to milk"}},
		{"Cy Park", "person", []string{"born 1985", "speaks Dutch", "no driving licence"}},
		{"Di Marsh", "person", []string{"born 1970", "speaks Dutch"}},
		{"Pie", "dish", []string{"contains nuts", "vegetarian"}}, {"Stew", "dish", []string{"contains pork"}},
		{"Soup", "dish", []string{"contains nuts", "contains milk"}},
	}}
}

// Words for a note are never the note's, and never those of another split; with a note, and without it, some of them
// are negative and some are not.
func TestWordsOfNotes(t *testing.T) {
	negative := regexp.MustCompile(`\b(no|not|nobody|nothing|without|never|only)\b|n't\b`)
	known := map[string]bool{}
	for _, w := range noteLexicon().Notes {
		for _, of := range []saidOf{w.saidOf, w.Any} {
			if len(of.With.Train) == 0 && w.Any.With.Train == nil {
				continue
			}
			for polarity, in := range map[string]saidIn{"with": of.With, "without": of.Without} {
				n := 0
				for _, phrase := range in.Train {
					if negative.MatchString(phrase) {
						n++
					}
					if phrase == w.Note || slices.Contains(in.Held, phrase) || len(phrase) < 8 {
						t.Errorf("%s: %q", w.Note, phrase)
					}
					known[polarity+map[bool]string{true: " negative", false: " positive"}[n > 0]] = true
				}
				if len(in.Train) == 0 || len(in.Held) == 0 || n == len(in.Train) && len(of.With.Train) > 2 {
					t.Errorf("%s, %s: %d of %q are negative", w.Note, polarity, n, in.Train)
				}
			}
		}
	}
	nouns := map[string]bool{}
	for kind, list := range noteLexicon().Kinds {
		for noun := range strings.FieldsSeq(list) {
			if nouns[noun] {
				t.Errorf("%s is of %s and of another kind", noun, kind)
			}
			nouns[noun] = true
		}
	}
	if len(known) != 4 {
		t.Errorf("only %v", known)
	}
}

// A condition in other words is the one that its mapping says, in the words of its split. Notes that say about the
// same leave open which is meant, and are asked for as they are.
func TestConditionsInOtherWords(t *testing.T) {
	gt, r := dinnerGraph().Tables(), rand.New(rand.NewPCG(9, 9))
	seen := map[string]int{}
	for i := range 1200 {
		g := gt.Draw(r, chosen)
		if g == nil || len(g.sayings) == 0 || g.sayings[0].near {
			continue
		}
		split := []string{scenario.Train, scenario.Test}[i%2]
		s := g.sayings[0]
		want := map[bool]string{true: s.words, false: s.held}[i%2 == 0]
		if g.Speak(split); !strings.Contains(g.slots["filter"], want) {
			t.Errorf("%s: %q has not %q", split, g.slots["filter"], s.words)
		}
		for _, w := range gt.Strangers(g) {
			if strings.Contains(g.sayings[0].words, w) && !strings.Contains(g.slots["many"], w) &&
				len(g.sayings) == 1 && len(g.query.parts()) == 1 {
				t.Errorf("%q of %q is searched for", w, g.sayings[0].words)
			}
		}
		if w := gt.Word(g); w.Text != "" {
			t.Errorf("%q is searched for, which nothing says yet", w.Text)
		}
		if len(g.query.Where) == 1 && len(g.sayings) == 1 && g.query.Where[0].Op == Is {
			for _, row := range g.query.Rows() {
				note := g.query.Table.Columns[g.query.Where[0].Column].Says
				if has := slices.Contains(gt.Graph.Thing(Show(row[0])).Notes, note); has !=
					(s.means == `with "`+note+`"`) {
					t.Errorf("%q means %s: %v", s.words, s.means, row)
				}
			}
		}
		for _, what := range []string{`with "allergic to nuts", or with "allergic to milk"`,
			`without "allergic to nuts", and also without "allergic to milk"`, `with "no driving licence"`,
			`without "no driving licence"`, `with "speaks Dutch"`, `with "contains nuts"`, "pork", "vegetarian"} {
			if strings.HasSuffix(s.means, what) || strings.Contains(s.means, what) && !strings.Contains(what, `"`) {
				seen[what]++
			}
		}
	}
	for what, n := range seen {
		if unclear := what == "pork" || what == "vegetarian"; unclear && n > 0 || !unclear && n < 3 {
			t.Errorf("%s: %d", what, n)
		}
	}
	if len(seen) != 6 {
		t.Errorf("%v", seen)
	}
}

// Invented things have notes of which people speak in other words, and never a note with its opposite.
func TestInventedNotesAreSpokenOf(t *testing.T) {
	said, l := 0, noteLexicon()
	for i := range NumDomains() {
		r := rand.New(rand.NewPCG(4, uint64(i)))
		gt := Invent(r, i).Graph(r).Tables()
		for _, table := range gt.World.Tables {
			for _, c := range table.Columns {
				if w, _, _ := l.words(l.kindOf(table), c.Says); c.Note && w != nil {
					if said++; !gt.alone(table, c.Says) {
						t.Errorf("%s of %s is not alone", c.Says, table.Many)
					}
				}
			}
		}
	}
	if said < 2*NumDomains() {
		t.Errorf("%d notes in %d graphs", said, NumDomains())
	}
}
