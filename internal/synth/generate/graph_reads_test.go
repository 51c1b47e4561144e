package generate

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/synth/programs"
)

// graphOfTools is a graph with tools that are not called.
func graphOfTools(graph programs.Graph) *graphing {
	of := func(name, list, text string) *graphTool {
		return &graphTool{tool: &subject{Tool: Tool{Tool: chat.Tool{Name: name}}}, list: list, name: text, text: true}
	}
	g := &graphServer{most: 8000, scale: 1, read: &Call{Tool: "show_all", Arguments: json.RawMessage("{}")},
		find: of("look_for", "", "text"), open: of("open_entries", "titles", "")}
	return &graphing{g: g, tables: graph.Tables()}
}

func guests(n int) (graph programs.Graph) {
	for i := range n {
		graph.Things = append(graph.Things, programs.Thing{Name: fmt.Sprintf("Guest %c", 'A'+i), Type: "guest",
			Notes: []string{fmt.Sprintf("nights %d", 2+i), "room " + strings.Repeat("large ", 40) + fmt.Sprint(i)}})
	}
	return graph
}

// Of a long result its beginning and its end are seen, and what stands in the middle is not.
func TestShownOfALongResult(t *testing.T) {
	s := graphOfTools(guests(40))
	list := []map[string]any{}
	for _, x := range s.tables.Graph.Things {
		list = append(list, map[string]any{"name": x.Name, "type": x.Type, "facts": x.Notes})
	}
	text, err := json.Marshal(map[string]any{"entries": list})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		most        int // bytes
		first, rest bool
	}{
		"a part":                                {len(text) / 2, true, false},
		"all":                                   {len(text), true, true},
		"nothing but the mark where it was cut": {16, false, false},
	} {
		s.g.most = c.most
		seen := s.g.shown(string(text))
		at := func(i int) bool { return seen.Thing(s.tables.Graph.Things[i].Name) != nil }
		if at(0) != c.first || at(39) != c.first || at(20) != c.rest {
			t.Errorf("%s: of %d bytes are seen %v, %v and %v", name, len(text), at(0), at(39), at(20))
		}
	}
	s.g.most = len(text) / 2
	short, _ := json.Marshal(map[string]any{"entries": list[:5]})
	if got := s.g.shown(string(short)); len(got.Things) != 5 {
		t.Errorf("of a short result %d things are seen", len(got.Things))
	}
}

// How much of a result is shown is what the run says, and without it all is.
func TestAServersResultsAreShownAsTheRunDoes(t *testing.T) {
	s := newShop(t)
	for most, want := range map[int]int{1234: 1234, 0: math.MaxInt} {
		o := optionsOf(s)
		o.MaxResult = most
		m := newMaker(s, noteTools(s), ledgerIn(t, filepath.Join(t.TempDir(), "work.jsonl")), o)
		defer m.player.close()
		if list, err := m.graphServers(t.Context()); err != nil || len(list) != 1 || list[0].most != want {
			t.Errorf("%d servers, %+v, %v", len(list), list, err)
		}
	}
}

