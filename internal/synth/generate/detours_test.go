package generate

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/synth/programs"
)

// takesSQL is a tool whose only argument is a statement.
var takesSQL = sqlTool{tool: "sql", argument: "query"}

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
	db := &sqlServer{read: takesSQL, write: takesSQL}
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
	added := program("Rice Pie", "INSERT INTO dish (name, kind, price) VALUES ('Rice Pie', 'sweet', 6)")
	named := program("", "SELECT id FROM staff WHERE first_name = 'Ana' AND last_name = 'Lund'")
	priced := program("", "UPDATE dish SET price = 3 WHERE id = 1")
	sweets := program("", "SELECT COUNT(*) FROM dish WHERE price > 3 AND kind = 'sweet'")
	dear := program("", "SELECT name FROM dish ORDER BY price")
	cooks := program("", "SELECT DISTINCT role FROM staff", "SELECT id FROM staff WHERE role = 'cook'")
	for name, x := range map[string]struct {
		p    *programs.Program
		way  func(r *rand.Rand) *detour
		want []string // one of them is what is made
	}{
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
			"=> UPDATE staff SET price = 3 WHERE id = 1\nstaff has no column price. I look at dish. " +
				"=> SELECT * FROM dish LIMIT 3\ndish has id, name, price and kind: price is one of them. => " +
				priced.Steps[0].SQL}},
		"next column": {cooks, func(r *rand.Rand) *detour { return db.nextColumn(r, cooks) }, []string{
			"=> SELECT id FROM staff WHERE team = 'cook'\nNothing has this team. I look at which there are. " +
				"=> SELECT DISTINCT team FROM staff\ncook is none of them: day, night. " +
				"The next column for it is role. => SELECT DISTINCT role FROM staff\n" +
				"=> SELECT id FROM staff WHERE role = 'cook'"}},
		"one of two": {sweets, func(*rand.Rand) *detour { return db.oneOfTwo(rand.New(rand.NewPCG(1, 1)), sweets) },
			[]string{"=> SELECT COUNT(*) FROM dish WHERE price > 3 AND kind = 'the sweet'\n" +
				"Nothing meets both. I leave out kind and look at what stands there. " +
				"=> SELECT DISTINCT kind FROM dish WHERE price > 3\nsweet stands there: it is written so. " +
				"=> SELECT COUNT(*) FROM dish WHERE price > 3 AND kind = 'sweet'"}},
		"table": {priced, func(*rand.Rand) *detour { return db.missingTable(rand.New(rand.NewPCG(1, 1)), w, priced) },
			[]string{"=> UPDATE items SET price = 3 WHERE id = 1\nThere is no table items. " +
				"The list has staff, dish. I look at dish. => SELECT * FROM dish LIMIT 3\n" +
				"dish has id, name, price and kind: each row is one dish. This is the table. " +
				"=> UPDATE dish SET price = 3 WHERE id = 1"}},
		"kind": {sweets, func(r *rand.Rand) *detour {
			return db.kindForTable(rand.New(rand.NewPCG(1, 1)), w, sweets, 0)
		}, []string{"=> SELECT * FROM sweet\nThere is no table sweet. dish has id, name, price and kind. " +
			"I look at what stands in kind. => SELECT DISTINCT kind FROM dish\nkind has starter, sweet. " +
			"sweet is no table but one of them. => " + sweets.Steps[0].SQL}},
		"noun": {sweets, func(*rand.Rand) *detour { return db.nounTested(rand.New(rand.NewPCG(3, 1)), sweets) },
			[]string{"=> SELECT COUNT(*) FROM dish WHERE type = 'dish' AND price > 3 AND kind = 'sweet'\n" +
				"There is no column type. I look at what dish has. => SELECT * FROM dish LIMIT 3\n" +
				"dish has id, name, price and kind. No column says dish, as each row is one. " +
				"I leave this condition out. => " + sweets.Steps[0].SQL}},
		"noun as a kind": {dear, func(r *rand.Rand) *detour {
			for { // a third are so
				if d := db.nounTested(r, dear); d.calls[0].Slip == slipEmpty {
					return d
				}
			}
		}, []string{"=> SELECT name FROM dish WHERE kind = 'dish' ORDER BY price\n" +
			"It finds nothing. I look at what stands in kind. => SELECT DISTINCT kind FROM dish\n" +
			"kind has starter, sweet, and no dish: each row of dish is one. I leave this condition out. " +
			"=> " + dear.Steps[0].SQL}},
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

