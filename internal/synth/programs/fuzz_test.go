package programs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"hone/internal/episode/scenario"
)

// A draw that fails ends a synthesis, so none may: over worlds that are made up, those with rows and values lost, odd
// ones, and graphs of them.
func FuzzDraw(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, seed uint64) { drawAll(seed) })
}

// drawAll draws programs of each kind, and uses them.
func drawAll(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	w := Invent(r, r.IntN(NumDomains()))
	for _, w := range []*World{w, damaged(r, w), oddWorld(r)} {
		for _, kind := range slices.Sorted(maps.Keys(Shares())) {
			if p := Draw(r, w, kind); p != nil {
				_, _ = w.After(p) // it may be one that SQL alone makes
				use(r, w, p)
			}
		}
	}
	g := w.Graph(r)
	for _, g := range []Graph{g, g.damaged(r)} {
		gt := g.Tables()
		for _, kind := range slices.Sorted(maps.Keys(GraphShares())) {
			p := gt.Draw(r, kind)
			if p == nil {
				continue
			}
			if word := gt.Word(p); word.Text != "" && r.IntN(2) == 0 {
				p.ShowFound(word)
			}
			var names []string
			for _, x := range g.Things {
				_, names = p.Says(x.Name), append(names, x.Name)
			}
			_, _, _, _ = p.NewName(), p.TakePlan(), p.Wishes(), gt.Needs(p, names)
			use(r, gt.World, p.Program)
		}
	}
	for _, kind := range Reckons(func(string) bool { return true }) {
		if q := Reckon(r, kind); q != nil {
			use(r, &World{}, q.Program)
		}
	}
}

// use does with a program what a synthesis does.
func use(r *rand.Rand, w *World, p *Program) {
	_, _, _ = p.Key(), p.Ends(), p.Plan()
	_, _, _ = p.Needs()
	_, _, _ = p.Changes(), p.Writes(), p.NewRowTable()
	for _, split := range []string{scenario.Train, scenario.Validation, scenario.Test} {
		x := p.Word(r, split)
		_ = p.Meanings(w, split)
		for _, c := range x.Checks {
			_ = c.AnswerUnmet(x.Answer)
		}
	}
	_, _ = p.Working(), p.TakeWorking()
}

// damaged is a world as people leave it: rows are gone, values too, and others stand twice or in the wrong column.
func damaged(r *rand.Rand, w *World) *World {
	other := &World{Name: "damaged"}
	share := r.Float64() * r.Float64()
	for _, t := range w.Tables {
		var records []Record
		for _, row := range t.Rows {
			if r.Float64() < share {
				continue
			}
			var one Record
			for i, c := range t.Columns {
				if len(c.Parts) > 0 {
					continue
				}
				v := row[i]
				if r.Float64() < share {
					odd := oddValue(r, r.IntN(10), len(records))
					v = pick(r, []any{nil, "", pick(r, t.Rows)[i], pick(r, row), odd, "Nobody"})
				}
				one.Names, one.Values = append(one.Names, c.Name), append(one.Values, v)
			}
			records = append(records, one)
		}
		if t := TableOf(t.Name, records); t != nil {
			other.Tables = append(other.Tables, t)
		}
	}
	Relate(other.Tables)
	Understand(other.Tables)
	return other
}

// damaged is a graph as people leave it: things, notes and relations are gone, and others are odd.
func (g Graph) damaged(r *rand.Rand) (other Graph) {
	share := r.Float64() * r.Float64()
	names := []string{"", "No", "the", "a, b", "O'Neil \"Bo\"", "119 / 2019", "日本", "two\nlines", "{x}", "A"}
	for _, x := range g.Clone().Things {
		if r.Float64() < share {
			continue
		}
		x.Notes = slices.DeleteFunc(x.Notes, func(string) bool { return r.Float64() < share })
		if r.Float64() < share {
			x.Notes = append(x.Notes, pick(r, append(names, pick(r, g.Things).Notes...)))
		}
		if r.Float64() < share {
			x.Type = pick(r, append(names, pick(r, g.Things).Type))
		}
		if n := pick(r, names); r.Float64() < share && g.Thing(n) == nil && other.Thing(n) == nil {
			x.Name = n
		}
		other.Things = append(other.Things, x)
	}
	for _, x := range g.Relations {
		switch {
		case r.Float64() < share:
		case r.Float64() < share && len(other.Things) > 0:
			x.From, x.To = pick(r, other.Things).Name, pick(r, other.Things).Name
			fallthrough
		default:
			other.Relations = append(other.Relations, x)
		}
	}
	return other
}
