package generate

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/data/kinds"
	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
)

const shopKinds = `
rules: {known: ["1", "2", "3"]}
kinds:
  - name: price of an item
    values: {id: "{known}"}
    calls: [{tool: get_item, arguments: {item_id: "{id | number}"}, field: price}]
    wordings: ["What does item {id} cost?", "How much is item {id}?"]
    held_out: ["Item {id}: the price?"]
  - name: length of a phrase
    values: {a: "{word} {word} {word}"}
    calls: [{tool: count_words, arguments: {text: "{a}"}, field: characters}]
    wordings: ['How long is "{a}"?', 'Count the characters of "{a}".', 'Give the length of "{a}".']
    held_out: ['"{a}" has how many letters and blanks?', 'Measure "{a}".']
  - name: name of an item, counted
    values: {id: "{known}", more: "{word} {word}"}
    calls:
      - {tool: get_item, arguments: {item_id: "{id | number}"}, field: name}
      - {tool: count_words, arguments: {text: "{result} {more}"}, field: characters}
    wordings: ['Append "{more}" to the name of item {id}. How long is that?', 'What is the length of the name of item {id} with "{more}" behind it?']
  - name: new item
    values: {name: "{word} {word}", price: "{digits 2 2}"}
    calls: [{tool: add_item, arguments: {name: "{name}", price: "{price | number}"}}]
    wordings: ["Put a {name} on sale for {price}.", "We now have a {name}; it costs {price}."]
    held_out: ["New on our shelves: {name}, {price} each."]
    checks: [{type: state, name: list_items, arguments: {}, contains: '"name":"{name}","price":{price}}'}]
  - name: nothing there
    values: {id: "{integer 50 99}"}
    calls: [{tool: get_item, arguments: {item_id: "{id | number}"}}]
    wordings: ["Show item {id}."]
  - name: no such tool
    calls: [{tool: sell_item}]
    wordings: ["Sell it."]
  - name: a text for a number
    calls: [{tool: get_item, arguments: {item_id: "1"}}]
    wordings: ["Show the first item."]
  - name: at random
    values: {n: "{integer 2 99}"}
    calls: [{tool: roll, arguments: {sides: "{n | number}"}, field: rolled}]
    wordings: ["Roll {n} sides."]
`

// Half of the tasks with calls are of the user's kinds, whether these have one call, several or both, as far as there
// are so many.
func TestShareOfOwnKinds(t *testing.T) {
	make := func(n int, kind string, o *own) (list []*Candidate) {
		for i := range n {
			list = append(list, &Candidate{Kind: kind, Variant: i, own: o, Calls: []Call{{Tool: "t"}}})
		}
		return list
	}
	mine := &own{kind: &kinds.Kind{Name: "k"}}
	for _, tc := range []struct{ several, singles, want int }{
		{0, 0, 0}, {0, 50, 10}, {50, 0, 8}, {50, 50, 10}, {3, 50, 10}, {50, 4, 10}, {2, 2, 4},
	} {
		taking := &taking{count: map[string]int{}, kinds: map[string]int{}}
		taking.takeWithOwn(append(make(tc.several, chain, mine), make(30, chain, nil)...),
			append(make(tc.singles, single, mine), make(30, single, nil)...), 8, 12)
		got, several := 0, 0
		for _, c := range taking.list {
			if c.own != nil {
				got++
			}
			if c.Kind == chain {
				several++
			}
		}
		if got != tc.want || several != 8 || len(taking.list) != 20 {
			t.Errorf("%+v: %d, %d of several calls, of %d", tc, got, several, len(taking.list))
		}
	}
}

// Half of the tasks are of the kinds of a user's file: in her words, with her checks, executed as the others are. What
// of a kind falls says why.
func TestOwnKinds(t *testing.T) {
	set, err := kinds.Parse("shop.yaml", []byte(shopKinds))
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	o := optionsOf(s)
	o.N, o.Kinds = 40, set
	made := run(t, s, shopTools(), o)
	count, chains, stated, held := 0, 0, 0, 0
	for i := range made.Scenarios {
		x := &made.Scenarios[i]
		if found, err := (checktest.Trial{Tools: s}).Row(t.Context(), x); err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", x.Task, found, err)
		}
		if !strings.Contains(x.Provenance.Wording, " of shop.yaml ("+set.Sum[:12]+")") {
			continue
		}
		count++
		at := slices.IndexFunc(set.Kinds, func(k kinds.Kind) bool { return slices.Contains(x.Tags, "kind:"+k.Name) })
		if at < 0 || !strings.HasPrefix(x.Provenance.Wording, set.Kinds[at].Name) ||
			len(x.Gold) != set.Kinds[at].NumCalls() {
			t.Fatalf("%s: %v %+v", x.Task, x.Tags, x.Provenance)
		}
		if len(x.Gold) == 2 {
			chains++
		}
		switch asks := slices.ContainsFunc(x.Checks,
			func(c scenario.Check) bool { return c.Type == scenario.AnswerCheck && *c.Equals == x.GoldAnswer }); {
		case set.Kinds[at].Name == "new item":
			stated++
			if len(x.Checks) != 1 || x.Checks[0].Type != scenario.StateCheck {
				t.Errorf("%s: %+v", x.Task, x.Checks)
			}
		case !asks:
			t.Errorf("%s: no check of the answer: %+v", x.Task, x.Checks)
		}
		if x.Split != scenario.Train && len(set.Kinds[at].HeldOut) > 0 {
			held++
			if !strings.HasSuffix(x.Provenance.Wording, " held") ||
				!strings.HasPrefix(x.Task, "Item ") && !strings.HasPrefix(x.Task, "New on") &&
					!strings.HasPrefix(x.Task, "Measure") && !strings.HasPrefix(x.Task, `"`) {
				t.Errorf("%s is of %s, worded by %s", x.Task, x.Split, x.Provenance.Wording)
			}
		}
	}
	if count < 10 || count > 20 || chains < 3 || stated < 2 || held < 2 {
		t.Errorf("%d of the file, %d chains, %d with stated checks, %d held out\n%v",
			count, chains, stated, held, made.Report.Tables())
	}
	why := map[string]string{}
	for _, row := range made.Report.Own {
		why[row.Kind] = row.Why
		if fine := row.Kind != "nothing there" && row.Kind != "no such tool" && row.Kind != "a text for a number" &&
			row.Kind != "at random"; fine != (row.Good > 0) || fine != (row.Scenarios > 0) || row.Drafted == 0 {
			t.Errorf("%+v", row)
		}
	}
	for _, a := range made.Report.Own { // of two kinds with enough good tasks of one call, neither has all
		for _, b := range made.Report.Own {
			if a.Kind == "length of a phrase" && b.Kind == "new item" &&
				max(a.Scenarios, b.Scenarios) > min(a.Scenarios, b.Scenarios)+2 {
				t.Errorf("%+v, %+v", a, b)
			}
		}
	}
	for kind, want := range map[string]string{
		"nothing there":       "a call is refused: there is no such item",
		"no such tool":        "no tool sell_item",
		"a text for a number": "do not fit the schema of get_item",
		"at random":           "another one each time",
	} {
		if !strings.Contains(why[kind], want) {
			t.Errorf("%s: %q", kind, why[kind])
		}
	}
}
