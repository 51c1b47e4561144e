package plan

import "testing"

func TestRooms(t *testing.T) {
	for _, c := range []struct {
		e                 Episode
		limit, own, whole int
		least, most       int
	}{
		{Episode{Prompt: 100, MaxTurns: 8, MaxTokens: 256, MaxResult: 8000, Between: 20}, 32768, 2148, 2148 + 7*8020, 2148, 32768},
		// the context holds no results
		{Episode{Prompt: 100, MaxTurns: 8, MaxTokens: 256, MaxResult: 8000, Between: 20}, 2048, 2148, 2148 + 7*8020, 2048, 2048},
		{Episode{Prompt: 50, MaxTurns: 4, MaxTokens: 64, MaxResult: 100, Between: 10}, 2048, 306, 636, 306, 636},
		// nobody reads the results
		{Episode{Prompt: 5, MaxTurns: 1, MaxTokens: 64, MaxResult: 8000}, 2048, 256, 256, 256, 256},
	} {
		least, most := c.e.Rooms(c.limit)
		if c.e.Own() != c.own || c.e.Whole() != c.whole || least != c.least || most != c.most {
			t.Errorf("%+v: own %d, whole %d, from %d to %d", c.e, c.e.Own(), c.e.Whole(), least, most)
		}
	}
}
