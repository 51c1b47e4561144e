package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/synth/programs"
)

// isKept reports whether a file is one that nobody alters afterwards: minutes, or a letter that went out.
func (d *Doc) isKept() bool {
	return isCalled(strings.ReplaceAll(path.Dir(d.Path), "/", " ")+" "+d.stem(), "minutes letters") &&
		!blank.MatchString(d.Text)
}

var keepLine = regexp.MustCompile(`(?i)\b(?:minutes|letters)\b.*\b(?:not|never|alone|stay)\b`)

// keepRule is the line of a file of rules that says what is never altered; nil where there is none.
func (f *Folder) keepRule() (doc *Doc, line int) {
	for _, o := range f.Docs {
		if o.Table == nil && !o.isKept() && isCalled(programs.Words(o.stem()), "readme rule convention file guide") {
			if at := slices.IndexFunc(o.lines(), keepLine.MatchString); at >= 0 {
				return o, at
			}
		}
	}
	return nil, 0
}

// near reports whether two words differ by one letter, or two that stand side by side: Pryce and Price.
func near(a, b string) bool {
	x, y := []rune(a), []rune(b)
	first, last := endsAlike(x, y)
	n, m := len(x)-first-last, len(y)-first-last
	if n == 2 && m == 2 {
		return x[first] == y[first+1] && x[first+1] == y[first]
	}
	return a != b && n < 2 && m < 2 && first > 0 && len(x) > 3
}

// misspelling is a name that a list of persons has, and how some other files spell it.
type misspelling struct {
	name, wrong string
	in          []*Doc
}

var capitalWord = regexp.MustCompile(`\p{Lu}[\pL'-]+`)

// findMisspelt are the names that are misspelt in some files, each in one way.
func (f *Folder) findMisspelt() (list []misspelling) {
	surnames := map[string]map[*Doc][]string{} // by the word before them
	for _, o := range f.Docs {
		at := capitalWord.FindAllStringIndex(o.Text, -1)
		for i := 1; i < len(at); i++ {
			if at[i-1][1]+1 != at[i][0] || o.Text[at[i-1][1]] != ' ' {
				continue
			}
			first := o.Text[at[i-1][0]:at[i-1][1]]
			if surnames[first] == nil {
				surnames[first] = map[*Doc][]string{}
			}
			surnames[first][o] = append(surnames[first][o], o.Text[at[i][0]:at[i][1]])
		}
	}
	for _, doc := range f.Docs {
		if !doc.hasBody() {
			continue
		}
		for k := range doc.header {
			if !doc.isOfPeople(k) || !distinct(doc.texts(k)) {
				continue
			}
			for _, name := range doc.texts(k) {
				if !fullName.MatchString(name) {
					continue
				}
				one, ways := misspelling{name: name}, map[string]bool{}
				given := strings.TrimSuffix(name, " "+surname(name))
				by := surnames[surname(given)]
				for _, o := range f.Docs {
					had := false
					for _, last := range by[o] {
						if near(last, surname(name)) && strings.Contains(o.Text, given+" "+last) {
							ways[last], had, one.wrong = true, true, last
						}
					}
					if had {
						one.in = append(one.in, o)
					}
				}
				wrong := strings.TrimSuffix(name, surname(name)) + one.wrong
				if len(ways) == 1 && !slices.ContainsFunc(one.in, func(o *Doc) bool { return o.listsPerson(wrong) }) {
					list = append(list, one)
				}
			}
		}
	}
	return list
}

// listsPerson reports whether a column of persons has a name.
func (d *Doc) listsPerson(name string) bool {
	return d.hasBody() && slices.ContainsFunc(d.header, func(h string) bool {
		k := d.inHeader(h)
		return slices.Contains(d.texts(k), name) && d.isOfPeople(k)
	})
}

