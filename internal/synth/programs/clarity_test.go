package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// What a request says of some rows is true of these alone: of flags without a value, values in other capitals, two
// sorts of one noun, moments on a day, and several texts in one value nothing is said.
func TestConditionsAreClear(t *testing.T) {
	jobs := func(column, values string) *World {
		rows := ""
		for i, v := range strings.Split(values, "|") {
			rows += fmt.Sprintf(`,{"id": %d, "name": "J%d", "rank": %d, %s}`,
				i+1, i, i+3, strings.ReplaceAll(column, "?", v))
		}
		return liveTables("jobs", "["+rows[1:]+"]")
	}
	for name, test := range map[string]struct {
		w   *World
		bad string // of SQL
	}{
		"no flag is not no":          {jobs(`"is_urgent": ?`, `"yes"|"no"|null|"no"`), "is_urgent (IS NULL|= 'no')"},
		"no number is not no":        {jobs(`"is_urgent": ?`, `1|0|null|0`), "is_urgent (IS NULL|= 0)"},
		"not open, and none":         {jobs(`"status": ?`, `"open"|"done"|null|"open"`), "status <>"},
		"Open and open":              {jobs(`"status": ?`, `"Open"|"open"|"done"|"done"`), "status (=|IN|<>) .*pen"},
		"early shifts, early level":  {jobs(`"shift": ?, "level": "early"`, `"early"|"late"|"late"|"late"`), "^early jobs .*shift = 'early'"},
		"a moment of that day":       {jobs(`"done_on": ?`, `"2024-05-06"|"2024-05-06 10:00"|"2024-05-07"|"2024-05-08"`), "done_on (>|<)"},
		"texts in one":               {jobs(`"tags": ?`, `"x; y"|"x"|"y"|"z"`), "tags (=|IN)"},
		"no phone, and an empty one": {jobs(`"phone": ?`, `"555-1"|""|null|"555-2"`), "phone IS (NOT )?NULL"},
		"three decimals":             {jobs(`"ratio": ?`, `0.123|0.5|0.75|0.25`), "ratio . 0.12"},
		"two lines":                  {jobs(`"note": ?`, `"a\nb"|"c"|"d"|"e"`), "a\nb"},
	} {
		n, bad := 0, matcher(test.bad)
		each(test.w, 150, []string{Count, List, Both, SetAll, Missing, Total, YesNo}, func(p *Program, sql string) {
			_, where, _ := strings.Cut(sql, " WHERE ")
			if n++; bad(p.slots["many"]+" "+where) && p.pattern != "missing" || strings.Contains(p.slots["v"], "\n") {
				t.Errorf("%s: %v: %s", name, p.slots, sql)
			}
		})
		if n < 20 {
			t.Errorf("%s: %d were drawn", name, n)
		}
	}
}

// Two columns are not called the same, nor is one thing said of both.
func TestColumnsAreToldApart(t *testing.T) {
	w := liveTables(
		"stations", `[{"id": 1, "name": "Nord"}, {"id": 2, "name": "Sued"}, {"id": 3, "name": "West"}]`,
		"trips", `[{"id": 1, "code": "T-1", "from_station_id": 1, "to_station_id": 2, "price_eur": 3, "price_usd": 4, "goals": 1,
			"home_city": "Oslo", "work_city": "Rome", "cost_per_kg": 2, "meeting_room_id": 5},
		{"id": 2, "code": "T-2", "from_station_id": 2, "to_station_id": 3, "price_eur": 5, "price_usd": 6, "goals": 0,
			"home_city": "Rome", "work_city": "Oslo", "cost_per_kg": 3, "meeting_room_id": 6},
		{"id": 3, "code": "T-3", "from_station_id": 3, "to_station_id": 1, "price_eur": 7, "price_usd": 9, "goals": 0,
			"home_city": "Oslo", "work_city": "Oslo", "cost_per_kg": 4, "meeting_room_id": 5}]`,
		"meeting_rooms", `[{"id": 5, "name": "Blue"}, {"id": 6, "name": "Red"}]`)
	trips := w.Tables[1]
	column := func(name string) Column { return trips.Columns[trips.column(name)] }
	for name, got := range map[string][2]string{
		"from_station is":  {column("from_station").caption(), "from station"},
		"to_station is":    {column("to_station").caption(), "to station"},
		"from_station of":  {column("from_station").withPhrase(), "whose from station is {v}"},
		"price_eur is":     {column("price_eur").caption(), "price eur"},
		"price_usd most":   {column("price_usd").Most, ""},
		"goals are no yes": {column("goals").morePhrase(), "with more than {v} goals"},
		"home_city":        {column("home_city").withPhrase(), "whose home city is {v}"},
		"cost per kg":      {column("cost_per_kg").morePhrase(), "whose cost per kg is above {v}"},
		"meeting room":     {column("meeting_room").caption(), "meeting room"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s %q, want %q", name, got[0], got[1])
		}
	}
}