// What goes astray finds nothing. After it all is read, where that is shown; else something else is looked for that the
// request says, and never another form of the same word. A short name that was opened is looked for.
func TestSearchesThatGoAstray(t *testing.T) {
	graph := guests(6)
	graph.Things[0].Notes = append(graph.Things[0].Notes, "the first of all guests")
	for i, name := range []string{"Ana Holm", "Bo Lind", "Cy Park"} {
		graph.Things = append(graph.Things, programs.Thing{Name: name, Type: "person",
			Notes: []string{fmt.Sprintf("born %d", 1970+i), "speaks Dutch"}})
		graph.Relations = append(graph.Relations, programs.Relation{From: name, To: "Guest A", Type: "mentors"})
	}
	r := rand.New(rand.NewPCG(1, 1))
	for most, ways := range map[int][]string{
		8000: {"words show_all", "word show_all", "opened look_for"},
		1500: {"words look_for", "word look_for", "opened look_for"},
	} {
		s := graphOfTools(graph)
		s.g.most = most
		after := map[string]int{}
		for range 900 {
			p := s.tables.Draw(r, pick(r, []string{programs.Count, programs.Lookup, programs.Set, programs.Best,
				programs.List, "relink"}))
			if p == nil {
				continue
			}
			calls := s.searches(p)
			with := s.stray(r, p, calls)
			if len(with) == 0 {
				continue
			}
			seen := map[string]bool{} // words that have been looked for
			for _, c := range with {
				var args map[string]any
				_ = json.Unmarshal(c.Arguments, &args) // of JSON
				word, _ := args["text"].(string)
				for other := range seen {
					if c.Slip != "" && !strings.Contains(word, " ") && programs.SameWord(word, other) {
						t.Errorf("%q is looked for after %q", word, other)
					}
				}
				if word != "" {
					seen[word] = true
				}
			}
			at := slices.IndexFunc(with, isSlip)
			if at < 0 || slices.ContainsFunc(with[at+1:], isSlip) {
				t.Fatalf("of %v came %v", calls, with)
			}
			var args, then map[string]any
			if json.Unmarshal(with[at].Arguments, &args) != nil || json.Unmarshal(with[at+1].Arguments, &then) != nil {
				t.Fatal(with)
			}
			missed, _ := args["text"].(string)
			next, _ := then["text"].(string)
			word := "words"
			switch {
			case missed == "":
				word = "opened"
			case !strings.Contains(missed, " "):
				if word = "word"; next != "" && (programs.SameWord(missed, next) || !p.SaysWord(next)) {
					t.Errorf("%q follows %q", next, missed)
				}
			}
			if missed != "" && len(graph.Saying(missed)) > 0 || with[at+1].Why == "" ||
				strings.Contains(with[at+1].Why, "noted nowhere") { // answers have said that
				t.Errorf("%q, then %s: %q", missed, with[at+1].Arguments, with[at+1].Why)
			}
			after[word+" "+with[at+1].Tool]++
		}
		for _, way := range ways {
			if after[way] < 10 {
				t.Errorf("%d bytes: %d of %q: %v", most, after[way], way, after)
			}
		}
		if len(after) != len(ways) {
			t.Errorf("%d bytes: %v", most, after)
		}
	}
}

// What is short is read whole by nearly all that is about several things, and nothing that is shown by halves is.
func TestShortGraphsAreReadWhole(t *testing.T) {
	s, r := graphOfTools(guests(6)), rand.New(rand.NewPCG(3, 3))
	size := s.tables.Graph.Size()
	for _, x := range []struct {
		most        int
		scale       float64
		least, upTo float64
	}{{size, 1, 0.9, 0.99}, {size, 1.1, 0, 0}, {size * 94 / 100, 0.93, 0.9, 0.99}, {size * 94 / 100, 1, 0, 0}} {
		s.g.most, s.g.scale = x.most, x.scale
		n, whole := 0, 0.
		for range 1600 {
			kind := pick(r, []string{programs.Count, programs.List, "relink", "two_edits"})
			if p := s.tables.Draw(r, kind); p != nil {
				n++
				if f := s.finds(r, p); len(f.calls) == 1 && f.calls[0].Tool == s.g.read.Tool {
					whole++
				}
			}
		}
		if share := whole / float64(n); share < x.least || share > x.upTo {
			t.Errorf("%d bytes of %d by %.2f: %.2f of %d are read whole", x.most, size, x.scale, share, n)
		}
	}
}

