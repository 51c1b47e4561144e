package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
)

// What is nearly another task with the same values falls, what repeats a description does, and a held-out task that is
// nearly a training task. Other values make another training task, and the first of two stays.
func TestAlike(t *testing.T) {
	s := &subject{Tool: tool("get_item", "Get one item of the shop by its number, with its name and its price.",
		`{"type":"object","properties":{"item_id":{"type":"integer"}}}`)}
	s.schema = readParam(s.InputSchema)
	m := &maker{byName: map[string]*subject{"get_item": s}}
	d := func(task, split string, id int) draftOf {
		return draftOf{Scenario: scenario.Scenario{Task: task, Split: split}, of: &Candidate{Kind: single,
			Calls: []Call{{Tool: "get_item", Arguments: json.RawMessage(fmt.Sprintf(`{"item_id":%d}`, id))}}}}
	}
	list := []draftOf{
		d("Would you tell me what the thing with the number 3 costs now?", scenario.Test, 3),   // falls: as the next
		d("Could you tell me what the thing with the number 4 costs now?", scenario.Train, 4),  // stays
		d("Could you tell me what the thing with the number 4 costs now, please?", "train", 4), // falls: the same
		d("Could you tell me what the thing with the number 5 costs now?", scenario.Train, 5),  // stays: other values
		// falls: the description
		d("Get one item of the shop by its number, with its name and its price!", "train", 6),
		d("Somebody asks for the label on shelf position 7.", scenario.Test, 7), // stays
		// stays: its call is another, though its text is not
		d("Could you tell me what the thing with the number 4 costs now?", scenario.Train, 777),
	}
	var kept []int
	for _, x := range m.alike(list) {
		kept = append(kept, slices.IndexFunc(list, func(o draftOf) bool { return o.of == x.of }))
	}
	if want := []int{1, 3, 5, 6}; !slices.Equal(kept, want) {
		t.Errorf("%v, want %v: %v", kept, want, m.report.Stages)
	}
}