// A column refers to a table by keys alone: neither do 3 items name the item 3, nor table 2 a dish, nor what starts an
// art; and no table gets another key when one refers to it.
func TestWhatRefersToNothing(t *testing.T) {
	w := liveTables(
		"arts", `[{"id": 1, "name": "Fresco"}, {"id": 2, "name": "Etching"}, {"id": 3, "name": "Collage"}]`,
		"orders", `[{"id": 11, "code": "A-1", "table_no": 1, "arts": 3, "start": 1, "art_id": 1},
			{"id": 12, "code": "A-2", "table_no": 2, "arts": 2, "start": 2, "art_id": 2},
			{"id": 13, "code": "A-3", "table_no": 3, "arts": 1, "start": 3, "art_id": 2}]`)
	for _, c := range w.Tables[1].Columns {
		if (c.Ref != nil) != (c.Name == "art_id") {
			t.Errorf("%s refers to %v", c.Name, c.Ref)
		}
	}
	w = liveTables(
		"mechanics", `[{"id": 1, "code": "SIN", "name": "Siv Inge"}, {"id": 2, "code": "BOK", "name": "Bo Kern"}]`,
		"bills", `[{"id": 5, "no": "B-1", "mechanic_id": 1}, {"id": 6, "no": "B-2", "mechanic_id": 2}]`,
		"jobs", `[{"id": 7, "no": "J-1", "mechanic": "SIN"}, {"id": 8, "no": "J-2", "mechanic": "BOK"}]`)
	if m := w.Tables[0]; m.Key != 0 || w.Tables[1].show(2, w.Tables[1].Rows[0]) != "Siv Inge" {
		t.Errorf("the key is column %d, and bill 1 is of %q", m.Key, w.Tables[1].show(2, w.Tables[1].Rows[0]))
	}
}

// A name in two columns is found by what stands in these, whatever its spaces, and none is made up of which nobody
// knows where the first name ends.
func TestNamesWithSpacesInTwoColumns(t *testing.T) {
	w := liveTables("staff", `[{"id": 1, "first_name": "Mary Ann", "last_name": "Holt", "boss_id": 2},
		{"id": 2, "first_name": "Bo", "last_name": "van Dam", "boss_id": 3}, {"id": 3, "first_name": "Cy", "last_name": "Lund", "boss_id": 1}]`)
	staff := w.Tables[0]
	o := openLive(t, w)
	if got := o.ask("SELECT id FROM staff WHERE id = " + staff.keyOf(staff.Rows[0])); !slices.Equal(got,
		[]string{"1"}) {
		t.Errorf("Mary Ann Holt is %q", got)
	}
	each(w, 200, []string{Insert}, func(p *Program, sql string) {
		if p.Made == nil && strings.Count(p.slots["x"], " ") != 1 {
			t.Errorf("%q: %s", p.slots["x"], sql)
		}
	})
}

