package programs

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	planWord  = regexp.MustCompile(`[\p{L}\p{N}_][\p{L}\p{N}_'’.:-]*[\p{L}\p{N}_]|[\p{L}\p{N}_]`)
	partOfOne = regexp.MustCompile(`(?:^| )\d\. `)
	stored    = regexp.MustCompile(` \([^()]* in hundredths\)`)
	sqlWord   = regexp.MustCompile(`'((?:[^']|'')*)'|"((?:[^"]|"")*)"|[\p{L}_][\p{L}\p{N}_]*|\d+(?:\.\d+)?`)
	sqlAlone  = regexp.MustCompile(`^(?:SELECT|DISTINCT|FROM|JOIN|LEFT|ON|AS|WHERE|AND|OR|IN|NOT|IS|NULL|LIKE|` +
		`BETWEEN|GROUP|BY|HAVING|ORDER|DESC|LIMIT|COUNT|SUM|AVG|MIN|MAX|ROUND|UPDATE|SET|DELETE|INSERT|INTO|VALUES|n|mean|` +
		`total|left_over|CREATE|TABLE|TEXT|INTEGER|REAL)$`)
	aggregates = map[string]*regexp.Regexp{
		"COUNT": regexp.MustCompile(`(?i)how many|count of`), "SUM": regexp.MustCompile(`(?i)sum of`),
		"AVG": regexp.MustCompile(`(?i)average`), "MAX": regexp.MustCompile(`(?i)highest|latest`),
		"MIN": regexp.MustCompile(`(?i)lowest|earliest`), "DESC": regexp.MustCompile(`(?i)highest|latest|falling`),
		"DISTINCT": regexp.MustCompile(`(?i)once|different`), "ROUND": regexp.MustCompile(`rounded`),
	}
)

// A plan says all columns, values, aggregates and orders of what it is of, and no other column or number.
func TestAPlanSaysItsQuery(t *testing.T) {
	said, changes := 0, 0
	for seed := range uint64(120) {
		w := Invent(rand.New(rand.NewPCG(seed, 21)), int(seed)%NumDomains())
		for kind := range Shares() {
			p := Draw(rand.New(rand.NewPCG(seed, uint64(len(kind))+22)), w, kind)
			if p == nil || kind == ActIf || len(p.Steps) == 0 {
				continue
			}
			for i := range p.Steps {
				p.Steps[i].Why = ""
			}
			k := &planner{p: p, own: p, w: w, r: rand.New(rand.NewPCG(seed, 23))}
			for _, s := range k.decisive(p.Steps) {
				said++
				if s.Writes {
					changes++
				}
				k.owns(s)
				plan := k.says(s.SQL)
				for _, lack := range lacks(p, w, plan, s) {
					t.Errorf("%s: %q is not in %q: %s", kind, lack, plan, s.SQL)
				}
				if s.Writes { // what is found is said by how it is looked for
					for _, o := range p.Steps {
						s.SQL += " " + o.SQL
					}
				}
				for _, more := range adds(p, w, plan, s) {
					t.Errorf("%s: %q is in %q, and not in: %s", kind, more, plan, s.SQL)
				}
			}
		}
	}
	if said < 1000 || changes < 300 {
		t.Errorf("%d statements were said, %d of them changes", said, changes)
	}
}

