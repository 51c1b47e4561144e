package generate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hone/internal/synth/programs"
)

// papers are documents: a second list of things, whose views show a text that a tool writes anew.
type papers struct {
	list, view, update, create, search *subject
	one, many                          string
	body, madeBody, name               string // parameters: the text of update and create, and the name
	all                                []paper
}

// paper is a document as its view shows it.
type paper struct {
	key, title string
	body       []string
}

// mostPapers bounds how many documents are looked at.
const mostPapers = 12

// findPapers finds the documents of a server; nil where it has none.
func (b *boarding) findPapers(ctx context.Context) (*papers, error) {
	for _, s := range b.m.lists(b.server) {
		if s == b.list || slices.ContainsFunc(b.kin, func(o *boarding) bool { return o.list == s }) {
			continue
		}
		got, err := b.played(ctx, play{Looks: []Call{s.bare()}}, false)
		if err != nil {
			return nil, err
		}
		if got.Lost != "" {
			continue
		}
		for _, t := range thingsIn(programs.Listings(got.Seen[0].Text), s) {
			p, err := b.papersOf(ctx, s, t)
			if err != nil || p != nil && !p.isListed(t) {
				return p, err
			}
		}
	}
	return nil, nil
}

// isListed reports whether a list shows the texts too: then its things are no documents.
func (p *papers) isListed(t *programs.Table) bool {
	return slices.ContainsFunc(t.Columns, func(c programs.Column) bool { return c.Name == p.body })
}

// papersOf finds the tools that show and write what a list has; nil where it has no documents.
func (b *boarding) papersOf(ctx context.Context, list *subject, t *programs.Table) (*papers, error) {
	p := &papers{list: list, one: t.One, many: t.Many, search: b.searchOf(list)}
	for _, s := range b.m.tools {
		if s.Server != b.server || s == list || !s.mayTry() || !sharesNoun(s, list) {
			continue
		}
		switch {
		case s.keyField() != "" && (s.ReadOnly || s.hasVerb("view", "get", "read", "show", "open")) &&
			s.queryField() == "" && p.view == nil:
			p.view = s
		case s.creates() && p.create == nil:
			p.create = s
		case s.hasVerb("update", "edit", "write") && p.update == nil:
			p.update = s
		}
	}
	if p.view == nil || p.view == b.view || p.update == nil {
		return nil, nil
	}
	for _, row := range t.Rows[:min(len(t.Rows), mostPapers)] {
		one := paper{key: programs.Show(row[t.Key]), title: programs.Show(row[t.Label])}
		if uuidText.MatchString(one.key) { // nobody knows that of a new one
			return nil, nil
		}
		if err := b.readPaper(ctx, p, &one); err != nil {
			return nil, err
		}
		if len(one.body) > 0 {
			p.all = append(p.all, one)
		}
	}
	if len(p.all) == 0 {
		return nil, nil
	}
	if p.create != nil {
		for _, f := range p.create.schema.fields {
			switch {
			case f.kind != "string":
			case f.name == p.body:
				p.madeBody = f.name
			case f.required && p.name == "":
				p.name = f.name
			}
		}
	}
	return p, nil
}

func (p *papers) viewOf(key string) Call {
	return p.view.keyed(key)
}

// write is the call that gives a document a text.
func (p *papers) write(field, key string, lines []string) Call {
	return Call{Tool: p.update.Name, Arguments: objectOf(member{p.view.keyField(), quote(key)},
		member{field, quote(strings.Join(lines, "\n"))})}
}

// readPaper finds the text of a document: the lines of its view that are gone when a tool has written another one.
func (b *boarding) readPaper(ctx context.Context, p *papers, one *paper) error {
	for _, f := range p.update.schema.fields {
		if f.kind != "string" || len(f.choices) > 0 || f.name == p.view.keyField() || p.body != "" && f.name != p.body {
			continue
		}
		call := p.write(f.name, one.key, []string{firstTrial})
		if !p.update.takes(string(call.Arguments)) {
			continue
		}
		before, err := b.played(ctx, play{Looks: []Call{p.viewOf(one.key)}}, false)
		if err != nil {
			return err
		}
		x := play{Calls: []Call{call}, Looks: []Call{p.viewOf(one.key)}}
		after, err := b.played(ctx, x, true)
		if err != nil {
			return err
		}
		if before.Lost != "" || after.Lost != "" || anyFailed(x.Calls, after) ||
			!strings.Contains(after.Seen[0].Text, firstTrial) {
			continue
		}
		now, lines := strings.Split(after.Seen[0].Text, "\n"), strings.Split(before.Seen[0].Text, "\n")
		first, last := -1, -1
		for i, line := range lines {
			if line != "" && !slices.Contains(now, line) && !volatileLine.MatchString(line) {
				if last = i; first < 0 {
					first = i
				}
			}
		}
		if first >= 0 && !strings.Contains(lines[first], one.key) {
			p.body, one.body = f.name, lines[first:last+1]
			return nil
		}
	}
	return nil
}

