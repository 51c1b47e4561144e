package grammar

import (
	"strings"

	"hone/internal/policy"
)

// Mark is a text that is to be kept out of completions, whichever tokens would write it. It may be used from many goroutines.
type Mark struct {
	words  *Vocabulary
	text   string
	whole  []int32   // tokens that have it in them, or begin it behind a newline
	begin  []int32   // tokens that begin it, where a line does
	finish [][]int32 // [k]: tokens that begin with what is behind its first k bytes
}

// Mark returns the mark of a text, which is not empty and of one line.
func (v *Vocabulary) Mark(text string) *Mark {
	m := &Mark{words: v, text: text, finish: make([][]int32, len(text))}
	begins := func(line string) bool {
		line = strings.TrimLeft(line, " ")
		return line != "" && strings.HasPrefix(text, line)
	}
	for number, t := range v.texts {
		id, line := int32(number), strings.LastIndexByte(t.Text, '\n')+1
		switch {
		case strings.Contains(t.Text, text), line > 0 && begins(t.Text[line:]):
			m.whole = append(m.whole, id)
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

// Absence keeps a mark out of one completion. It implements policy.Constraint.
//
// Where a line begins, no token may begin the mark either: a model that would write it goes on from its second best beginning there, and does not
// break off within the mark.
type Absence struct {
	mark *Mark
	read int    // tokens of the completion
	line string // the end of what they wrote since the last newline, shorter than the mark
	told bool   // there is more than blanks in that line
}

// Absent keeps the mark out of a completion.
func (m *Mark) Absent() *Absence { return &Absence{mark: m} }

// Narrow implements policy.Constraint.
func (a *Absence) Narrow(completion []int32, allowed *policy.IDSet) {
	m := a.mark
	for ; a.read < len(completion); a.read++ {
		text := m.words.token(completion[a.read]).Text
		if line := strings.LastIndexByte(text, '\n') + 1; line > 0 {
			a.line, a.told, text = "", false, text[line:]
		}
		a.line, a.told = a.line+text, a.told || strings.Trim(text, " ") != ""
		a.line = a.line[max(0, len(a.line)-len(m.text)+1):]
	}
	remove := func(ids []int32) {
		for _, id := range ids {
			allowed.Remove(id)
		}
	}
	remove(m.whole)
	if !a.told {
		remove(m.begin)
	}
	for k := 1; k <= len(a.line); k++ {
		if strings.HasSuffix(a.line, m.text[:k]) {
			remove(m.finish[k])
		}
	}
}
