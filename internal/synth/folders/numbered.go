package folders

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// numbered is a file with points one after the other that are numbered from 1 on.
type numbered struct {
	doc   *Doc
	first int      // line of the first point
	texts []string // without their numbers
	mark  string   // behind a number
	// the line that says when it was changed last, -1: none, and the form of its day
	date int
	form string
	day  time.Time
	// the file that has the points in short, and the line of a third one that says so; nil: none
	short, rule *Doc
	ruleLine    int
}

const (
	leastPoints = 4
	mostPoints  = 15
)

var (
	numberedLine = regexp.MustCompile(`^(\d{1,2})([.)]) (\S.*?)\s*$`)
	lastChanged  = regexp.MustCompile(
		`(?i)^\W*(?:last (?:changed?|updated?|edited)|changed|updated|as of|version of)(?: on)?\b\W*(.+?)\W*$`)
	keptAlike = regexp.MustCompile(`(?i)\b(?:in step|alike|both|in line|go together|too|same)\b`)
	headOf    = regexp.MustCompile(`^(\p{Lu}[\pL' -]{2,24}): `)
)

// numbered reads a file as one; nil: it is none.
func (d *Doc) numbered() *numbered {
	if len(d.Text) > mostText || len(d.header) > 0 || path.Ext(d.Path) == ".csv" {
		return nil
	}
	n := &numbered{doc: d, first: -1, date: -1}
	for i, line := range d.lines() {
		m := numberedLine.FindStringSubmatch(line)
		switch {
		case m == nil:
			if at := lastChanged.FindStringSubmatch(line); at != nil && n.date < 0 {
				if days, form := daysOf([]string{at[1]}); form != "" {
					n.date, n.form, n.day = i, form, days[0]
				}
			}
			continue
		case n.first < 0:
			n.first, n.mark = i, m[2]
		}
		if m[1] != strconv.Itoa(len(n.texts)+1) || m[2] != n.mark || i != n.first+len(n.texts) ||
			strings.Contains(m[3], "**") {
			return nil
		}
		n.texts = append(n.texts, m[3])
	}
	if len(n.texts) < leastPoints || len(n.texts) > mostPoints {
		return nil
	}
	return n
}

// findNumbered finds the files with numbered points, and which others have them in short.
func (f *Folder) findNumbered() (list []*numbered) {
	for _, d := range f.Docs {
		n := d.numbered()
		if n == nil {
			continue
		}
		for _, rule := range f.Docs {
			for i, line := range rule.lines() {
				if rule == d || !strings.Contains(line, path.Base(d.Path)) || !keptAlike.MatchString(line) {
					continue
				}
				for _, short := range f.Docs {
					if short != d && short != rule && strings.Contains(line, path.Base(short.Path)) &&
						len(short.bullets()) > 1 {
						n.short, n.rule, n.ruleLine = short, rule, i
					}
				}
			}
		}
		list = append(list, n)
	}
	return list
}

// bullets are the lines of the last list of a file; nil where that has boxes.
func (d *Doc) bullets() (at []int) {
	for i, line := range d.lines() {
		if !strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "- [") {
			continue
		}
		if len(at) > 0 && at[len(at)-1] != i-1 {
			at = nil
		}
		at = append(at, i)
	}
	return at
}

// newPoint is a point that may come in: a word for what it is about, the rest of it, a sentence, and its short form.
type newPoint struct{ about, rest, sentence, short string }

func newPoints() (list []newPoint) {
	for line := range strings.SplitSeq("Bicycles;in the shed, not in the hall;Bicycles go into the shed, not the "+
		"hall.;"+
		"bicycles in the shed\nLost property;in the green box, for a month;Lost property stays in the green box for a "+
		"month.;lost things: green box\nNoise;none after ten at night;After ten at night it is quiet.;quiet after "+
		"ten\n"+
		"Waste;glass and paper apart from the rest;Glass and paper are kept apart from other waste.;sort your waste\n"+
		"Candles;only in lanterns;Candles only burn in lanterns.;candles in lanterns only\n"+
		"Photos;only after asking;Nobody takes photos without asking.;ask before photos\n"+
		"Deliveries;signed for at the desk;Deliveries are signed for at the desk.;deliveries to the desk\n"+
		"First aid;the kit is refilled by whoever uses it;Who uses the first aid kit refills it.;refill the first "+
		"aid kit\n"+
		"Lamps;off when the last one leaves;The last one to leave turns off the lamps.;last one: lamps off\n"+
		"Parking;not before the gate;Nobody parks before the gate.;no parking at the gate\n"+
		"Children;under eight with an adult;Children under eight come with an adult.;under eight with an adult\n"+
		"Music;through headphones;Music is heard through headphones.;headphones for music", "\n") {
		p := strings.Split(line, ";")
		list = append(list, newPoint{p[0], p[1], p[2], p[3]})
	}
	return list
}

