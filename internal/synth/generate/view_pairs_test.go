package generate

import (
	"maps"
	"slices"
	"testing"
)

// A view says its properties in lines or as JSON, wrapped or not.
func TestPairsOf(t *testing.T) {
	for view, want := range map[string]pairs{
		"Task 1\n\nStatus: Open\nAssignee: @rosa\nLabels: none\n":        {"status": "Open", "assignee": "rosa"},
		`{"id": "a", "due": null, "tags": ["x", "y"], "n": 2.50}`:        {"id": "a", "tags": "x, y", "n": "2.50"},
		`{"result": {"dueDate": "2027-02-03", "done": false, "of": {}}}`: {"dueDate": "2027-02-03", "done": "false"},
		`{"title": "Fence", "points": [{"text": "Paint"}], "empty": []}`: {"title": "Fence"},
	} {
		if got := pairsOf(view); !maps.Equal(got, want) {
			t.Errorf("%s: %v", view, got)
		}
	}
	if got := pairsOf(`{"dueDate": "2027-02-03"}`).of("duedate"); got != "2027-02-03" {
		t.Errorf("%q", got)
	}
}

// What stands below a heading is text, also where a line of it ends with a colon; a count makes it a heading.
func TestHeadingsOfViews(t *testing.T) {
	view := "Links:\n----\nDepends on (1 direct):\n- A\n\nDescription:\n----\nOffers:\n- Halden, 90\n\n" +
		"Notes:\n----\nNone\n"
	for title, want := range map[string][]string{
		"Depends on": {"- A"}, "Description": {"Offers:", "- Halden, 90"}, "Notes": nil, "Offers": nil,
	} {
		if got := partOf(view, title).lines; !slices.Equal(got, want) {
			t.Errorf("%s: %q", title, got)
		}
	}
	if got := partOf(`{"notes": "Offers:\nHalden, 90"}`, "notes").lines; !slices.Equal(got,
		[]string{"Offers:", "Halden, 90"}) {
		t.Errorf("%q", got)
	}
}

// The offer that is taken is the least or the greatest of those without a drawback, where one is excluded.
func TestBestOffer(t *testing.T) {
	list := []offer{{"A", 90, "used"}, {"B", 120, ""}, {"C", 300, ""}, {"D", 400, "used"}}
	for _, c := range []struct {
		dearest, strict bool
		want            string
	}{{false, false, "A"}, {false, true, "B"}, {true, true, "C"}, {true, false, "D"}} {
		if got, ok := best(list, c.dearest, c.strict); !ok || got.name != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Who has the fewest gets a thing, on a tie the first in the alphabet.
func TestFewest(t *testing.T) {
	two, one := []string{"a", "b"}, []string{"c"}
	for want, c := range map[string]tally{
		"mike": {values: []string{"joao", "mike", "zoe"}, names: [][]string{two, nil, one}},
		"anna": {values: []string{"joao", "anna", "mike"}, names: [][]string{one, one, two}},
	} {
		if got := c.fewest(); got != want {
			t.Errorf("%v: %s, want %s", c.values, got, want)
		}
	}
}
