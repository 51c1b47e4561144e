package folders

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// listed are what a file lists by name: the entries of its list, or the things of its table.
func (d *Doc) listed() (list []string) {
	if !d.hasTable() {
		return texts(d.Items)
	}
	for _, row := range d.Table.Rows {
		list = append(list, d.Table.NameOf(row))
	}
	return list
}

// compared draws two lists, and what they both have, and the first alone; nil: there are no two. A list may be the
// things of a table.
func (d *drawer) compared() (a, b *Doc, both, only []string) {
	lists := func(o *Doc) bool { return len(o.listed()) > 2 && len(o.listed()) < mostListedNames }
	if a = d.one(lists); a == nil {
		return nil, nil, nil, nil
	}
	b = d.one(func(o *Doc) bool {
		return lists(o) && o != a && slices.ContainsFunc(o.listed(), func(text string) bool {
			return slices.ContainsFunc(a.listed(), sameText(text))
		})
	})
	if b == nil {
		return nil, nil, nil, nil
	}
	for _, name := range a.listed() {
		switch {
		case len(name) < 3 || strings.Contains(name, ","):
			return nil, nil, nil, nil
		case slices.ContainsFunc(b.listed(), sameText(name)):
			both = append(both, name)
		case strings.Contains(strings.ToLower(b.Text), strings.ToLower(name)):
			return nil, nil, nil, nil
		default:
			only = append(only, name)
		}
	}
	if len(only) == 0 || len(only) > 8 {
		return nil, nil, nil, nil
	}
	return a, b, both, only
}

// inBoth asks what two lists both have, or one has and the other has not.
func (d *drawer) inBoth() *programs.Program {
	a, b, both, only := d.compared()
	if a == nil {
		return nil
	}
	s := slots("file", d.name(a), "file2", d.name(b))
	d.read(a)
	d.read(b)
	lines := []string{path.Base(a.Path) + " has " + strings.Join(a.listed(), ", "),
		path.Base(b.Path) + " has " + strings.Join(b.listed(), ", ")}
	is := func(of []string) func(int) bool {
		return func(i int) bool { return slices.Contains(of, a.listed()[i]) }
	}
	if d.r.IntN(2) == 0 {
		return question(programs.List, "items_both", s, "list", both...).
			Work(append(lines, through(a.listed(), is(both))...)...)
	}
	return question(programs.List, "items_only", s, "list", only...).
		Work(append(lines, through(a.listed(), is(only))...)...)
}

// mostListedNames bounds the names of lists that are compared.
const mostListedNames = 15

// perKey is a price for one of something: "price per hour".
var perKey = regexp.MustCompile(`^(\w[\w ]*) per (\w+)$`)

// rated asks what a thing comes to whose number one file has, and another one the price for one.
func (d *drawer) rated() *programs.Program {
	type rate struct {
		of   *Doc
		pair Pair
		doc  *Doc
		at   int
	}
	var able []rate
	for _, of := range d.f.Docs {
		for _, p := range of.Pairs {
			m := perKey.FindStringSubmatch(p.Key)
			if m == nil || !plainNumber.MatchString(p.Value) {
				continue
			}
			for _, doc := range d.docs((*Doc).hasRows) {
				at := slices.IndexFunc(doc.Table.Columns, func(c programs.Column) bool {
					return c.Kind == programs.Number &&
						sharesNoun(strings.Fields(programs.Words(c.Name)), []string{m[2]})
				})
				if at >= 0 && doc != of {
					able = append(able, rate{of, p, doc, at})
				}
			}
		}
	}
	if len(able) == 0 {
		return nil
	}
	one := pick(d.r, able)
	i := d.r.IntN(len(one.doc.Table.Rows))
	row := one.doc.Table.Rows[i]
	x, n := one.doc.Table.NameOf(row), programs.Show(row[one.at])
	many, err := strconv.ParseFloat(n, 64)
	each, _ := strconv.ParseFloat(one.pair.Value, 64) // of digits
	if err != nil || len(x) < 3 || strings.Count(one.doc.Text, x) != 1 || many*each*100 != float64(int(many*each*100)) {
		return nil
	}
	total := money(int(many * each * 100))
	d.both(one.doc, one.of, path.Base(one.doc.Path)+" has "+x+", "+path.Base(one.of.Path)+" what one costs.")
	return question(programs.Total, "rated", slots("x", x, "attr", one.pair.Key), "number", total).
		Work(one.doc.quote(one.doc.rows[i]), one.of.quote(one.pair.line), n+" x "+one.pair.Value+" = "+total)
}