// No kind is looked for in the place of a number that each thing has of its own.
func TestNoNextColumnOfANumber(t *testing.T) {
	db := &sqlServer{read: takesSQL}
	staff := programs.TableOf("staff", programs.Records(`[{"id":1,"name":"Ana","phone":"555-01","team":"day"},
		{"id":2,"name":"Ben","phone":"555-02","team":"day"},{"id":3,"name":"Cai","phone":"555-03","team":"night"}]`))
	p := programs.NewQuestion(programs.Lookup, "lookup", nil, programs.Answer{}, staff)
	p.Steps = []programs.Step{{SQL: "SELECT id FROM staff WHERE phone = '555-02'"}}
	if d := db.nextColumn(rand.New(rand.NewPCG(1, 1)), p); d != nil {
		t.Errorf("%+v", d)
	}
}

// Detours in a row are told before the next call that is learnt, and none is made twice.
func TestDetoursInARow(t *testing.T) {
	one := func(text, slip string) Call {
		c := (takesSQL).call(text)
		c.Slip = slip
		return c
	}
	got := statementsOf(along([]Call{one("look", ""), one("right", "")}, 1, []detour{
		{0, []Call{one("a", slipEmpty)}, "A was wrong.", "a",
			func(c Call) bool { return c.key() == one("look", "").key() }},
		{0, []Call{one("b", slipRefused), one("columns", "")}, "It is x.", "", nil},
		{0, []Call{one("c", slipEmpty)}, "C was wrong.", "c", nil},
	}))
	want := []string{"=> a", "=> b", "A was wrong. => columns", "=> c", "It is x. C was wrong. => right"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	answered := along(nil, 0, []detour{{0, []Call{one("a", slipRefused), one("look", "")}, "", "", nil}})
	if got := statementsOf(answered); !slices.Equal(got, []string{"=> a", "=> look"}) {
		t.Errorf("before an answer: %q", got)
	}
}

// Who takes a table that is not there before anything is looked at looks at the list then, and once.
func TestMissingTableFirst(t *testing.T) {
	list := Call{Tool: "list_tables"}
	db := &sqlServer{read: takesSQL, list: &list}
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
			!strings.HasPrefix(got[2].Why, "The list has dish. What I called ") ||
			got[3].Why != "dish has id and name." {
			t.Fatalf("%+v", got)
		}
		return
	}
	t.Fatal("the list is always there first")
}