func TestLacks(t *testing.T) {
	s := &subject{Tool: tool("convert", "", `{"type":"object","properties":{"n":{"type":"number"},"from":{"type":"string"},"to":{"enum":["de","fr"]},"deep":{"type":"object","properties":{"x":{"type":"string"}}},"fed":{"type":"string"}}}`)}
	s.schema = readParam(s.InputSchema)
	m := &maker{byName: map[string]*subject{"convert": s}}
	c := &Candidate{Kind: chain, Calls: []Call{
		{Tool: "convert", Fed: "fed",
			Arguments: json.RawMessage(`{"n":1200.50,"from":"New York","to":"de","deep":{"x":"oak"},"fed":"secret"}`)},
	}}
	for text, want := range map[string]string{
		"Convert 1,200.5 from new  york into German, with OAK.": "", "Convert 1200.5 from York, with oak.": "New York",
		"Convert 1200 from New York with oak": "1200.50", "1200.5 of New York": "oak",
	} {
		if got := m.lacks(c, text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	c = &Candidate{Kind: askBack, Subject: "from",
		Calls: []Call{{Tool: "convert", Arguments: json.RawMessage(`{"n":2,"from":"X9"}`)}}}
	if got := m.lacks(c, "Convert 2."); got != "" {
		t.Errorf("what is to be asked for is missed: %q", got)
	}
}

// A value is said as a word of its own where it is short, and a number as a number.
func TestSays(t *testing.T) {
	for _, tc := range []struct {
		text, raw string
		want      bool
	}{
		{"convert the lamp", `"on"`, false},
		{"turn the lamp on", `"on"`, true},
		{"turn the lamp on.", `"on"`, true},
		{"the lamp of once upon a time", `"on"`, false},
		{"the number 14", `"4"`, false},
		{"the number 14 and 4", `"4"`, true},
		{"lamps", `"lamp"`, true},
		{"it is +", `"+"`, true},
		{"1+2", `"+"`, true},
		{"añb", `"ñ"`, false},
		{"nothing", `""`, true},
		{"10-5", `5`, true},
		{"10-5", `-5`, false},
		{"it is -5", `-5`, true},
		{"1,200.5 of them", `1200.50`, true},
		{"the values 2,3 and 4", `3`, true},
		{"1,200", `200`, true},
		{"12 of them", `2`, false},
		{"it is 28", `28.0`, true},
		{"it is 9.5E+17 m", `9.5e17`, true},
		{"it is 0", `5e-10`, false},
	} {
		if got := says(flat(tc.text), leaf{raw: json.RawMessage(tc.raw)}); got != tc.want {
			t.Errorf("%q says %s: %v", tc.text, tc.raw, got)
		}
	}
}

// An answer is asked for where no argument says it, and another call of the tool has another.
func TestWhatIsAskedFor(t *testing.T) {
	for _, tc := range []struct {
		name, arguments, answer string
		others                  []string
		want                    string // the answer that is asked for
	}{
		{"all of it", `{"text":"oak"}`, "42", nil, "42"},
		{"an argument", `{"text":"the answer is 42"}`, "42", nil, ""},
		{"a digit of an argument", `{"text":"the answer is 142"}`, "4", nil, "4"},
		{"a number that is written otherwise", `{"n":4.50}`, "4.5", nil, ""},
		{"a part of a long argument", `{"text":"an oaken table"}`, "oaken", nil, ""},
		{"always the same", `{"text":"oak"}`, "done", []string{"done", "done"}, ""},
		{"not always the same", `{"text":"oak"}`, "done", []string{"done", "failed"}, "done"},
		{"a field", `{"text":"oak"}`, `{"state":"open","size":17}`, []string{`{"state":"open","size":3}`}, "17"},
		{"a field that an argument says", `{"text":"17"}`, `{"state":"open","size":17}`, []string{`{"state":"open","size":3}`}, ""},
		{"the one field that no argument says", `{"list":[17,18,19]}`, `{"a":17,"b":18,"c":19,"d":5}`, []string{`{"a":1,"b":1,"c":1,"d":1}`}, "5"},
	} {
		call := func(arguments string) Call { return Call{Tool: "t", Arguments: json.RawMessage(arguments)} }
		m := &maker{Options: Options{}.withDefaults(), byName: map[string]*subject{"t": {}}, worlds: []*realm{{}}}
		for i, other := range tc.others {
			m.worlds[0].good = append(m.worlds[0].good, trial{call: call(fmt.Sprintf(`{"text":"other %d"}`, i)),
				got: &Played{Results: []Answered{{"ok", other}}}})
		}
		c := &Candidate{Kind: single, Calls: []Call{call(tc.arguments)}, Proof: []string{"p"}}
		p := &Played{Results: []Answered{{"ok", tc.answer}}}
		if m.answerCheck(c, p, p); c.Answer.text != tc.want || len(c.Checks) != min(1, len(tc.want)) {
			t.Errorf("%s: %q is asked for, want %q; %d checks", tc.name, c.Answer.text, tc.want, len(c.Checks))
		}
	}
}

// What train would refuse is no task: an answer that passes no check, and one that the request says itself.
func TestUnsound(t *testing.T) {
	text := func(s string) *string { return &s }
	of := &Candidate{Calls: []Call{{Tool: "list_items"}}}
	m := newMaker(nil, []Tool{tool("list_items", "", none)}, nil, Options{})
	for _, x := range []struct{ task, answer, contains, want string }{
		{"Where do I buy soap?", "In the shop.", "shop", ""},
		{"Where do I buy shop soap?", "In the shop.", "shop", checktest.EchoPasses},
		{"Where do I buy soap?", "In the market.", "shop", "checks[0] (answer) cannot pass"},
	} {
		d := draftOf{Scenario: scenario.Scenario{Task: x.task, GoldAnswer: x.answer, Checks: []scenario.Check{
			{Type: scenario.AnswerCheck, Contains: text(x.contains)}, {Type: scenario.UnchangedCheck}}}, of: of}
		if got := m.unsound(&d); got != x.want && (x.want == "" || !strings.HasPrefix(got, x.want)) {
			t.Errorf("%s: %q", x.task, got)
		}
	}
}
