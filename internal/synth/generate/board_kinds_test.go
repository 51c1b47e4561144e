package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/synth/programs"
)

// thing is an entry of one of the lists of a server that keeps contacts, deals, orders and stock.
type thing = map[string]any

// kindsBegin are its lists at the beginning: deals and orders name contacts by their keys.
func kindsBegin() map[string][]thing {
	lists := map[string][]thing{}
	places := []string{"Bergen", "Bristol", "Turin", "Leeds"}
	for i, name := range strings.Split("Ana Berg|Tom Okafor|Lucia Ferri|Jon Mills|Priya Nair|Kai Lind|Marta Sol", "|") {
		lists["contacts"] = append(lists["contacts"], thing{"id": 31 + i, "name": name, "city": places[i%4],
			"email": strings.ToLower(strings.Fields(name)[0]) + "@example.org"})
	}
	for i, title := range strings.Split("Roastery refit|Menu cards|Wine labels|Poster series|Spice tins|Sail covers|"+
		"Seed catalogue|Loyalty cards", "|") {
		lists["deals"] = append(lists["deals"], thing{"id": 101 + i, "title": title, "contact_id": 31 + i*i%7,
			"contact_name": lists["contacts"][i*i%7]["name"], "value": 900 + i*i*130,
			"stage": []string{"lead", "offer", "won"}[i%3]})
	}
	for i := range 12 {
		lists["orders"] = append(lists["orders"], thing{"id": 5001 + i, "contact_id": 31 + i*5%7,
			"article": []string{"cups", "bags", "tins"}[i%3], "quantity": 40 + i*i*7,
			"status": []string{"open", "packed", "shipped"}[i%3]})
	}
	for i, name := range strings.Split("cups|bags|tins|rope|lids|tape", "|") {
		lists["stock"] = append(lists["stock"], thing{"sku": fmt.Sprint("S-", 10+i), "name": name, "left": i * i * 9})
	}
	return lists
}

func kindTools(s *shop) (tools []Tool) {
	load := func(s *stock) (lists map[string][]thing) {
		text, err := os.ReadFile(filepath.Join(s.dir, "lists.json"))
		if err != nil { // at the beginning
			text, _ = json.Marshal(kindsBegin()) // of texts and numbers
			_ = os.WriteFile(filepath.Join(s.dir, "lists.json"), text, 0o600)
		}
		_ = json.Unmarshal(text, &lists)
		return lists
	}
	save := func(s *stock, lists map[string][]thing) (string, error) {
		text, _ := json.Marshal(lists) // as it was read
		return `{"ok":true}`, os.WriteFile(filepath.Join(s.dir, "lists.json"), text, 0o600)
	}
	list := func(name string, by ...string) {
		s.tools["list_"+name] = func(s *stock, args map[string]any) (string, error) {
			found := slices.DeleteFunc(load(s)[name], func(x thing) bool {
				return slices.ContainsFunc(by, func(p string) bool { return args[p] != nil && args[p] != x[p] })
			})
			text, err := json.Marshal(map[string]any{name: found})
			return string(text), err
		}
		var filters []string
		for _, p := range by {
			filters = append(filters, `"`+p+`":{"type":"`+kindOfParam(p)+`"}`)
		}
		tools = append(tools, tool("list_"+name, "List "+name+".",
			`{"type":"object","properties":{`+strings.Join(filters, ",")+`}}`))
	}
	change := func(called, name string, does func(all []thing, at int, args map[string]any) []thing, fields ...string) {
		s.tools[called] = func(s *stock, args map[string]any) (string, error) {
			lists := load(s)
			at := slices.IndexFunc(lists[name], func(x thing) bool { return x["id"] == args["id"] })
			if at < 0 {
				return "", errors.New("no such thing")
			}
			lists[name] = does(lists[name], at, args)
			return save(s, lists)
		}
		said := []string{`"id":{"type":"integer"}`}
		for _, p := range fields {
			said = append(said, `"`+p+`":{"type":"`+kindOfParam(p)+`"}`)
		}
		tools = append(tools, tool(called, "Change one.", `{"type":"object","properties":{`+strings.Join(said, ",")+
			`},"required":["id"]}`))
	}
	edit := func(all []thing, at int, args map[string]any) []thing {
		for name, v := range args {
			all[at][name] = v
		}
		return all
	}
	list("contacts")
	list("deals", "stage", "contact_id")
	list("orders")
	list("stock")
	change("update_contact", "contacts", edit, "name", "city", "email")
	change("update_deal", "deals", edit, "title", "value", "stage", "contact_id")
	change("delete_deal", "deals", func(all []thing, at int, _ map[string]any) []thing {
		return slices.Delete(all, at, at+1)
	})
	change("set_order_status", "orders", edit, "status")
	return tools
}

func kindOfParam(name string) string {
	if slices.Contains([]string{"id", "contact_id", "value"}, name) {
		return "integer"
	}
	return "string"
}

