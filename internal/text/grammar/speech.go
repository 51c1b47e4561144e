package grammar

import (
	"strings"

	"hone/internal/policy"
)

const blanks = " \t\r"

// Mark is a text that is to be kept out of completions, whichever tokens would write it. It may be used from many goroutines.
type Mark struct {
	words  *Vocabulary
	text   string
	never  []int32   // tokens that have it in them, or begin it behind a newline of their own
	begin  []int32   // tokens that begin it, where a line does
	finish [][]int32 // [k]: tokens that begin with what is behind its first k bytes
}

// Mark returns the mark of a text, which is not empty and of one line.
func (v *Vocabulary) Mark(text string) *Mark {
	m := &Mark{words: v, text: text, finish: make([][]int32, len(text))}
	begins := func(line string) bool {
		line = strings.TrimLeft(line, blanks)
		return line != "" && strings.HasPrefix(text, line)
	}
	for number, t := range v.texts {
		id, line := int32(number), strings.LastIndexByte(t.Text, '\n')+1
		switch {
		case strings.Contains(t.Text, text), line > 0 && begins(t.Text[line:]):
			m.never = append(m.never, id)
			continue
		case begins(t.Text):
			m.begin = append(m.begin, id)
		}
		for k := 1; k < len(text); k++ {
			if strings.HasPrefix(t.Text, text[k:]) {
				m.finish[k] = append(m.finish[k], id)
			}
		}
	}
	return m
}

// Speech holds one completion to words: no mark is in it, and it does not end before something is said. It implements policy.Constraint.
//
// Where a line begins, no token may begin a mark either: a model that would write it goes on from its second best beginning there, and does not break
// off within the mark.
type Speech struct {
	words *Vocabulary
	marks []*Mark
	stops []int32 // tokens that end a completion
	read  int     // tokens of the completion
	line  string  // what they wrote since the last newline
	told  bool    // there is more than blanks in that line
	said  bool    // or in one before
}

// Speech keeps marks of the vocabulary out of a completion.
func (v *Vocabulary) Speech(stops []int32, marks ...*Mark) *Speech {
	return &Speech{words: v, marks: marks, stops: stops}
}

// Narrow implements policy.Constraint.
func (s *Speech) Narrow(completion []int32, allowed *policy.IDSet) {
	for ; s.read < len(completion); s.read++ {
		text := s.words.token(completion[s.read]).Text
		s.said = s.said || strings.TrimSpace(text) != ""
		if line := strings.LastIndexByte(text, '\n') + 1; line > 0 {
			s.line, s.told, text = "", false, text[line:]
		}
		s.line, s.told = s.line+text, s.told || strings.Trim(text, blanks) != ""
	}
	remove := func(ids []int32) {
		for _, id := range ids {
			allowed.Remove(id)
		}
	}
	if !s.said {
		remove(s.stops)
	}
	for _, m := range s.marks {
		remove(m.never)
		if !s.told {
			remove(m.begin)
		}
		for k := 1; k < len(m.text); k++ {
			if strings.HasSuffix(s.line, m.text[:k]) {
				remove(m.finish[k])
			}
		}
	}
}