// A plan is sentences: the request's words for the rows, what they are in columns, and what is asked for or becomes.
func TestAPlanIsPlain(t *testing.T) {
	sentences := regexp.MustCompile(`^(?:\p{Lu}|\d\. \p{Lu}).*[.?]$`)
	notes := regexp.MustCompile(`is the table|\b[Ww]anted:|To be deleted|Not said|^Of |: that of|, one$`)
	worded, filtered := 0, 0
	for seed := range uint64(120) {
		w := Invent(rand.New(rand.NewPCG(seed, 51)), int(seed)%NumDomains())
		for kind := range Shares() {
			p := Draw(rand.New(rand.NewPCG(seed, uint64(len(kind))+52)), w, kind)
			if p == nil || kind == ActIf || len(p.Steps) == 0 || p.then != nil {
				continue
			}
			k := &planner{p: p, own: p, w: w, r: rand.New(rand.NewPCG(seed, 53))}
			for _, s := range k.decisive(p.Steps) {
				plan := k.says(s.SQL)
				if !sentences.MatchString(plan) || notes.MatchString(plan) {
					t.Errorf("%s: %q is no plain sentence: %s", kind, plan, s.SQL)
				}
				filter, many := p.slots["filter"], p.slots["many"]
				if filter != "" && len(k.from) > 0 && k.from[0].Many == many {
					if filtered++; strings.Contains(strings.ToLower(plan), strings.ToLower(many+" "+filter)) {
						worded++
					}
				}
			}
		}
	}
	if filtered < 300 || 10*worded < 9*filtered {
		t.Errorf("%d of %d plans have the words of the request", worded, filtered)
	}
}

// Before its first statement a task says what it is going to do, all but a third of plain lookups. Before a change on a
// condition it says what there is, and before the answer where nothing is changed.
func TestAPlanStandsFirst(t *testing.T) {
	first, lookups, planned := 0, 0, 0
	for seed := range uint64(120) {
		w := Invent(rand.New(rand.NewPCG(seed, 31)), int(seed)%NumDomains())
		for kind := range Shares() {
			p := Draw(rand.New(rand.NewPCG(seed, uint64(len(kind))+32)), w, kind)
			if p == nil || len(p.Steps) == 0 {
				continue
			}
			if p.Steps[0].Why == "" {
				if lookups++; kind != Lookup {
					t.Errorf("%s: nothing is said before %s", kind, p.Steps[0].SQL)
				}
				continue
			}
			if first++; kind == Lookup {
				planned++
			}
			for _, s := range p.Steps {
				if len(strings.Fields(s.Why)) > 60 {
					t.Errorf("%s: %q is long", kind, s.Why)
				}
			}
			if n := len(p.Steps) - p.later; p.later > 0 && n > 0 {
				k := &planner{p: p, own: p, w: w}
				one, two := p.Steps[0].Why, p.Steps[n].Why
				if two == "" || len(k.decisive(p.Steps[:n])) == 1 && strings.HasPrefix(one, "1. ") {
					t.Errorf("%s: the first message knows the second: %q, %q", p.pattern, one, two)
				}
			}
			last := p.Steps[len(p.Steps)-1].Why
			if kind == ActIf && !p.Changes() {
				last = p.Working()
			}
			if kind == ActIf && p.pattern != "set_if_room" && !strings.Contains(last, ", so ") {
				t.Errorf("%s: %q before the end of %+v", p.pattern, last, p.Steps)
			}
		}
	}
	if first < 1000 || lookups == 0 || lookups > planned {
		t.Errorf("%d plans; %d lookups without, %d with", first, lookups, planned)
	}
}

// What a look shows is compared as it is: the change follows where the words say so.
func TestAConditionIsCompared(t *testing.T) {
	compared := regexp.MustCompile(`^\S+ (.+): (not )?(above|below|after|before) (\S+), so (nothing changes)?`)
	n := 0
	for seed := range uint64(400) {
		w := Invent(rand.New(rand.NewPCG(seed, 41)), int(seed)%NumDomains())
		p := Draw(rand.New(rand.NewPCG(seed, 42)), w, ActIf)
		if p == nil || !strings.HasPrefix(p.pattern, "set_") {
			continue
		}
		text := p.Working()
		if p.Changes() {
			text = p.Steps[len(p.Steps)-1].Why
		}
		m := compared.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		n++
		a, b := cellOf(m[1]), cellOf(m[4])
		more := m[3] == "above" || m[3] == "after"
		holds := more && less(b, a) || !more && less(a, b)
		if holds != (m[2] == "") || p.pattern != "set_either" && holds != p.Changes() || p.Changes() == (m[5] != "") {
			t.Errorf("%s: %q, changed: %v", p.pattern, text, p.Changes())
		}
	}
	if n < 40 {
		t.Errorf("%d conditions were compared", n)
	}
}