// A new thing is looked for by its name; what is found in vain is new, and what is there is left.
func TestLooksForWhatIsNew(t *testing.T) {
	graph := programs.Graph{}
	for i, name := range []string{"Ana Holm", "Bo Lind", "Cy Park", "Di Marsh", "Ed Stone"} {
		graph.Things = append(graph.Things, programs.Thing{Name: name, Type: "person",
			Notes: []string{fmt.Sprintf("joined %d", 2010+i), fmt.Sprintf("desk %d", 40+i)}})
	}
	s := graphOfTools(graph)
	r := rand.New(rand.NewPCG(2, 2))
	searches, alone := 0, 0
	for range 200 {
		p := s.tables.Draw(r, pick(r, []string{programs.Insert, programs.ActIf}))
		if p == nil {
			continue
		}
		name := p.NewName()
		calls := s.looksForNew(r, p)
		if len(calls) == 0 {
			continue
		}
		if calls[0].key() != s.g.find.texts(name).key() {
			t.Errorf("%s is looked for, want %q", calls[0].Arguments, name)
		}
		switch there := s.tables.Graph.Thing(name) != nil; {
		case there && len(calls) == 1:
			alone++
		case !there && len(calls) == 2 && strings.Contains(calls[1].Why, name):
			searches++
		default:
			t.Errorf("%s, there %v: %v", name, there, calls)
		}
	}
	if searches < 20 || alone < 3 {
		t.Errorf("%d new, %d there", searches, alone)
	}
}

// Where results are too long, things are opened in parts, each of which is shown.
func TestOpeningInParts(t *testing.T) {
	s := graphOfTools(guests(40))
	f := &graphLook{}
	for _, x := range s.tables.Graph.Things {
		f.things = append(f.things, x.Name)
	}
	p := &programs.GraphProgram{Program: &programs.Program{}, Types: []string{"guest"}}
	calls := s.inParts(p, f)
	if len(calls) < 3 || calls[0].Tool != "look_for" || calls[1].Why == "" || calls[2].Why != "" {
		t.Fatalf("%d calls: %+v", len(calls), calls)
	}
	var opened []string
	for _, c := range calls[1:] {
		var args struct{ Titles []string }
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, name := range args.Titles {
			n += s.tables.Graph.Extent(name)
		}
		if opened = append(opened, args.Titles...); n > s.g.most {
			t.Errorf("a part has %d bytes", n)
		}
	}
	if !slices.Equal(opened, f.things) {
		t.Errorf("opened are %v", opened)
	}
}

// What a program is about must be shown: its things, the relations that it takes out, and whom its working names.
func TestWhatIsToBeShown(t *testing.T) {
	graph := guests(3)
	hosts := programs.Relation{From: "Guest A", To: "Guest B", Type: "hosts"}
	graph.Relations = []programs.Relation{hosts}
	s := graphOfTools(graph)
	const (
		thing = `{"entries": [{"name": "Guest A", "type": "guest", "facts": ["nights 2"]}], "links": [`
		link  = `{"from": "Guest A", "to": "Guest B", "type": "hosts"}`
	)
	for name, x := range map[string]struct {
		edits   []programs.Edit
		working string
		shown   string
		holds   bool
	}{
		"a thing": {shown: thing + "]}", holds: true},
		"nothing": {shown: `{"entries": [], "links": []}`},
		"a relation": {edits: []programs.Edit{{Do: programs.RemoveRelation, Relation: hosts}},
			shown: thing + "]}"},
		"a relation, shown": {[]programs.Edit{{Do: programs.RemoveRelation, Relation: hosts}}, "",
			thing + link + "]}", true},
		"whom nobody showed": {working: "Guest C: nights 4", shown: thing + "]}"},
		"whom a link showed": {working: "Guest A hosts Guest B", shown: thing + link + "]}", holds: true},
	} {
		p := &programs.GraphProgram{Program: new(programs.Program).Work(x.working), Edits: x.edits,
			Named: []string{"Guest A"}}
		got := &Played{Results: []Answered{{Text: x.shown}}}
		if holds := s.shows(p, &graphLook{things: p.Named}, []Call{s.g.find.texts("Guest A")}, got); holds != x.holds {
			t.Errorf("%s: shown is all that is needed: %v", name, holds)
		}
	}
}
