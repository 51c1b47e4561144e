package folders

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"hone/internal/synth/programs"
)

// roll is a table of persons with how they are reached, what they belong to, and how they stand.
type roll struct {
	doc                      *Doc
	who, reach, group, state int // columns
}

const (
	reachWords = "phone mobile telephone tel number email mail address"
	stateWords = "status state membership standing"
)

// roll reads a file as one; nil where it is none.
func (d *Doc) roll() *roll {
	if !slices.ContainsFunc(d.header, func(h string) bool { return isCalled(h, reachWords) }) || len(d.body()) < 6 {
		return nil
	}
	o := &roll{doc: d, who: -1, reach: -1, group: -1, state: -1}
	for k, name := range d.header {
		all := d.texts(k)
		few := slices.Clone(all)
		slices.Sort(few)
		few = slices.Compact(few)
		switch {
		case slices.Contains(all, "") || len(few) == 1:
		case o.who < 0 && distinct(all) && d.isOfPeople(k):
			o.who = k
		case o.reach < 0 && distinct(all) && isCalled(name, reachWords):
			o.reach = k
		case o.state < 0 && len(few) < 5 && isCalled(name, stateWords):
			o.state = k
		case o.group < 0 && len(few) < 6 && !strings.ContainsAny(strings.Join(few, ""), "0123456789"):
			o.group = k
		}
	}
	if o.who < 0 || o.reach < 0 || o.group < 0 || o.state < 0 {
		return nil
	}
	return o
}

// surname is the last word of a name.
func surname(name string) string { words := strings.Fields(name); return words[len(words)-1] }

// lastFirst is a name as a list by surnames has it.
func lastFirst(name string) string {
	return surname(name) + ", " + strings.TrimSuffix(name, " "+surname(name))
}

func isPlain(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// pageList makes a page of those of a table who belong to something and are as it says, by surname.
func (d *drawer) pageList() *programs.Program {
	doc := d.one(func(o *Doc) bool { return o.roll() != nil })
	if doc == nil {
		return nil
	}
	o := doc.roll()
	who, reach, group, state := doc.texts(o.who), doc.texts(o.reach), doc.texts(o.group), doc.texts(o.state)
	g, v := pick(d.r, group), pick(d.r, state)
	at, work := map[string]string{}, []string(nil)
	var found []string
	for i, name := range who {
		is := group[i] == g && state[i] == v
		if group[i] == g {
			work = append(work, name+" "+group[i]+" "+state[i]+map[bool]string{true: " - yes", false: " - no"}[is])
		}
		if is {
			found, at[name] = append(found, name), reach[i]
		}
	}
	key := func(name string) string { return strings.ToLower(lastFirst(name)) }
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(key(a), key(b)) })
	attr := programs.Called(doc.header[o.reach], false)
	file := path.Join(path.Dir(doc.Path), slug(programs.Words(doc.header[o.reach])+"-list-"+g)+".md")
	if len(found) < 2 || len(found) > 8 || len(found) == len(work) || !isPlain(strings.Join(found, "")) ||
		d.f.has(file) || strings.ContainsAny(g+v, "0123456789") {
		return nil
	}
	text := "# " + strings.ToUpper(g[:1]) + g[1:] + "\n\n"
	switch d.r.IntN(3) {
	case 0:
		text += "| name | " + attr + " |\n|---|---|\n"
		for _, name := range found {
			text += "| " + lastFirst(name) + " | " + at[name] + " |\n"
		}
	case 1:
		for _, name := range found {
			text += "- " + name + ": " + at[name] + "\n"
		}
	default:
		for _, name := range found {
			text += "- " + lastFirst(name) + ", " + at[name] + "\n"
		}
	}
	s := slots("a", g, "ref", programs.Words(doc.header[o.group]), "v", v, "attr", attr, "name", file)
	d.hunt(doc, attr, s["ref"]+" members", path.Base(doc.Path)+" may have the "+attr+" of each.")
	d.change(Op{Do: Write, Path: file, New: text, Why: strings.Join(work, "\n") + "\nBy surname: " +
		strings.Join(mapped(found, lastFirst), "; ")})
	const between = `(?:(?:#[^\n]*|[^\n\d@]*)\n)*`
	is := `\A` + between
	for i, name := range found {
		first := strings.TrimSuffix(name, " "+surname(name))
		is += map[bool]string{true: between, false: ""}[i > 0] + `(?:\d+[.)] *)?[^\n\d@]*?\b(?:` +
			regexp.QuoteMeta(name) + `|` + regexp.QuoteMeta(surname(name)) + `[^\pL\n]{1,6}` + regexp.QuoteMeta(first) +
			`|` + regexp.QuoteMeta(first) + `[^\pL\n]{1,6}` + regexp.QuoteMeta(surname(name)) +
			`)\b[^\n\pL\d]*` + regexp.QuoteMeta(at[name]) + `[^\n\pL\d@]*\n`
	}
	d.form(file, strings.TrimSuffix(is, `\n`)+`(?:\n[^\n\d@]*)*\z`)
	return act(programs.Insert, "page_list", s).Did(fmt.Sprintf("%s has the %d of %s %s who are %s, by surname", file,
		len(found), s["ref"], g, v))
}