// newTopics are points that an agenda may get.
func newTopics() []string {
	return split("Broken fence|New sign|Thank-you letters|Heating bill|Storage room|Volunteers' day|Website photos|" +
		"Spare keys|First aid course|Cleaning rota|Noise complaint|Offer from the printer")
}

// like is a point in the form of the others.
func (n *numbered) like(p newPoint) string {
	if !slices.ContainsFunc(n.texts, func(text string) bool { return !headOf.MatchString(text) }) {
		return p.about + ": " + p.rest
	}
	return p.sentence
}

// Words of names and headings of files with rules, and of those with what is talked about.
const (
	ofRules  = "rule regulation guideline agreement code principle"
	ofTopics = "agenda topic meeting point"
)

// isAgenda reports whether all points are a few words.
func (n *numbered) isAgenda() bool {
	return !slices.ContainsFunc(n.texts, func(text string) bool {
		return len(text) > 40 || strings.HasSuffix(text, ".") || strings.Contains(text, ": ")
	})
}

// called is how somebody speaks of the i-th point.
func (n *numbered) called(d *drawer, i int) string {
	number := pick(d.r, []string{"number ", "no. ", "point ", "number "}) + strconv.Itoa(i+1)
	if m := headOf.FindStringSubmatch(n.texts[i]); m != nil && d.r.IntN(2) == 0 {
		return "the one about " + strings.ToLower(m[1][:1]) + m[1][1:]
	}
	if n.isAgenda() && d.r.IntN(3) > 0 {
		return `"` + n.texts[i] + `"`
	}
	return number
}

// pointIn has a new point come before or behind one that is there: the rest is numbered anew, the day of the last
// change is set, and where the points stand in short somewhere, so does the new one.
func (d *drawer) pointIn() *programs.Program {
	if len(d.f.numbered) == 0 {
		return nil
	}
	n := pick(d.r, d.f.numbered)
	point := pick(d.r, newPoints())
	item := n.like(point)
	if n.isAgenda() {
		item = pick(d.r, newTopics())
	}
	of, said := ofRules, strings.ToLower(strings.Fields(item)[0])
	if n.isAgenda() {
		of = ofTopics
	}
	if strings.Contains(strings.ToLower(n.doc.Text), said) || n.short != nil && (n.isAgenda() || n.date < 0 ||
		strings.Contains(strings.ToLower(n.short.Text), said)) ||
		!sharesNoun(strings.Fields(programs.Words(n.doc.stem()+" "+n.doc.lines()[0])), strings.Fields(of)) {
		return nil
	}
	i, word, at := d.r.IntN(len(n.texts)), "before", 0
	if at = i; d.r.IntN(2) == 0 {
		word, at = "after", i+1
	}
	s := slots("file", d.name(n.doc), "item", item, "word", word, "x", n.called(d, i))
	pattern, day := "point_in", ""
	if n.date >= 0 {
		later := n.day.AddDate(0, 0, 5+d.r.IntN(300))
		s["time"], day, pattern = wholeDay(d.r, later), later.Format(n.form), "point_dated"
	}
	d.read(n.doc)
	if n.short != nil {
		s["item2"], pattern = point.short, "point_both"
		d.hunt(n.rule, "", "", "How that is kept may stand in "+path.Base(n.rule.Path)+".")
		d.note(n.rule.quote(n.ruleLine))
		d.hunt(n.short, "", "", path.Base(n.short.Path)+" has the short form.")
	}
	did := fmt.Sprintf("the new point is number %d", at+1)
	d.ops = append(d.ops, n.changed(d, at, item, day)...)
	if day != "" {
		did += ", last changed " + s["time"]
	}
	if n.short != nil {
		list := n.short.bullets()
		d.addLine(n.short, list[len(list)-1], "- "+point.short)
		did += ", and the short form has its line"
	}
	return act(programs.Insert, pattern, s).Did(did)
}

// changed are the operations that put a point at a place, and the day of the change where there is one.
func (n *numbered) changed(d *drawer, at int, item, day string) []Op {
	was := n.doc.lines()
	now := slices.Insert(slices.Clone(was), n.first+at, "")
	for k, text := range slices.Insert(slices.Clone(n.texts), at, item) {
		now[n.first+k] = strconv.Itoa(k+1) + n.mark + " " + text
	}
	dated := func(lines []string) {
		if day != "" {
			lines[n.date] = strings.Replace(lines[n.date], n.day.Format(n.form), day, 1)
		}
	}
	why := "The new one is number " + strconv.Itoa(at+1) + ": " + now[n.first+at]
	if at < len(n.texts) {
		why += "\nThose behind it get the next numbers: " + now[n.first+at+1] + " and so on."
	}
	each := &drawer{can: d.can}
	if d.can[Edit] && day != "" {
		alone := slices.Clone(was)
		dated(alone)
		each.rewrite(n.doc, was, alone)
	} else {
		dated(now)
	}
	k := len(each.ops)
	each.rewrite(n.doc, was, now)
	each.ops[k].Why = why
	return each.ops
}
