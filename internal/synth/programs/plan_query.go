package programs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// How a plan says a query, read off its SQL.

// clauseWords begin the parts of a statement.
const clauseWords = "SELECT FROM WHERE GROUP HAVING ORDER LIMIT UPDATE DELETE SET"

// clauses are the parts of a statement by the words that begin them; what is joined stands behind FROM.
func (l tokenList) clauses() map[string]tokenList {
	c, depth, at := map[string]tokenList{}, 0, ""
	for _, x := range l {
		switch x {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 && slices.Contains(strings.Fields(clauseWords), x) {
			at = x
			continue
		}
		if x != "BY" || depth > 0 {
			c[at] = append(c[at], x)
		}
	}
	return c
}

// split are the parts between some word that stands in no parentheses, and is not that of a range.
func (l tokenList) split(by string) (parts []tokenList) {
	depth, from, ranged := 0, 0, false
	for i, x := range l {
		switch {
		case x == "(":
			depth++
		case x == ")":
			depth--
		case x == "BETWEEN":
			ranged = true
		case x == "AND" && ranged:
			ranged = false
		case x == by && depth == 0:
			parts, from = append(parts, l[from:i]), i+1
		}
	}
	return append(parts, l[from:])
}

// plainOf is a name without the marks that SQL needs.
func plainOf(name string) string { return strings.ReplaceAll(name, `"`, "") }

// of reads of which tables a statement is, and how they are joined.
func (k *planner) of(from tokenList) (joins []string) {
	k.from, k.names = nil, nil
	add := func(name, as string) {
		tables := k.w.Tables
		if k.p.Made != nil {
			tables = append(slices.Clone(tables), k.p.Made)
		}
		for _, t := range tables {
			if Ident(t.Name) == name {
				k.from, k.names = append(k.from, t), append(k.names, tokenList{name, as})
			}
		}
	}
	for i, x := range from {
		switch {
		case i == 0:
			add(x, x)
		case x == "JOIN":
			name, on := plainOf(from[i+1]), i+3
			add(from[i+1], from[i+1])
			if from[i+2] == "AS" {
				k.names[len(k.names)-1][1] = from[i+3]
				name, on = name+" as "+plainOf(from[i+3]), i+5
			}
			a, b := lastPart(from[on]), lastPart(from[on+2])
			if name += " by " + a; a != b {
				name += " = " + b
			}
			if from[i-1] == "LEFT" {
				name += ", also for those without any"
			}
			joins = append(joins, name)
		}
	}
	return joins
}

// lastPart is the column of "table.column".
func lastPart(name string) string {
	parts := sqlNames.FindAllString(name, -1)
	return plainOf(parts[len(parts)-1])
}

var sqlNames = regexp.MustCompile(`"(?:[^"]|"")*"|[^."]+`)

// column finds what a name stands for: how it is said, its table, and its number there; -1 where it is none.
func (k *planner) column(name string) (said string, t *Table, at int) {
	parts := sqlNames.FindAllString(name, -1)
	if len(parts) == 0 {
		return name, nil, -1
	}
	column, found := plainOf(parts[len(parts)-1]), 0
	said, at = column, -1
	for n, o := range k.from {
		i := slices.IndexFunc(o.Columns, func(c Column) bool { return c.Name == column && len(c.Parts) == 0 })
		if i < 0 {
			continue
		}
		found++
		if t == nil || len(parts) > 1 && parts[0] == k.names[n][1] {
			t, at = o, i
		}
	}
	if len(parts) > 1 && (found > 1 || t != nil && t != k.from[0]) {
		said += " of " + plainOf(parts[0])
	}
	return said, t, at
}

// text is an expression in words, its columns without the tables where these are clear.
func (k *planner) text(l tokenList) string {
	var b strings.Builder
	for i, x := range l {
		said, _, at := k.column(x)
		if at < 0 {
			said = unquoted(x)
		}
		if i > 0 && x != "," && x != ")" && l[i-1] != "(" && (x != "(" || l[i-1] == "," || l[i-1] == "*") {
			b.WriteByte(' ')
		}
		b.WriteString(said)
	}
	return b.String()
}

// unquoted is a literal as people write it.
func unquoted(literal string) string {
	if text, ok := strings.CutPrefix(literal, "'"); ok {
		return strings.ReplaceAll(strings.TrimSuffix(text, "'"), "''", "'")
	}
	return literal
}

// asks says a query: which rows, in the words of the request and then by their columns, and what is asked for.
func (k *planner) asks(c map[string]tokenList) string {
	joins := k.of(c["FROM"])
	table, per, where := plainOf(c["FROM"][0]), c["GROUP"], k.conditions(c["WHERE"])
	asked, tail := k.asked(c["SELECT"], per)
	if having := c["HAVING"]; having != nil {
		n := len(having) - 2
		tail += fmt.Sprintf(", only where the %s is %s",
			strings.Replace(k.amount(having[:n]), "how many rows", "count of rows", 1),
			comparison(having[n], unquoted(having[n+1]), false))
	}
	if order := c["ORDER"]; order != nil {
		tail += ", " + k.order(order, c["SELECT"])
	}
	if most := c["LIMIT"]; most != nil {
		tail += ", only the first " + map[bool]string{true: "one", false: most[0]}[most[0] == "1"]
	}
	of := table
	if len(joins) > 0 {
		of += " joined with " + enumerate(joins)
	}
	switch {
	case asked == "how many rows" && tail == "":
		asked = "How many are there?"
	case amountText.MatchString(asked):
		asked = strings.ToUpper(asked[:1]) + asked[1:] + tail + "."
	case asked == "*":
		asked = "Look at the whole rows" + tail + "."
	default:
		asked = "Show " + asked + tail + "."
	}
	if where == "" {
		return fmt.Sprintf("Every row of %s. %s", of, asked)
	}
	if len(joins) > 0 {
		of += ","
	}
	switch words := k.words(c["WHERE"]); {
	case words != "":
		return fmt.Sprintf("%s: %s where %s. %s", words, of, where, asked)
	case len(joins) == 0 && tail == "" && strings.HasPrefix(asked, "Show ") && k.r.IntN(2) == 0:
		return fmt.Sprintf("%s of %s where %s.", strings.TrimSuffix(asked, "."), table, where)
	}
	return fmt.Sprintf("In %s, %s. %s", strings.TrimSuffix(of, ","), where, asked)
}

// amountText matches what is counted or computed, and no column.
var amountText = regexp.MustCompile(`^(?:how many|count of|sum of|average|highest|lowest|latest|earliest) `)

// words are those of the request for the rows that conditions tell: "Nurses hired before 2012", "The pump in North";
// "" where it has none.
func (k *planner) words(where tokenList) string {
	one, ok := strings.CutPrefix(k.own.slots["x"], "the ")
	many, filter, noun := k.own.slots["many"], k.own.slots["filter"], k.noun(where)
	switch {
	case !k.alone() || many == "" || where == nil || len(k.from) == 0 || many != k.from[0].Many && noun == "":
		return ""
	case filter == "" && ok:
		return "The " + one
	case filter == "" && noun == "":
		return ""
	}
	return strings.ToUpper(many[:1]) + strings.TrimSpace(many[1:]+" "+filter)
}

// noun is what the request calls the things, where a value makes it: "nurses" are staff.
func (k *planner) noun(where tokenList) string {
	many := k.own.slots["many"]
	if !k.alone() || slices.ContainsFunc(k.w.Tables, func(t *Table) bool { return t.Many == many }) {
		return ""
	}
	for _, part := range where.split("AND") {
		if len(part) == 3 && part[1] == "=" && strings.HasPrefix(part[2], "'") {
			_, t, at := k.column(part[0])
			if at >= 0 && t == k.from[0] &&
				strings.Contains(strings.ToLower(many), strings.ToLower(unquoted(part[2]))) {
				return many
			}
		}
	}
	return ""
}

// asked says what a query shows, and by what it is grouped.
func (k *planner) asked(list, per tokenList) (asked, tail string) {
	once := list[0] == "DISTINCT"
	if once {
		list = list[1:]
	}
	var amounts, columns []string
	for _, part := range list.split(",") {
		if text := k.amount(part); text != "" {
			amounts = append(amounts, text)
		} else if part[0] == "*" {
			return "*", ""
		} else {
			columns = append(columns, k.text(part))
		}
	}
	shown := strings.Join(columns, ", ")
	switch {
	case per != nil && len(amounts) > 0:
		return strings.Join(amounts, ", "), " per " + strings.ReplaceAll(k.text(per), ", ", " and ")
	case once:
		return "each " + shown, ", once"
	case len(columns) == 0:
		return strings.Join(amounts, ", "), ""
	}
	return strings.Join(append(columns, amounts...), ", "), ""
}

// amount says what is counted, added up or computed; "" where an expression is a mere column.
func (k *planner) amount(l tokenList) string {
	if n := len(l); n > 2 && l[n-2] == "AS" { // its name is the query's alone
		l = l[:n-2]
	}
	if len(l) < 3 {
		return ""
	}
	if l[1] != "(" {
		if at := slices.Index(l, "("); at > 1 && l[at+1] == "SELECT" { // the places less those that are taken
			of := l[at+1 : len(l)-1].clauses()
			side := of["WHERE"]
			return fmt.Sprintf("%s less the count of %s by %s", k.text(l[:at-1]), plainOf(of["FROM"][0]),
				lastPart(side[0]))
		}
		return k.text(l)
	}
	end := slices.Index(l, ")")
	inner, rest := l[2:end], l[end+1:]
	behind := ""
	if len(rest) > 0 {
		behind = " " + k.text(rest)
	}
	date := false
	if len(inner) == 1 {
		_, t, at := k.column(inner[0])
		date = at >= 0 && t.Columns[at].Kind == Date
	}
	most, least := "highest ", "lowest "
	if date {
		most, least = "latest ", "earliest "
	}
	switch l[0] {
	case "ROUND":
		parts := l[2 : len(l)-1].split(",")
		to := parts[len(parts)-1][0]
		return fmt.Sprintf("%s, rounded to %s %s", k.amount(parts[0]), to,
			map[bool]string{true: "decimal", false: "decimals"}[to == "1"])
	case "COUNT":
		switch {
		case inner[0] == "*":
			return "how many rows"
		case inner[0] == "DISTINCT":
			return "how many different " + k.text(inner[1:])
		}
		return "count of " + k.text(inner)
	case "SUM":
		return "sum of " + k.text(inner) + behind
	case "AVG":
		return "average of " + k.text(inner) + behind
	case "MAX":
		return most + k.text(inner) + behind
	}
	return least + k.text(inner) + behind
}

// order says by what a query sorts: by a column, or by what it computes under some name.
func (k *planner) order(l, selected tokenList) string {
	var list []string
	for _, part := range l.split(",") {
		said, t, at := k.column(part[0])
		for _, one := range selected.split(",") {
			if n := len(one); at < 0 && n > 2 && one[n-2] == "AS" && one[n-1] == part[0] {
				said = ""
			}
		}
		desc := len(part) > 1
		switch {
		case at >= 0 && t.Columns[at].Kind == Text && len(list) > 0:
			list = append(list, said)
		case at >= 0 && t.Columns[at].Kind == Text:
			list = append(list, map[bool]string{true: "in falling order of ", false: "in order of "}[desc]+said)
		case at >= 0 && t.Columns[at].Kind == Date:
			list = append(list, map[bool]string{true: "latest ", false: "earliest "}[desc]+said+" first")
		default:
			end := map[bool]string{true: "highest ", false: "lowest "}[desc]
			list = append(list, strings.TrimSpace(end+said)+" first")
		}
	}
	return strings.Join(list, ", ")
}

// conditions says each condition with its column: "role is nurse and hired_on is before 2012-01-01".
func (k *planner) conditions(l tokenList) string {
	if l == nil {
		return ""
	}
	var list []string
	by := " and "
	for _, part := range l.split("AND") {
		if list = append(list, k.conditionOf(part)); strings.Contains(list[len(list)-1], " or ") {
			by = ", and "
		}
	}
	return strings.Join(list, by)
}

// conditionOf says one condition: "role is nurse".
func (k *planner) conditionOf(l tokenList) string {
	if ways := l.split("OR"); len(ways) > 1 {
		return k.either(ways)
	}
	said, t, at := k.column(l[0])
	day := at >= 0 && t.Columns[at].Kind == Date
	op, rest := l[1], l[2:]
	var value string
	switch {
	case op == "IS":
		value = map[bool]string{true: "not empty", false: "empty"}[len(rest) > 1]
	case op == "NOT": // IN a list of references
		of := rest[2 : len(rest)-1].clauses()
		value = fmt.Sprintf("in no %s of %s", plainOf(of["SELECT"][0]), plainOf(of["FROM"][0]))
	case op == "BETWEEN":
		value = "from " + k.cents(t, at, unquoted(rest[0])) + " to " + k.cents(t, at, unquoted(rest[2]))
	case rest[0] == "(" && rest[1] == "SELECT":
		value = "that " + k.named(rest[1:len(rest)-1])
	case op == "IN":
		var values []string
		for _, one := range rest[1 : len(rest)-1].split(",") {
			values = append(values, unquoted(one[0]))
		}
		value = strings.Join(values, " or ")
	case op == "LIKE":
		text := unquoted(rest[0])
		switch inner := strings.Trim(text, "%"); {
		case strings.HasPrefix(text, "%"):
			return fmt.Sprintf("%s has %s in it", said, inner)
		case strings.HasSuffix(text, "%"):
			value = "in " + inner
		default:
			value = inner + " in any capitals"
		}
	default:
		value = comparison(op, k.row(t, at, k.cents(t, at, k.text(rest))), day)
	}
	return said + " is " + value
}

// cents says an amount that is stored in hundredths beside that of the request.
func (k *planner) cents(t *Table, at int, stored string) string {
	n, err := strconv.ParseInt(stored, 10, 64)
	if err != nil || at < 0 || !t.Columns[at].Cents {
		return stored
	}
	return fmt.Sprintf("%s (%s in hundredths)", stored, t.Columns[at].show(n))
}

// either says conditions of which one is enough.
func (k *planner) either(ways []tokenList) string {
	var list, columns []string
	for _, one := range ways {
		list = append(list, k.conditionOf(one))
		said, _, _ := k.column(one[0])
		columns = append(columns, said)
	}
	if last := ways[len(ways)-1]; !slices.ContainsFunc(ways, func(o tokenList) bool {
		return o[1] != "LIKE" || o[2] != last[2]
	}) {
		return strings.Trim(unquoted(last[2]), "%") + " is in " + strings.Join(columns, " or ")
	}
	return strings.Join(list, " or ")
}

// comparison says an operation with its value.
func comparison(op, value string, day bool) string {
	switch {
	case op == ">" && day:
		return "after " + value
	case op == "<" && day:
		return "before " + value
	case op == ">=" && day:
		return value + " or later"
	case op == "<=" && day:
		return value + " or earlier"
	}
	switch op {
	case ">":
		return "over " + value
	case "<":
		return "under " + value
	case ">=":
		return value + " or more"
	case "<=":
		return value + " or less"
	case "<>":
		return "not " + value
	}
	return value
}

// named says a reference by what it leads to: "of Oak Grove (name in fields)", "of fields where size is over 3".
func (k *planner) named(l tokenList) string {
	c := l.clauses()
	inner := &planner{p: k.p, own: k.own, w: k.w, r: k.r}
	inner.of(c["FROM"])
	table, where := plainOf(c["FROM"][0]), c["WHERE"]
	if len(where) == 3 && where[1] == "=" {
		said, _, _ := inner.column(where[0])
		return fmt.Sprintf("of %s (%s in %s)", unquoted(where[2]), said, table)
	}
	return "of " + table + " where " + inner.conditions(where)
}

// row says a key by the name of the row that has it, as who writes before the look does not know it yet: by that of the
// request, or as what another row leads to.
func (k *planner) row(t *Table, at int, key string) string {
	if at < 0 {
		return key
	}
	of, ref := t, t.Columns[at].Ref
	if ref != nil {
		of = ref
	} else if at != t.Key || at == t.Label {
		return key
	}
	row := slices.IndexFunc(of.Rows, func(row []any) bool { return Show(row[of.Key]) == key })
	if row < 0 || of.Label < 0 || of.Label == of.Key {
		return key
	}
	name := of.rowLabel(of.Rows[row])
	switch {
	case k.knows(name):
		return "that of " + name
	case ref == nil && k.looksUp(t, key):
		for _, o := range k.p.Tables {
			if i := slices.IndexFunc(o.Columns, func(c Column) bool { return c.Ref == t && o != t }); i >= 0 {
				return "that of the row that " + o.Columns[i].Name + " leads to"
			}
		}
	}
	return "that of the " + of.One + " " + thatIsFound
}

// looksUp reports whether a look is for a row by its key, which another one has shown.
func (k *planner) looksUp(t *Table, key string) bool {
	start := "SELECT * FROM " + Ident(t.Name) + " WHERE " + Ident(t.Columns[t.Key].Name) + " = "
	return slices.ContainsFunc(k.p.Steps, func(s Step) bool {
		by, ok := strings.CutPrefix(s.SQL, start)
		return ok && unquoted(by) == key
	})
}

// knows reports whether the request names a thing, or a look finds it by its name.
func (k *planner) knows(name string) bool {
	for _, said := range k.own.slots {
		if name != "" && strings.Contains(strings.ToLower(said), strings.ToLower(name)) {
			return true
		}
	}
	return slices.ContainsFunc(k.p.Steps, func(s Step) bool {
		text := strings.ToLower(name)
		return !s.Writes && (strings.Contains(s.SQL, Literal(name)) ||
			strings.Contains(strings.ToLower(s.SQL), strings.ReplaceAll("'%"+text+"%'", "''", "'")))
	})
}