// A name that another table has, too, is said with its noun, and no part of a name is one of another thing's.
func TestNamesOfOtherTables(t *testing.T) {
	w := liveTables(
		"mechanics", `[{"id": 1, "name": "Gus Lam", "age": 30}, {"id": 2, "name": "Ida Holt", "age": 40}, {"id": 3, "name": "Bo Kern", "age": 50}]`,
		"customers", `[{"id": 1, "name": "Ida Holt", "age": 31}, {"id": 2, "name": "Gus Motors", "age": 41}, {"id": 3, "name": "Al Fox", "age": 51}]`)
	said := map[string]bool{}
	each(w, 300, []string{Lookup, Set, Compare}, func(p *Program, sql string) { said[p.slots["x"]] = true })
	for _, name := range []string{"Gus", "Ida", "Holt", "Ida Holt"} {
		if said[name] {
			t.Errorf("%q may be another", name)
		}
	}
	for _, name := range []string{"Lam", "mechanic Ida Holt", "customer Ida Holt"} {
		if !said[name] {
			t.Errorf("nobody says %q", name)
		}
	}
	w = liveTables("staff", `[{"id": 1, "first_name": "James", "last_name": "Holt", "age": 3},
		{"id": 2, "first_name": "Ana", "last_name": "James", "age": 4}, {"id": 3, "first_name": "Cy", "last_name": "Lund", "age": 5}]`)
	each(w, 200, []string{Lookup}, func(p *Program, sql string) {
		if p.slots["x"] == "James" {
			t.Errorf("two are called James: %s", sql)
		}
	})
}

// A thing with a code is named by what it is, and not by its city or its state.
func TestCodesAreNamedByWhatTheyAre(t *testing.T) {
	w := liveTables("parts", `[{"part_no": "FP-01", "city": "Oslo", "state": "open", "pieces": 3},
		{"part_no": "OF-02", "city": "Rome", "state": "done", "pieces": 4}, {"part_no": "SP-03", "city": "Lima", "state": "lost", "pieces": 5}]`)
	each(w, 300, []string{Lookup, Set}, func(p *Program, sql string) {
		if x := strings.TrimPrefix(p.slots["x"],
			"the "); slices.Contains([]string{"Oslo", "Rome", "Lima", "open", "done", "lost"}, x) {
			t.Errorf("%q: %s", x, sql)
		}
	})
}

