package programs

import (
	"fmt"
	"slices"
	"testing"
)

func TestOutlines(t *testing.T) {
	tests := []struct {
		text, name string
		want       []string // values of a row by column
	}{
		{
			"To Do:\n  [HIGH] T-2 - Order tiles (ac: 0/2) (due 2026-03-20)\n  [LOW] T-3 - Paint\n\nDone:\n" +
				"  T-9 - Sweep (Ana's room)\n", "",
			[]string{"id=T-2 title=Order tiles group=To Do tag=HIGH ac=0/2 due=2026-03-20",
				"id=T-3 title=Paint group=To Do tag=LOW ac= due=", "id=T-9 title=Sweep group=Done tag= ac= due="},
		},
		{`Documents (2):
  doc-2 - Contacts (type: other, path: doc-2 - Contacts.md, created: 2026-03-02 09:00 (UTC))
  doc-1 - Colours (type: guide)
`, "documents",
			[]string{"id=doc-2 title=Contacts type=other path=doc-2 - Contacts.md created=2026-03-02 09:00 (UTC)",
				"id=doc-1 title=Colours type=guide path= created="}},
		{"* #12: Fix the door\n* #14: Buy paint\n", "", []string{"id=#12 title=Fix the door", "id=#14 title=Buy paint"}},
		{"Milestones (1):\n  m-0: Kitchen (due 2026-05-15)\n\nNone at all (0):\n  (none)\n", "", nil},
		{"Dear Ana,\nwe met on 3-4 May: all was well.\nBest\n", "", nil},
	}
	for _, test := range tests {
		name, records := fromOutline(test.text)
		var got []string
		for _, r := range records {
			row := ""
			for i, n := range r.Names {
				row += fmt.Sprintf(" %s=%s", n, Show(r.Values[i]))
			}
			got = append(got, row[1:])
		}
		if name != test.name || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q %q", test.text, name, got)
		}
	}
}

func TestNotes(t *testing.T) {
	text := `Task T-2 - Order tiles
======

Status: To Do
Assignee: @ana
http://x: y

Description:
------
White ones.

Plan:
------
one
two

Empty:
`
	want := "[[Status To Do] [Assignee @ana] [Description White ones.]]"
	if got := fmt.Sprint(Notes(text)); got != want {
		t.Errorf("%s", got)
	}
}