func mapped(list []string, by func(string) string) (of []string) {
	for _, one := range list {
		of = append(of, by(one))
	}
	return of
}

// rankWords are sorted by what they mean: nobody puts large before small.
var rankWords = strings.Fields("tiny small medium middle large big huge xs s m l xl xxl low high easy moderate hard " +
	"difficult light heavy short long weak strong none little some much poor fair good young old junior senior " +
	"beginner beginners intermediate advanced first second third early late never rarely sometimes often always")

// areRanks reports whether there are two ranks among some cells.
func areRanks(all []string) bool {
	ranks := map[string]bool{}
	for _, v := range all {
		if v = strings.ToLower(v); slices.Contains(rankWords, v) {
			ranks[v] = true
		}
	}
	return len(ranks) > 1
}

// sortKeys reports whether all people sort some cells in the same way.
func sortKeys(all []string) bool {
	return !areRanks(all) && !slices.ContainsFunc(all, func(v string) bool {
		lower := strings.ToLower(v)
		return v == "" || !isPlain(v) || strings.HasPrefix(lower, "the ") || strings.HasPrefix(lower, "a ") ||
			strings.ContainsAny(v, "-'") && !isDay(v)
	})
}

// pageSort sorts the rows of a table by one column or two: a whole file anew, in which nothing is lost.
func (d *drawer) pageSort() *programs.Program {
	doc := d.one(func(o *Doc) bool {
		return o.hasBody() && len(o.body()) > 4 && len(o.body()) < 17 && o.ledger() == nil &&
			o.body()[len(o.body())-1]-o.body()[0] == len(o.body())-1
	})
	if doc == nil {
		return nil
	}
	by, by2 := d.r.IntN(len(doc.header)), d.r.IntN(len(doc.header))
	a, b := doc.texts(by), doc.texts(by2)
	text := func(all []string) bool {
		_, form := daysOf(all)
		return !plainNumber.MatchString(all[0]) && form == ""
	}
	compare := func(i, k int) int {
		if n := natural(a[i], a[k]); n != 0 || distinct(a) {
			return n
		}
		return natural(b[i], b[k])
	}
	order := make([]int, len(a))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, compare)
	for i := 1; i < len(order); i++ {
		if compare(order[i-1], order[i]) == 0 {
			return nil
		}
	}
	one := distinct(a)
	if !text(a) || !sortKeys(a) || doc.isOfPeople(by) || slices.IsSorted(order) ||
		!one && (by == by2 || !sortKeys(b) || doc.isOfPeople(by2)) {
		return nil
	}
	s := slots("attr", programs.Called(doc.header[by], false), "file", d.name(doc))
	pattern := "page_sort"
	var keys []string
	was, body := doc.lines(), doc.body()
	now := slices.Clone(was)
	for to, from := range order {
		now[body[to]] = was[body[from]]
		keys = append(keys, a[from])
		if !one {
			keys[to] += ", " + b[from]
		}
	}
	if !one {
		pattern, s["attr2"] = "page_sort_two", programs.Called(doc.header[by2], isDay(b[0]))
	}
	if s["attr"] == "" || !one && s["attr2"] == "" {
		return nil
	}
	d.read(doc)
	d.writeAnew(doc, now, fmt.Sprintf("All %d rows in this order, each as it is:\n%s", len(order),
		strings.Join(keys, "\n")))
	return act(Organize, pattern, s).Did("all " + number(len(order)) + " rows are in their new order, none is changed")
}

