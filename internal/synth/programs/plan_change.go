package programs

import (
	"fmt"
	"slices"
	"strings"
)

// How a plan says a change, read off its SQL.

// target finds which rows of a table a change is of: the name of the one that it is of, or else their conditions.
func (k *planner) target(table string, l tokenList) (who string, where tokenList) {
	if len(l) == 3 && l[1] == "=" {
		if _, t, at := k.column(l[0]); at >= 0 && at == t.Key {
			said := strings.TrimPrefix(k.row(t, at, unquoted(l[2])), "that of ")
			if which := k.foundBy(l, table); strings.HasSuffix(said, thatIsFound) && which != nil {
				return k.target(table, which)
			}
			return said, nil
		}
	}
	return "", l
}

// thatIsFound is said of a thing that only a look shows.
const thatIsFound = "that is found"

// foundBy are the conditions by which the row is looked for that has a key; nil where no look has others.
func (k *planner) foundBy(key tokenList, table string) tokenList {
	for _, s := range k.p.Steps {
		c := tokenList(sqlToken.FindAllString(s.SQL, -1)).clauses()
		if !s.Writes && c["WHERE"] != nil && plainOf(c["FROM"][0]) == table && !slices.Equal(c["WHERE"], key) &&
			c["ORDER"] == nil {
			return c["WHERE"]
		}
	}
	return nil
}

// sets says an update: each column with what it becomes.
func (k *planner) sets(c map[string]tokenList) string {
	k.of(c["UPDATE"])
	table := plainOf(c["UPDATE"][0])
	who, where := k.target(table, c["WHERE"])
	switch {
	case who != "":
		return fmt.Sprintf(pick(k.r, []string{"In %s, %s.", "Change %s: %s."}), table, k.changes(c, " of "+who))
	case where == nil:
		return fmt.Sprintf("In every row of %s, %s.", table, k.changes(c, ""))
	}
	text := fmt.Sprintf("n %s, where %s, %s.", table, k.conditions(where), k.changes(c, ""))
	if words := k.words(where); words != "" {
		return words + ": i" + text
	}
	return "I" + text
}

// deletes says which rows go.
func (k *planner) deletes(c map[string]tokenList) string {
	k.of(c["FROM"])
	table := plainOf(c["FROM"][0])
	who, where := k.target(table, c["WHERE"])
	switch words := k.words(where); {
	case who != "":
		return fmt.Sprintf("Delete %s from %s.", who, table)
	case where == nil:
		return fmt.Sprintf("Delete every row of %s.", table)
	case words != "":
		return fmt.Sprintf("%s: delete from %s where %s.", words, table, k.conditions(where))
	default:
		return fmt.Sprintf("Delete from %s where %s.", table, k.conditions(where))
	}
}

// changes says what each column becomes, the first one with whose it is.
func (k *planner) changes(c map[string]tokenList, of string) string {
	k.of(c["UPDATE"])
	var list []string
	for _, part := range c["SET"].split(",") {
		said, t, at := k.column(part[0])
		list = append(list, said+of+" "+k.becomes(t, at, part[2:]))
		of = ""
	}
	return enumerate(list)
}

// becomes says what a column gets.
func (k *planner) becomes(t *Table, at int, value tokenList) string {
	switch {
	case value[0] == "NULL":
		return "becomes empty (NULL)"
	case value[0] == "(":
		return "becomes that " + k.named(value[1:len(value)-1])
	case value[0] == "ROUND":
		return fmt.Sprintf("becomes %s, rounded", k.text(value[2:slices.Index(value, ")")]))
	case len(value) > 1:
		by := value[len(value)-1]
		return "becomes " + strings.TrimSuffix(k.text(value), by) + k.cents(t, at, by)
	}
	text := unquoted(value[0])
	if text == "" {
		return "becomes an empty text"
	}
	switch {
	case k.own.pattern == "same_as":
		return "becomes what " + k.own.slots["y"] + " has"
	case k.own.pattern == "exchange":
		return "becomes what the other one has"
	}
	text = k.row(t, at, k.cents(t, at, text))
	if k.own.pattern == "correct" {
		return "becomes " + text + ", not " + k.own.slots["old"]
	}
	return "becomes " + text
}

// adds says a new row: each value beside its column, and what the request does not say.
func (k *planner) adds(l tokenList) string {
	k.of(tokenList{l[2]})
	at := slices.Index(l, "VALUES")
	columns, values := l[4:at-1].split(","), l[at+2:len(l)-1].split(",")
	var list, given, without []string
	for i, column := range columns {
		said, t, at := k.column(column[0])
		value := strings.TrimPrefix(k.becomes(t, at, values[i]), "becomes ")
		if t != nil && t == k.p.Made && strings.HasSuffix(said, "_id") {
			value = "that of " + k.p.slots["x"]
		}
		if at >= 0 && at == t.Key && at != t.Label && t.Columns[at].Kind == Number {
			value = "the next one"
		}
		list, given = append(list, said+" "+value), append(given, said)
	}
	text := fmt.Sprintf(pick(k.r, []string{"Add a row to %s: %s.", "New in %s: %s."}), plainOf(l[2]),
		strings.Join(list, ", "))
	if len(k.from) == 0 {
		return text
	}
	for i, c := range k.from[0].Columns {
		if i != k.from[0].Key && len(c.Parts) == 0 && !slices.Contains(given, c.Name) {
			without = append(without, c.Name)
		}
	}
	if len(without) > 0 {
		text += fmt.Sprintf(" Nothing is said of %s, so that stays empty.", enumerate(without))
	}
	return text
}
