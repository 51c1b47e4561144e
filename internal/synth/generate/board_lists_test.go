package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
	"hone/internal/synth/programs"
)

// todo is a thing of a list whose server has no view and a tool for each property.
type todo struct {
	ID       any     `json:"id"`
	Title    string  `json:"title"`
	Status   string  `json:"status"`
	Priority string  `json:"priority"`
	Due      *string `json:"due"`
	Note     string  `json:"note"`
	Parent   any     `json:"parent_id"`
	Updated  string  `json:"updated_at"`
	Finished *string `json:"finished"`
}

func todos() (list []todo) {
	titles := strings.Split("Paint the fence|Oil the hinges|Sweep the yard|Fix the \"big\" lamp|Order gravel|Count "+
		"the ladders|Label the shelves|Empty the skip|Test the alarm|Trim the hedge", "|")
	for i, title := range titles {
		one := todo{ID: i + 1, Title: title, Status: []string{"open", "done", "open"}[i%3],
			Priority: []string{"high", "medium", "low"}[i%3], Updated: "2026-01-01T08:00:00Z",
			Note: "what to do about number " + fmt.Sprint(i)}
		if i%4 > 0 {
			due := fmt.Sprintf("2027-0%d-1%d", 1+i%8, i%9)
			one.Due = &due
		}
		list = append(list, one)
	}
	list[4].Parent = 1
	return list
}

// todoTools are tools over todos: a list that shows the open ones unless it is asked for all, a tool for each property,
// and some that no program can call. Keys are numbers, or drawn.
func todoTools(s *shop, drawn bool) []Tool {
	file := func(s *stock) string { return filepath.Join(s.dir, "todos.json") }
	load := func(s *stock) (list []todo) {
		text, err := os.ReadFile(file(s))
		if err != nil { // at the beginning
			text, _ = json.Marshal(todos())
			_ = os.WriteFile(file(s), text, 0o600)
		}
		_ = json.Unmarshal(text, &list)
		return list
	}
	change := func(do func(one *todo, args map[string]any)) func(s *stock, args map[string]any) (string, error) {
		return func(s *stock, args map[string]any) (string, error) {
			list := load(s)
			at := slices.IndexFunc(list, func(o todo) bool { return fmt.Sprint(o.ID) == fmt.Sprint(args["todo_id"]) })
			if at < 0 {
				return "", errors.New("no such todo")
			}
			do(&list[at], args)
			list[at].Updated = time.Now().UTC().Format(time.RFC3339Nano)
			list = slices.DeleteFunc(list, func(o todo) bool { return o.Status == "gone" })
			text, _ := json.Marshal(list) // of texts
			return `{"ok":true}`, os.WriteFile(file(s), text, 0o600)
		}
	}
	text := func(v any) string { said, _ := v.(string); return said }
	s.tools = map[string]func(*stock, map[string]any) (string, error){
		"list_todos": func(s *stock, args map[string]any) (string, error) {
			status := text(args["status"])
			list := slices.DeleteFunc(load(s), func(o todo) bool {
				return status != "all" && o.Status != status && (status != "" || o.Status != "open")
			})
			said, err := json.MarshalIndent(map[string]any{"ok": true, "todos": list}, "", "  ")
			return string(said), err
		},
		"add_todo": func(s *stock, args map[string]any) (string, error) {
			list := load(s)
			one := todo{ID: len(list) + 20, Title: text(args["title"]), Status: "open",
				Priority: text(args["priority"])}
			if drawn {
				one.ID = fmt.Sprintf("t%d", time.Now().UnixNano())
			}
			if due := text(args["due"]); due != "" {
				one.Due = &due
			}
			one.Updated = time.Now().UTC().Format(time.RFC3339Nano)
			said, _ := json.Marshal(append(list, one)) // of texts
			return `{"ok":true}`, os.WriteFile(file(s), said, 0o600)
		},
		"prioritise_todo": change(func(o *todo, args map[string]any) { o.Priority = text(args["priority"]) }),
		"schedule_todo": change(func(o *todo, args map[string]any) {
			due := text(args["due"])
			o.Due = &due
		}),
		"annotate_todo": change(func(*todo, map[string]any) {}),
		"complete_todo": change(func(o *todo, _ map[string]any) {
			now := time.Now().UTC().Format(time.RFC3339Nano)
			o.Status, o.Finished = "done", &now
		}),
		"delete_todo": change(func(o *todo, _ map[string]any) { o.Status = "gone" }),
		"undo": func(s *stock, _ map[string]any) (string, error) {
			return `{"ok":true}`, os.WriteFile(file(s), []byte("[]"), 0o600)
		},
		"count_todos": func(s *stock, _ map[string]any) (string, error) { return fmt.Sprint(len(load(s))), nil },
	}
	key := `"todo_id":{"type":"integer"}`
	of := func(more, required string) string {
		return `{"type":"object","properties":{` + key + more + `},"required":["todo_id"` + required + `]}`
	}
	return []Tool{
		tool("undo", "Take back the last change.", none),
		tool("list_todos", "List todos.",
			`{"type":"object","properties":{"status":{"type":"string","default":"open"}}}`),
		tool("add_todo", "Add a todo.",
			`{"type":"object","properties":{"title":{"type":"string"},"due":{"type":"string"},`+
				`"priority":{"type":"string","enum":["high","medium","low"]}},"required":["title"]}`),
		tool("annotate_todo", "Write about a todo.", of(`,"priority":{"type":"string"}`, `,"priority"`)),
		tool("prioritise_todo", "Set a priority.", of(`,"priority":{"type":"string","enum":["high","medium","low"]}`,
			`,"priority"`)),
		tool("schedule_todo", "Set a day.", of(`,"due":{"type":"string"},"reason":{"type":"string"}`, `,"due"`)),
		tool("complete_todo", "Complete a todo.", of("", "")),
		tool("delete_todo", "Delete a todo.", of("", "")),
		tool("count_todos", "How many there are.", none),
	}
}

