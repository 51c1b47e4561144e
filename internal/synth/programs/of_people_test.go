package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
)

// A person has the new name, and nobody else.
func TestRenameOne(t *testing.T) {
	drawnBy(t, 15, (*drawer).renameOne, func(p *Program, _ *World, o opened) {
		table := p.Tables[0]
		row, column := rowNamed(table, p.slots["x"]), table.Label
		want := p.slots["v"]
		if parts := table.Columns[column].Parts; len(parts) == 2 {
			column = parts[1]
			_, want, _ = strings.Cut(want, " ")
		}
		before := o.of(table, column)
		o.change(p)
		for n, v := range o.of(table, column) {
			if is := &table.Rows[n][0] == &row[0]; is && v != want || !is && v != before[n] {
				t.Errorf("%s became %s: %+v", before[n], v, p.Steps)
			}
		}
	})
}

// What is said with a yes are all names that the database finds.
func TestYesWho(t *testing.T) {
	drawnBy(t, 60, (*drawer).yesWho, func(p *Program, _ *World, o opened) {
		w := p.Word(rand.New(rand.NewPCG(1, 1)), scenario.Train)
		if !strings.HasPrefix(w.Answer, "Yes, ") || len(w.Checks) != 1+len(p.Answer.Values) {
			t.Errorf("%s: %+v", w.Answer, w.Checks)
		}
		found := strings.Join(o.ask(p.Steps[0].SQL), " ")
		for _, name := range p.Answer.Values {
			if !strings.Contains(found, name) || !strings.Contains(w.Answer, name) {
				t.Errorf("%s is not in %q: %s", name, found, p.Steps[0].SQL)
			}
		}
	})
}

// People are listed by their surnames as the database sorts them.
func TestBySurname(t *testing.T) {
	drawnBy(t, 8, (*drawer).bySurname, func(p *Program, _ *World, o opened) {
		want := strings.Join(p.Answer.Values, " ")
		if got := strings.Join(o.ask(p.Steps[0].SQL), " "); got != want {
			t.Errorf("%q, want %q: %s", got, want, p.Steps[0].SQL)
		}
		if !strings.Contains(strings.ToLower(p.Word(rand.New(rand.NewPCG(2, 1)), scenario.Train).Task), "name") {
			t.Error("no order is asked for")
		}
	})
}

// A thing goes where there is room, and stays where there is none.
func TestSetIfRoom(t *testing.T) {
	w := liveTables("sheds", `[{"id": 1, "name": "North", "slots": 1}, {"id": 2, "name": "South", "slots": 2},
		{"id": 3, "name": "West", "slots": 4}]`, "boats", `[{"id": 1, "name": "Gull", "shed_id": 1},
		{"id": 2, "name": "Tern", "shed_id": 2}, {"id": 3, "name": "Heron", "shed_id": 2},
		{"id": 4, "name": "Swan", "shed_id": 3}]`)
	full := 0
	drawnOver(t, w, 20, (*drawer).setIfRoom, func(p *Program, _ opened) {
		o := openLive(t, w) // no change stays
		to, from := p.Tables[0], p.Tables[1]
		place := rowNamed(to, p.slots["y"])
		n := o.ask(p.Steps[1].SQL)[0]
		limit := Show(place[to.columnSaid(p.slots["attr"])])
		var has, may int
		_, _ = fmt.Sscan(n, &has)
		_, _ = fmt.Sscan(limit, &may)
		if has >= may {
			full++
		}
		if p.Changes() != (has < may) {
			t.Errorf("%d of %d: %+v", has, may, p.Steps)
		}
		o.change(p)
		after := len(o.ask(strings.Replace(p.Steps[1].SQL, "COUNT(*)", Ident(from.Columns[from.Key].Name), 1)))
		if want := has + map[bool]int{true: 1}[p.Changes()]; after != want {
			t.Errorf("%d, want %d: %+v", after, want, p.Steps)
		}
	})
	if full == 0 {
		t.Error("all have room")
	}
}

// What is deleted leaves nothing that refers to it, and goes after that.
func TestRemoveAllWith(t *testing.T) {
	drawnBy(t, 40, (*drawer).removeAllWith, func(p *Program, w *World, o opened) {
		twoTables(t, p)
		table := p.Tables[0]
		from, column := (&drawer{w: w}).onlyReferrer(table)
		if first := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Writes }); !strings.HasPrefix(
			p.Steps[first].SQL, "DELETE FROM "+Ident(from.Name)+" ") {
			t.Errorf("first is %s", p.Steps[first].SQL)
		}
		o.change(p)
		key := Ident(table.Columns[table.Key].Name)
		refers := Ident(from.Columns[column].Name)
		if lost := o.ask(fmt.Sprintf("SELECT 1 FROM %s WHERE %s NOT IN (SELECT %s FROM %s)", Ident(from.Name), refers,
			key, Ident(table.Name))); len(lost) > 0 {
			t.Errorf("%d refer to what is gone: %+v", len(lost), p.Steps)
		}
		if n := len(o.ask("SELECT 1 FROM " + Ident(table.Name))); n >= len(table.Rows) || n == 0 {
			t.Errorf("%d of %d are left", n, len(table.Rows))
		}
	})
}

// Whose thing it is is looked at before an answer names them.
func TestSetWhenLooksAtNames(t *testing.T) {
	n := 0
	drawnBy(t, 60, func(d *drawer) *Program { return d.setWhen(false) }, func(p *Program, _ *World, o opened) {
		if p.Changes() {
			return
		}
		table := p.Tables[0]
		k := table.columnSaid(p.slots["attr2"])
		row := rowNamed(table, p.slots["x"])
		if table.Columns[k].Ref == nil || row[k] == nil {
			return
		}
		n++
		if seen := strings.Join(o.ask(p.Steps[len(p.Steps)-1].SQL), " "); !strings.Contains(seen,
			Show(table.Columns[k].Ref.byKey(row[k])[table.Columns[k].Ref.Key])) || len(p.Steps) != 2 {
			t.Errorf("%+v show %s", p.Steps, seen)
		}
	})
	if n == 0 {
		t.Error("none asks for a reference")
	}
}
