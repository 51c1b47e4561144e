package generate

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/synth/programs"
)

// statementsOf are the statements of calls, and what is said before each.
func statementsOf(calls []Call) (list []string) {
	for _, c := range calls {
		var is struct{ Query string }
		_ = json.Unmarshal(c.Arguments, &is) // made of it
		list = append(list, strings.TrimSpace(c.Why+" => "+is.Query))
	}
	return list
}

// What goes wrong in each way, what is looked at then, and what is said before the right call.
func TestDetours(t *testing.T) {
	db := &sqlServer{read: sqlTool{"sql", "query"}, write: sqlTool{"sql", "query"}}
	staff := programs.TableOf("staff", programs.Records(`[{"id":1,"first_name":"Ana","last_name":"Lund","role":"cook","team":"day"},
		{"id":2,"first_name":"Ben","last_name":"Roy","role":"cook","team":"day"},
		{"id":3,"first_name":"Cai","last_name":"Ito","role":"waiter","team":"night"}]`))
	dish := programs.TableOf("dish", programs.Records(`[{"id":1,"name":"Pea Soup","price":7,"kind":"starter"},
		{"id":2,"name":"Plum Tart","price":5,"kind":"sweet"},{"id":3,"name":"Mint Sorbet","price":4,"kind":"sweet"}]`))
	w := &programs.World{Tables: []*programs.Table{staff, dish}}
	programs.Relate(w.Tables)
	programs.Understand(w.Tables)
	program := func(x string, steps ...string) *programs.Program {
		p := programs.NewQuestion(programs.Lookup, "lookup",
			map[string]string{"x": x, "one": "dish", "attr": "phone number"},
			programs.Answer{}, staff, dish)
		for _, s := range steps {
			p.Steps = append(p.Steps, programs.Step{SQL: s, Writes: !strings.HasPrefix(s, "SELECT")})
		}
		return p
	}
	asked := program("Pea Soup", "SELECT * FROM dish WHERE name LIKE '%Pea Soup%'")
	asked.Kind = programs.Unknown
	added := program("Rice Pie", "INSERT INTO dish (name, kind, price) VALUES ('Rice Pie', 'sweet', 6)")
	named := program("", "SELECT id FROM staff WHERE first_name = 'Ana' AND last_name = 'Lund'")
	priced := program("", "UPDATE dish SET price = 3 WHERE id = 1")
	sweets := program("", "SELECT COUNT(*) FROM dish WHERE price > 3 AND kind = 'sweet'")
	cooks := program("", "SELECT DISTINCT role FROM staff", "SELECT id FROM staff WHERE role = 'cook'")
	for name, x := range map[string]struct {
		p    *programs.Program
		way  func(r *rand.Rand) *detour
		want []string // one of them is what is made
	}{
		"new": {added, func(r *rand.Rand) *detour { return db.newThing(r, added) }, []string{
			"=> SELECT * FROM dish WHERE name LIKE '%Rice Pie%'\n" +
				"There is no Rice Pie yet: it is only to be added. => " +
				added.Steps[0].SQL}},
		"value": {added, func(*rand.Rand) *detour { return db.withoutValue(added) }, []string{
			"=> INSERT INTO dish (name, price) VALUES ('Rice Pie', 6)\n" +
				"kind must have a value. I look at which there are. " +
				"=> SELECT DISTINCT kind FROM dish\nkind must have a value: sweet. => " + added.Steps[0].SQL}},
		"part": {named, func(r *rand.Rand) *detour { return db.wrongPart(r, named) }, []string{
			"=> SELECT * FROM staff WHERE first_name LIKE '%Ana Lund%'\n" +
				"The name stands in two columns, first_name and " +
				"last_name. => " + named.Steps[0].SQL,
			"=> SELECT * FROM staff WHERE first_name LIKE '%Ana Lund%'\n=> SELECT * FROM staff WHERE last_name LIKE " +
				"'%Ana Lund%'\nThe name stands in two columns, first_name and last_name. => " + named.Steps[0].SQL}},
		"home": {priced, func(r *rand.Rand) *detour { return db.wrongHome(r, w, priced) }, []string{
			"=> UPDATE staff SET price = 3 WHERE id = 1\nstaff has no column price: it is one of dish. => " +
				priced.Steps[0].SQL}},
		"next column": {cooks, func(r *rand.Rand) *detour { return db.nextColumn(r, cooks) }, []string{
			"=> SELECT id FROM staff WHERE team = 'cook'\nNothing has this team. I look at which there are. " +
				"=> SELECT DISTINCT team FROM staff\ncook is none of them: day, night. " +
				"The next column for it is role. => SELECT DISTINCT role FROM staff\n" +
				"=> SELECT id FROM staff WHERE role = 'cook'"}},
		"one of two": {sweets, func(*rand.Rand) *detour { return db.oneOfTwo(rand.New(rand.NewPCG(1, 1)), sweets) },
			[]string{"=> SELECT COUNT(*) FROM dish WHERE price > 3 AND kind = 'the sweet'\n" +
				"Nothing meets both. I leave out kind and look at what stands there. " +
				"=> SELECT DISTINCT kind FROM dish WHERE price > 3\nIt is written sweet. " +
				"=> SELECT COUNT(*) FROM dish WHERE price > 3 AND kind = 'sweet'"}},
		"table": {priced, func(*rand.Rand) *detour { return db.missingTable(rand.New(rand.NewPCG(1, 1)), w, priced) },
			[]string{"=> UPDATE dishes SET price = 3 WHERE id = 1\nThere is no table dishes. " +
				"The list has staff, dish. It can only be dish. => UPDATE dish SET price = 3 WHERE id = 1"}},
		"column": {asked, func(*rand.Rand) *detour { return db.noSuchColumn(asked) }, []string{
			"=> SELECT phone_number FROM dish WHERE name LIKE '%Pea Soup%'\n" +
				"There is no column phone_number. I look at " +
				"all that is recorded. => " + asked.Steps[0].SQL}},
	} {
		for seed := range uint64(6) {
			d := x.way(rand.New(rand.NewPCG(seed, 1)))
			if d == nil {
				t.Fatalf("%s: none", name)
			}
			var right []Call
			for _, s := range x.p.Steps {
				right = append(right, db.step(s))
			}
			if got := strings.Join(statementsOf(along(right, 0, []detour{*d})), "\n"); !slices.Contains(x.want, got) {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// Detours in a row are told before the next call that is learnt, and none is made twice.
func TestDetoursInARow(t *testing.T) {
	one := func(text, slip string) Call {
		c := (sqlTool{"sql", "query"}).call(text)
		c.Slip = slip
		return c
	}
	got := statementsOf(along([]Call{one("look", ""), one("right", "")}, 1, []detour{
		{0, []Call{one("a", slipEmpty)}, "A was wrong.", func(c Call) bool { return c.key() == one("look", "").key() }},
		{0, []Call{one("b", slipRefused), one("columns", "")}, "It is x.", nil},
		{0, []Call{one("c", slipEmpty)}, "C was wrong.", nil},
	}))
	want := []string{"=> a", "=> b", "A was wrong. => columns", "=> c", "It is x. C was wrong. => right"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Who takes a table that is not there before anything is looked at looks at the list then, and once.
func TestMissingTableFirst(t *testing.T) {
	list := Call{Tool: "list_tables"}
	db := &sqlServer{read: sqlTool{"sql", "query"}, list: &list}
	dish := programs.TableOf("dish", programs.Records(`[{"id":1,"name":"Pea Soup"},{"id":2,"name":"Plum Tart"}]`))
	w := &programs.World{Tables: []*programs.Table{dish}}
	p := programs.NewQuestion(programs.Count, "count", nil, programs.Answer{}, dish)
	p.Steps = []programs.Step{{SQL: "SELECT COUNT(*) FROM dish"}}
	for seed := range uint64(20) {
		d := db.missingTable(rand.New(rand.NewPCG(seed, 1)), w, p)
		if d == nil {
			t.Fatal("none")
		}
		got := along(db.gold(w, p), 2, []detour{*d})
		if d.step != firstStep {
			continue
		}
		if len(got) != 4 || got[0].Slip != slipRefused || got[1].Tool != "list_tables" || got[1].Shows != "dish" ||
			!strings.Contains(got[1].Why, "I look at which there are.") ||
			got[2].Why != "The list has dish. It can only be dish." || got[3].Why != "" {
			t.Fatalf("%+v", got)
		}
		return
	}
	t.Fatal("the list is always there first")
}

// That somebody has nothing yet is a reason to add it, and is said only where it is so.
func TestNoneYet(t *testing.T) {
	db := &sqlServer{read: sqlTool{"sql", "query"}, write: sqlTool{"sql", "query"}}
	cook := programs.TableOf("cook", programs.Records(`[{"id":1,"name":"Ana"},{"id":2,"name":"Ben"}]`))
	shift := programs.TableOf("shift", programs.Records(`[{"no":11,"cook_id":1},{"no":12,"cook_id":1},
		{"no":13,"cook_id":1}]`))
	shift.Columns[1].Ref = cook
	for key, want := range map[string]string{"1": "", "2": "=> SELECT * FROM shift WHERE cook_id = 2\n" +
		"Ben has no shift yet. This is the first one, so I add it. => INSERT INTO shift (no, cook_id) VALUES (14, 2)"} {
		p := programs.NewQuestion(programs.Insert, "insert", nil, programs.Answer{}, shift)
		p.Steps = []programs.Step{{SQL: "INSERT INTO shift (no, cook_id) VALUES (14, " + key + ")", Writes: true}}
		got := ""
		if d := db.noneYet(p); d != nil {
			got = strings.Join(statementsOf(along([]Call{db.step(p.Steps[0])}, 0, []detour{*d})), "\n")
		}
		if got != want {
			t.Errorf("%s: %q", key, got)
		}
	}
}
