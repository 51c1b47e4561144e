package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

// said makes a conversation of letters: S, U, A and T are the roles.
func said(letters string) []chat.Message {
	roles := map[rune]string{'S': chat.System, 'U': chat.User, 'A': chat.Assistant, 'T': chat.ToolRole}
	var out []chat.Message
	for i, l := range letters {
		out = append(out, chat.Message{Role: roles[l], Content: fmt.Sprint(i)})
	}
	return out
}

func TestRows(t *testing.T) {
	for _, tc := range []struct {
		scheme, letters string
		opening         int
		want            string // length from opening on
	}{
		{Whole, "UAUA", 0, "4:0"},
		{Turns, "UATATAUATA", 0, "6:0 10:6"},
		{Prefixes, "UATATAUATA", 0, "6:0 10:0"},
		{Turns, "SUAUUAU", 0, "3:0 6:3"}, // the last user turn has no answer
		{Turns, "AUAUA", 0, "3:0 5:3"},   // a greeting belongs to the first turn
		{Turns, "UATUA", 0, "2:0 5:3"},   // what follows the last assistant message of a turn is cut
		{Turns, "UAUATA", 4, "6:4"},      // an opening is learnt in no row
		{Turns, "UAUATA", 3, "6:3"},
		{Prefixes, "UAUATA", 3, "6:3"},
		{Turns, "UU", 0, ""},
	} {
		var got []string
		rows := UnrollRow(tc.scheme, Row{ID: "t", Messages: said(tc.letters), Opening: tc.opening})
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%d:%d", len(r.Messages), r.Opening))
			if tc.scheme != Whole && (r.TraceID != "t" || r.Turn < 1 || r.Turn > r.NumTurns) {
				t.Errorf("%s: %+v", tc.letters, r)
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s of %s from %d: %s, want %s", tc.scheme, tc.letters, tc.opening, got, tc.want)
		}
	}
}

// forgets stands for a template that drops the first id of what stands before the last user message: each message is
// its number and its thought, 100 more.
func forgets(messages []chat.Message, first int, _ []chat.Tool) ([]Sequence, error) {
	var out []Sequence
	s := Sequence{Messages: map[int][]int{}}
	last := -1
	for i, m := range messages {
		if m.Role == chat.User {
			last = i
		}
	}
	for i, m := range messages {
		start := len(s.IDs)
		if m.Role == chat.Assistant && i > last {
			s.IDs = append(s.IDs, int32(i+100))
		}
		s.IDs = append(s.IDs, int32(i))
		for range len(s.IDs) - start {
			s.Trained = append(s.Trained, m.Role == chat.Assistant && i >= first)
		}
		s.Messages[i] = []int{start, len(s.IDs)}
	}
	return append(out, s), nil
}

// Each message is trained exactly once by turns, whatever the conversation; a row of the whole loses thoughts, and
// prefixes repeat.
func TestCoverage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := "U" + string(rapid.SliceOfN(rapid.SampledFrom([]byte("UAT")), 0, 12).Draw(t, "letters"))
		r := Row{Messages: said(letters), Opening: rapid.IntRange(0, len(letters)).Draw(t, "opening")}
		covered, err := Coverage(Turns, r, forgets)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Count(letters[r.Opening:], "A"); len(covered) != want {
			t.Fatalf("%d of %d messages", len(covered), want)
		}
		for _, c := range covered {
			if c.Times != 1 || c.Different != 0 || c.Tokens != 2 {
				t.Fatalf("%s: %+v", letters, covered)
			}
		}
	})
	r := Row{Messages: said("UAUA")}
	whole, _ := Coverage(Whole, r, forgets)
	prefixes, _ := Coverage(Prefixes, r, forgets)
	if want := []Covered{{1, 2, 1, 1}, {3, 2, 1, 0}}; !slices.Equal(whole, want) {
		t.Errorf("%+v", whole)
	}
	if want := []Covered{{1, 2, 2, 1}, {3, 2, 1, 0}}; !slices.Equal(prefixes, want) {
		t.Errorf("%+v", prefixes)
	}
	s := CoverageSummary{}
	s.Add(whole)
	s.Add(prefixes)
	s.Add([]Covered{{1, 5, 0, 0}})
	if s != (CoverageSummary{Messages: 5, Once: 2, Never: 1, Repeated: 1, Different: 1, Tokens: 13, Trained: 10}) {
		t.Errorf("%+v", s)
	}
}