// draws are the programs over documents; nil where there are none.
func (p *papers) draws(b *boarding) []drawOf {
	if p == nil {
		return nil
	}
	list := []drawOf{b.askPaper, b.askPaper, b.setPaper, b.setPaper, b.addPaper, b.dropPaper,
		b.setAndAdd, b.setAndAdd, b.swapPaper, b.swapPaper, b.sumPaper, b.sumPaper}
	if p.search != nil {
		list = append(list, b.askPapers, b.askPapers)
	}
	if slices.ContainsFunc(b.parts, func(p section) bool { return !p.points && !p.links && p.add != nil }) {
		list = append(list, b.copyFact, b.copyFact, b.copyFact)
	}
	if p.madeBody != "" && p.name != "" {
		list = append(list, b.newPaper, b.newPaper, b.paperOfFact, b.paperOfFact)
	}
	return list
}

// inventPaper is a document about anything, with a line for each of some things.
func inventPaper(r *rand.Rand) (title string, body []string) {
	title = pick(r, []string{"Price list", "Opening hours", "Key holders", "Stock count", "Meter readings", "Room plan",
		"Phone list", "Small expenses"})
	return title, inventLines(r, title)
}

// inventLines are lines of such a document; none of another one.
func inventLines(r *rand.Rand, title string) (body []string) {
	things := map[string]string{
		"Price list":     "Ladder|Paint roller|Drill|Tarpaulin|Extension cable|Wheelbarrow",
		"Opening hours":  "Library|Swimming pool|Post office|Recycling yard|Town archive|Bakery",
		"Key holders":    "Cellar|Attic|Workshop|Garage|Side gate|Office",
		"Stock count":    "Gloves|Screws|Light bulbs|Batteries|Buckets|Markers",
		"Meter readings": "Gas|Cold water|Hot water|Electricity|District heating",
		"Room plan":      "Lecture|Workshop|Coffee break|Final talk|Registration",
		"Phone list":     "Caretaker|Plumber|Taxi|Insurance|Locksmith|Dentist",
		"Small expenses": "Stamps|Coffee|Cleaning|Parking|Cables|Copies",
	}
	value := func() string {
		switch title {
		case "Opening hours":
			return fmt.Sprintf("%d to %d", 7+r.IntN(4), 15+r.IntN(5))
		case "Key holders":
			return pick(r, []string{"Nora", "Felix", "Ines", "Paul", "Wanda", "Omar", "Julia", "Sven"})
		case "Room plan":
			return pick(r, []string{"Hall ", "Room ", "Studio "}) + strconv.Itoa(1+r.IntN(9))
		case "Phone list":
			return fmt.Sprintf("555-%04d", r.IntN(10000))
		case "Meter readings":
			return strconv.Itoa(1000 + r.IntN(90000))
		}
		return strconv.Itoa(3 + r.IntN(300))
	}
	if things[title] == "" {
		return nil
	}
	list := strings.Split(things[title], "|")
	for _, i := range r.Perm(len(list))[:3+r.IntN(len(list)-3)] {
		body = append(body, list[i]+": "+value())
	}
	return body
}

var lastDigits = regexp.MustCompile(`\d+$`)

// nextKey is the key that a new document will have: the next number.
func (p *papers) nextKey() string {
	key, most := "", 0
	for _, one := range p.all {
		n, err := strconv.Atoi(lastDigits.FindString(one.key))
		if err != nil {
			return ""
		}
		if n >= most {
			key, most = one.key, n
		}
	}
	return lastDigits.ReplaceAllString(key, strconv.Itoa(most+1))
}

