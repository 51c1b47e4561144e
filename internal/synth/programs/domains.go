package programs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hone/internal/synth/written"
)

// domain is a kind of everyday business, of which worlds are drawn.
type domain struct {
	Name   string        `json:"name"`
	Tables []domainTable `json:"tables"`
}

type domainTable struct {
	Name    string         `json:"name"`
	One     string         `json:"one"`
	Many    string         `json:"many"`
	Rows    [2]int         `json:"rows"`
	Link    string         `json:"link"` // what a row states of its two references; its columns are these alone
	Columns []domainColumn `json:"columns"`
}

type domainColumn struct {
	Name  string          `json:"name"`
	Gen   json.RawMessage `json:"gen"` // a list of values, or a rule: "int LOW HIGH STEP", "cents ...", "person", ...
	Ref   string          `json:"ref"`
	Null  float64         `json:"null"` // share of rows without a value
	With  string          `json:"with"`
	More  string          `json:"more"`
	Less  string          `json:"less"`
	Most  string          `json:"most"`
	Least string          `json:"least"`
	Asks  string          `json:"asks"`
	Says  string          `json:"says"` // what people call it: "weight in kg"
	Yes   string          `json:"yes"`  // phrase for yes, or for a value: "that are returned"
	No    string          `json:"no"`   // for no, or for none: "that are not returned yet"
	Noun  bool            `json:"noun"` // the values are nouns for the rows: "cellist"
}

// domains are all of them; nobody changes them.
var domains = sync.OnceValue(func() (list []domain) {
	written.Words("domains", &list)
	return list
})

// NumDomains is how many kinds of business there are.
func NumDomains() int { return len(domains()) }

// Invent draws a world of the domain with that index: tables with keys, of which some columns are left out, so that no
// two worlds have one schema.
func Invent(r *rand.Rand, index int) *World {
	d := domains()[index]
	w := &World{Name: d.Name}
	flags := r.IntN(2) == 0 // yes and no are 1 and 0
	for _, dt := range d.Tables {
		t := &Table{Name: dt.Name, One: dt.One, Many: dt.Many, Key: 0, Label: 1, Link: dt.Link}
		if dt.Link != "" {
			t.Label = -1
		}
		one := strings.ReplaceAll(dt.One, " ", "_")
		if r.IntN(4) == 0 && Ident(one) == one { // tools that describe a table do not all quote its name
			t.Name = one
		}
		key := pick(r, []string{"id", "id", "id", strings.ReplaceAll(dt.One, " ", "_") + "_id"})
		t.Columns = []Column{{Name: key, Kind: Number}}
		camel := r.IntN(5) == 0
		var gens []domainColumn
		for i, dc := range dt.Columns {
			if i > 1 && dc.Ref == "" && len(dt.Columns) > 4 && r.IntN(5) == 0 {
				continue
			}
			c := dc.column()
			if dc.Ref == dt.Name {
				c.Ref = t
			}
			if dc.Ref != "" {
				for k, before := range w.Tables {
					if d.Tables[k].Name == dc.Ref {
						c.Ref = before
					}
				}
			}
			c.Bool = flags && slices.Equal(dc.list(), []string{"yes", "no"})
			if c.Bool {
				c.Kind = Number
			}
			t.Columns, gens = append(t.Columns, c), append(gens, dc)
		}
		split := slices.Contains([]string{"person", "anyone"}, gens[0].sort()) && r.IntN(3) == 0
		if split { // the name itself is said, and stands in two columns
			t.Columns[1].Parts = []int{len(t.Columns), len(t.Columns) + 1}
			t.Columns = append(t.Columns, Column{Name: "first_name", Kind: Text}, Column{Name: "last_name", Kind: Text})
		}
		if camel {
			for i := range t.Columns {
				t.Columns[i].Name = camelCase(t.Columns[i].Name)
			}
		}
		t.fill(r, dt, gens, split)
		for i := range t.Columns { // of half of the states, so that one sees what a store says that insists on them
			t.Columns[i].Needed = t.hasKinds(i) && !t.hasNone(i) && (len(t.Name)+i)%2 == 0
		}
		w.Tables = append(w.Tables, t)
	}
	return w
}

// fill draws the rows of an invented table; with split, the first column's name is in the last two as well.
func (t *Table) fill(r *rand.Rand, dt domainTable, gens []domainColumn, split bool) {
	used := map[string]bool{}
	n := dt.Rows[0] + r.IntN(dt.Rows[1]-dt.Rows[0]+1)
	if list := gens[0].list(); list != nil {
		n = min(n, len(list)-1)
	}
	for id := 1; id <= n; id++ {
		row := []any{int64(id)}
		for i, dc := range gens {
			var v any
			for range 40 { // a label is one row's
				if v = dc.draw(r, t.Columns[i+1]); i > 0 || dt.Link != "" || !used[Show(v)] {
					break
				}
			}
			if i == 0 {
				used[Show(v)] = true
			}
			if t.Columns[i+1].Bool {
				v = map[string]int64{"yes": 1, "no": 0}[Show(v)]
			}
			row = append(row, v)
		}
		if dt.Link != "" {
			pair := Show(row[1]) + " " + Show(row[2])
			if used[pair] {
				continue
			}
			used[pair] = true
		}
		if split {
			first, last, _ := strings.Cut(Show(row[1]), " ")
			row = append(row, first, last)
		}
		t.Rows = append(t.Rows, row)
	}
}

