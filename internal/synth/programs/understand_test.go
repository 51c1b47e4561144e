package programs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// hospital is what a server's own tables look like: keys by their numbers, a name in two columns, and the words of
// whoever made the schema.
func hospital() []*Table {
	tables := []*Table{
		TableOf("wings", Records(`[{"wing_id": 1, "name": "North", "chief_id": 103}, {"wing_id": 2, "name": "South", "chief_id": 101},
			{"wing_id": 3, "name": "West", "chief_id": 102}]`)),
		TableOf("Staff", Records(`[
			{"StaffNo": 101, "FirstName": "Ana", "LastName": "Lund", "HiredOn": "2019-03-02", "WorksNights": 1, "PayEUR": 2100, "wing_id": 1},
			{"StaffNo": 102, "FirstName": "Ben", "LastName": "Lund", "HiredOn": "2020-05-01", "WorksNights": 0, "PayEUR": 2500, "wing_id": 2},
			{"StaffNo": 103, "FirstName": "Cy", "LastName": "Holt", "HiredOn": "2021-07-09", "WorksNights": 1, "PayEUR": 1900, "wing_id": 1}]`)),
		TableOf("jobs", Records(`[{"no": 7, "staff": 101, "closed": null, "is_urgent": "yes", "cost_cents": 1250, "rooms": 2},
			{"no": 8, "staff": 103, "closed": "2024-05-02", "is_urgent": "no", "cost_cents": 900, "rooms": 5}]`)),
	}
	Relate(tables)
	Understand(tables)
	return tables
}

func TestUnderstand(t *testing.T) {
	tables := hospital()
	column := func(table int, name string) Column {
		i := slices.IndexFunc(tables[table].Columns, func(c Column) bool { return c.Name == name })
		return tables[table].Columns[i]
	}
	for name, ok := range map[string]bool{
		"head of a wing":          column(0, "chief_id").Ref == tables[1],
		"wing of a person":        column(1, "wing_id").Ref == tables[0],
		"person of a job":         column(2, "staff").Ref == tables[1],
		"key":                     tables[1].Columns[tables[1].Key].Name == "StaffNo",
		"name in two columns":     tables[1].rowLabel(tables[1].Rows[0]) == "Ana Lund",
		"one of the staff":        tables[1].One == "staff member" && tables[1].Many == "staff",
		"a job by its number":     tables[2].nameInRequest(tables[2].Rows[0]) == "job 7",
		"hired after":             column(1, "HiredOn").More == "hired after {v}",
		"when hired":              column(1, "HiredOn").Asks == "When was {x} hired?",
		"all are hired":           column(1, "HiredOn").No == "",
		"not closed yet":          column(2, "closed").No == "not closed yet",
		"works nights":            column(1, "WorksNights").Bool && column(1, "WorksNights").No == "that do not work nights",
		"urgent":                  column(2, "is_urgent").Yes == "that are urgent",
		"pay without its unit":    column(1, "PayEUR").caption() == "pay",
		"cents":                   column(2, "cost_cents").Cents && column(2, "cost_cents").Most == "most expensive",
		"things that are counted": column(2, "rooms").More == "with more than {v} rooms",
		"who is the chief":        column(0, "chief_id").Asks == "Who is the chief of {x}?",
	} {
		if !ok {
			t.Errorf("%s: %+v", name, tables)
		}
	}
}

// A column calls the things of another table by their whole names, where they are persons'; towns of one word it may
// have by chance. A week is a number of its own, and a unit behind "in" is not said.
func TestRelateByNames(t *testing.T) {
	of := func(name string, header []string, rows ...[]any) *Table {
		var records []Record
		for _, row := range rows {
			records = append(records, Record{Names: header, Values: row})
		}
		t := TableOf(name, records)
		t.Key = t.Label
		return t
	}
	tables := []*Table{
		of("members", []string{"name", "level"}, []any{"Ana Lund", "a"}, []any{"Bo Maes", "a"}, []any{"Cy Roux", "b"}),
		of("towns", []string{"name", "size"}, []any{"Bari", "a"}, []any{"Pisa", "a"}, []any{"Rome", "b"}),
		of("plots", []string{"plot", "holder", "in_place", "week", "depth_in_mm"},
			[]any{"P-1", "Bo Maes", "Rome", int64(30), int64(4)}, []any{"P-2", "Ana Lund", "Bari", int64(31), int64(5)},
			[]any{"P-3", "Cy Roux", "Pisa", int64(31), int64(6)}, []any{"P-4", nil, "Pisa", int64(32), int64(7)}),
	}
	Relate(tables)
	Understand(tables)
	plots := tables[2]
	if plots.Columns[1].Ref != tables[0] || plots.Columns[2].Ref != nil {
		t.Errorf("holders are of %v, places of %v", plots.Columns[1].Ref, plots.Columns[2].Ref)
	}
	if !plots.Columns[3].Label || plots.Columns[4].caption() != "depth" {
		t.Errorf("%+v, %q", plots.Columns[3], plots.Columns[4].caption())
	}
}

// Nobody asks for staff with a wing number above 1, and no task says how a column is called in a schema.
func TestTasksOverLiveTablesReadAsPeopleSpeak(t *testing.T) {
	w := &World{Name: "live", Tables: hospital()}
	n := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		for kind := range Shares() {
			p := Draw(r, w, kind)
			if p == nil || p.Made != nil { // the columns of a new table are said
				continue
			}
			n++
			text := strings.ToLower(p.Word(r, "train").Task)
			for _, bad := range []string{
				"_", "staffno", "hiredon", "wing above", "wing below", "chief above", "chief below",
				"staff above", "staff below", " eur ", "cents",
			} {
				if strings.Contains(text, bad) {
					t.Errorf("%q says %q", text, bad)
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d tasks", n)
	}
}

// What ends in a preposition in a schema has a noun where people speak of it.
func TestCaptionsAreNouns(t *testing.T) {
	w := TableOf("parts", []Record{
		{Names: []string{"name", "on_hand", "reorder_at", "valid_until"}, Values: []any{"belt", int64(4), int64(2),
			"2025-03-01"}},
		{Names: []string{"name", "on_hand", "reorder_at", "valid_until"}, Values: []any{"bolt", int64(9), int64(3),
			"2026-07-01"}},
	})
	Understand([]*Table{w})
	for i, want := range []string{"name", "stock on hand", "reorder level", "valid until date"} {
		if got := w.Columns[i].caption(); got != want {
			t.Errorf("%s is called %q, not %q", w.Columns[i].Name, got, want)
		}
	}
}

// What a list of JSON says of a thing with true and false is yes and no.
func TestUnderstandLists(t *testing.T) {
	table := TableOf("cards", Records(`[{"id":"a","name":"Oil","suspended":true,"priority":1},`+
		`{"id":"b","name":"Wax","suspended":false,"priority":3}]`))
	Understand([]*Table{table})
	if c := table.Columns[2]; c.Yes == "" || !c.flags("false") || c.show("true") != "yes" || c.show("false") != "no" {
		t.Errorf("%+v", c)
	}
}