// spellRight has a name be put right wherever it is misspelt, but not in what is never altered.
func (d *drawer) spellRight() *programs.Program {
	if len(d.f.misspelt) == 0 {
		return nil
	}
	one := pick(d.r, d.f.misspelt)
	first := strings.TrimSuffix(one.name, " "+surname(one.name))
	kept := slices.DeleteFunc(slices.Clone(one.in), func(o *Doc) bool { return !o.isKept() })
	wrong := slices.DeleteFunc(slices.Clone(one.in), (*Doc).isKept)
	rule, at := d.f.keepRule()
	if len(wrong) == 0 || len(wrong) > 4 ||
		slices.ContainsFunc(one.in, func(o *Doc) bool { return len(o.Text) > mostText }) {
		return nil
	}
	s, pattern := slots("x", one.name), "spell_right"
	if len(kept) > 0 && (rule == nil || d.r.IntN(2) == 0) {
		pattern, rule, s["b"] = "spell_right_but", nil, "the letters that went out"
		if slices.ContainsFunc(kept, func(o *Doc) bool { return strings.Contains(o.Path, "minutes") }) {
			s["b"] = "the minutes"
		}
		if slices.ContainsFunc(kept, func(o *Doc) bool {
			return !strings.Contains(o.Path, strings.Fields(s["b"])[1])
		}) {
			s["b"] = "minutes and letters"
		}
	}
	d.about = append(d.about, one.in...)
	if rule != nil {
		d.everywhere()
		d.readSome([]*Doc{rule}, path.Base(rule.Path)+" may say what is not altered.")
		d.note(rule.quote(at))
	}
	switch {
	case d.can[Search]:
		d.look(Op{Do: Search, Path: ".", Old: first, Why: "It may stand in several files. I search for " + first + "."})
		d.readAll(wrong)
	case len(d.f.Docs) <= mostRead:
		d.everywhere()
		d.readAll(d.f.Docs)
	default:
		return nil
	}
	old, begin := first+" "+one.wrong, len(d.ops)
	for _, o := range wrong {
		was := o.lines()
		now := slices.Clone(was)
		for i := range now {
			now[i] = strings.ReplaceAll(now[i], old, one.name)
		}
		d.rewrite(o, was, now)
	}
	why := old + " stands in " + strings.Join(names(wrong), ", ") + "."
	if len(kept) > 0 {
		why += " It stands in " + strings.Join(names(kept), ", ") + ", too, which stays as it is."
	}
	d.ops[begin].Why = why + "\n" + d.ops[begin].Why
	return act(programs.SetAll, pattern, s).Did(one.name + " is right now in " + strings.Join(names(wrong), ", "))
}

var (
	dayAhead = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}-[a-z0-9-]+$`)
	dayTold  = regexp.MustCompile(`\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{2}[/.]\d{4}|\d{1,2} \p{Lu}\p{Ll}{2,8} \d{4})\b`)
	someWhen = regexp.MustCompile(`(?i)\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec`)
)

// dayOf is the only day that a text says.
func (d *Doc) dayOf() (at time.Time, said string) {
	all := dayTold.FindAllString(d.Text, -1)
	if len(all) != 1 {
		return at, ""
	}
	_, layout := lastDay(all)
	if layout == "" {
		return at, ""
	}
	at, _ = time.Parse(layout, all[0]) // it has that form
	return at, all[0]
}

// dayInFront renames files as the others of their folder are named: the day of the text in front.
func (d *drawer) dayInFront() *programs.Program {
	if !d.can[Move] {
		return nil
	}
	var dirs []string
	bad := map[string][]*Doc{}
	for _, dir := range d.f.Dirs {
		good := 0
		for _, o := range d.f.in(dir) {
			if dayAhead.MatchString(o.stem()) {
				good++
			} else {
				bad[dir] = append(bad[dir], o)
			}
		}
		if good > 0 && len(bad[dir]) > 0 && len(bad[dir]) < 5 && !slices.ContainsFunc(bad[dir], func(o *Doc) bool {
			_, said := o.dayOf()
			return said == "" || someWhen.MatchString(o.stem())
		}) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	dir := pick(d.r, dirs)
	d.around(dir)
	d.readAll(bad[dir])
	var did []string
	for _, o := range bad[dir] {
		at, said := o.dayOf()
		name := at.Format(time.DateOnly) + "-" + slug(o.stem()) + path.Ext(o.Path)
		to := path.Join(dir, name)
		if d.f.has(to) || slices.Contains(did, name) {
			return nil
		}
		did = append(did, name)
		d.change(Op{Do: Move, Path: o.Path, To: to, Why: path.Base(o.Path) + " says " + said + ", so it is " + name})
		d.about = append(d.about, o)
	}
	return act(Organize, "files_day_front", slots("folder", d.folderName(dir))).
		Did("they are called " + strings.Join(did, ", "))
}
