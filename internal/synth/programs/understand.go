package programs

import (
	"slices"
	"strings"
)

// Understand gives the columns of tables that a server has by itself the phrases that people use for them, from their
// names and values: "admitted_on" is "admitted after {v}" and "When was {x} admitted?", "price_eur" is "cheapest", and
// 0 and 1 in "heated" are yes and no. What no rule knows keeps the phrases that are made of the name.
func Understand(tables []*Table) {
	for _, t := range tables {
		for i := range t.Columns {
			if i != t.Key && i != t.Label && t.Columns[i].Ref == nil && len(t.Columns[i].Parts) == 0 {
				t.understand(i)
			}
		}
		for i := range t.Columns {
			if t.Columns[i].Ref != nil {
				t.Columns[i].refers(slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] == nil }))
			}
		}
		t.tellApart()
	}
}

// understand reads one column that names nothing in another table.
func (t *Table) understand(i int) {
	c := &t.Columns[i]
	words := spellOut(strings.Fields(Words(c.Name)))
	if len(words) == 0 {
		return
	}
	if c.Says == "" {
		c.Says = Called(c.Name, c.Kind == Date)
	}
	if c.Several { // of several tags one is spoken of
		c.Says = strings.Join(append(slices.Clone(words[:len(words)-1]), singular(words[len(words)-1])), " ")
	}
	empty := slices.ContainsFunc(t.Rows, func(row []any) bool { return row[i] == nil })
	switch {
	case c.Kind == Date:
		c.addDatePhrases(words, empty)
	case c.Kind == Number && t.isFlag(i) && !isAmount(words):
		c.Bool = true
		c.flag(words)
	case c.Kind == Text && t.isYesNo(i):
		c.flag(words)
	case c.Kind == Number && isCode(words, c.Name):
		c.Label = true
	case c.Kind == Number:
		c.addNumberPhrases(words)
	}
}

// Called is what people call a column or a key: abbreviations are written out, and "who" is no noun, nor
// is "from" before a day.
func Called(name string, isDay bool) string {
	plain := map[string]string{"who": "person", "what": "item", "when": "date", "where": "place"}
	words := Words(name)
	switch {
	case isDay && words == "from":
		return "first day"
	case isDay && words == "to":
		return "last day"
	case plain[words] != "":
		return plain[words]
	}
	return strings.Join(spellOut(strings.Fields(words)), " ")
}

// spellOut has abbreviations written out, as people say them.
func spellOut(words []string) []string {
	long := map[string]string{
		"dept": "department", "qty": "quantity", "addr": "address", "tel": "phone", "num": "number", "est": "estimated",
		"desc": "description", "cat": "category", "emp": "employee", "cust": "customer", "mgr": "manager",
		"amt": "amount", "dob": "date of birth", "max": "maximum", "min": "minimum", "avg": "average",
		"prev": "previous",
		"cnt":  "count",
	}
	out := slices.Clone(words)
	for i, w := range words {
		if long[w] != "" && (w != "min" || i < len(words)-1) { // at the end min are minutes
			out[i] = long[w]
		}
	}
	return out
}

// isFlag reports whether a column of numbers has nothing but 0 and 1, and both.
func (t *Table) isFlag(i int) bool {
	seen := map[int64]bool{}
	for _, row := range t.Rows {
		if row[i] == nil {
			continue
		}
		n, ok := row[i].(int64)
		if !ok || n != 0 && n != 1 {
			return false
		}
		seen[n] = true
	}
	return len(seen) == 2
}

// isAmount reports whether 0 and 1 are as many as there are, by the name of their column: goals, or what is in stock.
func isAmount(words []string) bool {
	last := words[len(words)-1]
	return slices.Contains(strings.Fields(`price cost fee rate quantity count stock hand age total amount score level
		number size weight height length floor version year`), last) ||
		len(words) == 1 && endsIn(last, "s") && !endsIn(last, "ss", "us", "is")
}

// isYesNo reports whether a column of texts has nothing but yes and no, or true and false.
func (t *Table) isYesNo(i int) bool {
	for _, row := range t.Rows {
		if v := Show(row[i]); row[i] != nil && !slices.Contains([]string{"yes", "no", "Y", "N", "true", "false"}, v) {
			return false
		}
	}
	return len(t.Rows) > 0
}

