package grammar

import (
	"strings"

	"hone/internal/episode/policy"
)

const blanks = " \t\r"

// Mark is a text that is to be kept out of words, whichever tokens would write it. It may be used from many goroutines.
//
// A model that would write a mark and may not write its end breaks off within it, and that is no words either. So no
// token may begin one: at all, or where a line begins if the mark begins as words do, with a letter.
type Mark struct {
	text   string
	never  []int32   // tokens that have it in them, or begin it wherever they stand
	begin  []int32   // tokens that begin it where a line does
	finish [][]int32 // [k]: tokens that begin with what is behind its first k bytes
}

// Mark returns the mark of a text, which is not empty and of one line.
func (v *Vocabulary) Mark(text string) *Mark {
	m := &Mark{text: text, finish: make([][]int32, len(text))}
	letter := strings.Trim(text[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	begins := func(line string) bool {
		line = strings.TrimLeft(line, blanks)
		return line != "" && strings.HasPrefix(text, line)
	}
	for number, t := range v.texts {
		id, line := int32(number), strings.LastIndexByte(t.Text, '\n')+1
		switch {
		case strings.Contains(t.Text, text), line > 0 && begins(t.Text[line:]), !letter && ends(t.Text, text):
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

// ends reports whether a text ends as a mark begins.
func ends(text, mark string) bool {
	for k := 1; k < len(mark); k++ {
		if strings.HasSuffix(text, mark[:k]) {
			return true
		}
	}
	return false
}

// Speech holds one completion to words: no mark is in them, and they do not end before something is said. It implements
// policy.Constraint.
type Speech struct {
	words   *Vocabulary
	marks   []*Mark
	longest int     // bytes of a mark
	stops   []int32 // tokens that end a completion
	free    string  // a text up to which anything may be written, such as the end of a model's reasoning
	read    int     // tokens of the completion
	line    string  // the end of what they wrote since the last newline
	told    bool    // there is more than blanks in that line
	said    bool    // or in one before
}

// Speech keeps marks of the vocabulary out of a completion from its beginning on, or where after is not empty from
// behind that text on.
func (v *Vocabulary) Speech(stops []int32, after string, marks ...*Mark) *Speech {
	s := &Speech{words: v, marks: marks, stops: stops, free: after, longest: len(after)}
	for _, m := range marks {
		s.longest = max(s.longest, len(m.text))
	}
	return s
}

// Narrow implements policy.Constraint.
func (s *Speech) Narrow(completion []int32, allowed *policy.IDSet) {
	for ; s.read < len(completion); s.read++ {
		s.take(s.words.token(completion[s.read]))
	}
	remove := func(ids []int32) {
		for _, id := range ids {
			allowed.Remove(id)
		}
	}
	if !s.said {
		remove(s.stops)
	}
	if s.free != "" {
		return
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

// take reads the next token.
func (s *Speech) take(t Token) {
	text := t.Text
	if s.free != "" {
		_, rest, over := strings.Cut(s.line+text, s.free)
		if !over {
			s.line += text
			s.line = s.line[max(0, len(s.line)-s.longest):]
			return
		}
		s.line, s.free, text = "", "", rest
	}
	s.said = s.said || !t.Added && strings.TrimSpace(text) != ""
	if line := strings.LastIndexByte(text, '\n') + 1; line > 0 {
		s.line, s.told, text = "", false, text[line:]
	}
	s.line, s.told = s.line+text, s.told || strings.Trim(text, blanks) != ""
	s.line = s.line[max(0, len(s.line)-s.longest):]
}
