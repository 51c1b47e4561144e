package programs

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// mostThought bounds a plan, in bytes: a longer one is no thought before a query.
const mostThought = 480

// think puts a plan before the first statement of a program over a database: the words of the request beside the
// columns that they are, as whoever writes such tasks by hand puts it. It is read off the statements, so that it says
// all that they have, and nothing else.
//
// Of a change on a condition the plan is the same whatever comes out. What the look shows is then compared: seen says
// how.
func (p *Program) think(w *World, seen string) {
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(p.Key())) // it does not fail
	k := &planner{p: p, own: p, w: w, r: rand.New(rand.NewPCG(seed.Sum64(), 0))}
	p.Steps = slices.Clone(p.Steps)
	second := len(p.Steps) - p.later // what a second message asks for is not known before
	k.before(p.Steps[:second], seen)
	k.behind = true
	k.before(p.Steps[second:], seen)
}

// before puts a plan before the first of some statements.
func (k *planner) before(steps []Step, seen string) {
	first := slices.IndexFunc(steps, func(s Step) bool { return !kindsLook.MatchString(s.SQL) })
	if first < 0 {
		return
	}
	for i, s := range steps[:first] {
		if m := kindsLook.FindStringSubmatch(s.SQL); s.Why == "" {
			steps[i].Why = pick(k.r, []string{"How is %s written in %s?", "First the values of %s in %s.",
				"Which values does %s have in %s?"})
			steps[i].Why = fmt.Sprintf(steps[i].Why, plainOf(m[1]), plainOf(m[2]))
		}
	}
	text := k.plan(steps)
	if k.p.Kind == ActIf {
		text = k.condition(steps[first].SQL)
		k.decide(seen)
	}
	if len(text) <= mostThought {
		steps[first].Why = strings.TrimSpace(text + "\n" + steps[first].Why)
	}
}

var (
	// kindsLook is a look at the values of a column.
	kindsLook = regexp.MustCompile(`^SELECT DISTINCT ([^(.]+) FROM ("(?:[^"]|"")+"|\S+)$`)
	nextKey   = regexp.MustCompile(`^SELECT MAX\(.*\) FROM (\S+)$`)
	sqlToken  = regexp.MustCompile(`'(?:[^']|'')*'|(?:(?:"(?:[^"]|"")*"|[\p{L}_][\p{L}\p{N}_]*)\.?)+|\d+(?:\.\d+)?|` +
		`<=|>=|<>|\S`)
)

// planner says the statements of a program in words.
type planner struct {
	p      *Program
	own    *Program // of the statement: the one behind the other in a message, at times
	w      *World
	r      *rand.Rand
	behind bool        // what a second message asks for is said
	from   []*Table    // of the statement
	names  []tokenList // of these, where a query has another name for one
}

type tokenList []string

// plan says what the decisive statements do, part by part where there are several.
func (k *planner) plan(steps []Step) string {
	decisive := k.decisive(steps)
	if len(decisive) == 1 && !decisive[0].Writes && k.p.Kind == Lookup && k.r.IntN(3) == 0 {
		return ""
	}
	var parts []string
	for _, s := range decisive {
		k.owns(s)
		if text := k.says(s.SQL); text != "" {
			parts = append(parts, text)
		}
	}
	if keep := k.p.slots["keep"]; keep != "" {
		parts = append(parts, keep+" stays as it is.")
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	for i := range parts {
		parts[i] = fmt.Sprintf("%d. %s", i+1, parts[i])
	}
	return strings.Join(parts, " ")
}

// condition says a change that is made on a condition only, in the words of the request beside the columns.
func (k *planner) condition(first string) string {
	s := k.p.slots
	name := func(caption string) string { // of the column
		for _, t := range k.p.Tables {
			if i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.caption() == caption }); i >= 0 {
				return t.Columns[i].Name
			}
		}
		return caption
	}
	is, does, other := "", fmt.Sprintf("%s becomes %s", name(s["attr"]), s["v"]), "nothing changes"
	switch k.p.pattern {
	case "set_when", "set_either":
		is = fmt.Sprintf("%s of %s %s", name(s["attr2"]), s["x"], s["rel"])
		if s["old"] != "" {
			other = "it becomes " + s["old"]
		}
	case "set_when_of":
		is = fmt.Sprintf("%s of the %s of %s %s", name(s["attr2"]), name(s["ref"]), s["x"], s["rel"])
	case "set_if":
		is = fmt.Sprintf("%s of %s is below %s", name(s["attr"]), s["x"], s["bound"])
	case "set_if_room":
		is, does = fmt.Sprintf("%s has fewer %s than %s", s["y"], s["others"], name(s["attr"])), s["x"]+" goes there"
	default: // something is added
		t := k.p.Tables[0]
		is = fmt.Sprintf("%s has no %s", t.Name, s["x"])
		if k.p.pattern == "add_if_none" {
			c := tokenList(sqlToken.FindAllString(first, -1)).clauses()
			k.of(c["FROM"])
			is = fmt.Sprintf("%s has none where %s", t.Name, k.conditions(c["WHERE"]))
		}
		list := []string{s["x"]}
		for _, pair := range k.p.given {
			list = append(list, name(pair[0])+" "+pair[1])
		}
		does = "a new row: " + strings.Join(list, ", ")
	}
	return fmt.Sprintf(pick(k.r, []string{"Condition: %s. If so, %s; if not, %s.",
		"If %s, %s; if not, %s.", "Only if %s: %s. Otherwise %s."}), is, does, other)
}

