package folders

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"hone/internal/synth/programs"
)

// sharedValue is a value that several files have: one notes it, others say it, and some say it of what is over.
type sharedValue struct {
	doc        *Doc
	pair       Pair
	live, past []*Doc // live has doc
}

var (
	pastName = regexp.MustCompile(
		`(?i)^(?:letters?|sent|mails?|minutes|logs?|logbook|diary|journal|history|archive|old)$`)
	telephone = regexp.MustCompile(`^\+?[\d -]{7,18}$`)
	keptRule  = regexp.MustCompile(
		`(?i)\b(?:left alone|stay|stays|not changed|never changed|as they (?:are|were)|kept)\b`)
	textFiles = strings.Fields(".md .txt .text .ini .yaml .yml .cfg .conf .markdown")
)

// pastWord is the word of a file's path that says that it is of what is over: letters, minutes, a log; "" for none.
func (d *Doc) pastWord() string {
	for _, part := range strings.Split(strings.TrimSuffix(d.Path, path.Ext(d.Path)), "/") {
		for _, word := range strings.Fields(programs.Words(part)) {
			if pastName.MatchString(word) {
				return word
			}
		}
	}
	return ""
}

// isSharedValue reports whether a value is one that people say in several files: a code, a number to call, a name.
func isSharedValue(v string) bool {
	_, form := lastDay([]string{v})
	digits := len(regexp.MustCompile(`\d`).FindAllString(v, -1))
	return form == "" && len(v) > 3 && len(v) < 40 && (fullName.MatchString(v) && strings.Count(v, " ") == 1 &&
		strings.ToUpper(v[:1]) == v[:1] || telephone.MatchString(v) || digits > 2 && !strings.Contains(v, ".") &&
		!strings.ContainsAny(v, " :"))
}

// findShared are the values that several files of a folder have.
func (f *Folder) findShared() (list []sharedValue) {
	for _, doc := range f.Docs {
		for _, p := range doc.Pairs {
			if !isSharedValue(p.Value) || doc.pastWord() != "" || !slices.Contains(textFiles, path.Ext(doc.Path)) {
				continue
			}
			s, odd := sharedValue{doc: doc, pair: p}, false
			for _, o := range f.Docs {
				other := o.pair(p.Key)
				n := strings.Count(o.Text, p.Value)
				odd = odd || other != nil && other.Value != p.Value || n > 0 && (!o.standsAlone(p.Value) || n > 2 ||
					!slices.Contains(textFiles, path.Ext(o.Path)))
				switch {
				case n > 0 && o.pastWord() != "":
					s.past = append(s.past, o)
				case n > 0:
					s.live = append(s.live, o)
				}
			}
			if !odd && len(s.live) > 1 && len(s.live) < 5 && len(s.past) > 0 {
				list = append(list, s)
			}
		}
	}
	return list
}

// anew is another value of the same form.
func (d *drawer) anew(v string) string {
	if fullName.MatchString(v) {
		name, _ := programs.NameOf(d.r, "person") // persons have names
		return name
	}
	now := []byte(v)
	for i := max(0, len(now)-4); i < len(now); i++ {
		if now[i] >= '0' && now[i] <= '9' {
			now[i] = byte('0' + d.r.IntN(10))
		}
	}
	return string(now)
}

// newValue gives a value that several files have another one, wherever it holds: not in what is over, as a rule says or
// the request.
func (d *drawer) newValue() *programs.Program {
	if len(d.f.shared) == 0 {
		return nil
	}
	v := pick(d.r, d.f.shared)
	old := v.pair.Value
	now := d.anew(old)
	if now == old || len(d.docs(func(o *Doc) bool { return strings.Contains(o.Text, now) })) > 0 {
		return nil
	}
	var words [][]string
	var kept []string
	for _, o := range v.past {
		one, _ := programs.Nouns(o.pastWord())
		words = append(words, []string{o.pastWord(), one})
		said := "the " + o.pastWord()
		if o.pastWord() == "sent" {
			said = "what was sent"
		}
		if !slices.Contains(kept, said) {
			kept = append(kept, said)
		}
	}
	s, pattern := slots("attr", v.pair.Key, "v", now), "value_new"
	of := d.findRule(words...)
	if of != nil && !keptRule.MatchString(of.doc.lines()[of.line]) {
		of = nil
	}
	d.about = append(d.about, v.live...)
	d.everywhere()
	if of != nil {
		d.readSome([]*Doc{of.doc}, path.Base(of.doc.Path)+" may say what is changed then, and what is not.")
		d.note("The rule, " + of.doc.quote(of.line))
	} else {
		s["given"], pattern = programs.Enumerate(kept), "value_new_but"
	}
	if d.r.IntN(3) == 0 {
		s["old"] = old
		pattern += "_old"
	}
	all := d.docs(func(o *Doc) bool { return slices.Contains(textFiles, path.Ext(o.Path)) && len(o.Text) <= mostText })
	switch {
	case d.can[Search] && s["old"] != "":
		d.look(Op{Do: Search, Path: ".", Old: old, Why: "I search for " + old + "."})
		d.restOf(v.live, "These still have it, and are not over.")
	case d.can[Search]:
		d.hunt(v.doc, v.pair.Key, "", path.Base(v.doc.Path)+" may have it.")
		d.note(v.doc.quote(v.pair.line) + "\nSo the old one is " + old + ".")
		d.look(Op{Do: Search, Path: ".", Old: old, Why: "I search for it."})
		d.restOf(v.live, "These still have it, and are not over.")
	case !d.restOf(all, "Nothing searches, and any text may have it: I read the texts."):
		return nil
	}
	at := len(d.ops)
	var where []string
	for _, doc := range v.live {
		was := doc.lines()
		lines := slices.Clone(was)
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], old, now)
		}
		d.rewrite(doc, was, lines)
		where = append(where, path.Base(doc.Path))
	}
	d.because(at, "The old "+v.pair.Key+" is "+old+". It stands in "+programs.Enumerate(where)+", and also in "+
		programs.Enumerate(names(v.past))+". What is over stays as it was.")
	return act(programs.SetAll, pattern, s).Did("the " + v.pair.Key + " is " +
		now + " in " + programs.Enumerate(where) +
		", and the old one stays in " + programs.Enumerate(names(v.past)))
}
