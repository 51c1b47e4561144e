package generate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
)

// page and knot are what a small store of notes keeps in the folder of its session.
type page struct {
	Title string   `json:"title"`
	Kind  string   `json:"kind"`
	Facts []string `json:"facts"`
}

type knot struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	Relation string `json:"relation"`
}

type notebook struct {
	Entries []page `json:"entries"`
	Ties    []knot `json:"ties"`
}

// noteTools are tools over a notebook, by other names than the store of a real server has.
func noteTools(s *shop) []Tool {
	file := func(s *stock) string { return filepath.Join(s.dir, "notes.json") }
	load := func(s *stock) (n notebook) {
		text, _ := os.ReadFile(file(s)) // none at first
		_ = json.Unmarshal(text, &n)
		return n
	}
	type toolOf = func(*stock, map[string]any) (string, error)
	change := func(do func(n *notebook, e []page, ties []knot, titles []string)) toolOf {
		return func(s *stock, args map[string]any) (string, error) {
			n := load(s)
			var got struct {
				Entries []page   `json:"entries"`
				Ties    []knot   `json:"ties"`
				Titles  []string `json:"titles"`
			}
			text, _ := json.Marshal(args) // of JSON
			_ = json.Unmarshal(text, &got)
			do(&n, got.Entries, got.Ties, got.Titles)
			text, _ = json.Marshal(n)
			return "done", os.WriteFile(file(s), text, 0o600)
		}
	}
	at := func(n *notebook, title string) *page {
		for i := range n.Entries {
			if n.Entries[i].Title == title {
				return &n.Entries[i]
			}
		}
		return &page{}
	}
	show := func(want func(page, map[string]any) bool) func(*stock, map[string]any) (string, error) {
		return func(s *stock, args map[string]any) (string, error) {
			n, found := load(s), notebook{Entries: []page{}, Ties: []knot{}}
			for _, e := range n.Entries {
				if want(e, args) {
					found.Entries = append(found.Entries, e)
				}
			}
			for _, r := range n.Ties {
				if slices.ContainsFunc(found.Entries,
					func(e page) bool { return e.Title == r.Source || e.Title == r.Target }) {
					found.Ties = append(found.Ties, r)
				}
			}
			return asJSON(found)
		}
	}
	object := func(list, fields string) string {
		return `{"type":"object","properties":{"` + list + `":{"type":"array","items":` + fields + `}},"required":["` +
			list + `"]}`
	}
	fields := func(facts bool, names ...string) string {
		var parts, required []string
		for _, name := range names {
			parts, required = append(parts, `"`+name+`":{"type":"string"}`), append(required, `"`+name+`"`)
		}
		if facts {
			parts = append(parts, `"facts":{"type":"array","items":{"type":"string"}}`)
			required = append(required, `"facts"`)
		}
		return `{"type":"object","properties":{` + strings.Join(parts, ",") + `},"required":[` +
			strings.Join(required, ",") + `]}`
	}
	ties, titles := object("ties", fields(false, "source", "target", "relation")), object("titles", `{"type":"string"}`)
	list := []Tool{
		tool("untie", "Take ties away.", ties), tool("tie", "Tie entries.", ties),
		tool("write_entries", "Write entries.", object("entries", fields(true, "title", "kind"))),
		tool("drop_facts", "Drop facts.", object("entries", fields(true, "title"))),
		tool("add_facts", "Add facts.", object("entries", fields(true, "title"))),
		tool("open_entries", "Open entries.", titles), tool("forget_entries", "Forget entries.", titles),
		tool("look_for", "Look for a text.",
			`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		tool("show_all", "Show all.", none),
	}
	s.tools = map[string]func(*stock, map[string]any) (string, error){
		"write_entries": change(func(n *notebook, e []page, _ []knot, _ []string) { n.Entries = append(n.Entries, e...) }),
		"tie":           change(func(n *notebook, _ []page, r []knot, _ []string) { n.Ties = append(n.Ties, r...) }),
		"untie": change(func(n *notebook, _ []page, r []knot, _ []string) {
			n.Ties = slices.DeleteFunc(n.Ties, func(o knot) bool { return slices.Contains(r, o) })
		}),
		"add_facts": change(func(n *notebook, e []page, _ []knot, _ []string) {
			for _, one := range e {
				at(n, one.Title).Facts = append(at(n, one.Title).Facts, one.Facts...)
			}
		}),
		"drop_facts": change(func(n *notebook, e []page, _ []knot, _ []string) {
			for _, one := range e {
				of := at(n, one.Title)
				of.Facts = slices.DeleteFunc(of.Facts, func(f string) bool { return slices.Contains(one.Facts, f) })
			}
		}),
		"forget_entries": change(func(n *notebook, _ []page, _ []knot, titles []string) {
			n.Entries = slices.DeleteFunc(n.Entries, func(e page) bool { return slices.Contains(titles, e.Title) })
			n.Ties = slices.DeleteFunc(n.Ties,
				func(r knot) bool { return slices.Contains(titles, r.Source) || slices.Contains(titles, r.Target) })
		}),
		"show_all": show(func(page, map[string]any) bool { return true }),
		"look_for": show(func(e page, args map[string]any) bool {
			all := strings.ToLower(e.Title + "\n" + e.Kind + "\n" + strings.Join(e.Facts, "\n"))
			return strings.Contains(all, strings.ToLower(args["text"].(string)))
		}),
		"open_entries": show(func(e page, args map[string]any) bool {
			return slices.Contains(args["titles"].([]any), any(e.Title))
		}),
	}
	return list
}

// Over a store of notes all tasks are of programs: of many kinds, half of several calls, each of which passes its own
// checks, where an agent that leaves all as it is fails those that ask for a change. What is too long to be read at
// once is searched and opened.
func TestProgramsOverAGraph(t *testing.T) {
	used, tools := map[string]bool{}, 0
	for _, maxResult := range []int{8000, 1500} {
		s := newShop(t)
		list := noteTools(s)
		tools = len(list)
		o := optionsOf(s)
		o.N, o.Asked, o.MaxResult = 60, 0.8, maxResult
		made := run(t, s, list, o)
		if n := len(made.Scenarios); n < 54 {
			t.Fatalf("%d scenarios, of 60 wanted\n%v", n, made.Report.Rows())
		}
		kinds, several := map[string]bool{}, 0
		trial := checktest.Trial{Tools: s}
		for i := range made.Scenarios {
			x := &made.Scenarios[i]
			kinds[x.Tags[0]] = true
			reads := []string{"show_all", "look_for", "open_entries"}
			for _, g := range x.Gold {
				used[g.Name] = true
			}
			change := slices.IndexFunc(x.Gold, func(g scenario.Gold) bool { return !slices.Contains(reads, g.Name) })
			if x.Tags[0] == "kind:several" && change >= 0 {
				if why := x.Gold[change].Reasoning; !strings.HasPrefix(why, "1. ") || !strings.Contains(why, "\n2. ") {
					t.Errorf("%s: before its changes stands %q", x.Task, why)
				}
			}
			if len(x.Gold) > 1 {
				several++
			}
			found, err := trial.Row(t.Context(), x)
			if err != nil || len(found) > 0 {
				t.Errorf("%s (%s): %v %v", x.ID, x.Task, found, err)
			}
		}
		if len(kinds) < 12 || several < 20 {
			t.Errorf("%d kinds, %d of several calls", len(kinds), several)
		}
	}
	if len(used) < tools {
		t.Errorf("%d of %d tools", len(used), tools)
	}
}

// A store that shows all at once and finds nothing has tasks too, and each begins with all of it.
func TestProgramsOverAGraphWithoutASearch(t *testing.T) {
	for name, without := range map[string][]string{"no search": {"look_for"},
		"neither a search nor single things": {"look_for", "open_entries"}} {
		s := newShop(t)
		tools := slices.DeleteFunc(noteTools(s), func(x Tool) bool { return slices.Contains(without, x.Name) })
		o := optionsOf(s)
		o.N, o.Asked = 30, 0.8
		made := run(t, s, tools, o)
		if n := len(made.Scenarios); n < 20 {
			t.Errorf("%s: %d scenarios, of 30 wanted\n%v", name, n, made.Report.Rows())
		}
		for _, x := range made.Scenarios {
			if x.Tags[0] == "kind:cannot" { // what no tool does needs no look
				continue
			}
			if len(x.Gold) == 0 || x.Gold[0].Name != "show_all" {
				t.Errorf("%s: %q begins with %v", name, x.Task, x.Gold)
			}
		}
	}
}