// isCode reports whether numbers name something and measure nothing, by the name of their column.
func isCode(words []string, name string) bool {
	if len(words) == 0 { // a column may have no name
		return false
	}
	last := words[len(words)-1]
	return strings.HasSuffix(strings.ToLower(name), "id") && (len(name) == 2 || strings.HasSuffix(name, "_id") ||
		strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "ID")) ||
		last == "by" && len(words) > 1 || slices.Contains([]string{"no", "nr", "num", "number", "code", "phone",
		"telephone", "mobile", "fax", "zip", "postcode", "room", "isbn", "plate", "box", "shelf", "locker", "table",
		"gate", "platform",
		"week", "page", "seat", "lane", "track", "barcode", "ean", "sku", "serial", "symbol", "slug"}, last)
}

// flag gives a column of yes and no its two phrases. A verb in front is a verb: "works_saturdays".
func (c *Column) flag(words []string) {
	verbs := map[string]string{
		"has": "have", "works": "work", "speaks": "speak", "needs": "need", "wants": "want", "allows": "allow",
		"accepts": "accept", "includes": "include", "requires": "require", "offers": "offer", "takes": "take",
		"eats": "eat", "owns": "own", "uses": "use", "drives": "drive", "lives": "live", "smokes": "smoke",
	}
	first, rest := words[0], strings.Join(words[1:], " ")
	switch {
	case (first == "is" || first == "are" || first == "was") && rest != "":
		c.Says, c.Yes, c.No = rest, "that are "+rest, "that are not "+rest
		c.Asks = "Is {x} " + rest + "?"
	case verbs[first] != "" && rest != "":
		c.Yes, c.No = "that "+verbs[first]+" "+rest, "that do not "+verbs[first]+" "+rest
		c.Asks = "Does {x} " + verbs[first] + " " + rest + "?"
	default:
		said := strings.Join(words, " ")
		c.Yes, c.No, c.Asks = "that are "+said, "that are not "+said, "Is {x} "+said+"?"
	}
}

// participle is what was done on a day, of the words of a column: "hired_on", "hire_date" and "hired" are "hired".
func participle(words []string) string {
	nouns := map[string]string{
		"hire": "hired", "order": "ordered", "purchase": "bought", "sale": "sold", "delivery": "delivered",
		"release": "released", "publication": "published", "admission": "admitted", "discharge": "discharged",
		"creation": "created", "birth": "born", "departure": "leaving", "arrival": "arriving", "start": "starting",
		"end": "ending", "expiry": "expiring", "expiration": "expiring", "due": "due", "payment": "paid",
		"registration": "registered", "enrollment": "enrolled", "booking": "booked", "shipping": "shipped",
		"return": "returned", "loan": "lent", "repair": "repaired", "update": "updated", "signup": "signed up",
	}
	irregular := []string{
		"sold", "bought", "built", "paid", "sent", "lent", "made", "brought", "begun", "written", "left", "met", "born",
		"taken", "given", "seen", "caught", "found", "held", "kept", "put", "read", "set", "spent", "told",
		"won", "due",
	}
	stems := slices.Clone(words)
	for len(stems) > 1 && slices.Contains([]string{"on", "at", "date", "time", "day", "when"}, stems[len(stems)-1]) {
		stems = stems[:len(stems)-1]
	}
	done := func(w string) bool { return len(w) > 4 && strings.HasSuffix(w, "ed") || slices.Contains(irregular, w) }
	switch {
	case len(stems) == 1 && done(stems[0]):
		return stems[0]
	case len(stems) == 1 && len(words) > 1 && nouns[singular(stems[0])] != "": // starts_on
		return nouns[singular(stems[0])]
	case len(stems) == 2 && done(stems[0]) &&
		slices.Contains([]string{"in", "out", "off", "up", "away", "back"}, stems[1]):
		return strings.Join(stems, " ")
	}
	return ""
}

