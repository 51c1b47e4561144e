package folders

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// charge is who has something for how long, with a flag that costs more and what was paid, by a rule that a file says.
type charge struct {
	doc, rates, rule  *Doc
	who, n, flag, off int  // columns of doc
	each, fee         Pair // of rates
	line              int  // of rule
}

// paidAlready are names of columns that say what was paid.
var paidAlready = regexp.MustCompile(`(?i)^(?:paid|deposit|advance|down.payment)$`)

// findCharge finds one; nil: the folder has none, or its prices stand in two files.
func (d *drawer) findCharge() *charge {
	doc := d.one((*Doc).hasBody)
	if doc == nil {
		return nil
	}
	c := &charge{doc: doc, who: -1, n: -1, flag: -1, off: -1}
	all := func(k int, is func(string) bool) bool {
		return !slices.ContainsFunc(doc.texts(k), func(v string) bool { return !is(v) })
	}
	for k, name := range doc.header {
		switch {
		case c.who < 0 && doc.isOfPeople(k):
			c.who = k
		case all(k, func(v string) bool { return v == "yes" || v == "no" }):
			c.flag = k
		case paidAlready.MatchString(name) && all(k, plainNumber.MatchString):
			c.off = k
		case all(k, func(v string) bool { _, err := strconv.Atoi(v); return err == nil }):
			if of := d.priceFor(func(key string) bool {
				m := perKey.FindStringSubmatch(key)
				return m != nil && sharesNoun([]string{m[2]}, []string{programs.Words(name)})
			}); of != nil {
				c.n, c.rates, c.each = k, of.doc, of.pair
			}
		}
	}
	if c.who < 0 || c.n < 0 || c.flag < 0 || c.off < 0 {
		return nil
	}
	flag := programs.Words(doc.header[c.flag])
	fee := d.priceFor(func(key string) bool { return strings.HasPrefix(key, flag+" ") })
	rules := d.docs(func(o *Doc) bool {
		return o != doc && o.lineWith(flag, doc.header[c.off], doc.header[c.n]) >= 0
	})
	if fee == nil || fee.doc != c.rates || len(rules) != 1 {
		return nil
	}
	c.fee, c.rule = fee.pair, rules[0]
	c.line = c.rule.lineWith(flag, doc.header[c.off], doc.header[c.n])
	return c
}

// priceOf is a price that a file notes.
type priceOf struct {
	doc  *Doc
	pair Pair
}

// priceFor is the only price whose key is as wanted; nil: there is none, or several.
func (d *drawer) priceFor(wanted func(key string) bool) (found *priceOf) {
	for _, doc := range d.f.Docs {
		for _, p := range doc.Pairs {
			if !wanted(p.Key) || !plainNumber.MatchString(p.Value) {
				continue
			}
			if found != nil {
				return nil
			}
			found = &priceOf{doc, p}
		}
	}
	return found
}

// lineWith is the line of a text that has all of some words; -1: none has.
func (d *Doc) lineWith(words ...string) int {
	if d.Table != nil {
		return -1
	}
	return slices.IndexFunc(d.lines(), func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !wordIn(w).MatchString(line) })
	})
}

// of is what the i-th row costs, what of it is left to pay, and how that follows.
func (c *charge) of(i int) (total, rest int, lines []string) {
	n, _ := strconv.Atoi(c.doc.texts(c.n)[i]) // of digits
	each, fee, off := cents(c.each.Value), cents(c.fee.Value), cents(c.doc.texts(c.off)[i])
	total = n * each
	flag, is := programs.Words(c.doc.header[c.flag]), c.doc.texts(c.flag)[i]
	lines = []string{c.rule.quote(c.line), c.doc.quote(c.doc.body()[i]), c.rates.quote(c.each.line),
		strconv.Itoa(n) + " x " + money(each) + " = " + money(total)}
	if is == "yes" {
		lines = append(lines, flag+" is yes, "+c.fee.Key+" "+money(fee)+": "+inSteps([]int{total, fee}, money))
		total += fee
	} else {
		lines = append(lines, flag+" is no: nothing comes on top")
	}
	return total, total - off, append(lines, money(total)+" - "+money(off)+" = "+money(total-off))
}

// charged asks what somebody has still to pay by a rule; with both, what it comes to besides.
func (d *drawer) charged(both bool) *programs.Program {
	c := d.findCharge()
	if c == nil {
		return nil
	}
	i := d.r.IntN(len(c.doc.body()))
	x := c.doc.texts(c.who)[i]
	total, rest, work := c.of(i)
	if !d.tells(c.doc, x) || strings.Count(c.doc.Text, x) != 1 || rest <= 0 || rest == total {
		return nil
	}
	said, who := d.called(c.doc, c.doc.body()[i], x)
	work[0] = who + work[0]
	d.hunt(c.doc, said, "", path.Base(c.doc.Path)+" may have it.")
	d.hunt(c.rule, "", "", "How that is charged may stand in "+path.Base(c.rule.Path)+".")
	d.hunt(c.rates, "", "", "What each costs may stand in "+path.Base(c.rates.Path)+".")
	if !both {
		return question(programs.Total, "due_of", slots("x", said), "number", money(rest)).Work(work...)
	}
	s := slots("x", said, "given", `"total = 0.00" and "left = 0.00"`)
	return question(programs.Total, "charge_both", s, "lines", "total = "+money(total), "left = "+money(rest)).
		Work(work...)
}

func (d *drawer) chargeLeft() *programs.Program { return d.charged(false) }
func (d *drawer) chargeBoth() *programs.Program { return d.charged(true) }