// Of a server with several lists each has programs, which name things through references, and whose calls take no key
// that nothing has shown. Each passes its checks, and what is done to another list besides does not.
func TestProgramsOverSeveralLists(t *testing.T) {
	s := newShop(t)
	tools := kindTools(s)
	o := optionsOf(s)
	o.N, o.Asked = 160, 0.8
	made := run(t, s, tools, o)
	if n := len(made.Scenarios); n < 120 {
		t.Fatalf("%d scenarios, of 160 wanted\n%v", n, made.Report.Rows())
	}
	used, through, byKey, meddled := map[string]int{}, 0, 0, 0
	trial := checktest.Trial{Tools: s}
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		if found, err := trial.Row(t.Context(), x); err != nil || len(found) > 0 {
			t.Errorf("%s (%s): %v %v", x.ID, x.Task, found, err)
		}
		listed, changes := map[string]bool{}, false
		for _, g := range x.Gold {
			used[g.Name]++
			listed[g.Name] = true
			changes = changes || !strings.HasPrefix(g.Name, "list_")
			if strings.Contains(string(g.Arguments), `"contact_id"`) {
				if byKey++; !listed["list_contacts"] {
					t.Errorf("%s: %s by a key that nothing has shown", x.Task, g.Name)
				}
			}
		}
		if listed["list_contacts"] && (listed["list_deals"] || listed["list_orders"]) {
			through++
		}
		for _, never := range []string{"contact name", "whose contact is", "whose email", "the Okafor", "the Berg"} {
			if strings.Contains(x.Task, never) {
				t.Errorf("nobody says %q: %s", never, x.Task)
			}
		}
		if !changes || listed["set_order_status"] {
			continue
		}
		more := *x
		more.Gold = append(slices.Clone(x.Gold), Call{Tool: "set_order_status",
			Arguments: json.RawMessage(`{"id":5001,"status":"lost"}`)}.gold())
		if found, err := trial.Row(t.Context(), &more); err != nil || len(found) == 0 {
			t.Errorf("%s passes when another list changes, too: %v", x.Task, err)
		}
		meddled++
	}
	for _, x := range tools {
		if used[x.Name] == 0 {
			t.Errorf("no task calls %s: %v", x.Name, used)
		}
	}
	if through < 10 || byKey == 0 || meddled < 10 {
		t.Errorf("%d tasks over two lists, %d calls by a key, %d tasks meddled with", through, byKey, meddled)
	}
}

// Days that are shown with the time 0:00 are days; those of which one has another time keep it.
func TestAtMidnight(t *testing.T) {
	for text, want := range map[string]string{
		"2027-01-08 00:00:00|2027-02-01T00:00:00Z|":    "2027-01-08|2027-02-01|",
		"2027-01-08 00:00:00|2027-02-01 09:30:00":      "2027-01-08 00:00:00|2027-02-01 09:30:00",
		"2027-01-08 00:00:00.000000|2027-02-01T00:00Z": "2027-01-08|2027-02-01",
	} {
		table := &programs.Table{Columns: []programs.Column{{Name: "due", Kind: programs.Date}}}
		var got []string
		for v := range strings.SplitSeq(text, "|") {
			table.Rows = append(table.Rows, []any{v})
			if v == "" {
				table.Rows[len(table.Rows)-1][0] = nil
			}
		}
		atMidnight(table)
		for _, row := range table.Rows {
			got = append(got, programs.Show(row[0]))
		}
		if said := strings.Join(got, "|"); said != want {
			t.Errorf("%s: %s, not %s", text, said, want)
		}
	}
	if !sameSaid("2027-01-08 00:00:00", "2027-01-08") || sameSaid("2027-01-08 09:00:00", "2027-01-08") {
		t.Error("midnight is no time of its own, nine o'clock is")
	}
}

// Things of which most share their names are called by short keys; of what names a listed thing twice one column stays.
func TestTidy(t *testing.T) {
	column := func(name string) programs.Column { return programs.Column{Name: name, Kind: programs.Text} }
	people := &programs.Table{Name: "contacts", One: "contact", Key: 0, Label: 1,
		Columns: []programs.Column{column("id"), column("name")}}
	tasks := func(key string, names ...string) shownTable {
		list := &programs.Table{Name: "tasks", One: "task", Key: 0, Label: 1, Columns: []programs.Column{column("id"),
			column("title"), column("contact_id"), column("contact_name"), column("owner_name"), column("owner")}}
		list.Columns[2].Ref = people
		for i, name := range names {
			list.Rows = append(list.Rows, []any{fmt.Sprint(key, i), name, "c", "Ana", "Ben", "b"})
		}
		return shownTable{Table: list}
	}
	for _, tc := range []struct {
		of    shownTable
		label int
	}{
		{tasks("T-", "call", "call", "mail", "mail", "fax"), 0},
		{tasks("T-", "call", "mail", "fax"), 1},
		{tasks("3f0c9a52-77d1-", "call", "call", "mail", "mail"), 1},
	} {
		tc.of.tidy([]*programs.Table{people, tc.of.Table})
		tc.of.number()
		var names []string
		for _, c := range tc.of.Columns {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != "id title contact_id owner_name owner" || tc.of.Label != tc.label ||
			tc.of.Columns[3].Says != "owner" {
			t.Errorf("%s, called by column %d, owner_name said %q", got, tc.of.Label, tc.of.Columns[3].Says)
		}
	}
}
