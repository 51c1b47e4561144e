package sample

import "strings"

// Decoder turns a completion's ids into text, one at a time. What the next ids could still change, such as half a
// character, it holds back.
type Decoder interface{ Next(id int32) string }

// stops looks for stop texts in a completion as its tokens come. A text is found wherever its tokens begin and end, and
// the one that is whole first is found first, as if the completion were written letter by letter.
type stops struct {
	decoder Decoder
	wanted  []string
	longest int // bytes
	text    strings.Builder
}

func newStops(d Decoder, wanted []string) *stops {
	s := &stops{decoder: d, wanted: wanted}
	for _, w := range wanted {
		s.longest = max(s.longest, len(w))
	}
	return s
}

// next adds a token. Where that completes a stop text, it returns it and what was written before it.
func (s *stops) next(id int32) (before, stop string, found bool) {
	old := s.text.Len()
	s.text.WriteString(s.decoder.Next(id))
	text := s.text.String()
	from := max(0, old-s.longest+1) // no stop text that the new token completes begins before it
	end := len(text) + 1
	for _, w := range s.wanted {
		i := strings.Index(text[from:], w)
		if i < 0 {
			continue
		}
		if at := from + i + len(w); at < end || at == end && len(w) > len(stop) {
			before, stop, end, found = text[:from+i], w, at, true
		}
	}
	return before, stop, found
}