// lacks are the parts of a statement that its plan does not say.
func lacks(p *Program, w *World, plan string, s Step) (list []string) {
	plain := strings.ToLower(plan)
	sql := keyOf.ReplaceAllString(s.SQL, "SELECT x FROM")
	sql = notEmpty.ReplaceAllString(sql, ")")
	for _, m := range sqlWord.FindAllStringSubmatch(sql, -1) {
		word := m[0]
		if of := aggregates[word]; of != nil && !of.MatchString(plan) {
			list = append(list, word)
		}
		if sqlAlone.MatchString(word) || word == "x" {
			continue
		}
		if strings.HasPrefix(word, "'") {
			word = strings.Trim(strings.ReplaceAll(m[1], "''", "'"), "%")
		}
		if word = strings.Trim(word, `"`); strings.Contains(plain, strings.ToLower(word)) ||
			word == "1" && strings.Contains(plan, "the first one") {
			continue
		}
		if strings.HasPrefix(plan, "New table") || isKey(p, w, word) || strings.Contains(plan, "becomes what ") ||
			strings.Contains(plan, "the next one") || isTable(w, word) && strings.Contains(sql, " JOIN ") {
			continue
		}
		list = append(list, word)
	}
	return list
}

var (
	keyOf    = regexp.MustCompile(`SELECT (?:"[^"]*"|\S+) FROM`)
	notEmpty = regexp.MustCompile(` WHERE (?:"[^"]*"|\S+) IS NOT NULL\)`)
)

// isKey reports whether some row has a number as its key, in the place of which a plan has its name.
func isKey(p *Program, w *World, word string) bool {
	return slices.ContainsFunc(w.Tables, func(t *Table) bool {
		return t.Key >= 0 && (t.Columns[t.Key].Name == word || slices.ContainsFunc(t.Rows, func(row []any) bool {
			return t.Key != t.Label && Show(row[t.Key]) == word
		}))
	})
}

// isCalled reports whether a row is called so, which a plan has in the place of its key.
func isCalled(w *World, word string) bool {
	return slices.ContainsFunc(w.Tables, func(t *Table) bool {
		return slices.ContainsFunc(t.Rows, func(row []any) bool { return t.rowLabel(row) == word })
	})
}

func isTable(w *World, word string) bool {
	return slices.ContainsFunc(w.Tables, func(t *Table) bool { return t.Name == word })
}

// adds are the columns and numbers of a plan that its statement does not have. What a new row leaves empty is said.
func adds(p *Program, w *World, plan string, s Step) (list []string) {
	plan = partOfOne.ReplaceAllString(stored.ReplaceAllString(plan, ""), " ")
	if strings.HasPrefix(s.SQL, "INSERT") {
		plan, _, _ = strings.Cut(plan, " Nothing is said of")
	}
	if i := strings.Index(plan, `"`); i >= 0 { // the words of the request
		if j := strings.LastIndex(plan, `"`); j > i {
			plan = plan[:i] + plan[j:]
		}
	}
	for _, word := range planWord.FindAllString(plan, -1) {
		column := strings.ContainsRune(word, '_') && slices.ContainsFunc(w.Tables, func(t *Table) bool {
			return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == word })
		})
		number := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
		if (column || number) && !strings.Contains(strings.ToLower(s.SQL), strings.ToLower(word)) &&
			!isCalled(w, word) && !strings.Contains(plan, "leads to") &&
			!strings.Contains(p.slots["x"]+" "+p.slots["y"]+" "+p.slots["old"], word) {
			list = append(list, word)
		}
	}
	return list
}
