package programs

import (
	"database/sql"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// play runs a program in a database and takes back what it wrote.
func (o opened) play(p *Program) (last []string, changed int64) {
	o.t.Helper()
	tx, err := o.db.Begin()
	if err != nil {
		o.t.Fatal(err)
	}
	defer tx.Rollback()
	for _, s := range p.Steps {
		if s.Writes {
			result, err := tx.Exec(s.SQL)
			if err != nil {
				o.t.Fatalf("%v: %s", err, s.SQL)
			}
			n, _ := result.RowsAffected()
			changed += n
			continue
		}
		last = answers(o.t, tx, s.SQL)
	}
	return last, changed
}

func answers(t *testing.T, tx *sql.Tx, query string) (values []string) {
	t.Helper()
	rows, err := tx.Query(query)
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	defer rows.Close()
	names, _ := rows.Columns()
	for rows.Next() {
		cells, into := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for _, c := range cells {
			values = append(values, Show(c))
		}
	}
	return values
}

// In a world of each kind of business, programs of all kinds come to what a database says.
func TestEachDomainAgreesWithADatabase(t *testing.T) {
	slot := regexp.MustCompile(`\{\S*\}|  | \?|\bnil\b`)
	for index := range NumDomains() {
		w := Invent(rand.New(rand.NewPCG(uint64(index), 11)), index)
		o := open(t, w)
		drawn := 0
		for kind := range Shares() {
			for seed := range uint64(4) {
				p := Draw(rand.New(rand.NewPCG(seed, 12)), w, kind)
				if p == nil {
					continue
				}
				drawn++
				last, changed := o.play(p)
				if p.Result != nil && strings.Join(p.Result, " ") != strings.Join(last, " ") {
					t.Errorf("%s: %s: computed %q, the database says %q: %+v", w.Name, kind, p.Result, last, p.Steps)
				}
				if p.Changes() != (changed > 0) {
					t.Errorf("%s: %s changes %d rows: %+v", w.Name, kind, changed, p.Steps)
				}
				if x := p.Word(rand.New(rand.NewPCG(seed, 13)), scenario.Train); slot.MatchString(x.Task) {
					t.Errorf("%s: %q", w.Name, x.Task)
				}
			}
		}
		if drawn < 48 {
			t.Errorf("%s: %d programs were drawn", w.Name, drawn)
		}
	}
}

// shelf is a world whose columns are stored otherwise than they are said, and whose rows are linked.
func shelf() *World {
	members := TableOf("members", Records(`[{"id": 1, "name": "Ana Sol", "fee_cents": 1250, "part": "Cellist",
		"active": "Y", "left_on": null, "mentor_id": null}, {"id": 2, "name": "Ben Ray", "fee_cents": 900,
		"part": "Oboist", "active": "N", "left_on": "2025-02-01", "mentor_id": 1}, {"id": 3, "name": "Cy Orr",
		"fee_cents": 1050, "part": "Cellist", "active": "Y", "left_on": "2025-03-04", "mentor_id": 2}]`))
	scores := TableOf("scores", Records(`[{"id": 1, "title": "Nocturne", "at": "08:30"}, {"id": 2, "title": "Largo",
		"at": "19:15"}, {"id": 3, "title": "Rondo", "at": "12:00"}]`))
	members.Key, members.Label, scores.Key, scores.Label = 0, 1, 0, 1
	c := members.Columns
	c[2].Cents, c[2].Says, c[2].More, c[2].Less = true, "fee in euros", "who pay more than {v} euros",
		"who pay less than {v} euros"
	c[3].Noun = true
	c[4].Yes, c[4].No = "who are active", "who are not active"
	c[5].Kind, c[5].Yes, c[5].No = Date, "who have left", "who have not left"
	c[6].Ref, c[6].With, c[6].No = members, "mentored by {v}", "without a mentor"
	scores.Columns[2].Kind, scores.Columns[2].More = Time, "starting after {v}"
	plays := &Table{Name: "plays", One: "entry", Many: "entries", Label: -1, Link: "plays", Columns: []Column{
		{Name: "id", Kind: Number},
		{Name: "member_id", Kind: Number, Ref: members, With: "that {v} plays"},
		{Name: "score_id", Kind: Number, Ref: scores, With: "who play {v}"},
	}, Rows: [][]any{{int64(1), int64(1), int64(1)}, {int64(2), int64(2), int64(1)}, {int64(3), int64(1), int64(3)}}}
	return &World{Name: "shelf", Tables: []*Table{members, scores, plays}}
}

// What is stored in one form is said in another, and looked for as it is stored.
func TestColumnsAreSaidAsPeopleSayThem(t *testing.T) {
	w := shelf()
	o := open(t, w)
	seen := map[string][]string{} // what is said, by the SQL
	for _, kind := range []string{Count, List, Total, Lookup, Set, Adjust, Insert, Remove, Best} {
		for seed := range uint64(300) {
			p := Draw(rand.New(rand.NewPCG(seed, 14)), w, kind)
			if p == nil {
				continue
			}
			if last, _ := o.play(p); p.Result != nil && !slices.Equal(p.Result, last) {
				t.Fatalf("%s: computed %q, the database says %q: %+v", kind, p.Result, last, p.Steps)
			}
			said := strings.Join(append([]string{
				p.pattern, p.slots["many"], p.slots["filter"], p.slots["x"], p.slots["rel"],
				p.slots["y"], p.slots["attr"], p.slots["v"],
			}, p.Answer.Values...), " ")
			sql := p.Steps[len(p.Steps)-1].SQL
			seen[sql] = append(seen[sql], strings.Join(strings.Fields(said), " "))
		}
	}
	link := "JOIN plays ON plays.member_id = members.id JOIN scores ON plays.score_id = scores.id WHERE scores.title"
	for sql, want := range map[string]string{
		"SELECT COUNT(*) FROM members WHERE left_on IS NULL":           "count members who have not left 1",
		"SELECT COUNT(*) FROM members WHERE left_on IS NOT NULL":       "count members who have left 2",
		"SELECT COUNT(*) FROM members WHERE mentor_id IS NULL":         "count members without a mentor 1",
		"SELECT COUNT(*) FROM members WHERE active = 'N'":              "count members who are not active 1",
		"SELECT COUNT(*) FROM members WHERE part = 'Cellist'":          "count cellists 2",
		"SELECT COUNT(*) FROM members WHERE fee_cents > 900":           "count members who pay more than 9 euros 2",
		"SELECT SUM(fee_cents) / 100.0 FROM members":                   "sum members fee in euros 32",
		"SELECT fee_cents / 100.0 FROM members WHERE name = 'Ana Sol'": "lookup members Ana Sol fee in euros 12.5",
		"SELECT active FROM members WHERE name = 'Ben Ray'":            "lookup members Ben Ray active No",
		"UPDATE members SET active = 'Y' WHERE id = 2":                 "set_value members Ben Ray active active",
		"UPDATE members SET fee_cents = fee_cents + 200 WHERE id = 3":  "raise members Cy Orr fee in euros 2",
		"SELECT title FROM scores ORDER BY at DESC LIMIT 1":            "best scores at Largo",
		"SELECT COUNT(*) FROM members JOIN members AS mentor ON members.mentor_id = mentor.id " +
			"WHERE mentor.name = 'Ana Sol'": "count members mentored by Ana Sol 1",
		"SELECT members.name FROM members " + link +
			" = 'Nocturne' ORDER BY members.id": "list members who play Nocturne " +
			"Ana Sol Ben Ray",
		"SELECT COUNT(*) FROM members " + link + " = 'Rondo'": "count members who play Rondo 1",
		"DELETE FROM plays WHERE member_id = (SELECT id FROM members WHERE name = 'Ana Sol') AND " +
			"score_id = (SELECT id FROM scores WHERE title = 'Rondo')": "edge_remove entries Ana Sol plays Rondo",
		"INSERT INTO plays (member_id, score_id) VALUES ((SELECT id FROM members WHERE name = 'Cy Orr'), " +
			"(SELECT id FROM scores WHERE title = 'Largo'))": "edge_add entries Cy Orr plays Largo",
	} {
		if !slices.Contains(seen[sql], want) {
			t.Errorf("%s: %q, want %q", sql, seen[sql], want)
		}
	}
}

// A moment is said by its day, month or year, since "after a day" may or may not mean that day.
func TestMomentsAreSaidByTheirDay(t *testing.T) {
	calls := TableOf("calls", Records(`[{"id": 1, "code": "C-1", "at": "2025-03-04 08:30"},
		{"id": 2, "code": "C-2", "at": "2025-03-04 19:15"}, {"id": 3, "code": "C-3", "at": "2024-11-30 12:00"}]`))
	calls.Key, calls.Label, calls.Columns[2].Kind, calls.Columns[2].More = 0, 1, Date, "made after {v}"
	days := 0
	for seed := range uint64(60) {
		d := &drawer{r: rand.New(rand.NewPCG(seed, 15)), w: &World{Tables: []*Table{calls}}}
		c, phrase, ok := d.condition(calls, calls.Label)
		if ok && c.Op != Within {
			t.Errorf("%s: %+v", phrase, c)
		}
		if strings.HasPrefix(phrase, "made on ") && ok {
			days++
		}
	}
	if days == 0 {
		t.Error("no day was drawn")
	}
}

// Of names with other letters there is no one alphabetical order, and LIKE does not find them in small ones.
func TestNamesOfOtherLettersAreNotSorted(t *testing.T) {
	for seed := range uint64(80) {
		p := &Program{pattern: "list", slots: map[string]string{"many": "dogs", "one": "dog"},
			Answer: Answer{Form: "list", Values: []string{"Åse", "Bolt"}}}
		if text := p.Word(rand.New(rand.NewPCG(seed, 16)), scenario.Train).Task; strings.Contains(text, "lphabet") {
			t.Error(text)
		}
		p = &Program{slots: map[string]string{"x": "Åse"},
			Steps: []Step{{SQL: "SELECT 1 FROM dogs WHERE name = 'Åse'"}}}
		if p.lower(rand.New(rand.NewPCG(seed, 17))); p.slots["x"] != "Åse" {
			t.Errorf("%q", p.slots["x"])
		}
	}
}

// A phrase for several things is said of one with a verb of one.
func TestPhrasesOfOne(t *testing.T) {
	for phrase, want := range map[string]string{
		"who work in surgery":             "who works in surgery",
		"that carry more than 4 tonnes":   "that carries more than 4 tonnes",
		"that are late and who have left": "that is late and who has left",
		"that ended after May":            "that ended after May",
		"who cannot swim":                 "who cannot swim",
		"that Ana works on":               "that Ana works on",
		"without a mentor":                "without a mentor",
	} {
		if got := ofOne(phrase); got != want {
			t.Errorf("%q: %q, want %q", phrase, got, want)
		}
	}
}

// Nobody is made their own mentor.
func TestNothingRefersToItself(t *testing.T) {
	w, mentors := shelf(), 0
	for seed := range uint64(200) {
		if p := Draw(rand.New(rand.NewPCG(seed, 18)), w, Set); p != nil && p.slots["attr"] == "mentor" {
			if mentors++; p.slots["x"] == p.slots["v"] {
				t.Errorf("%+v", p.Steps)
			}
		}
	}
	if mentors == 0 {
		t.Error("no mentor was changed")
	}
}

// Of two conditions the one that has a property of another thing stands last: "readers in Oslo and seen by a doctor of
// surgery", since what stands behind that might be said of the doctor.
func TestPropertiesOfOthersStandLast(t *testing.T) {
	doctors := TableOf("doctors", Records(`[{"id": 1, "name": "Ana", "field": "eyes"},
		{"id": 2, "name": "Ben", "field": "feet"}]`))
	readers := TableOf("readers", Records(`[{"id": 1, "name": "Cy", "town": "Oslo", "doctor_id": 1},
		{"id": 2, "name": "Di", "town": "Lima", "doctor_id": 2}, {"id": 3, "name": "Ed", "town": "Oslo", "doctor_id": 2}]`))
	Relate([]*Table{doctors, readers})
	readers.Columns[3].With = "seen by {v}"
	both := 0
	for seed := range uint64(200) {
		d := &drawer{r: rand.New(rand.NewPCG(seed, 19)), w: &World{Tables: []*Table{readers}}}
		if _, _, phrase := d.drawFilter(2); strings.Contains(phrase, "by a doctor") {
			if both++; !strings.HasPrefix(phrase, "in ") {
				t.Error(phrase)
			}
		}
	}
	if both == 0 {
		t.Error("none was drawn")
	}
}

// Yes is no thing that has the most of others.
func TestFlagsHaveNothing(t *testing.T) {
	w, drawn := shelf(), 0 // a table to which no other refers
	for seed := range uint64(100) {
		if p := Draw(rand.New(rand.NewPCG(seed, 20)), &World{Tables: w.Tables[:1]}, Most); p != nil {
			if drawn++; p.slots["one"] == "active" {
				t.Errorf("%+v", p.Steps)
			}
		}
	}
	if drawn == 0 {
		t.Error("none was drawn")
	}
}

func TestValuesBehindAnArticle(t *testing.T) {
	for value, want := range map[string]string{"online": "with an online ticket", "day": "with a day ticket"} {
		if got := put("with a {v} ticket", value); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
