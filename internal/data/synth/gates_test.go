package synth

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"hone/internal/episode/scenario"
)

// What is nearly another task with the same values falls, what repeats a description does, and a held-out task that is nearly a
// training task. Other values make another training task, and the first of two stays.
func TestAlike(t *testing.T) {
	s := &subject{Tool: tool("get_item", "Get one item of the shop by its number, with its name and its price.", `{"type":"object","properties":{"item_id":{"type":"integer"}}}`)}
	s.schema = readParam(s.InputSchema)
	m := &maker{byName: map[string]*subject{"get_item": s}}
	d := func(task, split string, id int) draftOf {
		return draftOf{Scenario: scenario.Scenario{Task: task, Split: split}, of: &Candidate{Kind: single, Calls: []Call{{Tool: "get_item", Arguments: json.RawMessage(fmt.Sprintf(`{"item_id":%d}`, id))}}}}
	}
	list := []draftOf{
		d("Would you tell me what the thing with the number 3 costs now?", scenario.Test, 3),    // falls: as the next
		d("Could you tell me what the thing with the number 4 costs now?", scenario.Train, 4),   // stays
		d("Could you tell me what the thing with the number 4 costs now, please?", "train", 4),  // falls: the same
		d("Could you tell me what the thing with the number 5 costs now?", scenario.Train, 5),   // stays: other values
		d("Get one item of the shop by its number, with its name and its price!", "train", 6),   // falls: the description
		d("Somebody asks for the label on shelf position 7.", scenario.Test, 7),                 // stays
		d("Could you tell me what the thing with the number 4 costs now?", scenario.Train, 777), // stays: its call is another, though its text is not
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
	c := &Candidate{Kind: chain, Calls: []Call{{Tool: "convert", Fed: "fed", Arguments: json.RawMessage(`{"n":1200.50,"from":"New York","to":"de","deep":{"x":"oak"},"fed":"secret"}`)}}}
	for text, want := range map[string]string{
		"Convert 1,200.5 from new  york into German, with OAK.": "", "Convert 1200.5 from York, with oak.": "New York", "Convert 1200 from New York with oak": "1200.50", "1200.5 of New York": "oak",
	} {
		if got := m.lacks(c, text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	c = &Candidate{Kind: askBack, Subject: "from", Calls: []Call{{Tool: "convert", Arguments: json.RawMessage(`{"n":2,"from":"X9"}`)}}}
	if got := m.lacks(c, "Convert 2."); got != "" {
		t.Errorf("what is to be asked for is missed: %q", got)
	}
}