// writeAnew writes a file as a whole, and says why.
func (d *drawer) writeAnew(doc *Doc, now []string, why string) {
	d.change(Op{Do: Write, Path: doc.Path, New: strings.Join(now, "\n"), Why: why})
}

// listSort sorts the entries of a list from A to Z, each with its tick.
func (d *drawer) listSort() *programs.Program {
	doc := d.one(func(o *Doc) bool {
		return o.hasEntries() && len(o.Items) > 4 && len(o.Items) < 17 && len(o.heads()) < 2 && o.counts() == nil &&
			o.Items[len(o.Items)-1].line-o.Items[0].line == len(o.Items)-1 &&
			!itemNumber.MatchString(o.lines()[o.Items[0].line]) && sortKeys(texts(o.Items))
	})
	if doc == nil || hasDigit.MatchString(strings.Join(texts(doc.Items), "")) {
		return nil
	}
	was, items := doc.lines(), slices.Clone(doc.Items)
	sort.Slice(items, func(i, j int) bool { return natural(items[i].Text, items[j].Text) < 0 })
	if slices.Equal(items, doc.Items) {
		return nil
	}
	now := slices.Clone(was)
	for i, item := range items {
		now[doc.Items[i].line] = was[item.line]
	}
	d.read(doc)
	d.writeAnew(doc, now, "From A to Z:\n"+strings.Join(texts(items), "\n"))
	return act(Organize, "list_sort", slots("file", d.name(doc))).Did("all " + number(len(items)) +
		" entries are in order")
}

var sectionHead = regexp.MustCompile(`^## +(\S.*?)\s*$`)

// section is a part of a page below a heading: its lines without blank ones at the ends.
type section struct {
	head     string
	at       int // the line of the heading
	from, to int // its lines, from the first to behind the last
}

func (d *Doc) sections() (list []section) {
	lines := d.lines()
	for i, line := range lines {
		m := sectionHead.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		s := section{head: m[1], at: i, from: i + 1, to: i + 1}
		for k := i + 1; k < len(lines); k++ {
			if strings.HasPrefix(lines[k], "# ") || sectionHead.MatchString(lines[k]) {
				break
			}
			if strings.TrimSpace(lines[k]) == "" {
				continue
			}
			if s.from == i+1 && s.to == i+1 {
				s.from = k
			}
			s.to = k + 1
		}
		list = append(list, s)
	}
	return list
}

// looselyLines matches lines with any blank ones between them.
func looselyLines(lines []string) string {
	var parts []string
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			parts = append(parts, regexp.QuoteMeta(strings.TrimSpace(line)))
		}
	}
	return strings.Join(parts, `\s*\n\s*`)
}