func TestValuesAsTheyAreStored(t *testing.T) {
	for text, want := range map[string]any{
		"007": "007", "+4712345": "+4712345", "7": int64(7), "-1.5": -1.5, "Nan": "Nan",
	} {
		if got := numberOf(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := Literal(0.12345); got != "0.12345" {
		t.Error(got)
	}
	if got := Records("name,city\nLund, Ana,Oslo\nBen,Rome\nCy,Lima"); got != nil {
		t.Errorf("a value with the separator: %v", got)
	}
	if got := Records("1. row\nid: 1\nname: Ana: Sol\ncity: NULL\n\n2. row\nid: 2\nname: Ben\ncity: Rome\n\n" +
		"Result: 2 rows returned"); len(got) != 2 ||
		got[0].Values[0] != int64(1) || got[0].Values[1] != "Ana: Sol" || got[0].Values[2] != nil ||
		got[1].Names[2] != "city" {
		t.Errorf("rows one below the other: %v", got)
	}
	if got := Records("*************************** 1. row ***************************\n  id: 1\n" +
		"name: Ana"); len(got) != 1 || got[0].Names[0] != "id" {
		t.Errorf("as MySQL shows them: %v", got)
	}
	if got := Records("name | n\nAna | 1\nBen | 2\n(2 rows)"); len(got) != 2 {
		t.Errorf("a last line about the rows: %v", got)
	}
	table := TableOf("logs", Records(`[{"id": 1, "day": "0000-00-00", "code": "5555-12-34 x"}, {"id": 2, "day": "2024-13-01", "code": "5555-12-35 x"}]`))
	if table.Columns[1].Kind == Date || table.Columns[2].Kind == Date {
		t.Errorf("no days: %+v", table.Columns)
	}
}

// The day on which a row is made is not left to the store, where it would be another each time.
func TestDaysOfNewRowsAreGiven(t *testing.T) {
	n := 0
	each(liveTables("jobs", `[{"id": 1, "name": "Roof", "place": "Oslo", "size": 3, "made_at": "2024-05-06 10:00"},
		{"id": 2, "name": "Wall", "place": "Rome", "size": 4, "made_at": "2024-05-07 11:00"},
		{"id": 3, "name": "Gate", "place": "Lima", "size": 5, "made_at": "2024-05-08 12:00"}]`), 60, []string{Insert}, func(p *Program, sql string) {
		if n++; p.Made == nil && !strings.Contains(sql, "made_at") {
			t.Error(sql)
		}
	})
	if n == 0 {
		t.Error("none was drawn")
	}
}

// A row that is added is told by the key that the person says.
func TestStateHasAKeyThatIsSaid(t *testing.T) {
	parts := parlour().Tables[1]
	if got := parts.State(false); !strings.HasPrefix(got, "SELECT part_no, ") || parts.Key == parts.Label {
		t.Error(got)
	}
}

// A thing without a name is no answer, and a list in order is in one order for everyone.
func TestAnswersHaveNamesAndOneOrder(t *testing.T) {
	w := liveTables(
		"owners", `[{"id": 1, "name": null}, {"id": 2, "name": "Ben"}, {"id": 3, "name": "Cy"}]`,
		"pets", `[{"id": 1, "name": "apple", "owner_id": 1, "age": 3}, {"id": 2, "name": "Bean", "owner_id": 1, "age": 3},
			{"id": 3, "name": "Cat", "owner_id": 2, "age": 5}]`)
	each(w, 200, []string{Join, List}, func(p *Program, sql string) {
		switch {
		case slices.Contains(p.Answer.Values, ""):
			t.Errorf("%q is the answer to %v", p.Answer.Values, p.slots)
		case p.Answer.Order && slices.Contains(p.Answer.Values, "apple") && slices.Contains(p.Answer.Values, "Bean"):
			t.Errorf("%q are in order", p.Answer.Values)
		}
	})
}

// Half hours are paid for, and money is not counted.
func TestSumsOfProducts(t *testing.T) {
	w := liveTables("jobs", `[{"id": 1, "name": "a", "rate": 45, "hours": 1.5}, {"id": 2, "name": "b", "rate": 10, "hours": 2},
		{"id": 3, "name": "c", "rate": 7, "hours": 1}]`)
	o, worth := openLive(t, w), 0
	each(w, 100, []string{Total}, func(p *Program, sql string) {
		if !strings.HasPrefix(p.pattern, "worth") {
			return
		}
		if worth++; !slices.Equal(o.ask(sql), p.Result) {
			t.Errorf("%s: %q, and %q was computed", sql, o.ask(sql), p.Result)
		}
	})
	if worth == 0 {
		t.Error("no product was drawn")
	}
	w = liveTables("jobs", `[{"id": 1, "name": "a", "rate": 45, "amount_cents": 150}, {"id": 2, "name": "b", "rate": 10, "amount_cents": 250},
		{"id": 3, "name": "c", "rate": 7, "amount_cents": 100}]`)
	each(w, 100, []string{Total}, func(p *Program, sql string) {
		if strings.HasPrefix(p.pattern, "worth") {
			t.Errorf("%s", sql)
		}
	})
}

// What belongs to a thing that is named by a whole phrase stands before it.
func TestWhatBelongsToAPhrase(t *testing.T) {
	slots := map[string]string{"one": "shift", "x": "the shift with Ana as the person", "attr": "hours"}
	if got := fill("What's {x}'s {attr}?", slots); got != "What's the hours of the shift with Ana as the person?" {
		t.Error(got)
	}
	r := rand.New(rand.NewPCG(1, 1))
	// no panic
	if w := liveTables("_", `[{"": 1, "_": 2}, {"": 2, "_": 3}, {"": 3, "_": 5}]`); Draw(r, w, Total) != nil {
		t.Error("a column without a name is said")
	}
}

// A day is right in each way in which people write it, and no other day is.
func TestDaysInAnswers(t *testing.T) {
	c := Answer{Form: "text", Values: []string{"2024-07-03"}}.check("", "")
	for text, want := range map[string]bool{
		"2024-07-03": true, "3 July 2024": true, "Jul 3, 2024": true, "It was sold on July 3rd, 2024.": true,
		"the 3rd of July 2024": true, "03 July 2024": true,
		"13 July 2024": false, "3 July 2023": false, "3 June 2024": false, "2024-07-031": false, "July 30, 2024": false,
	} {
		if c.Answer(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// "not" is said of one condition of two, and what stands behind "of a person in Oslo" is said of nobody else.
func TestConditionsOfTwoAreApart(t *testing.T) {
	w := liveTables(
		"people", `[{"id": 1, "name": "Ana Lund", "city": "Oslo"}, {"id": 2, "name": "Ben Holt", "city": "Rome"}]`,
		"shifts", `[{"id": 11, "person_id": 1, "status": "open", "slot": "early", "place": "shop"},
			{"id": 12, "person_id": 1, "status": "done", "slot": "late", "place": "shop"},
			{"id": 13, "person_id": 2, "status": "done", "slot": "late", "place": "bar"},
			{"id": 14, "person_id": 2, "status": "open", "slot": "early", "place": "bar"}]`)
	not, named := 0, 0
	each(w, 400, []string{Both, Set}, func(p *Program, sql string) {
		if said := p.slots["filter"]; strings.Contains(said, "that are not ") && strings.Contains(said, " and ") {
			if not++; strings.HasPrefix(said, "that are not ") && !strings.Contains(said, "person") &&
				!strings.Contains(said, "and that ") && !strings.Contains(said, "also that ") {
				t.Errorf("%q: %s", said, sql)
			}
		}
		if x := p.slots["x"]; matcher(`whose person is in `)(x) {
			if named++; !matcher(`whose person is in \w+$`)(x) {
				t.Errorf("%q: %s", x, sql)
			}
		}
	})
	if not == 0 || named == 0 {
		t.Errorf("%d and %d were drawn", not, named)
	}
}

// Who did a thing is nobody's number, and a number that names something is not made up.
func TestNumbersThatName(t *testing.T) {
	w := liveTables(
		"people", `[{"id": 41, "name": "Ana Lund"}, {"id": 42, "name": "Ben Holt"}, {"id": 43, "name": "Cy Orr"}]`,
		"orders", `[{"id": 1, "title": "Roof", "approved_by": 41, "checked_by": 7, "starts_on": "2024-05-06", "amount": 3},
			{"id": 2, "title": "Wall", "approved_by": 42, "checked_by": 8, "starts_on": "2024-06-06", "amount": 4},
			{"id": 3, "title": "Gate", "approved_by": 43, "checked_by": 9, "starts_on": "2024-07-06", "amount": 5}]`)
	orders := w.Tables[1]
	if by, starts, amount := orders.Columns[2], orders.Columns[4], orders.Columns[5]; by.Ref != w.Tables[0] ||
		by.With != "approved by {v}" || !orders.Columns[3].Label || starts.More != "starting after {v}" ||
		starts.caption() != "start date" || amount.morePhrase() != "whose amount is above {v}" {
		t.Errorf("%+v", orders.Columns)
	}
	set := 0
	each(w, 100, []string{Set, SetAll, Insert, Total}, func(p *Program, sql string) {
		if matcher(`(SUM|AVG)\(checked_by`)(sql) {
			t.Errorf("%s", sql)
		}
		if at := matcher(`SET checked_by = \d`); at(sql) {
			if set++; !matcher(`SET checked_by = [789](,| |$)`)(sql) {
				t.Errorf("%s", sql)
			}
		}
	})
	if set == 0 {
		t.Error("none was set")
	}
	for noun, want := range map[string]string{
		"":           "a ",
		"amount":     "an amount",
		"unit price": "a unit price",
		"price":      "a price",
	} {
		if got := article(noun); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