// That somebody has nothing yet is a reason to add it, and is said only where it is so.
func TestNoneYet(t *testing.T) {
	db := &sqlServer{read: takesSQL, write: takesSQL}
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

// In half of the guesses the word has no three letters in a row of the right one. What is looked at then has the right
// one, and all that is there is quoted before it is said which it is.
func TestWrongColumn(t *testing.T) {
	db := &sqlServer{read: takesSQL, write: takesSQL}
	staff := programs.TableOf("staff", programs.Records(`[{"id":1,"name":"Ana","price":2},
		{"id":2,"name":"Bo","price":3}]`))
	dish := programs.TableOf("dish", programs.Records(`[{"id":1,"name":"Pea Soup","price":7},
		{"id":2,"name":"Plum Tart","price":5}]`))
	p := programs.NewQuestion(programs.Total, "total", nil, programs.Answer{}, staff, dish)
	p.Steps = []programs.Step{{SQL: "SELECT SUM(price) FROM dish WHERE id > 1"}}
	far := 0
	for seed := range uint64(100) {
		d := db.wrongColumn(rand.New(rand.NewPCG(seed, 1)), p)
		said := strings.TrimSuffix(strings.TrimPrefix(statementsOf(d.calls[:1])[0], "=> SELECT SUM("),
			") FROM dish WHERE id > 1")
		if slices.Contains(dish.OtherNames(2), said) {
			far++
		} else if !strings.Contains(said, "price") {
			t.Errorf("%s is neither like it nor another word", said)
		}
		if d.calls[1].Shows != "price" || !strings.HasPrefix(d.why, "dish has id, name and price. ") ||
			!strings.Contains(d.why, said) || strings.LastIndex(d.why, "price") < len("dish has id, name and price. ") {
			t.Errorf("%+v: %s", d.calls[1], d.why)
		}
	}
	if far < 35 || far > 65 {
		t.Errorf("%d of 100 are other words", far)
	}
}

// The word that a recovery comes to stands in a result before it: in that of its own look, or in another one's.
func TestRecoveriesComeToWhatIsShown(t *testing.T) {
	look, wrong := Call{Tool: "look"}, Call{Tool: "wrong", Slip: slipRefused}
	for name, x := range map[string]struct {
		d    detour
		text string
		want bool
	}{
		"shown":       {detour{calls: []Call{wrong}, comes: "dish"}, "dish, staff", true},
		"not shown":   {detour{calls: []Call{wrong}, comes: "dish"}, "staff", false},
		"its look":    {detour{calls: []Call{wrong, {Tool: "look", Shows: "price"}}}, "name, price", true},
		"not in that": {detour{calls: []Call{wrong, {Tool: "look", Shows: "price"}}}, "name", false},
	} {
		calls := along([]Call{look, {Tool: "right"}}, 1, []detour{x.d})
		got := &Played{}
		for _, c := range calls {
			if c.Slip != "" {
				got.Results = append(got.Results, Answered{trajectory.CallToolError, "no such thing as dish or price"})
			} else {
				got.Results = append(got.Results, Answered{trajectory.CallOK, x.text})
			}
		}
		if slipsFail(calls, got) != x.want {
			t.Errorf("%s: %v", name, !x.want)
		}
	}
}

// Persons are looked for among persons alone, and things among things.
func TestWrongTable(t *testing.T) {
	db := &sqlServer{read: takesSQL}
	table := func(name string, rows string) *programs.Table { return programs.TableOf(name, programs.Records(rows)) }
	cook := table("cook", `[{"id":1,"name":"Ana Lund"},{"id":2,"name":"Ben Roy"}]`)
	guest := table("guest", `[{"id":1,"name":"Cai Ito"},{"id":2,"name":"Ida Holm"}]`)
	dish := table("dish", `[{"id":1,"name":"Pea"},{"id":2,"name":"Tart"}]`)
	w := &programs.World{Tables: []*programs.Table{cook, guest, dish}}
	for sql, want := range map[string]string{
		"SELECT * FROM cook WHERE name LIKE '%Ana%'": "There is none in guest. I look in cook.",
		"SELECT * FROM dish WHERE name LIKE '%Pea%'": "",
	} {
		for seed := range uint64(8) {
			got := ""
			p := &programs.Program{Steps: []programs.Step{{SQL: sql}}}
			if d := db.wrongTable(rand.New(rand.NewPCG(seed, 1)), w, p); d != nil {
				got = d.why
			}
			if got != want {
				t.Errorf("%s: %q", sql, got)
			}
		}
	}
}

// A property that nothing records is asked for in vain.
func TestExits(t *testing.T) {
	db := &sqlServer{read: takesSQL, write: takesSQL}
	atEnd, byName := 0, 0
	for index := range programs.NumDomains() {
		r := rand.New(rand.NewPCG(uint64(index), 3))
		w := programs.Invent(r, index)
		for range 3 {
			p := programs.Draw(r, w, programs.Unknown)
			if p == nil || p.Then() != nil {
				continue
			}
			d := db.noSuchColumn(r, p)
			if d == nil {
				continue
			}
			if !strings.Contains(p.Working(), p.Tables[0].Shown()) || !strings.Contains(p.Working(), p.Unrecorded()) {
				t.Errorf("%s: %q", p.Unrecorded(), p.Working())
			}
			calls := db.gold(w, p)
			last := along(calls, len(calls)-len(p.Steps), []detour{*d})
			switch at := slices.IndexFunc(last, isSlip); {
			case len(p.Steps) == 0 && at == len(last)-2:
				atEnd++
			case len(p.Steps) > 0 && strings.HasPrefix(last[at+1].Why, "There is no column "):
				byName++
			default:
				t.Errorf("%q", statementsOf(last))
			}
		}
	}
	if atEnd < 10 || byName < 10 {
		t.Errorf("%d properties are asked for at the end, and %d of a thing", atEnd, byName)
	}
}

// Nobody guesses a column of a table whose columns stand in a result before, or in a change.
func TestWhatIsReadIsNotGuessed(t *testing.T) {
	db := &sqlServer{read: takesSQL, write: takesSQL, create: takesSQL}
	about := regexp.MustCompile(`There is no column \S+ I look at what (\S+) has\.|` +
		`has no column \S+ I look at (\S+)\.$`)
	guessed := 0
	for seed := range uint64(8) {
		for index := range programs.NumDomains() {
			r := rand.New(rand.NewPCG(seed, uint64(index)))
			w := programs.Invent(r, index)
			for kind := range programs.Shares() {
				p := programs.Draw(rand.New(rand.NewPCG(seed, uint64(index+len(kind)))), w, kind)
				if p == nil || len(p.Steps) == 0 {
					continue
				}
				calls := db.slip(r, w, p, db.gold(w, p))
				for i, c := range calls {
					m := about.FindStringSubmatch(c.Why)
					if m == nil || i == 0 || calls[i-1].Slip != slipRefused {
						continue
					}
					guessed++
					shows := regexp.MustCompile(`(?:SELECT \* FROM|UPDATE|INTO) ` + m[1] + m[2] + `\b`)
					for _, before := range statementsOf(calls[:i-1]) {
						if shows.MatchString(before) && !slices.ContainsFunc(calls[:i-1], isSlip) {
							t.Errorf("%s after %s", statementsOf(calls[i-1:i]), before)
						}
					}
				}
			}
		}
	}
	if guessed < 50 {
		t.Errorf("%d columns were guessed", guessed)
	}
}