// addDatePhrases gives a column of days its phrases.
func (c *Column) addDatePhrases(words []string, empty bool) {
	done := participle(words)
	if done == "" {
		said := strings.Join(words, " ")
		if len(words) > 1 && slices.Contains([]string{"on", "at"}, words[len(words)-1]) {
			said = strings.Join(words[:len(words)-1], " ")
			c.Says = said
		}
		c.More, c.Less = whose(said, "after {v}"), whose(said, "before {v}")
		if strings.HasSuffix(said, " until") || strings.HasSuffix(said, " since") || strings.HasSuffix(said, " from") {
			c.Says = said + " date"
			c.More, c.Less = "that are "+said+" a day after {v}", "that are "+said+" a day before {v}"
		}
		return
	}
	c.More, c.Less, c.Says = done+" after {v}", done+" before {v}", "date "+done
	switch {
	case strings.HasSuffix(done, "ing"):
		if c.Says = strings.Join(words, " "); len(words) == 2 && slices.Contains([]string{"on", "at"}, words[1]) {
			c.Says = singular(words[0]) + " date"
		}
	case done == "due":
		c.Says, c.Asks = "due date", "When is {x} due?"
	default:
		c.Says, c.Asks = done+" date", "When was {x} "+done+"?"
		c.Most, c.Least = "most recently "+done, "first "+done
		if slices.Contains([]string{"hired", "joined", "started", "employed", "signed up", "registered"}, done) {
			c.Least = "longest-standing"
		}
		if empty && done != "born" {
			c.Yes, c.No = "that were "+done+" already", "not "+done+" yet"
		}
	}
}

// addNumberPhrases gives a column of numbers its phrases: its unit is not said, money is paid, and what is counted is
// counted.
func (c *Column) addNumberPhrases(words []string) {
	units := []string{
		"eur", "euro", "euros", "usd", "gbp", "chf", "aed", "inr", "jpy", "cad", "aud", "sek", "nok", "dkk", "pln",
		"czk", "brl", "mxn", "zar", "cny", "dollars", "cents", "cm", "mm", "km", "kg", "lbs", "ml", "min",
		"mins", "pct", "percent", "hrs", "sqm", "m2", "m3", "kw", "kwh", "litres", "liters",
	}
	said := slices.Clone(words)
	for len(said) > 1 && slices.Contains(units, said[len(said)-1]) && said[len(said)-2] != "per" {
		c.Cents = c.Cents || said[len(said)-1] == "cents"
		said = said[:len(said)-1]
	}
	if len(said) > 1 && said[len(said)-1] == "in" { // aperture in mm
		said = said[:len(said)-1]
	}
	switch last := said[len(said)-1]; { // a preposition is no noun
	case slices.Contains([]string{"hourly", "daily", "weekly", "monthly"}, last):
		said = append(said, "rate")
	case len(said) > 1 && last == "at": // reorder_at
		said[len(said)-1] = "level"
	case slices.Equal(said, []string{"on", "hand"}):
		said = []string{"stock", "on", "hand"}
	}
	c.Says = strings.Join(said, " ")
	last := said[len(said)-1]
	set := func(more, less, most, least string) { c.More, c.Less, c.Most, c.Least = more, less, most, least }
	switch {
	case c.isYear() || slices.Contains([]string{"built", "founded", "published", "established", "opened"}, last):
		if done := participle(said); done != "" {
			set(done+" after {v}", done+" before {v}", "newest", "oldest")
			c.With = done + " in {v}"
			if len(said) == 1 { // "built" is no noun
				c.Says = "year " + done
			}
			if done == "born" {
				set(done+" after {v}", done+" before {v}", "youngest", "oldest")
			}
		} else {
			set("from after {v}", "from before {v}", "newest", "oldest")
			c.With = "from {v}"
		}
	case last == "price" || last == "cost" || last == "fee":
		set("that cost more than {v}", "that cost less than {v}", "most expensive", "cheapest")
		c.With = "that cost {v}"
		if len(said) > 1 && said[0] != "unit" && said[0] != "total" { // several costs are told apart by their words
			set(whose(c.Says, "above {v}"), whose(c.Says, "below {v}"), "", "")
			c.With = ""
		}
	case last == "salary" || last == "wage" || last == "income":
		set("who earn more than {v}", "who earn less than {v}", "best paid", "worst paid")
	case last == "age":
		set("older than {v}", "younger than {v}", "oldest", "youngest")
		c.With = "aged {v}"
	case last == "weight" && len(said) == 1:
		set("heavier than {v}", "lighter than {v}", "heaviest", "lightest")
	case last == "height" && len(said) == 1:
		set("taller than {v}", "shorter than {v}", "tallest", "shortest")
	case last == "length" && len(said) == 1:
		set("longer than {v}", "shorter than {v}", "longest", "shortest")
	case last == "duration" && len(said) == 1:
		set("that take longer than {v}", "that take less than {v}", "longest", "shortest")
	case slices.Contains([]string{"stock", "hand"}, last):
		set("with more than {v} "+map[bool]string{true: "on hand", false: "in stock"}[last == "hand"],
			"with less than {v} "+map[bool]string{true: "on hand", false: "in stock"}[last == "hand"], "", "")
		c.With = "with {v} " + map[bool]string{true: "on hand", false: "in stock"}[last == "hand"]
	case slices.Contains([]string{"quantity", "qty", "count"}, last):
		set(whose(c.Says, "above {v}"), whose(c.Says, "below {v}"), "", "")
	case isPlural(c.Says): // things that are counted
		set("with more than {v} "+c.Says, "with fewer than {v} "+c.Says, "", "")
		c.With = "with {v} " + c.Says
	case strings.Contains(c.Says, "s per "):
		noun, per, _ := strings.Cut(c.Says, " per ")
		set("with more than {v} "+noun+" per "+per, "with less than {v} "+noun+" per "+per, "", "")
		c.With = "with {v} " + noun + " per " + per
	}
}