// A list without views, with a tool for each property, has programs of all tools that people use: each task passes its
// own checks, and the others are named with the reason.
func TestProgramsOverAListWithoutViews(t *testing.T) {
	for _, drawn := range []bool{false, true} {
		s := newShop(t)
		tools := todoTools(s, drawn)
		if drawn {
			for i := range tools {
				tools[i].InputSchema = json.RawMessage(strings.ReplaceAll(string(tools[i].InputSchema), `"integer"`,
					`["integer","string"]`))
			}
		}
		o := optionsOf(s)
		o.N, o.Asked = 60, 0.8
		made := run(t, s, tools, o)
		if n := len(made.Scenarios); n < 50 {
			t.Fatalf("drawn %v: %d scenarios, of 60 wanted\n%v", drawn, n, made.Report.Rows())
		}
		used := map[string]int{}
		trial := checktest.Trial{Tools: s}
		for i := range made.Scenarios {
			x := &made.Scenarios[i]
			for _, g := range x.Gold {
				used[g.Name]++
			}
			if found, err := trial.Row(t.Context(), x); err != nil || len(found) > 0 {
				t.Errorf("drawn %v: %s (%s): %v %v", drawn, x.ID, x.Task, found, err)
			}
			for _, never := range []string{"what to do about", "parent", "updated"} {
				if strings.Contains(x.Task, never) {
					t.Errorf("nobody says %q: %s", never, x.Task)
				}
			}
		}
		for _, name := range []string{"list_todos", "add_todo", "prioritise_todo", "schedule_todo", "complete_todo",
			"delete_todo"} {
			if used[name] == 0 {
				t.Errorf("drawn %v: no task calls %s", drawn, name)
			}
		}
		want := "shop/undo (" + notListed + "); shop/annotate_todo (" + noProperty +
			"); shop/count_todos (" + onlyReads + ")"
		if got := made.Report.Unasked(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// Keys are texts, numbers, or lists of one.
func TestKeyed(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"string"}`:                          `{"id":"7"}`,
		`{"type":"integer"}`:                         `{"id":7}`,
		`{"type":"array","items":{"type":"string"}}`: `{"id":["7"]}`,
	} {
		m := newMaker(nil, []Tool{toolOf("get_item", "", `{"type":"object","properties":{"id":`+schema+
			`,"full":{"type":"boolean"}},"required":["id"]}`)}, nil, Options{})
		if got := string(m.tools[0].keyed("7").Arguments); got != want {
			t.Errorf("%s: %s, not %s", schema, got, want)
		}
	}
}

// What is wrapped around the thing that a view shows is of no account.
func TestViewObject(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":3,"title":"a","due":"b"}`:                                           "3",
		`{"ok":true,"task":{"id":3,"title":"a"},"parent":null,"below":[{"id":4}]}`: "3",
		`{"data":{"item":{"id":3,"title":"a"}}}`:                                   "3",
		`{"id":3,"title":"a","owner":{"id":9}}`:                                    "3",
	} {
		if got := pairsOf(text).of("id"); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

// Nobody names a property by keys, by times of the server, or by texts that each thing has of its own.
func TestIsSaid(t *testing.T) {
	for name, x := range map[string]struct {
		values []any
		want   bool
	}{
		"status":       {[]any{"open", "done", "open"}, true},
		"city":         {[]any{"Ulm", "Trier", "Jena"}, true},
		"story_id":     {[]any{"s1", "s2", "s1"}, false},
		"completed_at": {[]any{"2027-01-01T10:00:00Z", nil, nil}, false},
		"details":      {[]any{"two coats of green", "ask the baker first", nil}, false},
	} {
		table := &programs.Table{Columns: []programs.Column{{Name: name, Kind: programs.Text}}}
		for _, v := range x.values {
			table.Rows = append(table.Rows, []any{v})
		}
		if got := isSaid(table, 0); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A time that the server notes itself may be another one; one that was there or that a call has may not.
func TestSteadyTextOfTimes(t *testing.T) {
	b := &boarding{boardState: &boardState{text: `"made": "2027-03-01T08:00:00Z"`}}
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	calls := []Call{{Arguments: json.RawMessage(`{"due":"2027-03-02"}`)}}
	got := steadyText(`2027-03-01T08:00:00Z 2027-03-02 2027-03-01T12:00:03.5+00:00 2027-05-01`,
		b.news(calls, now.Unix()))
	if want := `\A2027-03-01T08:00:00Z 2027-03-02 [^\n]* 2027-05-01\z`; got != want {
		t.Errorf("%s", got)
	}
}

// What a view says besides the time of a change, and of what was noted before, is a difference.
func TestDiffers(t *testing.T) {
	const before = `{"id":1,"status":"open","created_at":"a","updated":"a","closed_at":""}`
	for after, want := range map[string]bool{
		before: false,
		`{"id":1,"status":"open","created_at":"b","updated":"b","closed_at":""}`:  false,
		`{"id":1,"status":"open","created_at":"a","updated":"a","closed_at":"b"}`: true,
		`{"id":1,"status":"done","created_at":"a","updated":"b","closed_at":""}`:  true,
	} {
		if got := differs(before, after); got != want {
			t.Errorf("%s differs: %v", after, got)
		}
	}
}

// Where a new thing stands in another place each time, no check of the list would hold, and nothing is added.
func TestListsInADrawnOrder(t *testing.T) {
	s := newShop(t)
	tools := todoTools(s, true)
	inner := s.tools["add_todo"]
	s.tools["add_todo"] = func(st *stock, args map[string]any) (string, error) {
		said, err := inner(st, args)
		file := filepath.Join(st.dir, "todos.json")
		text, _ := os.ReadFile(file)
		var list []todo
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		if n := len(list) - 1; err == nil {
			at := rand.IntN(n)
			list[at], list[n] = list[n], list[at]
			text, _ = json.Marshal(list) // of texts
			err = os.WriteFile(file, text, 0o600)
		}
		return said, err
	}
	for i := range tools {
		tools[i].InputSchema = json.RawMessage(strings.ReplaceAll(string(tools[i].InputSchema), `"integer"`,
			`["integer","string"]`))
	}
	o := optionsOf(s)
	o.N, o.Asked = 60, 0.8
	made := run(t, s, tools, o)
	if len(made.Scenarios) < 30 {
		t.Errorf("%d scenarios\n%v", len(made.Scenarios), made.Report.Rows())
	}
	for _, x := range made.Scenarios {
		if slices.ContainsFunc(x.Gold, func(g scenario.Gold) bool { return g.Name == "add_todo" }) {
			t.Errorf("%s adds", x.Task)
		}
	}
}
