package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
)

// A view is its names and headings with what stands below them.
func TestViewParts(t *testing.T) {
	const ruled = "File: a.md\n\nTask T-1 - Oil\n=====\n\nStatus: Open\nLabels: a, b\n\nNeeds (1 direct, 2 total):\n" +
		"-----\n- T-2 - Fix [Open]\n  - T-3 - Sweep\n\nNotes:\n-----\nNo notes provided\n\nTo do:\n-----\n" +
		"- [x] #1 Cut\n- [ ] #2 Sand it\n\nModified files: f\n"
	const marked = "# Oil\n\nStatus: Open\n\n## Notes\n\nBring: gloves\n\n## To do\n* [ ] Cut\n[X] 2. Sand it\n"
	for _, c := range []struct {
		text, title string
		lines       []string
		points      []point
	}{
		{ruled, "Status", []string{"Open"}, nil},
		{ruled, "Labels", []string{"a", "b"}, nil},
		{ruled, "Needs", []string{"- T-2 - Fix [Open]", "  - T-3 - Sweep"}, nil},
		{ruled, "Notes", nil, nil},
		{ruled, "To do", []string{"- [x] #1 Cut", "- [ ] #2 Sand it"}, []point{{"Cut", true}, {"Sand it", false}}},
		{ruled, "Modified files", []string{"f"}, nil},
		{ruled, "Plan", nil, nil},
		{marked, "To do", []string{"* [ ] Cut", "[X] 2. Sand it"}, []point{{"Cut", false}, {"Sand it", true}}},
	} {
		got := partOf(c.text, c.title)
		if !slices.Equal(got.lines, c.lines) || !slices.Equal(got.points(), c.points) {
			t.Errorf("%s: %q %v", c.title, got.lines, got.points())
		}
	}
	if got := saying(ruled, "Sand"); got != "To do" {
		t.Errorf("Sand is said under %q", got)
	}
}