// setAs gives what a file notes the value that another file has for the same.
func (d *drawer) setAs() *programs.Program {
	doc, p := d.noted()
	if doc == nil {
		return nil
	}
	p = pick(d.r, doc.Pairs)
	from := d.one(func(o *Doc) bool { return o != doc && o.pair(p.Key) != nil && o.pair(p.Key).Value != p.Value })
	if from == nil {
		return nil
	}
	other := from.pair(p.Key)
	s := slots("attr", p.said(), "file", d.name(doc), "file2", d.name(from))
	d.both(from, doc, path.Base(from.Path)+" has the value, "+path.Base(doc.Path)+" is to have it, too.")
	at := len(d.ops)
	d.setLine(doc, p, other.Value)
	d.ops[at].Why = from.quote(other.line) + "\n" + d.ops[at].Why
	return act(programs.Set, "set_as", s)
}

// lineFrom puts a thing on a list with what another file has of it, in a form that an example shows.
func (d *drawer) lineFrom() *programs.Program {
	doc := d.one(func(o *Doc) bool {
		return o.hasEntries() && o.Items[0].Box == 0 && len(o.heads()) < 2 && o.counts() == nil
	})
	of := d.one((*Doc).hasRows)
	if doc == nil || of == nil || of == doc {
		return nil
	}
	i, k := d.r.IntN(len(of.Table.Rows)), d.r.IntN(len(of.Table.Columns))
	row, c := of.Table.Rows[i], of.Table.Columns[k]
	x, v := of.Table.NameOf(row), of.cell(i, k)
	if k == of.Table.Label || c.Ref != nil || len(c.Parts) > 0 || c.Bool || len(x) < 3 || v == "" || len(v) > 30 ||
		strings.Count(of.Text, x) != 1 || strings.Contains(doc.Text, x) ||
		strings.Contains(of.lines()[of.rows[i]], `"`) {
		return nil
	}
	mark, attr := pick(d.r, []string{": ", ", ", " - ", ": "}), programs.Words(c.Name)
	text, last := x+mark+v, doc.Items[len(doc.Items)-1]
	line, ok := doc.entry(last, text)
	form := "Name" + mark + example(v, attr)
	if !ok || attr == "" || form == text {
		return nil
	}
	s := slots("x", x, "attr", attr, "file", d.name(doc), "given", form)
	d.both(of, doc, path.Base(of.Path)+" has "+x+", "+path.Base(doc.Path)+" gets the line.")
	at := len(d.ops)
	d.addLine(doc, last.line, line)
	d.ops[at].Why = of.quote(of.rows[i]) + "\n" + form + " is the form only. " + d.ops[at].Why
	return act(programs.Insert, "line_from", s)
}

// example is a value of the form of another one, with nothing of it: its digits are zeros, and of words it says what
// they are.
func example(value, attr string) string {
	if !hasDigit.MatchString(value) {
		return attr
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c >= '0' && c <= '9':
			return '0'
		case isLetter(c):
			return 'x'
		}
		return c
	}, value)
}

// byExample has an answer asked for in a form at times: by an example of zeros, or by the words for its parts.
func (d *drawer) byExample(p *programs.Program) {
	if p.Answer.Form != "text" || len(p.Answer.Values) != 1 || p.Slot("like") != "" || d.r.IntN(3) > 0 {
		return
	}
	switch v := p.Answer.Values[0]; {
	case fullName.MatchString(v) && strings.Count(v, " ") == 1 && strings.ToUpper(v[:1]) == v[:1]:
		p.Like("Firstname Lastname")
	case hasDigit.MatchString(v) && len(v) > 3 && len(v) < 20 && example(v, "") != v:
		p.Like(example(v, ""))
	}
}

// retract has a change asked for and taken back in the same message; mostly something else is asked for besides.
func (d *drawer) retract() *programs.Program {
	for range tries {
		d.ops, d.notes, d.about, d.seen = nil, nil, nil, map[string]bool{}
		if p := d.takenBack(); p != nil {
			return p
		}
	}
	return nil
}

func (d *drawer) takenBack() *programs.Program {
	kinds := []string{programs.Set, programs.Set, programs.Remove, programs.Insert, Organize, programs.Adjust}
	first := d.draw(pick(d.r, kinds))
	if first == nil || first.Answer.Form != "" || first.What() == "" || len(d.touched()) == 0 {
		return nil
	}
	changed := d.touched()
	d.ops, d.notes, d.about, d.seen = nil, nil, nil, map[string]bool{}
	first.TakeWorking()
	first.Retract()
	if d.r.IntN(40) == 0 { // the others fall more often
		first.Answer = programs.Answer{Form: "left", Values: []string{"Nothing was changed."}}
		return first.Work("The wish is taken back, so nothing is to be done.")
	}
	d.note("The wish about " + first.What() + " is taken back: nothing changes there. The other one holds.")
	second := d.draw(pick(d.r, append(kinds, programs.Lookup, programs.Count)))
	if second == nil || second.Answer.Form == "cannot" || first.Pattern() == second.Pattern() || len(d.ops) == 0 {
		return nil
	}
	for file := range d.touched() {
		if changed[file] {
			return nil
		}
	}
	if d.r.IntN(2) == 0 {
		return second.Behind(first)
	}
	return first.Behind(second)
}