func (p *papers) creates(title string, body []string) Call {
	return Call{Tool: p.create.Name, Arguments: objectOf(member{p.name, quote(title)},
		member{p.madeBody, quote(strings.Join(body, "\n"))})}
}

// paper draws a document: one that is there, or one that a session begins with.
func (b *boarding) paper(r *rand.Rand) (one paper, slots map[string]string, setup []Call) {
	p := b.papers
	one = pick(r, p.all)
	if p.madeBody != "" && p.name != "" && p.nextKey() != "" && r.IntN(3) > 0 {
		one = paper{key: p.nextKey()}
		one.title, one.body = inventPaper(r)
		setup = []Call{p.creates(one.title, one.body)}
	}
	return one, map[string]string{"one": p.one, "many": p.many, "x": one.title}, setup
}

// paperTask finds a document by the list or by a search, and reads it.
func (b *boarding) paperTask(r *rand.Rand, act *programs.Program, one paper, setup []Call) *boardTask {
	t := &boardTask{Program: act, setup: setup}
	call := b.papers.list.bare()
	if s := b.papers.search; s != nil && r.IntN(4) == 0 {
		call = Call{Tool: s.Name, Arguments: objectOf(member{s.queryField(), quote(one.title)})}
	}
	t.look(call)
	t.look(b.papers.viewOf(one.key))
	t.shown = append(append(t.shown, one.title), one.body...)
	return t
}

// rewrite gives a document other lines.
func (b *boarding) rewrite(t *boardTask, one paper, now []string) *boardTask {
	t.changes = []Call{b.papers.write(b.papers.body, one.key, now)}
	return t.sees(b.papers.viewOf(one.key), func(text string) bool {
		return strings.Contains(text, strings.Join(now, "\n"))
	})
}

var valueLine = regexp.MustCompile(`^([A-Z][A-Za-z ]{2,30}): (\S.{0,60})$`)

// entry draws a line that gives something a value.
func (one paper) entry(r *rand.Rand) (at int, name, value string) {
	at = r.IntN(len(one.body))
	m := valueLine.FindStringSubmatch(one.body[at])
	if m == nil || strings.Count(strings.Join(one.body, "\n"), m[1]) > 1 {
		return -1, "", ""
	}
	return at, m[1], strings.TrimSuffix(m[2], ".")
}

// askPaper asks what a document says about something.
func (b *boarding) askPaper(r *rand.Rand) *boardTask {
	one, slots, setup := b.paper(r)
	at, name, value := one.entry(r)
	if at < 0 {
		return nil
	}
	slots["attr"] = strings.ToLower(name)
	q := programs.NewQuestion(programs.Lookup, "paper_ask", slots,
		programs.Answer{Form: "text", Values: []string{value}}, b.table)
	return b.paperTask(r, q, one, setup)
}

// askPapers asks what is valueLine somewhere, where a search finds it.
func (b *boarding) askPapers(r *rand.Rand) *boardTask {
	one, slots, setup := b.paper(r)
	at, name, value := one.entry(r)
	if at < 0 {
		return nil
	}
	delete(slots, "x")
	slots["attr"] = strings.ToLower(name)
	q := programs.NewQuestion(programs.Lookup, "papers_ask", slots,
		programs.Answer{Form: "text", Values: []string{value}}, b.table)
	s := b.papers.search
	t := &boardTask{Program: q, setup: setup, shown: append([]string{one.title}, one.body...)}
	t.look(Call{Tool: s.Name, Arguments: objectOf(member{s.queryField(), quote(slots["attr"])})})
	t.look(b.papers.viewOf(one.key))
	return t
}

var someDigits = regexp.MustCompile(`\d+`)

// otherValue is a value like one of a document: with other digits, or that of another line.
func (one paper) otherValue(r *rand.Rand, at int, value string) string {
	if n, err := strconv.Atoi(value); err == nil {
		return strconv.Itoa(max(1, n+5*(1+r.IntN(9))))
	}
	if strings.Contains(value, " to ") { // hours
		return fmt.Sprintf("%d to %d", 7+r.IntN(4), 15+r.IntN(5))
	}
	if digits := someDigits.FindAllStringIndex(value, -1); len(digits) > 0 {
		last := digits[len(digits)-1]
		n := 1 + r.IntN(8)
		for range last[1] - last[0] - 1 {
			n = 10*n + r.IntN(10)
		}
		return value[:last[0]] + strconv.Itoa(n) + value[last[1]:]
	}
	other := paper{body: []string{one.body[(at+1)%len(one.body)]}}
	if _, _, v := other.entry(r); v != "" {
		return v
	}
	return value
}