// What was written freely may be in other letters, and end with a full stop or with none.
func TestFreely(t *testing.T) {
	got := freely(steadyText("Plan: Ask Ben.\n", func(string) bool { return false }), []string{"Ask Ben."})
	if want := `\APlan: (?i:Ask Ben)\.?` + "\n" + `\z`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// leaflets are documents that the small tracker keeps.
func leaflets() map[string][2]string {
	return map[string][2]string{
		"leaf-1": {"Prices", "Gravel: 40\nSkip: 210\nLamp: 35"},
		"leaf-2": {"Meeting", "All were there.\nNext: 2026-05-02"},
	}
}

// viewTools are those of a tracker that shows most of it in views, and keeps leaflets and phases.
func viewTools(s *shop) []Tool {
	tools := boardTools(s)
	keep := func(s *stock, name string, begin, into any, change func() error) error {
		file := filepath.Join(s.dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			text, _ = json.Marshal(begin) // of texts
			_ = os.WriteFile(file, text, 0o600)
		}
		if err = json.Unmarshal(text, into); err != nil || change == nil {
			return err
		}
		if err = change(); err != nil {
			return err
		}
		text, _ = json.Marshal(into) // of texts
		return os.WriteFile(file, text, 0o600)
	}
	said := func(args map[string]any, name string) string {
		text, _ := args[name].(string)
		return text
	}
	leafText := func(key string, leaf [2]string) string {
		return fmt.Sprintf("Leaflet %s - %s\nKind: plain\n\n%s\n", key, leaf[0], leaf[1])
	}
	leaves := func(s *stock, change func(all map[string][2]string) error) (all map[string][2]string, err error) {
		if change == nil {
			return all, keep(s, "leaves.json", leaflets(), &all, nil)
		}
		return all, keep(s, "leaves.json", leaflets(), &all, func() error { return change(all) })
	}
	find := func(s *stock, word string) (string, error) {
		all, err := leaves(s, nil)
		text := "Leaflets:\n"
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if strings.Contains(strings.ToLower(all[key][0]+all[key][1]), strings.ToLower(word)) {
				text += fmt.Sprintf("  %s - %s (kind: plain)\n", key, all[key][0])
			}
		}
		return text, err
	}
	s.tools["leaflet_list"] = func(s *stock, _ map[string]any) (string, error) { return find(s, "") }
	s.tools["leaflet_search"] = func(s *stock, args map[string]any) (string, error) {
		return find(s, said(args, "query"))
	}
	s.tools["leaflet_view"] = func(s *stock, args map[string]any) (string, error) {
		all, err := leaves(s, nil)
		if leaf, ok := all[said(args, "id")]; ok {
			return leafText(said(args, "id"), leaf), err
		}
		return "", errors.New("no such leaflet")
	}
	s.tools["leaflet_update"] = func(s *stock, args map[string]any) (string, error) {
		_, err := leaves(s, func(all map[string][2]string) error {
			leaf, ok := all[said(args, "id")]
			if !ok {
				return errors.New("no such leaflet")
			}
			all[said(args, "id")] = [2]string{leaf[0], said(args, "content")}
			return nil
		})
		return "done", err
	}
	s.tools["leaflet_create"] = func(s *stock, args map[string]any) (string, error) {
		_, err := leaves(s, func(all map[string][2]string) error {
			all[fmt.Sprint("leaf-", len(all)+1)] = [2]string{said(args, "title"), said(args, "content")}
			return nil
		})
		return "done", err
	}
	type phase struct{ ID, Name, Due string }
	phases := func(s *stock, change func(all []phase) ([]phase, error)) (all []phase, err error) {
		begin := []phase{{"p-0", "Spring work", "2026-05-01"}, {"p-1", "Autumn work", "2026-10-01"}}
		if change == nil {
			return all, keep(s, "phases.json", begin, &all, nil)
		}
		return all, keep(s, "phases.json", begin, &all, func() (err error) { all, err = change(all); return err })
	}
	s.tools["phase_list"] = func(s *stock, _ map[string]any) (string, error) {
		all, err := phases(s, nil)
		text := "Phases:\n"
		for _, p := range all {
			text += fmt.Sprintf("  - %s: %s (due %s)\n", p.ID, p.Name, p.Due)
		}
		return text, err
	}
	s.tools["phase_add"] = func(s *stock, args map[string]any) (string, error) {
		_, err := phases(s, func(all []phase) ([]phase, error) {
			return append(all, phase{fmt.Sprint("p-", len(all)), said(args, "name"), said(args, "dueDate")}), nil
		})
		return "done", err
	}
	s.tools["phase_rename"] = func(s *stock, args map[string]any) (string, error) {
		_, err := phases(s, func(all []phase) ([]phase, error) {
			i := slices.IndexFunc(all, func(p phase) bool { return p.Name == said(args, "from") })
			if i < 0 {
				return nil, errors.New("no such phase")
			}
			if all[i].Name = said(args, "to"); said(args, "dueDate") != "" {
				all[i].Due = said(args, "dueDate")
			}
			return all, nil
		})
		return "done", err
	}
	list := s.tools["job_list"]
	s.tools["job_search"] = func(s *stock, args map[string]any) (string, error) {
		all, err := list(s, map[string]any{})
		found := "Jobs:\n"
		for line := range strings.Lines(all) {
			if strings.Contains(strings.ToLower(line), strings.ToLower(said(args, "query"))) {
				found += line
			}
		}
		return found, err
	}
	archive, view := s.tools["job_archive"], s.tools["job_view"]
	s.tools["job_close"] = func(s *stock, args map[string]any) (string, error) {
		if text, err := view(s, args); err != nil || !strings.Contains(text, "Status: * Closed") {
			return "", errors.New("only a job with the status Closed can be closed")
		}
		return archive(s, args)
	}
	return append(changedTools(tools), leafAndPhaseTools()...)
}

