package folders

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// soldMore enters on the list of what was sold a thing that is not on it yet, and takes it off the stock.
func (d *drawer) soldMore() *programs.Program {
	sold := d.one(func(o *Doc) bool {
		return len(o.counts()) > 1 && strings.Contains(o.stem(), "sold") && o.hasEntries()
	})
	stock := d.one(func(o *Doc) bool {
		return sold != nil && o.hasRows() && o.mark != "" &&
			o.column("count", "stock", "quantity", "qty", "left") > 0 &&
			slices.ContainsFunc(sold.counts(), func(c counted) bool { return o.names(c.thing) })
	})
	if sold == nil || stock == nil || sold == stock {
		return nil
	}
	at, i := stock.column("count", "stock", "quantity", "qty", "left"), d.r.IntN(len(stock.Table.Rows))
	row := stock.Table.Rows[i]
	x := stock.Table.NameOf(row)
	n := 2 + d.r.IntN(5)
	has, ok := row[at].(int64)
	if !ok || x == "" || sold.mentions(x) || int(has) < n || strings.Count(stock.Text, x) != 1 {
		return nil
	}
	last := sold.Items[len(sold.Items)-1]
	line, fits := sold.entry(last, fmt.Sprintf("%d x %s", n, x))
	now, same := stock.withCell(stock.lines()[stock.rows[i]], at, has, has-int64(n))
	if !fits || !same {
		return nil
	}
	d.hunt(stock, x, "stock", path.Base(stock.Path)+" may have the stock.")
	d.hunt(sold, "", "", "By its name, "+path.Base(sold.Path)+" has what was sold.")
	first := len(d.ops)
	d.addLine(sold, last.line, line)
	d.putLine(stock, stock.rows[i], &now)
	d.ops[first].Why = fmt.Sprintf("Two changes: a line in %s, in the form of its last one, and %d - %d = %d in %s.\n",
		path.Base(sold.Path), has, n, int(has)-n, path.Base(stock.Path)) + d.ops[first].Why
	d.note("Both changes are made.")
	return act(programs.Several, "sold_more", slots("n", number(n), "x", x))
}

// names reports whether a row of a file's table is about a thing.
func (d *Doc) names(thing string) bool {
	return slices.ContainsFunc(d.Table.Rows, func(row []any) bool { return d.Table.NameOf(row) == thing })
}

// lends is a table of things with who has each, and a log of what went out and came back, by their codes.
type lends struct {
	things, log *Doc
	g           *grid
	key, holder int
	out, back   int // rows of the log to be followed
	code, verb  int // columns of the log
}

// holders are words of columns that say who has a thing.
var holders = strings.Fields("holder lent borrower user with")

// Words of a log for what went out and what came back.
var (
	wentOut  = strings.Fields("out taken lent")
	cameBack = strings.Fields("back in returned")
)

// logsLoans reports whether lines of cells say what went out and came back: who has a thing only all of them tell, so
// that they are no list of things or persons.
func (d *Doc) logsLoans() bool {
	says := func(words []string) bool {
		return slices.ContainsFunc(d.lines(), func(line string) bool {
			return slices.ContainsFunc(gap.Split(strings.TrimSpace(line), -1), func(cell string) bool {
				return slices.Contains(words, strings.ToLower(cell))
			})
		})
	}
	return says(wentOut) && says(cameBack)
}

// findLends finds one; nil: the folder has none.
func (d *drawer) findLends() *lends {
	things := d.one(func(o *Doc) bool { return o.hasRows() && o.column(holders...) > 0 })
	log := d.one(func(o *Doc) bool { g := o.grid(); return g != nil && o != things && isDay(g.rows[0][0]) })
	if things == nil || log == nil {
		return nil
	}
	l := &lends{things: things, log: log, g: log.grid(), out: -1, back: -1, key: -1,
		holder: things.column(holders...)}
	for k := range things.Table.Columns {
		codes := map[string]bool{}
		for _, row := range things.Table.Rows {
			codes[programs.Show(row[k])] = true
		}
		at := slices.IndexFunc(l.g.rows[0], func(cell string) bool { return codes[cell] })
		if at > 0 && len(codes) == len(things.Table.Rows) && k != things.Table.Label {
			l.key, l.code = k, at
		}
	}
	for i, row := range l.g.rows {
		for k, cell := range row {
			switch word := strings.ToLower(cell); {
			case slices.Contains(wentOut, word):
				l.out, l.verb = i, k
			case slices.Contains(cameBack, word):
				l.back = i
			}
		}
	}
	if l.key < 0 || l.code > 2 || l.code == l.verb || l.out < 0 || l.back < 0 || len(l.g.rows[l.out]) != 4 ||
		!fullName.MatchString(l.g.rows[l.out][3]) ||
		len(l.g.rows[l.back]) < 3 {
		return nil
	}
	return l
}

// lent has somebody take a thing, or it comes back: a line in the log, in the form of its lines, and who has it.
func (d *drawer) lent() *programs.Program {
	l := d.findLends()
	if l == nil {
		return nil
	}
	i := d.r.IntN(len(l.things.Table.Rows))
	row := l.things.Table.Rows[i]
	x, code := l.things.Table.NameOf(row), programs.Show(row[l.key])
	day := d.dayAfter(l.g)
	s, pattern, follow := slots("x", x, "time", day), "lent_out", l.out
	who := pick(d.r, l.g.rows)
	y := who[len(who)-1]
	var holder any = y
	if row[l.holder] != nil {
		pattern, follow, y, holder = "lent_back", l.back, programs.Show(row[l.holder]), nil
	} else {
		s["y"] = y
	}
	if x == "" || day == "" || !fullName.MatchString(y) || strings.Count(l.things.Text, x) != 1 {
		return nil
	}
	list := slices.Clone(l.g.rows[follow])
	list[0], list[l.code] = day, code
	if len(list) == 4 {
		list[3] = y
	}
	line, now := l.g.like(follow, list), ""
	ok := false
	if now, ok = l.things.withCell(l.things.lines()[l.things.rows[i]], l.holder, row[l.holder], holder); !ok {
		return nil
	}
	d.hunt(l.things, x, "", path.Base(l.things.Path)+" may have it.")
	d.hunt(l.log, code, "", "Who had what is written up in "+path.Base(l.log.Path)+", by the code "+code+".")
	first := len(d.ops)
	d.addLine(l.log, l.log.lastLine(), line)
	d.putLine(l.things, l.things.rows[i], &now)
	d.ops[first].Why = x + " is " + code + ". Two changes: a line in " + path.Base(l.log.Path) + ", in the form of " +
		strings.Join(strings.Fields(l.log.lines()[l.g.at[follow]]), " ") + ", and who has it in " +
		path.Base(l.things.Path) + ".\n" + d.ops[first].Why
	d.note("Both changes are made.")
	return act(programs.Several, pattern, s)
}

// dayAfter is a day behind the last of a log.
func (d *drawer) dayAfter(g *grid) string {
	var days []string
	for _, row := range g.rows {
		if !isDay(row[0]) {
			return ""
		}
		days = append(days, row[0])
	}
	return laterDay(slices.Max(days), 1+d.r.IntN(5))
}