// setPaper changes what a document says about something.
func (b *boarding) setPaper(r *rand.Rand) *boardTask {
	one, slots, setup := b.paper(r)
	at, name, value := one.entry(r)
	if at < 0 {
		return nil
	}
	slots["attr"], slots["old"], slots["v"] = name, value, one.otherValue(r, at, value)
	if slots["v"] == value {
		return nil
	}
	now := slices.Clone(one.body)
	now[at] = name + ": " + slots["v"]
	return b.rewrite(b.paperTask(r, programs.NewAct(programs.Set, "paper_set", slots), one, setup), one, now)
}

// lastLine is a new line for the end of a document; "" where it may not be told from what is there.
func (one paper) lastLine(r *rand.Rand) (text string) {
	if lines := inventLines(r, one.title); lines != nil {
		text = pick(r, lines)
	} else {
		text = remark(r)
		text = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	name, _, _ := strings.Cut(text, ":")
	if strings.Contains(strings.Join(one.body, "\n"), name) || pointDigit.MatchString(one.body[len(one.body)-1]) {
		return ""
	}
	return text
}

// addPaper adds a line at the end of a document.
func (b *boarding) addPaper(r *rand.Rand) *boardTask {
	one, slots, setup := b.paper(r)
	if slots["v"] = one.lastLine(r); slots["v"] == "" {
		return nil
	}
	now := append(slices.Clone(one.body), slots["v"])
	return b.rewrite(b.paperTask(r, programs.NewAct(programs.Insert, "paper_add", slots), one, setup), one, now)
}

// setAndAdd changes a line of a document, and adds one at its end.
func (b *boarding) setAndAdd(r *rand.Rand) *boardTask {
	one, slots, setup := b.paper(r)
	at, name, value := one.entry(r)
	last := one.lastLine(r)
	if at < 0 || last == "" {
		return nil
	}
	slots["attr"], slots["v"], slots["item"] = name, one.otherValue(r, at, value), last
	if slots["v"] == value || strings.Contains(slots["v"], ". ") { // several sentences are no value
		return nil
	}
	now := append(slices.Clone(one.body), last)
	now[at] = name + ": " + slots["v"]
	return b.rewrite(b.paperTask(r, programs.NewAct(severalEdits, "paper_set_add", slots), one, setup), one, now)
}

// pointDigit matches a line of a list with numbers, which go on.
var pointDigit = regexp.MustCompile(`^\s*\d+[.)]`)

// dropPaper takes a line out of a document.
func (b *boarding) dropPaper(r *rand.Rand) *boardTask {
	one, slots, setup := b.paper(r)
	at, name, _ := one.entry(r)
	if at < 0 || len(one.body) < 3 {
		return nil
	}
	slots["attr"] = name
	now := slices.Delete(slices.Clone(one.body), at, at+1)
	return b.rewrite(b.paperTask(r, programs.NewAct(programs.Remove, "paper_drop", slots), one, setup), one, now)
}

// copyFact writes what a document says about something into a part of a thing.
func (b *boarding) copyFact(r *rand.Rand) *boardTask {
	one, slots, setup := b.paper(r)
	at, name, value := one.entry(r)
	p, ok := b.textPart(r, func(p section) bool { return (p.add != nil || p.set != nil) && !p.listed })
	row, more := b.named(r)
	if at < 0 || !ok || row == nil {
		return nil
	}
	by := p.add
	if by == nil {
		by = p.set
	}
	slots["y"], slots["x"], slots["attr"], slots["a"] = one.title, more["x"], name, b.called(r, p)
	act := programs.NewAct(copyFound, "paper_copy", slots)
	text := name + ": " + value
	t := b.paperTask(r, act.Work(one.body[at], `so "`+text+`"`), one, setup)
	before := partOf(b.looks[b.key(row)], p.title).says()
	b.seek(r, t, row, slots["x"], r.IntN(2) == 0 || p.add == nil)
	t.free = []string{text}
	if p.add == nil && before != "" { // what is there stays
		text = before + "\n" + text
	}
	t.changes = b.changeOf(b.key(row), member{by.name, by.texts(text)})
	return b.has(t, row, p, text)
}

// newPaper makes a document.
func (b *boarding) newPaper(r *rand.Rand) *boardTask {
	p := b.papers
	title, body := inventPaper(r)
	if r.IntN(2) == 0 {
		text := remark(r)
		body = []string{strings.ToUpper(text[:1]) + text[1:] + "."}
	}
	slots := map[string]string{"one": p.one, "many": p.many, "x": title, "v": strings.Join(body, "\n")}
	if len(body) > 1 {
		slots["v"] = body[0]
		body = body[:1]
	}
	if p.nextKey() == "" {
		return nil
	}
	t := &boardTask{Program: programs.NewAct(programs.Insert, "paper_new", slots)}
	t.changes = []Call{p.creates(title, body)}
	return t.sees(p.viewOf(p.nextKey()), func(text string) bool {
		return strings.Contains(text, title) && strings.Contains(text, strings.Join(body, "\n"))
	})
}

// swapPaper exchanges what a document says about two things.
func (b *boarding) swapPaper(r *rand.Rand) *boardTask {
	one, slots, setup := b.paper(r)
	at, name, value := one.entry(r)
	to, other, otherValue := one.entry(r)
	if at < 0 || to < 0 || value == otherValue {
		return nil
	}
	slots["a"], slots["b"] = name, other
	now := slices.Clone(one.body)
	now[at], now[to] = name+": "+otherValue, other+": "+value
	act := programs.NewAct(programs.Set, "paper_swap", slots).Work(one.body[at], one.body[to])
	return b.rewrite(b.paperTask(r, act, one, setup), one, now)
}

// sumPaper asks what the numbers of a document come to, or what is left of a number that the request says.
func (b *boarding) sumPaper(r *rand.Rand) *boardTask {
	p := b.papers
	if p.madeBody == "" || p.name == "" || p.nextKey() == "" {
		return nil
	}
	one := paper{key: p.nextKey(), title: pick(r, []string{"Price list", "Stock count", "Small expenses"})}
	one.body = inventLines(r, one.title)
	sum, work := 0, []string{}
	for i, line := range one.body {
		_, value, _ := strings.Cut(line, ": ")
		n, _ := strconv.Atoi(value) // these documents have whole numbers
		if sum += n; i > 0 {
			line += fmt.Sprintf(", %d + %d = %d", sum-n, n, sum)
		}
		work = append(work, line)
	}
	slots := map[string]string{"one": p.one, "many": p.many, "x": one.title}
	pattern, answer := "paper_sum", sum
	if most := sum + 10*(1+r.IntN(40)); r.IntN(2) == 0 {
		pattern, slots["n"], answer = "paper_left", strconv.Itoa(most), most-sum
		work = append(work, fmt.Sprintf("%d - %d = %d", most, sum, answer))
	}
	q := programs.NewQuestion(programs.Total, pattern, slots, programs.Answer{Form: "number",
		Values: []string{strconv.Itoa(answer)}}, b.table)
	return b.paperTask(r, q.Work(work...), one, []Call{p.creates(one.title, one.body)})
}

// paperOfFact makes a document of one line, whose value another one has.
func (b *boarding) paperOfFact(r *rand.Rand) *boardTask {
	one, slots, setup := b.paper(r)
	at, name, value := one.entry(r)
	p, title := b.papers, groupName(r)
	key := p.nextKey()
	if at < 0 || key == "" {
		return nil
	}
	if one.key == key { // the session begins with one more
		key = lastDigits.ReplaceAllStringFunc(key, func(n string) string {
			next, _ := strconv.Atoi(n) // made of digits
			return strconv.Itoa(next + 1)
		})
	}
	slots["y"], slots["x"], slots["attr"] = title, one.title, name
	t := b.paperTask(r, programs.NewAct(copyFound, "paper_of", slots).Work(one.body[at]), one, setup)
	t.changes = []Call{p.creates(title, []string{name + ": " + value})}
	return t.sees(p.viewOf(key), func(text string) bool {
		return strings.Contains(text, title) && strings.Contains(text, name+": "+value)
	})
}