// changedTools are the tools over jobs with the parameters for what views alone show.
func changedTools(tools []Tool) []Tool {
	const steps = `"addSteps":{"type":"array","items":{"type":"string"}}`
	more := steps + `,"checkSteps":{"type":"array","items":{"type":"number"}},` +
		`"uncheckSteps":{"type":"array","items":{"type":"number"}},` +
		`"removeSteps":{"type":"array","items":{"type":"number"}},"plan":{"type":"string"},` +
		`"planAppend":{"type":"string"},"planClear":{"type":"boolean"},` +
		`"waitsFor":{"type":"array","items":{"type":"string"}},`
	for i, of := range map[string]string{"job_list": `"phase":{"type":"string"},`, "job_edit": more,
		"job_create": steps +
			`,"plan":{"type":"string"},"waitsFor":{"type":"array","items":{"type":"string"}},"partOf":{"type":"string"},`} {
		at := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == i })
		schema := strings.Replace(string(tools[at].InputSchema), `"properties":{`, `"properties":{`+of, 1)
		tools[at] = tool(i, tools[at].Description, schema)
	}
	return tools
}

func leafAndPhaseTools() []Tool {
	schema := func(required string, names ...string) string {
		var fields []string
		for _, n := range names {
			fields = append(fields, `"`+n+`":{"type":"string"}`)
		}
		return `{"type":"object","properties":{` + strings.Join(fields, ",") + `},"required":[` + required + `]}`
	}
	return []Tool{
		tool("leaflet_list", "List leaflets.", none),
		tool("leaflet_view", "View a leaflet.", schema(`"id"`, "id")),
		tool("leaflet_search", "Search leaflets.", schema(`"query"`, "query")),
		tool("leaflet_update", "Update a leaflet.", schema(`"id","content"`, "id", "content")),
		tool("leaflet_create", "Create a leaflet.", schema(`"title","content"`, "title", "content")),
		tool("phase_add", "Add a phase.", schema(`"name"`, "name", "dueDate")),
		tool("phase_rename", "Rename a phase.", schema(`"from","to"`, "from", "to", "dueDate")),
		tool("job_search", "Search jobs.", schema(`"query"`, "query")),
		tool("job_close", "Close a job.", schema(`"id"`, "id")),
	}
}

var manyTerms = regexp.MustCompile(`\d \+ \d+ \+`)

// What views alone show is ticked, added, written, linked and asked for, and leaflets and phases are read and changed:
// the parameters for it are found by trials, and each task passes its own checks.
func TestProgramsOverWhatViewsShow(t *testing.T) {
	s := newShop(t)
	tools := viewTools(s)
	o := optionsOf(s)
	o.N, o.Asked = 300, 0.8
	made := run(t, s, tools, o)
	if n := len(made.Scenarios); n < 250 {
		t.Fatalf("%d scenarios, of 300 wanted\n%v", n, made.Report.Rows())
	}
	used, begun, added := map[string]int{}, 0, 0
	trial := checktest.Trial{Tools: s}
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		for _, g := range x.Gold {
			used[g.Name]++
			for _, m := range members(g.Arguments) {
				used[g.Name+" "+m.name]++
			}
		}
		if len(x.Setup) > 0 {
			begun++
		}
		if strings.Contains(x.GoldReasoning, " + ") { // a small model adds two numbers rightly, and not five
			added++
			if manyTerms.MatchString(x.GoldReasoning) {
				t.Errorf("%s adds several at once: %q", x.ID, x.GoldReasoning)
			}
		}
		found, err := trial.Row(t.Context(), x)
		if err != nil || len(found) > 0 {
			t.Errorf("%s (%s): %v %v", x.ID, x.Task, found, err)
		}
	}
	for _, name := range strings.Split("job_edit addSteps|job_edit checkSteps|job_edit removeSteps|job_edit plan|"+
		"job_edit planAppend|job_edit waitsFor|job_create plan|job_create addSteps|leaflet_view|leaflet_search|"+
		"leaflet_update|leaflet_create|phase_add|phase_rename|job_search|job_close", "|") {
		if used[name] == 0 {
			t.Errorf("no task uses %s: %v", name, used)
		}
	}
	if begun < 20 || added == 0 {
		t.Errorf("%d tasks begin with more than the server has, %d add up", begun, added)
	}
}
