package programs

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// liveTables makes tables of a server's own as they are read from it, each given as its name and its rows in JSON.
func liveTables(namesAndRows ...string) *World {
	w := &World{Name: "live"}
	for pair := range slices.Chunk(namesAndRows, 2) {
		w.Tables = append(w.Tables, TableOf(pair[0], Records(pair[1])))
	}
	Relate(w.Tables)
	Understand(w.Tables)
	return w
}

// each draws programs of some kinds over a world.
func each(w *World, seeds uint64, kinds []string, see func(p *Program, last string)) {
	for seed := range seeds {
		for i, kind := range kinds {
			if p := Draw(rand.New(rand.NewPCG(seed, uint64(i))), w, kind); p != nil {
				last := ""
				if len(p.Steps) > 0 {
					last = p.Steps[len(p.Steps)-1].SQL
				}
				see(p, last)
			}
		}
	}
}

// oddNames are columns as people call them in tables of their own.
func oddNames() []string {
	return []string{
		"", "_", "id", "name", "Name Of Thing", `say "hi"`, "größe", "日本", "order", "group", "status", "Status", "kind",
		"is_ok", "active", "price_eur", "price usd", "price_cents", "weight_kg", "cost_per_kg", "created_at",
		"hired_on", "due", "first_name", "last_name", "owner_id", "thing_id", "table_no", "qty", "goals", "notes",
		"home_city", "work_city", "x.y", "select", "zip", "phone", "things", "ratio",
	}
}

// oddValue is a value as such tables have it.
func oddValue(r *rand.Rand, sort int, row int) any {
	if r.IntN(6) == 0 {
		return nil
	}
	switch sort {
	case 0:
		return int64(r.IntN(2))
	case 1:
		return int64(r.IntN(8) - 1)
	case 2:
		return pick(r, []any{0.125, 2.5, 1.0, int64(3), -0.001, 99.99})
	case 3:
		return pick(r, []any{"open", "Open", "closed", "done", "", "in progress"})
	case 4:
		return pick(r, []any{"2024-05-06", "2023-01-09", "2024-05-30", "0000-00-00"})
	case 5:
		return pick(r, []any{"2024-05-06 10:00", "2023-01-09T09:30:00", "2024-05-06"})
	case 6:
		return pick(r, []any{"yes", "no"})
	case 7:
		return pick(r, []any{"Ana Lund", "Ben 100%", "O'Neil  Bo", "x_y", `back\slash`, "a; b", "b", "two\nlines",
			"{x}", "Ana", "Zoë"})
	case 8:
		return nil
	}
	return int64(row + 1)
}

// oddWorld draws up to three tables of odd columns and values.
func oddWorld(r *rand.Rand) *World {
	w := &World{Name: "odd"}
	for i, name := range []string{"things", "Order", "owner list"}[:1+r.IntN(3)] {
		columns := append([]string{pick(r, []string{"id", "", "_", "code", "thing_id"})}, oddNames()...)
		r.Shuffle(len(columns)-1, func(i, j int) { columns[i+1], columns[j+1] = columns[j+1], columns[i+1] })
		var names []string
		for _, c := range columns[:min(len(columns), 1+r.IntN(40))] {
			if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, c) }) {
				names = append(names, c)
			}
		}
		var records []Record
		for row := range r.IntN(12) {
			records = append(records, Record{Names: names})
			for k := range names {
				sort := (k*7 + i + len(names)) % 10 // one for the column
				if k == 0 {
					sort = 9
				}
				v := oddValue(r, sort, row)
				if k == 0 && v == nil {
					v = int64(row + 1)
				}
				records[row].Values = append(records[row].Values, v)
			}
		}
		if t := TableOf(name, records); t != nil {
			w.Tables = append(w.Tables, t)
		}
	}
	Relate(w.Tables)
	Understand(w.Tables)
	return w
}

// Over odd tables, too, a database answers what was computed, a list is as long as computed, and each step is accepted.
func TestProgramsOverOddTables(t *testing.T) {
	drawn := map[string]int{}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 39))
		w := oddWorld(r)
		if len(w.Tables) == 0 {
			continue
		}
		o := openLive(t, w)
		for kind := range Shares() {
			p := Draw(rand.New(rand.NewPCG(seed, uint64(len(kind)))), w, kind)
			if p == nil {
				continue
			}
			drawn[kind]++
			x := p.Word(r, scenario.Train)
			for _, c := range x.Checks {
				if why := c.AnswerUnmet(x.answering(c)); why != "" {
					t.Errorf("%d %s: %q fails its own check: %s", seed, kind, x.Answer, why)
				}
				if kind != Unknown && kind != Cannot && kind != AskBack && kind != ActIf &&
					c.Answer("I will look at that tomorrow.") {
					t.Errorf("%d %s: an answer that says nothing passes: %+v", seed, kind, c)
				}
			}
			last, changed := o.play(p)
			if p.Changes() && changed == 0 {
				t.Errorf("%d %s: %q changes nothing: %+v", seed, kind, x.Task, p.Steps)
			}
			if p.Result != nil && p.Answer.Form != "left" && p.then == nil &&
				!sameShown(p.Result, last) {
				t.Errorf("%d %s: %q: computed %q, the database says %q: %+v",
					seed, kind, x.Task, p.Result, last, p.Steps)
			}
		}
	}
	for kind := range Shares() {
		if drawn[kind] < 3 {
			t.Errorf("%s was drawn %d times", kind, drawn[kind])
		}
	}
}

// sameShown reports whether a database shows what was computed, numbers but for how they are rounded.
func sameShown(computed, shown []string) bool {
	x, y := strings.Fields(strings.Join(computed, " ")), strings.Fields(strings.Join(shown, " "))
	slices.Sort(x) // a list is mostly asked for in no order
	slices.Sort(y)
	if slices.Equal(x, y) {
		return true
	}
	return slices.EqualFunc(computed, shown, func(a, b string) bool {
		x, notX := strconv.ParseFloat(a, 64)
		y, notY := strconv.ParseFloat(b, 64)
		return a == b || notX == nil && notY == nil && math.Abs(x-y) < 0.011
	})
}

// openLive makes the tables of a live world in a database, with no constraints.
func openLive(t *testing.T, w *World) opened {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each has a memory of its own
	t.Cleanup(func() { db.Close() })
	for _, of := range w.Tables {
		var names, rows []string
		for _, c := range of.Columns {
			if len(c.Parts) == 0 {
				names = append(names, Ident(c.Name))
			}
		}
		for _, row := range of.Rows {
			rows = append(rows, of.tuple(row))
		}
		for _, statement := range []string{
			fmt.Sprintf("CREATE TABLE %s (%s)", Ident(of.Name), strings.Join(names, ", ")),
			fmt.Sprintf("INSERT INTO %s VALUES %s", Ident(of.Name), strings.Join(rows, ", ")),
		} {
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%v: %s", err, statement)
			}
		}
	}
	return opened{t, db}
}

// matcher reports whether a text has a match of a pattern.
func matcher(pattern string) func(text string) bool { return regexp.MustCompile(pattern).MatchString }