// pageSplit takes a section of a page into a page of its own beside it. A line in the old place says where it went.
func (d *drawer) pageSplit() *programs.Program {
	doc := d.one(func(o *Doc) bool {
		return path.Ext(o.Path) == ".md" && len(o.sections()) > 2 && len(o.Text) <= mostText
	})
	if doc == nil {
		return nil
	}
	o, lines := pick(d.r, doc.sections()), doc.lines()
	name := slug(o.head) + ".md"
	if d.r.IntN(2) == 0 {
		name = slug(doc.stem()+" "+o.head) + ".md"
	}
	file := path.Join(path.Dir(doc.Path), name)
	if o.to-o.from < 2 || o.to-o.from > 14 || d.f.has(file) || strings.Count(doc.Text, o.head) != 1 ||
		strings.Contains(doc.Text, name) || strings.HasPrefix(strings.ToLower(o.head), "open") {
		return nil
	}
	s := slots("head", o.head, "file", d.name(doc), "name", name)
	d.read(doc)
	body := lines[o.from:o.to]
	d.change(Op{Do: Write, Path: file, New: "# " + o.head + "\n\n" + strings.Join(body, "\n") + "\n",
		Why: fmt.Sprintf("%s has %d lines below %s, from %q to %q. They go to %s as they are.", path.Base(doc.Path),
			o.to-o.from, o.head, strings.TrimSpace(body[0]), strings.TrimSpace(body[len(body)-1]), file)})
	d.form(file, `\A\s*(?:#+ [^\n]*\n\s*){0,2}`+looselyLines(body)+`\s*\z`)
	now := slices.Concat(lines[:o.from], []string{pick(d.r, []string{"See ", "Now in ", "Moved to "}) + name},
		lines[o.to:])
	at := len(d.ops)
	d.rewrite(doc, lines, now)
	d.ops[at].Why = "In the old place stands one line: " + now[o.from]
	parts := looselyLines(lines[:o.at]) + `\s*\n\s*(?:#+ *` + regexp.QuoteMeta(o.head) + `:?\s*\n\s*)?[^\n]*` +
		regexp.QuoteMeta(name) + `[^\n]*`
	if rest := looselyLines(lines[o.to:]); rest != "" {
		parts += `\s*\n\s*` + rest
	}
	d.form(doc.Path, `\A\s*`+parts+`\s*\z`)
	return act(Organize, "page_split", s).Did(o.head + " is in " + file + " now, and " + path.Base(doc.Path) +
		" has a line that says so")
}

var whoseItem = regexp.MustCompile(`^(\p{Lu}\p{Ll}+): +(\S.*)$`)

// actionsBy collects what the files of a folder have open, by who is to do it.
func (d *drawer) actionsBy() *programs.Program {
	dir, docs, _ := d.openOfAll()
	name := d.freeName(".md")
	open, seen := map[string][]string{}, map[string]bool{}
	var work, who []string
	for _, doc := range docs {
		for _, item := range doc.Items {
			m := whoseItem.FindStringSubmatch(item.Text)
			if item.Box == 0 {
				continue
			}
			if m == nil || seen[item.Text] {
				return nil
			}
			seen[item.Text] = true
			work = append(work, item.Text+map[bool]string{true: " - open", false: " - done"}[item.Box == ' '])
			if item.Box != ' ' {
				continue
			}
			if open[m[1]] == nil {
				who = append(who, m[1])
			}
			open[m[1]] = append(open[m[1]], m[2])
		}
	}
	if len(who) < 2 || name == "" || d.f.has(name) || !isPlain(strings.Join(who, "")) {
		return nil
	}
	slices.Sort(who)
	text, is := "", `\A\s*(?:# [^\n]*\n\s*)?`
	for i, one := range who {
		text += map[bool]string{true: "\n"}[i > 0] + "## " + one + "\n"
		is += `(?:#+ *)?[*_]*` + one + `[*_]*:?[*_]*\s*`
		for _, what := range open[one] {
			text += "- " + what + "\n"
			is += `\n\s*(?:[-*+] *|\d+[.)] *)?(?:\[ \] *)?` + regexp.QuoteMeta(what) + `\.? *`
		}
		is += map[bool]string{true: `\n\s*`, false: `\s*\z`}[i < len(who)-1]
	}
	d.around(dir)
	d.readAll(docs)
	d.change(Op{Do: Write, Path: name, New: text, Why: strings.Join(work, "\n") + "\nIn order: " +
		strings.Join(who, ", ")})
	d.form(name, is)
	return act(programs.Insert, "actions_by", slots("folder", d.folderName(dir), "name", name)).
		Did(name + " has what is open for " + strings.Join(who, ", "))
}