// decide says what the look shows of a condition, and what follows, before the change or the answer.
func (k *planner) decide(seen string) {
	last := &k.p.Steps[len(k.p.Steps)-1]
	so := "nothing changes"
	switch left := strings.TrimPrefix(strings.Join(k.p.Answer.Values, ""), "Nothing was changed: "); k.p.pattern {
	case "add_unless", "add_if_none":
		if seen, so = "There is none", "it is added"; !last.Writes {
			seen, so = strings.TrimSuffix(left, "."), "nothing is added"
		}
	case "set_if_room":
		if last.Writes { // its plan says it
			return
		}
		seen = strings.TrimSuffix(left, ".") + ": no room"
	default:
		if c := tokenList(sqlToken.FindAllString(last.SQL, -1)).clauses(); last.Writes {
			so = k.changes(c, "")
		}
	}
	switch text := seen + ", so " + so + "."; {
	case seen == "":
	case last.Writes:
		if at := len(k.p.Steps) - 1; k.p.Steps[at-1].Writes || nextKey.MatchString(k.p.Steps[at-1].SQL) {
			last = &k.p.Steps[at-1]
		}
		last.Why = text
	default:
		k.p.working = text
	}
}

// decisive are the changes, and the queries that are asked for; where there are none, the first look.
func (k *planner) decisive(steps []Step) (list []Step) {
	for i, s := range steps {
		look := kindsLook.MatchString(s.SQL) ||
			strings.HasPrefix(s.SQL, "SELECT * ") && !strings.Contains(s.SQL, " ORDER BY ")
		if m := nextKey.FindStringSubmatch(s.SQL); m != nil && i+1 < len(steps) {
			look = look || strings.HasPrefix(steps[i+1].SQL, "INSERT INTO "+m[1]+" ")
		}
		if s.Writes || !look && s.Why == "" {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		list = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return kindsLook.MatchString(s.SQL) })[:1]
	}
	return list
}

// owns finds of which of two requests in one message a statement is.
func (k *planner) owns(s Step) {
	then := k.p.then
	has := func(o Step) bool { return o.SQL == s.SQL }
	if k.own = k.p; then != nil && (k.behind || slices.ContainsFunc(then.Steps, has)) {
		k.own = then
	}
}

// alone reports whether the slots of the request are those of the statement.
func (k *planner) alone() bool { return k.p.then == nil || k.own != k.p }

// says says one statement.
func (k *planner) says(sql string) string {
	tokens := tokenList(sqlToken.FindAllString(sql, -1))
	c := tokens.clauses()
	switch tokens[0] {
	case "SELECT":
		return k.asks(c)
	case "UPDATE":
		return k.sets(c)
	case "DELETE":
		return k.deletes(c)
	case "INSERT":
		return k.adds(tokens)
	}
	var columns []string
	for _, part := range tokens[4 : len(tokens)-1].split(",") {
		columns = append(columns, plainOf(part[0]))
	}
	return fmt.Sprintf("New table %s with %s.", plainOf(tokens[2]), strings.Join(columns, ", "))
}