// camelCase is unit_price as UnitPrice.
func camelCase(name string) string {
	var b strings.Builder
	for _, part := range splitList(name, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func (dc domainColumn) list() (list []string) {
	_ = json.Unmarshal(dc.Gen, &list) // a rule is none
	return list
}

func (dc domainColumn) rule() []string {
	var text string
	_ = json.Unmarshal(dc.Gen, &text) // a list has none
	return strings.Fields(text)
}

// sort is the first word of a rule, "" of a list.
func (dc domainColumn) sort() string { return append(dc.rule(), "")[0] }

func (dc domainColumn) kind() Kind {
	sort := dc.sort()
	switch {
	case dc.Ref != "" || slices.Contains([]string{"int", "no", "cents", "money"}, sort):
		return Number
	case sort == "date" || sort == "moment":
		return Date
	case sort == "clock":
		return Time
	}
	return Text
}

// column is what a table has of it.
func (dc domainColumn) column() Column {
	return Column{
		Name:  dc.Name,
		Kind:  dc.kind(),
		With:  dc.With,
		More:  dc.More,
		Less:  dc.Less,
		Most:  dc.Most,
		Least: dc.Least,
		Asks:  dc.Asks,
		Says:  dc.Says,
		Yes:   dc.Yes,
		No:    dc.No,
		Noun:  dc.Noun,
		Cents: dc.sort() == "cents",
		Label: dc.sort() == "no",
	}
}

func (dc domainColumn) draw(r *rand.Rand, c Column) any {
	switch {
	case dc.Null > 0 && r.Float64() < dc.Null:
		return nil
	case c.Ref != nil && len(c.Ref.Rows) == 0: // the first of those that refer to each other
		return nil
	case c.Ref != nil:
		return pick(r, c.Ref.Rows)[c.Ref.Key]
	}
	if list := dc.list(); list != nil {
		return pick(r, list)
	}
	rule := dc.rule()
	n := func(i int) int { v, _ := strconv.Atoi(rule[i]); return v } // the file is compiled in
	switch rule[0] {
	case "int", "no", "cents":
		step := n(3)
		return int64(n(1) + step*r.IntN((n(2)-n(1))/step+1))
	case "money":
		return float64(100*n(1)+10*r.IntN(10*(n(2)-n(1)))+pick(r, []int{0, 5, 9})) / 100
	case "date":
		return fmt.Sprintf("%d-%02d-%02d", n(1)+r.IntN(n(2)-n(1)+1), 1+r.IntN(12), 1+r.IntN(28))
	case "moment":
		return fmt.Sprintf("%d-%02d-%02d %02d:%02d", n(1)+r.IntN(n(2)-n(1)+1), 1+r.IntN(12), 1+r.IntN(28),
			7+r.IntN(15), 5*r.IntN(12))
	case "clock":
		return fmt.Sprintf("%02d:%02d", n(1)+r.IntN(n(2)-n(1)+1), 15*r.IntN(4))
	case "code":
		return fmt.Sprintf("%s-%d", rule[1], 100+r.IntN(900))
	case "plate":
		return fmt.Sprintf(
			"%c%c-%c%c-%d",
			'A'+r.IntN(26),
			'A'+r.IntN(26),
			'A'+r.IntN(26),
			'A'+r.IntN(26),
			10+r.IntN(990),
		)
	case "phone":
		return fmt.Sprintf("555-%04d", r.IntN(10000))
	}
	return inventName(r, rule[0])
}

// inventName is a name of some sort.
func inventName(r *rand.Rand, sort string) string {
	first, last := pick(r, firstNames()), pick(r, lastNames())
	switch sort {
	case "anyone": // with letters of other alphabets, too
		return pick(r, append(foreignNames(), first)) + " " + pick(r, append(foreignSurnames(), last))
	case "first":
		return first
	case "person":
		return first + " " + last
	case "email":
		return strings.ToLower(first + "." + strings.ReplaceAll(last, "'", "") + "@example.com")
	case "street":
		return pick(r, lastNames()) + " " + pick(r, []string{"Street", "Lane", "Road", "Square"})
	case "company":
		return last + " " + pick(r, []string{"Ltd", "& Sons", "Foods", "Trading", "Group"})
	}
	if parts := twoWords()[sort]; parts != "" { // "The/A Silent/Last River/Garden" draws one of each
		var words []string
		for part := range strings.SplitSeq(parts, " ") {
			words = append(words, strings.ReplaceAll(pick(r, strings.Split(part, "/")), "_", " "))
		}
		return strings.Join(words, " ")
	}
	return pick(r, splitList(map[string]string{
		"city":    `Oslo,Lima,Porto,Ghent,Turin,Leeds,Lyon,Cork,Graz,Basel,Malmo,Tartu`,
		"country": `Norway,Peru,Portugal,Belgium,Italy,Ireland,France,Austria,Estonia,Japan,Kenya`,
		"color":   "red,blue,green,black,white,silver,yellow",
		"dish": `Onion Soup,Bean Salad,Fish Pie,Mushroom Risotto,Lamb Stew,Apple Tart,Plum Cake,Lemonade,Iced Tea,
Pumpkin Curry,Potato Gratin,Pea Soup,Chili Noodles,Cheese Plate,Rice Pudding,Lentil Burger,Pancakes,
Tomato Tart,Mint Sorbet,Garlic Bread`,
		"food": `flour,butter,rice,lentils,tomatoes,onions,garlic,olive oil,cream,sugar,apples,basil,carrots,beans,
eggs,milk,honey,walnuts,lemons,pepper,salt,yeast`,
		"thing": `Desk Lamp,Watering Can,Chess Set,Tea Kettle,Yoga Mat,Dog Leash,Garden Hose,Notebook,Stapler,
Frying Pan,Football,Bird Feeder,Wall Clock,Office Chair,Salad Bowl,Jump Rope,Cat Tree,Plant Pot,
Puzzle Box,Bread Knife,Camping Tent,Paint Brush,Rain Coat,Toolbox,Hammock,Rubber Duck`,
	}[sort], ","))
}

// twoWords are names that are drawn word by word.
func twoWords() map[string]string {
	return map[string]string{
		"title": "The/A/My/Beyond_the/Under_the Silent/Last/Golden/Broken/Hidden/Long/Paper/Winter " +
			"River/Garden/Promise/Harbor/Letter/Mountain/Clock/Road/Orchard",
		"topic": "Intro_to/Advanced/Practical/Applied Drawing/Algebra/Chess/Robotics/Pottery/Grammar/Optics/Choir",
		"project": "Project/Operation/Initiative " +
			"Falcon/Maple/Aurora/Granite/Lighthouse/Comet/Harvest/Compass/Orchid/Tundra",
		"event": "Spring/Summer/Autumn/Winter/Harbor/Night Gala/Serenade/Festival/Session/Concert",
		"place": "North/Mill/Oak/River/Stone/Upper/Old/Long Meadow/Hall/Hill/Acre/Bank/Yard/Grove/Corner",
	}
}

func firstNames() []string {
	return splitList(
		`Ana,Ben,Carla,David,Elif,Femi,Grace,Hugo,Ines,Jonas,Kiran,Lena,Marco,Nadia,Omar,Petra,Quinn,Rosa,
Samir,Tessa,Uma,Viktor,Wanda,Yusuf,Zoe,Aiko,Bruno,Clara,Diego,Emma,Farid,Greta,Henrik,Ivana,Joao,
Karim,Lucia,Mei,Nils,Olga,Paul,Ravi,Sofia,Theo`,
		",",
	)
}

func lastNames() []string {
	return splitList(
		`Adler,Brandt,Costa,Dahl,Evans,Fischer,Garcia,Haddad,Ito,Jensen,Kowalski,Lopez,Moreau,Novak,O'Brien,
Park,Quist,Rossi,Singh,Tanaka,Ueda,Vogel,Weber,Xu,Young,Zeman,Almeida,Berg,D'Angelo,Eriksen,Ferrari,
Gruber,Hansen,Ivanova,Keller,Larsen,Meyer,Nilsen,Okafor,Petrov,Ramos,Silva,Torres`,
		",",
	)
}

func foreignNames() []string {
	return splitList("Zoë,José,Søren,Łukasz,Çelik,Björn,Aoife,Nguyễn,Renée,Jiří,Ana,Omar,Tom,Lin,Ida", ",")
}

func foreignSurnames() []string {
	return splitList(`Müller,Ångström,García,Dvořák,O'Neill,Şahin,Brontë,Nuñez,Wójcik,D'Amico,Smith,Chen,Roy,Hall`, ",")
}

// IsHeldOut reports whether worlds of a domain are for held-out tasks alone: so a rate on them is not one of schemas
// that training has seen.
func IsHeldOut(index int) bool { return index%4 == 3 }

// splitList are the entries of a list that is written over several lines.
func splitList(text, separator string) []string {
	return strings.Split(strings.ReplaceAll(text, "\n", ""), separator)
}