// refers gives a column that names things of another table its phrases.
func (c *Column) refers(empty bool) {
	said := strings.Fields(c.caption())
	if len(said) == 0 {
		return
	}
	for len(said) > 1 && slices.Contains(marks(), said[len(said)-1]) {
		said = said[:len(said)-1]
	}
	said = spellOut(said)
	if key := c.Ref.Key; key >= 0 && strings.EqualFold(c.Name, c.Ref.Columns[key].Name) { // sku, of a bike
		said = strings.Fields(c.Ref.One)
	}
	last := said[len(said)-1]
	if empty {
		c.No = "that have no " + last + " yet"
	}
	if strings.HasPrefix(c.Ref.One, last) { // dept of a department; the head department stays one
		said, last = append(said[:len(said)-1], c.Ref.One), lastWord(c.Ref.One)
	}
	c.Says = strings.Join(said, " ")
	places := []string{"room", "building", "department", "ward", "warehouse", "city", "town", "country", "location",
		"store", "branch", "shelf", "section", "group", "team", "hangar", "class", "course", "station", "region", "bay",
		"floor", "category", "project", "list", "hall", "field", "depot", "office", "unit", "folder", "board", "league",
		"club"}
	owners := []string{"owner", "customer", "client", "member", "patient", "guest", "tenant", "buyer", "holder",
		"contact", "account"}
	makers := []string{"author", "artist", "maker", "brand", "manufacturer", "publisher", "director",
		"producer", "composer"}
	switch {
	case last == "by" && len(said) > 1:
		c.With, c.Asks = c.Says+" {v}", "Who was {x} "+c.Says+"?"
	case slices.Contains(places, last):
		c.With, c.Asks = "in {v}", "Which "+c.Says+" is {x} in?"
	case slices.Contains(owners, last):
		c.With, c.Asks = "of {v}", "Who is the "+c.Says+" of {x}?"
	case slices.Contains(makers, last):
		c.With, c.Asks = "by {v}", "Who is the "+c.Says+" of {x}?"
	case c.Ref.OfPeople():
		c.With, c.Asks = whose(c.Says, "{v}"), "Who is the "+c.Says+" of {x}?"
	default:
		c.With, c.Asks = "of the "+c.Says+" {v}", "Which "+c.Says+" does {x} have?"
	}
}

// OfPeople reports whether a table's things are persons, by its noun or by a name in two columns.
func (t *Table) OfPeople() bool {
	return t.Label >= 0 && len(t.Columns[t.Label].Parts) == 2 ||
		slices.Contains(strings.Fields(`person staff employee mechanic doctor customer member student teacher patient client
			user driver author contact player pilot nurse manager coach trainer guest tenant owner volunteer agent worker
			singer hirer carer diver lawyer swimmer musician pupil instructor referee runner`),
			lastWord(t.One))
}
